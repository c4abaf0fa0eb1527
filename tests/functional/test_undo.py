# SPDX-License-Identifier: MIT
"""undo: brings back the files of an act, verified, and replaces nothing."""
import contextlib
import os
import shutil
import subprocess

import pytest
import trees
from disks import bound, disk, in_memory
from processes import release
from test_act import copies
from test_act_cut_off import CHANGING
from test_act_log import EACH_KIND, KINDS, act_words, acts, records

METADATA = "st_mode st_uid st_gid st_size st_mtime_ns"


def metadata(path):
    status = os.lstat(path)
    attributes = {name: os.getxattr(path, name, follow_symlinks=False)
                  for name in os.listxattr(path, follow_symlinks=False)}
    return [getattr(status, name) for name in METADATA.split()], attributes


def tree_of(*folders):
    """{path: (bytes, metadata)} of the files in folders."""
    return {path: (path.read_bytes(), metadata(path)) for folder in folders
            for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def special(path):
    """Gives a file metadata of its own, with an ACL."""
    os.setxattr(path, "user.kind", b"\0letter")
    os.setxattr(path, "system.posix_acl_access", bytes.fromhex(
        "02000000" "01000600ffffffff" "0200040001000000" "04000400ffffffff" "10000400ffffffff"
        "20000000ffffffff"))
    os.utime(path, ns=(5, 3 * 10**18 + 7))


def undone(result):
    """The number of files that were brought back."""
    [line] = [line for line in result.lines if line.startswith(b"brought back")]
    return int(line.split()[2].replace(b",", b""))


@EACH_KIND
@pytest.mark.parametrize("user", ["root", "plain user"])
def test_act_is_undone_with_all_metadata(request, tmp_path, user, kind):
    if user == "root":
        request.getfixturevalue("root_only")
    twinfs = request.getfixturevalue("twinfs" if user == "root" else "as_user")
    source, moved = tmp_path / "source", tmp_path / "moved"
    for folder in (source, moved):
        folder.mkdir()
    kept, *redundant = copies(source, 4)
    special(redundant[0])
    redundant[1].chmod(0o600)
    if user == "root":
        os.chown(redundant[2], 1, 2)
    elif os.geteuid() == 0:
        for path in (source, moved, kept, *redundant):
            os.chown(path, twinfs.user.pw_uid, twinfs.user.pw_gid)
    before = tree_of(source)
    words = act_words(kind, source, moved) + (["--force-metadata"] if "link" in kind else [])
    twinfs.ok(*words, "--yes", "--keep=path:copy 0")
    assert len(records(twinfs)) == 3
    assert tree_of(source) != before
    result = twinfs.ok("undo", "--yes")
    assert undone(result) == 3
    assert tree_of(source) == before
    assert len({path.stat().st_ino for path in before}) == 4
    assert not list(moved.iterdir())
    assert acts(twinfs)[-1]["command"] == "undo" and acts(twinfs)[0]["undone"] == 3
    again = twinfs.ok("undo", "--yes")
    assert b"undone already" in again.error
    if kind == "trash":
        assert not list((twinfs.home / ".local/share/Trash/info").iterdir())


@EACH_KIND
def test_hard_links_of_a_copy_are_linked_again(twinfs, source, aside, kind):
    kept, copy = copies(source, 2)
    other = source / "another name"
    os.link(copy, other)
    twinfs.ok(*act_words(kind, source, aside), "--yes", "--keep=path:copy 0")
    assert len(records(twinfs)) == 2
    assert undone(twinfs.ok("undo", "--yes")) == 2
    assert copy.samefile(other) and not copy.samefile(kept)
    assert copy.stat().st_nlink == 2


def test_figures_of_a_folder_are_those_of_its_files(twinfs, source):
    for folder in ("one", "two"):
        for name in ("a", "b/c"):
            trees.write(source / folder / name, name.encode())
        os.symlink("a", source / folder / "link")
        os.mkfifo(source / folder / "fifo")
    twinfs.ok("remove", "--folders", "--yes", source)
    assert [acts(twinfs)[0][key] for key in ("files", "folders", "others")] == [2, 2, 2]
    assert b"2 files" in twinfs.ok("log").out and b"2 folders" in twinfs.ok("log").out
    result = twinfs.ok("undo", "--yes")
    assert b"2 files, 2 folders, 2 other names" in result.out
    assert acts(twinfs)[0]["undone"] == acts(twinfs)[1]["files"] == 2
    assert b"undone already" in twinfs.ok("undo", "--yes").error


def test_file_with_the_content_alone_gets_no_further_names(twinfs, source):
    """A user made a file with the content at the path of the first name."""
    kept, copy = copies(source, 2)
    other = source / "copy 1 too"
    os.link(copy, other)
    before = metadata(other)
    twinfs.ok("remove", "--yes", "--keep=path:copy 0", source)
    shutil.copyfile(kept, copy)
    copy.chmod(0o600)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"hard link" in result.error
    assert metadata(other) == before and not other.samefile(copy)
    assert copy.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("links", [1, 2])
def test_move_to_another_file_system_is_undone(twinfs, source, tmp_path, links):
    with disk("ext4", tmp_path) as there:
        _, copy = copies(source, 2)
        special(copy)
        if links == 2:
            os.link(copy, source / "copy 1 too")
        before = tree_of(source)
        twinfs.ok("move", "--yes", "--keep=path:copy 0", source, there)
        assert len(tree_of(source)) == 1
        twinfs.ok("undo", "--yes")
        assert tree_of(source) == before
        assert copy.stat().st_nlink == links
        assert [path.name for path in there.iterdir()] == ["lost+found"]


@pytest.mark.parametrize("how", [shutil.copyfile, os.link])
def test_moved_file_with_the_only_metadata_stays(twinfs, source, aside, how):
    """A file with equal bytes at the path of the copy is not the moved file."""
    kept, copy = copies(source, 2)
    special(copy)
    twinfs.ok("move", "--yes", source, aside)
    before = tree_of(aside)
    assert len(before) == 1
    how(kept, copy)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and undone(result) == 0 and b"stays, too" in result.error
    assert tree_of(aside) == before


@pytest.mark.parametrize("call, when", [("renameat2", 2), ("unlinkat", 1)])
def test_file_that_replaces_the_moved_one_in_the_last_moment_stays(twinfs, source, tmp_path,
                                                                   strace, call, when):
    with disk("ext4", tmp_path) as there:
        _, copy = copies(source, 2)
        content = copy.read_bytes()
        twinfs.ok("move", "--yes", "--keep=path:copy 0", source, there)
        [moved] = [path for path in there.iterdir() if path.is_file()]
        (there / "new").write_bytes(b"new")
        with twinfs.held("undo", "--yes", call=call, when=when) as process:
            assert copy.exists()
            (there / "new").rename(moved)
            release(process)
            process.wait(timeout=60)
        assert moved.read_bytes() == b"new"
        assert copy.read_bytes() == content
        assert sorted(path.name for path in there.iterdir()) == sorted(["lost+found", moved.name])
        assert (b"stays, too" in process.output[1]) == (call == "renameat2")


@pytest.mark.parametrize("user", ["root", "plain user"])
def test_missing_folder_of_a_file_gets_its_owner_and_mode_back(request, tmp_path, user):
    if user == "root":
        request.getfixturevalue("root_only")
    twinfs = request.getfixturevalue("twinfs" if user == "root" else "as_user")
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"content", b"b/c/d": b"content"})
    for path in (source, *source.rglob("*")):
        if twinfs.user:
            os.chown(path, twinfs.user.pw_uid, twinfs.user.pw_gid)
    (source / "b").chmod(0o755)
    (source / "b/c").chmod(0o2710)
    if user == "root":
        os.chown(source / "b/c", 1, 2)
        (source / "b/c").chmod(0o2710)
    before = (source / "b/c").stat()
    twinfs.ok("remove", "--yes", "--keep=path:a", source)
    shutil.rmtree(source / "b/c")
    twinfs.ok("undo", "--yes")
    assert (source / "b/c/d").read_bytes() == b"content"
    after = (source / "b/c").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode, before.st_uid, before.st_gid)


def test_missing_folders_that_are_unknown_become_private(twinfs, source):
    trees.fill(source, {b"a": b"content", b"b/c/d": b"content", b"e/f": b"content"})
    (source / "b/c").chmod(0o710)
    os.setxattr(source / "e", "system.posix_acl_access", bytes.fromhex(
        "02000000" "01000700ffffffff" "0200040001000000" "04000400ffffffff" "10000400ffffffff"
        "20000000ffffffff"))
    twinfs.ok("remove", "--yes", "--keep=path:a", source)
    for name in "be":
        shutil.rmtree(source / name)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and undone(result) == 2
    for name in "be":
        assert f"made the folder '{source / name}' with the mode 0700" in result.error.decode()
    modes = {name: (source / name).stat().st_mode & 0o7777 for name in ("b", "b/c", "e")}
    assert modes == {"b": 0o700, "b/c": 0o710, "e": 0o700}


@EACH_KIND
@pytest.mark.parametrize("what", ["file", "folder", "symlink"])
def test_existing_file_is_never_replaced(twinfs, source, aside, kind, what):
    _, copy = copies(source, 2)
    twinfs.ok(*act_words(kind, source, aside), "--yes")
    copy.unlink(missing_ok=True)
    if what == "file":
        copy.write_bytes(b"x" * 5000)
    elif what == "folder":
        copy.mkdir()
    else:
        copy.symlink_to("nowhere")
    before = copy.lstat()
    result = twinfs("undo", "--yes")
    assert result.status == 3
    assert f"'{copy}'" in result.error.decode() and b"another file has its path" in result.error
    after = copy.lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    shutil.rmtree(copy) if what == "folder" else copy.unlink()
    assert undone(twinfs.ok("undo", "--yes")) == 1
    assert len(copy.read_bytes()) == 5000


def test_file_that_is_there_already_is_recognized(twinfs, source):
    kept, copy = copies(source, 2)
    before = copy.stat()
    twinfs.ok("remove", "--yes", source)
    shutil.copy(kept, copy)
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
    result = twinfs.ok("undo", "--yes")
    assert undone(result) == 0 and b"there already" in result.out
    assert acts(twinfs)[0]["undone"] == 1


def test_file_that_is_there_with_other_metadata_is_named(twinfs, source):
    kept, copy = copies(source, 2)
    twinfs.ok("remove", source, "--yes")
    shutil.copyfile(kept, copy)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and undone(result) == 0 and b"there already" in result.out
    assert [f"'{copy}'" in line and "stays" in line for line in result.errors] == [True]
    assert b"undone already" in twinfs.ok("undo", "--yes").error


def test_link_is_parted_from_the_kept_file_that_an_undo_made_anew(twinfs, source):
    """Both names became links of a third file, and were brought back as links of each other."""
    one, two, three = copies(source, 3)
    two.chmod(0o600)
    os.utime(two, ns=(5, 3 * 10**18 + 7))
    before = tree_of(source)
    twinfs.ok("link", source, "--yes", "--force-metadata", "--only", two)
    assert one.samefile(two) and not two.samefile(three)
    twinfs.ok("link", source, "--yes", "--force-metadata", f"--keep=path:{three.name}")
    assert two.samefile(three)
    acts_done = [act["act"] for act in acts(twinfs)]
    for act in reversed(acts_done):
        twinfs.ok("undo", "--yes", act)
    assert tree_of(source) == before
    assert {path.stat().st_nlink for path in (one, two, three)} == {1}


@pytest.mark.parametrize("kind", ["link", "symlink"])
def test_link_to_a_file_of_another_user_is_parted_with_a_certain_file(twinfs, source, root_only,
                                                                     kind):
    kept, copy, other = copies(source, 3)
    before = copy.read_bytes(), metadata(copy)
    os.chown(kept, 1, 2)
    twinfs.ok(*act_words(kind, source, None), "--yes", "--force-metadata", "--only", copy)
    kept.chmod(0o600)  # now its owner possibly wrote to it
    result = twinfs.ok("undo", "--yes")
    assert undone(result) == 1 and (copy.read_bytes(), metadata(copy)) == before
    assert not copy.is_symlink() and not copy.samefile(kept) and other.stat().st_nlink == 1


def test_content_that_exists_nowhere_is_named(twinfs, source):
    kept, *gone = copies(source, 3)
    others = copies(source, 2, name="other")
    twinfs.ok("remove", "--yes", source)
    with kept.open("r+b") as file:
        file.write(b"changed")
    result = twinfs("undo", "--yes")
    assert result.status == 3
    for path in gone:
        assert f"'{path}'" in result.error.decode() and not path.exists()
    assert others[1].exists()
    assert undone(result) == 1


def test_content_is_found_where_the_kept_file_was_moved(twinfs, source):
    kept, copy = copies(source, 2)
    content = kept.read_bytes()
    twinfs.ok("remove", "--yes", source)
    (source / "folder").mkdir()
    kept.rename(source / "folder/elsewhere")
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"twinfs scan" in result.error
    twinfs.ok("scan", source)
    twinfs.ok("undo", "--yes")
    assert copy.read_bytes() == content


def test_content_is_found_by_later_acts(twinfs, source, aside):
    """The kept file of an act is itself moved out of the source later."""
    first, second, third = copies(source)
    content = first.read_bytes()
    twinfs.ok("remove", "--yes", "--keep=path:copy 0", "--only", second, source)
    act = acts(twinfs)[-1]["act"]
    twinfs.ok("move", "--yes", "--keep=path:copy 2", "--only", first, source, aside)
    third.unlink()
    twinfs.ok("undo", "--yes", act)
    assert second.read_bytes() == content and not first.exists()
    assert (aside / "copy 0").exists()


def test_search_that_is_limited_says_so(twinfs, source):
    kept, copy = copies(source, 2)
    content = kept.read_bytes()
    twinfs.ok("remove", "--yes", source)
    kept.unlink()
    for number in range(1100):
        (source / f"other {number}").write_bytes(b"%04d" % number + content[4:])
    twinfs.ok("scan", source)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"in 1,00" in result.error, result
    assert f"put a copy of it at '{kept}'" in result.error.decode()
    kept.write_bytes(content)
    twinfs.ok("undo", "--yes")
    assert copy.read_bytes() == content


def test_file_that_the_log_names_is_tried_before_many_of_its_size(twinfs, source, aside):
    first, second, third = copies(source)
    content = first.read_bytes()
    twinfs.ok("remove", "--yes", "--keep=path:copy 0", "--only", second, source)
    act = acts(twinfs)[-1]["act"]
    twinfs.ok("move", "--yes", "--keep=path:copy 2", "--only", first, source, aside)
    third.unlink()
    for number in range(1100):
        (source / f"other {number}").write_bytes(b"%04d" % number + content[4:])
    twinfs.ok("scan", source)
    result = twinfs.ok("undo", "--yes", act)
    assert second.read_bytes() == content and not result.error, result


@pytest.mark.parametrize("kind", ["trash", "move"])
@pytest.mark.parametrize("fate", ["removed", "edited"])
def test_moved_file_that_is_gone_is_copied_from_the_kept_file(twinfs, source, aside, kind, fate):
    kept, copy = copies(source, 2)
    copy.chmod(0o600)
    twinfs.ok(*act_words(kind, source, aside), "--yes")
    there = os.fsencode(records(twinfs)[0]["to"])
    if fate == "removed":
        os.unlink(there)
    else:
        with open(there, "ab") as file:
            file.write(b"edit")
    twinfs.ok("undo", "--yes")
    assert copy.read_bytes() == kept.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert os.path.exists(there) == (fate == "edited")


@pytest.mark.parametrize("kind", ["link", "symlink"])
def test_link_whose_file_was_edited_stays(twinfs, source, kind):
    kept, copy = copies(source, 2)
    twinfs.ok(*act_words(kind, source, None), "--yes")
    with copy.open("ab") as file:
        file.write(b"edit")
    before = copy.lstat().st_ino
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"wrote to the linked file" in result.error
    assert copy.lstat().st_ino == before
    assert copy.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize("instead", [None, "folder", "itself"])
def test_dangling_symlink_gets_its_content_from_elsewhere(twinfs, source, instead):
    kept, copy = copies(source, 2)
    copy.chmod(0o600)
    content, before = kept.read_bytes(), metadata(copy)
    twinfs.ok("link", "--symbolic", "--yes", "--force-metadata", "--keep=path:copy 0", source)
    kept.rename(source / "elsewhere")
    if instead == "folder":
        kept.mkdir()
    elif instead:
        kept.symlink_to(copy)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"twinfs scan" in result.error and copy.is_symlink()
    twinfs.ok("scan", source)
    twinfs.ok("undo", "--yes")
    assert not copy.is_symlink() and copy.read_bytes() == content and metadata(copy) == before
    assert not list(source.glob(".twinfs~*"))


def test_link_that_is_the_last_name_gets_its_metadata_back(twinfs, source):
    kept, copy = copies(source, 2)
    copy.chmod(0o600)
    content = copy.read_bytes()
    twinfs.ok("link", "--yes", "--force-metadata", source)
    kept.unlink()
    twinfs.ok("undo", "--yes")
    assert copy.read_bytes() == content and copy.stat().st_mode & 0o777 == 0o600


def test_dedupe_needs_no_undo(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = root / "source"
        source.mkdir()
        copies(source, 2, size=1 << 20)
        os.sync()
        twinfs.ok("dedupe", "--yes", source)
        assert [record["command"] for record in records(twinfs)] == ["dedupe"]
        result = twinfs.ok("undo", "--yes")
        assert b"nothing to undo" in result.error and not result.out


def test_removed_copy_shares_the_blocks_of_the_kept_one(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = root / "source"
        source.mkdir()
        copies(source, 2, size=20 << 20)
        os.sync()
        twinfs.ok("remove", "--yes", source)
        os.sync()
        before = shutil.disk_usage(root).free
        twinfs.ok("undo", "--yes")
        os.sync()
        assert before - shutil.disk_usage(root).free < 10 << 20


def test_any_act_can_be_undone_and_an_undo_cannot(twinfs, source):
    paths = copies(source, 4)
    for path in paths[1:]:
        twinfs.ok("remove", "--yes", "--only", path, "--keep=path:copy 0", source)
    first = acts(twinfs)[0]["act"]
    twinfs.ok("undo", "--yes", first)
    assert [path.exists() for path in paths] == [True, True, False, False]
    result = twinfs("undo", "--yes", acts(twinfs)[-1]["act"])
    assert result.status == 1 and b"undo itself" in result.error
    assert twinfs("undo", "--yes", "nonsense").status == 1
    assert twinfs("undo", first).status == 2  # no terminal to ask


def test_source_that_is_not_mounted_is_named(twinfs, tmp_path, root_only):
    with disk("ext4", tmp_path) as root:
        mounted = tmp_path / "mounted"
        mounted.mkdir()
        source = root / "source"
        source.mkdir()
        copies(source, 2)
        subprocess.run(["mount", "--bind", source, mounted], check=True)
        try:
            twinfs.ok("remove", "--yes", mounted)
        finally:
            subprocess.run(["umount", mounted], check=True)
        result = twinfs("undo", "--yes")
        assert result.status == 3 and b"not mounted" in result.error
        assert not list(mounted.iterdir())


@pytest.mark.parametrize("where", ["source", "folder", "same file system"])
def test_folder_below_an_absent_mount_is_not_written_to(twinfs, source, aside, tmp_path, where):
    """The folder has other files, and no identity tells its file system from the mounted one."""
    at = source / "disk" if where == "folder" else tmp_path / "disk"
    at.mkdir()
    (at / "below").write_bytes(b"below the mount")
    content = os.urandom(3000)
    trees.fill(source, {b"kept": content})
    with contextlib.ExitStack() as stack:
        if where != "same file system":
            stack.enter_context(in_memory(aside))
        trees.fill(aside, {b"folder/copy": content})
        with bound(aside, at):
            twinfs.ok("remove", "--yes", "--without-leases", "--cross-file-systems",
                      "--keep=path:kept", *([source] if where == "folder" else [source, at]))
            assert not (at / "folder/copy").exists()
        (at / "folder").mkdir()
        result = twinfs("undo", "--yes")
        assert result.status == 3
        assert f"'{at}' is not mounted, or is another" in result.error.decode()
        assert sorted(at.rglob("*")) == [at / "below", at / "folder"]
        with bound(aside, at):
            twinfs("undo", "--yes")
            assert (at / "folder/copy").read_bytes() == content


def test_source_at_another_mount_is_the_same_folder(twinfs, source, tmp_path):
    trees.fill(source, {b"kept": b"content", b"folder/copy": b"content"})
    twinfs.ok("remove", "--yes", "--keep=path:kept", source)
    with bound(source, source):
        twinfs.ok("undo", "--yes")
    assert (source / "folder/copy").exists()


def test_another_file_with_the_number_of_the_kept_file_is_no_link(twinfs, source):
    """The kept file is removed, and a new file at the path of the link gets its number."""
    kept, copy = copies(source, 2)
    copy.chmod(0o600)
    content, number = kept.read_bytes(), kept.stat().st_ino
    twinfs.ok("link", "--yes", "--force-metadata", source)
    for path in (kept, copy):
        path.unlink()
    for attempt in range(100):
        copy.write_bytes(content)
        if copy.stat().st_ino == number:
            break
        copy.rename(source / f"other {attempt}")
    else:
        pytest.skip("this file system does not use the number again")
    os.utime(copy, ns=(5, 10**18))
    before = metadata(copy)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"there already" in result.out and undone(result) == 0
    assert metadata(copy) == before


@pytest.mark.parametrize("which", [1, 2, 3])
def test_corrupt_line_of_the_log_is_named_and_changes_the_status(twinfs, source, which):
    """Nothing tells whether a corrupt line was of the act that is undone."""
    copies(source, 3)
    copies(source, 2, name="other")
    twinfs.ok("remove", "--yes", source)
    log = twinfs.index / "acts.log"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[which - 1] = lines[which - 1].replace(b":", b";", 1 if which < 3 else -1)
    log.write_bytes(b"".join(lines))
    for number in (2, 0):
        result = twinfs("undo", "--yes")
        assert result.status == 3 and f"number {which};".encode() in result.error, result
        assert (undone(result) == 2) if number else b"undone already" in result.error


def test_undo_while_the_content_is_open_for_writing_waits_for_another_run(twinfs, source):
    kept, copy = copies(source, 2)
    twinfs.ok("remove", "--yes", source)
    with kept.open("r+b"):
        result = twinfs("undo", "--yes")
        assert result.status == 3 and b"open for writing" in result.error
    twinfs.ok("undo", "--yes")
    assert copy.exists()


@pytest.mark.parametrize("kind", [*KINDS, "move across"])
def test_undo_killed_at_any_call_is_completed_by_another(twinfs, tmp_path, strace, kind):
    content = [os.urandom(3000) for _ in range(2)]
    source, moved = tmp_path / "source", tmp_path / "moved"
    calls = [*CHANGING, "utimensat"]
    with contextlib.ExitStack() as stack:
        if kind == "move across":
            moved = stack.enter_context(disk("ext4", tmp_path))
        points = 0
        for call in calls:
            for number in range(1, 60):
                for folder in (source, twinfs.index, twinfs.home / ".local"):
                    shutil.rmtree(folder, ignore_errors=True)
                source.mkdir()
                moved.mkdir(exist_ok=True)
                for which, data in enumerate(content):
                    (source / f"kept {which}").write_bytes(data)
                    (source / f"redundant {which}").write_bytes(data)
                    os.link(source / f"redundant {which}", source / f"redundant {which} too")
                before = tree_of(source)
                words = act_words(kind.split()[0], source, moved)
                twinfs.ok(*words, "--yes", "--keep=path:kept*")
                _, trace = twinfs.traced(
                    "undo", "--yes", calls=f"trace={','.join(calls)}",
                    flags=["-e", f"inject={call}:signal=KILL:when={number}"])
                killed = b"killed by SIGKILL" in trace
                points += killed
                there = {path.read_bytes() for folder in (source, moved)
                         for path in folder.rglob("*") if path.is_file()}
                assert there >= set(content), (call, number)
                twinfs.ok("undo", "--yes")
                assert tree_of(source) == before, (call, number)
                for which in range(len(content)):
                    assert (source / f"redundant {which}").stat().st_nlink == 2
                assert not [path for path in moved.rglob("*") if path.is_file()], (call, number)
                assert acts(twinfs)[0]["undone"] == 4, (call, number)
                if not killed:
                    break
        assert points > 6

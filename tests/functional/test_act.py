# SPDX-License-Identifier: MIT
"""remove, move, link and dedupe: their effects, refusals and messages."""
import contextlib
import os
import pty
import re
import shutil
import subprocess

import pytest
from disks import bound, disk, in_memory, overlay, rot
from processes import release
from program import Program

BEFORE = 10**9  # 2001


def copies(source, count=3, size=5000, name="copy"):
    """Equal files; the first one is the oldest, so it is the kept copy."""
    content = os.urandom(size)
    paths = [source / f"{name} {number}" for number in range(count)]
    for path in paths:
        path.write_bytes(content)
    os.utime(paths[0], (BEFORE, BEFORE))
    return paths


def planned(twinfs, *words):
    """The paths (bytes) of the copies that a dry run would act upon."""
    result = twinfs.ok(*words, "--dry-run", "--format=null")
    return {path[1:] for path in result.out.split(b"\0")[:-1] if path.startswith(b"-")}


def everything(folder):
    return {os.fsencode(path) for path in folder.rglob("*") if not path.is_dir()}


def freed(result):
    """The number of freed bytes that the act prints."""
    [line] = [line for line in result.lines if line.startswith(b"freed")]
    found = re.search(rb"\(([\d,]+) bytes\)|([\d,]+) bytes?", line)
    return int((found[1] or found[2]).replace(b",", b""))


# ---- effects ------------------------------------------------------------------------------

def test_remove_removes_exactly_the_files_of_a_dry_run(twinfs, source):
    kept, *gone = copies(source)
    (source / "unique").write_bytes(b"unique")
    expected = planned(twinfs, "remove", source)
    before = everything(source)
    assert expected == {os.fsencode(path) for path in gone}
    assert everything(source) == before
    result = twinfs.ok("remove", "--yes", source)
    assert everything(source) == before - expected
    assert kept.exists()
    assert freed(result) == 2 * 8192
    again = twinfs.ok("remove", "--yes", source)
    assert "nothing to remove" in again.error.decode()


def test_hard_links_free_nothing_while_another_name_exists(twinfs, source, tmp_path):
    kept, copy = copies(source, 2)
    os.link(copy, source / "copy 1 too")
    outside = tmp_path / "outside"
    os.link(copy, outside)
    result = twinfs.ok("remove", "--yes", "--keep=oldest", source)
    assert everything(source) == {os.fsencode(kept)}
    assert freed(result) == 0  # another name has the bytes
    assert outside.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize("words", [["remove"], ["remove", "--trash"], ["link"]])
def test_copy_in_the_trash_makes_no_other_copy_redundant(twinfs, source, words):
    trash = source / ".local/share/Trash/files"
    trash.mkdir(parents=True)
    kept, copy, thrown = copies(source)
    copy.rename(source / "moved")  # sorts after the trash and was found before it
    shutil.copy2(thrown, trash / "a")
    thrown.unlink()
    only = source / "moved"
    for options in ([], ["--only", only], [f"--keep=path:{trash.relative_to(source)}/a"]):
        assert planned(twinfs, *words, *options, source) == {os.fsencode(only)}
    kept.unlink()
    for options in ([], ["--only", only], [f"--keep=path:{trash.relative_to(source)}/a"]):
        twinfs.ok(*words, "--yes", *options, source)
        assert only.read_bytes() == (trash / "a").read_bytes()
        assert only.stat().st_nlink == 1


@pytest.mark.parametrize("words", [["remove"], ["link"], ["link", "--symbolic"]])
def test_keep_rule_selects_the_same_in_dry_run_and_act(twinfs, source, words):
    for folder in ("a", "b", "c"):
        (source / folder).mkdir()
    content = os.urandom(100)
    for path in ("a/x", "b/x", "c/x"):
        (source / path).write_bytes(content)
    options = ["--keep=path:c/*", "--only", source / "a"]
    expected = planned(twinfs, *words, *options, source)
    assert expected == {os.fsencode(source / "a/x")}
    before = {path: (source / path / "x").stat() for path in ("b", "c")}
    twinfs.ok(*words, "--yes", *options, source)
    assert (source / "b/x").read_bytes() == (source / "c/x").read_bytes() == content
    assert all((source / path / "x").stat().st_ino == before[path].st_ino for path in before)
    if words == ["remove"]:
        assert not (source / "a/x").exists()
    else:
        assert (source / "a/x").read_bytes() == content
        assert (source / "a/x").is_symlink() == (words != ["link"])


def test_protected_copies_stay_and_others_are_removed(twinfs, source):
    for folder in ("a", "b", "c"):
        (source / folder).mkdir()
        (source / folder / "x").write_bytes(b"content")
    options = ["--protect", source / "b", "--protect", source / "c"]
    expected = planned(twinfs, "remove", *options, source)
    twinfs.ok("remove", "--yes", *options, source)
    assert expected == {os.fsencode(source / "a/x")}
    assert everything(source) == {os.fsencode(source / "b/x"), os.fsencode(source / "c/x")}


def test_hard_link_has_the_content_and_the_times_of_the_kept_file(twinfs, source):
    kept, copy = copies(source, 2)
    os.utime(kept, ns=(10**18, 10**18 + 7))
    result = twinfs.ok("link", "--yes", source)
    assert os.path.samefile(kept, copy)
    assert copy.stat().st_mtime_ns == 10**18 + 7
    assert freed(result) == 8192
    assert "nothing to link" in twinfs.ok("link", "--yes", source).error.decode()


def test_hard_link_to_other_metadata_needs_force(twinfs, source):
    kept, mode, attribute = copies(source)
    mode.chmod(0o600)
    os.setxattr(attribute, "user.kind", b"letter")
    result = twinfs("link", "--yes", source)
    assert result.status == 3
    assert sum("--force-metadata" in line for line in result.errors) == 2
    assert kept.stat().st_nlink == 1
    assert os.getxattr(attribute, "user.kind") == b"letter"
    twinfs.ok("link", "--yes", "--force-metadata", source)
    assert kept.stat().st_nlink == 3


@pytest.mark.parametrize("other", ["owner", "group", "acl"])
def test_hard_link_to_a_file_with_other_rights_needs_force(twinfs, source, other, root_only):
    kept, copy = copies(source, 2)
    if other == "acl":
        subprocess.run(["setfacl", "-m", "u:1:r", copy], check=True)
        kept.chmod(copy.stat().st_mode & 0o777)
    else:
        os.chown(copy, *((1, -1) if other == "owner" else (-1, 1)))
    result = twinfs("link", "--yes", source)
    assert result.status == 3
    assert "--force-metadata" in result.errors[-1]
    assert kept.stat().st_nlink == copy.stat().st_nlink == 1
    twinfs.ok("link", "--yes", "--force-metadata", source)
    assert os.path.samefile(kept, copy)


@pytest.mark.parametrize("words", [["link"], ["link", "--symbolic"]])
def test_path_that_becomes_a_link_always_has_the_content(twinfs, source, words, strace):
    kept, *gone = copies(source, 9)
    content = kept.read_bytes()
    twinfs.ok("scan", source)
    calls = "renameat2,linkat,symlinkat,unlinkat"
    traced = twinfs.under_strace("-e", f"trace={calls}", "-e",
                                 f"inject={calls}:delay_enter=2000:delay_exit=2000")
    looks = 0
    with traced.started(*words, "--yes", source) as process:
        while process.poll() is None:
            looks += 1
            assert {path.read_bytes() for path in gone} == {content}
    assert process.returncode == 0
    assert looks > 20
    assert all(os.path.samefile(kept, path) for path in gone)


@pytest.mark.parametrize("relative", [False, True])
def test_symbolic_links_lead_to_the_kept_file(twinfs, source, tmp_path, relative):
    for folder in ("a/b", "c/d"):
        (source / folder).mkdir(parents=True)
    content = os.urandom(100)
    for path in ("a/b/kept", "a/b/near", "c/d/far"):
        (source / path).write_bytes(content)
    options = ["--relative"] if relative else []
    twinfs.ok("link", "--symbolic", *options, "--yes", source)
    expected = {"a/b/near": "kept", "c/d/far": "../../a/b/kept"}
    for path, target in expected.items():
        assert os.readlink(source / path) == (target if relative else str(source / "a/b/kept"))
        assert (source / path).read_bytes() == content
    if relative:
        source.rename(tmp_path / "elsewhere")
        assert (tmp_path / "elsewhere/c/d/far").read_bytes() == content


def test_symbolic_links_do_not_point_to_the_old_path_of_the_kept_file(twinfs, source):
    """The folder of the kept file is renamed after the first link, while the act has it open."""
    kept, *gone = copies(source, 4)
    content = kept.read_bytes()
    folder = source / "0"
    folder.mkdir()
    kept.rename(folder / "kept")
    with twinfs.held("link", "--symbolic", "--yes", source, call="renameat2",
                     after=True) as process:
        assert any(path.is_symlink() for path in gone)
        folder.rename(source / "elsewhere")
        release(process)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"the kept file is no longer at its path" in error
    assert [path.read_bytes() for path in gone] == [content] * 3
    assert not list(source.glob(".twinfs~*"))


def test_move_keeps_the_tree(twinfs, source, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    (source / "x/y").mkdir(parents=True)
    kept, copy = source / "kept", source / "x/y/copy"
    for path in (kept, copy):
        path.write_bytes(b"content" * 100)
    os.utime(copy, ns=(3 * 10**18, 3 * 10**18 + 7))
    twinfs.ok("move", "--yes", source, moved)
    assert not copy.exists()
    there = moved / "x/y/copy"
    assert there.read_bytes() == kept.read_bytes()
    assert there.stat().st_mtime_ns == 3 * 10**18 + 7


def test_move_of_several_sources_has_their_trees(twinfs, tmp_path):
    one, two, moved = tmp_path / "one", tmp_path / "two", tmp_path / "moved"
    for folder in (one, two, moved):
        folder.mkdir()
    for folder in (one, two):
        (folder / "x").write_bytes(b"content")
    twinfs.ok("move", "--yes", one, two, moved)
    assert everything(moved) == {os.fsencode(moved / "two/x")}


@pytest.mark.parametrize("count", [1, 2])
def test_move_grants_no_more_rights(twinfs, tmp_path, count):
    """A folder that no user may enter protects a file that all users may read."""
    sources, moved = [tmp_path / "one", tmp_path / "two"][:count], tmp_path / "moved"
    for folder in (*sources, moved):
        folder.mkdir()
    private = sources[-1] / "z/private"
    private.mkdir(parents=True)
    private.chmod(0o700)
    sources[-1].chmod(0o750)
    for path in (sources[0] / "kept", private / "copy"):
        path.write_bytes(b"content")
        path.chmod(0o644)
    twinfs.ok("move", "--yes", *sources, moved)
    [there] = moved.rglob("copy")
    assert there.parent.stat().st_mode & 0o7777 == 0o700
    assert there.parents[1].stat().st_mode & 0o7777 == 0o755
    if count == 2:
        assert (moved / "two").stat().st_mode & 0o7777 == 0o750


def test_move_to_another_file_system_keeps_all_metadata(twinfs, source, tmp_path):
    with disk("ext4", tmp_path) as other:
        kept, copy = copies(source, 2, size=300_000)
        os.truncate(kept, 3_000_000)
        os.truncate(copy, 3_000_000)
        copy.chmod(0o640)
        os.chown(copy, 1234, 5678)
        os.setxattr(copy, "user.kind", b"letter")
        os.utime(copy, ns=(3 * 10**18, 3 * 10**18 + 7))
        result = twinfs.ok("move", "--yes", source, other)
        there = other / "copy 1"
        status = there.stat()
        assert not copy.exists()
        assert there.read_bytes() == kept.read_bytes()
        assert (status.st_mode & 0o777, status.st_uid, status.st_gid, status.st_mtime_ns) == (
            0o640, 1234, 5678, 3 * 10**18 + 7)
        assert os.getxattr(there, "user.kind") == b"letter"
        assert status.st_blocks * 512 < 1_000_000, "the holes are lost"
        assert freed(result) > 0


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_dedupe_frees_blocks_once(session, tmp_path, kind):
    with disk(kind, tmp_path) as root:
        source = root / "source"
        source.mkdir()
        copies(source, 4, size=3 << 20, name="large")
        copies(source, 3, size=70_001, name="odd")
        twinfs = Program(session, tmp_path)
        subprocess.run(["sync", "-f", root], check=True)
        before = os.statvfs(root).f_bfree
        times = {path: path.stat().st_mtime_ns for path in source.iterdir()}
        result = twinfs.ok("dedupe", "--yes", source)
        subprocess.run(["sync", "-f", root], check=True)
        block = os.statvfs(root).f_frsize
        gained = (os.statvfs(root).f_bfree - before) * block
        assert gained > 8 << 20
        assert abs(freed(result) - gained) < 2 << 20
        assert {path: path.stat().st_mtime_ns for path in source.iterdir()} == times
        again = twinfs.ok("dedupe", "--yes", source)
        assert freed(again) == 0
        assert any(line.startswith(b"unchanged") for line in again.lines)


# ---- refusals -----------------------------------------------------------------------------

def refusal(result, path, word):
    """Asserts that the act left this path alone for this reason."""
    assert result.status == 3, result
    [line] = [line for line in result.errors if str(path) in line]
    assert word in line


@pytest.mark.parametrize("words", [["remove"], ["link"]])
def test_file_open_for_writing_is_left_alone(twinfs, source, words):
    kept, busy, other = copies(source)
    twinfs.ok("scan", source)
    with open(busy, "r+b"):
        refusal(twinfs(*words, "--yes", source), busy, "open for writing")
    assert busy.stat().st_nlink == 1
    assert busy.read_bytes() == kept.read_bytes()
    if words == ["remove"]:
        assert not other.exists()
    else:
        assert other.samefile(kept)


def test_kept_file_open_for_writing_prevents_the_act(twinfs, source):
    kept, copy = copies(source, 2)
    twinfs.ok("scan", source)
    with open(kept, "r+b"):
        refusal(twinfs("remove", "--yes", source), copy, "the kept file is open for writing")
    assert copy.exists()


@pytest.mark.parametrize("flag", ["+i", "+a"])
def test_immutable_file_is_left_alone(twinfs, source, flag, root_only):
    _, copy = copies(source, 2)
    if subprocess.run(["chattr", flag, copy], check=False).returncode != 0:
        pytest.skip("this file system has no such flag")
    try:
        refusal(twinfs("remove", "--yes", source), copy, "immutable")
        refusal(twinfs("link", "--yes", source), copy, "immutable")
        assert copy.exists()
    finally:
        subprocess.run(["chattr", flag.replace("+", "-"), copy], check=True)


def test_hard_link_to_another_file_system_is_refused(twinfs, source, tmp_path):
    with disk("ext4", tmp_path) as other:
        kept, _ = copies(source, 2)
        (source / "copy 1").unlink()
        shutil.copy(kept, other / "copy")
        refusal(twinfs("link", "--yes", source, other), other / "copy", "another file system")
        assert not (other / "copy").is_symlink()


def test_move_replaces_nothing(twinfs, source, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    _, copy = copies(source, 2)
    (moved / "copy 1").write_bytes(b"mine")
    result = twinfs("move", "--yes", source, moved)
    refusal(result, copy, "its path in the destination folder exists")
    assert (moved / "copy 1").read_bytes() == b"mine"
    assert copy.exists()


@pytest.mark.parametrize("place", ["inside", "above", "same"])
def test_move_into_a_source_is_refused(twinfs, source, place):
    copies(source, 2)
    (source / "in it").mkdir()
    folder = {"inside": source / "in it", "above": source.parent, "same": source}[place]
    before = everything(source)
    result = twinfs("move", "--yes", source, folder)
    assert result.status == 1
    assert "choose a folder outside of all sources" in result.errors[-1]
    assert everything(source) == before


def test_file_of_another_user_is_left_alone_without_the_option(as_user, source, root_only):
    kept, copy = copies(source, 2)
    source.chmod(0o777)
    result = as_user("remove", "--yes", source)
    refusal(result, copy, "--without-leases")
    assert copy.exists()
    as_user.ok("remove", "--yes", "--without-leases", source)
    assert kept.exists()
    assert not copy.exists()


@pytest.mark.parametrize("words", [["remove"], ["link"], ["link", "--symbolic"], ["move"]],
                         ids="-".join)
def test_copy_on_a_file_system_without_leases_is_left_alone_without_the_option(
        twinfs, source, tmp_path, no_leases, words):
    kept, copy = copies(source, 2)
    (tmp_path / "moved").mkdir()
    to = [tmp_path / "moved"] if words == ["move"] else []
    before = [state_of_file(path) for path in (kept, copy)]
    refusal(twinfs(*words, "--yes", source, *to), copy, "--without-leases")
    assert [state_of_file(path) for path in (kept, copy)] == before
    twinfs.ok(*words, "--yes", "--without-leases", source, *to)
    assert kept.read_bytes() == before[0][0]
    if words[0] == "link":
        assert copy.samefile(kept)
    else:
        assert not copy.exists()


def test_copy_is_left_alone_if_leases_are_unreliable(twinfs, source, take_filesystem_for):
    kept, copy = copies(source, 2)
    take_filesystem_for(0x7461636f)  # OCFS2: leases do not report writers on other hosts
    twinfs.environment["OTHER_FILESYSTEM_OF_FILES"] = "yes"
    refusal(twinfs("remove", "--yes", source), copy, "--without-leases")
    assert copy.read_bytes() == kept.read_bytes()
    twinfs.ok("remove", "--yes", "--without-leases", source)
    assert kept.exists() and not copy.exists()


def test_copy_that_changed_since_the_list_is_left_alone(twinfs, source):
    """Size and mtime are unchanged. The scan before the act finds the change by the ctime."""
    kept, copy = copies(source, 2)
    twinfs.ok("scan", source)
    status = copy.stat()
    with open(copy, "r+b") as file:
        file.write(b"x")
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = twinfs.ok("remove", "--yes", source)
    assert "nothing to remove" in result.error.decode()
    assert copy.read_bytes() != kept.read_bytes()


@pytest.mark.parametrize(("kind", "words"), [
    ("ext4", ["remove"]), ("ext4", ["move"]), ("ext4", ["link"]), ("ext4", ["link", "--symbolic"]),
    ("xfs", ["dedupe"])], ids=lambda words: "-".join(words) if isinstance(words, list) else words)
@pytest.mark.parametrize("rotten", [0, 1], ids=["kept", "copy"])
def test_unequal_files_that_the_index_calls_equal_are_left_alone(
        twinfs, tmp_path, kind, words, rotten):
    """A byte changed on the disk and no time did, so that the index is wrong."""
    with disk(kind, tmp_path) as root:
        source, moved = root / "source", root / "moved"
        for folder in (source, moved):
            folder.mkdir()
        pair = copies(source, 2)
        [group] = twinfs.groups(source)
        rot(root, pair[rotten], 4500)
        before = [state_of_file(path) for path in pair]
        assert twinfs.groups(source) == {group} and before[0][0] != before[1][0]
        to = [moved] if words == ["move"] else []
        result = twinfs(*words, "--yes", source, *to)
        refusal(result, pair[1], "is no longer equal to the kept file")
        assert [state_of_file(path) for path in pair] == before
        assert everything(source) | everything(moved) == {os.fsencode(path) for path in pair}


def state_of_file(path):
    """The state of a file that an act must not change if it leaves the file alone."""
    status = path.lstat()
    return path.read_bytes(), status.st_mode, status.st_ino, status.st_nlink, status.st_mtime_ns


# ---- the question -------------------------------------------------------------------------

def test_act_without_a_terminal_needs_yes(twinfs, source):
    copies(source)
    before = everything(source)
    result = twinfs("remove", source)
    assert result.status == 2
    assert "--yes" in result.errors[-1]
    assert everything(source) == before


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n"])
def test_act_on_a_terminal_asks(twinfs, source, answer):
    copies(source)
    before = everything(source)
    master, slave = pty.openpty()
    try:
        with open(slave, "rb", closefd=False) as terminal:
            os.write(master, answer.encode())
            result = twinfs("remove", source, stdin=terminal)
    finally:
        os.close(slave)
        os.close(master)
    assert "2 copies" in result.error.decode()
    if answer == "y\n":
        assert result.status == 0
        assert len(everything(source)) == 1
    else:
        assert result.status == 1
        assert everything(source) == before
        assert result.errors[-1].endswith("[y/N/l/g] twinfs: nothing was done")


@pytest.mark.parametrize("words, about", [
    (["remove", "--format=json", "--yes"], "--dry-run"),
    (["link", "--relative", "--yes"], "--symbolic"),
    (["move"], "FOLDER"),
    (["remove", "--yes"], "SOURCE"),
])
def test_wrong_usage_names_the_missing_word(twinfs, source, words, about):
    operands = [] if words in (["move"], ["remove", "--yes"]) else [source]
    result = twinfs(*words, *operands)
    assert result.status == 2
    assert about in result.errors[-1]


# ---- beside a daemon ----------------------------------------------------------------------

def test_view_follows_acts_on_its_source(twinfs, source):
    kept, *gone = copies(source)
    with twinfs.mounted(source) as view:
        [group] = view.copies().values()
        assert len(group) == 3
        twinfs.ok("remove", "--yes", view.path)
        assert everything(source) == {os.fsencode(kept)}
        assert not view.differences_now(source)
        assert view.copies() == {}
        gone[0].write_bytes(kept.read_bytes())
        twinfs.ok("link", "--yes", source)
        assert not view.differences_now(source)
        assert os.path.samefile(kept, gone[0])


@contextlib.contextmanager
def with_another_file_system(kind, folder):
    """A source and a folder in it that is on another file system."""
    with contextlib.ExitStack() as stack:
        source = folder / "source"
        source.mkdir()
        nested = source / "nested"
        if kind == "btrfs subvolume":
            source = stack.enter_context(disk("btrfs", folder))
            nested = source / "nested"
            subprocess.run(["btrfs", "-q", "subvolume", "create", nested], check=True,
                           stdout=subprocess.DEVNULL)
        elif kind == "ramfs":
            nested.mkdir()
            stack.enter_context(in_memory(nested))
        else:
            stack.enter_context(bound(stack.enter_context(disk(kind, folder)), nested))
        yield source, nested


@pytest.mark.parametrize("kind", ["ext4", "ramfs", "btrfs subvolume"])
def test_file_system_in_the_source_is_the_same_beside_a_view(twinfs, tmp_path, kind):
    """Each process finds by itself which file system a file is on."""
    across = "--cross-file-systems"
    with with_another_file_system(kind, tmp_path) as (source, nested):
        kept, *gone = copies(nested)
        outer, *_ = copies(source, 1, name="outer")
        with twinfs.mounted(across, source) as view:
            assert planned(twinfs, "remove", "--without-leases", across, source) == {
                os.fsencode(path) for path in gone}
            assert b'"lines":2' in twinfs.ok("manifest", across, source).lines[-1]
            twinfs.ok("check", across, source)
            twinfs.ok("remove", "--yes", "--without-leases", across, source)
            view.sync()
            assert view.copies() == {}
        assert kept.exists() and outer.exists() and not any(path.exists() for path in gone)


def test_layers_of_an_overlay_are_told_apart_beside_a_view(twinfs, tmp_path):
    """A file that is only in the upper layer is found first in one process, one of the lower layer
    in another."""
    (tmp_path / "lower").mkdir()
    (tmp_path / "upper").mkdir()
    with in_memory(tmp_path / "lower"):
        kept, *gone = copies(tmp_path / "lower", 2)
        with overlay(tmp_path) as shown:
            new = shown / "a copy"
            shutil.copy(shown / kept.name, new)
            with twinfs.mounted(shown):
                assert planned(twinfs, "remove", "--without-leases", shown) == {
                    os.fsencode(shown / path.name) for path in (*gone, new)}


def test_dedupe_distinguishes_two_disks(twinfs, tmp_path):
    """Fresh disks put equal files at equal offsets."""
    content = os.urandom(500000)
    with contextlib.ExitStack() as stack:
        roots = []
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            roots.append(stack.enter_context(disk("xfs", folder)))
            with open(roots[-1] / "file", "wb") as file:
                file.write(content)
                os.fsync(file.fileno())
        result = twinfs("dedupe", "--yes", *roots)
    assert result.status == 3
    assert "on another file system" in result.errors[-1]

# SPDX-License-Identifier: MIT
"""Hard links of a file are hard links of one file after a move to another file system, and after
an undo. A file whose names are in several places that something else empties stays. The figures of
whole folders count a file if all its names go."""
import contextlib
import glob
import os
import random
import shutil

import pytest
import trees
from disks import bound, disk
from processes import release
from program import path_of
from test_act import copies, everything, freed
from test_act_cut_off import kill_points
from test_act_log import act_words
from test_emptied_places import TAG
from test_undo import metadata, undone

NAMES = 3


@pytest.fixture
def moved(tmp_path):
    """An empty folder on another disk."""
    with disk("ext4", tmp_path) as root:
        folder = root / "moved"
        folder.mkdir()
        yield folder


def link(copy, *names):
    """Adds hard links beside a file."""
    for name in names:
        (copy.parent / name).parent.mkdir(exist_ok=True)
        os.link(copy, copy.parent / name)


def inodes(folder):
    return {(status.st_dev, status.st_ino) for status in map(os.stat, everything(folder))}


@pytest.mark.parametrize("count", [NAMES, 300])  # 300 exceeds one batch
def test_names_of_a_copy_are_hard_links_of_one_file_on_another_disk(twinfs, source, moved, count):
    kept, copy = copies(source, 2)
    content = kept.read_bytes()
    names = [f"more {number % 7}/{number}" for number in range(count)]
    link(copy, *names)
    copy.chmod(0o640)
    os.setxattr(copy, "user.kind", b"letter")
    os.utime(copy, ns=(3 * 10**18, 3 * 10**18 + 7))
    result = twinfs.ok("move", "--yes", source, moved)
    assert everything(source) == {os.fsencode(kept)}
    assert everything(moved) == {os.fsencode(moved / name) for name in [copy.name, *names]}
    assert len(inodes(moved)) == 1
    there = moved / copy.name
    status = there.stat()
    assert there.read_bytes() == content
    assert (status.st_nlink, status.st_mode & 0o777, status.st_mtime_ns) == (
        count + 1, 0o640, 3 * 10**18 + 7)
    assert os.getxattr(there, "user.kind") == b"letter"
    assert freed(result) == 8192
    assert b"split" not in result.out + result.error
    assert not twinfs.ok("list", "--format=json", source).json["groups"]


def test_two_copies_of_a_group_are_two_files_on_another_disk(twinfs, tmp_path, moved):
    """The names of each copy are in two sources."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    _, first, second = copies(one, 3)
    for copy in first, second:
        os.link(copy, two / copy.name)
        link(copy, f"{copy.name} again")
    result = twinfs.ok("move", "--yes", one, two, moved)
    for copy in first, second:
        there = moved / "one" / copy.name
        assert there.stat().st_nlink == NAMES
        assert os.path.samefile(there, moved / "two" / copy.name)
        assert os.path.samefile(there, moved / "one" / f"{copy.name} again")
    assert len(inodes(moved)) == 2
    assert b"split" not in result.out


def test_copy_with_a_name_outside_the_sources_is_reported_as_split(twinfs, source, tmp_path,
                                                                    moved):
    _, copy = copies(source, 2)
    link(copy, "copy 1 too")
    os.link(copy, tmp_path / "elsewhere")
    content = copy.read_bytes()
    planned = twinfs.ok("move", "--dry-run", "--keep=oldest", source, moved)
    result = twinfs.ok("move", "--yes", "--keep=oldest", source, moved)
    for said in planned, result:
        assert "1 copy has hard links that are not moved" in said.error.decode()
    assert b"split       1 copy: " in result.out
    assert freed(result) == 0
    assert (tmp_path / "elsewhere").stat().st_nlink == 1
    assert os.path.samefile(moved / copy.name, moved / "copy 1 too")
    assert (moved / copy.name).read_bytes() == content == (tmp_path / "elsewhere").read_bytes()


def test_move_on_one_disk_does_not_split_hard_links(twinfs, source, tmp_path):
    _, copy = copies(source, 2)
    os.link(copy, tmp_path / "elsewhere")
    (tmp_path / "moved").mkdir()
    result = twinfs.ok("move", "--yes", "--keep=oldest", source, tmp_path / "moved")
    assert b"split" not in result.out
    assert b"hard links" not in result.error
    assert os.path.samefile(tmp_path / "moved" / copy.name, tmp_path / "elsewhere")


def test_name_that_cannot_be_moved_stays_and_the_others_are_linked(twinfs, source, moved):
    _, copy = copies(source, 2)
    link(copy, "copy 2", "copy 3")
    (moved / "copy 2").write_bytes(b"something else")
    result = twinfs("move", "--yes", source, moved)
    assert result.status == 3
    assert "its path in the destination folder exists" in result.error.decode()
    assert (moved / "copy 2").read_bytes() == b"something else"
    assert os.path.samefile(moved / "copy 1", moved / "copy 3")
    assert (source / "copy 2").stat().st_nlink == 1
    assert b"split       1 copy: " in result.out


# The third rename gives the moved first name its place; the fourth sets the second name aside.
SECOND_IS_SET_ASIDE, FIRST_HAS_ARRIVED = 4, 3


@pytest.fixture
def pair(source):
    """A kept file and a copy with two names."""
    kept, copy = copies(source, 2)
    copy.rename(source / "name 1")
    os.link(source / "name 1", source / "name 2")
    return kept


def move_with_change(twinfs, source, moved, change, rename):
    """Moves the two names, and changes the moved first one after the given rename."""
    twinfs.ok("scan", source)
    with twinfs.held("move", "--yes", source, moved, call="renameat2", when=rename,
                     after=True) as process:
        assert (moved / "name 1").exists()
        assert (source / "name 2").exists() == (rename == FIRST_HAS_ARRIVED)
        change(moved / "name 1")
        release(process)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out


def open_for_writing(path):
    with contextlib.suppress(BlockingIOError):  # the attempt breaks the lease
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def put_another_in_its_place(path):
    path.with_name("new").write_bytes(b"new")
    os.replace(path.with_name("new"), path)


def put_an_equal_one_of_another_user_in_its_place(path):
    path.with_name("new").write_bytes(path.read_bytes())
    os.chown(path.with_name("new"), 1234, 5678)
    os.replace(path.with_name("new"), path)


@pytest.mark.parametrize("change", [os.unlink, put_another_in_its_place, open_for_writing])
def test_name_becomes_a_file_of_its_own_if_the_first_one_changed(twinfs, source, moved, strace,
                                                                 pair, change):
    content = pair.read_bytes()
    out = move_with_change(twinfs, source, moved, change, SECOND_IS_SET_ASIDE)
    assert (moved / "name 2").read_bytes() == content
    assert (moved / "name 2").stat().st_nlink == 1
    assert b"split       1 copy: " in out
    assert everything(source) == {os.fsencode(pair)}


def test_attribute_set_on_a_further_name_is_moved(twinfs, source, moved, strace, pair):
    """The moved first name lacks the attribute, so the second one becomes a file of its own."""
    def tag(_):
        os.setxattr(source / "name 2", "user.tag", b"mine")

    move_with_change(twinfs, source, moved, tag, FIRST_HAS_ARRIVED)
    assert os.getxattr(moved / "name 2", "user.tag") == b"mine"
    assert os.listxattr(moved / "name 1") == []


def test_equal_file_of_another_user_is_not_linked(twinfs, source, moved, strace, pair):
    content = pair.read_bytes()
    out = move_with_change(twinfs, source, moved, put_an_equal_one_of_another_user_in_its_place,
                           FIRST_HAS_ARRIVED)
    assert (moved / "name 1").stat().st_uid == 1234
    status = (moved / "name 2").stat()
    assert (status.st_uid, status.st_nlink) == (os.geteuid(), 1)
    assert (moved / "name 2").read_bytes() == content
    assert b"split       1 copy: " in out


def test_names_become_files_if_the_disk_has_no_hard_links(twinfs, source, moved, strace):
    kept, copy = copies(source, 2)
    content = kept.read_bytes()
    link(copy, "copy 2", "copy 3")
    result, trace = twinfs.traced("move", "--yes", source, moved, calls="trace=linkat",
                                  flags=["-e", "inject=linkat:error=EPERM"])
    assert result.status == 0, result
    assert trace.count(b"INJECTED") == 2
    assert len(inodes(moved)) == 3
    assert all((moved / f"copy {number}").read_bytes() == content for number in (1, 2, 3))
    assert b"split       1 copy: " in result.out


def test_names_are_hard_links_of_one_file_in_another_mount_of_the_disk(twinfs, source, tmp_path,
                                                                       root_only):
    """A rename to another mount is refused."""
    inside, moved = tmp_path / "inside", tmp_path / "moved"
    inside.mkdir()
    moved.mkdir()
    kept, copy = copies(source, 2)
    link(copy, "copy 2")
    with bound(inside, moved):
        twinfs.ok("move", "--yes", source, moved)
        assert os.path.samefile(moved / "copy 1", moved / "copy 2")
    assert everything(source) == {os.fsencode(kept)}


@pytest.mark.parametrize("fault", ["signal=KILL", "error=EIO"])
def test_move_of_hard_links_killed_or_failing_at_any_call_loses_no_name(twinfs, tmp_path, strace,
                                                                        fault):
    content = {letter: os.urandom(3000) for letter in "ab"}
    names = {letter: [f"redundant {letter} {number}" for number in range(NAMES)]
             for letter in content}
    points = 0
    source = tmp_path / "source"
    with disk("ext4", tmp_path) as root:
        moved = root / "moved"
        runs = kill_points(twinfs, ["move", "--yes", source, moved], fault)
        while True:
            for folder in source, moved:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            for letter, data in content.items():
                (source / f"kept {letter}").write_bytes(data)
                (source / names[letter][0]).write_bytes(data)
                for name in names[letter][1:]:
                    os.link(source / names[letter][0], source / name)
            point = next(runs, None)
            if point is None:
                break
            points += point[2]
            twinfs.ok("recover")
            for letter, data in content.items():
                assert (source / f"kept {letter}").read_bytes() == data, point
                for folder in source, moved:
                    there = [folder / name for name in names[letter] if (folder / name).exists()]
                    assert all(path.read_bytes() == data for path in there), point
                    assert len({path.stat().st_ino for path in there}) <= 1, point
                for name in names[letter]:
                    assert (source / name).exists() != (moved / name).exists(), point
            expected = len(content) * (NAMES + 1)
            assert len(everything(source)) + len(everything(moved)) == expected, point
            twinfs.ok("move", "--yes", source, moved)
            assert len(everything(source)) == len(content), point
    assert points > 20


# ---- their undo ----


def one_of_two_names_gone(twinfs, source, kind="remove"):
    """Kills an act between two hard links of a copy. Returns the path of each; the name of the
    first one is gone, or leads elsewhere."""
    kept, copy = copies(source, 2)
    other = source / "copy 1 too"
    os.link(copy, other)
    inode = copy.stat().st_ino
    twinfs.ok("scan", source)
    twinfs.traced(*act_words(kind, source, source), "--yes", "--keep=path:copy 0",
                  calls="trace=unlinkat",
                  flags=["-e", "inject=unlinkat:signal=KILL:error=EIO:when=2"])
    twinfs.ok("recover")
    left, gone = sorted((copy, other),
                        key=lambda path: path.exists() and path.lstat().st_ino != inode
                        or not path.exists())
    assert left.stat().st_nlink == 1 and left.stat().st_ino == inode
    return gone, left, kept


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("kind", ["remove", "link", "symlink"])
def test_name_that_the_act_left_alone_is_joined_again(twinfs, source, strace, kind, scan):
    gone, left, kept = one_of_two_names_gone(twinfs, source, kind)
    before = metadata(left)
    if scan:
        twinfs.ok("scan", source)
    assert undone(twinfs.ok("undo", "--yes")) == 1
    assert gone.samefile(left) and not gone.samefile(kept)
    assert metadata(gone) == before


def test_name_that_no_source_has_is_said_to_be_apart(twinfs, source, aside):
    _, copy = copies(source, 2)
    os.link(copy, aside / "name")
    twinfs.ok("remove", "--yes", "--keep=path:copy 0", source)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and undone(result) == 1
    [line] = [line for line in result.error.splitlines() if b"hard link" in line]
    assert os.fsencode(copy) in line and b" 1 " in line
    assert copy.stat().st_nlink == 1


def test_name_left_alone_that_was_edited_is_not_joined(twinfs, source, strace):
    gone, left, kept = one_of_two_names_gone(twinfs, source)
    left.write_bytes(b"edit")
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"hard link" in result.error
    assert gone.read_bytes() == kept.read_bytes() and left.read_bytes() == b"edit"


@pytest.mark.parametrize("names", [["a", "a/b", "z"], ["z", "a", "m"]])
def test_hard_links_of_a_removed_folder_are_linked_again(twinfs, source, names):
    """Other files are between the names of the copy, and the kept folder has one of them."""
    for folder in ("one", "two"):
        for name in ("b", "c", "k", "x"):
            trees.write(source / folder / name, name.encode())
    for number, name in enumerate(names):
        path = source / "two" / name.replace("/", " ")
        if number == 0:
            trees.write(path, b"linked")
        else:
            os.link(source / "two" / names[0], path)
        shutil.copy(path, source / "one" / path.name)
    os.link(source / "one" / "b", source / "one" / "shared")
    os.link(source / "one" / "b", source / "two" / "shared")
    before = {path: path.stat().st_nlink for path in (source / "two").iterdir()}
    twinfs.ok("remove", "--folders", "--yes", source)
    assert not (source / "two").exists()
    twinfs.ok("undo", "--yes")
    assert {path: path.stat().st_nlink for path in (source / "two").iterdir()} == before
    assert (source / "two" / "shared").samefile(source / "one" / "b")


def test_undo_that_was_interrupted_between_two_names_joins_them(twinfs, source, strace):
    """The first names are in the log as brought back, and the last one is not."""
    for number in range(200):
        copies(source, 2, name=f"pair {number:03}", size=100)
    _, copy = copies(source, 2, name="linked")
    for number in range(200):
        os.link(copy, source / f"linked 1 {number}")
    twinfs.ok("remove", "--yes", "--keep=oldest", source)
    _, trace = twinfs.traced("undo", "--yes", calls="trace=linkat", flags=[
        "-e", "inject=linkat:signal=KILL:when=350"])
    assert b"SIGKILL" in trace
    twinfs.ok("undo", "--yes")
    assert copy.stat().st_nlink == 201


def test_file_with_names_in_several_places_stays_and_the_act_frees_what_it_says(twinfs, source):
    trees.fill(source / "tagged", {"CACHEDIR.TAG": TAG, "a": b"equal", "b": b"equal"})
    (source / ".Trash-1").mkdir()
    os.link(source / "tagged/b", source / ".Trash-1/c")
    listed = twinfs.listing(source)["groups"][0]
    going = {copy["path"] for copy in listed["copies"] if copy["fate"] == "redundant"}
    twinfs.ok("remove", "--yes", source)
    assert going == {str(source / "tagged/a")} and not (source / "tagged/a").exists()
    assert listed["reclaimable"] == 5 and (source / ".Trash-1/c").samefile(source / "tagged/b")


# ---- figures of whole folders ----


def link_at_random(source, outside, seed):
    """Two groups of folders whose files are linked to others with their bytes at random: in one
    folder, in two, in two groups, and in folders that stay."""
    randomly = random.Random(seed)
    contents = [bytes([65 + number]) * (5000 * number + 5001) for number in range(3)]
    same = [[] for _ in contents]
    for folders, files in (("abcd", {"one": 0, "again": 0, "two": 1, "sub/three": 2}),
                           ("xyz", {"first": 0, "deep/second": 1}),
                           (("alone", outside), {"any": 0, "other": 1, "third": 2})):
        for folder in folders:
            trees.fill(source / folder, {name: contents[at] for name, at in files.items()})
            for name, at in files.items():
                same[at].append(source / folder / name)
    trees.write(source / "alone/own", b"own")
    for paths in same:
        for _ in range(randomly.choice((1, 3, 8))):
            one, other = randomly.sample(paths, 2)
            if not one.samefile(other):
                other.unlink()
                os.link(one, other)


def gone_with(folders):
    """The sizes, and the bytes on the disk, of the inodes that have all names in these folders."""
    found = {}
    for folder in folders:
        for path in filter(os.path.isfile, glob.glob(f"{folder}/**", recursive=True)):
            status = os.stat(path)
            found.setdefault(status.st_ino, [status]).append(path)
    gone = [status for status, *names in found.values() if status.st_nlink == len(names)]
    return (sum(status.st_size for status in gone),
            sum(status.st_blocks * 512 for status in gone))


@pytest.mark.parametrize("seed", range(12))
def test_figures_of_folders_with_shared_links_agree(twinfs, source, tmp_path, seed):
    link_at_random(source, tmp_path / "outside", seed)
    listed = twinfs.ok("list", "--folders", "--format=json", source).json
    words = ["remove", "--folders", source]
    dry = twinfs.ok(*words, "--dry-run", "--format=json")
    going = [path_of(folder).decode() for group in dry.json["groups"]
             for folder in group["folders"] if folder["fate"] == "redundant"]
    size, on_disk = gone_with(going)
    assert len(going) == 5
    assert dry.json["summary"] == listed["summary"]
    assert dry.json["summary"]["reclaimable_bytes"] == size
    assert sorted(dry.json["groups"], key=str) == sorted(listed["groups"], key=str)
    for group in dry.json["groups"]:
        own = [path_of(folder).decode() for folder in group["folders"] if not folder["kept"]]
        assert group["reclaimable"] == gone_with(own)[0]
    text = twinfs.ok(*words, "--dry-run").out.decode()
    assert text.partition("files  ")[2] == twinfs.ok(
        "list", "--folders", source).out.decode().partition("files  ")[2]
    assert f"and {on_disk // 1024} KiB freed" in dry.error.decode().replace(".0 KiB", " KiB")
    assert freed(twinfs.ok(*words, "--yes")) == on_disk


def test_figures_of_a_dry_run_leave_out_refused_folders(twinfs, source):
    for name in "abc":
        trees.fill(source / name, {"one": b"1" * 5001, "two": b"2" * 10002})
    (source / "c/one").unlink()
    os.link(source / "b/one", source / "c/one")
    words = ["remove", "--folders", "--keep=path:a", "--dry-run", "--format=json", source]
    assert twinfs.ok(*words).json["summary"]["reclaimable_bytes"] == 25005
    with open(source / "b/two", "ab"):
        result = twinfs(*words)
    assert result.status == 3
    [group] = result.json["groups"]
    assert len(group["folders"]) == 2 and group["reclaimable"] == 10002
    assert result.json["summary"]["reclaimable_bytes"] == 10002

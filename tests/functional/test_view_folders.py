# SPDX-License-Identifier: MIT
"""folders/: an entry for each group of equal folders, in which each folder has all its names.

differences() compares entries, names, attributes and bytes with an independent oracle. A failure
names its seed. TWINFS_TEST_SEEDS is the number of random trees.
"""
import errno
import os
import subprocess
from itertools import combinations

import pytest
import trees
from equal_folders import copy_tree, listed, make, make_twins
from folder_oracle import Folders
from rank_names import name_of
from test_folder_groups import FIFO, FOLDER, LITERAL, Link, is_no, make_forest, plant
from view_folders import differences, entries, entry_of, groups, own, parts

TREES = range(int(os.environ.get("TWINFS_TEST_SEEDS", "20")))


@pytest.fixture
def twins(source):
    """The folders a and b, and c and d, which are equal to a/sub and b/sub."""
    make_twins(source)
    copy_tree(source / "c", source / "d")
    return source


def test_entries_name_rank_size_and_number(twinfs, twins):
    with twinfs.mounted(twins) as view:
        first, second = parts(view)
        assert first in [name_of("0001", name, 4, "15 KiB") for name in ("sub", "c", "d")]
        assert second in [name_of("0002", name, 2, "9.8 KiB") for name in "ab"]
        assert [sorted(os.listdir(entry)) for entry in entries(view)] == [
            ["a\u2215sub", "b\u2215sub", "c", "d"], ["a", "b"]]
        assert differences(view, twins) == []


def test_view_without_equal_folders_has_an_empty_folder(twinfs, source):
    for number in range(2):
        with twinfs.mounted(source) as view:
            assert set(os.listdir(view.path)) == {
                ".twinfs", "README.txt", "by-size", "dups", "folders", "redundant",
                "report.html", "uniques"}
            assert parts(view) == []
            shown, other = os.stat(view.folders), os.stat(view.by_size)
            assert (shown.st_mode, shown.st_uid) == (other.st_mode, other.st_uid)
        trees.small(source / f"{number}")


def test_entries_are_those_that_list_prints(twinfs, source):
    for name, (things, _) in LITERAL.items():
        plant(source / name, things)
    with twinfs.mounted(source) as view:
        assert differences(view, source) == []
        shown = [(own(entry, "hash").decode(), int(own(entry, "copies")), int(own(entry, "size")))
                 for entry in entries(view)]
        assert sorted(shown) == sorted(
            (group["hash"], len(group["folders"]), group["size"])
            for group in listed(twinfs, view.path) if group["hash"])
        assert len(shown) > 10


def test_entry_without_a_hash_is_shown(twinfs, source):
    """A lone file with hard links in both folders is never read."""
    plant(source, {"a/x": trees.content(1, 777), "b": FOLDER})
    os.link(source / "a/x", source / "b/x")
    with twinfs.mounted(source) as view:
        [entry] = entries(view)
        assert own(entry, "hash") == own(entry / "a", "hash") == "ENODATA"
        assert own(entry, "reclaimable") == b"777"
        assert differences(view, source) == []


def test_own_attributes_are_not_listed_and_those_of_the_source_are(twinfs, twins):
    os.setxattr(twins / "a/sub", "user.note", b"folder")
    os.setxattr(twins / "b/one", "user.note", b"file")
    with twinfs.mounted(twins) as view:
        entry = entry_of(view, "a", "b")
        assert os.listxattr(entry) == os.listxattr(entry / "a") == []
        assert os.listxattr(entry / "a/sub") == os.listxattr(entry / "b/one") == ["user.note"]
        assert os.getxattr(entry / "a/sub", "user.note") == b"folder"
        assert os.getxattr(entry / "b/one", "user.note") == b"file"
        assert own(entry / "a/sub", "path") == os.fsencode(twins / "a/sub")
        assert own(entry, "path") == "ENODATA"
        assert os.stat(entry).st_mode == os.stat(next(view.dups.iterdir())).st_mode


def test_commands_find_the_source_of_a_path(twinfs, twins):
    with twinfs.mounted(twins) as view:
        entry = entry_of(view, "a", "b")
        for name in ("a", "b/sub", "b/sub/two", "a/none"):
            assert twinfs.ok("path", entry / name).lines == [os.fsencode(twins / name)]
        assert twinfs.ok("copies", entry / "a").lines == [os.fsencode(twins / "b")]
        assert twinfs.ok("copies", entry / "b/one").lines == [os.fsencode(twins / "a/one")]


def test_missing_names_are_not_found(twinfs, twins):
    with twinfs.mounted(twins) as view:
        entry, (first, second) = entry_of(view, "a", "b"), parts(view)
        for name in ("nothing", "0001", "0002  9.8 KiB", first[:-1], second + "x",
                     second.replace("0002", "0001"), second.replace("0002", "2"),
                     second.replace("0002", "00002"), second.replace("9.8", "10"),
                     second.replace("(2", "(3"), second.replace("copies", "copy"),
                     "0003" + second[4:], "00001-02000", f"00001-02000/{first}",
                     f"{second}/c", f"{second}/(kept) a", f"{second}/a\u2215sub",
                     f"{second}/nothing", f"{second}/a/nothing", f"{second}/a/one/x",
                     f"{first}/a", f"{first}/c/one", "b", "a\u2215sub"):
            with pytest.raises(OSError) as raised:
                os.lstat(view.folders / name)
            assert raised.value.errno in (errno.ENOENT, errno.ENOTDIR), name
        assert (entry / "a/sub/two").exists()


def test_entries_are_read_only(twinfs, twins):
    with twinfs.mounted(twins) as view:
        entry = entry_of(view, "a", "b")
        for attempt in (
                lambda: os.open(entry / "a/one", os.O_WRONLY), lambda: os.mkdir(entry / "new"),
                lambda: os.truncate(entry / "a/one", 0), lambda: os.unlink(entry / "a/one"),
                lambda: trees.write(entry / "a/new"), lambda: os.rmdir(entry / "a/sub"),
                lambda: os.rename(entry / "a", entry / "c"), lambda: os.chmod(entry / "a", 0o700),
                lambda: os.rename(entry, entry.parent / "x"), lambda: os.utime(entry / "a/sub"),
                lambda: os.link(entry / "a/one", entry / "a/two"), lambda: os.rmdir(entry),
                lambda: os.mkdir(entry.parent / "new"), lambda: os.chown(entry / "a/one", 1, 1),
                lambda: os.symlink("x", entry / "a/new"),
                lambda: os.setxattr(entry / "a", "user.x", b"y")):
            with pytest.raises(OSError) as raised:
                attempt()
            assert raised.value.errno == errno.EROFS
        assert differences(view, twins) == []


def test_all_names_of_a_folder_are_shown(twinfs, source):
    """Also copies that uniques/ leaves out, and names without bytes."""
    for folder in "ab":
        plant(source, {f"{folder}/{name}": thing for name, thing in {
            "x": b"1" * 100, "again": b"1" * 100, "none": b"", "link": Link("x"), "fifo": FIFO,
            "dangling": Link("nowhere"), ".hidden/.x": b"2", "empty/in it": FOLDER}.items()})
    os.link(source / "b/x", source / "b/linked")
    os.link(source / "a/again", source / "a/linked")
    with twinfs.mounted(source) as view:
        entry = entry_of(view, "a", "b")
        for folder in "ab":
            assert {str(path.relative_to(entry / folder)) for path in (entry / folder).rglob("*")
                    } == {"x", "again", "linked", "none", "link", "fifo", "dangling", ".hidden",
                          ".hidden/.x", "empty", "empty/in it"}
        assert os.path.samefile(entry / "b/x", entry / "b/linked")
        assert not os.path.samefile(entry / "a/x", entry / "a/linked")
        assert os.readlink(entry / "b/link") == "x"
        assert differences(view, source) == []


def test_names_of_any_bytes_are_shown(twinfs, source):
    for number, name in enumerate((*trees.ODD_NAMES, "\u20ac".encode() * 85)):
        for parent in (b"a", b"b"):
            trees.write(trees.join(source, parent, name, name), trees.content(number, 100))
            trees.write(trees.join(source, parent, b"only here"), parent)
    with twinfs.mounted(source) as view:
        assert len(entries(view)) == len(trees.ODD_NAMES) + 1
        assert max(len(os.fsencode(entry.name)) for entry in entries(view)) <= 255
        assert differences(view, source) == []


def test_deep_folders_are_shown(twinfs, source):
    """The last folders of all are equal, too."""
    for name in ("one", "two"):
        trees.deep(source / name)
    trees.deep(source / "three/x", levels=10)
    trees.deep(source / "four/y", levels=10)
    trees.write(source / "four/only", b"4")
    with twinfs.mounted(source) as view:
        assert sorted(map(len, groups(view))) == [2, 2, 4]
        assert differences(view, source) == []


def test_folder_of_which_a_copy_is_deep_has_a_short_name(twinfs, source):
    long = "/".join(f"{level:02}" * 60 for level in range(20))
    for place in (f"a/{long}/folder.jpg", "folder.jpg", f"b/{long}/folder.jpg"):
        plant(source / place, {"x/y": b"1", "z": Link("x")})
    trees.write(source / "a/other", b"a")
    with twinfs.mounted(source) as view:
        [names] = [names for names in groups(view) if "folder.jpg" in names]
        assert len(names) == 3
        assert all(len(os.fsencode(name)) <= 255 and name.endswith(".jpg") for name in names)
        assert differences(view, source) == []


@pytest.mark.parametrize("nested", [False, True])
def test_equal_sources_are_shown_by_the_names_of_their_trees(twinfs, tmp_path, nested):
    one, two = (plant(tmp_path / name, {"s/x": b"1", "y": FIFO})
                for name in ("one/inner" if nested else "one", "two"))
    plant(tmp_path, {"three/two/s/x": b"1"})
    roots = [one.parent if nested else one, two, tmp_path / "three"]
    with twinfs.mounted(*roots) as view:
        assert ("one\u2215inner" if nested else "one", "two") in groups(view)
        assert differences(view, *roots) == []


def test_sources_of_one_name_are_told_apart(twinfs, tmp_path):
    roots = [make(tmp_path / name / "same") for name in ("one", "two", "three")]
    with twinfs.mounted(*roots) as view:
        [entry] = entries(view)
        assert sorted(os.listdir(entry)) == ["same", "same~2", "same~3"]
        assert entry.name == name_of("0001", "same", 3, "20 KiB")
        assert differences(view, *roots) == []


def test_devices_are_shown(twinfs, source, root_only):
    for folder in "ab":
        plant(source, {f"{folder}/x": b"1"})
        os.mknod(source / folder / "null", 0o020666, os.makedev(1, 3))
        os.mknod(source / folder / "block", 0o060640, os.makedev(240, 77))
    with twinfs.mounted(source) as view:
        assert groups(view) == {("a", "b")}
        assert differences(view, source) == []


def test_folder_with_an_excluded_name_is_not_shown(twinfs, source):
    plant(source, {"a/x": b"1", "a/no": b"2", "b/x": b"1", "c/x": b"1", "d/s/x": b"1"})
    with twinfs.mounted(source, options=("--wait", "--exclude=no")) as view:
        assert groups(view) == {("b", "c", "d\u2215s")}
        assert differences(view, source, excluded=is_no) == []


# many groups

@pytest.fixture(scope="module")
def many(scratch):
    """2,010 groups of two folders, each pair of another size."""
    for number in range(2010):
        for parent in "ab":
            trees.write(scratch / f"source/{parent}/{number:05}/x", b"x" * (number + 1))
    trees.write(scratch / "source/a/only", b"a")
    return scratch / "source"


def test_many_entries_are_in_parts(twinfs, many):
    with twinfs.mounted(many) as view:
        assert parts(view) == ["00001-02000", "02001-04000"]
        assert [len(os.listdir(view.folders / part)) for part in parts(view)] == [2000, 10]
        first = entries(view)[0]
        assert first.name == name_of("00001", "02009", 2, "2.0 KiB")
        assert sorted(os.listdir(first)) == ["a\u221502009", "b\u221502009"]
        assert differences(view, many, every=50) == []


def test_plain_tools_find_every_file_of_many_groups(twinfs, many):
    with twinfs.mounted(many) as view:
        run = subprocess.run(["find", view.folders, "-type", "f", "-size", "-3c"],
                             check=True, capture_output=True, text=True)
        assert len(run.stdout.splitlines()) == 4 and run.stderr == ""


def test_parts_vanish_and_return_with_their_groups(twinfs, source, tmp_path):
    for number in range(2001):
        for parent in "ab":
            trees.write(source / f"{parent}/{number:05}/x", b"x" * (number + 1))
    trees.write(source / "a/only", b"a")
    with twinfs.mounted(source) as view:
        for _ in range(2):
            assert parts(view) == ["00001-02000", "02001-04000"]
            assert len(entries(view)) == 2001
            os.rename(source / "a/00500", tmp_path / "moved")
            view.sync()
            assert len(parts(view)) == 2000 and parts(view)[0].endswith("frees\u00a02.0\u00a0KiB)")
            assert not os.path.lexists(view.folders / "02001-04000")
            os.rename(tmp_path / "moved", source / "a/00500")
            view.sync()
        assert differences(view, source, every=500) == []


# random trees

def diff(one, two):
    """What diff(1) prints of two folders. It cannot compare special files."""
    special = ["find", one, "(", "-type", "p", "-o", "-type", "s", ")"]
    if subprocess.run(special, check=True, capture_output=True).stdout:
        return b""
    run = subprocess.run(["diff", "-r", "--no-dereference", one, two], check=False,
                         capture_output=True)
    return run.stdout + run.stderr


@pytest.mark.parametrize("seed", TREES)
def test_random_tree_has_the_entries_of_the_oracle(twinfs, tmp_path, seed):
    _, roots, words, options = make_forest(tmp_path, seed)
    if "min_size" in options:
        words, options = (), {}
    with twinfs.mounted(*roots, options=["--wait", *words]) as view:
        assert differences(view, *roots, **options) == []
        for entry in entries(view):
            for one, two in combinations(entry.iterdir(), 2):
                assert diff(one, two) == b""


CHANGES = {
    "st_mtime_ns": lambda source: os.utime(source / "a/sub", ns=(5, 7)),
    "st_mode": lambda source: os.chmod(source / "b/sub", 0o700),
    "no group": lambda source: copy_tree(source / "a", source / "d"),
    "missing": lambda source: copy_tree(source / "more", source / "more too"),
    "is only in one": lambda source: [trees.write(source / f"{name}/new") for name in "ab"],
    # not of files, because their first open takes the folders out of folders/
    "hash": lambda source: [trees.write(source / f"{name}/one", trees.content(9, 5000))
                            for name in "ab"],
}


@pytest.mark.parametrize("planted", CHANGES)
def test_comparison_finds_a_change_that_the_view_does_not_follow(twinfs, source, planted):
    make_twins(source)
    make(source / "more", "more")
    with twinfs.mounted(source, options=("--wait", "--watch=none")) as view:
        assert differences(view, source) == []
        CHANGES[planted](source)
        assert any(planted in text for text in differences(view, source))


def test_size_of_an_entry_is_that_of_the_folders_that_could_go(twinfs, source):
    """Also if hard links elsewhere hold the bytes."""
    make(source / "a", size=700)
    for name in "bc":
        copy_tree(source / "a", source / name)
    os.link(source / "c/one", source / "one")
    with twinfs.mounted(source) as view:
        [entry] = entries(view)
        assert entry.name in [name_of("0001", name, 3, "2.7 KiB") for name in "abc"]
        assert [own(entry, name) for name in ("size", "reclaimable")] == [b"1400", b"2800"]
        [group] = [group for group in Folders([source]).groups.values() if not group.implied]
        assert own(entry, "hash") == own(entry / "b", "hash") == group.hash.encode()

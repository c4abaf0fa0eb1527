# SPDX-License-Identifier: MIT
"""Hostile trees with other file systems: bind mounts, mounts that do not answer, files of the
largest size, and equal inode numbers."""
import contextlib
import ctypes
import os
import re
import subprocess

import oracle
import pytest
import trees
from disks import bound, disk, unanswered
from processes import TIMEOUT
from test_hostile import meanwhile

CROSS = "--cross-file-systems"
MS_BIND, MNT_DETACH = 4096, 2  # linux/mount.h
EIB_8 = (1 << 63) - 4096  # the largest file of xfs, to a block


def names(path, *those):
    return frozenset(os.fsencode(path / name) for name in those)


# the same folder twice

@pytest.fixture
def twice(source):
    """A source with two copies and a lone file in the folder a."""
    trees.fill(source / "a", {b"copy 1": b"same" * 500, b"copy 2": b"same" * 500,
                              b"lone": b"lone" * 500})
    return source


def test_folder_bound_into_its_source_has_each_file_once(twinfs, twice, tmp_path):
    with bound(twice / "a", twice / "b"):
        found = twinfs.listing(CROSS, twice)
        [group] = found["groups"]
        assert {copy["path"] for copy in group["copies"]} == {
            f"{twice}/{folder}/copy {number}" for folder in "ab" for number in (1, 2)}
        assert len({copy["inode"] for copy in group["copies"]}) == 2
        assert found["summary"]["redundant_files"] == 1
        with twinfs.mounted(CROSS, twice) as view:
            view.sync()
            status = view.status()
            assert (status["files"], status["groups"], status["redundant_files"]) == (3, 1, 1)
            for folder in "ab":
                assert (view.uniques / folder / "lone").read_bytes() == b"lone" * 500
            assert view.errors() == []


def test_folder_bound_into_its_source_is_no_copy_of_itself(twinfs, twice):
    with bound(twice / "a", twice / "b"):
        result = twinfs("remove", "--yes", CROSS, twice)
        assert b"removed     1 copy\n" in result.out, result
        assert sorted(os.listdir(twice / "a")) == ["copy 1", "lone"]
        assert (twice / "a/copy 1").read_bytes() == b"same" * 500
        assert (twice / "a/lone").read_bytes() == b"lone" * 500


def test_folder_bound_into_its_source_equals_no_folder(twinfs, twice):
    with bound(twice / "a", twice / "b"):
        found = twinfs.ok("list", "--folders", "--all", "--format=json", CROSS, twice).json
        assert found["groups"] == []
        assert found["summary"]["redundant_folders"] == 0
        assert twinfs("copies", twice / "a").out == b""


def test_bytes_of_a_folder_bound_into_its_copy_are_not_reclaimable(twinfs, twice):
    for folder in ("x", "y"):
        (twice / folder / "bound").mkdir(parents=True)
        (twice / folder / "own").write_bytes(b"own" * 100)
    (twice / "x/bound/shared").write_bytes(b"shared" * 100)
    with bound(twice / "x/bound", twice / "y/bound"):
        found = twinfs.ok("list", "--folders", "--format=json", CROSS, twice).json
        group, = found["groups"]
        assert [folder["path"] for folder in group["folders"]] == [f"{twice}/x", f"{twice}/y"]
        assert (group["size"], group["reclaimable"]) == (900, 300)


def test_source_given_again_by_a_bind_mount_is_one_source(twinfs, twice, tmp_path):
    with bound(twice, tmp_path / "again") as again:
        assert twinfs.groups(twice, again) == {names(twice, "a/copy 1", "a/copy 2")}
        with twinfs.mounted(twice, again) as view:
            assert [tree["path"] for tree in view.status()["sources"]] == [str(twice)]
            assert view.differences(twice) == []


# mounts during a walk

@contextlib.contextmanager
def mounted_over(folder, other):
    """Mounts a folder over another one, as bound(), but within microseconds."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(os.fsencode(other), os.fsencode(folder), None, MS_BIND, None) == 0
    try:
        yield
    finally:
        assert libc.umount2(os.fsencode(folder), MNT_DETACH) == 0


@pytest.mark.parametrize("kind", [None, "ext4"], ids=["same file system", "other file system"])
def test_folder_mounted_over_during_a_walk_shows_nothing_of_the_mount(
        twinfs, source, tmp_path, root_only, kind):
    twin = b"not of this tree" * 1000
    trees.fill(source, {b"%02d/%s" % (number, name): b"%02d %s" % (number, name) * 1000
                        for number in range(50) for name in (b"lone", b"deeper/lone")})
    trees.fill(source, {b"%02d/twin" % number: b"%02d" % number for number in range(50)})
    trees.fill(source, {b"copy": twin, **{b"%02d" % number + b" twin": b"%02d" % number
                                          for number in range(50)}})
    right = {names(source, f"{number:02}/twin", f"{number:02} twin") for number in range(50)}
    with disk(kind, tmp_path) if kind else contextlib.nullcontext(tmp_path) as root:
        other = root / "other"
        trees.fill(other, {b"twin": twin, b"lone": twin, b"deeper/lone": twin})
        found = []

        def act(number):
            with contextlib.ExitStack() as mounts:
                for folder in range(number % 5, 50, 5):
                    mounts.enter_context(mounted_over(source / f"{folder:02}", other))
        with meanwhile(act):
            for number in range(20):
                result = twinfs.with_index(tmp_path / f"index {number}")(
                    "list", "--format=json", source)
                assert result.status in (0, 3), result
                found.append(result.groups)
        assert all(groups <= right for groups in found)
        assert any(groups < right for groups in found)
        assert twinfs.groups(source) == right
        with twinfs.mounted(source) as view:
            assert view.differences(source) == []


# mounts that do not answer

@pytest.mark.parametrize("alive", [True, False], ids=["hung", "dead"])
@pytest.mark.parametrize("words", [[], [CROSS]], ids=["staying", "crossing"])
def test_mount_that_does_not_answer_does_not_delay_the_rest(twinfs, source, alive, words):
    trees.small(source)
    with unanswered(source / "mounted") as end:
        if not alive:
            end()
        result = twinfs("list", "--format=json", *words, source)
        assert len(result.json["groups"]) == 2
        if words:  # the mount had to be walked
            assert result.status == 3, result
            assert [line for line in result.errors if str(source / "mounted") in line], result
        else:
            assert result.status == 0, result


def test_view_of_a_source_in_which_a_mount_hangs_is_right(twinfs, source):
    trees.small(source)
    with unanswered(source / "mounted"), twinfs.mounted(source) as view:
        assert os.listdir(view.uniques / "mounted") == []
        trees.write(source / "pictures/new", trees.content("alone", 70000))
        view.sync()
        assert view.status()["groups"] == 3


# files and numbers

def test_files_of_8_eib_are_distinguished_or_named(twinfs, tmp_path):
    with disk("xfs", tmp_path) as root:
        source = root / "source"
        source.mkdir()
        for name, last in (("one", b"x"), ("two", b"y"), ("three", b"x")):
            trees.holes(source / name, EIB_8, {0: b"head", 1 << 60: last})
        trees.fill(source, {b"a": b"same", b"b": b"same"})
        listing = twinfs("list", "--format=json", source)
        assert listing.status == 3, listing  # hashing equal files would take centuries
        assert [[copy["path"] for copy in group["copies"]] for group in listing.json["groups"]] == [
            [f"{source}/a", f"{source}/b"]]
        for name in ("one", "three"):
            assert [line for line in listing.errors if f"'{source}/{name}': File too large" in line]
        assert not [line for line in listing.errors if f"{source}/two" in line]
        with twinfs.mounted(source, status=3) as view:
            assert view.status()["groups"] == 1
            with open(view.uniques / "two", "rb") as file:
                file.seek(1 << 60)
                assert file.read(4) == b"y\0\0\0"
                assert os.lseek(file.fileno(), 4096, os.SEEK_DATA) == 1 << 60
            for name in ("one", "three"):
                assert os.stat(view.uniques / name).st_size == EIB_8


def test_sums_of_sizes_above_2_64_are_the_largest_number(twinfs, tmp_path):
    largest, largest_json = (1 << 64) - 1, (1 << 63) - 1  # jansson reads no larger number
    with disk("xfs", tmp_path) as root:
        source = root / "source"
        sizes = [EIB_8 - number * 4096 for number in range(6)]
        for size in sizes:
            trees.holes(source / str(size), size, {})

        def summary(*words):
            return twinfs.ok("list", "--format=json", *words, source).json["summary"]

        assert summary()["bytes"] == largest_json
        assert summary("--singles")["single_bytes"] == largest_json
        assert f"{largest:,} bytes" in str(twinfs.ok("list", "--summary", source))
        with twinfs.mounted(source) as view:
            assert view.status()["bytes"] == largest_json
            assert b'twinfs_bytes{view="%s"} %d\n' % (
                os.fsencode(view.path), largest) in view.read("metrics")
            assert b'value="%d"' % largest in view.read("report.html")
            for size in sizes[2:]:
                os.unlink(source / str(size))
            view.sync()
            assert b'twinfs_bytes{view="%s"} %d\n' % (
                os.fsencode(view.path), sum(sizes[:2])) in view.read("metrics")
            os.unlink(source / str(sizes[1]))
            view.sync()
            assert view.status()["bytes"] == sizes[0]
        assert twinfs.ok("check", source)
        assert summary()["bytes"] == sizes[0]


@pytest.mark.parametrize("words", [[], [CROSS]], ids=["sources", "one source"])
def test_files_of_two_subvolumes_with_equal_inode_numbers_are_two_files(twinfs, tmp_path, words):
    with disk("btrfs", tmp_path) as root:
        one, two = root / "one", root / "two"
        for folder, other in ((one, b"1"), (two, b"2")):
            subprocess.run(["btrfs", "-q", "subvolume", "create", folder], check=True,
                           timeout=TIMEOUT)
            trees.fill(folder, {b"same": b"equal" * 500, b"other": other * 2500})
        for name in ("same", "other"):
            assert os.stat(one / name).st_ino == os.stat(two / name).st_ino
        sources = [root, *words] if words else [one, two]
        found = twinfs.listing(*sources)
        [group] = found["groups"]
        assert {copy["path"] for copy in group["copies"]} == {f"{one}/same", f"{two}/same"}
        assert len({copy["inode"] for copy in group["copies"]}) == 2
        assert found["summary"]["redundant_bytes"] == 2500
        if not words:
            assert twinfs.groups(*sources) == oracle.path_groups(*sources)
            with twinfs.mounted(*sources) as view:
                assert view.differences(*sources) == []


def test_snapshot_is_a_copy_until_it_is_written_to(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        one, two = root / "one", root / "two"
        subprocess.run(["btrfs", "-q", "subvolume", "create", one], check=True)
        trees.fill(one, {b"a": b"first" * 500, b"b": b"second" * 500})
        subprocess.run(["sync", "-f", root], check=True)
        subprocess.run(["btrfs", "-q", "subvolume", "snapshot", one, two], check=True)
        with twinfs.mounted(one, two) as view:
            assert view.status()["groups"] == 2
            assert view.differences(one, two) == []
            with open(two / "a", "r+b") as file:
                file.write(b"other")
            assert view.differences_now(one, two) == []
            assert view.status()["groups"] == 1
        assert len(twinfs.groups(one, two)) == 1


@pytest.mark.parametrize("flag", ["+i", "+a"])
def test_immutable_file_is_scanned_and_served(twinfs, tmp_path, flag):
    with disk("ext4", tmp_path) as root:
        source = root / "source"
        trees.fill(source, {b"a": b"same" * 500, b"b": b"same" * 500, b"folder/c": b"same" * 500})
        locked = [source / "a", source / "folder/c", source / "folder"]
        subprocess.run(["chattr", flag, *locked], check=True)
        try:
            with twinfs.mounted(source) as view:
                assert view.differences(source) == []
                os.unlink(source / "b")
                assert view.differences_now(source) == []
                assert view.status()["groups"] == 1
        finally:
            subprocess.run(["chattr", flag.replace("+", "-"), *locked], check=True)


def test_files_on_an_overlay_are_read_without_openat2(root_only, strace, twinfs, tmp_path):
    """Sandboxes may refuse openat2. An overlay shows files and folders with different devices."""
    lower, upper, shown = (tmp_path / name for name in ("lower", "upper", "shown"))
    for name in ("one", "folder/two"):
        trees.write(lower / name, b"content")
    upper.mkdir()
    shown.mkdir()
    with contextlib.ExitStack() as stack:
        def mount(*words):
            if subprocess.run(["mount", "-t", *words], check=False).returncode != 0:
                pytest.skip("the kernel does not mount overlays here")
            stack.callback(subprocess.run, ["umount", words[-1]], check=True)
        mount("tmpfs", "tmpfs", upper)  # layers on two file systems: no common inode numbers
        (upper / "upper").mkdir()
        (upper / "work").mkdir()
        mount("overlay", "overlay", "-o",
              f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work", shown)
        result, _ = twinfs.traced("list", "--summary", shown, calls="trace=openat2",
                                  flags=["-e", "inject=openat2:error=ENOSYS"])
    assert result.status == 0, result
    assert re.search(rb"^groups +1$", result.out, re.MULTILINE), result

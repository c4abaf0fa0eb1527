# SPDX-License-Identifier: MIT
"""`doctor` names whether the copies of a source can share blocks, and what prevents it. Each claim
is compared with what `dedupe` then does, and each remedy is carried out."""
import contextlib
import os
import shlex
import subprocess

import pytest
from disks import bound, disk, in_memory, overlay
from test_act_causes import figure
from test_doctor import examine

SIZE = 100_000
CAPABLE = "'twinfs dedupe' can let equal files share blocks"
ABOUT_BLOCKS = ("dedupe", "immutable", "nodatacow", "nodatasum", "owners", "subvolumes")


def run(*words):
    subprocess.run(words, check=True, capture_output=True)


def folder_on(root, name="source", owner=None):
    made = root / name
    made.mkdir()
    if owner:
        os.chown(made, owner.pw_uid, owner.pw_gid)
    return made


def write(*paths, content=None, owner=None):
    """Writes equal files that share no blocks; returns their content."""
    content = content or os.urandom(SIZE)
    for path in paths:
        with open(path, "xb") as file:
            file.write(content)
            os.fsync(file.fileno())
        if owner:
            os.chown(path, owner.pw_uid, owner.pw_gid)
    return content


def write_anew(path):
    """Replaces a file by a copy of it, as remedies say."""
    new = path.with_name("new")
    run("cp", "-a", path, new)
    new.replace(path)


def found_in(twinfs, source, *others):
    """The findings about a source that concern sharing; there must be no problem."""
    result = twinfs.ok("doctor", "--format=json", source, *others)
    assert result.json["problems"] == 0
    examine(twinfs, source)  # remedies, and the exit status
    return {check["check"]: check for check in result.json["checks"]
            if check["about"] == "source" and check["path"] == str(source)
            and check["check"] in ABOUT_BLOCKS}


def assert_capable(twinfs, source):
    """There is one finding: the files can share."""
    found = found_in(twinfs, source)
    assert set(found) == {"dedupe"}, found
    assert found["dedupe"]["verdict"] == "ok" and found["dedupe"]["found"] == CAPABLE


def assert_shared(twinfs, *words, count=1):
    result = twinfs.ok("dedupe", "--yes", *words)
    assert (figure(result, "deduped"), figure(result, "skipped")) == (count, 0), result


def assert_refused(twinfs, *words, cause, status=3):
    result = twinfs("dedupe", "--yes", *words)
    assert result.status == status and figure(result, "deduped") == 0, result
    assert cause in result.error.decode(), result


def do_as_root(remedy):
    """Runs a remedy that is a command for root."""
    assert remedy.startswith("as root: ")
    run(*shlex.split(remedy.removeprefix("as root: ")))


@contextlib.contextmanager
def flag(flags, *paths):
    run("chattr", f"+{flags}", *paths)
    try:
        yield
    finally:
        run("chattr", f"-{flags}", *paths)


# whether the disk can share

@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_disk_with_shared_blocks_is_named(request, tmp_path, plain_user, kind, is_plain):
    twinfs = request.getfixturevalue("as_user" if is_plain else "twinfs")
    owner = plain_user if is_plain else None
    with disk(kind, tmp_path) as root:
        source = folder_on(root, owner=owner)
        write(source / "a", source / "b", owner=owner)
        assert_capable(twinfs, source)
        assert_shared(twinfs, source)


@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("kind, words", [
    ("ext4", "files on ext4 cannot share blocks"),
    ("xfs without reflinks", "files cannot share blocks: this XFS was made without reflinks")])
def test_disk_without_shared_blocks_is_no_problem(
        request, tmp_path, plain_user, kind, words, is_plain):
    twinfs = request.getfixturevalue("as_user" if is_plain else "twinfs")
    owner = plain_user if is_plain else None
    with disk(kind, tmp_path) as root:
        source = folder_on(root, owner=owner)
        write(source / "a", source / "b", owner=owner)
        found = found_in(twinfs, source)
        assert set(found) == {"dedupe"}, found
        assert found["dedupe"]["verdict"] == "ok" and found["dedupe"]["found"] == words
        assert f"  ok       dedupe        {words}\n" in twinfs.ok("doctor", source).out.decode()
        assert_refused(twinfs, source, cause=("cannot share blocks" if kind == "ext4" else
                                              "its file system cannot share blocks between files"))


def test_files_in_memory_cannot_share(twinfs, source):
    with in_memory(source):
        write(source / "a")
        assert found_in(twinfs, source)["dedupe"]["found"] == "files on ramfs cannot share blocks"


def test_files_in_the_upper_layer_of_an_overlay_can_share(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root, overlay(root) as shown:
        write(shown / "a", shown / "b")
        found = found_in(twinfs, shown)["dedupe"]
        assert found["verdict"] == "ok"
        assert found["found"] == \
            "files can share blocks only in the upper layer, if it is on btrfs or XFS"
        assert_shared(twinfs, shown)


def test_files_in_the_lower_layer_of_an_overlay_cannot_share(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        lower = folder_on(root, "lower")
        write(lower / "a", lower / "b")
        with overlay(root) as shown:
            assert_refused(twinfs, shown, cause="Operation not permitted")


# read-only

@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_read_only_mount_is_named_with_its_remedy(twinfs, tmp_path, kind):
    with disk(kind, tmp_path) as root:
        source = folder_on(root)
        write(source / "a", source / "b")
        with bound(root, tmp_path / "a place") as second:
            run("mount", "-o", "remount,bind,ro", second)
            found = found_in(twinfs, second / "source")
            assert set(found) == {"dedupe"} and found["dedupe"]["verdict"] == "note"
            assert "read-only mount" in found["dedupe"]["found"]
            assert_refused(twinfs, second / "source", cause="Read-only file system")
            assert_capable(twinfs, source)
            do_as_root(found["dedupe"]["remedy"])
            assert_capable(twinfs, second / "source")
            assert_shared(twinfs, second / "source")


def test_plain_user_is_advised_to_have_a_mount_made_writable(as_user, tmp_path, plain_user,
                                                             root_only):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root, owner=plain_user)
        write(source / "a", source / "b", owner=plain_user)
        run("mount", "-o", "remount,ro", root)
        assert found_in(as_user, source)["dedupe"]["remedy"] == \
            f"ask the administrator: mount -o remount,rw '{root}'"
        assert_refused(as_user, source, cause="Read-only file system")


@pytest.mark.parametrize("is_plain", [False, True])
def test_read_only_snapshot_is_no_obstacle(request, tmp_path, plain_user, is_plain):
    twinfs = request.getfixturevalue("as_user" if is_plain else "twinfs")
    with disk("btrfs", tmp_path) as root:
        run("btrfs", "subvolume", "create", root / "first")
        write(root / "first/a", root / "first/b", owner=plain_user)
        run("btrfs", "subvolume", "snapshot", "-r", root / "first", root / "second")
        assert_capable(twinfs, root / "second")
        assert_shared(twinfs, root / "second")


# checksums of btrfs

def test_some_nodatacow_directories_are_named_with_their_remedy(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        inner = folder_on(source, "in")
        run("chattr", "+C", inner)
        write(source / "a", inner / "b")
        found = found_in(twinfs, source)
        assert set(found) == {"dedupe", "nodatacow"}
        assert found["dedupe"]["found"] == CAPABLE and found["nodatacow"]["verdict"] == "note"
        assert found["nodatacow"]["found"].startswith(
            f"1 of its directories is nodatacow (chattr +C), such as '{inner}': ")
        assert_refused(twinfs, source, cause="Invalid argument")
        assert found["nodatacow"]["remedy"] == ("if they should, run chattr -C DIRECTORY, and "
                                                "replace each file there by a copy of it")
        run("chattr", "-C", inner)
        write_anew(inner / "b")
        assert_capable(twinfs, source)
        assert_shared(twinfs, source)


def test_nodatacow_directories_are_counted(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        run("chattr", "+C", source)
        for number in range(3):  # they inherit the flag
            folder_on(source, f"{number}")
        run("chattr", "-C", source / "1")
        found = found_in(twinfs, source)["nodatacow"]["found"]
        assert found.startswith(
            f"3 of its directories are nodatacow (chattr +C), such as '{source}': ")


def test_files_of_a_nodatacow_source_share_with_each_other_only(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source, other = folder_on(root), folder_on(root, "other")
        run("chattr", "+C", source)
        inner = folder_on(source, "in")
        content = write(source / "a", inner / "b")
        found = found_in(twinfs, source)
        assert set(found) == {"dedupe"} and found["dedupe"]["verdict"] == "ok"
        assert found["dedupe"]["found"] == (
            f"{CAPABLE}, but not with files elsewhere: its directories are nodatacow (chattr +C)")
        assert_shared(twinfs, source)
        write(other / "c", content=content)
        assert_refused(twinfs.with_index(tmp_path / "both"), source, other,
                       cause="Invalid argument")


def test_mount_with_nodatasum_is_named_with_its_remedy(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        before, after = source / "before", source / "after"
        content = write(before)
        run("mount", "-o", "remount,nodatasum", root)
        write(after, content=content)
        found = found_in(twinfs, source)
        assert set(found) == {"dedupe", "nodatasum"}
        assert found["dedupe"]["found"] == CAPABLE and found["nodatasum"]["verdict"] == "note"
        assert_refused(twinfs, source, cause="Invalid argument")
        assert found["nodatasum"]["remedy"] == (
            "if dedupe refuses a copy as 'Invalid argument', replace it and the kept file by "
            "copies of them")
        for path in (before, after):
            write_anew(path)
        assert_shared(twinfs, source)


def test_nodatacow_directory_is_no_obstacle_on_a_mount_with_nodatasum(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        run("mount", "-o", "remount,nodatasum", root)
        inner = folder_on(source, "in")
        run("chattr", "+C", inner)
        write(source / "a", inner / "b")
        assert set(found_in(twinfs, source)) == {"dedupe", "nodatasum"}
        assert_shared(twinfs, source)


def test_compressed_files_are_no_obstacle(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        inner = folder_on(source, "in")
        run("chattr", "+c", inner)
        content = write(source / "a", content=b"twinfs " * SIZE)
        write(inner / "b", content=content)
        assert_capable(twinfs, source)
        assert_shared(twinfs, source)


# subvolumes

def test_subvolumes_in_a_source_are_named_and_not_counted(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        inner = folder_on(source, "in")
        content = write(source / "a")
        for name in ("one", "two"):
            run("btrfs", "subvolume", "create", inner / name)
            write(inner / name / "b", content=content)
        found = examine(twinfs, source)
        assert found["source", "size"]["found"] == "1 file in 2 directories"
        note = found["source", "subvolumes"]
        assert note["found"] in [f"2 subvolumes in the source, such as '{inner / name}', "
                                 f"will not be entered" for name in ("one", "two")]
        assert note["remedy"] == "to include them, use --cross-file-systems"
        assert twinfs.ok("dedupe", "--yes", source).errors[-1].endswith("nothing to dedupe")
        assert_shared(twinfs.with_index(tmp_path / "all"), "--cross-file-systems", source, count=2)


def test_source_that_is_a_subvolume_is_entered(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = root / "source"
        run("btrfs", "subvolume", "create", source)
        write(source / "a", folder_on(source, "in") / "b")
        assert_capable(twinfs, source)
        assert examine(twinfs, source)["source", "size"]["found"] == "2 files in 2 directories"
        assert_shared(twinfs, source)


# files that cannot be changed

@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_immutable_files_are_counted_and_named_with_their_remedy(twinfs, tmp_path, kind):
    with disk(kind, tmp_path) as root:
        source = folder_on(root)
        paths = [source / name for name in "abc"]
        write(*paths)
        with flag("i", *paths[1:]):
            found = found_in(twinfs, source)
            assert set(found) == {"dedupe", "immutable"}
            assert found["immutable"]["verdict"] == "note"
            assert found["immutable"]["found"].startswith("2 of 3 files in the sample ")
            assert found["immutable"]["remedy"] == "as root: chattr -i FILE..."
            assert_refused(twinfs, source, cause="immutable")
        assert_capable(twinfs, source)
        assert_shared(twinfs, source, count=2)


def test_few_immutable_files_are_not_named(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        write(source / "a")
        for number in range(20):
            write(folder_on(source, f"{number}") / "b")
        with flag("i", source / "a"):
            assert_capable(twinfs, source)


def test_files_of_another_user_are_named_on_a_disk_with_shared_blocks(as_user, tmp_path, root_only):
    with disk("btrfs", tmp_path) as root:
        source = folder_on(root)
        write(source / "a", source / "b")
        found = found_in(as_user, source)
        assert set(found) == {"dedupe", "owners"}
        assert "dedupe refuse to act on them" in found["owners"]["found"]
        assert_refused(as_user, source, cause="lease")

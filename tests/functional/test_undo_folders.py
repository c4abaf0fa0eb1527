# SPDX-License-Identifier: MIT
"""undo of acts on folders: what it makes and removes of them, and what a killed one leaves."""
import contextlib
import os
import shutil

import pytest
import trees
from disks import disk
from test_undo import tree_of

# Files that an undo brings back before it writes their records.
UNDO_BATCH = 128


@pytest.mark.parametrize("words, across", [
    (["move"], False), (["move", "--folders"], False), (["move"], True)],
    ids=["files", "folders", "across"])
def test_undo_of_a_move_removes_the_folders_that_the_move_made(twinfs, source, aside, tmp_path,
                                                               words, across):
    """The folders of the user stay, also empty ones, and folders that have a file now."""
    for name in ("one", "two"):
        trees.fill(source / "new/in" / name, {b"a": b"first", b"b": b"second"})
    trees.fill(source / "new/used/one", {b"c": b"third"})
    trees.fill(source / "new/used/two", {b"c": b"third"})
    trees.fill(source / "mine/one", {b"d": b"fourth"})
    trees.fill(source / "mine/two", {b"d": b"fourth"})
    before = tree_of(source)
    with disk("ext4", tmp_path) if across else contextlib.nullcontext(aside) as root:
        target = root / "target"
        (target / "mine").mkdir(parents=True)
        twinfs.ok(*words, "--yes", "--keep=path:one", source, target)
        assert (target / "new/in").is_dir() and (target / "new/used").is_dir()
        (target / "new/used/mine").write_bytes(b"mine")
        twinfs.ok("undo", "--yes")
        assert tree_of(source) == before
        assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == [
            "mine", "new", "new/used", "new/used/mine"]


@pytest.mark.parametrize("across", [False, True], ids=["renamed", "across"])
def test_undo_killed_when_it_removes_folders_leaves_nothing_undone(twinfs, source, aside, tmp_path,
                                                                  strace, across):
    for number in range(1 if across else UNDO_BATCH):
        for name in ("one", "two"):
            trees.fill(source / "new" / name, {b"%d" % number: b"content %d" % number})
    before = tree_of(source)
    with disk("ext4", tmp_path) if across else contextlib.nullcontext(aside) as root:
        target = root / "target"
        target.mkdir()
        twinfs.ok("move", "--yes", "--keep=path:one", source, target)
        flags = (["-P", twinfs.index / "acts", "-e", "inject=write:signal=KILL:when=2"]
                 if across else ["-e", "inject=unlinkat:signal=KILL"])
        killed, _ = twinfs.traced("undo", "--yes", calls="trace=write,unlinkat", flags=flags)
        assert killed.status != 0 and tree_of(source) == before
        result = twinfs.ok("recover")
        assert "not mounted" not in result.error.decode(), result
        twinfs.ok("undo", "--yes")
        assert tree_of(source) == before and not os.listdir(target)


def test_undo_killed_before_it_cleans_the_trash_is_completed(twinfs, source, strace):
    removed_names(source)
    twinfs.ok("remove", "--trash", "--folders", "--yes", "--keep=path:kept", source)
    [info] = (twinfs.home / ".local/share/Trash/info").iterdir()
    twinfs.traced("undo", "--yes", calls="trace=unlinkat",
                  flags=["-e", "inject=unlinkat:signal=KILL"])
    assert (source / "redundant").exists() and info.exists()
    twinfs.ok("undo", "--yes")
    assert not info.exists()


def removed_names(source):
    """Fills two equal folders with names of several types."""
    for name in ("kept", "redundant"):
        folder = source / name
        trees.fill(folder / "inner", {b"a": b"first"})
        (folder / "private").mkdir(mode=0o2750)
        os.symlink("inner/a", folder / "link")
        os.mkfifo(folder / "pipe")
        for path, mode in ((folder, 0o751), (folder / "private", 0o2750), (folder / "pipe", 0o640)):
            path.chmod(mode)
        for path in ("pipe", "link"):
            os.utime(folder / path, ns=(0, 10**18 + 7), follow_symlinks=False)


def state_of_names(folder):
    return {path: (status.st_mode, status.st_uid, status.st_gid, status.st_rdev,
                   None if path.is_dir() and not path.is_symlink() else status.st_mtime_ns)
            for path in [folder, *folder.rglob("*")] for status in [path.lstat()]}


@pytest.mark.parametrize("call", ["?chmod,?fchmodat", "utimensat"])
def test_undo_killed_before_it_set_the_metadata_of_a_name_is_completed(twinfs, source, strace,
                                                                       call):
    killed = True
    for number in range(1, 20):
        shutil.rmtree(source)
        shutil.rmtree(twinfs.index, ignore_errors=True)
        source.mkdir()
        removed_names(source)
        if os.geteuid() == 0:
            for path in ("inner", "pipe", "link"):
                os.chown(source / "redundant" / path, 1, 2, follow_symlinks=False)
        before = state_of_names(source / "redundant")
        twinfs.ok("remove", "--folders", "--yes", "--keep=path:kept", source)
        assert not (source / "redundant").exists()
        _, trace = twinfs.traced("undo", "--yes", calls=f"trace={call}",
                                 flags=["-e", f"inject={call}:signal=KILL:when={number}"])
        killed = b"killed by SIGKILL" in trace
        if killed:
            result = twinfs("undo", "--yes")
            assert result.status == 0, (number, result)
        assert state_of_names(source / "redundant") == before, number
        if not killed:
            break
    assert not killed


@pytest.mark.parametrize("change", ["mode", "name", "owner", "time", "attribute"])
def test_name_that_was_changed_after_a_killed_undo_stays_as_it_is(twinfs, source, strace, change):
    removed_names(source)
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:kept", source)
    twinfs.traced("undo", "--yes", calls="trace=?chmod,?fchmodat",
                  flags=["-e", "inject=?chmod,?fchmodat:signal=KILL:when=1"])
    folder = source / "redundant"
    assert folder.stat().st_mode & 0o7777 == 0o1700
    if change == "mode":
        folder.chmod(0o700)
    elif change == "name":
        (folder / "mine").write_bytes(b"mine")
    elif change == "owner":
        if os.geteuid():
            pytest.skip("needs root")
        os.chown(folder, 1234, 1234)
    elif change == "time":
        os.utime(folder, ns=(5, 5))
    else:
        os.setxattr(folder, "user.mine", b"mine")
    changed = state_of_names(folder)[folder]
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"it stays as it is" in result.error, result
    assert state_of_names(folder)[folder] == changed

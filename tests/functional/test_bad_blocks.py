# SPDX-License-Identifier: MIT
"""A disk with bad blocks: files on them are named, nothing else is lost, and an index on them gives
no wrong answer.

rotating_disk.c is the disk. The kernel does not read cached pages from the disk again. So the tests
remount it after a part went bad, or make the kernel drop the pages that a process has mapped.
"""
import contextlib
import ctypes
import errno
import os
import signal
import subprocess
from pathlib import Path

import oracle
import pytest
import trees
from disks import extents
from program import path_of
from test_index import CHILD_MAY_CRASH

BLOCK = 4096
LARGE = trees.content("large", 3 << 20)
PAGEOUT = 21  # MADV_PAGEOUT of asm-generic/mman-common.h
CRASHES = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV}  # LMDB reads its map


class Memory(ctypes.Structure):
    _fields_ = [("start", ctypes.c_size_t), ("length", ctypes.c_size_t)]


def build(root):
    """Three copies of a large file, pairs in one folder, others elsewhere."""
    tree = root / "tree"
    trees.fill(tree / "large", {b"a": LARGE, b"b": LARGE, b"c": LARGE})
    trees.many(tree / "many", 60, lambda number: b"%d" % (number // 3), folders=6)
    trees.small(tree / "small")


@pytest.fixture
def bad_disk(make_disk):
    """A served disk with that tree and without bad blocks yet."""
    disk = make_disk(time_scale=0)
    disk.fill(build)
    with disk.served():
        disk.tree = disk.root / "tree"
        yield disk


def on_disk(path, first=0, length=1 << 40):
    """The extents on the disk of a part of a file or folder."""
    found = [(place + max(first - at, 0), min(size, first + length - at) - max(first - at, 0))
             for at, place, size in extents(path) if at < first + length and first < at + size]
    assert found
    return found


def spoil(disk, path, *part):
    """Makes a part of a file or folder the only bad blocks of the disk."""
    disk.spoil(*on_disk(path, *part))
    disk.cold()


def refused_with(path):
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno
    return None


@pytest.mark.parametrize("first", [0, 2 << 20], ids=["begin", "middle"])
def test_file_on_bad_blocks_is_named_and_in_no_group(twinfs, bad_disk, first):
    bad, right = bad_disk.tree / "large/b", oracle.path_groups(bad_disk.tree)
    spoil(bad_disk, bad, first, BLOCK)
    assert refused_with(bad) == errno.EIO
    rest = {group - {os.fsencode(bad)} for group in right}
    result = twinfs("list", "--format=json", bad_disk.tree)
    assert result.status == 3, result
    assert [line for line in result.errors if f"{bad}" in line and "Input/output error" in line]
    assert result.json["summary"]["errors"] == 1
    assert result.groups == rest
    with twinfs.mounted(bad_disk.tree, status=3) as view:
        assert [path_of(error) for error in view.errors()] == [os.fsencode(bad)]
        assert not [names for names in view.copies().values()
                    if "large\u2215b".encode() in names]
        assert refused_with(view.uniques / "large/b") == errno.EIO
        with open(view.uniques / "large/b", "rb", buffering=0) as file:
            file.seek(first + (1 << 20))  # a part on good blocks
            assert file.read(BLOCK) == LARGE[first + (1 << 20):first + (1 << 20) + BLOCK]
        assert view.wrong_bytes(bad_disk.tree, failed := []) == []
        assert {error.errno for error in failed} == {errno.EIO}
    bad_disk.spoil()
    assert twinfs.groups(bad_disk.tree) == right


def test_unreadable_copies_give_errors_and_no_wrong_bytes(twinfs, bad_disk):
    kept = bad_disk.tree / "large/a"
    twinfs.ok("scan", bad_disk.tree)
    spoil(bad_disk, kept, 1 << 20, BLOCK)
    with twinfs.mounted(bad_disk.tree) as view:  # files that did not change are not read
        [folder] = [view.dups / os.fsdecode(name) for name, names in view.copies().items()
                    if "large\u2215a".encode() in names]
        assert refused_with(folder / "large\u2215a") == errno.EIO
        assert (folder / "large\u2215c").read_bytes() == LARGE
        assert view.wrong_bytes(bad_disk.tree, failed := []) == []
        assert {error.errno for error in failed} == {errno.EIO}
        assert refused_with(kept) == errno.EIO


def test_folder_on_bad_blocks_is_named_and_unreadable_in_the_view(twinfs, bad_disk):
    right, bad = twinfs.groups(bad_disk.tree), bad_disk.tree / "many/003"
    inside = os.fsencode(bad) + b"/"
    reached = {frozenset(path for path in group if not path.startswith(inside)) for group in right}
    spoil(bad_disk, bad)
    with pytest.raises(OSError):
        os.listdir(bad)
    result = twinfs("list", "--format=json", bad_disk.tree)
    assert result.status == 3, result
    assert [line for line in result.errors if f"{bad}" in line]
    assert result.groups == {group for group in reached if len(group) > 1}
    with twinfs.mounted(bad_disk.tree, status=3) as view:
        assert [path_of(error) for error in view.errors()] == [os.fsencode(bad)]
        assert view.differences(bad_disk.tree) == []
    bad_disk.spoil()
    bad_disk.cold()
    assert twinfs.groups(bad_disk.tree) == right


# the index

@pytest.fixture
def indexed(twinfs, bad_disk):
    """The program with an index on that disk, and the groups in the index."""
    program = twinfs.with_index(bad_disk.root / "index")
    program.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    return program, program.groups(bad_disk.tree)


def parts_of(path):
    """Some pages of a file, and the whole file."""
    size = os.stat(path).st_size // BLOCK * BLOCK
    return [(first, BLOCK) for first in (0, BLOCK, size // 2 // BLOCK * BLOCK, size - BLOCK)] + [
        (0, size)]


def test_index_on_bad_blocks_is_set_aside_and_rebuilt(indexed, bad_disk):
    twinfs, right = indexed
    aside = twinfs.index / "damaged.mdb"
    files = [os.fsencode(bad_disk.tree / "large" / name) for name in "abc"]
    for part in parts_of(twinfs.index / "data.mdb"):
        assert not aside.exists()
        spoil(bad_disk, twinfs.index / "data.mdb", *part)
        copies = twinfs("copies", files[0])
        assert copies.status in {1, *CRASHES} or copies.out == b"".join(
            path + b"\n" for path in files[1:]), copies
        assert copies.status == 0 or b"index" in copies.error, copies
        result = twinfs("list", "--format=json", bad_disk.tree)
        assert result.status == 0, result
        assert [line for line in result.errors if "is damaged" in line]
        assert result.groups == right
        aside.unlink()
        bad_disk.cold()
        assert twinfs.groups(bad_disk.tree) == right


def drop_mapped_pages(pid, path):
    """Makes the kernel drop the cached pages of a file that only this process has mapped."""
    libc, handle = ctypes.CDLL(None, use_errno=True), os.pidfd_open(pid)
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(None, 5)
        if words[-1] == os.fspath(path):
            start, end = (int(word, 16) for word in words[0].split("-"))
            part = Memory(start, end - start)
            assert libc.process_madvise(handle, ctypes.byref(part), 1, PAGEOUT, 0) > 0
    os.close(handle)
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all_after_a_change(view, tree, number):
    """Reads everything after a change that the index must record; returns the errors. No byte may
    be wrong."""
    trees.fill(tree, {f"new {number}": b"%d" % number, f"newer {number}": b"%d" % number})
    with contextlib.suppress(subprocess.CalledProcessError):
        view.sync()
    failed = []
    assert view.wrong_bytes(tree, failed) == []
    return failed


def test_view_with_its_index_on_bad_blocks_serves_no_wrong_bytes(indexed, bad_disk):
    twinfs, _ = indexed
    data, failed = twinfs.index / "data.mdb", []
    for number, part in enumerate(parts_of(data)):
        with twinfs.mounted_in_foreground(bad_disk.tree) as (process, view):
            os.sync()
            bad_disk.spoil(*on_disk(data, *part))
            drop_mapped_pages(view.status()["pid"], data)
            assert refused_with(data) == errno.EIO
            errors = read_all_after_a_change(view, bad_disk.tree, number)
        assert process.returncode in {0, *CRASHES}
        assert (b"index" in process.output[1] if process.returncode else not errors), (
            process.returncode, process.output, errors)
        failed += errors
        assert twinfs.groups(bad_disk.tree) == oracle.path_groups(bad_disk.tree)
        bad_disk.spoil()
    assert failed


def test_unreadable_index_found_by_two_threads_is_logged_once(indexed, bad_disk, strace):
    """The second thread does not end the daemon before the first one has logged the cause."""
    twinfs, _ = indexed
    data = twinfs.index / "data.mdb"
    with twinfs.mounted_in_foreground(bad_disk.tree) as (process, view):
        os.sync()
        view.pid = view.status()["pid"]
        with view.traced("-e", "trace=write", "-e", "inject=write:delay_enter=500000:when=1+"):
            bad_disk.spoil(*on_disk(data))
            drop_mapped_pages(view.pid, data)
            lists = [subprocess.Popen(["find", folder], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
                     for folder in (view.dups, view.uniques, view.path / "redundant")]
            assert all(run.wait() for run in lists)
    assert process.returncode == -signal.SIGBUS
    assert process.output[1].count(b"cannot read the index") == 1

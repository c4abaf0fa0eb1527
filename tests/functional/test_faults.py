# SPDX-License-Identifier: MIT
"""Failing system calls: failures are named and counted, no wrong answer is given, nothing
crashes, and the next run is right.

The first calls of a scan fail with each error, and some of the later ones with one error each. With
TWINFS_FAULT_POINTS=all each call fails with each error."""
import collections
import contextlib
import errno
import os
import re
import signal
import stat
import subprocess

import oracle
import pytest
import trees
from processes import until

READING = ["openat2", "openat", "statx", "newfstatat", "fstat", "getdents64", "pread64", "read",
           "lseek", "fcntl", "sync_file_range", "fstatfs", "readlinkat", "name_to_handle_at"]
WRITING_THE_INDEX = ["pwrite64", "pwritev", "fdatasync", "ftruncate", "mkdirat", "flock"]
# The list lacks read, by which the daemon gets requests and events.
OF_A_VIEW = [call for call in READING if call != "read"]
SERIES = [(1, 3), (3, 11), (5, 40)]  # (first failing call of each thread, distance of the next)
ERRORS = ["EIO", "ENOMEM", "EMFILE"]
EACH = os.environ.get("TWINFS_FAULT_POINTS") == "all"  # whether each call fails with each error
POINTS = 8  # failing calls of each kind


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    trees.many(source / "many", 60, lambda number: b"%d" % (number // 3), folders=6)
    trees.fill(source / "large", {b"a": trees.content(1, 300_000), b"b": trees.content(1, 300_000)})
    trees.links(source / "links")
    return source


def calls_of_one_thread(trace):
    counts = collections.Counter(re.findall(rb"^(\d+) +(\w+)\(", trace, re.MULTILINE))
    most = collections.Counter()
    for (_, call), count in counts.items():
        most[call.decode()] = max(most[call.decode()], count)
    return most


def test_file_that_cannot_be_read_is_named_and_the_rest_is_right(twinfs, tree, strace):
    bad = os.fsencode(tree / "large/a")
    result, _ = twinfs.traced("list", "--format=json", tree, calls="trace=all", flags=[
        "-P", bad, "-e", "inject=pread64,read,preadv,preadv2,readv:error=EIO"])
    assert result.status == 3, result
    assert [line for line in result.errors if "large/a" in line and "Input/output" in line]
    assert result.json["summary"]["errors"] == 1
    assert result.groups == {group for group in oracle.path_groups(tree) if bad not in group}
    assert twinfs.groups(tree) == oracle.path_groups(tree)


def test_folder_that_cannot_be_listed_is_named_and_keeps_its_files(twinfs, tree, strace):
    twinfs.ok("scan", tree)
    bad = os.fsencode(tree / "many/003")
    result, _ = twinfs.traced("scan", tree, calls="trace=all", flags=[
        "-P", bad, "-e", "inject=getdents64:error=EIO"])
    assert result.status == 3, result
    assert [line for line in result.errors if "many/003" in line and "Input/output" in line]
    assert twinfs.groups(tree) == oracle.path_groups(tree)


def scan_faults(most):
    """(call, its number, error) of the faults of a scan. The first call of each kind fails with
    each error. At later calls the errors take turns."""
    for call in READING + WRITING_THE_INDEX:
        numbers = range(1, most[call] + 1, 1 if EACH else max(1, most[call] // POINTS))
        for turn, number in enumerate(numbers):
            for name in ERRORS if EACH or turn == 0 else [ERRORS[turn % len(ERRORS)]]:
                yield call, number, name


def test_scan_with_any_failing_call_gives_no_wrong_answer(twinfs, tree, strace, tmp_path):
    right = oracle.path_groups(tree)
    only = "trace=" + ",".join(READING + WRITING_THE_INDEX)
    _, trace = twinfs.traced("scan", tree, calls=only)
    wrong, failed = [], set()
    for call, number, name in scan_faults(calls_of_one_thread(trace)):
        at = twinfs.with_index(tmp_path / f"index {call} {number} {name}")
        result, _ = at.traced("list", "--format=json", tree, calls=only, flags=[
            "-e", f"inject={call}:error={name}:when={number}"])
        if result.status != 0:
            failed.add((call, number, name))
        problem = wrong_about(result, right) or wrong_afterwards(at, tree, right)
        if problem:
            wrong.append(f"{call} {number} {name}: {problem}")
        trees.remove(at.index)
    assert not wrong, "\n".join(wrong)
    assert len(failed) > 10 and {name for _, _, name in failed} == set(ERRORS)


def wrong_about(result, right):
    """The problem with the answer of a run in which a call failed, or None."""
    if result.status == 127:
        return None  # the dynamic linker failed
    if result.status not in (0, 1, 2, 3):
        return f"ended with {result.status}: {result.error[-300:]}"
    if result.status != 0 and not result.error:
        return f"status {result.status} without a message"
    if result.status in (0, 3):
        if [group for group in result.groups if not [whole for whole in right if group <= whole]]:
            return "prints a wrong group"
        if result.status == 0 and result.groups != right:
            return "misses a group and reports success"
    return None


def wrong_afterwards(twinfs, source, right):
    result = twinfs("list", "--format=json", source)
    if result.status != 0:
        return f"the next run has status {result.status}: {result.error[-300:]}"
    return None if result.groups == right else "the next run is wrong"


@pytest.mark.parametrize("name", ERRORS)
def test_view_with_failing_calls_shows_nothing_wrong_and_recovers(twinfs, tree, strace, name):
    calls, failed, wrong = ",".join(OF_A_VIEW), [], []

    def has_failed_often():
        wrong.extend(view.wrong_bytes(tree, failed))
        return wrong or len(failed) > 10

    with twinfs.mounted(tree) as view:
        for first, step in SERIES:
            with view.traced("-e", f"trace={calls}", "-e",
                             f"inject={calls}:error={name}:when={first}+{step}"):
                trees.fill(tree / f"new {first}", {b"a": b"%d" % first, b"b": b"%d" % first})
                trees.write(tree / "large/a", trees.content(first, 300_000))
                os.rename(tree / f"many/00{first}", tree / f"moved {first}")
                with contextlib.suppress(subprocess.CalledProcessError):
                    view.sync()
                assert until(has_failed_often)
        assert wrong == []
        assert becomes_right(view, tree), (view.errors(), view.differences_now(tree))
    with twinfs.mounted(tree) as view:  # the walk at the start retries failures
        assert view.differences(tree, first_scan=False) == []


def becomes_right(view, source):
    """Whether the view becomes right without a sync, with no errors left."""
    def is_right():
        with contextlib.suppress(OSError):
            return view.errors() == [] and view.differences(source, first_scan=False) == []
        return False
    return until(is_right)


def named(view):
    return {(error["path"], error["error"]) for error in view.errors()}


@contextlib.contextmanager
def failing(view, call, name, *paths):
    """Makes a call of the daemon fail for these paths for the duration of the block."""
    where = [word for path in paths for word in ("-P", path)]
    with view.traced(*where, "-e", f"trace={call}", "-e", f"inject={call}:error={name}"):
        yield


def test_file_that_was_unreadable_for_a_while_is_retried(twinfs, source, strace):
    trees.fill(source, {b"a": trees.content(1, 300_000), b"b": trees.content(1, 300_000)})
    with twinfs.mounted(source) as view:
        trees.fill(source, {b"small": b"1"})
        with failing(view, "pread64", "EIO", source / "new", source / "small 2"):
            trees.fill(source, {b"small 2": b"1", b"new": trees.content(1, 300_000)})
            view.sync()
            assert named(view) == {(os.fspath(source / name), "EIO")
                                   for name in ("new", "small 2")}
            assert view.wrong_bytes(source, []) == []
        assert becomes_right(view, source)
        assert len(view.copies()) == 2


def test_unreadable_copies_leave_their_group_until_they_are_readable(twinfs, source, strace):
    """Both are read as members of their group when a new file is compared."""
    trees.fill(source, {b"a": trees.content(1, 300_000), b"b": trees.content(1, 300_000)})
    with twinfs.mounted(source) as view:
        with failing(view, "pread64", "EIO", source / "a", source / "b"):
            trees.fill(source, {b"c": trees.content(1, 300_000)})
            view.sync()
            assert named(view) == {(os.fspath(source / name), "EIO") for name in "ab"}
            assert view.copies() == {}
            assert sorted(os.listdir(view.uniques)) == ["a", "b", "c"]
        assert becomes_right(view, source)
        assert [*view.copies().values()] == [{b"a", b"b", b"c"}]


@pytest.mark.parametrize(("call", "name"), [("getdents64", "EIO"), ("statx", "ENOMEM"),
                                            ("statx", "EIO")])
def test_folder_that_was_unreadable_for_a_while_is_retried(twinfs, source, strace, call, name):
    trees.fill(source, {b"d/a": b"1", b"d/b": b"1"})
    with twinfs.mounted(source) as view:
        with failing(view, call, name, source / "new", source / "new/deep"):
            trees.fill(source, {b"new/c": b"1", b"new/deep/d": b"1"})
            with contextlib.suppress(subprocess.CalledProcessError):
                view.sync()
        assert becomes_right(view, source)
        assert [len(names) for names in view.copies().values()] == [4]


def test_name_whose_lookup_failed_is_named_and_retried(twinfs, source, strace):
    trees.fill(source, {b"d/a": b"1", b"d/b": b"1"})
    with twinfs.mounted(source) as view:
        # the first of two calls is for the folder itself
        with view.traced("-P", source / "d", "-e", "trace=statx", "-e",
                         "inject=statx:error=EIO:when=2+2"):
            trees.fill(source, {b"d/c": b"1"})
            view.sync()
            assert named(view) == {(os.fspath(source / "d"), "EIO")}
        assert becomes_right(view, source)
        assert [len(names) for names in view.copies().values()] == [3]


def test_file_without_permission_is_retried_at_sighup_only(twinfs, source, strace):
    """Rights seldom change without an event. The user sends SIGHUP if they did."""
    trees.fill(source, {b"a": b"1", b"b": b"1"})
    with twinfs.mounted(source) as view:
        with failing(view, "pread64", "EACCES", source / "refused"):
            trees.fill(source, {b"refused": b"1"})
            view.sync()
        refused = {(os.fspath(source / "refused"), "EACCES")}
        with failing(view, "pread64", "EIO", source / "c"):
            trees.fill(source, {b"c": b"1"})
            view.sync()
            assert named(view) == refused | {(os.fspath(source / "c"), "EIO")}
        assert until(lambda: named(view) == refused or named(view) == set())
        assert named(view) == refused
        os.kill(view.pid, signal.SIGHUP)
        assert becomes_right(view, source)
        assert [*view.copies().values()] == [{b"a", b"b", b"c", b"refused"}]


def test_unreadable_file_without_a_match_in_size_is_no_error(twinfs, source, strace):
    trees.fill(source, {b"a": b"12", b"b": b"1"})
    with twinfs.mounted(source) as view:
        with failing(view, "pread64", "EIO", source / "c"):
            trees.fill(source, {b"c": b"34"})
            view.sync()
            assert named(view) == {(os.fspath(source / "c"), "EIO")}
            os.unlink(source / "a")
            assert until(lambda: view.errors() == [])
        assert view.differences_now(source) == []


def test_view_recovers_when_descriptors_run_out(twinfs, tree, monkeypatch):
    monkeypatch.setattr(oracle, "HANDLES", 16)
    twinfs.wrapped = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    with twinfs.mounted(tree) as view:
        paths = [trees.join(view.uniques, entry.path) for entry in oracle.walk.walk(view.uniques)
                 if entry.kind == stat.S_IFREG]
        handles, refused = [], set()
        try:
            for path in paths * 5:
                try:
                    handles.append(os.open(path, os.O_RDONLY))
                except OSError as error:
                    refused.add(error.errno)
        finally:
            for handle in handles:
                os.close(handle)
        assert refused and refused <= {errno.EMFILE, errno.ENFILE}
        assert view.differences(tree) == []

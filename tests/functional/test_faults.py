# SPDX-License-Identifier: MIT
"""Failing system calls: what fails is named and counted, nothing wrong is claimed, nothing
crashes, and the next run is right."""
import collections
import contextlib
import errno
import os
import re
import stat
import subprocess

import oracle
import pytest
import trees

READING = ["openat2", "openat", "statx", "newfstatat", "fstat", "getdents64", "pread64", "read",
           "lseek", "fcntl", "sync_file_range", "fstatfs", "readlinkat", "name_to_handle_at"]
WRITING_THE_INDEX = ["pwrite64", "pwritev", "fdatasync", "ftruncate", "mkdirat", "flock"]
# Not read: by that it gets requests and events.
OF_A_VIEW = [call for call in READING if call != "read"]
SERIES = [(1, 3), (3, 11), (5, 40)]  # the first that fails of each thread, and each so many later
POINTS = 8  # of each call and error


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    trees.many(source / "many", 60, lambda number: b"%d" % (number // 3), folders=6)
    trees.fill(source / "large", {b"a": trees.content(1, 300_000), b"b": trees.content(1, 300_000)})
    trees.links(source / "links")
    return source


def truth(source):
    model = oracle.Source([source])
    return {frozenset(model.absolute(name) for inode in group for name in inode.names)
            for group in model.groups()}


def claimed(result):
    return {frozenset(copy["path"].encode() for copy in group["copies"])
            for group in result.json["groups"]}


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
    assert claimed(result) == {group for group in truth(tree) if bad not in group}
    assert twinfs.groups(tree) == truth(tree)


def test_folder_that_cannot_be_listed_is_named_and_nothing_in_it_is_forgotten(
        twinfs, tree, strace):
    twinfs.ok("scan", tree)
    bad = os.fsencode(tree / "many/003")
    result, _ = twinfs.traced("scan", tree, calls="trace=all", flags=[
        "-P", bad, "-e", "inject=getdents64:error=EIO"])
    assert result.status == 3, result
    assert [line for line in result.errors if "many/003" in line and "Input/output" in line]
    assert twinfs.groups(tree) == truth(tree)


@pytest.mark.parametrize("name", ["EIO", "ENOMEM", "EMFILE"])
def test_any_failing_call_gives_no_wrong_answer(twinfs, tree, strace, tmp_path, name):
    right = truth(tree)
    only = "trace=" + ",".join(READING + WRITING_THE_INDEX)
    _, trace = twinfs.traced("scan", tree, calls=only)
    most = calls_of_one_thread(trace)
    wrong, failed = [], 0
    for call in READING + WRITING_THE_INDEX:
        for number in range(1, most[call] + 1, max(1, most[call] // POINTS)):
            at = twinfs.with_index(tmp_path / f"index-{call}-{number}")
            result, _ = at.traced("list", "--format=json", tree, calls=only, flags=[
                "-e", f"inject={call}:error={name}:when={number}"])
            failed += result.status != 0
            problem = wrong_about(result, right) or wrong_afterwards(at, tree, right)
            if problem:
                wrong.append(f"{call} {number} {name}: {problem}")
            trees.remove(at.index)
    assert not wrong, "\n".join(wrong)
    assert failed > 10


def wrong_about(result, right):
    """What is wrong with the answer of a run in which a call failed."""
    if result.status == 127:
        return None  # the dynamic linker, before the program began
    if result.status not in (0, 1, 2, 3):
        return f"ended with {result.status}: {result.error[-300:]}"
    if result.status != 0 and not result.error:
        return f"status {result.status} without a word"
    if result.status in (0, 3):
        if [group for group in claimed(result) if not [whole for whole in right if group <= whole]]:
            return "claims what is no group"
        if result.status == 0 and claimed(result) != right:
            return "misses a group and says nothing"
    return None


def wrong_afterwards(twinfs, source, right):
    result = twinfs("list", "--format=json", source)
    if result.status != 0:
        return f"the next run has status {result.status}: {result.error[-300:]}"
    return None if claimed(result) == right else "the next run is wrong"


@pytest.mark.parametrize("name", ["EIO", "ENOMEM", "EMFILE"])
def test_any_failing_call_of_a_view_shows_nothing_wrong_and_leaves_nothing_behind(
        twinfs, tree, strace, name):
    calls, failed = ",".join(OF_A_VIEW), []
    with twinfs.mounted(tree) as view:
        for first, step in SERIES:
            with view.traced("-e", f"trace={calls}", "-e",
                             f"inject={calls}:error={name}:when={first}+{step}"):
                trees.fill(tree / f"new {first}", {b"a": b"%d" % first, b"b": b"%d" % first})
                trees.write(tree / "large/a", trees.content(first, 300_000))
                os.rename(tree / f"many/00{first}", tree / f"moved {first}")
                with contextlib.suppress(subprocess.CalledProcessError):
                    view.sync()
                assert view.wrong_bytes(tree, failed) == []
        assert len(failed) > 10
    with twinfs.mounted(tree) as view:  # what failed is looked at again
        assert view.differences(tree, first_scan=False) == []


def test_descriptors_run_out_and_come_back(twinfs, tree, monkeypatch):
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
        assert refused <= {errno.EMFILE, errno.ENFILE}
        assert refused or len(handles) == len(paths) * 5
        assert view.differences(tree) == []

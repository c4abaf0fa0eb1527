# SPDX-License-Identifier: MIT
"""System calls that fail during an act: no content is lost, no leftover stays, and the next run
does the rest.

Some calls of each kind fail with one error each. With TWINFS_FAULT_POINTS=all each call fails with
each error."""
import itertools
import os

import backups
import pytest
import trees
from disks import disk
from test_faults import READING, calls_of_one_thread
from test_memory import MINE, badly_ended, read, regular

CHANGING = ["write", "pwrite64", "pwritev", "renameat2", "unlinkat", "linkat", "symlinkat", "fsync",
            "fdatasync", "syncfs", "ftruncate", "mkdirat", "ioctl", "flock", "fchmod", "fchown",
            "fchownat", "utimensat", "setxattr", "fsetxattr", "getxattr", "listxattr", "flistxattr",
            "fgetxattr", "copy_file_range", "sendfile"]
ERRORS = ["EIO", "ENOSPC", "ENOMEM"]
POINTS = os.environ.get("TWINFS_FAULT_POINTS", "2")


def faults(most):
    """(call, its number, error) of the faults to inject."""
    errors = itertools.cycle(ERRORS)
    for call in READING + CHANGING:
        count = most[call]
        some = range(1, count + 1, 1 if POINTS == "all" else max(1, count // int(POINTS)))
        for number in some if count else ():
            for name in ERRORS if POINTS == "all" else [next(errors)]:
                yield call, number, name


def each_fault(twinfs, tmp_path, run, judge):
    """For each fault, calls run with a function that runs the program, and judge with the result.

    judge returns a problem or None.
    """
    only = "trace=" + ",".join(READING + CHANGING)
    whole = twinfs.with_index(tmp_path / "index 0")
    _, trace = run(lambda *words: whole.traced(*words, calls=only))
    wrong, failed = [], 0
    for call, number, name in faults(calls_of_one_thread(trace)):
        at = twinfs.with_index(tmp_path / f"index {call} {number} {name}")
        flags = ["-e", f"inject={call}:error={name}:when={number}"]

        def traced(*words, at=at, flags=flags):
            return at.traced(*words, calls=only, flags=flags)

        result, _ = run(traced)
        failed += result.status != 0
        problem = judge(result, at)
        # 127: the dynamic linker failed; without write no message is printed
        if result.status != 127 and call != "write":
            problem = problem or badly_ended(result)
        if problem:
            wrong.append(f"{call} {number} {name}: {problem}\n{result}")
        trees.remove(at.index)
    assert not wrong, "\n".join(wrong)
    assert failed > 10


@pytest.mark.parametrize("words", [["remove"], ["remove", "--trash"], ["link"],
                                   ["link", "--symbolic"], ["move"], ["move", "across"],
                                   ["dedupe"]], ids="-".join)
def test_act_with_a_failing_call_loses_nothing(twinfs, source, tmp_path, strace, words):
    if words == ["move", "across"]:
        with disk("ext4", tmp_path) as other:
            check_act(twinfs, source, tmp_path, ["move"], other / "moved")
    else:
        check_act(twinfs, source, tmp_path, words, tmp_path / "moved")


def is_in_both(again, source, moved):
    """Whether a moved file and its copy were both left because the moved file was unreadable."""
    left = {(source / os.fsdecode(path)).read_bytes() for path in regular(source)
            if b"redundant" in path}
    said = "its path in the destination folder exists" in again.errors[-1]
    return said and trees.every_content(moved) >= left


def check_act(twinfs, source, tmp_path, words, moved):
    content = [os.urandom(3000) for _ in range(3)]
    operands = [source, moved] if words == ["move"] else [source]

    def run(program):
        for folder in (source, moved):
            trees.remove(folder)
            folder.mkdir()
        for number, data in enumerate(content):
            trees.fill(source, {f"kept {number}": data, f"redundant {number}": data})
        return program(*words, "--yes", *operands)

    def judge(result, at):
        if not trees.every_content(source, moved) >= set(content):
            return "a content is lost"
        at.ok("recover")
        if trees.every_content(source) != set(content):
            return "a content is missing in the source"
        if [path for root in (source, moved) for path in regular(root) if MINE in path]:
            return "there is a leftover"
        again = at(*words, "--yes", *operands)
        # not every file system can dedupe
        if again.status != 0 and words[0] != "dedupe" and not is_in_both(again, source, moved):
            return f"the next run fails: {again}"
        if trees.every_content(source) != set(content):
            return "the next run lost a content"
        if words[0] == "remove" and len(regular(source)) != len(content):
            return "the next run did not finish the act"
        return None

    each_fault(twinfs, tmp_path, run, judge)


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [("remove",), ("remove", "--trash"), ("link",), ("link", "-s"),
                                   ("move",)], ids="-".join)
def test_act_stops_if_kept_files_cannot_be_synced(twinfs, tmp_path, strace, words):
    source, folder = tmp_path / "source", tmp_path / "moved"
    folder.mkdir()
    for number in range(3):
        for name in "ab":
            trees.write(source / name / str(number), trees.content(number, 3000))
    twinfs.ok("scan", source)
    before = files_of(source)
    to = [folder] if words == ("move",) else []
    result, trace = twinfs.traced(*words, "--yes", source, *to, calls="syncfs,renameat2,unlinkat",
                                  flags=["-e", "inject=syncfs:error=EIO"])
    assert b"syncfs" in trace
    assert result.status == 1
    assert b"cannot sync" in result.error and b"Input/output error" in result.error
    assert files_of(source) == before


def test_restore_with_a_failing_call_can_be_resumed(twinfs, tmp_path, strace):
    data = os.urandom(3000)
    backup = backups.small_backup(tmp_path, [b"b", b"c/d"], data)
    (backup.copy / "c").mkdir()
    target = tmp_path / "target"

    def run(program):
        trees.remove(target)
        return program("restore", backup.manifest, backup.copy, target)

    def judge(result, at):
        whole = {b"a": data, b"b": data, b"c/d": data}
        if result.status == 0 and files(target) != whole:
            return f"another tree: {sorted(files(target))}"
        if target.exists() and files(target) == whole:
            return None
        again = at("restore", backup.manifest, backup.copy, target)
        if again.status != 0:
            return f"cannot be resumed: {again}, {sorted(target.rglob('*'))}"
        if files(target) != whole:
            return f"resumed to another tree: {sorted(files(target))}"
        return None if files(backup.copy) == {b"a": data} else "the backup is changed"

    each_fault(twinfs, tmp_path, run, judge)


def files(root):
    """{path: bytes} of the files of a tree."""
    return {path: read(root, path) for path in regular(root)}

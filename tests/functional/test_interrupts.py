# SPDX-License-Identifier: MIT
"""A program that waits for the view can be interrupted at once. The kernel ends the program only
after the daemon has answered its request. So the end shows that no thread of the daemon works for
the program any more."""
import os
import platform
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
import trees
from changes import move_ctime
from disks import unanswered
from processes import children, until

GROUPS = 100
FACCESSAT2 = 439  # on all architectures
GETDENTS64 = {"x86_64": 217, "aarch64": 61}.get(platform.machine())
DELAY_S = 5  # of each call, so that the whole listing would take longer than a test may
PATIENCE_S = 60
RECHECKS = 4  # files that are rechecked at the same time
DATA = trees.content("interrupts", 50_000)


def call_of(path):
    """The number, as text, of the current system call of a thread."""
    try:
        return path.read_text().split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_listing(process, view):
    """Whether the process waits for a listing, and a thread of the daemon checks rights for it."""
    return call_of(Path(f"/proc/{process.pid}/syscall")) == str(GETDENTS64) and any(
        call_of(path) == str(FACCESSAT2)
        for path in Path(f"/proc/{view.pid}/task").glob("*/syscall"))


@pytest.mark.skipif(GETDENTS64 is None, reason="needs the number of a system call")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("folder", ["dups", "redundant"])
def test_listing_for_another_user_can_be_interrupted(twinfs, source, root_only, strace, folder,
                                                     number):
    for group in range(GROUPS):
        for copy in "ab":
            trees.write(source / f"{group}.{copy}", b"%08d" % group)
            (source / f"{group}.{copy}").chmod(0o600)
    with twinfs.mounted(source, options=("--wait", "-o", "allow_other")) as view:
        delay = f"inject=faccessat2:delay_enter={DELAY_S * 1_000_000}"
        with view.traced("-e", "trace=faccessat2", "-e", delay):
            with subprocess.Popen(["ls", view.path / folder], user=61001, group=62001,
                                  extra_groups=[], stdout=subprocess.DEVNULL) as process:
                assert until(partial(is_listing, process, view))
                assert process.poll() is None
                process.send_signal(number)
                assert process.wait(PATIENCE_S) == -number


def test_open_that_waits_for_the_index_can_be_interrupted(twinfs, source, strace):
    """Another thread commits a transaction, which takes ten minutes."""
    trees.fill(source, {b"a": DATA, b"b": DATA})
    writes = "pwrite64,pwritev,fdatasync"
    with twinfs.mounted(source) as view:
        view.sync()
        move_ctime([source / "b"], "+d")
        [folder] = view.dups.iterdir()
        with view.traced("-e", f"trace={writes}", "-e", f"inject={writes}:delay_enter=600000000"):
            waiting = [subprocess.Popen(["cat", folder / "b"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL) for _ in range(2 * RECHECKS)]

            def ended():
                return [process for process in waiting if process.poll() is not None]

            try:
                # the others wait for some seconds and occupy no thread
                assert until(lambda: len(ended()) == RECHECKS)
                for process in waiting:
                    process.send_signal(signal.SIGINT)
                # one may be in the middle of its transaction
                assert until(lambda: len(ended()) >= len(waiting) - 1, PATIENCE_S)
            finally:
                for process in waiting:
                    process.kill()
        for process in waiting:
            process.wait()


def test_scan_that_reads_uncached_files_can_be_interrupted(twinfs, source, strace):
    trees.many(source, 1000, lambda number: b"%08d" % number, folders=10)
    os.sync()
    for path in source.rglob("0*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    trace = twinfs.folder / "trace"
    slow = twinfs.under_strace("--seccomp-bpf", "-e", "trace=pread64", "-e",
                               "inject=pread64:delay_enter=100000", output=trace)

    def count_reads():
        return trace.read_bytes().count(b"= 8 ") if trace.exists() else 0

    with slow.started("scan", "--disk=solid", source) as process:
        assert until(lambda: count_reads() >= 20)
        [pid] = children(process.pid)
        os.kill(pid, signal.SIGINT)
        process.wait(300)
    assert count_reads() < 500


def signals_of(process, kind):
    """A set of signals of a process: those that wait for it or that it handles (proc(5))."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition(f"\n{kind}:\t")[2].split()[0], 16)


@pytest.mark.parametrize("words", [("scan",), ("remove", "--dry-run")],
                         ids=lambda words: words[0])
def test_command_whose_source_never_answers_is_ended_by_the_second_signal(
        twinfs, tmp_path, words):
    with unanswered(tmp_path / "source"), \
            twinfs.started(*words, tmp_path / "source") as process:
        handled = 1 << (signal.SIGTERM - 1)
        assert until(lambda: signals_of(process, "SigCgt") & handled)
        process.send_signal(signal.SIGTERM)
        assert until(lambda: not signals_of(process, "ShdPnd"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == -signal.SIGTERM

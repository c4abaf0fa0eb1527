# SPDX-License-Identifier: MIT
"""Faults of a mounted view: the daemon is stopped, has no memory or threads, or ends under load;
the source is unmounted; the clock jumps."""
import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import changes
import pytest
import trees
from changes import DATA, OTHER
from disks import disk
from processes import (
    TIMEOUT,
    children,
    command_line,
    end_process,
    release,
    stopped,
    until,
    wait_ended,
)
from program import READS, View, is_mounted
from test_index_disk import shut_down

READERS = 8
MANY_READERS = 32  # more than a daemon has threads
THREADS_MAX = 60  # above the number of threads of a start, also with sanitizers
SERVED_WITH_FEW = 3
LARGE = trees.content("large", 3_000_000)

# Errors that readers may get while the daemon has no memory, or ends.
SHORT = {errno.ENOMEM, errno.EIO, errno.EAGAIN, errno.ESTALE, errno.EMFILE, errno.ENFILE}
ENDED = {errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT, errno.EIO, errno.ENODEV, errno.EINTR}


# unmounting

def test_daemon_of_an_unmounted_view_ends_with_its_last_open_file(view, root_only):
    with open(view.uniques / "c", "rb") as file:
        subprocess.run(["umount", "-l", view.path], check=True)
        assert not is_mounted(view.path)
        assert file.read() == OTHER
        os.kill(view.pid, 0)
    assert wait_ended(view.pid)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_mount_over_an_unmounted_view_outlives_its_daemon(twinfs, source, root_only, end):
    changes.build(source)
    with twinfs.mounted(source, options=("--wait", "-o", "auto_unmount")) as view:
        with open(view.uniques / "c", "rb"):
            helpers = children(view.pid)
            subprocess.run(["umount", "-l", view.path], check=True)
            subprocess.run(["mount", "-t", "tmpfs", "other", view.path], check=True)
            (view.path / "of another").write_bytes(OTHER)
            assert end_process(view.pid, end)
            assert helpers and all(wait_ended(helper) for helper in helpers)
        assert (view.path / "of another").read_bytes() == OTHER
        view.pid = None


class Readers:
    """Threads that read files repeatedly, until a read fails or the block ends."""

    def __init__(self, expected):
        self.expected = expected  # {path: bytes}
        self.wrong, self.errors, self.reads = [], set(), 0
        self.end = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(READERS)]

    def run(self):
        while not self.end.is_set():
            for path, data in self.expected.items():
                try:
                    if path.read_bytes() != data:
                        self.wrong.append(path)
                    self.reads += 1
                except OSError as error:
                    self.errors.add(error.errno)
                    return

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        for thread in self.threads:
            thread.join()


def test_daemon_ended_under_load_answers_all_requests(twinfs, source):
    trees.fill(source, {b"%d" % number: LARGE for number in range(4)})
    trees.many(source / "many", 2000, lambda number: b"%d" % number)
    with twinfs.mounted(source, options=()) as view:
        others = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                  for words in (["find", view.path], ["cat", view.path / ".twinfs/sync"])
                  for _ in range(READERS)]
        with Readers({view.uniques / "0": LARGE}) as readers:
            assert until(lambda: readers.reads > READERS)
            assert end_process(view.pid, signal.SIGTERM)
            view.pid = None
            for thread in readers.threads:
                thread.join()
        for process in others:
            process.wait(TIMEOUT)
        assert not readers.wrong
        assert readers.errors <= ENDED
        assert not is_mounted(view.path)
    with twinfs.mounted(source) as again:
        assert again.differences(source) == []


# a stopped daemon

def test_reader_waits_for_a_stopped_daemon_and_reads_on(view):
    read = []
    with open(view.uniques / "a", "rb", buffering=0) as file:
        with stopped(view.pid):
            reader = threading.Thread(target=lambda: read.append(file.read()))
            reader.start()
            child = subprocess.Popen(["cat", view.uniques / "c"], stdout=subprocess.PIPE)
            child.kill()  # works without an answer of the daemon
            child.communicate()
        reader.join()
    assert read == [DATA]


def test_mount_over_a_view_with_a_stopped_daemon_is_refused(view, twinfs, source, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    with stopped(view.pid):
        result = other("mount", source, view.path)
        assert result.status == 1, result
        assert len(result.errors) == 1 and "already mounted" in result.errors[0], result
    assert view.differences(source) == []


# memory

def test_daemon_without_memory_gives_no_wrong_bytes_and_recovers(plain_build, twinfs, view, source):
    def read(path):
        try:
            return path.read_bytes()
        except OSError as error:
            return error.errno

    def read_all(_):
        return {name: read(view.uniques / name) for name in ("a", "c", "d/f/g")}

    before = resource.prlimit(view.pid, resource.RLIMIT_AS)
    # less memory than the daemon already has
    resource.prlimit(view.pid, resource.RLIMIT_AS, (1 << 20, before[1]))
    try:
        for number in range(300):
            trees.write(source / f"new/{number % 30}/{number}", b"%d" % (number // 2))
        with ThreadPoolExecutor(MANY_READERS) as readers:
            got = list(readers.map(read_all, range(20 * MANY_READERS)))
        gone = read(view.uniques / "never there")
        status = read(view.path / ".twinfs/status.json")
    finally:
        resource.prlimit(view.pid, resource.RLIMIT_AS, before)
    for name, data in (item for one in got for item in one.items()):
        assert data == (source / name).read_bytes() or data in SHORT, (name, data)
    assert gone == errno.ENOENT or gone in SHORT
    assert status in SHORT or json.loads(status)["pid"] == view.pid
    assert view.differences_now(source) == []


@pytest.mark.parametrize("options", [(), ("--wait",)], ids=["alone", "wait"])
def test_start_without_memory_serves_or_leaves_nothing(plain_build, twinfs, source, options):
    trees.small(source)
    prlimit = shutil.which("prlimit")
    if not prlimit:
        pytest.skip("needs prlimit")
    mount = twinfs.folder / "mount"
    mount.mkdir()
    ended = set()
    for mebibytes in range(12, 140, 8):
        twinfs.wrapped = [prlimit, f"--as={mebibytes << 20}", "--"]
        result = twinfs("mount", *options, source, mount)
        assert result.status in (0, 1, 3), (mebibytes, result)
        assert is_mounted(mount) == (result.status != 1), (mebibytes, result)
        assert result.error or result.status == 0, mebibytes
        if result.status == 1:
            assert until(lambda: not processes_of(mount)), mebibytes
        else:
            subprocess.run(["fusermount3", "-u", mount], check=True)
            assert all(map(wait_ended, processes_of(mount)))
        ended.add(result.status == 1)
    assert ended == {False, True}
    twinfs.wrapped = []
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []


def processes_of(mount):
    """The processes that have this path among their arguments."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and
            str(mount) in command_line(name)]


@contextlib.contextmanager
def comparing(twinfs, source, *options):
    """A mount command whose daemon is about to read a file, to compare it with another one."""
    trees.fill(source, {b"d/x": b"x"})
    twinfs.ok("scan", source)
    trees.fill(source, {b"d/a": DATA, b"d/b": DATA})
    mount = twinfs.folder / "mount"
    mount.mkdir()
    with twinfs.held("mount", *options, source, mount, call=READS,
                     flags=("-P", source / "d/a")) as process:
        assert process.poll() is None
        [daemon] = children(process.pid)
        yield process, View(twinfs, mount, None), daemon


def test_start_whose_comparison_fails_says_so_and_goes_on(plain_build, twinfs, source, strace):
    with comparing(twinfs, source, "--wait") as (process, view, daemon):
        before = resource.prlimit(daemon, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon, resource.RLIMIT_FSIZE, (1, before[1]))
        release(process)
        assert process.wait(TIMEOUT) == 3
        resource.prlimit(daemon, resource.RLIMIT_FSIZE, before)
        view.pid = daemon
        try:
            assert view.differences_now(source) == []
        finally:
            view.unmount()
    assert b"is mounted, but its files are not all compared" in process.output[1]


def test_daemon_killed_before_it_is_ready_leaves_no_mount(twinfs, source, strace):
    with comparing(twinfs, source, "--wait") as (process, view, daemon):
        assert is_mounted(view.path)
        os.kill(daemon, signal.SIGKILL)
        release(process)
        assert process.wait(TIMEOUT) == 1
        assert not is_mounted(view.path)
        assert until(lambda: not processes_of(view.path))
    assert b"was killed by signal 9" in process.output[1]


@pytest.mark.parametrize("to", ["command", "daemon"])
def test_start_interrupted_before_it_is_ready_leaves_nothing(twinfs, source, strace, to):
    with comparing(twinfs, source, "--wait") as (process, view, daemon):
        threads = f"/proc/{daemon}/task"
        before = len(os.listdir(threads))
        os.kill(daemon if to == "daemon" else process.pid, signal.SIGTERM)
        assert until(lambda: len(os.listdir(threads)) < before)  # those that answer requests
        release(process)
        assert process.wait(TIMEOUT) == (1 if to == "daemon" else -signal.SIGTERM)
        assert not is_mounted(view.path)
        assert until(lambda: not processes_of(view.path))


def test_start_with_few_threads_serves_or_fails(twinfs, source, strace):
    trees.small(source)
    served = 0
    for number in range(1, THREADS_MAX):
        traced = twinfs.under_strace("-e", "trace=clone3", "-e",
                                     f"inject=clone3:error=EAGAIN:when={number}+")
        with traced.mounted_in_foreground(source) as (process, view):
            if view:
                assert (view.uniques / "letters/a.txt").exists()
        assert process.returncode == 0 or process.returncode == 1 and process.output[1], number
        assert not is_mounted(twinfs.folder / "mount"), number
        served += process.returncode == 0
        if served == SERVED_WITH_FEW:
            break
    assert number > served == SERVED_WITH_FEW


# the source

def test_unmounted_source_is_missing_until_it_is_mounted_again(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        other = trees.fill(tmp_path / "other", {b"z": DATA, b"alone": b"alone"})
        changes.build(root)
        with twinfs.mounted(root, other) as view:
            before = view.copies()
            figures = {name: view.status()[name] for name in
                       ("files", "groups", "redundant_files", "redundant_bytes", "pending")}
            listed = sorted(os.listdir(view.uniques / root.name))
            subprocess.run(["umount", "-l", root], check=True)
            try:
                view.sync()
                assert [tree.get("missing", False) for tree in view.status()["sources"]] == [
                    True, False]
                assert view.copies() == before
                assert {name: view.status()[name] for name in figures} == figures
                assert sorted(os.listdir(view.uniques / root.name)) == listed
                with contextlib.suppress(OSError):
                    assert (view.uniques / root.name / "c").read_bytes() == OTHER
                (root / "instead").mkdir()  # in the mount point itself
                view.sync()
                assert not (view.uniques / root.name / "instead").exists()
            finally:
                shutil.rmtree(root / "instead", ignore_errors=True)
                subprocess.run(["mount", "-o", "loop", tmp_path / "ext4.image", root], check=True)
            assert view.differences_now(root, other) == []
            assert not view.status()["sources"][0].get("missing", False)
            assert {name: view.status()[name] for name in figures} == figures
            trees.write(root / "d/new", DATA)
            assert view.differences_now(root, other) == []


def wrong_of(view, right):
    """The names with other bytes than in the source, and the errors of names without bytes."""
    wrong, errors = [], set()
    for name, data in right.items():
        try:
            if (view.uniques / name).read_bytes() != data:
                wrong.append(name)
        except OSError as error:
            errors.add(error.errno)
    return wrong, errors


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_source_whose_disk_fails_gives_errors_and_no_wrong_bytes(twinfs, tmp_path, kind):
    with disk(kind, tmp_path) as root:
        changes.build(root)
        trees.many(root / "many", 60, lambda number: b"%d" % (number // 2), folders=5)
        with twinfs.mounted(root) as view:
            names = [path.relative_to(view.uniques) for path in view.uniques.rglob("*")
                     if path.is_file()]
            right, copies = {name: (root / name).read_bytes() for name in names}, view.copies()
            with open(view.uniques / "a", "rb", buffering=0) as opened:
                shut_down(root)
                with contextlib.suppress(OSError):
                    assert opened.read() == DATA
            assert wrong_of(view, right) == ([], {errno.EIO})
            os.kill(view.pid, signal.SIGHUP)  # starts a rescan
            view.sync()
            assert view.copies() == copies
            assert wrong_of(view, right) == ([], {errno.EIO})
        subprocess.run(["umount", root], check=True)
        subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)
        # xfs may have written nothing
        with twinfs.mounted(root, options=("--wait", "--accept-changed-source")) as view:
            assert view.differences(root, first_scan=False) == []


# clocks

@pytest.fixture
def clock(twinfs, tmp_path, plain_build):
    """Returns a function that sets the clock of the program, in seconds from the real time."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("needs libfaketime")
    setting = tmp_path / "clock"
    twinfs.environment.update({"LD_PRELOAD": str(found[0]), "FAKETIME_NO_CACHE": "1",
                               "FAKETIME_TIMESTAMP_FILE": str(setting),
                               "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                               # newer versions would change the times of files also
                               "NO_FAKE_STAT": "1"})

    def jump(seconds):
        # at once: libfaketime ends a program that reads an empty setting
        (tmp_path / "new clock").write_text(f"{seconds:+d}\n")
        os.replace(tmp_path / "new clock", setting)
    jump(0)
    return jump


@pytest.mark.parametrize("seconds", [-100_000, 100_000])
def test_clock_that_jumps_changes_nothing(clock, twinfs, source, seconds):
    changes.build(source)
    with twinfs.mounted(source) as view:
        clock(seconds)
        for change in (changes.change_with_mtime_restored, changes.replace_by_rename,
                       changes.add_copies, changes.exchange_folders):
            change(source)
            assert view.differences_now(source) == []
        clock(-seconds)
        changes.make_equal_with_mtime_restored(source)
        assert view.differences_now(source) == []
        assert view.pending() == set()
    clock(seconds)
    with twinfs.mounted(source) as view:
        assert view.differences(source, first_scan=False) == []

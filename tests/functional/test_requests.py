# SPDX-License-Identifier: MIT
"""How many requests programs wait for, counted in what the daemon prints with --debug, and which
threads these requests wake."""
import contextlib
import errno
import os
import re
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import trees
from processes import is_held, of_threads, until

FOLDERS, FILES = 4, 300  # more files than one reply has room for
REQUESTS = 400
THREADS = 16  # of a daemon, for requests


class CountedView:
    """A view in the foreground that prints every request to a file."""

    def __init__(self, view, log):
        self.path, self.log = view.path, log

    def requests(self, *command):
        """The requests that a command causes, by name; its output must be complete."""
        before = self.log.stat().st_size
        run = subprocess.run(command, check=True, capture_output=True)
        printed = self.log.read_bytes()[before:]
        return Counter(re.findall(rb"opcode: ([A-Z]+) ", printed)), run.stdout


@contextlib.contextmanager
def counted(twinfs, source, tmp_path, *options):
    log = tmp_path / "requests"
    twinfs.wrapped = ["sh", "-c", f"exec \"$@\" 2>'{log}'", "sh", *twinfs.wrapped]
    with twinfs.mounted_in_foreground(source, options=("-d", *options)) as (_, view):
        view.sync()
        yield CountedView(view, log)


def fill(source, content):
    for folder in range(FOLDERS):
        trees.fill(source / str(folder), {b"%d" % number: content(folder, number)
                                          for number in range(FILES)})


def test_debug_option_prints_every_request(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"a"})
    with counted(twinfs, source, tmp_path) as view:
        requests, _ = view.requests("cat", view.path / "uniques/a")
    assert requests[b"LOOKUP"] > 0
    assert requests[b"OPEN"] == 1


def test_walk_over_dups_causes_two_requests_for_each_group(twinfs, source, tmp_path):
    fill(source, lambda folder, number: b"%d" % number)
    with counted(twinfs, source, tmp_path) as view:
        requests, found = view.requests("find", view.path / "dups")
    assert found.count(b"\n") == 1 + FILES + FOLDERS * FILES
    assert requests[b"LOOKUP"] <= 2, requests
    listed = requests[b"READDIR"] + requests[b"READDIRPLUS"]
    assert listed <= 2 * FILES + 50, requests


@pytest.mark.skipif(tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 11),
                    reason="needs Linux 6.11, which zeroes the rest of a stored page")
def test_program_that_reads_files_waits_for_their_opens_only(twinfs, source, tmp_path):
    fill(source, lambda folder, number: b"%d %d" % (folder, number))
    with counted(twinfs, source, tmp_path) as view:
        requests, archive = view.requests("tar", "-cf", "-", "-C", view.path / "uniques", ".")
    assert b"%d %d" % (FOLDERS - 1, FILES - 1) in archive
    assert requests[b"OPEN"] == FOLDERS * FILES, requests
    assert requests[b"READ"] == 0, requests
    assert requests[b"LOOKUP"] <= FILES + 2, requests  # of one folder: then tar is known


def test_kernel_that_does_not_zero_stored_pages_gets_none(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"a"})
    twinfs.wrapped = ["setarch", "--uname-2.6"]  # the release that uname(2) reports
    with counted(twinfs, source, tmp_path) as view:
        requests, content = view.requests("cat", view.path / "uniques/a")
    assert content == b"a"
    assert requests[b"READ"] > 0, requests


def test_listings_of_a_shared_view_have_no_attributes(twinfs, source, tmp_path, root_only):
    fill(source, lambda folder, number: b"%d" % number)
    with counted(twinfs, source, tmp_path, "-o", "allow_other") as view:
        requests, _ = view.requests("tar", "-cf", "-", "-C", view.path, "dups", "uniques")
    assert requests[b"READDIR"] > 0
    assert requests[b"READDIRPLUS"] == 0


def test_change_during_an_open_is_not_hidden_by_cached_pages(twinfs, source, strace):
    """The open is delayed between the check of the bytes and their transfer to the kernel."""
    trees.fill(source, {b"a": b"old bytes", b"b": b"old bytes"})
    read = []

    def read_copy():
        handle = os.open(view.uniques / "a", os.O_RDONLY)
        try:  # reads less than all: for the end of a file the kernel requests its attributes
            read.append(os.pread(handle, 3, 0))
        except OSError as error:
            read.append(error.errno)
        os.close(handle)

    with twinfs.mounted(source) as view:
        [group] = os.listdir(view.dups)
        delayed = view.traced("-P", source / "a", "-e", "trace=statx",
                              "-e", "inject=statx:delay_exit=3000000:when=2+2")
        with delayed:
            reader = threading.Thread(target=read_copy)
            reader.start()
            # the file is open earlier: then its change would come before the check
            assert until(lambda: has_open_file(view.pid, source / "a") and is_held(view.pid))
            (source / "a").write_bytes(b"new bytes")
            assert until(lambda: not os.path.exists(view.dups / group))
            reader.join()
    assert read == [errno.ESTALE]


def has_open_file(pid, path):
    descriptors = Path(f"/proc/{pid}/fd")
    return any(os.path.exists(one) and os.path.samefile(one, path)
               for one in descriptors.iterdir())


def switches(pid):
    """{thread: how often it has waited}"""
    return {thread: int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", text, re.MULTILINE)[1])
            for thread, text in of_threads(pid, "status").items()}


def test_request_wakes_only_the_thread_that_answers_it(twinfs, source):
    trees.fill(source, {b"a": b"a"})
    with twinfs.mounted(source, options=("--wait", "-s")) as view:
        before = switches(view.pid)
        for number in range(REQUESTS):
            with pytest.raises(FileNotFoundError):
                os.stat(view.uniques / str(number))
        after = switches(view.pid)
    woken = [thread for thread in after if after[thread] - before.get(thread, 0) > REQUESTS // 10]
    assert len(woken) <= 1  # on a busy machine, the next request is there before the thread waits


def woken_threads(view):
    """How many threads answer requests that come one after the other."""
    before = switches(view.pid)
    for number in range(REQUESTS):
        with pytest.raises(FileNotFoundError):
            os.stat(view.uniques / f"{time.monotonic_ns()} {number}")
    after = switches(view.pid)
    return sum(after[thread] - before.get(thread, 0) > REQUESTS // 40 for thread in after)


def test_threads_of_a_burst_wait_again_after_it(twinfs, source, strace):
    trees.fill(source, {b"%d" % number: b"%d" % number for number in range(THREADS)})
    with twinfs.mounted(source) as view:
        with view.traced("-e", "trace=statx", "-e", "inject=statx:delay_exit=500000"):
            readers = [threading.Thread(target=(view.uniques / str(number)).read_bytes)
                       for number in range(THREADS)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        # a busy machine suspends threads that answer, and others have to take their place
        assert until(lambda: woken_threads(view) <= 3)

# SPDX-License-Identifier: MIT
""".twinfs/: sync, events, pending and metrics, and the commands beside a view that changes."""
import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import changes
import oracle
import prometheus
import pytest
import trees
from changes import DATA, OTHER
from processes import TIMEOUT, has_open, stopped, until, wait_ended
from program import path_of

READERS = 50
ENDED = (0, errno.ECANCELED, errno.ENOTCONN, errno.ECONNABORTED)  # of a read of sync


def folder_of(view, path):
    return view.dups / oracle.hashes([path])[0]


# sync

def test_each_of_50_readers_of_sync_sees_its_own_writes(view, source):
    folder = folder_of(view, source / "a")
    start = threading.Barrier(READERS)

    def write_and_check(number):
        start.wait(TIMEOUT)
        for again in range(3):
            trees.write(source / f"new {number} {again}", DATA)
            generation = int((view.path / ".twinfs/sync").read_bytes())
            assert (folder / f"new {number} {again}").exists()
            assert not (view.uniques / f"new {number} {again}").exists()
        return generation
    with ThreadPoolExecutor(READERS) as pool:
        assert min(pool.map(write_and_check, range(READERS))) > 0
    assert view.differences(source, first_scan=False) == []


def test_sync_gives_a_generation_that_grows_with_changes(view, source):
    first = view.sync()
    assert view.sync() == first == view.status()["generation"]
    trees.write(source / "new", DATA)
    assert view.sync() > first


def test_each_read_of_sync_waits_again(view, source):
    """Also if one program keeps the file open."""
    folder = folder_of(view, source / "a")
    with open(view.path / ".twinfs/sync", "rb", buffering=0) as file:
        for number in range(5):
            trees.write(source / f"new {number}", DATA)
            assert int(os.pread(file.fileno(), 100, 0)) > 0
            assert (folder / f"new {number}").exists()


def reading_of(handle):
    """What a read of sync gives: a generation or an error number."""
    try:
        assert int(os.pread(handle, 100, 0)) > 0
        return 0
    except OSError as error:
        return error.errno


def test_readers_of_sync_end_when_the_daemon_is_stopped(view, source):
    handles = [os.open(view.path / ".twinfs/sync", os.O_RDONLY) for _ in range(5)]
    pid, view.pid = view.pid, None
    os.kill(pid, signal.SIGSTOP)
    try:
        trees.many(source / "many", 500, lambda number: b"%d" % (number % 7))
        with ThreadPoolExecutor(5) as pool:
            readings = [pool.submit(reading_of, handle) for handle in handles]
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
            assert wait_ended(pid)
            for reading in readings:
                assert reading.result(TIMEOUT) in ENDED
    finally:
        for handle in handles:
            os.close(handle)


def test_reader_of_sync_can_be_killed(view, source):
    with stopped(view.pid):
        cat = subprocess.Popen(["cat", view.path / ".twinfs/sync"], stdout=subprocess.DEVNULL)
        cat.kill()
        cat.wait(TIMEOUT)
    trees.write(source / "new", DATA)
    assert view.differences_now(source) == []


# events

class Follower:
    """Reads events without blocking, and waits with poll(2)."""

    def __init__(self, view):
        self.handle = os.open(view.events, os.O_RDONLY | os.O_NONBLOCK)
        self.rest, self.lines = b"", []
        self.take()

    def take(self):
        """Reads all available events."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.handle, 1 << 16):
                self.rest += piece
        *whole, self.rest = self.rest.split(b"\n")
        self.lines += [json.loads(line) for line in whole]

    def wait(self, claim):
        """Returns the first line for which the claim holds."""
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        for _ in range(100_000):
            for line in self.lines:
                if claim(line):
                    return line
            self.lines.clear()
            assert poll.poll(TIMEOUT * 1000), "no event came"
            self.take()
        raise AssertionError("poll wakes up for nothing")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.handle)


@pytest.fixture
def follower(view):
    with Follower(view) as opened:
        yield opened


def event(kind, **fields):
    """Returns a claim: a line is of this kind and has these fields."""
    def claim(line):
        if "path" in fields and (line["event"] != kind
                                 or path_of(line) != os.fsencode(fields["path"])):
            return False
        return line["event"] == kind and all(
            line.get(name) == value for name, value in fields.items() if name != "path")
    return claim


def test_poll_reports_a_new_group_and_its_copies(follower, view, source):
    [name] = oracle.hashes([source / "c"])
    trees.write(source / "new", OTHER)
    line = follower.wait(event("group_appeared", hash=name))
    assert (line["size"], line["copies"]) == (len(OTHER), 2)
    trees.write(source / "newer", OTHER)
    follower.wait(lambda line: event("group_changed", hash=name)(line) and line["copies"] == 3)


def test_poll_does_not_return_while_nothing_happens(follower, view):
    view.sync()
    follower.take()
    poll = select.poll()
    poll.register(follower.handle, select.POLLIN)
    assert poll.poll(0) == []


def test_events_name_files_that_became_redundant_or_unique(follower, view, source):
    [name] = oracle.hashes([source / "c"])
    trees.write(source / "odd\nname", OTHER)
    line = follower.wait(event("file_redundant", path=source / "odd\nname"))
    assert line["hash"] == name
    os.unlink(source / "c")
    line = follower.wait(event("file_unique", path=source / "odd\nname"))
    assert line["hash"] == name


def test_event_reports_a_group_that_vanished(follower, view, source):
    [name] = oracle.hashes([source / "h"])
    changes.rewrite(source / "h", b"other")
    follower.wait(event("group_gone", hash=name))


def test_paths_of_any_bytes_are_in_events(follower, view, source):
    path = trees.join(source, b"\xff\xfe")
    trees.write(path, OTHER)
    follower.wait(event("file_redundant", path=path))


def test_errors_are_events(as_user, tmp_path, plain_user, fuse_for_users):
    source = tmp_path / "source"
    changes.build(source)
    subprocess.run(["chown", "-R", f"{plain_user.pw_uid}", tmp_path], check=True)
    with as_user.mounted(source) as view:
        words = [*as_user.as_user(), "tail", "-f", view.events]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as tail:
            try:
                assert until(lambda: has_open(tail.pid, view.events))
                os.chmod(source / "d/f", 0)
                line = next(line for line in map(json.loads, tail.stdout)
                            if line["event"] == "error")
                assert path_of(line) == os.fsencode(source / "d/f")
                os.chmod(source / "d/f", 0o755)
            finally:
                tail.kill()


def test_tail_follows_events(view, source):
    with subprocess.Popen(["tail", "-f", view.events], stdout=subprocess.PIPE) as tail:
        try:
            assert until(lambda: has_open(tail.pid, view.events))
            trees.write(source / "new", OTHER)
            wanted = event("file_redundant", path=source / "new")
            assert any(wanted(json.loads(line)) for line in tail.stdout)
        finally:
            tail.kill()


def test_slow_reader_gets_the_number_of_missed_events(view, source):
    """The lines take more than a MiB, and the daemon does not wait for readers."""
    with Follower(view) as slow, Follower(view) as quick:
        for folder in range(5):
            for number in range(1000):
                trees.write(source / f"x{folder}" / f"{number}".ljust(230, "n"), OTHER)
            view.sync()
            quick.take()
        slow.take()
        assert slow.rest == b""
        missed = [line["count"] for line in slow.lines if line["event"] == "missed"]
        assert missed and min(missed) > 0
        told = len([line for line in slow.lines if line["event"] == "file_redundant"])
        assert told < 5000
        os.unlink(source / "h")
        for follower in (slow, quick):
            follower.wait(event("group_gone", hash=oracle.hashes([source / "d/f/g"])[0]))
    assert view.differences_now(source) == []


# pending, metrics

def test_pending_lists_exactly_the_files_that_wait(view, source):
    odd = trees.write(trees.join(source, b"odd\n\xff"))
    with open(odd, "r+b", buffering=0) as one, open(source / "c", "r+b", buffering=0) as two:
        one.write(DATA)
        two.write(DATA)
        view.sync()
        assert view.pending() == {odd, os.fsencode(source / "c")}
        assert view.status()["pending"] == 2
    view.sync()
    assert view.pending() == set()
    assert view.status()["pending"] == 0


def test_metrics_have_the_figures_of_status(view, source):
    trees.write(source / "new", OTHER)
    view.sync()
    metrics, status = view.metrics(), view.status()
    assert all(name.startswith("twinfs_") for name, _ in metrics)
    names = {"pending": "pending_files"}
    for key in ("files", "others", "groups", "redundant_files", "pending", "errors"):
        assert metrics[f"twinfs_{names.get(key, key)}", frozenset()] == status[key], key


def test_files_and_others_follow_changes(view, source):
    """A name can also get a file of another kind."""
    def figures():
        view.sync()
        status = view.status()
        return status["files"] - before["files"], status["others"] - before["others"]
    view.sync()
    before = view.status()
    os.mkfifo(source / "pipe")
    os.symlink("nowhere", source / "link")
    assert figures() == (0, 2)
    os.link(source / "link", source / "second name", follow_symlinks=False)
    assert figures() == (0, 2)
    trees.write(source / "new", OTHER)
    os.replace(source / "new", source / "pipe")
    assert figures() == (1, 1)
    os.symlink("nowhere", source / "new")
    os.replace(source / "new", source / "pipe")
    assert figures() == (0, 2)
    for name in ("link", "second name", "pipe"):
        os.unlink(source / name)
    assert figures() == (0, 0)


def test_parser_of_metrics_is_strict():
    good = ('# HELP a_total What it counts.\n# TYPE a_total counter\na_total{b="c\\"d",e="f"} 1\n'
            'a_total{b="g",e="f"} 2e3\n# HELP h Time.\n# TYPE h histogram\n'
            'h_bucket{le="+Inf"} 1\nh_sum 0.5\nh_count 1\n')
    assert prometheus.parse(good)["h_sum", frozenset()] == 0.5
    for old, new in (("# TYPE a_total counter\n", ""), ("# HELP h Time.\n", ""), ("2e3", "two"),
                     ('b="g"', 'b="c\\"d"'), ('e="f"} 2', 'e=f} 2'), ("h_sum", "i_sum"),
                     ("h_count 1\n", "h_count 1"), ("a_total{b=\"g\"", "3{b=\"g\""),
                     ("counter", "number"), ("} 1\na", "} -1\na")):
        assert old in good
        with pytest.raises(ValueError):
            prometheus.parse(good.replace(old, new, 1))


# commands

def test_list_of_a_view_has_a_file_made_just_before(view, twinfs, source):
    for number in range(5):
        new = source / f"new {number}"
        trees.write(new, OTHER)
        assert os.fsencode(new) in frozenset().union(*twinfs.groups(view.path))
        os.unlink(new)
        assert os.fsencode(new) not in frozenset().union(*twinfs.groups(view.path))


def write_until(stopped, source):
    number = 0
    while not stopped.is_set():
        number += 1
        path = source / f"w{number % 50}"
        if number % 3:
            trees.write(path, (DATA, OTHER, b"small")[number % 7 % 3])
        else:
            path.unlink(missing_ok=True)


def test_commands_answer_while_writers_write(view, twinfs, source):
    stopped = threading.Event()
    writer = threading.Thread(target=write_until, args=(stopped, source))
    writer.start()
    try:
        for _ in range(5):
            assert twinfs.ok("status", view.path, index=False).out
            listed = twinfs("list", "--format=json", view.path)
            assert listed.status in (0, 3), listed
            assert min(len(group["copies"]) for group in listed.json["groups"]) > 1
            copies = twinfs("copies", source / "a", source / "d/e")
            assert copies.status in (0, 3), copies  # one was just written to
            assert os.fsencode(source / "b") in copies.out
            prometheus.parse(view.read("metrics").decode())
            view.pending()
    finally:
        stopped.set()
        writer.join()
    assert view.differences_now(source) == []


# scripts

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


def in_group(pid, group):
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return False


def follows(pid, path):
    """Whether tail has opened a regular file and gone to its end, after which it watches it."""
    return has_open(pid, path) and has_open(pid, "anon_inode:inotify")


@contextlib.contextmanager
def following(twinfs, mount, *command, ready=has_open):
    """Runs scripts/on-duplicate and yields its process once it has opened the events."""
    words = [SCRIPTS / "on-duplicate", mount, *command]
    process = subprocess.Popen(words, env=twinfs.environment, start_new_session=True)
    try:
        assert until(lambda: any(ready(pid, mount / ".twinfs/events")
                                 for pid in twinfs.session.processes()))
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pid in twinfs.session.processes():  # children of the script end a moment later
            if in_group(pid, process.pid):
                assert wait_ended(pid)


def test_script_runs_a_command_for_each_new_duplicate(twinfs, view, source, tmp_path):
    found = tmp_path / "found"
    command = ["sh", "-c", 'printf "%s %s\\n" "$1" "$TWINFS_EVENT" >>"$0"; false', found]
    with following(twinfs, view.path, *command):
        trees.write(source / "new", OTHER)
        assert until(lambda: found.exists() and found.read_text().endswith("\n"))
    folder, line = found.read_text().splitlines()[0].split(" ", 1)
    assert folder == os.fspath(folder_of(view, source / "new"))
    assert path_of(json.loads(line)) == os.fsencode(source / "new")


def test_script_handles_odd_paths_and_other_events(twinfs, tmp_path):
    """The events are made by the test: odd paths, and events of other kinds."""
    (tmp_path / ".twinfs").mkdir()
    events, found = tmp_path / ".twinfs/events", tmp_path / "found"
    events.touch()
    lines = [{"event": "group_appeared", "hash": "1" * 32, "size": 1, "copies": 2},
             {"event": "missed", "count": 5},
             {"event": "file_redundant", "path": '/"hash":"$(touch x)\\n\u2215', "hash": "2" * 32},
             {"event": "file_unique", "path": "/b", "hash": "3" * 32},
             {"event": "file_redundant", "path": "/c", "hash": "4" * 32 + "~2"}]
    command = ["sh", "-c", 'echo "$1" >>"$0"', found]
    with following(twinfs, tmp_path, *command, ready=follows):
        with open(events, "a") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        assert until(lambda: found.exists() and found.read_text().count("\n") == 2)
    assert found.read_text().split() == [f"{tmp_path}/dups/{'2' * 32}",
                                         f"{tmp_path}/dups/{'4' * 32}~2"]


def test_scripts_print_their_usage():
    for name in ("on-duplicate", "bench"):
        run = subprocess.run([SCRIPTS / name, "--help"], check=True, capture_output=True,
                             text=True)
        assert name in run.stdout and not run.stderr
    assert subprocess.run([SCRIPTS / "on-duplicate", "/nowhere", "true"], check=False,
                          capture_output=True).returncode == 1

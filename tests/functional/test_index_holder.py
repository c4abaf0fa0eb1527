# SPDX-License-Identifier: MIT
"""Opening an index that another process holds: one that is about to end is waited for."""
import contextlib
import fcntl
import os
import signal
import subprocess

import pytest
import trees
from program import STRACE, end_process, stopped, until


@pytest.fixture
def small(source):
    trees.small(source)
    return source


@pytest.fixture
def mount(tmp_path):
    path = tmp_path / "view"
    path.mkdir()
    return path


@contextlib.contextmanager
def lock_held(twinfs):
    """This process holds the lock of the index, as a daemon does until it has ended."""
    with open(twinfs.index / "owner", "r+b") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def traced_mount(twinfs, trace, source, mount, injected=()):
    """Mounts in the background; the trace has its attempts to take the lock."""
    words = [*STRACE, "-o", trace, "-e", "trace=flock", *injected,
             *twinfs.command("mount", "--wait", source, mount)]
    environment = dict(twinfs.environment)
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    started = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        yield started
    finally:
        subprocess.run(["fusermount3", "-u", "-z", mount], check=False, capture_output=True)
        _, error = started.communicate(timeout=60)
    assert started.returncode == 0, error


def refusals(trace):
    """How often the lock was refused."""
    return trace.read_text().count("EAGAIN") if trace.exists() else 0


def has_mounted(started, mount):
    dups = mount / "dups"  # os.path.exists: a dead mount gives an error
    return until(lambda: os.path.exists(dups) or started.poll() is not None) and \
        os.path.exists(dups)


CONTENTS = {
    "empty": lambda _: b"",
    "part of the pid": lambda text: text[:2],
    "no line end": lambda text: text.split(b"\n")[0],
    "part of the mount point": lambda text: text[:-3],
    "pid and mount point": lambda text: text,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_daemon_between_unmount_and_its_end_is_waited_for(twinfs, small, mount, content, strace,
                                                         tmp_path, root_only):
    trace = tmp_path / "trace"
    with twinfs.mounted(small, at=tmp_path / "first") as view:
        owner = twinfs.index / "owner"
        with stopped(view.pid):
            subprocess.run(["fusermount3", "-u", view.path], check=True)
            owner.write_bytes(content(owner.read_bytes()))
            with contextlib.ExitStack() as stack:
                started = stack.enter_context(traced_mount(twinfs, trace, small, mount))
                assert until(lambda: refusals(trace) >= 4 or started.poll() is not None)
                assert started.poll() is None
                os.kill(view.pid, signal.SIGCONT)
                assert has_mounted(started, mount)


def test_lock_released_between_refusal_and_question_is_taken(twinfs, small, mount, strace,
                                                            tmp_path, root_only):
    """The daemon ends after the new one was refused, and before it asks for the owner."""
    twinfs.ok("scan", "--quiet", small)
    trace = tmp_path / "trace"
    late = ["-e", "inject=flock:delay_enter=1500000:when=2"]
    with contextlib.ExitStack() as stack:
        with lock_held(twinfs):
            started = stack.enter_context(traced_mount(twinfs, trace, small, mount, late))
            assert until(lambda: refusals(trace) == 1)
        assert has_mounted(started, mount)
        asked = [line for line in trace.read_text().splitlines() if "LOCK_SH" in line]
        assert asked
        assert "EAGAIN" not in asked[0]  # nobody held it any more


def test_killed_daemon_that_has_the_lock_yet_is_waited_for(twinfs, small, mount, strace, tmp_path,
                                                          root_only):
    trace = tmp_path / "trace"
    with contextlib.ExitStack() as stack:
        twinfs.ok("mount", "--quiet", "--wait", small, mount)
        pid = int((twinfs.index / "owner").read_text().split()[0])
        assert end_process(pid, signal.SIGKILL)
        with lock_held(twinfs):
            started = stack.enter_context(traced_mount(twinfs, trace, small, mount))
            assert until(lambda: refusals(trace) >= 4 or started.poll() is not None)
            assert started.poll() is None
        assert has_mounted(started, mount)


def test_daemon_is_waited_for_though_another_view_is_where_its_was(twinfs, small, mount, strace,
                                                                  tmp_path, root_only):
    trace, other = tmp_path / "trace", twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small, at=tmp_path / "first") as view:
        pid, view.pid = view.pid, None
        with contextlib.ExitStack() as stack:
            with stopped(pid):
                subprocess.run(["fusermount3", "-u", view.path], check=True)
                stack.enter_context(other.mounted(small, at=view.path))
                started = stack.enter_context(traced_mount(twinfs, trace, small, mount))
                assert until(lambda: refusals(trace) >= 4 or started.poll() is not None)
                assert started.poll() is None
            assert has_mounted(started, mount)


def test_index_of_a_mounted_view_is_refused_at_once(twinfs, small, mount, strace, tmp_path,
                                                   root_only):
    with twinfs.mounted(small, at=tmp_path / "first") as view:
        result, trace = twinfs.traced("mount", small, mount, calls="trace=flock")
        assert result.status == 1
        assert f"for the view at '{view.path}'; unmount the view" in result.error.decode()
        assert trace.count(b"LOCK_EX") == 1


def test_daemon_that_does_not_end_is_named_in_the_refusal(twinfs, small, mount, tmp_path,
                                                         root_only):
    with twinfs.mounted(small, at=tmp_path / "first") as view, stopped(view.pid):
        subprocess.run(["fusermount3", "-u", view.path], check=True)
        result = twinfs("mount", small, mount)
        assert result.status == 1
        assert f"process {view.pid} uses the index" in result.error.decode()
        assert f"'kill {view.pid}'" in result.error.decode()

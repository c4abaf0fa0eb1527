# SPDX-License-Identifier: MIT
"""Opening an index that another process holds: the program waits for a process that is about to
end."""
import contextlib
import os
import signal
import subprocess

import newer_index
import pytest
from processes import children, end_process, stopped, until


@contextlib.contextmanager
def traced_mount(twinfs, trace, source, mount, injected=()):
    """Mounts in the background, with a trace of the attempts to take the lock."""
    traced = twinfs.under_strace("-e", "trace=flock", *injected, output=trace)
    started = subprocess.Popen(traced.command("mount", "--wait", source, mount),
                               env=traced.environment, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        yield started
    finally:
        subprocess.run(["fusermount3", "-u", "-z", mount], check=False, capture_output=True)
        _, error = started.communicate(timeout=60)
    assert started.returncode == 0, error


def refusals(trace):
    """The number of failed attempts to take the lock."""
    return trace.read_text().count("EAGAIN") if trace.exists() else 0


def has_mounted(started, mount):
    """Waits until the command has ended; its daemon and strace go on."""
    return until(lambda: started.poll() is not None or not children(started.pid)) and \
        os.path.exists(mount / "dups")  # Path.exists would raise for a dead mount


CONTENTS = {
    "empty": lambda _: b"",
    "part of the pid": lambda text: text[:2],
    "no line end": lambda text: text.split(b"\n")[0],
    "part of the mount point": lambda text: text[:-3],
    "pid and mount point": lambda text: text,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_mount_waits_for_a_daemon_between_unmount_and_its_end(twinfs, small, mount, content, strace,
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


def test_lock_released_before_the_owner_is_checked_is_taken(twinfs, small, mount, strace,
                                                            tmp_path, root_only):
    """The daemon ends between the failed attempt of the new one and its check of the owner."""
    twinfs.ok("scan", "--quiet", small)
    trace = tmp_path / "trace"
    late = ["-e", "inject=flock:delay_enter=5s:when=2"]
    with contextlib.ExitStack() as stack:
        with newer_index.lock_held(twinfs.index):
            started = stack.enter_context(traced_mount(twinfs, trace, small, mount, late))
            assert until(lambda: refusals(trace) == 1)
        assert has_mounted(started, mount)
        asked = [line for line in trace.read_text().splitlines() if "LOCK_SH" in line]
        assert asked
        assert "EAGAIN" not in asked[0]  # the lock was free


def test_mount_waits_for_a_killed_daemon_that_still_has_the_lock(twinfs, small, mount, strace,
                                                                 tmp_path, root_only):
    trace = tmp_path / "trace"
    with contextlib.ExitStack() as stack:
        twinfs.ok("mount", "--quiet", "--wait", small, mount)
        pid = int((twinfs.index / "owner").read_text().split()[0])
        assert end_process(pid, signal.SIGKILL)
        with newer_index.lock_held(twinfs.index):
            started = stack.enter_context(traced_mount(twinfs, trace, small, mount))
            assert until(lambda: refusals(trace) >= 4 or started.poll() is not None)
            assert started.poll() is None
        assert has_mounted(started, mount)


def test_mount_waits_for_a_daemon_whose_mount_point_has_another_view(twinfs, small, mount, strace,
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

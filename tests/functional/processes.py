# SPDX-License-Identifier: MIT
"""Processes: their threads and children, waiting for what they do, and ending them."""
import contextlib
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

TIMEOUT = 300  # seconds after which a test counts as hanging; no test measures time by it


def until(claim, timeout=TIMEOUT):
    """Calls claim() until it is true; returns false after the timeout. A claim about a file or
    process that vanishes meanwhile is not true."""
    end = time.monotonic() + timeout
    while True:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if claim():
                return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(
            errors="replace")
    return "?"


def of_threads(pid, name):
    """{thread: content of this file in /proc} of a process, without threads that have ended."""
    found, folder = {}, f"/proc/{pid}/task"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
        for thread in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found[thread] = Path(folder, thread, name).read_text()
    return found


@contextlib.contextmanager
def stopped(pid):
    """Stops all threads of a process for the duration of the block."""
    os.kill(pid, signal.SIGSTOP)
    assert until(lambda: all(text.split("State:\t")[1][0] in "Tt"
                             for text in of_threads(pid, "status").values()))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def end_process(pid, number, timeout=TIMEOUT):
    """Sends a signal to a process, which need not be a child, and waits until it has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
        return bool(select.select([handle], [], [], timeout)[0])
    finally:
        os.close(handle)


def wait_ended(pid, timeout=TIMEOUT):
    return end_process(pid, 0, timeout)


def children(pid):
    """Ids of the live children of all threads of a process."""
    return [int(word) for children_of in Path(f"/proc/{pid}/task").glob("*/children")
            for word in children_of.read_text().split()]


def with_children(pid):
    return [pid, *children(pid)]


def traced(pid):
    """A list that has for each thread of a process whether it is traced."""
    return ["TracerPid:\t0\n" not in text for text in of_threads(pid, "status").values()]


@contextlib.contextmanager
def attached(pid, *words):
    """Traces all threads of a process by strace with these words, for the duration of the block;
    yields strace."""
    command = ["strace", "-f", "-p", str(pid), "-o", "/dev/null", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as tracer:
        try:
            assert until(lambda: all(traced(pid)))
            yield tracer
        finally:
            tracer.terminate()
            if not until(lambda: tracer.poll() is not None, 0.3):
                tracer.kill()  # some versions wait for ever if the process was killed


def tracer_of(pid):
    """The id of the process that traces this one; 0 if none does."""
    return int(re.search(r"^TracerPid:\t(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def is_held(pid):
    """Whether strace holds a thread of the process, or of a child, in a delayed system call."""
    return any(map(stays_stopped, with_children(pid)))


def stays_stopped(pid):
    """Whether a thread of the process stays in one stop of its tracer, which sleeps meanwhile. Any
    other stop would wake the tracer. It has the state S already while it looks for stops."""
    before, tracer = tracing_stops(pid), tracer_of(pid)
    sleeps = tracer and "State:\tS" in Path(f"/proc/{tracer}/status").read_text()
    sleeps = sleeps and Path(f"/proc/{tracer}/wchan").read_text() != "0"
    return bool(sleeps and before.items() & tracing_stops(pid).items())


def tracing_stops(pid):
    """{thread: how often it has waited} of the threads of a process that their tracer stopped. The
    tracer knows of a stop when the thread has left its processor."""
    stops = {thread: text[text.index("voluntary_ctxt_switches"):]
             for thread, text in of_threads(pid, "status").items() if "State:\tt" in text}
    asleep = {thread for thread, where in of_threads(pid, "wchan").items() if where != "0"}
    return {thread: count for thread, count in stops.items() if thread in asleep}


def interrupt_when_held(strace):
    """Interrupts the child of strace when strace delays one of its system calls. The signal can
    reach another thread, so strace must delay the later calls, too."""
    assert until(lambda: strace.poll() is not None or is_held(strace.pid))
    assert strace.poll() is None, "ended before a call was delayed"
    os.kill(*children(strace.pid), signal.SIGINT)


def release(process):
    """Ends the hold of Program.held(): the process and its children go on without a tracer."""
    tracer = tracer_of(process.pid)
    assert tracer, "nothing holds the process"
    os.kill(tracer, signal.SIGKILL)


def has_open(pid, path):
    """Whether the process has the file open, whatever its other threads open or close meanwhile."""
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if os.readlink(f"{folder}/{name}") == os.fspath(path):
                    return True
    return False


def one_waits_for_lease():
    """Whether this process or a child of it waits until another process ends its lease on a
    file."""
    return any("break_lease" in where for pid in with_children(os.getpid())
               for where in of_threads(pid, "wchan").values())

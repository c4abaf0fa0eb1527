# SPDX-License-Identifier: MIT
"""Runs a function in a child process that has become another user, and returns its result."""
import ctypes
import multiprocessing
import os
import platform
import threading
from dataclasses import dataclass

from processes import TIMEOUT

PROCESSES = multiprocessing.get_context("fork")
# Numbers of the system calls setgroups, setresgid and setresuid, which change one thread. The
# functions of the C library change all threads.
CALLS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}


@dataclass(frozen=True)
class Caller:
    """A user with a primary group and further groups.

    how  "process": the whole process becomes this user
         "file system": only calls to file systems are made as this user (setfsuid), as
                        file servers do
         "thread": only the calling thread becomes this user
    """
    name: str
    uid: int
    gid: int
    groups: tuple = ()
    how: str = "process"

    def __str__(self):
        return self.name

    @property
    def possible(self):
        return self.how != "thread" or platform.machine() in CALLS


def become(caller):
    if caller.how == "process":
        os.setgroups(caller.groups)
        os.setresgid(*[caller.gid] * 3)
        os.setresuid(*[caller.uid] * 3)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if caller.how == "file system":
        os.setgroups(caller.groups)
        libc.setfsgid(caller.gid)
        libc.setfsuid(caller.uid)
        return
    groups = (ctypes.c_uint32 * len(caller.groups))(*caller.groups)
    for number, arguments in zip(CALLS[platform.machine()], (
            (len(groups), groups), [caller.gid] * 3, [caller.uid] * 3)):
        if libc.syscall(number, *arguments) != 0:
            raise OSError(ctypes.get_errno(), f"system call {number}")


def _work(pipe, caller, function, arguments):
    def run():
        try:
            become(caller)
            pipe.send((function(*arguments), None))
        except BaseException as failure:
            pipe.send((None, failure))
    if caller.how == "thread":
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()


class Call:
    """A function that runs as a caller in a separate process."""

    def __init__(self, caller, function, *arguments):
        self.pipe, theirs = PROCESSES.Pipe(False)
        self.process = PROCESSES.Process(target=_work, args=(theirs, caller, function, arguments))
        self.process.start()
        theirs.close()

    def result(self):
        """The result of the function; raises its exception."""
        try:
            given, failure = self.pipe.recv() if self.pipe.poll(TIMEOUT) else (None, TimeoutError())
        finally:
            self.pipe.close()
            if self.process.is_alive():
                self.process.join(5)
                self.process.kill()
            self.process.join()
        if failure:
            raise failure
        return given


def call_as(caller, function, *arguments):
    return Call(caller, function, *arguments).result()

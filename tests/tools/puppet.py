# SPDX-License-Identifier: MIT
"""Makes a thread of another process issue system calls, as injected code would.

The thread is stopped by ptrace(2), repeats the instruction by which it entered the kernel with
other arguments, and gets its former state back.  For x86-64.
"""
import contextlib
import ctypes
import os
import platform
import struct

ATTACH, DETACH, GETREGS, SETREGS, SINGLESTEP = 16, 17, 12, 13, 9
FIELDS = ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx",
          "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds",
          "es", "fs", "gs")
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
SYSCALL = b"\x0f\x05"
BELOW_STACK = 4096  # beyond the red zone of the stack
ALL_THREADS = 0x40000000  # __WALL
TRIES = 10000  # to find a thread in a system call


def is_possible():
    return platform.machine() == "x86_64"


def _ptrace(request, thread, address, data):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, thread, address, data) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _registers(thread):
    room = ctypes.create_string_buffer(8 * len(FIELDS))
    _ptrace(GETREGS, thread, None, ctypes.addressof(room))
    return dict(zip(FIELDS, struct.unpack(f"{len(FIELDS)}Q", room.raw)))


def _set_registers(thread, values):
    room = ctypes.create_string_buffer(
        struct.pack(f"{len(FIELDS)}Q", *(values[name] for name in FIELDS)))
    _ptrace(SETREGS, thread, None, ctypes.addressof(room))


class Puppet:
    """A stopped thread."""

    def __init__(self, thread):
        self.thread = thread
        self.before = _registers(thread)
        self.memory = os.open(f"/proc/{thread}/mem", os.O_RDWR)

    def call(self, number, *arguments):
        """The result of a system call, or a negative errno."""
        values = dict(self.before, rax=number, orig_rax=(1 << 64) - 1,  # no call to restart
                      rip=self.before["rip"] - len(SYSCALL))
        assert os.pread(self.memory, len(SYSCALL), values["rip"]) == SYSCALL
        room = self.before["rsp"] - BELOW_STACK
        for name, argument in zip(ARGUMENTS, arguments):
            if isinstance(argument, (str, bytes, os.PathLike)):
                text = os.fsencode(argument) + b"\0"
                room -= len(text)
                os.pwrite(self.memory, text, room)
                argument = room
            values[name] = argument % (1 << 64)
        _set_registers(self.thread, values)
        _ptrace(SINGLESTEP, self.thread, None, None)
        os.waitpid(self.thread, ALL_THREADS)
        result = _registers(self.thread)["rax"]
        return result - (1 << 64) if result >> 63 else result


    def waits_in_a_call(self):
        return os.pread(self.memory, len(SYSCALL), self.before["rip"] - len(SYSCALL)) == SYSCALL


def _stop(thread):
    """Attaches until the thread is stopped in a system call. Resumes a thread that is in none."""
    for _ in range(TRIES):
        _ptrace(ATTACH, thread, None, None)
        os.waitpid(thread, ALL_THREADS)
        stopped = Puppet(thread)
        if stopped.waits_in_a_call():
            return stopped
        os.close(stopped.memory)
        _ptrace(DETACH, thread, None, None)
        os.sched_yield()
    raise TimeoutError(f"thread {thread} is never in a system call")


@contextlib.contextmanager
def puppet(thread):
    """A thread of any process that waits in a system call."""
    made = _stop(thread)
    try:
        yield made
    finally:
        os.close(made.memory)
        _set_registers(thread, made.before)
        _ptrace(DETACH, thread, None, None)

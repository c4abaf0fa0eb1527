# SPDX-License-Identifier: MIT
"""Runs a program with a seccomp filter that lets system calls fail with EPERM.

An older container runtime does so with calls that it does not know.

    filtered_calls.py NUMBER,... PROGRAM ARGUMENT...
"""
import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH_EPERM = 0x7FFF0000, 0x00050001


class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def instructions(numbers):
    steps = [(LOAD_NUMBER, 0, 0, 0)]
    steps += [(JUMP_IF_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL_WITH_EPERM)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def forbid(numbers):
    libc = ctypes.CDLL(None, use_errno=True)
    code = instructions(numbers)
    memory = ctypes.create_string_buffer(code, len(code))
    program = Filter(len(code) // 8, ctypes.cast(memory, ctypes.c_void_p))
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                 (PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), "cannot set a filter")


if __name__ == "__main__":
    forbid([int(number) for number in sys.argv[1].split(",")])
    os.execv(sys.argv[2], sys.argv[2:])

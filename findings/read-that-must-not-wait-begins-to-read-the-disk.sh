#!/bin/sh
# SPDX-License-Identifier: MIT
# preadv2(2) with RWF_NOWAIT fails with EAGAIN where a file is not in the page cache, and makes the
# kernel read it from the disk all the same. A program that probes with it what is cached, so that it
# can leave the rest unread, has it read, with as much ahead as by any other read.
# Seen on Linux 6.18 with ext4, xfs and btrfs. Needs Python 3 and a file system on a disk; FOLDER
# names another one than that of the current folder.
set -eu

python3 - <<'END'
import ctypes
import errno
import mmap
import os
import platform
import tempfile
import time

BYTES = 1 << 20
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]


def cached(file):
    """The number of pages of the file that are in the page cache."""
    place = libc.mmap(None, BYTES, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    pages = (ctypes.c_ubyte * (BYTES // PAGE))()
    assert libc.mincore(ctypes.c_void_p(place), ctypes.c_size_t(BYTES), pages) == 0
    libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(BYTES))
    return sum(page & 1 for page in pages)


def drop(file):
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    assert cached(file) == 0, "the caches of this file system cannot be dropped"


def probe(file):
    try:
        return os.preadv(file, [bytearray(PAGE)], 0, os.RWF_NOWAIT)
    except OSError as error:
        return errno.errorcode[error.errno]


print("Linux", platform.release(), "Python", platform.python_version())
with tempfile.NamedTemporaryFile(dir=os.environ.get("FOLDER", ".")) as temporary:
    file = temporary.fileno()
    temporary.write(os.urandom(BYTES))
    temporary.flush()
    drop(file)
    answer = probe(file)
    deadline = time.monotonic() + 10
    while cached(file) == 0 and time.monotonic() < deadline:
        pass
    pages = cached(file)
    print("expected  EAGAIN, and no page is read: the call only tells what is there")
    print(f"seen      {answer}, and {pages} pages were read without another call")
    assert answer == "EAGAIN" and pages > 0
print("finding holds")
END

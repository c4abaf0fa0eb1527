# SPDX-License-Identifier: MIT
"""An independent model of the choice of the likely original among equal files (twinfs(1))."""
import contextlib
import ctypes
import os
import re
import struct

AT_SYMLINK_NOFOLLOW, STATX_BTIME = 0x100, 0x800  # linux/stat.h
SECOND_NS = 10**9
MARKS = re.compile(
    rb"^\.|~$"
    rb"|(?<![A-Za-z\x80-\xff0-9])"
    rb"(?:backups?|bak|bkp|copied|cop(?:y|ies|ie|ia)|duplicates?|old|kopien?)[0-9]*"
    rb"(?![A-Za-z\x80-\xff0-9])"
    rb"|.[(\[][0-9]{1,3}[)\]](?:\.|$)", re.IGNORECASE | re.DOTALL)
TRASH = re.compile(rb"/(?:(?:Trash|\.Trash-[0-9]+|\.Trash/[0-9]+)/files|\.Trashes|\$RECYCLE\.BIN)/")
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def opened_folder(path):
    """A descriptor of the folder of a file, whose path can be too long for one system call."""
    handle = os.open("/", os.O_PATH)
    try:
        for name in filter(None, os.path.dirname(path).split(b"/")):
            above, handle = handle, os.open(name, os.O_PATH, dir_fd=handle)
            os.close(above)
        yield handle
    finally:
        os.close(handle)


def birth_ns(name, folder):
    """The birth time of a file, or infinity if it has none."""
    buffer = ctypes.create_string_buffer(256)
    if LIBC.statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, buffer) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    mask, = struct.unpack_from("=I", buffer, 0)
    seconds, ns = struct.unpack_from("=qI", buffer, 80)
    return seconds * SECOND_NS + ns if mask & STATX_BTIME else float("inf")


def count_marks(path):
    return sum(bool(MARKS.search(name)) for name in path.split(b"/"))


def preference(root, tree, path, seen=0):
    """A key of a name: the name with the least key is preferred. seen: when its inode was found."""
    absolute, name = os.path.join(root, path), os.path.basename(path)
    with opened_folder(absolute) as folder:
        mtime = os.lstat(name, dir_fd=folder).st_mtime_ns
        birth = birth_ns(name, folder)
    return (bool(TRASH.search(absolute)), tree, seen, mtime // (2 * SECOND_NS), count_marks(path),
            birth, path.count(b"/"), path)

# SPDX-License-Identifier: MIT
"""Walks and reads trees of any names and any depth, for the oracle and the builders.

No code is shared with the program under test. Paths are bytes, relative to a root, and opened by
descriptor in pieces, so that a path may be longer than PATH_MAX.
"""
import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field

PIECE = 3000  # bytes of path given to one system call
BLOCK = 65536
ZEROS = bytes(BLOCK)


def open_beneath(root, path, flags):
    """Opens `path` (bytes, relative, of any length) below the folder `root`."""
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    if len(path) <= PIECE:
        return os.open(os.path.join(root, path) if path else root, flags)
    names = path.split(b"/")
    at = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while len(names) > 1:
            piece, length = [], 0
            while len(names) > 1 and length + len(names[0]) < PIECE:
                length += len(names[0]) + 1
                piece.append(names.pop(0))
            into = os.open(b"/".join(piece), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC,
                           dir_fd=at)
            os.close(at)
            at = into
        return os.open(names[0], flags, dir_fd=at)
    finally:
        os.close(at)


def mount_points():
    """Absolute paths (bytes) of all mounts, from /proc, as lstat on a dead mount hangs."""
    found = set()
    with open("/proc/thread-self/mountinfo", "rb") as file:
        for line in file:
            text = line.split(b" ")[4]
            for code in (b"040", b"011", b"012", b"134"):
                text = text.replace(b"\\" + code, bytes([int(code, 8)]))
            found.add(text)
    return found


@dataclass
class Entry:
    """A name: relative path (b"" is the root), lstat, link target, xattrs.

    unreadable is the errno of listing a folder, or of lstat, which is then None.
    """
    path: bytes
    stat: os.stat_result
    target: bytes = None
    xattrs: dict = field(default_factory=dict)
    unreadable: int = 0

    @property
    def key(self):
        return (self.stat.st_dev, self.stat.st_ino)

    @property
    def kind(self):
        return stat.S_IFMT(self.stat.st_mode) if self.stat else 0


def read_xattrs(path, follow):
    """Extended attributes by name; symlinks and special files cannot have user ones."""
    try:
        names = os.listxattr(path, follow_symlinks=follow)
        return {name: os.getxattr(path, name, follow_symlinks=follow) for name in names
                if name != "security.selinux"}
    except OSError as error:
        return {"unreadable": errno.errorcode[error.errno]}


@dataclass
class Skip:
    """The paths that a walk leaves out; `mounts` collects the mount points that it found."""
    folders: frozenset = frozenset()  # (st_dev, st_ino)
    excluded: object = None  # function of (path, is_folder)
    mounts: set = field(default_factory=set)


def walk(root, skip=None, xattrs=True):
    """Yields an Entry for the root and for everything below it on its file system."""
    skip = skip or Skip()
    root = os.path.realpath(os.fsencode(root))
    device = os.lstat(root).st_dev
    mounted = mount_points()
    first = Entry(b"", os.lstat(root))
    if xattrs:
        first.xattrs = read_xattrs(root, True)
    pending = [first]
    while pending:
        folder = pending.pop()
        for entry in _list(root, folder, (skip, mounted, device), xattrs):
            if entry.kind == stat.S_IFDIR:
                pending.append(entry)
            else:
                yield entry
        yield folder


def _list(root, folder, rules, xattrs):
    skip, mounted, device = rules
    try:
        handle = open_beneath(root, folder.path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        folder.unreadable = error.errno
        return
    try:
        for item in _names_in(handle, folder):
            name = os.fsencode(item.name)
            path = folder.path + b"/" + name if folder.path else name
            if os.path.join(root, path) in mounted:
                skip.mounts.add(path)
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except OSError as error:
                yield Entry(path, None, unreadable=error.errno)
                continue
            if status.st_dev != device:
                skip.mounts.add(path)
                continue
            if (status.st_dev, status.st_ino) in skip.folders:
                continue
            if skip.excluded and skip.excluded(path, stat.S_ISDIR(status.st_mode)):
                continue
            yield _entry(handle, name, path, status, xattrs)
    finally:
        os.close(handle)


def _names_in(handle, folder):
    """The kernel may open a folder and then fail to read it."""
    try:
        return list(os.scandir(handle))
    except OSError as error:
        folder.unreadable = error.errno
        return []


def _entry(handle, name, path, status, xattrs):
    entry = Entry(path, status)
    if stat.S_ISLNK(status.st_mode):
        entry.target = os.readlink(name, dir_fd=handle)
    elif xattrs:
        entry.xattrs = read_xattrs(b"/proc/self/fd/%d/%s" % (handle, name), False)
    return entry


def segments(handle, limit=100000):
    """The (start, end) ranges that hold data, by SEEK_DATA and SEEK_HOLE."""
    size = os.fstat(handle).st_size
    found, at = [], 0
    while at < size and len(found) < limit:
        try:
            start = os.lseek(handle, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            raise
        at = os.lseek(handle, start, os.SEEK_HOLE)
        found.append((start, at))
    return found


def digest(root, path):
    """SHA-256 over each block of 64 KiB that is not all zeros, with its number. A hole equals
    written zeros and is not read.

    Returns (32 bytes, 0) or (None, errno).
    """
    try:
        handle = open_beneath(root, path, os.O_RDONLY)
    except OSError as error:
        return None, error.errno
    try:
        return _digest(handle), 0
    except OSError as error:
        return None, error.errno
    finally:
        os.close(handle)


def _digest(handle):
    status = os.fstat(handle)
    total = hashlib.sha256(b"%d" % status.st_size)
    if status.st_blocks * 512 < status.st_size:
        ranges = segments(handle)
    else:
        ranges = [(0, status.st_size)]
    done = -1
    for start, end in ranges:
        for number in range(max(start // BLOCK, done + 1), (end + BLOCK - 1) // BLOCK):
            block = os.pread(handle, BLOCK, number * BLOCK)
            done = number
            if block != ZEROS[:len(block)]:
                total.update(b"%d:" % number)
                total.update(block)
    return total.digest()

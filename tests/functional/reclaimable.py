# SPDX-License-Identifier: MIT
"""An independent oracle of the bytes that removing redundant files would free.

A group consists of the inodes with equal bytes. The oracle reads all of them, asks the kernel where
each file is on its disk (FIEMAP), and counts the ranges of bytes that only redundant inodes hold.

The position of a byte is a space and a number. Usual extents are in the space of their file system.
All compressed extents that begin at one place of the disk form a space of their own: the kernel
does not report where in the compressed data a range is, so its number is the offset in the file.
"""
import collections
import fcntl
import hashlib
import os
import stat
import struct
from dataclasses import dataclass, field

from program import path_of

MAPPED_ABOVE = 4096  # bytes; a smaller file counts with its size
# linux/fiemap.h: _IOWR('f', 11, struct fiemap), struct fiemap, and struct fiemap_extent
FIEMAP, FIEMAP_FLAG_SYNC = 0xC020660B, 1
HEAD, EXTENT = struct.Struct("=QQLLLL"), struct.Struct("=QQQ16xL12x")
LAST, UNKNOWN, DELAYED, ENCODED, INLINE, SHARED = 0x1, 0x2, 0x4, 0x8, 0x200, 0x2000
EXTENTS_AT_ONCE = 256
BTRFS_FS_INFO = 0x8400941F  # linux/btrfs.h: _IOR(0x94, 31, struct btrfs_ioctl_fs_info_args)
BTRFS_FS_INFO_SIZE, BTRFS_FSID = 1024, slice(16, 32)


@dataclass(frozen=True)
class Extent:
    """A range [start, end) of the bytes of a file, as the kernel describes it."""
    start: int
    end: int
    place: int  # on the disk
    flags: int


def extents(handle):
    """Yields the extents of an open file, and writes it to the disk before."""
    start, last = 0, 0
    while not last:
        asked = HEAD.pack(start, (1 << 64) - 1 - start, FIEMAP_FLAG_SYNC, 0, EXTENTS_AT_ONCE, 0)
        answer = bytearray(asked + bytes(EXTENTS_AT_ONCE * EXTENT.size))
        fcntl.ioctl(handle, FIEMAP, answer)
        count = HEAD.unpack_from(answer)[3]
        if count == 0:
            return
        for number in range(count):
            logical, place, length, flags = EXTENT.unpack_from(answer,
                                                               HEAD.size + number * EXTENT.size)
            yield Extent(logical, logical + length, place, flags)
            start, last = logical + length, flags & LAST


def file_system(handle):
    """What identifies the disk of an open file. The subvolumes of a btrfs have different device
    numbers, but share blocks."""
    answer = bytearray(BTRFS_FS_INFO_SIZE)
    try:
        fcntl.ioctl(handle, BTRFS_FS_INFO, answer)
    except OSError:
        return os.fstat(handle).st_dev
    return bytes(answer[BTRFS_FSID])


@dataclass(frozen=True)
class Held:
    """A range of the disk that a file holds."""
    space: tuple
    start: int
    end: int
    is_shared: bool  # also with itself on XFS, not on btrfs


@dataclass
class Inode:
    """A regular file with its names."""
    names: set = field(default_factory=set)
    size: int = 0
    own: int = 0  # bytes that have no place on the disk that another file could hold
    held: list = field(default_factory=list)

    def measure(self, mapped, block):
        """Finds where the bytes of the file are; see groups()."""
        path = min(self.names)
        end = -(-self.size // block) * block
        if self.size <= MAPPED_ABOVE:
            self.own = self.size
        elif not mapped:
            self.own = min(self.size, os.stat(path).st_blocks * 512)
        else:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                for extent in extents(handle):
                    self.add(extent, file_system(handle), end)
            finally:
                os.close(handle)

    def add(self, extent, disk, end):
        length = min(extent.end, end) - extent.start
        if length <= 0:
            return
        if extent.flags & (UNKNOWN | DELAYED | INLINE):
            self.own += length
            return
        space, start = (disk,), extent.place
        if extent.flags & ENCODED:
            space, start = (disk, extent.place), extent.start
        self.held.append(Held(space, start, start + length, bool(extent.flags & SHARED)))


@dataclass(frozen=True)
class Piece:
    """A range of the disk that the same inodes hold."""
    length: int
    holders: collections.Counter  # of indexes of inodes: how often each holds it
    is_shared: bool

    def is_held_elsewhere(self):
        """Whether no inode of the group explains that the range is shared."""
        return self.is_shared and self.holders.total() == 1


def pieces(inodes):
    """Yields each range of the disk that some of the inodes hold."""
    edges = collections.defaultdict(list)
    for index, inode in enumerate(inodes):
        for held in inode.held:
            edges[held.space].append((held.start, 1, index, held.is_shared))
            edges[held.space].append((held.end, -1, index, held.is_shared))
    for found in edges.values():
        holders, shared, before = collections.Counter(), 0, 0
        for at, step, index, is_shared in sorted(found):
            if at > before and holders.total() > 0:
                yield Piece(at - before, +holders, shared > 0)
            holders[index] += step
            shared += step * is_shared
            before = at


def reclaimable(inodes, redundant):
    """The bytes that removing the redundant inodes would free; `redundant` has their indexes."""
    found = list(pieces(inodes))
    has_others = any(piece.is_held_elsewhere() for piece in found)
    total = sum(inodes[index].own for index in redundant)
    for piece in found:
        jointly = piece.is_shared and piece.holders.total() > 1
        if piece.holders.keys() <= redundant and not piece.is_held_elsewhere() and not (
                jointly and has_others):
            total += piece.length
    return total


@dataclass(frozen=True)
class Figures:
    """Two figures of a group or of a list, in bytes."""
    redundant: int
    reclaimable: int


class Group:
    """The inodes of one content."""

    def __init__(self, inodes):
        self.inodes = inodes
        self.size = inodes[0].size

    @property
    def names(self):
        return frozenset().union(*(inode.names for inode in self.inodes))

    def figures(self, gone):
        """The figures if these names are redundant."""
        redundant = {index for index, inode in enumerate(self.inodes) if inode.names <= gone}
        return Figures(len(redundant) * self.size, reclaimable(self.inodes, redundant))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def inodes_of(roots):
    """The regular files below some folders that are not empty, with all their names there."""
    found = collections.defaultdict(Inode)
    for root in roots:
        for folder, _, names in os.walk(os.path.realpath(os.fsencode(root))):
            for path in (os.path.join(folder, name) for name in names):
                status = os.lstat(path)
                if stat.S_ISREG(status.st_mode) and status.st_size > 0:
                    inode = found[status.st_dev, status.st_ino]
                    inode.names.add(path)
                    inode.size = status.st_size
    return list(found.values())


def groups(*roots, mapped=True, block=1):
    """The groups of some folders.

    mapped	whether the file system has shared blocks
    block	bytes to which the size of a file is rounded up
    """
    classes = collections.defaultdict(list)
    for inode in inodes_of(roots):
        classes[digest(min(inode.names))].append(inode)
    same = [Group(inodes) for inodes in classes.values() if len(inodes) > 1]
    for group in same:
        for inode in group.inodes:
            inode.measure(mapped, block)
    return same


# ---- comparison with a listing or a view --------------------------------------------------

def redundant_names(listing):
    """The redundant names in the JSON of `list`."""
    return {path_of(copy) for group in listing["groups"] for copy in group["copies"]
            if copy["fate"] == "redundant"}


def listed(listing):
    """{names: figures} of the groups in the JSON of `list`."""
    return {frozenset(path_of(copy) for copy in group["copies"]):
            Figures(group.get("redundant"), group["reclaimable"]) for group in listing["groups"]}


def expected(gone, *roots, **options):
    """What listed() must return if these names are redundant."""
    return {group.names: group.figures(gone) for group in groups(*roots, **options)}


def total(found):
    """The sums of the figures of some groups."""
    return Figures(sum(figures.redundant for figures in found.values()),
                   sum(figures.reclaimable for figures in found.values()))


def summary(listing):
    """The totals in the JSON of `list`."""
    figures = listing["summary"]
    return Figures(figures["redundant_bytes"], figures["reclaimable_bytes"])


def checked(listing, *roots, **options):
    """Compares the figures in the JSON of `list` with the oracle; returns the totals."""
    wanted = expected(redundant_names(listing), *roots, **options)
    assert listed(listing) == wanted
    assert summary(listing) == total(wanted)
    return total(wanted)


def shown(view):
    """What listed() returns, by the attributes in dups/, and the set of the redundant names."""
    found, gone = {}, set()
    for folder in view.dups.iterdir():
        paths = {os.getxattr(copy, "user.twinfs.path"): os.getxattr(copy, "user.twinfs.kept")
                 for copy in folder.iterdir()}
        found[frozenset(paths)] = Figures(*(int(os.getxattr(folder, f"user.twinfs.{name}"))
                                            for name in ("redundant", "reclaimable")))
        gone |= {path for path, kept in paths.items() if kept == b"no"}
    return found, gone


def view_differs(view, *roots):
    """The groups of a view with other figures than the oracle has, and its totals if they are."""
    found, gone = shown(view)
    wanted, status = expected(gone, *roots), view.status()
    differences = {names: (found.get(names), wanted.get(names))
                   for names in found.keys() | wanted.keys()
                   if found.get(names) != wanted.get(names)}
    totals = Figures(status["redundant_bytes"], status["reclaimable_bytes"])
    return differences or (totals != total(wanted) and totals)

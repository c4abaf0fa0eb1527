# SPDX-License-Identifier: MIT
"""Counts the bytes of equal aligned blocks in files, and which of them share their extents.
Compares blocks by BLAKE2b and places by FIEMAP, and shares no code with the program."""
import fcntl
import hashlib
import os
import random
import struct

BLOCK = 128 << 10
PAGE = 4096
# linux/fiemap.h: _IOWR('f', 11, struct fiemap), struct fiemap, and struct fiemap_extent
FIEMAP, FIEMAP_SYNC, LAST = 0xC020660B, 1, 1
HEAD, EXTENT = struct.Struct("=QQLLLL"), struct.Struct("=QQQ16xL12x")
EXTENTS = 500  # of a call


def extents(path):
    """(offset, offset on the disk, length, flags) of each extent of a file."""
    found, start = [], 0
    handle = os.open(path, os.O_RDONLY)
    try:
        while not found or not found[-1][3] & LAST:
            answer = bytearray(HEAD.pack(start, (1 << 64) - 1 - start, FIEMAP_SYNC, 0, EXTENTS, 0) +
                               bytes(EXTENTS * EXTENT.size))
            fcntl.ioctl(handle, FIEMAP, answer)
            count = HEAD.unpack_from(answer)[3]
            if count == 0:
                break
            found += [EXTENT.unpack_from(answer, HEAD.size + number * EXTENT.size)
                      for number in range(count)]
            start = found[-1][0] + found[-1][2]
    finally:
        os.close(handle)
    return found


class Places:
    """The offsets on the disk of the pages of a file, in ascending order."""

    def __init__(self, path):
        self.left = extents(path)[::-1]

    def of_page(self, at):
        while self.left and self.left[-1][0] + self.left[-1][2] <= at:
            self.left.pop()
        if not self.left or self.left[-1][0] > at:
            return None
        return self.left[-1][1] + at - self.left[-1][0]

    def of_block(self, at, length):
        return tuple(self.of_page(page) for page in range(at, at + length, PAGE))


def equal_and_shared(paths, block=BLOCK):
    """(bytes of blocks that equal an earlier block, bytes of those that share the extents of an
    equal earlier block). Blocks of zeros do not count, and a shorter last block equals only another
    last block."""
    known = {}
    equal = shared = 0
    for path in paths:
        places = Places(path)
        with open(path, "rb") as file:
            for at, data in enumerate(iter(lambda: file.read(block), b"")):
                if data.count(0) == len(data):
                    continue
                place = places.of_block(at * block, len(data))
                earlier = known.setdefault((len(data), hashlib.blake2b(data).digest()), set())
                equal += len(data) if earlier else 0
                shared += len(data) if place in earlier else 0
                earlier.add(place)
    return equal, shared


def digests(folder):
    """{path: (SHA-256 of the bytes, mtime)} of the files in a folder."""
    return {path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in sorted(folder.rglob("*")) if path.is_file()}


def lay_out(seed, count=4, blocks=100, part=0.6, longest=16):
    """The parts of images that share a part of their blocks, in runs of random length at other
    aligned offsets in each image: for each image a list of (number of a common run or None, number
    of blocks)."""
    numbers = random.Random(seed)
    lengths, left = [], int(blocks * part)
    while left:
        lengths.append(min(left, numbers.randint(1, longest)))
        left -= lengths[-1]
    images, own = [], blocks - int(blocks * part)
    for _ in range(count):
        order = numbers.sample(range(len(lengths)), len(lengths))
        ends = sorted(numbers.randint(0, own) for _ in order)
        parts = []
        for begin, end, run in zip([0, *ends], ends, order):
            parts += [(None, end - begin), (run, lengths[run])]
        images.append([(run, size) for run, size in [*parts, (None, own - ends[-1])] if size])
    return images


def make_images(folder, seed, **shape):
    """Writes the images of lay_out(), with other random bytes each time. Returns their paths."""
    images, common, paths = lay_out(seed, **shape), {}, []
    for number, parts in enumerate(images):
        paths.append(folder / f"image {number}")
        with open(paths[-1], "wb") as file:
            for run, size in parts:
                if run is not None and run not in common:
                    common[run] = os.urandom(size * BLOCK)
                file.write(os.urandom(size * BLOCK) if run is None else common[run])
    return paths

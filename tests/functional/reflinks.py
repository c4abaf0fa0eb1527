# SPDX-License-Identifier: MIT
"""Files that share blocks: clones, and copies that are put together from several clones."""
import fcntl
import os
import random
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

BLOCK = 4096
# linux/fs.h: _IOW(0x94, 9, int), and _IOW(0x94, 13, struct file_clone_range)
FICLONE, FICLONERANGE = 0x40049409, 0x4020940D
RANGE = struct.Struct("=qQQQ")
HOLE, PREALLOCATED = "hole", "preallocated"


@dataclass
class Room:
    """Folders of a test on a disk with shared blocks. Files in `aside` are in no source."""
    kind: str
    source: Path
    aside: Path


def make_room(root, kind, name):
    room = Room(kind, root / name / "source", root / name / "aside")
    room.source.mkdir(parents=True)
    room.aside.mkdir()
    return room


def write_back(root):
    """Writes a file system to its disk."""
    subprocess.run(["sync", "-f", root], check=True)


def clone(source, target):
    """Makes a file that shares all blocks of another."""
    with open(source, "rb") as origin, open(target, "xb") as file:
        fcntl.ioctl(file, FICLONE, origin.fileno())
    return target


def clone_range(source, target, start, length, at):
    """Lets a range of an existing file share the blocks of a range of another file. The length is a
    number of blocks, unless both ranges end with their files."""
    with open(source, "rb") as origin, open(target, "r+b") as file:
        fcntl.ioctl(file, FICLONERANGE, RANGE.pack(origin.fileno(), start, length, at))


def preallocate(path, start, length):
    with open(path, "r+b") as file:
        os.posix_fallocate(file.fileno(), start, length)


def drop(path):
    """Removes a file. XFS frees the blocks of a removed file later, and those cut off at once."""
    os.truncate(path, 0)
    os.unlink(path)


class Origins:
    """Files with one content, or one file for each part of it, which copies are cloned from.

    A clone of a whole part shares a whole extent of the disk.
    """

    def __init__(self, folder, name, data, cuts=()):
        self.data, self.parts = data, []
        edges = [0, *cuts, len(data)]
        for start, end in zip(edges, edges[1:]):
            path = folder / f"{name}, from {start}"
            path.write_bytes(data[start:end])
            self.parts.append((start, end, path))

    def clone_to(self, target, start, end):
        """Lets a range of a copy share the blocks of these files."""
        for first, last, path in self.parts:
            low, high = max(first, start), min(last, end)
            if low < high:
                clone_range(path, target, low - first, high - low, low)

    def drop(self):
        for _, _, path in self.parts:
            drop(path)


def assemble(target, size, plan):
    """Makes a file by a plan: a list of (start, end, Origins, HOLE or PREALLOCATED)."""
    with open(target, "xb") as file:
        file.truncate(size)
    for start, end, origins in plan:
        if origins == PREALLOCATED:
            preallocate(target, start, end - start)
        elif origins != HOLE:
            origins.clone_to(target, start, end)
    return target


class RandomCopies:
    """Equal files whose parts are cloned from a few origins, are holes, or are preallocated.

    whole	every part of a copy is a whole extent of the disk
    """

    def __init__(self, seed, whole):
        self.dice, self.name, self.whole = random.Random(seed), f"{seed}", whole
        self.blocks = self.dice.randrange(2, 60)
        tail = self.dice.choice([0, 1, 4095, self.dice.randrange(BLOCK)])
        self.size = self.blocks * BLOCK + tail
        data = bytearray(self.dice.randbytes(self.size))
        self.cuts = self.some_cuts(self.dice.randrange(8))
        for start, end in self.parts(self.cuts):
            if self.dice.random() < 0.3:
                data[start:end] = bytes(end - start)
        self.data, self.origins = bytes(data), []

    def some_cuts(self, count):
        cuts = self.dice.sample(range(1, self.blocks), min(count, self.blocks - 1))
        return [number * BLOCK for number in sorted(cuts)]

    def parts(self, cuts):
        edges = [0, *cuts, self.size]
        return list(zip(edges, edges[1:]))

    def write_origins(self, folder):
        for number in range(self.dice.randrange(1, 5)):
            cuts = self.cuts if self.whole else ()
            self.origins.append(Origins(folder, f"{self.name}.{number}", self.data, cuts))

    def plan(self):
        cuts = self.cuts if self.whole else self.some_cuts(self.dice.randrange(6))
        favourite, loyalty = self.dice.choice(self.origins), self.dice.choice([0, 0.7, 1])
        for start, end in self.parts(cuts):
            of = favourite if self.dice.random() < loyalty else self.dice.choice(self.origins)
            if not any(self.data[start:end]):
                of = self.dice.choice([HOLE, PREALLOCATED, of])
            yield start, end, of

    def assemble(self, folder):
        """Makes the copies; returns their paths."""
        return [assemble(folder / f"{self.name} {number}", self.size, list(self.plan()))
                for number in range(self.dice.randrange(2, 6))]

    def drop_origins(self, share=1):
        """Removes this share of the origins. The others still hold blocks of copies."""
        for origins in self.origins:
            if self.dice.random() < share:
                origins.drop()


def random_groups(source, aside, seeds, whole=False, dropped=1):
    """Makes a group of random copies for each seed; returns the paths of each group."""
    groups = [RandomCopies(seed, whole) for seed in seeds]
    for group in groups:
        group.write_origins(aside)
    write_back(aside)
    paths = [group.assemble(source) for group in groups]
    for group in groups:
        group.drop_origins(dropped)
    write_back(aside)
    return paths

# SPDX-License-Identifier: MIT
"""Possible states of a disk after a power cut, made from the writes that rotating_disk recorded.

    cuts = PowerCuts(disk.image)      # the disk as it is now
    with disk.served():               # of a RotatingDisk(..., writes=record)
        ...                           # whatever writes to it
    cuts.load(record)
    for state in cuts.states(100, rng):
        state.write(image)            # to be mounted and examined

A disk keeps all writes before the last flush.  The disk keeps any part of the later writes. Each
later write is kept completely, in some sectors, or not at all.
"""
import os

from rotating import recorded_writes

BLOCK = 4096
SECTOR = 512
ZEROS = bytes(BLOCK)


def data_ranges(file, size):
    """(begin, end) of the data between holes."""
    at = 0
    while at < size:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:  # only a hole follows
            return
        end = os.lseek(file, at, os.SEEK_HOLE)
        yield at, end
        at = end


def read_blocks(path):
    """{number of a block: its bytes} for the blocks that are not zero."""
    blocks = {}
    file = os.open(path, os.O_RDONLY)
    try:
        for first, end in data_ranges(file, os.path.getsize(path)):
            for at in range(first // BLOCK * BLOCK, end, BLOCK):
                block = os.pread(file, BLOCK, at)
                if block != ZEROS:
                    blocks[at // BLOCK] = block
    finally:
        os.close(file)
    return blocks


def put(blocks, offset, data):
    """Repeats a write."""
    at = 0
    while at < len(data):
        number, inside = divmod(offset + at, BLOCK)
        part = data[at:at + BLOCK - inside]
        old = blocks.get(number, ZEROS)
        blocks[number] = old[:inside] + part + old[inside + len(part):]
        at += len(part)


def kept(write, rng):
    """The parts that the disk keeps of a write without a later flush, as writes."""
    offset, data = write
    fate = rng.random()
    if fate < 0.45:
        return [write]
    if fate < 0.9:
        return []
    return [(offset + at, data[at:at + SECTOR]) for at in range(0, len(data), SECTOR)
            if rng.random() < 0.5]


class State:
    """A possible state of the disk."""

    def __init__(self, size, durable, unsynced, position):
        self.size, self.durable, self.unsynced = size, durable, unsynced
        self.position = position  # how many of the recorded writes were made

    def write(self, path):
        blocks = self.durable
        if self.unsynced:
            blocks = dict(blocks)
            for offset, data in self.unsynced:
                put(blocks, offset, data)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.ftruncate(file, self.size)
            for number, block in blocks.items():
                os.pwrite(file, block, number * BLOCK)
        finally:
            os.close(file)


class PowerCuts:
    """The initial state of the disk, and the later writes."""

    def __init__(self, image):
        self.size = os.path.getsize(image)
        self.blocks = read_blocks(image)
        self.writes = []

    def load(self, record):
        self.writes = list(recorded_writes(record))

    def states(self, count, rng):
        """Random states of the disk; each is valid until the next one is requested."""
        return self.states_at(sorted(rng.sample(range(len(self.writes) + 1),
                                                min(count, len(self.writes) + 1))), rng)

    def states_at(self, positions, rng):
        """States after these numbers of writes, in ascending order."""
        durable, done, mark = dict(self.blocks), 0, 0
        for position in positions:
            for number in range(mark, position):
                if self.writes[number] is None:
                    mark = number + 1
            for write in self.writes[done:mark]:
                if write is not None:
                    put(durable, *write)
            done = max(done, mark)
            unsynced = [part for write in self.writes[mark:position] for part in kept(write, rng)]
            yield State(self.size, durable, unsynced, position)

# SPDX-License-Identifier: MIT
"""The unavoidable work: examining every name, and reading once what must be compared."""
import os
import stat
from collections import defaultdict

from bench.runs import Contender

PREFIX_BYTES = 4 * 1024  # a page: readahead makes larger reads of a cold file much larger
CHUNK_FILES = 256  # of one folder, for one thread at a time
COLD_THREADS = 16  # a disk wants many requests at once


class Tree:
    """The non-empty regular files of sources, by folder and by inode."""

    def __init__(self, sources):
        self.folders = []
        self.sizes = defaultdict(set)
        for source in sources:
            for path, folders, files in os.walk(os.fsencode(source)):
                folders[:] = [name for name in folders
                              if not os.path.ismount(os.path.join(path, name))]
                self.add(path, files)

    def add(self, path, files):
        found = []
        for name in files:
            try:
                info = os.lstat(os.path.join(path, name))
            except FileNotFoundError:
                continue
            if stat.S_ISREG(info.st_mode) and info.st_size:
                inode = (info.st_dev, info.st_ino)
                found.append((name, inode, info.st_size))
                self.sizes[info.st_size].add(inode)
        self.folders.append((path, found))

    def candidates(self):
        """Files of a size that other files have: (folder, [(name, inode, size)])."""
        for path, files in self.folders:
            yield path, [file for file in files if len(self.sizes[file[2]]) > 1]


def reading_list(tree, grouped=None):
    """The input of `floor read`: for each inode of a candidate the number of bytes to read.

    grouped  the inodes whose files are read completely; of others, the prefix is read. None: all
    """
    seen = set()
    for path, files in tree.candidates():
        records = []
        for name, inode, size in files:
            if inode not in seen:
                seen.add(inode)
                whole = grouped is None or inode in grouped
                records.append(b"F%d %s\0" % (size if whole else min(size, PREFIX_BYTES), name))
        for begin in range(0, len(records), CHUNK_FILES):
            yield b"D" + path + b"\0" + b"".join(records[begin:begin + CHUNK_FILES])


class Floor:
    """The measurements of the program floor."""

    def __init__(self, machine):
        self.machine = machine
        self.list = machine.folder / "to read"

    def threads(self, cold):
        return str(COLD_THREADS if cold else os.cpu_count())

    def walk(self, sources, cold=False):
        return Contender("floor: walk", [self.machine.tools / "floor", "walk", self.threads(cold),
                                         *sources])

    def scan(self, sources):
        """A walk that also verifies each file; for trees in which every size occurs again."""
        return Contender("floor: scan", [self.machine.tools / "floor", "scan",
                                         self.threads(cold=False), *sources])

    def name_bytes(self, sources):
        """The bytes of all names below the sources."""
        self.machine.run(self.walk(sources))
        return int(self.machine.out.read_bytes().split()[1])

    def read(self, tree, grouped, cold=False, kind="read"):
        self.list.write_bytes(b"".join(reading_list(tree, grouped)))
        return Contender(f"floor: {kind}", ["sh", "-c", '"$0" "$1" "$2" <"$3"',
                                            self.machine.tools / "floor", kind,
                                            self.threads(cold), self.list])

    def verify(self, tree, grouped, cold=False):
        """Reads as read() does, and checks that no program wrote to the files meanwhile."""
        return self.read(tree, grouped, cold, "verify")

    def warm_up(self, tree):
        """Reads all candidates into the page cache."""
        self.machine.run(self.read(tree, None))

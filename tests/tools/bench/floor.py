# SPDX-License-Identifier: MIT
"""The unavoidable work: examining every name, and reading once what must be compared."""
import os
import stat
from collections import defaultdict

from bench.runs import Contender

PREFIX_BYTES = 4 * 1024  # a page: readahead makes larger reads of a cold file much larger
CHUNK_FILES = 256  # of one folder, for one thread at a time
COLD_THREADS = 16  # a disk wants many requests at once
FEW_THREADS = (1, 2)


def counted(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


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


def to_read(tree, grouped=None):
    """For each folder (path, [(name, inode, number of bytes to read)]), each inode once.

    grouped  the inodes whose files are read completely; of others, the prefix is read. None: all
    """
    seen = set()
    for path, files in tree.candidates():
        found = []
        for name, inode, size in files:
            if inode not in seen:
                seen.add(inode)
                whole = grouped is None or inode in grouped
                found.append((name, inode, size if whole else min(size, PREFIX_BYTES)))
        yield path, found


def reading_list(tree, grouped=None):
    """The input of `floor read`."""
    for path, files in to_read(tree, grouped):
        records = [b"F%d %s\0" % (size, name) for name, _, size in files]
        for begin in range(0, len(records), CHUNK_FILES):
            yield b"D" + path + b"\0" + b"".join(records[begin:begin + CHUNK_FILES])


def inode_list(tree, grouped):
    """The input of `floor scan-some`."""
    for _, files in to_read(tree, grouped):
        for _, (device, inode), size in files:
            yield b"%d %d %d %d\n" % (os.major(device), os.minor(device), inode, size)


class Floor:
    """The measurements of the program floor. threads: the number of them; by default as many as
    suffice for a warm cache."""

    def __init__(self, machine):
        self.machine = machine
        self.list = machine.folder / "to read"
        self.inodes = machine.folder / "inodes to read"

    def contender(self, what, words, threads, stdin=None):
        """`what` with this number of threads. The name of the contender has the number if it is
        not the usual one of a cold or a warm cache."""
        usual = threads in (None, COLD_THREADS)
        name = f"floor: {what}" if usual else f"floor: {what}, {counted(threads)}"
        command = [self.machine.tools / "floor", words[0], str(threads or os.cpu_count()),
                   *words[1:]]
        if stdin:
            command = ["sh", "-c", 'list="$1"; shift; exec "$@" <"$list"', "sh", stdin, *command]
        return Contender(name, command)

    def walk(self, sources, threads=None):
        return self.contender("walk", ["walk", *sources], threads)

    def scan(self, sources):
        """A walk that also verifies each file; for trees in which every size occurs again."""
        return self.contender("scan", ["scan", *sources], None)

    def list_reads(self, tree, grouped=None):
        """Writes the lists for the programs below. They read the files of `grouped` inodes, by
        default all candidates, and the prefix of the other candidates."""
        self.list.write_bytes(b"".join(reading_list(tree, grouped)))
        self.inodes.write_bytes(b"".join(inode_list(tree, grouped)))

    def scan_some(self, sources):
        """A walk that also verifies what must be compared."""
        return self.contender("scan", ["scan-some", *sources], None, self.inodes)

    def read(self, threads=None):
        return self.contender("read", ["read"], threads, self.list)

    def verify(self, threads=None):
        """Reads as read() does, and checks that no program wrote to the files meanwhile."""
        return self.contender("verify", ["verify"], threads, self.list)

    def name_bytes(self, sources):
        """The bytes of all names below the sources."""
        self.machine.run(self.walk(sources))
        return int(self.machine.out.read_bytes().split()[1])

    def warm_up(self, tree):
        """Reads all candidates into the page cache."""
        self.list_reads(tree)
        self.machine.run(self.read())

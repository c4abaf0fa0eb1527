# SPDX-License-Identifier: MIT
"""A simulated rotating disk: rotating_disk.c below a loop device with ext4, and a log of its head.

    disk = RotatingDisk(folder, tool, size=2 << 30)
    disk.fill(build)            # build(root) writes the tree, at full speed
    with disk.served():         # disk.root is the tree now, on a slow disk
        disk.cold()
        with disk.watched() as work:
            ...                 # whatever reads it
        print(work.seeks, work.busy_s)

Needs root.  Other file systems are not affected: caches are emptied by a remount, not by
drop_caches, which would slow down all other processes.
"""
import contextlib
import os
import random
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

MOUNT_LIMIT = 60  # seconds: a guard against hanging, never a figure
WRITE_HEADER = struct.Struct("<QQQ")
WRITTEN = 1
PART = struct.Struct("<QQ")


@dataclass
class Request:
    """One request to the disk."""
    ended_us: int  # of the simulated time, which passes only while the disk is busy
    kind: str  # read, write, flush
    offset: int
    length: int
    sought: bool  # the head had to move


class Work:
    """The requests to the disk in a period."""

    def __init__(self):
        self.requests = []
        self.began_us = 0
        self.seconds = 0.0  # on the clock

    @property
    def reads(self):
        return [request for request in self.requests if request.kind == "read"]

    @property
    def seeks(self):
        return sum(request.sought for request in self.requests)

    @property
    def backward(self):
        """Number of reads for which the head had to move back."""
        reads = self.reads
        return sum(after.offset < before.offset for before, after in zip(reads, reads[1:]))

    @property
    def read_bytes(self):
        return sum(request.length for request in self.reads)

    @property
    def busy_s(self):
        """Simulated seconds in which the head moved or read."""
        return (self.requests[-1].ended_us - self.began_us) / 1e6 if self.requests else 0.0

    def __str__(self):
        return (f"{self.seconds:.2f} s, disk busy {self.busy_s:.2f} s, {self.seeks} seeks "
                f"({self.backward} backward), {self.read_bytes / 1e6:.0f} MB read")


def run(*command):
    subprocess.run([os.fspath(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def find_tool(program):
    """The rotating_disk of the build that a program belongs to, or None."""
    tool = Path(program).resolve().parents[1] / "tests/tools/rotating_disk"
    return tool if tool.exists() and os.path.exists("/dev/loop-control") else None


def recorded_writes(path):
    """(offset, bytes) of each write in the file of rotating_disk --writes; None for a flush. A copy
    of the file that was made during a write ends with a part of a record, which is left out."""
    with open(path, "rb") as file:
        while len(header := file.read(WRITE_HEADER.size)) == WRITE_HEADER.size:
            kind, offset, length = WRITE_HEADER.unpack(header)
            data = file.read(length) if kind == WRITTEN else b""
            if kind == WRITTEN and len(data) < length:
                return
            yield (offset, data) if kind == WRITTEN else None


MAKE_EXT4 = ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0")


class RotatingDisk:
    """An image with a file system in a folder that is on another, fast disk.

    options: those of rotating_disk.c, as in seek_ms=8
    rotating: the value of "rotational" in sysfs
    make: the command that makes the file system
    """

    def __init__(self, folder, tool, size, rotating=True, make=MAKE_EXT4, **options):
        self.folder, self.tool = Path(folder), os.fspath(tool)
        self.image, self.log = self.folder / "image", self.folder / "requests"
        self.served_at, self.root = self.folder / "served", self.folder / "disk"
        self.bad = self.folder / "bad"
        self.rotating, self.device, self.server = rotating, None, None
        self.options = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self.served_at.mkdir()
        self.root.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(size)
        run(*make, self.image)

    def fill(self, build):
        """Writes a tree to the disk at the speed of the underlying disk."""
        run("mount", "-o", "loop,noatime", self.image, self.root)
        try:
            return build(self.root)
        finally:
            run("umount", self.root)

    @contextlib.contextmanager
    def served(self):
        """Serves the disk, mounted at self.root, at the simulated speed."""
        with contextlib.ExitStack() as undo:
            self.server = subprocess.Popen([self.tool, *self.options, f"--log={self.log}",
                                            f"--bad={self.bad}", self.image, self.served_at],
                                           env=dict(os.environ))
            undo.callback(self.server.wait, MOUNT_LIMIT)
            undo.callback(subprocess.run, ["fusermount3", "-u", "-z", self.served_at], check=False)
            self._wait_for_server()
            self._attach(undo)
            self._mount()
            undo.callback(run, "umount", self.root)
            yield self

    def _wait_for_server(self):
        end = time.monotonic() + MOUNT_LIMIT
        while not (self.served_at / "disk").exists():
            if self.server.poll() is not None or time.monotonic() > end:
                raise RuntimeError("rotating_disk did not mount")
            time.sleep(0.01)

    def _attach(self, undo):
        found = subprocess.run(["losetup", "--find", "--show", "--direct-io=on",
                                self.served_at / "disk"], check=True, capture_output=True)
        self.device = found.stdout.decode().strip()
        undo.callback(run, "losetup", "-d", self.device)
        queue = Path("/sys/block", os.path.basename(self.device), "queue")
        (queue / "rotational").write_text("1" if self.rotating else "0")
        # the usual default; some newer kernels set more for rotating disks
        (queue / "read_ahead_kb").write_text("128")
        with contextlib.suppress(OSError):  # the default of disks; loop devices have none
            (queue / "scheduler").write_text("mq-deadline")

    def _mount(self):
        run("mount", "-o", "noatime", self.device, self.root)

    def cold(self):
        """Empties all caches of the file system."""
        run("umount", self.root)
        self.drop_folders()
        self._mount()

    def drop_folders(self):
        """Empties the cache of folders and inodes while the file system is in use."""
        run("blockdev", "--flushbufs", self.device)

    def spoil(self, *parts):
        """Makes exactly these parts (offset, length) unreadable.  Pages of these parts that the
        kernel has cached stay readable."""
        other = self.bad.with_suffix(".new")
        other.write_bytes(b"".join(PART.pack(*part) for part in parts))
        other.replace(self.bad)

    @contextlib.contextmanager
    def watched(self):
        """Yields the Work of the block. The Work is complete when the block ends."""
        work = Work()
        before = self._requests()
        began = time.monotonic()
        yield work
        work.seconds = time.monotonic() - began
        requests = self._requests()
        work.requests = requests[len(before):]
        work.began_us = before[-1].ended_us if before else 0

    def _requests(self):
        found = []
        for line in self.log.read_text().splitlines():
            ended, kind, offset, length, sought = line.split()
            found.append(Request(int(ended), kind, int(offset), int(length), sought == "seek"))
        return found


def aged_tree(root, files=3000, seed=1, sizes=(1 << 10, 16 << 20)):
    """A tree like one after years of use: files of these sizes, small ones more often, a third of
    them copies, some of one size but different, written in random order, many rewritten later."""
    rng = random.Random(seed)
    paths = [Path(root, f"{i % 12}", f"{i % 97}", f"file{i}") for i in range(files)]
    contents = [(number, _any_size(rng, *sizes)) for number in range(files * 2 // 3)]
    chosen = contents + rng.choices(contents, k=files - len(contents))
    rng.shuffle(chosen)
    written = list(zip(paths, chosen))
    rng.shuffle(written)
    rewritten = rng.sample(written, files // 3)
    for count, (path, (number, size)) in enumerate(written + rewritten):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(size))
        if count % 100 == 0:
            os.sync()  # files that are written together are adjacent


def _any_size(rng, least, most):
    size = min(int(rng.lognormvariate(11, 1.9)) + least, most)
    return size if rng.random() < 0.7 else max(size >> 14, 1) << 14


def measure(disk, commands, rounds=3, environment=None):
    """Runs each command cold, one after the other, rounds times: {name: [Work ...]}.

    commands: {name: words}
    """
    found = {name: [] for name in commands}
    for _ in range(rounds):
        for name, words in commands.items():
            disk.cold()
            with disk.watched() as work:
                subprocess.run(words, check=True, stdin=subprocess.DEVNULL, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found[name].append(work)
    return found

# SPDX-License-Identifier: MIT
"""Measures how fast a mounted view follows its source, and what this costs a writer.

latency    from close(2) of a new copy until its name is found in dups/: median and 99th percentile.
           A file is compared 100 ms after it was closed (the debounce time); the figures are
           without that time.
slow-down  one writer creates, rewrites and removes small files: alone, with a daemon that watches,
           and with a process that only reads the events of its folders, which shows the costs of
           inotify itself. Runs alternate, and medians are compared. The time of `sync`, and the
           memory and descriptors of the daemon before and after, are also printed.
"""
import ctypes
import os
import signal
import statistics
import time
from dataclasses import dataclass

from bench import agreement
from bench.runs import Failure, processor_time, progress
from bench.table import MIB
from bench.twinfs import View

DEBOUNCE_MS = 100  # DEBOUNCE_CLOSED_MS of src/view/follow/backoff.h
GIVE_UP_SECONDS = 60
FOLDER_FILES = 1000
BYTES = 4096
IN_CREATE_TO_MOVE_SELF = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800


class Reader:
    """A process that reads the events of folders and ignores them."""

    def __init__(self, folders):
        self.folders = folders
        self.process = None

    def __enter__(self):
        ready, begun = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            queue = libc.inotify_init1(0)
            for folder in self.folders:
                libc.inotify_add_watch(queue, os.fsencode(folder), IN_CREATE_TO_MOVE_SELF)
            os.close(begun)
            while os.read(queue, 1 << 20):
                time.sleep(0.02)
        os.close(begun)
        os.read(ready, 1)
        os.close(ready)
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def write(path, data, flags):
    handle = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(handle, data)
    os.close(handle)


def wait_for(path, begun):
    """Waits until the path exists; returns the milliseconds since `begun`."""
    while not os.path.lexists(path):
        if time.monotonic() - begun > GIVE_UP_SECONDS:
            raise Failure(f"{path} did not appear within {GIVE_UP_SECONDS} s")
        time.sleep(0.0005)
    return (time.monotonic() - begun) * 1000


def run(bench):
    bench.title("live: latency")
    measure_latency(bench)
    bench.title("live: one writer")
    measure_slow_down(bench)


def measure_latency(bench):
    source = bench.machine.fresh("source")
    data = write_equal_files(source)
    bench.twinfs.forget()
    with View(bench.twinfs, [source]) as view:
        [group] = (view.path / "dups").iterdir()
        found = latencies(source, group, data, bench.settings.copies)
    add_latencies(bench, f"{len(found)} copies", found)


def write_equal_files(source):
    """Writes the first two files of a group; returns their content."""
    data = os.urandom(BYTES)
    for name in ("first", "second"):
        write(source / name, data, os.O_CREAT)
    return data


def add_latencies(bench, of, found, limit=None):
    for target, value in (("latency-median", statistics.median(found)),
                          ("latency-p99", percentile_99(found))):
        bench.report.add(target, of, value, limit)


def latencies(source, group, data, count, prefix=""):
    """Writes copies one after the other; returns the milliseconds until each is in the group, where
    its name has this prefix."""
    found = []
    for number in range(count):
        write(source / f"copy-{number}", data, os.O_CREAT)
        found.append(wait_for(group / f"{prefix}copy-{number}", time.monotonic()) - DEBOUNCE_MS)
    return found


def percentile_99(found):
    return sorted(found)[min(len(found) - 1, len(found) * 99 // 100)]


def folders_of(root, count):
    return [root / f"{number:04}" for number in range((count - 1) // FOLDER_FILES + 1)]


@dataclass(frozen=True)
class Spent:
    """Seconds, and seconds of processor time."""
    wall: float
    cpu: float


def write_many(root, count, keep=False):
    """Creates, rewrites and removes this many files; returns what this took."""
    folders = folders_of(root, count)
    begun, used = time.monotonic(), time.process_time()
    paths = [os.path.join(folders[number // FOLDER_FILES], f"{number:06}")
             for number in range(count)]
    for number, path in enumerate(paths):
        write(path, b"%d" % (number // 2), os.O_CREAT | os.O_EXCL)
    for number, path in enumerate(paths):
        write(path, b"again %d" % (number // 3), os.O_TRUNC)
    for path in paths if not keep else []:
        os.unlink(path)
    return Spent(time.monotonic() - begun, time.process_time() - used)


class Writer:
    """A writer in a folder of its own: alone, watched by twinfs, and watched by a Reader."""

    def __init__(self, bench):
        self.bench, self.count = bench, bench.settings.writes
        self.source = bench.machine.fresh("source")
        for path in folders_of(self.source, self.count):
            path.mkdir()
        self.alone, self.watched, self.read, self.syncs, self.daemon = [], [], [], [], []

    def run(self, keep=False):
        return write_many(self.source, self.count, keep)

    def run_watched(self):
        """Runs the writer beside a daemon; returns the footprint of the daemon before and after."""
        with View(self.bench.twinfs, [self.source]) as view:
            before, used = view.footprint(), processor_time(view.pid)
            self.watched.append(self.run())
            begun = time.monotonic()
            view.sync()
            self.syncs.append(time.monotonic() - begun)
            self.daemon.append(processor_time(view.pid) - used)
            return before, view.footprint()

    def run_read(self):
        with Reader(folders_of(self.source, self.count)):
            self.read.append(self.run())

    def check(self):
        """Compares the view with the result of jdupes after the writer has ended."""
        with View(self.bench.twinfs, [self.source]) as view:
            self.run(keep=True)
            view.sync()
            pending = view.status()["pending"]
            if pending:
                raise Failure(f"live: {pending} files are pending after a sync")
            agreement.check(self.bench, "live", [self.source], since=time.time())


def measure_slow_down(bench):
    writer = Writer(bench)
    for number in range(bench.rounds):
        writer.alone.append(writer.run())
        footprints = writer.run_watched()
        writer.run_read()
        progress(f"live, round {number + 1}: {writer.alone[-1].wall:.2f} s alone, "
                 f"{writer.watched[-1].wall:.2f} s watched, {writer.read[-1].wall:.2f} s with a "
                 f"reader of events, sync {writer.syncs[-1]:.2f} s")
    writer.check()
    wall, cpu = ({name: statistics.median(getattr(one, what) for one in found)
                  for name, found in (("alone", writer.alone), ("watched", writer.watched),
                                      ("read", writer.read))} for what in ("wall", "cpu"))
    of = f"{writer.count} files"
    slower = {name: 100 * (wall[name] / wall["alone"] - 1) for name in wall}
    for name, value, unit in (
            ("writer alone", wall["alone"], "s"), ("writer alone, CPU", cpu["alone"], "s"),
            ("writer with a reader of events", slower["read"], "% slower"),
            ("writer that is watched, CPU", cpu["watched"], "s"),
            ("daemon beside the writer, CPU", statistics.median(writer.daemon), "s"),
            ("sync after the writer", statistics.median(writer.syncs), "s")):
        bench.report.figure(name, of, value, unit)
    for when, (resident, descriptors) in zip(("before", "after"), footprints):
        bench.report.figure(f"daemon {when} the writer", "resident", resident / MIB, "MiB")
        bench.report.figure(f"daemon {when} the writer", "descriptors", descriptors, "")
    bench.report.add("slow-down", of, slower["watched"],
                     distance=(100 + slower["watched"]) / (100 + slower["read"]),
                     floor="reader of events",
                     note=f"CPU {cpu['watched'] / cpu['alone']:.2f} x")

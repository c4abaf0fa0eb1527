# SPDX-License-Identifier: MIT
"""Measures how fast a mounted view follows its source while programs create files in it: one writer
of 10,000 files a second, and four that write as fast as they can (creator.c).

Meanwhile a copy of a known file is put into the source at intervals, whether or not the earlier
ones are in the view. The time from close(2) until its name is found in dups/ is measured as in the
mode live, without the debounce time. The same view is measured before, when no program writes.
"""
import contextlib
import os
import statistics
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field

from bench.modes.live import DEBOUNCE_MS, percentile_99, write, write_equal_files
from bench.runs import Failure, processor_time, progress
from bench.table import MIB
from bench.twinfs import View

LOADS = ((1, 10_000), (4, 0))  # writers, and files a second of each; 0: as fast as it can
FOLDERS_KEPT = 2000  # of 1,000 files, of all writers
INTERVAL = 0.1  # seconds between two copies
IDLE_SECONDS = 10
POLL_SECONDS = 0.0005
GIVE_UP_SECONDS = 300


@dataclass
class Copies:
    """Copies of a file in a folder of the source, and the milliseconds after which they were in the
    group."""
    folder: str
    group: str
    data: bytes
    view: View
    count: int = 0
    anon: int = 0  # the largest anonymous memory of the daemon, in samples
    found: list = field(default_factory=list)
    waiting: deque = field(default_factory=deque)

    def put(self):
        name = f"copy-{self.count}"
        self.count += 1
        write(self.folder / name, self.data, os.O_CREAT | os.O_EXCL)
        self.waiting.append((self.group / name, time.monotonic()))
        self.note_memory()

    def note_memory(self):
        self.anon = max(self.anon, self.view.memory("RssAnon"))

    def look(self):
        """Notes the copies that have appeared, up to the first that has not."""
        while self.waiting and os.path.lexists(self.waiting[0][0]):
            self.found.append((time.monotonic() - self.waiting.popleft()[1]) * 1000)

    def measure(self, seconds):
        """Puts copies in for a time; returns the times of those that have appeared by then."""
        self.found = []
        end = time.monotonic() + seconds
        due = time.monotonic()
        while time.monotonic() < end:
            if time.monotonic() >= due:
                self.put()
                due += INTERVAL
            self.look()
            time.sleep(POLL_SECONDS)
        return self.found

    def finish(self):
        """Waits for the copies that have not appeared yet."""
        end = time.monotonic() + GIVE_UP_SECONDS
        while self.waiting:
            if time.monotonic() > end:
                raise Failure(f"{self.waiting[0][0]} did not appear within {GIVE_UP_SECONDS} s")
            self.look()
            time.sleep(POLL_SECONDS)
        self.note_memory()
        return self.found


@dataclass
class Written:
    """What the writers did: files, and seconds of processor time."""
    files: int = 0
    seconds: float = 0
    cpu: float = 0

    def add(self, text):
        files, seconds, cpu = text.split()
        self.files += int(files)
        self.seconds = max(self.seconds, float(seconds))
        self.cpu += float(cpu)


@contextlib.contextmanager
def writers(bench, source, count, rate):
    """Runs writers in folders of their own during the block; yields what they did, after it."""
    written, running = Written(), []
    folders = [source / f"writer-{number}" for number in range(count)]
    with contextlib.ExitStack() as stack:
        for folder in folders:
            folder.mkdir()
            running.append(stack.enter_context(subprocess.Popen(
                [bench.settings.tools / "creator", folder, str(rate), str(FOLDERS_KEPT // count)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)))
        yield written
        for process in running:
            process.stdin.close()
        for process in running:
            written.add(process.stdout.read())
            if process.wait() != 0:
                raise Failure(f"creator: failed with status {process.returncode}")


def run(bench):
    for count, rate in LOADS:
        measure(bench, count, rate)


def measure(bench, count, rate):
    text = "one writer" if count == 1 else f"{count} writers"
    bench.title(f"load: {text}, {f'{rate} files/s' if rate else 'as fast as possible'}")
    source = bench.machine.fresh(f"source of {text}")
    data = write_equal_files(source)
    bench.twinfs.forget()
    with View(bench.twinfs, [source]) as view:
        [group] = (view.path / "dups").iterdir()
        copies = Copies(source, group, data, view)
        copies.measure(min(IDLE_SECONDS, bench.settings.seconds))
        idle = copies.finish()
        used = processor_time(view.pid)
        with writers(bench, source, count, rate) as written:
            copies.measure(bench.settings.seconds)
        ended = time.monotonic()
        found = copies.finish()
        view.sync()
        current = time.monotonic() - ended
        used = processor_time(view.pid) - used
        check(view, source)
        add_rows(bench, count, f"{len(found)} copies", found, idle,
                 f"{written.files / written.seconds:.0f} files/s")
        for name, value, unit in (
                ("files", written.files, ""),
                ("time of the writers", written.seconds, "s"),
                ("CPU of the writers", written.cpu, "s"),
                ("CPU of the daemon until current", used, "s"),
                ("current after the writers", current, "s"),
                ("queues of events overflowed", view.status()["overflows"], ""),
                ("peak of the daemon, resident", view.memory("VmHWM") / MIB, "MiB"),
                ("peak of the daemon, anonymous", copies.anon / MIB, "MiB")):
            bench.report.figure(name, f"beside {text}", value, unit)


def check(view, source):
    """Checks that the view has every file, after a sync."""
    status = view.status()
    files = sum(len(names) for _, _, names in os.walk(source))
    if status["pending"] or status["files"] != files:
        raise Failure(f"load: {status['pending']} files are pending after a sync, and the view has "
                      f"{status['files']} of {files} files")


def add_rows(bench, count, of, found, idle, speed):
    for what, figure in (("median", statistics.median), ("p99", percentile_99)):
        quiet = figure(idle) - DEBOUNCE_MS
        bench.report.add(f"load-{count}-{what}", of, figure(found) - DEBOUNCE_MS,
                         note=f"idle {quiet:.1f} ms; {speed}")
        progress(f"load, {count}: {what} {figure(found):.0f} ms with debounce")

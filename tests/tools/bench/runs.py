# SPDX-License-Identifier: MIT
"""Runs commands one at a time and in turn, and measures their costs."""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.table import Summary

# A peer that takes this many times as long as the fastest is measured once only.
SLOW = 5
DROP = Path("/proc/sys/vm/drop_caches")


@dataclass
class Measured:
    """The costs of one run in seconds and bytes."""
    wall: float
    cpu: float
    max_rss: int
    max_anon: int
    status: int
    killed: bool
    reads: float = 0  # mean number of reads that a disk had to do; 0: unknown


@dataclass
class Contender:
    """A command that is measured; `prepare` is called before each run and not measured. The
    processor time that the process of `server` uses during a run counts as its own."""
    name: str
    words: list
    prepare: Callable = lambda: None
    environment: dict = field(default_factory=dict)
    folder: Path = Path("/")
    statuses: tuple = (0,)
    is_peer: bool = False
    server: Callable = lambda: 0  # the process, or 0


class Machine:
    """Runs commands; `folder` has their files."""

    def __init__(self, tools, folder, limit_seconds):
        self.tools, self.folder, self.limit_seconds = tools, folder, limit_seconds
        self.out = folder / "out"
        self.error = folder / "error"

    def measure(self, contender, stdin=subprocess.DEVNULL, before=lambda: None, disk=None):
        """Measures one run, right after `before`. The output is in `out` and `error` until the next
        run. The reads of `disk`, a number of a device, are counted."""
        report = self.folder / "measured"
        limit = self.limit_seconds if contender.is_peer else math.inf
        report.unlink(missing_ok=True)
        contender.prepare()
        before()
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **contender.environment}
        served, waited = processor_time(contender.server()), reading_time(disk)
        with open(self.out, "wb") as out, open(self.error, "wb") as error:
            subprocess.run([self.tools / "measure", report, str(limit),
                            *contender.words], stdin=stdin, stdout=out, stderr=error,
                           env=environment, cwd=contender.folder, check=True)
        found = json.loads(report.read_bytes())
        waited = reading_time(disk) - waited
        served = processor_time(contender.server()) - served
        return Measured(found["wall"], found["user"] + found["system"] + served, found["max_rss"],
                        found["max_anon"], found["status"], found["killed"],
                        waited / found["wall"])

    def run(self, contender, stdin=subprocess.DEVNULL):
        """Measures one run that must succeed."""
        measured = self.measure(contender, stdin)
        if measured.killed or measured.status not in contender.statuses:
            said = self.error.read_bytes()[-400:].decode(errors="replace").strip()
            raise Failure(f"{contender.name}: {self.how(measured)} {said}")
        return measured

    def how(self, measured):
        """A text that describes how a run failed."""
        if measured.killed:
            return f"stopped after {self.limit_seconds} s"
        return f"failed with status {measured.status}"

    def fresh(self, name):
        """An empty folder of this name."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


class Failure(Exception):
    """A required operation of twinfs failed."""


def processor_time(pid):
    """The processor time of a process in seconds, in steps of 10 ms; 0 for pid 0."""
    if not pid:
        return 0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reading_time(device):
    """The seconds that all reads of a disk took, each counted from its request; 0 if unknown."""
    if device is None:
        return 0
    path = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    return int(path.read_text().split()[3]) / 1000 if path.exists() else 0


def drop_caches(what=3):
    """Empties the caches of the kernel: 1 is contents, 2 names and attributes, 3 both."""
    os.sync()
    DROP.write_text(f"{what}\n")


def can_drop_caches():
    return os.geteuid() == 0 and os.access(DROP, os.W_OK)


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Rounds:
    """Rounds in which the contenders run in turn, so that a disturbance affects all of them."""

    def __init__(self, machine, mode, data, before=lambda: None, disk=None):
        self.machine, self.mode, self.data, self.before = machine, mode, data, before
        self.disk = disk
        self.found = {}
        self.notes = {}

    def run(self, contenders, count, begin=lambda number: None):
        """Runs `count` rounds. Calls `begin`, which is not measured, with the number of each round
        before it."""
        left = list(contenders)
        for number in range(count):
            if not left:
                break
            begin(number)
            turn = number % len(left)
            for contender in left[turn:] + left[:turn]:
                self.run_one(contender)
            left = self.still_measured(left)
        return self.summaries()

    def run_one(self, contender):
        measured = self.machine.measure(contender, before=self.before, disk=self.disk)
        progress(f"{self.mode}, {self.data}: {contender.name} {measured.wall:.3f} s")
        self.found.setdefault(contender.name, []).append(measured)
        if measured.killed or measured.status not in contender.statuses:
            self.notes[contender.name] = self.machine.how(measured)

    def still_measured(self, contenders):
        """The contenders that did not fail, without very slow peers."""
        walls = {one.name: min(run.wall for run in self.found[one.name]) for one in contenders
                 if one.is_peer and one.name not in self.notes}
        fastest = min(walls.values(), default=0)
        for name, wall in walls.items():
            if wall > SLOW * fastest:
                self.notes[name] = "slow: run once"
        return [one for one in contenders if one.name not in self.notes]

    def summaries(self):
        return [Summary(self.mode, self.data, name, [run.wall for run in runs],
                        statistics.median(run.cpu for run in runs),
                        max(run.max_rss for run in runs), max(run.max_anon for run in runs),
                        self.notes.get(name, ""),
                        reads=statistics.median(run.reads for run in runs))
                for name, runs in self.found.items()]


def finished(summary):
    """Whether the runs of a contender finished, so that their times are valid."""
    return not summary.note or summary.note.startswith("slow")


def beside(summaries, name="twinfs", base="against"):
    """A text with the ratios of two programs; empty if the second was not measured."""
    for found in summaries:
        if found.name == base and finished(found):
            ours = named(summaries, name)
            return f"of {base}: {ours.wall / found.wall:.2f} x, CPU {ours.cpu / found.cpu:.2f} x"
    return ""


def noted(*texts):
    """A note of those texts that are not empty."""
    return "; ".join(text for text in texts if text)


def named(summaries, name):
    [found] = [one for one in summaries if one.name == name]
    if not finished(found):
        raise Failure(f"{found.mode}, {found.data}: {name} {found.note}")
    return found

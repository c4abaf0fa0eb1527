#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long life in a short time: storms, acts, remounts and kills over one source and one index.

After each step the oracle compares view and source, and the resources of the daemon are recorded:
memory, descriptors, threads, the size of the index.  These must not grow with time, except for the
index, which stays below some multiple of its contents.

usage: soak.py --binary PATH [--minutes 60] [--seconds 10] [--seed N] [--files 20000]
"""
import argparse
import contextlib
import itertools
import os
import random
import re
import statistics
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "functional"))

import storm  # noqa: E402
import trees  # noqa: E402
from program import Program, Session, take_own_mounts  # noqa: E402

DAEMON_CYCLES = 8  # of one daemon, so that growth is visible
ACTS = (["remove"], ["link"], ["link", "--symbolic"], ["dedupe"], ["move"])
MIB = 1 << 20


@dataclass
class Figures:
    """The resources of a daemon and its index."""
    anon_mib: float
    descriptors: int
    threads: int
    index_mib: float

    @classmethod
    def of(cls, view):
        folder = Path(f"/proc/{view.pid}")
        status = dict(re.findall(r"(\w+):\s+(\d+)", (folder / "status").read_text()))
        index = sum(path.stat().st_blocks * 512 for path in view.program.index.iterdir())
        return cls(int(status["RssAnon"]) / 1024, len(os.listdir(folder / "fd")),
                   int(status["Threads"]), index / MIB)

    def __str__(self):
        return (f"{self.anon_mib:.1f} MiB anonymous, {self.descriptors} descriptors, "
                f"{self.threads} threads, index {self.index_mib:.1f} MiB")


class Soak:
    """A source, its view, and the results so far."""

    def __init__(self, program, folder, seed, seconds):
        self.program, self.seed, self.seconds = program, seed, seconds
        self.source, self.moved = folder / "source", folder / "moved"
        for made in (self.source, self.moved):
            made.mkdir(exist_ok=True)
        self.rng = random.Random(seed)
        self.rounds = 0
        self.coming = self.turns()
        self.figures = []
        self.bad = []
        self.views = contextlib.ExitStack()
        self.view = None

    def fill(self, files):
        """Makes files that no storm touches, for an index of some size; a third are copies."""
        folder = self.source / "still"
        for number in range(files):
            path = folder / f"{number // 1000}" / f"{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"%d" % (number * 2 // 3))

    def mount(self):
        self.view = self.views.enter_context(self.program.mounted(self.source))

    def close(self):
        self.views.close()

    def storm(self, kind):
        outcome = storm.Outcome(f"{self.seed} {self.rounds} ({kind})")
        self.view = storm.run_over_view(self.program, self.source, self.view, self.views, outcome,
                                        kind, self.seconds)
        self.bad += [] if outcome.well else [str(outcome)]
        return f"{kind}: {outcome.changes} changes, {outcome.readings} readings"

    def act(self):
        """Acts on the source while it is mounted; every content must stay."""
        words = self.rng.choice(ACTS)
        to = [self.moved / f"{self.rounds}"] if words == ["move"] else []
        for folder in to:
            folder.mkdir()
        before = trees.every_content(self.source, self.moved)
        result = self.program(*words, "--yes", self.view.path, *to)
        lost = len(before - trees.every_content(self.source, self.moved))
        left = list(self.source.rglob(".twinfs~*"))
        if result.status not in (0, 3) or lost or left:
            self.bad.append(f"{words}: {lost} contents lost, left behind: {left}\n{result}")
        self.compare(words[0])
        return " ".join(words)

    def remount(self):
        self.views.close()
        self.mount()
        self.compare("remount")
        return "remount"

    def compare(self, what):
        differences = self.view.differences_now(self.source)
        self.bad += [f"{what}: {one}" for one in differences[:40]]

    def turns(self):
        """The endless sequence of steps."""
        for cycle in itertools.count():
            for kind in storm.KINDS:
                if kind != "killed" or cycle % DAEMON_CYCLES == 0:
                    yield partial(self.storm, kind)
            yield self.act
            if cycle % DAEMON_CYCLES == 0:
                yield self.remount
            yield self.act

    def step(self):
        """Makes the next step; returns a line about it."""
        said = next(self.coming)()
        self.rounds += 1
        self.figures.append(Figures.of(self.view))
        return f"{said}; {self.figures[-1]}; {len(self.bad)} wrong"

    def growth(self):
        """The median of each figure in the first third and in the last."""
        third = max(1, len(self.figures) // 3)
        for name in ("anon_mib", "descriptors", "threads", "index_mib"):
            first, last = (statistics.median(getattr(one, name) for one in part)
                           for part in (self.figures[:third], self.figures[-third:]))
            yield f"{name}: {first:.1f} at first, {last:.1f} at last"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", required=True, help="the twinfs to test")
    parser.add_argument("--minutes", type=float, default=60, help="duration of the run (60)")
    parser.add_argument("--seconds", type=float, default=10, help="duration of a storm (10)")
    parser.add_argument("--files", type=int, default=20_000,
                        help="files that no storm touches (20000)")
    parser.add_argument("--seed", type=int, help="seed of all random choices")
    settings = parser.parse_args(arguments)
    if not os.access(settings.binary, os.X_OK):
        parser.error(f"cannot run {settings.binary}; build it with scripts/run")
    return settings


def main(arguments):
    settings = parse(arguments)
    take_own_mounts()
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="twinfs-soak-")))
    (base / "sanitizer").mkdir()
    session = Session(os.path.realpath(settings.binary), str(base), uuid.uuid4().hex)
    seed = random.randrange(1 << 32) if settings.seed is None else settings.seed
    end = time.monotonic() + 60 * settings.minutes
    soak = Soak(Program(session, base), base, seed, settings.seconds)
    print(f"seed {seed}", flush=True)
    try:
        soak.fill(settings.files)
        with contextlib.closing(soak):
            soak.mount()
            while time.monotonic() < end and not soak.bad:
                print(soak.step(), flush=True)
            # printed before the unmount, which can also fail
            print("\n".join(soak.bad), flush=True)
        reports = session.sanitizer_reports()
    finally:
        session.clean_up()
        trees.remove(base)
    print("\n".join([*reports, *soak.growth()]))
    return 1 if soak.bad or reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

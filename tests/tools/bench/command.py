# SPDX-License-Identifier: MIT
"""Measures twinfs beside its peers and beside what the machine can do, and prints each figure with
the one it is to reach.

Data sets are made in --folder and used again the next time; programs run in turn, --rounds times,
and medians are compared. Peers are used where they are installed. Results of twinfs and jdupes are
compared: a difference, or a twinfs that fails, is exit status 1. Figures that are not reached are
not: they are printed. Run it on a machine that does nothing else.
"""
import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import data, peers
from bench.floor import Floor
from bench.modes import MODES
from bench.runs import Failure, Machine
from bench.table import Report
from bench.twinfs import Twinfs

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ("floor", "measure", "index_time.so")


class Bench:
    """What the modes work with."""

    def __init__(self, settings, folder):
        self.settings = settings
        self.rounds = settings.rounds
        self.machine = Machine(settings.tools, folder, settings.limit)
        self.twinfs = Twinfs(self.machine, settings.binary)
        self.floor = Floor(self.machine)
        self.library = data.Library(settings.folder, settings.scale)
        self.report = Report()
        self.peers, self.missing = peers.present(settings.peer)

    @staticmethod
    def title(text):
        print(f"\n{text}", flush=True)

    def data_sets(self):
        """(name, sources) of the data sets that are wanted."""
        for name in self.settings.set or ["real", *data.SETS]:
            yield name, [self.settings.real if name == "real" else self.library.set(name)]

    @staticmethod
    def file_system(path):
        """The kind of file system a path is on."""
        run = subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True,
                             text=True)
        return run.stdout.strip()

    @staticmethod
    def inode(path):
        """None when nothing is there any more."""
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            return None
        return info.st_dev, info.st_ino


def counts(text):
    found = sorted({int(word) for word in text.split(",")})
    if any(count < data.COPIED or count % data.COPIED for count in found):
        raise argparse.ArgumentTypeError(f"{text}: not multiples of {data.COPIED}")
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="*", metavar="MODE",
                        help="what to measure; all of it, where none is named: "
                        + "; ".join(f"{name}, {text}" for name, (_, text) in MODES.items()))
    add = parser.add_argument
    add("--binary", type=Path, default=ROOT / "build/src/twinfs",
        help="the twinfs to measure (build/src/twinfs)")
    add("--tools", type=Path, help="where floor, measure and index_time.so are (tests/tools/bench "
        "of the build folder of the binary)")
    add("--folder", type=Path, default=ROOT / "build/bench",
        help="where data sets are kept and the index is, on the disk that matters (build/bench)")
    add("--json", type=Path, metavar="FILE", help="write everything that was found as JSON")
    add("--rounds", type=int, default=3, help="runs of each program (3)")
    add("--limit", type=int, default=300, metavar="SECONDS",
        help="stop a peer that takes longer (300)")
    add("--peer", action="append", metavar="NAME",
        help=f"only this one, and others so named: {', '.join(peers.PEERS)}")
    add("--set", action="append", choices=["real", *data.SETS], help="only this data set, and "
        "others so named, in the modes warm and cold")
    add("--real", type=Path, default=Path("/usr"), help="the tree of the data set real (/usr)")
    add("--scale", type=float, default=1, help="size of the data sets that are made (1)")
    add("--files", type=counts, default=[400_000], metavar="N[,N...]",
        help="of the trees of mode scale, the first also of rescan; one of 5000000 takes 20 GB "
        "where blocks are of 4 KiB (400000)")
    add("--view-options", action="append", default=[], metavar="OPTIONS",
        help="mode view measures a mount with -o OPTIONS, too")
    add("--copies", type=int, default=1000, help="latencies that mode live takes (1000)")
    add("--writes", type=int, default=100_000, help="files of the writer of mode live (100000)")
    settings = parser.parse_args(arguments)
    for name in settings.mode:
        if name not in MODES:
            parser.error(f"no mode is named {name}: there are {', '.join(MODES)}")
    settings.tools = settings.tools or settings.binary.parents[1] / "tests/tools/bench"
    return settings


def about(settings, bench):
    return {
        "twinfs": str(settings.binary),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "file_system": bench.file_system(settings.folder),
        "modes": settings.mode,
        "scale": settings.scale,
        "rounds": settings.rounds,
        "peers": bench.peers,
        "missing": bench.missing,
    }


def check(settings):
    """What keeps the bench from working, or None."""
    for path in (settings.binary, *(settings.tools / name for name in TOOLS)):
        if not path.exists():
            return f"there is no {path}: build with -Dtests=true, or give --binary"
    if not settings.real.is_dir():
        return f"{settings.real} is no folder: give --real"
    return None


def run(settings, bench):
    """Everything that was asked for; returns the exit status."""
    failed = 0
    for name in settings.mode:
        try:
            MODES[name][0](bench)
        except (Failure, subprocess.CalledProcessError) as failure:
            print(f"bench: {name}: {failure}", file=sys.stderr)
            bench.report.notes.append(f"{name}: {failure}")
            failed = 1
        except KeyboardInterrupt:
            bench.report.note("interrupted")
            failed = 1
            break
    print(f"\n{os.cpu_count()} processors, Linux {platform.release()}")
    if bench.missing:
        print(f"not installed: {', '.join(bench.missing)}")
    print("\n".join(bench.report.lines()))
    if settings.json:
        bench.report.save(settings.json, about(settings, bench))
    if bench.report.differences:
        print(f"bench: twinfs and jdupes differ in {len(bench.report.differences)} groups; the "
              f"first: {bench.report.differences[0]}", file=sys.stderr)
        failed = 1
    return failed


def main(arguments):
    settings = parse(arguments)
    settings.mode = settings.mode or list(MODES)
    problem = check(settings)
    if problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    for name in ("binary", "tools", "folder", "real"):
        setattr(settings, name, getattr(settings, name).resolve())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # views are unmounted then, too
    settings.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="work-", dir=settings.folder))
    try:
        return run(settings, Bench(settings, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)

# SPDX-License-Identifier: MIT
"""Measures twinfs, its peers and the limits of the machine, and prints each figure with its target.

Data sets are made in --folder and reused in later runs. Programs run in turn, --rounds times, and
medians are compared. Installed peers are used. The results of twinfs and jdupes are compared. The
exit status is 1 if they differ or twinfs fails; a missed target is only printed. Run it on an
otherwise idle machine.
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
from bench.modes import MODES, fleet
from bench.runs import Failure, Machine
from bench.table import Report
from bench.twinfs import Twinfs

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ("creator", "floor", "many_files", "measure", "memory_file", "writer", "few_reads.so",
         "index_time.so")


class Bench:
    """The state that all modes share."""

    def __init__(self, settings, folder):
        self.settings = settings
        self.rounds = settings.rounds
        self.machine = Machine(settings.tools, folder, settings.limit)
        self.twinfs = Twinfs(self.machine, settings.binary)
        self.builds = [self.twinfs]
        if settings.against:
            self.builds.append(Twinfs(self.machine, settings.against, "against"))
        self.floor = Floor(self.machine)
        self.library = data.Library(settings.folder, settings.scale, settings.tools)
        self.report = Report()
        self.peers, self.missing = peers.present(settings.peer)

    @staticmethod
    def title(text):
        print(f"\n{text}", flush=True)

    def data_sets(self, names=data.NAMES):
        """(name, sources) of the selected ones of these data sets."""
        for name in filter(names.__contains__, self.settings.set or data.NAMES):
            yield name, self.library.sources(name, self.settings.real)

    @staticmethod
    def file_system(path):
        """The type of the file system of a path."""
        run = subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True,
                             text=True)
        return run.stdout.strip()

    @staticmethod
    def inode(path):
        """(device, inode) of a path, or None if it does not exist."""
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            return None
        return info.st_dev, info.st_ino


def counts(text):
    found = sorted({int(word) for word in text.split(",")})
    if any(count < data.CYCLE or count % data.CYCLE for count in found):
        raise argparse.ArgumentTypeError(f"{text}: not multiples of {data.CYCLE}")
    return found


def row_counts(text):
    found = sorted({int(word) for word in text.split(",")})
    if any(count < fleet.HOSTS or count % fleet.HOSTS for count in found):
        raise argparse.ArgumentTypeError(f"{text}: not multiples of {fleet.HOSTS}")
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="*", metavar="MODE",
                        help="what to measure; by default everything but budget: "
                        + "; ".join(f"{name}, {text}" for name, (_, text) in MODES.items()))
    add = parser.add_argument
    add("--binary", type=Path, default=ROOT / "build/src/twinfs",
        help="the twinfs to measure (build/src/twinfs)")
    add("--against", type=Path, metavar="BINARY",
        help="an older twinfs, which runs in turn with the other; not in the mode live")
    add("--tools", type=Path, help="where the programs of the bench are (tests/tools/bench of the "
        "build folder of the binary)")
    add("--folder", type=Path, default=ROOT / "build/bench",
        help="folder for data sets and the index, on the disk to measure (build/bench)")
    add("--json", type=Path, metavar="FILE", help="write all results as JSON")
    add("--rounds", type=int, default=5, help="runs of each program (5)")
    add("--limit", type=int, default=300, metavar="SECONDS",
        help="time limit of a peer (300)")
    add("--peer", action="append", metavar="NAME",
        help=f"only the peers given by this option: {', '.join(peers.PEERS)}")
    add("--set", action="append", choices=data.NAMES, help="only the data sets given by this "
        "option, in the modes warm, cold and folders")
    add("--real", type=Path, default=Path("/usr"),
        help="the tree of the data sets real and half-copied (/usr)")
    add("--scale", type=float, default=1, help="size of the generated data sets (1)")
    add("--files", type=counts, default=[400_000], metavar="N[,N...]",
        help="sizes of the trees of mode scale, the first also of rescan and day (400000); more "
        "than 1000000 files are on a file system made for them (root)")
    add("--fleet", type=row_counts, default=[500_000], metavar="N[,N...]",
        help="rows of mode fleet (500000); 50000000 need 10 GB of disk")
    add("--copies", type=int, default=1000,
        help="number of latencies of the modes live and scale (1000)")
    add("--writes", type=int, default=100_000, help="files of the writer of mode live (100000)")
    add("--seconds", type=int, default=60,
        help="how long the writers of mode load write (60)")
    add("--set-budget", action="store_true", help="write the counts of mode budget as new budgets")
    settings = parser.parse_args(arguments)
    for name in settings.mode:
        if name not in MODES:
            parser.error(f"unknown mode {name}: modes are {', '.join(MODES)}")
    settings.tools = settings.tools or settings.binary.parents[1] / "tests/tools/bench"
    return settings


def about(settings, bench):
    return {
        "twinfs": str(settings.binary),
        "against": str(settings.against or ""),
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
    """The reason why the bench cannot run, or None."""
    binaries = filter(None, (settings.binary, settings.against))
    for path in (*binaries, *(settings.tools / name for name in TOOLS)):
        if not path.exists():
            return f"cannot find {path}; build with -Dtests=true, or use --binary"
    if not settings.real.is_dir():
        return f"{settings.real} is not a folder; use --real"
    return None


def run(settings, bench):
    """Runs all selected modes; returns the exit status."""
    failed = 0
    for name in settings.mode:
        try:
            MODES[name][0](bench)
        except (Failure, OSError, subprocess.CalledProcessError) as failure:
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
    missed = sum(not row.met for row in bench.report.rows)
    print(f"{missed} of {len(bench.report.rows)} figures miss their targets")
    if settings.json:
        bench.report.save(settings.json, about(settings, bench))
    if bench.report.differences:
        print(f"bench: twinfs and jdupes differ in {len(bench.report.differences)} groups; the "
              f"first: {bench.report.differences[0]}", file=sys.stderr)
        failed = 1
    return failed


def main(arguments):
    settings = parse(arguments)
    settings.mode = settings.mode or [name for name in MODES if name != "budget"]
    problem = check(settings)
    if problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    for name in ("binary", "against", "tools", "folder", "real"):
        if getattr(settings, name):
            setattr(settings, name, getattr(settings, name).resolve())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that views are unmounted
    settings.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="work-", dir=settings.folder))
    try:
        return run(settings, Bench(settings, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)

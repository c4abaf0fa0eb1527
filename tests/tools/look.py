#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Opens folders in file managers on a virtual screen, measures the time until each is idle, and
takes screenshots.

  look.py --output DIR FOLDER...

The time is from the start until the program is idle, in seconds of the clock and of the processor.
Needs the packages of the tests of file managers, and import of ImageMagick.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "functional"))

from desktop import MANAGERS, Desktop  # noqa: E402
from program import Session  # noqa: E402

REST = 1.5  # seconds without work after which a window counts as complete
LIMIT = 120
TICKS = os.sysconf("SC_CLK_TCK")


def worked(pid):
    """Processor time of a process in seconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def wait_until_idle(pid):
    """Waits until a process is idle; returns the seconds of clock and processor until then."""
    begin = last = time.monotonic()
    before = 0.0
    while last > time.monotonic() - REST and time.monotonic() < begin + LIMIT:
        time.sleep(0.05)
        now = worked(pid)
        if now > before:
            last, before = time.monotonic(), now
    return last - begin, before


def look(manager, folder, picture):
    base = tempfile.mkdtemp(prefix="twinfs-look-")
    desk = Desktop(Session("", base, "look"), Path(base))
    desk.begin()
    try:
        with desk.opened(manager, folder) as window:
            times = wait_until_idle(window.process.pid)
            subprocess.run(["import", "-window", "root", picture], env=desk.environment,
                           check=True)
            return times
    finally:
        desk.end()
        shutil.rmtree(base)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--manager", action="append", choices=MANAGERS,
                        help="only this one; can be given several times")
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the started processes are ended
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.manager or MANAGERS:
        if not shutil.which(MANAGERS[name].program):
            print(f"{name}: not installed")
            continue
        for number, folder in enumerate(options.folders):
            picture = options.output / f"{name}-{number}.png"
            clock, processor = look(MANAGERS[name], folder.absolute(), picture)
            print(f"{name:9} {clock:6.2f} s {processor:6.2f} s of the processor  {picture}  "
                  f"{folder}", flush=True)


main()

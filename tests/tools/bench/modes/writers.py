# SPDX-License-Identifier: MIT
"""How often a scan holds up a program that opens files for writing, and for how long. The scan
reads each file under a lease, which such an open breaks."""
import os
import subprocess
from dataclasses import dataclass

from bench.runs import Failure, progress

SETS = ("small", "photos")


@dataclass
class Opens:
    """What the writer saw during the scans of one build."""
    opens: int = 0
    held_up: int = 0
    longest_us: int = 0

    def add(self, text):
        opens, held_up, longest_us = map(int, text.split())
        self.opens += opens
        self.held_up += held_up
        self.longest_us = max(self.longest_us, longest_us)

    def __str__(self):
        return f"{self.held_up} of {self.opens} opens, at most {self.longest_us / 1000:.1f} ms"


def run(bench):
    for data in SETS:
        bench.title(f"opens for writing during a first scan: {data}")
        source = bench.library.set(data)
        paths = write_list(bench, source)
        found = {twinfs.name: Opens() for twinfs in bench.builds}
        for _ in range(bench.rounds):
            for twinfs in bench.builds:
                found[twinfs.name].add(scan_beside_writer(bench, twinfs, source, paths))
        for name, opens in found.items():
            print(f"  {name}, {bench.rounds} scans: held up {opens}", flush=True)
            bench.report.figure("opens held up, a scan", f"{data}, {name}",
                                opens.held_up / bench.rounds, "")
        if "against" in found:
            ours, theirs = found["twinfs"], found["against"]
            # one more each, so that the ratio exists
            bench.report.add("held-up", data, (ours.held_up + 1) / (theirs.held_up + 1),
                             note=f"{ours}; against: {theirs}")


def write_list(bench, source):
    path = bench.machine.folder / "to open"
    path.write_bytes(b"\0".join(os.path.join(folder, name)
                                for folder, _, names in os.walk(os.fsencode(source))
                                for name in names) + b"\0")
    return path


def scan_beside_writer(bench, twinfs, source, paths):
    """Scans while the writer runs; returns what the writer printed."""
    with subprocess.Popen([bench.settings.tools / "writer", paths], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as writer:
        measured = bench.machine.run(twinfs.scan([source]))
        said = writer.communicate()[0]
    if writer.returncode != 0:
        raise Failure(f"writer: failed with status {writer.returncode}")
    progress(f"writers: {twinfs.name} {measured.wall:.3f} s: {said.strip()}")
    return said

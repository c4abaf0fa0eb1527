# SPDX-License-Identifier: MIT
"""Measures how time and memory of twinfs-fleet grow with the rows of simulated hosts."""
import re
import shutil
from pathlib import Path

from bench.runs import Contender, Failure
from bench.table import MIB

ROOT = Path(__file__).resolve().parents[4]
HOSTS = 200
MEMORY = "8G"  # of DuckDB, half of the 16 GiB of the target
STEPS = ("import", "import digests", "wanted", "plan", "report")


def run(bench):
    program, folder = ROOT / "scripts/twinfs-fleet", ROOT / "build/fleet"
    if not (folder / "twinfs-fleet.json").exists():
        bench.report.note(f"fleet: run 'scripts/twinfs-fleet setup --folder {folder}' first")
        return
    found = [measure(bench, program, folder, rows) for rows in bench.settings.fleet]
    small, *others = found
    for one in others:
        bench.report.add("fleet", f"{one['rows']} rows", one["time"] / small["time"],
                         note=f"to {small['rows']}; CPU {one['cpu'] / small['cpu']:.2f} x")


def check(report, rows):
    """Checks that the report has all rows, and that the digests decided all contents."""
    for name, number in (("files", f"{rows:,}"), ("undecided contents", "0")):
        if not re.search(rf"^{name} +{number}$", report, re.MULTILINE):
            raise Failure(f"fleet: the report of {rows} rows has not {number} {name}")


def measure(bench, program, folder, rows):
    """Measures all steps of a number of rows; returns the time of a row."""
    text = f"{rows} rows"
    bench.title(f"fleet: {text} of {HOSTS} hosts")
    work = bench.machine.fresh("fleet")
    sets = work / "sets"
    bench.machine.run(Contender("generator", [
        folder / "bin/python3", "-I", Path(__file__).parents[1] / "simulated_hosts.py", sets,
        str(HOSTS), str(rows // HOSTS)]))
    words = {
        "import": ["--output", work / "tables", *sorted(sets.glob("inventory-*"))],
        "import digests": ["--output", work / "digests", *sorted(sets.glob("digests-*"))],
        "wanted": ["--output", work / "wanted", work / "tables"],
        "plan": ["--keep-replicas", "2", "--protect", "host-0003:*/part-1?/*",
                 "--output", work / "plan", work / "tables", work / "digests"],
        "report": ["--output", work / "report", work / "tables", work / "digests"],
    }
    total = cpu = peak = 0
    for step in STEPS:
        measured = bench.machine.run(Contender(step, [
            program, step.split()[0], "--folder", folder, "--memory", MEMORY, *words[step]],
            environment={"TMPDIR": str(work)}))
        bench.report.figure(f"fleet, {step}", text, 1e6 * measured.wall / rows, "us a row")
        bench.report.figure(f"fleet, {step}, CPU", text, 1e6 * measured.cpu / rows, "us a row")
        bench.report.figure(f"fleet, {step}, memory", text, measured.max_rss / MIB, "MiB")
        total, cpu = total + measured.wall, cpu + measured.cpu
        peak = max(peak, measured.max_rss)
        if step.startswith("import"):  # the sets are not needed any more
            for path in words[step][2:]:
                shutil.rmtree(path)
    check((work / "report/report.txt").read_text(), rows)
    shutil.rmtree(work)
    bench.report.add("fleet-memory", text, peak / MIB)
    return {"rows": rows, "time": total / rows, "cpu": cpu / rows}

# SPDX-License-Identifier: MIT
"""scripts/bench works with tiny data and one run. No time is asserted. The tests need a TWINFS in a
build folder."""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT, until

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/tools"))

from bench.modes import budget  # noqa: E402
from bench.modes.day import HOURS, Day  # noqa: E402
from bench.modes.scale import Many, scale_trees  # noqa: E402
from bench.runs import beside  # noqa: E402
from bench.table import Report, Summary  # noqa: E402

BUILT = Path(os.environ["TWINFS"]).resolve().parents[1] / "tests/tools/bench"
TINY = ("--rounds", "1", "--scale", "0.0004", "--peer", "jdupes", "--files", "80,160",
        "--copies", "3", "--writes", "60")
ROWS = {"warm", "share", "rescan", "memory", "index", "day", "latency-median", "latency-p99",
        "slow-down", "find-warm", "tar", "rsync", "mount", "scale"}
READS = {"read-copy", "read-passthrough", "read-bindfs"}
ROWS_OF_ROOT = {"cold", "disk", "find-cold", "partial-left"}


class Bench:
    """The bench in a folder where every user can run it, with a small tree as its real data."""

    def __init__(self, program, folder):
        if not (BUILT / "measure").exists():
            pytest.skip("TWINFS is not in a folder where the tests are built")
        self.program, self.folder = program, folder
        self.project, self.real = folder / "project", folder / "real"
        self.binary = program.session.binary
        self.report = folder / "work/report"
        shutil.copytree(PROJECT / "tests/tools/bench", self.project / "tests/tools/bench")
        for name in ("rotating.py", "block_oracle.py"):
            shutil.copy(PROJECT / "tests/tools" / name, self.project / "tests/tools")
        (self.project / "scripts").mkdir()
        shutil.copy(PROJECT / "scripts/bench", self.project / "scripts")
        self.tools = self.project / "built"
        self.tools.mkdir()
        for name in ("floor", "many_files", "measure", "memory_file", "writer",
                     "index_time.so"):
            shutil.copy(BUILT / name, self.tools)
        shutil.copy(BUILT.parent / "rotating_disk", self.project)
        for name, data in ((b"a", b"same"), (b"new\nline \xff", b"same"), (b"c", b"other")):
            trees.write(trees.join(self.real, b"d", name), data)
        os.link(self.real / "d/a", self.real / "link")
        for path in (self.project, folder / "work"):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)

    def command(self, *words):
        return [*self.program.as_user(), sys.executable, self.project / "scripts/bench",
                "--binary", self.binary, "--tools", self.tools, "--folder", self.folder / "work",
                "--real", self.real, "--json", self.report, *TINY, *words]

    def __call__(self, *words, status=0, environment=None):
        """Runs the bench; returns the run and its JSON report."""
        run = subprocess.run(
            self.command(*words), check=False, capture_output=True, text=True, timeout=TIMEOUT,
            cwd="/", env={**self.program.environment, **(environment or {})})
        assert run.returncode == status, f"{run.stdout}\n{run.stderr}"
        return run, json.loads(self.report.read_bytes())


@pytest.fixture
def bench(twinfs, tmp_path):
    return Bench(twinfs, tmp_path)


def check_complete(run, found, rows):
    """Asserts that the report and the printed table have each row that can be measured here."""
    assert {row["target"] for row in found["rows"]} - READS == rows
    assert {row["target"] for row in found["rows"]} & {"read-copy", "read-passthrough"}
    for row in found["rows"]:
        assert math.isfinite(row["value"]) and isinstance(row["met"], bool), row
        assert any(line.startswith(row["row"]) and row["of"] in line
                   and ("met" in line or "missed" in line)
                   for line in run.stdout.splitlines()), row
    assert ("not measured: mode disk" in run.stdout) == ("disk" not in rows)
    for one in found["measurements"]:
        assert min(one["walls"]) > 0 and one["max_rss"] > 0, one
        assert one["note"] in ("", "slow: run once"), one
    names = {(one["mode"], one["data"], one["name"]) for one in found["measurements"]}
    for name in ("twinfs", "jdupes", "floor: walk", "floor: read", "floor: verify"):
        assert ("warm", "real", name) in names
    assert {("scale", "160 files", "twinfs"), ("scale", "160 files", "floor: scan"),
            ("1 % changed", "80 files", "twinfs"), ("tar", "uniques", "twinfs"),
            ("rsync second", "uniques", "native")} <= names
    assert found["differences"] == []
    assert run.stdout.count("twinfs and jdupes agree: ") == 6 + len(rows & {"cold", "disk"})


def test_every_mode_gives_its_rows(bench):
    rows = ROWS | ROWS_OF_ROOT if os.geteuid() == 0 else ROWS
    check_complete(*bench("--set", "real"), rows)
    assert [path.name for path in bench.folder.glob("work/work-*")] == []


def test_every_mode_but_cold_works_for_plain_users(as_user, fuse_for_users, tmp_path):
    run, found = Bench(as_user, tmp_path)("--set", "real")
    check_complete(run, found, ROWS)
    assert "cold: only root can empty the caches" in found["notes"]


def test_one_mode_alone_leaves_the_other_rows_out(bench):
    run, found = bench("scale")
    assert {row["target"] for row in found["rows"]} == {"memory", "index", "scale"}
    assert any(row["note"].startswith("to 80; floor ") for row in found["rows"])
    missed = sum(not row["met"] for row in found["rows"])
    assert f"\n{missed} of 5 figures miss their targets\n" in run.stdout
    assert "not measured: mode warm" in run.stdout


def test_older_twinfs_runs_beside_the_new_one(bench):
    run, found = bench("warm", "rescan", "scale", "day", "writers", "folders", "view", "--set",
                       "small", "--against", bench.binary)
    names = {(one["mode"], one["name"]) for one in found["measurements"]}
    assert {("warm", "against"), ("rescan", "against"), ("mount", "against mount"),
            ("scale", "against"), ("tar", "against")} <= names
    notes = {row["target"]: row["note"] for row in found["rows"]}
    assert "of against: " in notes["warm"] and "of against mount: " in notes["mount"]
    assert all(one["cpu"] > 0 for one in found["measurements"])
    assert "bytes against" in notes["index"] and "bytes against" in notes["day"]
    assert "MiB against" in notes["memory"] and "against " in notes["tar"]
    assert {row["of"] for row in found["rows"] if row["target"] == "held-up"} == {"small", "photos"}
    assert {"folders-scan", "folders-rescan", "folders-index"} <= set(notes)


def test_folders_are_listed_beside_rmlint(bench):
    """A program of its name stands for rmlint, which is possibly not installed."""
    rmlint = bench.folder / "bin/rmlint"
    rmlint.parent.mkdir()
    rmlint.write_text("#!/bin/sh\nexit 0\n")
    rmlint.chmod(0o755)
    run, found = bench("folders", "--peer", "rmlint", environment={
        "PATH": f"{rmlint.parent}:{os.environ['PATH']}"})
    assert {row["target"] for row in found["rows"]} == {"folders"}
    assert {one["name"] for one in found["measurements"]} == {"twinfs", "rmlint -D"}
    assert "folders: what they cost is measured with --against only" in found["notes"]


def test_writers_mode_alone_gives_figures_without_targets(bench):
    run, found = bench("writers")
    assert found["rows"] == [] and set(found["figures"]["opens held up, a scan"]) == {
        "small, twinfs", "photos, twinfs"}


def summary(name, wall, cpu, note=""):
    return Summary("mode", "data", name, [wall], cpu, 0, 0, note)


def test_row_has_limit_of_its_set_and_distance_to_the_floor():
    report = Report()
    report.add("warm", "same-size", 0.55, distance=2, floor="walk + verify")
    report.add("warm", "real", 0.55)
    report.add("mount", "real", 1.5)
    report.add("memory", "many", 100, 128)
    assert [row.met for row in report.rows] == [False, True, True, True]
    lines = "\n".join(report.lines())
    assert re.search(r"same-size +0\.55 x +<= 0\.5 x +missed +2\.00 x walk \+ verify\n", lines)
    assert re.search(r"real +1\.50 x +<= 1\.5 x +met +1\.50 x walk\n", lines)
    assert "not measured: mode live" in lines


def test_programs_are_compared_by_time_and_processor_time(capsys):
    found = [summary("twinfs", 1, 3), summary("against", 2, 4), summary("yadf", 4, 5)]
    Report().compare(found, found[2])
    assert found[0].ratio == 0.25 and found[0].cpu_ratio == 0.6
    assert beside(found) == "of against: 0.50 x, CPU 0.75 x"
    assert beside([found[0], summary("against", 2, 4, "failed with status 1")]) == ""


def test_trees_of_ten_million_files_are_mostly_empty_and_have_a_base_of_their_kind():
    assert scale_trees([400_000, 5_000_000]) == [Many(400_000), Many(5_000_000)]
    assert scale_trees([400_000, 20_000_000]) == [
        Many(400_000), Many(400_000, "mixed"), Many(20_000_000, "mixed")]
    assert Many(20_000_000, "mixed").groups == 1_250_000


def test_day_of_changes_is_the_same_each_time_and_keeps_the_number_of_files(tmp_path):
    found = []
    for name in ("first", "second"):
        root = tmp_path / name
        for number in range(50):
            trees.write(root / f"d/{number}", b"%d" % number)
        day = Day(root)
        for hour in range(HOURS):
            day.change(hour)
        found.append({path.relative_to(root): path.read_bytes()
                      for path in root.rglob("*") if path.is_file()})
        assert sorted(os.path.relpath(path, root) for path in day.paths) == sorted(
            map(str, found[-1]))
    assert found[0] == found[1] and len(found[0]) == 50


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/loop-control"),
                    reason="needs root and loop devices")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_file_system_for_many_files_is_gone_after_the_bench_ends(tmp_path, end):
    script = f"""if True:
        import signal, sys
        sys.path.insert(0, {str(PROJECT / "tests/tools")!r})
        from pathlib import Path
        from bench import disks
        with disks.of_small_files(Path({str(tmp_path)!r}), 1600) as root:
            for number in range(1600):
                (root / str(number)).write_bytes(b"x" * 1023)
            print("made", flush=True)
            signal.pause()"""

    def devices():
        return subprocess.run(["losetup", "--all"], check=True, capture_output=True).stdout
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout.readline() == b"made\n"
            assert os.fsencode(tmp_path) in devices()
            assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
            assert not (tmp_path / "disk.image").exists()
        finally:
            process.send_signal(end)
    assert until(lambda: os.fsencode(tmp_path) not in devices())


def test_data_sets_are_reused_unless_their_size_changes(bench):
    path = bench.folder / "work/small/000/000"

    def made():
        info = path.stat()
        return info.st_ino, info.st_ctime_ns
    bench("warm", "--set", "small")
    first, data = made(), path.read_bytes()
    bench("warm", "--set", "small")
    assert made() == first
    bench("warm", "--set", "small", "--scale", "0.001")
    assert made() != first and path.read_bytes() == data
    (bench.folder / "work/small.json").write_text("not finished")
    first = made()
    bench("warm", "--set", "small", "--scale", "0.001")
    assert made() != first


def test_rescan_mode_restores_the_files_that_it_changes(bench):
    bench("rescan")
    before = {path: path.read_bytes() for path in bench.folder.glob("work/many*/*/*")}
    bench("rescan")
    assert before and before == {path: path.read_bytes()
                                 for path in bench.folder.glob("work/many*/*/*")}


@pytest.mark.parametrize("odd, claim", [("$1 = list", "only jdupes reports as equal"),
                                        ("$1 = scan", "twinfs")])
def test_results_that_differ_are_an_error_that_names_a_file(bench, odd, claim):
    """A twinfs that overlooks a file, and one that fails."""
    lie = "set -- \"$@\" --exclude c" if "list" in odd else "exit 1"
    trees.write(bench.real / "d/again", b"other")
    bench.binary = bench.folder / "lies"
    trees.write(bench.binary, f'#!/bin/sh\nif test {odd}; then {lie}; fi\n'
                f'exec {bench.program.session.binary} "$@"\n'.encode(), mode=0o755)
    run, found = bench("warm", "--set", "real", status=1)
    assert claim in run.stderr
    if "list" in odd:
        assert str(bench.real / "d/again") in run.stderr and len(found["differences"]) == 1


def test_terminated_bench_unmounts_and_prints_its_results(bench):
    with subprocess.Popen(bench.command("scale", "live", "--copies", "1000000"), text=True,
                          env=bench.program.environment, stdout=subprocess.PIPE) as process:
        assert until(lambda: list(bench.folder.glob("work/work-*/source/copy-0")))
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=TIMEOUT)[0]
    assert process.returncode == 1 and "peak anonymous memory of a scan" in said
    assert "interrupted" in json.loads(bench.report.read_bytes())["notes"]
    assert not list(bench.folder.glob("work/work-*")) and not bench.program.session.mounts()


def test_count_over_its_budget_fails_and_one_below_asks_for_less():
    budgets = {"deep, list": 1000, "deep, mount": 1000, "deep, remove": 1000, "wide, list": 1000}
    found = {"deep, list": 1030, "deep, mount": 1050, "deep, remove": 950, "wide, mount": 7}
    assert list(budget.over(budgets, found)) == [
        ("deep, mount", "5.0 % over its budget"), ("wide, mount", "no budget")]
    assert list(budget.below(budgets, found)) == [
        ("deep, remove", "5.0 % below its budget: lower it")]


def test_budgets_are_those_of_the_trees_and_steps():
    stored = json.loads(budget.BUDGETS.read_text())["instructions"]
    assert {name.split(", ")[0] for name in stored} == set(budget.TREES)
    assert len(stored) == 6 * len(budget.TREES)


def test_fleet_mode_measures_each_step_of_simulated_hosts(bench):
    """With the real project, which has the engines of twinfs-fleet."""
    if not (PROJECT / "build/fleet/twinfs-fleet.json").exists():
        pytest.skip("the engines of twinfs-fleet are not in build/fleet")
    report = bench.folder / "fleet.json"
    subprocess.run([sys.executable, PROJECT / "scripts/bench", "fleet", "--binary", bench.binary,
                    "--tools", bench.tools, "--folder", bench.folder / "fleet", "--real",
                    bench.real, "--json", report, "--fleet", "4000"], check=True,
                   capture_output=True, timeout=TIMEOUT)
    found = json.loads(report.read_bytes())
    assert [(row["target"], row["of"]) for row in found["rows"]] == [
        ("fleet-memory", "4000 rows")]
    assert {f"fleet, {step}" for step in ("import", "import digests", "wanted", "plan", "report")
            } <= found["figures"].keys()
    assert os.listdir(bench.folder / "fleet") == []


def test_missing_peers_are_named(bench):
    tools = bench.folder / "tools"
    tools.mkdir()
    for name in ("cat", "env", "sh", "stat"):
        (tools / name).symlink_to(shutil.which(name))
    run, found = bench("warm", "--set", "real", environment={"PATH": str(tools)})
    assert "not installed: jdupes" in run.stdout and found["about"]["missing"] == ["jdupes"]
    assert "not measured: mode warm" in run.stdout  # no peer is installed
    assert any("jdupes is not installed" in note for note in found["notes"])


def test_wrong_arguments_are_refused_at_once(bench):
    for words in (("--binary", "/nowhere"), ("--real", "/nowhere"), ("sleep",),
                  ("--files", "7")):
        run = subprocess.run([sys.executable, PROJECT / "scripts/bench", "--tools", bench.tools,
                              "--binary", bench.binary, *words], check=False,
                             capture_output=True, text=True)
        assert run.returncode == 2 and words[-1].strip("-") in run.stderr

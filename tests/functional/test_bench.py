# SPDX-License-Identifier: MIT
"""scripts/bench works with tiny data and one run. No time is asserted. The tests need a TWINFS in a
build folder."""
import ctypes
import filecmp
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT, until

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/tools"))

from bench import data  # noqa: E402
from bench.command import TOOLS  # noqa: E402
from bench.floor import Floor, Tree  # noqa: E402
from bench.modes import budget, load  # noqa: E402
from bench.modes.day import HOURS, Day  # noqa: E402
from bench.modes.scale import Many, scale_trees  # noqa: E402
from bench.runs import Failure, Machine, beside  # noqa: E402
from bench.table import TARGETS, Report, Summary  # noqa: E402

BUILT = Path(os.environ["TWINFS"]).resolve().parents[1] / "tests/tools/bench"
TINY = ("--rounds", "1", "--scale", "0.0004", "--peer", "jdupes", "--files", "80,160",
        "--copies", "3", "--writes", "60", "--seconds", "1")
LOADS = {"load-1-median", "load-1-p99", "load-4-median", "load-4-p99"}
ROWS = {*LOADS, "warm", "warm-floor", "share", "rescan", "memory", "index", "day",
        "latency-median", "latency-p99", "slow-down", "find-warm", "tar", "rsync", "mount", "scale"}
READS = {"read-copy", "read-passthrough", "read-bindfs"}
ROWS_OF_ROOT = {"cold", "readers", "disk", "find-cold", "partial-left"}


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
        for name in TOOLS:
            shutil.copy(BUILT / name, self.tools)
        shutil.copy(BUILT.parent / "rotating_disk", self.project)
        for name, content in ((b"a", b"same"), (b"new\nline \xff", b"same"), (b"c", b"other")):
            trees.write(trees.join(self.real, b"d", name), content)
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
        assert row["unit"] != "x" or re.search(r"CPU \d", row["note"]), row
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
            ("rsync second", "uniques", "native"), ("warm", "real", "floor: scan")} <= names
    assert {"writer alone, CPU", "writer that is watched, CPU",
            "daemon beside the writer, CPU"} <= found["figures"].keys()
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
    assert {row["target"] for row in found["rows"]} == {
        "memory", "index", "scale", "mount", "latency-median", "latency-p99"}
    assert any(row["note"].startswith("to 80; CPU ") for row in found["rows"])
    assert {"time a file", "CPU a file"} <= found["figures"].keys()
    missed = sum(not row["met"] for row in found["rows"])
    watches = 2 if os.geteuid() == 0 else 1
    assert len(found["rows"]) == 7 + 4 * watches
    assert f"\n{missed} of {len(found['rows'])} figures miss their targets\n" in run.stdout
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
    assert {(row["target"], row["of"]) for row in found["rows"]} == {
        ("folders", name) for name in ("real", "half-copied", "small")}
    assert {one["name"] for one in found["measurements"]} == {"twinfs", "rmlint -D"}
    assert "folders: what they cost is measured with --against only" in found["notes"]


def test_writers_mode_alone_gives_figures_without_targets(bench):
    run, found = bench("writers")
    assert found["rows"] == [] and set(found["figures"]["opens held up, a scan"]) == {
        "small, twinfs", "photos, twinfs"}


def summary(name, wall, cpu, note=""):
    return Summary("mode", "data", name, [wall], cpu, 0, 0, note)


def test_row_has_its_limit_and_distance_to_the_floor():
    report = Report()
    report.add("warm", "same-size", 0.95, distance=2, floor="walk + verify")
    report.add("warm", "real", 0.85)
    report.add("mount", "real", 1.5)
    report.add("memory", "many", 100, 128)
    assert [row.met for row in report.rows] == [False, True, True, True]
    lines = "\n".join(report.lines())
    assert re.search(r"same-size +0\.95 x +<= 0\.9 x +missed +2\.00 x walk \+ verify\n", lines)
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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_cold_scans_also_run_with_one_and_two_readers(bench):
    run, found = bench("cold", "--set", "small", "--set", "snapshots")
    names = {one["name"] for one in found["measurements"] if one["data"] == "snapshots"}
    assert names >= {"twinfs", "twinfs, 1 reader", "twinfs, 2 readers", *(
        f"floor: {what}{threads}" for what in ("walk", "read", "verify")
        for threads in ("", ", 1 thread", ", 2 threads"))}
    rows = [row for row in found["rows"] if row["target"] == "readers"]
    assert [row["of"] for row in rows] == ["small", "snapshots"]
    assert all(re.match(r"CPU [\d.]+ x; with two readers [\d.]+ x; floor [\d.]+ x", row["note"])
               for row in rows)


def in_call(thread, number):
    """Whether a thread is inside the system call of this number."""
    text = Path(f"/proc/self/task/{thread.native_id}/syscall").read_text()
    return text.split()[0] == str(number)


def test_more_reads_than_permitted_wait(tmp_path, monkeypatch):
    """A read that cannot end, because a FIFO has no writer, holds up another one."""
    openat2, futex = 437, {"x86_64": 202, "aarch64": 98}.get(os.uname().machine)
    if not futex or not (BUILT / "few_reads.so").exists():
        pytest.skip("cannot see the system calls of a thread here")
    monkeypatch.setenv("READS_AT_ONCE", "1")
    library = ctypes.CDLL(str(BUILT / "few_reads.so"))
    os.mkfifo(tmp_path / "fifo")
    path, how, info = os.fsencode(tmp_path / "fifo"), bytes(24), ctypes.create_string_buffer(256)
    opened = []
    first = threading.Thread(target=lambda: opened.append(
        library.syscall(openat2, -100, path, how, ctypes.c_size_t(len(how)), 0, 0)))
    second = threading.Thread(target=lambda: library.statx(-100, path, 0, 0xfff, info))
    first.start()
    assert until(lambda: in_call(first, openat2))
    second.start()
    try:
        assert until(lambda: not second.is_alive() or in_call(second, futex))
        assert second.is_alive()
    finally:
        os.close(os.open(path, os.O_WRONLY))
        first.join()
        second.join()
    os.close(opened[0])


def test_floor_reads_what_must_be_compared_once(tmp_path, strace):
    """Of hard links one name, of a file that is not equal to another the prefix only."""
    root, work = tmp_path / "root", tmp_path / "work"
    work.mkdir()
    for name, content in (("a/equal", b"1" * 9000), ("b/equal", b"1" * 9000),
                          ("c/other", b"2" * 9000), ("d/single", b"3" * 5000)):
        trees.write(root / name, content)
    os.link(root / "a/equal", root / "c/link")
    floor = Floor(Machine(BUILT, work, 10))
    grouped = {(info.st_dev, info.st_ino) for info in
               (os.stat(root / name) for name in ("a/equal", "b/equal"))}
    floor.list_reads(Tree([root]), grouped)
    scan = floor.scan_some([root])
    # a file for each thread, as calls of several threads at a time would be split in one
    subprocess.run(["strace", "-ff", "-y", "-e", "trace=read", "-o", work / "trace", *scan.words],
                   check=True, stdout=subprocess.DEVNULL)
    text = "".join(path.read_text() for path in work.glob("trace.*"))
    read = Counter()
    for name, size in re.findall(rf"read\(\d+<{re.escape(str(root))}/([^>]+)>.* = (\d+)$",
                                 text, re.MULTILINE):
        read["a/equal" if name == "c/link" else name] += int(size)
    assert read == {"a/equal": 9000, "b/equal": 9000, "c/other": 4096}


def test_half_of_a_real_tree_is_copied_with_its_folders(tmp_path):
    real = tmp_path / "real"
    for number in range(8):
        trees.write(real / f"{number}/d/file", b"%d" % number)
        os.symlink("file", real / f"{number}/d/link")
    library = data.Library(tmp_path / "sets", 1, BUILT)
    first, copy = library.sources("half-copied", real)
    assert first == real
    assert sorted(os.listdir(copy)) == ["1", "3", "5", "7"]
    for name in os.listdir(copy):
        for kind in ("file", "link"):
            assert filecmp.cmp(real / name / "d" / kind, copy / name / "d" / kind, shallow=False)
        assert (copy / name / "d/link").is_symlink()
    made = os.stat(copy / "1").st_ctime_ns
    library.sources("half-copied", real)
    assert os.stat(copy / "1").st_ctime_ns == made
    trees.write(real / "1/d/file", b"changed")
    library.sources("half-copied", real)
    assert (copy / "1/d/file").read_bytes() == b"changed"
    small = data.Library(tmp_path / "small", 0.5, BUILT).sources("half-copied", real)[1]
    assert sorted(os.listdir(small)) == ["1", "5"]


def test_snapshots_are_trees_of_hard_links_in_which_few_files_change(tmp_path):
    names = 1200
    root = data.Library(tmp_path, names / 100_000, BUILT).set("snapshots")
    assert sorted(os.listdir(root)) == [f"{number:02}" for number in range(30)]
    inodes, contents = [], []
    for snapshot in sorted(root.iterdir()):
        paths = sorted(path for path in snapshot.rglob("*") if path.is_file())
        assert len(paths) == names
        inodes.append([path.stat().st_ino for path in paths])
        contents.append([path.read_bytes() for path in paths])
    new = changed = 0
    for before, after in zip(range(29), range(1, 30)):
        renewed = [number for number in range(names)
                   if inodes[before][number] != inodes[after][number]]
        assert len(renewed) == names // 100
        different = [number for number in range(names)
                     if contents[before][number] != contents[after][number]]
        assert set(different) <= set(renewed)
        new, changed = new + len(renewed), changed + len(different)
    assert 0.4 < changed / new < 0.6
    assert len(set(contents[0])) == names * 9 // 10


class StillView:
    """A view for the measurement of copies that uses no memory."""

    def __init__(self, **status):
        self.status = lambda: {"pending": 0, **status}

    @staticmethod
    def memory(_):
        return 0


def test_copies_are_put_in_whether_or_not_earlier_ones_have_appeared(tmp_path, monkeypatch):
    copies = load.Copies(tmp_path, tmp_path / "group", b"data", StillView())
    assert copies.measure(0.25) == [] and len(copies.waiting) == len(os.listdir(tmp_path)) > 1
    os.symlink(tmp_path, tmp_path / "group")
    assert len(copies.finish()) == copies.count and not copies.waiting
    assert max(copies.found) == copies.found[0]  # the first has waited longest
    copies.group = tmp_path / "none"
    copies.put()
    monkeypatch.setattr(load, "GIVE_UP_SECONDS", 0)
    with pytest.raises(Failure, match="did not appear"):
        copies.finish()


def test_view_that_lacks_a_file_after_the_load_is_an_error(tmp_path):
    trees.write(tmp_path / "d/a", b"a")
    load.check(StillView(files=1), tmp_path)
    with pytest.raises(Failure, match="has 0 of 1 files"):
        load.check(StillView(files=0), tmp_path)
    with pytest.raises(Failure, match="2 files are pending"):
        load.check(StillView(files=1, pending=2), tmp_path)


def create(folder, rate, kept, enough):
    """Runs creator until there are enough files; returns (files, seconds) as it says."""
    folder.mkdir()
    with subprocess.Popen([BUILT / "creator", folder, str(rate), str(kept)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert until(lambda: enough(folder))
        files, seconds, _ = process.communicate()[0].split()
    assert process.returncode == 0
    return int(files), float(seconds)


def test_creator_makes_different_files_at_its_rate(tmp_path):
    files, seconds = create(tmp_path / "slow", 200, 10, lambda folder: any(folder.glob("*/030")))
    made = [path.read_bytes() for path in tmp_path.glob("slow/*/*")]
    assert files == len(made) == len(set(made)) <= 200 * seconds + 10


def test_creator_removes_its_oldest_folder(tmp_path):
    files, _ = create(tmp_path / "fast", 0, 2, lambda folder: (folder / "000003").exists())
    last = (files - 1) // 1000
    made = [path.read_bytes() for path in tmp_path.glob("fast/*/*")]
    assert len(set(made)) == len(made) > 1000
    assert sorted(os.listdir(tmp_path / "fast")) == [f"{last - 1:06}", f"{last:06}"]


def test_load_gives_latencies_and_the_costs_of_the_daemon(bench):
    run, found = bench("load")
    assert {row["target"] for row in found["rows"]} == LOADS
    assert all(re.search(r"idle -?[\d.]+ ms; \d+ files/s", row["note"]) for row in found["rows"])
    figures = {name: {of: one["value"] for of, one in of.items()}
               for name, of in found["figures"].items()}
    assert {frozenset(of) for of in figures.values()} == {
        frozenset({"beside one writer", "beside 4 writers"})}
    for name in ("files", "CPU of the writers", "CPU of the daemon until current",
                 "current after the writers", "peak of the daemon, resident",
                 "peak of the daemon, anonymous"):
        assert min(figures[name].values()) > 0, name
    assert "queues of events overflowed" in figures


def test_page_has_the_targets_of_first_scans_and_of_views():
    text = (PROJECT / "BENCHMARKS.md").read_text()
    lines = re.findall(r"^\| ([^|]+) \| `(\w+)` \| (<= [^|]+) \|$", text, re.MULTILINE)
    assert set(lines) == {(target.row, target.mode, f"<= {target.limit:g} {target.unit}")
                          for target in TARGETS.values()}


def test_data_sets_are_reused_unless_their_size_changes(bench):
    path = bench.folder / "work/small/000/000"

    def made():
        info = path.stat()
        return info.st_ino, info.st_ctime_ns
    bench("warm", "--set", "small")
    first, content = made(), path.read_bytes()
    bench("warm", "--set", "small")
    assert made() == first
    bench("warm", "--set", "small", "--scale", "0.001")
    assert made() != first and path.read_bytes() == content
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

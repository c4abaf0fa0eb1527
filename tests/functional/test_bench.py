# SPDX-License-Identifier: MIT
"""scripts/bench works with tiny data and one run. No time is asserted. The tests need a TWINFS in a
build folder."""
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trees
from program import TIMEOUT, until

PROJECT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ["TWINFS"]).resolve().parents[1] / "tests/tools/bench"
TINY = ("--rounds", "1", "--scale", "0.0004", "--peer", "jdupes", "--files", "80,160",
        "--copies", "3", "--writes", "60")
ROWS = {"warm", "share", "rescan", "memory", "index", "latency-median", "latency-p99", "slow-down",
        "find-warm", "rsync", "mount", "scale"}
ROWS_OF_ROOT = {"cold", "disk", "find-cold"}


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
        shutil.copy(PROJECT / "tests/tools/rotating.py", self.project / "tests/tools")
        (self.project / "scripts").mkdir()
        shutil.copy(PROJECT / "scripts/bench", self.project / "scripts")
        self.tools = self.project / "built"
        self.tools.mkdir()
        for name in ("floor", "measure", "index_time.so"):
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
    assert {row["target"] for row in found["rows"]} - {"read-copy", "read-passthrough"} == rows
    assert {row["target"] for row in found["rows"]} & {"read-copy", "read-passthrough"}
    for row in found["rows"]:
        assert math.isfinite(row["value"]) and isinstance(row["holds"], bool), row
        assert any(line.startswith(row["row"]) and row["of"] in line and "hold" in line
                   for line in run.stdout.splitlines()), row
    assert ("not measured: mode disk" in run.stdout) == ("disk" not in rows)
    for one in found["measurements"]:
        assert min(one["walls"]) > 0 and one["max_rss"] > 0, one
        assert one["note"] in ("", "slow: run once"), one
    names = {(one["mode"], one["data"], one["name"]) for one in found["measurements"]}
    for name in ("twinfs", "jdupes", "floor: walk", "floor: read", "floor: verify"):
        assert ("warm", "real", name) in names
    assert {("scale", "160 files", "twinfs"), ("1 % changed", "80 files", "twinfs"),
            ("rsync second", "uniques", "native"), ("tar", "uniques", "twinfs")} <= names
    assert found["differences"] == []
    assert run.stdout.count("twinfs and jdupes agree: ") == 5 + len(rows & {"cold", "disk"})


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
    assert "not measured: mode warm" in run.stdout


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

# SPDX-License-Identifier: MIT
"""twinfs-fleet with Apache Spark in several processes: its tables and lists of wanted files are
those of DuckDB and of the oracle, and so are plans. Each test starts Spark once, as this takes the
most time."""
import os
import threading
from pathlib import Path

import fleet_hosts
import fleet_oracle
import fleet_plan
import fleet_sets
import fleet_tool
import pytest
import trees
from fleet_tool import Tool
from processes import TIMEOUT, until

# Two workers, each with a process of its own, with one processor and 1 GiB.
CLUSTER = "--master=local-cluster[2,1,1024]"
EXECUTOR = b"CoarseGrainedExecutorBackend"
# The programs of tests are short: better machine code would not pay, nor would code of Java that
# Spark writes and compiles for each question.
QUICK = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
SETTINGS = "spark.sql.codegen.wholeStage false\nspark.sql.codegen.factoryMode NO_CODEGEN\n"


def processes_below(parent):
    """{pid: command line} of the processes that a process started, and of those below them."""
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1])
            lines[int(folder.name)] = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
    found, last = {parent}, set()
    while found != last:
        last = set(found)
        found |= {pid for pid, above in parents.items() if above in found}
    return {pid: lines[pid] for pid in found - {parent} if pid in lines}


class Watch:
    """A run of Spark: what it printed, and which processes it had."""

    def __init__(self, tool, *words):
        settings = tool.scratch.with_name("spark settings")
        trees.write(settings / "spark-defaults.conf", SETTINGS.encode())
        process = fleet_tool.start(tool, *words,
                                   environment=QUICK | {"SPARK_CONF_DIR": os.fspath(settings)})
        self.processes, self.ended = {}, threading.Event()
        watcher = threading.Thread(target=self._watch, args=(process.pid,))
        watcher.start()
        try:
            self.out, self.error = process.communicate(timeout=3 * TIMEOUT)
        finally:
            self.ended.set()
            watcher.join()
            process.kill()
        self.status = process.returncode

    def _watch(self, parent):
        while not self.ended.wait(0.5):
            # a process that has ended and is not waited for has an empty command line
            self.processes |= {pid: line for pid, line in processes_below(parent).items() if line}

    def executors(self):
        return [pid for pid, line in self.processes.items() if EXECUTOR in line]


@pytest.fixture(scope="module")
def case(scratch):
    """A fleet of which half of the wanted files were digested, so that each table has rows."""
    made = fleet_hosts.Fleet(scratch / "hosts", 11, 5)
    fleet = fleet_oracle.Fleet(made.hosts)
    wanted = sorted((file.host, file.inode) for file in fleet.all_files()
                     if fleet.has_shared_size(file))
    sets = fleet_tool.write_sets(scratch, fleet, made.hosts, set(wanted[::2]))
    return Tool(scratch), fleet, made.hosts, sets


def check_run(tool, run):
    assert run.status == 0, run.error.decode()
    assert all(line.startswith(b"twinfs-fleet: warning: ") for line in run.error.splitlines())
    assert until(lambda: not [pid for pid in run.processes if Path(f"/proc/{pid}").exists()])
    assert os.listdir(tool.scratch) == []


def test_report_of_several_processes_is_that_of_duckdb_and_of_the_oracle(case, tmp_path):
    """The inputs are sets and imported tables, with a name that is a pattern elsewhere."""
    tool, fleet, hosts, sets = case
    tables = tmp_path / "tables [1-9]{a,b}*"
    tool("import", "--output", tables, *sets[:4])
    run = Watch(tool, "report", "--format=json", "--engine=spark", CLUSTER, "--threads=1",
                tables, *sets[4:])
    check_run(tool, run)
    assert len(run.executors()) == 2
    report = tool.report(*sets)
    assert all(rows for name, rows in report.items())
    assert run.out == tool("report", "--format=json", *sets).stdout
    assert fleet_tool.differences(report, fleet, hosts) == {}


def test_wanted_lists_of_spark_are_those_of_duckdb(case, tmp_path):
    tool, fleet, hosts, sets = case
    run = Watch(tool, "wanted", "--engine=spark", "--threads=1", "--output", tmp_path / "spark",
                *sets)
    check_run(tool, run)
    tool("wanted", "--output", tmp_path / "duckdb", *sets)
    for host in hosts:
        found, other = (fleet_sets.read_wanted(tmp_path / engine / f"{host.name}.jsonl")
                        for engine in ("spark", "duckdb"))
        assert found.rows == other.rows and found.sources == other.sources
    assert any(fleet.wanted(host.name) for host in hosts)


def test_plan_of_spark_is_that_of_duckdb_and_of_the_oracle(case, tmp_path):
    tool, fleet, hosts, sets = case
    patterns = (b"*/back\\slash/*", b"*/%2?/*", b"*/copies/1??/*", b"*\xff\n/copies/*")
    names = sorted(host.name for host in hosts)
    wishes = fleet_plan.Wishes(2, names[-1:], [(name, glob) for name in names[1:]
                                               for glob in patterns])
    run = Watch(tool, "plan", "--engine=spark", "--threads=1", "--output", tmp_path / "spark",
                *wishes.words, *sets)
    check_run(tool, run)
    tool("plan", "--output", tmp_path / "duckdb", *wishes.words, *sets)
    found, other = (fleet_plan.read_plan(tmp_path / engine) for engine in ("spark", "duckdb"))
    expected = fleet_plan.expected(fleet, hosts, wishes)
    assert found.differences(expected) == other.differences(expected) == []
    unprotected = fleet_plan.expected(fleet, hosts, fleet_plan.Wishes(2, names[-1:]))
    assert len(unprotected.removable) > len(expected.removable) > 0
    for path in (tmp_path / "spark").iterdir():
        lines = path.read_bytes().splitlines()
        assert (tmp_path / "duckdb" / path.name).read_bytes().splitlines()[1:] == lines[1:]


@pytest.mark.parametrize(("master", "inventory", "cause"), [
    ("local-wrong", None, "Could not parse Master URL"),
    ("local", "hdfs://127.0.0.1:9/tables", "Connection refused"),
], ids=["wrong master", "no server"])
def test_failure_is_one_line_with_its_cause(case, tmp_path, master, inventory, cause):
    """Port 9 is that of the service discard, which nobody runs."""
    tool, _, _, sets = case
    run = Watch(tool, "report", "--engine=spark", "--master", master, "--output", tmp_path / "out",
                inventory or sets[0])
    assert run.status == 1
    [line] = run.error.decode().splitlines()
    assert line.startswith("twinfs-fleet: error: ") and cause in line
    assert os.listdir(tmp_path) == os.listdir(tool.scratch) == []

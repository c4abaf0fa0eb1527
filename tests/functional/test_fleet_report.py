# SPDX-License-Identifier: MIT
"""twinfs-fleet with DuckDB: its tables and lists of wanted files are those of the oracle, in each
format, from inventories and from tables that it imported."""
import csv
import json
import os
import random
import shutil
import subprocess

import fleet_compare
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_tool
import fleet_writer
import pages
import pytest
from fleet_tool import FOLDER, TOP, Tool

SEEDS = range(int(os.environ.get("TWINFS_TEST_SEEDS", "2")))
STATES = ("no digests", "some digests", "all digests")


class Case:
    """A generated fleet with its sets in one state."""

    def __init__(self, folder, seed, state):
        self.made = fleet_hosts.Fleet(folder / "hosts", seed)
        self.hosts = self.made.hosts
        self.fleet = fleet_oracle.Fleet(self.hosts)
        self.tool = Tool(folder)
        self.folder = folder
        read = {"no digests": set(), "all digests": None}.get(state, self.some(seed))
        self.sets = fleet_tool.write_sets(folder, self.fleet, self.hosts, read)

    def some(self, seed):
        """Some of the wanted files, in a list so that the choice is repeated."""
        wanted = [(file.host, file.inode) for file in self.fleet.all_files()
                  if self.fleet.has_shared_size(file)]
        return set(random.Random(seed).sample(wanted, len(wanted) // 2))


@pytest.fixture(scope="module", params=[(seed, state) for seed in SEEDS for state in STATES],
                ids=lambda param: f"{param[0]}-{param[1].replace(' ', '-')}")
def case(request, scratch):
    folder = scratch / f"{request.param[0]} {request.param[1]}"
    folder.mkdir()
    return Case(folder, *request.param)


@pytest.fixture(scope="module")
def partly(scratch):
    folder = scratch / "partly 'x' *"
    folder.mkdir()
    return Case(folder, 7, "some digests")


def test_report_has_the_tables_of_the_oracle(case):
    report = case.tool.report(*case.sets)
    assert fleet_tool.differences(report, case.fleet, case.hosts) == {}
    fleet_tool.check_largest(case.fleet, report)


def test_wanted_lists_have_the_files_of_the_oracle(case):
    output = case.folder / "wanted"
    case.tool("wanted", "--output", output, *case.sets)
    assert sorted(os.listdir(output)) == sorted(f"{host.name}.jsonl" for host in case.hosts)
    for host in case.hosts:
        found = fleet_sets.read_wanted(output / f"{host.name}.jsonl")
        inventory = fleet_sets.read_set(case.folder / "inventory" / host.name,
                                        fleet_sets.INVENTORY)
        assert fleet_compare.compare_files(found, host, case.fleet.wanted(host.name)) == []
        assert fleet_compare.compare_with_inventory(found, inventory) == []


def test_imported_tables_give_the_same_report_and_lists(partly):
    """Also if inventories and digests are imported apart, and imported once more."""
    tables, digests, again = (partly.folder / name for name in ("tables", "digests'", "again"))
    partly.tool("import", "--output", tables, *partly.sets[::2])
    partly.tool("import", "--output", digests, *partly.sets[1::2])
    partly.tool("import", "--output", again, tables, digests)
    wanted = partly.tool.report(*partly.sets)
    for words in ((tables, digests), (again,), (tables, *partly.sets[1::2])):
        assert partly.tool.report(*words) == wanted
    partly.tool("wanted", "--output", partly.folder / "of sets", *partly.sets)
    partly.tool("wanted", "--output", partly.folder / "of tables", again)
    for path in (partly.folder / "of sets").iterdir():
        found = fleet_sets.read_wanted(path)
        assert fleet_sets.read_wanted(partly.folder / "of tables" / path.name).rows == found.rows


def test_output_of_an_earlier_run_is_replaced_and_other_files_are_not(partly):
    output = partly.folder / "output"
    for _ in range(2):
        partly.tool("import", "--output", output, *partly.sets)
    assert output.stat().st_mode & 0o777 == 0o700
    before = sorted(output.rglob("*"))
    for command in ("wanted", "report"):
        run = partly.tool(command, "--output", output, *partly.sets, status=1)
        assert b"it has other files" in run.stderr
    assert sorted(output.rglob("*")) == before


def test_formats_have_the_same_rows(partly):
    report = partly.tool.report(*partly.sets)
    for kind in ("csv", "parquet"):
        output = partly.folder / kind
        partly.tool("report", f"--format={kind}", "--output", output, *partly.sets)
        tables = {path.stem: read_table(path) for path in output.iterdir()}
        assert tables.pop("totals") == [as_text(report["totals"])]
        assert tables == {name: [as_text(row) for row in report[name]] for name in tables}
        assert {"totals", *tables} == report.keys() - {"format", "schema", "version"}
    partly.tool("report", "--format=json", "--output", partly.folder / "json", *partly.sets)
    assert json.loads((partly.folder / "json/report.json").read_bytes()) == report


def as_text(row):
    """A row with texts only; a member without a value is left out."""
    return {name: str(value) for name, value in row.items() if value is not None}


def read_table(path):
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return [{name: value for name, value in row.items() if value}
                    for row in csv.DictReader(file)]
    script = ("import json, sys, pyarrow.parquet as p\n"
              "json.dump(p.read_table(sys.argv[1]).to_pylist(), sys.stdout, default=int)")
    run = subprocess.run([FOLDER / "bin/python3", "-I", "-c", script, path], check=True,
                         capture_output=True)
    return [as_text(row) for row in json.loads(run.stdout)]


def test_page_is_strict_and_names_each_file_exactly(partly):
    report = partly.tool.report(*partly.sets)
    page = partly.tool("report", "--format=html", *partly.sets).stdout
    root = pages.Page(page).root
    sections = {section.attributes["id"]: section for section in root.all("section")}
    assert set(sections) == report.keys() - {"format", "schema", "version", "alone_files"}
    assert list(report["totals"].values()) == sections["totals"].numbers()
    for table in ("alone_largest", "covered"):
        rows = list(sections[table].first("tbody").all("tr"))
        assert len(rows) == min(len(report[table]), TOP) > 0
        for row, shown in zip(report[table], rows):
            path = fleet_sets.take_path(row, table)[0]
            assert shown.names()[1] == path if len(path) <= 500 else b" \xe2\x80\xa6 " in (
                shown.names()[1])
    assert b"<script" not in page and b"default-src 'none'" in page
    assert "caveats" in root.first("aside").classes()


def test_table_of_all_contents_on_one_host_has_those_of_the_oracle(partly):
    rows = partly.tool.report(*partly.sets)["alone_files"]
    alone = partly.fleet.on_one_host()
    assert len(rows) == len(alone) > TOP
    assert sorted((row["host"], row["size"]) for row in rows) == sorted(
        (*content.hosts, content.size) for content in alone)


def test_text_has_the_totals_and_no_control_characters(partly):
    report = partly.tool.report(*partly.sets)
    text = partly.tool("report", *partly.sets).stdout.decode()
    assert f"{report['totals']['inodes']:,}\n" in text and "Not complete: " in text
    assert not [character for character in text if character != "\n" and ord(character) < 32]


def test_digests_that_contradict_each_other_or_are_of_another_index_prove_nothing(tmp_path):
    tool, hosts = Tool(tmp_path), []
    for name in ("alpha", "beta"):
        source = os.fsencode(tmp_path / name)
        os.makedirs(source)
        with open(os.path.join(source, b"file"), "wb") as file:
            file.write(b"equal")
        hosts.append(fleet_hosts.Host(name, [source]))
    fleet = fleet_oracle.Fleet(hosts)
    sets = fleet_tool.write_sets(tmp_path, fleet, hosts)
    assert tool.report(*sets)["replicas"] == [{"replicas": 2, "contents": 1, "bytes": 5}]
    [file], other = fleet.files["beta"], tmp_path / "other"
    true, file.sha256 = file.sha256, "0" * 64
    fleet_writer.write_digests(other, hosts[1], [file], [file],
                               fleet_writer.Form(index=f"{1:016x}"))
    file.sha256 = true
    assert tool.report(*sets, other)["undecided"] == [
        {"host": name, "contents": 1, "bytes": 5, "inodes": 1} for name in ("alpha", "beta")]
    shutil.rmtree(other)
    fleet_writer.write_digests(other, hosts[1], [file], [file],
                               fleet_writer.Form(index="f" * 16))
    run = tool("report", "--format=json", *sets[:3], other)
    assert b"another index of beta" in run.stderr
    assert json.loads(run.stdout)["totals"]["undecided_contents"] == 2

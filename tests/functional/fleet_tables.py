# SPDX-License-Identifier: MIT
"""Runs twinfs-fleet, reads its reports in each format, and compares them with fleet_oracle.py."""
import collections
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import fleet_sets
import pytest
from processes import TIMEOUT
from program import Result

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ROOT / "build/fleet"
TEXTS = {"host", "other", "path", "path_base64", "sha256", "created"}  # the rest are numbers
MOST = 100  # rows of a table of the largest in a report for people


def need_engines():
    """Skips a test if scripts/setup did not install the engines."""
    if not (ENGINES / "twinfs-fleet.json").exists():
        pytest.skip("the engines of twinfs-fleet are not in build/fleet")


def fleet(command, *words):
    """Runs twinfs-fleet to its end."""
    run = subprocess.run([sys.executable, "-B", ROOT / "scripts/twinfs-fleet", command,
                          f"--folder={ENGINES}", *words], stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=3 * TIMEOUT, check=False)
    return Result(run.returncode, run.stdout, run.stderr)


def fleet_ok(command, *words):
    result = fleet(command, *words)
    assert result.status == 0, result
    return result


# Reports


def report_json(*words):
    """{table: rows} of a report in JSON."""
    found = json.loads(fleet_ok("report", "--format=json", *words).out)
    assert (found.pop("format"), found.pop("schema")) == ("twinfs-fleet-report", 1)
    assert found.pop("version")
    return {name: [table] if isinstance(table, dict) else table for name, table in found.items()}


def report_csv(output, *words):
    """{table: rows} of a report in CSV."""
    fleet_ok("report", "--format=csv", f"--output={output}", *words)
    found = {}
    for path in Path(output).iterdir():
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))
        found[path.stem] = [typed(row) for row in rows]
    return found


def report_parquet(output, *words):
    """{table: rows} of a report in Parquet, read with the Python of the engines."""
    fleet_ok("report", "--format=parquet", f"--output={output}", *words)
    script = ("import json, pathlib, sys\nimport pyarrow.parquet\n"
              "print(json.dumps({path.stem: pyarrow.parquet.read_table(path).to_pylist()"
              " for path in pathlib.Path(sys.argv[1]).iterdir()}, default=int))")
    run = subprocess.run([ENGINES / "bin/python3", "-I", "-c", script, output],
                         stdout=subprocess.PIPE, check=True)
    return {name: [{key: value for key, value in row.items() if value is not None}
                   for row in rows] for name, rows in json.loads(run.stdout).items()}


def typed(row):
    return {name: value if name in TEXTS else int(value) for name, value in row.items()
            if not (name in ("sha256", "path_base64") and value == "")}


def path_of(row):
    path, _ = fleet_sets.take_path({name: row[name] for name in ("path", "path_base64")
                                    if name in row}, "report:")
    return path


# Comparison


def sums(contents):
    return len(contents), sum(content.size for content in contents)


def figures(rows, keys, values):
    """{keys: values} of the rows of a table, which must not have a key twice."""
    found = {tuple(row[name] for name in keys): tuple(row[name] for name in values)
             for row in rows}
    assert len(found) == len(rows)
    return found


class Comparison:
    """Compares the tables of a report with a fleet; `differences` has a line for each."""

    def __init__(self, tables, fleet, hosts):
        self.tables, self.fleet, self.differences = tables, fleet, []
        self.roots = {host.name: host.sources for host in hosts}
        self.check_totals()
        self.check_hosts()
        self.check_pairs()
        self.check_covered()
        self.check_alone_largest()
        self.check_replicated_largest()

    def same(self, what, found, expected):
        if found != expected:
            self.differences.append(f"{what}: {found}, not {expected}")

    def same_figures(self, name, keys, values, expected):
        self.same(name, figures(self.tables[name], keys, values),
                  {key: value for key, value in expected.items() if any(value)})

    def check_totals(self):
        [totals] = self.tables["totals"]
        empty = sum(file.size == 0 for file in self.fleet.all_files())
        self.same("totals", totals, {**self.fleet.totals(), "empty_files": empty})
        self.same("replicas", figures(self.tables["replicas"], ("replicas",),
                                      ("contents", "bytes")),
                  {(count,): value for count, value in self.fleet.replicas().items()})

    def check_hosts(self):
        expected, alone, undecided, redundant = {}, {}, {}, {}
        for host, files in self.fleet.files.items():
            files = [file for file in files if file.size > 0]
            contents = {self.fleet.by_file[file] for file in files}
            size, once = sum(file.size for file in files), sums(contents)
            expected[host,] = len(files), size, *once
            redundant[host,] = len(files) - once[0], size - once[1]
            lone = self.fleet.on_one_host(host)
            alone[host,] = *sums(lone), sum(content.sha256 is None for content in lone)
            open_ones = [content for content in contents if content.undecided]
            undecided[host,] = *sums(open_ones), sum(
                file.host == host for content in open_ones for file in content.files)
        self.same("hosts", figures(self.tables["hosts"], ("host",), (
            "inodes", "bytes", "contents", "content_bytes")), expected)
        self.same_figures("redundant", ("host",), ("inodes", "bytes"), redundant)
        self.same_figures("alone", ("host",), ("contents", "bytes", "contents_by_size"), alone)
        self.same_figures("undecided", ("host",), ("contents", "bytes", "inodes"), undecided)

    def check_pairs(self):
        expected = {(has, lacks): (*value, *sums(self.fleet.undecided_between(has, lacks)))
                    for (has, lacks), value in self.fleet.pairs().items()}
        self.same("pairs", figures(self.tables["pairs"], ("host", "other"), (
            "contents", "bytes", "undecided_contents", "undecided_bytes")), expected)

    def check_covered(self):
        expected = {}
        for host in self.fleet.names:
            for (source, folder), files in self.fleet.outermost_covered(host).items():
                path = os.path.join(self.roots[host][source], folder).rstrip(b"/")
                contents = {self.fleet.by_file[file] for file in files}
                expected[host, path] = len(files), *sums(contents)
        found = {(row["host"], path_of(row)): (row["inodes"], row["contents"], row["bytes"])
                 for row in self.tables["covered"]}
        for key in found.keys() | expected.keys():
            self.same(f"covered {key}", found.get(key), expected.get(key))

    def file_at(self, row):
        """The content that has this path on this host, checked against the row."""
        path = path_of(row)
        for file in self.fleet.files[row["host"]]:
            if path in [os.path.join(self.roots[file.host][source], below)
                        for source, below in file.names]:
                content = self.fleet.by_file[file]
                self.same(f"size and SHA-256 of {path}", (row["size"], row.get("sha256")),
                          (content.size, content.sha256))
                return content
        self.differences.append(f"no such file: {row}")
        return None

    def check_largest(self, name, expected, order):
        """Each content at most once, in this order, and all of the largest."""
        rows = self.tables[name]
        contents = [self.file_at(row) for row in rows]
        self.same(f"{name}: contents", len(set(contents)), len(rows))
        if not set(contents) <= set(expected):
            self.differences.append(f"{name} has other contents")
            return
        largest = sorted(map(order, expected), reverse=True)[:len(rows)]
        self.same(f"{name}: order", [order(content) for content in contents], largest)
        if len(rows) < min(MOST, len(expected)):
            self.differences.append(f"{name} has {len(rows)} rows of {len(expected)}")

    def check_alone_largest(self):
        alone = self.fleet.on_one_host()
        self.check_largest("alone_largest", alone, lambda content: content.size)
        contents = [self.file_at(row) for row in self.tables["alone_files"]]
        self.same("alone_files", len(contents), len(alone))
        self.same("contents of alone_files", set(contents), set(alone))

    def check_replicated_largest(self):
        several = [content for content in self.fleet.contents if content.replicas > 1]
        self.check_largest("replicated_largest", several,
                           lambda content: (content.replicas - 1) * content.size)
        for row in self.tables["replicated_largest"]:
            content = self.file_at(row)
            self.same("replicas", (row["replicas"], row["inodes"]),
                      (content.replicas, len(content.files)))


def differences(tables, fleet, hosts):
    return Comparison(tables, fleet, hosts).differences


def rows_as_set(tables):
    """Tables without the order of rows, for the comparison of engines and formats."""
    return {name: collections.Counter(tuple(sorted(row.items())) for row in rows)
            for name, rows in tables.items()}

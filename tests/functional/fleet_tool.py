# SPDX-License-Identifier: MIT
"""Runs twinfs-fleet with the engines that scripts/setup installed, and computes from the oracle
what its report must have."""
import collections
import json
import os
import subprocess

import fleet_sets
import fleet_writer
import pytest
from manual import ROOT
from processes import TIMEOUT

PROGRAM = ROOT / "scripts/twinfs-fleet"
FOLDER = ROOT / "build/fleet"
TOP = 100  # rows of the tables of the largest contents

# Runs several commands in one process: [[argument ...] ...] on stdin, and the same number of
# [status, stdout, stderr] on stdout.
MANY = f"""
import contextlib, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(ROOT / "scripts")!r})
from fleet.command import main
found = []
for words in json.load(sys.stdin):
    out, error = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = main({str(PROGRAM)!r}, words)
    out.seek(0)
    found.append((status, out.read(), error.getvalue()))
json.dump(found, sys.stdout)
"""


class Tool:
    """twinfs-fleet; `folder` has its scratch files, which must be gone after each run."""

    def __init__(self, folder):
        if not (FOLDER / "twinfs-fleet.json").exists():
            pytest.skip("the engines of twinfs-fleet are not in build/fleet")
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.scratch), "LC_ALL": "C.UTF-8"}

    @staticmethod
    def words(command, *words):
        return [command, "--folder", str(FOLDER), "--memory", "1G", "--threads", "2",
                *map(str, words)]

    def __call__(self, command, *words, status=0):
        run = subprocess.run([PROGRAM, *self.words(command, *words)], check=False,
                             capture_output=True, timeout=3 * TIMEOUT, env=self.environment)
        assert run.returncode == status, run.stderr.decode()
        assert os.listdir(self.scratch) == []
        return run

    def many(self, commands):
        """(status, stdout, stderr) of each of several commands without Spark."""
        run = subprocess.run([FOLDER / "bin/python3", "-I", "-c", MANY], check=True,
                             input=json.dumps([self.words(*words) for words in commands]).encode(),
                             stdout=subprocess.PIPE, timeout=3 * TIMEOUT, env=self.environment)
        return json.loads(run.stdout)

    def report(self, *words):
        """The report as an object."""
        return json.loads(self("report", "--format=json", *words).stdout)


def start(tool, *words, environment=None):
    """Starts a command and returns the process."""
    return subprocess.Popen([PROGRAM, *tool.words(*words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE,
                            env={**tool.environment, **(environment or {})})


def run_plain(*words, environment=None):
    """Runs a command that needs no engine."""
    return subprocess.run([PROGRAM, *map(str, words)], check=False, capture_output=True,
                          timeout=3 * TIMEOUT, env={**os.environ, **(environment or {})})


# Sets of a fleet


def write_sets(folder, fleet, hosts, read=None):
    """Writes the inventories of hosts, and digests of the files of `read` as the oracle has them
    (by default of all wanted ones); returns the folders."""
    fleet.set_digested(set())
    folders = []
    for number, host in enumerate(hosts):
        files, form = fleet.files[host.name], fleet_writer.Form(index=f"{number:016x}")
        inventory, digests = (folder / kind / host.name for kind in ("inventory", "digests"))
        fleet_writer.write_inventory(inventory, host, files, form)
        wanted = [file for file in fleet.wanted(host.name)
                  if read is None or (file.host, file.inode) in read]
        fleet_writer.write_digests(digests, host, files, wanted, form)
        folders += [inventory, digests]
    fleet.set_digested(read)
    return folders


# The report of the oracle


def path_members(source, path):
    return fleet_sets.path_members(os.path.join(os.fsencode(source), path) if path
                                   else os.fsencode(source))


def sums(contents):
    return {"contents": len(contents), "bytes": sum(content.size for content in contents)}


def expected(fleet, hosts):
    """The tables of a report but those of the largest contents."""
    names = sorted(fleet.names)
    tables = {name: [] for name in ("hosts", "alone", "undecided", "redundant", "covered")}
    for host in sorted(hosts, key=lambda host: host.name):
        contents = [content for content in fleet.contents if host.name in content.hosts]
        files = [file for file in fleet.files[host.name] if file.size > 0]
        tables["hosts"].append({
            "host": host.name, "created": fleet_writer.CREATED, "inodes": len(files),
            "bytes": sum(file.size for file in files), "contents": len(contents),
            "content_bytes": sum(content.size for content in contents),
            "min_size": host.min_size, "errors": 0, "pending": 0})
        add_contents(tables, fleet, host, contents)
        tables["covered"] += covered(fleet, host)
    empty = sum(file.size == 0 for file in fleet.all_files())
    return {
        "totals": {**fleet.totals(), "empty_files": empty}, **tables,
        "covered": sorted(tables["covered"], key=lambda row: json.dumps(row)),
        "replicas": [{"replicas": number, "contents": count, "bytes": size}
                     for number, (count, size) in sorted(fleet.replicas().items())],
        "pairs": pairs(fleet, names)}


def add_contents(tables, fleet, host, contents):
    """Adds the rows of a host that exist only if it has such contents."""
    alone = fleet.on_one_host(host.name)
    if alone:
        by_size = sum(content.sha256 is None for content in alone)
        tables["alone"].append({"host": host.name, **sums(alone), "contents_by_size": by_size})
    undecided = [content for content in contents if content.undecided]
    if undecided:
        tables["undecided"].append({
            "host": host.name, **sums(undecided),
            "inodes": sum(len(content.files) for content in undecided)})
    further = {content: sum(file.host == host.name for file in content.files) - 1
               for content in contents}
    if any(further.values()):
        tables["redundant"].append({
            "host": host.name, "inodes": sum(further.values()),
            "bytes": sum(count * content.size for content, count in further.items())})


def pairs(fleet, names):
    found = []
    for has in names:
        for lacks in names:
            if has != lacks:
                maybe = sums(fleet.undecided_between(has, lacks))
                found.append({"host": has, "other": lacks, **sums(fleet.lacking(has, lacks)),
                              "undecided_contents": maybe["contents"],
                              "undecided_bytes": maybe["bytes"]})
    return sorted(found, key=lambda row: (-row["bytes"], row["host"], row["other"]))


def covered(fleet, host):
    for (source, folder), files in fleet.outermost_covered(host.name).items():
        contents = {fleet.by_file[file] for file in files}
        yield {"host": host.name, **path_members(host.sources[source], folder),
               "inodes": len(files), **sums(contents)}


def check_largest(fleet, report):
    """The tables of the largest contents name files that have these contents."""
    by_name = {(file.host, source, path): file for file in fleet.all_files()
               for source, path in file.names}
    found = collections.defaultdict(list)
    for table in ("alone_largest", "replicated_largest"):
        for row in report[table]:
            path = fleet_sets.take_path(row, table)[0]
            [file] = {file for (host, _, name), file in by_name.items()
                      if host == row["host"] and path.endswith(b"/" + name)
                      and file.size == row["size"] and row.get("sha256") in (None, file.sha256)}
            found[table].append(fleet.by_file[file])
    assert [content.size for content in found["alone_largest"]] == sorted(
        (content.size for content in fleet.on_one_host()), reverse=True)[:TOP]
    assert set(found["alone_largest"]) <= set(fleet.on_one_host())
    further = sorted(((content.replicas - 1) * content.size for content in fleet.contents
                      if content.replicas > 1), reverse=True)
    assert [(content.replicas - 1) * content.size
            for content in found["replicated_largest"]] == further[:TOP]
    for row, content in zip(report["replicated_largest"], found["replicated_largest"]):
        assert (row["replicas"], row["inodes"]) == (content.replicas, len(content.files))


def differences(report, fleet, hosts):
    """The tables of a report that are not those of the oracle, with both."""
    report = {**report, "covered": sorted(report["covered"], key=lambda row: json.dumps(row))}
    return {name: (report[name], rows) for name, rows in expected(fleet, hosts).items()
            if report[name] != rows}

# SPDX-License-Identifier: MIT
"""What twinfs-fleet says of faulty input, of its own tables that were changed, and without its
engines. test_fleet_hostile.py has all faults of sets."""
import datetime
import json
import os
import re
import shutil
import signal

import fleet_hosts
import fleet_oracle
import fleet_tool
import fleet_writer
import pytest
from fleet_faults import SetEditor
from fleet_tool import Tool
from manual import ROOT
from processes import TIMEOUT, until


@pytest.fixture(scope="module")
def made(scratch):
    """A host with an inventory, and the tool."""
    hosts = fleet_hosts.Fleet(scratch / "hosts", 3, 3)
    fleet = fleet_oracle.Fleet(hosts.hosts)
    host = hosts.full[0]
    folder = scratch / "inventory"
    fleet_writer.write_inventory(folder, host, fleet.files[host.name])
    return folder, Tool(scratch), host, fleet


def faulty_copies(inventory, folder, faults):
    """A copy of an inventory with each fault."""
    for name, fault in faults.items():
        copy = folder / name / "inventory"
        shutil.copytree(inventory, copy)
        fault(SetEditor(copy))
        yield copy


def test_error_names_the_file_and_the_line(made, tmp_path):
    inventory, tool, _, _ = made
    [copy] = faulty_copies(inventory, tmp_path, {"line 7": lambda editor: editor.edit_row(
        {"size": "large"}, at=6)})
    run = tool("import", "--output", tmp_path / "tables", copy, status=1)
    part = SetEditor(copy).part()
    assert run.stderr == b"twinfs-fleet: error: cannot use %s:7: 'size' is not an integer\n" % (
        os.fsencode(part))


def test_two_inventories_of_a_host_are_refused_by_their_names(made, tmp_path):
    inventory, tool, host, _ = made
    shutil.copytree(inventory, tmp_path / "again")
    tool("import", "--output", tmp_path / "tables", inventory)
    for other in (tmp_path / "again", tmp_path / "tables"):
        run = tool("report", inventory, other, status=1)
        assert f"two inventories of the host {host.name}: " in run.stderr.decode()
        assert os.fsencode(inventory) in run.stderr and os.fsencode(other) in run.stderr


def test_inventory_of_the_future_is_a_warning(made, tmp_path):
    inventory, tool, _, _ = made
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    [copy] = faulty_copies(inventory, tmp_path, {"late": lambda editor: editor.edit_head(
        {"created": tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ")})})
    run = tool("import", "--output", tmp_path / "tables", copy)
    assert b"warning: " in run.stderr and b"the clocks of the hosts differ" in run.stderr


def test_changed_table_of_an_import_is_refused(made, tmp_path):
    inventory, tool, host, _ = made
    tables = tmp_path / "tables"
    tool("import", "--output", tables, inventory)
    places = sorted((tables / "files" / f"host={host.name}").iterdir())
    changes = {
        "missing": lambda path: path.unlink(),
        "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
        "another": lambda path: path.write_bytes(b"x" * path.stat().st_size),
        "symlink": lambda path: (path.rename(tmp_path / "outside"),
                                 path.symlink_to(tmp_path / "outside")),
        "more": lambda path: shutil.copy(path, path.with_name("more.parquet")),
        "schema": lambda path: edit_manifest(path.parents[2], schema=2),
        "host": lambda path: edit_manifest(path.parents[2], hosts=[{"host": "../x", "index": ""}]),
    }
    for name, change in changes.items():
        copy = tmp_path / name
        shutil.copytree(tables, copy)
        change(copy / places[0].relative_to(tables))
    results = tool.many([("report", tmp_path / name) for name in changes])
    for name, (status, out, error) in zip(changes, results):
        assert (status, out) == (1, ""), name
        assert re.fullmatch(r"twinfs-fleet: error: cannot (use|read) [^\n]+\n", error), error
        assert str(tmp_path / name) in error


def edit_manifest(tables, **members):
    path = tables / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **members}))


def test_killed_import_leaves_no_tables_under_the_name_of_the_output(made, tmp_path):
    inventory, tool, _, fleet = made
    output = tmp_path / "out/tables"
    process = fleet_tool.start(tool, "import", "--output", output, inventory)
    assert until(lambda: output.parent.exists() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=TIMEOUT)
    process.communicate()
    if process.returncode:
        assert not output.exists()
    tool("import", "--output", output, inventory)
    assert tool.report(output)["totals"]["hosts"] == 1


def test_terminated_report_removes_its_temporary_files(made):
    inventory, tool, _, _ = made
    process = fleet_tool.start(tool, "report", inventory)
    assert until(lambda: os.listdir(tool.scratch) or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, error) in ((1, b"twinfs-fleet: interrupted\n"), (0, b""))
    assert os.listdir(tool.scratch) == []


# Set-up


def test_missing_set_up_is_an_error_with_the_remedy(made, tmp_path):
    inventory, tool, _, _ = made
    for words, remedy in (((), "setup"), (("--engine=spark",), "setup --engine=spark")):
        run = fleet_tool.run_plain("report", "--folder", tmp_path / "none", *words, inventory)
        assert run.returncode == 1
        assert run.stderr.decode() == (
            "twinfs-fleet: error: the Python package duckdb is not installed; run once: "
            f"twinfs-fleet {remedy} --folder {tmp_path}/none\n")


def test_set_up_for_spark_without_java_names_the_package_of_debian(tmp_path):
    run = fleet_tool.run_plain("setup", "--engine=spark", "--folder", tmp_path / "new",
                               environment={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert run.returncode == 1
    assert b"apt-get install default-jre-headless" in run.stderr
    assert not (tmp_path / "new").exists()


def test_set_up_keeps_other_folders_and_does_nothing_twice(made, tmp_path):
    (tmp_path / "file").write_bytes(b"precious")
    run = fleet_tool.run_plain("setup", "--folder", tmp_path)
    assert run.returncode == 1 and b"it has other files" in run.stderr
    assert os.listdir(tmp_path) == ["file"]
    run = fleet_tool.run_plain("setup", "--folder", fleet_tool.FOLDER)
    assert run.returncode == 0 and b" is set up: duckdb==" in run.stdout


def test_wrong_arguments_are_refused_with_status_2(made):
    inventory, _, _, _ = made
    for words in ((), ("sleep",), ("report",), ("report", "--format=csv", inventory),
                  ("report", "--master=local", inventory), ("import", inventory),
                  ("report", "--memory=1", inventory), ("report", "--threads=0", inventory)):
        assert fleet_tool.run_plain(*words).returncode == 2, words


def test_version_is_that_of_twinfs():
    version = re.search(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)
    run = fleet_tool.run_plain("--version")
    assert run.stdout.decode() == f"twinfs-fleet {version[1]}\n"

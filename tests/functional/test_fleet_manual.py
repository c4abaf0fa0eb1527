# SPDX-License-Identifier: MIT
"""man/twinfs-fleet.1 has the options, tables and members of twinfs-fleet."""
import ast
import re
import shutil
import subprocess

import fleet_tool
import pytest
from manual import ROOT, item, marked, sections

PAGE = ROOT / "man/twinfs-fleet.1"
COMMANDS = ("setup", "import", "wanted", "plan", "report")


def help_of(*words):
    return fleet_tool.run_plain(*words, "--help").stdout.decode()


def options(text):
    """{option: its argument or choices} of a --help."""
    argument = r"[A-Z:]+(?:,\.\.\.)?|\{[a-z,]+\}"
    found = re.findall(rf"^  (?:-h, )?--([a-z-]+)(?: ({argument}))?(?= |$)", text, re.MULTILINE)
    return {name: value.strip("{}").replace(",", "|") if "{" in value else value
            for name, value in found}


def test_page_has_the_options_of_all_commands():
    offered = options(help_of())
    for command in COMMANDS:
        offered |= options(help_of(command))
    described = dict(re.findall(
        r"^\.It (?:Fl h , )?Fl -([a-z-]+)(?: Ns = Ns (?:Ar|Cm) (\S+))?$",
        sections(PAGE)["OPTIONS"], re.MULTILINE))
    assert "format" in offered and offered["engine"] == "duckdb|spark"
    assert described == offered


def test_page_has_the_commands():
    offered = re.findall(r"^    ([a-z]+)  ", help_of(), re.MULTILINE)
    described = re.findall(r"^\.It Cm ([a-z]+)$", sections(PAGE)["COMMANDS"], re.MULTILINE)
    assert tuple(offered) == tuple(described) == COMMANDS


def questions():
    """{name: columns} of the tables in questions.py, which is only parsed."""
    tree = ast.parse((ROOT / "scripts/fleet/questions.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)
             and getattr(node.func, "id", None) == "Question"]
    named = {node.targets[0].id: node.value for node in tree.body
             if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)}
    columns = {call.args[0].value: named.get(getattr(call.args[3], "id", None), call.args[3])
               for call in calls}
    return {name: {key.value for key in found.keys if key} for name, found in columns.items()}


def test_page_has_the_tables_and_their_members():
    text = sections(PAGE)["TABLES"]
    assert re.findall(r"^\.It Va ([a-z_]+)$", text, re.MULTILINE) == list(questions())
    for name, columns in questions().items():
        described = marked(item(text, f"Va {name}"), "Va") | set(
            re.findall(r"^\.Pq Va ([a-z_]+)", item(text, f"Va {name}"), re.MULTILINE))
        assert columns - {"path", "path_base64"} == described, name


def test_each_statement_is_used_and_ends_without_a_semicolon():
    names = {path.stem: path.read_text() for path in (ROOT / "scripts/fleet/sql").glob("*.sql")}
    code = "".join(path.read_text() for path in (ROOT / "scripts/fleet").glob("*.py"))
    assert names
    for name, text in names.items():
        assert f'"{name}"' in code, name
        assert text.startswith("-- ") and ";" not in re.sub(r"^--.*$", "", text, flags=re.M), name


def test_page_is_well_formed():
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    run = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], check=False,
                         capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_names_the_manual(command):
    assert help_of(*filter(None, [command])).endswith("See twinfs-fleet(1).\n")

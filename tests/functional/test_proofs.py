# SPDX-License-Identifier: MIT
"""tests/README.md names files with tests, and leaves no functional test file out."""
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCRIPT = (TESTS.parent / "scripts/test").read_text()
[KINDS] = re.findall(r"scripts/test (lint\|[a-z|]+)$", SCRIPT, re.MULTILINE)
TEST = {".py": r"^ *def test_", ".c": r"^static void test_\w+\("}
WITHOUT_CASES = {"fuzz/driver.c", "tools/use_package"}  # run whole


@functools.cache
def rows():
    """The threat and the named files of each row of each table."""
    lines = [line for line in (TESTS / "README.md").read_text().splitlines()
             if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == 2 for row in cells)
    return [(threat, re.findall(r"`([^`]+)`", files)) for threat, files in cells
            if threat != "threat" and set(threat) != {"-"}]


def has_tests(name):
    """Whether a name in the tables is a kind of run, a file with tests or a folder of them."""
    path = TESTS / name
    if name.startswith("scripts/test "):
        return name.split()[1] in KINDS.split("|")
    if path.is_dir():
        return any(has_tests(found.relative_to(TESTS).as_posix())
                   for found in path.glob("test_*"))
    if not path.is_file() or (path.suffix not in TEST and name not in WITHOUT_CASES):
        return False
    return name in WITHOUT_CASES or bool(
        re.search(TEST[path.suffix], path.read_text(), re.MULTILINE))


def test_each_row_names_files_with_tests():
    assert len(rows()) > 50
    for threat, names in rows():
        assert threat and names, threat
        assert [name for name in names if not has_tests(name)] == [], threat


def test_each_test_file_and_each_folder_of_unit_tests_is_named():
    named = {name for _, names in rows() for name in names}
    files = {f"functional/{path.name}" for path in (TESTS / "functional").glob("test_*.py")}
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.glob("unit/**/test_*")}
    assert files and files - named == set()
    assert folders and folders - named - {name.rpartition("/")[0] for name in named} == set()


@pytest.mark.parametrize("name", ["functional/test_none.py", "functional/trees.py", "unit/none",
                                  "unit/index/audit.h", "scripts/test nothing"])
def test_name_without_tests_is_refused(name):
    assert not has_tests(name)


def test_script_names_only_files_and_tests_that_exist():
    lists = re.findall(r"tests/functional/test_%s\.py ' \\\n([^)]*)\)", SCRIPT)
    assert len(lists) == 2
    for name in " ".join(lists).replace("\\", "").split():
        assert (TESTS / f"functional/test_{name}.py").is_file(), name
    [names] = re.findall(r"^names_without_asan='not (.*)'$", SCRIPT, re.MULTILINE)
    tests = "".join(path.read_text() for path in (TESTS / "functional").glob("test_*.py"))
    for name in names.split(" and not "):
        assert re.search(rf"^def test_\w*{name}", tests, re.MULTILINE), name

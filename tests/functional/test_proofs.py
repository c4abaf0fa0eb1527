# SPDX-License-Identifier: MIT
"""tests/README.md names tests that are there, and says where there is none."""
import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
[KINDS] = re.findall(r"scripts/test (lint\|[a-z|]+)$", (TESTS.parent / "scripts/test").read_text(),
                     re.MULTILINE)


def rows(text):
    """What happens and what proves it, of each row of each table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == 2 for row in cells)
    return [row for row, below in zip(cells, [*cells[1:], None])
            if set(row[1]) != {"-"} and not (below and set(below[1]) == {"-"})]


@functools.cache
def names_in(path):
    """Names of the tests that a file runs."""
    text = path.read_text()
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.FunctionDef)}
    return set(re.findall(r"^static void (test_\w+)\(", text, re.MULTILINE)) & set(
        re.findall(r"\(\s*(test_\w+)[,)]", text))


def lacking(proof):
    """What it names and is not there."""
    found = []
    for name in re.findall(r"`([^`]+)`", proof):
        path, _, test = name.partition("::")
        if test:
            there = (TESTS / path).is_file() and test in names_in(TESTS / path)
        elif name.startswith("scripts/test "):
            there = name.split()[1] in KINDS.split("|")
        else:
            there = any((folder / name).is_file()
                        for folder in (TESTS / "functional", TESTS, TESTS.parent))
        if not there:
            found.append(name)
    return found


def test_every_test_that_is_named_exists():
    table = rows((TESTS / "README.md").read_text())
    assert len(table) > 100
    assert [name for _, proof in table for name in lacking(proof)] == []


def test_every_row_has_a_proof_or_says_that_there_is_none():
    for what, proof in rows((TESTS / "README.md").read_text()):
        assert what
        assert (proof == "not yet") != ("`" in proof), what


@pytest.mark.parametrize("proof", [
    "`functional/test_proofs.py::test_that_is_not_there`", "`functional/test_none.py::test_x`",
    "`unit/base/test_size.c::test_that_is_not_there`", "`scripts/test nothing`", "`nothing.py`"])
def test_name_of_no_test_is_noticed(proof):
    assert lacking(proof) == [proof.strip("`")]
    assert lacking("`unit/base/test_size.c::test_plain_numbers_are_bytes`, `conftest.py`") == []

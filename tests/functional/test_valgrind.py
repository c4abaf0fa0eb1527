# SPDX-License-Identifier: MIT
"""valgrind on small runs of a plain build: no invalid or uninitialized memory is used, and none is
leaked."""
import os
import shutil

import pytest
import trees
from test_memory import read_all
from wanted_lists import Host

VALGRIND = ["valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite", "--error-exitcode=98"]


@pytest.fixture
def checked(twinfs, plain_build):
    """The program, run by valgrind, whose reports go to files."""
    if not shutil.which("valgrind"):
        pytest.skip("needs valgrind")
    twinfs.wrapped = [*VALGRIND, f"--log-file={twinfs.folder}/valgrind.%p"]
    yield twinfs
    reports = [path.read_text() for path in twinfs.folder.glob("valgrind.*")]
    assert reports
    # other lines are about system calls that valgrind does not know
    found = [line for report in reports for line in report.splitlines() if line.startswith("==")]
    assert found == []


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    return source


def test_commands_that_read_use_memory_right(checked, tree):
    checked.ok("scan", tree)
    for form in ("text", "json", "csv"):
        checked.ok("list", f"--format={form}", tree)
    checked.ok("copies", tree / "small/letters/a.txt")
    checked.ok("manifest", tree)
    host = Host(checked, checked.folder, tree)
    host.want()
    host.digest()
    host.digest()


def test_view_uses_memory_right(checked, tree):
    with checked.mounted_in_foreground(tree) as (process, view):
        read_all(view)
        os.rename(tree / "small/letters", tree / "small/moved")
        trees.write(tree / "small/new", trees.content("a", 3000))
        view.sync()
        read_all(view)
    assert process.returncode == 0, process.output


@pytest.mark.parametrize("words", [["remove"], ["link"], ["dedupe"]], ids="-".join)
def test_acts_use_memory_right(checked, tree, words):
    result = checked(*words, "--yes", tree)
    assert result.status == (3 if words == ["dedupe"] else 0), result

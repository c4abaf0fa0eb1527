# SPDX-License-Identifier: MIT
"""The last lines of a run name the failed tests, however many tests were skipped and however long
the messages are: a reader of a log in CI often sees nothing but its end."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import summaries

FUNCTIONAL = Path(summaries.__file__).parent
SCRIPT = FUNCTIONAL.parents[1] / "scripts/test"
SEEN = 3000  # characters at the end of a log
CONFTEST = """import skips
import summaries


def pytest_configure(config):
    skips.register(config)
    summaries.register(config)
"""
CASES = """import pytest

LONG = "".join(f"the line {number} of a message\\n" for number in range(500))


@pytest.fixture
def broken():
    raise OSError(LONG)


@pytest.mark.parametrize("number", range(5))
def test_failing(number):
    assert not number, LONG + LONG.replace("\\n", " ")


def test_unequal():
    assert LONG == LONG[:-1]


def test_error(broken):
    pass
"""
SKIPS = "".join(f"\n\ndef test_skipped_{number}():\n    pytest.skip('needs nemo')\n"
                for number in range(60))


def end_of_run(folder, *options, cases=CASES):
    """The end of the output of a failing run in CI with the options of scripts/test."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_cases.py").write_text(cases + SKIPS)
    [report] = re.findall(r" (-r\w+) \"\$@\"", SCRIPT.read_text())
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": os.fspath(FUNCTIONAL), "CI": "1",
                    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", report,
                           *options, folder], check=False, capture_output=True, text=True,
                          cwd=folder, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout[-SEEN:]


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n", "2")],
                         ids=["alone", "xdist"])
def test_all_failed_tests_are_named_at_the_end(tmp_path, workers):
    end = end_of_run(tmp_path, *workers)
    for number in range(1, 5):
        assert f"FAILED test_cases.py::test_failing[{number}] - AssertionError: the line 0" in end
    assert "FAILED test_cases.py::test_unequal - " in end
    assert "ERROR test_cases.py::test_error - OSError: the line 0 of a message\n" in end


def test_file_that_cannot_be_collected_is_named_at_the_end(tmp_path):
    (tmp_path / "test_broken.py").write_text("import none_of_the_modules\n")
    assert "ERROR test_broken.py" in end_of_run(tmp_path, "--continue-on-collection-errors")


def test_reason_that_fails_a_run_is_at_its_end(tmp_path):
    end = end_of_run(tmp_path, cases="import pytest\n\n\ndef test_other():\n"
                                     "    pytest.skip('no such tool')\n")
    assert "not allowed in CI by skips.py: no such tool" in end


def test_message_is_one_line_of_bounded_length():
    assert summaries.shorten("first\nsecond") == "first"
    exact = "x" * summaries.LONGEST
    assert summaries.shorten(exact) == exact
    assert summaries.shorten(exact + "y") == exact[:-3] + "..."

# SPDX-License-Identifier: MIT
"""Skipped tests are counted by reason, and a run in CI fails for a reason that is not allowed."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import skips

FUNCTIONAL = Path(skips.__file__).parent
CONFTEST = "import skips\n\n\ndef pytest_configure(config):\n    skips.register(config)\n"
CASES = """import pytest


@pytest.mark.parametrize("number", range(3))
def test_allowed(number):
    pytest.skip("needs nemo")


@pytest.mark.skipif(True, reason={reason!r})
def test_other():
    pass


@pytest.mark.xfail
def test_expected_failure():
    assert False


def test_passing():
    pass
"""


def run(folder, reason, *options, ci=True):
    """Runs pytest on three skips for an allowed reason and one for another."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_cases.py").write_text(CASES.format(reason=reason))
    environment = {name: value for name, value in os.environ.items()
                   if name != "CI" and not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": os.fspath(FUNCTIONAL), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if ci:
        environment["CI"] = "1"
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options,
                           folder], check=False, capture_output=True, text=True, cwd=folder,
                          env=environment)


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n", "2")],
                         ids=["alone", "xdist"])
@pytest.mark.parametrize("ci", [True, False], ids=["CI", "elsewhere"])
def test_reason_that_is_not_allowed_fails_a_run_in_ci_only(tmp_path, ci, workers):
    done = run(tmp_path, "no such tool", *workers, ci=ci)
    assert done.returncode == (1 if ci else 0), done.stdout + done.stderr
    assert re.search(r"^ +3  needs nemo$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +1  no such tool$", done.stdout, re.MULTILINE)
    assert ("not allowed in CI by skips.py: no such tool" in done.stdout) == ci
    assert "by skips.py: needs nemo" not in done.stdout


def test_allowed_reasons_leave_a_run_in_ci_successful(tmp_path):
    done = run(tmp_path, "needs Landlock")
    assert done.returncode == 0, done.stdout + done.stderr


def test_reason_for_sanitizers_is_allowed_for_an_instrumented_program_only():
    assert skips.is_allowed("needs a build without instruments", True)
    assert not skips.is_allowed("needs a build without instruments", False)
    assert skips.is_allowed("needs nemo", True) and skips.is_allowed("needs nemo", False)


def test_each_allowed_reason_is_given_by_a_test():
    """A reason that is only in the list would let a new skip pass unseen."""
    text = "".join(path.read_text() for path in FUNCTIONAL.glob("*.py")
                   if path.name not in ("skips.py", "test_skips.py"))
    for entry in skips.ALLOWED:
        if not entry.reason.startswith("needs ("):
            assert entry.reason.removeprefix("needs ") in text, entry

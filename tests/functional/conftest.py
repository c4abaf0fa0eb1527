# SPDX-License-Identifier: MIT
"""Fixtures of the functional tests.  $TWINFS is the path of the program under test."""
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import trees  # noqa: E402
from program import TIMEOUT, Program, Session  # noqa: E402

PLAIN_USER = "twinfs-test"


def pytest_configure(config):
    binary = os.environ.get("TWINFS")
    if not binary:
        raise pytest.UsageError("set TWINFS to the path of the twinfs program to test")
    if not os.access(binary, os.X_OK):
        raise pytest.UsageError(f"TWINFS is not a program: {binary}")


@pytest.fixture(scope="session")
def session():
    """One run of the suite; fails at its end where anything of it is left behind."""
    base = os.path.realpath(tempfile.mkdtemp(prefix="twinfs-test-"))
    os.chmod(base, 0o755)
    os.mkdir(f"{base}/sanitizer")
    os.chmod(f"{base}/sanitizer", 0o1777)
    mark = uuid.uuid4().hex
    # A copy, so that a plain user can reach it wherever the tree is.
    binary = shutil.copy(os.path.realpath(os.environ["TWINFS"]), f"{base}/twinfs")
    for name in ("oracle.py", "walk.py"):  # the oracle of a plain user
        shutil.copy(Path(__file__).parent / name, base)
    found = Session(binary, base, mark)
    yield found
    left = found.clean_up()
    reports = found.sanitizer_reports()
    trees.remove(base)
    assert not left, f"left behind: {left}"
    assert not reports, "\n".join(reports)


@pytest.fixture
def tmp_path(session):
    """A folder on the disk, open to every user, removed after the test whatever is in it."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir=session.base))
    folder.chmod(0o755)
    yield folder
    trees.remove(folder)


@pytest.fixture(scope="module")
def scratch(session):
    """The same for the tests of a whole file."""
    folder = Path(tempfile.mkdtemp(prefix="m-", dir=session.base))
    folder.chmod(0o755)
    yield folder
    trees.remove(folder)


@pytest.fixture(autouse=True)
def guard(session, tmp_path):
    """Ends what hangs, and fails the test that leaves something behind or upsets a sanitizer."""
    hung = threading.Event()

    def give_up():
        hung.set()
        session.kill_all()  # a killed daemon answers every waiting call with an error

    before = len(session.sanitizer_reports())
    timer = threading.Timer(3 * TIMEOUT, give_up)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()
    left = session.clean_up()
    reports = session.sanitizer_reports()[before:]
    assert not hung.is_set(), "the test hung and was ended"
    assert not left, f"left behind: {left}"
    assert not reports, "\n".join(reports)


@pytest.fixture
def twinfs(session, tmp_path):
    """Runs the program with an index of this test."""
    return Program(session, tmp_path)


@pytest.fixture
def source(tmp_path):
    """An empty folder to build a source in."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def plain_user(session):
    """A user without rights: the one who runs the suite, or one made for it."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid())
        return
    if not shutil.which("useradd") or not shutil.which("setpriv"):
        pytest.skip("needs useradd and setpriv")
    subprocess.run(["userdel", PLAIN_USER], check=False, capture_output=True)
    subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/sh",
                    PLAIN_USER], check=True, capture_output=True)
    try:
        yield pwd.getpwnam(PLAIN_USER)
    finally:
        subprocess.run(["userdel", PLAIN_USER], check=True, capture_output=True)


@pytest.fixture
def as_user(session, tmp_path, plain_user):
    """Runs the program as a plain user; tmp_path belongs to that user."""
    if os.geteuid() != 0:
        return Program(session, tmp_path)
    os.chown(tmp_path, plain_user.pw_uid, plain_user.pw_gid)
    return Program(session, tmp_path, plain_user)


@pytest.fixture
def root_only():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def strace():
    """For tests that trace: skips them where this machine does not let us."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("strace is not permitted here")

# SPDX-License-Identifier: MIT
"""The kept copy that a user saw stays kept while a scan is interrupted, or has not ended yet."""
import os
import signal

import pytest
import trees
from processes import until

LARGE = b"x" * (3 << 20)
OLD_NS = 10**18  # before every test


@pytest.fixture
def pair(source):
    """Two small copies, and two large ones, of which the second is to be held open."""
    trees.fill(source, {"m/one": b"equal", "n/two": b"equal", "large": LARGE, "held": LARGE})
    return source


def redundant(view):
    return sorted(path.name for path in (view.path / "redundant").rglob("*") if path.is_file())


def add_old_copy(folder):
    trees.fill(folder, {"a/new": b"equal"})
    os.utime(folder / "a/new", ns=(OLD_NS, OLD_NS))


@pytest.mark.parametrize("ends", [None, signal.SIGKILL], ids=["unmounted", "killed"])
def test_view_that_ended_during_its_first_comparison(twinfs, pair, ends):
    with open(pair / "held", "r+b"):
        with twinfs.mounted(pair, options=()) as view:
            assert until(lambda: redundant(view))
            [before] = redundant(view)
            assert view.status()["state"] != "current"
            if ends:
                os.kill(view.pid, ends)
    add_old_copy(pair)
    with twinfs.mounted(pair) as view:
        assert {before, "new"} <= set(redundant(view))
        assert not {"one", "two"} <= set(redundant(view))


def test_copy_that_appears_during_the_first_comparison(twinfs, pair, tmp_path):
    earlier = tmp_path / "earlier source"
    earlier.mkdir()
    with open(pair / "held", "r+b"):
        with twinfs.mounted(earlier, pair, options=()) as view:
            assert until(lambda: redundant(view))
            [before] = redundant(view)
            add_old_copy(earlier)
            view.sync()
            assert until(lambda: len(redundant(view)) == 2)
            assert redundant(view) == sorted([before, "new"])


def test_scan_that_was_interrupted(twinfs, pair, strace):
    with open(pair / "held", "r+b"):
        # the scan sleeps after it compared all files that are not open for writing
        result, _ = twinfs.traced("scan", pair, calls="trace=clock_nanosleep", flags=[
            "-e", "inject=clock_nanosleep:signal=INT:when=1"])
        assert result.status == -signal.SIGINT, result
    add_old_copy(pair)
    [group] = [group for group in twinfs.listing(pair)["groups"] if group["size"] == 5]
    assert [copy["path"] for copy in group["copies"] if copy["kept"]] == [str(pair / "m/one")]

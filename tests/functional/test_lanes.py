# SPDX-License-Identifier: MIT
"""Lanes: small files do not wait for large ones, and compared files are committed before all others
are compared."""
import contextlib
import os

import pytest
import trees
from processes import until

LARGE = 8 << 20  # files of this size and above are in the lane of large files
ENDLESS = 4 << 40  # the largest hole that is hashed, which takes a minute or more


@pytest.fixture
def endless(twinfs, source):
    """Two files whose comparison outlasts a test. They are new in a known source, as the walk of an
    unknown one can read one of them."""
    trees.fill(source, {b"scanned before": b""})
    twinfs.ok("scan", source)
    for name in ("endless 1", "endless 2"):
        trees.holes(source / name, ENDLESS, {})
    return source


@pytest.fixture
def view(twinfs, endless):
    trees.fill(endless, {b"old 1": b"old", b"old 2": b"old"})
    with twinfs.mounted(endless, options=()) as mounted:
        yield mounted


def contents(view):
    """{content: number of copies} of all groups but the endless one, or None during a change."""
    found = {}
    with contextlib.suppress(OSError):
        for group in view.dups.iterdir():
            copies = sorted(group.iterdir())
            if copies[0].stat().st_size < ENDLESS:
                found[copies[0].read_bytes()] = len(copies)
        return found
    return None


def compares_endless(view):
    return {os.path.basename(path) for path in view.pending()} >= {b"endless 1", b"endless 2"}


def test_small_files_are_compared_while_large_ones_are(view, endless):
    assert until(lambda: contents(view) == {b"old": 2})
    for name in (b"new 1", b"new 2"):
        trees.fill(endless, {name: b"new"})
    assert until(lambda: contents(view) == {b"old": 2, b"new": 2})
    trees.fill(endless, {b"new 2": b"old"})
    assert until(lambda: contents(view) == {b"old": 3})
    assert compares_endless(view)
    assert view.status()["state"] == "comparing"


def test_compared_large_files_are_shown_while_others_are_compared(twinfs, endless):
    data = trees.content("large", LARGE)
    trees.fill(endless, {b"large 1": data, b"large 2": data})
    with twinfs.mounted(endless, options=()) as view:
        assert until(lambda: contents(view) == {data: 2})
        assert compares_endless(view)


def test_file_that_changes_its_lane_is_compared(twinfs, source):
    data = trees.content("lanes", LARGE + 10)
    names = ("a", "b", "c")
    trees.fill(source, {name.encode(): data[:LARGE] for name in names})
    trees.fill(source, {b"small 1": data[:LARGE - 1], b"small 2": data[:LARGE - 1]})
    with twinfs.mounted(source) as view:
        for size in (LARGE - 1, LARGE, LARGE + 10, LARGE - 1, 100):
            for name in names:
                with open(source / name, "r+b") as file:
                    file.write(data[:size])
                    file.truncate(size)
                if name == "b":  # the others without a sync
                    assert view.differences_now(source) == []
            assert until(lambda: any(len(os.listdir(group)) >= 3 for group in view.dups.iterdir()))
            assert view.differences_now(source) == []

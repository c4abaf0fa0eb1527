# SPDX-License-Identifier: MIT
"""A file is renamed whenever the daemon looks for it, so that its index never has a name of it. A
result that lacks the file says so."""
import contextlib
import json
import os
import threading

import pytest
import trees
from inventories import only
from processes import of_threads
from program import path_of

DELAY = "inject=statx:delay_enter=300ms"
LACKS = b"1 file was renamed or removed meanwhile, again and again"


def is_held_at(view, folder):
    """Whether strace holds a call of the daemon for this folder."""
    for text in of_threads(view.pid, "syscall").values():
        words = text.split()
        with contextlib.suppress(IndexError, OSError, ValueError):
            if os.readlink(f"/proc/{view.pid}/fd/{int(words[1], 16)}") == str(folder):
                return True
    return False


def evade(view, file, other, ended):
    """Moves a file away from the folder in which the daemon is about to look for it."""
    here, there = file, other
    while not ended.wait(0.005):
        if is_held_at(view, here.parent):
            here.rename(there)
            here, there = there, here
    if here != file:
        here.rename(file)


@contextlib.contextmanager
def evading(view, file, other):
    ended = threading.Event()
    mover = threading.Thread(target=evade, args=(view, file, other, ended))
    with view.traced("-P", file.parent, "-P", other.parent, "-e", "trace=statx", "-e", DELAY):
        mover.start()
        try:
            file.rename(other)
            other.rename(file)
            yield
        finally:
            ended.set()
            mover.join()


@pytest.fixture
def two(twinfs, source):
    """A view of two folders, and the paths of a file in both; it is in the first."""
    trees.fill(source, {b"one/file": b"equal", b"other": b"equal"})
    (source / "two").mkdir()
    with twinfs.mounted(source) as view:
        yield view, source / "one/file", source / "two/file"


def test_inventory_counts_the_file(twinfs, two, tmp_path):
    view, *paths = two
    words = ["export", "--host=alpha", "--output", tmp_path / "inventory", view.path]
    twinfs.ok(*words)
    _, before = only(tmp_path / "inventory")
    with evading(view, *paths):
        result = twinfs(*words)
    assert result.status == 3 and LACKS in result.error, result
    manifest, rows = only(tmp_path / "inventory")
    assert [path_of(row) for row in rows] == [b"other"] and manifest["pending"] == 1
    twinfs.ok(*words)
    manifest, after = only(tmp_path / "inventory")
    assert manifest["pending"] == 0
    assert {row["id"] for row in after} == {row["id"] for row in before}


def test_list_says_that_it_lacks_the_file(twinfs, two):
    view, *paths = two
    with evading(view, *paths):
        result = twinfs("list", "--format=json", view.path)
    assert result.status == 3 and LACKS in result.error, result
    assert json.loads(result.out)["groups"] == []
    assert len(twinfs.groups(view.path)) == 1


def test_manifest_without_the_file_replaces_no_other(twinfs, two, tmp_path):
    view, *paths = two
    words = ["manifest", "--all", "--output", tmp_path / "manifest", view.path]
    twinfs.ok(*words)
    before = (tmp_path / "manifest").read_bytes()
    with evading(view, *paths):
        result = twinfs(*words)
    assert result.status == 3 and LACKS in result.error, result
    assert b"is not replaced" in result.error
    assert (tmp_path / "manifest").read_bytes() == before
    twinfs.ok(*words)


def test_files_that_were_removed_are_not_called_renamed(twinfs, two, source):
    """Removed before the view was mounted, and while it is."""
    view, file, _ = two
    file.unlink()
    assert b"removed" not in twinfs.ok("list", view.path).error
    view.unmount()
    (source / "other").unlink()
    with twinfs.mounted(source) as view:
        assert b"removed" not in twinfs.ok("list", view.path).error

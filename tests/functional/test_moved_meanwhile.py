# SPDX-License-Identifier: MIT
"""A file that is moved during a walk, from a folder that is not listed yet to one that is, is in no
listing of that walk. Another walk finds it, or the status is 3."""
import contextlib
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trees
from disks import bound, disk, shown_by_fuse
from processes import release, until
from program import held_meanwhile

COMMANDS = {"scan": [], "list": ["--singles"], "export": ["--host=name", "--output=OUTPUT"],
            "manifest": ["--all"]}


def all_wait(pid):
    """Whether no thread runs. The one that is held is in a tracing stop."""
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0]
              for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(state in "Stt" for state in states)


@contextlib.contextmanager
def held_in(folder, twinfs, *words):
    """Runs a command to its success, whose walk waits in the folder during the block."""
    with twinfs.held(*words, call="getdents64", flags=["-P", folder]) as process:
        assert process.poll() is None and until(lambda: all_wait(process.pid))
        yield
        release(process)
        assert process.wait() == 0


def found(twinfs, source):
    """The names of the regular files that the index has."""
    listed = twinfs.ok("list", "--singles", "--no-scan", "--format=null", source).out
    return {os.path.relpath(os.fsdecode(path), source) for path in listed.split(b"\0") if path}


@pytest.mark.parametrize("known", [False, True], ids=["new index", "known index"])
@pytest.mark.parametrize("removed", [False, True], ids=["folder stays", "folder goes"])
@pytest.mark.parametrize("command", COMMANDS)
def test_file_that_is_moved_past_a_walk_is_found(twinfs, source, tmp_path, strace, command, known,
                                                 removed):
    trees.fill(source, {b"listed/1": b"first", b"waits/2": b"second"})
    if known:
        twinfs.ok("scan", source)
    words = [command, *(word.replace("OUTPUT", os.fspath(tmp_path / "inventory"))
                        for word in COMMANDS[command])]
    with held_in(source / "waits", twinfs, *words, source):
        os.rename(source / "waits/2", source / "listed/2")
        if removed:
            os.rmdir(source / "waits")
    assert found(twinfs, source) == {"listed/1", "listed/2"}


@pytest.fixture
def rounding(tmp_path, loop_devices):
    """A disk with times in whole seconds: a change in a walk can have a time before the walk."""
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as source:
        trees.fill(source, {b"listed/1": b"first", b"waits/2": b"second"})
        yield source


def test_scan_of_a_disk_that_rounds_times_finds_what_was_moved(twinfs, rounding, strace):
    with held_in(rounding / "waits", twinfs, "scan", rounding):
        os.rename(rounding / "waits/2", rounding / "listed/2")
    assert found(twinfs, rounding) == {"listed/1", "listed/2"}


def test_quiet_source_is_walked_once(twinfs, source, strace):
    trees.fill(source, {b"a/1": b"first"})
    twinfs.ok("scan", source)
    _, trace = twinfs.traced("scan", source, calls="trace=getdents64",
                             flags=["-P", source / "a"])
    assert trace.count(b"getdents64") == 2


def test_stub_of_a_subvolume_in_a_snapshot_is_no_folder_that_changes(twinfs, btrfs_room):
    """The times of such a stub are those of its look-up."""
    home, snapshot = btrfs_room.aside / "home", btrfs_room.aside / "snapshot"
    for words in (["create", home], ["create", home / "inner"], ["snapshot", "-r", home, snapshot]):
        subprocess.run(["btrfs", "subvolume", *words], check=True, capture_output=True)
    assert (snapshot / "inner").stat().st_ino == 2
    for _ in range(2):
        assert twinfs("scan", "--cross-file-systems", btrfs_room.aside).status == 0


# ---- a view that walks --------------------------------------------------------------------------

class Walked:
    """A view of two sources without events."""

    def __init__(self, twinfs, source, view):
        self.twinfs, self.source, self.view = twinfs, source, view

    def names(self):
        return {path.name for path in (self.view.path / "uniques/source/listed").iterdir()}

    def lacks_moved(self):
        return ["moved" in source for source in self.view.status()["sources"]]


@pytest.fixture(params=["none", "poll"])
def walked(request, twinfs, source, tmp_path, strace):
    trees.fill(source, {b"listed/1": b"first", b"waits/2": b"second"})
    trees.fill(tmp_path / "other", {b"4": b"fourth"})
    options = ["--wait", f"--watch={request.param}"]
    with twinfs.mounted(source, tmp_path / "other", options=options) as view:
        yield Walked(twinfs, source, view)


@pytest.mark.parametrize("to", ["source/listed", "other"])
def test_view_has_a_file_that_was_moved_past_its_walk(walked, to):
    """Polls pass the roots of all sources first."""
    view, waits = walked.view, walked.source / "waits"
    with held_meanwhile(view.sync, view.pid, waits):
        (waits / "2").rename(walked.source.parent / to / "2")
    assert (view.path / "uniques" / to / "2").exists()
    assert not (view.path / "uniques/source/waits/2").exists()
    assert walked.lacks_moved() == [False, False]


def test_view_of_a_disk_that_rounds_times_has_what_was_moved(twinfs, rounding, strace):
    with twinfs.mounted(rounding, options=["--wait", "--watch=none"]) as view:
        with held_meanwhile(view.sync, view.pid, rounding / "waits"):
            os.rename(rounding / "waits/2", rounding / "listed/2")
        names = {path.name for path in (view.path / "uniques/listed").iterdir()}
        assert (names, "moved" in view.status()["sources"][0]) == ({"1", "2"}, False)


@pytest.fixture(params=["source", "folder of a source"])
def served(request, tmp_path):
    """The operands of a scan, and in them the root of a file system of FUSE on which the ctime of a
    folder is its mtime."""
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(shown_by_fuse(tmp_path, "--ctime-from-mtime"))
        trees.fill(root, {b"listed/1": b"first", b"waits/2": b"second"})
        words = [root]
        if request.param == "folder of a source":
            trees.fill(tmp_path, {b"local/3": b"third"})
            words = ["--cross-file-systems", tmp_path / "local"]
            root = stack.enter_context(bound(root, tmp_path / "local/served"))
        yield words, root


def move_with_times(root):
    """As if the clock of a server were wrong: the folders get the times that they had before."""
    times = {path: path.stat().st_mtime_ns for path in root.iterdir()}
    os.rename(root / "waits/2", root / "listed/2")
    for path, time_ns in times.items():
        os.utime(path, ns=(time_ns, time_ns))


def test_scan_finds_what_was_moved_where_times_of_folders_do_not_tell_it(twinfs, served, strace):
    words, root = served
    twinfs.ok("scan", *words)
    with held_in(root / "waits", twinfs, "scan", *words):
        move_with_times(root)
    assert {name for name in found(twinfs, words[-1]) if "listed" in name} == {
        os.path.relpath(root / "listed" / name, words[-1]) for name in "12"}


def test_view_has_what_was_moved_where_times_of_folders_do_not_tell_it(twinfs, served, strace):
    (*options, source), root = served
    with twinfs.mounted(source, options=["--wait", "--watch=poll", *options]) as view:
        with held_meanwhile(view.sync, view.pid, root / "waits"):
            move_with_times(root)
        listed = view.uniques / root.relative_to(source) / "listed"
        assert {path.name for path in listed.iterdir()} == {"1", "2"}


@pytest.mark.parametrize("goes", ["moved", "removed"])
def test_view_has_the_files_of_a_folder_that_its_walk_did_not_find(walked, goes):
    view, waits, listed = walked.view, walked.source / "waits", walked.source / "listed"
    with held_meanwhile(view.sync, view.pid, "waits", call="openat2"):
        if goes == "moved":
            waits.rename(listed / "waits")
        else:
            (waits / "2").rename(listed / "2")
            waits.rmdir()
    assert walked.lacks_moved() == [False, False]
    assert walked.names() == ({"1", "waits"} if goes == "moved" else {"1", "2"})
    assert not (view.path / "uniques/source/waits").exists()


@contextlib.contextmanager
def renamed_all_the_time(path):
    """Renames a file again and again."""
    ends = threading.Event()

    def rename():
        old = path
        while not ends.is_set():
            old = old.rename(path.with_name(f"{time.monotonic_ns()}"))
        old.rename(path)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(rename)
        try:
            yield
        finally:
            ends.set()
            done.result()


def test_result_that_possibly_lacks_a_moved_file_is_incomplete(walked):
    view, waits = walked.view, walked.source / "waits"
    slow = view.traced("-P", waits, "-e", "inject=getdents64:delay_enter=100ms")
    with slow, renamed_all_the_time(waits / "2"):
        result = walked.twinfs("list", "--singles", view.path)
        assert result.status == 3 and "changed during each of" in result.error.decode(), result
        assert walked.lacks_moved() == [True, True]
        assert b"so files moved to '" in walked.twinfs("status", view.path).out
    assert walked.twinfs("list", "--singles", view.path).status == 0
    assert walked.lacks_moved() == [False, False]

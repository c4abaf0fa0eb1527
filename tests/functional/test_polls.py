# SPDX-License-Identifier: MIT
"""A poll walks folders without a watch in portions. Names move between them, sources come and go,
and events and commands arrive in the middle of it."""
import contextlib
import json
import os
import subprocess
import threading

import changes
import pytest
import storm
import trees
from disks import bound, disk
from few_watches import FEW, followed_inside, unwatched
from processes import attached, is_held, stopped, until
from program import held_meanwhile
from test_live_watch import queue_length
from test_operations import last_walk

FOLDERS = 600  # more than are watched
PASSED = 200  # folders that a slow poll passes in several portions
DEEP = "many/150/deep"  # polls pass it last, as its id is higher than those of all other folders


def build(source, folders):
    """Makes a source that a poll passes in this order: first, the folders in many, the deep one."""
    trees.fill(source, {b"first/1": b"one", b"first/same": b"same"})
    trees.many(source / "many", 2 * folders, lambda number: b"%d" % number, folders=folders)
    trees.fill(source / DEEP, {b"2": b"two", b"same": b"same"})
    return source


@pytest.fixture
def tree(source):
    return build(source, FOLDERS)


@pytest.fixture
def short(source):
    return build(source, PASSED)


@pytest.fixture(params=["none", "poll"])
def polled(request, twinfs, short, strace):
    options = ["--wait", f"--watch={request.param}", "--interval=1h"]
    with twinfs.mounted(short, options=options) as view:
        yield view


def some_folders(tree):
    """More folders than are watched."""
    return [tree / f"many/{number}" for number in range(500, 501 + FEW)]


@contextlib.contextmanager
def polls_slowly(pid, sync, delay="10ms"):
    """Yields a function that returns whether the poll for a barrier has not ended. Each folder
    takes long during the block."""
    thread = threading.Thread(target=sync)
    with attached(pid, "-e", f"inject=getdents64:delay_enter={delay}"):
        thread.start()
        assert until(lambda: is_held(pid))
        yield thread.is_alive
    thread.join()


def polls(view):
    return polls_slowly(view.pid, view.sync)


def shows(view, *paths):
    """Whether the view has one of the paths at least. A name can move from one to the other
    meanwhile."""
    return any((view.uniques / path).exists() for path in (*paths, *paths))


def test_events_do_not_wait_for_the_end_of_a_poll(inside, tree, strace, mount):
    with followed_inside(inside, tree, mount) as (process, at), polls_slowly(
            process.pid, (at / ".twinfs/sync").read_text, delay="200ms") as lasts:
        trees.write(tree / "first/new", b"new")
        assert until(lambda: (at / "uniques/first/new").exists())
        assert lasts()


def test_events_do_not_wait_for_the_end_of_a_walk_that_they_require(twinfs, tree, strace):
    """Nobody waits for a barrier, so the walk is a poll of all folders, watched ones as well."""
    changed, link = tree / DEEP / "same", tree / "links/link"
    slow = [word for folder in (tree / "many").iterdir() for word in ("-P", folder)]
    with twinfs.mounted(tree, options=["--wait", "--watch=inotify", "--interval=1h"]) as view:
        with stopped(view.pid):
            link.parent.mkdir()
            os.link(changed, link)
            trees.write(link, b"written before the folder of the link had a watch")
            link.unlink()
            trees.write(link.parent / "new", b"newer")
        assert until(lambda: (view.uniques / "links/new").exists())
        walked = last_walk(view)
        with attached(view.pid, "-e", "inject=getdents64:delay_enter=100ms", *slow):
            assert until(lambda: is_held(view.pid))
            trees.write(tree / "first/new", b"new")
            assert until(lambda: (view.uniques / "first/new").exists())
            assert last_walk(view) == walked
        assert until(lambda: (view.uniques / DEEP / "same").exists())
        assert view.differences_now(tree) == []


def test_events_that_are_lost_in_a_poll_require_a_walk(inside, tree, strace, mount):
    if queue_length() > 40_000:
        pytest.skip("the queue of inotify is too long to fill it")
    with followed_inside(inside, tree, mount) as (process, at):
        sync = (at / ".twinfs/sync").read_text
        with polls_slowly(process.pid, sync), stopped(process.pid):
            storm.burst(tree / "first")
            trees.write(tree / "first/new", b"new")
        sync()
        assert json.loads((at / ".twinfs/status.json").read_text())["overflows"] > 0
        assert (at / "uniques/first/new").exists()


@pytest.mark.parametrize("what", ["1", "."], ids=["file", "folder"])
def test_name_that_was_moved_to_a_folder_passed_later_is_always_shown(polled, short, what):
    old, new = short / "first" / what, short / DEEP / "moved"
    old.rename(new)
    paths = ("first/1", f"{DEEP}/moved" + ("" if what == "1" else "/1"))
    with polls(polled) as lasts:
        while lasts():
            assert shows(polled, *paths)
    assert polled.differences(short) == []


@pytest.mark.parametrize("what", ["2", "."], ids=["file", "folder"])
def test_name_that_is_moved_to_a_folder_passed_before_is_found(polled, short, what):
    with polls(polled):
        (short / DEEP / what).rename(short / "first/moved")
    assert polled.differences(short) == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_folders_that_are_exchanged_are_shown_exactly(polled, short, when):
    if when == "before":
        changes.exchange(short / "first", short / DEEP)
    with polls(polled):
        if when == "meanwhile":
            changes.exchange(short / "first", short / DEEP)
    assert polled.differences(short) == []


def test_tree_that_is_removed_and_made_again_during_a_poll_is_shown(polled, short):
    kept = short.parent / "kept"
    (short / "many/150").rename(kept)
    with polls(polled):
        kept.rename(short / "many/150")
        trees.write(short / DEEP / "new", b"new")
    assert polled.differences(short) == []


def test_folder_that_was_away_in_a_poll_is_watched_afterwards(inside, tree, strace, mount):
    folder, kept = tree / "many/100/deep", tree.parent / "kept"
    trees.write(folder / "3", b"three")
    with followed_inside(inside, tree, mount) as (process, at):
        sync = (at / ".twinfs/sync").read_text
        inside.permit_watches(process.pid, 4 * FOLDERS)
        folder.rename(kept)
        with held_meanwhile(sync, process.pid, unwatched(process, some_folders(tree))):
            kept.rename(folder)
        trees.write(folder / "new", b"new")
        sync()
        assert (at / "uniques/many/100/deep/new").exists()


def source_state(view):
    """What the status says about the only source."""
    (state,) = json.loads((view / ".twinfs/status.json").read_text())["sources"]
    return state


@contextlib.contextmanager
def changed_all_the_time(folder):
    """Names come and go in a folder during the block."""
    script = 'trap "ended=1" TERM; until [ "$ended" ]; do : >"$0"; rm "$0"; done'
    with subprocess.Popen(["sh", "-c", script, folder / "name"]) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def test_source_that_can_be_watched_at_last_lacks_no_names(inside, tree, strace, mount):
    with followed_inside(inside, tree, mount) as (process, at):
        sync = (at / ".twinfs/sync").read_text
        with changed_all_the_time(unwatched(process, some_folders(tree))):
            sync()
            assert "moved" in source_state(at)
            inside.permit_watches(process.pid, 4 * FOLDERS)
            sync()
        sync()
        assert "moved" not in source_state(at)


def test_more_gone_names_than_are_held_are_removed(twinfs, source):
    trees.many(source, 4200, lambda number: b"%d" % number, folders=4200)
    with twinfs.mounted(source, options=["--wait", "--watch=none"]) as view:
        for folder in source.iterdir():
            for file in folder.iterdir():
                file.unlink()
        trees.write(source / "last", b"last")
        assert view.differences_now(source) == []


def test_barrier_in_a_poll_waits_for_changes_in_passed_folders(twinfs, tree, strace):
    with twinfs.mounted(tree, options=["--wait", "--watch=poll", "--interval=1s"]) as view:
        with held_meanwhile(lambda: None, view.pid, tree / DEEP):
            trees.write(tree / "first/new", b"new")
            sync = threading.Thread(target=view.sync)
            sync.start()
        sync.join()
        assert (view.uniques / "first/new").exists()


def test_folder_that_a_user_may_not_read_any_more_is_exact(as_user, tree, strace, fuse_for_users):
    subprocess.run(["chown", "-hR", str(as_user.user.pw_uid), tree], check=True)
    with as_user.mounted(tree, options=["--wait", "--watch=none"]) as view:
        for mode in 0, 0o700:
            with polls(view):
                os.chmod(tree / "many/300", mode)
            assert view.differences_now(tree) == []


def test_folder_that_is_in_two_sources_is_exact_in_both(twinfs, tree, tmp_path, strace):
    with bound(tree / "many", tmp_path / "shown") as second:
        options = ["--wait", "--watch=none"]
        with twinfs.mounted(tree, second, options=options) as view:
            with polls(view):
                (tree / DEEP / "2").rename(tree / "many/001/2")
            for name in (f"{tree.name}/many", "shown"):
                assert shows(view, f"{name}/001/2")
                assert not shows(view, f"{name}/300/deep/2")


@pytest.mark.parametrize("back", [False, True], ids=["stays away", "is back at once"])
def test_source_that_is_unmounted_in_a_poll_loses_nothing(twinfs, tmp_path, loop_devices, strace,
                                                          back):
    with contextlib.ExitStack() as stack:
        inner = stack.enter_context(disk("ext4", tmp_path, size=32 << 20))
        trees.many(inner / "many", FOLDERS, lambda number: b"%d" % number, folders=FOLDERS)
        source = tmp_path / "source"
        subprocess.run(["mount", "--bind", inner, source.mkdir() or source], check=True)
        stack.callback(subprocess.run, ["umount", "-l", source], check=False,
                       capture_output=True)
        with twinfs.mounted(source, options=["--wait", "--watch=none"]) as view:
            count = len(list((view.uniques / "many").iterdir()))
            with polls(view):
                subprocess.run(["umount", "-l", source], check=True)
                if back:
                    subprocess.run(["mount", "--bind", inner, source], check=True)
            assert len(list((view.uniques / "many").iterdir())) == count == FOLDERS
            if not back:
                subprocess.run(["mount", "--bind", inner, source], check=True)
            trees.write(source / "many/000/new", b"new")
            assert view.differences_now(source) == []

# SPDX-License-Identifier: MIT
"""Renames in a source reach programs that watch the view as pairs of events with one cookie."""
import os

from processes import until
from test_refresh import listed, owner, run_as, shell_in, view_hash
from test_refresh_order import settled, write
from watchers import Recursive

assert owner  # a fixture


def poke(owner, view, watcher):
    """Has the daemon find the watches."""
    count = len(watcher.state()["watched"])
    write(owner, "poke", b"poke")
    assert settled(view, watcher)
    assert until(lambda: view.status()["refreshed"] + view.status()["refreshed_files"] >= count)


def moves(view, watcher):
    """[(old path, new path)] in the view, by the cookies of the events."""
    left, found = {}, []
    for kind, folder, name, _, cookie in watcher.state()["events"]:
        path = os.path.relpath(f"{folder}/{name}", view.path)
        if kind == "MOVED_FROM":
            left[cookie] = path
        elif kind == "MOVED_TO":
            found.append((left.pop(cookie), path))
    assert not left
    return found


def rename(owner, view, watcher, old, new):
    (owner.source / old).rename(owner.source / new)
    assert settled(view, watcher)


RENAMES = [("a/old", "a/new"), ("a/away", "b/away"), ("a/inner", "a/renamed"), ("a/far", "b/near"),
           ("b/near/deep", "deep"), ("b", "c")]


def test_renames_are_pairs_of_events(owner):
    """Of files and folders, in their folder and to another one; the watches stay."""
    for path in ("a/old", "a/away", "a/inner/f", "a/far/deep/f", "b/f"):
        write(owner, path, path.encode())
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        poke(owner, view, watcher)
        watched = len(watcher.state()["watched"])
        before = len(watcher.events("CREATE", "DELETE"))
        for old, new in RENAMES:
            rename(owner, view, watcher, old, new)
        expected = [(f"uniques/{old}", f"uniques/{new}") for old, new in RENAMES]
        assert until(lambda: moves(view, watcher) == expected), watcher.events()
        assert len(watcher.events("CREATE", "DELETE")) == before, watcher.events()
        assert len(watcher.events("MOVE_SELF")) == 4  # of the folders
        assert not watcher.events("DELETE_SELF")
        assert len(watcher.state()["watched"]) == watched
        write(owner, "deep/g", b"in a moved folder")
        assert settled(view, watcher)
        assert ("CREATE", str(view.uniques / "deep"), "g") in watcher.events()


def test_renamed_copy_is_a_pair_of_events_in_its_group(owner):
    with owner.mounted(owner.source) as view:
        group = view.dups / view_hash(view, owner, "file")
        redundant = next(name for name in ("file", "folder/copy")
                         if name in run_as(owner, "find", view.redundant))
        with Recursive(view, group, view.redundant) as watcher:
            poke(owner, view, watcher)
            rename(owner, view, watcher, redundant, f"{redundant} new")
            name = os.path.relpath(group, view.path) + "/" + redundant.replace("/", "∕")
            expected = {(name, f"{name} new"),
                        (f"redundant/{redundant}", f"redundant/{redundant} new")}
            assert until(lambda: set(moves(view, watcher)) == expected), watcher.events()


def test_program_in_a_moved_folder_can_use_it(owner):
    """Its working directory, and a file that it has open, have the new path."""
    write(owner, "top/inner/f", b"first\n")
    write(owner, "other/g", b"second\n")
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        poke(owner, view, watcher)
        with shell_in(owner, view.uniques / "top/inner") as shell:
            rename(owner, view, watcher, "top/inner", "other/moved")
            assert until(lambda: moves(view, watcher)), watcher.events()
            assert os.readlink(f"/proc/{shell.pid}/cwd") == str(view.uniques / "other/moved")
            rename(owner, view, watcher, "other", "last")
            assert until(lambda: len(moves(view, watcher)) == 2), watcher.events()
            assert os.readlink(f"/proc/{shell.pid}/cwd") == str(view.uniques / "last/moved")
            assert shell.communicate(b"\n")[0] == b"f\n"
        assert listed(owner, view.uniques / "last") == {"g", "moved"}
        assert "other" not in listed(owner, view.uniques)
        assert run_as(owner, "cat", view.uniques / "last/moved/f") == "first\n"
        assert "No such file" in run_as(owner, "cat", view.uniques / "other/g")
        assert view.differences_now(owner.source) == []


def test_chains_swaps_and_replaced_names_end_with_the_names_of_the_view(owner):
    for name in ("a", "b", "c", "d", "e", "x/f", "y/g", "z/h"):
        write(owner, name, name.encode())
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        poke(owner, view, watcher)
        source = owner.source
        for chain in (("b", "n"), ("a", "b"), ("c", "t"), ("d", "c"), ("t", "d"), ("e", "n"),
                      ("z", "new"), ("y", "z"), ("x", "y")):
            (source / chain[0]).rename(source / chain[1])
        assert settled(view, watcher), watcher.wrong()
        assert view.differences_now(source) == []


def test_name_that_leaves_for_an_unwatched_folder_is_removed(owner):
    write(owner, "a/f", b"a/f")
    write(owner, "b/g", b"b/g")
    with owner.mounted(owner.source) as view:
        with Recursive(view, view.uniques / "a") as watcher:
            poke(owner, view, watcher)
            rename(owner, view, watcher, "a/f", "b/f")
            rename(owner, view, watcher, "b/g", "a/g")
            assert watcher.events("CREATE", "DELETE") == [
                ("DELETE", str(view.uniques / "a"), "f"), ("CREATE", str(view.uniques / "a"), "g")]

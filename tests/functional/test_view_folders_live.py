# SPDX-License-Identifier: MIT
"""folders/ after changes: it shows the present groups, and the kernel repeats nothing older.

differences_now() compares with an independent oracle after a sync. A Seen lets the kernel cache
everything before each change. TWINFS_TEST_SEEDS is the number of random histories.
"""
import contextlib
import os
import shutil

import changes
import pytest
import trees
from changes import move_ctime
from equal_folders import copy_tree
from folder_trees import retarget
from test_folder_groups import BYTES, FOLDER, HISTORIES, Link, disturb, make_forest, plant
from test_gate import open_fails, served
from test_live_caches import SlowReader, close_anyhow, stale_or
from test_live_files import Follower
from view_folders import (
    Seen,
    differences,
    differences_now,
    entries,
    entry_of,
    groups,
    own,
    parts,
    shown_as,
)

ROUNDS = 5
STEPS = 12
SLASH = "\u2215"
FOUR = {"s/x": BYTES, "s/none": b"", "y": b"1" * 500, "l": Link("y"), "empty": FOLDER}


@pytest.fixture
def tree(source):
    """Three equal folders below `up`, and a further copy of their folder s."""
    plant(source, {f"up/{folder}/{name}": thing for folder in "abc"
                   for name, thing in FOUR.items()})
    copy_tree(source / "up/a/s", source / "d")
    (source / "out").mkdir()
    return source


ALL = {shown_as("up/a", "up/b", "up/c"), shown_as("up/a/s", "up/b/s", "up/c/s", "d")}
NOT_B = {shown_as("up/a", "up/c"), shown_as("up/a/s", "up/b/s", "up/c/s", "d")}

# {what: (change, groups, change back)}; None: the groups are those before
LIVE = {
    "a byte": (lambda at: changes.rewrite(at / "up/b/y", b"2" * 500), NOT_B,
               lambda at: changes.rewrite(at / "up/b/y", b"1" * 500)),
    "a byte of a subfolder": (
        lambda at: changes.rewrite(at / "up/b/s/x", BYTES[::-1]),
        {shown_as("up/a", "up/c"), shown_as("up/a/s", "up/c/s", "d")},
        lambda at: changes.rewrite(at / "up/b/s/x", BYTES)),
    "another byte in all": (
        lambda at: [changes.rewrite(at / f"up/{name}/y", b"3" * 500) for name in "abc"], None,
        lambda at: [changes.rewrite(at / f"up/{name}/y", b"1" * 500) for name in "abc"]),
    "a new name": (lambda at: trees.write(at / "up/b/new"), NOT_B,
                   lambda at: os.unlink(at / "up/b/new")),
    "a new name in all": (
        lambda at: [trees.write(at / f"up/{name}/new", b"new") for name in "abc"], None,
        lambda at: [os.unlink(at / f"up/{name}/new") for name in "abc"]),
    "a name less in all": (
        lambda at: [os.rename(at / f"up/{name}/y", at / f"out/{name}") for name in "abc"], None,
        lambda at: [os.rename(at / f"out/{name}", at / f"up/{name}/y") for name in "abc"]),
    "another target": (lambda at: retarget(os.fsencode(at / "up/b/l"), b"s"), NOT_B,
                       lambda at: retarget(os.fsencode(at / "up/b/l"), b"y")),
    "another target in all": (
        lambda at: [retarget(os.fsencode(at / f"up/{name}/l"), b"s") for name in "abc"], None,
        lambda at: [retarget(os.fsencode(at / f"up/{name}/l"), b"y") for name in "abc"]),
    "another kind": (
        lambda at: (os.unlink(at / "up/b/y"), os.mkdir(at / "up/b/y")), NOT_B,
        lambda at: (os.rmdir(at / "up/b/y"), trees.write(at / "up/b/y", b"1" * 500))),
    "an empty folder more": (lambda at: os.mkdir(at / "up/b/empty/in it"), NOT_B,
                             lambda at: os.rmdir(at / "up/b/empty/in it")),
    "a copy": (lambda at: copy_tree(at / "up/a", at / "e"),
               {shown_as("up/a", "up/b", "up/c", "e"),
                shown_as("up/a/s", "up/b/s", "up/c/s", "d", "e/s")},
               lambda at: shutil.rmtree(at / "e")),
    "a copy less": (lambda at: os.rename(at / "up/b", at.parent / "aside"),
                    {shown_as("up/a", "up/c"), shown_as("up/a/s", "up/c/s", "d")},
                    lambda at: os.rename(at.parent / "aside", at / "up/b")),
    "a renamed copy": (
        lambda at: os.rename(at / "up/b", at / "out/B"),
        {shown_as("up/a", "out/B", "up/c"), shown_as("up/a/s", "out/B/s", "up/c/s", "d")},
        lambda at: os.rename(at / "out/B", at / "up/b")),
    "a renamed folder above the copies": (
        lambda at: os.rename(at / "up", at / "down"),
        {shown_as("down/a", "down/b", "down/c"), shown_as("down/a/s", "down/b/s", "down/c/s", "d")},
        lambda at: os.rename(at / "down", at / "up")),
    "a renamed folder in a copy": (
        lambda at: os.rename(at / "up/b/s", at / "up/b/t"),
        {shown_as("up/a", "up/c"), shown_as("up/a/s", "up/b/t", "up/c/s", "d")},
        lambda at: os.rename(at / "up/b/t", at / "up/b/s")),
    "a renamed folder in all": (
        lambda at: [os.rename(at / f"up/{name}/s", at / f"up/{name}/t") for name in "abc"],
        {shown_as("up/a", "up/b", "up/c"), shown_as("up/a/t", "up/b/t", "up/c/t", "d")},
        lambda at: [os.rename(at / f"up/{name}/t", at / f"up/{name}/s") for name in "abc"]),
    "no copy elsewhere": (lambda at: os.rename(at / "d", at.parent / "aside"),
                          {shown_as("up/a", "up/b", "up/c")},
                          lambda at: os.rename(at.parent / "aside", at / "d")),
    "equal parents": (
        lambda at: copy_tree(at / "up", at / "more"),
        {shown_as("up", "more"), shown_as(*(f"{top}/{name}/s" for top in ("up", "more")
                                      for name in "abc"), "d")},
        lambda at: shutil.rmtree(at / "more")),
    "exchanged": (lambda at: changes.exchange(at / "up/b/s", at / "d"), None,
                  lambda at: changes.exchange(at / "up/b/s", at / "d")),
    "touched": (lambda at: os.utime(at / "up/b/s/x", ns=(5, 7)), None,
                lambda at: os.utime(at / "up/b", ns=(7, 9))),
    "another mode": (lambda at: (os.chmod(at / "up/b/s", 0o750), os.chmod(at / "up/b/y", 0o604)),
                     None, lambda at: os.chmod(at / "up/b", 0o711)),
    "another attribute": (lambda at: os.setxattr(at / "up/b/s", "user.note", b"new"), None,
                          lambda at: os.removexattr(at / "up/b/s", "user.note")),
    "hard links": (
        lambda at: [os.replace(at / "out/l", at / f"up/{name}/y") for name in "bc"
                    if not os.link(at / "up/a/y", at / "out/l")], None,
        lambda at: [os.unlink(at / f"up/{name}/y") or trees.write(at / f"up/{name}/y", b"1" * 500)
                    for name in "bc"]),
    "no bytes": (
        lambda at: [os.truncate(at / name, 0) for name in (
            "d/x", *(f"up/{name}/{file}" for name in "abc" for file in ("s/x", "y")))], set(),
        lambda at: [changes.rewrite(at / name, BYTES) for name in (
            "d/x", *(f"up/{name}/s/x" for name in "abc"))] and
        [changes.rewrite(at / f"up/{name}/y", b"1" * 500) for name in "abc"]),
}


@pytest.mark.parametrize("shared", [False, True])
def test_present_groups_are_shown_after_each_change(request, twinfs, tree, shared):
    if shared:
        request.getfixturevalue("root_only")
    options = ("--wait", *("-o", "allow_other") * shared)
    with twinfs.mounted(tree, options=options) as view:
        seen = Seen(view)
        assert seen.wrong() == [] and groups(view) == ALL
        for what, (change, expected, back) in list(LIVE.items())[::5 if shared else 1]:
            change(tree)
            view.sync()
            assert seen.wrong() == [], what
            assert groups(view) == (ALL if expected is None else expected), what
            assert differences(view, tree) == [], what
            back(tree)
            view.sync()
            assert seen.wrong() == [], f"{what}, back"
            assert groups(view) == ALL, f"{what}, back"
        assert differences(view, tree) == []


def test_bytes_read_before_a_change_are_not_read_again(twinfs, tree):
    with twinfs.mounted(tree) as view:
        for number in range(4):
            data = trees.content(number, 5000)
            for name in ("up/a/s/x", "up/b/s/x", "up/c/s/x", "d/x"):
                changes.keep_mtime(tree / name, lambda name=name, data=data: changes.rewrite(
                    tree / name, data))
            view.sync()
            for entry in entries(view):
                for path in entry.rglob("x"):
                    assert path.read_bytes() == path.read_bytes() == data
            assert groups(view) == ALL


@pytest.mark.parametrize("seed", HISTORIES)
@pytest.mark.parametrize("kind", ["plain", "killed", "overflow"])
def test_random_history_has_the_entries_of_the_oracle(twinfs, tmp_path, kind, seed):
    forest, roots, *_ = make_forest(tmp_path, seed + 10)
    with contextlib.ExitStack() as views:
        view = views.enter_context(twinfs.mounted(*roots))
        seen = Seen(view)
        for number in range(ROUNDS):
            if number % 2:
                view = disturb(kind, twinfs, forest, view, views, ())
            forest.steps(forest.rng.choice((1, STEPS, 4 * STEPS)))
            view.sync()
            assert seen.wrong() == [], f"round {number}"
            assert differences(view, *roots) == [], f"round {number}"


# events

class Told:
    """The groups of folders that the events of a view tell of, by their numbers."""

    def __init__(self, view, follower):
        self.view, self.follower, self.groups = view, follower, {}

    def shown(self):
        """(bytes, folders) of each entry, sorted."""
        return sorted(tuple(int(own(entry, name)) for name in ("size", "copies"))
                      for entry in entries(self.view))

    def take(self):
        self.follower.take()
        for line in self.follower.lines:
            assert line["event"] != "missed"
            if line["event"].startswith("folders_"):
                self.follow(line)
        self.follower.lines.clear()

    def follow(self, line):
        what, number = line["event"], line["group"]
        assert (what == "folders_appeared") == (number not in self.groups), line
        if what == "folders_gone":
            assert line["folders"] == 0 and self.groups.pop(number)[0] == line["size"], line
        else:
            assert self.groups.get(number) != (line["size"], line["folders"]), line
            self.groups[number] = (line["size"], line["folders"])


@pytest.mark.parametrize("seed", HISTORIES)
def test_events_tell_of_all_entries_that_come_and_go(twinfs, tmp_path, seed):
    forest, roots, *_ = make_forest(tmp_path, seed + 20)
    hidden = [root.parent / f"{root.name} hidden" for root in roots]
    for root, name in zip(roots, hidden, strict=True):
        os.rename(root, name)
        root.mkdir()
    with twinfs.mounted(*roots) as view, Follower(view) as follower:
        told = Told(view, follower)
        assert told.shown() == []
        for root, name in zip(roots, hidden, strict=True):
            for child in os.listdir(name):
                os.rename(name / child, root / child)
        for number in range(2 * ROUNDS):
            view.sync()
            told.take()
            assert sorted(told.groups.values()) == told.shown(), f"round {number}"
            forest.steps(forest.rng.choice((1, STEPS, 4 * STEPS)))


# open files and folders

def test_folder_with_a_file_that_is_open_for_writing_is_not_shown(twinfs, tree):
    with twinfs.mounted(tree) as view:
        with open(tree / "up/b/y", "r+b", buffering=0) as file:
            file.write(b"1")
            view.sync()
            assert groups(view) == NOT_B
        assert differences_now(view, tree) == []
        assert groups(view) == ALL


def test_open_folder_lists_its_current_names(twinfs, tree):
    with twinfs.mounted(tree) as view, contextlib.ExitStack() as stack:
        def opened(path):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(close_anyhow, handle)
            return handle

        top = opened(view.folders)
        assert set(os.listdir(top)) == set(parts(view))
        entry = entry_of(view, *shown_as("up/a", "up/b", "up/c"))
        copies = opened(entry)
        assert set(os.listdir(copies)) == set(shown_as("up/a", "up/b", "up/c"))
        os.rename(tree / "up", tree / "down")
        view.sync()
        assert set(os.listdir(top)) == set(parts(view))
        assert set(os.listdir(copies)) == set(shown_as("down/a", "down/b", "down/c"))
        changes.rewrite(tree / "down/b/y", b"2" * 500)
        view.sync()
        assert set(os.listdir(top)) == set(parts(view))


def test_times_of_folders_change_with_the_entries(twinfs, tree):
    """Also for a program that has it open: file managers list it again after that."""
    with twinfs.mounted(tree) as view:
        handle = os.open(view.folders, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for number in range(2):
                before = os.fstat(handle)
                copy_tree(tree / "up/a", tree / f"e{number}")
                view.sync()
                for now in (os.fstat(handle), os.stat(view.folders)):
                    assert now.st_mtime_ns > before.st_mtime_ns
                    assert now.st_ctime_ns > before.st_ctime_ns
        finally:
            os.close(handle)


def test_ctime_of_an_entry_changes_with_its_copies(twinfs, tree):
    with twinfs.mounted(tree) as view:
        handle = os.open(entry_of(view, *shown_as("up/a", "up/b", "up/c")), os.O_PATH)
        try:
            before = os.fstat(handle).st_ctime_ns
            copy_tree(tree / "up/a", tree / "e")
            view.sync()
            assert os.fstat(handle).st_ctime_ns > before
        finally:
            os.close(handle)


def test_open_file_never_gives_bytes_of_two_contents(twinfs, source):
    old = trees.content("old", 3_000_000)
    new = trees.content("new", len(old))
    plant(source, {"a/x": old, "b/x": old})
    with twinfs.mounted(source) as view:
        [entry] = entries(view)
        with open(entry / "b/x", "rb", buffering=0) as file:
            data = file.read(100_000)
            changes.keep_mtime(source / "b/x", lambda: changes.rewrite(source / "b/x", new))
            view.sync()
            assert stale_or(old, lambda: data + file.read())
        assert parts(view) == []
        assert (view.uniques / "b/x").read_bytes() == new


@pytest.fixture
def blind(twinfs, source):
    """A view without events, so that only the gate can withhold wrong bytes."""
    plant(source, {"a/x": BYTES, "a/s/y": b"1", "b/x": BYTES, "b/s/y": b"1"})
    with twinfs.mounted(source, options=("--wait", "--watch=none")) as view:
        yield view


def test_file_that_was_written_to_is_stale(blind, source):
    [entry] = entries(blind)
    assert (entry / "b/x").read_bytes() == BYTES
    changes.keep_mtime(source / "b/x", lambda: changes.rewrite(source / "b/x", BYTES[::-1]))
    assert served(entry / "b/x") in (None, BYTES[::-1])
    assert (source / "a/x").read_bytes() == BYTES
    assert differences_now(blind, source) == []
    assert groups(blind) == {("a\u2215s", "b\u2215s")}


def test_file_that_was_replaced_is_stale(blind, source):
    [entry] = entries(blind)
    os.replace(trees.write(source / "next", BYTES[::-1]), source / "b/x")
    os.rename(source / "a/s", source / "a/t")
    assert served(entry / "b/x") in (None, BYTES[::-1])
    assert open_fails(entry / "a/s/y")
    assert differences_now(blind, source) == []


def test_file_whose_ctime_moved_is_compared_and_read(blind, source):
    [entry] = entries(blind)
    move_ctime([source / "b/x", source / "a/s/y"], "+d")
    assert (entry / "b/x").read_bytes() == BYTES
    assert (entry / "a/s/y").read_bytes() == b"1"


# long listings

def big(source):
    """A group of 3,000 folders, some of which are known for longer than the others."""
    for number in range(300):
        trees.write(source / f"early/{number:04}/x", BYTES)
    for number in range(2700):
        trees.write(source / f"stays/{number:04}/x", BYTES)
    return {f"stays{SLASH}{number:04}" for number in range(2700)}


@pytest.mark.skipif(SlowReader.GETDENTS64 is None, reason="number of the system call not known")
def test_folders_that_stay_are_listed_once_by_each_of_several_readers(twinfs, source):
    stays = big(source)
    with twinfs.mounted(source) as view, contextlib.ExitStack() as stack:
        [entry] = entries(view)
        assert len(os.listdir(entry)) == 3000
        readers = [SlowReader(entry) for _ in range(3)]
        for reader in readers:
            stack.callback(close_anyhow, reader.handle)
        for turn in range(8):
            for index, reader in enumerate(readers):
                if turn % (index + 1) == 0:
                    reader.step()
            for number in range(10 * turn, 10 * turn + 10):
                shutil.rmtree(source / f"early/{number:04}")
                trees.write(source / f"late/{number}/x", BYTES)
            trees.write(source / f"pairs/{turn}/one/x", b"%d" % turn)
            trees.write(source / f"pairs/{turn}/two/x", b"%d" % turn)
            view.sync()
            [whole] = [entry for entry in entries(view) if "(3000\u00a0copies" in entry.name]
            assert stays < set(os.listdir(whole))
        assert readers[-1].step(), "it was at its end too early"
        for reader in readers:
            while reader.step():
                pass
            assert len(set(reader.cookies)) == len(reader.cookies) == len(set(reader.names))
            assert stays <= set(reader.names)
        assert differences_now(view, source, every=10) == []

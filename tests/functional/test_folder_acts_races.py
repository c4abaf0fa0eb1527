# SPDX-License-Identifier: MIT
"""Folder acts while another program changes the folders. strace holds the act at a system call, so
that each change comes at a chosen moment, or delays each call, so that it comes at any moment.

The stress acts on $TWINFS_RACE_ROUNDS folders (20) for each act.
"""
import contextlib
import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest
import trees
from disks import disk
from equal_folders import copy_tree
from folder_acts import (
    ACTS,
    OTHER,
    act_while,
    act_words,
    contents,
    is_being_emptied,
    make_pair,
    private_names,
    snapshot,
    thrown_away,
)
from processes import is_held, release, until
from program import Program

ROUNDS = int(os.environ.get("TWINFS_RACE_ROUNDS", "20"))
NEW = b"written by another program"
ALL = pytest.mark.parametrize("act", ACTS)


@pytest.fixture
def pair(twinfs, source):
    found = make_pair(source)
    trees.write(source / "c/other", b"z")
    twinfs.ok("scan", source)
    return found


@pytest.fixture
def moved(tmp_path):
    folder = tmp_path / "moved"
    folder.mkdir()
    return folder


def is_settled(twinfs, *folders):
    """Asserts that nothing is left of the act."""
    assert not private_names(*folders)
    journal = twinfs.index / "acts"
    assert not journal.exists() or journal.stat().st_size == 0


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(NEW)


# between the comparison and the rename

@ALL
@pytest.mark.parametrize("change, text", [
    (lambda kept, copy: overwrite(copy / "one"), "no longer equal"),
    (lambda kept, copy: overwrite(kept / "sub/two"), "no longer equal"),
    (lambda kept, copy: os.truncate(copy / "sub/two", 10), "no longer equal"),
    (lambda kept, copy: trees.write(copy / "sub/deep/new", NEW), "is not in the kept folder"),
    (lambda kept, copy: (copy / "new").symlink_to("x"), "is not in the kept folder"),
    (lambda kept, copy: os.rename(copy / "one", copy / "renamed"), "is not in the kept folder"),
    (lambda kept, copy: os.rename(kept, kept.parent / "away"), "kept file is no longer"),
    (lambda kept, copy: (kept / "none").unlink(), "is not in the kept folder"),
], ids=["copy written", "kept written", "copy truncated", "new file", "new symlink", "renamed",
        "kept folder renamed", "kept name removed"])
def test_change_before_the_rename_keeps_the_whole_folder(twinfs, pair, source, moved, strace, act,
                                                         change, text):
    kept, copy = pair
    before = []

    def attack():
        change(kept, copy)
        before.append(contents(snapshot(source)))

    status, error = act_while(twinfs, act_words(act, source, moved), attack)
    assert status == 3 and text in error, error
    assert contents(snapshot(source)) == before[0]
    is_settled(twinfs, source, moved)


@ALL
@pytest.mark.parametrize("name", ["a/one", "b/one", "b/sub/deep/three"])
def test_writer_before_the_rename_keeps_the_whole_folder(twinfs, pair, source, moved, strace, act,
                                                         name):
    before = contents(snapshot(source))
    with contextlib.ExitStack() as stack:
        status, error = act_while(twinfs, act_words(act, source, moved),
                                  lambda: stack.enter_context(open(source / name, "r+b")))
        assert status == 3 and "open for writing" in error, error
        assert contents(snapshot(source)) == before
    is_settled(twinfs, source, moved)


@ALL
@pytest.mark.parametrize("which", ["source", "parent of the copy"])
def test_renamed_parent_keeps_the_whole_folder(twinfs, source, moved, tmp_path, strace, act, which):
    (source / "in").mkdir()
    kept, copy = make_pair(source / "in")
    (source / "up").mkdir()
    kept.rename(source / "up/a")
    twinfs.ok("scan", source)
    whole = contents(snapshot(copy))
    place = source if which == "source" else copy.parent
    away = tmp_path / "away"
    status, error = act_while(twinfs, act_words(act, source, moved, f"--protect={source}/up/a"),
                              lambda: place.rename(away))
    assert status in (1, 3), error
    found = away / copy.relative_to(place)
    assert contents(snapshot(found)) == whole
    assert not private_names(away, moved)


# after the rename: only a program with an open directory reaches the files

@ALL
@pytest.mark.parametrize("change", [
    lambda at: at("sub/deep/three", os.O_WRONLY),
    lambda at: at("sub/new", os.O_WRONLY | os.O_CREAT),
    lambda at: at("one", os.O_WRONLY | os.O_TRUNC),
], ids=["written", "new file", "truncated"])
def test_change_after_the_rename_returns_the_whole_folder(twinfs, pair, source, moved, strace, act,
                                                          change):
    _, copy = pair
    whole = contents(snapshot(copy))
    folder = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    changed = []

    def open_below(path, flags):
        fd = os.open(path, flags, 0o600, dir_fd=folder)
        os.write(fd, NEW)
        os.close(fd)
        changed.append(path)

    try:
        status, error = act_while(twinfs, act_words(act, source, moved),
                                  lambda: change(open_below), after=True)
    finally:
        os.close(folder)
    assert status == 3, error
    assert (copy / changed[0]).read_bytes().startswith(NEW)
    links = {"one", "sub/one again"} if changed[0] == "one" else {changed[0]}
    found = contents(snapshot(copy))
    assert {path: found[path] for path in found if str(path) not in links} == {
        path: whole[path] for path in whole if str(path) not in links}
    is_settled(twinfs, source, moved)


@ALL
def test_new_folder_at_the_old_path_keeps_both(twinfs, pair, source, moved, strace, act):
    kept, copy = pair
    whole = contents(snapshot(copy))

    def attack():
        trees.write(copy / "mine", NEW)
        overwrite(kept / "one")

    status, error = act_while(twinfs, act_words(act, source, moved), attack, after=True)
    assert status == 3 and "b.kept-1" in error, error
    assert os.listdir(copy) == ["mine"]
    assert contents(snapshot(source / "b.kept-1")) == whole
    is_settled(twinfs, source, moved)


def test_new_folder_at_the_old_path_stays_if_the_act_is_done(twinfs, pair, source, moved, strace):
    kept, copy = pair
    before = snapshot(kept)
    status, error = act_while(twinfs, act_words("remove", source, moved),
                              lambda: trees.write(copy / "mine", NEW), after=True)
    assert status == 0, error
    assert os.listdir(copy) == ["mine"] and snapshot(kept) == before
    is_settled(twinfs, source)


# while the folder is emptied

@pytest.mark.parametrize("removal", [0, 1, 4, 7, 9])
@pytest.mark.parametrize("change", ["kept written", "copy written", "new file",
                                    "kept name removed"])
def test_change_while_the_folder_is_emptied_brings_all_back(twinfs, pair, source, moved, strace,
                                                            removal, change):
    kept, copy = pair
    whole = contents(snapshot(copy))
    folder = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    twinfs.ok("scan", source)

    def attack():
        name = "one" if removal < 9 else "none"
        if change == "kept written":
            overwrite(kept / "none")
        elif change == "kept name removed":
            (kept / "none").unlink()
        elif change == "new file":
            os.close(os.open("new", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder))
        else:
            with contextlib.suppress(FileNotFoundError):
                fd = os.open(name, os.O_WRONLY, dir_fd=folder)
                os.write(fd, NEW)
                os.close(fd)

    try:
        status, error = act_while(twinfs, act_words("remove", source, moved), attack,
                                  call="unlinkat", when=1 + removal)
    finally:
        os.close(folder)
    found = snapshot(copy)
    if status == 0:  # too late: the file was removed already
        assert found is None and change != "new file", error
        is_settled(twinfs, source)
        return
    assert status == 3 and "interrupted" not in error, error
    found = contents(found)
    changed = {path for path in found if found[path] != whole.get(path)}
    assert {str(path) for path in changed} <= {"one", "sub/one again", "none", "new"}, changed
    assert found.keys() >= whole.keys(), error
    if change == "copy written":
        assert any(content and content.startswith(NEW)
                   for *_, content, _ in found.values() if isinstance(content, bytes))
    is_settled(twinfs, source)


def test_file_that_comes_back_after_the_check_has_its_own_record(twinfs, pair, source, tmp_path,
                                                                 strace):
    """A file leaves the folder before the check under the private name, and comes back after its
    folder was read there."""
    _, copy = pair
    whole = contents(snapshot(copy))
    folder = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    traced = twinfs.under_strace("-e", "trace=renameat2,fsync",
                                 "-e", "inject=renameat2:delay_enter=700000:when=1",
                                 "-e", "inject=fsync:delay_enter=150000")
    try:
        with traced.started(*act_words("remove", source, None)) as process:
            assert until(lambda: is_held(process.pid))
            os.rename(copy / "none", tmp_path / "none")
            assert until(lambda: private_names(source) and is_held(process.pid))
            os.rename(tmp_path / "none", "none", dst_dir_fd=folder)
            _, error = process.communicate(timeout=60)
    finally:
        os.close(folder)
    assert not copy.exists() or contents(snapshot(copy)) == whole, error
    twinfs("undo", "--yes")
    assert contents(snapshot(copy)) == whole, error


def test_folder_that_is_brought_back_frees_nothing(twinfs, pair, source, strace):
    kept, _ = pair
    with twinfs.held(*act_words("remove", source, None), call="unlinkat", when=7) as process:
        assert is_being_emptied(source, "sub")
        (kept / "none").rename(source / "away")
        release(process)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 3, error
    assert b"freed       0 bytes" in out, out


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call, name", [(2, "sub/deep/three"), (3, "sub/link"), (5, "sub/two"),
                                        (8, "one")])
def test_file_that_replaces_another_while_the_folder_is_emptied_stays(
        twinfs, pair, source, moved, strace, call, name, after):
    """A program with this working directory saves a file by a rename. The act gives each file a
    private name before it removes it."""
    _, copy = pair
    whole = contents(snapshot(copy)).keys()
    folder = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    trees.write(source / "saved", NEW)
    twinfs.ok("scan", source)

    def save():
        os.rename(source / "saved", name, dst_dir_fd=folder)

    try:
        status, error = act_while(twinfs, act_words("remove", source, moved), save, when=call,
                                  after=after)
    finally:
        os.close(folder)
    assert status == 3, error
    assert (copy / name).read_bytes() == NEW
    assert contents(snapshot(copy)).keys() == whole
    is_settled(twinfs, source)


def test_kept_folder_that_is_renamed_while_the_copy_is_emptied_loses_nothing(
        twinfs, pair, source, moved, strace):
    kept, copy = pair
    away = source / "away"
    before = trees.every_content(source)
    status, error = act_while(twinfs, act_words("remove", source, moved), lambda: kept.rename(away),
                              call="unlinkat", when=4)
    assert status == 3 and "twinfs undo" in error, error
    assert copy.exists() and trees.every_content(source) == before
    is_settled(twinfs, source)
    whole = snapshot(away).keys()
    twinfs.ok("scan", source)
    first, = {line.split()[0] for line in twinfs.ok("log").lines if b"remove" in line}
    twinfs("undo", "--yes", first.decode())
    assert snapshot(copy).keys() >= {path for path in whole}


# at any moment

class Pair:
    """A kept folder and its copy."""

    def __init__(self, source, number):
        self.number = number
        self.kept, self.copy = source / f"a/{number:04}", source / f"b/{number:04}"
        for name in ("1", "sub/2", "sub/3"):
            trees.write(self.kept / name, f"{number} {name} ".encode() * 500)
        self.copy.parent.mkdir(exist_ok=True)
        copy_tree(self.kept, self.copy)
        self.inode = self.copy.stat().st_ino
        self.originals = trees.every_content(self.kept)
        self.written = []

    def data(self, word):
        return f"{word} {self.number} {len(self.written)} ".encode() * 300

    def store(self, path, flags, dir_fd=None):
        data = self.data("written")
        fd = os.open(path, flags, 0o600, dir_fd=dir_fd)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, data)
            self.written.append(data)
        finally:
            os.close(fd)


def find(pair):
    """The copy, at its path or under its private name. Another folder can have such a name."""
    for entry in os.scandir(pair.copy.parent):
        if entry.name.startswith(OTHER) and entry.inode() == pair.inode:
            return Path(entry.path)
    return pair.copy


def write_copy(pair):
    pair.store(find(pair) / "sub/2", os.O_WRONLY)


def drop_in(pair):
    pair.store(find(pair) / "sub/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def replace_in_copy(pair):
    data = pair.data("written")
    place = find(pair) / "sub"
    trees.write(pair.copy.parents[1] / f"outside {pair.number}", data)
    os.rename(pair.copy.parents[1] / f"outside {pair.number}", place / "3")
    pair.written.append(data)


def write_kept(pair):
    """Adds to a kept file. The bytes before stay, so the attack itself destroys no content that
    only the kept folder has."""
    with open(pair.kept / "sub/2", "ab") as file:
        file.write(b"more")
    pair.written.append((pair.kept / "sub/2").read_bytes())


def recreate(pair):
    pair.store(make_at(pair.copy / "1"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def make_at(path):
    path.parent.mkdir(exist_ok=True)
    return path


ATTACKS = [write_copy, drop_in, replace_in_copy, write_kept, recreate]


def attack_all(pairs, attack, ended):
    order = random.Random(0)
    waiting = list(pairs)
    order.shuffle(waiting)
    while waiting and not ended.is_set():
        names = [name for name in os.listdir(pairs[0].copy.parent) if name.startswith(OTHER)]
        gone = [pair for pair in waiting if not pair.copy.exists()]
        if names and gone and order.random() < 0.7:
            victim = gone[-1]  # acted on now
        elif order.random() < 0.03:
            victim = waiting[-1]
        else:
            time.sleep(0.0005)  # leaves the processor to the act
            continue
        waiting.remove(victim)
        time.sleep(order.random() * 0.01)
        with contextlib.suppress(OSError):
            attack(victim)


def race(session, root, act, attack):
    """Runs one act under attack; returns the problems and the number of attacks."""
    folder = root / f"{act} {attack.__name__}"
    source, moved = folder / "source", folder / "moved"
    for made in (source, moved):
        made.mkdir(parents=True)
    pairs = [Pair(source, number) for number in range(ROUNDS)]
    trees.write(source / "b/own", b"so that a and b are not equal")
    program = Program(session, folder)
    program.ok("scan", source)
    calls = "renameat2,unlinkat,fcntl,fdatasync,syncfs"
    traced = program.under_strace("-e", f"trace={calls}", "-e",
                                  f"inject={calls}:delay_enter=700")
    ended = threading.Event()
    attacker = threading.Thread(target=attack_all, args=(pairs, attack, ended))
    attacker.start()
    words = [*ACTS[act], "--folders", "--yes", f"--protect={source}/a", source]
    result = traced(*words, *([moved] if act == "move" else []))
    ended.set()
    attacker.join()
    found = trees.every_content(source, moved, program.home)
    wrong = [f"written to {pair.copy.name}" for pair in pairs
             if pair.written and pair.written[-1] not in found]
    wrong += [f"original of {pair.copy.name}" for pair in pairs if not (
        pair.originals <= found or (attack is write_kept and pair.written))]
    wrong += [f"half of {pair.copy}" for pair in pairs if attack is not recreate and
              not pair.written and pair.copy.exists() and
              {path.name for path in pair.copy.rglob("*")} != {"1", "sub", "2", "3"}]
    wrong += [f"left behind: {path}" for path in private_names(folder)]
    if result.status not in (0, 3):
        wrong.append(str(result))
    thrown_away(program.home)
    return wrong, sum(bool(pair.written) for pair in pairs)


@ALL
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_folder_act_under_attack_loses_no_content(session, tmp_path, strace, kind, act):
    attacks = 0
    with disk(kind, tmp_path) as root:
        for attack in ATTACKS:
            wrong, count = race(session, root, act, attack)
            assert not wrong, (attack.__name__, wrong)
            attacks += count
        subprocess.run(["sync", "-f", root], check=True)
    assert attacks > ROUNDS // 2

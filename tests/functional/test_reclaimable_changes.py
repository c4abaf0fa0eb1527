# SPDX-License-Identifier: MIT
"""Reclaimable bytes after changes and acts: they follow both, and `remove` frees as many."""
import contextlib
import fcntl
import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest
import trees
from disks import disk, remount
from processes import children, stopped, until
from reclaimable import (
    Figures,
    checked,
    expected,
    listed,
    redundant_names,
    shown,
    summary,
    total,
    view_differs,
)
from reflinks import BLOCK, clone, clone_range, drop, make_room, random_groups, write_back

KIB, MIB = 1 << 10, 1 << 20
LATER = 60  # seconds in which a view finds out what was written back
# Freed blocks of metadata: on XFS, a chunk of 64 inodes and a few directory blocks. On btrfs, the
# checksums (0.1 %) and nodes of 16 KiB with inodes, names and extents, all of them twice.
METADATA = {"xfs": 64 * KIB, "btrfs": 512 * KIB}


class Changes:
    """Random changes of groups that share blocks. All bytes are written back at once."""

    def __init__(self, room, seed, groups=5):
        self.source, self.dice, self.number = room.source, random.Random(seed), 0
        self.copies = {trees.content((seed, number), self.dice.randrange(2, 40) * BLOCK + 77): []
                       for number in range(groups)}
        for content, paths in self.copies.items():
            for _ in range(2):
                self.add(content, paths)

    def new_name(self):
        self.number += 1
        return self.source / f"{self.number}"

    def add(self, content, paths):
        path = self.new_name()
        with open(path, "xb") as file:
            file.write(content)
            os.fsync(file.fileno())
        paths.append(path)

    def clone(self, _, paths):
        paths.append(clone(self.dice.choice(paths), self.new_name()))

    def share(self, content, paths):
        """Lets a part of a copy share the blocks of another copy."""
        one, other = self.dice.choice(paths), self.dice.choice(paths)
        start, end = self.blocks(content)
        if one != other:
            clone_range(one, other, start, end - start, start)

    def blocks(self, content):
        start, end = sorted(self.dice.sample(range(len(content) // BLOCK + 1), 2))
        return start * BLOCK, end * BLOCK

    def rewrite(self, content, paths):
        """Writes the bytes of a part again, so that the copy has this part alone."""
        start, end = self.blocks(content)
        write_at(self.dice.choice(paths), start, content[start:end])

    def alter(self, content, paths):
        """Makes a copy a file of its own, which still holds other blocks of the group."""
        start, _ = self.blocks(content)
        path = self.dice.choice(paths)
        paths.remove(path)
        write_at(path, start, b"altered %d" % self.number)

    def remove(self, _, paths):
        path = self.dice.choice(paths)
        paths.remove(path)
        drop(path)

    def rename(self, _, paths):
        at = self.dice.randrange(len(paths))
        paths[at] = paths[at].rename(self.new_name())

    def touch(self, _, paths):
        os.utime(self.dice.choice(paths), ns=(self.number, self.number))

    def make(self, count):
        for _ in range(count):
            content = self.dice.choice(list(self.copies))
            paths = self.copies[content]
            act = self.dice.choice([self.add, self.clone, self.clone, self.share, self.share,
                                    self.rewrite, self.alter, self.remove, self.rename,
                                    self.touch])
            if not paths or len(paths) == 1 and act in (self.alter, self.remove):
                act = self.add
            act(content, paths)


def write_at(path, start, data, durably=True):
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(data)
        if durably:
            file.flush()
            os.fsync(file.fileno())


# ---- changes ------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(3))
def test_figures_follow_random_changes_between_scans(twinfs, room, seed):
    changes = Changes(room, seed)
    for _ in range(8):
        changes.make(4)
        write_back(room.source)
        checked(twinfs.listing(room.source), room.source)


@pytest.mark.parametrize("seed", range(2))
def test_figures_of_a_view_follow_random_changes(twinfs, room, seed):
    changes = Changes(room, seed)
    write_back(room.source)
    with twinfs.mounted(room.source) as view:
        for _ in range(6):
            changes.make(3)
            write_back(room.source)
            view.sync()
            assert not view_differs(view, room.source)


def pair(room, size=MIB):
    """A kept copy with a clone of it; returns their content and the clone."""
    content = trees.content("pair", size)
    (room.source / "a").write_bytes(content)
    copy = clone(room.source / "a", room.source / "b")
    write_back(room.source)
    return content, copy


def test_copy_made_by_a_clone_and_removed_changes_nothing(twinfs, room):
    content, copy = pair(room)
    write_at(copy, 0, content)
    with twinfs.mounted(room.source) as view:
        view.sync()  # a file of just now joins the group later
        [(names, before)] = shown(view)[0].items()
        assert before == Figures(MIB, MIB)
        clone(copy, room.source / "c")
        view.sync()
        [figures] = shown(view)[0].values()
        assert figures == Figures(2 * MIB, MIB)
        drop(room.source / "c")
        view.sync()
        assert shown(view)[0] == {names: before}


def test_altered_copy_still_holds_the_blocks_that_it_shared(twinfs, room):
    content, copy = pair(room)
    write_at(copy, 0, content)
    clone(copy, room.source / "c")
    with twinfs.mounted(room.source) as view:
        view.sync()
        [figures] = shown(view)[0].values()
        assert figures == Figures(2 * MIB, MIB)
        with stopped(view.pid):  # it reads the extents when the blocks are on the disk
            write_at(room.source / "c", 256 * KIB, bytes(256 * KIB))
        view.sync()
        [figures] = shown(view)[0].values()
        # btrfs reports a whole extent of the disk as shared if a part of it is
        assert figures == Figures(MIB, {"xfs": 256 * KIB, "btrfs": 0}[room.kind])


def test_kept_copy_that_is_removed_leaves_its_blocks_to_a_clone(twinfs, room):
    pair(room)
    clone(room.source / "a", room.source / "c")
    twinfs.ok("scan", room.source)
    drop(room.source / "a")
    write_back(room.source)
    assert checked(twinfs.listing(room.source), room.source) == Figures(MIB, 0)
    write_at(room.source / "b", 0, (room.source / "b").read_bytes())
    assert checked(twinfs.listing(room.source), room.source) == Figures(MIB, MIB)


def test_copies_that_are_not_written_back_yet_count_as_their_own(twinfs, room):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("delayed", MIB))
    assert summary(twinfs.listing(room.source)) == Figures(MIB, MIB)
    write_back(room.source)
    assert checked(twinfs.listing(room.source), room.source) == Figures(MIB, MIB)


def test_clone_that_was_rewritten_counts_after_write_back_and_a_scan(twinfs, room):
    content, copy = pair(room)
    assert checked(twinfs.listing(room.source), room.source) == Figures(MIB, 0)
    write_at(copy, 0, content, durably=False)
    twinfs.ok("scan", room.source)
    write_back(room.source)
    assert checked(twinfs.listing(room.source), room.source) == Figures(MIB, MIB)


def test_clone_that_was_rewritten_counts_in_a_view_after_write_back(twinfs, room):
    content, copy = pair(room)
    with twinfs.mounted(room.source) as view:
        view.sync()
        assert list(shown(view)[0].values()) == [Figures(MIB, 0)]
        write_at(copy, 0, content, durably=False)
        view.sync()
        write_back(room.source)
        assert until(lambda: list(shown(view)[0].values()) == [Figures(MIB, MIB)], LATER)
        assert not view_differs(view, room.source)


def test_program_that_always_waits_for_the_view_does_not_delay_the_figures(twinfs, room):
    content, copy = pair(room)

    def follows():
        view.sync()
        return list(shown(view)[0].values()) == [Figures(MIB, MIB)]

    with twinfs.mounted(room.source) as view:
        write_at(copy, 0, content, durably=False)
        view.sync()
        write_back(room.source)
        assert until(follows, LATER)


@contextlib.contextmanager
def leased(path):
    """Holds a lease for writing, as a file server does, so that no other program can open the file
    at once."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(path, "r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        try:
            yield
        finally:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            signal.signal(signal.SIGIO, before)


@pytest.mark.parametrize("name", ["a", "b"])
def test_copy_that_cannot_be_opened_is_not_promised(twinfs, room, name):
    pair(room)
    clone(room.source / "a", room.source / "c")
    with twinfs.mounted(room.source) as view:
        with leased(room.source / name):
            view.read("remap")
            assert list(shown(view)[0].values()) == [Figures(2 * MIB, 0)]
        drop(room.source / "c")
        view.sync()
        assert list(shown(view)[0].values()) == [Figures(MIB, 0)]


# ---- rules --------------------------------------------------------------------------------

RULES = [["--keep=newest"], ["--keep=path:*1"], ["--protect={1}"], ["--only={1}"],
         ["--protect={1}", "--protect={2}"], ["--only={2}", "--only={3}"]]


def with_rules(twinfs, room, names, words):
    """The listing with rules that name some of the files."""
    return twinfs.listing(*(word.format(*names) for word in words), room.source)


@pytest.mark.parametrize("words", RULES, ids=" ".join)
def test_figures_with_rules_are_exact_for_whole_clones(twinfs, room, words):
    dice, names = random.Random(f"{words}"), []
    for number in range(20):
        (room.source / f"{number} 0").write_bytes(trees.content(number, 5000 + number * 3000))
        (room.source / f"{number} 1").write_bytes(trees.content(number, 5000 + number * 3000))
        for copy in range(2, 5):
            clone(room.source / f"{number} {dice.randrange(copy)}",
                  room.source / f"{number} {copy}")
    names = [room.source / f"7 {copy}" for copy in range(5)]
    write_back(room.source)
    figures = checked(twinfs.listing(room.source), room.source)
    assert 0 < figures.reclaimable < figures.redundant
    listing = with_rules(twinfs, room, names, words)
    assert checked(listing, room.source).redundant > 0
    assert checked(twinfs.listing(room.source), room.source) == figures


@pytest.mark.parametrize("words", RULES, ids=" ".join)
def test_figures_with_rules_promise_at_most_what_the_oracle_does(twinfs, room, words):
    paths = random_groups(room.source, room.aside, range(30), whole=True)
    names = [max(paths, key=len)[number] for number in range(4)]
    listing = with_rules(twinfs, room, names, words)
    found = listed(listing)
    wanted = expected(redundant_names(listing), room.source)
    assert found.keys() == wanted.keys()
    for group, figures in wanted.items():
        assert found[group].redundant == figures.redundant
        assert found[group].reclaimable <= figures.reclaimable
    assert summary(listing) == total(found)


# ---- dedupe -------------------------------------------------------------------------------

def partly_deduped(room):
    """Six groups with 12 redundant copies, of which a part shares the blocks of the kept copy."""
    for number in range(6):
        (room.source / f"{number}").write_bytes(trees.content(number, MIB + 5000 * number))
        for copy in range(2):
            path = room.source / f"{number} {copy}"
            if (number + copy) % 2:
                clone(room.source / f"{number}", path)
            else:
                path.write_bytes((room.source / f"{number}").read_bytes())
    write_back(room.source)


def already_shared(result):
    """The number of copies and the size that the act calls already shared."""
    found = re.search(rb"already shared\W+([\d,]+) files?, ([\d.]+ \w+)", result.out)
    assert found, result
    return int(found[1]), found[2].decode()


def shared_lengths(trace):
    """The lengths of the ranges that a program asked the kernel to share."""
    return {int(length) for length in re.findall(rb"FIDEDUPERANGE, \{[^}]*src_length=(\d+)",
                                                 trace)}


def test_figures_are_current_after_dedupe_without_a_scan(twinfs, room):
    partly_deduped(room)
    assert checked(twinfs.listing(room.source), room.source).reclaimable > 6 * MIB
    twinfs.ok("dedupe", "--yes", room.source)
    after = twinfs.listing("--no-scan", room.source)
    assert checked(after, room.source).reclaimable == 0
    assert checked(twinfs.listing(room.source), room.source).reclaimable == 0


def test_figures_of_a_view_are_current_after_dedupe(twinfs, room):
    partly_deduped(room)
    with twinfs.mounted(room.source) as view:
        assert view.status()["reclaimable_bytes"] > 6 * MIB
        twinfs.ok("dedupe", "--yes", view.path)
        view.sync()
        assert not view_differs(view, room.source)
        assert view.status()["reclaimable_bytes"] == 0


def scan_later(twinfs, source):
    """Scans as if it were an hour later, when all bytes are on the disk, so that no other scan
    looks at the groups again."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("needs libfaketime")
    before = dict(twinfs.environment)
    twinfs.environment.update({"LD_PRELOAD": str(found[0]), "FAKETIME": "+1h",
                               "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"})
    twinfs.ok("scan", source)
    twinfs.environment = before


def test_scan_after_a_killed_dedupe_sees_what_it_shared(twinfs, room, strace, plain_build):
    size = 40 * MIB  # shared in steps of 16 MiB
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("killed", size))
    write_back(room.source)
    scan_later(twinfs, room.source)
    trace = twinfs.folder / "trace"
    slow = twinfs.under_strace("-e", "trace=ioctl", "-e", "inject=ioctl:delay_exit=100000",
                               output=trace)
    with slow.started("dedupe", "--yes", room.source) as process:
        assert until(lambda: trace.exists() and b"bytes_deduped=16777216" in trace.read_bytes())
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
    write_back(room.source)
    figures = checked(twinfs.listing(room.source), room.source)
    assert figures.redundant == size and 0 < figures.reclaimable < size


def test_dedupe_counts_what_is_shared_already_apart(twinfs, room, strace):
    partly_deduped(room)
    result, trace = twinfs.traced("dedupe", "--yes", room.source, calls="trace=ioctl")
    assert result.status == 0 and max(shared_lengths(trace)) >= MIB
    assert re.search(rb"deduped +6 copies", result.out)
    # the clones have 0 to 5 times 5000 bytes beyond 1 MiB
    assert already_shared(result) == (6, "6.1 MiB")
    again, trace = twinfs.traced("dedupe", "--yes", room.source, calls="trace=ioctl")
    assert again.status == 0 and shared_lengths(trace) <= {0}
    assert already_shared(again) == (12, "12 MiB")


# ---- what remove frees --------------------------------------------------------------------

def free_bytes(root):
    """The free bytes of a disk as df(1) prints them. On btrfs also those of data alone, exactly."""
    remount(root)
    status = os.statvfs(root)
    return status.f_bfree * status.f_frsize, data_bytes(root)


def data_bytes(root):
    """The bytes that the contents of files occupy on a btrfs; 0 on another file system."""
    run = subprocess.run(["btrfs", "filesystem", "df", "--raw", root], check=False,
                         capture_output=True, text=True)
    found = re.search(r"^Data, single: .*used=(\d+)", run.stdout, re.MULTILINE)
    return int(found[1]) if found else 0


def remove_all(twinfs, root, room):
    """Removes all redundant copies. Returns what the list promised, what that is in blocks, what
    df(1) shows to be freed, and what of it is data (on btrfs)."""
    write_back(root)
    before, data_before = free_bytes(root)
    listing = twinfs.listing(room.source)
    promised = checked(listing, room.source).reclaimable
    in_blocks = total(expected(redundant_names(listing), room.source, block=BLOCK)).reclaimable
    twinfs.ok("remove", "--yes", room.source)
    write_back(root)
    after, data_after = free_bytes(root)
    return promised, in_blocks, after - before, data_before - data_after


@pytest.mark.parametrize("kind, whole", [("btrfs", True), ("xfs", True), ("xfs", False)])
def test_remove_frees_what_the_list_promised_to_the_block(twinfs, tmp_path, kind, whole):
    with disk(kind, tmp_path) as root:
        room = make_room(root, kind, "room")
        random_groups(room.source, room.aside, range(40), whole)
        for size in (5 * MIB, 3 * MIB + 1):
            for copy in range(3):
                (room.source / f"own {size} {copy}").write_bytes(trees.content(size, size))
            clone(room.source / f"own {size} 1", room.source / f"own {size} 3")
        promised, in_blocks, freed, data = remove_all(twinfs, root, room)
        assert 16 * MIB < promised <= in_blocks
        assert 0 <= freed - in_blocks <= METADATA[kind]
        assert kind != "btrfs" or data == in_blocks


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_remove_frees_at_least_what_the_list_promised_beside_a_snapshot(twinfs, tmp_path, kind):
    """Clones outside of the source hold what was not written again since they were made."""
    dice = random.Random(kind)
    with disk(kind, tmp_path) as root:
        room = make_room(root, kind, "room")
        for number in range(12):
            written_again_since_a_snapshot(room, f"{number}", dice)
        promised, in_blocks, freed, data = remove_all(twinfs, root, room)
        assert MIB < promised <= in_blocks <= freed
        assert kind != "btrfs" or data >= in_blocks


def written_again_since_a_snapshot(room, name, dice):
    """Makes a group whose files have clones outside of the source, writes some parts of its copies
    again, and clones a copy."""
    content = trees.content(name, MIB)
    a, b, c, d, e = (room.source / f"{name} {letter}" for letter in "abcde")
    a.write_bytes(content)
    b.write_bytes(content)
    clone(a, c)
    clone(b, d)
    for path in (a, b, c, d):
        clone(path, room.aside / path.name)
    for path in (b, c, d):
        start = dice.randrange(128) * BLOCK
        write_at(path, start, content[start:start + 64 * BLOCK])
    clone(dice.choice([b, c, d]), e)

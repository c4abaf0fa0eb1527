# SPDX-License-Identifier: MIT
"""Acts while another program changes the files. strace delays each acting system call, so that an
attack can happen at every moment. The bytes of the attacker and the original bytes must all exist
afterwards.

Each race acts on $TWINFS_RACE_ROUNDS copies (50).
"""
import contextlib
import ctypes
import mmap
import os
import random
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import trees
from disks import disk
from program import Program

ROUNDS = int(os.environ.get("TWINFS_RACE_ROUNDS", "50"))
SIZE = 8 << 10
ACTING = "renameat2,linkat,symlinkat,fcntl,ioctl"
DELAY_US = 1500
ATTACK_WITHIN_S = 0.01  # after the act begins
LAST_CHECK_US = 8000  # from the removal of a copy to the last check of the kept file
ACTS = {
    "remove": ["remove"],
    "move": ["move"],
    "trash": ["remove", "--trash"],
    "link": ["link"],
    "symlink": ["link", "--symbolic"],
    "dedupe": ["dedupe"],
}


def content(word, number):
    """Content that names itself."""
    return (f"{word} {number} " * SIZE).encode()[:SIZE]


class Pair:
    """A kept file and its copy, each in a folder of its own."""

    def __init__(self, root, number):
        self.number = number
        self.kept_folder, self.folder = root / "a" / f"{number:04}", root / "b" / f"{number:04}"
        self.kept, self.copy = self.kept_folder / "kept", self.folder / "copy"
        self.original = content("original", number)
        for path in (self.kept, self.copy):
            path.parent.mkdir(parents=True)
            path.write_bytes(self.original)
        self.written = None  # by the attacker
        self.shared = False  # the attacker destroyed the kept file itself

    def other_name(self):
        """The temporary name of the copy or its link during the act."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                if name.startswith(".twinfs~"):
                    return self.folder / name
        return None

    def wherever(self):
        """The path of the copy, which may be its temporary name."""
        return self.copy if self.copy.exists() else self.other_name() or self.copy

    def store(self, fd, write):
        """Writes through an open descriptor."""
        self.shared = os.path.samestat(os.fstat(fd), os.stat(self.kept))
        write(fd)
        self.written = content("written", self.number)


def replace(pair, outside):
    new = outside / f"new {pair.number}"
    new.write_bytes(content("written", pair.number))
    os.rename(new, pair.copy)
    pair.written = content("written", pair.number)


def rewrite(pair, _):
    fd = os.open(pair.wherever(), os.O_WRONLY)
    try:
        pair.store(fd, lambda fd: os.pwrite(fd, content("written", pair.number), 0))
    finally:
        os.close(fd)


def store_by_mapping(pair, _):
    fd = os.open(pair.wherever(), os.O_RDWR)

    def write(fd):
        with mmap.mmap(fd, SIZE) as mapped:
            time.sleep(0.004)  # keeps the mapping for a while
            mapped[:] = content("written", pair.number)
    try:
        pair.store(fd, write)
    finally:
        os.close(fd)


def swap_kept(pair, outside):
    """Replaces the kept file while a copy exists. Later the kept file would be the last copy, and
    the attack itself would destroy its content."""
    new = outside / f"new {pair.number}"
    new.write_bytes(content("written", pair.number))
    begun = time.monotonic()
    if not pair.other_name() and (pair.copy.is_symlink() or not pair.copy.exists()):
        return
    os.rename(new, pair.kept)
    pair.shared = time.monotonic() - begun > LAST_CHECK_US / 2e6
    pair.written = content("written", pair.number)


def swap_in_symlink(pair, outside):
    """Replaces the folder of the copy by a link to another folder, which the act must not touch."""
    precious = outside / f"precious {pair.number}"
    precious.mkdir()
    (precious / "copy").write_bytes(pair.original)
    os.rename(pair.folder, outside / f"folder {pair.number}")
    os.symlink(precious, pair.folder)
    pair.written = pair.original


ATTACKS = [replace, rewrite, store_by_mapping, swap_kept, swap_in_symlink]


class Watch:
    """Reports by inotify(7) the pairs that are being acted on. Listing a thousand folders would
    take longer than an act on one pair."""

    COMES, GOES = 0x180, 0x240  # IN_MOVED_TO | IN_CREATE, IN_MOVED_FROM | IN_DELETE
    EVENT = struct.Struct("iIII")

    def __init__(self, pairs):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.pairs = {
            libc.inotify_add_watch(self.fd, os.fsencode(pair.folder), self.COMES | self.GOES): pair
            for pair in pairs}
        assert self.fd >= 0 and -1 not in self.pairs, os.strerror(ctypes.get_errno())
        self.under_way = {}

    def close(self):
        os.close(self.fd)

    def _note(self, watch, mask, name):
        if name.startswith(b".twinfs~"):
            if mask & self.COMES:
                self.under_way[watch] = self.pairs[watch]
            else:
                self.under_way.pop(watch, None)

    def pairs_under_way(self):
        """The pairs that are being acted on now."""
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self.fd, 1 << 16):
                at = 0
                while at < len(events):
                    watch, mask, _, length = self.EVENT.unpack_from(events, at)
                    at += self.EVENT.size + length
                    self._note(watch, mask, events[at - length:at])
        return self.under_way.values()


def attack_all(pairs, attack, outside, chance, ended):
    """Attacks each pair once, a random moment after its act began or by chance, so that each system
    call is hit."""
    order = random.Random(0)
    waiting = {pair.number: pair for pair in pairs}
    due = {}
    with contextlib.closing(Watch(pairs)) as watch:
        while waiting and not ended.is_set():
            for pair in watch.pairs_under_way():
                due.setdefault(pair.number, time.monotonic() + order.random() * ATTACK_WITHIN_S)
            if order.random() < chance:
                due[order.choice(list(waiting))] = 0
            for number in [number for number in due if number in waiting]:
                if due[number] > time.monotonic():
                    continue
                with contextlib.suppress(OSError):  # the copy is removed already
                    attack(waiting[number], outside)
                del waiting[number]
            time.sleep(0.0005)  # leaves the processor to the act


def lost(pairs, *folders):
    """The contents that exist nowhere."""
    contents = trees.every_content(*folders)
    missing = [f"bytes written to {pair.number}" for pair in pairs
               if pair.written and pair.written not in contents]
    return missing + [f"original of {pair.number}" for pair in pairs
                      if pair.original not in contents and not pair.shared]


def race(session, root, act, attack):
    """Runs one act under attack; returns the problems and the number of attacks."""
    folder = root / attack.__name__
    source, outside, moved = folder / "source", folder / "outside", folder / "moved"
    for made in (source, outside, moved):
        made.mkdir(parents=True)
    pairs = [Pair(source, number) for number in range(ROUNDS)]
    program = Program(session, folder)
    program.ok("scan", source)
    traced = program.under_strace(
        "-e", f"trace={ACTING},unlinkat", "-e", f"inject={ACTING}:delay_enter={DELAY_US}",
        "-e", f"inject=unlinkat:delay_enter={DELAY_US}:delay_exit={LAST_CHECK_US}")
    ended = threading.Event()
    chance = 0.3 if act == "dedupe" else 0.02  # it raises no event
    attacker = threading.Thread(target=attack_all, args=(pairs, attack, outside, chance, ended))
    attacker.start()
    result = traced(*ACTS[act], "--yes", source, *([moved] if act == "move" else []))
    ended.set()
    attacker.join()
    wrong = lost(pairs, source, outside, moved, program.home)
    wrong += [f"left behind: {path}" for path in folder.rglob(".twinfs~*")]
    precious = list(outside.glob("precious */copy"))
    if attack is swap_in_symlink and any(
            path.read_bytes() != pair.original for pair in pairs
            for path in precious if path.parent.name == f"precious {pair.number}"):
        wrong.append("a file outside the source was changed")
    if attack is swap_in_symlink and len(precious) != len(list(outside.glob("precious *"))):
        wrong.append("a file outside the source is missing")
    if result.status not in (0, 3):
        wrong.append(str(result))
    return wrong, sum(pair.written is not None for pair in pairs)


@pytest.mark.parametrize(("kind", "act"), [
    (kind, act) for kind in ("ext4", "xfs", "btrfs") for act in ACTS
    if (kind, act) != ("ext4", "dedupe")])  # ext4 cannot share blocks
def test_act_under_attack_loses_no_content(session, tmp_path, kind, act):
    with disk(kind, tmp_path) as root, ThreadPoolExecutor(len(ATTACKS)) as runs:
        results = list(runs.map(lambda attack: race(session, root, act, attack), ATTACKS))
        subprocess.run(["sync", "-f", root], check=True)
    for attack, (wrong, attacks) in zip(ATTACKS, results):
        assert not wrong, (attack.__name__, wrong)
        assert attacks > ROUNDS // 4, f"{attack.__name__} came too late: {attacks}"

# SPDX-License-Identifier: MIT
"""Random histories of acts, kills, changes of the clock and undo over overlapping indexes, beside a
model: no byte is lost, log, undo and recover agree, and undo brings back exactly what the last act
changed, or says what it could not.

TWINFS_TEST_HISTORIES sets their number."""
import glob
import json
import os
import random
import shutil
import stat
from pathlib import Path

import pytest
import trees

HISTORIES = int(os.environ.get("TWINFS_TEST_HISTORIES", "4"))
SEED = int(os.environ.get("TWINFS_TEST_SEED", "1"))
ACTS = {"remove": ["remove"], "folders": ["remove", "--folders"], "trash": ["remove", "--trash"],
        "link": ["link", "--force-metadata"], "move": ["move"], "dedupe": ["dedupe"],
        "symlink": ["link", "--symbolic", "--force-metadata"]}
CALLS = ["renameat2", "unlinkat", "linkat", "symlinkat", "fdatasync", "fsync", "ftruncate", "write",
         "pwrite64", "openat"]
SHIFTS = [0, 0, -7200, 3600, -86400, 5]  # of the clock, in seconds


def has_open_intents(journal):
    """Whether an act began for which the journal has no end."""
    lines = [json.loads(line) for line in journal.read_bytes().splitlines(keepends=True)
             if line.endswith(b"\n")]
    ended = {line.get("done") for line in lines}
    return any("intent" in line and line["intent"] not in ended for line in lines)


class History:
    """Three sources, whose indexes overlap, and a folder for moves."""

    def __init__(self, twinfs, folder, seed):
        self.twinfs, self.folder, self.rng = twinfs, folder, random.Random(seed)
        self.sources = [folder / name for name in ("one", "two", "three")]
        self.moved = folder / "moved"
        for path in (*(source / "sub" for source in self.sources), self.moved):
            path.mkdir(parents=True)
        self.number = 0
        self.contents = [trees.content(f"history {seed} {number}", 100 + 400 * number)
                         for number in range(8)]

    def run(self, *words, kill=None):
        program = self.twinfs
        if kill:
            program = program.under_strace("-e", "inject={}:signal=KILL:when={}".format(*kill))
        return program(*words, index=False)

    def acts(self):
        result = self.run("log", "--format=jsonl")
        assert result.status == 0, result
        return [json.loads(line) for line in result.lines]

    def maybe_kill(self, chance, most):
        return ((self.rng.choice(CALLS), self.rng.randrange(1, most))
                if self.rng.random() < chance else None)

    def set_clock(self):
        library = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
        if library and not self.twinfs.is_instrumented() and self.rng.random() < 0.3:
            self.twinfs.environment |= {"LD_PRELOAD": library[0],
                                        "FAKETIME": f"{self.rng.choice(SHIFTS):+d}s"}

    # ---- the model ----

    def snapshot(self):
        """{path: what it is}, and the sets of paths that are hard links."""
        found, inodes = {}, {}
        for path in (path for top in (*self.sources, self.moved) for path in top.rglob("*")):
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                found[path] = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                found[path] = path.read_bytes(), status.st_mode, status.st_mtime_ns
                inodes.setdefault(status.st_ino, []).append(path)
            elif self.moved not in path.parents:
                found[path] = "folder"
        return found, {frozenset(paths) for paths in inodes.values() if len(paths) > 1}

    def contents_of(self, snapshot):
        trash = self.twinfs.home / ".local/share/Trash/files"
        return {what[0] for what in snapshot[0].values() if isinstance(what, tuple)} | {
            path.read_bytes() for path in trash.rglob("*")
            if path.is_file() and not path.is_symlink()}

    # ---- changes ----

    def make_folders(self, source):
        """Two equal folders with hard links to each other and in themselves."""
        for name in ("A", "B"):
            folder = source / f"equal {self.number}{name}"
            for number in range(3):
                trees.write(folder / "in" / f"{number}", b"%d %d" % (self.number, number))
            (folder / "link").symlink_to("in/0")
        one = source / f"equal {self.number}A"
        if self.rng.random() < 0.5:
            for other in (one, folder):
                os.link(one / "in" / "1", other / "in" / "shared")
        if self.rng.random() < 0.5:
            os.link(folder / "in" / "2", folder / "further")
            shutil.copy2(one / "in" / "2", one / "further")

    def change(self):
        for _ in range(self.rng.randrange(1, 6)):
            self.number += 1
            source = self.rng.choice(self.sources)
            path = source / self.rng.choice(["", "sub"]) / f"file {self.number}"
            files = [path for path, what in self.snapshot()[0].items()
                     if isinstance(what, tuple) and self.moved not in path.parents]
            choice = self.rng.random()
            if choice < 0.1:
                self.make_folders(source)
            elif choice < 0.3 and files:
                os.link(self.rng.choice(files), path)
            else:
                trees.write(path, self.rng.choice(self.contents))
                os.utime(path, (10**9 + self.number, 10**9 + self.number))

    # ---- acts ----

    def act(self):
        """Does a random act; returns it and the state before, or None if nothing was done."""
        kind = self.rng.choice(sorted(ACTS))
        sources = self.rng.choice([[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]])
        words = [*ACTS[kind], "--yes", *(self.sources[number] for number in sources),
                 *([self.moved] if kind == "move" else [])]
        self.set_clock()
        before, known = self.snapshot(), {act["act"] for act in self.acts()}
        content = self.contents_of(before)
        kill = self.maybe_kill(0.4, 13)
        self.run(*words, kill=kill)
        begun = kill and any(has_open_intents(path) for path in self.state().glob("*/acts"))
        acts, now = self.acts(), self.snapshot()
        new = [act for act in acts if act["act"] not in known]
        assert content <= self.contents_of(now)
        assert not [path for path in now[0] if ".twinfs~" in path.name]
        assert len(new) <= 1 and acts[-len(new):] == new[:1] or not new
        assert new or (not begun and now == before)
        assert b"no act was interrupted" in self.run("recover").error
        return (new[0], before) if new else None

    def state(self):
        return Path("/var/lib/twinfs" if os.geteuid() == 0
                    else self.twinfs.environment["XDG_STATE_HOME"] + "/twinfs")

    def undo(self, act, before):
        self.set_clock()
        result = self.run("undo", "--yes", kill=self.maybe_kill(0.3, 11))
        if result.status not in (0, 3):
            result = self.run("undo", "--yes")
        now = self.snapshot()
        assert now[0] == before[0], (act, result)
        assert result.status == (0 if now[1] == before[1] else 3), (act, result)
        [same] = [other for other in self.acts() if other["act"] == act["act"]]
        assert same["undone"] == same["files"] or act["command"] == "dedupe"


@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
def test_random_history_loses_nothing_and_says_nothing_untrue(twinfs, tmp_path, strace,
                                                              private_state, seed):
    history = History(twinfs, tmp_path / "history", seed)
    for _ in range(history.rng.randrange(2, 6)):
        history.change()
        done = history.act()
        if done and history.rng.random() < 0.5:
            history.undo(*done)

# SPDX-License-Identifier: MIT
"""Random histories of what users and twinfs do to three sources, and the file systems for them."""
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import trees
from disks import disk, fuse_place, need_tools, overlay, sftp_mount
from history_model import (
    Act,
    broken,
    differences,
    lost,
    not_elsewhere,
    take,
    wrong_acts,
    wrong_undo,
)
from program import View

ACTS = {"remove": ["remove"], "folders": ["remove", "--folders"], "trash": ["remove", "--trash"],
        "link": ["link", "--force-metadata"], "move": ["move"], "dedupe": ["dedupe"],
        "move folders": ["move", "--folders"],
        "symlink": ["link", "--symbolic", "--force-metadata"]}
COMMANDS = {"folders": "remove", "move folders": "move"}  # in the log
CALLS = ["renameat2", "unlinkat", "linkat", "symlinkat", "fdatasync", "fsync", "ftruncate", "write",
         "pwrite64", "openat", "mkdirat", "ioctl", "fcntl", "utimensat", "fchmod"]
SHIFTS = [0, 0, -7200, 3600, -86400, 5]  # of the clock, in seconds


@dataclass
class Place:
    """A folder on a file system, and what is special there."""
    root: Path
    options: tuple = ()  # of acts and scans
    inodes: Path = None  # the same tree, where inode numbers tell hard links
    has_links: bool = True
    keeps_links: bool = True  # twinfs can see which names are hard links
    doubts: bool = False  # two names may be one file
    memory: tuple = ()  # folders below which a restart empties everything
    shares_blocks: bool = False  # so that removing a copy frees less than its size


@contextlib.contextmanager
def place_of(kind, folder):
    """A place on a file system of this kind."""
    with contextlib.ExitStack() as ending:
        made = PLACES[kind](kind, folder, ending)
        if not made.inodes:
            made.inodes = made.root
        yield made


def on_disk(kind, folder, ending):
    return Place(ending.enter_context(disk(kind, folder)), shares_blocks=True)


def on_test_disk(_, folder, ending):
    return Place(folder)


def on_nested(_, folder, ending):
    """The folder `sub` of the first source is a tmpfs."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    at = folder / "one/sub"
    at.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", at], check=True)
    ending.callback(subprocess.run, ["umount", "-l", at], check=True)
    return Place(folder, ("--cross-file-systems",), memory=(at,))


def on_overlay(_, folder, ending):
    for number in range(6):
        trees.write(folder / f"lower/one/lower {number}", b"lower %d" % (number // 2))
    os.link(folder / "lower/one/lower 0", folder / "lower/one/lower link")
    return Place(ending.enter_context(overlay(folder)), keeps_links=False, doubts=True)


def on_exfat(_, folder, ending):
    need_tools("mount.exfat-fuse", "mkfs.exfat", "losetup")
    image = folder / "image"
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.exfat", image], check=True, capture_output=True)
    device = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True,
                            text=True).stdout.strip()
    ending.callback(subprocess.run, ["losetup", "-d", device], check=True)
    root = ending.enter_context(fuse_place(
        folder, "exfat", ["mount.exfat-fuse", "-d", device], stdout=subprocess.DEVNULL))
    return Place(root, has_links=False, keeps_links=False)


def on_sshfs(_, folder, ending):
    real = folder / "real"
    real.mkdir()
    # noforget: else a file gets another inode number after a test has dropped the caches
    return Place(sftp_mount(folder, real, ending), ("--without-leases",), real, keeps_links=False)


def on_mergerfs(_, folder, ending):
    need_tools("mergerfs")
    for name in ("branch 1", "branch 2"):
        (folder / name).mkdir()
    branches = f"{folder}/branch 1:{folder}/branch 2"
    options = "category.create=mfs,use_ino,cache.attr=0"
    root = ending.enter_context(fuse_place(
        folder, "mergerfs", ["mergerfs", "-f", "-o", options, branches]))
    return Place(root, ("--without-leases",), doubts=True)


PLACES = {"ext4": on_test_disk, "xfs": on_disk, "btrfs": on_disk, "tmpfs": on_nested,
          "overlay": on_overlay, "exfat-fuse": on_exfat, "sshfs": on_sshfs, "mergerfs": on_mergerfs}


class History:
    """Three sources, whose indexes overlap, and a folder for moves."""

    def __init__(self, twinfs, place, seed):
        self.twinfs, self.place, self.rng = twinfs, place, random.Random(seed)
        self.sources = [place.root / name for name in ("one", "two", "three")]
        self.moved = place.root / "moved"
        for path in (*(source / "sub" for source in self.sources), self.moved):
            path.mkdir(parents=True, exist_ok=True)
        self.number = 0
        self.second = set()  # names that killed acts left
        self.acts = []  # of the model, with undos as [id, act, paths]
        self.view = None
        self.shift = 0
        self.transcript = []
        self.contents = [trees.content(f"history {seed} {number}", 100 + 400 * number)
                         for number in range(8)]

    # ---- runs ----

    def run(self, *words, kill=None):
        program = self.twinfs
        if kill:
            program = program.under_strace("-e", "inject={}:signal=KILL:when={}".format(*kill))
        result = program(*words, index=False)
        self.transcript.append((" ".join(str(word) for word in words), kill, self.shift,
                                result.status, result.error.decode(errors="replace")[-600:]))
        return result

    def claim(self, truth, *about):
        if not truth:
            lines = "\n".join(repr(line) for line in self.transcript[-30:])
            text = f"{about}\n{lines}"
            raise AssertionError(text.replace(f"{self.place.root}/", "").replace(
                f"{self.twinfs.folder}/", "~/"))

    def inode_of(self, path):
        if self.place.inodes != self.place.root:
            path = path.replace(str(self.place.root), str(self.place.inodes), 1)
        status = os.lstat(path)
        return status.st_dev, status.st_ino

    def picture(self):
        roots = [*self.sources, self.moved, self.twinfs.home / ".local/share/Trash",
                 self.place.root / f".Trash-{os.geteuid()}"]
        return take(roots, self.inode_of)

    def maybe_kill(self, chance):
        if self.rng.random() >= chance:
            return None
        call = self.rng.choice(CALLS)
        return call, self.rng.randrange(1, 200 if call in ("openat", "fcntl") else 14)

    def maybe_set_clock(self):
        library = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
        if library and not self.twinfs.is_instrumented() and self.rng.random() < 0.3:
            self.shift = self.rng.choice(SHIFTS)
            self.twinfs.environment |= {"LD_PRELOAD": library[0],
                                        "FAKETIME": f"{self.shift:+d}s"}

    # ---- users ----

    def files(self):
        return sorted(path for path, name in self.picture().names.items() if name.kind == "file"
                      and any(path.startswith(f"{source}/") for source in self.sources)
                      and "/.Trash-" not in path)

    def new_path(self):
        self.number += 1
        source = self.rng.choice(self.sources)
        return source / self.rng.choice(["", "sub"]) / f"file {self.number}"

    def write(self):
        path = self.new_path()
        trees.write(path, self.rng.choice(self.contents))
        os.utime(path, (10**9 + self.number * 10, 10**9 + self.number * 10))

    def write_unique(self):
        trees.write(self.new_path(), b"unique %d" % self.number)

    def write_in_place(self):
        for path in self.some_file():
            with open(path, "r+b") as file:
                file.write(b"edit %d" % self.rng.randrange(10**6))

    def some_file(self):
        files = self.files()
        return [self.rng.choice(files)] if files else []

    def copy(self):
        for path in self.some_file():
            shutil.copy2(path, self.new_path())

    def rename(self):
        for path in self.some_file():
            os.rename(path, self.new_path())

    def delete(self):
        for path in self.some_file():
            os.unlink(path)

    def link(self):
        for path in self.some_file() if self.place.has_links else []:
            os.link(path, self.new_path())

    def symlink(self):
        for path in self.some_file() if self.place.has_links else []:
            new = self.new_path()
            target = self.rng.choice([path, os.path.dirname(path)])
            os.symlink(self.rng.choice([target, os.path.relpath(target, new.parent)]), new)

    def replace(self):
        """Writes a new file at the path of a file that an act took away."""
        paths = [path for act in self.acts if isinstance(act, Act) for path in act.records
                 if not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))]
        if paths:
            trees.write(self.rng.choice(paths), b"new %d" % self.number)

    def set_mode(self):
        for path in self.some_file() if self.place.has_links else []:
            os.chmod(path, self.rng.choice([0o600, 0o644]))

    def make_folders(self):
        """Two equal folders, with hard links to each other and in themselves."""
        source = self.rng.choice(self.sources)
        self.number += 1
        one, other = (source / f"equal {self.number}{name}" for name in "AB")
        for folder in (one, other):
            for number in range(3):
                trees.write(folder / "in" / f"{number}", b"%d %d" % (self.number, number))
        if not self.place.has_links:
            return
        for folder in (one, other):
            (folder / "link").symlink_to("in/0")
        if self.rng.random() < 0.5:
            for folder in (one, other):
                os.link(one / "in" / "1", folder / "in" / "shared")
        if self.rng.random() < 0.5:
            os.link(other / "in" / "2", other / "further")
            shutil.copy2(one / "in" / "2", one / "further")

    def change(self):
        changes = [self.write] * 5 + [
            self.write_unique, self.write_in_place, self.copy, self.copy, self.rename, self.delete,
            self.link, self.link, self.symlink, self.replace, self.set_mode, self.make_folders]
        for _ in range(self.rng.randrange(1, 7)):
            step = self.rng.choice(changes)
            with contextlib.suppress(OSError):  # not every file system permits each change
                step()
            self.transcript.append(step.__name__)

    # ---- the log ----

    def logged(self):
        result = self.run("log", "--format=jsonl")
        self.claim(result.status == 0, "log", result)
        return [json.loads(line) for line in result.lines]

    def records(self, act):
        result = self.run("log", "--format=jsonl", act)
        self.claim(result.status == 0, "log of an act", result)
        found = [json.loads(line) for line in result.lines]
        return {record["path"]: record for record in found if record.get("state") != "returned"}

    def check_log(self):
        """The log has the acts of the model in their order, with their counts."""
        logged = self.logged()
        self.claim([act["act"] for act in logged] == [act.id for act in self.acts],
                   "order or number of acts", logged)
        for line, act in zip(logged, self.acts, strict=True):
            of = act.of if isinstance(act, Undone) else act
            paths = act.paths if isinstance(act, Undone) else act.records
            counts = [line["files"], line["bytes"], line["folders"], line["others"]]
            self.claim(line["command"] == act.command and counts == of.counts(paths),
                       "counts", line, of.counts(paths))
            undone = of.counts(of.undone & set(of.records))[0] if of is act else 0
            self.claim(line["undone"] == undone, "undone", line, undone)
            self.claim(line["waiting"] == 0 and (line["cut_off"] or not line["interrupted"]), line)

    def recover(self):
        """Lets the interrupted act, if there is one, be settled by some command."""
        for _ in range(3):
            self.maybe_set_clock()
            words = self.rng.choice([["recover"], ["log"], ["recover"],
                                     ["scan", *self.options(), *self.some_sources()]])
            self.note_second_names(self.run(*words, kill=self.maybe_kill(0.2)))
        result = self.run("recover")
        self.note_second_names(result)
        self.claim(result.status == 0, result)
        again = self.run("recover")
        self.claim(again.status == 0 and b"no act was interrupted" in again.error, again)

    def note_second_names(self, result):
        """Without hard links that show, a killed act can leave a second name of a copy, which
        recovery names."""
        for path, name in re.findall(r"restore the name '(.*?)' after .* the copy is '(.*?)' in",
                                     result.error.decode()):
            second = os.path.join(os.path.dirname(path), name)
            self.claim(not self.place.keeps_links and self.inode_of(path) == self.inode_of(second),
                       "second name", path, second)
            self.second.add(second)
        for path in re.findall("undone; '(.*?)' is possibly another name",
                               result.error.decode()):
            self.claim(not self.place.keeps_links, "second name", path)
            self.second.update(map(str, [path, *Path(path).parents]))

    # ---- acts ----

    def some_sources(self):
        return [self.sources[number] for number in self.rng.choice(
            [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2], [2, 0]])]

    def options(self):
        return [option for option in self.place.options if option != "--without-leases"]

    def act(self):
        """Does a random act, perhaps killed; compares what it did with the model and the log."""
        kind = self.rng.choice(sorted(ACTS))
        sources = self.some_sources()
        breaks = self.rng.random() < 0.1
        words = [*ACTS[kind], "--yes", *self.place.options,
                 *(["--break-symlinks"] if breaks else []), *sources,
                 *([self.moved] if kind.startswith("move") else [])]
        self.maybe_set_clock()
        before, known = self.picture(), {act.id for act in self.acts}
        kill = self.maybe_kill(0.4)
        began = time.time()
        result = self.run(*words, kill=kill)
        if kill:
            self.recover()
        after = self.picture()
        gone = lost(before, after, sources, self.place.memory)
        self.claim(not gone, "lost", gone)
        self.claim(not [path for path in after.names if ".twinfs~" in path], "left behind")
        if not breaks:
            self.claim(not broken(before, after, sources), "broken", broken(before, after, sources))
        new = [line for line in self.logged() if line["act"] not in known]
        if len(new) == 2 and new[1].get("undone_act") == new[0]["act"]:
            self.note_taken_back(*new, before, after)
            return
        self.claim(len(new) <= 1, "acts", new)
        changed = set(differences(before, after)) - self.second
        self.claim(new or not changed, "changed without an act", changed)
        for line in new:
            act = Act(line["act"], line["command"], before, self.records(line["act"]))
            self.claim(act.command == COMMANDS.get(kind, kind), "command", line)
            wrong = wrong_acts(act, after, self.second, self.place.keeps_links)
            self.claim(not wrong, wrong, act.records)
            self.acts.append(act)
            if not kill:
                self.check_time(line, began)
        self.check_log()
        self.check_act_status(kind, sources, result, kill, after)

    def note_taken_back(self, done, undo, before, after):
        """A folder that a program opened while it was emptied is brought back by the act."""
        act = Act(done["act"], done["command"], before, self.records(done["act"]))
        back = self.brought_back(undo, act)
        rest = {path: record for path, record in act.records.items() if path not in back}
        wrong = wrong_acts(Act(act.id, act.command, before, rest), after, self.second,
                           self.place.keeps_links)
        self.claim(not wrong, "not as before", wrong)
        act.undone = back
        self.acts += [act, Undone(undo["act"], act, back)]
        self.check_log()

    def brought_back(self, undo, act):
        """The paths that the undo says it brought back."""
        numbers = {record["file"]: path for path, record in act.records.items()}
        result = self.run("log", "--format=jsonl", undo["act"])
        return {numbers[json.loads(record)["undone_file"]] for record in result.lines}

    def check_time(self, line, began):
        at = time.mktime(time.strptime(line["time"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
        self.claim(began + self.shift - 3 <= at <= time.time() + self.shift + 3, "time", line)

    def check_act_status(self, kind, sources, result, kill, after):
        """Status 0: no copy is left that was not said to be spared. 3: a reason was said."""
        if kill and result.status == -signal.SIGKILL:
            return
        self.claim(result.status in (0, 3), "status", result)
        self.claim(result.status == 0 or result.error, "status without a reason", result)
        if result.status != 0 or b"skipped" in result.error or kind not in (
                "remove", "link", "trash", "move"):
            return
        files = {}
        for path, name in after.names.items():
            if name.kind == "file" and name.size and "/.Trash-" not in path and any(
                    path.startswith(f"{source}/") for source in sources):
                files.setdefault(name.content, set()).add(after.inodes[path])
        twice = [content for content, inodes in files.items() if len(inodes) > 1]
        self.claim(not twice, "copies are left, but the status is 0", twice, result)

    # ---- undo ----

    def last(self):
        return next((act for act in reversed(self.acts) if isinstance(act, Act)), None)

    def undo(self):
        act = self.last() if self.rng.random() < 0.7 else self.rng.choice(
            [act for act in self.acts if isinstance(act, Act)] or [None])
        words = [] if act is self.last() else [act.id]
        self.maybe_set_clock()
        before = self.picture()
        known = {one.id for one in self.acts}
        kill = self.maybe_kill(0.3)
        results = [self.run("undo", "--yes", *words, kill=kill)]
        if kill and results[0].status == -signal.SIGKILL:
            self.recover()
            results.append(self.run("undo", "--yes", *words))
        after = self.picture()
        gone = lost(before, after, self.sources, self.place.memory)
        self.claim(not gone, "lost by undo", gone)
        status, error = results[-1].status, b"".join(one.error for one in results).decode()
        self.claim(status in (0, 3), "status of undo", results[-1])
        if not act or act.command == "dedupe" or not set(act.records) - act.undone:
            self.claim(status == 0 and not differences(before, after), "nothing to undo")
            self.check_log()
            return
        named = {path for path in re.findall(r"'([^']*)'", error) if path.startswith("/")}
        wrong, back = wrong_undo(act, before, after, named, self.place.keeps_links)
        self.claim(not wrong, wrong, act.id, act.records)
        self.claim(status == 0 or named, "status without a name", results[-1])
        if status == 0:
            self.claim(act.taken() - act.undone <= back, "status 0, but not all is back", back)
        elif act.undone | back == act.taken():
            self.claim("hard link" in error or "again" in error or len(results) > 1 or
                       not self.place.keeps_links, "status 3 without a reason", results[-1])
        self.note_undo(act, known)

    def note_undo(self, act, known):
        """Adds what the log says was undone to the model, after a comparison."""
        new = [line for line in self.logged() if line["act"] not in known]
        after = self.picture()
        for line in new:
            self.claim(line["command"] == "undo" and line["undone_act"] == act.id, "undo", line)
            paths = self.brought_back(line, act)
            self.claim(not paths & act.undone, "undone twice", paths & act.undone)
            for path in paths:
                name = after.names.get(path)
                self.claim(name and name.content == act.before.names[path].content,
                           "said to be back", path)
            act.undone |= paths
            if act.undone >= set(act.records):
                act.undone |= act.taken()
            self.acts.append(Undone(line["act"], act, paths))
        self.check_log()

    # ---- questions ----

    def covered(self):
        folder, *others = self.rng.sample(self.sources, self.rng.choice([2, 3]))
        ignore = self.rng.random() < 0.5
        self.maybe_set_clock()
        result = self.run("covered", "--format=null", *self.options(),
                          *(["--ignore-symlinks"] if ignore else []),
                          *(f"--by={other}" for other in others), folder)
        paths, count = not_elsewhere(self.picture(), str(folder), others,
                                     self.place.memory, ignore)
        printed = {path.decode() for path in result.out.split(b"\0")[:-1]
                   if not path.endswith(b".trashinfo")}
        if result.status == 1 and self.view and b"index of the view" in result.error:
            return
        if result.status == 3 and (count == 0 or self.place.doubts):
            return
        self.claim(printed == paths, "covered", result, printed ^ paths)
        self.claim(result.status == (4 if paths else 0) or b".trashinfo" in result.out,
                   "covered", result, paths)

    def check(self):
        # a view without a source does not see how hard links in it change
        sources = self.sources if self.view else self.some_sources()
        self.maybe_set_clock()
        scan = self.run("scan", *self.options(), *sources)
        self.claim(scan.status == 0, "scan", scan)
        words = ["--quick"] if self.rng.random() < 0.5 else []
        result = self.run("check", *words, *self.options(), *sources)
        self.claim(result.status == 0, "check", result)

    # ---- views ----

    def mount(self):
        if self.view or os.geteuid() != 0:
            self.end_view()
            return
        sources = self.some_sources()
        self.shift = 0
        self.twinfs.environment.pop("LD_PRELOAD", None)
        at = self.twinfs.folder / "mount"
        at.mkdir(exist_ok=True)
        result = self.run("mount", "--wait", *self.options(), *sources, at)
        self.claim(result.status == 0, "mount", result)
        view = View(self.twinfs, at, result)
        view.pid = view.status()["pid"]
        self.view = view, sources

    def end_view(self):
        """Compares the view, if there is one, with its sources, or kills its daemon."""
        if not self.view:
            return
        (view, sources), self.view = self.view, None
        try:
            if self.rng.random() < 0.3:
                os.kill(view.pid, signal.SIGKILL)
                return
            # without a source, hard links in it change unseen; the oracle stays on a file system
            if sorted(sources) != sorted(self.sources) or self.place.doubts or self.options():
                return
            with contextlib.suppress(PermissionError):  # the oracle reads all symlinks
                found = [line for line in view.differences_now(*sources)
                         if not (self.place.shares_blocks and line.startswith("by-size:"))]
                self.claim(not found, "view", sources, found)
        finally:
            view.unmount()

    def play(self, steps):
        try:
            for _ in range(steps):
                self.change()
                self.act()
                for step in self.rng.sample([self.undo, self.undo, self.covered, self.check,
                                             self.change, self.mount, self.act], 3):
                    self.transcript.append(step.__name__)
                    step()
        finally:
            self.end_view()


@dataclass
class Undone:
    """An undo, and the paths of the records that it brought back."""
    id: str
    of: Act
    paths: set
    command = "undo"

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many writers change a mounted source at the same time; after they stop, view and source agree.

Eight processes make all kinds of changes with few names and few contents, so that they collide
often and most files have copies.  After they stop, names and groups must become those of the source
without a sync.  After `sync` the oracle must find no difference.  In the middle of the storm the
daemon can be stopped or killed, and readers can read the view.  The kind "moments" makes many short
storms, and the daemon gets their events only after each storm.

usage: storm.py --binary PATH [--seconds 20] [--rounds 10] [--seed N] [--kind KIND]

--kind is plain, overflow, killed, readers, moments, or all (the default: one after the other).
"""
import argparse
import contextlib
import ctypes
import errno
import faulthandler
import functools
import mmap
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "functional"))

import changes  # noqa: E402
import oracle  # noqa: E402
import rank_names  # noqa: E402
import trees  # noqa: E402
import walk  # noqa: E402
from processes import end_process, stopped, until  # noqa: E402
from program import Program, Session

KINDS = ("plain", "overflow", "killed", "readers", "moments")
WRITERS = 8
READERS = 8
BURST = 20_000  # changes while the daemon is stopped: their events overflow its queue
BLOCK = 4096  # the least length of a hole
SIZES = (0, 1, 100, 100, 4096, 20_000, 20_000, 70_000)
FOLDERS = (b"d0", b"d1", b"d2")
FILES = (b"f0", b"f1", b"f2", b"f3")
DEPTH = 2
PROCESSES = multiprocessing.get_context("fork")


@functools.cache
def content(size, number):
    return trees.content(("storm", size, number), size)


class Writer:
    """A writer: each step is a random change, which can fail as the writers collide."""

    def __init__(self, root, seed):
        self.root, self.rng = os.fsencode(root), random.Random(seed)

    def content(self, size=None):
        if size is None:
            size = self.rng.choice(SIZES)
        return content(size, self.rng.randrange(3))

    def folder(self, least=0):
        names = [self.rng.choice(FOLDERS) for _ in range(self.rng.randint(least, DEPTH))]
        return os.path.join(self.root, *names)

    def file(self):
        return os.path.join(self.folder(), self.rng.choice(FILES))

    def own(self):
        """A name that only this process uses, in a shared folder."""
        return os.path.join(self.folder(), b"tmp%d" % os.getpid())

    def write(self, path, flags, data):
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644)
        try:
            os.write(handle, data)
            if self.rng.random() < 0.05:
                time.sleep(self.rng.random() / 50)
                os.write(handle, data[:10])
        finally:
            os.close(handle)

    def create(self):
        self.write(self.file(), os.O_CREAT | os.O_EXCL, self.content())

    def rewrite(self):
        self.write(self.file(), os.O_TRUNC, self.content())

    def overwrite_keeping_size_and_mtime(self):
        path = self.file()
        when = os.lstat(path)
        self.write(path, 0, self.content(when.st_size))
        os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns), follow_symlinks=False)

    def append(self):
        self.write(self.file(), os.O_APPEND, b"more")

    def truncate(self):
        path = self.file()
        if not os.path.islink(path):
            os.truncate(path, self.rng.choice(SIZES))

    def store(self):
        """Stores in a child process, which gets SIGBUS if another writer truncates the file."""
        handle = os.open(self.file(), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            size = os.fstat(handle).st_size
            if not 0 < size <= max(SIZES):
                return
            data = self.content(size)
            child = os.fork()
            if child == 0:
                store_and_exit(handle, data)
            os.waitpid(child, 0)
        finally:
            os.close(handle)

    def copy(self):
        with open(self.file(), "rb", opener=open_file) as old:
            data = old.read(2 * max(SIZES))
            if self.rng.random() < 0.5:
                self.write(self.file(), os.O_CREAT | os.O_EXCL, data)
                return
            old.seek(0)
            temporary = self.own()
            with open(temporary, "wb") as new:
                os.copy_file_range(old.fileno(), new.fileno(), max(SIZES))
            os.replace(temporary, self.file())

    def rename(self):
        os.rename(self.file(), self.file())

    def rename_folder(self):
        os.rename(self.folder(1), self.folder(1))

    def exchange(self):
        pick = self.rng.choice((self.file, lambda: self.folder(1)))
        changes.exchange(pick(), pick())

    def link(self):
        path = self.file()
        if not os.path.islink(path):
            os.link(path, self.file())

    def unlink(self):
        os.unlink(self.file())

    def make_folders(self):
        os.makedirs(self.folder(2), exist_ok=True)

    def remove_tree(self):
        if self.rng.random() < 0.2:
            shutil.rmtree(self.folder(2), ignore_errors=True)

    def swap_symlink(self):
        temporary = self.own()
        os.symlink(self.rng.choice((b"f1", b"..", b"d1", b"nowhere")), temporary)
        os.replace(temporary, os.path.join(self.folder(), b"link"))

    def change_attributes(self):
        path = self.rng.choice((self.file(), self.folder(1)))
        if not os.path.islink(path):
            os.chmod(path, self.rng.choice((0o700, 0o755, 0o750)))

    CHANGES = (create, create, create, rewrite, rewrite, overwrite_keeping_size_and_mtime, append,
               truncate, store, copy, copy, copy, rename, rename, rename_folder, exchange, link,
               unlink, unlink, make_folders, make_folders, remove_tree, swap_symlink,
               change_attributes)

    def run(self, seconds):
        """Makes changes for this time; returns the number of successful changes."""
        made, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError, shutil.Error):
                self.rng.choice(self.CHANGES)(self)
                made += 1
        for folder, _, names in os.walk(self.root):  # leftovers of interrupted changes
            for name in names:
                if name == b"tmp%d" % os.getpid():
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(folder, name))
        return made


class CtimeWriter(Writer):
    """A writer whose changes only the ctime shows, at names that often lead to another file."""

    def content(self, size=None):
        return content(4096, self.rng.randrange(3))

    CHANGES = (Writer.create, Writer.rewrite, *[Writer.overwrite_keeping_size_and_mtime] * 4,
               *[Writer.link] * 3, *[Writer.rename] * 3, Writer.exchange, *[Writer.unlink] * 2,
               Writer.copy, Writer.make_folders, Writer.rename_folder, Writer.remove_tree)


def store_and_exit(handle, data):
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with mmap.mmap(handle, len(data)) as mapped:
            mapped[:] = data
    finally:
        os._exit(0)


def open_file(path, flags):
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


RANK_FOLDER = re.compile(rb"[0-9]+-[0-9]+")  # the name of a folder in by-size/


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3_128(data):
    """The hash in the form of `xxhsum -H2`."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    found = library.XXH3_128bits(data, len(data))
    return f"{found.high:016x}{found.low:016x}"


class Reader:
    """A reader of the view while it changes; records wrong results."""

    GONE = (errno.ENOENT, errno.ESTALE)
    # errors allowed for a path in a tree, where names can change their kind
    ELSE = (*GONE, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)

    def __init__(self, mount, seed):
        self.mount, self.rng = os.fsencode(mount), random.Random(seed)
        self.wrong = []

    def note(self, what):
        if what not in self.wrong:
            self.wrong.append(what)

    def names(self, folder):
        """The names of a folder. A listing can have a name twice if the name gets another file
        between two calls. This must not occur in each of three listings."""
        for _ in range(3):
            names = os.listdir(folder)
            if len(names) == len(set(names)):
                return names
        self.note(f"names twice in {folder!r}")
        return names

    def whole(self, path):
        with open(path, "rb", buffering=0, opener=open_file) as file:
            pieces = []
            while piece := file.read(1 << 20):
                pieces.append(piece)
        return b"".join(pieces)

    def read_copy(self):
        dups = os.path.join(self.mount, b"dups")
        folders = self.names(dups)
        if not folders:
            return
        folder = self.rng.choice(folders)
        copies = self.names(os.path.join(dups, folder))
        if not copies:
            return
        path = os.path.join(dups, folder, self.rng.choice(copies))
        data = self.whole(path)
        if xxh3_128(data) != os.fsdecode(folder[:32]):
            self.note(f"{len(data)} other bytes in {path!r}")

    def read_tree(self, where):
        """Reads a file that a random walk finds, if there is one."""
        path = os.path.join(self.mount, where)
        while True:
            names = self.names(path)
            if not names:
                return
            path = os.path.join(path, self.rng.choice(names))
            if not os.path.isdir(path) or os.path.islink(path):
                break
        if os.path.isfile(path) and not os.path.islink(path):
            self.whole(path)

    def read_unique(self):
        self.read_tree(b"uniques")

    def read_redundant(self):
        self.read_tree(b"redundant")

    def ranked(self, where):
        """The path of a random link or folder in by-size/ or folders/, or None."""
        folder = os.path.join(self.mount, where)
        names = self.names(folder)
        if names and RANK_FOLDER.fullmatch(names[0]):  # enough groups for folders
            folder = os.path.join(folder, self.rng.choice(names))
            names = self.names(folder)
        return os.path.join(folder, self.rng.choice(names)) if names else None

    def describes(self, path, target):
        """Whether the figures in the name of a link or folder are those of the copies. The size of
        a copy never changes; the number of copies can. The removal of a copy frees nothing as long
        as it has a hard link whose name the daemon did not read yet."""
        size = int(os.getxattr(target, "user.twinfs.size"))
        copies = int(rank_names.FIGURES.search(path)[1])
        possible = (rank_names.name_of("", "", copies, oracle.human(size * freed))[1:]
                    for freed in range(copies))
        return path.endswith(tuple(figures.encode() for figures in possible))

    def may_have_holes(self, folder):
        """Whether a copy of this group can have a hole, so that its removal frees less than its
        size."""
        for name in self.names(folder)[:1]:
            data = self.whole(os.path.join(folder, name))
            return any(not any(data[at:at + BLOCK]) for at in range(0, len(data), BLOCK))
        return False

    def follow_link(self):
        """Checks that a name leads to the group that it describes, or is missing."""
        path = self.ranked(b"by-size")
        if path:
            target = os.path.join(os.path.dirname(path), os.readlink(path))
            if not self.describes(path, target) and not self.may_have_holes(target):
                self.note(f"{path!r} leads to {target!r}")

    def read_folder(self):
        """Checks the name of an entry of folders/, and reads a file in it."""
        entry = self.ranked(b"folders")
        if entry:
            if not self.describes(entry, entry):
                self.note(f"{entry!r} has other figures than its copies")
            self.read_tree(entry)

    def run(self, seconds):
        """Reads for this time; returns wrong results and the number of successful reads."""
        end, read = time.monotonic() + seconds, 0
        while time.monotonic() < end and len(self.wrong) < 10:
            act, allowed = self.rng.choice(((self.read_copy, self.GONE),
                                            (self.read_unique, self.ELSE),
                                            (self.read_redundant, self.ELSE),
                                            (self.follow_link, self.GONE),
                                            (self.read_folder, self.ELSE)))
            try:
                act()
                read += 1
            except OSError as error:
                if error.errno not in allowed:
                    self.note(f"{act.__name__}: {error}")
        return self.wrong, read


def _work(pipe, make, arguments, seconds):
    try:
        pipe.send(make(*arguments).run(seconds))
    finally:
        pipe.close()


class Workers:
    """Processes that run something for a time; they are ended in any case."""

    def __init__(self, make, count, arguments, seed, seconds):
        self.running = []
        for number in range(count):
            ours, theirs = PROCESSES.Pipe(False)
            process = PROCESSES.Process(
                target=_work, args=(theirs, make, (*arguments, f"{seed} {number}"), seconds))
            process.start()
            theirs.close()
            self.running.append((process, ours))

    def results(self):
        """The result of each process; EOFError if one died."""
        return [pipe.recv() for _, pipe in self.running]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, pipe in self.running:
            pipe.close()
            if process.is_alive():
                process.join(5)
                process.kill()
            process.join()


@dataclass
class Outcome:
    """The result of a storm; differences and wrong readings must be empty."""
    seed: str
    differences: list = field(default_factory=list)
    wrong: list = field(default_factory=list)
    changes: int = 0
    readings: int = 0
    agreement_seconds: float = 0  # time until the view agreed without a sync
    sync_seconds: float = 0

    @property
    def well(self):
        return not self.differences and not self.wrong

    def __str__(self):
        lines = [f"seed {self.seed}: {self.changes} changes, {self.readings} readings, "
                 f"agreement {self.agreement_seconds:.2f} s, sync {self.sync_seconds:.2f} s, "
                 f"{len(self.differences)} differences, {len(self.wrong)} wrong readings"]
        return "\n  ".join(lines + self.differences[:40] + self.wrong[:40])


def burst(folder):
    """Many changes in one folder that leave few files.

    No change replaces content, because ext4 would write the new content to the disk at once, which
    is slow.
    """
    one, two, more = (os.path.join(folder, name) for name in ("one", "two", "more"))
    trees.write(one, b"burst")
    for number in range(BURST // 4):
        os.link(one, more)
        os.rename(one, two)
        os.rename(more, one)
        os.unlink(two)
        if number % 100 == 0:
            trees.write(os.path.join(folder, f"{number}"), b"%d" % (number % 300))


def watched_folder(source, view):
    """The path of a folder whose events a view gets: a folder without a watch has none."""
    folder = os.path.join(os.fsdecode(source), "burst")
    os.makedirs(folder, exist_ok=True)
    view.sync()
    return folder


def disturb(kind, program, source, view, views):
    """Causes the event in the middle of a storm; returns the view to continue with."""
    if kind == "overflow":
        folder = watched_folder(source, view)
        with stopped(view.pid):
            burst(folder)
    elif kind == "killed":
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
        return views.enter_context(program.mounted(source, options=()))
    return view


def moments(view, source, seconds, seed, outcome):
    """Makes short storms until a result is wrong. During most of a storm the daemon is stopped."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < end and outcome.well:
        with contextlib.ExitStack() as stack:
            if rng.random() < 0.8:
                stack.enter_context(stopped(view.pid))
            writers = stack.enter_context(Workers(
                CtimeWriter, 3, (source,), f"{seed} {rng.random()}",
                rng.choice((0.0005, 0.001, 0.003))))
            outcome.changes += sum(writers.results())
        view.sync()
        outcome.differences = view.differences(source, first_scan=False)


def names_below(folder):
    """Paths of everything but folders."""
    return [entry.path for entry in walk.walk(folder, xattrs=False) if entry.kind != stat.S_IFDIR]


def shown(view):
    """Names and groups as the view lists them.  No file is opened, because an open causes a
    recheck."""
    names = sorted(names_below(view.uniques) + names_below(view.redundant))
    return names, {frozenset(copies) for copies in view.copies().values()}


def wait_for_agreement(view, source, outcome):
    """Waits until the view agrees with its source, without changes and without a sync."""
    def agrees():
        with contextlib.suppress(OSError):  # a folder can be removed while it is listed
            return shown(view) == right
    begun = time.monotonic()
    model = oracle.Source([source], xattrs=False)
    right = (sorted(path for (_, path), entry in model.names.items()
                    if entry.kind != stat.S_IFDIR),
             {frozenset(path.replace(b"/", oracle.SLASH) for inode in group
                        for _, path in inode.names) for group in model.groups()})
    if not until(agrees):
        outcome.differences.append("names or groups stay wrong without a sync")
    outcome.agreement_seconds = time.monotonic() - begun


def run_over_view(program, source, view, views, outcome, kind, seconds):
    """Runs a storm over a mounted view in a stack of views; returns the view to continue with."""
    seed = outcome.seed
    if kind == "moments":
        moments(view, source, seconds, seed, outcome)
        return view
    with Workers(Writer, WRITERS, (source,), seed, seconds) as writers, \
            Workers(Reader, READERS if kind == "readers" else 0, (view.path,), seed,
                    seconds) as readers:
        time.sleep(seconds / 2)  # half of the storm, not a wait for an event
        view = disturb(kind, program, source, view, views)
        outcome.changes = sum(writers.results())
        for wrong, read in readers.results():
            outcome.wrong += wrong
            outcome.readings += read
    wait_for_agreement(view, source, outcome)
    begun = time.monotonic()
    view.sync()
    outcome.sync_seconds = time.monotonic() - begun
    outcome.differences += view.differences(source, first_scan=False)
    return view


def run(program, source, kind, seconds, seed, options=("--wait",)):
    """Runs a storm over a view of the source; returns its Outcome."""
    outcome = Outcome(f"{seed} ({kind})")
    for number in range(30):
        Writer(source, f"{seed} first {number}").run(0.005)
    with contextlib.ExitStack() as views:
        view = views.enter_context(program.mounted(source, options=options))
        run_over_view(program, source, view, views, outcome, kind, seconds)
    return outcome


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", required=True, help="the twinfs to test")
    parser.add_argument("--seconds", type=float, default=20, help="how long a storm lasts")
    parser.add_argument("--rounds", type=int, default=10, help="how many storms of each kind")
    parser.add_argument("--seed", type=int, help="of the first round; the next ones follow")
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="all")
    return parser.parse_args(arguments)


def main(arguments):
    settings = parse(arguments)
    base = os.path.realpath(tempfile.mkdtemp(prefix="twinfs-storm-"))
    os.mkdir(f"{base}/sanitizer")
    session = Session(os.path.realpath(settings.binary), base, uuid.uuid4().hex)
    seed = random.randrange(1 << 32) if settings.seed is None else settings.seed
    kinds = KINDS if settings.kind == "all" else (settings.kind,)
    bad = 0
    try:
        for number in range(settings.rounds):
            for kind in kinds:
                folder = Path(base, f"{number}-{kind}")
                (folder / "source").mkdir(parents=True)
                outcome = run(Program(session, folder), folder / "source", kind,
                              settings.seconds, seed + number)
                print(outcome, flush=True)
                bad += not outcome.well
                trees.remove(folder)
        reports = session.sanitizer_reports()
        print("\n".join(reports), end="")
    finally:
        session.clean_up()
        trees.remove(base)
    return 1 if bad or reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

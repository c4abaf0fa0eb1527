# SPDX-License-Identifier: MIT
"""Data sets: made once in a folder, with the same bytes on every machine, and reused."""
import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from bench.runs import progress

VERSION = 1  # increment it when the contents of a set change
KIB, MIB = 1 << 10, 1 << 20
POOL_BYTES = 24 * MIB
SNAPSHOTS = 30
CHUNK_FILES = 34 * SNAPSHOTS  # a chunk has all snapshots of a name
# Of the trees that many_files.c makes: one file in COPIED is a copy; a mixed tree has empty files
# except for one in EMPTY_CYCLE groups of COPIED files; both repeat after CYCLE files.
COPIED, EMPTY_CYCLE = 4, 4
CYCLE = COPIED * EMPTY_CYCLE


@dataclass(frozen=True)
class File:
    """The path of a file, and its bytes: first `shared` bytes that all files have, then bytes of
    its own."""
    path: str
    content: int
    size: int
    shared: int = 0
    changed: int = None  # position of a changed byte
    link: str = None  # the path of an earlier file that this one is a hard link of


@dataclass(frozen=True)
class Set:
    """A set of this many files at full scale; `file` describes the file of a number."""
    files: int
    file: Callable
    least: int = 4


def small(number, count):
    """100 folders of 1,000 files of 1 KiB with 1,000 contents."""
    return File(f"{number // 1000:03}/{number % 1000:03}", number % max(1, count // 100), KIB)


def same_size(number, _):
    """Logs of 8 KiB with the same beginning, all different."""
    return File(f"{number // 1000:03}/{number % 1000:03}.log", number, 8 * KIB, shared=6 * KIB)


def large(number, _):
    """16 MiB each: a file, its copy, and copies with the first or the last byte changed."""
    size = 16 * MIB
    changed = (None, None, 0, size - 1)[number % 4]
    return File(f"{number % 4}/{number // 4:03}", number // 4, size, changed=changed)


def no_duplicates(number, _):
    """Different files of 64 sizes around 32 KiB."""
    return File(f"{number // 500:03}/{number % 500:03}", number, KIB * (1 + number % 64))


def photos(number, _):
    """Files of 0.5 to 4 MiB; one in five has a copy."""
    copy = number % 6 == 5
    content = number - 5 if copy else number
    size = MIB // 2 + content * 7919 * 4099 % (7 * MIB // 2)
    folder = "best" if copy else f"{2000 + number // 100}"
    return File(f"{folder}/IMG_{number:05}.jpg", content, size)


def snapshots(number, _):
    """Snapshots of a tree as rsnapshot makes them: a file that did not change is a hard link. In
    each snapshot one file in 100 is a new one: every second of these has new bytes. One file in ten
    is a copy of another."""
    name, snapshot = divmod(number, SNAPSHOTS)
    renewed = [one for one in range(1, snapshot + 1) if (name + 37 * one) % 100 == 0]
    path = f"{name // 1000:03}/{name % 1000:03}"
    link = f"{snapshot - 1:02}/{path}" if snapshot and snapshot not in renewed else None
    version = sum((name // 100 + one) % 2 == 0 for one in renewed)
    original = name - 1 if name % 10 == 9 and not version else name
    return File(f"{snapshot:02}/{path}", original * SNAPSHOTS + version,
                KIB * (1 + original % 8), link=link)


def one_file(size, _number, _count):
    return File("file", 0, size)


SETS = {
    "small": Set(100_000, small),
    "same-size": Set(120_000, same_size),
    "large": Set(160, large),
    "no-duplicates": Set(40_000, no_duplicates),
    "photos": Set(1500, photos, least=6),
    "snapshots": Set(100_000 * SNAPSHOTS, snapshots, least=20 * SNAPSHOTS),
}
COPIED_HALF = "half-copied"
NAMES = ("real", COPIED_HALF, *SETS)
# Folders of the copied half have at most one in this many of the files.
PIECES = 64


@cache
def pool():
    """Incompressible bytes; contents are slices of it."""
    return random.Random("twinfs").randbytes(POOL_BYTES)


def write_content(out, file):
    """Writes the bytes of a file. Different contents differ right after the shared bytes."""
    mark = hashlib.blake2b(b"%d" % file.content, digest_size=16).digest()
    out.write(pool()[:file.shared] + mark)
    left = file.size - file.shared - len(mark)
    begin = file.content * 7919 % max(1, POOL_BYTES - left)
    while left > 0:
        left -= out.write(pool()[begin:begin + left])
        begin = 0


def flip(path, position):
    """Changes one byte; a second call changes it back."""
    handle = os.open(path, os.O_RDWR)
    try:
        [byte] = os.pread(handle, 1, position)
        os.pwrite(handle, bytes([byte ^ 1]), position)
    finally:
        os.close(handle)


def write_files(folder, describe, count, numbers):
    made = set()
    for number in numbers:
        file = describe(number, count)
        path = os.path.join(folder, file.path)
        parent = os.path.dirname(path)
        if parent not in made:
            os.makedirs(parent, exist_ok=True)
            made.add(parent)
        if file.link:
            os.link(os.path.join(folder, file.link), path)
            continue
        with open(path, "wb", buffering=0) as out:
            write_content(out, file)
        if file.changed is not None:
            flip(path, file.changed)


def pieces(root):
    """Folders of a tree in the order of their paths, none of which is in another. Each has at most
    one in PIECES of the names, or has no folders."""
    folders, names = {}, {}
    for path, below, files in os.walk(os.fsencode(root), topdown=False):
        below = sorted(os.path.join(path, name) for name in below
                       if os.path.join(path, name) in names)  # no links
        folders[path] = below
        names[path] = len(files) + sum(names[one] for one in below)
    most = names[os.fsencode(root)] // PIECES

    def split(path):
        if names[path] <= most or not folders[path]:
            return [path]
        return [piece for one in folders[path] for piece in split(one)]
    return split(os.fsencode(root))


def copy_folder(source, target):
    """Copies files that can be read and symbolic links."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    subprocess.run(["cp", "-R", "-P", source, target], check=False, stderr=subprocess.DEVNULL)


def state_of(folder):
    """A text that changes with the names, sizes and times of the files of a folder."""
    state = hashlib.blake2b(digest_size=16)
    for path, below, files in os.walk(folder):
        below.sort()
        for name in sorted(files):
            info = os.lstat(os.path.join(path, name))
            state.update(b"%s/%s %d %d\n" % (path, name, info.st_size, info.st_mtime_ns))
    return state.hexdigest()


class Library:
    """Data sets below one folder."""

    def __init__(self, folder, scale, tools):
        self.folder, self.scale, self.tools = folder, scale, tools

    def set(self, name):
        """The folder of a set of SETS."""
        wanted = SETS[name]
        return self.described(name, wanted.file, max(wanted.least,
                                                     round(wanted.files * self.scale)))

    def sources(self, name, real):
        """The folders of a set of NAMES; real  the folder of the set real"""
        if name == "real":
            return [real]
        if name == COPIED_HALF:
            return [real, self.half_of(real)]
        return [self.set(name)]

    def half_of(self, real):
        """A copy of every second piece of a tree; of fewer at a smaller scale."""
        every = max(2, round(2 / self.scale))
        chosen = pieces(real)[1::every] or pieces(real)[:1]
        states = "".join(state_of(path) for path in chosen)

        def write(target):
            for path in chosen:
                below = os.path.relpath(path, os.fsencode(real))
                copy_folder(path, os.path.join(os.fsencode(target), below))
        return self.make(COPIED_HALF, len(chosen),
                         hashlib.blake2b(states.encode(), digest_size=16).hexdigest(), write)

    def one_file(self):
        """A folder with one large file: 1 GiB at full scale."""
        size = max(MIB, int(self.scale * KIB * MIB))
        return self.described("one-file", partial(one_file, size), 1)

    def described(self, name, describe, count):
        """A set of files that a function describes."""
        def write(path):
            chunks = [range(begin, min(begin + CHUNK_FILES, count))
                      for begin in range(0, count, CHUNK_FILES)]
            with ProcessPoolExecutor() as workers:
                for _ in workers.map(partial(write_files, path, describe, count), chunks):
                    pass
        return self.make(name, count, describe(0, count).size, write)

    def many(self, count, kind="small"):
        """Folders that together hold this many files; larger numbers include smaller ones."""
        parts, first = [], 0
        for last in sorted({*self.steps(count), count}):
            parts.append(self.part(kind, first, last - first))
            first = last
        return parts

    @staticmethod
    def steps(count):
        """The ends of parts below a number, so that larger trees include the smaller ones."""
        return [step for step in (400_000, 1_000_000) if step < count]

    def part(self, kind, first, count):
        """A set of many_files.c."""
        return self.make(f"many-{kind}-{first}-{first + count}", count, kind,
                         lambda path: self.write_many(path, count, kind, first))

    def write_many(self, path, count, kind="small", first=0):
        subprocess.run([self.tools / "many_files", str(os.cpu_count()), path, str(first),
                        str(count), kind], check=True)

    def stamp(self, name):
        return self.folder / f"{name}.json"

    def make(self, name, count, mark, write):
        """The folder of a set, which `write` makes unless it exists with this count and mark."""
        path = self.folder / name
        stamp = json.dumps({"version": VERSION, "count": count, "size of the first": mark})
        if self.stamp(name).exists() and self.stamp(name).read_text() == stamp:
            return path
        self.stamp(name).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        progress(f"making data set {name}: {count} files")
        write(path)
        os.sync()  # without this sync the first measurement would include the writes
        self.stamp(name).write_text(stamp)
        return path

    @contextlib.contextmanager
    def changing(self, folders):
        """Yields a flip() for the sets, which are restored after the block.

        If the process is killed meanwhile, the sets are made again in the next run.
        """
        stamps = {self.stamp(folder.name): self.stamp(folder.name).read_text()
                  for folder in folders}
        changed = []

        def change(path, position):
            flip(path, position)
            changed.append((path, position))
        for path in stamps:
            path.unlink()
        try:
            yield change
        finally:
            for path, position in changed:
                flip(path, position)
            for path, text in stamps.items():
                path.write_text(text)

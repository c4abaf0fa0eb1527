# SPDX-License-Identifier: MIT
"""Measures how time, memory and the index grow with the number of files, and whether the view still
follows its source at once."""
import contextlib
import os
import time
from dataclasses import dataclass

from bench import agreement, disks
from bench.data import COPIED, EMPTY_CYCLE, Library
from bench.modes.live import add_latencies, latencies, write_equal_files
from bench.modes.rescan import mount
from bench.runs import Failure, Rounds, beside, named, noted
from bench.table import MIB, TARGETS
from bench.twinfs import View

# More files than this can take more memory.
FEW_FILES = 400_000
MANY_LIMIT_MIB = 128
# Largest number of files that is compared with jdupes, which needs more than a gigabyte for more
# files. It is also the largest one for which a run is short: more files are scanned once. They are
# on a file system of their own, because many file systems have too few inodes or large blocks.
SOME_FILES = 1_000_000
# From this number on, three in four files are empty: the others still fill the page cache.
MIXED_FROM = 10_000_000
LIVE_COPIES = 50  # at most
LIVE_LIMIT_MS = 100


@dataclass(frozen=True)
class Many:
    """A tree of many files."""
    count: int
    kind: str = "small"

    @property
    def text(self):
        return f"{self.count} {'files' if self.kind == 'small' else 'empty and small files'}"

    @property
    def groups(self):
        return self.count // COPIED // (1 if self.kind == "small" else EMPTY_CYCLE)


@dataclass(frozen=True)
class Costs:
    """The times and processor times for one file of a tree by twinfs, the times by the floor, and a
    note."""
    tree: Many
    time: float
    cpu: float
    floor: float
    beside: str


def scale_trees(counts):
    """The trees to measure. Mixed ones have one of their kind to be compared with."""
    found = [Many(count) for count in counts if count < MIXED_FROM]
    mixed = [Many(count, "mixed") for count in counts if count >= MIXED_FROM]
    return found + ([Many(FEW_FILES, "mixed"), *mixed] if mixed else [])


def run(bench):
    by_kind = {}
    for tree in scale_trees(bench.settings.files):
        by_kind.setdefault(tree.kind, []).append(tree)
    room = sum(max(tree.count for tree in found) for found in by_kind.values())
    with contextlib.ExitStack() as stack:
        library = bench.library
        if room > SOME_FILES:
            if not disks.can_mount():
                bench.report.note(f"scale: only root can make a file system for {room} files")
                return
            root = stack.enter_context(disks.of_small_files(bench.machine.folder, room))
            library = Library(root, 1, bench.settings.tools)
        for found in by_kind.values():
            add_growth(bench, [measure(bench, library, tree) for tree in found])


def measure(bench, library, tree):
    """Adds the rows of a tree; returns its costs."""
    bench.title(f"scale: {tree.text}")
    sources = library.many(tree.count, tree.kind)
    rounds = bench.rounds if tree.count <= SOME_FILES else 1
    least = bench.floor.scan(sources)
    if tree.count <= SOME_FILES:
        bench.machine.run(least)  # fills the page cache, which cannot hold more files
    since = time.time()
    summaries = Rounds(bench.machine, "scale", tree.text).run(
        [bench.floor.walk(sources), least, *(twinfs.scan(sources) for twinfs in bench.builds)],
        rounds)
    least = named(summaries, "floor: scan")
    bench.report.compare(summaries, least)
    found = named(summaries, "twinfs")
    bench.report.figure("time a file", tree.text, 1e6 * found.wall / tree.count, "us")
    bench.report.figure("CPU a file", tree.text, 1e6 * found.cpu / tree.count, "us")
    limit = TARGETS["memory"].limit if tree.count <= FEW_FILES else MANY_LIMIT_MIB
    bench.report.add("memory", tree.text, found.max_anon / MIB, limit, note=noted(
        *(f"{one.max_anon / MIB:.0f} MiB against" for one in summaries if one.name == "against")))
    check(bench, tree, sources, since)
    add_index(bench, "index", tree.text, sources, tree.count)
    mount(bench, tree.text, sources, rounds)
    for watch in ("inotify", *(["fanotify"] if disks.can_mount() else [])):
        follow(bench, tree, sources, watch)
    return Costs(tree, found.wall / tree.count, found.cpu / tree.count, least.wall / tree.count,
                 beside(summaries))


def follow(bench, tree, sources, watch):
    """Measures how fast the view follows its source, and the memory of the daemon. If inotify has
    too few watches, the daemon also walks the directories without one."""
    of = f"{tree.text}, {watch}"
    data = write_equal_files(sources[0])
    try:
        with View(bench.twinfs, sources, [f"--watch={watch}"]) as view:
            # names of several sources begin with that of the source, and a division slash
            name = sources[0].name if len(sources) > 1 else ""
            group = os.getxattr(view.path / "uniques" / name / "first", "user.twinfs.hash")
            found = latencies(sources[0], view.path / "dups" / group.decode(), data,
                              min(LIVE_COPIES, bench.settings.copies), name and f"{name}\u2215")
            status = view.status()
            anon = view.memory("RssAnon")
    finally:
        for path in sources[0].glob("*"):
            if path.is_file():
                path.unlink()
    add_latencies(bench, of, found, LIVE_LIMIT_MS)
    for name, value, unit in (("daemon, anonymous memory", anon / MIB, "MiB"),
                              ("directories without a watch", status.get("unwatched", 0), "")):
        bench.report.figure(name, of, value, unit)


def add_growth(bench, costs):
    """Compares the time for one file of each tree with that of the smallest. If the page cache
    cannot hold a tree, the time of the floor grows, too."""
    small, *others = costs
    for one in others:
        bench.report.add("scale", one.tree.text, one.time / small.time,
                         distance=one.time / one.floor, floor="walk that verifies",
                         note=noted(f"to {small.tree.count}", f"CPU {one.cpu / small.cpu:.2f} x",
                                    f"floor {one.floor / small.floor:.2f} x", one.beside))


def add_index(bench, target, text, sources, count):
    """Adds the size of the index of each build."""
    names = bench.floor.name_bytes(sources)
    sizes = {twinfs.name: (twinfs.index_bytes() - names) / count for twinfs in bench.builds}
    bench.report.figure("index on disk", text, bench.twinfs.index_bytes() / count, "bytes a file")
    bench.report.add(target, text, sizes.pop("twinfs"), note=noted(
        *(f"{size:.0f} bytes {name}" for name, size in sizes.items())))


def check(bench, tree, sources, since):
    """Checks that the index has all files and the known groups."""
    summary = bench.twinfs.summary(*sources)
    found = (summary["files"], summary["groups"], summary["pending"])
    if found != (tree.count, tree.groups, 0):
        raise Failure(f"{tree.text}: made with {tree.groups} groups, but twinfs has (files, "
                      f"groups, pending) {found}")
    if tree.count <= SOME_FILES:
        agreement.check(bench, tree.text, sources, since)

# SPDX-License-Identifier: MIT
"""First scans of each data set by twinfs and its peers, beside the floor. With cold caches, twinfs
and the floor also run with one and two readers."""
import os
import statistics
import time

from bench import agreement, peers
from bench.floor import COLD_THREADS, FEW_THREADS, Tree
from bench.runs import Rounds, beside, can_drop_caches, drop_caches, named, noted
from bench.table import MIB

FEW_READERS = (1, 2)


def warm(bench):
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache warm: {data}")
        summaries = scan(bench, "warm", data, sources)
        add_floor(bench, data, summaries)
        bench.report.add("memory", data, named(summaries, "twinfs").max_anon / MIB)
        add_share(bench, data, sources, summaries)


def cold(bench):
    if not can_drop_caches():
        bench.report.note("cold: only root can empty the caches")
        return
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache cold: {data}")
        summaries = scan(bench, "cold", data, sources, drop_caches, readers=FEW_READERS)
        add_readers(bench, data, summaries)


def scan(bench, mode, data, sources, forget=None, readers=()):
    """Measures first scans and adds the row of this mode.

    forget   empties the caches before each run; without it they are warm
    readers  numbers of readers with which twinfs also runs
    """
    since = time.time()
    tree = Tree(sources)
    if forget is None:
        bench.floor.warm_up(tree)
    bench.machine.run(bench.twinfs.scan(sources))
    groups = agreement.check(bench, data, sources, since)
    contenders = [*programs(bench, sources), *few_readers(bench, sources, readers),
                  *floor(bench, (tree, sources, groups), forget is not None, bool(readers))]
    rounds = Rounds(bench.machine, mode, data, forget or (lambda: None),
                    disk=os.stat(sources[0]).st_dev if forget else None)
    summaries = rounds.run(contenders, bench.rounds)
    add_row(bench, mode, data, summaries)
    return summaries


def programs(bench, sources):
    kind = bench.file_system(sources[0])
    return [*(twinfs.scan(sources) for twinfs in bench.builds),
            *(peers.contender(bench.machine, name, sources) for name in bench.peers
              if peers.works_on(name, kind))]


def few_readers(bench, sources, readers):
    """Scans with these numbers of readers; none if their number cannot be limited."""
    report = bench.machine.folder / "reads"
    found = [bench.twinfs.scan_with_readers(sources, count, report) for count in readers]
    if found:
        report.unlink(missing_ok=True)
        bench.machine.run(found[0])
        if not report.exists() or int(report.read_text()) == 0:
            bench.report.note("readers: cannot intercept the reads of this twinfs")
            return []
    return found


def floor(bench, found, is_cold, with_few):
    """The programs of the floor; with_few: also with few threads."""
    tree, sources, groups = found
    inodes = {inode for _, files in tree.folders for _, inode, _ in files}
    grouped = {inode for group in groups for path in group
               if (inode := bench.inode(path)) in inodes}
    bench.floor.list_reads(tree, grouped)
    contenders = [] if is_cold else [bench.floor.scan_some(sources)]
    for threads in (*(FEW_THREADS if with_few else ()), COLD_THREADS if is_cold else None):
        contenders += [bench.floor.walk(sources, threads), bench.floor.read(threads),
                       bench.floor.verify(threads)]
    return contenders


def add_row(bench, mode, data, summaries):
    """Adds the time of twinfs, of that of the fastest peer. Its distance to the floor is the ratio
    to the sum of a walk and of reading what must be compared, under leases."""
    fastest = agreement.fastest(summaries)
    bench.report.compare(summaries, fastest)
    if fastest:
        twinfs = named(summaries, "twinfs")
        least = named(summaries, "floor: walk").wall + named(summaries, "floor: verify").wall
        bench.report.add(mode, data, twinfs.ratio, distance=twinfs.wall / least,
                         floor="walk + verify",
                         note=noted(f"to {fastest.name}", f"CPU {twinfs.cpu_ratio:.2f} x",
                                    beside(summaries)))


def add_floor(bench, data, summaries):
    """Adds the time of twinfs, of that of a walk that reads what must be compared, under leases."""
    twinfs, least = named(summaries, "twinfs"), named(summaries, "floor: scan")
    bench.report.add("warm-floor", data, twinfs.wall / least.wall,
                     note=f"CPU {twinfs.cpu / least.cpu:.2f} x")


def add_readers(bench, data, summaries):
    """Adds the time of twinfs, of that with one reader. The floor with one thread shows how much
    the disk gains by more reads at once."""
    if all(found.name != "twinfs, 1 reader" for found in summaries):
        return
    one, two = (named(summaries, f"twinfs, {text}") for text in ("1 reader", "2 readers"))
    twinfs = named(summaries, "twinfs")
    least, slow = (sum(named(summaries, f"floor: {what}{threads}").wall
                       for what in ("walk", "verify")) for threads in ("", ", 1 thread"))
    bench.report.add("readers", data, twinfs.wall / one.wall, note=noted(
        f"CPU {twinfs.cpu / one.cpu:.2f} x", f"with two readers {two.wall / one.wall:.2f} x",
        f"floor {least / slow:.2f} x",
        twinfs.reads and f"reads under way {twinfs.reads:.1f}, {two.reads:.1f} and "
        f"{one.reads:.1f}"))


def add_share(bench, data, sources, summaries):
    """The share of processor time inside LMDB, relative to a scan without the measurement. It does
    not include the encoding of records."""
    report = bench.machine.folder / "index time"
    shares = []
    for _ in range(bench.rounds):
        report.unlink(missing_ok=True)
        bench.machine.run(bench.twinfs.scan_timed(sources, report))
        seconds, calls = report.read_text().split() if report.exists() else (0, 0)
        if not int(calls):
            bench.report.note("share of the index: cannot intercept LMDB in this twinfs")
            return
        shares.append(float(seconds))
    bench.report.add("share", data,
                     100 * statistics.median(shares) / named(summaries, "twinfs").cpu,
                     note="inside LMDB, of the processor time")

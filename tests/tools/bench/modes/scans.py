# SPDX-License-Identifier: MIT
"""First scans of each data set by twinfs and its peers, beside the floor."""
import statistics
import time

from bench import agreement, peers
from bench.floor import Tree
from bench.runs import Rounds, can_drop_caches, drop_caches, named

# Limits of the sets for which verification needs most calls.
WARM_LIMITS = {"large": 1, "no-duplicates": 1, "photos": 1}


def warm(bench):
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache warm: {data}")
        since = time.time()
        tree = Tree(sources)
        bench.floor.warm_up(tree)
        summaries = Rounds(bench.machine, "warm", data).run(contenders(bench, sources),
                                                            bench.rounds)
        bench.machine.run(bench.twinfs.scan(sources))
        groups = agreement.check(bench, data, sources, since)
        summaries += floor(bench, "warm", data, (tree, sources, groups))
        add_rows(bench, "warm", data, summaries, WARM_LIMITS.get(data))
        add_share(bench, data, sources, summaries)


def cold(bench):
    if not can_drop_caches():
        bench.report.note("cold: only root can empty the caches")
        return
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache cold: {data}")
        scan_cold(bench, "cold", data, sources, drop_caches)


def scan_cold(bench, mode, data, sources, forget):
    """Measures with `forget`, which empties the caches, before each run; adds rows of this mode."""
    since = time.time()
    tree = Tree(sources)
    summaries = Rounds(bench.machine, mode, data, forget).run(
        contenders(bench, sources), bench.rounds)
    bench.machine.run(bench.twinfs.scan(sources))
    groups = agreement.check(bench, data, sources, since)
    summaries += floor(bench, mode, data, (tree, sources, groups), forget)
    add_rows(bench, mode, data, summaries)


def contenders(bench, sources):
    kind = bench.file_system(sources[0])
    return [bench.twinfs.scan(sources),
            *(peers.contender(bench.machine, name, sources) for name in bench.peers
              if peers.works_on(name, kind))]


def floor(bench, mode, data, found, forget=None):
    tree, sources, groups = found
    is_cold = forget is not None
    inodes = {inode for _, files in tree.folders for _, inode, _ in files}
    grouped = {inode for group in groups for path in group
               if (inode := bench.inode(path)) in inodes}
    return Rounds(bench.machine, mode, data, forget or (lambda: None)).run(
        [bench.floor.walk(sources, is_cold), bench.floor.read(tree, grouped, is_cold),
         bench.floor.verify(tree, grouped, is_cold)], bench.rounds)


def add_rows(bench, mode, data, summaries, limit=None):
    fastest = agreement.fastest(summaries)
    bench.report.compare(summaries, fastest)
    twinfs = named(summaries, "twinfs")
    for kind in ("read", "verify"):
        floors = named(summaries, "floor: walk").wall + named(summaries, f"floor: {kind}").wall
        bench.report.figure(f"{mode}: twinfs, of walk and {kind}", data, twinfs.wall / floors, "x")
    if fastest:
        bench.report.add(mode, data, twinfs.wall / fastest.wall, limit, f"to {fastest.name}")


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

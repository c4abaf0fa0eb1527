# SPDX-License-Identifier: MIT
"""First scans of each data set by twinfs and its peers, beside the floor."""
import statistics
import time

from bench import agreement, peers
from bench.floor import Tree
from bench.runs import Rounds, beside, can_drop_caches, drop_caches, named, noted
from bench.table import MIB


def warm(bench):
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache warm: {data}")
        summaries = scan(bench, "warm", data, sources)
        bench.report.add("memory", data, named(summaries, "twinfs").max_anon / MIB)
        add_share(bench, data, sources, summaries)


def cold(bench):
    if not can_drop_caches():
        bench.report.note("cold: only root can empty the caches")
        return
    for data, sources in bench.data_sets():
        bench.title(f"first scan, cache cold: {data}")
        scan(bench, "cold", data, sources, drop_caches)


def scan(bench, mode, data, sources, forget=None):
    """Measures first scans and adds the row of this mode. `forget` empties the caches before each
    run; without it they are warm."""
    since = time.time()
    tree = Tree(sources)
    if forget is None:
        bench.floor.warm_up(tree)
    bench.machine.run(bench.twinfs.scan(sources))
    groups = agreement.check(bench, data, sources, since)
    contenders = [*programs(bench, sources),
                  *floor(bench, (tree, sources, groups), is_cold=forget is not None)]
    summaries = Rounds(bench.machine, mode, data, forget or (lambda: None)).run(contenders,
                                                                                bench.rounds)
    add_row(bench, mode, data, summaries)
    return summaries


def programs(bench, sources):
    kind = bench.file_system(sources[0])
    return [*(twinfs.scan(sources) for twinfs in bench.builds),
            *(peers.contender(bench.machine, name, sources) for name in bench.peers
              if peers.works_on(name, kind))]


def floor(bench, found, is_cold):
    tree, sources, groups = found
    inodes = {inode for _, files in tree.folders for _, inode, _ in files}
    grouped = {inode for group in groups for path in group
               if (inode := bench.inode(path)) in inodes}
    return [bench.floor.walk(sources, is_cold), bench.floor.read(tree, grouped, is_cold),
            bench.floor.verify(tree, grouped, is_cold)]


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

# SPDX-License-Identifier: MIT
"""Measures how time, memory and the index grow with the number of files."""
import time

from bench import agreement
from bench.data import COPIED
from bench.floor import Tree
from bench.runs import Failure, Rounds, named
from bench.table import MIB, TARGETS

# More files than this can take more memory.
FEW_FILES = 400_000
MANY_LIMIT_MIB = 128
# Largest number of files that is compared with jdupes, which needs more than a gigabyte for more
# files.
COMPARED_FILES = 1_000_000


def run(bench):
    per_file = {}
    for count in bench.settings.files:
        data = f"{count} files"
        bench.title(f"scale: {data}")
        sources = bench.library.many(count)
        tree = Tree(sources)
        bench.floor.warm_up(tree)
        summaries = Rounds(bench.machine, "scale", data).run(
            [bench.floor.walk(sources), bench.twinfs.scan(sources)], bench.rounds)
        bench.report.compare(summaries)
        twinfs = named(summaries, "twinfs")
        per_file[count] = twinfs.wall / count
        bench.report.figure("time a file", data, 1e6 * per_file[count], "us")
        limit = TARGETS["memory"].limit if count <= FEW_FILES else MANY_LIMIT_MIB
        bench.report.add("memory", data, twinfs.max_anon / MIB, limit)
        check_index(bench, data, (tree, sources), count)
    if len(per_file) > 1:
        fewest, most = min(per_file), max(per_file)
        bench.report.add("scale", f"{most} files", per_file[most] / per_file[fewest],
                         note=f"to {fewest}")


def check_index(bench, data, found, count):
    """Reports the size of the index. Checks that it has all files and the known groups."""
    tree, sources = found
    since = time.time()
    bench.report.figure("index on disk", data, bench.twinfs.index_bytes() / count, "bytes a file")
    bench.report.add("index", data, (bench.twinfs.index_bytes() - tree.name_bytes) / count)
    summary = bench.twinfs.summary(*sources)
    wanted = count // COPIED
    found = (summary["files"], summary["groups"], summary["pending"])
    if found != (count, wanted, 0):
        raise Failure(f"{data}: made with {wanted} groups, but twinfs has (files, groups, "
                      f"pending) {found}")
    if count <= COMPARED_FILES:
        agreement.check(bench, data, sources, since)

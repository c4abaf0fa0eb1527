# SPDX-License-Identifier: MIT
"""The list of equal folders beside rmlint, and what the groups of folders cost in scans and index,
beside an older twinfs that does not have them."""
import shutil

from bench import peers
from bench.runs import Contender, Rounds, beside, finished, named, noted
from bench.table import MIB

SETS = ("real", "half-copied", "small")
RMLINT = ["-D", "-T", "df,dd", "-o", "fdupes:stdout", "--hidden"]


def run(bench):
    if len(bench.builds) == 1:
        bench.report.note("folders: what they cost is measured with --against only")
    if "rmlint" not in bench.peers:
        bench.report.note("folders: rmlint is not installed or not selected")
    if len(bench.builds) == 1 and "rmlint" not in bench.peers:
        return
    for data, sources in bench.data_sets(SETS):
        bench.title(f"equal folders: {data}")
        listing(bench, data, sources)
        if len(bench.builds) > 1:
            costs(bench, data, sources)


def listing(bench, data, sources):
    """Measures a first scan that lists the equal folders."""
    if "rmlint" not in bench.peers:
        return
    state = bench.machine.fresh("state of rmlint")
    rmlint = Contender("rmlint -D", [peers.find_program("rmlint"), *RMLINT, *sources],
                       environment={"HOME": str(state)}, folder=state, is_peer=True)
    summaries = Rounds(bench.machine, "folders", data).run(
        [bench.twinfs.list_folders(sources), rmlint], bench.rounds)
    rival = summaries[1]
    bench.report.compare(summaries, rival if finished(rival) else None)
    shutil.rmtree(state)
    if finished(rival):
        twinfs = named(summaries, "twinfs")
        bench.report.add("folders", data, twinfs.ratio, note=f"CPU {twinfs.cpu_ratio:.2f} x")


def costs(bench, data, sources):
    for mode, target, again in (("first scan", "folders-scan", False),
                                ("rescan", "folders-rescan", True)):
        scans = [twinfs.scan(sources, rescan=again) for twinfs in bench.builds]
        summaries = Rounds(bench.machine, f"folders, {mode}", data).run(scans, bench.rounds)
        ours, theirs = named(summaries, "twinfs"), named(summaries, "against")
        bench.report.compare(summaries, theirs)
        bench.report.add(target, data, ours.wall / theirs.wall, note=noted(
            beside(summaries), f"{ours.max_anon / MIB:.0f} and {theirs.max_anon / MIB:.0f} MiB"))
    sizes = [twinfs.index_bytes() for twinfs in bench.builds]
    bench.report.add("folders-index", data, sizes[0] / sizes[1],
                     note=f"{sizes[0] / MIB:.1f} and {sizes[1] / MIB:.1f} MiB")

# SPDX-License-Identifier: MIT
"""Scans of an indexed tree, unchanged and with 1 % of the files changed, and its mount."""
import os
import shutil
import time
from dataclasses import replace

from bench import agreement, peers
from bench.runs import Rounds, beside, named, noted
from bench.twinfs import status_of, unmount

CHANGED = 100  # one in this many files


def run(bench):
    count = bench.settings.files[0]
    for data, sources, is_ours in (("real", [bench.settings.real], False),
                                   (f"{count} files", bench.library.many(count), True)):
        bench.title(f"rescan, and mount: {data}")
        remembering = remembering_peers(bench, sources, is_ours)
        for twinfs in bench.builds:
            bench.machine.run(twinfs.scan(sources))
        rescan(bench, data, sources, remembering)
        mount(bench, data, sources, bench.rounds)
        if is_ours:
            rescan_changed(bench, data, sources, remembering)


def remembering_peers(bench, sources, is_ours):
    """Peers with a cache, after a first scan; without those that do not work here."""
    kind = bench.file_system(sources[0])
    found = []
    for name in bench.peers:
        peer = peers.PEERS[name]
        if not peer.cached or not peers.works_on(name, kind) or peer.marks_files and not is_ours:
            continue
        shutil.rmtree(peers.state_of(bench.machine, name), ignore_errors=True)
        contender = peers.contender(bench.machine, name, sources, cached=True)
        measured = bench.machine.measure(contender)
        if measured.killed or measured.status not in contender.statuses:
            bench.report.note(f"{name} {bench.machine.how(measured)}")
        else:
            found.append(contender)
    return found


def rescan(bench, data, sources, remembering):
    rounds = Rounds(bench.machine, "rescan", data)
    summaries = rounds.run([bench.floor.walk(sources), *again(bench, sources), *remembering],
                           bench.rounds)
    fastest = agreement.fastest(summaries)
    bench.report.compare(summaries, fastest)
    twinfs, walk = named(summaries, "twinfs"), named(summaries, "floor: walk")
    bench.report.add("rescan", data, twinfs.wall / walk.wall,
                     note=noted(f"CPU {twinfs.cpu / walk.cpu:.2f} x", beside(summaries)))
    if fastest:
        bench.report.add("rescan-peer", data, twinfs.ratio, distance=twinfs.wall / walk.wall,
                         floor="walk", note=f"to {fastest.name}; CPU {twinfs.cpu_ratio:.2f} x")


def again(bench, sources):
    return [twinfs.scan(sources, rescan=True) for twinfs in bench.builds]


def mount(bench, data, sources, count):
    """Measures the time until the view answers, which it does when all names are known."""
    mounts = [mounted(twinfs, sources) for twinfs in bench.builds]
    try:
        summaries = Rounds(bench.machine, "mount", data).run(
            [bench.floor.walk(sources), *mounts], count)
    finally:
        for one in mounts:
            one.prepare()
    walk = named(summaries, "floor: walk")
    bench.report.compare(summaries, walk)
    twinfs = named(summaries, "twinfs mount")
    bench.report.add("mount", data, twinfs.ratio, note=noted(
        f"CPU {twinfs.cpu_ratio:.2f} x", beside(summaries, "twinfs mount", "against mount")))


def mounted(twinfs, sources):
    """The command that mounts a view; it unmounts the last one before. The processor time of the
    daemon counts."""
    folder = twinfs.machine.fresh(f"view of {twinfs.name}")
    return replace(twinfs.mount(sources, folder),
                   prepare=lambda: os.path.ismount(folder) and unmount(folder),
                   server=lambda: status_of(folder)["pid"] if os.path.ismount(folder) else 0)


def rescan_changed(bench, data, sources, remembering):
    """Measures rescans. Before each round, changes the last byte of one file in a hundred."""
    paths = [[entry.path for folder in sorted(os.scandir(source), key=lambda one: one.name)
              for entry in sorted(os.scandir(folder), key=lambda one: one.name)]
             for source in sources]
    with bench.library.changing(sources) as change:
        def begin(number):
            for part in paths:
                for path in part[number % CHANGED::CHANGED]:
                    change(path, os.path.getsize(path) - 1)
        summaries = Rounds(bench.machine, "1 % changed", data).run(
            [bench.floor.walk(sources), *again(bench, sources), *remembering], bench.rounds, begin)
        fastest = agreement.fastest(summaries)
        print("  1 % changed:")
        bench.report.compare(summaries, fastest)
        agreement.check(bench, f"{data}, 1 % changed", sources, since=time.time())
    if fastest:
        twinfs, of = named(summaries, "twinfs"), "of the fastest peer's with a cache"
        bench.report.figure(f"rescan with 1 % changed, {of}", data, twinfs.ratio, "x")
        bench.report.figure(f"CPU of the rescan with 1 % changed, {of}", data, twinfs.cpu_ratio,
                            "x")

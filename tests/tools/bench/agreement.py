# SPDX-License-Identifier: MIT
"""Compares the results of twinfs and jdupes.

Both results are compared as groups of inodes: jdupes lists a file with several hard links once, and
twinfs lists each name. Files that changed since the comparison began are left out.
"""
import base64
import os

from bench import peers
from bench.runs import finished, progress


def path_of(record):
    if "path_base64" in record:
        return base64.b64decode(record["path_base64"], validate=True)
    return os.fsencode(record["path"])


def of_twinfs(listing):
    """Groups, as lists of paths."""
    return [[path_of(copy) for copy in group["copies"]] for group in listing["groups"]]


def of_jdupes(output):
    """Groups from the output of `jdupes -0`."""
    return [group.strip(b"\0").split(b"\0") for group in output.split(b"\0\0")
            if group.strip(b"\0\n")]


class Inodes:
    """Groups of inodes, with a path of each, of files on one device, unchanged since a time."""

    def __init__(self, since, device):
        self.since, self.device = since, device
        self.changed = 0
        self.paths = {}

    def groups(self, found):
        return {group for paths in found if len(group := self.group(paths)) > 1}

    def group(self, paths):
        inodes = set()
        for path in paths:
            try:
                info = os.lstat(path)
            except FileNotFoundError:
                self.changed += 1
                continue
            if info.st_ctime >= self.since:
                self.changed += 1
            elif info.st_dev == self.device:
                inodes.add(info.st_ino)
                self.paths[info.st_ino] = path
        return frozenset(inodes)

    def differences(self, ours, theirs):
        """A line with paths for each group that only one of the two results has."""
        return ([self.line("only twinfs reports as equal", group) for group in ours - theirs]
                + [self.line("only jdupes reports as equal", group) for group in theirs - ours])

    def line(self, claim, group):
        names = sorted(repr(self.paths[inode])[1:] for inode in group)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{claim}: {', '.join(names[:3])}{more}"


def check(bench, data, sources, since):
    """Compares the index with the result of jdupes; returns the groups of twinfs."""
    listing = of_twinfs(bench.twinfs.listing(*sources))
    if "jdupes" not in bench.peers:
        bench.report.note(f"{data}: jdupes is not installed: results not compared")
        return listing
    progress(f"{data}: comparing results with jdupes")
    rival = peers.contender(bench.machine, "jdupes", sources)
    measured = bench.machine.measure(rival)
    if measured.killed or measured.status != 0:
        bench.report.note(f"{data}: not compared: jdupes {bench.machine.how(measured)}")
        return listing
    inodes = Inodes(since, os.stat(sources[0]).st_dev)
    ours = inodes.groups(listing)
    theirs = inodes.groups(of_jdupes(bench.machine.out.read_bytes()))
    different = inodes.differences(ours, theirs)
    bench.report.differ(data, different)
    if not different:
        changed = f" ({inodes.changed} files that change are left out)" if inodes.changed else ""
        print(f"  twinfs and jdupes agree: {len(ours)} groups{changed}", flush=True)
    return listing


def fastest(summaries):
    """The fastest peer that finished."""
    return min((one for one in summaries if one.name in peers.PEERS and finished(one)),
               key=lambda one: one.wall, default=None)

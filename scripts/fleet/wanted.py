# SPDX-License-Identifier: MIT
"""Writes for each host the files that `twinfs digest` must read."""
import os

from fleet import lists, questions
from fleet.engines import opened
from fleet.errors import INCOMPLETE, warn
from fleet.outputs import new_folder

FORMAT = "twinfs-wanted"


def is_wanted(path):
    """Whether an earlier run wrote a folder."""
    return lists.has_only(path, {"": FORMAT})


def write_all(engine, folder):
    """Writes the lists of all hosts; returns them."""
    sources = lists.source_members(engine.query(questions.statement("all_sources"))[1])
    sums = list(engine.query(questions.statement("wanted_sums"))[1])
    rows = engine.query(questions.statement("wanted"))[1]
    written, created = [], lists.now()
    for (host, index, files, size), own in zip(
            sums, lists.rows_of_hosts([host for host, *_ in sums], rows)):
        written.append(lists.HostList(os.path.join(folder, f"{host}.jsonl"), {
            "format": FORMAT, "schema": 1, "host": host, "index": index, "created": created,
            "sources": sources.get(host, [])}))
        written[-1].write(own, (files, size))
    return written


def run(settings):
    """The command wanted."""
    with opened(settings, questions.WANTED_STEPS) as engine, \
            new_folder(settings.output, is_wanted) as folder:
        written = write_all(engine, folder)
    for one in written:
        print(f"{one.host}: {one.rows:,} files, {one.bytes:,} bytes")
    skipped = sum(one.skipped for one in written)
    if skipped:
        warn(f"left out {skipped} files whose names are longer than 'twinfs digest' reads")
    return INCOMPLETE if skipped else 0

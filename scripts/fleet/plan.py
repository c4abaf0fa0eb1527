# SPDX-License-Identifier: MIT
"""Writes what each host keeps for others and what may be removed from it, so that each content
stays on enough hosts. `twinfs attest` and `twinfs remove` read these lists."""
import hashlib
import os
import re
import secrets
from dataclasses import dataclass

import pyarrow as pa

from fleet import lists, plan_text, questions
from fleet.engines import opened
from fleet.errors import INCOMPLETE, FleetError, warn
from fleet.outputs import new_folder
from fleet.rows import readable
from fleet.tables import INT, TEXT

KEEP, REMOVE = "keep-", "remove-"  # beginnings of the names of lists
FORMATS = {KEEP: "twinfs-keep", REMOVE: "twinfs-remove", "attested-": "twinfs-attestation"}
# What an interrupted `twinfs attest` leaves.
UNFINISHED = re.compile(r"attested-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{16}\.jsonl\.new\Z")
ESCAPE = "!"  # of LIKE in protections.sql


def is_plan(path):
    """Whether an earlier run wrote a folder. It can have what `twinfs attest` wrote."""
    return lists.has_only(path, FORMATS, UNFINISHED)


# ---- what the user wants


def like(pattern, one="_"):
    """A pattern of a path as LIKE has it; `one` is what a question mark stands for."""
    special = {"*": "%", "?": one, **{each: ESCAPE + each for each in "%_" + ESCAPE}}
    return "".join(special.get(each, each) for each in readable(os.fsencode(pattern)))


def add_wishes(engine, settings):
    """Gives the engine the options as tables."""
    known = {host for host, _ in engine.query(questions.statement("host_names"))[1]}
    named = [("--prefer", host) for host in settings.prefer]
    named += [("--protect", host) for host, _ in settings.protect]
    for option, host in named:
        if host not in known:
            raise FleetError(f"{option}: there is no inventory of a host {host}; the hosts are "
                             f"{', '.join(sorted(known))}")
    protected = [(number, host, like(pattern), like(pattern, "_%"))
                 for number, (host, pattern) in enumerate(settings.protect)]
    add_table(engine, "keep_replicas", {"replicas": INT}, [(settings.keep_replicas,)])
    add_table(engine, "preferences", {"place": INT, "host": TEXT}, enumerate(settings.prefer))
    add_table(engine, "protected", {"number": INT, "host": TEXT, "pattern": TEXT,
                                    "inexact_pattern": TEXT}, protected)


def add_table(engine, name, columns, rows):
    schema = pa.schema(list(columns.items()))
    engine.add_table(name, pa.Table.from_pylist([dict(zip(columns, row)) for row in rows], schema))


# ---- the lists


@dataclass
class Kept:
    """What a host keeps for others."""
    contents: int = 0
    bytes: int = 0


@dataclass
class Removable:
    """What may be removed from a host. The bytes of a file count once."""
    names: int = 0
    name_bytes: int = 0
    files: int = 0
    bytes: int = 0


class Plan:
    """The lists of all hosts in a folder, and their sums."""

    def __init__(self, engine, settings, folder):
        self.engine, self.folder = engine, folder
        self.settings = settings
        self.indexes = dict(self.answer("host_names"))
        self.sources = lists.source_members(self.answer("all_sources"))
        self.kept = {host: Kept(*sums) for host, *sums in self.answer("kept_sums")}
        self.removable = {host: Removable(*sums) for host, *sums in self.answer("removable_sums")}
        self.protections = [contents for _, contents in self.answer("protection_sums")]
        names, rows = engine.query(questions.statement("left_out"))
        self.left_out = dict(zip(names, next(iter(rows))))
        self.members = {"plan": secrets.token_hex(16), "created": lists.now(),
                        "keep_replicas": settings.keep_replicas}
        self.digests = {}  # {host: SHA-256 of its list of what it keeps}

    def answer(self, name):
        return self.engine.query(questions.statement(name))[1]

    def new_list(self, prefix, host, members, further):
        return lists.HostList(os.path.join(self.folder, f"{prefix}{host}.jsonl"), {
            "format": FORMATS[prefix], "schema": 1, "plan": self.members["plan"], "host": host,
            "index": self.indexes[host], "created": self.members["created"],
            "keep_replicas": self.members["keep_replicas"], **members,
            "sources": self.sources[host]}, further)

    def write_kept(self):
        for (host, kept), rows in zip(self.kept.items(), lists.rows_of_hosts(
                self.kept, self.answer("kept"))):
            written = self.new_list(KEEP, host, {}, sha256_member)
            written.write(rows, (kept.contents, kept.bytes))
            with open(written.path, "rb") as file:
                self.digests[host] = hashlib.file_digest(file, "sha256").hexdigest()

    def write_removable(self):
        keepers = {host: set() for host in self.removable}
        for host, hosts in self.answer("remover_keepers"):
            keepers[host].update(hosts)
        for (host, sums), rows in zip(self.removable.items(), lists.rows_of_hosts(
                self.removable, self.answer("removable"))):
            ordered = sorted(keepers[host])
            heads = [{"host": keeper, "list": self.digests[keeper]} for keeper in ordered]
            written = self.new_list(REMOVE, host, {"keepers": heads}, keepers_members(ordered))
            written.write(rows, (sums.names, sums.name_bytes))


def sha256_member(row):
    return f', "sha256": "{row[10]}"'


def keepers_members(hosts):
    """Writes the SHA-256 of a row, and its keepers as numbers in the list of all keepers."""
    numbers = {host: str(number) for number, host in enumerate(hosts)}

    def members(row):
        return f'{sha256_member(row)}, "keepers": [{", ".join(map(numbers.get, row[11]))}]'
    return members


def run(settings):
    """The command plan."""
    with opened(settings, questions.PLAN_STEPS, add_wishes) as engine, \
            new_folder(settings.output, is_plan) as folder:
        plan = Plan(engine, settings, folder)
        plan.write_kept()
        plan.write_removable()
    plan_text.write(plan)
    too_long = plan.left_out["too_long"]
    if too_long:
        warn(f"left out {plan_text.counted(too_long, 'content')} with names that are longer than "
             "'twinfs remove' reads")
    return INCOMPLETE if too_long else 0

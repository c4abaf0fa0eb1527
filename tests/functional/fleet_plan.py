# SPDX-License-Identifier: MIT
"""Reads a folder that `twinfs-fleet plan` wrote, and computes from fleet_oracle.py what it must
have. No code is shared with twinfs-fleet."""
import collections
import hashlib
import os
import re
from dataclasses import dataclass, field

from fleet_sets import KEEP, LISTS, REMOVE, need, read_list, readable


@dataclass
class Wishes:
    """The options of a plan."""
    replicas: int
    prefer: list = field(default_factory=list)
    protect: list = field(default_factory=list)  # (host, glob in bytes)

    @property
    def words(self):
        words = [f"--keep-replicas={self.replicas}"]
        if self.prefer:
            words.append(f"--prefer={','.join(self.prefer)}")
        return [*words, *(f"--protect={host}:{os.fsdecode(glob)}" for host, glob in self.protect)]


@dataclass
class Plan:
    """kept       {(host, SHA-256): name of the file}
    removable  {(host, name): (SHA-256, hosts that keep it)}; a name is (source, path)
    left_out   {reason: contents}"""
    kept: dict
    removable: dict
    left_out: dict = None

    def differences(self, other):
        return [(key, mine.get(key), others.get(key))
                for mine, others in ((self.kept, other.kept), (self.removable, other.removable))
                for key in mine.keys() | others.keys() if mine.get(key) != others.get(key)]


# What was written


def read_plan(folder):
    """Checks all lists of a folder and that they belong together; returns a Plan."""
    found, heads, digests = Plan({}, {}), [], {}
    for name in sorted(os.listdir(folder)):  # keep-* first
        path = os.path.join(folder, name)
        kind = KEEP if name.startswith(LISTS[KEEP][0]) else REMOVE
        rows = read_list(path, kind)
        need(os.stat(path).st_mode & 0o777 == 0o600, name, "can be read by others")
        heads.append(rows.head)
        if kind == KEEP:
            add_kept(found, rows)
            with open(path, "rb") as file:
                digests[rows.head["host"]] = hashlib.file_digest(file, "sha256").hexdigest()
        else:
            add_removable(found, rows, digests)
    for name in ("plan", "created", "keep_replicas"):
        need(len({head[name] for head in heads}) <= 1, "several", name)
    check_whole(found)
    return found


def add_kept(found, rows):
    for row in rows.rows:
        found.kept[rows.head["host"], row.sha256] = row.names[0]


def add_removable(found, rows, digests):
    hosts = [keeper["host"] for keeper in rows.head["keepers"]]
    for keeper in rows.head["keepers"]:
        need(digests[keeper["host"]] == keeper["list"], "another keep list of", keeper["host"])
    used = {number for row in rows.rows for number in row.keepers}
    need(used == set(range(len(hosts))), "keepers without a row")
    for row in rows.rows:
        found.removable[rows.head["host"], row.names[0]] = (
            row.sha256, [hosts[number] for number in row.keepers])


def check_whole(found):
    """No host relies on itself; what is kept is kept for others, and the other way round."""
    removed = {(host, sha256): keepers for (host, _), (sha256, keepers) in found.removable.items()}
    need(not removed.keys() & found.kept.keys(), "a host keeps and removes a content")
    for (_, sha256), keepers in removed.items():
        need(all((keeper, sha256) in found.kept for keeper in keepers), "nobody keeps", sha256)
    needed = {(keeper, sha256) for (_, sha256), keepers in removed.items() for keeper in keepers}
    need(needed == found.kept.keys(), "is kept for nobody:", found.kept.keys() - needed)


# What must be written


def matches(glob, path):
    """Whether an absolute path matches a glob. If the path is not UTF-8, a question mark stands for
    more than one character, too."""
    exact = readable(path).encode() == path
    wild = {"*": ".*", "?": "." if exact else ".+"}
    pattern = "".join(wild.get(character) or re.escape(character) for character in readable(glob))
    return re.fullmatch(pattern, readable(path), re.DOTALL) is not None


def is_protected(file, sources, wishes):
    return any(host == file.host and matches(glob, os.path.join(sources[source], path))
               for host, glob in wishes.protect for source, path in file.names)


def is_seen_twice(content):
    hosts = collections.defaultdict(set)
    for file in content.files:
        hosts[file.status.st_ino, file.mtime_ns, file.ctime_ns].add(file.host)
    return any(len(found) > 1 for found in hosts.values())


def keepers_of(content, hosts, wishes):
    """The hosts that keep a content."""
    sources = {host.name: host.sources for host in hosts}
    protected = {file.host for file in content.files
                 if is_protected(file, sources[file.host], wishes)}
    others = [host for host in wishes.prefer if host in content.hosts]
    others += sorted(content.hosts - set(others))
    others = [host for host in others if host not in protected]
    return protected | set(others[:max(0, wishes.replicas - len(protected))])


def expected(fleet, hosts, wishes):
    plan = Plan({}, {}, collections.Counter())
    for content in fleet.contents:
        reason = add_content(plan, content, hosts, wishes)
        if reason:
            plan.left_out[reason] += 1
    return plan


def add_content(plan, content, hosts, wishes):
    """Adds what hosts keep and remove of a content; returns why it is left out, if it is."""
    if content.sha256 is None and content.undecided:
        return "undecided"
    if content.sha256 is None or content.replicas <= wishes.replicas:
        return "few"
    if is_seen_twice(content):
        return "seen twice"
    keepers = keepers_of(content, hosts, wishes)
    if keepers == content.hosts:
        return "protected"
    for file in content.files:  # in the order of ids
        if file.host in keepers:
            plan.kept.setdefault((file.host, content.sha256), file.names[0])
        else:
            for name in file.names:
                plan.removable[file.host, name] = content.sha256, sorted(keepers)
    return None


def sums(plan, fleet):
    """{host: (contents and bytes that it keeps, files, names and bytes that may go)}."""
    sizes = {content.sha256: content.size for content in fleet.contents}
    found = {}
    for host in fleet.names:
        kept = [sizes[sha256] for name, sha256 in plan.kept if name == host]
        files = [file for file in fleet.files[host] if (host, file.names[0]) in plan.removable]
        found[host] = (len(kept), sum(kept), len(files), sum(len(file.names) for file in files),
                       sum(file.size for file in files))
    return found

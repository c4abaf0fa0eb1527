# SPDX-License-Identifier: MIT
"""Reads the lists of a plan and the attestations, refuses each that has not exactly the form of
twinfs(5), and computes which lists a plan must have. No code is shared with the programs."""
import collections
import datetime
import hashlib
import os
import re
from dataclasses import dataclass, field

import fleet_sets
from fleet_sets import check_members, need, parse, read_file, split_lines

KEEP, REMOVE, ATTESTATION = "twinfs-keep", "twinfs-remove", "twinfs-attestation"
PLAN = re.compile(r"[0-9a-f]{32}")
HEAD = {**fleet_sets.HEAD, "plan": str, "keep_replicas": int}
HEADS = {KEEP: HEAD, REMOVE: {**HEAD, "keepers": list},
         ATTESTATION: {"format": str, "schema": int, "plan": str, "host": str, "list": str,
                       "begun": str, "created": str, "rows": int}}
ROW = {**fleet_sets.FILE, "sha256": str}
ATTESTED = {"sha256": str, "size": int, "kept": bool}
ALIKE = ("id", "size", "mtime_ns", "ctime_ns", "dev", "ino")
NUMBER = re.compile(r"[0-9a-f]{16}")
PREFIXES = {KEEP: "keep", REMOVE: "remove", ATTESTATION: "attested"}


@dataclass
class Lines:
    """The head of a file of a plan, its sources and its rows."""
    head: dict
    rows: list
    sources: list = field(default_factory=list)

    def path(self, row):
        source, name = row.names[0]
        return os.path.join(self.sources[source], name)


def file_name(kind, host):
    return f"{PREFIXES[kind]}-{host}.jsonl"


def read_time(text):
    """Seconds since the epoch of a time as the programs write it."""
    try:
        when = datetime.datetime.strptime(text, fleet_sets.CREATED)
    except ValueError as error:
        raise fleet_sets.InvalidError(f"no time: {text}") from error
    need(when.strftime(fleet_sets.CREATED) == text, "a time has another form:", text)
    return when.replace(tzinfo=datetime.UTC).timestamp()


def write_time(seconds):
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    return when.strftime(fleet_sets.CREATED)


def read_lines(path, kind):
    """The checked head and the other lines of a file of a plan."""
    lines = split_lines(read_file(path), kind)
    need(lines, kind, "is empty")
    need(max(map(len, lines)) < fleet_sets.LINE_MAX, kind, "has a line that is too long")
    head = parse(lines[0])
    check_members(head, HEADS[kind], where=kind)
    need(head["format"] == kind, "format is", head["format"])
    need(head["schema"] == 1, "schema is", head["schema"])
    need(PLAN.fullmatch(head["plan"]), "plan is", head["plan"])
    need(fleet_sets.HOST.fullmatch(head["host"]), "host is", head["host"])
    read_time(head["created"])
    need(head["rows"] == len(lines) - 1, "rows:", len(lines) - 1, "not", head["rows"])
    return head, lines[1:]


def read_list(path, kind):
    """Reads a keep list or a remove list as Lines, or raises InvalidError."""
    head, lines = read_lines(path, kind)
    need(fleet_sets.INDEX.fullmatch(head["index"]), "index is", head["index"])
    need(head["keep_replicas"] > 0, "keep_replicas is", head["keep_replicas"])
    found = Lines(head, [], fleet_sets.read_sources(head["sources"], kind))
    for at, line in enumerate(lines, 2):
        found.rows.append(read_list_row(line, kind, found, f"{kind}:{at}:"))
    need(sum(row.size for row in found.rows) == head["bytes"], "bytes is", head["bytes"])
    names = [row.names[0] for row in found.rows]
    need(len(names) == len(set(names)), kind, "has a name twice")
    return found


def read_list_row(line, kind, found, where):
    value = parse(line)
    name, rest = fleet_sets.read_name(value, found.sources, where)
    check_members(rest, {**ROW, **({"keepers": list} if kind == REMOVE else {})}, where=where)
    need(fleet_sets.SHA256.fullmatch(rest["sha256"]) and rest["size"] > 0, where, "no content")
    if kind == REMOVE:
        keepers, count = rest["keepers"], len(found.head["keepers"])
        need(all(type(number) is int and 0 <= number < count for number in keepers), where,
             "there is no such keeper")
        need(keepers == sorted(set(keepers)), where, "keepers are not ascending")
        need(len(keepers) >= found.head["keep_replicas"], where, "too few keepers")
    return fleet_sets.Row(rest, [name])


def read_attestation(path):
    """Reads an attestation as Lines; its rows are objects."""
    head, lines = read_lines(path, ATTESTATION)
    need(fleet_sets.SHA256.fullmatch(head["list"]), "list is", head["list"])
    need(read_time(head["begun"]) <= read_time(head["created"]), "it ended before it began")
    rows = [parse(line) for line in lines]
    for row in rows:
        need(isinstance(row, dict), "a row is no object")
        more = ("inode", "born") if row.get("kept") else ("reason",)
        check_members(row, {**ATTESTED, **dict.fromkeys(more, str)}, where="attested")
        need(all(NUMBER.fullmatch(row.get(name, "0" * 16)) for name in ("inode", "born")),
             "no number of 16 digits:", row)
    return Lines(head, rows)


def sha256_of(path):
    return hashlib.sha256(read_file(path)).hexdigest()


# What a plan must have


def known_contents(inventory, digests):
    """{(sha256, size): rows} of an inventory: by its own digests, by those of a set that hold, and
    by the groups."""
    known = {row.id: row.get("sha256") for row in inventory.rows if row.get("sha256")}
    if digests and digests.head["index"] == inventory.head["index"]:
        held = {tuple(row.values[name] for name in ALIKE[:4]): row.sha256 for row in digests.rows}
        for row in inventory.rows:
            digest = held.get(tuple(row.values[name] for name in ALIKE[:4]))
            if digest:
                known.setdefault(row.id, digest)
    groups = {row.get("group"): known[row.id] for row in inventory.rows if row.id in known}
    found = collections.defaultdict(list)
    for row in inventory.rows:
        digest = known.get(row.id) or (row.get("group") and groups.get(row.get("group")))
        if digest and row.size:
            found[digest, row.size].append(row)
    return found


def matches(glob, path):
    """Whether a glob of --protect matches a whole path. In a path that is not UTF-8, "?" stands for
    one or more characters."""
    text = fleet_sets.readable(path)
    words = {"*": ".*", "?": "." if text.encode() == path else ".+"}
    pattern = "".join(words.get(letter) or re.escape(letter) for letter in glob)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@dataclass
class Wish:
    """The options of a plan."""
    replicas: int
    prefer: list
    protect: list  # (host, glob)

    @property
    def words(self):
        prefer = [f"--prefer={','.join(self.prefer)}"] if self.prefer else []
        return [f"--keep-replicas={self.replicas}", *prefer,
                *(f"--protect={host}:{glob}" for host, glob in self.protect)]


def expected_plan(inventories, digests, wish):
    """{content: (keepers, {host: rows})} that a plan must have, by what the sets say."""
    known = {host: known_contents(inventory, digests.get(host))
             for host, inventory in inventories.items()}
    order = [host for host in wish.prefer if host in known]
    order += sorted(set(known) - set(order))
    found = {}
    for content in {content for rows in known.values() for content in rows}:
        hosts = [host for host in order if content in known[host]]
        rows = {host: known[host][content] for host in hosts}
        if len(hosts) <= wish.replicas or can_be_one_file(rows):
            continue
        keepers = [host for host in hosts if is_protected(inventories[host], rows[host],
                                                          host, wish)]
        others = [host for host in hosts if host not in keepers]
        while len(keepers) < wish.replicas:
            keepers.append(others.pop(0))
        if others:
            found[content] = (set(keepers), rows)
    return found


def can_be_one_file(rows):
    marks = [{(row.ino, row.mtime_ns, row.ctime_ns) for row in found} for found in rows.values()]
    return len(set().union(*marks)) < sum(map(len, marks))


def is_protected(inventory, rows, host, wish):
    paths = [os.path.join(inventory.sources[source], name)
             for row in rows for source, name in row.names]
    return any(matches(glob, path) for name, glob in wish.protect if name == host
               for path in paths)


def check_plan(folder, expected, inventories, replicas):
    """Raises InvalidError if the lists in a folder are not exactly those of expected_plan()."""
    keeps = {host: {} for host in inventories}
    removes = {host: {} for host in inventories}
    for content, (keepers, rows) in expected.items():
        for host, files in rows.items():
            (keeps if host in keepers else removes)[host][content] = files
    names = {file_name(kind, host) for kind, found in ((KEEP, keeps), (REMOVE, removes))
             for host in found if found[host]}
    need(names == set(os.listdir(folder)), "files:", os.listdir(folder), "not", names)
    plans = set()
    for name in sorted(names):
        kind, host = (KEEP, name[5:-6]) if name.startswith("keep-") else (REMOVE, name[7:-6])
        found = read_list(os.path.join(folder, name), kind)
        plans.add(found.head["plan"])
        check_list_head(found, inventories[host], replicas)
        if kind == KEEP:
            check_keep(found, keeps[host], name)
        else:
            check_remove(folder, found, removes[host], expected)
    need(len(plans) <= 1, "several plans:", plans)


def check_list_head(found, inventory, replicas):
    head = found.head
    need(head["keep_replicas"] == replicas, "keep_replicas is", head["keep_replicas"])
    need((head["host"], head["index"]) == (inventory.head["host"], inventory.head["index"]),
         "host and index are", head["host"], head["index"])
    need(found.sources == inventory.sources, "sources are", found.sources)


def is_row_of(row, file):
    return all(row.values[name] == file.values[name] for name in ALIKE)


def check_keep(found, contents, where):
    need({(row.sha256, row.size) for row in found.rows} == contents.keys(), where, "contents")
    need(len(found.rows) == len(contents), where, "has a content twice")
    for row in found.rows:
        first = min(contents[row.sha256, row.size], key=lambda file: file.id)
        need(is_row_of(row, first) and row.names[0] in first.names, where, row, "not", first)


def check_remove(folder, found, contents, expected):
    keepers = [keeper["host"] for keeper in found.head["keepers"]]
    for keeper in found.head["keepers"]:
        check_members(keeper, {"host": str, "list": str}, where="keeper")
        need(keeper["list"] == sha256_of(os.path.join(folder, file_name(KEEP, keeper["host"]))),
             "the list of", keeper["host"], "has another SHA-256")
    need(len(set(keepers)) == len(keepers) and found.head["host"] not in keepers, "keepers")
    names = {(content, name): file for content, files in contents.items() for file in files
             for name in file.names}
    rows = {((row.sha256, row.size), row.names[0]): row for row in found.rows}
    need(rows.keys() == names.keys(), "names to remove:", rows.keys() ^ names.keys())
    for key, row in rows.items():
        need(is_row_of(row, names[key]), row, "not", names[key])
        need({keepers[number] for number in row.keepers} == expected[key[0]][0], row, "keepers")

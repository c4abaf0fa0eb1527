# SPDX-License-Identifier: MIT
"""Reads sets of rows and lists of files of a fleet, and refuses each that has not exactly the form
of twinfs(5). No code is shared with the program or with twinfs-fleet."""
import base64
import binascii
import collections
import datetime
import hashlib
import json
import os
import re
import stat
import subprocess
from dataclasses import dataclass

INVENTORY, DIGESTS, WANTED = "twinfs-inventory", "twinfs-digests", "twinfs-wanted"
KEEP, REMOVE = "twinfs-keep", "twinfs-remove"
SCHEMA = 1
ROWS_MAX = 250_000  # in a part
LINE_MAX = 65_536  # bytes of a line of a list

# A number above 2^63 - 1 is written as a string of its digits.
LARGE = re.compile(r"[1-9][0-9]{18,19}")
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
INDEX = re.compile(r"[0-9a-f]{16}")
SHA256 = re.compile(r"[0-9a-f]{64}")
GROUP = re.compile(r"[0-9a-f]{32}(~([2-9]|[1-9][0-9]+))?")
PLAN = re.compile(r"[0-9a-f]{32}")
CREATED = "%Y-%m-%dT%H:%M:%SZ"
PART = re.compile(r"part-[0-9]{5}\.jsonl(\.zst)?")

FILE = {"id": int, "source": int, "path": str, "size": int, "mtime_ns": int, "ctime_ns": int,
        "dev": int, "ino": int}
ROWS = {INVENTORY: {**FILE, "names": int}, DIGESTS: {**FILE, "sha256": str}, WANTED: FILE,
        KEEP: {**FILE, "sha256": str}, REMOVE: {**FILE, "sha256": str, "keepers": list}}
OPTIONAL = {INVENTORY: {"links": list, "group": str, "sha256": str}, DIGESTS: {"state": str},
            WANTED: {}, KEEP: {}, REMOVE: {}}
HEAD = {"format": str, "schema": int, "host": str, "index": str, "created": str, "sources": list,
        "rows": int, "bytes": int}
MANIFEST = {**HEAD, "version": str, "generation": int, "min_size": int, "errors": int,
            "pending": int, "parts": list}
PLANNED = {**HEAD, "plan": str, "keep_replicas": int}
# {kind of list: (beginning of the name of the file, members of the first line)}
LISTS = {WANTED: ("", HEAD), KEEP: ("keep-", PLANNED),
         REMOVE: ("remove-", {**PLANNED, "keepers": list})}
PART_MEMBERS = {"name": str, "rows": int, "bytes": int, "sha256": str}


class InvalidError(Exception):
    """A set or a list that has not the form of twinfs(5)."""


@dataclass
class Rows:
    """The manifest, or the first line of a list, and the rows as Row."""
    head: dict
    sources: list  # paths, bytes
    rows: list


@dataclass
class Row:
    """A row as it is written, and its names as (source, path in bytes)."""
    values: dict
    names: list

    def __getattr__(self, name):
        return self.values[name]

    def get(self, name):
        return self.values.get(name)

    @property
    def inode(self):
        return large_number(self.values["dev"]), large_number(self.values["ino"])


def need(claim, *what):
    if not claim:
        raise InvalidError(" ".join(str(word) for word in what))


# JSON


def parse(text):
    """A JSON value without names that occur twice, and without NaN and fractions."""
    try:
        return json.loads(text.decode(), object_pairs_hook=unique_members,
                          parse_constant=refuse_number, parse_float=refuse_number)
    except (RecursionError, ValueError) as error:  # also of UTF-8 and of too many digits
        raise InvalidError(f"no JSON: {error}") from error


def unique_members(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), "a member occurs twice")
    return dict(pairs)


def refuse_number(text):
    raise InvalidError(f"no integer: {text}")


def check_members(value, required, optional=(), where=""):
    """Checks the names and types of the members of an object."""
    need(isinstance(value, dict), where, "is no object")
    types = {**required, **dict(optional)}
    need(required.keys() <= value.keys(), where, "lacks", required.keys() - value.keys())
    need(value.keys() <= types.keys(), where, "has unknown", value.keys() - types.keys())
    for name, member in value.items():
        if name in ("dev", "ino"):
            member = large_number(member)
        need(type(member) is types[name], where, name, "is of a wrong type")
        least, above = (-1 << 63, 1 << 63) if name.endswith("_ns") else (0, 1 << 64)
        need(types[name] is not int or least <= member < above, where, name, "is out of range")


def large_number(value):
    """The number that a string of digits says; a number up to 2^63 - 1 must not be a string."""
    is_large = isinstance(value, str) and LARGE.fullmatch(value) and int(value) >= 1 << 63
    return int(value) if is_large else value


def readable(path):
    """The text of "path": bytes that are not UTF-8 are written as \\xNN."""
    return path.decode("utf-8", "backslashreplace")


def path_members(path):
    """The members of a path in JSON."""
    members = {"path": readable(path)}
    if members["path"].encode() != path:
        members["path_base64"] = base64.b64encode(path).decode()
    return members


def take_path(value, where):
    """Returns the bytes of a path and the object without its path_base64."""
    need(isinstance(value, dict), where, "is no object")
    rest = {name: member for name, member in value.items() if name != "path_base64"}
    need(isinstance(rest.get("path"), str), where, "has no path")
    if "path_base64" not in value:
        try:
            path = rest["path"].encode()
        except UnicodeEncodeError as error:
            raise InvalidError(f"{where}: a path has a surrogate") from error
    else:
        path = decode_base64(value["path_base64"], where)
        need(path_members(path) == {name: value[name] for name in ("path", "path_base64")}, where,
             "path and path_base64 disagree")
    need(b"\0" not in path, where, "a path has a byte 0")
    return path, rest


def decode_base64(text, where):
    need(isinstance(text, str), where, "path_base64 is no text")
    try:
        path = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidError(f"{where}: path_base64 is no base64") from error
    need(base64.b64encode(path).decode() == text, where, "path_base64 has another form")
    return path


def read_sources(values, where):
    sources = []
    for value in values:
        path, rest = take_path(value, where)
        check_members(rest, {"path": str}, where=where)
        need(path.startswith(b"/") and os.path.normpath(path) == path, where,
             "a source is no absolute path")
        sources.append(path)
    need(sources and len(set(sources)) == len(sources), where, "no source, or one twice")
    return sources


def read_name(value, sources, where):
    path, rest = take_path(value, where)
    need(path and all(part not in (b"", b".", b"..") for part in path.split(b"/")), where,
         "a path is not below its source")
    need(type(rest.get("source")) is int and 0 <= rest["source"] < len(sources), where,
         "there is no such source")
    return (rest["source"], path), rest


# Rows


def read_row(line, kind, sources, where):
    value = parse(line)
    name, rest = read_name(value, sources, where)
    check_members(rest, ROWS[kind], OPTIONAL[kind], where)
    names = [name]
    for link in rest.get("links", []):
        further, members = read_name(link, sources, where)
        check_members(members, {"source": int, "path": str}, where=where)
        names.append(further)
    if kind == INVENTORY:
        need(("links" in rest) == (rest["names"] > 1), where, "links do not agree with names")
        need(len(names) == rest["names"], where, "has another number of names")
    need("sha256" not in rest or SHA256.fullmatch(rest["sha256"]), where, "sha256 is no SHA-256")
    need("group" not in rest or GROUP.fullmatch(rest["group"]), where, "group is no group")
    return Row(rest, names)


def check_rows(found, kind):
    """Checks what must hold for all rows together."""
    head, rows = found.head, found.rows
    need(len(rows) == head["rows"], "rows:", len(rows), "not", head["rows"])
    total = sum(row.size for row in rows)
    need(total == head["bytes"], "bytes:", total, "not", head["bytes"])
    files = rows
    if kind == REMOVE:  # has a row for each name
        files = check_names_of_files(rows)
    for what, values in (("id", [row.id for row in files]),
                         ("inode", [row.inode for row in files]),
                         ("name", [name for row in rows for name in row.names])):
        twice = [value for value, count in collections.Counter(values).items() if count > 1]
        need(not twice, "more than one row with this", what, twice[:1])
    if kind == INVENTORY:
        check_groups(rows)


def check_names_of_files(rows):
    """Checks that rows of one id are of one file; returns one of them for each id."""
    files = {}
    for row in rows:
        first, other = (with_only(one, ROWS[REMOVE].keys() - {"path", "source"})
                        for one in (files.setdefault(row.id, row), row))
        need(first == other, "two files have the id", row.id)
    return files.values()


def with_only(row, members):
    return {name: row.get(name) for name in members}


def check_groups(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        if row.get("group") is not None:
            groups[row.group].append(row)
    for name, members in groups.items():
        need(len(members) > 1, "one file in group", name)
        need(members[0].size > 0, "an empty file in group", name)
        need(len({row.size for row in members}) == 1, "several sizes in group", name)
        hashes = {row.get("sha256") for row in members} - {None}
        need(len(hashes) <= 1, "several SHA-256 in group", name,
             [(row.names[0], row.get("sha256")) for row in members])


def check_head(head, kind, where):
    need(head["format"] == kind, where, "format is", head["format"])
    need(head["schema"] == SCHEMA, where, "schema is", head["schema"])
    need(HOST.fullmatch(head["host"]), where, "host is no name")
    need(INDEX.fullmatch(head["index"]), where, "index is no index")
    try:
        created = datetime.datetime.strptime(head["created"], CREATED)
    except ValueError as error:
        raise InvalidError(f"{where} created: {error}") from error
    need(created.strftime(CREATED) == head["created"], where, "created has another form")


# Sets in a folder


def read_file(path):
    """The bytes of a regular file, never through a symbolic link."""
    need(os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode), path, "is no file")
    with open(path, "rb") as file:
        return file.read()


def read_set(folder, kind):
    """Reads a set of rows and returns Rows, or raises InvalidError."""
    folder = os.fspath(folder)
    head = parse(read_file(os.path.join(folder, "manifest.json")))
    check_members(head, MANIFEST, where="manifest:")
    check_head(head, kind, "manifest:")
    need(head["generation"] > 0 and head["version"], "manifest: no generation or no version")
    sources = read_sources(head["sources"], "manifest:")
    generation = f"generation-{head['generation']}"
    check_files(folder, generation, head["parts"])
    found = Rows(head, sources, [])
    for number, part in enumerate(head["parts"], 1):
        need(f"part-{number:05d}." in part["name"], part["name"], "is not the next part")
        lines = read_part(folder, part)
        found.rows += [read_row(line, kind, sources, f"{part['name']}:{at}:")
                       for at, line in enumerate(lines, 1)]
    check_rows(found, kind)
    return found


def check_files(folder, generation, parts):
    """The folder has the manifest and the parts, and nothing else."""
    for part in parts:
        check_members(part, PART_MEMBERS, where="part:")
        top, slash, name = part["name"].partition("/")
        need(top == generation and slash and PART.fullmatch(name), part["name"], "is no part")
    names = [part["name"] for part in parts]
    need(len({name.endswith(".zst") for name in names}) <= 1, "some parts are compressed")
    expected = ["manifest.json", *([generation] if names else [])]  # an empty set has no parts
    need(sorted(os.listdir(folder)) == sorted(expected), "the folder has", os.listdir(folder))
    if names:
        below = os.path.join(folder, generation)
        need(stat.S_ISDIR(os.lstat(below).st_mode), generation, "is no folder")
        need(sorted(os.listdir(below)) == sorted(name.partition("/")[2] for name in names),
             generation, "has", os.listdir(below))


def read_part(folder, part):
    """The lines of a part after the checks of its size and checksum."""
    where = part["name"]
    data = read_file(os.path.join(folder, where))
    need(len(data) == part["bytes"], where, "has", len(data), "bytes")
    need(hashlib.sha256(data).hexdigest() == part["sha256"], where, "has another checksum")
    if where.endswith(".zst"):
        run = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False)
        need(run.returncode == 0, where, run.stderr.decode(errors="replace"))
        data = run.stdout
    lines = split_lines(data, where)
    need(len(lines) == part["rows"], where, "has", len(lines), "rows")
    need(0 < len(lines) <= ROWS_MAX, where, "has no rows or too many")
    return lines


def split_lines(data, where):
    need(data.endswith(b"\n") or not data, where, "ends within a line")
    return data.split(b"\n")[:-1]


# Lists of files


def read_wanted(path):
    """Reads the list of wanted files of a host and returns Rows, or raises InvalidError."""
    return read_list(path, WANTED)


def read_list(path, kind):
    """Reads a list of this kind and returns Rows, or raises InvalidError."""
    where = f"{os.path.basename(os.fspath(path))}:"
    lines = split_lines(read_file(path), where)
    need(lines, where, "is empty")
    need(max(map(len, lines)) < LINE_MAX, where, "a line is too long")
    prefix, members = LISTS[kind]
    head = parse(lines[0])
    check_members(head, members, where=where)
    check_head(head, kind, where)
    need(os.path.basename(os.fspath(path)) == f"{prefix}{head['host']}.jsonl", where,
         "another host")
    sources = read_sources(head["sources"], where)
    rows = [read_row(line, kind, sources, f"{where}{at}:") for at, line in enumerate(lines[1:], 2)]
    found = Rows(head, sources, rows)
    check_rows(found, kind)
    if kind != WANTED:
        check_planned(found, where)
    return found


def check_planned(found, where):
    """Checks what only lists of a plan have."""
    head = found.head
    need(PLAN.fullmatch(head["plan"]), where, "plan is no number of a plan")
    need(head["keep_replicas"] > 0 and found.rows, where, "keeps no replicas, or has no rows")
    need(all(row.size > 0 for row in found.rows), where, "has a file of no bytes")
    if head["format"] == KEEP:
        hashes = [row.sha256 for row in found.rows]
        need(len(hashes) == len(set(hashes)), where, "a content has two rows")
        return
    for keeper in head["keepers"]:
        check_members(keeper, {"host": str, "list": str}, where=where)
        need(SHA256.fullmatch(keeper["list"]), where, "list is no SHA-256")
    hosts = [keeper["host"] for keeper in head["keepers"]]
    need(hosts == sorted(set(hosts) - {head["host"]}), where, "keepers are", hosts)
    for row in found.rows:
        need(all(type(number) is int for number in row.keepers)
             and row.keepers == sorted(set(row.keepers) & set(range(len(hosts))))
             and len(row.keepers) >= head["keep_replicas"], where, "keepers of a row are",
             row.keepers)

# SPDX-License-Identifier: MIT
"""Checks the JSON objects that twinfs writes for a fleet, and makes rows of tables of them.

The objects are input from elsewhere. Each function raises InvalidError if the members are not those
that twinfs(5) describes.
"""
import base64
import binascii
import json
import re

from fleet.errors import InvalidError

INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1
# Ancestors of a folder that the table folders has. Without a limit, a path of n folders would have
# n rows of up to n names.
DEPTH_MAX = 100
# Mark of a folder that is not UTF-8; the base64 of its bytes follows. No path begins with it.
EXACT = "//"

HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")
GROUP = re.compile(r"[0-9a-f]{32}(?:~(?:[2-9]|[1-9][0-9]+))?\Z")
# An empty part of a path, "." or "..", or a NUL.
BAD_PART = re.compile(r"(?:\A|/)\.{0,2}(?:/|\Z)|\0")
BAD_PART_BYTES = re.compile(BAD_PART.pattern.encode())


def unique_members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidError("a member occurs twice")
    return found


decode = json.JSONDecoder(object_pairs_hook=unique_members).decode


def parse_object(line):
    """The object that a line of bytes consists of."""
    try:
        found = decode(line.decode())
    except UnicodeDecodeError:
        raise InvalidError("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"it is not JSON: {str(error)[:80]}") from None
    if type(found) is not dict:
        raise InvalidError("it is not a JSON object")
    return found


def number(row, name, low=0, high=INT64_MAX):
    """A member that must be an integer in a range. An integer above 2^63 - 1 is written as a
    string of its digits, because many readers of JSON know no larger ones."""
    value = row.get(name)
    if high > INT64_MAX and type(value) is str and LARGE.match(value):
        value = int(value)
    if type(value) is not int:
        raise InvalidError(f"'{name}' is {missing_or(value, 'not an integer')}")
    if not low <= value <= high:
        raise InvalidError(f"'{name}' is out of range")
    return value


def text(row, name):
    value = row.get(name)
    if type(value) is not str:
        raise InvalidError(f"'{name}' is {missing_or(value, 'not a string')}")
    return value


def refuse_others(row, known):
    """Refuses members that this version does not know: they could change what the others mean."""
    if not row.keys() <= known:
        raise InvalidError(f"unknown member {min(row.keys() - known)[:80]!r}")


def missing_or(value, problem):
    return "missing" if value is None else problem


def matching(row, name, pattern, what, required=True):
    """A member that must match a pattern; None if it may be missing and is."""
    if not required and name not in row:
        return None
    value = text(row, name)
    if not pattern.match(value):
        raise InvalidError(f"'{name}' is not {what}")
    return value


def array(row, name):
    value = row.get(name)
    if type(value) is not list or not all(type(one) is dict for one in value):
        raise InvalidError(f"'{name}' is {missing_or(value, 'not an array of objects')}")
    return value


# ---- paths


def readable(path):
    """A path for people: bytes that are not UTF-8 are written as \\xNN."""
    return path.decode("utf-8", "backslashreplace")


def path_members(path):
    """The members of a path of any bytes in JSON."""
    members = {"path": readable(path)}
    if members["path"].encode() != path:
        members["path_base64"] = base64.b64encode(path).decode()
    return members


def exact_path(shown, encoded):
    """The bytes of a path from its members, which must be of the same path."""
    if encoded is None:
        try:
            return shown.encode()
        except UnicodeEncodeError:
            raise InvalidError("'path' is not UTF-8") from None
    if type(encoded) is not str:
        raise InvalidError("'path_base64' is not a string")
    try:
        path = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidError("'path_base64' is not base64") from None
    if path_members(path) != {"path": shown, "path_base64": encoded}:
        raise InvalidError("'path' and 'path_base64' are of different paths")
    return path


def folder_key(path):
    """The text that identifies a folder in the tables."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return EXACT + base64.b64encode(path).decode()


def folder_bytes(key):
    """The path of a folder that the tables have as `key`."""
    return base64.b64decode(key[len(EXACT):]) if key.startswith(EXACT) else key.encode()


def name(row, source_count):
    """(source, path, path_base64, folder) of a file below its source."""
    shown, encoded = text(row, "path"), row.get("path_base64")
    source = number(row, "source", high=source_count - 1)
    exact = exact_path(shown, encoded)
    if BAD_PART_BYTES.search(exact):
        raise InvalidError("'path' is not below its source")
    if encoded is None:
        return source, shown, None, shown.rpartition("/")[0]
    return source, shown, encoded, folder_key(exact.rpartition(b"/")[0])


def ancestors(folder):
    """(folder, ancestor, the folder above it or None, depth) of a folder and those above it, from
    the root of the source on."""
    exact = folder.startswith(EXACT)
    path = folder_bytes(folder) if exact else folder
    slash = b"/" if exact else "/"
    parts = path.split(slash, DEPTH_MAX)[:DEPTH_MAX] if path else []
    rows, above, at = [(folder, "", None, 0)], "", 0
    for depth, part in enumerate(parts, 1):
        at += len(part) + (depth > 1)
        key = folder_key(path[:at]) if exact else path[:at]
        rows.append((folder, key, above, depth))
        above = key
    return rows


# ---- rows of tables

NAME = {"source", "path", "path_base64"}
FILE = NAME | {"id", "size", "mtime_ns", "ctime_ns", "dev", "ino"}
INVENTORY_FILE = FILE | {"names", "links", "group", "sha256"}
DIGEST = FILE | {"sha256", "state"}  # "state" is for `twinfs digest`
LARGE = re.compile(r"[1-9][0-9]{18,19}\Z")
STATE = re.compile(r"[0-9a-f]{16}\Z")


def signed(value):
    """A number of 64 bits as the tables have it: they know no unsigned numbers."""
    return value - (1 << 64) if value > INT64_MAX else value


def unsigned(value):
    """The text in JSON of a number that signed() made."""
    number = value & UINT64_MAX
    return str(number) if number <= INT64_MAX else f'"{number}"'


def time_ns(row, name):
    return number(row, name, low=-INT64_MAX - 1)


def inventory_rows(row, source_count):
    """The row of the table files, and the rows of the table links."""
    refuse_others(row, INVENTORY_FILE)
    source, path, path_base64, folder = name(row, source_count)
    identity = number(row, "id")
    names = number(row, "names", low=1)
    links = array(row, "links") if "links" in row else []
    if len(links) != names - 1:
        raise InvalidError("'links' does not have the further names that 'names' counts")
    for link in links:
        refuse_others(link, NAME)
    file = (identity, source, path, path_base64, folder, number(row, "size"),
            time_ns(row, "mtime_ns"), time_ns(row, "ctime_ns"),
            signed(number(row, "dev", high=UINT64_MAX)),
            signed(number(row, "ino", high=UINT64_MAX)), names,
            matching(row, "group", GROUP, "a name of a group", required=False),
            matching(row, "sha256", SHA256, "a SHA-256", required=False))
    return file, [(identity, *name(link, source_count)) for link in links]


def digest_row(row, source_count, index):
    """The row of the table digests."""
    refuse_others(row, DIGEST)
    name(row, source_count)
    number(row, "dev", high=UINT64_MAX), number(row, "ino", high=UINT64_MAX)
    matching(row, "state", STATE, "16 hexadecimal digits", required=False)
    return (number(row, "id"), index, number(row, "size"), time_ns(row, "mtime_ns"),
            time_ns(row, "ctime_ns"), matching(row, "sha256", SHA256, "a SHA-256"))

# SPDX-License-Identifier: MIT
"""Sets of rows as twinfs writes them: an inventory of a host, or digests (twinfs(5)).

A set is input from elsewhere: everything is checked, and a part only used if its size and SHA-256
are those in the manifest. A part is decompressed piece by piece.
"""
import datetime
import hashlib
import os
import re
import stat
from dataclasses import dataclass

import pyarrow as pa

from fleet.errors import FleetError, InvalidError, warn
from fleet.rows import (
    HOST,
    SHA256,
    UINT64_MAX,
    array,
    exact_path,
    matching,
    number,
    refuse_others,
    text,
)
from fleet.tables import MANIFEST

INVENTORY, DIGESTS = "twinfs-inventory", "twinfs-digests"
SCHEMA = 1
PART_ROWS_MAX = 250_000
LINE_MAX = 64 << 20  # bytes; a file with 65,000 long names has a long line
PIECE = 1 << 20
# A clock may differ that much from ours before a warning.
CLOCK_DIFFERENCE = datetime.timedelta(minutes=2)

HEAD = {"format", "schema", "version", "host", "index", "generation", "created", "sources",
        "min_size", "errors", "pending", "rows", "bytes", "parts"}
INDEX = re.compile(r"[0-9a-f]{16}\Z")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z", re.ASCII)
PART = re.compile(r"generation-(?P<generation>[1-9]\d*)/part-(?P<number>\d{5})\.jsonl(?:\.zst)?\Z",
                  re.ASCII)


@dataclass
class RowSet:
    """A set with a checked manifest."""
    folder: str
    head: dict

    @property
    def host(self):
        return self.head["host"]

    @property
    def index(self):
        return self.head["index"]

    @property
    def is_inventory(self):
        return self.head["format"] == INVENTORY

    @property
    def manifest(self):
        return os.path.join(self.folder, MANIFEST)

    def part_path(self, part):
        return os.path.join(self.folder, part["name"])


def read_row_set(folder, manifest):
    """Checks a manifest; the rows are read later."""
    found = RowSet(folder, manifest)
    try:
        if number(manifest, "schema") != SCHEMA:
            raise InvalidError(f"its schema is {manifest['schema']}, not {SCHEMA}: use the same "
                               "version of twinfs on all hosts")
        check_head(manifest)
        check_parts(manifest)
        check_folder(found)
    except InvalidError as error:
        raise FleetError(f"cannot use {found.manifest}: {error}") from None
    if created(manifest) > datetime.datetime.now(datetime.UTC) + CLOCK_DIFFERENCE:
        warn(f"{found.manifest} was created at {manifest['created']}, in the future: the clocks of "
             "the hosts differ")
    return found


def check_head(manifest):
    refuse_others(manifest, HEAD)
    matching(manifest, "host", HOST, "a name of a host")
    matching(manifest, "index", INDEX, "16 hexadecimal digits")
    text(manifest, "version")
    created(manifest)
    for member in ("errors", "pending", "rows", "min_size"):
        number(manifest, member)
    number(manifest, "generation", low=1)
    # a sum of sizes of sparse files can be larger than each of them
    number(manifest, "bytes", high=UINT64_MAX * PART_ROWS_MAX)
    sources = [source_path(source) for source in array(manifest, "sources")]
    if not sources or len(set(sources)) < len(sources):
        raise InvalidError("'sources' is empty, or has a source twice")


def source_path(source):
    refuse_others(source, {"path", "path_base64"})
    path = exact_path(text(source, "path"), source.get("path_base64"))
    if not path.startswith(b"/") or b"\0" in path or os.path.normpath(path) != path:
        raise InvalidError("'path' of a source is not an absolute path")
    return path


def created(manifest):
    """The time of creation."""
    try:
        return datetime.datetime.strptime(matching(manifest, "created", TIME, "a time in UTC"),
                                          "%Y-%m-%dT%H:%M:%SZ").replace(
                                              tzinfo=datetime.UTC)
    except ValueError:
        raise InvalidError("'created' is not a time in UTC") from None


def check_parts(manifest):
    parts = array(manifest, "parts")
    for at, part in enumerate(parts, 1):
        refuse_others(part, {"name", "rows", "bytes", "sha256"})
        found = PART.match(text(part, "name"))
        if not found or (int(found["generation"]), int(found["number"])) != (
                manifest["generation"], at):
            raise InvalidError(f"{part['name'][:80]!r} is not the name of part {at} of this "
                               "generation")
        number(part, "rows", high=PART_ROWS_MAX)
        number(part, "bytes")
        matching(part, "sha256", SHA256, "a SHA-256")
    if sum(part["rows"] for part in parts) != manifest["rows"]:
        raise InvalidError("'rows' is not the sum of the rows of the parts")


def check_folder(found):
    """Refuses a folder with parts that the manifest does not list."""
    top = os.path.join(found.folder, f"generation-{found.head['generation']}")
    listed = {os.path.basename(part["name"]) for part in found.head["parts"]}
    if os.path.islink(top):
        raise InvalidError(f"{top} is a symbolic link")
    others = set(os.listdir(top)) - listed if os.path.isdir(top) else ()
    if others:
        raise InvalidError(f"{os.path.join(top, min(others))} is not in it; if the folder is being "
                           "copied, wait until this is done")


# ---- parts


def part_lines(found, part):
    """Yields the lines of a part after a check of its size and checksum."""
    path = found.part_path(part)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            check_stored(file, part)
            yield from split(decompressed(file, path))
    except FileNotFoundError:
        raise FleetError(f"cannot read {path}: it is missing; copy the whole folder, or export "
                         "again") from None
    except OSError as error:
        raise FleetError(f"cannot read {path}: {error.strerror or error}") from None
    except InvalidError as error:
        raise FleetError(f"cannot use {path}: {error}") from None


def check_stored(file, part):
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise InvalidError("it is not a file")
    if status.st_size != part["bytes"]:
        raise InvalidError(f"it has {status.st_size} bytes, not {part['bytes']} as the manifest "
                           "says; copy the folder again")
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    if digest.hexdigest() != part["sha256"]:
        raise InvalidError("its SHA-256 is not that in the manifest: it is damaged; copy the "
                           "folder again")
    file.seek(0)


def decompressed(file, path):
    """Yields pieces of the content."""
    if not path.endswith(".zst"):
        while piece := file.read(PIECE):
            yield piece
        return
    try:
        with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as stream:
            while piece := stream.read(PIECE):
                yield piece
    except (pa.ArrowException, OSError) as error:
        raise InvalidError(f"it cannot be decompressed: {error}") from None


def split(pieces):
    rest = b""
    count = 0
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if len(rest) > LINE_MAX:
            raise InvalidError(f"line {count + len(lines) + 1} has more than {LINE_MAX} bytes")
        count += len(lines)
        yield from lines
    if rest:
        raise InvalidError(f"it ends within line {count + 1}")

# SPDX-License-Identifier: MIT
"""Faults in sets of rows and in lists of wanted files, for the tests of all that read them.

Each fault leaves the rest right: counts, sums and checksums agree with the faulty rows, unless they
are the fault. A table gives each fault a name: FAULTS_OF_SETS and FAULTS_OF_LISTS take an editor.
"""
import base64
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

DEEP = 100_000  # brackets
NAN, INFINITY = float("nan"), float("inf")


def line(value):
    return json.dumps(value).encode() + b"\n"


def exact(path):
    """A path with bytes that are not UTF-8."""
    return {"path": path.decode("utf-8", "backslashreplace"),
            "path_base64": base64.b64encode(path).decode()}


# Members that a row can have instead of its own. None means that the member is left out.
OMIT = object()
ROW_FAULTS = {
    "size is a boolean": {"size": True}, "size is a fraction": {"size": 5.0},
    "size is no number": {"size": NAN}, "size is infinite": {"size": INFINITY},
    "size is a text": {"size": "5"}, "size is null": {"size": None}, "size is negative":
    {"size": -1}, "size is above 64 bits": {"size": 1 << 64}, "size has 400 digits":
    {"size": 10 ** 399}, "size is a list": {"size": [5]},
    "size is missing": {"size": OMIT}, "id is missing": {"id": OMIT}, "path is missing":
    {"path": OMIT}, "mtime is missing": {"mtime_ns": OMIT},
    "mtime is above 64 bits": {"mtime_ns": 1 << 63}, "mtime is a text": {"mtime_ns": "0"},
    "ctime is missing": {"ctime_ns": OMIT}, "ctime is a fraction": {"ctime_ns": 0.5},
    "id is negative": {"id": -1}, "id is a boolean": {"id": True},
    "dev is a text": {"dev": "2049"}, "ino is a fraction": {"ino": 1.5},
    "source is too large": {"source": 7}, "source is negative": {"source": -1},
    "source is a boolean": {"source": False}, "source is 2^32": {"source": 1 << 32},
    "path is a number": {"path": 5}, "path is empty": {"path": ""},
    "path is absolute": {"path": "/etc/passwd"}, "path leaves the source":
    {"path": "../../etc/passwd"}, "path leaves a folder": {"path": "a/../../b"},
    "path has a dot": {"path": "./a"}, "path has two slashes": {"path": "a//b"},
    "path ends with a slash": {"path": "a/"}, "path has a zero byte": {"path": "a\0b"},
    "path is half a character": {"path": "\ud800"},
    "exact path is another one": {"path": "a", "path_base64": base64.b64encode(b"b\xff").decode()},
    "exact path is no base64": {"path_base64": "*"},
    "exact path is not padded": {"path": "a\\xff", "path_base64": "Yf8"},
    "exact path is a number": {"path_base64": 5},
    "exact path leaves the source": exact(b"../\xff"),
}
# Lists can have unknown members.
INVENTORY_FAULTS = {
    "unknown member": {"extra": 1},
    "sha256 is in capitals": {"sha256": "A" * 64}, "sha256 is short": {"sha256": "a" * 63},
    "sha256 is no digit": {"sha256": "g" * 64}, "sha256 is a number": {"sha256": 5},
    "group is short": {"group": "a" * 31}, "group is a path": {"group": "../" * 10 + "ab"},
    "group is alone": {"group": "a" * 32}, "group has number 1": {"group": "a" * 32 + "~1"},
    "names is zero": {"names": 0}, "names is above the links": {"names": 2},
    "links without a count": {"links": [{"source": 0, "path": "zz"}]},
    "links is an object": {"names": 2, "links": {"source": 0, "path": "zz"}},
    "a link has no source": {"names": 2, "links": [{"path": "zz"}]},
    "a link leaves the source": {"names": 2, "links": [{"source": 0, "path": "../zz"}]},
    "a link has another member": {"names": 2,
                                  "links": [{"source": 0, "path": "zz", "size": 5}]},
}
HEAD_FAULTS = {
    "schema is 2": {"schema": 2}, "schema is a boolean": {"schema": True},
    "schema is a text": {"schema": "1"}, "schema is missing": {"schema": OMIT},
    "format is another one": {"format": "twinfs-manifest"}, "format is null": {"format": None},
    "host is a path": {"host": "../x"}, "host is empty": {"host": ""},
    "host is too long": {"host": "x" * 65}, "host begins with a dash": {"host": "-a"},
    "host ends with a newline": {"host": "alpha\n"}, "host is a number": {"host": 5},
    "index is no index": {"index": "0123456789ABCDEF"}, "index is short": {"index": "0123"},
    "created is no time": {"created": "yesterday"},
    "created is impossible": {"created": "2026-13-45T99:99:99Z"},
    "sources are missing": {"sources": OMIT}, "sources is empty": {"sources": []},
    "a source is relative": {"sources": [{"path": "srv"}, {"path": "/b"}]},
    "a source is there twice": {"sources": [{"path": "/a"}, {"path": "/a"}]},
    "a source has two dots": {"sources": [{"path": "/a/../b"}, {"path": "/b"}]},
    "a source is a text": {"sources": ["/a", "/b"]},
    "rows is a boolean": {"rows": True}, "rows is negative": {"rows": -1},
    "rows is huge": {"rows": 1 << 62}, "bytes is zero": {"bytes": 0},
    "bytes is a fraction": {"bytes": 1.5},
}
MANIFEST_FAULTS = {
    "unknown member of the head": {"extra": {}},
    "generation is zero": {"generation": 0}, "generation is another one": {"generation": 9},
    "generation has 30 digits": {"generation": 10 ** 29}, "errors is null": {"errors": None},
    "pending is negative": {"pending": -1}, "min_size is a text": {"min_size": "1"},
    "version is a number": {"version": 1}, "parts is an object": {"parts": {}},
    "parts is empty": {"parts": []}, "parts has a text": {"parts": ["part"]},
}
# Lines of rows that are no objects of JSON.
LINE_FAULTS = {
    "a line is empty": b"\n", "a line is a list": b"[]\n", "a line is a number": b"5\n",
    "a line is cut": b'{"id": 1, "source": 0, "pa\n', "a line is deep": b"[" * DEEP + b"\n",
    "a line is not UTF-8": b'{"id": "\xff\xfe"}\n', "a line has a zero byte": b"{}\0\n",
    "a number has 5000 digits": b'{"id": ' + b"9" * 5000 + b"}\n",
    "a line has a byte order mark": b"\xef\xbb\xbf{}\n",
}


def plain_row(lines):
    """The number of a row with a readable path, one name and no group."""
    return next(at for at, row in enumerate(map(json.loads, lines))
                if row["size"] > 0 and not row.keys() & {"path_base64", "links", "group"})


def with_members(value, members):
    return {name: member for name, member in {**value, **members}.items() if member is not OMIT}


class SetEditor:
    """Changes a set of rows in a folder, and makes its manifest agree with the change."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.path = self.folder / "manifest.json"
        self.manifest = json.loads(self.path.read_bytes())

    def part(self, number=0):
        return self.folder / self.manifest["parts"][number]["name"]

    def lines(self, number=0):
        data = self.part(number).read_bytes()
        if self.part(number).suffix == ".zst":
            data = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                                  check=True).stdout
        return data.splitlines(keepends=True)

    def set_lines(self, lines, number=0):
        """Stores the lines of a part; their number is counted, the sum of sizes is not."""
        part = self.manifest["parts"][number]
        self.manifest["rows"] += len(lines) - part["rows"]
        part["rows"] = len(lines)
        data = b"".join(lines)
        if self.part(number).suffix == ".zst":
            data = subprocess.run(["zstd", "-cq"], input=data, stdout=subprocess.PIPE,
                                  check=True).stdout
        self.store(data, number)

    def store(self, data, number=0):
        """Stores the bytes of a part with their count and checksum."""
        part = self.manifest["parts"][number]
        self.part(number).write_bytes(data)
        part["bytes"], part["sha256"] = len(data), hashlib.sha256(data).hexdigest()
        self.save()

    def edit_row(self, members, at=None):
        """Changes members of a row of the first part, by default of a plain one."""
        lines = self.lines()
        at = plain_row(lines) if at is None else at
        row = json.loads(lines[at])
        changed = with_members(row, members)
        lines[at] = line(changed)
        if type(changed.get("size")) is int:
            self.manifest["bytes"] += changed["size"] - row["size"]
        self.set_lines(lines)

    def edit_head(self, members):
        self.manifest = with_members(self.manifest, members)
        self.save()

    def edit_part(self, members, number=0):
        self.manifest["parts"][number].update(members)
        self.save()

    def save(self):
        self.path.write_bytes(line(self.manifest))


class ListEditor:
    """Changes a list of wanted files, and keeps its counts right."""

    def __init__(self, path):
        self.path = Path(path)
        self.lines = self.path.read_bytes().splitlines(keepends=True)
        self.head = json.loads(self.lines.pop(0))

    def edit_row(self, members):
        at = plain_row(self.lines)
        row = json.loads(self.lines[at])
        changed = with_members(row, members)
        self.lines[at] = line(changed)
        if type(changed.get("size")) is int:
            self.head["bytes"] += changed["size"] - row["size"]
        self.save()

    def edit_head(self, members):
        self.head = with_members(self.head, members)
        self.save()

    def set_lines(self, lines):
        self.lines = lines
        if type(self.head.get("rows")) is int:
            self.head["rows"] = len(lines)
        self.save()

    def save(self):
        self.path.write_bytes(b"".join([line(self.head), *self.lines]))


# Faults of sets beyond members


def row_missing(editor):
    editor.store(b"".join(editor.lines()[1:]))


def row_twice(editor):
    lines = editor.lines()
    editor.manifest["bytes"] += json.loads(lines[1])["size"]
    editor.set_lines([*lines, lines[1]])


def path_twice(editor):
    row = json.loads(editor.lines()[1])
    editor.edit_row({name: row[name] for name in ("path", "path_base64", "source")
                     if name in row}, at=2)


def inode_twice(editor):
    row = json.loads(editor.lines()[1])
    editor.edit_row({"dev": row["dev"], "ino": row["ino"]}, at=2)


def checksum_wrong(editor):
    editor.edit_part({"sha256": "0" * 64})


def byte_flipped(editor):
    data = bytearray(editor.part().read_bytes())
    data[len(data) // 2] ^= 1
    editor.part().write_bytes(data)


def length_wrong(editor):
    editor.edit_part({"bytes": editor.manifest["parts"][0]["bytes"] + 1})


def rows_of_part_wrong(editor):
    first, second = editor.manifest["parts"][:2]
    first["rows"] += 1
    second["rows"] -= 1
    editor.save()


def part_missing(editor):
    editor.part().unlink()


def part_not_listed(editor):
    part = editor.manifest["parts"].pop()
    editor.manifest["rows"] -= part["rows"]
    editor.manifest["bytes"] -= sum(json.loads(text)["size"] for text in lines_of(editor, part))
    editor.save()


def lines_of(editor, part):
    other = SetEditor(editor.folder)
    return other.lines([one["name"] for one in other.manifest["parts"]].index(part["name"]))


def part_listed_twice(editor):
    parts = editor.manifest["parts"]
    parts[1] = dict(parts[0])
    editor.save()


def parts_exchanged(editor):
    parts = editor.manifest["parts"]
    parts[0], parts[1] = parts[1], parts[0]
    editor.save()


def part_outside(editor):
    shutil.copy(editor.part(), editor.folder.parent / editor.part().name)
    editor.edit_part({"name": "../" + editor.part().name})


def part_outside_by_detour(editor):
    name = editor.manifest["parts"][0]["name"]
    shutil.copy(editor.part(), editor.folder.parent / editor.part().name)
    editor.edit_part({"name": name.partition("/")[0] + "/../../" + editor.part().name})


def part_absolute(editor):
    editor.edit_part({"name": str(editor.part().resolve())})


def part_is_symlink(editor):
    outside = editor.folder.parent / "outside"
    editor.part().rename(outside)
    editor.part().symlink_to(outside)


def part_is_fifo(editor):
    editor.part().unlink()
    os.mkfifo(editor.part())


def part_is_folder(editor):
    editor.part().unlink()
    editor.part().mkdir()


def generation_is_symlink(editor):
    folder = editor.part().parent
    outside = editor.folder.parent / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)


def part_has_unknown_member(editor):
    editor.edit_part({"extra": 1})


def part_is_torn(editor):
    data = editor.part().read_bytes()
    editor.store(data[:len(data) * 2 // 3])


def part_has_garbage_after_it(editor):
    editor.store(editor.part().read_bytes() + b"garbage\n")


def last_line_is_torn(editor):
    lines = editor.lines()
    editor.set_lines([*lines[:-1], lines[-1].rstrip(b"\n")])


def member_is_there_twice(editor):
    lines = editor.lines()
    editor.set_lines([lines[0], lines[1].replace(b"{", b'{"size":1,', 1), *lines[2:]])


def member_of_manifest_is_there_twice(editor):
    editor.path.write_bytes(editor.path.read_bytes().replace(b"{", b'{"schema":1,', 1))


def manifest_missing(editor):
    editor.path.unlink()


def manifest_is_symlink(editor):
    outside = editor.folder.parent / "outside.json"
    editor.path.rename(outside)
    editor.path.symlink_to(outside)


def manifest_is_fifo(editor):
    editor.path.unlink()
    os.mkfifo(editor.path)


def manifest_is_torn(editor):
    data = editor.path.read_bytes()
    editor.path.write_bytes(data[:len(data) // 2])


def manifest_is_empty(editor):
    editor.path.write_bytes(b"")


def manifest_is_deep(editor):
    editor.path.write_bytes(b'{"a":' * DEEP)


def manifest_has_more_after_it(editor):
    editor.path.write_bytes(editor.path.read_bytes() + b"{}\n")


def sizes_differ_in_group(editor):
    rows = [json.loads(text) for text in editor.lines()]
    at = next(at for at, row in enumerate(rows) if "group" in row)
    editor.edit_row({"size": rows[at]["size"] + 1}, at=at)


def digests_differ_in_group(editor):
    rows = [json.loads(text) for text in editor.lines()]
    first = next(at for at, row in enumerate(rows) if "group" in row)
    other = next(at for at, row in enumerate(rows)
                 if row.get("group") == rows[first]["group"] and at != first)
    editor.edit_row({"sha256": "0" * 64}, at=first)
    editor.edit_row({"sha256": "1" * 64}, at=other)


def sum_of_bytes_wrong(editor):
    editor.edit_head({"bytes": editor.manifest["bytes"] + 1})


OTHERS_OF_SETS = (
    row_missing, row_twice, path_twice, inode_twice, checksum_wrong, byte_flipped, length_wrong,
    rows_of_part_wrong, part_missing, part_not_listed, part_listed_twice, parts_exchanged,
    part_outside, part_outside_by_detour, part_absolute, part_is_symlink, part_is_fifo,
    part_is_folder, generation_is_symlink, part_has_unknown_member, part_is_torn,
    part_has_garbage_after_it, last_line_is_torn, member_is_there_twice,
    member_of_manifest_is_there_twice, manifest_missing, manifest_is_symlink, manifest_is_fifo,
    manifest_is_torn, manifest_is_empty, manifest_is_deep, manifest_has_more_after_it,
    sizes_differ_in_group, digests_differ_in_group, sum_of_bytes_wrong)


# Faults of lists beyond members


def list_has_fewer_lines(editor):
    editor.lines.pop()
    editor.save()


def list_has_more_lines(editor):
    editor.lines.append(editor.lines[-1])
    editor.save()


def list_has_a_row_twice(editor):
    editor.head["bytes"] += json.loads(editor.lines[-1])["size"]
    editor.set_lines([*editor.lines, editor.lines[-1]])


def list_is_torn(editor):
    editor.set_lines([*editor.lines[:-1], editor.lines[-1].rstrip(b"\n")])


def list_ends_in_a_line(editor):
    editor.set_lines([*editor.lines[:-1], editor.lines[-1][:20]])


def list_is_empty(editor):
    editor.path.write_bytes(b"")


def list_has_no_head(editor):
    editor.path.write_bytes(b"".join(editor.lines))


def list_has_a_huge_line(editor):
    editor.set_lines([*editor.lines[:-1],
                      editor.lines[-1].replace(b"}", b" " * 70_000 + b"}", 1)])


def list_has_a_huge_head(editor):
    editor.edit_head({"version": "x" * 70_000})


def list_has_a_sum_that_is_wrong(editor):
    editor.edit_head({"bytes": editor.head["bytes"] + 1})


def list_has_a_member_twice(editor):
    lines = editor.lines
    editor.set_lines([lines[0].replace(b"{", b'{"size":1,', 1), *lines[1:]])


def list_is_of_another_kind(editor):
    editor.edit_head({"format": "twinfs-inventory"})


OTHERS_OF_LISTS = (
    list_has_fewer_lines, list_has_more_lines, list_has_a_row_twice, list_is_torn,
    list_ends_in_a_line, list_is_empty, list_has_no_head, list_has_a_huge_line,
    list_has_a_huge_head, list_has_a_sum_that_is_wrong, list_has_a_member_twice,
    list_is_of_another_kind)


def in_row(members):
    return lambda editor: editor.edit_row(members)


def in_head(members):
    return lambda editor: editor.edit_head(members)


def as_line_of_set(text):
    return lambda editor: editor.set_lines([*editor.lines()[:-1], text])


def as_line_of_list(text):
    return lambda editor: editor.set_lines([*editor.lines[:-1], text])


FAULTS_OF_SETS = {
    **{name: in_row(members) for name, members in {**ROW_FAULTS, **INVENTORY_FAULTS}.items()},
    **{name: in_head(members) for name, members in {**HEAD_FAULTS, **MANIFEST_FAULTS}.items()},
    **{name: as_line_of_set(text) for name, text in LINE_FAULTS.items()},
    **{fault.__name__.replace("_", " "): fault for fault in OTHERS_OF_SETS},
}
FAULTS_OF_LISTS = {
    **{name: in_row(members) for name, members in ROW_FAULTS.items()},
    **{name: in_head(members) for name, members in HEAD_FAULTS.items()},
    **{name: as_line_of_list(text) for name, text in LINE_FAULTS.items()},
    **{fault.__name__.replace("_", " "): fault for fault in OTHERS_OF_LISTS},
}

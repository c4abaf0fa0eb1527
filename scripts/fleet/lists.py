# SPDX-License-Identifier: MIT
"""Lists of files for a host, which twinfs reads there (twinfs(5)): a line with the head, then a
line for each row."""
import datetime
import itertools
import json
import os
import re
import stat
from json.encoder import encode_basestring

from fleet.errors import FleetError, InvalidError
from fleet.rows import parse_object, unsigned

LINE_MAX = 65_536  # bytes that twinfs reads as a line
PRIVATE = 0o600
FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.jsonl\Z")
FILE_COLUMNS = 10  # of a row: host, id, source, path, path_base64, size, times, dev and ino


def now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def path_text(path, path_base64):
    exact = f', "path_base64": "{path_base64}"' if path_base64 else ""
    return f'"path": {encode_basestring(path)}{exact}'


def line(row, further=""):
    """A line of a file; `further` has members beside those of the file."""
    _, identity, source, path, path_base64, size, mtime_ns, ctime_ns, dev, ino = row[:FILE_COLUMNS]
    return (f'{{"id": {identity}, "source": {source}, {path_text(path, path_base64)}'
            f', "size": {size}'
            f', "mtime_ns": {mtime_ns}, "ctime_ns": {ctime_ns}, "dev": {unsigned(dev)}'
            f', "ino": {unsigned(ino)}{further}}}\n').encode()


def no_members(row):
    return ""


class HostList:
    """A list. `further` gives the text of the members of a row beside those of the file."""

    def __init__(self, path, head, further=no_members):
        self.path, self.head, self.further = path, head, further
        self.rows = self.bytes = self.skipped = 0

    @property
    def host(self):
        return self.head["host"]

    def head_line(self, rows, size):
        found = json.dumps({**self.head, "rows": rows, "bytes": int(size)}, ensure_ascii=False
                           ).encode() + b"\n"
        if len(found) > LINE_MAX:
            raise FleetError(f"cannot write a list of {self.host}: the names of its sources and of "
                             f"other hosts in it are longer than {LINE_MAX} bytes")
        return found

    def write(self, rows, expected):
        """Writes the rows below a first line with their number, which is expected."""
        with open(self.path, "xb", opener=private) as file:
            head = self.head_line(*expected)
            file.write(head)
            for row in rows:
                self.write_row(file, row)
            if self.skipped:  # spaces after the object keep the length of the line
                file.seek(0)
                file.write(self.head_line(self.rows, self.bytes)[:-1].ljust(len(head) - 1))

    def write_row(self, file, row):
        written = line(row, self.further(row))
        if len(written) > LINE_MAX:
            self.skipped += 1
            return
        file.write(written)
        self.rows += 1
        self.bytes += row[5]


def private(path, flags):
    return os.open(path, flags, PRIVATE)


def source_members(rows):
    """{host: the sources as JSON has them}."""
    found = {}
    for host, _, path, path_base64 in rows:
        exact = {"path_base64": path_base64} if path_base64 else {}
        found.setdefault(host, []).append({"path": path, **exact})
    return found


def rows_of_hosts(hosts, rows):
    """Yields the rows of each of these hosts, of which some can have none. Both are in the order of
    hosts, and the rows of a host must be used up before those of the next one."""
    by_host = itertools.groupby(rows, key=lambda row: row[0])
    following = next(by_host, None)
    for host in hosts:
        if not following or following[0] != host:
            yield ()
            continue
        yield following[1]
        following = next(by_host, None)


# ---- lists of an earlier run


def list_format(path):
    """The format of a list; None if the file is no list."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            return parse_object(file.readline(LINE_MAX)).get("format")
    except (OSError, InvalidError):
        return None


def has_only(path, formats, unfinished=None):
    """Whether a folder has only lists of these, {beginning of the names: format}, and files whose
    names match the pattern `unfinished`."""
    return all(any(is_list(os.path.join(path, name), prefix, form)
                   for prefix, form in formats.items())
               or unfinished and unfinished.match(name) for name in os.listdir(path))


def is_list(path, prefix, form):
    name = os.path.basename(path)
    return (name.startswith(prefix) and FILE.match(name[len(prefix):]) is not None
            and list_format(path) == form)

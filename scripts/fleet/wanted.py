# SPDX-License-Identifier: MIT
"""Writes for each host the files that `twinfs digest` must read."""
import datetime
import itertools
import json
import os
import re
from json.encoder import encode_basestring

from fleet import questions
from fleet.engines import opened
from fleet.errors import INCOMPLETE, FleetError, warn
from fleet.outputs import new_folder
from fleet.rows import unsigned

FORMAT = "twinfs-wanted"
LINE_MAX = 65_536  # bytes that `twinfs digest` reads as a line
FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.jsonl\Z")


def is_wanted(path):
    """Whether an earlier run wrote a folder."""
    for name in os.listdir(path):
        if not FILE.match(name):
            return False
        with open(os.path.join(path, name), "rb") as file:
            if not file.read(200).startswith(b'{"format": "%s"' % FORMAT.encode()):
                return False
    return True


def path_text(path, path_base64):
    exact = f', "path_base64": "{path_base64}"' if path_base64 else ""
    return f'"path": {encode_basestring(path)}{exact}'


def line(row):
    _, identity, source, path, path_base64, size, mtime_ns, ctime_ns, dev, ino = row
    return (f'{{"id": {identity}, "source": {source}, {path_text(path, path_base64)}'
            f', "size": {size}'
            f', "mtime_ns": {mtime_ns}, "ctime_ns": {ctime_ns}, "dev": {unsigned(dev)}'
            f', "ino": {unsigned(ino)}}}\n').encode()


class HostFile:
    """The list of a host."""

    def __init__(self, folder, host, index, sources):
        self.host, self.path = host, os.path.join(folder, f"{host}.jsonl")
        self.head = {"format": FORMAT, "schema": 1, "host": host, "index": index,
                     "created": datetime.datetime.now(datetime.UTC).strftime(
                         "%Y-%m-%dT%H:%M:%SZ"),
                     "sources": sources}
        self.rows = self.bytes = self.skipped = 0

    def head_line(self, rows, size):
        found = json.dumps({**self.head, "rows": rows, "bytes": int(size)}, ensure_ascii=False
                           ).encode() + b"\n"
        if len(found) > LINE_MAX:
            raise FleetError(f"cannot list the wanted files of {self.host}: the names of its "
                             f"sources are longer than {LINE_MAX} bytes")
        return found

    def write(self, rows, expected):
        """Writes the rows below a first line with their number, which is expected."""
        with open(self.path, "wb") as file:
            head = self.head_line(*expected)
            file.write(head)
            for row in rows:
                self.write_row(file, row)
            if self.skipped:  # spaces after the object keep the length of the line
                file.seek(0)
                file.write(self.head_line(self.rows, self.bytes)[:-1].ljust(len(head) - 1))

    def write_row(self, file, row):
        written = line(row)
        if len(written) > LINE_MAX:
            self.skipped += 1
            return
        file.write(written)
        self.rows += 1
        self.bytes += row[5]


def source_members(rows):
    """{host: the sources as JSON has them}."""
    found = {}
    for host, _, path, path_base64 in rows:
        exact = {"path_base64": path_base64} if path_base64 else {}
        found.setdefault(host, []).append({"path": path, **exact})
    return found


def write_all(engine, folder):
    """Writes the lists of all hosts; returns them."""
    sources = source_members(engine.query(questions.statement("wanted_sources"))[1])
    sums = list(engine.query(questions.statement("wanted_sums"))[1])
    rows = engine.query(questions.statement("wanted"))[1]
    by_host = itertools.groupby(rows, key=lambda row: row[0])
    following = next(by_host, None)
    written = []
    for host, index, files, size in sums:
        list_of_host = HostFile(folder, host, index, sources.get(host, []))
        own = ()
        if following and following[0] == host:
            own = following[1]
        list_of_host.write(own, (files, size))
        if own:
            following = next(by_host, None)
        written.append(list_of_host)
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

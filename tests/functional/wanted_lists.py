# SPDX-License-Identifier: MIT
"""Makes lists of wanted files from inventories, as twinfs-fleet does, and reads the digests that
`twinfs digest` writes."""
import hashlib
import json
import os

import inventories
from program import path_of

MEMBERS = ["id", "source", "path", "path_base64", "size", "mtime_ns", "ctime_ns", "dev",
           "ino"]


def sha256(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


def list_text(manifest, wanted, **changed):
    """The bytes of a list of rows. changed: members of the first line."""
    head = {"format": "twinfs-wanted", "schema": 1, "host": manifest["host"],
            "index": manifest["index"], "created": manifest["created"],
            "sources": manifest["sources"], "rows": len(wanted),
            "bytes": sum(row["size"] for row in wanted), **changed}
    rows = [{key: row[key] for key in MEMBERS if key in row} for row in wanted]
    return "".join(json.dumps(line) + "\n" for line in [head, *rows]).encode()


class Host:
    """A machine of a fleet: sources, the program with its index, and the folders of both."""

    def __init__(self, twinfs, folder, *sources, name="alpha"):
        self.twinfs, self.name = twinfs, name
        self.sources = sources
        self.inventory = folder / f"inventory of {name}"
        self.wanted = folder / f"{name}.jsonl"
        self.output = folder / f"digests of {name}"
        self.operands = sources  # or the mount point of a view

    def export(self, status=0):
        result = self.twinfs("export", "--host", self.name, "--output", self.inventory,
                             *self.operands)
        assert result.status == status, result
        return inventories.load(self.inventory)

    def path(self, row):
        return os.path.join(os.fsencode(self.sources[row["source"]]), path_of(row))

    def want(self, choose=lambda path: True, status=0, **changed):
        """Exports, and makes a list of the files whose path (bytes) is chosen."""
        manifest, rows = self.export(status)
        rows = [row for row in rows if choose(path_of(row))]
        self.wanted.write_bytes(list_text(manifest, rows, **changed))
        return rows

    def words(self, *words):
        return ("digest", "--wanted", self.wanted, "--output", self.output, *words, *self.operands)

    def digest(self, *words, status=0):
        result = self.twinfs(*self.words(*words))
        assert result.status == status, result
        return result

    def read(self, *words):
        """Runs the command under strace; returns the set of paths (bytes) that it read."""
        for source in self.sources:
            assert os.path.isdir(source)
        found = set()
        for call, path in self.twinfs.content_read(*self.words(*words), below=self.sources[0]):
            assert call == b"pread64"
            found.add(path)
        return found

    def manifest(self):
        return json.loads((self.output / "manifest.json").read_text())

    def stored_rows(self):
        """The rows of the digests, which can be beside leftovers of a killed call."""
        return [row for part in self.manifest()["parts"]
                for row in inventories.load_part(self.output, part)]

    def rows(self):
        """The rows of the digests. Each file in the folder belongs to them."""
        manifest = self.manifest()
        assert list(manifest) == inventories.MEMBERS
        assert (manifest["format"], manifest["schema"]) == ("twinfs-digests", 1)
        assert manifest["host"] == self.name
        rows = self.stored_rows()
        assert len(rows) == manifest["rows"] == len({row["id"] for row in rows})
        assert sum(row["size"] for row in rows) == manifest["bytes"]
        there = {os.fspath(path.relative_to(self.output)) for path in self.output.rglob("*")}
        parts = {part["name"] for part in manifest["parts"]}
        assert there == {"manifest.json", *parts, *(os.path.dirname(name) for name in parts)}
        return rows

    def digests(self):
        """{path (bytes): digest}"""
        return {self.path(row): row["sha256"] for row in self.rows()}

    def expected(self, rows):
        """{path (bytes): digest} of rows of the inventory, by another program."""
        return {self.path(row): sha256(self.path(row)) for row in rows}

# SPDX-License-Identifier: MIT
"""Makes keep lists from inventories, as `twinfs-fleet plan` does, and reads the attestations and
promises that `twinfs attest` writes."""
import hashlib
import json
import os
import secrets
import shutil
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inventories import load
from program import path_of
from wanted_lists import MEMBERS, Host, sha256

DAYS = 14 * 24 * 3600
STATE = "/var/lib/twinfs"  # of root; hidden by the session
HEAD = ["format", "schema", "plan", "host", "list", "begun", "created", "rows"]


def keep_text(manifest, rows, **changed):
    """The bytes of a keep list of rows that have a sha256. changed: members of the first line."""
    head = {"format": "twinfs-keep", "schema": 1, "plan": secrets.token_hex(16),
            "host": manifest["host"], "index": manifest["index"],
            "created": manifest["created"], "keep_replicas": 1, "sources": manifest["sources"],
            "rows": len(rows), "bytes": sum(row["size"] for row in rows), **changed}
    lines = [{key: row[key] for key in [*MEMBERS, "sha256"] if key in row} for row in rows]
    return "".join(json.dumps(line) + "\n" for line in [head, *lines]).encode()


def seconds(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def in_memory(path):
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], check=True, stdout=subprocess.PIPE)
    return kind.stdout.strip() in (b"tmpfs", b"ramfs")


class Keeper(Host):
    """A machine of a fleet that keeps contents for others."""

    def __init__(self, twinfs, folder, *sources, name="alpha"):
        super().__init__(twinfs, folder, *sources, name=name)
        if in_memory(folder):
            pytest.skip("files in memory are not attested")
        state = twinfs.home / "state/twinfs" if twinfs.user or os.geteuid() else STATE
        self.promises_file = Path(state, ".promises", name, "promises")
        shutil.rmtree(self.promises_file.parent, ignore_errors=True)  # of an earlier test
        self.list = folder / f"keep-{name}.jsonl"
        self.output = folder / "plan"

    @property
    def attested(self):
        return self.output / f"attested-{self.name}.jsonl"

    def keep(self, choose=lambda path: True, words=()):
        """Exports, and makes a keep list of the contents whose path (bytes) is chosen."""
        self.twinfs.ok("export", *words, "--host", self.name, "--output", self.inventory,
                       *self.operands)
        manifest, rows = load(self.inventory)
        return self.list_contents(manifest, [row for row in rows if choose(path_of(row))])

    def list_contents(self, manifest, rows, **changed):
        """Makes a keep list of the contents of rows of an inventory, each once."""
        contents = {}
        for row in sorted(rows, key=lambda row: row["id"]):
            if row["size"] > 0:
                digest = sha256(self.path(row))
                contents.setdefault((digest, row["size"]), {**row, "sha256": digest})
        self.list.write_bytes(keep_text(manifest, list(contents.values()), **changed))
        return list(contents.values())

    def know_digests(self):
        """Makes the index know the digests of all files."""
        self.want()
        self.twinfs.ok("digest", "--wanted", self.wanted, "--output",
                       self.list.with_name("digests"), *self.operands)

    def words(self, *words):
        return ("attest", "--output", self.output, *words, self.list, *self.operands)

    def attest(self, *words, status=0):
        result = self.twinfs(*self.words(*words))
        assert result.status == status, result
        return result

    def attestation(self):
        """The first line and the rows of the attestation, which must be of the list."""
        head, *rows = map(json.loads, self.attested.read_bytes().splitlines())
        data = self.list.read_bytes()
        listed = [json.loads(line) for line in data.splitlines()]
        assert list(head) == HEAD
        assert (head["format"], head["schema"]) == ("twinfs-attestation", 1)
        assert (head["plan"], head["host"]) == (listed[0]["plan"], self.name)
        assert head["list"] == hashlib.sha256(data).hexdigest()
        assert head["rows"] == len(rows)
        assert seconds(head["begun"]) <= seconds(head["created"])
        assert [(row["sha256"], row["size"]) for row in rows] == \
            [(row["sha256"], row["size"]) for row in listed[1:]]
        assert stat.S_IMODE(self.attested.stat().st_mode) == 0o600
        return head, rows

    def outcomes(self):
        """{path below its source: True, or the reason why the content is not kept}"""
        listed = [json.loads(line) for line in self.list.read_bytes().splitlines()[1:]]
        found = {}
        for row, outcome in zip(listed, self.attestation()[1], strict=True):
            members = {"sha256", "size", "kept"} | (
                {"inode", "born"} if outcome["kept"] else {"reason"})
            assert set(outcome) == members
            found[row["path"]] = outcome["kept"] or outcome["reason"]
        return found

    def promises(self):
        """{(sha256, size): seconds until which it is promised}, checked as a reader must."""
        head, *lines = self.promises_file.read_bytes().splitlines(keepends=True)
        head = json.loads(head)
        assert head == {**head, "format": "twinfs-promises", "schema": 1, "rows": len(lines),
                        "sha256": promises_hash(head, lines)}
        assert list(head)[4:] == FURTHER and all(head[member] for member in FURTHER)
        assert stat.S_IMODE(self.promises_file.stat().st_mode) == 0o600
        rows = [json.loads(line) for line in lines]
        assert all(list(row) == ["sha256", "size", "until", "lived"] for row in rows)
        return {(row["sha256"], row["size"]): seconds(row["until"]) for row in rows}

    def left(self):
        """The names in the folder of attestations."""
        return sorted(os.listdir(self.output))


FURTHER = ["id", "writes", "lived", "boot", "uptime"]


def promises_hash(head, lines):
    """The SHA-256 of a file of promises; its first version has no further members."""
    members = {member: head[member] for member in FURTHER if member in head}
    text = "," + json.dumps(members, separators=(",", ":"))[1:-1] if members else ""
    return hashlib.sha256(text.encode() + b"".join(lines)).hexdigest()


def contents(rows):
    return {(row["sha256"], row["size"]) for row in rows}

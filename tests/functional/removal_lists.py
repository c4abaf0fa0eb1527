# SPDX-License-Identifier: MIT
"""Makes lists of files that other hosts keep, and attestations of these hosts, as twinfs-fleet and
`twinfs attest` write them; the hosts need not exist."""
import datetime
import hashlib
import json

import inventories
from wanted_lists import MEMBERS, Host, sha256

PLAN = "0123456789abcdef" * 2


def keep_list(host):
    """The SHA-256 of the keep list of a host that does not exist."""
    return hashlib.sha256(host.encode()).hexdigest()


def text_time(age):
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=age)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def lines(head, rows):
    return "".join(json.dumps(line) + "\n" for line in [head, *rows])


class Remover(Host):
    """A host of which files can go, as other hosts keep their contents."""

    def __init__(self, twinfs, folder, *sources, keepers=("alpha", "gamma"), replicas=1,
                 name="beta"):
        super().__init__(twinfs, folder, *sources, name=name)
        self.keepers, self.replicas = keepers, replicas
        self.folder = folder / "plan"
        self.folder.mkdir()
        self.list = self.folder / f"remove-{name}.jsonl"
        self.rows = []

    def plan(self, choose=lambda path: True, keepers=None, **changed):
        """Writes the list of all names of the files whose path (bytes) is chosen."""
        manifest, rows = self.export()
        self.rows = []
        for row in rows:
            found = {**row, "sha256": sha256(self.path(row)),
                     "keepers": keepers or list(range(len(self.keepers)))}
            for name in (row, *row.get("links", [])):
                found = {key: value for key, value in found.items()
                         if key in (*MEMBERS, "sha256", "keepers") and key != "path_base64"}
                found |= {key: name[key] for key in ("source", "path", "path_base64")
                          if key in name}
                if choose(inventories.path_of(found)):
                    self.rows.append(dict(found))
        self.write(manifest, **changed)
        return self.rows

    def write(self, manifest, **changed):
        head = {"format": "twinfs-remove", "schema": 1, "plan": PLAN, "host": self.name,
                "index": manifest["index"], "created": text_time(0),
                "keep_replicas": self.replicas,
                "keepers": [{"host": host, "list": keep_list(host)} for host in self.keepers],
                "sources": manifest["sources"], "rows": len(self.rows),
                "bytes": sum(row["size"] for row in self.rows), **changed}
        self.list.write_text(lines(head, self.rows))

    def attest(self, host, kept=lambda row: True, age=10, file=None, **changed):
        """Writes the attestation of a host about all contents that it keeps by the list, in a file
        with this inode number and time of birth (another one for each host)."""
        number = self.keepers.index(host)
        contents = {}
        for row in self.rows:
            if number in row["keepers"]:
                contents[row["sha256"]] = row
        inode, born = (f"{number:016x}" for number in file or (7 + self.keepers.index(host), 77))
        rows = [{"sha256": digest, "size": row["size"], "kept": True, "inode": inode, "born": born}
                if kept(row) else
                {"sha256": digest, "size": row["size"], "kept": False, "reason": "missing"}
                for digest, row in contents.items()]
        head = {"format": "twinfs-attestation", "schema": 1, "plan": PLAN, "host": host,
                "list": keep_list(host), "begun": text_time(age), "created": text_time(age - 1),
                "rows": len(rows), **changed}
        (self.folder / f"attested-{host}.jsonl").write_text(lines(head, rows))

    def removal(self, *words):
        return ("remove", "--plan", self.list, "--attested", self.folder, *words)

    def remove(self, *words, status=0):
        result = self.twinfs(*self.removal("--yes", *words))
        assert result.status == status, result
        return result

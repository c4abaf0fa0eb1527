# SPDX-License-Identifier: MIT
"""A model of export, plan, attest and remove that is too simple to be wrong, to try the checker of
rounds: the checker must accept the model, and find what is wrong in each model that differs."""
import json
import os
import secrets
import stat
import threading
import time
from dataclasses import dataclass

import fleet_sets
import round_lists
from round_hosts import entry_of, snapshot
from round_lists import ATTESTATION, KEEP, REMOVE, file_name, read_time, write_time

INDEX = "0123456789abcdef"


@dataclass
class Run:
    """The exit status of a run, whether it was killed, and what it wrote to stderr."""
    status: int
    killed: bool = False
    errors: tuple = ()


class Model:
    """The commands of a fleet, in Python."""

    def __init__(self):
        self.inventories, self.promises, self.acts = {}, {}, {}
        self.lock = threading.Lock()

    # export and plan

    def export(self, host):
        inodes = {}
        for path in sorted(snapshot(host)):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                source = next(at for at, top in enumerate(host.sources)
                              if path.startswith(top + b"/"))
                name = source, path[len(host.sources[source]) + 1:]
                inodes.setdefault(status.st_ino, (status, entry_of(path), []))[2].append(name)
        rows = [fleet_sets.Row({
            "id": number, "size": status.st_size, "mtime_ns": status.st_mtime_ns,
            "ctime_ns": status.st_ctime_ns, "dev": status.st_dev, "ino": status.st_ino,
            "sha256": entry.sha256}, names)
            for number, (status, entry, names) in enumerate(inodes.values(), 1)]
        found = fleet_sets.Rows({"host": host.name, "index": INDEX}, host.sources, rows)
        self.inventories[host.name] = found
        return found

    def wanted(self):
        """Nothing: export() has all digests."""

    def digest(self, host):
        return None

    def plan(self, folder, wish):
        os.mkdir(folder, 0o700)
        expected = round_lists.expected_plan(self.inventories, {}, wish)
        head = {"schema": 1, "plan": secrets.token_hex(16), "created": write_time(time.time()),
                "keep_replicas": wish.replicas, "index": INDEX}
        lists = {}
        for kind in (KEEP, REMOVE):
            for host in self.inventories:
                others = {name: made for name, made in lists.items() if name != host}
                rows = self.rows_for(kind, host, expected, [*others])
                if rows:
                    extra = {} if kind == KEEP else {"keepers": list(others.values())}
                    path = os.path.join(folder, file_name(kind, host))
                    self.write_list(path, {**head, "format": kind, "host": host, **extra}, rows)
                    if kind == KEEP:
                        lists[host] = {"host": host, "list": round_lists.sha256_of(path)}
        return Run(0)

    def rows_for(self, kind, host, expected, names):
        rows = []
        for (digest, _), (keepers, files) in sorted(expected.items()):
            chosen = files.get(host, []) if (host in keepers) == (kind == KEEP) else []
            if kind == KEEP:
                chosen = sorted(chosen, key=lambda file: file.id)[:1]
            for file in chosen:
                for source, name in file.names[:1] if kind == KEEP else file.names:
                    row = {**{member: file.values[member] for member in round_lists.ALIKE},
                           "sha256": digest, "source": source, **fleet_sets.path_members(name)}
                    if kind == REMOVE:
                        row["keepers"] = [number for number, keeper in enumerate(names)
                                          if keeper in keepers]
                    rows.append(row)
        return rows

    def write_list(self, path, head, rows):
        sources = self.inventories[head["host"]].sources
        head = {**head, "sources": [fleet_sets.path_members(source) for source in sources],
                "rows": len(rows), "bytes": sum(row["size"] for row in rows)}
        self.write_lines(path, (head, *rows))

    @staticmethod
    def write_lines(path, values):
        made = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(made, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(value) + "\n" for value in values)
        os.rename(path + ".new", path)

    # attest

    def attest(self, host, path, folder, kill=None):
        with self.lock:
            return self.attest_alone(host, path, folder, kill)

    def attest_alone(self, host, path, folder, kill):
        try:
            listed = round_lists.read_list(path, KEEP)
        except fleet_sets.InvalidError:
            return Run(1, errors=("malformed",))
        begun = write_time(time.time())
        self.promise(host, {(row.sha256, row.size) for row in listed.rows})
        if kill and kill[1] % 2:
            return Run(-9, True)
        rows = [{"sha256": row.sha256, "size": row.size,
                 **self.verdict(host, listed.path(row), row)} for row in listed.rows]
        self.write_lines(os.path.join(folder, file_name(ATTESTATION, host.name)), ({
            "format": ATTESTATION, "schema": 1, "plan": listed.head["plan"], "host": host.name,
            "list": round_lists.sha256_of(path), "begun": begun,
            "created": write_time(time.time()), "rows": len(rows)}, *rows))
        lost = [os.fsdecode(listed.path(row)) for row, verdict in zip(listed.rows, rows)
                if not verdict["kept"]]
        return Run(3 if lost else 0, errors=tuple(lost))

    def promise(self, host, contents):
        self.promises.setdefault(host.name, set()).update(contents)

    def verdict(self, host, path, row):
        entry = snapshot(host).get(path)
        if entry is None:
            return {"kept": False, "reason": "missing"}
        if entry.content != (row.sha256, row.size):
            return {"kept": False, "reason": "changed"}
        return self.kept(entry)

    @staticmethod
    def kept(entry):
        return {"kept": True, "inode": f"{entry.ino:016x}", "born": "0" * 16}

    # remove

    def remove(self, host, path, plan, kill=None):
        with self.lock:
            return self.remove_alone(host, path, plan, kill)

    def remove_alone(self, host, path, plan, kill):
        try:
            listed = round_lists.read_list(path, REMOVE)
            attested = self.read_attestations(plan.folder, listed.head["keepers"])
        except fleet_sets.InvalidError:
            return Run(1, errors=("malformed",))
        gone = 0
        for row in listed.rows:
            if kill and gone == kill[1]:
                return Run(-9, True)
            spared = b"/.git/" in listed.path(row) and not plan.bundles
            if not spared and self.may_go(host, listed, row, attested, plan.age[1]):
                os.unlink(listed.path(row))
                self.acts.setdefault(host.name, set()).add(listed.path(row))
                gone += 1
        whole = gone == len(listed.rows)
        return Run(0 if whole else 3, errors=() if whole else ("skipped",))

    def may_go(self, host, listed, row, attested, max_age):
        keepers = {listed.head["keepers"][number]["host"] for number in row.keepers
                   if any(self.counts(lines, listed.head, number, max_age) and
                          self.says_kept(lines, row) for lines in attested)}
        entry = snapshot(host).get(listed.path(row))
        return (len(keepers) >= listed.head["keep_replicas"] and entry is not None and
                self.is_listed(entry, row) and not self.is_promised(host, row))

    def is_listed(self, entry, row):
        return entry.content == (row.sha256, row.size)

    def is_promised(self, host, row):
        return (row.sha256, row.size) in self.promises.get(host.name, ())

    @staticmethod
    def says_kept(lines, row):
        return any(attested["kept"] and attested["sha256"] == row.sha256 for attested in lines.rows)

    def counts(self, lines, head, number, max_age):
        return (lines.head["plan"] == head["plan"] and
                {"host": lines.head["host"], "list": lines.head["list"]} ==
                head["keepers"][number] and self.is_fresh(lines.head["begun"], max_age))

    @staticmethod
    def is_fresh(begun, max_age):
        return -300 <= time.time() - read_time(begun) <= max_age

    @staticmethod
    def read_attestations(folder, keepers):
        paths = [os.path.join(folder, file_name(ATTESTATION, keeper["host"])) for keeper in keepers]
        return [round_lists.read_attestation(path) for path in paths if os.path.exists(path)]

    def recover(self, host):
        """Nothing: each removal of the model is one call."""

    def removed(self, host):
        """The paths that were removed by the record of this host."""
        return self.acts.get(host.name, set())

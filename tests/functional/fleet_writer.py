# SPDX-License-Identifier: MIT
"""Writes inventories, digests and lists of wanted files of hosts as twinfs(5) describes them,
without the program, from what fleet_oracle.py read."""
import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field

import fleet_sets

VERSION = "0.1.0"
CREATED = "2026-11-27T02:20:00Z"


@dataclass
class Form:
    """What a set has beside its rows, and how it is stored."""
    index: str = "0123456789abcdef"
    generation: int = 1
    compressed: bool = True
    part_rows: int = 100
    head: dict = field(default_factory=dict)  # members with another value than usual


def line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def name_members(name):
    source, path = name
    return {"source": source, **fleet_sets.path_members(path)}


def file_members(number, file):
    dev, ino = file.inode
    return {"id": number, **name_members(file.names[0]), "size": file.size,
            "mtime_ns": file.mtime_ns, "ctime_ns": file.ctime_ns, "dev": dev, "ino": ino}


def numbered(files):
    """(id, file) of the files of a host. Ids have gaps, as those of an index."""
    return [(3 * number + 1, file) for number, file in enumerate(files)]


def inventory_rows(files):
    """The rows of an inventory. A file that is known to the tables has its SHA-256."""
    rows = []
    for number, file in numbered(files):
        row = {**file_members(number, file), "names": len(file.names)}
        if len(file.names) > 1:
            row["links"] = [name_members(name) for name in file.names[1:]]
        if file.group:
            row["group"] = file.group
        if file.known:
            row["sha256"] = file.sha256
        rows.append(row)
    return rows


def file_rows(files, wanted, digests):
    """The rows of wanted files, with their SHA-256 for a set of digests."""
    chosen = {id(file) for file in wanted}
    return [{**file_members(number, file), **({"sha256": file.sha256} if digests else {})}
            for number, file in numbered(files) if id(file) in chosen]


def head_members(kind, host, rows, form):
    return {"format": kind, "schema": fleet_sets.SCHEMA, "host": host.name, "index": form.index,
            "created": CREATED,
            "sources": [fleet_sets.path_members(path) for path in host.sources],
            "rows": len(rows), "bytes": sum(row["size"] for row in rows)}


def write_lines(path, values):
    write_file(path, b"".join(line(value) for value in values))


def write_part(folder, name, rows, compressed):
    data = b"".join(line(row) for row in rows)
    if compressed:
        name += ".zst"
        data = subprocess.run(["zstd", "-cq"], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    write_file(os.path.join(folder, name), data)
    return {"name": name, "rows": len(rows), "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest()}


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_set(folder, kind, host, rows, form=None):
    """Writes a set of rows; returns its manifest."""
    form = form or Form()
    generation = f"generation-{form.generation}"
    os.makedirs(os.path.join(folder, generation) if rows else folder)
    parts = [write_part(folder, f"{generation}/part-{at // form.part_rows + 1:05d}.jsonl",
                        rows[at:at + form.part_rows], form.compressed)
             for at in range(0, len(rows), form.part_rows)]
    manifest = {**head_members(kind, host, rows, form), "version": VERSION,
                "generation": form.generation, "min_size": host.min_size, "errors": 0,
                "pending": 0, "parts": parts, **form.head}
    write_file(os.path.join(folder, "manifest.json"), line(manifest))
    return manifest


def write_inventory(folder, host, files, form=None):
    return write_set(folder, fleet_sets.INVENTORY, host, inventory_rows(files), form)


def write_digests(folder, host, files, wanted, form=None):
    return write_set(folder, fleet_sets.DIGESTS, host, file_rows(files, wanted, True), form)


def write_wanted(path, host, files, wanted, form=None):
    form = form or Form()
    rows = file_rows(files, wanted, False)
    head = {**head_members(fleet_sets.WANTED, host, rows, form), **form.head}
    write_lines(path, (head, *rows))

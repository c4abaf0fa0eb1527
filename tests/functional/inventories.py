# SPDX-License-Identifier: MIT
"""Reads inventories of `twinfs export`, and computes what they must say."""
import hashlib
import json
import os
import shutil
import stat
import subprocess

import pytest
import walk
from program import path_of

MEMBERS = ["format", "schema", "version", "host", "index", "generation", "created", "sources",
           "min_size", "errors", "pending", "rows", "bytes", "parts"]


def stored_lines(path):
    """The lines of a part."""
    if path.suffix != ".zst":
        return path.read_bytes().splitlines()
    if not shutil.which("zstd"):
        pytest.skip("needs zstd")
    return subprocess.run(["zstd", "-dcq", path], check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def load_part(folder, part):
    path = folder / part["name"]
    data = path.read_bytes()
    assert len(data) == part["bytes"] and hashlib.sha256(data).hexdigest() == part["sha256"]
    rows = [json.loads(line) for line in stored_lines(path)]
    assert len(rows) == part["rows"]
    return rows


def load(folder):
    """The manifest and the rows of a whole inventory. Each file of the folder belongs to it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    assert list(manifest) == MEMBERS
    assert (manifest["format"], manifest["schema"]) == ("twinfs-inventory", 1)
    rows = [row for part in manifest["parts"] for row in load_part(folder, part)]
    assert len(rows) == manifest["rows"]
    assert sum(row["size"] for row in rows) == manifest["bytes"]
    assert len({row["id"] for row in rows}) == len(rows)
    return manifest, rows


def only(folder):
    """As load(), if the folder has nothing else."""
    manifest, rows = load(folder)
    there = {os.fspath(path.relative_to(folder)) for path in folder.rglob("*")}
    parts = {part["name"] for part in manifest["parts"]}
    assert there == {"manifest.json", *parts, *(os.path.dirname(name) for name in parts)}
    return manifest, rows


def names_of(row):
    """All names of a row: (number of the source, path), the first one first."""
    links = row.get("links", [])
    assert len(links) == row["names"] - 1 and ("links" in row) == (row["names"] > 1)
    return [(name["source"], path_of(name)) for name in (row, *links)]


def facts(row):
    return (tuple(names_of(row)),
            *(row[key] for key in ("size", "mtime_ns", "ctime_ns", "dev", "ino")))


def walked(*roots):
    """What rows of regular files must say, as facts() has them."""
    found = {}
    for number, root in enumerate(roots):
        for entry in walk.walk(os.fsencode(root), xattrs=False):
            if entry.stat and stat.S_ISREG(entry.stat.st_mode):
                key = (entry.stat.st_dev, entry.stat.st_ino)
                names, _ = found.setdefault(key, ([], entry.stat))
                names.append((number, entry.path))
    return {(tuple(sorted(names)), status.st_size, status.st_mtime_ns, status.st_ctime_ns, *key)
            for key, (names, status) in found.items()}

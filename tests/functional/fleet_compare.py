# SPDX-License-Identifier: MIT
"""Compares inventories, digests and lists of wanted files with what fleet_oracle.py read on the
disk. Each function returns the differences as lines."""
import collections
import os

import oracle


def names_of(found, row):
    """The absolute paths of a row."""
    return sorted(os.path.join(found.sources[source], path) for source, path in row.names)


def names_on_disk(host, file):
    return sorted(os.path.join(host.sources[source], path) for source, path in file.names)


def compare_figures(row, file):
    """The differences of what all kinds of rows have."""
    pairs = {"size": (row.size, file.size), "mtime_ns": (row.mtime_ns, file.mtime_ns),
             "ctime_ns": (row.ctime_ns, file.ctime_ns), "inode": (row.inode, file.inode)}
    return [f"{what} {one}, not {other}: {file.names[0]}"
            for what, (one, other) in pairs.items() if one != other]


def match(found, host, files):
    """Pairs rows with files by a name; returns the pairs and the differences."""
    by_name = {name: file for file in files for name in names_on_disk(host, file)}
    pairs, different, seen = [], [], collections.Counter()
    for row in found.rows:
        file = by_name.get(names_of(found, row)[0])
        if file is None:
            different.append(f"not on the disk: {row.names}")
            continue
        pairs.append((row, file))
        seen[id(file)] += 1
    different += [f"{seen[id(file)]} rows: {file.names[0]}" for file in files
                  if seen[id(file)] != 1]
    return pairs, different


def compare_head(found, host):
    head, different = found.head, []
    if head["host"] != host.name:
        different.append(f"host {head['host']}, not {host.name}")
    if sorted(found.sources) != sorted(os.fsencode(path) for path in host.sources):
        different.append(f"sources {found.sources}")
    return different


def compare_inventory(found, host, files, with_hashes=True):
    """with_hashes: whether the names of groups must be the hashes that xxhsum prints."""
    different = compare_head(found, host)
    if found.head["min_size"] != host.min_size:
        different.append(f"min_size {found.head['min_size']}, not {host.min_size}")
    pairs, unmatched = match(found, host, files)
    different += unmatched
    for row, file in pairs:
        different += compare_figures(row, file)
        if names_of(found, row) != names_on_disk(host, file):
            different.append(f"other names: {file.names[0]}")
        if row.get("sha256") not in (None, file.sha256):
            different.append(f"other SHA-256: {file.names[0]}")
    different += compare_groups(pairs)
    if with_hashes:
        different += compare_hashes(host, pairs)
    return different


def compare_groups(pairs):
    """Rows have one group if and only if their files are equal and were compared."""
    true_groups = {row.get("group"): file.group for row, file in pairs}
    groups = {file.group: row.get("group") for row, file in pairs}
    return [f"group {row.get('group')}: {file.names[0]}" for row, file in pairs
            if true_groups[row.get("group")] != file.group
            or groups[file.group] != row.get("group")]


def compare_hashes(host, pairs):
    grouped = [(row, file) for row, file in pairs if row.get("group") is not None]
    reachable = [(row, path) for row, file in grouped for path in names_on_disk(host, file)[:1]
                 if len(path) < 4096]
    hashes = oracle.hashes([path for _, path in reachable])
    return [f"xxhsum says {value}, not {row.group}: {path}"
            for (row, path), value in zip(reachable, hashes) if row.group[:32] != value]


def compare_with_inventory(found, inventory):
    """Wanted files and digests must have the ids of the inventory that they are made from."""
    if found.head["index"] != inventory.head["index"]:
        return [f"index {found.head['index']}, not {inventory.head['index']}"]
    by_id = {row.id: row for row in inventory.rows}
    different = []
    for row in found.rows:
        other = by_id.get(row.id)
        if other is None or row.inode != other.inode or not (
                set(names_of(found, row)) <= set(names_of(inventory, other))):
            different.append(f"id {row.id} is another file: {row.names}")
    return different


def compare_digests(found, host, wanted, files):
    """Digests must have all wanted files, and may have others of the host: those of an earlier list
    that are current."""
    inodes = {file.inode for file in wanted} | {row.inode for row in found.rows}
    return compare_files(found, host, [file for file in files if file.inode in inodes])


def compare_files(found, host, files):
    """Rows of wanted files or digests must be exactly these files."""
    pairs, different = match(found, host, files)
    different += compare_head(found, host)
    for row, file in pairs:
        different += compare_figures(row, file)
        if not set(names_of(found, row)) <= set(names_on_disk(host, file)):
            different.append(f"other name: {row.names}")
        if row.get("sha256") not in (None, file.sha256):
            different.append(f"other SHA-256: {file.names[0]}")
    return different

# SPDX-License-Identifier: MIT
"""Writes the inventories and digests of simulated hosts, without files: simulated_hosts.py FOLDER
HOSTS ROWS, with ROWS a host. It runs with the Python of `twinfs-fleet setup`.

The kinds of files are those of MIX, folder by folder. The hosts with a number that is a multiple of
four have their SHA-256 in a set of digests, the others in their inventory.
"""
import hashlib
import json
import os
import sys

import duckdb
import pyarrow as pa

PART_ROWS = 250_000
CREATED = "2026-11-27T02:20:00Z"
LATE = 4  # one in this many hosts has a set of digests
SIZES = 50_000  # sizes that occur on several hosts
FOLDER_FILES = 50

# Each file with what it is. A folder has files of one kind: own ones of sizes that no other host
# has, files of all hosts, of ten hosts, of two hosts, own ones of sizes of others, and pairs of
# copies.
MIX = f"""
SELECT i, host, CASE WHEN kind < 10 THEN 'own' WHEN kind < 14 THEN 'all'
                     WHEN kind < 16 THEN 'ten' WHEN kind < 17 THEN 'two'
                     WHEN kind < 18 THEN 'odd' ELSE 'copy' END AS kind
FROM (SELECT range AS i, CAST($host AS BIGINT) AS host, (range // {FOLDER_FILES}) % 20 AS kind
      FROM range($first, $last))
"""
# The number of the content, and the size.
CONTENTS = f"""
SELECT i, host, kind,
       CASE kind WHEN 'own' THEN NULL
                 WHEN 'all' THEN 'all ' || i
                 WHEN 'ten' THEN 'ten ' || host // 10 || ' ' || i
                 WHEN 'two' THEN 'two ' || host // 2 || ' ' || i
                 WHEN 'odd' THEN 'odd ' || host || ' ' || i
                 ELSE 'copy ' || host || ' ' || i // 2 END AS content
FROM ({MIX})
"""
FILES = f"""
SELECT i, host, kind, content,
       CASE WHEN content IS NULL THEN 1000000 + host * 100000000 + i
            ELSE CAST(5000 + hash(content) % {SIZES} AS BIGINT) END AS size
FROM ({CONTENTS})
"""
MEMBERS = f"""
'{{"id":' || i || ',"source":0,"path":"' || 'folder-' || i // {FOLDER_FILES * 20} || '/part-'
|| i // {FOLDER_FILES} % 20 || '/picture ' || i || '.jpg","size":' || size || ',"mtime_ns":'
|| 1700000000000000000 + i * 1000 || ',"ctime_ns":' || 1700000000000000000 + i * 1000 + host
|| ',"dev":2049,"ino":' || 1000 + i
"""
SHA256 = """',"sha256":"' || sha256(content) || '"'"""
INVENTORY = f"""
SELECT size, {MEMBERS} || ',"names":1'
       || CASE WHEN kind = 'copy' THEN ',"group":"' || md5(content) || '"' ELSE '' END
       || CASE WHEN content IS NULL OR host % {LATE} = 0 THEN '' ELSE {SHA256} END || '}}' AS line
FROM ({FILES}) ORDER BY i
"""
DIGESTS = f"""
SELECT size, {MEMBERS} || {SHA256} || '}}' AS line
FROM ({FILES}) WHERE content IS NOT NULL ORDER BY i
"""


def write_part(folder, number, lines):
    """Writes a part; returns its entry in the manifest."""
    data = ("\n".join(lines) + "\n").encode()
    stored = pa.compress(data, "zstd", asbytes=True)
    name = f"generation-1/part-{number:05d}.jsonl.zst"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(stored)
    return {"name": name, "rows": len(lines), "bytes": len(stored),
            "sha256": hashlib.sha256(stored).hexdigest()}


def write_set(connection, folder, kind, sql, host, rows):
    os.makedirs(os.path.join(folder, "generation-1"))
    parts, total = [], 0
    for first in range(0, rows, PART_ROWS):
        found = connection.execute(sql, {
            "host": host, "first": first, "last": min(rows, first + PART_ROWS)}).fetch_arrow_table()
        if len(found):
            parts.append(write_part(folder, len(parts) + 1, found["line"].to_pylist()))
            total += sum(found["size"].to_pylist())
    manifest = {
        "format": kind, "schema": 1, "version": "0.1.0", "host": f"host-{host:04d}",
        "index": f"{host:016x}", "generation": 1, "created": CREATED,
        "sources": [{"path": "/srv/photos"}],
        "min_size": 1, "errors": 0, "pending": 0, "rows": sum(part["rows"] for part in parts),
        "bytes": total, "parts": parts}
    with open(os.path.join(folder, "manifest.json"), "w", encoding="ascii") as file:
        json.dump(manifest, file)


def main(folder, hosts, rows):
    connection = duckdb.connect()
    for host in range(int(hosts)):
        write_set(connection, os.path.join(folder, f"inventory-{host:04d}"), "twinfs-inventory",
                  INVENTORY, host, int(rows))
        if host % LATE == 0:
            write_set(connection, os.path.join(folder, f"digests-{host:04d}"), "twinfs-digests",
                      DIGESTS, host, int(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])

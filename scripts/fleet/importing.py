# SPDX-License-Identifier: MIT
"""Makes tables of inventories and digests.

The parts of all sets are read by several processes. Each holds a batch of rows, at most.
"""
import collections
import contextlib
import ctypes
import json
import multiprocessing
import os
import re
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from pyarrow.dataset import dataset

from fleet import questions, row_sets, tables
from fleet.duck import connect
from fleet.errors import FleetError, InvalidError, warn
from fleet.outputs import new_folder
from fleet.rows import ancestors, digest_row, inventory_rows, parse_object
from fleet.tables import Writer, read_manifest, write_file

BATCH_ROWS = 60_000
BATCH_BYTES = 32 << 20
FOLDERS_SEEN_MAX = 200_000
PR_SET_PDEATHSIG = 1  # of prctl(2)
REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://")


# ---- what the user named


@dataclass
class Inputs:
    """The inputs of a command, checked."""
    sets: list
    folders: list  # TableFolder
    remote: list  # paths of tables that only an engine can read

    @property
    def inventories(self):
        return [found for found in self.sets if found.is_inventory]

    @property
    def digests(self):
        return [found for found in self.sets if not found.is_inventory]


def open_inputs(paths):
    """Checks the manifests of all inputs."""
    inputs = Inputs([], [], [])
    for path in paths:
        if REMOTE.match(path):
            inputs.remote.append(path.rstrip("/"))
            continue
        manifest = read_manifest(path)
        kind = manifest.get("format")
        if kind in (row_sets.INVENTORY, row_sets.DIGESTS):
            inputs.sets.append(row_sets.read_row_set(path, manifest))
        elif kind == tables.FORMAT:
            inputs.folders.append(tables.read_table_folder(path, manifest))
        else:
            raise FleetError(f"cannot use {path}: its format is {str(kind)[:80]!r}, which this "
                             "twinfs-fleet does not know")
    check_hosts(inputs)
    return inputs


def check_hosts(inputs):
    """Refuses two inventories of a host, and warns of digests of another index."""
    found = {}
    named = [(one.host, one.index, one.folder) for one in inputs.inventories]
    named += [(host["host"], host["index"], folder.path)
              for folder in inputs.folders for host in folder.hosts]
    for host, index, path in named:
        if host in found:
            raise FleetError(f"two inventories of the host {host}: {found[host][1]} and {path}; "
                             "give one of them, or give each host a name of its own")
        other = next((one for one, (known, _) in found.items() if known == index), None)
        if other is not None:
            raise FleetError(f"the inventories in {found[other][1]} and {path} are of one index, "
                             f"{index}: {other} and {host} are one host; give one of them")
        found[host] = index, path
    for digests in inputs.digests:
        index, path = found.get(digests.host, (None, None))
        if index not in (None, digests.index):
            warn(f"the digests in {digests.folder} are of another index of {digests.host} than "
                 f"{path} and are not used; run 'twinfs digest' again")


# ---- parts


@dataclass
class Part:
    """The work of a process: a part of a set, the folder for its tables, and the name for files."""
    found: row_sets.RowSet
    part: dict
    folder: str
    name: str


class Batches:
    """The rows of a part that are not written yet."""

    def __init__(self, part, names):
        self.writers = {name: Writer(part.folder, name, part.found.host, part.name)
                        for name in names}
        self.rows = {name: [] for name in names}
        self.seen = set()  # folders that were written; only to write fewer of them twice
        self.count = self.bytes = 0

    def add_folder(self, source, folder):
        if (source, folder) in self.seen:
            return
        if len(self.seen) >= FOLDERS_SEEN_MAX:
            self.seen.clear()
        self.seen.add((source, folder))
        found = ancestors(folder)
        self.rows["folders"] += [(source, *row) for row in found]
        self.bytes += 3 * len(folder) * len(found)

    def end_row(self, length):
        self.count += 1
        self.bytes += length
        if self.count >= BATCH_ROWS or self.bytes >= BATCH_BYTES:
            self.flush()

    def flush(self):
        for name, rows in self.rows.items():
            self.writers[name].write(rows)
            rows.clear()
        self.count = self.bytes = 0

    def close(self):
        self.flush()
        return [writer.close() for writer in self.writers.values()]


def import_part(part):
    """Writes the tables of a part; returns the sum of the sizes and the entries of the manifest."""
    inventory = part.found.is_inventory
    batches = Batches(part, ("files", "links", "folders") if inventory else ("digests",))
    add = add_inventory_row if inventory else add_digest
    sources = len(part.found.head["sources"])
    total = line_number = 0
    try:
        for line_number, line in enumerate(row_sets.part_lines(part.found, part.part), 1):
            if line_number > part.part["rows"]:
                raise InvalidError(f"it has more than the {part.part['rows']} rows that the "
                                   "manifest says")
            total += add(batches, parse_object(line), sources, part.found.index)
            batches.end_row(len(line))
        if line_number < part.part["rows"]:
            raise InvalidError(f"it has fewer than the {part.part['rows']} rows that the manifest "
                               "says")
    except InvalidError as error:
        raise FleetError(f"cannot use {part.found.part_path(part.part)}:{line_number}: {error}"
                         ) from None
    return total, batches.close()


def add_inventory_row(batches, row, sources, index):
    file, links = inventory_rows(row, sources)
    batches.rows["files"].append(file)
    batches.add_folder(file[1], file[4])
    for link in links:
        batches.rows["links"].append(link)
        batches.add_folder(link[1], link[4])
    return file[5]


def add_digest(batches, row, sources, index):
    found = digest_row(row, sources, index)
    batches.rows["digests"].append(found)
    return found[2]


# ---- the whole import


def import_to(folder, inputs, settings, with_folders=True):
    """Writes the tables of all sets into an empty folder, and copies folders of tables."""
    parts = [Part(found, part, folder, f"set-{number:05d}-{at:05d}")
             for number, found in enumerate(inputs.sets)
             for at, part in enumerate(found.head["parts"], 1)]
    totals, files = collections.Counter(), []
    for part, (total, entries) in zip(parts, run_parts(parts, settings.threads)):
        totals[part.found.folder] += total
        files += entries
    for found in inputs.sets:
        if totals[found.folder] != found.head["bytes"]:
            raise FleetError(f"cannot use {found.manifest}: 'bytes' is not the sum of the sizes of "
                             "its rows")
    for found in inputs.inventories:
        files += write_head(folder, found)
    others = inputs.folders if with_folders else []
    for number, other in enumerate(others):
        files += copy_tables(folder, other, number)
    files += fill_up(folder, files)
    hosts = [{"host": found.host, "index": found.index} for found in inputs.inventories]
    hosts += [host for other in others for host in other.hosts]
    check_sets(folder, inputs, settings)
    tables.write_manifest(folder, settings.version, hosts, files)


def end_with_parent(parent):
    """Ends a process of the pool when the command ends, also if it is killed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


def run_parts(parts, processes):
    """The result of each part, in order."""
    if processes == 1 or len(parts) < 2:
        yield from map(import_part, parts)
        return
    context = multiprocessing.get_context("fork")  # before an engine starts threads
    with ProcessPoolExecutor(min(processes, len(parts)), context, end_with_parent,
                             (os.getpid(),)) as pool:
        try:
            yield from pool.map(import_part, parts)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def write_head(folder, found):
    """Writes the rows of the tables hosts and sources."""
    head = found.head
    host = (head["index"], head["generation"], head["created"], head["errors"], head["pending"],
            head["min_size"], head["rows"], head["bytes"])
    sources = [(number, source["path"], source.get("path_base64"))
               for number, source in enumerate(head["sources"])]
    return [write_file(folder, "hosts", found.host, "host", [host]),
            write_file(folder, "sources", found.host, "sources", sources)]


def copy_tables(folder, other, number):
    entries = []
    for at, entry in enumerate(other.files):
        if entry["rows"] == 0:
            continue
        place = os.path.dirname(entry["name"])
        name = f"{place}/tables-{number:05d}-{at:05d}.parquet"
        os.makedirs(os.path.join(folder, place), exist_ok=True)
        shutil.copyfile(os.path.join(other.path, entry["name"]), os.path.join(folder, name))
        entries.append({**entry, "name": name})
    return entries


def fill_up(folder, files):
    """Writes an empty file for each table without files: an engine cannot read a table without
    one."""
    present = {entry["name"].partition("/")[0] for entry in files}
    return [write_file(folder, table, "none", "empty", [])
            for table in tables.TABLES if table not in present]


# {kind of set: {statement that finds the id of a wrong row: what is wrong}}
CHECKS = {
    row_sets.INVENTORY: {
        "check_ids": "its id occurs twice",
        "check_names": "one of its names occurs twice",
        "check_groups": "files of its group have different sizes or SHA-256"},
    row_sets.DIGESTS: {"check_digest_ids": "its id occurs twice"},
}


def check_sets(folder, inputs, settings):
    """Refuses a set whose rows contradict each other."""
    with contextlib.closing(connect(settings, os.path.join(folder, ".spill"))) as connection:
        for number, found in enumerate(inputs.sets):
            if found.head["parts"]:
                check_set(connection, folder, found, number)
    shutil.rmtree(os.path.join(folder, ".spill"), ignore_errors=True)


def check_set(connection, folder, found, number):
    for table in ("files", "links") if found.is_inventory else ("digests",):
        # not read_parquet(), which takes a name for a pattern
        place = os.path.join(folder, table, f"host={found.host}")
        connection.register(table, dataset(
            [os.path.join(place, name) for name in os.listdir(place)
             if name.startswith(f"set-{number:05d}-")]))
    for name, problem in CHECKS[found.head["format"]].items():
        row = connection.execute(questions.statement(name)).fetchone()
        if row:
            raise FleetError(f"cannot use {place_of(found, row[0])}: {problem}")


def place_of(found, identity):
    """The file and the line of the last row with this id."""
    place = found.manifest
    for part in found.head["parts"]:
        for number, line in enumerate(row_sets.part_lines(found, part), 1):
            if parse_object(line).get("id") == identity:
                place = f"{found.part_path(part)}:{number}"
    return place


def is_import(path):
    try:
        with open(os.path.join(path, tables.MANIFEST), encoding="utf-8") as file:
            return json.load(file).get("format") == tables.FORMAT
    except (OSError, ValueError, AttributeError):
        return False


def run(settings):
    """The command import."""
    inputs = open_inputs(settings.inventory)
    if inputs.remote:
        raise FleetError(f"cannot import {inputs.remote[0]}: only an engine can read it; give it "
                         "to 'wanted' and 'report'")
    settings.remote = False
    with new_folder(settings.output, is_import) as folder:
        import_to(folder, inputs, settings)
    rows = sum(found.head["rows"] for found in inputs.sets)
    print(f"imported {rows:,} rows of {len(inputs.sets)} sets into {settings.output}")

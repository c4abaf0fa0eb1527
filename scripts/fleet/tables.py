# SPDX-License-Identifier: MIT
"""The tables of a fleet as Parquet, and folders of them.

    DIR/manifest.json                    the hosts, and rows and bytes of each file
    DIR/TABLE/host=HOST/NAME.parquet     the rows of a host

The files have a column host, too: a program can take the name of a folder, such as host=NULL, for
another value than the text.
"""
import json
import os
import re
import stat
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from fleet.errors import FleetError, InvalidError
from fleet.rows import HOST, array, matching, number, parse_object, text

FORMAT = "twinfs-tables"
SCHEMA = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 64 << 20
FILE_NAME = re.compile(r"(?P<table>[a-z]+)/host=(?P<host>[^/]+)/[a-z0-9-]+\.parquet\Z")

INT, TEXT = pa.int64(), pa.string()
LARGE = pa.decimal128(38, 0)  # sums of sizes, which can exceed 64 bits


def schema(**types):
    return pa.schema([pa.field(name, kind) for name, kind in {"host": TEXT, **types}.items()])


NAME = {"source": INT, "path": TEXT, "path_base64": TEXT, "folder": TEXT}
TABLES = {
    "files": schema(id=INT, **NAME, size=INT, mtime_ns=INT, ctime_ns=INT, dev=INT, ino=INT,
                    names=INT, group_name=TEXT, sha256=TEXT),
    "links": schema(id=INT, **NAME),
    "folders": schema(source=INT, folder=TEXT, ancestor=TEXT, above=TEXT, depth=INT),
    "digests": schema(id=INT, index_id=TEXT, size=INT, mtime_ns=INT, ctime_ns=INT, sha256=TEXT),
    "hosts": schema(index_id=TEXT, generation=INT, created=TEXT, errors=INT, pending=INT,
                    min_size=INT, rows=INT, bytes=LARGE),
    "sources": schema(source=INT, path=TEXT, path_base64=TEXT),
}


class Writer:
    """Writes rows of a table into one file of a folder of tables."""

    def __init__(self, folder, table, host, name):
        self.schema, self.host, self.table = TABLES[table], host, table
        self.name = f"{table}/host={host}/{name}.parquet"
        self.path = os.path.join(folder, self.name)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.writer = pq.ParquetWriter(self.path, self.schema, compression="zstd",
                                       compression_level=1)
        self.rows = 0

    def write(self, rows):
        """Writes tuples, in the order of the columns after the host, as a row group."""
        if not rows:
            return
        columns = [[self.host] * len(rows), *zip(*rows)]
        columns = [pa.array(column, field.type) for column, field in zip(columns, self.schema)]
        self.writer.write_batch(pa.record_batch(columns, schema=self.schema))
        self.rows += len(rows)

    def close(self):
        """Returns the entry of the manifest."""
        self.writer.close()
        return {"name": self.name, "rows": self.rows, "bytes": os.path.getsize(self.path)}


def write_file(folder, table, host, name, rows):
    writer = Writer(folder, table, host, name)
    writer.write(rows)
    return writer.close()


def write_manifest(folder, version, hosts, files):
    with open(os.path.join(folder, MANIFEST), "w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "schema": SCHEMA, "version": version, "hosts": hosts,
                   "files": sorted(files, key=lambda entry: entry["name"])}, file)
        file.write("\n")


@dataclass
class TableFolder:
    """A folder of tables that this command or an earlier one imported."""
    path: str
    hosts: list  # {"host", "index"}; hosts with only digests are not among them
    files: list  # {"name", "rows", "bytes"}

    def files_of(self, table):
        return [entry for entry in self.files if entry["name"].startswith(table + "/")]

    @property
    def digest_hosts(self):
        """The hosts with rows in the table digests."""
        return {FILE_NAME.match(entry["name"])["host"] for entry in self.files_of("digests")
                if entry["rows"] > 0}


def read_table_folder(path, manifest):
    """Checks a folder of tables with this manifest."""
    where = os.path.join(path, MANIFEST)
    try:
        if number(manifest, "schema") != SCHEMA:
            raise InvalidError(f"its schema is {manifest['schema']}, not {SCHEMA}: import the "
                               "inventories again with this twinfs-fleet")
        hosts = array(manifest, "hosts")
        for host in hosts:
            matching(host, "host", HOST, "a name of a host")
            text(host, "index")
        files = array(manifest, "files")
        for entry in files:
            found = FILE_NAME.match(text(entry, "name"))
            if not found or found["table"] not in TABLES or not HOST.match(found["host"]):
                raise InvalidError(f"{entry['name']!r} is not a name of a file of a table")
            number(entry, "rows"), number(entry, "bytes")
    except InvalidError as error:
        raise FleetError(f"cannot use {where}: {error}") from None
    folder = TableFolder(path, hosts, files)
    check_files(folder)
    return folder


def check_files(folder):
    """Checks that the folder has exactly the files of its manifest, and looks into each of them."""
    for table in TABLES:
        top = os.path.join(folder.path, table)
        found = {os.path.relpath(os.path.join(parent, name), folder.path)
                 for parent, _, names in os.walk(top) for name in names}
        listed = {entry["name"] for entry in folder.files_of(table)}
        if found != listed or not listed:
            odd = min(found ^ listed, default=table)
            raise FleetError(f"cannot use {folder.path}: {odd} is missing or is not in its "
                             "manifest; import the inventories again")
    for entry in folder.files:
        check_file(folder, entry)


def check_file(folder, entry):
    path = os.path.join(folder.path, entry["name"])
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size != entry["bytes"]:
        raise FleetError(f"cannot use {path}: it does not have the {entry['bytes']} bytes that the "
                         "manifest says; import the inventories again")
    try:
        with pq.ParquetFile(path) as file:
            rows, columns = file.metadata.num_rows, file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise FleetError(f"cannot read {path}: {error}; import the inventories again") from None
    if rows != entry["rows"] or not columns.equals(TABLES[entry["name"].partition("/")[0]]):
        raise FleetError(f"cannot use {path}: it has other rows or columns than the manifest says; "
                         "import the inventories again")


def read_manifest(path):
    """The object in the manifest of a folder that twinfs or twinfs-fleet wrote."""
    where = os.path.join(path, MANIFEST)
    try:
        handle = os.open(where, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InvalidError("it is not a file")
            data = file.read(MANIFEST_BYTES_MAX + 1)
        if len(data) > MANIFEST_BYTES_MAX:
            raise InvalidError(f"it has more than {MANIFEST_BYTES_MAX} bytes")
        return parse_object(data)
    except OSError as error:
        raise FleetError(f"cannot read {where}: {error.strerror}; give the folder that 'twinfs "
                         "export', 'twinfs digest' or 'twinfs-fleet import' wrote") from None
    except InvalidError as error:
        raise FleetError(f"cannot use {where}: {error}") from None

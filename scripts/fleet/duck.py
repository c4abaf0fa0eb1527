# SPDX-License-Identifier: MIT
"""The engine DuckDB, in this process. What exceeds its memory is written to the disk."""
import contextlib
import os

import duckdb

from fleet.errors import FleetError
from fleet.tables import TABLES

BATCH_ROWS = 10_000


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def connect(settings, folder):
    """A database in a file in `folder`, so that tables are compressed and not held in memory."""
    os.makedirs(folder, exist_ok=True)
    connection = duckdb.connect(os.path.join(folder, "tables.duckdb"), config={
        "memory_limit": f"{settings.memory >> 20}MiB", "threads": settings.threads,
        "temp_directory": os.path.join(folder, "spill"), "preserve_insertion_order": False})
    if not settings.remote:
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute("SET autoload_known_extensions = false")
    return connection


class DuckEngine:
    def __init__(self, settings, folder):
        self.connection = connect(settings, folder)

    def close(self):
        self.connection.close()

    def open_tables(self, folders):
        """Makes a view for each table of folders of tables."""
        for folder in folders:
            if folder.startswith("hdfs:"):
                raise FleetError(f"cannot read {folder} with DuckDB; use --engine=spark")
        for table, schema in TABLES.items():
            paths = ", ".join(quoted(f"{folder}/{table}/*/*.parquet") for folder in folders)
            columns = ", ".join(f'"{name}"' for name in schema.names)
            self.run(f"CREATE VIEW {table} AS SELECT {columns} FROM read_parquet([{paths}], "
                     "hive_partitioning = false)")

    def add_table(self, name, table):
        self.connection.register(name, table)

    def make(self, step, sql):
        self.run(f"CREATE {'TABLE' if step.stored else 'VIEW'} {step.name} AS {sql}")

    def query(self, sql):
        """The names of the columns, and an iterator over the rows, which are not all in memory."""
        with self.failing():
            reader = self.connection.execute(sql).fetch_record_batch(BATCH_ROWS)
        return reader.schema.names, self.rows(reader)

    def rows(self, reader):
        with self.failing():
            for batch in reader:
                yield from zip(*(column.to_pylist() for column in batch.columns))

    def run(self, sql):
        with self.failing():
            self.connection.execute(sql)

    @staticmethod
    @contextlib.contextmanager
    def failing():
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise FleetError(f"DuckDB has too little memory or room for temporary files: {error}; "
                             "use --memory, or set TMPDIR to a larger disk") from None
        except duckdb.Error as error:
            cause = str(error).partition("\n\nLINE ")[0]  # without our statement
            raise FleetError(f"DuckDB: {cause}") from None

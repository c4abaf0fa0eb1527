# SPDX-License-Identifier: MIT
"""The report for programs: JSON, CSV and Parquet."""
import csv
import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq

from fleet.questions import BYTES, NUMBER, TEXT

BATCH_ROWS = 10_000
SINGLE = "totals"  # the table of one row, which is an object in JSON
TYPES = {TEXT: pa.string(), NUMBER: pa.int64(), BYTES: pa.decimal128(38, 0)}


def record(question, row):
    """A row as an object. A member without a value is left out."""
    return {name: value for name, value in zip(question.columns, row) if value is not None}


def write_json(report, file):
    """Writes one object, with an array for each table."""
    head = {"format": "twinfs-fleet-report", "schema": 1, "version": report.version}
    file.write(json.dumps(head)[:-1])
    for question, rows in report.tables:
        texts = (json.dumps(record(question, row), ensure_ascii=False) for row in rows)
        file.write(f',\n"{question.name}": ')
        if question.name == SINGLE:
            file.write("".join(texts))
            continue
        file.write("[")
        for number, text in enumerate(texts):
            file.write(("," if number else "") + "\n" + text)
        file.write("]")
    file.write("}\n")


def write_csv(question, rows, path):
    """Writes a table as RFC 4180 says."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(question.columns)
        writer.writerows(rows)


def write_parquet(question, rows, path):
    schema = pa.schema([pa.field(name, TYPES[kind])
                        for name, (kind, _) in question.columns.items()])
    rows = iter(rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(itertools.islice(rows, BATCH_ROWS)):
            columns = [pa.array(column, field.type) for column, field in zip(zip(*batch), schema)]
            writer.write_batch(pa.record_batch(columns, schema=schema))

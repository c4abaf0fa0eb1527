# SPDX-License-Identifier: MIT
"""The report for a terminal."""
import textwrap

from fleet.human import first_rows, shell_name, size_text, width
from fleet.questions import BYTES, NUMBER
from fleet.rows import exact_path

ROWS_SHOWN = 20
COLUMNS = 80


def cell(kind, value):
    if value is None:
        return ""
    if kind == BYTES:
        return size_text(value)
    return f"{value:,}" if kind == NUMBER else str(value)


def cells(question, row):
    """The texts of the columns that people see; a path is written for a shell."""
    record = dict(zip(question.columns, row))
    if record.get("path") is not None:
        record["path"] = shell_name(exact_path(record["path"], record["path_base64"]))
    return [cell(kind, record[name])
            for name, (kind, heading) in question.columns.items() if heading]


def table_lines(question, rows):
    """The lines of a table. Numbers are aligned right; a path is the last column."""
    shown = [(name, kind, heading) for name, (kind, heading) in question.columns.items() if heading]
    lines = [[heading for _, _, heading in shown], *(cells(question, row) for row in rows)]
    order = sorted(range(len(shown)), key=lambda at: shown[at][0] == "path")
    widths = [max(width(line[at]) for line in lines) for at in range(len(shown))]
    for line in lines:
        yield "  ".join(aligned(line[at], widths[at], shown[at][1]) for at in order).rstrip()


def aligned(text, columns, kind):
    padding = " " * (columns - width(text))
    return padding + text if kind in (NUMBER, BYTES) else text + padding


def list_lines(question, row):
    """The lines of a table of one row: a line for each column."""
    headings = [heading for _, heading in question.columns.values()]
    columns = max(map(len, headings))
    values = cells(question, row)
    wide = max(map(len, values))
    for heading, value in zip(headings, values):
        yield f"{heading.ljust(columns)}  {value.rjust(wide)}"


def write(report, file):
    def paragraph(text):
        file.write(textwrap.fill(text, COLUMNS) + "\n")
    for caveat in report.caveats():
        paragraph(f"Not complete: {caveat}")
        file.write("\n")
    for number, (question, rows) in enumerate(report.tables):
        shown, more = first_rows(rows, ROWS_SHOWN)
        file.write("\n" * (number > 0) + question.title + "\n")
        if not shown:
            file.write("none\n")
            continue
        if question.note:
            paragraph(question.note)
        lines = list_lines(question, shown[0]) if question.name == "totals" else table_lines(
            question, shown)
        file.write("\n".join(lines) + "\n")
        if more:
            file.write(f"and {more:,} more; --format=csv has them\n")
    file.write("\n")
    paragraph("Files of one host were compared byte by byte. Between hosts, equal SHA-256 count as "
              "equal contents.")

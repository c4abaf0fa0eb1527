# SPDX-License-Identifier: MIT
"""Answers the questions of a report, and has them written in a format."""
import os
import sys
from dataclasses import dataclass
from decimal import Decimal

from fleet import questions, report_data, report_html, report_text
from fleet.engines import opened
from fleet.errors import FleetError, InvalidError
from fleet.outputs import new_folder
from fleet.rows import exact_path, folder_bytes, path_members

# {format: (function that writes a document, name of the file)}
DOCUMENTS = {"text": (report_text.write, "report.txt"), "json": (report_data.write_json,
                                                                 "report.json"),
             "html": (report_html.write, "report.html")}
# {format: function that writes a file of a table}
TABLE_FILES = {"csv": report_data.write_csv, "parquet": report_data.write_parquet}
NAMES = {name for _, name in DOCUMENTS.values()} | {
    f"{question.name}.{kind}" for question in questions.QUESTIONS for kind in TABLE_FILES}


@dataclass
class Report:
    """The answers. Those of few rows are in memory; `tables` yields each question with its rows, in
    order, and must be used up."""
    version: str
    totals: dict
    hosts: list
    tables: object

    def caveats(self):
        """Sentences that say why the figures are not the whole truth."""
        if self.totals["undecided_contents"]:
            yield (f"{self.totals['undecided_inodes']:,} files are undecided: other hosts have "
                   "files of their size, and not all of these were read. Run 'twinfs-fleet "
                   "wanted', then 'twinfs digest' on the hosts, then this report with the digests.")
        for host in self.hosts:
            if host["errors"] or host["pending"]:
                yield (f"The inventory of {host['host']} is not complete: {host['errors']:,} "
                       f"files or folders could not be read, {host['pending']:,} files were not "
                       "compared or not found.")


def plain(value):
    return int(value) if isinstance(value, Decimal) else value


def place(record):
    """The absolute path of a file or folder, as members of JSON."""
    try:
        source = exact_path(record["source_path"], record["source_base64"])
        below = folder_bytes(record["folder"]) if "folder" in record else exact_path(
            record["path"], record["path_base64"])
    except (InvalidError, ValueError) as error:
        raise FleetError(f"cannot use a path of {record['host']}: {error}; import again") from None
    members = path_members(os.path.join(source, below) if below else source)
    return {"path": members["path"], "path_base64": members.get("path_base64")}


def answer(engine, question):
    """Yields the rows of a table, each a tuple in the order of the columns of the question."""
    names, rows = engine.query(questions.statement(question.name))
    for row in rows:
        record = dict(zip(names, row))
        if "source_path" in record:
            record |= place(record)
        yield tuple(plain(record[name]) for name in question.columns)


def make_report(engine, settings):
    by_name = {question.name: question for question in questions.QUESTIONS}

    def records(name):
        return [dict(zip(by_name[name].columns, row)) for row in answer(engine, by_name[name])]
    [totals] = records("totals")
    hosts = records("hosts")
    known = {"totals": [tuple(totals.values())], "hosts": [tuple(host.values()) for host in hosts]}
    for_people = settings.format in ("text", "html")
    tables = ((question, known.get(question.name) or answer(engine, question))
              for question in questions.QUESTIONS if question.shown or not for_people)
    return Report(settings.version, totals, hosts, tables)


def is_report(path):
    """Whether an earlier run wrote a folder."""
    return NAMES.issuperset(os.listdir(path))


def write_files(report, settings, folder):
    if settings.format in DOCUMENTS:
        write, name = DOCUMENTS[settings.format]
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            write(report, file)
        return
    for question, rows in report.tables:
        path = os.path.join(folder, f"{question.name}.{settings.format}")
        TABLE_FILES[settings.format](question, rows, path)


def run(settings):
    """The command report."""
    with opened(settings, questions.REPORT_STEPS) as engine:
        report = make_report(engine, settings)
        if settings.output != "-":
            with new_folder(settings.output, is_report) as folder:
                write_files(report, settings, folder)
            return
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        DOCUMENTS[settings.format][0](report, sys.stdout)
        sys.stdout.flush()

# SPDX-License-Identifier: MIT
"""The SQL of a fleet: the steps on which the questions are based, and the tables of a report.

Each is a file of sql/ with one statement, which all engines run unchanged.
"""
from dataclasses import dataclass
from pathlib import Path

SQL = Path(__file__).resolve().parent / "sql"

# Kinds of columns.
TEXT, NUMBER, BYTES = "text", "number", "bytes"


def statement(name):
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Step:
    """A table that later statements read. A view is not stored."""
    name: str
    stored: bool = True


CONTENT_STEPS = (Step("hashed", stored=False), Step("group_hashes"), Step("shared_sizes"),
                 Step("inodes"))
REPORT_STEPS = (*CONTENT_STEPS, Step("holdings"), Step("unread"), Step("contents"),
                Step("host_sets"), Step("common"), Step("possible"), Step("known_possible"),
                Step("names", stored=False), Step("folder_states"), Step("uncovered_folders"),
                Step("covered_folders"))
WANTED_STEPS = (*CONTENT_STEPS, Step("wanted_files"))
PLAN_STEPS = (*CONTENT_STEPS, Step("holdings"), Step("replicated"), Step("replicated_files"),
              Step("replicated_names", stored=False), Step("seen_twice"), Step("too_long"),
              Step("protections"), Step("keeping"), Step("keepers"))


@dataclass(frozen=True)
class Question:
    """A table of the report.

    title    for people
    note     what the figures mean, or an empty text
    columns  {name: (kind, heading)} of the result; the SQL has columns of the same names, but the
             place of a file or folder, which is put together from several
    shown    whether reports for people have it
    """
    name: str
    title: str
    note: str
    columns: dict
    shown: bool = True


PATH = {"path": (TEXT, "file"), "path_base64": (TEXT, None)}
ALONE = {"host": (TEXT, "host"), "size": (BYTES, "size"), **PATH, "sha256": (TEXT, None)}
QUESTIONS = (
    Question("totals", "The fleet",
             "Contents are counted once, however many files have them. Files of no bytes are only "
             "counted.", {
                 "hosts": (NUMBER, "hosts"), "inodes": (NUMBER, "files"),
                 "bytes": (BYTES, "bytes of files"), "contents": (NUMBER, "contents"),
                 "content_bytes": (BYTES, "bytes of contents"),
                 "undecided_contents": (NUMBER, "undecided contents"),
                 "undecided_bytes": (BYTES, "undecided bytes"),
                 "undecided_inodes": (NUMBER, "undecided files"),
                 "empty_files": (NUMBER, "files of no bytes")}),
    Question("hosts", "Hosts",
             "Errors are files and folders that the export could not read. Pending files were not "
             "compared yet, or not found because they were renamed again and again.", {
                 "host": (TEXT, "host"), "created": (TEXT, "exported"),
                 "inodes": (NUMBER, "files"), "bytes": (BYTES, "bytes"),
                 "contents": (NUMBER, "contents"), "content_bytes": (BYTES, "of contents"),
                 "min_size": (BYTES, "from size"), "errors": (NUMBER, "errors"),
                 "pending": (NUMBER, "pending")}),
    Question("replicas", "Contents by the number of hosts that have them",
             "Two copies on one host count as one. Undecided contents are left out.", {
                 "replicas": (NUMBER, "hosts"), "contents": (NUMBER, "contents"),
                 "bytes": (BYTES, "bytes")}),
    Question("alone", "Contents on one host only",
             "Where no other host has a file of the same size, the content is on one host only "
             "without having been read; these are counted in the last column.", {
                 "host": (TEXT, "host"), "contents": (NUMBER, "contents"),
                 "bytes": (BYTES, "bytes"), "contents_by_size": (NUMBER, "known by size")}),
    Question("alone_largest", "The largest contents on one host only",
             "The table alone_files of --format=csv has all of them.", ALONE),
    Question("alone_files", "All contents on one host only", "", ALONE, shown=False),
    Question("undecided", "Undecided contents",
             "Another host has files of the same size, and some of these files have no digest yet. "
             "'twinfs-fleet wanted' lists the files that 'twinfs digest' must read.", {
                 "host": (TEXT, "host"), "contents": (NUMBER, "contents"),
                 "bytes": (BYTES, "bytes"), "inodes": (NUMBER, "files")}),
    Question("pairs", "What a host has and another one lacks",
             "Undecided contents are those that the other host may have.", {
                 "host": (TEXT, "host"), "other": (TEXT, "lacked by"),
                 "contents": (NUMBER, "contents"), "bytes": (BYTES, "bytes"),
                 "undecided_contents": (NUMBER, "undecided"),
                 "undecided_bytes": (BYTES, "undecided bytes")}),
    Question("covered", "Folders whose contents are all on other hosts",
             "No single host needs to have all of them. Folders inside these folders are left out. "
             "Files that could not be read are not known here.", {
                 "host": (TEXT, "host"), "path": (TEXT, "folder"), "path_base64": (TEXT, None),
                 "inodes": (NUMBER, "files"), "contents": (NUMBER, "contents"),
                 "bytes": (BYTES, "bytes")}),
    Question("redundant", "Redundant files within hosts",
             "All files of a content on one host but one.", {
                 "host": (TEXT, "host"), "inodes": (NUMBER, "files"), "bytes": (BYTES, "bytes")}),
    Question("replicated_largest", "Contents of which the most bytes are on further hosts", "", {
        "replicas": (NUMBER, "hosts"), "size": (BYTES, "size"), "inodes": (NUMBER, "files"),
        "host": (TEXT, "for example on"), **PATH, "sha256": (TEXT, None)}),
)

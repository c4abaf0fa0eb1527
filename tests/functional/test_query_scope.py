# SPDX-License-Identifier: MIT
"""A query makes an index forget nothing: its --min-size and --exclude are filters of the output."""
import csv
import io
import os

import pytest
import trees


def kinds(twinfs, source, *options, command="list"):
    """The base names of the files that a command prints."""
    found = twinfs.ok(command, "--format=fdupes", *options, source)
    return {os.path.relpath(os.fsdecode(line), source) for line in found.lines if line}


def read_by(twinfs, *arguments, source):
    return twinfs.content_read(*arguments, source, below=source)


QUERIES = [["list", "--min-size=1G"], ["list", "--exclude=*"], ["list", "--exclude=a"],
           ["list", "--summary", "--min-size=10M", "--max-size=20M"], ["report", "--html=-",
                                                                      "--exclude=b"],
           ["remove", "--dry-run", "--min-size=1G"], ["link", "--yes", "--exclude=*"]]


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_query_makes_the_index_forget_nothing(twinfs, source, strace, query):
    trees.fill(source, {b"a/1": b"x" * 5000, b"a/2": b"x" * 5000, b"b/1": b"y", b"b/2": b"y"})
    twinfs.ok("scan", source)
    twinfs.ok(*query, source)
    assert read_by(twinfs, "scan", source=source) == []
    twinfs.ok("check", source)


def test_query_with_excludes_keeps_the_excludes_of_the_scan(twinfs, source, strace):
    for folder in (b"a/", b"b/", b"c/"):
        trees.fill(source, {folder + b"1": folder * 900, folder + b"2": folder * 900})
    twinfs.ok("scan", "--exclude=a", "--exclude=b", source)
    assert kinds(twinfs, source, "--exclude=b", "--exclude=a", "--exclude=c") == set()
    assert read_by(twinfs, "scan", "--exclude=a", "--exclude=b", source=source) == []
    assert kinds(twinfs, source, "--exclude=b", "--exclude=c") == {"a/1", "a/2"}
    assert kinds(twinfs, source) == {f"{folder}/{number}" for folder in "abc" for number in (1, 2)}


def test_query_without_options_extends_a_narrow_index(twinfs, source):
    trees.fill(source, {b"1": b"x" * 5000, b"2": b"x" * 5000, b"3": b"y", b"4": b"y"})
    twinfs.ok("scan", "--min-size=1k", "--exclude=2", source)
    assert kinds(twinfs, source) == {"1", "2", "3", "4"}
    assert kinds(twinfs, source, "--min-size=1k", "--exclude=2") == set()


def test_index_made_by_a_query_is_extended_by_the_next(twinfs, source, strace):
    trees.fill(source, {b"1": b"x" * 5000, b"2": b"x" * 5000, b"3": b"y", b"4": b"y"})
    read = read_by(twinfs, "list", "--min-size=1k", source=source)
    assert read and not [path for path in read if path[0].endswith((b"/3", b"/4"))]
    assert kinds(twinfs, source) == {"1", "2", "3", "4"}


def without_ids(result):
    """The lines of CSV without the numbers that files have in the index."""
    rows = list(csv.DictReader(io.StringIO(result.out.decode(), newline="")))
    return [{name: value for name, value in row.items() if name != "inode"} for row in rows]


@pytest.mark.parametrize("options", [["--exclude=b"], ["--exclude=/b/x", "--exclude=c"],
                                     ["--exclude=link"], ["--exclude=*"], ["--exclude=a/"],
                                     ["--exclude=./"]])
def test_excluded_names_count_as_if_they_were_not_indexed(twinfs, source, options):
    trees.fill(source, {b"a/x": b"one", b"b/x": b"one", b"c/x": b"one", b"d": b"two",
                        b"b/y": b"two", b"e": b"alone", b"b/z": b"alone"})
    os.link(source / "a/x", source / "b/link")
    os.link(source / "d", source / "link")
    for number, name in enumerate(["a/x", "b/x", "c/x", "b/z", "e", "d", "b/y"]):
        os.utime(source / name, (number, number))  # newest: of a/x with a link, a copy goes
    fresh = twinfs.with_index(twinfs.folder / "fresh")
    twinfs.ok("scan", source)
    for words in ([], ["--redundant"], ["--singles"], ["--summary"], ["--sort=count"],
                  ["--sort=path"], ["--sort=size", "--top=1"], ["--keep=newest", "--explain"]):
        if words == ["--summary"]:  # the figures of files count the whole index
            one, other = (program.ok("list", "--summary", "--format=json", *options, source).json
                          ["summary"]["reclaimable_bytes"] for program in (twinfs, fresh))
        else:
            one, other = (without_ids(program.ok("list", "--format=csv", *words, *options, source))
                          for program in (twinfs, fresh))
        assert one == other, words
    if options == ["--exclude=./"]:  # an act refuses a glob that matches nothing
        for program in (twinfs, fresh):
            assert program("remove", "--dry-run", *options, source).status == 2
        return
    one, other = (set(program.ok("remove", "--dry-run", "--format=null", *options, source).out
                      .split(b"\0")) for program in (twinfs, fresh))
    assert one == other


@pytest.mark.parametrize("command", [["remove", "--yes"], ["list", "-x"]], ids=" ".join)
def test_query_that_would_leave_out_other_file_systems_is_refused(twinfs, source, command):
    trees.fill(source, {b"a": b"one", b"b": b"one"})
    twinfs.ok("scan", "--cross-file-systems", source)
    result = twinfs(*command, source)
    assert result.status == 1
    assert "--cross-file-systems" in result.errors[0] and "twinfs scan" in result.errors[0]
    assert (source / "b").exists()
    assert twinfs.ok("list", source).status == 0
    twinfs.ok("scan", source)
    twinfs.ok(*command, source)


def test_excludes_of_a_query_are_obeyed_beside_a_view(twinfs, source):
    for number in range(12):
        trees.fill(source, {b"%s/%d" % (folder, number): b"%d" % number
                            for folder in (b"a", b"b", b"c")[number % 2:]})
    with twinfs.mounted(source) as view:
        assert kinds(twinfs, source, "--exclude=a", "--exclude=/b/[0-4]") == {
            f"{folder}/{number}" for folder in "bc" for number in range(5, 12)}
        assert kinds(twinfs, view.path, "--exclude=*") == set()
        twinfs.ok("remove", "--yes", "--exclude=b/", source)
        assert kinds(twinfs, source, "--exclude=b/") == set()
        assert len(list(source.rglob("?/*"))) == 24
        view.sync()
        assert view.differences(source, first_scan=False) == []

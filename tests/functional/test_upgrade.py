# SPDX-License-Identifier: MIT
"""An index of an older twinfs is rebuilt: this is logged, the answers are right, and the old file
is kept. If it lacks optional fields only, it is used.

indexes/format-NUMBER.mdb.xz are the data files of such indexes. Format 1 is of the program as it
was before the commit "catalog, ingest: directories move, content has versions, commits tell their
news", format 4 of version 0.1.0:

    twinfs scan --index index /srv/photos  # 2019/1.jpg and copy.jpg: "same", 3.jpg: "other"
    xz -9e -c index/data.mdb

For format 4, link.jpg is a hard link to copy.jpg. Both lack tables of the current format.
"""
import contextlib
import lzma
from pathlib import Path

import newer_index
import oracle
import pytest
import trees

# (seal after a clean stop, next id) of these indexes
SEALS = {1: ("94208 eb7a3b2175bef78a5cd0d77aa6068b32\n", 7),
         4: ("102400 44f41f2daecc16b8e9c76d537d41b4f7\n", 8)}


class Old:
    """A program with an index of an older format, after a clean stop or not."""

    def __init__(self, program, number, sealed):
        path = Path(__file__).parent / f"indexes/format-{number}.mdb.xz"
        self.program = program
        self.data = lzma.decompress(path.read_bytes())
        seal, self.next_id = SEALS[number]
        program.index.mkdir(mode=0o700)
        (program.index / "data.mdb").write_bytes(self.data)
        (program.index / "next-id").write_text(f"{self.next_id}\n")
        if sealed:
            (program.index / "seal").write_text(seal)

    def is_kept_as(self, name):
        return (self.program.index / name).read_bytes() == self.data

    def is_reported_and_kept(self, errors):
        assert [line for line in errors
                if "older twinfs" in line and str(self.program.index) in line]
        return self.is_kept_as("damaged.mdb")

    def assert_rebuilt(self, source):
        listing = self.program.listing(source)
        assert self.program.groups(source) == oracle.path_groups(source)
        assert min(copy["inode"] for group in listing["groups"]
                   for copy in group["copies"]) >= self.next_id


@pytest.fixture(params=[(number, sealed) for number in SEALS for sealed in (True, False)],
                ids=lambda param: f"{param[0]}-{'sealed' if param[1] else 'unsealed'}")
def old(request, twinfs, source):
    trees.small(source)
    return Old(twinfs, *request.param)


def test_scan_rebuilds_an_index_of_an_older_format(old, source):
    result = old.program.ok("scan", source)
    assert old.is_reported_and_kept(result.errors)
    old.assert_rebuilt(source)


def test_view_of_an_index_of_an_older_format_is_right(old, source):
    with old.program.mounted(source) as view:
        assert old.is_reported_and_kept(view.result.errors)
        assert view.differences(source) == []
    old.assert_rebuilt(source)


def test_list_of_an_index_of_an_older_format_is_right_at_once(old, source):
    assert old.program.groups(source) == oracle.path_groups(source)
    assert old.is_kept_as("damaged.mdb")


def test_index_of_the_format_before_stays(twinfs, source):
    """It lacks optional fields only."""
    trees.small(source)
    twinfs.ok("scan", source)
    newer_index.put_format(twinfs.index, b"twinfs 18")
    (twinfs.index / "seal").unlink()
    assert twinfs.ok("check", source).status == 0
    with twinfs.mounted(source) as view:
        assert view.result.errors == []
        assert view.differences(source) == []
    assert not (twinfs.index / "damaged.mdb").exists()
    assert b"twinfs 19" in (twinfs.index / "data.mdb").read_bytes()


@pytest.mark.parametrize("served", [False, True], ids=["unused", "served"])
def test_reader_of_an_older_format_names_it_and_leaves_it_alone(old, source, served):
    with newer_index.lock_held(old.program.index) if served else contextlib.nullcontext():
        result = old.program("copies", source / "alone")
    assert result.status == 1, result
    [line] = result.errors
    assert "older twinfs" in line and "'twinfs scan'" in line and str(old.program.index) in line
    assert old.is_kept_as("data.mdb")


def test_check_reports_an_older_format_and_leaves_it_alone(old, source):
    result = old.program("check", "--format=json", source)
    assert result.status == 3, result
    assert result.json["summary"]["structure"] == "of an older format"
    assert old.is_kept_as("data.mdb")
    result = old.program("check", "--repair", source)
    assert result.status == 0, result
    assert old.is_reported_and_kept(result.errors)
    old.assert_rebuilt(source)

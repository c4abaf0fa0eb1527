# SPDX-License-Identifier: MIT
"""An index that an older twinfs left is built anew: that is said, the answers are right, and what
was there is kept.

indexes/format-1.mdb.xz is the data file of such an index, of the program as it was before the
commit "catalog, ingest: directories move, content has versions, commits tell their news":

    twinfs scan --index index /srv/photos  # 2019/1.jpg and copy.jpg: "same", 3.jpg: "other"
    xz -9e -c index/data.mdb

Its tables are not those of today: some are missing.
"""
import lzma
from pathlib import Path

import pytest
import trees
from test_scan import oracle_groups

DATA = lzma.decompress((Path(__file__).parent / "indexes/format-1.mdb.xz").read_bytes())
SEAL = "94208 eb7a3b2175bef78a5cd0d77aa6068b32\n"
NEXT_ID = 7


@pytest.fixture(params=[True, False], ids=["sealed", "unsealed"])
def old(request, twinfs, source):
    """A program whose index is of format 1, stopped cleanly or not, and a tree."""
    trees.small(source)
    twinfs.index.mkdir(mode=0o700)
    (twinfs.index / "data.mdb").write_bytes(DATA)
    (twinfs.index / "next-id").write_text(f"{NEXT_ID}\n")
    if request.param:
        (twinfs.index / "seal").write_text(SEAL)
    return twinfs


def is_said_and_kept(program, errors):
    assert [line for line in errors if "older twinfs" in line and str(program.index) in line]
    return (program.index / "damaged.mdb").read_bytes() == DATA


def assert_built_anew(program, source):
    listing = program.listing(source)
    assert program.groups(source) == oracle_groups(source)
    assert min(copy["inode"] for group in listing["groups"]
               for copy in group["copies"]) >= NEXT_ID


def test_scan_builds_an_index_of_format_1_anew(old, source):
    result = old.ok("scan", source)
    assert is_said_and_kept(old, result.errors)
    assert_built_anew(old, source)


def test_view_of_an_index_of_format_1_is_right(old, source):
    with old.mounted(source) as view:
        assert is_said_and_kept(old, view.result.errors)
        assert view.differences(source) == []
    assert_built_anew(old, source)


def test_list_of_an_index_of_format_1_is_right_at_once(old, source):
    assert old.groups(source) == oracle_groups(source)
    assert (old.index / "damaged.mdb").read_bytes() == DATA


def test_check_tells_an_older_format_and_leaves_it_alone(old, source):
    result = old("check", "--format=json", source)
    assert result.status == 3, result
    assert result.json["summary"]["structure"] == "of an older format"
    assert (old.index / "data.mdb").read_bytes() == DATA
    result = old("check", "--repair", source)
    assert result.status == 0, result
    assert is_said_and_kept(old, result.errors)
    assert_built_anew(old, source)

# SPDX-License-Identifier: MIT
"""Storms: many writers at once, beside other disturbances. Afterwards view and source agree.

STORM_SECONDS is the duration of each storm, STORM_SEED repeats one. tests/tools/storm.py runs long
storms.
"""
import contextlib
import os
import random

import oracle
import pytest
import rank_names
import soak
import storm
import trees

SECONDS = float(os.environ.get("STORM_SECONDS", "3"))


@pytest.mark.parametrize("kind", storm.KINDS)
def test_view_agrees_with_its_source_after_a_storm(twinfs, source, kind, record_property):
    seed = int(os.environ.get("STORM_SEED", random.randrange(1 << 32)))
    outcome = storm.run(twinfs, source, kind, SECONDS, seed)
    record_property("storm", str(outcome))
    print(outcome)
    assert outcome.well, str(outcome)
    assert outcome.changes > (0 if kind == "moments" else 100)
    if kind == "readers":
        assert outcome.readings > 0


def test_hash_of_the_readers_agrees_with_xxhsum(tmp_path):
    for data in (b"", b"1", b"storm" * 1000):
        (tmp_path / "file").write_bytes(data)
        assert [storm.xxh3_128(data)] == oracle.hashes([tmp_path / "file"])


def test_reader_detects_bytes_of_another_content(tmp_path):
    name = storm.xxh3_128(b"right")
    for folder in (name, f"{name}~2"):
        (tmp_path / "dups" / folder).mkdir(parents=True)
        (tmp_path / "dups" / folder / "copy").write_bytes(b"right")
    reader = storm.Reader(tmp_path, 1)
    for _ in range(10):
        reader.read_copy()
    assert reader.wrong == []
    for folder in (name, f"{name}~2"):
        (tmp_path / "dups" / folder / "copy").write_bytes(b"wrong")
    reader.read_copy()
    assert len(reader.wrong) == 1 and "other bytes" in reader.wrong[0]


def test_reader_detects_a_link_to_another_group(tmp_path):
    name = storm.xxh3_128(b"right")
    (tmp_path / "dups" / name).mkdir(parents=True)
    os.setxattr(tmp_path / "dups" / name, "user.twinfs.size", b"1000")
    (tmp_path / "by-size").mkdir()
    link = tmp_path / rank_names.name_of("by-size/0001", "file", 3, "2.0 KiB")
    link.symlink_to(f"../dups/{name}")
    reader = storm.Reader(tmp_path, 1)
    reader.follow_link()
    assert reader.wrong == []
    link.rename(tmp_path / rank_names.name_of("by-size/0001", "file", 4, "2.9 KiB"))
    reader.follow_link()
    assert reader.wrong == []
    (tmp_path / rank_names.name_of("by-size/0001", "file", 4, "2.9 KiB")).rename(
        tmp_path / rank_names.name_of("by-size/0001", "file", 3, "2.9 KiB"))
    reader.follow_link()
    assert len(reader.wrong) == 1 and "leads to" in reader.wrong[0]


@pytest.mark.parametrize("reclaimable, wrong", [
    ("100 B", 0), ("0 B", 0), ("150 B", 1), ("300 B", 1)])
def test_reader_knows_that_a_copy_with_an_unread_hard_link_frees_nothing(
        tmp_path, reclaimable, wrong):
    folder = tmp_path / "dups/hash"
    trees.write(folder / "copy", b"1" * 100)
    os.setxattr(folder, "user.twinfs.size", b"100")
    (tmp_path / "by-size").mkdir()
    link = tmp_path / rank_names.name_of("by-size/0001", "copy", 3, reclaimable)
    link.symlink_to("../dups/hash")
    reader = storm.Reader(tmp_path, 1)
    reader.follow_link()
    assert len(reader.wrong) == wrong


@pytest.mark.parametrize("tail, wrong", [(b"1", 1), (b"\0", 0)])
def test_reader_knows_that_copies_with_holes_free_less(tmp_path, tail, wrong):
    folder = tmp_path / "dups/hash"
    trees.write(folder / "copy", b"1" * 20_000 + tail * 50_000)
    os.setxattr(folder, "user.twinfs.size", b"70000")
    (tmp_path / "by-size").mkdir()
    link = tmp_path / rank_names.name_of("by-size/0001", "copy", 2, "20 KiB")
    link.symlink_to("../dups/hash")
    reader = storm.Reader(tmp_path, 1)
    reader.follow_link()
    assert len(reader.wrong) == wrong


def test_index_and_memory_do_not_grow_over_a_long_life(twinfs, tmp_path):
    life = soak.Soak(twinfs, tmp_path, random.randrange(1 << 32), seconds=0.5)
    life.fill(300)
    with contextlib.closing(life):
        life.mount()
        lines = [life.step() for _ in range(8)]
    assert not life.bad, (life.seed, lines, life.bad)
    assert len(list(life.growth())) == 4

# SPDX-License-Identifier: MIT
"""Reclaimable bytes: what removing the redundant copies would free on a disk with shared blocks.

reclaimable.py computes them from the places of the files on the disk.
"""
import contextlib
import os
import subprocess

import pytest
import reclaimable
import trees
from disks import disk
from reclaimable import Figures, checked, redundant_names, shown, view_differs
from reflinks import (
    BLOCK,
    HOLE,
    PREALLOCATED,
    Origins,
    assemble,
    clone,
    clone_range,
    drop,
    random_groups,
    write_back,
)

KIB, MIB = 1 << 10, 1 << 20
COMPRESSED_EXTENT = 128 * KIB  # bytes of content in each, on btrfs


def listed_and_checked(twinfs, room, *options):
    write_back(room.source)
    return checked(twinfs.listing(*options, room.source), room.source)


# ---- whole files --------------------------------------------------------------------------

def test_clones_of_the_kept_copy_free_nothing(twinfs, room):
    (room.source / "a").write_bytes(trees.content("clone", MIB))
    clone(room.source / "a", room.source / "b")
    assert listed_and_checked(twinfs, room) == Figures(MIB, 0)
    (room.source / "own").write_bytes(trees.content("clone", MIB))
    assert listed_and_checked(twinfs, room) == Figures(2 * MIB, MIB)


def redundant_clones(room, count):
    """A kept copy, and clones of another one; returns the paths of the clones."""
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("joint", MIB))
    return [room.source / "b", *(clone(room.source / "b", room.source / f"b{number}")
                                 for number in range(1, count))]


@pytest.mark.parametrize("count", [2, 5])
def test_blocks_of_several_redundant_copies_count_once(twinfs, room, count):
    redundant_clones(room, count)
    assert listed_and_checked(twinfs, room) == Figures(count * MIB, MIB)


def test_act_counts_no_blocks_that_a_file_elsewhere_holds_with_copies_that_go(twinfs, room):
    clones = redundant_clones(room, 2)
    clone(clones[0], room.aside / "b")
    write_back(room.source)
    dry = twinfs.ok("remove", "--dry-run", room.source)
    assert "2 copies would be removed and 0 B freed" in dry.errors[-1]
    result = twinfs.ok("remove", "--yes", room.source)
    assert b"freed       0 bytes" in result.out


def test_blocks_of_redundant_copies_count_nothing_if_a_file_elsewhere_has_others(twinfs, room):
    """The file elsewhere can have the blocks of the redundant copies as well."""
    redundant_clones(room, 2)
    (room.source / "own").write_bytes(trees.content("joint", MIB))
    clone(room.source / "a", room.aside / "a")
    assert listed_and_checked(twinfs, room) == Figures(3 * MIB, MIB)


def test_clone_outside_of_the_source_holds_the_blocks(twinfs, room):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("outside", MIB))
    clone(room.source / "b", room.aside / "b")
    assert listed_and_checked(twinfs, room) == Figures(MIB, 0)


def test_hard_links_of_a_redundant_copy_count_once(twinfs, room):
    redundant_clones(room, 2)
    os.link(room.source / "b", room.source / "b linked")
    os.link(room.source / "b1", room.source / "b1 linked")
    os.link(room.source / "a", room.source / "a linked")
    assert listed_and_checked(twinfs, room) == Figures(2 * MIB, MIB)


@pytest.mark.parametrize("size", [5000, 4097, MIB + 1, MIB - 1])
def test_last_block_counts_with_the_bytes_of_the_file(twinfs, room, size):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("tail", size))
    assert listed_and_checked(twinfs, room) == Figures(size, size)


def test_blocks_behind_the_end_of_a_file_count_nothing(twinfs, room):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("behind", 10_000))
    subprocess.run(["fallocate", "-n", "-o", "0", "-l", "1MiB", room.source / "b"], check=True)
    assert (room.source / "b").stat().st_blocks * 512 >= MIB
    assert listed_and_checked(twinfs, room) == Figures(10_000, 10_000)


@pytest.mark.parametrize("size, freed", [(1, 1), (2000, 2000), (4096, 4096), (4097, 0)])
def test_small_file_counts_with_its_size(twinfs, room, size, freed):
    (room.source / "a").write_bytes(trees.content("small", size))
    write_back(room.source)
    clone(room.source / "a", room.source / "b")
    assert listed_and_checked(twinfs, room) == Figures(size, freed)


def test_small_files_are_not_mapped(twinfs, room, strace):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("small", 4096))
    assert b"FIEMAP" not in twinfs.traced("scan", room.source, calls="trace=ioctl")[1]
    for name in ("c", "d"):
        (room.source / name).write_bytes(trees.content("larger", 4097))
    assert b"FIEMAP" in twinfs.traced("scan", room.source, calls="trace=ioctl")[1]


@pytest.mark.parametrize("is_known", [False, True])
def test_copy_that_is_left_out_still_holds_its_blocks(twinfs, room, is_known):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("left out", MIB))
    clone(room.source / "a", room.source / "c")
    write_back(room.source)
    if is_known:
        twinfs.ok("scan", room.source)
    [group] = twinfs.listing("--exclude=a", room.source)["groups"]
    assert len(group["copies"]) == 2
    assert (group["redundant"], group["reclaimable"]) == (MIB, 0)


# ---- parts of files -----------------------------------------------------------------------

def test_holes_of_a_redundant_copy_free_nothing(twinfs, room):
    pieces = {0: trees.content("piece", 64 * KIB), 768 * KIB: trees.content("last", 128 * KIB)}
    for name in ("a", "b", "c"):
        trees.holes(room.source / name, MIB, pieces)
    assert listed_and_checked(twinfs, room) == Figures(2 * MIB, 2 * 192 * KIB)


def test_written_zeros_of_a_redundant_copy_count(twinfs, room):
    data = trees.content("zeros", 64 * KIB) + bytes(MIB - 64 * KIB)
    trees.holes(room.source / "a", MIB, {0: data[:64 * KIB]})
    (room.source / "b").write_bytes(data)
    assert listed_and_checked(twinfs, room) == Figures(MIB, MIB)


def test_preallocated_blocks_of_a_redundant_copy_count(twinfs, room):
    data = trees.content("preallocated", 64 * KIB) + bytes(MIB - 64 * KIB)
    (room.source / "a").write_bytes(data)
    origins = Origins(room.aside, "origin", data)
    assemble(room.source / "b", MIB, [(0, 64 * KIB, origins), (64 * KIB, MIB // 2, PREALLOCATED),
                                      (MIB // 2, MIB, HOLE)])
    origins.drop()
    assert listed_and_checked(twinfs, room) == Figures(MIB, MIB // 2)


def test_only_the_part_that_the_kept_copy_lacks_is_freed(twinfs, room):
    data = trees.content("part", MIB)
    first, second = (Origins(room.aside, name, data, [256 * KIB]) for name in ("first", "second"))
    assemble(room.source / "a", MIB, [(0, MIB, first)])
    assemble(room.source / "b", MIB, [(0, 256 * KIB, first), (256 * KIB, MIB, second)])
    first.drop()
    second.drop()
    assert listed_and_checked(twinfs, room) == Figures(MIB, 768 * KIB)


def test_part_in_another_file_of_the_source_is_not_freed(twinfs, room):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("partly", MIB))
    other = room.source / "other content"
    other.write_bytes(trees.content("other", MIB))
    write_back(room.source)
    clone_range(room.source / "b", other, 0, 256 * KIB, 512 * KIB)
    # btrfs reports a whole extent of the disk as shared if a part of it is
    freed = {"xfs": 768 * KIB, "btrfs": 0}[room.kind]
    assert listed_and_checked(twinfs, room) == Figures(MIB, freed)


def test_range_that_a_file_has_twice_counts_once(twinfs, room):
    half = trees.content("half", MIB)
    (room.source / "a").write_bytes(2 * half)
    (room.source / "b").write_bytes(half)
    write_back(room.source)
    os.truncate(room.source / "b", 2 * MIB)
    clone_range(room.source / "b", room.source / "b", 0, MIB, MIB)
    assert listed_and_checked(twinfs, room) == Figures(2 * MIB, MIB)


def test_files_with_many_extents_are_mapped_whole(twinfs, room):
    size = 1500 * BLOCK
    data = trees.content("many", size)
    kept, other = (Origins(room.aside, name, data) for name in ("kept", "other"))
    assemble(room.source / "a", size, [(0, size, kept)])
    assemble(room.source / "b", size, [
        (start, start + BLOCK, (kept, other)[start // BLOCK % 3 == 2])
        for start in range(0, size, BLOCK)])
    kept.drop()
    other.drop()
    assert listed_and_checked(twinfs, room) == Figures(size, 500 * BLOCK)


@pytest.mark.parametrize("dropped", [1, 0.5], ids=["alone", "shared with files elsewhere"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole extents", "parts of extents"])
def test_figures_of_random_copies_are_those_of_the_oracle(twinfs, room, whole, dropped):
    random_groups(room.source, room.aside, range(60), whole, dropped)
    figures = listed_and_checked(twinfs, room)
    assert 0 < figures.reclaimable < figures.redundant
    write_back(room.source)
    again = twinfs.listing("--no-scan", room.source)
    assert checked(again, room.source) == figures


def test_figures_are_those_of_btrfs_filesystem_du(twinfs, btrfs_room):
    """Both agree if every extent of the disk is in the source and whole, and no file ends within a
    block: du knows neither ends of files nor parts of extents. What all files occupy without what
    the kept ones occupy is then what removing the others frees."""
    source = btrfs_room.source
    random_groups(source, btrfs_room.aside, range(100, 160), whole=True)
    for path in source.iterdir():
        if path.stat().st_size % BLOCK:
            drop(path)
    write_back(source)
    listing = twinfs.listing(source)
    figures = checked(listing, source)
    in_all = occupied(source)
    for name in redundant_names(listing):
        drop(name)
    write_back(source)
    assert 0 < figures.reclaimable == in_all - occupied(source)


def occupied(folder):
    """The bytes that a folder occupies on a btrfs."""
    run = subprocess.run(["btrfs", "filesystem", "du", "-s", "--raw", folder], check=True,
                         capture_output=True, text=True)
    _, exclusive, shared = run.stdout.splitlines()[-1].split()[:3]
    return int(exclusive) + int(shared)


# ---- subvolumes, compression and several disks --------------------------------------------

def subvolume_with(room, *names):
    """A subvolume of the source with a file of each name, all equal; returns its path."""
    made = room.source / "subvolume"
    subprocess.run(["btrfs", "-q", "subvolume", "create", made], check=True)
    for name in names:
        (made / name).write_bytes(trees.content("subvolume", MIB))
    write_back(made)
    return made


def snapshot(subvolume, to):
    subprocess.run(["btrfs", "-q", "subvolume", "snapshot", subvolume, to], check=True)


def test_snapshot_outside_of_the_source_holds_all_blocks(twinfs, btrfs_room):
    made = subvolume_with(btrfs_room, "a", "b", "c")
    snapshot(made, btrfs_room.aside / "snapshot")
    clone(made / "c", made / "d")
    write_back(made)
    assert checked(twinfs.listing(made), made) == Figures(3 * MIB, 0)
    # files written after the snapshot
    (made / "e").write_bytes(trees.content("subvolume", MIB))
    write_back(made)
    assert checked(twinfs.listing(made), made) == Figures(4 * MIB, MIB)


@pytest.mark.parametrize("as_source", [True, False], ids=["as a source", "in the source"])
def test_snapshot_of_a_source_is_seen_as_clones(twinfs, btrfs_room, as_source):
    made = subvolume_with(btrfs_room, "a", "b")
    snapshot(made, btrfs_room.source / "snapshot")
    operands = ([made, btrfs_room.source / "snapshot"] if as_source else
                ["--cross-file-systems", btrfs_room.source])
    assert checked(twinfs.listing(*operands), btrfs_room.source) == Figures(3 * MIB, MIB)


def test_view_knows_that_clones_in_two_subvolumes_share_their_blocks(twinfs, btrfs_room):
    made = subvolume_with(btrfs_room, "a")
    for copy in (btrfs_room.source / "b", btrfs_room.source / "c", made / "d"):
        clone(made / "a", copy)
    write_back(made)
    with twinfs.mounted("--cross-file-systems", btrfs_room.source) as view:
        assert list(shown(view)[0].values()) == [Figures(3 * MIB, 0)]
        assert not view_differs(view, btrfs_room.source)


def test_compressed_extents_count_with_their_content(twinfs, btrfs_room):
    source, size = btrfs_room.source, 6 * COMPRESSED_EXTENT + 5000
    os.setxattr(source, "btrfs.compression", b"zstd")
    data = b"".join(b"%d\n" % number for number in range(size))[:size]
    for name in ("a", "b", "c"):
        (source / name).write_bytes(data)
    write_back(source)
    with open(source / "a", "rb") as file:
        assert any(extent.flags & reclaimable.ENCODED for extent in reclaimable.extents(file))
    assert listed_and_checked(twinfs, btrfs_room) == Figures(2 * size, 2 * size)
    clone(source / "a", source / "d")
    assert listed_and_checked(twinfs, btrfs_room) == Figures(3 * size, 2 * size)
    clone(source / "b", source / "e")
    assert listed_and_checked(twinfs, btrfs_room) == Figures(4 * size, 2 * size)
    assemble(source / "f", size, [])
    clone_range(source / "a", source / "f", 0, 2 * COMPRESSED_EXTENT, 0)
    clone_range(source / "c", source / "f", 2 * COMPRESSED_EXTENT, 0, 2 * COMPRESSED_EXTENT)
    assert listed_and_checked(twinfs, btrfs_room) == Figures(5 * size, 2 * size)
    clone(source / "c", btrfs_room.aside / "c")
    another = twinfs.with_index(twinfs.folder / "another index")
    assert listed_and_checked(another, btrfs_room) == Figures(5 * size, 0)


def test_copies_at_one_place_of_two_disks_share_nothing(twinfs, tmp_path):
    with contextlib.ExitStack() as stack:
        sources, places = [], []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            sources.append(stack.enter_context(disk("xfs", tmp_path / name)) / "source")
            sources[-1].mkdir()
            (sources[-1] / "a").write_bytes(trees.content("two disks", MIB))
            write_back(sources[-1])
            with open(sources[-1] / "a", "rb") as file:
                places.append(list(reclaimable.extents(file)))
        assert places[0] == places[1]
        assert checked(twinfs.listing(*sources), *sources) == Figures(MIB, MIB)


# ---- file systems without shared blocks ---------------------------------------------------

@contextlib.contextmanager
def plain_disk(kind, folder):
    """Mounts a file system that has no shared blocks."""
    if kind != "tmpfs":
        with disk(kind, folder) as root:
            yield root
        return
    root = folder / kind
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", root], check=True)
    try:
        yield root
    finally:
        subprocess.run(["umount", root], check=True)


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "xfs without reflinks"])
def test_files_are_not_mapped_on_a_disk_without_shared_blocks(twinfs, tmp_path, loop_devices,
                                                              strace, kind):
    with plain_disk(kind, tmp_path) as root:
        source = root / "source"
        for size in (MIB, 5000):
            for name in ("a", "b"):
                trees.write(source / f"{size} {name}", trees.content("plain", size))
        for name in ("sparse a", "sparse b", "sparse c"):
            trees.holes(source / name, MIB, {0: trees.content("sparse", 64 * KIB)})
        write_back(root)
        result, trace = twinfs.traced("scan", source, calls="trace=ioctl")
        assert result.status == 0 and b"exited with 0" in trace
        assert b"FIEMAP" not in trace
        assert checked(twinfs.listing(source), source, mapped=False) == Figures(
            3 * MIB + 5000, MIB + 5000 + 2 * 64 * KIB)

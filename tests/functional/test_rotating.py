# SPDX-License-Identifier: MIT
"""Simulated rotating disks: files are read in the order of their place on the disk, with the same
result. The tests count movements of the disk head, never time."""
import os
import random
import re
import shutil

import oracle
import pytest
import trees
from rotating import aged_tree, recorded_writes

FILES = 300
PAGE = 4096


def head_of(twinfs, disk, *options, index="index"):
    """The movements of the disk head during a scan without caches."""
    program = twinfs.with_index(twinfs.folder / index)
    disk.cold()
    with disk.watched() as work:
        program.ok("scan", "--quiet", *options, disk.root)
    return work


def small_files(root):
    aged_tree(root, FILES, sizes=(1 << 10, 200 << 10))


def test_simulated_disk_is_slow_at_seeks_only(make_disk):
    disk = make_disk(time_scale=0)
    disk.fill(lambda root: trees.write(root / "file", bytes(64 << 20)))
    rng = random.Random(1)
    with disk.served():
        file = os.open(disk.root / "file", os.O_RDONLY)
        with disk.watched() as forward:
            for offset in range(0, 16 << 20, 1 << 20):
                os.pread(file, 1 << 20, offset)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        with disk.watched() as wild:
            for _ in range(100):
                os.pread(file, PAGE, rng.randrange(32 << 20, 64 << 20) // PAGE * PAGE)
        os.close(file)
    assert forward.read_bytes >= 16 << 20 and wild.read_bytes < 4 << 20
    # the kernel may reorder a few requests of a read
    assert forward.seeks <= 16 and wild.seeks >= 80
    assert wild.busy_s > 2 * forward.busy_s


def test_recorded_writes_of_a_simulated_disk_can_be_replayed(make_disk, tmp_path):
    record = tmp_path / "writes"
    disk = make_disk(time_scale=0, writes=record)
    before = tmp_path / "before"
    shutil.copy(disk.image, before)
    with disk.served():
        trees.write(disk.root / "file", b"content")
        os.sync()
    flushes = 0
    with open(before, "r+b") as image:
        for write in recorded_writes(record):
            if write is None:
                flushes += 1
            else:
                image.seek(write[0])
                image.write(write[1])
    assert flushes > 0
    assert before.read_bytes() == disk.image.read_bytes()


def test_rotating_disk_is_read_in_the_order_of_the_disk(twinfs, make_disk):
    disk = make_disk(time_scale=0)
    disk.fill(small_files)
    with disk.served():
        other = head_of(twinfs, disk, "--disk=solid", index="other")
        work = head_of(twinfs, disk, "--disk=rotating")
        assert twinfs.groups(disk.root) == oracle.path_groups(disk.root)
    assert len(other.reads) > FILES / 2
    assert work.backward < len(work.reads) / 8
    assert work.backward < other.backward / 3
    assert work.seeks < other.seeks / 2


def test_rotating_disk_is_detected_by_the_duration_of_reads(twinfs, make_disk):
    disk = make_disk()
    disk.fill(small_files)
    with disk.served():
        other = head_of(twinfs, disk, "--disk=solid", index="other")
        work = head_of(twinfs, disk)
        assert twinfs.groups(disk.root) == oracle.path_groups(disk.root)
    assert work.backward < other.backward / 2


def count_place_queries(twinfs, source, *options):
    """How often the program asked for the place of a file on the disk."""
    result, trace = twinfs.traced("scan", "--quiet", *options, source, calls="trace=ioctl")
    assert result.status == 0, result
    return len(re.findall(rb"FS_IOC_FIEMAP", trace))


def test_cached_files_are_read_without_place_queries(twinfs, make_disk, strace):
    disk = make_disk(time_scale=0)
    disk.fill(small_files)
    with disk.served():
        assert oracle.path_groups(disk.root)  # reads them
        assert count_place_queries(twinfs, disk.root) == 0
        told = twinfs.with_index(twinfs.folder / "other")
        assert count_place_queries(told, disk.root, "--disk=rotating") > FILES / 2


def test_slow_disk_that_claims_to_be_solid_is_read_without_place_queries(twinfs, make_disk, strace):
    disk = make_disk(rotating=False, time_scale=0.5)
    disk.fill(small_files)
    with disk.served():
        disk.cold()
        assert count_place_queries(twinfs, disk.root) == 0


def test_slow_disk_without_seeks_is_read_without_place_queries(twinfs, make_disk, strace):
    # like a virtual disk under load: it claims to rotate, and each request waits
    disk = make_disk(settle_ms=0, seek_ms=0, rpm=1e9, wait_ms=4)
    disk.fill(small_files)
    with disk.served():
        disk.cold()
        assert count_place_queries(twinfs, disk.root) == 0


def test_disk_without_seeks_reads_only_first_bytes_of_different_files(twinfs, make_disk):
    def different_files(root):
        for number in range(FILES):
            trees.write(root / f"{number % 7}/{number}", trees.content(number, 48 << 10))

    disk = make_disk(rotating=False, time_scale=0)
    disk.fill(different_files)
    with disk.served():
        work = head_of(twinfs, disk)
        assert not twinfs.groups(disk.root)
    # the kernel reads one page or a folio of four, and joins requests for neighbours
    heads = [read for read in work.reads if PAGE <= read.length <= 4 * PAGE]
    assert len(heads) > FILES * 3 / 4
    assert work.read_bytes < 3 * FILES * PAGE


def large_files(root):
    """Files larger than one piece, with differences at several offsets."""
    base = trees.content("large", 20 << 20)
    late = base[:-1] + bytes([base[-1] ^ 1])
    for name, data in {"a": base, "b": base, "c": late, "d": base, "e": late,
                       "small 1": base[:1 << 20], "small 2": base[:1 << 20]}.items():
        (root / name).write_bytes(data)
    early = trees.content("early", 20 << 20)
    (root / "f").write_bytes(base[:100_000] + early[100_000:])


def test_large_files_are_compared_in_long_pieces(twinfs, make_disk):
    disk = make_disk(time_scale=0)
    disk.fill(large_files)
    with disk.served():
        other = head_of(twinfs, disk, "--disk=solid", index="other")
        work = head_of(twinfs, disk, "--disk=rotating")
        assert twinfs.groups(disk.root) == oracle.path_groups(disk.root)
    assert work.seeks < other.seeks / 4


@pytest.mark.parametrize("disk", ["auto", "rotating", "solid"])
def test_groups_do_not_depend_on_the_kind_of_disk(twinfs, source, disk):
    trees.mixed(source)
    twinfs.ok("scan", f"--disk={disk}", source)
    assert twinfs.groups(source) == oracle.path_groups(source)


def test_new_files_on_a_rotating_disk_are_compared(twinfs, source):
    trees.mixed(source)
    with twinfs.mounted(source, options=("--wait", "--disk=rotating")) as view:
        for number in range(50):
            trees.write(source / f"later/{number}", trees.content(number % 20, 30_000))
        assert view.differences_now(source) == []


def test_unknown_kind_of_disk_is_wrong_usage(twinfs, source):
    result = twinfs("scan", "--disk=round", source)
    assert result.status == 2
    assert "auto, rotating or solid" in result.errors[0]

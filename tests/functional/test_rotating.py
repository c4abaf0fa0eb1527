# SPDX-License-Identifier: MIT
"""Rotating disks, simulated: files are read in the order in which they lie, and nothing else
changes.  Claims are about the way of the head, never about time."""
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
    """What the head does in a scan of a disk that is not cached."""
    program = twinfs.with_index(twinfs.folder / index)
    disk.cold()
    with disk.watched() as work:
        program.ok("scan", "--quiet", *options, disk.root)
    return work


def small_files(root):
    aged_tree(root, FILES, sizes=(1 << 10, 200 << 10))


def test_simulated_disk_takes_its_time_for_seeks_only(make_disk):
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
            for _ in range(50):
                os.pread(file, PAGE, rng.randrange(32 << 20, 64 << 20) // PAGE * PAGE)
        os.close(file)
    assert forward.read_bytes >= 16 << 20 and wild.read_bytes < 2 << 20
    # the kernel may send a few of the requests that it makes of a read in another order
    assert forward.seeks <= 16 and wild.seeks >= 40
    assert wild.busy_s > 2 * forward.busy_s


def test_simulated_disk_records_writes_so_that_they_can_be_done_again(make_disk, tmp_path):
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


def test_rotating_disk_is_found_by_the_time_that_reads_take(twinfs, make_disk):
    disk = make_disk()
    disk.fill(small_files)
    with disk.served():
        other = head_of(twinfs, disk, "--disk=solid", index="other")
        work = head_of(twinfs, disk)
        assert twinfs.groups(disk.root) == oracle.path_groups(disk.root)
    assert work.backward < other.backward / 2


def asked_for_places(twinfs, source, *options):
    """How often the program asked where a file lies."""
    result, trace = twinfs.traced("scan", "--quiet", *options, source, calls="trace=ioctl")
    assert result.status == 0, result
    return len(re.findall(rb"FS_IOC_FIEMAP", trace))


def test_what_is_cached_is_read_in_any_order_whatever_the_disk_says(twinfs, make_disk, strace):
    disk = make_disk(time_scale=0)
    disk.fill(small_files)
    with disk.served():
        assert oracle.path_groups(disk.root)  # reads them
        assert asked_for_places(twinfs, disk.root) == 0
        told = twinfs.with_index(twinfs.folder / "other")
        assert asked_for_places(told, disk.root, "--disk=rotating") > FILES / 2


def test_slow_disk_that_says_it_is_solid_is_read_in_any_order(twinfs, make_disk, strace):
    disk = make_disk(rotating=False, time_scale=0.5)
    disk.fill(small_files)
    with disk.served():
        disk.cold()
        assert asked_for_places(twinfs, disk.root) == 0


def large_files(root):
    """Classes of files larger than what is fetched at once, with differences here and there."""
    base = trees.content("large", 20 << 20)
    late = base[:-1] + bytes([base[-1] ^ 1])
    for name, data in {"a": base, "b": base, "c": late, "d": base, "e": late,
                       "small 1": base[:1 << 20], "small 2": base[:1 << 20]}.items():
        (root / name).write_bytes(data)
    early = trees.content("early", 20 << 20)
    (root / "f").write_bytes(base[:100_000] + early[100_000:])


def test_large_files_are_compared_a_long_piece_of_each_at_a_time(twinfs, make_disk):
    disk = make_disk(time_scale=0)
    disk.fill(large_files)
    with disk.served():
        other = head_of(twinfs, disk, "--disk=solid", index="other")
        work = head_of(twinfs, disk, "--disk=rotating")
        assert twinfs.groups(disk.root) == oracle.path_groups(disk.root)
    assert work.seeks < other.seeks / 4


@pytest.mark.parametrize("disk", ["auto", "rotating", "solid"])
def test_every_kind_of_file_is_grouped_alike_whatever_the_disk(twinfs, source, disk):
    trees.mixed(source)
    twinfs.ok("scan", f"--disk={disk}", source)
    assert twinfs.groups(source) == oracle.path_groups(source)


def test_files_that_come_later_are_compared_in_the_order_of_the_disk_too(twinfs, source):
    trees.mixed(source)
    with twinfs.mounted(source, options=("--wait", "--disk=rotating")) as view:
        for number in range(50):
            trees.write(source / f"later/{number}", trees.content(number % 20, 30_000))
        assert view.differences_now(source) == []


def test_unknown_kind_of_disk_is_a_wrong_usage(twinfs, source):
    result = twinfs("scan", "--disk=round", source)
    assert result.status == 2
    assert "auto, rotating or solid" in result.errors[0]

# SPDX-License-Identifier: MIT
"""A second scan reads no unchanged content and misses no change.

Each change happens while no daemon runs, between two scans or two mounts.
"""
import os
import shutil
import signal
import subprocess
import time

import changes
import collide
import oracle
import pytest
import trees
from changes import DATA
from processes import end_process, has_open, release, until


@pytest.fixture
def scanned(twinfs, source):
    """A scanned source with the tree that all changes start from."""
    changes.build(source)
    twinfs.ok("scan", source)
    return source


def agrees(twinfs, source):
    """Asserts that list and view agree with the oracle."""
    assert twinfs.groups(source) == oracle.path_groups(source)
    with twinfs.mounted(source) as view:
        assert view.differences(source, first_scan=False) == []
    return True


# reads

def test_rescan_without_a_change_reads_nothing(twinfs, source, strace):
    trees.small(source)
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    assert twinfs.content_read("scan", source, below=source) != []
    assert twinfs.content_read("scan", source, below=source) == []
    # a list reads only whether a copy is a database that a program writes in place
    _, trace = twinfs.traced("list", "--format=json", source, calls="trace=read,pread64,mmap",
                             flags=["-y"])
    read = [line for line in trace.splitlines() if b"<%b" % os.fsencode(source) in line]
    assert all(b" pread64(" in line and line.endswith(b", 64, 0) = 64") for line in read), read


def test_rescan_reads_only_changed_files(twinfs, scanned, strace):
    trees.write(scanned / "c", DATA)
    paths = {path for _, path in twinfs.content_read("scan", scanned, below=scanned)}
    assert os.fsencode(scanned / "c") in paths
    assert not paths & {os.fsencode(scanned / name) for name in ("d/f/g", "h")}


def test_changed_times_mode_and_name_of_files_give_right_groups(twinfs, scanned):
    os.utime(scanned / "a", ns=(5, 5))
    os.chmod(scanned / "b", 0o600)
    os.rename(scanned / "c", scanned / "renamed")
    assert agrees(twinfs, scanned)


def test_renamed_folder_is_not_read_again(twinfs, scanned, strace):
    os.rename(scanned / "d", scanned / "z")
    found = twinfs.content_read("scan", scanned, below=scanned)
    assert [path for _, path in found if path.endswith(b"/g")] == []
    assert agrees(twinfs, scanned)


def test_scan_after_a_killed_daemon_reads_nothing(twinfs, scanned, strace):
    with twinfs.mounted(scanned) as view:
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
    assert twinfs.content_read("scan", scanned, below=scanned) == []
    assert agrees(twinfs, scanned)


def test_new_file_of_a_known_size_does_not_cause_reads_of_others(twinfs, source, strace):
    """The new file differs in its first byte, so the known copies are not read."""
    for number in range(4):
        trees.write(source / f"{number}", DATA * 100)
    twinfs.ok("scan", source)
    trees.write(source / "new", b"\0" + DATA * 100 + b"\0")
    os.truncate(source / "new", len(DATA) * 100)
    found = twinfs.content_read("scan", source, below=source)
    assert {os.path.basename(path) for _, path in found} <= {b"new"}
    assert agrees(twinfs, source)


# changes

@pytest.mark.parametrize("change", changes.ALL, ids=lambda change: change.__name__)
def test_change_between_two_runs_is_found(twinfs, scanned, change):
    change(scanned)
    if not os.listdir(scanned):
        twinfs.ok("scan", "--accept-changed-source", scanned)
    assert agrees(twinfs, scanned)


def test_several_changes_are_found(twinfs, scanned):
    for change in (changes.add_hard_links, changes.change_attributes,
                   changes.rename_a_folder, changes.copy_the_tree):
        change(scanned)
        twinfs.ok("scan", scanned)
        assert agrees(twinfs, scanned)


def add_folder(source, name, number):
    """Adds a folder with copies of each other and of the files of earlier folders."""
    colliding = [*collide.long_contents(6, 4096), *collide.long_contents(6, 100_000, 70_000)]
    for at in range(40):
        trees.write(source / name / f"{at % 4}/{at}", trees.content(at // 2 + number * 10, 3000))
    for at, data in enumerate(colliding[number:] + colliding[number:]):
        trees.write(source / name / f"collisions/{at}", data)


def test_new_folders_in_a_known_source_have_the_right_groups(twinfs, source):
    """The walk reads their files, but not those that the index has or has equal files of."""
    for number in range(4):
        name = f"folder {number}"
        add_folder(source, name, number)
        if number:
            os.link(source / "folder 0/0/0", source / name / "linked")
            os.rename(source / f"folder 0/1/{4 * number + 1}", source / name / "moved file")
            os.rename(source / f"folder {number - 1}/3", source / name / "moved folder")
        changed = os.stat(source / name).st_ctime_ns
        assert until(lambda changed=changed: time.time_ns() > changed + 50_000_000)
        assert agrees(twinfs, source)
    assert twinfs.ok("check", source)


def test_kept_copy_stays_kept_when_an_earlier_path_appears(twinfs, scanned):
    with twinfs.mounted(scanned) as view:
        assert (view.uniques / "a").exists()
    trees.write(scanned / "0", DATA)
    with twinfs.mounted(scanned) as view:
        assert (view.uniques / "a").exists()
        assert not (view.uniques / "0").exists()


def test_file_changed_while_the_daemon_was_stopped_is_compared_again(twinfs, scanned):
    with twinfs.mounted(scanned) as view:
        [names] = [names for names in view.copies().values() if b"b" in names]
        assert names == {b"a", b"b", "d\u2215e".encode()}
    changes.change_with_mtime_restored(scanned)
    with twinfs.mounted(scanned) as view:
        [names] = [names for names in view.copies().values() if b"a" in names]
        assert names == {b"a", "d\u2215e".encode()}
        assert (view.uniques / "b").read_bytes() == (scanned / "b").read_bytes()


def test_index_of_other_sources_is_refused_and_left_alone(twinfs, tmp_path, mount):
    one = trees.small(tmp_path / "one")
    two = trees.fill(tmp_path / "two", {b"a": b"copy", b"b": b"copy"})
    first = twinfs.groups(one)
    for words in (["scan", two], ["list", two], ["scan", one, two], ["mount", two, mount]):
        result = twinfs(*words)
        assert result.status == 1, result
        assert len(result.errors) == 1
        assert str(twinfs.index) in result.errors[0] and os.fsdecode(one) in result.errors[0]
    assert twinfs.groups(one) == first
    other = twinfs.with_index(tmp_path / "other index")
    assert other.groups(two) == {frozenset([two + b"/a", two + b"/b"])}


def test_order_of_sources_is_part_of_the_index(twinfs, tmp_path):
    one, two = (trees.fill(tmp_path / name, {b"same": b"both"}) for name in ("a", "b"))
    twinfs.ok("scan", one, two)
    assert twinfs("scan", two, one).status == 1
    other = twinfs.with_index(tmp_path / "other index")
    with other.mounted(two, one) as view:
        assert (view.uniques / "b/same").exists()
        assert not (view.uniques / "a/same").exists()


def test_new_copy_is_found_though_a_copy_changes_while_it_is_read(twinfs, source, strace):
    """The other copy did not change, so no later scan would compare these two."""
    data = trees.content("meanwhile", 1 << 20)
    trees.fill(source, {b"a": data, b"b": data})
    twinfs.ok("scan", source)
    trees.write(source / "c", data)
    copies = [source / "a", source / "b"]
    with twinfs.held("scan", source, call="pread64", after=True,
                     flags=("-P", copies[0], "-P", copies[1])) as process:
        [read] = [path for path in copies if has_open(process.pid, path)]
        with open(read, "r+b") as file:
            file.seek(len(data) // 2)
            file.write(b"changed")
        release(process)
        process.wait()
    assert twinfs.groups(source) == oracle.path_groups(source)


@pytest.mark.skipif(not shutil.which("mksquashfs"), reason="needs mksquashfs")
def test_replaced_image_with_equal_times_and_sizes_is_verified_again(
        twinfs, source, tmp_path, loop_devices):
    """In reproducible images all files have the same time."""
    image, root = tmp_path / "image", tmp_path / "root"
    root.mkdir()

    def make(contents):
        trees.fill(source, contents)
        subprocess.run(["mksquashfs", source, image, "-quiet", "-no-progress", "-noappend",
                        "-all-time", "0", "-mkfs-time", "0"], check=True, capture_output=True)
    device = None
    make({b"a": DATA, b"b": DATA, b"c": DATA[::-1]})
    try:
        device = subprocess.run(["losetup", "--find", "--show", image], check=True,
                                capture_output=True, text=True).stdout.strip()
        for number in range(2):
            if subprocess.run(["mount", "-o", "ro", device, root], check=False).returncode != 0:
                pytest.skip("this kernel mounts no SquashFS")
            before = [os.stat(root / name) for name in "abc"]
            try:
                assert twinfs.groups(root) == {frozenset(
                    os.fsencode(root / name) for name in ("ab", "bc")[number])}
            finally:
                subprocess.run(["umount", root], check=True)
            make({b"a": DATA, b"b": DATA[::-1], b"c": DATA[::-1]})
        assert all(status.st_ctime == 0 for status in before)
    finally:
        if device:
            subprocess.run(["losetup", "-d", device], check=True)

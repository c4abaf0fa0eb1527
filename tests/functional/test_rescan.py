# SPDX-License-Identifier: MIT
"""A second scan reads no content that did not change, and misses no change.

Each change is made while no daemon runs: between two scans, or between two mounts.
"""
import os
import signal
import subprocess

import oracle
import pytest
import trees
from program import end_process

DATA = trees.content("rescan", 20_000)
OTHER = trees.content("other", 20_000)


@pytest.fixture
def scanned(twinfs, source):
    """Two copies, a lone file of the same size, one more folder; scanned."""
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": OTHER, b"d/e": DATA})
    trees.fill(source, {b"d/f/g": b"small", b"h": b"small"})
    twinfs.ok("scan", source)
    return source


def agrees(twinfs, source):
    """List and view are what the oracle says now."""
    model = oracle.Source([source])
    assert twinfs.groups(source) == {
        frozenset(model.absolute(name) for inode in group for name in inode.names)
        for group in model.groups()}
    with twinfs.mounted(source) as view:
        assert view.differences(source, first_scan=False) == []
    return True


# what is read

def test_first_scan_reads_and_a_rescan_does_not(twinfs, source, strace):
    trees.small(source)
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    assert twinfs.content_read("scan", source, below=source) != []
    assert twinfs.content_read("scan", source, below=source) == []
    assert twinfs.content_read("list", "--format=json", source, below=source) == []


def test_rescan_reads_only_what_changed(twinfs, scanned, strace):
    trees.write(scanned / "c", DATA)
    paths = {path for _, path in twinfs.content_read("scan", scanned, below=scanned)}
    assert os.fsencode(scanned / "c") in paths
    assert not paths & {os.fsencode(scanned / name) for name in ("d/f/g", "h")}


def test_changed_times_mode_owner_and_name_of_a_file_cost_no_wrong_answer(twinfs, scanned):
    os.utime(scanned / "a", ns=(5, 5))
    os.chmod(scanned / "b", 0o600)
    os.rename(scanned / "c", scanned / "renamed")
    assert agrees(twinfs, scanned)


def test_renamed_folder_is_not_read_again(twinfs, scanned, strace):
    os.rename(scanned / "d", scanned / "z")
    found = twinfs.content_read("scan", scanned, below=scanned)
    assert [path for _, path in found if path.endswith(b"/g")] == []
    assert agrees(twinfs, scanned)


def test_killed_daemon_costs_no_reading_again(twinfs, scanned, strace):
    with twinfs.mounted(scanned) as view:
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
    assert twinfs.content_read("scan", scanned, below=scanned) == []
    assert agrees(twinfs, scanned)


def test_new_file_of_a_known_size_does_not_make_its_class_be_read_wholly_again(
        twinfs, source, strace):
    """1 GiB of copies is known; a new file that differs in its first byte touches none of it."""
    for number in range(4):
        trees.write(source / f"{number}", DATA * 100)
    twinfs.ok("scan", source)
    trees.write(source / "new", b"\0" + DATA * 100 + b"\0")
    os.truncate(source / "new", len(DATA) * 100)
    found = twinfs.content_read("scan", source, below=source)
    assert {os.path.basename(path) for _, path in found} <= {b"new"}
    assert agrees(twinfs, source)


# changes

def keep_mtime(path, act):
    when = os.stat(path)
    act()
    os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))


def rewrite(path, data):
    with open(path, "r+b") as file:
        file.write(data)


def change_with_mtime_restored(source):
    changed = bytearray(DATA)
    changed[-1] ^= 1
    keep_mtime(source / "b", lambda: rewrite(source / "b", changed))


def make_equal_with_mtime_restored(source):
    keep_mtime(source / "c", lambda: rewrite(source / "c", DATA))


def replace_by_rename(source):
    trees.write(source / "new", OTHER)
    when = os.stat(source / "b")
    os.utime(source / "new", ns=(when.st_atime_ns, when.st_mtime_ns))
    os.rename(source / "new", source / "b")


def replace_with_the_inode_number_used_again(source):
    """ext4 gives the next file the inode number that was just freed."""
    when = os.stat(source / "b")
    os.unlink(source / "b")
    trees.write(source / "b", OTHER)
    os.utime(source / "b", ns=(when.st_atime_ns, when.st_mtime_ns))


def exchange_contents(source):
    for old, new in (("b", "x"), ("c", "b"), ("x", "c")):
        os.rename(source / old, source / new)


def change_in_place(source):
    rewrite(source / "b", b"changed")


def grow(source):
    with open(source / "b", "ab") as file:
        file.write(b"more")


def shrink(source):
    os.truncate(source / "b", 10_000)


def empty(source):
    os.truncate(source / "b", 0)


def remove_one_of_three(source):
    os.unlink(source / "b")


def remove_all_but_one(source):
    os.unlink(source / "b")
    os.unlink(source / "d/e")


def remove_the_kept_copy(source):
    os.unlink(source / "a")


def add_copies(source):
    trees.fill(source, {b"new": DATA, b"0": OTHER, b"d/new/deeper": b"small"})


def add_hard_links(source):
    os.link(source / "b", source / "d/link")
    os.link(source / "h", source / "0 link")


def remove_first_name_of_a_hard_link(source):
    add_hard_links(source)
    os.unlink(source / "b")


def move_hard_links_between_folders(source):
    add_hard_links(source)
    os.rename(source / "d/link", source / "d/f/link")
    os.unlink(source / "b")


def turn_a_copy_into_a_hard_link(source):
    os.unlink(source / "b")
    os.link(source / "a", source / "b")


def turn_a_hard_link_into_a_copy(source):
    turn_a_copy_into_a_hard_link(source)
    os.unlink(source / "b")
    trees.write(source / "b", DATA)


def rename_a_folder(source):
    os.rename(source / "d", source / "0")


def move_a_folder_into_another(source):
    os.mkdir(source / "new")
    os.rename(source / "d", source / "new/d")


def exchange_folders(source):
    os.rename(source / "d/f", source / "x")
    os.rename(source / "d", source / "x/d")


def turn_a_file_into_a_folder(source):
    os.unlink(source / "b")
    trees.write(source / "b/inside", DATA)


def turn_a_folder_into_a_file(source):
    trees.remove(source / "d")
    trees.write(source / "d", DATA)


def turn_a_folder_into_a_symlink(source):
    os.rename(source / "d", source / "y")
    os.symlink("y", source / "d")


def turn_a_file_into_a_fifo(source):
    os.unlink(source / "b")
    os.mkfifo(source / "b")


def retarget_a_symlink(source):
    os.symlink("a", source / "link")
    os.unlink(source / "link")
    os.symlink("b", source / "link")


def change_attributes(source):
    os.chmod(source / "a", 0o4711)
    os.utime(source / "h", ns=(1, trees.FAR_FUTURE))
    os.setxattr(source / "c", b"user.new", b"value")
    subprocess.run(["setfacl", "-m", "u:1:r", source / "d/e"], check=True)
    os.chmod(source / "d", 0o700)
    os.utime(source / "d/f", ns=(2, 2))


def remove_everything(source):
    trees.remove(source)
    os.mkdir(source)


def copy_the_tree(source):
    subprocess.run(["cp", "-a", source, source.parent / "copy"], check=True)
    os.rename(source.parent / "copy", source / "copy")


CHANGES = [
    change_with_mtime_restored, make_equal_with_mtime_restored, replace_by_rename,
    replace_with_the_inode_number_used_again, exchange_contents, change_in_place, grow, shrink,
    empty, remove_one_of_three, remove_all_but_one, remove_the_kept_copy, add_copies,
    add_hard_links, remove_first_name_of_a_hard_link, move_hard_links_between_folders,
    turn_a_copy_into_a_hard_link, turn_a_hard_link_into_a_copy, rename_a_folder,
    move_a_folder_into_another, exchange_folders, turn_a_file_into_a_folder,
    turn_a_folder_into_a_file, turn_a_folder_into_a_symlink, turn_a_file_into_a_fifo,
    retarget_a_symlink, change_attributes, remove_everything, copy_the_tree,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_change_between_two_runs_is_found(twinfs, scanned, change):
    change(scanned)
    assert agrees(twinfs, scanned)


def test_many_changes_one_after_the_other_are_found(twinfs, scanned):
    for change in (add_hard_links, change_attributes, rename_a_folder, copy_the_tree):
        change(scanned)
        twinfs.ok("scan", scanned)
        assert agrees(twinfs, scanned)


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
    change_with_mtime_restored(scanned)
    with twinfs.mounted(scanned) as view:
        [names] = [names for names in view.copies().values() if b"a" in names]
        assert names == {b"a", "d\u2215e".encode()}
        assert (view.uniques / "b").read_bytes() == (scanned / "b").read_bytes()


def test_index_of_other_sources_is_refused_and_left_alone(twinfs, tmp_path):
    one = trees.small(tmp_path / "one")
    two = trees.fill(tmp_path / "two", {b"a": b"copy", b"b": b"copy"})
    first = twinfs.groups(one)
    (tmp_path / "mount").mkdir()
    for words in (["scan", two], ["list", two], ["scan", one, two],
                  ["mount", two, tmp_path / "mount"]):
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

# SPDX-License-Identifier: MIT
"""A tree, and all ways in which the tree can change.

Each change takes the source. Files that a change moves out or in are in a folder beside the source.
"""
import contextlib
import ctypes
import mmap
import os
import subprocess

import pytest
import trees

DATA = trees.content("rescan", 20_000)
OTHER = trees.content("other", 20_000)
EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
AT_FDCWD = -100


def build(source):
    """Two copies, a lone file of the same size, another copy and a pair in folders."""
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": OTHER, b"d/e": DATA})
    trees.fill(source, {b"d/f/g": b"small", b"h": b"small"})
    os.utime(trees.join(source, b"d/f/g"), ns=(0, 0))  # so it is kept


def exchange(one, two):
    """renameat2(RENAME_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(two), EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), f"exchange {one} with {two}")


def outside(source):
    """A folder beside the source, on the same file system."""
    folder = source.parent / "outside"
    folder.mkdir(exist_ok=True)
    return folder


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
    """ext4 gives the inode number that was freed last to the next file."""
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
    for name in os.listdir(source):
        trees.remove(source / name)


def copy_the_tree(source):
    subprocess.run(["cp", "-a", source, source.parent / "copy"], check=True)
    os.rename(source.parent / "copy", source / "copy")


ALL = [
    change_with_mtime_restored, make_equal_with_mtime_restored, replace_by_rename,
    replace_with_the_inode_number_used_again, exchange_contents, change_in_place, grow, shrink,
    empty, remove_one_of_three, remove_all_but_one, remove_the_kept_copy, add_copies,
    add_hard_links, remove_first_name_of_a_hard_link, move_hard_links_between_folders,
    turn_a_copy_into_a_hard_link, turn_a_hard_link_into_a_copy, rename_a_folder,
    move_a_folder_into_another, exchange_folders, turn_a_file_into_a_folder,
    turn_a_folder_into_a_file, turn_a_folder_into_a_symlink, turn_a_file_into_a_fifo,
    retarget_a_symlink, change_attributes, remove_everything, copy_the_tree,
]


# Changes that matter while a daemon watches: ways of writing, and moves during a recheck.

def write_through_another_link(source):
    os.link(source / "b", source / "d/f/link")
    rewrite(source / "d/f/link", b"through the link")


def copy_by_copy_file_range(source):
    with open(source / "c", "rb") as old, open(source / "new", "wb") as new:
        while os.copy_file_range(old.fileno(), new.fileno(), 1 << 20):
            pass


def overwrite_by_copy_file_range(source):
    with open(source / "a", "rb") as old, open(source / "c", "r+b") as new:
        assert os.copy_file_range(old.fileno(), new.fileno(), len(DATA)) == len(DATA)


def copy_by_reflink_or_plainly(source):
    subprocess.run(["cp", "--reflink=auto", source / "c", source / "d/new"], check=True)


def store_through_a_mapping(source):
    with open(source / "b", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[100:103] = b"new"


def make_equal_through_a_mapping(source):
    with open(source / "c", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[:] = DATA  # the descriptor is closed, so munmap raises the close event
    mapped.close()


def punch_a_hole(source):
    trees.holes(source / "hole", 1 << 20, {0: DATA})
    subprocess.run(["fallocate", "-p", "-o", "0", "-l", "8192", source / "c"], check=True)


def create_and_remove_at_once(source):
    trees.write(source / "passing", DATA)
    os.unlink(source / "passing")


def create_under_a_removed_name(source):
    for data in (OTHER, b"", DATA):
        os.unlink(source / "b")
        trees.write(source / "b", data)


def rename_a_file(source):
    os.rename(source / "b", source / "renamed")
    os.rename(source / "c", source / "d/f/c")


def rename_over_another(source):
    os.rename(source / "b", source / "c")
    os.rename(source / "h", source / "d/f/g")


def rename_there_and_back(source):
    os.rename(source / "b", source / "elsewhere")
    os.rename(source / "elsewhere", source / "b")


def move_a_file_out(source):
    os.rename(source / "b", outside(source) / "b")


def move_a_file_in(source):
    os.rename(trees.write(outside(source) / "new", OTHER), trees.join(source, b"d/new"))


def change_a_file_while_it_is_outside(source):
    away = outside(source) / "b"
    os.rename(source / "b", away)
    rewrite(away, b"changed outside")
    os.rename(away, source / "b")


def rewrite_and_restore_mtime(path):
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    keep_mtime(path, lambda: rewrite(path, changed))


def rewrite_a_file_outside_and_restore_its_mtime(source):
    away = outside(source) / "b"
    os.rename(source / "b", away)
    rewrite_and_restore_mtime(away)
    os.rename(away, source / "b")


def rewrite_a_file_outside_restore_its_mtime_and_link_it_in(source):
    away = outside(source) / "b"
    os.rename(source / "b", away)
    rewrite_and_restore_mtime(away)
    os.link(away, source / "b")
    os.unlink(away)


def write_through_a_temporary_link(source):
    os.link(source / "b", source / "link")
    rewrite_and_restore_mtime(source / "link")
    os.unlink(source / "link")


def write_through_a_link_in_a_temporary_folder(source):
    os.mkdir(source / "folder")
    os.link(source / "b", source / "folder/link")
    rewrite_and_restore_mtime(source / "folder/link")
    trees.remove(source / "folder")


def write_under_a_name_between_two_renames(source):
    """The file is rewritten under the name of another file, which does not exist later."""
    os.rename(source / "b", source / "c")
    rewrite_and_restore_mtime(source / "c")
    os.rename(source / "c", source / "moved")


def write_through_a_temporary_link_and_move(source):
    write_through_a_temporary_link(source)
    os.rename(source / "b", source / "moved")


def write_through_a_temporary_link_with_a_known_name(source):
    os.unlink(source / "c")
    os.link(source / "b", source / "c")
    rewrite_and_restore_mtime(source / "c")
    os.unlink(source / "c")
    os.rename(source / "b", source / "moved")


def write_through_a_link_that_is_replaced(source):
    os.link(source / "b", source / "link")
    rewrite_and_restore_mtime(source / "link")
    os.rename(source / "c", source / "link")
    os.rename(source / "b", source / "moved")


def write_through_a_link_that_is_moved_and_removed(source):
    os.link(source / "b", source / "link")
    rewrite_and_restore_mtime(source / "link")
    os.rename(source / "link", source / "d/link")
    os.unlink(source / "d/link")
    os.rename(source / "b", source / "moved")


def exchange_files(source):
    exchange(source / "b", source / "c")


def exchange_a_file_and_a_folder(source):
    exchange(source / "b", source / "d")


def exchange_folders_at_once(source):
    trees.fill(source, {b"x/g": b"other", b"x/y/z": DATA})
    exchange(source / "d/f", source / "x")


def move_a_folder_into_its_former_child(source):
    os.rename(source / "d/f", source / "f")
    os.rename(source / "d", source / "f/d")
    trees.write(source / "f/d/new", OTHER)


def rename_a_folder_and_change_what_is_in_it(source):
    os.rename(source / "d", source / "moved")
    trees.fill(source, {b"moved/new": OTHER, b"moved/f/g": b"changed"})
    trees.write(source / "d/e", b"a folder of the old name")


def make_a_deep_tree_at_once(source):
    trees.write(source / "1/2/3/4/5/6/7/8/9/copy", OTHER)
    trees.fill(source, {b"1/2/%d" % n: b"%d" % (n // 2) for n in range(10, 40)})


def move_a_tree_in(source):
    trees.small(outside(source) / "tree")
    os.rename(outside(source) / "tree", source / "d/tree")
    trees.write(source / "d/tree/letters/new", OTHER)


def move_a_tree_out(source):
    os.rename(source / "d", outside(source) / "d")
    trees.write(outside(source) / "d/f/new", DATA)


def move_a_tree_out_and_back(source):
    move_a_tree_out(source)
    os.rename(outside(source) / "d", source / "back")
    trees.write(source / "back/f/later", OTHER)


def swap_symlinks(source):
    for target in ("a", "d", "nowhere", "c"):
        os.symlink(target, source / "new link")
        os.replace(source / "new link", source / "link")


def exchange_a_folder_and_a_symlink(source):
    os.symlink("d", source / "link")
    exchange(source / "link", source / "d")


def add_and_remove_hard_links(source):
    for number in range(5):
        os.link(source / "b", source / f"d/link {number}")
    os.unlink(source / "d/link 1")
    os.unlink(source / "d/link 4")


def link_what_is_outside(source):
    os.link(trees.write(outside(source) / "new", OTHER), trees.join(source, b"new"))


def change_owners(source):
    for name, owner, group in (("a", 0, 0), ("b", 1, 2), ("d", 1, 1), ("d/f/g", 2, 1)):
        with contextlib.suppress(PermissionError):
            os.chown(source / name, owner, group)


def lock_a_folder_and_unlock_it(source):
    os.chmod(source / "d", 0)
    os.chmod(source / "d", 0o755)
    trees.write(source / "d/new", OTHER)


def change_times_of_folders(source):
    trees.write(source / "d/f/new", b"moves the time of its folder")
    os.utime(source / "d", ns=(3, trees.FAR_FUTURE))
    os.utime(source, ns=(3, 1_000_000_001))


def make_files_of_no_content(source):
    for number in range(3):
        trees.write(source / f"d/empty {number}")
    os.mkfifo(source / "fifo")


def fill_many_folders(source):
    trees.many(source / "many", 300, lambda number: b"%d" % (number % 7), folders=20)
    for number in range(0, 20, 3):
        trees.remove(source / f"many/{number:03}")


WATCHED = [
    write_through_another_link, copy_by_copy_file_range, overwrite_by_copy_file_range,
    copy_by_reflink_or_plainly, store_through_a_mapping, make_equal_through_a_mapping,
    punch_a_hole, create_and_remove_at_once, create_under_a_removed_name, rename_a_file,
    rename_over_another, rename_there_and_back, move_a_file_out, move_a_file_in,
    change_a_file_while_it_is_outside, rewrite_a_file_outside_and_restore_its_mtime,
    rewrite_a_file_outside_restore_its_mtime_and_link_it_in, write_through_a_temporary_link,
    write_through_a_link_in_a_temporary_folder, write_under_a_name_between_two_renames,
    write_through_a_temporary_link_and_move, write_through_a_temporary_link_with_a_known_name,
    write_through_a_link_that_is_replaced, write_through_a_link_that_is_moved_and_removed,
    exchange_files, exchange_a_file_and_a_folder,
    exchange_folders_at_once, move_a_folder_into_its_former_child,
    rename_a_folder_and_change_what_is_in_it, make_a_deep_tree_at_once, move_a_tree_in,
    move_a_tree_out, move_a_tree_out_and_back, swap_symlinks, exchange_a_folder_and_a_symlink,
    add_and_remove_hard_links, link_what_is_outside, change_owners, lock_a_folder_and_unlock_it,
    change_times_of_folders, make_files_of_no_content, fill_many_folders,
]

# Runs a test with each change that a mounted view must follow.
EACH_WATCHED = pytest.mark.parametrize("change", ALL + WATCHED,
                                       ids=lambda change: change.__name__)


def move_ctime(paths, flag):
    """Changes the ctime by chattr(1), which raises no event."""
    before = [os.stat(path).st_ctime_ns for path in paths]
    if subprocess.run(["chattr", flag, *paths], check=False, capture_output=True).returncode:
        pytest.skip("this file system has no such attributes")
    assert all(os.stat(path).st_ctime_ns > moment
               for path, moment in zip(paths, before, strict=True))

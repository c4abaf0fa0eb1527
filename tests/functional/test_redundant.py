# SPDX-License-Identifier: MIT
"""redundant/: the names that uniques/ leaves out, and no folder without such a name.

Each test that calls differences() compares its content with the source.
"""
import contextlib
import os
import stat
import subprocess

import changes
import oracle
import trees
from changes import DATA


def names(root):
    """The paths of everything in a tree but folders, and the paths of the folders."""
    found = [entry for entry in oracle.walk.walk(root) if entry.path]
    folders = {entry.path for entry in found if entry.kind == stat.S_IFDIR}
    return {entry.path for entry in found} - folders, folders


def fill_caches(*paths):
    """Makes the kernel cache these paths and the listings of their parent directories."""
    for path in 2 * paths:
        for folder in (path, path.parent):
            with contextlib.suppress(OSError):
                os.lstat(folder)
                list(os.scandir(folder))


def test_uniques_and_redundant_hold_every_name_exactly_once(twinfs, source):
    trees.mixed(source)
    with twinfs.mounted(source) as view:
        expected, folders = names(source)
        unique, all_folders = names(view.uniques)
        redundant, holders = names(view.redundant)
        assert unique | redundant == expected and not unique & redundant
        assert all_folders == folders
        assert holders == {os.path.dirname(path) for path in redundant | holders} - {b""}


def test_tree_without_copies_has_an_empty_redundant_folder(twinfs, source):
    trees.fill(source, {b"a": b"one", b"d/b": b"two", b"d/e/c": b"three"})
    with twinfs.mounted(source) as view:
        assert os.listdir(view.redundant) == []
        assert view.differences(source) == []
        assert not os.path.lexists(view.redundant / "d")


def test_copy_is_the_same_file_in_dups_and_in_its_tree(view):
    copies = [copy for folder in view.dups.iterdir() for copy in folder.iterdir()]
    assert len(copies) == 5
    for copy in copies:
        place = oracle.place(copy.name)
        [found] = [path for path in (view.uniques / place, view.redundant / place)
                   if path.exists()]
        assert os.path.samefile(copy, found)


def test_redundant_copies_have_the_attributes_of_twinfs(twinfs, view, source):
    assert twinfs.ok("path", view.redundant / "b").lines == [os.fsencode(source / "b")]
    assert os.getxattr(view.redundant / "d/e", "user.twinfs.path") == os.fsencode(source / "d/e")
    assert os.getxattr(view.redundant / "d", "user.twinfs.path") == os.fsencode(source / "d")
    assert os.getxattr(view.redundant / "b", "user.twinfs.copies") == b"3"
    assert os.stat(view.redundant).st_ino != os.stat(view.uniques).st_ino


def test_rsync_copies_redundant_and_a_second_run_copies_nothing(twinfs, source, tmp_path):
    trees.small(source)
    trees.metadata(source / "metadata")
    rsync = ["rsync", "-aHAXi", "--numeric-ids"]
    with twinfs.mounted(source) as view:
        run = [*rsync, f"{view.redundant}/", tmp_path / "copy"]
        subprocess.run(run, check=True, capture_output=True)
        assert subprocess.run(run, check=True, capture_output=True).stdout == b""
        assert names(tmp_path / "copy") == names(view.redundant)
    model = oracle.Source([source])
    copied = oracle.Source([tmp_path / "copy"])
    assert {inode.size for inode in copied.inodes.values()} < {
        inode.size for inode in model.inodes.values()}


def test_new_copy_makes_all_folders_above_it_appear(view, source):
    deep = view.redundant / "new/deep/folder/copy"
    fill_caches(*list(deep.parents)[:4], deep)
    assert not os.path.lexists(view.redundant / "new")
    trees.write(source / "new/deep/folder/copy", DATA)
    trees.write(source / "new/other/alone", b"not a copy of anything")
    view.sync()
    assert deep.read_bytes() == DATA
    assert os.listdir(view.redundant / "new") == ["deep"]
    assert "new" in os.listdir(view.redundant)
    assert view.differences_now(source) == []


def test_folders_vanish_with_the_last_copy_in_them(view, source):
    trees.write(source / "new/deep/folder/copy", DATA)
    trees.write(source / "new/other/alone", b"not a copy of anything")
    view.sync()
    deep = view.redundant / "new/deep/folder/copy"
    fill_caches(*list(deep.parents)[:4], deep)
    trees.write(source / "new/deep/folder/copy", b"another content")
    view.sync()
    assert not os.path.lexists(view.redundant / "new/deep")
    assert "new" not in os.listdir(view.redundant)
    assert (view.uniques / "new/deep/folder/copy").read_bytes() == b"another content"
    assert view.differences_now(source) == []


def test_copy_that_is_created_and_removed_repeatedly_is_right(view, source):
    for _ in range(10):
        assert "new" not in os.listdir(view.redundant)
        assert not (view.redundant / "new").exists()
        trees.write(source / "new/copy", DATA)
        view.sync()
        assert os.listdir(view.redundant / "new") == ["copy"]
        assert "new" in os.listdir(view.redundant)
        trees.remove(source / "new")
        view.sync()


def test_next_kept_copy_leaves_redundant(view, source):
    fill_caches(view.redundant / "b", view.redundant / "d/e")
    assert not (view.redundant / "a").exists()
    os.unlink(source / "a")
    view.sync()
    shown = {b"b", b"d/e"} & names(view.redundant)[0]
    assert len(shown) == 1
    assert view.differences_now(source) == []


def test_renamed_folder_is_found_only_under_its_new_name(view, source):
    paths = [view.redundant / name for name in ("d", "d/e", "moved", "moved/e")]
    fill_caches(*paths)
    for old, new in (("d", "moved"), ("moved", "d"), ("d", "moved")):
        os.rename(source / old, source / new)
        view.sync()
        assert [path.exists() for path in paths] == [new == "d"] * 2 + [new == "moved"] * 2
        assert {"d", "moved"} & set(os.listdir(view.redundant)) == {new}
    assert view.differences_now(source) == []


def test_ctime_of_a_folder_in_redundant_changes_with_its_content(view, source):
    folders = [view.redundant, view.redundant / "d"]
    before = [os.stat(folder).st_ctime_ns for folder in folders]
    mtimes = [os.stat(folder).st_mtime_ns for folder in folders]
    changes.rewrite(source / "d/e", b"not a copy any more")
    view.sync()
    assert not os.path.lexists(folders[1])
    assert os.stat(folders[0]).st_ctime_ns > before[0]
    changes.rewrite(source / "d/e", DATA)
    view.sync()
    assert [os.stat(folder).st_mtime_ns for folder in folders] == mtimes
    assert view.differences_now(source) == []


def test_tree_of_a_source_exists_while_it_has_a_redundant_copy(twinfs, tmp_path):
    roots = [trees.fill(tmp_path / name, {b"d/same": b"in both", b"alone": name.encode()})
             for name in ("one", "two", "three")]
    os.unlink(tmp_path / "three/d/same")
    with twinfs.mounted(*roots) as view:
        assert os.listdir(view.redundant) == ["two"]
        fill_caches(view.redundant / "one", view.redundant / "two/d", view.redundant / "three")
        assert view.differences(*roots) == []
        trees.write(tmp_path / "three/new", b"in both")
        os.unlink(tmp_path / "two/d/same")
        view.sync()
        assert os.listdir(view.redundant) == ["three"]
        assert os.listdir(view.redundant / "three") == ["new"]
        assert not (view.redundant / "two").exists()
        assert view.differences_now(*roots) == []


def test_copies_found_by_a_scan_are_in_redundant(twinfs, source):
    changes.build(source)
    twinfs.ok("scan", source)
    trees.write(source / "d/f/copy", DATA)
    os.unlink(source / "b")
    with twinfs.mounted(source) as view:
        assert (view.redundant / "d/f/copy").read_bytes() == DATA
        assert view.differences(source, first_scan=False) == []


def test_disk_usage_of_uniques_is_that_of_the_source_without_redundant_files(twinfs, everything):
    """du(1) counts a file with several links once; with redundant/ it counts each block once."""
    with twinfs.mounted(everything) as view:
        used = {folder: disk_usage(folder)
                for folder in (everything, view.uniques, view.path / "redundant", view.path)}
        copies = {}
        for path in (view.path / "redundant").rglob("*"):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                copies[status.st_ino] = status.st_blocks * 512
        assert copies and used[view.uniques] == used[everything] - sum(copies.values())
        assert used[view.path] > used[view.uniques]
        assert "du V/uniques" in (view.path / "README.txt").read_text()


def disk_usage(folder):
    run = subprocess.run(["du", "-s", "--block-size=1", folder], check=True, capture_output=True)
    return int(run.stdout.split()[0])

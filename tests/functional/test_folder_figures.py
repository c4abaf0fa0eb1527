# SPDX-License-Identifier: MIT
"""Whole copies of folders in the status and the metrics of a view."""
import os
import shutil

import pytest
import trees
from equal_folders import copy_tree, make, make_twins
from folder_oracle import Folders
from folder_trees import Forest
from test_hostile_disks import CROSS, bound

KEYS = ("folder_groups", "redundant_folders", "redundant_folder_bytes")


def figures(view):
    """The figures of folders, after all changes."""
    view.sync()
    status, metrics = view.status(), view.metrics()
    assert [status[key] for key in KEYS] == [metrics[f"twinfs_{key}", frozenset()] for key in KEYS]
    return tuple(status[key] for key in KEYS)


def text(twinfs, view):
    """The value of the line of folders in the status, or None."""
    lines = twinfs.ok("status", view.path).out.decode().splitlines()
    return {line[:12].rstrip(): line[12:] for line in lines}.get("folders")


def test_status_counts_the_folders_that_are_whole_copies(twinfs, source):
    make_twins(source)
    with twinfs.mounted(source) as view:
        assert figures(view) == (2, 2, 15000)
        assert text(twinfs, view) == "2 folders are whole copies: 15 KiB (15,000 bytes)"
        shutil.rmtree(source / "c")
        assert figures(view) == (1, 1, 10000)
        assert text(twinfs, view) == "1 folder is a whole copy: 9.8 KiB (10,000 bytes)"
        (source / "a/none").unlink()  # a/sub and b/sub are still equal
        assert figures(view) == (1, 1, 5000)
        (source / "a/sub/two").unlink()
        assert figures(view) == (0, 0, 0)
        assert text(twinfs, view) is None


def test_moved_folder_changes_what_is_a_part_of_another(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    with twinfs.mounted(source) as view:
        assert figures(view) == (1, 1, 10000)
        (source / "a/sub").rename(source / "sub")
        assert figures(view) == (1, 1, 5000)
        (source / "sub").rename(source / "a/sub")
        assert figures(view) == (1, 1, 10000)


def test_hard_links_make_no_more_bytes_redundant_than_there_are(twinfs, source):
    """As in backups of which each has hard links to the unchanged files of the last one."""
    make(source / "a")
    for name in ("b", "c"):
        (source / name / "sub").mkdir(parents=True)
        for file in ("one", "sub/two", "none"):
            os.link(source / "a" / file, source / name / file)
    trees.write(source / "1", b"x" * 7)
    trees.write(source / "2", b"x" * 7)
    with twinfs.mounted(source) as view:
        assert figures(view) == (1, 2, 7)


def test_folder_bound_into_its_source_is_no_copy(twinfs, source, root_only):
    make(source / "a")
    (source / "b").mkdir()
    with bound(source / "a", source / "b"), twinfs.mounted(CROSS, source) as view:
        assert figures(view) == (0, 0, 0)
        copy_tree(source / "a", source / "c")
        assert figures(view) == (1, 1, 10000)


@pytest.mark.parametrize("seed", range(4))
def test_figures_are_those_of_the_oracle_after_each_change(twinfs, tmp_path, seed):
    roots = [tmp_path / name for name in ("one", "two")[:1 + seed % 2]]
    forest = Forest(roots, tmp_path / "outside", seed + 100)
    with twinfs.mounted(*roots, options=["--wait"]) as view:
        for _ in range(6):
            view.sync()
            expected = Folders(roots).figures(view.status()["redundant_bytes"])
            assert dict(zip(KEYS, figures(view))) == expected
            forest.steps(8)

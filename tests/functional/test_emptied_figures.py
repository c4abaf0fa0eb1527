# SPDX-License-Identifier: MIT
"""Figures of what comes free count no copy that stays at its place, in all commands and views."""
import itertools
import os

import pytest
from pages import Page
from test_emptied_places import NEW, TAG, acted_upon, mounted_tmpfs, put

SIZE = 100_000
LEVELS = ["live", ".zfs/snapshot/1", "tagged", ".Trash-1000/files"]


def freed(folders):
    """What removing the redundant copies in these folders frees, which are in one of LEVELS."""
    levels = [LEVELS.index(folder) for folder in folders]
    best = min(levels)
    stay = [level for level in levels
            if level == 1 or level > best and (level == 3 or best > 0)]
    kept = best != 1
    return SIZE * (len(levels) - len(stay) - kept)


def figures(twinfs, *sources, view=None):
    """All figures that say what comes free, as a set."""
    listing = twinfs.listing(*sources)
    dry = twinfs.ok("remove", "--dry-run", "--format=json", *sources).json
    found = {listing["summary"]["reclaimable_bytes"],
             twinfs.ok("list", "--summary", "--format=json", *sources).json["summary"][
                 "reclaimable_bytes"],
             Page(twinfs.ok("report", "--html=-", *sources).out).answer()[0],
             sum(group["reclaimable"] for group in listing["groups"]),
             dry["summary"]["reclaimable_bytes"]}
    if view:
        found |= {view.status()["reclaimable_bytes"],
                  view.metrics()["twinfs_reclaimable_bytes", frozenset()],
                  sum(int(os.getxattr(group, "user.twinfs.reclaimable"))
                      for group in view.dups.iterdir())}
        # lists name only groups of which something would be removed
        order = [int(os.getxattr(group, "user.twinfs.reclaimable"))
                 for group in sorted(view.by_size.iterdir())]
        assert order == sorted(order, reverse=True)
        assert [size for size in order if size] == [
            group["reclaimable"] for group in listing["groups"] if group["reclaimable"]]
    return found


@pytest.fixture
def levels(source):
    """A group for each choice of two to four copies in LEVELS. Returns what comes free."""
    put(source / "tagged/CACHEDIR.TAG", TAG)
    total = 0
    for count in range(2, 5):
        for number, choice in enumerate(itertools.combinations_with_replacement(LEVELS, count)):
            content = f"{count} {number} ".encode().ljust(SIZE, b"x")
            for copy, folder in enumerate(choice):
                put(source / folder / f"{count} {number} {copy}", content)
            total += freed(choice)
    return total


def test_figures_of_commands_and_views_count_no_copy_that_stays_at_its_place(
        twinfs, source, levels):
    with twinfs.mounted(source) as view:
        assert figures(twinfs, source, view=view) == {levels}
        assert view.differences_now(source) == []
    assert figures(twinfs, source) == {levels}
    assert twinfs.ok("check", source).status == 0
    allocated = sum(path.stat().st_blocks for path in source.rglob("*") if path.is_file())
    twinfs.ok("remove", "--yes", source)
    left = sum(path.stat().st_blocks for path in source.rglob("*") if path.is_file())
    blocks = (source / "live/2 0 0").stat().st_blocks
    assert (allocated - left) * SIZE == levels * blocks


def test_figures_of_a_view_follow_the_places_of_copies(twinfs, source):
    for folder in ("a", "b", "c"):
        put(source / folder / "f", b"f" * SIZE)
    tag = source / "b/CACHEDIR.TAG"
    with twinfs.mounted(source) as view:
        def shown():
            view.sync()
            return figures(twinfs, source, view=view)
        assert shown() == {2 * SIZE}
        (source / "a/f").rename(source / "f")
        (source / "c").rename(source / ".stversions")  # a folder
        assert shown() == {SIZE}
        (source / "f").rename(source / ".stversions/g")  # a file
        assert shown() == {0}
        tag.write_bytes(TAG)
        assert shown() == {0}
        tag.unlink()
        assert shown() == {0}
        put(source / ".stversions/h", b"f" * SIZE)  # new copies
        put(source / "d/f", b"f" * SIZE)
        assert shown() == {SIZE}
        os.link(source / ".stversions/g", source / "better name")
        assert shown() == {2 * SIZE}
        (source / "better name").unlink()
        assert shown() == {SIZE}
        assert view.differences_now(source) == []
        (source / ".stversions").rename(source / "c")
        assert shown() == {4 * SIZE}
        assert twinfs.ok("check", source).status == 0


def test_figures_follow_the_places_of_copies_between_scans(twinfs, source):
    put(source / "a/f", b"f" * SIZE)
    put(source / "b/f", b"f" * SIZE)
    assert figures(twinfs, source) == {SIZE}
    (source / "b").rename(source / ".stversions")
    assert figures(twinfs, source) == {0}
    put(source / "a/CACHEDIR.TAG", TAG)
    put(source / ".stversions/g", b"f" * SIZE)
    assert figures(twinfs, source) == {0}
    (source / "a/f").rename(source / ".stversions/h")
    assert figures(twinfs, source) == {2 * SIZE}
    (source / ".stversions").rename(source / "b")
    assert figures(twinfs, source) == {2 * SIZE}
    assert twinfs.ok("check", source).status == 0


def test_figures_follow_copies_in_memory(twinfs, tmp_path, root_only):
    both = tmp_path / "memory", tmp_path / "disk"
    (tmp_path / "memory").mkdir()
    put(tmp_path / "disk/f", b"f" * SIZE)
    with mounted_tmpfs(tmp_path / "memory"):
        put(tmp_path / "memory/f", b"f" * SIZE)
        put(tmp_path / "memory/deep/again", b"f" * SIZE)
        with twinfs.mounted(*both) as view:
            assert figures(twinfs, *both, view=view) == {2 * SIZE}
            (tmp_path / "disk").rename(tmp_path / "aside")
            (tmp_path / "disk/.Trash-1").mkdir(parents=True)
            (tmp_path / "aside/f").rename(tmp_path / "disk/.Trash-1/f")
        with twinfs.mounted(*both) as view:
            assert figures(twinfs, *both, view=view) == {0}
            (tmp_path / "disk/.Trash-1/f").unlink()
            view.sync()
            assert figures(twinfs, *both, view=view) == {SIZE}
        twinfs.ok("check", *both)


def test_figures_leave_out_files_with_names_in_several_places_of_which_none_lasts(twinfs, source):
    put(source / "tagged/CACHEDIR.TAG", TAG)
    (source / ".stversions").mkdir()
    with twinfs.mounted(source) as view:
        for name in "abc":
            put(source / "tagged" / name, b"equal")
            os.link(source / "tagged" / name, source / ".stversions" / name)
        assert figures(twinfs, source, view=view) == {0}
        (source / ".stversions/c").unlink()
        assert figures(twinfs, source, view=view) == {len(b"equal")}


def test_figures_have_the_kept_copy_if_acts_keep_one_that_stays_anyway(twinfs, source):
    put(source / "tagged/CACHEDIR.TAG", TAG)
    put(source / "tagged/a", b"equal")
    (source / ".stversions").mkdir()
    with twinfs.mounted(source) as view:
        put(source / "tagged/b", b"equal", NEW)
        os.link(source / "tagged/b", source / ".stversions/b")
        assert figures(twinfs, source, view=view) == {len(b"equal")}
        assert view.differences_now(source) == []
    twinfs.ok("check", source)
    assert acted_upon(twinfs, "remove", source) == {str(source / "tagged/a")}


def test_figures_have_a_copy_in_memory_that_joins_before_the_kept_copy(twinfs, tmp_path, root_only):
    """Both files are read again and are a group of their own then, which keeps the former copy."""
    both = tmp_path / "memory", tmp_path / "disk"
    (tmp_path / "memory").mkdir(), (tmp_path / "disk").mkdir()
    with mounted_tmpfs(tmp_path / "memory"):
        put(tmp_path / "memory/f", b"equal")
        twinfs.ok("scan", *both)  # gives it the lower number
        put(tmp_path / "disk/f", b"equal")
        twinfs.ok("scan", *both)
        os.link(tmp_path / "disk/f", tmp_path / "disk/link")
        twinfs.ok("scan", *both)
        twinfs.ok("check", *both)
        assert figures(twinfs, *both) == {len(b"equal")}

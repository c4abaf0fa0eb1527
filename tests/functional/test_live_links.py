# SPDX-License-Identifier: MIT
"""Contents of files with hard links that events do not report, or that the index miscounts."""
import contextlib
import os

import pytest
import trees
from changes import rewrite_and_restore_mtime
from disks import bound, disk
from processes import stopped, until

MANY = 5000  # more than scan/batch.c commits at a time
FILES = 60
QUEUES = 64  # of events: WATCH_QUEUES_MAX in view/follow/watch.h


def test_link_of_a_file_that_was_written_to_outside_is_not_taken_for_all_its_names(
        twinfs, source, tmp_path):
    """A new link is possibly committed before the removal of another name. Then the file has as
    many names as links, although one of its links is outside."""
    trees.fill(source, {b"kept/%d" % number: b"%d old" % number for number in range(FILES)})
    with twinfs.mounted(source) as view:
        # Directories are rechecked in the order in which they entered the index.
        for folder, count in ("to", 1), ("busy", MANY), ("from", FILES):
            trees.fill(source, {f"{folder}/{number}".encode(): b"%d old" % number
                                for number in range(count)})
            view.sync()
        for number in range(FILES):
            os.link(source / f"from/{number}", tmp_path / f"{number}")
        assert view.differences_now(source) == []
        with stopped(view.pid):
            for number in range(FILES):
                rewrite_and_restore_mtime(tmp_path / f"{number}")
                os.link(tmp_path / f"{number}", source / f"to/link {number}")
            for number in range(MANY):
                os.unlink(source / f"busy/{number}")
            for number in range(FILES):
                os.unlink(source / f"from/{number}")
        assert view.differences_now(source) == []


# names that events do not report

@contextlib.contextmanager
def beside_a_polled_source(twinfs, folder):
    """A view, its sources, a folder of files, and a folder of folders with links to the files.
    Events do not report the links: there are more sources than queues of events."""
    sources = [folder / f"source {number:02}" for number in range(QUEUES + 1)]
    for source in sources:
        source.mkdir()
    make_linked_files(sources[0], sources[-1])
    with twinfs.mounted(*sources) as view:
        yield view, sources, sources[0], sources[-1]


@contextlib.contextmanager
def with_few_watches(twinfs, folder):
    """The same with one source. Each thread that walks can add one watch."""
    source = folder / "source"
    make_linked_files(source, source)
    few = "inject=inotify_add_watch:error=ENOSPC:when=2+"
    other = twinfs.under_strace("-e", "trace=inotify_add_watch", "-e", few)
    with other.mounted_in_foreground(source, options=("--wait", "--watch=inotify")) as (_, view):
        assert view.status()["unwatched"] > 0
        yield view, [source], source, source


def make_linked_files(files, links):
    for number in range(FILES):
        trees.write(files / f"file {number}", b"%02d old" % number)
        trees.write(files / f"same {number}", b"%02d old" % number)
        (links / f"{number}").mkdir()
        os.link(files / f"file {number}", links / f"{number}/link")


def link_after_a_write(file, link, outside):
    rewrite_and_restore_mtime(link)
    os.link(link, f"{file} new")


def unlink_after_a_write(file, link, outside):
    rewrite_and_restore_mtime(link)
    os.unlink(file)


def link_after_a_removal(file, link, outside):
    rewrite_and_restore_mtime(outside)
    os.unlink(link)
    os.link(outside, f"{file} new")


@pytest.mark.parametrize("place", [beside_a_polled_source, with_few_watches])
@pytest.mark.parametrize("act", [link_after_a_write, unlink_after_a_write, link_after_a_removal])
def test_file_with_names_without_events_is_compared_after_its_links_change(
        twinfs, tmp_path, place, act):
    with place(twinfs, tmp_path) as (view, sources, files, links):
        if act is link_after_a_removal:
            for number in range(FILES):
                os.link(files / f"file {number}", tmp_path / f"{number}")
        view.sync()
        generation = view.status()["generation"]
        with stopped(view.status()["pid"]):
            for number in range(FILES):
                act(files / f"file {number}", links / f"{number}/link", tmp_path / f"{number}")
        assert until(lambda: view.status()["generation"] > generation)
        assert view.differences_now(*sources) == []


# names that are gone, and names that the index has twice

def test_link_is_not_taken_for_all_names_while_the_folder_of_a_removed_name_moves(
        twinfs, source, tmp_path):
    """The recheck of that folder fails at first, as the index has another path."""
    trees.fill(source, {"same": b"old", "from/file": b"old", "to/other": b"other"})
    os.link(source / "from/file", tmp_path / "outside")
    with twinfs.mounted(source) as view:
        view.sync()
        with stopped(view.pid):
            rewrite_and_restore_mtime(tmp_path / "outside")
            os.link(tmp_path / "outside", source / "to/link")
            os.unlink(source / "from/file")
            os.rename(source / "from", source / "moved")
        assert view.differences_now(source) == []


def test_names_of_a_missing_source_are_not_taken_for_links(twinfs, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    trees.fill(tmp_path, {"one/same": b"old", "two/file": b"old"})
    os.link(two / "file", tmp_path / "outside")
    with twinfs.mounted(one, two) as view:
        os.rename(two, one / "moved")
        view.sync()
        rewrite_and_restore_mtime(tmp_path / "outside")
        os.rename(one / "moved/file", one / "moved/renamed")
        view.sync()
        os.rename(one / "moved", two)
        assert view.differences_now(one, two) == []


def test_name_in_two_sources_is_not_taken_for_two_links(twinfs, tmp_path):
    """A bind mount shows a folder of one source as another source."""
    one, failed = tmp_path / "one", []
    trees.fill(one, {"same": b"old", "folder/file": b"old"})
    os.link(one / "folder/file", tmp_path / "outside")
    with bound(one / "folder", tmp_path / "two") as two, twinfs.mounted(one, two) as view:
        view.sync()
        rewrite_and_restore_mtime(tmp_path / "outside")
        os.link(one / "folder/file", one / "link")
        view.sync()
        assert view.wrong_bytes(tmp_path, failed) == failed == []


def test_name_at_two_mounts_is_not_taken_for_two_links(twinfs, source, tmp_path):
    """Another file system is mounted twice in the source."""
    failed = []
    with disk("ext4", tmp_path) as root:
        trees.fill(root, {"folder/same": b"old", "folder/file": b"old"})
        os.link(root / "folder/file", root / "outside")
        with bound(root / "folder", source / "1") as at, bound(root / "folder", source / "2"), \
                twinfs.mounted(source, options=("--wait", "--cross-file-systems")) as view:
            view.sync()
            rewrite_and_restore_mtime(root / "outside")
            os.link(at / "file", at / "link")
            view.sync()
            assert view.wrong_bytes(source, failed) == failed == []

# SPDX-License-Identifier: MIT
"""Views whose sources are watched by fanotify, with a mark on the whole file system."""
import contextlib
import os
import random
import subprocess
from pathlib import Path

import changes
import pytest
import storm
import trees
from changes import OTHER
from disks import disk, overlay
from processes import stopped, until

FANOTIFY = ("--wait", "--watch=fanotify")
FOLDERS = 60


def queues(view):
    """The kinds of event queues that the daemon has open."""
    found = set()
    for path in Path(f"/proc/{view.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.add(os.readlink(path).removeprefix("anon_inode:").strip("[]"))
    return found & {"inotify", "fanotify"}


@pytest.fixture
def possible(twinfs, tmp_path, root_only):
    """Skips tests where the kernel does not permit marks on file systems."""
    empty = tmp_path / "empty"
    trees.write(empty / "file", b"file")
    other = twinfs.with_index(tmp_path / "other index")
    mount = tmp_path / "other mount"
    mount.mkdir()
    result = other("mount", *FANOTIFY, empty, mount)
    if result.status != 0:
        assert any("by fanotify" in line for line in result.errors), result
        pytest.skip("needs fanotify with a mark on a file system")
    subprocess.run(["umount", mount], check=True)


@pytest.fixture
def view(twinfs, source, possible):
    changes.build(source)
    with twinfs.mounted(source, options=FANOTIFY) as mounted:
        assert mounted.status()["watch"] == "fanotify"
        yield mounted


# changes

@changes.EACH_WATCHED
def test_change_is_in_the_view_after_sync(view, source, change):
    assert view.differences(source) == []  # fills the caches of the kernel
    change(source)
    assert view.differences_now(source) == []


@changes.EACH_WATCHED
def test_change_whose_events_come_at_once_is_in_the_view(view, source, change):
    with stopped(view.pid):
        change(source)
    assert view.differences_now(source) == []


@pytest.mark.parametrize("kind", storm.KINDS)
def test_view_agrees_with_its_source_after_a_storm(twinfs, source, possible, kind):
    seed = int(os.environ.get("STORM_SEED", random.randrange(1 << 32)))
    seconds = float(os.environ.get("STORM_SECONDS", "3"))
    outcome = storm.run(twinfs, source, kind, seconds, seed, options=FANOTIFY)
    assert outcome.well, str(outcome)


def test_overflow_of_the_queue_loses_nothing(view, source):
    trees.many(source / "old", 400, lambda number: b"%d" % (number // 2), folders=20)
    view.sync()
    with stopped(view.pid):
        storm.burst(source / "burst")
        changes.change_with_mtime_restored(source)
        os.rename(source / "old/003", source / "old/moved")
        trees.write(source / "old/006/000006", b"other")
    assert view.differences_now(source) == []
    trees.write(source / "old/moved/later", OTHER)
    assert view.differences_now(source) == []


def test_files_of_a_renamed_folder_are_not_read_again(twinfs, source, possible):
    trees.many(source / "old", 200, lambda number: b"%d" % (number // 2), folders=5)
    with twinfs.mounted_and_traced(source, options=FANOTIFY) as view:
        view.sync()
        view.reads(source)
        os.rename(source / "old", source / "new")
        view.sync()
        assert view.reads(source) == []
        assert view.differences(source, first_scan=False) == []


def test_moves_between_sources_are_followed(twinfs, tmp_path, possible):
    one, two = (tmp_path / name for name in ("one", "two"))
    for root in (one, two):
        changes.build(root)
    with twinfs.mounted(one, two, options=FANOTIFY) as view:
        os.rename(one / "d", two / "x")
        os.rename(two / "c", one / "c two")
        trees.write(one / "d/f/new", OTHER)
        assert view.differences_now(one, two) == []


def test_changes_outside_of_the_source_and_of_the_index_cause_no_commit(view, source):
    view.sync()
    generation = view.status()["generation"]
    for number in range(200):
        trees.write(source.parent / f"outside/{number}", b"outside")
    trees.remove(source.parent / "outside")
    view.sync()
    assert view.status()["generation"] == generation


# hard links outside of the source

def rewrite(away):
    changes.rewrite(away, b"changed")


def rewrite_and_restore_mtime(away):
    changes.rewrite_and_restore_mtime(away)


def rename_and_rewrite(away):
    os.rename(away, away.with_name("other"))
    changes.rewrite_and_restore_mtime(away.with_name("other"))


def write_under_a_removed_name(away):
    with open(away, "r+b", buffering=0) as file:
        os.unlink(away)
        file.write(b"changed")


def is_copy(view, name):
    """Whether the listings of dups/ have the name. Opens no file, as that would cause a recheck."""
    return any(name in os.listdir(folder) for folder in view.dups.iterdir())


@pytest.mark.parametrize("act", [rewrite, rewrite_and_restore_mtime, rename_and_rewrite,
                                 write_under_a_removed_name], ids=lambda act: act.__name__)
def test_write_by_a_link_outside_is_in_the_view(twinfs, source, possible, act):
    changes.build(source)
    away = changes.outside(source) / "link"
    os.link(source / "b", away)
    with twinfs.mounted(source, options=FANOTIFY) as view:
        assert is_copy(view, "b")
        act(away)
        view.sync()
        assert not is_copy(view, "b")
        assert view.differences(source, first_scan=False) == []


def test_mode_that_is_changed_by_a_link_outside_is_in_the_view(view, source):
    away = changes.outside(source) / "link"
    os.link(source / "b", away)
    view.sync()
    os.chmod(away, 0o604)
    view.sync()
    [shown] = [tree / "b" for tree in (view.uniques, view.redundant) if (tree / "b").exists()]
    assert os.stat(shown).st_mode & 0o777 == 0o604
    os.unlink(away)
    assert view.differences_now(source) == []


def test_write_by_a_link_in_a_new_folder_needs_no_walk(twinfs, source, possible):
    """Neither does the new folder itself."""
    changes.build(source)
    trees.many(source / "many", 100, lambda number: b"%d" % number, folders=50)
    with twinfs.mounted_and_traced(source, options=FANOTIFY, calls="getdents64") as view:
        view.sync()
        before = view.trace.read_bytes().count(b"/many/0")
        with stopped(view.pid):
            (source / "new").mkdir()
            os.link(source / "b", source / "new/link")
            rewrite_and_restore_mtime(source / "new/link")
            os.unlink(source / "new/link")
        view.sync()
        assert not is_copy(view, "b")
        assert view.trace.read_bytes().count(b"/many/0") == before > 0


def test_file_that_is_written_by_a_link_outside_is_hidden_at_once(view, source):
    away = changes.outside(source) / "link"
    os.link(source / "b", away)
    view.sync()
    assert is_copy(view, "b")
    with open(away, "r+b", buffering=0) as file:
        file.write(b"changed")
        assert until(lambda: view.pending() == {os.fsencode(source / "b")})
        assert not is_copy(view, "b")
    assert view.differences_now(source) == []


def test_file_of_another_source_is_found_by_a_link_outside(twinfs, tmp_path, possible):
    one, two = (tmp_path / name for name in ("one", "two"))
    for root in (one, two):
        changes.build(root)
    os.link(one / "b", tmp_path / "link")
    os.link(one / "c", two / "link")
    with twinfs.mounted(one, two, options=FANOTIFY) as view:
        rewrite_and_restore_mtime(tmp_path / "link")
        rewrite_and_restore_mtime(two / "link")
        assert view.differences_now(one, two) == []


# file systems

def subvolume(root):
    made = subprocess.run(["btrfs", "subvolume", "create", root / "sub"], check=False,
                          capture_output=True)
    return root / "sub" if made.returncode == 0 else root


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_each_file_system_is_watched(twinfs, tmp_path, possible, kind):
    with disk(kind, tmp_path) as root:
        source = root / "source"
        source.mkdir()
        changes.build(source)
        with twinfs.mounted(source, options=FANOTIFY) as view:
            for change in (changes.change_with_mtime_restored, changes.exchange_folders_at_once,
                           changes.move_a_tree_in, changes.swap_symlinks,
                           changes.add_hard_links):
                change(source)
                assert view.differences_now(source) == [], change.__name__
            os.link(source / "a", root / "link")
            assert view.differences_now(source) == []
            rewrite_and_restore_mtime(root / "link")
            assert view.differences_now(source) == []


def test_subvolume_is_watched_or_refused(twinfs, tmp_path, possible):
    with disk("btrfs", tmp_path) as root:
        source = subvolume(root)
        changes.build(source)
        mount = tmp_path / "mount"
        mount.mkdir()
        result = twinfs("mount", *FANOTIFY, source, mount)
        if result.status == 0:
            subprocess.run(["umount", mount], check=True)
            with twinfs.mounted(source, options=FANOTIFY) as view:
                changes.change_with_mtime_restored(source)
                assert view.differences_now(source) == []
        else:
            assert "by fanotify" in result.errors[0]


def test_overlay_is_refused_and_watched_by_inotify(twinfs, tmp_path, mount, possible):
    with overlay(tmp_path) as source:
        changes.build(source)
        result = twinfs("mount", *FANOTIFY, source, mount)
        assert result.status == 1
        assert "by fanotify: Operation not supported" in result.errors[0]
        assert result.errors[0].endswith("use --watch=auto")
        with twinfs.mounted(source) as view:
            assert view.status()["watch"] == "inotify"


def test_other_file_system_in_the_source_is_polled(twinfs, tmp_path, source, possible):
    changes.build(source)
    with disk("ext4", tmp_path) as root:
        (source / "m").mkdir()
        subprocess.run(["mount", "--bind", root, source / "m"], check=True)
        try:
            options = (*FANOTIFY, "--cross-file-systems")
            with twinfs.mounted(source, options=options) as view:
                status = view.status()
                assert status["unwatched"] > 0 and "file system" in status["remedy"]
                trees.write(source / "m/new", b"new")
                trees.write(source / "new", b"new")
                view.sync()
                assert (view.uniques / "new").exists() or (view.redundant / "new").exists()
                assert (view.uniques / "m/new").exists() or (view.redundant / "m/new").exists()
        finally:
            subprocess.run(["umount", source / "m"], check=True)


def test_folders_without_a_handle_are_polled(twinfs, source, possible):
    changes.build(source)
    trees.many(source / "many", 60, lambda number: b"%d" % number, folders=20)
    fails = "inject=name_to_handle_at:error=EIO:when=4+"
    other = twinfs.under_strace("-e", "trace=name_to_handle_at", "-e", fails)
    with other.mounted_in_foreground(source, options=FANOTIFY) as (_, view):
        assert view.status()["unwatched"] > 0
        for number in range(20):
            trees.write(source / f"many/{number:03}/new", b"new")
        assert view.differences_now(source) == []


# rights

def test_plain_user_is_refused_with_the_remedy(as_user, source, mount, root_only):
    changes.build(source)
    os.chown(mount, as_user.user.pw_uid, as_user.user.pw_gid)
    result = as_user("mount", *FANOTIFY, source, mount)
    assert result.status == 1
    assert result.errors == [f"twinfs: cannot watch '{source}' by fanotify: Operation not "
                             "permitted; only root with all capabilities can do this; use "
                             "--watch=auto"]


def test_daemon_keeps_no_right_to_administer(view, plain_build):
    assert "sys_admin" not in view.status()["confined"]
    assert queues(view) == {"fanotify"}


# auto

def test_auto_uses_inotify_while_the_watches_suffice(twinfs, source, possible):
    changes.build(source)
    with twinfs.mounted(source) as view:
        assert view.status()["watch"] == "inotify"
        assert queues(view) == {"inotify"}


@pytest.mark.parametrize("left", [0, 5])
def test_auto_uses_fanotify_if_the_watches_run_out(twinfs, source, possible, left):
    """Each thread that walks can add this number of watches."""
    changes.build(source)
    trees.many(source / "many", 600, lambda number: b"%d" % (number // 2), folders=FOLDERS)
    few = f"inject=inotify_add_watch:error=ENOSPC:when={left + 1}+"
    other = twinfs.under_strace("-e", "trace=inotify_add_watch", "-e", few)
    with other.mounted_in_foreground(source) as (_, view):
        assert view
        status = view.status()
        view.pid = status["pid"]
        assert status["watch"] == "fanotify" and "unwatched" not in status
        assert queues(view) == {"fanotify"}
        for number in range(FOLDERS):
            trees.write(source / f"many/{number:03}/new", b"%d" % (number // 2))
        os.rename(source / "many/030", source / "many/moved")
        trees.write(source / "many/moved/newer", OTHER)
        trees.remove(source / "many/031")
        assert view.differences_now(source) == []


def test_auto_uses_fanotify_if_no_inotify_instance_is_left(twinfs, source, possible):
    changes.build(source)
    few = "inject=inotify_init1:error=EMFILE"
    other = twinfs.under_strace("-e", "trace=inotify_init1", "-e", few)
    with other.mounted_in_foreground(source) as (_, view):
        assert view.status()["watch"] == "fanotify"
        changes.change_with_mtime_restored(source)
        assert view.differences_now(source) == []

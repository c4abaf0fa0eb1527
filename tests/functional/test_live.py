# SPDX-License-Identifier: MIT
"""A mounted view follows its sources: after `sync` it agrees with them."""
import errno
import fnmatch
import os
import re
import shutil
import subprocess

import changes
import oracle
import pytest
import trees
from changes import DATA, OTHER
from processes import end_process, stopped, until


def shown(view, name):
    """The name of the folder in dups/ that has this copy."""
    [folder] = [os.fsdecode(folder) for folder, names in view.copies().items()
                if os.fsencode(name).replace(b"/", oracle.SLASH) in names]
    return folder


def names_in(folder):
    return [os.fsdecode(entry.path) for entry in oracle.walk.walk(folder)]


def in_dups(view):
    return {name.replace(oracle.SLASH, b"/").decode()
            for names in view.copies().values() for name in names}


# every change

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


def test_file_whose_other_names_were_removed_with_a_folder_is_right(view, source):
    os.link(source / "b", source / "d/f/link")
    view.sync()
    with stopped(view.pid):
        trees.remove(source / "d")
    assert view.differences_now(source) == []
    assert "b" in in_dups(view)


def test_changes_one_after_the_other_are_in_the_view(view, source):
    for change in (changes.add_hard_links, changes.change_attributes, changes.copy_the_tree,
                   changes.exchange_files, changes.rename_over_another,
                   changes.move_a_tree_in, changes.rename_a_folder):
        change(source)
        assert view.differences_now(source) == []
    changes.remove_everything(source)
    changes.build(source)
    assert view.differences_now(source) == []


def test_moves_between_sources_are_followed(twinfs, tmp_path):
    one, two = (tmp_path / name for name in ("one", "two"))
    for root in (one, two):
        changes.build(root)
    with twinfs.mounted(one, two) as view:
        os.rename(one / "d", two / "x")
        os.rename(two / "c", one / "c two")
        trees.write(one / "d/f/new", OTHER)
        assert view.differences_now(one, two) == []


@pytest.mark.parametrize("glob", ["d/e", "d/f/*", "x/e", "/x/f", "d/*"])
def test_globs_with_slashes_follow_a_folder_that_moves(twinfs, source, glob):
    changes.build(source)
    pattern = glob.lstrip("/")
    depth = pattern.count("/") + 1

    def files(folder):
        return {path for path in names_in(folder)
                if path and not os.path.isdir(os.path.join(folder, path))}

    def wanted():
        return {path for path in files(source)
                if not fnmatch.fnmatch("/".join(path.split("/")[:depth]), pattern)}

    with twinfs.mounted(source, options=("--wait", "--exclude", glob)) as view:
        for one, two in (("d", "x"), ("x", "d"), ("d", "y/d"), ("y", "x"), ("x/d", "d")):
            (source / two).parent.mkdir(exist_ok=True)
            os.rename(source / one, source / two)
            view.sync()
            assert files(view.uniques) | in_dups(view) == wanted()


# content

def test_new_copy_appears_after_sync(view, source):
    trees.write(source / "d/new", DATA)
    trees.write(source / "new", OTHER)
    view.sync()
    assert shown(view, "d/new") == shown(view, "a")
    assert shown(view, "new") == shown(view, "c")
    assert (view.dups / shown(view, "c") / "new").read_bytes() == OTHER
    assert not (view.uniques / "new").exists()


def test_new_copy_appears_without_sync(view, source):
    trees.write(source / "new", OTHER)
    assert until(lambda: "new" in in_dups(view))
    assert view.differences(source, first_scan=False) == []


def test_changed_copy_is_unique(view, source):
    changes.rewrite(source / "b", b"changed")
    view.sync()
    assert in_dups(view) == {"a", "d/e", "d/f/g", "h"}
    assert (view.uniques / "b").read_bytes() == (source / "b").read_bytes()


@pytest.mark.parametrize("kept", ["a", "b"], ids=["kept", "redundant"])
def test_copy_that_is_open_for_writing_is_pending_and_unique(view, source, kept):
    """Also before the file is closed; sync does not wait for the close."""
    with open(source / kept, "r+b", buffering=0) as file:
        file.write(b"changed")
        view.sync()
        assert view.pending() == {os.fsencode(source / kept)}
        assert view.status()["pending"] == 1
        assert kept not in in_dups(view)
        assert {"a", "b"} & set(os.listdir(view.uniques)) >= {kept}
        assert {"a", "b", "d/e"} - {kept} <= in_dups(view)
        file.seek(0)
        file.write(DATA[:7])
        view.sync()
        assert kept not in in_dups(view)
    view.sync()
    assert view.pending() == set()
    assert kept in in_dups(view)
    assert view.differences(source, first_scan=False) == []


def test_file_that_grows_all_the_time_delays_no_other(view, source):
    with open(source / "growing", "wb", buffering=0) as file:
        for number in range(20):
            file.write(DATA)
            trees.write(source / f"new {number}", OTHER)
            view.sync()
            assert f"new {number}" in in_dups(view)
            assert (view.uniques / "growing").stat().st_size == file.tell()
    assert view.differences_now(source) == []


def test_copy_rewritten_with_the_same_bytes_stays_a_copy(view, source):
    for _ in range(5):
        changes.rewrite(source / "b", DATA)
        assert view.differences_now(source) == []


# names

def test_hard_links_count_as_in_the_source(view, source):
    for step in (lambda: os.link(source / "c", source / "d/f/link"),
                 lambda: os.link(source / "c", source / "again"),
                 lambda: os.unlink(source / "c"),
                 lambda: os.rename(source / "again", source / "d/again"),
                 lambda: os.unlink(source / "d/f/link")):
        step()
        view.sync()
        links = [path for path in source.rglob("*")
                 if path.is_file() and path.read_bytes() == OTHER]
        assert links
        for path in links:
            entry = view.uniques / path.relative_to(source)
            assert entry.stat().st_nlink == path.stat().st_nlink
        assert view.differences(source, first_scan=False) == []


def test_times_of_folders_are_those_of_the_source(view, source):
    for change in (lambda: trees.write(source / "d/new", b"x"),
                   lambda: os.unlink(source / "d/e"),
                   lambda: os.rename(source / "d/f", source / "f"),
                   lambda: os.utime(source / "d", ns=(1, 1)),
                   lambda: os.symlink("x", source / "d/symlink")):
        change()
        view.sync()
        for name in ("", "d"):
            assert (view.uniques / name).stat().st_mtime_ns == (source / name).stat().st_mtime_ns


@pytest.mark.parametrize("kind", ["renamed", "moved", "exchanged"])
def test_moved_folder_is_not_read_again(twinfs, source, strace, kind):
    """The folder has 2,000 files, half of them copies. Changes in it are followed at its new
    path."""
    trees.many(source / "big/deep/er", 2000, lambda number: b"%06d" % (number // 2), folders=20)
    trees.fill(source, {b"x/other": DATA, b"x/y/other": DATA})
    with twinfs.mounted_and_traced(source) as view:
        view.sync()
        assert view.reads(source) != []
        to = {"renamed": "small", "moved": "x/y/big", "exchanged": "x"}[kind]
        if kind == "exchanged":
            changes.exchange(source / "big", source / "x")
        else:
            os.rename(source / "big", source / to)
        view.sync()
        assert view.reads(source) == []
        inside = source / to / "deep/er/003"
        trees.write(inside / "new", b"%06d" % 1)
        os.unlink(inside / "000003")
        view.sync()
        assert {os.path.basename(path) for _, path in view.reads(source)} <= {
            b"new", b"000002"}
        assert view.differences(source, first_scan=False) == []


def test_rename_that_is_rechecked_twice_causes_no_walk(twinfs, source, strace):
    """The first recheck finds the renamed file's folder at another path, and requests a second."""
    trees.fill(source, {b"%03d/other" % number: b"%d" % number for number in range(400)})
    trees.fill(source, {b"from/file": DATA})
    listing = re.compile(rb"getdents64\(\d+<%s[/>]" % re.escape(os.fsencode(source)))
    with twinfs.mounted_and_traced(source, calls="getdents64") as view:
        view.sync()
        assert len(listing.findall(view.trace_since())) > 400
        with stopped(view.pid):
            os.rename(source / "from/file", source / "from/renamed")
            os.rename(source / "from", source / "to")
        view.sync()
        assert len(listing.findall(view.trace_since())) < 20
        assert view.differences(source, first_scan=False) == []


def test_repeated_exchanges_of_names_are_followed(view, source):
    """Two folders with files exchange their names repeatedly."""
    trees.fill(source, {b"x/e": OTHER, b"x/f/g": b"other"})
    for number in range(50):
        changes.exchange(source / "x", source / "d")
        os.rename(source / "x", source / "d/x" if number % 3 else source / "y")
        trees.write(source / "d/f/g", b"%d" % (number % 2))
        os.rename(source / "d/x" if number % 3 else source / "y", source / "x")
    assert view.differences_now(source) == []


# what cannot be read

def test_locked_folder_is_locked_in_the_view_until_it_is_unlocked(
        as_user, tmp_path, fuse_for_users, plain_user):
    source = tmp_path / "source"
    changes.build(source)
    shutil.chown(tmp_path, plain_user.pw_uid, plain_user.pw_gid)
    for path in (source, *source.rglob("*")):
        shutil.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    with as_user.mounted(source) as view:
        assert view.differences(source) == []
        os.chmod(source / "d", 0)
        view.sync()
        assert "EACCES" in {error["error"] for error in view.errors()}
        listing = as_user.as_user() + ["ls", view.uniques / "d"]
        run = subprocess.run(listing, check=False, capture_output=True, text=True)
        assert run.stderr.endswith("Permission denied\n")
        os.chmod(source / "d", 0o755)
        assert view.differences_now(source) == []
        assert view.errors() == []


@pytest.mark.parametrize("back", [False, True], ids=["made again", "moved back"])
def test_missing_source_is_reported_and_its_files_stay(twinfs, source, tmp_path, back):
    changes.build(source)
    other = tmp_path / "other"
    trees.fill(other, {b"z": DATA, b"alone": b"alone"})
    with twinfs.mounted(source, other) as view:
        before = view.copies()
        os.rename(source, tmp_path / "elsewhere")
        view.sync()
        assert [tree.get("missing", False) for tree in view.status()["sources"]] == [True, False]
        assert view.copies() == before
        assert os.listdir(view.uniques / "other") == ["alone"]
        trees.write(other / "new", b"alone")  # the other source is still followed
        assert until(lambda: view.sync() and "other/new" in in_dups(view))
        if back:
            os.rename(tmp_path / "elsewhere", source)
        else:
            source.mkdir()
            trees.fill(source, {b"a": DATA, b"d/other": OTHER})
        assert view.differences_now(source, other) == []
        assert [tree.get("missing", False) for tree in view.status()["sources"]] == [
            False, False]
        trees.write(source / "d/new", DATA)
        assert view.differences_now(source, other) == []


def test_removed_source_is_missing_until_it_is_recreated(view, source):
    trees.remove(source)
    view.sync()
    assert view.status()["sources"][0]["missing"] is True
    changes.build(source)
    assert view.differences_now(source) == []
    assert not view.status()["sources"][0].get("missing", False)


def test_removed_source_without_a_queue_is_followed_once_it_is_recreated(twinfs, tmp_path):
    """Sources after the 64th one have no queue of events, and are polled."""
    sources = [tmp_path / f"source {number}" for number in range(66)]
    for source in sources:
        trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(*sources) as view:
        for _ in range(2):
            trees.remove(sources[-1])
            view.sync()
            assert view.status()["sources"][-1]["missing"] is True
            trees.fill(sources[-1], {b"new": b"same", b"b": b"other"})
            view.sync()
            assert not view.status()["sources"][-1].get("missing", False)
            assert {name.rsplit("/", 1)[1] for name in in_dups(view)
                    if name.startswith("source 65/")} == {"new"}


# restarts

def test_files_compared_by_the_daemon_are_not_read_after_a_restart(twinfs, source, strace):
    changes.build(source)
    with twinfs.mounted(source) as view:
        trees.fill(source, {b"new": OTHER, b"x/y/new": b"small"})
        os.rename(source / "d", source / "moved")
        view.sync()
    assert twinfs.content_read("scan", source, below=source) == []
    changes.rewrite(source / "b", b"changed without a daemon")
    with twinfs.mounted_and_traced(source) as view:
        view.sync()
        assert {path for _, path in view.reads(source)} <= {
            os.fsencode(source / name) for name in ("a", "b", "moved/e", "c", "new")}
        assert b"small" not in {os.path.basename(path) for _, path in view.reads(source)}
        assert view.differences(source, first_scan=False) == []


def test_followed_changes_survive_a_killed_daemon(twinfs, source):
    changes.build(source)
    with twinfs.mounted(source) as view:
        changes.rename_a_folder_and_change_what_is_in_it(source)
        view.sync()
        changes.swap_symlinks(source)  # possibly not committed before the kill
        changes.change_with_mtime_restored(source)
        end_process(view.pid, 9)
        view.pid = None
        with twinfs.mounted(source) as again:
            assert again.differences(source, first_scan=False) == []
            trees.write(source / "moved/f/last", OTHER)
            assert again.differences_now(source) == []


def test_kept_copy_stays_kept_when_copies_are_added(twinfs, source):
    changes.build(source)
    with twinfs.mounted(source) as view:
        trees.fill(source, {b"0": DATA, b"A": OTHER})
        view.sync()
        assert not (view.uniques / "0").exists() and (view.uniques / "a").exists()
        assert not (view.uniques / "A").exists() and (view.uniques / "c").exists()
        os.unlink(source / "a")
        view.sync()
        [kept] = set(names_in(view.uniques)) & {"0", "b", "d/e"}
        trees.fill(source, {b"00": DATA})
        view.sync()
        assert set(names_in(view.uniques)) & {"00", "0", "b", "d/e"} == {kept}
    with twinfs.mounted(source) as view:
        assert set(names_in(view.uniques)) & {"00", "0", "b", "d/e"} == {kept}
        assert view.differences(source, first_scan=False) == []


# before the event

def test_changed_file_is_never_served_with_its_old_content(view, source):
    """Without sync, each open between the change and its event gives ESTALE or the new content."""
    path = view.dups / shown(view, "b") / "b"
    for number in range(200):
        changes.rewrite(source / "b", b"%07d" % number)
        for shown_path in (path, view.uniques / "b"):
            try:
                assert shown_path.read_bytes() == (source / "b").read_bytes()
            except OSError as error:
                assert error.errno in (errno.ENOENT, errno.ESTALE)
    assert view.differences_now(source) == []

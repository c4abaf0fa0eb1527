# SPDX-License-Identifier: MIT
"""Back ends for watching, lost events, and changes without events."""
import json
import os
import signal
import subprocess
from pathlib import Path

import changes
import pytest
import storm
import trees
from changes import DATA, OTHER
from disks import overlay
from few_watches import FEW, followed_inside, unwatched
from processes import TIMEOUT, stopped, until
from program import View, held_meanwhile

FOLDERS = 60


def agrees(view, *sources):
    """Whether the view agrees with the sources now or soon."""
    def claim():
        try:
            return view.differences(*sources, first_scan=False) == []
        except OSError:  # the view changes meanwhile
            return False

    return until(claim, timeout=30)


def linked_outside(source):
    """Links a file to a folder outside of the source; returns that path. Writes through it raise no
    event."""
    away = changes.outside(source) / "link"
    os.link(source / "b", away)
    return away


# back ends

@pytest.mark.parametrize("watch", ["auto", "inotify", "poll", "none"])
def test_view_with_each_back_end_is_exact_after_sync(twinfs, source, watch):
    changes.build(source)
    with twinfs.mounted(source, options=("--wait", f"--watch={watch}")) as view:
        assert view.status()["watch"] == ("inotify" if watch == "auto" else watch)
        for change in (changes.change_with_mtime_restored, changes.exchange_folders_at_once,
                       changes.move_a_tree_in, changes.swap_symlinks, changes.change_attributes,
                       changes.add_hard_links):
            change(source)
            assert view.differences_now(source) == [], change.__name__


def test_polling_finds_changes_without_sync(twinfs, source):
    changes.build(source)
    options = ("--wait", "--watch=poll", "--interval=1s")
    with twinfs.mounted(source, options=options) as view:
        changes.rewrite(linked_outside(source), b"changed")
        changes.make_a_deep_tree_at_once(source)
        assert agrees(view, source)


def test_folder_mounted_twice_is_exact_at_both_paths(twinfs, source, root_only):
    changes.build(source)
    os.mkdir(source / "m")
    subprocess.run(["mount", "--bind", source / "d", source / "m"], check=True)
    try:
        with twinfs.mounted(source, options=("--wait", "--cross-file-systems")) as view:
            trees.write(source / "d/new", b"by one name")
            trees.write(source / "m/newer", b"by the other")
            os.unlink(source / "d/e")
            view.sync()
            for place in ("d", "m"):
                assert {"new", "newer"} <= set(os.listdir(view.uniques / place))
                assert not (view.uniques / place / "e").exists()
            subprocess.run(["umount", source / "m"], check=True)
            assert view.differences_now(source) == []
    finally:
        subprocess.run(["umount", source / "m"], check=False, capture_output=True)


def test_watch_none_uses_no_inotify(twinfs, source):
    changes.build(source)
    with twinfs.mounted(source, options=("--wait", "--watch=none")) as view:
        handles = Path(f"/proc/{view.pid}/fd")
        assert not [name for name in os.listdir(handles)
                    if "inotify" in os.readlink(handles / name)]


@pytest.mark.parametrize("words", [["--watch=magic"], ["--watch=poll", "--interval=soon"],
                                   ["--rescan-interval=-1s"]])
def test_wrong_watch_options_are_wrong_usage(twinfs, source, mount, words):
    changes.build(source)
    result = twinfs("mount", *words, source, mount)
    assert result.status == 2, result
    assert words[-1].split("=")[0].lstrip("-") in result.errors[0]


# changes without an event

def test_sighup_rescans_everything(twinfs, source):
    changes.build(source)
    with twinfs.mounted(source) as view:
        changes.rewrite(linked_outside(source), b"changed")
        os.kill(view.pid, signal.SIGHUP)
        assert agrees(view, source)
        trees.write(source / "d/new", OTHER)
        assert view.differences_now(source) == []


def test_rescan_interval_finds_changes_without_an_event(twinfs, source):
    changes.build(source)
    options = ("--wait", "--rescan-interval=1s")
    with twinfs.mounted(source, options=options) as view:
        changes.rewrite(linked_outside(source), b"changed")
        assert agrees(view, source)


def test_file_changed_without_an_event_is_compared_after_a_failed_open(twinfs, source):
    changes.build(source)
    with twinfs.mounted(source) as view:
        changes.rewrite(linked_outside(source), b"changed")
        [copies] = [folder for folder in view.dups.iterdir() if (folder / "a").exists()]
        with pytest.raises(OSError):
            (copies / "b").read_bytes()
        assert agrees(view, source)


@pytest.mark.parametrize("act", ["opened", "linked", "unlinked"])
def test_bytes_written_without_an_event_are_compared_again(twinfs, source, act):
    """Size and mtime are unchanged, and the only event does not report a change of the bytes."""
    changes.build(source)
    os.link(source / "b", source / "b too")
    with twinfs.mounted(source) as view:
        changes.rewrite_and_restore_mtime(linked_outside(source))
        view.sync()
        if act == "linked":
            os.link(source / "b", source / "b three")
        elif act == "unlinked":
            os.unlink(source / "b too")
        else:
            [copies] = [folder for folder in view.dups.iterdir() if (folder / "a").exists()]
            with pytest.raises(OSError):
                (copies / "b").read_bytes()
        assert agrees(view, source)


# lost events

def queue_length():
    return int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def test_overflow_of_the_queue_loses_nothing(twinfs, source):
    changes.build(source)
    trees.many(source / "old", 400, lambda number: b"%d" % (number // 2), folders=20)
    (source / "burst").mkdir()  # a folder without a watch has no events

    def change_much():
        if queue_length() > 40_000:
            pytest.skip("the queue of inotify is too long to fill it")
        trees.many(source / "new", 2000, lambda number: b"%d" % (number // 4), folders=50)
        storm.burst(source / "burst")
        # after the queue is full, so that these changes have no event
        changes.change_with_mtime_restored(source)
        os.rename(source / "old/003", source / "old/moved")
        changes.exchange(source / "old/004", source / "d")
        trees.remove(source / "old/005")
        trees.write(source / "old/006/000006", b"other")
        os.chmod(source / "old/007", 0o700)
    with twinfs.mounted(source) as view:
        assert view.status()["overflows"] == 0
        with stopped(view.pid):
            change_much()
        assert view.differences_now(source) == []
        assert view.status()["overflows"] > 0
        trees.write(source / "old/moved/later", OTHER)
        trees.write(source / "new/049/later", DATA)
        assert view.differences_now(source) == []


def test_overflow_of_the_queue_reads_only_changed_files(twinfs, source, strace):
    trees.many(source / "old", 200, lambda number: b"%d" % (number // 2), folders=5)
    trees.write(source / "busy", b"busy")
    with twinfs.mounted_and_traced(source) as view:
        view.sync()
        view.reads(source)

        def rename_much():
            for number in range(queue_length()):
                os.rename(source / ("busy", "busier")[number % 2],
                          source / ("busier", "busy")[number % 2])
            trees.write(source / "old/003/000003", b"changed")
        with stopped(view.pid):
            rename_much()
        view.sync()
        assert {os.path.basename(path) for _, path in view.reads(source)} <= {
            b"busy", b"busier", b"000003"}
        assert view.differences(source, first_scan=False) == []


# too few watches

def test_folders_without_a_watch_are_reported_at_once(inside, source, mount):
    trees.many(source, 600, lambda number: b"%d" % number, folders=FOLDERS)
    with followed_inside(inside, source, mount) as (_, at):
        status = json.loads((at / ".twinfs/status.json").read_text())
        assert FOLDERS + 1 - FEW <= status["unwatched"] <= FOLDERS + 1
        for number in range(FOLDERS):
            trees.write(source / f"{number:03}/new", b"new")
        (at / ".twinfs/sync").read_text()
        assert [number for number in range(FOLDERS) for tree in ("uniques", "redundant")
                if (at / tree / f"{number:03}/new").exists()] == list(range(FOLDERS))


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed folder", "folder not listed yet"])
def test_file_that_is_moved_into_a_folder_without_a_watch_is_found(inside, source, mount, strace,
                                                                   is_listed):
    waiting = [f"waits{number}" for number in range(FEW + 1)]
    trees.fill(source, {path: path.encode() for number in range(FOLDERS) for path in (
        f"{number:03}/file", f"file{number:03}", *(f"{name}/{number:03}" for name in waiting))})
    with followed_inside(inside, source, mount) as (process, at):
        waits = unwatched(process, [source / name for name in waiting])
        of = source if is_listed else waits
        files = sorted(path for path in of.iterdir() if path.is_file())
        with held_meanwhile((at / ".twinfs/sync").read_text, process.pid, waits):
            for number, file in enumerate(files):
                file.rename(source / f"{number:03}/moved")
        assert [number for number in range(FOLDERS)
                if (at / f"uniques/{number:03}/moved").exists()] == list(range(FOLDERS))


def test_folders_without_a_watch_are_polled(inside, source, mount):
    changes.build(source)
    trees.many(source / "many", 600, lambda number: b"%d" % (number // 2), folders=FOLDERS)
    words = ("mount", "-f", "--wait", "--watch=inotify", "--interval=1s", source, mount)
    with inside.started(*words) as process:
        inside.pid, inside.user = process.pid, "inside"
        view = View(inside, mount, None)
        at = Path(f"/proc/{process.pid}/root{mount}")
        try:
            assert until(lambda: (at / ".twinfs").exists() or process.poll() is not None)
            assert process.poll() is None, process.stderr.read()
            view.sync()
            status = view.status()
            assert FOLDERS + 4 - FEW <= status["unwatched"] <= FOLDERS + 4
            assert "max_inotify_watches" in status["remedy"]
            shown = subprocess.run([*inside.as_user(), inside.session.binary, "status", mount],
                                   check=True, capture_output=True, text=True).stdout
            assert f"{status['unwatched']} folders are walked" in shown
            assert status["remedy"] in shown
            for number in range(FOLDERS):
                trees.write(source / f"many/{number:03}/new", b"%d" % (number // 2))
            os.rename(source / "many/030", source / "many/moved")
            trees.write(source / "many/moved/newer", DATA)
            trees.remove(source / "many/031")
            assert view.differences_now(source) == []
            trees.write(source / "many/moved/newest", b"found by polling")
            assert until(lambda: (at / "uniques/many/moved/newest").exists())
            assert view.status()["unwatched"] > 0
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT)


def test_hard_link_of_a_lower_file_is_exact_after_sync(twinfs, tmp_path):
    """overlayfs copies the file and its folder. The only event is that of the new name, which has
    another birth time, and sometimes another inode number."""
    trees.fill(tmp_path, {"lower/a/one": b"content", "lower/b/two": b"content"})
    with overlay(tmp_path) as shown:
        sources = shown / "a", shown / "b"
        with twinfs.mounted(*sources) as view:
            os.link(shown / "a/one", shown / "b/link")
            view.sync()
            result = twinfs("check", "--quick", *sources)
            assert result.status == 0, result

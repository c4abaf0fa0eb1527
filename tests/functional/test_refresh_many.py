# SPDX-License-Identifier: MIT
"""Each of many watched folders of a view gets its events, beside watches on files."""
import os
import shutil
import signal

import pytest
import trees
from processes import children, stopped, until
from test_refresh import Watcher

MANY = 1500  # more than the daemon was once told of


@pytest.fixture
def folders(source):
    names = [f"folder {number}" for number in range(MANY)]
    for name in names:
        (source / name).mkdir()
    return names


def names_of(watcher):
    """The events of names. A file can be seen before it is written, which is another change."""
    return [event for event in watcher.events if event[1] != "ATTRIB"]


def test_each_of_many_watched_folders_gets_its_events(twinfs, source, folders):
    with (twinfs.mounted(source) as view,
          Watcher(view, source, view.uniques, known=False, options=["-r"]) as watcher):
        for number, name in enumerate(folders):
            trees.write(source / name / "new", b"%d" % number)
        view.sync()
        expected = {(f"{view.uniques}/{name}/", "CREATE", "new") for name in folders}
        assert until(lambda: len(names_of(watcher)) >= MANY)
        assert set(names_of(watcher)) == expected and len(names_of(watcher)) == MANY
        assert view.status()["refreshed"] == MANY + 1
        for name in folders:
            shutil.rmtree(source / name)
        view.sync()
        expected = {(f"{view.uniques}/{name}/", "DELETE", "new") for name in folders} | {
            (f"{view.uniques}/", "DELETE,ISDIR", name) for name in folders}
        assert until(lambda: len(names_of(watcher)) >= 3 * MANY)
        assert set(names_of(watcher)[MANY:]) == expected and len(names_of(watcher)) == 3 * MANY


def test_watches_on_files_take_no_place_of_folders(twinfs, source, folders):
    for number, name in enumerate(folders):
        trees.write(source / name / "file", b"%d" % number)
    with twinfs.mounted(source) as view:
        files = [view.uniques / name / "file" for name in folders]
        with (Watcher(view, source, *files, known=False),
              Watcher(view, source, view.uniques / folders[-1]) as watcher):
            trees.write(source / folders[-1] / "new", b"new")
            assert watcher.gets(view.uniques / folders[-1], "CREATE", "new")
            assert view.status()["refreshed"] == 1


def test_folder_that_goes_before_its_watch_is_known_is_reported_as_a_folder(twinfs, source):
    """While the mounter is stopped, the daemon learns of no watch."""
    for name in ("removed", "moved"):
        trees.write(source / name / "file", b"x")
    with twinfs.mounted(source) as view:
        with (stopped(children(view.pid)[0]),
              Watcher(view, source, view.uniques, known=False) as watcher):
            shutil.rmtree(source / "removed")
            (source / "moved").rename(source / "new")
            view.sync()
            os.kill(children(view.pid)[0], signal.SIGCONT)
            for event, name in [("DELETE", "removed"), ("DELETE", "moved"), ("CREATE", "new")]:
                assert watcher.gets(view.uniques, f"{event},ISDIR", name), watcher.events
            assert len(names_of(watcher)) == 3


def test_view_without_its_mounter_says_that_watchers_get_no_events(twinfs, source):
    with twinfs.mounted_in_foreground(source) as (daemon, view):
        with Watcher(view, source, view.uniques):
            os.kill(children(daemon.pid)[0], signal.SIGKILL)
            trees.write(source / "new", b"new")
            view.sync()
            assert until(lambda: "refresh_problem" in view.status())
            assert "mount it again" in view.status()["refresh_remedy"]
            assert view.status()["refreshed"] == 0
            assert b'twinfs_refresh_failed{view="%s"} 1' % os.fsencode(
                view.path) in view.read("metrics")
            assert b"get no events" in twinfs("doctor", view.path).out
    assert daemon.output[1].decode().count("get no inotify events") == 1


CHANGES = 131_072  # names that are remembered until a search for watches


def test_names_that_were_forgotten_before_a_watch_was_found_are_said(twinfs, source):
    """The mounter is stopped meanwhile, so that it finds no watch."""
    (source / "folder").mkdir()
    with twinfs.mounted_in_foreground(source) as (daemon, view):
        os.listdir(view.uniques / "folder")  # only changes of cached folders are remembered
        with (stopped(children(daemon.pid)[0]),
              Watcher(view, source, view.uniques / "folder", known=False)):
            for number in range(CHANGES + 1):
                os.symlink("x", source / f"folder/{number}")
            view.sync()
            os.kill(children(daemon.pid)[0], signal.SIGCONT)
            expected = [{"path": "uniques/folder", "reason": "changes"}]
            assert until(lambda: view.status().get("unrefreshed_folders") == expected)
            assert "list" in view.status()["refresh_remedy"]
            trees.write(source / "folder/new", b"new")
            view.sync()
    said = daemon.output[1].decode()
    assert said.count("cannot report all changes") == said.count("'uniques/folder'") == 1

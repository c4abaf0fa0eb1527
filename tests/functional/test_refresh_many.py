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

# SPDX-License-Identifier: MIT
"""What changes while events of a view are being raised reaches watchers, too."""
import contextlib
import os

import trees
from conftest import preload
from processes import attached, children, is_held, until
from test_refresh_order import settled
from watchers import Recursive


@contextlib.contextmanager
def known(view, source, *folders):
    """A watcher whose watches the daemon has found."""
    with Recursive(view, *folders) as watcher:
        (source / "poke").mkdir()
        assert until(lambda: view.status()["refreshed"] >= len(watcher.state()["watched"]))
        assert settled(view, watcher)
        yield watcher


@contextlib.contextmanager
def before_the_next_event(view, change):
    """The block runs while the mounter process is held before it opens the folder of the event of a
    change."""
    mounter = children(view.pid)[0]
    with attached(mounter, "-e", "trace=openat2", "-e", "inject=openat2:delay_enter=1000s:when=1"):
        change()
        assert until(lambda: is_held(mounter))
        yield


def test_name_that_goes_and_comes_back_after_a_new_folder_was_listed(twinfs, source):
    """The daemon lists the folder before its event, and the watcher lists it after that."""
    trees.write(source / "a", b"content")
    with twinfs.mounted(source) as view, known(view, source, view.dups) as watcher:
        def change():
            for name in ("b", "c"):
                trees.write(source / name, b"content")
            view.sync()

        with before_the_next_event(view, change):
            (source / "c").unlink()
            view.sync()
        assert settled(view, watcher)
        trees.write(source / "c", b"content")
        assert settled(view, watcher)
        assert len(watcher.state()["names"]) == 4


def test_change_of_a_new_folder_before_any_program_has_seen_it(twinfs, source):
    """The daemon listed the folder with the file, so an event must say that the file is gone."""
    trees.write(source.parent / "older", b"content")
    os.utime(source.parent / "older", (1, 1))
    with (twinfs.mounted(source, options=("--wait", "--keep=oldest")) as view,
          known(view, source, view.uniques) as watcher):
        def change():
            trees.write(source / "new/name", b"content")
            view.sync()

        with before_the_next_event(view, change):
            (source.parent / "older").rename(source / "a")
            view.sync()
        assert until(lambda: [event[2] for event in watcher.events("DELETE")] == ["name"])
        assert settled(view, watcher)


def test_event_in_a_group_that_is_gone_for_a_moment_is_not_lost(twinfs, source):
    for name in ("a", "b", "c"):
        trees.write(source / name, b"content")
    with twinfs.mounted(source) as view, known(view, source, view.dups) as watcher:
        def change():
            (source / "c").unlink()
            view.sync()

        with before_the_next_event(view, change):
            trees.write(source / "b", b"another")
            view.sync()
            assert list(view.dups.iterdir()) == []
        trees.write(source / "b", b"content")
        assert settled(view, watcher)
        assert len(watcher.state()["names"]) == 3


@contextlib.contextmanager
def held_sort(twinfs, folder, count):
    """Holds the first sort of so many names of a watched folder. Yields a function that waits until
    it is held, and one that lets it go on."""
    preload(twinfs, "held_sort")
    names = [folder / name for name in ("held", "until")]
    for name in names:
        os.mkfifo(name)
    held, until_ = (os.open(name, os.O_RDWR) for name in names)
    twinfs.environment |= {"HELD_PIPE": str(names[0]), "HELD_UNTIL": str(names[1]),
                           "HELD_COUNT": str(count)}
    try:
        yield lambda: os.read(held, 1), lambda: os.write(until_, b"x")
    finally:
        os.write(until_, b"x")
        os.close(held)
        os.close(until_)


def test_change_between_the_listing_of_a_folder_and_the_comparison(twinfs, source, tmp_path):
    """The listing is complete when the names are sorted. They are not in the order of the index."""
    for name in "edcb":
        trees.write(source / name, b"content")
    with (held_sort(twinfs, tmp_path, 5) as (wait_until_held, go_on),
          twinfs.mounted(source) as view, known(view, source, view.dups) as watcher):
        trees.write(source / "a", b"content")
        wait_until_held()
        (source / "a").unlink()
        view.sync()
        go_on()
        assert until(lambda: [event[2] for event in watcher.events("CREATE")] == ["a"])
        assert settled(view, watcher)

# SPDX-License-Identifier: MIT
"""Programs that watch single files of a view, and no folder, learn of each change of a file."""
import os
import shutil
import signal

import trees
from processes import children, stopped, until
from test_refresh import Watcher, owner, run_as, view_hash
from test_refresh_order import write
from watchers import Recursive

assert owner  # a fixture


def found(view, count):
    """Whether the daemon knows this number of watched files."""
    return until(lambda: view.status()["refreshed_files"] == count)


def ends_of(watcher):
    return [event[:2] for event in watcher.events()]


def gets(watcher, *events):
    """Whether the watcher gets these events, each once. As of other file systems, the removal of a
    name can also be a change of the attributes."""
    def real():
        return [event for event in ends_of(watcher) if event[0] != "ATTRIB" or event in events]
    return until(lambda: set(real()) >= set(events)) and sorted(set(real())) == sorted(events)


def ends(path):
    return [("DELETE_SELF", str(path)), ("IGNORED", str(path))]


def test_changes_of_watched_files_are_reported(owner):
    """Content and removal; in uniques/, redundant/ and the folder of a group. The end of a watch is
    that of its inode: a file with another content has another one."""
    write(owner, "folder/single", b"single\n")
    write(owner, "folder/other", b"other\n")
    with owner.mounted(owner.source) as view:
        group = view.dups / view_hash(view, owner, "file")
        redundant = next(name for name in ("file", "folder/copy")
                         if name in run_as(owner, "find", view.redundant))
        kept = {"file": "folder∕copy", "folder/copy": "file"}[redundant]
        single = view.uniques / "folder/single"
        other, copy = view.uniques / "folder/other", view.redundant / redundant
        with Recursive(view, single, other, copy, group / kept) as watcher:
            write(owner, "poke", b"poke")
            assert found(view, 4)
            expected = []
            with (owner.source / "folder/other").open("ab") as file:
                file.write(b"more\n")
            expected += ends(other)
            assert gets(watcher, *expected), watcher.events()
            for path in ("folder/single", redundant):
                (owner.source / path).unlink()
            # the kept copy loses its name in the folder of the group, which is gone
            expected += ends(single) + ends(copy) + [("ATTRIB", str(group / kept))]
            assert gets(watcher, *expected), watcher.events()
            assert found(view, 1)
            assert view.status()["refreshed"] == 0


def test_promoted_copy_is_reported_to_its_watchers(owner):
    """It moves from redundant/ to uniques/ and stays the same file."""
    with owner.mounted(owner.source) as view:
        redundant = next(name for name in ("file", "folder/copy")
                         if name in run_as(owner, "find", view.redundant))
        kept = {"file": "folder/copy", "folder/copy": "file"}[redundant]
        paths = view.redundant / redundant, view.uniques / kept
        with Recursive(view, *paths) as watcher:
            write(owner, "poke", b"poke")
            assert found(view, 2)
            (owner.source / kept).unlink()
            assert gets(watcher, ("ATTRIB", str(paths[0])), *ends(paths[1])), watcher.events()


def test_file_that_changes_before_its_watch_is_known_ends_the_watch(twinfs, source):
    """While the mounter is stopped, the daemon learns of no watch."""
    names = ["written", "replaced", "removed", "same"]
    for name in names:
        trees.write(source / name, name.encode())
    with twinfs.mounted(source) as view:
        with (stopped(children(view.pid)[0]),
              Recursive(view, *[view.uniques / name for name in names]) as watcher):
            (source / "written").write_bytes(b"more than before")
            trees.write(source / "new", b"another content")
            (source / "new").rename(source / "replaced")
            (source / "removed").unlink()
            view.sync()
            os.kill(children(view.pid)[0], signal.SIGCONT)
            expected = [end for name in names[:3] for end in ends(view.uniques / name)]
            assert gets(watcher, *expected), watcher.events()
            assert found(view, 1)


def test_file_of_a_watched_folder_has_each_event_once(twinfs, source):
    trees.write(source / "folder/file", b"content")
    folder = "folder"
    with twinfs.mounted(source) as view:
        path = view.uniques / folder
        with Recursive(view, path, path / "file") as watcher:
            trees.write(source / "folder/poke", b"poke")
            assert until(lambda: ("CREATE", str(path), "poke") in watcher.events())
            assert found(view, 1)
            (source / "folder/file").write_bytes(b"more content")
            # a name that changes soon after the first listing is reported as new
            assert until(lambda: {("ATTRIB", str(path), "file"), ("CREATE", str(path), "file")} &
                         set(watcher.events())), watcher.events()
            (source / "folder/file").unlink()
            assert until(lambda: ("DELETE", str(path), "file") in watcher.events())
            events = [event for event in watcher.events() if event[2] != "poke"]
            file = str(path / "file")
            assert [event for event in events if event[1] == file] == [
                ("DELETE_SELF", file, ""), ("IGNORED", file, "")]


def test_watch_on_a_file_that_returns_works_again(owner):
    """A new watch is served, also if the number of the node is that of an ended one."""
    with owner.mounted(owner.source) as view:
        for number in range(4):
            write(owner, "again", b"%d\n" % number)
            view.sync()
            with Recursive(view, view.uniques / "again") as watcher:
                write(owner, "poke", b"%d" % number)
                assert found(view, 1)
                (owner.source / "again").unlink()
                assert gets(watcher, *ends(view.uniques / "again")), watcher.events()
            assert found(view, 0)


def test_many_watched_files_starve_no_folder(twinfs, source):
    """Nothing is stored of the other names in their folders."""
    for number in range(3000):
        trees.write(source / f"folder {number % 50}/{number}", b"%d" % number)
    with twinfs.mounted(source) as view:
        files = sorted(view.uniques.glob("*/*"))
        with (Recursive(view, *files) as many,
              Watcher(view, source, view.uniques / "folder 7") as watcher):
            assert found(view, len(files))
            trees.write(source / "folder 7/new", b"new")
            assert watcher.gets(view.uniques / "folder 7", "CREATE", "new")
            assert view.status()["refreshed"] == 1
            shutil.rmtree(source / "folder 7")
            shutil.rmtree(source / "folder 8")
            expected = [end for path in files if path.parent.name in ("folder 7", "folder 8")
                        for end in ends(path)]
            assert gets(many, *expected), set(ends_of(many)) ^ set(expected)
            assert found(view, len(files) - len(expected) // 2)

# SPDX-License-Identifier: MIT
"""After storms of changes, recursive watchers of a view know exactly the names that it has.

TWINFS_WATCH_STORMS is the number of storms, TWINFS_WATCH_FOLDERS numbers of folders beside them."""
import contextlib
import os
import random
import shutil

import pytest
import trees
from processes import until
from watchers import Recursive

STORMS = int(os.environ.get("TWINFS_WATCH_STORMS", "4"))
FOLDERS = map(int, os.environ.get("TWINFS_WATCH_FOLDERS", "1 1500").split())


def storm(chance, root):
    """Creates, replaces, renames and removes files and folders."""
    for _ in range(60):
        folder = root / f"{chance.randrange(4)}" / f"{chance.randrange(4)}"
        path, other = folder / f"{chance.randrange(6)}", root / f"{chance.randrange(6)}"
        act = chance.random()
        if act < 0.6:
            with contextlib.suppress(NotADirectoryError, FileExistsError, IsADirectoryError):
                trees.write(path, b"content %d" % chance.randrange(9))
        elif act < 0.75:
            with contextlib.suppress(OSError):
                path.unlink()
        elif act < 0.85:
            shutil.rmtree(folder, ignore_errors=True)
        elif act < 0.95:
            with contextlib.suppress(OSError):
                folder.parent.rename(other)
        else:
            with contextlib.suppress(OSError):
                path.rename(other)


@pytest.mark.parametrize("folders", FOLDERS)
def test_names_from_events_are_those_of_the_view(twinfs, source, folders):
    chance = random.Random(folders)
    for number in range(folders):
        trees.write(source / f"still/{number}/f", b"%d" % (number // 2))
    (source / "storm").mkdir()
    with (twinfs.mounted(source) as view, contextlib.ExitStack() as stack):
        watchers = [stack.enter_context(Recursive(view, *watched)) for watched in
                    [(view.dups,), (view.uniques,), (view.by_size, view.folders), (view.dups,)]]
        # the daemon must have found the watches, as names in by-size/ have no record
        watched = {path for watcher in watchers for path in watcher.state()["watched"]}
        assert until(lambda: view.status()["refreshed"] >= len(watched))
        for number in range(STORMS):
            storm(chance, source / "storm")
            if number % 2:
                trees.write(source / f"still/{chance.randrange(folders)}/g", b"%d" % number)
            view.sync()
            for watcher in watchers:
                assert until(lambda watcher=watcher: not watcher.wrong()), (
                    number, watcher.wrong(), watcher.events()[-60:])
        assert view.differences_now(source) == []

# SPDX-License-Identifier: MIT
"""Events of a view come in the order of a native file system, and end watches of what is gone."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import trees
from processes import until
from test_refresh import listed, owner, run_as, view_hash
from watchers import Recursive

assert owner  # a fixture


def write(owner, path, content):
    place = Path(os.fsdecode(trees.write(owner.source / path, content)))
    status = owner.source.stat()
    while place != owner.source:
        if place.stat().st_uid != status.st_uid:
            os.chown(place, status.st_uid, status.st_gid)
        place = place.parent


def settled(view, watcher):
    view.sync()
    assert until(lambda: not watcher.wrong()), [*watcher.wrong(), *watcher.events()]
    return True


def test_removed_folders_have_the_events_of_a_native_one(owner):
    """Like rm -r: of each folder first the names in it, then the end of its watch, then its name in
    its parent."""
    for path in ("top/f", "top/inner/f", "top/inner/g", "top/inner/deep/f"):
        write(owner, path, path.encode())
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        top = f"{view.uniques}/top"
        write(owner, "poke", b"poke")
        view.sync()
        assert until(lambda: watcher.events("CREATE"))
        shutil.rmtree(owner.source / "top")
        view.sync()
        assert until(lambda: ("DELETE", str(view.uniques), "top") in watcher.events())
        deep, inner = f"{top}/inner/deep", f"{top}/inner"
        events = watcher.events("DELETE", "DELETE_SELF", "IGNORED")
        events = [event for event in events if event[1].startswith(top) or event[2] == "top"]
        last = {folder: max(i for i, event in enumerate(events)
                            if event[:2] == ("DELETE", folder)) for folder in (deep, inner, top)}
        for folder in (deep, inner, top):
            parent, name = os.path.split(folder)
            ends = [events.index((kind, folder, "")) for kind in ("DELETE_SELF", "IGNORED")]
            assert last[folder] < ends[0] < ends[1] < events.index(("DELETE", parent, name))
        assert len(events) == len(set(events)) == 4 + 3 * 3
        assert f"{view.uniques}/folder" in watcher.state()["watched"]


def test_watches_on_removed_groups_end_and_new_ones_of_the_same_groups_work(owner):
    count = 20
    for number in range(count):
        write(owner, f"folder/{number}", b"%d" % number)
    with owner.mounted(owner.source) as view, Recursive(view, view.dups) as watcher:
        first = len(watcher.state()["watched"])
        for round_ in range(3):
            for number in range(count):
                write(owner, f"copy {number}", b"%d" % number)
            assert settled(view, watcher), watcher.wrong()
            assert len(watcher.state()["watched"]) == first + count
            assert until(lambda: view.status()["refreshed"] >= first + count)
            for number in range(count):
                (owner.source / f"copy {number}").unlink()
            assert settled(view, watcher), watcher.wrong()
            assert until(lambda: len(watcher.state()["watched"]) == first)
            names = [event for event in watcher.events("DELETE") if event[1] != str(view.dups)]
            assert len(names) == 2 * count * (round_ + 1)


def test_program_in_a_removed_group_can_use_it_when_it_returns(owner):
    script = ('cd -- "$1" && echo in && while read line; do ls -A . 2>&1; '
              'stat -c . . 2>&1; echo end; done')
    with owner.mounted(owner.source) as view, Recursive(view, view.dups) as watcher:
        group = view.dups / view_hash(view, owner, "file")
        with subprocess.Popen([*owner.as_user(), "sh", "-c", script, "-", group],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
            def says():
                shell.stdin.write(b"\n")
                shell.stdin.flush()
                return list(iter(shell.stdout.readline, b"end\n"))

            assert shell.stdout.readline() == b"in\n" and len(says()) == 3
            (owner.source / "file").unlink()
            assert settled(view, watcher)
            assert not any(b"nput/output" in line or b"kept" in line for line in says())
            write(owner, "file", b"content\n")
            assert settled(view, watcher)
            assert len(run_as(owner, "ls", group).splitlines()) == 2
            assert len(says()) == 3
            shell.stdin.close()


def test_watch_on_a_removed_or_replaced_file_ends(owner):
    write(owner, "other", b"like no other\n")
    with owner.mounted(owner.source) as view:
        watch = ["inotifywait", "-m", "-e", "delete_self", "--format", "%w",
                 view.uniques / "alone", view.uniques / "other"]
        with (subprocess.Popen([*owner.as_user(), *watch], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE) as process,
              Recursive(view, view.uniques) as watcher):
            assert any(b"established" in line for line in process.stderr)
            write(owner, "poke", b"poke")
            view.sync()
            assert until(lambda: watcher.events("CREATE"))
            (owner.source / "alone").unlink()
            assert process.stdout.readline() == os.fsencode(f"{view.uniques / 'alone'}\n")
            write(owner, "other", b"still like no other\n")
            assert process.stdout.readline() == os.fsencode(f"{view.uniques / 'other'}\n")
            process.kill()
            assert settled(view, watcher)


# Maps a file and reads it, then reads it again after a line of input.
READ_TWICE = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    first = data[:]
    print("read", flush=True)
    sys.stdin.readline()
    print(data[:] == first)
"""


def test_file_that_is_in_use_stays_whole_after_its_removal(owner):
    write(owner, "large", os.urandom(300_000))
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        reader = [*owner.as_user(), sys.executable, "-c", READ_TWICE, view.uniques / "large"]
        with subprocess.Popen(reader, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"read\n"
            (owner.source / "large").unlink()
            assert until(lambda: ("DELETE", str(view.uniques), "large") in watcher.events())
            assert process.communicate(b"\n")[0] == b"True\n"


def test_promoted_copy_appears_before_its_old_name_disappears(owner):
    write(owner, "top/only", b"pair\n")
    write(owner, "other", b"pair\n")
    with owner.mounted(owner.source) as view, Recursive(
            view, view.uniques, view.redundant) as watcher:
        kept = "top/only" if "other" in listed(owner, view.redundant) else "other"
        left = {"top/only": "other", "other": "top/only"}[kept]
        write(owner, "poke", b"poke")
        view.sync()
        assert until(lambda: watcher.events("CREATE"))
        (owner.source / kept).unlink()
        folder, name = os.path.split(left)
        new = ("CREATE", str(view.uniques / folder), name)
        old = ("DELETE", str(view.redundant / folder), name)
        assert until(lambda: {new, old} <= set(watcher.events())), watcher.events()
        assert watcher.events().index(new) < watcher.events().index(old)
        assert settled(view, watcher)


def test_folder_that_was_replaced_by_another_is_watched_again(owner):
    write(owner, "top/inner/f", b"first\n")
    with owner.mounted(owner.source) as view, Recursive(view, view.uniques) as watcher:
        write(owner, "new/inner/g", b"second\n")
        assert settled(view, watcher)
        shutil.rmtree(owner.source / "top")
        (owner.source / "new").rename(owner.source / "top")
        assert settled(view, watcher), watcher.wrong()
        write(owner, "top/inner/h", b"third\n")
        assert settled(view, watcher), watcher.wrong()

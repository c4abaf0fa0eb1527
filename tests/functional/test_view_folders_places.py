# SPDX-License-Identifier: MIT
"""A folder is in folders/ at several places at once: in an entry of its own, and in those of the
folders above it. It is right in each of them, also while programs walk them all and while it
changes.
"""
import contextlib
import os
import random
import subprocess
import sys

import changes
import pytest
import storm
import trees
from equal_folders import copy_tree
from folder_trees import retarget
from processes import TIMEOUT
from test_folder_groups import BYTES, SECONDS, FolderWriter, plant
from view_folders import Seen, differences, entries, groups, own, shown_as

GONE = ("No such file or directory", "Stale file handle")
ELSE = (*GONE, "Not a directory", "Is a directory")  # where names change their kind
# What find says of two folders that are renamed while it opens them, see findings/. Other tests
# compare the inode numbers in all places.
NO_LOOP = "find: File system loop detected; "

# reads everything until a file exists
READ = 'until [ -e "$2" ]; do find "$1" -type f -exec cat {} + ; done >/dev/null'
WALK = 'for n in 1 2 3 4 5 6 7 8 9 10; do find "$1" -printf "%y %P\\n" || exit 1; done'
WHERE = """
import os, sys
for number in range(400):
    print(os.getcwd(), os.stat("..").st_ino == os.stat(os.path.dirname(os.getcwd())).st_ino,
          sorted(os.listdir()))
"""


def nested(source):
    """Folders in folders of which each has a further copy elsewhere."""
    plant(source, {f"{folder}/s/t/{name}": data for folder in "abc"
                   for name, data in (("u/x", BYTES), ("y", b"1"))})
    copy_tree(source / "a/s/t", source / "d")
    copy_tree(source / "a/s/t/u", source / "e")
    for name in ("c/only", "a/s/same", "b/s/same", "c/s/same"):
        trees.write(source / name, b"2")
    return {("a", "b"), shown_as("a/s", "b/s", "c/s"), shown_as("a/s/t", "b/s/t", "c/s/t", "d"),
            shown_as("a/s/t/u", "b/s/t/u", "c/s/t/u", "d/u", "e")}


def test_folder_is_walked_in_all_its_places_at_the_same_time(twinfs, source):
    expected = nested(source)
    with twinfs.mounted(source) as view, contextlib.ExitStack() as stack:
        assert groups(view) == expected
        roots = [*entries(view), view.uniques, view.folders]
        places = [path for entry in entries(view) for path in entry.rglob("*") if path.is_dir()]
        inside = [path for path in places if path.name.endswith(("t", "u"))][::3]
        assert len(inside) > 5

        def start(*words, cwd):
            return stack.enter_context(subprocess.Popen(
                words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE))

        standing = {path: start(sys.executable, "-c", WHERE, cwd=path) for path in inside}
        walkers = {root: start("sh", "-c", WALK, "-", root, cwd="/") for root in roots}
        for root, walker in walkers.items():
            out, error = walker.communicate()
            lines = out.decode().splitlines()
            assert (error, walker.returncode) == (b"", 0)
            assert sorted(lines) == sorted(10 * set_of(root)), root
        for path, process in standing.items():
            out, error = process.communicate()
            assert error == b""
            assert set(out.decode().splitlines()) == {
                f"{path} True {sorted(os.listdir(path))}"}
        assert differences(view, source) == []


def set_of(root):
    """What find prints of a folder."""
    return subprocess.run(["find", root, "-printf", "%y %P\n"], check=True,
                          capture_output=True, text=True).stdout.splitlines()


def test_attributes_are_the_same_in_all_places_of_a_folder(twinfs, source):
    nested(source)
    with twinfs.mounted(source) as view:
        for number in range(3):
            os.chmod(source / "b/s/t/u", 0o700 + number)
            os.utime(source / "b/s/t/u/x", ns=(number, 10**18 + number))
            view.sync()
            found = [path for entry in entries(view) for path in entry.rglob("u")
                     if own(path, "path") == os.fsencode(source / "b/s/t/u")]
            assert len(found) == 3
            for path in found:
                assert path.stat().st_mode & 0o777 == 0o700 + number
                assert (path / "x").stat().st_mtime_ns == 10**18 + number
            assert differences(view, source) == []


# programs that read everything while it changes

@contextlib.contextmanager
def readers(view, stop, permitted):
    """Programs that read all of folders/, each entry and uniques/ until the end of the block. They
    may fail only with these errors."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(subprocess.Popen(
            ["sh", "-c", READ, "-", root, stop], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL))
            for root in (view.folders, view.folders, view.uniques)]
        try:
            yield
        finally:
            stop.touch()
        for process in running:
            lines = process.communicate(timeout=TIMEOUT)[1].decode(errors="replace").splitlines()
            assert [line for line in lines
                    if not line.endswith(permitted) and not line.startswith(NO_LOOP)] == []


def changes_of_nested(at):
    """Changes of the tree of nested(). Each can be made again after a while."""
    return (
        lambda: changes.exchange(at / "a/s", at / "b/s"),
        lambda: changes.exchange(at / "a/s/t", at / "d"),
        lambda: changes.exchange(at / "d/u", at / "e"),
        lambda: changes.exchange(at / "a", at / "c"),
        lambda: os.rename(at / "b", at / "B"), lambda: os.rename(at / "B", at / "b"),
        lambda: os.rename(at / "d", at / "c/d"), lambda: os.rename(at / "c/d", at / "d"),
        lambda: trees.write(at / "c/s/t/y", b"2"), lambda: trees.write(at / "c/s/t/y", b"1"),
        lambda: copy_tree(at / "d", at / "f"), lambda: trees.remove(at / "f"),
        lambda: os.utime(at / "a/s/t/u/x"), lambda: os.chmod(at / "a/s/t", 0o700),
        lambda: trees.write(at / "d/more"), lambda: os.unlink(at / "d/more"),
        lambda: retarget(os.fsencode(at / "a/s/link"), b"x"),
    )


@pytest.mark.parametrize("seed", range(2))
def test_programs_read_all_places_while_folders_change(twinfs, source, tmp_path, seed):
    nested(source)
    chance = random.Random(seed)
    with twinfs.mounted(source) as view:
        seen = Seen(view)
        with readers(view, tmp_path / "stop", GONE):
            for number in range(80):
                with contextlib.suppress(OSError, subprocess.CalledProcessError):
                    chance.choice(changes_of_nested(source))()
                if number % 8 == 0:
                    view.sync()
                    seen.wrong()
        view.sync()
        assert seen.wrong() == []
        assert differences(view, source) == []


def test_programs_read_all_places_during_a_storm(twinfs, source, tmp_path, record_property):
    seed = int(os.environ.get("STORM_SEED", random.randrange(1 << 32)))
    record_property("seed", seed)
    FolderWriter(source, f"{seed} first").run(0.2)
    with twinfs.mounted(source) as view:
        seen = Seen(view)
        with readers(view, tmp_path / "stop", ELSE):
            with (storm.Workers(FolderWriter, storm.WRITERS, (source,), seed, SECONDS) as writers,
                  storm.Workers(storm.Reader, 2, (view.path,), seed, SECONDS) as checks):
                assert sum(writers.results()) > 10
                assert [wrong for wrong, _ in checks.results()] == [[], []], f"seed {seed}"
        view.sync()
        assert seen.wrong() == [], f"seed {seed}"
        assert differences(view, source) == [], f"seed {seed}"

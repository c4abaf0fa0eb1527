# SPDX-License-Identifier: MIT
"""Programs that use folders/: tools that copy trees, programs that watch it, and other users."""
import contextlib
import errno
import os
import random
import shutil
import subprocess
from itertools import combinations

import access
import backups
import changes
import oracle
import pytest
import rank_names
import trees
from backups import rsync
from callers import call_as
from equal_folders import copy_tree, make
from processes import until
from test_access import STRANGE
from test_folder_groups import plant
from test_live_caches import group
from test_refresh import Manager, Watcher, run_as
from test_shared import error_of
from view_folders import differences, differences_now, entries, entry_of, groups

SHARED = ("--wait", "-o", "allow_other")


# tools

@pytest.fixture
def pair(everything, source):
    """A source with two copies of all that rsync can copy."""
    inner = source / "all"
    inner.mkdir()
    for path in list(source.iterdir()):
        if path != inner:
            path.rename(inner / path.name)
    copy_tree(inner, source / "again")
    return source


def test_tools_copy_a_folder_as_its_source(twinfs, pair, tmp_path):
    with twinfs.mounted(pair) as view:
        entry = entry_of(view, "all", "again")
        for name in ("all", "again"):
            rsync(entry / name, tmp_path / name, "-S")
            backups.check_same(pair / name, tmp_path / name)
            assert rsync(entry / name, tmp_path / name, "-i", "--checksum") == b""
        assert rsync(entry / "all", entry / "again", "-nc", "--delete", "-i") == b""
        tar = ["tar", "--xattrs", "--acls", "--sparse", "-C"]
        subprocess.run([*tar, entry / "all", "-cf", tmp_path / "tar", "."], check=True)
        (tmp_path / "unpacked").mkdir()
        subprocess.run([*tar, tmp_path / "unpacked", "-xpf", tmp_path / "tar"], check=True)
        # tar ignores sockets, and links of FIFOs
        assert [text for text in backups.differences(pair / "all", tmp_path / "unpacked")
                if "special/" not in text] == []


def test_comparison_of_everything_finds_no_difference(twinfs, pair):
    with twinfs.mounted(pair) as view:
        assert differences(view, pair) == []
        for entry in entries(view):
            for one, two in combinations(entry.iterdir(), 2):
                run = subprocess.run(["diff", "-r", "--no-dereference", one, two], check=False,
                                     capture_output=True)
                lines = (run.stdout + run.stderr).splitlines()
                assert [line for line in lines if b" while file " not in line] == []
        assert view.differences(pair) == []


def test_find_prints_the_same_of_each_copy(twinfs, pair):
    def found(folder, *words):
        run = subprocess.run(["find", folder, *words], check=True, capture_output=True)
        assert run.stderr == b""
        return sorted(run.stdout.split(b"\0"))

    form = ("-not", "-type", "d", "-printf", r"%P %y %s %m %U %G %T@ %l\0")
    folders = ("-type", "d", "-printf", r"%P %y %m %U %G %T@\0")
    with twinfs.mounted(pair) as view:
        entry = entry_of(view, "all", "again")
        for words in (form, folders):
            expected = found(pair / "all", *words)
            assert found(entry / "all", *words) == found(entry / "again", *words) == expected
        everything = found(view.folders, "-printf", r"%p\0")
        assert len(everything) == len(set(everything))


def test_rsync_of_all_entries_copies_each_folder(twinfs, source, tmp_path):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    copy_tree(source / "a/sub", source / "c")
    with twinfs.mounted(source) as view:
        subprocess.run(["rsync", "-a", "--modify-window=-1", f"{view.folders}/",
                        tmp_path / "copy"], check=True)
        for entry in entries(view):
            for copy in entry.iterdir():
                assert backups.differences(source / copy.name.replace("\u2215", "/"),
                                           tmp_path / "copy" / entry.name / copy.name) == []


def test_plain_user_compares_equal_folders(as_user, source, fuse_for_users, plain_user):
    make(source / "a")
    (source / "a/sub").chmod(0o750)
    copy_tree(source / "a", source / "b")
    copy_tree(source / "a", source / "closed")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{plain_user.pw_uid}:{plain_user.pw_gid}", source],
                       check=True)
    (source / "closed/one").chmod(0)
    trees.write(source / "both", b"".join((source / "a" / name).read_bytes()
                                          for name in ("one", "sub/two")))
    with as_user.mounted(source, status=3) as view:
        [name] = run_as(as_user, "sh", "-c", 'cd -- "$1" && ls | grep "(2"', "-",
                        view.folders).splitlines()
        entry = view.folders / name
        assert run_as(as_user, "ls", entry).splitlines() == ["a", "b"]
        assert run_as(as_user, "diff", "-r", entry / "a", entry / "b") == ""
        form = r"%P %y %m %U %G %T@\n"
        for copy in "ab":
            shown, there = (sorted(run_as(as_user, "find", at, "-printf", form).splitlines())
                            for at in (entry / copy, source / copy))
            assert shown == there
            assert run_as(as_user, "sh", "-c", 'cd -- "$1" && cat one sub/two | cmp - "$2"', "-",
                          entry / copy, source / "both") == ""


# programs with a watch

@pytest.fixture
def watched(twinfs, source):
    plant(source, {f"up/{name}/{path}": data for name in "ab"
                   for path, data in (("s/x", b"1" * 900), ("y", b"2" * 90))})
    with twinfs.mounted(source) as view:
        yield view


def new_name(watcher, folder, name):
    """Whether the appearance of a name was reported."""
    return until(lambda: any(event[::2] == (f"{folder}/", name) and "CREATE" in event[1]
                             for event in watcher.events))


def woken(watcher, folder):
    return until(lambda: any(event[0] == f"{folder}/" for event in watcher.events))


def test_new_and_removed_entries_are_reported(watched, source):
    top = watched.folders
    with Watcher(watched, source, top) as watcher:
        [before] = entries(watched)
        copy_tree(source / "up/a/s", source / "s")
        watched.sync()
        names = {entry.name for entry in entries(watched)}
        assert len(names) == 2
        for name in names - {before.name}:
            assert new_name(watcher, top, name)
        trees.write(source / "up/a/y", b"other")
        watched.sync()
        for name in names - {entry.name for entry in entries(watched)}:
            assert watcher.gets_removal(top, name)


def test_renamed_copies_are_reported_for_their_entry(watched, source):
    [entry] = entries(watched)
    with Watcher(watched, source, entry) as watcher:
        os.rename(source / "up", source / "down")
        for name in "ab":
            assert new_name(watcher, entry, f"down\u2215{name}")
            assert watcher.gets_removal(entry, f"up\u2215{name}")


def test_program_that_watches_an_entry_is_woken_by_a_new_copy(watched, source):
    [entry] = entries(watched)
    assert len(os.listdir(entry)) == 2
    with Watcher(watched, source, entry) as watcher:
        copy_tree(source / "up/a", source / "c")
        assert woken(watcher, entry)


@pytest.mark.parametrize("where", ["", "s"])
def test_changed_attributes_are_reported_for_the_folder_in_an_entry(watched, source, where):
    [entry] = entries(watched)
    folder = entry / "up\u2215b" / where
    name = "x" if where else "y"
    assert os.listdir(folder)

    def kinds():
        return [event[1] for event in watcher.events if event[2] == name]
    with Watcher(watched, source, folder) as watcher:
        (source / "up/b" / where / name).chmod(0o640)
        assert until(kinds)
        watched.sync()
        # the folder is no equal one until the file was compared again
        assert until(lambda: kinds()[-1] in ("ATTRIB", "CREATE"))
        assert set(kinds()) <= {"ATTRIB", "CREATE", "DELETE"}
        assert os.stat(folder / name).st_mode & 0o777 == 0o640


@pytest.mark.parametrize("where", ["", "s"])
def test_program_that_watches_a_folder_is_woken_when_it_is_spoiled(watched, source, where):
    [entry] = entries(watched)
    folder = entry / "up\u2215b" / where
    assert os.listdir(folder)
    with Watcher(watched, source, folder) as watcher:
        changes.rewrite(source / "up/b" / where / ("x" if where else "y"), b"spoiled")
        assert woken(watcher, folder)


@pytest.mark.parametrize("seed", range(2))
def test_entries_shown_by_managers_become_right(watched, source, seed):
    chance, number = random.Random(seed), 0
    with contextlib.ExitStack() as stack:
        manager = stack.enter_context(Manager(watched, source, watched.folders))
        for number in range(60):
            folder = source / f"up/{chance.choice('abcdef')}"
            if not folder.exists():
                copy_tree(source / "up/a", folder) if folder.name != "a" else folder.mkdir()
            elif chance.random() < 0.4:
                shutil.rmtree(folder)
                if folder.name == "a":
                    make(folder, seed=number % 2)
            else:
                trees.write(folder / "y", b"%d" % chance.randrange(2))
            if number % 20 == 0:
                watched.sync()
        watched.sync()
        assert until(lambda: not manager.wrong(), 60), manager.wrong()
        assert differences_now(watched, source) == []


# other users

@pytest.fixture
def shared(twinfs, source, root_only):
    """A function that mounts the source for all users."""
    old = os.umask(0o022)
    yield lambda: twinfs.mounted(source, options=SHARED)
    os.umask(old)


def test_folders_are_for_root_alone(source, shared):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    with shared() as view:
        [entry] = entries(view)
        assert groups(view) == {("a", "b")}
        assert "folders" not in call_as(STRANGE, os.listdir, view.path)
        for path in (view.folders, entry, entry / "a", entry / "a/one", entry / "b/sub",
                     view.folders / "nothing", entry / "nothing"):
            for act in (os.lstat, os.listdir, access.read):
                with contextlib.suppress(OSError):
                    act(path)  # the kernel has it for root
                assert call_as(STRANGE, error_of, act, path) == errno.EACCES, (path, act)
            assert call_as(STRANGE, error_of, os.getxattr, path, "user.twinfs.path") == errno.EACCES
        assert differences(view, source) == []


def test_folder_that_root_opened_shows_nothing_to_others(source, shared):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    with shared() as view, contextlib.ExitStack() as stack:
        [entry] = entries(view)
        for path in (view.folders, entry, entry / "a", entry / "a/sub"):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
            assert os.listdir(handle)
            with contextlib.suppress(PermissionError):
                assert call_as(STRANGE, os.listdir, handle) == []
            for name in os.listdir(handle):
                assert call_as(STRANGE, error_of, os.stat, f"/proc/self/fd/{handle}/{name}")


def test_hidden_equal_folders_leave_no_trace(source, shared):
    make(source / "public/a")
    copy_tree(source / "public/a", source / "public/b")
    for name in ("hidden/deep", "also hidden/deep"):
        (source / name).mkdir(parents=True)
        (source / name.split("/")[0]).chmod(0o700)
    with shared() as view:
        before = call_as(STRANGE, access.trace, view.path)
        for act in (lambda: copy_tree(source / "public/a", source / "hidden/deep/a"),
                    lambda: copy_tree(source / "public/a", source / "also hidden/deep/a"),
                    lambda: trees.write(source / "hidden/deep/a/new"),
                    lambda: os.rename(source / "also hidden/deep/a", source / "hidden/deep/b"),
                    lambda: shutil.rmtree(source / "hidden/deep/a")):
            act()
            view.sync()
            assert call_as(STRANGE, access.trace, view.path) == before
        assert differences(view, source) == []


def test_folders_does_not_change_what_the_other_parts_show(twinfs, source, tmp_path):
    """The same folders and files are also in uniques/, redundant/ and dups/."""
    data = trees.content("same", 5000)
    for name in ("a/x", "b/x", "c/d/x"):
        trees.write(source / name, data)
    with twinfs.mounted(source) as view:
        [entry] = entries(view)
        for number in range(3):
            for path in [*entry.rglob("*"), *view.uniques.rglob("*"), *view.redundant.rglob("*")]:
                assert path.is_dir() or path.read_bytes() == data
            copies = group(view, data, tmp_path)
            assert len(os.listdir(copies)) == 3 + number
            assert view.differences(source, first_scan=False) == []
            assert differences(view, source) == []
            copy_tree(source / "a", source / f"new {number}")
            view.sync()
            [entry] = entries(view)
        assert entry.name.endswith(rank_names.name_of("", "", 6, oracle.human(25_000))[1:])

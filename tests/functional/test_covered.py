# SPDX-License-Identifier: MIT
"""covered prints the files of some folders whose content is nowhere else, and never says that all
is elsewhere if it is not."""
import contextlib
import itertools
import json
import os
import random
import signal
import socket
import subprocess

import pytest
import trees
from histories import on_sshfs
from processes import children, until
from program import path_of
from test_act_without_noreplace import shown_by_fuse

COMPLETE, FAILED, USAGE, INCOMPLETE, UNCOVERED = range(5)


@pytest.fixture
def home(tmp_path):
    """Originals, a folder with copies of all of them, and one with a file of its own."""
    home = tmp_path / "home"
    trees.fill(home, {
        "photos/1.jpg": b"1" * 5000, "photos/2.jpg": b"2" * 5000, "notes": b"notes",
        "old/1.jpg": b"1" * 5000, "old/notes copy": b"notes", "old/notes again": b"notes",
        "disk/2.jpg": b"2" * 5000, "disk/own": b"only here", "disk/own too": b"only here",
        ".Trash-1000/files/thrown": b"away", "late/thrown": b"away"})
    return home


def only_in(twinfs, *words, status=UNCOVERED, **options):
    """The printed paths (bytes); each is printed once."""
    result = twinfs("covered", "--format=null", *words, **options)
    assert result.status == status, result
    paths = result.out.split(b"\0")[:-1]
    assert len(paths) == len(set(paths))
    return set(paths)


def below(folder, *names):
    return {os.fsencode(folder / name) for name in names}


@pytest.fixture
def scanned(twinfs, home):
    twinfs.ok("scan", home)
    return home


# what is elsewhere

def test_folder_of_copies_is_covered(twinfs, scanned):
    result = twinfs.ok("covered", scanned / "old")
    assert result.out == b"" and "3 files are all elsewhere" in result.error.decode()


def test_files_that_are_only_in_the_folder_are_printed(twinfs, scanned):
    assert only_in(twinfs, scanned / "disk") == below(scanned / "disk", "own", "own too")
    result = twinfs("covered", scanned / "disk")
    assert "2 of 3 files are only here, 18 bytes" in result.error.decode()


def test_folders_are_no_place_for_each_other(twinfs, scanned):
    assert only_in(twinfs, scanned / "disk", scanned / "photos") == below(
        scanned, "disk/2.jpg", "disk/own", "disk/own too", "photos/2.jpg")
    assert only_in(twinfs, scanned / "photos", scanned / "old", status=UNCOVERED) == below(
        scanned, "photos/1.jpg", "old/1.jpg")


def test_copy_in_a_trash_does_not_count(twinfs, scanned):
    assert only_in(twinfs, scanned / "late") == below(scanned / "late", "thrown")


def test_changes_since_the_scan_are_seen(twinfs, scanned):
    os.unlink(scanned / "photos/1.jpg")
    assert only_in(twinfs, scanned / "old") == below(scanned / "old", "1.jpg")
    with open(scanned / "notes", "r+b") as file:
        file.write(b"N")
    assert only_in(twinfs, scanned / "old") == below(
        scanned / "old", "1.jpg", "notes copy", "notes again")


def test_folder_given_with_by_is_the_only_place(twinfs, home):
    assert only_in(twinfs, "--by", home / "photos", home / "disk") == below(
        home / "disk", "own", "own too")
    twinfs.index = twinfs.folder / "another"
    assert only_in(twinfs, "--by", home / "photos", home / "old") == below(
        home / "old", "notes copy", "notes again")
    trees.fill(home, {"texts/notes": b"notes"})
    twinfs.index = twinfs.folder / "third"
    assert only_in(twinfs, "--by", home / "photos", "--by", home / "texts", home / "old",
                   status=COMPLETE) == set()


def test_place_inside_of_the_folder(twinfs, home):
    trees.fill(home, {"old/safe/1.jpg": b"1" * 5000})
    assert only_in(twinfs, "--by", home / "old/safe", home / "old") == below(
        home / "old", "notes copy", "notes again")


def test_disk_that_was_plugged_in_needs_no_earlier_scan(twinfs, home, tmp_path):
    twinfs.ok("scan", home)
    trees.fill(tmp_path / "card", {"a": b"notes", "b": b"new"})
    twinfs.index = twinfs.folder / "another"
    assert only_in(twinfs, "--by", home, tmp_path / "card") == below(tmp_path / "card", "b")


# files without content, links

def test_empty_and_special_files_are_counted_and_symlinks_printed(twinfs, scanned):
    folder = scanned / "old"
    trees.fill(folder, {"empty": b""})
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.fspath(folder / "socket"))
    os.symlink("nowhere", folder / "link")
    os.symlink("1.jpg", folder / "good link")
    assert only_in(twinfs, folder) == below(folder, "link", "good link")
    result = twinfs.ok("covered", "--format=json", "--ignore-symlinks", folder)
    assert result.json["missing"] == []
    assert result.json["summary"] == {
        "missing": 0, "missing_bytes": 0, "files": 3, "bytes": 5010, "linked": 0, "empty": 1,
        "symlinks": 2, "special": 2}
    for said in ("1 empty file", "2 devices, FIFOs or sockets", "2 symlinks"):
        assert said in result.error.decode()


def test_hard_link_elsewhere_is_enough_and_said(twinfs, scanned):
    os.link(scanned / "disk/own", scanned / "linked")
    assert only_in(twinfs, scanned / "disk", status=COMPLETE) == set()
    assert "1 file is the same file elsewhere" in twinfs.ok(
        "covered", scanned / "disk").error.decode()


def test_hard_link_in_the_folder_is_not_elsewhere(twinfs, scanned):
    os.link(scanned / "disk/own", scanned / "disk/again")
    os.unlink(scanned / "disk/own too")
    assert only_in(twinfs, scanned / "disk") == below(scanned / "disk", "own", "again")


def test_other_mount_of_the_folder_is_not_elsewhere(twinfs, scanned, root_only):
    (scanned / "mnt").mkdir()
    subprocess.run(["mount", "--bind", scanned / "disk", scanned / "mnt"], check=True)
    try:
        assert only_in(twinfs, "--cross-file-systems", scanned / "disk") == below(
            scanned / "disk", "own", "own too")
        result = twinfs("covered", "--by", scanned / "mnt", scanned / "disk")
        assert result.status == FAILED and "through two mounts" in result.errors[0], result
    finally:
        subprocess.run(["umount", scanned / "mnt"], check=True)


# incomplete

@pytest.fixture
def owned(as_user, home):
    """The tree, which a plain user owns and scans."""
    for path in (home, *home.rglob("*")):
        os.chown(path, os.stat(as_user.home).st_uid, -1)
    as_user.ok("scan", home)
    return home


def test_unreadable_file_in_the_folder_makes_the_result_incomplete(as_user, owned):
    os.chmod(owned / "old/1.jpg", 0)
    assert only_in(as_user, owned / "old", status=INCOMPLETE) == below(owned / "old", "1.jpg")
    os.chmod(owned / "old/1.jpg", 0o644)
    os.chmod(owned / "old", 0)
    assert only_in(as_user, owned / "old", status=INCOMPLETE) == set()


def test_unreadable_file_elsewhere_proves_nothing(as_user, owned):
    os.chmod(owned / "photos/2.jpg", 0)
    assert only_in(as_user, owned / "disk") == below(owned / "disk", "2.jpg", "own", "own too")
    assert only_in(as_user, owned / "old", status=COMPLETE) == set()


@pytest.mark.parametrize("name", ["old/1.jpg", "photos/1.jpg"])
def test_file_that_is_open_for_writing_makes_the_result_incomplete(twinfs, home, name):
    with open(home / name, "r+b"):
        twinfs("scan", home)
        assert only_in(twinfs, home / "old", status=INCOMPLETE) == below(home / "old", "1.jpg")


def test_other_file_system_in_the_folder_makes_the_result_incomplete(
        twinfs, scanned, root_only):
    (scanned / "old/disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", scanned / "old/disk"], check=True)
    try:
        trees.fill(scanned / "old/disk", {"file": b"f"})
        result = twinfs("covered", scanned / "old")
        assert result.status == INCOMPLETE and "--cross-file-systems" in result.error.decode()
        assert only_in(twinfs, "--cross-file-systems", scanned / "old") == below(
            scanned / "old/disk", "file")
    finally:
        subprocess.run(["umount", scanned / "old/disk"], check=True)


# changes during the scan

@contextlib.contextmanager
def stopping(twinfs, folder, *words):
    """A program that is stopped whenever it has listed the folder. Yields the process, and a
    function that continues the program and returns whether it has ended."""
    trace = twinfs.folder / "trace"
    trace.touch()
    program = twinfs.under_strace("-P", folder, "-e", "trace=getdents64", "-e",
                                  "inject=getdents64:signal=STOP:when=2", output=trace)
    with program.started(*words) as process:
        def goes_on():
            if process.poll() is not None:
                return True
            for child in children(process.pid):
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.kill(child, signal.SIGCONT)
            return False

        assert until(lambda: b"stopped by SIGSTOP" in trace.read_bytes())
        yield process, goes_on
        assert until(goes_on)


@pytest.mark.parametrize("command", ["covered", "list"])
def test_file_that_is_moved_during_the_scan_is_not_missed(twinfs, tmp_path, command):
    """The scan lists the outer folder before, and the inner one after the file went from that to
    this."""
    card = tmp_path / "card"
    trees.fill(card, {"outer/own": b"only in this", "outer/inner/moved": b"only in that"})
    trees.fill(tmp_path / "archive", {"a": b"a"})
    with stopping(twinfs, card / "outer", command, "--format=null",
                  "--by" if command == "covered" else "--missing-from",
                  tmp_path / "archive", card) as (process, _):
        (card / "outer/inner/moved").rename(card / "outer/moved")
    assert process.output[0].split(b"\0")[:-1] == [
        os.fsencode(card / "outer" / name) for name in ("moved", "own")], process.output
    assert process.returncode == (UNCOVERED if command == "covered" else COMPLETE)


@pytest.mark.parametrize("command", ["covered", "list"])
def test_sources_that_change_all_the_time_make_the_result_incomplete(twinfs, home, command):
    numbers = itertools.count()
    with stopping(twinfs, home / "photos", command,
                  "--by" if command == "covered" else "--missing-from",
                  home / "photos", home / "old") as (process, goes_on):
        def changes():
            trees.fill(home, {f"photos/new {next(numbers)}": b"new"})
            return goes_on()

        assert until(changes)
    assert process.returncode == INCOMPLETE, process.output
    assert b"change all the time" in process.output[1] and b"elsewhere" not in process.output[1]


# views

def test_index_of_a_view_is_not_used(twinfs, home, tmp_path):
    """It can miss writes through names outside of its sources, and disks mounted in them."""
    os.link(home / "photos/1.jpg", tmp_path / "outside")
    with twinfs.mounted(home, options=("--wait", "--exclude=own*")) as view:
        (tmp_path / "outside").write_bytes(b"3" * 5000)
        result = twinfs("covered", home / "old", index=False)
        assert result.status == FAILED and "--by" in result.errors[0], result
        assert only_in(twinfs, "--by", home / "photos", home / "old", index=False) == below(
            home / "old", "1.jpg", "notes copy", "notes again")
        assert only_in(twinfs, "--by", home / "photos", home / "disk", index=False) == below(
            home / "disk", "own", "own too")
        result = twinfs("covered", home / "old")
        assert result.status == FAILED and "cannot prove this" in result.errors[0], result
        for words in ([view.path], ["--by", view.uniques, home / "old"],
                      ["--by", home / "photos", view.uniques]):
            result = twinfs("covered", *words, index=False)
            assert result.status == FAILED and "is in the view at" in result.errors[0], result


def test_folder_without_any_file_is_incomplete(twinfs, scanned):
    (scanned / "card/mountpoint").mkdir(parents=True)
    result = twinfs("covered", scanned / "card")
    assert result.status == INCOMPLETE and "mount it" in result.error.decode(), result
    (scanned / "card/empty").touch()
    assert only_in(twinfs, scanned / "card", status=COMPLETE) == set()


# refusals

def test_folder_in_its_own_place_is_refused(twinfs, home):
    for place in (home, home / "disk"):
        result = twinfs("covered", "--by", place, home / "disk")
        assert result.status == FAILED and result.out == b"", result
        assert "--by" in result.errors[0]
    os.symlink(home / "disk", home / "alias")
    assert twinfs("covered", "--by", home / "alias", home / "disk").status == FAILED


def test_folder_without_a_known_place_is_refused(twinfs, home, tmp_path):
    for _ in range(2):
        result = twinfs("covered", home)
        assert result.status == FAILED and "--by" in result.errors[0], result
        twinfs.ok("scan", home)
    assert twinfs("covered", tmp_path / "absent").status == FAILED


def test_index_of_single_files_is_no_place(twinfs, home, private_state):
    """It has only the files that were named: the rest of its folder was never scanned."""
    twinfs.ok("list", home / "photos/1.jpg", home / "old/1.jpg", index=False)
    result = twinfs("covered", home / "old", index=False)
    assert result.status == FAILED and "--by" in result.errors[0], result


@pytest.mark.parametrize("words", [[], ["--exclude=x", "."], ["--min-size=5", "."], ["--by=", "."]])
def test_wrong_usage(twinfs, words):
    assert twinfs("covered", *words).status == USAGE


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "null"])
def test_each_format_has_the_files_by_path(twinfs, scanned, form):
    result = twinfs("covered", f"--format={form}", scanned / "disk")
    expected = [os.fsencode(scanned / "disk" / name) for name in ("own", "own too")]
    if form == "json":
        found = [path_of(entry) for entry in result.json["missing"]]
    elif form == "jsonl":
        found = [path_of(json.loads(line)) for line in result.out.splitlines()]
    elif form == "null":
        found = result.out.split(b"\0")[:-1]
    else:
        found = [line.strip(b"'") for line in result.out.splitlines()]
    assert found == expected and result.status == UNCOVERED


# a model

@pytest.mark.parametrize("seed", range(4))
def test_random_trees_agree_with_a_model(twinfs, source, seed):
    rng = random.Random(seed)
    contents = [bytes([number]) * rng.choice([1, 70, 4096, 9000]) for number in range(25)]
    for number in range(150):
        folder = source / rng.choice(["a", "a/sub", "b", "b/sub", "b/sub/deep", "c", "c/x"])
        folder.mkdir(parents=True, exist_ok=True)
        others = [path for path in source.rglob("*") if path.is_file()]
        if others and rng.random() < 0.15:
            os.link(rng.choice(others), folder / f"{number}")
        else:
            trees.write(os.fsencode(folder / f"{number}"), rng.choice(contents))
    twinfs.ok("scan", source)
    for _ in range(4):
        given = [source / name for name in rng.sample(["a/sub", "b/sub", "c", "b", "c/x"], 2)]
        inside, outside = set(), set()
        for path in source.rglob("*"):
            if path.is_file():
                (inside if any(folder in path.parents for folder in given) else outside).add(path)
        there = {path.read_bytes() for path in outside}
        expected = {os.fsencode(path) for path in inside if path.read_bytes() not in there}
        status = UNCOVERED if expected else COMPLETE
        assert only_in(twinfs, *given, status=status) == expected, (seed, given)


def test_odd_names(twinfs, source):
    for name in trees.ODD_NAMES:
        trees.fill(source, {b"in/" + name: b"in" + name, b"in/both/" + name: name,
                            b"out/" + name: name})
    twinfs.ok("scan", source)
    assert only_in(twinfs, source / "in") == {
        trees.join(source, b"in", name) for name in trees.ODD_NAMES}


def test_folder_that_fuse_shows_again_is_not_said_to_be_elsewhere(twinfs, tmp_path):
    with shown_by_fuse(tmp_path) as above:
        below = tmp_path / "below"
        trees.fill(below, {"a": b"only one", "b": b"only another"})
        result = twinfs("covered", f"--by={above}", below)
        assert result.status == INCOMPLETE and b"FUSE" in result.error, result


def test_folder_of_this_host_that_rclone_shows_makes_the_result_incomplete(twinfs, tmp_path):
    """The cache of rclone can hide that it reads a file again."""
    with shown_by_fuse(tmp_path, "-o", "subtype=rclone") as above:
        trees.fill(tmp_path, {"below/a": b"one", "other/a": b"one"})
        result = twinfs("covered", f"--by={above}", tmp_path / "other")
        assert result.status == INCOMPLETE and b"possibly shows files" in result.error, result


def test_view_below_a_folder_makes_no_result_incomplete(twinfs, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    trees.fill(one, {"a": b"only one"})
    trees.fill(other, {"b": b"another"})
    with twinfs.mounted(one, at=other / "view"):
        result = twinfs("covered", "--cross-file-systems", f"--by={other}", one, index=False)
    assert result.status == UNCOVERED, result


# file systems of other hosts, which this host can serve itself

@pytest.fixture
def served(tmp_path):
    """A folder, and a mount of sshfs that shows it."""
    with contextlib.ExitStack() as ending:
        place = on_sshfs("sshfs", tmp_path, ending)
        yield place.inodes, place.root


@pytest.mark.parametrize("command,turned", [("covered", False), ("covered", True),
                                            ("list", False)])
def test_files_that_sshfs_shows_again_are_not_said_to_be_elsewhere(twinfs, served, command, turned):
    trees.fill(served[0], {"a": b"only one", "one/b": b"twice here", "two/b": b"twice here"})
    source, place = reversed(served) if turned else served
    option = "--by" if command == "covered" else "--missing-from"
    result = twinfs(command, "--format=null", f"{option}={place}", source)
    assert result.status == INCOMPLETE, result
    assert set(result.out.split(b"\0")[:-1]) == below(source, "a", "one/b", "two/b")
    assert b"3 of these are elsewhere only as files of a network" in result.error


def test_file_of_which_sshfs_shows_another_copy_is_elsewhere(twinfs, served, tmp_path):
    copies = {"a": b"one", "b": b"two", "b again": b"two"}
    trees.fill(served[0], copies)
    trees.fill(tmp_path / "card", copies)
    for source, place in ((tmp_path / "card", served[1]), (served[1], tmp_path / "card")):
        result = twinfs.ok("covered", f"--by={place}", source)
        assert "3 files are all elsewhere" in result.error.decode(), result
        twinfs.index = twinfs.folder / "another"


def test_copy_that_sshfs_shows_again_does_not_count_for_its_equals(twinfs, served, tmp_path):
    """The mount has no other file than one of the two that are examined."""
    trees.fill(served[0], {"a": b"both"})
    trees.fill(tmp_path / "card", {"a": b"both", "b": b"own"})
    words = [f"--by={served[1]}", served[0], tmp_path / "card"]
    assert only_in(twinfs, *words, status=INCOMPLETE) == {
        *below(served[0], "a"), *below(tmp_path / "card", "a", "b")}


def test_only_files_without_another_copy_than_sshfs_shows_are_printed(twinfs, served, tmp_path):
    trees.fill(served[0], {"a": b"archived", "b": b"only shown"})
    trees.fill(tmp_path / "archive", {"a": b"archived"})
    assert only_in(twinfs, f"--by={served[1]}", f"--by={tmp_path / 'archive'}", served[0],
                   status=INCOMPLETE) == below(served[0], "b")


def test_copies_on_two_file_systems_of_other_hosts_are_doubted(twinfs, served, tmp_path):
    trees.fill(served[0], {"a": b"one"})
    with contextlib.ExitStack() as ending:
        (tmp_path / "second").mkdir()
        place = on_sshfs("sshfs", tmp_path / "second", ending)
        trees.fill(place.inodes, {"a": b"one"})
        assert only_in(twinfs, f"--by={place.root}", served[1], status=INCOMPLETE) == below(
            served[1], "a")

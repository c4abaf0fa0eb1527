# SPDX-License-Identifier: MIT
"""list --missing-from prints the files of some folders whose content is nowhere in others."""
import collections
import csv
import io
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
import trees
from disks import overlay
from program import path_of

FORMATS = ["text", "fdupes", "json", "jsonl", "csv", "null"]


@pytest.fixture
def archive(tmp_path):
    trees.fill(tmp_path / "archive", {
        "2019/a.jpg": b"a" * 5000, "2019/b.jpg": b"b" * 5000, "twice/1": b"t", "twice/2": b"t",
        ".Trash-1000/files/thrown": b"away", "empty": b"", "size of x": b"y"})
    return tmp_path / "archive"


@pytest.fixture
def card(tmp_path):
    trees.fill(tmp_path / "card", {
        "DCIM/1.jpg": b"a" * 5000, "DCIM/2.jpg": b"c" * 5000, "DCIM/2 again.jpg": b"c" * 5000,
        "alone": b"only here", "thrown": b"away", "also empty": b"", "x": b"x", "t": b"t"})
    return tmp_path / "card"


MISSING = {"DCIM/2.jpg", "DCIM/2 again.jpg", "alone", "thrown", "x"}


def missing(twinfs, *words, status=0):
    """The printed paths (bytes); each is printed once."""
    result = twinfs("list", "--format=null", *words)
    assert result.status == status, result
    paths = result.out.split(b"\0")[:-1]
    assert len(paths) == len(set(paths))
    return set(paths)


def below(folder, names):
    return {os.fsencode(folder / name) for name in names}


def test_files_whose_content_is_nowhere_else_are_printed(twinfs, archive, card):
    assert missing(twinfs, "--missing-from", archive, card) == below(card, MISSING)
    twinfs.index = twinfs.folder / "another"
    assert missing(twinfs, "--missing-from", card, archive) == below(
        archive, ["2019/b.jpg", ".Trash-1000/files/thrown", "size of x"]) - below(
        archive, [".Trash-1000/files/thrown"])


def printed(out, form, folder):
    if form in ("text", "fdupes"):
        return out.decode().splitlines()
    if form == "json":
        paths = [path_of(entry) for entry in json.loads(out)["missing"]]
    elif form == "jsonl":
        paths = [path_of(json.loads(line)) for line in out.splitlines()]
    elif form == "csv":
        rows = csv.DictReader(io.StringIO(out.decode(), newline=""))
        paths = [os.fsencode(row["path"]) for row in rows]
    else:
        paths = out.split(b"\0")[:-1]
    return [os.fsdecode(path)[len(str(folder.parent)) + 1:] for path in paths]


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_prints_the_missing_files_by_path(twinfs, archive, card, form):
    result = twinfs.ok("list", f"--format={form}", "--missing-from=archive", "card",
                       cwd=archive.parent)
    assert printed(result.out, form, card) == sorted(f"card/{name}" for name in MISSING)
    assert "5 files are missing" in result.error.decode()


def test_figures_count_the_missing_files(twinfs, archive, card):
    summary = twinfs.ok("list", "--format=json", "--missing-from", archive, card).json["summary"]
    assert summary["missing"] == 5
    assert summary["missing_bytes"] == sum((card / name).stat().st_size for name in MISSING)
    assert "singles" not in summary and "groups" not in summary


def test_nothing_missing_is_said(twinfs, archive, card):
    for name in MISSING:
        (card / name).unlink()
    result = twinfs.ok("list", "--missing-from", archive, card)
    assert result.out == b"" and "no file is missing" in result.error.decode()


def test_folder_that_another_mount_shows_too_is_refused(twinfs, card, tmp_path, root_only):
    there = tmp_path / "there"
    there.mkdir()
    subprocess.run(["mount", "--bind", card / "DCIM", there], check=True)
    try:
        result = twinfs("list", "--missing-from", there, card)
    finally:
        subprocess.run(["umount", there], check=True)
    assert result.status == 1 and result.out == b""
    assert "through two mounts" in result.error.decode()


def test_file_that_a_mount_in_the_other_folder_shows_too_is_missing(
        twinfs, archive, card, root_only):
    """The mount shows the files of the card: they are on the card only."""
    there = archive / "mnt"
    there.mkdir()
    os.link(card / "alone", card / "DCIM/linked")
    subprocess.run(["mount", "--bind", card / "DCIM", there], check=True)
    try:
        assert missing(twinfs, "--cross-file-systems", "--missing-from", archive, card) == {
            os.fsencode(card / name) for name in MISSING | {"DCIM/linked"}}
        os.link(card / "alone", archive / "really")  # which cannot be told from the mount's
        assert missing(twinfs, "--cross-file-systems", "--missing-from", archive, card) == {
            os.fsencode(card / name) for name in MISSING | {"DCIM/linked"}}
    finally:
        subprocess.run(["umount", there], check=True)
    assert missing(twinfs, "--cross-file-systems", "--missing-from", archive, card) == {
        os.fsencode(card / name) for name in MISSING - {"alone"}}


def test_several_folders_are_one(twinfs, archive, card, aside):
    trees.fill(aside, {"c": b"c" * 5000, "z": b"only here"})
    assert missing(twinfs, "--missing-from", archive, "--missing-from", aside, card) == below(
        card, ["thrown", "x"])
    twinfs.index = twinfs.folder / "another"
    assert missing(twinfs, "--missing-from", archive, card, aside) == below(card, MISSING) | below(
        aside, ["c", "z"])


def test_selection_applies(twinfs, archive, card):
    words = ("--missing-from", archive, card)
    assert missing(twinfs, "--path=DCIM/*", *words) == below(
        card, ["DCIM/2.jpg", "DCIM/2 again.jpg"])
    assert missing(twinfs, "--max-size=1", *words) == below(card, ["x"])
    assert missing(twinfs, "--ext=JPG", "--regex=again", *words) == below(
        card, ["DCIM/2 again.jpg"])
    os.utime(card / "alone", (0, 0))
    assert missing(twinfs, "--older=2000-01-01", *words) == below(card, ["alone"])
    assert missing(twinfs, "--top=1", *words) == below(card, ["DCIM/2 again.jpg"])
    result = twinfs.ok("list", "--format=null", "--sort=size", "--top=2", *words)
    assert result.out.count(b"/DCIM/") == 2


# folders in each other

def test_folder_inside_the_other_is_not_part_of_it(twinfs, archive, card, tmp_path):
    """Which of archive/card and archive is wiped must not matter."""
    card.rename(archive / "card")
    assert missing(twinfs, "--missing-from", archive, archive / "card") == below(
        archive / "card", MISSING)
    outside = below(archive, ["2019/b.jpg", "size of x"])
    assert missing(twinfs, "--missing-from", archive / "card", archive) == outside
    result = twinfs("list", "--missing-from", archive, archive)
    assert result.status == 1 and "with itself" in result.errors[0], result


def test_hard_link_in_the_other_folder_is_enough(twinfs, archive, card):
    os.link(card / "alone", archive / "linked")
    assert missing(twinfs, "--missing-from", archive, card) == below(card, MISSING - {"alone"})


def test_all_names_of_a_missing_file_are_printed(twinfs, archive, card):
    os.link(card / "alone", card / "DCIM/linked")
    assert missing(twinfs, "--missing-from", archive, card) == below(
        card, MISSING | {"DCIM/linked"})


# a view

def test_view_is_no_proof(twinfs, archive, card, aside):
    """It can miss writes through names outside of its sources, and disks mounted in them."""
    os.link(archive / "2019/a.jpg", aside / "outside")
    with twinfs.mounted(archive, card) as view:
        (aside / "outside").write_bytes(b"A" * 5000)
        for words in ([archive, view.path], [view.path, card], [view.uniques, card]):
            result = twinfs("list", "--missing-from", *words)
            assert result.status == 1 and "is in the view at" in result.errors[0], result
        result = twinfs("list", "--missing-from", archive, card)
        assert result.status == 1 and "cannot prove this" in result.errors[0], result
        beside = twinfs.with_index(twinfs.folder / "beside")
        assert missing(beside, "--missing-from", archive, card) == below(
            card, MISSING | {"DCIM/1.jpg"})


def test_overlay_that_possibly_shows_the_files_makes_the_result_incomplete(
        twinfs, tmp_path, root_only):
    with overlay(tmp_path) as shown:
        upper = shown.parent / "upper"
        trees.fill(upper, {"u": b"only here"})
        for here, there in ((upper, shown), (shown, upper)):
            twinfs.index = twinfs.folder / f"index {here.name}"
            result = twinfs("list", "--missing-from", there, here)
            assert result.status == 3 and b"overlay" in result.error, result


@pytest.mark.parametrize("where", ["trash", "outside"])
def test_hard_link_elsewhere_and_another_mount_are_no_link_in_the_folder(
        twinfs, archive, card, aside, where, root_only):
    link = archive / ".Trash-1000/files/linked" if where == "trash" else archive / "linked"
    os.link(card / "alone", link)
    there = archive / "mnt"
    there.mkdir()
    subprocess.run(["mount", "--bind", card, there], check=True)
    try:
        found = missing(twinfs, "--cross-file-systems", "--missing-from", archive, card)
    finally:
        subprocess.run(["umount", there], check=True)
    assert os.fsencode(card / "alone") in found


def test_file_system_in_memory_is_no_change_without_end(twinfs, tmp_path, root_only):
    place = tmp_path / "memory"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        trees.fill(place, {"card/a": b"same", "card/b": b"own", "archive/a": b"same"})
        # a copy in memory does not count, see test_emptied_places.py
        assert missing(twinfs, "--missing-from", place / "archive", place / "card") == below(
            place / "card", ["a", "b"])
    finally:
        subprocess.run(["umount", place], check=True)


# what is not known

def test_unreadable_file_is_printed_and_makes_the_result_incomplete(
        twinfs, as_user, archive, card):
    for root in (archive, card):
        for path in (root, *root.rglob("*")):
            os.chown(path, os.stat(as_user.home).st_uid, -1)
    (card / "DCIM/1.jpg").chmod(0)
    assert missing(as_user, "--missing-from", archive, card, status=3) == below(
        card, MISSING | {"DCIM/1.jpg"})
    (card / "DCIM/1.jpg").chmod(0o600)
    (archive / "2019/a.jpg").chmod(0)
    assert missing(as_user, "--missing-from", archive, card, status=3) == below(
        card, MISSING | {"DCIM/1.jpg"})
    (archive / "2019/a.jpg").chmod(0o600)
    (card / "DCIM").chmod(0)
    result = as_user("list", "--missing-from", archive, card)
    assert result.status == 3 and b"DCIM" in result.error, result
    assert b"the result is incomplete" in result.error
    for path in card.iterdir():
        if path.name != "DCIM":
            path.unlink()
    result = as_user("list", "--missing-from", archive, card)
    assert result.status == 3 and b"no file is missing" not in result.error, result


def test_file_that_is_being_written_is_printed_and_makes_the_result_incomplete(
        twinfs, archive, card):
    for path in (card / "DCIM/1.jpg", archive / "2019/a.jpg"):
        twinfs.index = twinfs.folder / path.parent.name
        with open(path, "r+b"):
            assert missing(twinfs, "--missing-from", archive, card, status=3) == below(
                card, MISSING | {"DCIM/1.jpg"})


@pytest.mark.parametrize("empty", ["archive", "card"])
def test_empty_folder_is_refused_as_a_disk_that_is_not_mounted(twinfs, archive, card, empty):
    trees.remove(archive.parent / empty)
    (archive.parent / empty).mkdir()
    result = twinfs("list", "--missing-from", archive, card)
    assert result.status == 1 and empty in result.errors[0] and result.out == b"", result


def test_other_file_system_in_the_folder_makes_the_result_incomplete(
        twinfs, archive, card, root_only):
    (card / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", card / "disk"], check=True)
    try:
        trees.fill(card / "disk", {"file": b"f"})
        result = twinfs("list", "--missing-from", archive, card)
        assert result.status == 3 and "--cross-file-systems" in result.error.decode(), result
        assert os.fsencode(card / "disk/file") in missing(
            twinfs, "--cross-file-systems", "--missing-from", archive, card)
        result = twinfs.with_index(twinfs.folder / "another")(
            "list", "--missing-from", card, card / "disk")
        assert result.status == 1 and "another file system" in result.errors[-1], result
    finally:
        subprocess.run(["umount", card / "disk"], check=True)


@pytest.mark.parametrize("scanned", [False, True])
def test_excluded_file_is_not_there(twinfs, archive, card, scanned):
    """Beside an index that has the excluded files, --exclude is a filter."""
    if scanned:
        twinfs.ok("scan", archive, card)
    assert missing(twinfs, "--exclude=DCIM/", "--missing-from", archive, card) == below(
        card, ["alone", "thrown", "x"])
    twinfs.index = twinfs.folder / "another"
    if scanned:
        twinfs.ok("scan", archive, card)
    assert missing(twinfs, "--exclude=2019", "--missing-from", archive, card) == below(
        card, MISSING | {"DCIM/1.jpg"})


@pytest.mark.parametrize("words", [
    ["--singles"], ["--redundant"], ["--summary"], ["--explain"], ["--no-scan"],
    ["--sort=count"], ["--sort=reclaimable"], ["--copies=2"], ["--same-name"]])
def test_contradicting_option_is_wrong_usage(twinfs, archive, card, words):
    assert twinfs("list", *words, "--missing-from", archive, card).status == 2
    assert twinfs("list", "--missing-from", archive).status == 2


# a model

def random_trees(root, rng):
    contents = [bytes([rng.randrange(256)]) * rng.choice([0, 1, 1, 70, 4096, 9000])
                for _ in range(12)]
    for number in range(120):
        folder = root / rng.choice(["a", "a/sub", "b", "b/sub", "b/sub/deep", "c"])
        folder.mkdir(parents=True, exist_ok=True)
        others = [path for path in root.rglob("*") if path.is_file()]
        path = folder / f"{number}"
        if others and rng.random() < 0.15:
            os.link(rng.choice(others), path)
        else:
            path.write_bytes(rng.choice(contents) if rng.random() < 0.8 else b"%d" % number)


def innermost(path, folders):
    return max((folder for folder in folders if folder in path.parents),
               key=lambda folder: len(folder.parts), default=None)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_agree_with_a_model(twinfs, source, seed):
    rng = random.Random(seed)
    random_trees(source, rng)
    names = [Path(name) for name in ("a", "b", "b/sub", "c", "a/sub")]
    for number in range(4):
        given = rng.sample(names, 3)
        of, held = [source / given[0]], [source / name for name in given[1:]]
        areas = collections.defaultdict(set)
        for path in source.rglob("*"):
            if path.is_file() and path.stat().st_size:
                areas[innermost(path, of + held)].add(path)
        there = {path.read_bytes() for folder in held for path in areas[folder]}
        expected = {os.fsencode(path) for path in areas[of[0]] if path.read_bytes() not in there}
        twinfs.index = twinfs.folder / f"index {number}"
        words = [f"--missing-from={folder}" for folder in held]
        assert missing(twinfs, *words, of[0]) == expected, (seed, given)

# SPDX-License-Identifier: MIT
"""Of equal files, a first scan keeps the likely original, and the kept copy then stays kept."""
import contextlib
import os
import subprocess

import pytest
import trees

PHOTO, VIDEO, REPORT, LETTER, NOTES = (trees.content(name, 9000 + len(name)) for name in (
    "photo", "video", "report", "letter", "notes"))
OLD, NEW = 1_500_000_000 * 10**9, 1_600_000_000 * 10**9
TRASH = ".local/share/Trash/files"
ORIGINALS = {
    "Pictures/2019/IMG_0001.jpg": PHOTO,
    "Videos/v30.mp4": VIDEO,
    "Documents/work/reports/2020/report.pdf": REPORT,
    "Phone/DCIM/Camera/letter.jpg": LETTER,
    "Documents/notes.txt": NOTES,
}
COPIES = {
    "Backup 2022/Pictures/2019/IMG_0001.jpg": PHOTO,
    "Old laptop/IMG_0001.jpg": PHOTO,
    ".hidden/IMG_0001.jpg": PHOTO,
    f"{TRASH}/IMG_0001.jpg": PHOTO,
    "Videos/copy_of_v30.mp4": VIDEO,
    "Videos/v30 - Copy.mp4": VIDEO,
    "Downloads/report (1).pdf": REPORT,
    "Downloads/report(2).pdf": REPORT,
    "Documents/backup/letter.jpg": LETTER,
    "Documents/notes.txt~": NOTES,
    "Documents/notes.txt.bak": NOTES,
    "A/Kopie von notes.txt": NOTES,
}


def make(folder, files, mtime):
    trees.fill(folder, files)
    for name in files:
        os.utime(folder / name, ns=(mtime, mtime))


def kept(twinfs, source):
    """The kept names below the source, and why each is kept."""
    groups = twinfs.ok("list", "--format=json", "--explain", source).json["groups"]
    return {os.path.relpath(copy["path"], source): copy["why"]
            for group in groups for copy in group["copies"] if copy["kept"]}


@pytest.mark.parametrize("copies_first", [False, True], ids=["originals-first", "copies-first"])
def test_copies_with_the_times_of_the_originals_are_recognized_by_their_names(
        twinfs, source, copies_first):
    for files in [COPIES, ORIGINALS] if copies_first else [ORIGINALS, COPIES]:
        make(source, files, OLD)
    assert kept(twinfs, source) == dict.fromkeys(ORIGINALS, "not named like a copy")


def test_oldest_copy_is_kept_whatever_its_name(twinfs, source):
    make(source, COPIES, NEW)
    make(source, ORIGINALS, OLD)
    make(source, {"Old laptop/report.pdf": REPORT, f"{TRASH}/notes.txt": NOTES}, OLD - 10**12)
    expected = dict.fromkeys(ORIGINALS, "oldest")
    del expected["Documents/work/reports/2020/report.pdf"]
    expected["Old laptop/report.pdf"] = "oldest"
    assert kept(twinfs, source) == expected


def test_a_copy_in_a_trash_is_kept_only_if_all_are(twinfs, source):
    make(source, {f"{TRASH}/a": b"equal", f"{TRASH}/b": b"equal", f"{TRASH}/c": PHOTO}, OLD)
    make(source, {"old/c": PHOTO}, NEW)
    assert set(kept(twinfs, source)) == {f"{TRASH}/a", "old/c"}


@pytest.mark.parametrize(("link", "expected"), [("0/a (1)", "b"), ("a", "a")])
def test_preferred_name_of_an_inode_counts(twinfs, source, link, expected):
    make(source, {"backup/a": b"equal", "b": b"equal"}, OLD)
    (source / "0").mkdir()
    (source / link).hardlink_to(source / "backup/a")
    assert expected in kept(twinfs, source)


def touch(path):
    os.utime(path, ns=(NEW, NEW))


def add_attribute(path):
    os.setxattr(path, "user.comment", b"text")


CHANGES = {
    "chmod": lambda path: path.chmod(0o600),
    "setfattr": add_attribute,
    "touch": touch,
    "link": lambda path: path.with_name("another").hardlink_to(path),
    "rename": lambda path: path.rename(path.with_name("copy of one")),
    "write": lambda path: path.write_bytes(path.read_bytes()),
}


@pytest.fixture
def pair(source):
    """A file that is known before its copies, and so is kept although they look like originals."""
    make(source, {"z/one": b"equal", "z/unique": b"other"}, NEW)
    return source


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_kept_copy_stays_kept_for_a_scan(twinfs, pair, change):
    twinfs.ok("scan", pair)
    make(pair, {"a": b"equal", "b": b"equal"}, OLD)
    assert set(kept(twinfs, pair)) == {"z/one"}
    inode = (pair / "z/one").stat().st_ino
    change(pair / "z/one")
    assert {(pair / name).stat().st_ino for name in kept(twinfs, pair)} == {inode}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_kept_copy_stays_kept_in_a_view(twinfs, pair, change):
    twinfs.ok("scan", pair)
    make(pair, {"a": b"equal", "b": b"equal"}, OLD)
    with twinfs.mounted(pair) as view:
        inode = (pair / "z/one").stat().st_ino
        change(pair / "z/one")
        view.sync()
        found = [path.relative_to(view.uniques) for path in view.uniques.rglob("*")
                 if path.is_file() and path.name != "unique"]
        assert {(pair / path).stat().st_ino for path in found} == {inode}
        assert view.differences_now(pair) == []


def test_all_copies_that_changed_at_once_keep_the_kept_one(twinfs, pair):
    twinfs.ok("scan", pair)
    make(pair, {"a": b"equal", "b": b"equal"}, OLD)
    assert set(kept(twinfs, pair)) == {"z/one"}
    for name in ["a", "b", "z/one"]:
        touch(pair / name)
    assert set(kept(twinfs, pair)) == {"z/one"}


def test_all_copies_that_changed_one_by_one_keep_the_kept_one(twinfs, pair):
    """A copy that is kept while the kept one is away gives way to it."""
    twinfs.ok("scan", pair)
    make(pair, {"a": b"equal", "b": b"equal"}, OLD)
    with twinfs.mounted(pair) as view, contextlib.ExitStack() as held:
        for name in ["z/one", "a", "b"]:
            held.enter_context(open(pair / name, "r+b"))  # so it stays pending
            touch(pair / name)
            view.sync()
        assert view.status()["pending"] == 3
        held.close()
        view.sync()
        assert (view.uniques / "z/one").exists()
        assert sorted(os.listdir(view.path / "redundant")) == ["a", "b"]
        assert view.differences_now(pair) == []


def test_link_leaves_the_kept_copy_and_rsync_sends_nothing(twinfs, pair, tmp_path):
    backup = tmp_path / "backup"
    make(pair, {"a": b"equal" * 9000, "z/two": b"equal" * 9000}, OLD)
    twinfs.ok("scan", pair)
    make(pair, {"b": b"equal" * 9000}, OLD - 10**12)
    with twinfs.mounted(pair) as view:
        command = ["rsync", "-aHAX", "--stats", f"{view.uniques}/", backup]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        before = (pair / "a").stat().st_ino
        twinfs.ok("link", "--yes", view.path)
        view.sync()
        assert (pair / "b").stat().st_ino == before
        sent = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert "Literal data: 0 bytes" in sent


def test_last_name_outside_of_the_trash_counts(twinfs, source):
    """Both names of the kept copy go to the trash, one after the other."""
    make(source, {"a": b"equal", "c": b"equal"}, OLD)
    (source / "b").hardlink_to(source / "a")
    (source / TRASH).mkdir(parents=True)
    with twinfs.mounted(source) as view:
        for name in ["a", "b"]:
            assert not (view.uniques / "c").exists()
            (source / name).rename(source / TRASH / name)
            view.sync()
        assert (view.uniques / "c").exists()
        assert sorted(os.listdir(view.path / "redundant" / TRASH)) == ["a", "b"]
        (source / "d").hardlink_to(source / TRASH / "a")
        view.sync()
        assert view.differences_now(source) == []
    assert twinfs.ok("check", source).status == 0


@pytest.mark.parametrize("moved", ["A", "A/b", "A/b/Trash"])
def test_folder_that_goes_to_the_trash_gives_way(twinfs, source, moved):
    """The last one becomes a trash by its name."""
    trashed = source / TRASH / "old"
    below = "files/kept" if moved.endswith("Trash") else "kept"
    name = moved.replace("Trash", "waste") + "/" + below
    make(source, {name: b"equal", f"{TRASH}/old/deep/b": PHOTO}, OLD - 10**12)
    make(source, {"copy": b"equal", "old/b (1)": PHOTO, "files/alone": VIDEO}, OLD)
    with twinfs.mounted(source) as view:
        assert (view.uniques / name).exists()
        assert (view.uniques / "old/b (1)").exists()
        if moved.endswith("Trash"):
            (source / "A/b/waste").rename(source / moved)
        else:
            (source / moved).rename(source / TRASH / "new")
        view.sync()
        assert (view.uniques / "copy").exists()
        assert view.differences_now(source) == []
        (source / "old/b (1)").rename(source / TRASH / "b (1)")
        view.sync()
        assert (view.uniques / TRASH / "b (1)").exists()
        trashed.rename(source / "again")
        view.sync()
        assert (view.uniques / "again/deep/b").exists()
        assert view.differences_now(source) == []
    assert twinfs.ok("check", source).status == 0


def test_kept_copy_that_goes_to_the_trash_gives_way(twinfs, source):
    make(source, {"a": b"equal", "b": b"equal", "c": b"equal"}, OLD)
    (source / TRASH).mkdir(parents=True)
    with twinfs.mounted(source) as view:
        assert (view.uniques / "a").exists()
        (source / "a").rename(source / TRASH / "a")
        view.sync()
        assert (view.uniques / "b").exists()
        assert (view.path / "redundant" / TRASH / "a").exists()
        for name in ["b", "c"]:
            (source / name).rename(source / TRASH / name)
        view.sync()
        (source / TRASH / "c").rename(source / "c")
        view.sync()
        assert (view.uniques / "c").exists()
        assert sorted(os.listdir(view.path / "redundant" / TRASH)) == ["a", "b"]
        assert view.differences_now(source) == []
    assert twinfs.ok("check", source).status == 0

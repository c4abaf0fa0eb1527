# SPDX-License-Identifier: MIT
"""A new index takes what other indexes of the user know of unchanged files, and nothing else."""
import itertools
import lzma
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import newer_index
import oracle
import pytest
import trees
from processes import until

pytestmark = pytest.mark.usefixtures("private_state")

SEEDS = int(os.environ.get("TWINFS_TEST_SEEDS", "8"))


@pytest.fixture
def tree(source):
    """Folders A and B, with copies in both."""
    for name in ("A", "A/sub", "B"):
        trees.fill(source / name, {f"{number}": b"%d" % (number % 7) * (number % 5 * 3000 + 9)
                                   for number in range(20)})
    trees.fill(source, {"A/alone": b"a" * 5000, "B/alone": b"b" * 5000, "A/sub/mine": b"c" * 77})
    os.link(source / "A/0", source / "A/sub/link")
    return source


class Scans:
    """Scans with a new index each, which is not in the default folder."""

    def __init__(self, twinfs, source):
        self.twinfs, self.source = twinfs, source
        self.numbers = itertools.count()

    def known(self, *names):
        """Scans folders with an index in the default folder; returns the folder of the index."""
        before = self.folders()
        self.twinfs.ok("scan", *self.paths(names), index=False)
        return next(iter(self.folders() - before), None)

    def folders(self):
        found = self.twinfs.ok("index", "--format=json").json["indexes"]
        return {Path(index["folder"]) for index in found}

    def paths(self, names):
        return [self.source / name for name in names] or [self.source]

    def read(self, *names):
        """The names of the files in folders that a scan with a new index reads. The result is
        compared with the oracle, and with the contents by twinfs itself."""
        other = self.twinfs.with_index(self.twinfs.folder / f"new {next(self.numbers)}")
        paths = self.paths(names)
        reads = other.content_read("scan", *paths, below=self.source)
        self.compare(other, paths)
        return {os.path.relpath(os.fsdecode(path), self.source) for _, path in reads}

    @staticmethod
    def compare(other, paths):
        assert other.groups(*paths) == oracle.path_groups(*paths)
        assert other.ok("check", *paths).errors == []


@pytest.fixture
def scans(twinfs, tree, strace):
    return Scans(twinfs, tree)


def test_folder_in_a_known_source_is_not_read(scans):
    scans.known("A")
    assert scans.read("A/sub") == set()
    assert scans.read("A") == set()


def test_known_sources_in_another_order_or_in_a_parent_are_not_read(scans):
    scans.known("A", "B")
    assert scans.read("B", "A") == set()
    assert scans.read("B") == set()
    assert scans.read() == set()


def test_sources_of_two_indexes_are_read_only_to_compare_them(scans):
    scans.known("A")
    scans.known("B")
    assert scans.read("A", "B") <= {f"B/{number}" for number in range(20)} | {
        f"A/{name}{number}" for name in ("", "sub/") for number in range(20)} | {
        "A/sub/link", "A/alone", "B/alone"}
    scans.known("A", "B")
    assert scans.read("B", "A") == set()


def test_other_source_is_read_and_compared_with_the_known_one(scans):
    scans.known("A")
    read = scans.read("A", "B")
    assert {f"B/{number}" for number in range(20)} <= read
    assert "A/sub/mine" not in read


def walk_reads(scans, *names):
    """The names of the files that the walk of a scan with a new index reads. Only the walk uses
    preadv2(2)."""
    other = scans.twinfs.with_index(scans.twinfs.folder / f"new {next(scans.numbers)}")
    result, trace = other.traced("scan", *scans.paths(names), calls="trace=preadv2", flags=["-y"])
    assert result.status == 0
    scans.compare(other, scans.paths(names))
    return {os.path.relpath(os.fsdecode(path), scans.source)
            for path in re.findall(rb"preadv2\(\d+<([^>]*)>", trace)}


def fill_long_ago(folder, count=30):
    """Makes different files of one size. The walk reads no file that was written a moment ago."""
    trees.fill(folder, {f"{number}": trees.content(f"{folder} {number}", 3000)
                        for number in range(count)})
    assert until(lambda: time.time() > (folder / f"{count - 1}").stat().st_ctime + 0.1)


def test_walk_reads_what_no_index_lends(scans, tree):
    """An index that has a part of the files, or none that is unchanged, delays no other file."""
    names = ("A/known", "B/new")
    for name in names:
        fill_long_ago(tree / name)
    assert len(walk_reads(scans, *names)) >= 59  # the first file of a size is read after the walk
    scans.known("A/known")
    read = walk_reads(scans, *names)
    assert len(read) >= 29 and all(name.startswith("B/new/") for name in read)
    assert len(scans.read(*names)) == 30
    for path in (tree / "A/known").iterdir():
        path.chmod(0o600)
    assert until(lambda: time.time() > path.stat().st_ctime + 0.1)
    assert len(walk_reads(scans, *names)) >= 59


def test_index_that_lends_nothing_delays_no_file(scans, tree):
    fill_long_ago(tree / "A/known")
    (scans.known("A/known") / "boot").write_text("another boot\n")
    assert len(walk_reads(scans, "A/known")) >= 29


def test_copies_of_lent_files_are_compared_with_one_of_each_group(scans, tree):
    """The walk reads files that are equal to lent ones, and records no content of them."""
    trees.fill(tree / "A/many", {f"{number}": b"many" * 1000 for number in range(30)})
    fill_long_ago(tree / "B/x/y/z/more")
    (tree / "B/x/y/z/more/copy").write_bytes(b"many" * 1000)
    fill_long_ago(tree / "B/new")
    scans.known("A/many")
    read = scans.read("A/many", "B")
    assert "B/x/y/z/more/copy" in read
    assert len({name for name in read if name.startswith("A/many/")}) == 1


def test_empty_files_of_two_indexes_are_one_group(scans, twinfs, tree):
    for name in ("A", "B"):
        trees.fill(tree / name / "empty", {"1": b"", "2": b""})
        twinfs.ok("scan", "--min-size=0", tree / name, index=False)
    groups = twinfs.with_index(twinfs.folder / "new").groups("--min-size=0", tree / "A",
                                                            tree / "B")
    assert [len(group) for group in groups if b"empty" in next(iter(group))] == [4]


def test_contents_in_the_index_of_a_view_are_taken_while_it_is_mounted(scans, twinfs, tree):
    other = twinfs.with_index(scans.known("A"))
    with other.mounted(tree / "A") as view:
        assert scans.read("A/sub") == set()
        for number in range(5):
            (tree / f"A/sub/{number}").write_bytes(b"%d written" % number)
            (tree / f"A/sub/1{number}").rename(tree / f"A/renamed {number}")
            scans.read("A/sub")
            scans.read("A")
        assert view.differences_now(tree / "A") == []


def test_view_of_a_new_index_shows_taken_contents(scans, twinfs, tree):
    scans.known("A")
    with twinfs.mounted(tree / "A/sub", tree / "B") as view:
        assert view.differences_now(tree / "A/sub", tree / "B") == []
        (tree / "A/sub/1").write_bytes(b"other")
        assert view.differences_now(tree / "A/sub", tree / "B") == []


def test_changed_file_with_restored_times_is_read(scans, tree):
    scans.known("A")
    for name in ("A/1", "A/sub/1"):
        before = os.stat(tree / name)
        data = (tree / name).read_bytes()
        (tree / name).write_bytes(data[:-1] + b"x")
        os.utime(tree / name, ns=(before.st_atime_ns, before.st_mtime_ns))
    read = scans.read("A")
    assert {"A/1", "A/sub/1"} <= read and "A/2" not in read


def test_contents_that_a_power_cut_possibly_changed_are_read(scans, tree):
    (scans.known("A") / "boot").write_text("another boot\n")
    assert "A/sub/1" in scans.read("A/sub")


def damage(folder):
    with open(folder / "data.mdb", "r+b") as file:
        file.seek(4096 * 2 + 100)
        file.write(b"damaged")


def make_older(folder):
    """Replaces the index by one of format 4, which was closed cleanly."""
    path = Path(__file__).parent / "indexes/format-4.mdb.xz"
    (folder / "data.mdb").write_bytes(lzma.decompress(path.read_bytes()))
    (folder / "seal").write_text("102400 44f41f2daecc16b8e9c76d537d41b4f7\n")


def make_link(folder):
    moved = folder.parent.parent / "moved"
    folder.rename(moved)
    folder.symlink_to(moved)


UNTRUSTED = {
    "damaged": damage,
    "older": make_older,
    "newer": newer_index.make_newer,
    "unsealed": lambda folder: (folder / "seal").unlink(),
    "killed": lambda folder: (folder / "owner").write_text("4711\n\n"),
    "symbolic link": make_link,
    "folder of a group": lambda folder: folder.chmod(0o770),
    "folder of all": lambda folder: folder.chmod(0o777),
    "file of a group": lambda folder: (folder / "data.mdb").chmod(0o660),
    "seal of all": lambda folder: (folder / "seal").chmod(0o666),
    "unknown sources": lambda folder: (folder / "scanned-sources").unlink(),
}


@pytest.mark.parametrize("change", UNTRUSTED)
def test_untrusted_index_is_not_used_and_not_changed(scans, change):
    folder = scans.known("A")
    UNTRUSTED[change](folder)
    before = {path.name: (path.read_bytes(), path.stat().st_mode) for path in folder.iterdir()
              if path.name != "lock.mdb"}, folder.stat().st_mode
    assert "A/sub/1" in scans.read("A/sub")
    assert before == ({path.name: (path.read_bytes(), path.stat().st_mode)
                       for path in folder.iterdir() if path.name != "lock.mdb"},
                      folder.stat().st_mode)


@pytest.mark.parametrize("name", ["", "data.mdb", "seal", "scanned-sources"])
def test_index_of_another_user_is_not_used(scans, root_only, name):
    os.chown(scans.known("A") / name, 12345, -1)
    assert "A/sub/1" in scans.read("A/sub")


def test_index_in_a_read_only_folder_gives_right_groups(scans, root_only):
    folder = scans.known("A")
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    try:
        scans.read("A/sub", "B")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_files_on_a_file_system_that_hides_stores_are_read(scans, tree, root_only):
    (tree / "tmpfs").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", tree / "tmpfs"], check=True)
    try:
        trees.fill(tree / "tmpfs", {"1": b"same", "2": b"same"})
        scans.known("tmpfs")
        assert scans.read("tmpfs") == {"tmpfs/1", "tmpfs/2"}
    finally:
        subprocess.run(["umount", tree / "tmpfs"], check=True)


def test_same_inode_on_another_file_system_is_read(scans, tree, loop_devices, tmp_path):
    """The second disk is a copy of the first one with another UUID: only that differs."""
    image, disk = tmp_path / "image", tree / "disk"
    disk.mkdir()
    subprocess.run(["mkfs.ext4", "-q", image, "8M"], check=True)
    for number in range(2):
        if number:
            # tune2fs demands a check if the file system was mounted later than in its first second
            for command in (["e2fsck", "-f", "-p"], ["tune2fs", "-f", "-U", "random"]):
                subprocess.run([*command, image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        try:
            if number == 0:
                trees.fill(disk / "files", {"1": b"same", "2": b"same"})
                scans.known("disk/files")
                assert scans.read("disk/files") == set()
            else:
                assert scans.read("disk/files") == {"disk/files/1", "disk/files/2"}
        finally:
            subprocess.run(["umount", disk], check=True)


def test_files_without_a_birth_time_are_read(scans, tree, loop_devices, tmp_path):
    """Their number alone does not tell them from another file, as on FUSE after the next mount."""
    image, disk = tmp_path / "image", tree / "disk"
    disk.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-I", "128", image, "8M"], check=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    try:
        trees.fill(disk / "files", {"1": b"same", "2": b"same"})
        scans.known("disk/files")
        assert scans.read("disk/files") == {"disk/files/1", "disk/files/2"}
    finally:
        subprocess.run(["umount", disk], check=True)


def test_files_that_came_with_a_disk_image_are_not_read(scans, tree, loop_devices, tmp_path):
    """Makers of images leave the birth time 0. Every file that is made later has one."""
    image, disk = tmp_path / "image", tree / "disk"
    disk.mkdir()
    trees.fill(tmp_path / "made", {"files/1": b"same", "files/2": b"same"})
    subprocess.run(["mkfs.ext4", "-q", "-d", tmp_path / "made", image, "8M"], check=True,
                   capture_output=True)
    for name, field in itertools.product("12", ("crtime", "crtime_extra")):
        subprocess.run(["debugfs", "-w", "-R", f"set_inode_field /files/{name} {field} 0", image],
                       check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    try:
        scans.known("disk/files")
        assert scans.read("disk/files") == set()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_indexes_of_other_sources_are_not_opened(scans, twinfs, tmp_path):
    for number in range(10):
        trees.fill(tmp_path / f"other {number}", {"a": b"same", "b": b"same"})
        twinfs.ok("scan", tmp_path / f"other {number}", index=False)
    _, trace = twinfs.traced("scan", scans.source / "A", calls="trace=openat,openat2",
                             flags=["-y"])
    assert len(re.findall(rb"other[^/>]*/scanned-sources", trace)) == 10
    assert not re.findall(rb"other[^/>]*/data.mdb", trace)


def change(rng, tree):
    """One change of the tree."""
    files = [path for path in sorted(tree.rglob("*")) if path.is_file()]
    path, other = rng.sample(files, 2)
    kind = rng.choice(["write", "restore", "rename", "remove", "link", "copy", "replace"])
    status = os.stat(path)
    if kind == "write":
        path.write_bytes(other.read_bytes())
    elif kind == "restore":
        data = path.read_bytes()
        path.write_bytes(bytes([data[0] ^ 1]) + data[1:] if data else b"x")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif kind == "rename":
        path.rename(other)
    elif kind == "remove":
        path.unlink()
    elif kind == "link":
        other.unlink()
        os.link(path, other)
    elif kind == "copy":
        shutil.copy2(path, path.with_name(f"copy {rng.random()}"))
    else:
        other.write_bytes(path.read_bytes())
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))


SETS = [("A",), ("B",), ("A/sub",), ("A", "B"), ("B", "A"), ("A/sub", "B"), ()]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_indexes_and_changes_give_right_groups(scans, tree, seed):
    rng = random.Random(seed)
    for _ in range(3):
        for names in rng.sample(SETS, 2):
            scans.known(*names)
        for _ in range(rng.randrange(6)):
            change(rng, tree)
        for names in rng.sample(SETS, 3):
            scans.read(*names)

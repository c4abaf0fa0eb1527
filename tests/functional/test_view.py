# SPDX-License-Identifier: MIT
"""The mounted view: its folders, attributes and listings, and its agreement with the source."""
import ctypes
import errno
import json
import mmap
import os
import random
import re
import subprocess

import oracle
import pytest
import trees
from processes import until

GROUP = re.compile(r"[0-9a-f]{32}(~[0-9]+)?")


@pytest.fixture
def small(twinfs, source):
    trees.small(source)
    with twinfs.mounted(source) as view:
        yield view


def test_view_of_every_kind_of_file_agrees_with_the_oracle(twinfs, source):
    trees.mixed(source)
    trees.deep(source / "deep")
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []


def test_view_has_its_folders(small):
    assert {"dups", "uniques", "redundant", "by-size", "folders", ".twinfs", "README.txt",
            "report.html"} == set(os.listdir(small.path))
    assert {"status.json", "errors"} <= set(os.listdir(small.path / ".twinfs"))
    assert all(GROUP.fullmatch(name) for name in os.listdir(small.dups))
    assert len(os.listdir(small.dups)) == 2


def inode_numbers(view):
    """The inode numbers of all names, as stat(2) and as the listings say."""
    found = {}
    for folder, _, _ in os.walk(view.path):
        with os.scandir(folder) as names:
            for entry in names:
                assert entry.inode() in (entry.stat(follow_symlinks=False).st_ino, 0xffff_ffff)
                found[entry.path] = entry.inode()
    return found


@pytest.mark.parametrize("shared", [False, True])
def test_inode_numbers_fit_programs_with_32_bits(twinfs, source, root_only, shared):
    """Such a program gets EOVERFLOW from stat(2) for a larger number. The numbers stay the same."""
    trees.mixed(source)
    options = ("--wait", "-o", "allow_other") if shared else ("--wait",)
    with twinfs.mounted(source, options=options) as view:
        before = inode_numbers(view)
    assert all(0 < number < 2 ** 32 for number in before.values())
    with twinfs.mounted(source, options=options) as view:
        assert inode_numbers(view) == before


def test_readme_explains_each_folder(small):
    text = (small.path / "README.txt").read_bytes()
    assert (small.path / "README.txt").stat().st_size == len(text)
    lines = text.decode().splitlines()
    assert {line.split(" ")[0] for line in lines} >= set(os.listdir(small.path)) - {"README.txt"}
    assert max(map(len, lines)) <= 80


def test_missing_names_are_not_found(small):
    group = next(small.dups.iterdir())
    for path in ("nothing", "dups/nothing", f"dups/{'0' * 32}", f"dups/{group.name}~2",
                 f"dups/{group.name}~1", f"dups/{group.name.upper()}x",
                 f"dups/{group.name}/nothing", f"dups/{group.name}/alone",
                 "uniques/nothing", "uniques/alone/x", ".twinfs/nothing",
                 "redundant/nothing", "redundant/alone", "redundant/empty folder",
                 "redundant/backup/1.jpg/x", "by-size/nothing", "by-size/0001",
                 "by-size/0001 1.jpg", "by-size/00001-02000", "folders/nothing",
                 "folders/0001", "folders/0001 backup", "folders/00001-02000"):
        with pytest.raises(OSError) as raised:
            os.stat(small.path / path)
        assert raised.value.errno in (errno.ENOENT, errno.ENOTDIR), path


def test_redundant_copy_is_not_in_uniques(small, source):
    for name in ("backup/1.jpg", "pictures/copy of 1.jpg"):
        assert (source / name).exists()
        assert not (small.uniques / name).exists()
    assert (small.uniques / "pictures/1.jpg").exists()


def test_view_is_read_only(small):
    inside = small.uniques / "alone"
    attempts = [
        lambda: os.open(inside, os.O_WRONLY), lambda: os.open(inside, os.O_RDWR),
        lambda: os.open(inside, os.O_RDONLY | os.O_TRUNC),
        lambda: os.open(small.path / "new", os.O_CREAT | os.O_WRONLY),
        lambda: os.open(small.uniques / "new", os.O_CREAT | os.O_WRONLY),
        lambda: os.unlink(inside), lambda: os.rename(inside, small.uniques / "other"),
        lambda: os.mkdir(small.dups / "new"), lambda: os.rmdir(small.uniques / "empty folder"),
        lambda: os.symlink("x", small.uniques / "new"),
        lambda: os.link(inside, small.uniques / "new"), lambda: os.chmod(inside, 0o777),
        lambda: os.chown(inside, 1, 1), lambda: os.utime(inside), lambda: os.truncate(inside, 0),
        lambda: os.setxattr(inside, "user.x", b"y"),
        lambda: os.removexattr(inside, "user.twinfs.path"),
    ]
    for attempt in attempts:
        with pytest.raises(OSError) as raised:
            attempt()
        assert raised.value.errno == errno.EROFS


def test_own_xattrs_are_readable_and_not_listed(small, source):
    for folder in small.dups.iterdir():
        files = list(folder.iterdir())
        inodes = {os.stat(path).st_ino for path in files}
        size = files[0].stat().st_size

        def value(path, name):
            return os.getxattr(path, f"user.twinfs.{name}").decode()
        for path in files:
            assert os.path.samefile(value(path, "path"),
                                    source / oracle.place(path.name))
            assert value(path, "hash") == folder.name
            assert value(path, "copies") == str(len(inodes))
            assert not [name for name in os.listxattr(path) if "twinfs" in name]
        assert value(folder, "size") == str(size)
        assert value(folder, "reclaimable") == str(size * (len(inodes) - 1))
        assert value(folder, "hash") == folder.name
        assert value(folder, "copies") == str(len(inodes))
        assert not [name for name in os.listxattr(folder) if "twinfs" in name]


def test_lone_file_has_a_path_and_no_hash(small, source):
    alone = small.uniques / "letters/b.txt"
    assert os.getxattr(alone, "user.twinfs.path") == os.fsencode(source / "letters/b.txt")
    with pytest.raises(OSError) as raised:
        os.getxattr(alone, "user.twinfs.hash")
    assert raised.value.errno == errno.ENODATA


def test_status_has_the_figures(small, twinfs, source):
    status = small.status()
    figures = oracle.summary(oracle.Source([source]).groups())
    assert {name: status[name] for name in figures} == figures
    assert status["reclaimable_bytes"] == figures["redundant_bytes"]
    assert status["state"] == "current"
    assert status["pending"] == 0 and status["errors"] == 0
    assert status["mountpoint"] == str(small.path)
    assert status["index"] == str(twinfs.index)
    assert status["sources"][0]["path"] == str(source)
    assert status["read_mode"] in ("copy", "copy, passthrough of sealed files", "passthrough")
    assert os.path.isdir(f"/proc/{status['pid']}")
    assert {"generation", "version", "since", "files", "directories", "bytes",
            "watch"} <= status.keys()
    assert small.errors() == []


def test_status_command_prints_the_state(small, twinfs):
    others = twinfs("status", index=False)  # other views may not answer
    for result in (twinfs.ok("status", small.path, index=False), others):
        assert os.fsencode(small.path) in result.out
        assert b"up to date" in result.out


def test_status_file_can_be_read_in_pieces_and_to_its_end(small):
    whole = small.read("status.json")
    with open(small.path / ".twinfs/status.json", "rb", buffering=0) as file:
        pieces = []
        while piece := file.read(7):
            pieces.append(piece)
    assert json.loads(b"".join(pieces)).keys() == json.loads(whole).keys()


def test_reads_at_any_offset_agree_with_the_source(twinfs, source):
    data = trees.content("large", 3_000_001)
    trees.fill(source, {b"a": data, b"b": data, b"c": data[::-1]})
    rng = random.Random(5)
    with twinfs.mounted(source) as view:
        for shown, expected in ((view.uniques / "a", data), (view.uniques / "c", data[::-1]),
                                (next(view.dups.iterdir()) / "b", data)):
            with open(shown, "rb", buffering=0) as file:
                for _ in range(50):
                    at, length = rng.randrange(len(data) + 10), rng.choice((1, 4096, 200_000))
                    assert os.pread(file.fileno(), length, at) == expected[at:at + length]
                assert os.pread(file.fileno(), 10, len(data)) == b""
                with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                    assert mapped[:] == expected


def test_several_sources_have_trees_of_their_own(twinfs, tmp_path):
    roots = []
    for number, path in enumerate((b"x/photos", b"y/photos", b"music")):
        root = trees.join(tmp_path, path)
        trees.fill(root, {b"same": b"everywhere", b"d/%d" % number: b"lone %d" % number})
        roots.append(root)
    with twinfs.mounted(*roots) as view:
        assert view.differences(*roots) == []
        assert set(os.listdir(view.uniques)) == {"photos", "photos~2", "music"}
        [names] = view.copies().values()
        assert {name.decode() for name in names} == {
            "photos\u2215same", "photos~2\u2215same", "music\u2215same"}
        assert (view.uniques / "photos/same").exists()
        assert [tree["tree"] for tree in view.status()["sources"]] == [
            "photos", "photos~2", "music"]


def test_first_source_on_the_command_line_keeps_its_copy(twinfs, tmp_path):
    roots = [trees.fill(tmp_path / name, {b"same": b"both"}) for name in ("z", "a")]
    with twinfs.mounted(*roots) as view:
        assert (view.uniques / "z/same").exists()
        assert not (view.uniques / "a/same").exists()


def test_names_are_complete_when_mount_returns(twinfs, source):
    trees.mixed(source)
    names = {entry.path for entry in oracle.walk.walk(source)}
    groups = oracle.Source([source]).groups()
    redundant = {path for group in groups for inode in group for _, path in inode.names}
    with twinfs.mounted(source, options=()) as view:
        shown = {entry.path for entry in oracle.walk.walk(view.uniques)}
        assert names - redundant <= shown <= names
        assert until(lambda: view.status()["state"] == "current")
        assert view.differences(source) == []


def test_files_below_min_size_stay_in_uniques(twinfs, source):
    trees.fill(source, {b"a": b"tiny", b"b": b"tiny", b"c": b"large" * 100,
                        b"d": b"large" * 100})
    with twinfs.mounted(source, options=("--wait", "--min-size=100")) as view:
        assert set(os.listdir(view.uniques)) == {"a", "b", "c"}
        assert view.differences(source, min_size=100) == []


def test_excluded_names_are_nowhere_in_the_view(twinfs, source):
    trees.fill(source, {b"a": b"copy", b"b": b"copy", b"c.tmp": b"copy", b"d/e.tmp": b"x",
                        b"cache/f": b"copy"})
    options = ("--wait", "--exclude=*.tmp", "--exclude", "cache")
    with twinfs.mounted(source, options=options) as view:
        assert view.differences(source, excluded=lambda path, _: path.endswith(b".tmp")
                                or path == b"cache") == []
        [names] = view.copies().values()
        assert names == {b"a", b"b"}


# listings

class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_ulong), ("off", ctypes.c_long), ("length", ctypes.c_ushort),
                ("type", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]


class Listing:
    """opendir(3) and related functions, as Python has no telldir and seekdir."""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        for name, result, *arguments in (
                ("opendir", ctypes.c_void_p, ctypes.c_char_p),
                ("readdir", ctypes.POINTER(Dirent), ctypes.c_void_p),
                ("telldir", ctypes.c_long, ctypes.c_void_p),
                ("seekdir", None, ctypes.c_void_p, ctypes.c_long),
                ("rewinddir", None, ctypes.c_void_p),
                ("closedir", ctypes.c_int, ctypes.c_void_p)):
            function = getattr(self.libc, name)
            function.restype, function.argtypes = result, arguments
        self.handle = self.libc.opendir(os.fsencode(path))
        assert self.handle

    def names(self, limit=None):
        found = []
        while limit is None or len(found) < limit:
            entry = self.libc.readdir(self.handle)
            if not entry:
                break
            found.append(entry.contents.name)
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.libc.closedir(self.handle)


@pytest.fixture(scope="module")
def large_folders(scratch):
    """A group of 1,500 names, 501 of them of one inode, and a folder of 1,000 lone files."""
    source = trees.many(scratch / "source", 1000, lambda number: b"all the same", folders=1)
    for number in range(500):
        os.link(trees.join(source, b"000/000000"), trees.join(source, b"000/link-%d" % number))
    trees.many(scratch / "source/lone", 1000, lambda number: b"%d" % number, folders=1)
    return source


@pytest.mark.parametrize("where", ["dups", "uniques"])
def test_listing_continues_at_the_position_of_seekdir(twinfs, large_folders, where):
    with twinfs.mounted(large_folders) as view:
        folder = max(view.dups.iterdir(), key=lambda path: len(os.listdir(path)))
        if where == "uniques":
            folder = view.uniques / "lone/000"
        with Listing(folder) as listing:
            whole = listing.names()
            assert len(whole) == len(set(whole)) == (1502 if where == "dups" else 1002)
            for before in (0, 1, 2, 3, 77, 500, 501, 502, 1001, len(whole)):
                listing.libc.rewinddir(listing.handle)
                assert listing.names(before) == whole[:before]
                at = listing.libc.telldir(listing.handle)
                assert listing.names() == whole[before:]
                listing.libc.seekdir(listing.handle, at)
                assert listing.names() == whole[before:]


def test_plain_tools_see_the_same_names(twinfs, large_folders):
    with twinfs.mounted(large_folders) as view:
        for folder in (*view.dups.iterdir(), view.uniques / "lone/000", view.uniques / "000"):
            listed = os.listdir(folder)
            found = subprocess.run(["find", folder, "-type", "f", "-printf", "%f\n"],
                                   check=True, capture_output=True, text=True).stdout
            assert sorted(found.splitlines()) == sorted(listed)


# a plain user

@pytest.fixture
def user_source(as_user, tmp_path, plain_user):
    def build(builder):
        builder(tmp_path / "source")
        if os.geteuid() == 0:
            subprocess.run(["chown", "-hR", f"{plain_user.pw_uid}:{plain_user.pw_gid}",
                            tmp_path / "source"], check=True)
        return tmp_path / "source"
    yield build


def test_view_of_a_plain_user_agrees_with_the_oracle(as_user, user_source, fuse_for_users):
    source = user_source(trees.small)
    with as_user.mounted(source) as view:
        assert view.differences(source) == []


def test_unreadable_files_fail_as_in_the_source_and_are_named(as_user, user_source, fuse_for_users):
    source = user_source(trees.unreadable)
    with as_user.mounted(source, status=3) as view:
        assert view.differences(source) == []
        assert "locked folder" in "".join(view.result.errors)
        errors = {os.path.basename(record["path"]): record for record in view.errors()}
        assert {"locked", "locked folder"} <= errors.keys()
        for record in errors.values():
            assert record["error"] == "EACCES"
            assert record["message"]
        assert view.status()["errors"] == len(errors)

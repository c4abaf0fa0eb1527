# SPDX-License-Identifier: MIT
"""The kernel's caches of a view are exact after each change: no old name, listing, attribute or
page is seen after `sync`. Each test fills the caches before the change."""
import contextlib
import ctypes
import errno
import os
import subprocess

import changes
import oracle
import pytest
import trees
from changes import DATA, OTHER
from processes import stopped

LARGE = trees.content("large", 3_000_000)
LARGER = trees.content("larger", 3_000_000)


@pytest.fixture
def view(twinfs, source):
    changes.build(source)
    trees.fill(source, {b"large": LARGE, b"large copy": LARGE, b"lone": LARGER})
    with twinfs.mounted(source) as mounted:
        yield mounted


def group(view, data, tmp_path):
    """The path in dups/ of the group of this content, which need not exist."""
    path = trees.write(tmp_path / "content", data)
    return view.dups / oracle.hashes([path])[0]


def fill_caches(*paths):
    """Makes the kernel cache these paths and the listings of their parent directories."""
    for path in 2 * paths:
        with contextlib.suppress(OSError):
            os.lstat(path)
        for folder in (path, path.parent):
            with contextlib.suppress(OSError):
                list(os.scandir(folder))


# names

def unmarked(name):
    """A name in a folder of dups/ without the mark of the kept copy."""
    return name.removeprefix(oracle.MARK.decode())


def listed(folder):
    return set(map(unmarked, os.listdir(folder)))


def test_new_name_is_found_after_a_negative_lookup(view, source, tmp_path):
    to_come = group(view, OTHER, tmp_path)
    names = [view.uniques / "new", view.uniques / "d/new folder",
             view.uniques / "d/new folder/file", to_come, to_come / "c", to_come / "copy of c",
             group(view, DATA, tmp_path) / "d\u2215new"]
    for _ in range(2):
        for path in names:
            assert not os.path.lexists(path)
    fill_caches(*names)
    trees.fill(source, {b"new": b"one more", b"d/new folder/file": b"another", b"d/new": DATA,
                        b"copy of c": OTHER})
    view.sync()
    for path in names:
        assert os.path.lexists(path), path
        assert path.name in listed(path.parent)


def test_removed_name_is_not_found(view, source, tmp_path):
    copies, pair = group(view, DATA, tmp_path), group(view, b"small", tmp_path)
    names = [copies / "b", copies / "d\u2215e", pair, pair / "h", view.uniques / "lone",
             view.uniques / "d", view.uniques / "d/f"]
    for path in names:
        assert path.exists() and path.name in listed(path.parent)
    fill_caches(*names)
    os.unlink(source / "b")
    os.unlink(source / "lone")
    trees.remove(source / "d")
    view.sync()
    for path in names:
        assert not path.exists(), path
        with contextlib.suppress(FileNotFoundError):
            assert path.name not in listed(path.parent)


def test_name_that_is_created_and_removed_repeatedly_is_right(view, source, tmp_path):
    folder = group(view, OTHER, tmp_path)
    for _ in range(10):
        assert not folder.exists() and folder.name not in os.listdir(view.dups)
        assert "new" not in os.listdir(view.uniques)
        trees.write(source / "new", OTHER)
        view.sync()
        assert listed(folder) == {"c", "new"}
        assert folder.name in os.listdir(view.dups)
        os.unlink(source / "new")
        view.sync()


def test_file_that_becomes_redundant_leaves_the_listing_of_uniques(view, source):
    fill_caches(view.uniques / "lone", view.uniques / "c")
    assert {"c", "lone", "large"} <= set(os.listdir(view.uniques))
    changes.rewrite(source / "lone", LARGE)
    view.sync()
    assert "lone" not in os.listdir(view.uniques)
    assert not (view.uniques / "lone").exists()
    changes.rewrite(source / "lone", LARGER)
    view.sync()
    assert "lone" in os.listdir(view.uniques)
    assert (view.uniques / "lone").read_bytes() == LARGER


def test_next_kept_copy_appears_in_uniques(view, source):
    fill_caches(view.uniques / "a", view.uniques / "b", view.uniques / "d/e")
    assert not (view.uniques / "b").exists() and not (view.uniques / "d/e").exists()
    os.unlink(source / "a")
    view.sync()
    shown = {"b", "d/e"} & {os.fsdecode(entry.path) for entry in oracle.walk.walk(view.uniques)}
    assert len(shown) == 1
    assert (view.uniques / shown.pop()).read_bytes() == DATA


def test_renamed_folder_is_found_only_under_its_new_name(view, source):
    names = [view.uniques / name for name in ("d", "d/f", "d/f/g", "moved", "moved/f", "moved/f/g")]
    fill_caches(*names)
    os.rename(source / "d", source / "moved")
    view.sync()
    assert [path.exists() for path in names] == [False] * 3 + [True] * 3
    changes.exchange(source / "moved/f", source / "c")
    view.sync()
    assert (view.uniques / "c/g").read_bytes() == b"small"
    assert (view.uniques / "moved/f").read_bytes() == OTHER


def test_copies_are_listed_under_their_current_names(view, source, tmp_path):
    """A copy gets another name in its group when a folder above it is renamed, so the cached
    listing of the group must be invalidated."""
    folder = group(view, DATA, tmp_path)

    def places():
        fill_caches(folder)
        return {oracle.place(name) for name in os.listdir(folder)}

    assert places() == {"a", "b", "d/e"}
    for old, new in (("d", "moved"), ("moved", "x"), ("x", "d")):
        os.rename(source / old, source / new)
        view.sync()
        assert places() == {"a", "b", f"{new}/e"}
    os.rename(source / "b", source / "d/f/b")
    view.sync()
    assert places() == {"a", "d/f/b", "d/e"}
    os.link(source / "a", source / "link")
    view.sync()
    assert places() == {"a", "link", "d/f/b", "d/e"}
    os.rename(source / "a", source / "A")  # the first of two names
    view.sync()
    assert places() == {"A", "link", "d/f/b", "d/e"}
    trees.remove(source / "d/f")
    os.unlink(source / "A")
    view.sync()
    assert places() == {"link", "d/e"}


def test_listing_that_began_before_a_rename_is_not_cached(view, source, tmp_path):
    trees.fill(source, {b"d/%s" % (b"%0200d" % number): DATA for number in range(500)})
    view.sync()
    folder = group(view, DATA, tmp_path)
    with os.scandir(folder) as listing:
        names = [next(listing).name for _ in range(20)]
        os.rename(source / "d", source / "moved")
        view.sync()
        names += [entry.name for entry in listing]
    for _ in range(2):
        now = os.listdir(folder)
        assert len(now) == 503
        assert not [name for name in now if name.startswith("d\u2215")]


def test_changed_file_type_is_shown(view, source):
    path = view.uniques / "c"
    for make in (os.mkdir, os.mkfifo, lambda name: os.symlink("a", name),
                 lambda name: trees.write(name, b"file again")):
        fill_caches(path)
        if (source / "c").is_dir():
            os.rmdir(source / "c")
        else:
            os.unlink(source / "c")
        make(source / "c")
        view.sync()
        assert os.lstat(path).st_mode == os.lstat(source / "c").st_mode
    for target in ("b", "nowhere", "d"):
        changes.swap_symlinks(source)
        os.symlink(target, source / "next")
        os.replace(source / "next", source / "link")
        view.sync()
        assert os.readlink(view.uniques / "link") == target


def test_walk_over_cached_folders_makes_no_requests(view, source):
    def found():
        return subprocess.run(["find", view.path, "-type", "f"], check=True,
                              stdout=subprocess.PIPE).stdout

    trees.many(source / "many", 400, lambda number: b"%d" % (number // 2), folders=200)
    view.sync()
    names = found()
    assert names.count(b"\n") > 400
    before = view.count_read_calls()
    assert found() == names
    assert view.count_read_calls() - before < 50


# attributes

FIELDS = ("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_nlink")


def test_attributes_are_current(view, source):
    def change_owner():
        with contextlib.suppress(PermissionError):
            os.chown(source / "lone", 1, 2)
    shown = view.uniques / "lone"
    for change in (lambda: os.chmod(source / "lone", 0o4711), change_owner,
                   lambda: os.utime(source / "lone", ns=(5, 7)),
                   lambda: os.truncate(source / "lone", 1000),
                   lambda: changes.rewrite(source / "lone", b"longer" * 1000),
                   lambda: os.link(source / "lone", source / "d/link"),
                   lambda: os.unlink(source / "d/link")):
        fill_caches(shown)
        change()
        view.sync()
        here, there = os.stat(shown), os.stat(source / "lone")
        assert [getattr(here, name) for name in FIELDS] == [
            getattr(there, name) for name in FIELDS]


def test_attributes_of_copies_in_dups_are_current(view, source, tmp_path):
    shown = group(view, DATA, tmp_path) / "b"
    fill_caches(shown)
    os.chmod(source / "b", 0o604)
    os.utime(source / "b", ns=(5, 7))
    view.sync()
    status = os.stat(shown)
    assert (status.st_mode & 0o7777, status.st_mtime_ns) == (0o604, 7)


@pytest.mark.parametrize("where", ["dups", "group", "uniques"])
def test_ctime_of_a_folder_changes_with_its_listing(view, source, tmp_path, where):
    """NFS and programs that cache listings compare the ctime only."""
    folder = {"dups": view.dups, "group": group(view, DATA, tmp_path),
              "uniques": view.uniques}[where]
    seen = {os.stat(folder).st_ctime_ns}
    for act in (lambda: trees.fill(source, {b"new": OTHER, b"copy": DATA, b"unique": b"1 2 3"}),
                lambda: [os.unlink(source / name) for name in ("new", "copy", "unique")],
                lambda: changes.rewrite(source / "lone", LARGE) or os.unlink(source / "b")):
        before = sorted(os.listdir(folder))
        act()
        view.sync()
        if sorted(os.listdir(folder)) != before:
            assert os.stat(folder).st_ctime_ns not in seen
            seen.add(os.stat(folder).st_ctime_ns)
    assert len(seen) > 2


def test_xattrs_are_current(view, source, tmp_path):
    shown = group(view, DATA, tmp_path) / "b"
    assert os.getxattr(shown, "user.twinfs.copies") == b"3"
    os.unlink(source / "a")
    os.setxattr(source / "b", "user.note", b"new")
    os.setxattr(source / "lone", "user.note", b"new")
    view.sync()
    assert os.getxattr(shown, "user.twinfs.copies") == b"2"
    assert os.getxattr(view.uniques / "lone", "user.note") == b"new"
    os.rename(source / "b", source / "renamed")
    view.sync()
    path = os.getxattr(shown.parent / "renamed", "user.twinfs.path")
    assert path == os.fsencode(source / "renamed")


def test_listing_during_changes_has_all_names_that_stay(view, source):
    trees.many(source / "many", 3000, lambda number: b"%d" % number, folders=1)
    view.sync()
    stays = {f"{number:06}" for number in range(3000) if number % 3}
    listing = os.scandir(view.uniques / "many/000")
    names = [next(listing).name for _ in range(100)]
    for number in range(0, 3000, 3):
        os.unlink(source / f"many/000/{number:06}")
        trees.write(source / f"many/000/new {number}", b"new %d" % number)
    view.sync()
    names += [entry.name for entry in listing]
    assert len(names) == len(set(names))
    assert stays <= set(names)
    assert stays <= set(os.listdir(view.uniques / "many/000"))


class SlowReader:
    """Lists a folder by getdents64(2), some entries at a time."""

    GETDENTS64 = {"x86_64": 217, "aarch64": 61}.get(os.uname().machine)

    def __init__(self, folder):
        self.handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.names = []
        self.cookies = []

    def step(self, size=1500):
        """Reads the next entries; False at the end."""
        buffer = ctypes.create_string_buffer(size)
        length = ctypes.CDLL(None, use_errno=True).syscall(self.GETDENTS64, self.handle, buffer,
                                                           size)
        assert length >= 0, os.strerror(ctypes.get_errno())
        at = 0
        while at < length:
            self.cookies.append(int.from_bytes(buffer.raw[at + 8:at + 16], "little"))
            end = at + int.from_bytes(buffer.raw[at + 16:at + 18], "little")
            self.names.append(os.fsdecode(buffer.raw[at + 19:end].split(b"\0")[0]))
            at = end
        return length > 0

    def close(self):
        os.close(self.handle)


@pytest.mark.skipif(SlowReader.GETDENTS64 is None, reason="number of the system call not known")
def test_copies_that_stay_are_listed_once_by_each_of_several_readers(twinfs, source, tmp_path):
    everywhere = b"one for all"
    for number in range(60):
        trees.write(source / f"early/{number}", everywhere)
    twinfs.ok("scan", source)  # gives these the first ids, so that they are listed first
    stays = {f"stays\u2215{number}" for number in range(400)}
    for number in range(200):
        path = trees.write(source / f"stays/{number}", everywhere)
        os.link(path, source / f"stays/{number + 200}")
    for number in range(100):
        trees.write(source / f"pairs/{number}", b"%d" % (number // 2))
    with twinfs.mounted(source) as view, contextlib.ExitStack() as stack:
        folder = group(view, everywhere, tmp_path)
        readers = [SlowReader(folder) for _ in range(3)]
        for reader in readers:
            stack.callback(reader.close)
        for turn in range(20):
            for index, reader in enumerate(readers):
                if turn % (index + 1) == 0:
                    reader.step()
            for number in range(3 * turn, 3 * turn + 3):
                os.unlink(source / f"early/{number}")
            os.rename(source / "pairs", source / "moved")  # invalidates cached listings
            view.sync()
            os.rename(source / "moved", source / "pairs")
            view.sync()
            for other in view.dups.iterdir():
                os.listdir(other)
        assert readers[-1].step(), "it was at its end too early"
        for reader in readers:
            while reader.step():
                pass
            assert len(set(reader.cookies)) == len(reader.cookies) == len(set(reader.names))
            assert stays <= set(map(unmarked, reader.names))


# handles

def test_open_folder_lists_its_current_names(view, source):
    handle = os.open(view.uniques / "d", os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert set(os.listdir(handle)) == {"f"}
        trees.write(source / "d/new", b"new")
        os.rename(source / "d", source / "moved")
        view.sync()
        assert set(os.listdir(handle)) == {"f", "new"}
        assert os.stat("new", dir_fd=handle).st_size == 3
    finally:
        os.close(handle)


@pytest.mark.parametrize("name", ["large", "large copy"])
def test_open_file_can_be_read_on_after_a_rename(view, source, tmp_path, name):
    view.sync()  # a rename of a fresh file would be untrusted
    with open(group(view, LARGE, tmp_path) / name, "rb", buffering=0) as file:
        data = file.read(100_000)
        os.rename(source / name, source / "d/renamed")
        view.sync()
        assert data + file.read() == LARGE


def test_open_file_that_was_removed_is_stale(view, source):
    with open(view.uniques / "lone", "rb", buffering=0) as file:
        assert file.read(100_000) == LARGER[:100_000]
        os.unlink(source / "lone")
        view.sync()
        with pytest.raises(OSError) as raised:
            file.read()
        assert raised.value.errno == errno.ESTALE


def stale_or(content, read):
    """Whether reading gives this whole content, or fails with ESTALE or ENOENT."""
    try:
        return read() == content
    except OSError as error:
        return error.errno in (errno.ESTALE, errno.ENOENT)


@pytest.mark.parametrize("how", ["in place", "by rename", "truncated and written"])
@pytest.mark.parametrize("where", ["dups", "uniques"])
def test_open_file_never_gives_bytes_of_two_contents(view, source, tmp_path, where, how):
    name = "large copy" if where == "dups" else "lone"
    old = LARGE if where == "dups" else LARGER
    new = trees.content(how, len(old))
    folder = group(view, old, tmp_path) if where == "dups" else view.uniques
    with open(folder / name, "rb", buffering=0) as file:
        data = file.read(100_000)
        if how == "in place":
            changes.keep_mtime(source / name, lambda: changes.rewrite(source / name, new))
        elif how == "by rename":
            os.replace(trees.write(source / "next", new), source / name)
        else:
            trees.write(source / name, new)
        view.sync()
        assert stale_or(old, lambda: data + file.read())
    assert (view.uniques / name).read_bytes() == new
    assert (folder / name).exists() == (where == "uniques")


def test_pages_of_the_old_content_are_never_read_again(view, source):
    shown = view.uniques / "lone"
    for number in range(5):
        data = trees.content(number, len(LARGER))
        changes.keep_mtime(source / "lone", lambda data=data: changes.rewrite(
            source / "lone", data))
        view.sync()
        assert shown.read_bytes() == data
        assert shown.read_bytes() == data


def test_open_copy_that_was_rewritten_never_gives_the_new_bytes(view, source, tmp_path):
    """A path in dups/ gives the content of its hash or an error."""
    path = group(view, DATA, tmp_path) / "b"
    handle = os.open(path, os.O_RDONLY)
    try:
        changes.rewrite(source / "b", OTHER)
        view.sync()
        assert stale_or(DATA, lambda: os.pread(handle, 1 << 20, 0))
        assert not path.exists()
    finally:
        os.close(handle)


def close_anyhow(handle):
    """Closes a descriptor. The kernel returns EIO if it has dropped the inode."""
    with contextlib.suppress(OSError):
        os.close(handle)


VERSIONS = 4096  # versions of a file that node numbers tell apart


def test_open_file_never_gives_another_content_when_version_numbers_wrap(twinfs, source):
    """Each close by a writer makes a version. Thousands of hard links make thousands at once."""
    old, new = trees.content("old", 5000), trees.content("new", 5000)
    trees.fill(source, {b"f": old, b"g": old})
    for number in range(VERSIONS - 20):
        os.link(source / "f", source / f"link{number}")

    def close_as_writer(name):
        os.close(os.open(source / name, os.O_RDWR))

    with twinfs.mounted(source) as view, contextlib.ExitStack() as stack:
        [folder] = view.dups.iterdir()
        held, path = os.open(folder / "f", os.O_RDONLY), os.open(folder / "f", os.O_PATH)
        for opened in (held, path):
            stack.callback(close_anyhow, opened)
        with stopped(view.pid):
            trees.write(source / "f", new)
            for number in range(VERSIONS - 20):
                close_as_writer(f"link{number}")
        for _ in range(30):
            close_as_writer("f")
            view.sync()
            for opened in (held, path):  # opens again without a lookup
                with contextlib.suppress(OSError), \
                        open(f"/proc/self/fd/{opened}", "rb") as again:
                    assert again.read() == old, "bytes of another version"
            assert (view.uniques / "f").read_bytes() == new
            with contextlib.suppress(OSError):
                assert os.pread(held, 100, 0) == old[:100], "bytes of another version"

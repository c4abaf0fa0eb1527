# SPDX-License-Identifier: MIT
"""The gate at open, and files that are open for writing: the view never serves or groups bytes that
may have changed."""
import errno
import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import changes
import oracle
import pytest
import trees
from changes import move_ctime
from disks import disk
from processes import until

DATA = trees.content("gate", 50_000)
SECOND_NS = 1_000_000_000
FAT = 0x4d44  # of statfs(2), for vfat: there times are even seconds


@pytest.fixture
def view(twinfs, source):
    """A view without events, so that only the gate can withhold wrong bytes."""
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": DATA, b"lone": DATA[::-1]})
    with twinfs.mounted(source, options=("--wait", "--watch=none")) as mounted:
        yield mounted


def in_dups(view, name):
    [folder] = view.dups.iterdir()
    return folder / name


REFUSED = (errno.ESTALE, errno.ENOENT)
READERS = 16  # at the same time: the number of threads of a daemon
RECHECKS = 4  # files that these threads recheck at the same time


def open_fails(path, numbers=REFUSED):
    with pytest.raises(OSError) as raised:
        os.close(os.open(path, os.O_RDONLY))
    return raised.value.errno in numbers


def served(path):
    """The bytes of a file, or None if it is refused. After ESTALE the kernel looks the path up
    again, and the index may have the new file by then."""
    try:
        return path.read_bytes()
    except OSError as error:
        assert error.errno in REFUSED
        return None


def change_in_place(path):
    with open(path, "r+b") as file:
        file.write(b"changed")


def change_with_mtime_restored(path):
    when = os.stat(path)
    change_in_place(path)
    os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))


def grow(path):
    with open(path, "ab") as file:
        file.write(b"more")


def shrink(path):
    os.truncate(path, 100)


def replace(path):
    trees.write(f"{path}.new", DATA)
    os.rename(f"{path}.new", path)


CHANGES = [change_in_place, change_with_mtime_restored, grow, shrink, replace]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", ["a", "b"])
def test_copy_that_changed_is_refused(view, source, change, name):
    path = in_dups(view, name)
    assert path.read_bytes() == DATA
    change(source / name)
    assert served(path) in ([None, DATA] if change is replace else [None])


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", ["a", "lone"])
def test_changed_file_is_refused_until_the_index_has_the_change(view, source, change, name):
    path = view.uniques / name
    assert path.read_bytes() == (source / name).read_bytes()
    change(source / name)
    now = (source / name).read_bytes()
    assert served(path) in (None, now)
    assert until(lambda: served(path) == now, timeout=20)


def test_removed_file_cannot_be_opened(view, source):
    os.unlink(source / "b")
    assert open_fails(in_dups(view, "b"))


@pytest.mark.parametrize("kind", ["symlink", "folder", "fifo"])
def test_file_replaced_by_another_type_is_not_opened(view, source, kind):
    os.unlink(source / "b")
    if kind == "symlink":
        os.symlink("a", source / "b")
    elif kind == "folder":
        os.mkdir(source / "b")
    else:
        os.mkfifo(source / "b")
    assert open_fails(in_dups(view, "b"), (*REFUSED, errno.ELOOP))


def test_folder_that_became_a_symlink_is_not_followed(twinfs, source, tmp_path):
    trees.fill(source, {b"d/a": DATA, b"b": DATA})
    trees.fill(tmp_path / "outside", {b"a": DATA})
    with twinfs.mounted(source, options=("--wait", "--watch=none")) as view:
        os.rename(source / "d", tmp_path / "moved")
        os.symlink(tmp_path / "moved", source / "d")
        assert open_fails(in_dups(view, "d\u2215a"),
                          (*REFUSED, errno.ELOOP, errno.ENOTDIR))


def test_unchanged_files_are_served_beside_changed_ones(view, source):
    change_in_place(source / "b")
    assert open_fails(in_dups(view, "b"))
    for path in (in_dups(view, "a"), in_dups(view, "c"), view.uniques / "a",
                 view.uniques / "lone"):
        assert path.read_bytes() == (source / os.path.basename(path)).read_bytes()


def test_file_whose_other_attributes_changed_is_served(view, source):
    os.setxattr(source / "lone", b"user.note", b"new")
    assert (view.uniques / "lone").read_bytes() == DATA[::-1]


def test_open_file_can_be_read_after_a_rename(twinfs, source):
    """A rename moves the ctime, as a write does. Reads fail until the rename is in the index."""
    trees.fill(source, {b"a": DATA, b"b": DATA})
    with twinfs.mounted(source) as view, open(in_dups(view, "b"), "rb") as file:
        os.rename(source / "b", source / "elsewhere")
        view.sync()
        assert file.read() == DATA


# writers

def writer_of(path):
    return os.open(path, os.O_RDWR)


def names(groups):
    return {frozenset(os.path.basename(path) for path in group) for group in groups}


@pytest.mark.parametrize("kind", ["read-write", "write-only", "append", "mapped"])
def test_file_open_for_writing_is_in_no_group(twinfs, source, kind):
    trees.fill(source, {b"a": DATA, b"b": DATA, b"held": DATA})
    flags = {"write-only": os.O_WRONLY, "append": os.O_WRONLY | os.O_APPEND}
    handle = os.open(source / "held", flags.get(kind, os.O_RDWR))
    mapped = mmap.mmap(handle, 0) if kind == "mapped" else None
    if mapped:
        os.close(handle)
    result = twinfs("list", "--format=json", source)
    assert result.status == 3, result
    [group] = result.json["groups"]
    assert sorted(copy["path"] for copy in group["copies"]) == [
        str(source / "a"), str(source / "b")]
    assert result.json["summary"]["pending"] == 1
    if mapped:
        mapped[0:1] = b"?"
        mapped.close()
    else:
        os.write(handle, b"?")
        os.close(handle)
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"b"])}


@pytest.mark.parametrize("size", [100, 50_000], ids=["small", "large"])
def test_new_copy_waits_while_the_copies_it_may_equal_cannot_be_read(twinfs, source, size):
    """If the copy was skipped, it would never join the group, because compared files are not
    compared again."""
    data = DATA[:1] * size
    trees.fill(source, {b"a": data, b"b": data})
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"b"])}
    trees.fill(source, {b"new": data, b"newer": data})
    held = [os.open(source / name, os.O_RDWR) for name in ("a", "b")]
    result = twinfs("list", "--format=json", source)
    assert result.status == 3, result
    assert [group["hash"][32:] for group in result.json["groups"]] == [""]
    assert result.json["summary"]["pending"] == 2
    for handle in held:
        os.close(handle)
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"b", b"new", b"newer"])}


@pytest.mark.parametrize("busy", ["a", "b"])
def test_new_copy_is_compared_with_a_copy_that_can_be_read(twinfs, source, busy):
    data = DATA[:1] * 50_000
    trees.fill(source, {b"a": data, b"b": data})
    twinfs.groups(source)
    trees.fill(source, {b"new": data})
    handle = os.open(source / busy, os.O_RDWR)
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"b", b"new"])}
    os.close(handle)


def test_file_is_grouped_after_its_writer_closed_it(twinfs, source):
    trees.fill(source, {b"a": DATA, b"held": DATA})
    handle = os.open(source / "held", os.O_RDWR)
    assert twinfs("list", "--format=json", source).json["groups"] == []
    os.close(handle)
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"held"])}


def test_file_open_for_writing_is_in_uniques_and_pending(twinfs, source):
    trees.fill(source, {b"a": DATA, b"b": DATA, b"held": DATA})
    handle = os.open(source / "held", os.O_RDWR)
    try:
        with twinfs.mounted(source, status=3) as view:
            assert set(os.listdir(view.uniques)) == {"a", "held"}
            assert view.status()["pending"] == 1
            [names_shown] = view.copies().values()
            assert names_shown == {b"a", b"b"}
    finally:
        os.close(handle)


def test_fresh_files_are_grouped_at_once(twinfs, source):
    """The program itself waits until the times of a fresh file cannot hide a change."""
    for number in range(20):
        trees.write(source / f"{number}", b"%d" % (number // 2))
        assert sorted(map(len, twinfs.groups(source))) == [2] * ((number + 1) // 2)


def test_files_with_times_in_the_future_are_grouped(twinfs, source):
    trees.fill(source, {b"a": DATA, b"b": DATA})
    for name in ("a", "b"):
        os.utime(source / name, ns=(trees.FAR_FUTURE, trees.FAR_FUTURE))
    assert names(twinfs.groups(source)) == {frozenset([b"a", b"b"])}


def test_without_leases_every_change_is_found_by_the_guard(twinfs, source, no_leases):
    """A change of a moment ago that restores size and mtime is also detected."""
    changes.build(source)
    for change in (changes.change_with_mtime_restored, changes.make_equal_with_mtime_restored,
                   changes.replace_with_the_inode_number_used_again, changes.change_in_place):
        assert twinfs.groups(source) == oracle.path_groups(source)
        change(source)
    with twinfs.mounted(source) as view:
        for change in (changes.store_through_a_mapping, changes.overwrite_by_copy_file_range):
            assert view.differences_now(source) == []
            change(source)
        assert view.differences_now(source) == []


def mapped_for_writing(path):
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def test_stores_to_a_page_that_is_dirty_already_are_in_the_view(twinfs, source):
    """Such a store changes no time and raises no event. Only the first store to the page and the
    end of the mapping do."""
    end = DATA[-1:]
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": DATA[:-1] + b"?"})

    def stays(path, first, last):
        """Whether the second store changed no time. A store to a page that was just written back
        changes the time."""
        mapped = mapped_for_writing(path)
        mapped[-1:] = first
        os.utime(path)  # raises an event, which the store did not
        view.sync()
        before = path.stat().st_ctime_ns
        mapped[-1:] = last
        unseen = path.stat().st_ctime_ns == before
        mapped.close()
        assert view.differences_now(source) == []
        return unseen

    with twinfs.mounted(source) as view:
        for name, first, last in (("b", b"?", b"!"), ("c", b"!", end), ("b", b"?", end)):
            assert until(partial(stays, source / name, first, last))


def test_without_leases_a_store_after_the_comparison_is_found(twinfs, source, no_leases):
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": DATA[:-1] + b"?"})
    with twinfs.mounted(source) as view:
        mapped = mapped_for_writing(source / "c")
        mapped[-1:] = DATA[-1:]
        os.utime(source / "c")  # raises an event, which the store did not
        assert view.differences_now(source) == []
        assert in_dups(view, "c").read_bytes() == DATA
        mapped[-1:] = b"?"
        assert served(view.path / in_dups(view, "a").parent / "c") is None
        mapped.close()
        assert view.differences_now(source) == []


# where time stamps are coarse

def rewrite_at_once(path, data):
    """Writes at the beginning of a second, so that the next change falls into the same one."""
    assert until(lambda: time.time() % 1 < 0.1)
    trees.write(path, data)


def test_second_change_within_a_second_is_found_with_coarse_times(twinfs, tmp_path):
    with disk("ext4 of seconds", tmp_path) as root:
        tree = root / "tree"
        trees.fill(tree, {b"a": DATA, b"b": DATA})
        assert os.stat(tree / "a").st_ctime_ns % SECOND_NS == 0
        pair = {frozenset(os.fsencode(tree / name) for name in "ab")}
        for _ in range(2):
            rewrite_at_once(tree / "b", DATA)
            assert twinfs.groups(tree) == pair
            changes.rewrite(tree / "b", DATA[::-1])
            assert twinfs.groups(tree) == set()


def test_files_on_an_unknown_file_system_are_trusted_after_two_seconds(
        twinfs, source, take_filesystem_for):
    def age_ns(name):
        return time.time_ns() - os.stat(source / name).st_ctime_ns
    take_filesystem_for(FAT)
    trees.fill(source, {b"a": DATA, b"b": DATA})
    assert len(twinfs.groups(source)) == 1
    assert age_ns("b") >= 2 * SECOND_NS
    with twinfs.mounted(source) as view:
        trees.fill(source, {b"c": DATA})
        view.sync()  # waits that long, too
        assert view.pending() == set() and in_dups(view, "c").exists()
        assert age_ns("c") >= 2 * SECOND_NS
        assert view.differences_now(source) == []


def test_file_that_stays_open_for_writing_does_not_delay_mount(twinfs, source):
    trees.fill(source, {b"a": DATA, b"b": DATA, b"held": DATA})
    handle = os.open(source / "held", os.O_RDWR)
    try:
        with twinfs.mounted(source, options=()) as view:
            assert until(lambda: len(list(view.dups.iterdir())) == 1)
            assert (view.uniques / "held").stat().st_size == len(DATA)
    finally:
        os.close(handle)


# ---- changes without an event -------------------------------------------------------------------

@pytest.fixture
def moved(twinfs, source):
    """A view of twelve equal files and a lone one; the ctime of all has moved."""
    trees.fill(source, {b"%02d" % number: DATA for number in range(12)})
    trees.fill(source, {b"lone": DATA[::-1]})
    with twinfs.mounted(source) as mounted:
        mounted.sync()
        move_ctime(sorted(source.iterdir()), "+d")
        yield mounted


def read_at(folder, name):
    """Opens relative to a folder, as tar and rsync do, so that no path is looked up again."""
    with open(name, "rb", opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
        return file.read()


def test_files_whose_ctime_moved_are_read_in_their_group(moved, source):
    group = in_dups(moved, ".")
    folder = os.open(group, os.O_PATH)
    try:
        names = os.listdir(group)
        assert len(names) == 12
        for name in names:
            assert os.listxattr(group / name) == []
            assert read_at(folder, name) == DATA
            assert sorted(os.listdir(group)) == sorted(names)  # none leaves the group
        move_ctime(sorted(source.iterdir()), "-d")
        for name in reversed(names):
            assert read_at(folder, name) == DATA
    finally:
        os.close(folder)
    assert moved.differences_now(source) == []


@pytest.mark.parametrize("name", ["00", "lone"])
def test_file_whose_ctime_moved_is_read_in_uniques(moved, source, name):
    assert (moved.uniques / name).read_bytes() == (source / name).read_bytes()


def test_files_whose_ctime_moved_are_read_by_many_programs_at_once(twinfs, source):
    """Only a few files are rechecked at the same time. The other opens wait for the follower and
    occupy no thread."""
    names = [f"{number:03}" for number in range(16 * READERS)]
    trees.fill(source, {name.encode(): b"%06d" % (int(name) // 2) for name in names})
    with twinfs.mounted(source) as view:
        view.sync()
        for flag in ("+d", "-d"):
            move_ctime(sorted(source.iterdir()), flag)
            with ThreadPoolExecutor(READERS) as pool:
                kept = [view.uniques / name for name in names[::2]]
                found = list(pool.map(lambda path: path.read_bytes(), kept))
            assert found == [(source / name).read_bytes() for name in names[::2]]
        assert view.differences_now(source) == []


def test_opens_that_wait_for_a_recheck_fail_in_time_and_delay_no_other(twinfs, source, strace):
    """Writes to the index hang, and more programs wait than the daemon has threads."""
    trees.fill(source, {b"a": DATA, b"b": DATA, b"quiet": DATA, b"lone": DATA[::-1]})
    writes = "pwrite64,pwritev,fdatasync"
    with twinfs.mounted(source) as view, ThreadPoolExecutor(2 * READERS) as pool:
        view.sync()
        move_ctime([source / "b", source / "lone"], "+d")
        with view.traced("-e", f"trace={writes}", "-e", f"inject={writes}:delay_enter=600000000"):
            waiting = [pool.submit(open_fails, path, (errno.ESTALE,)) for path in
                       (view.uniques / "lone", in_dups(view, "b")) for _ in range(READERS)]
            assert in_dups(view, "quiet").read_bytes() == DATA
            assert until(lambda: sum(open_.done() for open_ in waiting) >=
                         len(waiting) - RECHECKS)
            assert all(open_.result() for open_ in waiting if open_.done())


def test_open_file_whose_ctime_moves_can_be_read(moved, source):
    with open(in_dups(moved, "05"), "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 10, 0) == DATA[:10]
        move_ctime([source / "05"], "-d")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert os.pread(file.fileno(), len(DATA), 0) == DATA


def test_file_that_was_rewritten_without_an_event_leaves_its_group(twinfs, source, tmp_path):
    """Size and mtime are unchanged. Only the ctime shows that the content may have changed."""
    trees.fill(source, {b"b": DATA, b"c": DATA})
    outside = tmp_path / "outside"
    outside.write_bytes(DATA)
    os.link(outside, source / "a")
    with twinfs.mounted(source) as view:
        view.sync()
        group = in_dups(view, ".")
        stat = os.stat(outside)
        outside.write_bytes(DATA[::-1])  # by a name that is not watched
        os.utime(outside, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert open_fails(group / "a")
        assert (view.uniques / "a").read_bytes() == DATA[::-1]
        assert sorted(os.listdir(group)) == ["(kept) b", "c"]
        view.sync()
        assert view.differences_now(source) == []

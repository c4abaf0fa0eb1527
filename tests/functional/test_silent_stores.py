# SPDX-License-Identifier: MIT
"""tmpfs, and overlayfs over it, change no time when a program stores to a mapped page that it
has read before. On these file systems each read of the view asks the kernel, by a lease, whether a
writer exists."""
import contextlib
import ctypes
import errno
import mmap
import os
import re
import subprocess

import oracle
import pytest
import trees
from disks import disk
from processes import has_open, until
from test_gate import in_dups, open_fails

DATA = trees.content("silent", 50_000)
CALLS = re.compile(r"pread64|F_SETLEASE, F_RDLCK|statx")
MEANING = {"pread64": "read", "F_SETLEASE, F_RDLCK": "lease", "statx": "status"}
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Mapping:
    """A writable mapping of a file without a descriptor: mmap of Python keeps one open."""

    def __init__(self, path):
        handle = os.open(path, os.O_RDWR)
        self.length = os.fstat(handle).st_size
        self.address = libc.mmap(None, self.length, mmap.PROT_READ | mmap.PROT_WRITE,
                                 mmap.MAP_SHARED, handle, 0)
        os.close(handle)
        assert self.address not in (None, ctypes.c_void_p(-1).value)
        self.bytes = (ctypes.c_char * self.length).from_address(self.address)

    def store(self, at=0):
        """Changes a byte of a page that was read before."""
        self.bytes[at] = bytes([self.bytes[at][0] ^ 1])

    def close(self):
        assert libc.munmap(self.address, self.length) == 0


@contextlib.contextmanager
def mounted(*words):
    if subprocess.run(["mount", *words], check=False).returncode != 0:
        pytest.skip(f"the kernel does not mount {words[1]}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", words[-1]], check=True)


@pytest.fixture(params=["tmpfs", "overlay"])
def silent(request, root_only, tmp_path):
    """An empty folder on tmpfs, or on an overlay over it."""
    base, shown = tmp_path / "base", tmp_path / "shown"
    base.mkdir()
    shown.mkdir()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mounted("-t", "tmpfs", "none", base))
        if request.param == "tmpfs":
            yield base
            return
        for name in ("lower", "upper", "work"):
            (base / name).mkdir()
        stack.enter_context(mounted(
            "-t", "overlay", "none", "-o",
            f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work", shown))
        yield shown


@pytest.fixture
def on_tmpfs(root_only, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    with mounted("-t", "tmpfs", "none", base):
        yield base


def is_stale(read, *arguments):
    with pytest.raises(OSError) as raised:
        read(*arguments)
    return raised.value.errno == errno.ESTALE


def calls_on(path, trace):
    """The calls of the daemon on an open file, in order."""
    lines = [line for line in os.fsdecode(trace).splitlines() if f"<{path}>" in line]
    return [MEANING[found[0]] for found in map(CALLS.search, lines) if found]


def store_without_a_time_change(mapping, path, at=0):
    before = path.stat().st_ctime_ns
    mapping.store(at)
    assert path.stat().st_ctime_ns == before, "the store changed the ctime: this tests nothing"


def test_copy_mapped_for_writing_is_refused_until_it_is_closed(twinfs, on_tmpfs):
    trees.fill(on_tmpfs, {b"a": DATA, b"b": DATA, b"c": DATA})
    with twinfs.mounted(on_tmpfs) as view:
        path = in_dups(view, "b")
        early = os.open(path, os.O_RDONLY)  # before there is a writer
        mapping = Mapping(on_tmpfs / "b")
        store_without_a_time_change(mapping, on_tmpfs / "b")
        assert is_stale(os.pread, early, 10, 0)
        view.sync()
        assert view.copies() and all(b"b" not in names for names in view.copies().values())
        assert is_stale(os.pread, early, 10, 0)
        assert view.status()["pending"] == 1
        mapping.close()
        assert view.differences_now(on_tmpfs) == []
        assert is_stale(os.pread, early, 10, 0)
        os.close(early)


def test_copy_open_for_writing_is_refused(twinfs, silent):
    """It is refused before the first write: punching a hole zeroes bytes before it changes the
    time."""
    trees.fill(silent, {b"a": DATA, b"b": DATA, b"c": DATA})
    with twinfs.mounted(silent) as view:
        handle = os.open(in_dups(view, "b"), os.O_RDONLY)
        with open(silent / "b", "r+b"):
            assert is_stale(os.pread, handle, 10, 0)
            assert open_fails(in_dups(view, "b"), (errno.ESTALE, errno.ENOENT))
            assert in_dups(view, "a").read_bytes() == DATA
        os.close(handle)
        assert view.differences_now(silent) == []


def test_file_in_no_group_can_be_read_while_it_is_open_for_writing(twinfs, silent):
    """A log that stays open must not be missing in a backup."""
    trees.fill(silent, {b"log": DATA})
    with twinfs.mounted(silent) as view, open(silent / "log", "r+b"):
        assert (view.uniques / "log").read_bytes() == DATA


def test_file_that_left_its_group_can_be_read_in_uniques(twinfs, on_tmpfs):
    trees.fill(on_tmpfs, {b"a": DATA, b"b": DATA, b"c": DATA})
    with twinfs.mounted(on_tmpfs) as view:
        mapping = Mapping(on_tmpfs / "b")
        with contextlib.suppress(OSError):
            in_dups(view, "b").read_bytes()
        view.sync()
        store_without_a_time_change(mapping, on_tmpfs / "b")
        assert until(lambda: (view.uniques / "b").read_bytes()[0] == DATA[0] ^ 1)
        mapping.close()


def test_store_through_a_removed_hard_link_is_found_at_its_close(twinfs, on_tmpfs):
    """The event of the close has a name that does not exist any more, and no time changed."""
    trees.fill(on_tmpfs, {b"a": DATA, b"b": DATA, b"c": DATA})
    os.link(on_tmpfs / "b", on_tmpfs / "link")
    with twinfs.mounted(on_tmpfs) as view:
        mapping = Mapping(on_tmpfs / "link")
        os.unlink(on_tmpfs / "link")
        view.sync()
        store_without_a_time_change(mapping, on_tmpfs / "b")
        mapping.close()
        assert view.differences_now(on_tmpfs) == []


@pytest.mark.parametrize("kind", ["tmpfs", "ext4", "xfs", "btrfs"])
def test_lease_is_taken_after_the_read_if_times_are_unreliable(
        twinfs, root_only, strace, tmp_path, kind):
    """On file systems with reliable times the daemon takes no lease, because a lease costs time. On
    other file systems the kernel caches no page for the next open."""
    with contextlib.ExitStack() as stack:
        if kind == "tmpfs":
            root = tmp_path / kind
            root.mkdir()
            stack.enter_context(mounted("-t", "tmpfs", "none", root))
        else:
            root = stack.enter_context(disk(kind, tmp_path))
        source = root / "source"
        trees.fill(source, {b"a": DATA, b"b": DATA})
        view = stack.enter_context(twinfs.mounted_and_traced(
            source, calls="pread64,fcntl,statx"))
        view.sync()
        path = in_dups(view, "a")
        view.trace_since()
        for _ in range(2):
            assert path.read_bytes() == DATA
            asked = calls_on(source / "a", view.trace_since())
            if kind == "tmpfs":
                assert asked[0] == "status" and asked[1] == "lease"
                assert asked[-3:] == ["read", "lease", "status"]
            else:
                assert "lease" not in asked
        assert ("read" in asked) == (kind == "tmpfs")


# stores without an event

def store(path, at=0):
    """Changes a byte and no time, and closes the file."""
    mapping = Mapping(path)
    store_without_a_time_change(mapping, path, at)
    mapping.close()


def test_store_is_not_served_before_its_event_was_read(twinfs, silent, strace):
    """Writes to the index hang, so the file is still in its group."""
    trees.fill(silent, {b"a": DATA, b"b": DATA, b"c": DATA})
    writes = "pwrite64,pwritev,fdatasync"
    with twinfs.mounted(silent) as view:
        path = in_dups(view, "b")
        assert path.read_bytes() == DATA
        with view.traced("-e", f"trace={writes}", "-e", f"inject={writes}:delay_enter=600000000"):
            store(silent / "b")
            assert open_fails(path, (errno.ESTALE,))
            assert path.name in os.listdir(path.parent), "its event was read: this tests nothing"
        assert view.differences_now(silent) == []


def opened_of(view, *files):
    return [file for file in files if has_open(view.pid, file)]


def test_file_does_not_join_a_group_by_a_changed_member(twinfs, silent, strace):
    """A member of the group is opened for the comparison with a new file of the same prefix hash.
    Before it is read, it gets the bytes of the new file."""
    members = silent / "a", silent / "b"
    trees.fill(silent, {path.name: DATA for path in members})
    other = bytearray(DATA)
    other[-1] ^= 1
    with twinfs.mounted(silent) as view:
        with view.traced("-e", "trace=fcntl", "-e", "inject=fcntl:delay_enter=1000000"):
            (silent / "c").write_bytes(other)
            assert until(lambda: opened_of(view, *members))
            store(opened_of(view, *members)[0], len(DATA) - 1)
        assert view.differences_now(silent) == []


@pytest.mark.parametrize("victim", ["a", "b"], ids=["kept", "redundant"])
@pytest.mark.parametrize("between", ["list", "mount", "a folder that is renamed"])
def test_store_between_two_runs_is_found(twinfs, silent, victim, between):
    source = silent / "source"
    trees.fill(source / "folder", {b"a": DATA, b"b": DATA, b"c": DATA})
    twinfs.ok("scan", source)
    store(source / "folder" / victim)
    if "renamed" in between:
        (source / "folder").rename(source / "other")
    if between == "mount":
        with twinfs.mounted(source) as view:
            assert view.differences_now(source) == []
    else:
        assert twinfs.groups(source) == oracle.path_groups(source)


def test_store_between_two_polls_is_found(twinfs, silent):
    source = silent / "source"
    trees.fill(source, {b"a": DATA, b"b": DATA, b"c": DATA})
    with twinfs.mounted(source, options=("--wait", "--watch=poll", "--interval=3600")) as view:
        for victim in ("b", "a"):
            store(source / victim)
            assert view.differences_now(source) == []


def test_members_on_a_disk_are_not_read_again(twinfs, root_only, strace, tmp_path):
    """Times on a disk are reliable, also through an overlay."""
    with disk("ext4", tmp_path) as root, contextlib.ExitStack() as stack:
        for name in ("lower", "upper", "work", "shown"):
            (root / name).mkdir()
        trees.fill(root / "lower", {b"a": DATA, b"b": DATA})
        stack.enter_context(mounted(
            "-t", "overlay", "none", "-o",
            f"lowerdir={root}/lower,upperdir={root}/upper,workdir={root}/work", root / "shown"))
        trees.fill(root / "shown", {b"c": DATA, b"d": DATA})
        for source in (root / "lower", root / "shown"):
            program = twinfs.with_index(tmp_path / f"index of {source.name}")
            reads = [[line for line in program.traced(
                "scan", source, calls="trace=pread64", flags=["-y"])[1].splitlines()
                      if os.fsencode(source) in line] for _ in range(2)]
            assert reads[0] and not reads[1]
            assert program.groups(source) == oracle.path_groups(source)

# SPDX-License-Identifier: MIT
"""The disk that the index is on fails while a view is mounted: what is known is served on, the view
says what is wrong, and goes on by itself as soon as that is possible. Or somebody writes over the
index: then there are errors, no wrong bytes, and the next start is right."""
import contextlib
import errno
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest
import trees
from disks import disk
from program import path_of, until
from test_index import CHILD_MAY_CRASH, DAMAGES, copy_a_page, flip_many_bits, zero_a_page
from test_scan import oracle_groups

SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32), of ext4 and xfs
WITHOUT_FLUSH = 2
WRITES = "pwrite64,pwritev,writev,fdatasync"
WRITE_NUMBERS = range(1, 9)


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    trees.many(source / "many", 120, lambda number: b"%d" % (number // 3), folders=6)
    return source


def shut_down(root):
    """The file system stands still, as when its disk is pulled out."""
    os.sync()
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
    finally:
        os.close(folder)


def make_read_only(root):
    """What ext4 does when it finds an error in itself."""
    subprocess.run(["mount", "-o", "remount,abort", root], check=True, capture_output=True)


def is_refused(path):
    """It has changed, and the index cannot be told."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        assert error.errno == errno.ESTALE
        return True
    return False


def walk_names(root):
    return [os.path.relpath(os.path.join(path, name), root)
            for path, _, names in os.walk(root) for name in names]


def grows_until_stale(view, tree):
    """More and more names, until the index has no room for them."""
    number = len(os.listdir(tree))
    trees.many(tree / f"grown {number}", 200, lambda file: b"%d %d" % (number, file), folders=2)
    return view.status().get("problem") is not None


def served_wrong(view):
    """Files of dups/ whose bytes are not what the folder says; few may be refused."""
    folders = [folder for folder in os.scandir(view.dups) if folder.is_dir()]
    there = [entry.path for folder in folders for entry in os.scandir(folder.path)]
    names = [path for path in there if not is_refused(path)]
    assert names and len(there) - len(names) <= 1
    lines = subprocess.run(["xxhsum", "-q", "-H2", *names], check=True,
                           capture_output=True).stdout.splitlines()
    return [line for line, name in zip(lines, names, strict=True)
            if line.split()[0].decode() != os.path.basename(os.path.dirname(name))]


def folders_below(root):
    """Read from the top down: what the kernel may keep of them is known then."""
    return [path for path, _, _ in os.walk(root)]


def refuses_to_list(folder):
    try:
        os.listdir(folder)
    except OSError as error:
        assert error.errno == errno.EIO
        return True
    return False


def is_said_to_be_stale(view, folders=()):
    """Names are missing, and nobody is made to believe that these are all."""
    assert view.status()["state"] == "walking"
    with pytest.raises(subprocess.CalledProcessError):
        view.sync()
    return all(refuses_to_list(folder) for folder in (view.uniques, view.redundant, *folders))


def test_backup_fails_while_new_files_cannot_be_written_to_the_index(twinfs, tree, tmp_path):
    """What the kernel knew of folders counts no more, and all is right when there is room."""
    if os.geteuid() != 0 or not shutil.which("rsync"):
        pytest.skip("mounts a small file system, and needs rsync")
    small, backup = tmp_path / "disk", tmp_path / "backup"
    small.mkdir()
    copying = ["rsync", "-a", "--delete"]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=True)
    try:
        with twinfs.with_index(small / "index").mounted(tree) as view:
            folders = folders_below(view.uniques)
            subprocess.run([*copying, f"{view.uniques}/", backup], check=True)
            old = set(walk_names(backup))
            with contextlib.suppress(OSError):
                (small / "fill").write_bytes(bytes(3 << 20))
            assert until(lambda: grows_until_stale(view, tree))
            assert is_said_to_be_stale(view, folders)
            failed = subprocess.run([*copying, f"{view.uniques}/", backup], check=False,
                                    capture_output=True)
            assert failed.returncode == 23
            assert set(walk_names(backup)) >= old
            (small / "fill").unlink()
            assert until(lambda: "problem" not in view.status())
            assert view.differences_now(tree) == []
            subprocess.run([*copying, f"{view.uniques}/", backup], check=True)
            assert set(walk_names(backup)) > old
    finally:
        subprocess.run(["umount", "-l", small], check=True)


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_index_that_is_removed_under_a_view_hides_no_new_files(twinfs, tree, replaced):
    with twinfs.mounted_in_front(tree) as (process, view):
        folders = folders_below(view.uniques)
        shutil.rmtree(twinfs.index)
        if replaced:
            twinfs.ok("scan", tree)
        trees.fill(tree, {b"new": b"twin", b"newer": b"twin"})
        if replaced:
            assert view.differences_now(tree) == []
        else:
            assert until(lambda: view.status().get("problem") == "No such file or directory")
            assert is_said_to_be_stale(view, folders)
            assert served_wrong(view) == []
            assert b"mount it again" in twinfs("doctor", view.path).out
    assert os.fsencode(twinfs.index) in process.output[1]
    assert twinfs.groups(tree) == oracle_groups(tree)


def mount_anew(root):
    subprocess.run(["umount", root], check=True)
    subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)


@pytest.mark.parametrize("fail", [shut_down, make_read_only])
def test_disk_that_fails_below_the_index_takes_nothing_that_is_known(twinfs, tree, tmp_path, fail):
    with disk("ext4", tmp_path) as root:
        program = twinfs.with_index(root / "index")
        known = program.groups(tree)
        with program.mounted(tree) as view:
            fail(root)
            trees.fill(tree, {b"new": b"twin", b"newer": b"twin"})
            assert until(lambda: view.status().get("problem")
                         in ("Input/output error", "Read-only file system"))
            assert len(os.listdir(view.dups)) == len(known)
            assert served_wrong(view) == []
            assert is_said_to_be_stale(view)
            assert view.errors() == []
        mount_anew(root)
        assert program.groups(tree) == oracle_groups(tree)


def test_view_ends_and_says_why_where_a_disk_that_failed_lets_nobody_read_the_index(
        twinfs, tree, tmp_path):
    """Xfs that is shut down lets nobody write to what is mapped, as the table of readers."""
    with disk("xfs", tmp_path) as root:
        program = twinfs.with_index(root / "index")
        with program.mounted_in_front(tree) as (process, view):
            shut_down(root)
            trees.fill(tree, {b"new": b"twin", b"newer": b"twin"})
            assert until(lambda: process.poll() is not None)
            with pytest.raises(OSError, match="not connected"):
                os.listdir(view.uniques)
        assert process.returncode == -signal.SIGBUS
        assert b"cannot read the index" in process.output[1]
        mount_anew(root)
        assert program.groups(tree) == oracle_groups(tree)


def failing(view, error, number):
    """From the number-th write of a thread to the index on each fails: the root of it, too."""
    return view.traced("-P", view.program.index / "data.mdb", "-e", f"trace={WRITES}",
                       "-e", f"inject={WRITES}:error={error}:when={number}+")


def fails_after_change(view, tree, words):
    """The index has little to write, and the root of it early."""
    (tree / "small/backup/1.jpg").write_bytes(os.urandom(8))
    return view.status().get("problem") == words


@pytest.mark.parametrize(("error", "words"), [("ENOSPC", "No space left on device"),
                                              ("EDQUOT", "Disk quota exceeded")])
def test_lack_of_room_at_any_write_of_a_view_is_said_and_survived(twinfs, tree, strace, error,
                                                                  words):
    with twinfs.mounted(tree) as view:
        for number in WRITE_NUMBERS:
            with failing(view, error, number):
                trees.many(tree / f"new {number}", 40, lambda number: b"%d" % (number // 2),
                           folders=4)
                assert until(lambda: fails_after_change(view, tree, words))
                assert served_wrong(view) == []
            assert view.differences_now(tree) == []
            assert until(lambda: "problem" not in view.status())
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=False) == []


# written over

PAGES = 3  # of some 20 that are in use
GRAIN_S = 0.02  # of ctime
CRASHES = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV}  # LMDB believes every page


def damage_under_a_view(twinfs, tree, damage, number):
    """Looks at all of the view meanwhile, and every second time changes what it shows."""
    rng, failed = random.Random(f"{damage.__name__} {number}"), []
    data = twinfs.index / "data.mdb"
    with twinfs.mounted_in_front(tree) as (process, view):
        # a write during one of the daemon, or right after it, is not seen to be another's
        assert until(lambda: view.status()["pending"] == 0)
        assert until(lambda: time.time() - data.stat().st_ctime > GRAIN_S)
        with open(data, "r+b") as file:
            for _ in range(PAGES):
                damage(file, data.stat().st_size, rng)
        if number % 2:
            trees.fill(tree, {f"new {number}": b"%d" % number, f"newer {number}": b"%d" % number})
            with contextlib.suppress(subprocess.CalledProcessError):
                view.sync()
        assert view.wrong_bytes(tree, failed) == []
    assert process.returncode in {0, *CRASHES}
    # a record of long ago is seen to be wrong when its file is opened: that is looked at again
    unsaid = [error for error in failed if error.errno != errno.ESTALE]
    assert b"index" in process.output[1] or process.returncode or not unsaid


@pytest.mark.parametrize("damage", [zero_a_page, flip_many_bits, copy_a_page],
                         ids=lambda damage: damage.__name__)
def test_index_that_is_damaged_under_a_view_serves_nothing_wrong_and_is_set_aside(
        twinfs, tree, tmp_path, damage):
    believed = tmp_path / "believed"
    believed.write_text("interceptor_via_lib:liblmdb\n")  # it copies as much as a page says
    twinfs.environment["ASAN_OPTIONS"] += f"{CHILD_MAY_CRASH}:suppressions={believed}"
    aside = 0
    for number in range(DAMAGES // 25):
        trees.remove(twinfs.index)
        damage_under_a_view(twinfs, tree, damage, number)
        first = twinfs("list", "--format=json", tree)
        right = oracle_groups(tree)
        assert first.error if first.status else groups_of(first) == right, first
        assert twinfs.groups(tree) == right
        aside += (twinfs.index / "damaged.mdb").exists()
    assert aside
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=False) == []


def groups_of(result):
    return {frozenset(path_of(copy) for copy in group["copies"])
            for group in result.json["groups"]}

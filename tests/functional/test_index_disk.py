# SPDX-License-Identifier: MIT
"""The disk of the index fails while a view is mounted: the view serves what the index has,
reports the problem, and recovers by itself. If another program overwrites the index, there are
errors, no wrong bytes, and the next start is right."""
import contextlib
import errno
import fcntl
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import oracle
import pytest
import trees
from disks import disk
from processes import until
from test_index import CHILD_MAY_CRASH, DAMAGES, copy_a_page, flip_many_bits, zero_a_page

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
    """Shuts a file system down, as if its disk were pulled out."""
    os.sync()
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
    finally:
        os.close(folder)


def make_read_only(root):
    """Does what ext4 does when it finds an error in itself."""
    subprocess.run(["mount", "-o", "remount,abort", root], check=True, capture_output=True)


def is_refused(path):
    """Whether a file cannot be opened because it changed and the index lacks the change."""
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
    """Adds names; returns whether the index has no more room for names."""
    number = len(os.listdir(tree))
    trees.many(tree / f"grown {number}", 200, lambda file: b"%d %d" % (number, file), folders=2)
    return view.status().get("problem") is not None


def served_wrong(view):
    """Files of dups/ whose hash is not that of their folder. At most one may be refused."""
    folders = [folder for folder in os.scandir(view.dups) if folder.is_dir()]
    there = [entry.path for folder in folders for entry in os.scandir(folder.path)]
    names = [path for path in there if not is_refused(path)]
    assert names and len(there) - len(names) <= 1
    lines = subprocess.run(["xxhsum", "-q", "-H2", *names], check=True,
                           capture_output=True).stdout.splitlines()
    return [line for line, name in zip(lines, names, strict=True)
            if line.split()[0].decode() != os.path.basename(os.path.dirname(name))]


def folders_below(root):
    """Lists all folders, so that the kernel caches them."""
    return [path for path, _, _ in os.walk(root)]


def refuses_to_list(folder):
    try:
        os.listdir(folder)
    except OSError as error:
        assert error.errno == errno.EIO
        return True
    return False


def refuses_as_stale(view, folders=()):
    """Whether sync and listings fail, as the view does not have all names."""
    assert view.status()["state"] == "stuck"
    with pytest.raises(subprocess.CalledProcessError):
        view.sync()
    return all(refuses_to_list(folder) for folder in (view.uniques, view.redundant, *folders))


def test_short_first_scan_rarely_waits_for_the_disk(twinfs, tree, strace):
    """A first scan writes nothing that a second one would not find again."""
    result, trace = twinfs.traced("scan", tree, calls="trace=fsync,fdatasync,pwrite64")
    assert result.status == 0
    synced = re.findall(rb" (f(?:data)?sync)\(", trace)
    pages = max(map(int, re.findall(rb" pwrite64\((\d+), ", trace)))
    synced += re.findall(rb" pwrite64\(%d, " % pages, trace)  # LMDB has two descriptors
    assert 3 <= len(synced) <= 12


def test_first_commits_that_the_disk_refused_are_not_sealed(twinfs, tree, strace):
    """The kernel reports the error once, and forgets the pages that it could not write."""
    result, _ = twinfs.traced("scan", tree, calls="trace=fdatasync",
                              flags=["-e", "inject=fdatasync:error=EIO:when=1"])
    assert result.status == 1, result
    assert os.path.exists(twinfs.index / "data.mdb")
    assert not os.path.exists(twinfs.index / "seal")


def test_backup_fails_while_the_index_cannot_be_written(twinfs, tree, tmp_path, root_only):
    """The kernel uses no cached listing, and the view recovers when there is room."""
    if not shutil.which("rsync"):
        pytest.skip("needs rsync")
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
            assert refuses_as_stale(view, folders)
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
def test_view_whose_index_is_removed_hides_no_new_files(twinfs, tree, replaced):
    with twinfs.mounted_in_foreground(tree) as (process, view):
        trees.fill(tree, {b"first": b"a change before, which removed the seal"})
        assert view.differences_now(tree) == []
        folders = folders_below(view.uniques)
        shutil.rmtree(twinfs.index)
        if replaced:
            twinfs.ok("scan", tree)
        trees.fill(tree, {b"new": b"twin", b"newer": b"twin"})
        assert until(lambda: view.status().get("problem") == "No such file or directory")
        assert refuses_as_stale(view, folders)
        assert served_wrong(view) == []
        assert b"mount it again" in twinfs("doctor", view.path).out
    assert os.fsencode(twinfs.index) in process.output[1]
    assert twinfs.groups(tree) == oracle.path_groups(tree)


def mount_anew(root):
    subprocess.run(["umount", root], check=True)
    subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)


@pytest.mark.parametrize("fail", [shut_down, make_read_only])
def test_view_whose_index_disk_fails_serves_all_known_files(twinfs, tree, tmp_path, fail):
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
            assert refuses_as_stale(view)
            assert view.errors() == []
        mount_anew(root)
        assert program.groups(tree) == oracle.path_groups(tree)


def test_view_ends_with_a_message_if_the_index_cannot_be_read(twinfs, tree, tmp_path):
    """On an XFS that is shut down writes to mapped files fail, also to LMDB's table of readers."""
    with disk("xfs", tmp_path) as root:
        program = twinfs.with_index(root / "index")
        with program.mounted_in_foreground(tree) as (process, view):
            subprocess.run(["sync", "-f", root], check=True)  # a dirty page stays writable
            shut_down(root)
            trees.fill(tree, {b"new": b"twin", b"newer": b"twin"})
            assert until(lambda: process.poll() is not None)
            with pytest.raises(OSError, match="not connected"):
                os.listdir(view.uniques)
        assert process.returncode == -signal.SIGBUS
        assert b"cannot read the index" in process.output[1]
        mount_anew(root)
        assert program.groups(tree) == oracle.path_groups(tree)


def failing(view, error, number):
    """Each write of a thread to the index fails, from the given number on."""
    return view.traced("-P", view.program.index / "data.mdb", "-e", f"trace={WRITES}",
                       "-e", f"inject={WRITES}:error={error}:when={number}+")


def fails_after_change(view, tree, words):
    """Makes a change that needs few writes; whether the view reports the problem."""
    (tree / "small/backup/1.jpg").write_bytes(os.urandom(8))
    return view.status().get("problem") == words


@pytest.mark.parametrize(("error", "words"), [("ENOSPC", "No space left on device"),
                                              ("EDQUOT", "Disk quota exceeded")])
def test_lack_of_room_at_any_write_of_a_view_is_reported_and_survived(twinfs, tree, strace, error,
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


# overwritten indexes

PAGES = 3  # damaged pages, of about 20 in use
GRAIN_S = 0.02  # granularity of ctime
CRASHES = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV}  # LMDB does not check its pages


def damage_under_a_view(twinfs, tree, damage, number):
    """Damages the index of a mounted view and reads the view; odd numbers change the source too."""
    rng, failed = random.Random(f"{damage.__name__} {number}"), []
    data = twinfs.index / "data.mdb"
    with twinfs.mounted_in_foreground(tree) as (process, view):
        # the daemon does not notice a write by another program during its own writes
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
    # a damaged record of a file looks like a change of the file: ESTALE and a recheck
    unexplained = [error for error in failed if error.errno != errno.ESTALE]
    assert b"index" in process.output[1] or process.returncode or not unexplained


@pytest.mark.parametrize("damage", [zero_a_page, flip_many_bits, copy_a_page],
                         ids=lambda damage: damage.__name__)
def test_index_damaged_under_a_view_gives_no_wrong_bytes_and_is_set_aside(
        twinfs, tree, tmp_path, damage):
    suppressions = tmp_path / "suppressions"
    suppressions.write_text("interceptor_via_lib:liblmdb\n")  # it trusts lengths in pages
    twinfs.environment["ASAN_OPTIONS"] += f"{CHILD_MAY_CRASH}:suppressions={suppressions}"
    aside = 0
    for number in range(DAMAGES // 25):
        trees.remove(twinfs.index)
        damage_under_a_view(twinfs, tree, damage, number)
        first = twinfs("list", "--format=json", tree)
        right = oracle.path_groups(tree)
        assert first.error if first.status else first.groups == right, first
        assert twinfs.groups(tree) == right
        aside += (twinfs.index / "damaged.mdb").exists()
    assert aside
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=False) == []


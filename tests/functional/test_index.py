# SPDX-License-Identifier: MIT
"""The index is a cache: if it is damaged, answers are right or refused, never wrong."""
import collections
import contextlib
import errno
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import newer_index
import oracle
import pytest
import trees
from processes import until, wait_ended
from program import Program

# Calls after which a kill leaves something else than before: not those that wait for a disk.
MUTATING = ["write", "pwrite64", "writev", "pwritev", "ftruncate", "mkdir", "mkdirat", "rename",
            "renameat", "renameat2", "unlink", "unlinkat", "fchmod", "openat"]
# A child process checks a damaged index, as LMDB may crash on it.
CHILD_MAY_CRASH = ":handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0"
# Types of statfs(2) of network file systems, on which the program refuses an index.
REMOTE = {"NFS": 0x6969, "CIFS": 0xff534d42, "SMB": 0xfe534d42, "9p": 0x01021997,
          "Ceph": 0x00c36400, "OCFS2": 0x7461636f}
# Damaged indexes of each kind. Raise it for a long run.
DAMAGES = int(os.environ.get("TWINFS_TEST_DAMAGES", "75"))


def build(root):
    trees.small(root / "small")
    trees.links(root / "links")
    trees.many(root / "many", 120, lambda number: b"%d" % (number // 3), folders=6)
    return root


@pytest.fixture
def tree(source):
    return build(source)


def answer(twinfs, source):
    """The output of list, without the ids that a rebuilt index assigns again."""
    listing = twinfs.listing(source)
    groups = {group["hash"]: frozenset((str(copy["path"]), copy["kept"])
                                       for copy in group["copies"])
              for group in listing["groups"]}
    return groups, listing["summary"]


# permissions

@pytest.mark.parametrize("umask", [0, 0o077, 0o777])
def test_index_is_private_with_each_umask(twinfs, tree, umask):
    old = os.umask(umask)
    try:
        twinfs.ok("scan", tree)
    finally:
        os.umask(old)
    assert stat.S_IMODE(twinfs.index.stat().st_mode) == 0o700
    files = list(twinfs.index.iterdir())
    assert "data.mdb" in [path.name for path in files]
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_index_of_a_running_daemon_is_private(twinfs, tree):
    old = os.umask(0)
    try:
        with twinfs.mounted(tree):
            files = list(twinfs.index.iterdir())
            assert "data.mdb" in [path.name for path in files]
            for path in files:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    finally:
        os.umask(old)


def test_existing_folders_of_an_index_are_not_created(twinfs, tree, strace):
    """Automounters and read-only disks can refuse to create a folder even if it exists."""
    twinfs.ok("scan", tree)
    result, _ = twinfs.traced("scan", tree, calls="trace=?mkdir,mkdirat",
                              flags=["-e", "inject=?mkdir,mkdirat:error=EACCES"])
    assert result.status == 0, result


# refused indexes

def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.name not in ("lock.mdb", "owner")}


@pytest.mark.parametrize("command", ["scan", "list", "check", "mount", "copies"])
@pytest.mark.parametrize("sealed", [True, False])
def test_index_of_a_newer_version_is_refused_and_left_alone(twinfs, tree, mount, command, sealed):
    twinfs.ok("scan", tree)
    newer_index.make_newer(twinfs.index)
    if not sealed:
        (twinfs.index / "seal").unlink()
    before = contents(twinfs.index)
    operands = {"mount": [tree, mount], "copies": [tree / "small/alone"]}.get(command, [tree])
    result = twinfs(command, *operands)
    assert result.status == 1, result
    assert len(result.errors) == 1 and str(twinfs.index) in result.errors[0]
    assert "newer" in result.errors[0]
    assert contents(twinfs.index) == before


def test_file_in_place_of_the_index_folder_is_refused(twinfs, tree):
    twinfs.index.write_text("mine")
    result = twinfs("scan", tree)
    assert result.status == 1, result
    assert str(twinfs.index) in result.errors[0]
    assert twinfs.index.read_text() == "mine"


def test_index_on_a_fuse_file_system_is_refused(twinfs, tree, tmp_path):
    with twinfs.mounted(tree) as view:
        for inside in (view.uniques / "small/empty folder", view.path / "dups"):
            result = twinfs.with_index(inside)("scan", tree)
            assert result.status == 1, result
            assert len(result.errors) == 1 and str(inside) in result.errors[0]


def files_of(index):
    return {path.name: path.read_bytes() for path in index.iterdir()}


@pytest.mark.parametrize("number", REMOTE.values(), ids=REMOTE)
def test_index_on_a_network_file_system_is_refused_and_left_alone(
        twinfs, tree, take_filesystem_for, tmp_path, mount, number):
    twinfs.ok("scan", tree)
    before = files_of(twinfs.index)
    take_filesystem_for(number)
    for words in (["scan", tree], ["list", tree], ["check", tree], ["remove", "--dry-run", tree],
                  ["copies", tree / "small/letters/a.txt"], ["mount", tree, mount]):
        result = twinfs(*words)
        assert (result.status, result.out) == (1, b""), (words, result)
        assert str(twinfs.index) in result.errors[0], (words, result)
        assert "network" in result.errors[0] and "--index" in result.errors[0], (words, result)
        assert files_of(twinfs.index) == before, words
    twinfs.index = tmp_path / "new"
    assert twinfs("scan", tree).status == 1
    assert files_of(twinfs.index) == {}


def test_index_in_a_folder_that_cannot_be_made_is_refused(twinfs, tree):
    inside = twinfs.with_index("/proc/self/index")
    result = inside("scan", tree)
    assert result.status == 1, result
    assert "/proc/self/index" in result.errors[0]


# damage

@pytest.fixture(scope="module")
def reference(session, scratch):
    """A scanned tree, its index, and the right answer."""
    folder = scratch / "reference"
    folder.mkdir()
    twinfs = Program(session, folder)
    root = build(scratch / "tree")
    right = answer(twinfs, root)
    assert len(right[0]) > 40
    return root, twinfs.index, right


def truncate(file, size, rng):
    file.truncate(rng.choice([0, 1, 4095, 4096, 8192, rng.randrange(size),
                              rng.randrange(size) // 4096 * 4096]))


def zero_a_page(file, size, rng):
    file.seek(rng.randrange(size // 4096) * 4096)
    file.write(bytes(4096))


def flip_a_bit(file, size, rng):
    at = rng.randrange(size)
    file.seek(at)
    byte = file.read(1)[0]
    file.seek(at)
    file.write(bytes([byte ^ 1 << rng.randrange(8)]))


def flip_many_bits(file, size, rng):
    for _ in range(100):
        flip_a_bit(file, size, rng)


def copy_a_page(file, size, rng):
    """Copies a page over another one, as a misdirected write does."""
    one, two = (rng.randrange(size // 4096) * 4096 for _ in range(2))
    file.seek(one)
    page = file.read(4096)
    file.seek(two)
    file.write(page)


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unsealed"])
@pytest.mark.parametrize("damage", [truncate, zero_a_page, flip_a_bit, flip_many_bits,
                                    copy_a_page], ids=lambda damage: damage.__name__)
def test_damaged_index_never_gives_a_wrong_answer(twinfs, reference, damage, sealed):
    root, index, right = reference
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    rng = random.Random(f"{damage.__name__} {sealed}")
    wrong, refused = [], 0
    for number in range(DAMAGES // 2 + sealed):
        shutil.copytree(index, twinfs.index)
        if not sealed:
            (twinfs.index / "seal").unlink()
        path = twinfs.index / "data.mdb"
        with open(path, "r+b") as file:
            damage(file, path.stat().st_size, rng)
        result = twinfs("list", "--format=json", root)
        if result.status == 1 and b"newer twinfs" in result.error:
            refused += 1  # the one record that every version reads has no checksum
        elif result.status != 0 or answer(twinfs, root) != right:
            wrong.append((number, str(result)[-600:]))
        elif answer_of(result) != right:
            wrong.append((number, "the first answer was wrong"))
        shutil.rmtree(twinfs.index)
    assert wrong == []
    assert refused < DAMAGES // 4


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unsealed"])
def test_reader_of_a_damaged_index_does_not_crash(twinfs, reference, sealed):
    root, index, _ = reference
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    file = next(path for path in root.rglob("*") if not path.is_symlink() and path.is_file())
    rng = random.Random(sealed)
    right = twinfs.with_index(index).ok("copies", file).out
    killed = []
    for number in range(20):
        shutil.copytree(index, twinfs.index)
        if not sealed:
            (twinfs.index / "seal").unlink()
        path = twinfs.index / "data.mdb"
        with open(path, "r+b") as data:
            flip_many_bits(data, path.stat().st_size, rng)
        result = twinfs("copies", file)
        if not (result.status == 1 and result.errors or (result.status, result.out) == (0, right)):
            killed.append((number, str(result)))
        shutil.rmtree(twinfs.index)
    assert killed == []


def answer_of(result):
    groups = {group["hash"]: frozenset((str(copy["path"]), copy["kept"])
                                       for copy in group["copies"])
              for group in result.json["groups"]}
    return groups, result.json["summary"]


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"nonsense\n" * 1000, None],
                         ids=["empty", "zeros", "nonsense", "missing"])
def test_index_with_any_damaged_or_missing_file_is_rebuilt(twinfs, reference, content):
    root, index, right = reference
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    names = os.listdir(index)
    assert {"data.mdb", "seal", "owner"} <= set(names)
    for name in names:
        shutil.copytree(index, twinfs.index)
        if content is None:
            (twinfs.index / name).unlink()
        else:
            (twinfs.index / name).write_bytes(content)
        assert answer(twinfs, root) == right, name
        shutil.rmtree(twinfs.index)


def test_damage_is_reported_and_the_damaged_file_is_set_aside(twinfs, tree):
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    twinfs.ok("scan", tree)
    data = twinfs.index / "data.mdb"
    damaged = bytearray(data.read_bytes())
    damaged[:8192] = bytes(8192)
    data.write_bytes(damaged)
    result = twinfs("scan", tree)
    assert result.status == 0, result
    assert len(result.errors) >= 1 and str(twinfs.index) in result.error.decode()
    assert [path.name for path in twinfs.index.iterdir() if path.name.startswith("damaged")]
    assert twinfs.ok("scan", tree).error == b""


def test_view_of_a_damaged_index_is_right(twinfs, tree):
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    twinfs.ok("scan", tree)
    os.truncate(twinfs.index / "data.mdb", 3 * 4096)
    with twinfs.mounted(tree) as view:
        assert view.differences(tree) == []


def test_index_moved_to_another_tree_is_verified_again(twinfs, tree, tmp_path):
    """Names, sizes, times and the path are the same; inodes and contents are not."""
    twinfs.ok("scan", tree)
    other = tmp_path / "other"
    shutil.copytree(tree, other, symlinks=True)
    for path in (tree / "many").rglob("0000*"):
        twin = other / path.relative_to(tree)
        twin.write_bytes(b"?" * path.stat().st_size)
        os.utime(twin, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    os.rename(tree, tmp_path / "gone")
    os.rename(other, tree)
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=False) == []


# kill -9

def kill_points(trace):
    """(call, number in its thread) of each mutating call; openat mutates if it creates."""
    counts, points = collections.Counter(), set()
    for pid, call, words in re.findall(r"^(\d+) +(\w+)\((.*)", trace, re.MULTILINE):
        counts[pid, call] += 1
        if call in MUTATING and (call != "openat" or "O_CREAT" in words):
            points.add((call, counts[pid, call]))
    return sorted(points)


@pytest.mark.parametrize("again", [False, True], ids=["first scan", "rescan"])
def test_scan_killed_at_any_mutating_call_is_followed_by_a_right_run(twinfs, tree, strace, tmp_path,
                                                                     again):
    before = tmp_path / "before"
    if again:
        twinfs.ok("scan", tree)
        # the index has two thirds of these contents
        trees.many(tree / "more", 60, lambda number: b"%d" % (number // 2 + 20), folders=3)
        trees.write(tree / "small/backup/1.jpg", trees.content("x", 70000))
        shutil.copytree(twinfs.index, before)
    only = "trace=" + ",".join(MUTATING)
    result, trace = twinfs.traced("scan", tree, calls=only)
    assert result.status == 0, result
    right = answer(twinfs, tree)
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=not again) == []
    points = kill_points(trace.decode(errors="replace"))
    assert len(points) > 10
    killed = 0
    for call, number in points:
        shutil.rmtree(twinfs.index, ignore_errors=True)
        if again:
            shutil.copytree(before, twinfs.index)
        result, _ = twinfs.traced("scan", tree, calls=only, flags=[
            "-e", f"inject={call}:signal=KILL:when={number}"])
        killed += result.status not in (0, 3)
        result = twinfs("copies", tree / "small/alone")
        assert b"damaged" not in result.error, (call, number)
        groups, figures = answer(twinfs, tree)
        assert not (twinfs.index / "damaged.mdb").exists(), (call, number)
        assert groups == right[0], (call, number)
        assert figures == right[1], (call, number)
    assert killed > 10


def test_runs_that_change_nothing_leave_data_and_seal_alone(twinfs, tree):
    def files():
        return [(path.stat().st_ino, path.stat().st_ctime_ns, path.read_bytes())
                for path in (twinfs.index / "data.mdb", twinfs.index / "seal")]
    twinfs.ok("scan", tree)
    before = files()
    twinfs.ok("scan", tree)
    assert files() == before
    with twinfs.mounted(tree):  # this records the mount point
        pass
    before = files()
    with twinfs.mounted(tree) as view:
        view.sync()
        assert view.differences(tree, first_scan=False) == []
        assert files() == before
    assert files() == before
    trees.write(tree / "new", b"new")
    with twinfs.mounted(tree) as view:
        view.sync()
        assert not (twinfs.index / "seal").exists()
    assert (twinfs.index / "seal").exists()


def test_scan_after_a_killed_one_chooses_kept_copies_as_one_scan(twinfs, tree, strace):
    trees.fill(tree, {name: b"equal" for name in ("kept/copy", "late/copy", "later/copy")})
    with open(tree / "kept/copy", "r+b"):
        # the scan sleeps after it compared all files that are not open for writing
        result, _ = twinfs.traced("scan", tree, calls="trace=clock_nanosleep", flags=[
            "-e", "inject=clock_nanosleep:signal=KILL:when=1"])
        assert result.status == -9, result
    groups, _ = answer(twinfs, tree)
    [group] = [group for group in groups.values() if (str(tree / "late/copy"), False) in group]
    assert {path for path, kept in group if kept} == {str(tree / "kept/copy")}
    assert len(group) == 3


def change_much(root, number):
    """Makes changes that a daemon has to follow."""
    trees.fill(root, {f"{number}/a": b"%d" % number, f"{number}/b/c": b"%d" % number})
    os.rename(root / str(number), root / f"moved {number}")
    trees.write(root / "small/backup/1.jpg", trees.content(number, 70_000))
    (root / f"moved {number - 2}/a").unlink(missing_ok=True)


def test_daemon_killed_at_any_mutating_call_leaves_a_right_index(twinfs, tree, strace, tmp_path):
    only, trace = "trace=" + ",".join(MUTATING), tmp_path / "trace"
    with twinfs.mounted(tree) as view:
        with view.traced("-o", trace, "-e", only):
            change_much(tree, 0)
            view.sync()
    points = kill_points(trace.read_text(errors="replace"))
    assert len(points) > 10
    killed = 0
    for turn, (call, number) in enumerate(points, 1):
        with twinfs.mounted(tree) as view:
            assert view.differences(tree, first_scan=False) == [], (call, number)
            with view.traced("-e", only, "-e", f"inject={call}:signal=KILL:when={number}"):
                change_much(tree, turn)
                with contextlib.suppress(subprocess.CalledProcessError):
                    view.sync()
            killed += wait_ended(view.pid, 1)
    assert killed > 2
    with twinfs.mounted(tree) as view:
        assert view.differences(tree, first_scan=False) == []


def test_scan_on_a_full_disk_fails_and_harms_nothing(twinfs, tree, strace):
    right, failed = answer(twinfs, tree), 0
    trees.many(tree / "more", 60, lambda number: b"%d" % (number // 2), folders=3)
    for call in ("pwrite64", "writev", "pwritev", "fdatasync"):
        for number in (1, 2, 4):
            result, _ = twinfs.traced("scan", tree, calls=f"trace={call}", flags=[
                "-e", f"inject={call}:error=ENOSPC:when={number}+"])
            assert result.status in (0, 1), result
            if result.status == 1:
                failed += 1
                assert "No space left" in result.error.decode()
    assert failed > 1
    trees.remove(tree / "more")
    os.utime(tree)
    groups, _ = answer(twinfs, tree)
    assert groups == right[0]


def test_ids_are_not_reused_after_a_rebuild(twinfs, tree):
    def ids():
        return {copy["inode"] for group in twinfs.listing(tree)["groups"]
                for copy in group["copies"]}
    before = ids()
    assert ids() == before
    for path in (twinfs.index / "data.mdb", twinfs.index / "seal"):
        path.unlink()
    after = ids()
    assert len(after) == len(before)
    assert min(after) > max(before)


def test_summary_agrees_with_the_oracle(twinfs, tree):
    figures = oracle.summary(oracle.Source([tree]).groups())
    assert {name: answer(twinfs, tree)[1][name] for name in figures} == figures


@contextlib.contextmanager
def small_disk(tmp_path, size):
    """Mounts a file system of that many bytes for an index, and yields its directory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_names_that_a_full_index_disk_refuses_fail_the_listing_until_it_has_room(
        twinfs, tmp_path, root_only):
    source, at = tmp_path / "many", tmp_path / "mount"
    source.mkdir()
    at.mkdir()
    for number in range(5_000):
        (source / str(number)).write_text(str(number))
    with small_disk(tmp_path, 1 << 24) as disk, \
            twinfs.mounted(source, options=["--index", disk / "index"], at=at) as view:
        with open(disk / "fill", "wb", buffering=0) as fill, contextlib.suppress(OSError):
            while True:
                fill.write(bytes(4096))
        for number in range(5_000, 10_000):
            (source / str(number)).write_text(str(number - 5_000))
        assert until(lambda: view.status().get("problem") == "No space left on device")
        with pytest.raises(OSError) as failed:
            os.listdir(view.uniques)
        assert failed.value.errno == errno.EIO
        (disk / "fill").unlink()
        assert until(lambda: "problem" not in view.status())
        view.sync()
        assert view.status()["groups"] == 5_000
        assert {int(name) % 5_000 for name in os.listdir(view.uniques)} == set(range(5_000))


def test_contents_that_a_full_index_disk_refuses_leave_the_listing_complete(
        twinfs, tmp_path, root_only):
    """The files have two names, so they are compared after all names are in the index."""
    source, at = tmp_path / "many", tmp_path / "mount"
    source.mkdir()
    at.mkdir()
    for number in range(10_000):
        (source / str(number)).write_text(str(number % 5_000))
        (source / f"{number + 10_000}").hardlink_to(source / str(number))

    def index_bytes(name, *options):
        twinfs.ok("scan", "--index", tmp_path / name, *options, source)
        return sum(path.stat().st_size for path in (tmp_path / name).iterdir())
    size = (index_bytes("names", "--min-size=1G") + index_bytes("all")) // 2
    with small_disk(tmp_path, size) as disk, \
            twinfs.mounted(source, options=["--index", disk / "index"], at=at) as view:
        assert until(lambda: view.status().get("problem") == "No space left on device")
        assert {int(name) % 10_000 for name in os.listdir(view.uniques)} == set(range(10_000))
        subprocess.run(["mount", "-o", f"remount,size={2 * size}", disk], check=True)
        assert until(lambda: "problem" not in view.status())
        view.sync()
        assert view.status()["groups"] == 5_000


def test_scan_killed_during_its_check_releases_the_index(twinfs, tree, strace):
    """The child that checks the index must not keep the lock when its parent is killed."""
    twinfs.ok("scan", tree)
    (twinfs.index / "seal").unlink()
    trace = twinfs.folder / "trace"
    other = twinfs.under_strace("-e", "trace=prctl,close_range", "-e",
                                "inject=close_range:delay_exit=20000000", output=trace)
    with other.started("scan", tree):
        assert until(lambda: trace.exists() and b"PR_SET_PDEATHSIG" in trace.read_bytes())
        pid = int((twinfs.index / "owner").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: twinfs("scan", tree).status == 0, timeout=15)


@pytest.mark.parametrize("written", [False, True])
def test_snapshot_of_a_killed_process_is_released(twinfs, tree, written):
    hold = "import sys, newer_index; newer_index.hold_snapshot(sys.argv[1])"
    with twinfs.mounted(tree) as view:
        with subprocess.Popen([sys.executable, "-c", hold, twinfs.index], stdout=subprocess.PIPE,
                              cwd=Path(newer_index.__file__).parent) as holder:
            assert holder.stdout.readline() == b"begun\n"
            holder.kill()
        if written:
            (tree / "new").write_bytes(b"new")
            view.sync()
        assert newer_index.dead_snapshots(twinfs.index) == (0 if written else 1)

# SPDX-License-Identifier: MIT
"""Calls to a view do not wait for a mount inside the source, a walk, a comparison or the disk of
another source.

On a busy machine durations prove nothing. So a disk or mount is stopped until all calls have been
answered, and the test checks that it is still stopped.
"""
import contextlib
import errno
import multiprocessing
import os
import signal
import stat

import pytest
import trees
import walk
from disks import unanswered
from processes import TIMEOUT, of_threads, stopped, until
from program import ENDING

PROCESSES = multiprocessing.get_context("fork")
WAITING = (b"sync", b"remap", b"events")  # files whose reads wait for a change
PAIR = trees.content("pair", 1 << 20)
NOWHERE = b"nowhere"
NEW = ("new", "newer")


def build(source):
    """A hostile tree without hung mounts."""
    trees.odd_names(source / "odd")
    trees.deep(source / "deep")
    trees.special(source / "special")
    trees.links(source / "links")
    trees.many(source / "many", 300, lambda number: b"%d" % (number // 2), folders=10)
    trees.fill(source / "wide", {b"%d" % number: b"" for number in range(3000)})
    for name in ("one", "two"):
        trees.holes(source / name, trees.TIB, {0: b"a", 1 << 39: name.encode()})
    os.makedirs(source / "farm")
    for number in range(500):
        os.link(source / "one", source / f"farm/{number}")


def use_file(root, path, out_of_reach):
    """Opens a file and reads its ends, unless its source is out of reach."""
    handle = walk.open_beneath(root, path, os.O_PATH)
    try:
        own = f"/proc/self/fd/{handle}"
        with contextlib.suppress(OSError):  # files of .twinfs/ have no such attribute
            if os.getxattr(own, "user.twinfs.path").startswith(out_of_reach):
                return
        file = os.open(own, os.O_RDONLY)
    finally:
        os.close(handle)
    try:
        os.pread(file, 4096, 0)
        os.pread(file, 4096, max(os.fstat(file).st_size - 4096, 0))
        with contextlib.suppress(OSError):  # the rest of the file is a hole
            os.lseek(file, 1, os.SEEK_DATA)
    finally:
        os.close(file)


def use(mount, out_of_reach):
    """Makes each kind of call for each name of a view: the walk does lookup, getattr, readdir,
    readlink, listxattr and getxattr; then statfs, open, read and lseek. Returns the number of
    names."""
    names, mount = 0, os.fsencode(mount)
    use_file(mount, b"README.txt", out_of_reach)
    for root in (os.path.join(mount, name) for name in os.listdir(mount)):
        os.statvfs(root)
        if not os.path.isdir(root):
            continue
        for entry in walk.walk(root):
            names += 1
            assert not entry.unreadable, (root, entry)
            if entry.kind == stat.S_IFDIR:
                assert is_missing(root, os.path.join(entry.path, b"not there"))
            elif entry.kind == stat.S_IFREG and entry.path not in WAITING:
                use_file(root, entry.path, out_of_reach)
    return names


def is_missing(root, path):
    try:
        os.close(walk.open_beneath(root, path, os.O_PATH))
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    return False


def answered(view, out_of_reach=NOWHERE):
    """The number of names of a view for which all calls were answered, or None."""
    ours, theirs = PROCESSES.Pipe(False)
    child = PROCESSES.Process(target=lambda: theirs.send(use(view.path, out_of_reach)))
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(TIMEOUT) else None
    except EOFError:
        return None  # the child has printed its error
    finally:
        ours.close()
        child.kill()
        child.join(ENDING)  # a child in an unanswered call cannot end


def test_every_call_is_answered_in_a_hostile_tree_with_hung_and_dead_mounts(twinfs, source):
    build(source)
    with unanswered(source / "hangs"), unanswered(source / "dead") as end:
        end()
        with twinfs.mounted(source) as view:
            assert answered(view) > 5000


# a stopped disk

def waits_for_disk(pid):
    """Whether a thread of the process waits for a disk, or for the server of its image."""
    return (any("State:\tD" in text for text in of_threads(pid, "status").values())
            or "request_wait_answer" in of_threads(pid, "wchan").values())


@contextlib.contextmanager
def names_held(folder):
    """Holds open all names below a folder. So they stay in the kernel's cache, which listxattr(2)
    needs on a stopped disk, even if the caches are dropped."""
    with contextlib.ExitStack() as held:
        for path in [folder, *folder.rglob("*")]:
            held.callback(os.close, os.open(path, os.O_PATH | os.O_NOFOLLOW))
        yield


@contextlib.contextmanager
def comparison_that_waits(view, disk):
    """Two copies are closed on a stopped disk."""
    with contextlib.ExitStack() as still:
        with contextlib.ExitStack() as files:
            for name in NEW:
                file = files.enter_context(open(disk.root / "tree" / name, "wb"))
                file.write(PAIR)
                file.flush()
                os.fsync(file)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            view.sync()
            still.enter_context(names_held(disk.root / "tree"))
            still.enter_context(stopped(disk.server.pid))
        yield


@contextlib.contextmanager
def walk_that_waits(view, disk):
    """SIGHUP causes a walk on a stopped disk."""
    for name in NEW:
        trees.write(disk.root / "tree" / name, PAIR)
    view.sync()
    os.sync()
    with names_held(disk.root / "tree"):
        disk.drop_folders()
        with stopped(disk.server.pid):
            os.kill(view.pid, signal.SIGHUP)
            yield


@pytest.mark.parametrize("waiting", [comparison_that_waits, walk_that_waits],
                         ids=["comparison", "walk"])
def test_every_call_is_answered_while_the_disk_of_another_source_is_stopped(
        twinfs, source, make_disk, waiting):
    build(source)
    disk = make_disk(time_scale=0)
    disk.fill(lambda root: trees.small(root / "tree"))
    with disk.served():
        slow = disk.root / "tree"
        with twinfs.mounted(source, slow) as view:
            with waiting(view, disk):
                assert until(lambda: waits_for_disk(view.pid))
                assert answered(view, os.fsencode(slow)) > 5000
                assert waits_for_disk(view.pid)
            assert view.differences_now(source, slow) == []
            assert {f"tree\u2215{name}".encode() for name in NEW} in view.copies().values()

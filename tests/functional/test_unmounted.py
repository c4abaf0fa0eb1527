# SPDX-License-Identifier: MIT
"""The end of a daemon whose view was unmounted while something still holds the view."""
import contextlib
import errno
import os
import subprocess
from pathlib import Path

import changes
import pytest
from changes import OTHER
from processes import TIMEOUT, until, wait_ended
from program import ONLY_TRACED, STRACE, Program, TracedView, is_mounted

OPENED = b'"/proc/self/mountinfo"'


class Namespace:
    """A copy of the mount namespace of the test, with a process in it."""

    def __enter__(self):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=TIMEOUT)

    def path(self, path):
        """This path in the namespace."""
        return Path(f"/proc/{self.process.pid}/root{path}")

    def unmount(self, path):
        subprocess.run(["nsenter", f"--target={self.process.pid}", "--mount", "umount", path],
                       check=True)


class TableReads:
    """Counts how often the daemon has read its mount table."""

    def __init__(self, view):
        self.view = view

    def count(self):
        return self.view.trace.read_bytes().count(OPENED)

    def wait(self, number):
        """Waits until this number of reads has ended and one more has begun."""
        before = self.count()
        assert until(lambda: self.count() > before + number)


@contextlib.contextmanager
def traced(twinfs, source):
    changes.build(source)
    with twinfs.mounted_and_traced(source, calls="openat") as view:
        view.table_reads = TableReads(view)
        yield view


@contextlib.contextmanager
def mount_in(path):
    """Changes the mount table."""
    path.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "other", path], check=True)
    yield
    subprocess.run(["umount", path], check=True)


def test_daemon_ends_at_unmount_although_another_namespace_has_a_copy(twinfs, source, root_only):
    changes.build(source)
    with twinfs.mounted(source) as view, Namespace() as namespace:
        inside = namespace.path(view.uniques / "c")
        assert inside.read_bytes() == OTHER
        subprocess.run(["umount", view.path], check=True)
        assert wait_ended(view.pid)
        with pytest.raises(OSError) as failed:
            inside.read_bytes()
        assert failed.value.errno == errno.ENOTCONN
        with twinfs.mounted(source) as again:
            assert (again.uniques / "c").read_bytes() == OTHER


def test_daemon_of_a_plain_user_ends_at_unmount_although_root_has_a_copy(
        as_user, source, root_only, fuse_for_users):
    changes.build(source)
    with as_user.mounted(source) as view, Namespace():
        subprocess.run([*as_user.as_user(), "fusermount3", "-u", view.path], check=True)
        assert wait_ended(view.pid)
        with as_user.mounted(source) as again:
            assert again.status()["pid"]


def test_daemon_that_ends_names_the_process_with_a_copy(twinfs, source, root_only):
    changes.build(source)
    with twinfs.mounted_in_foreground(source) as (process, view), Namespace() as namespace:
        subprocess.run(["umount", view.path], check=True)
        assert process.wait(TIMEOUT) == 0
    assert f"process {namespace.process.pid} still has it mounted" in process.output[1].decode()


def test_daemon_of_an_unused_view_ends_without_a_message(twinfs, source, root_only):
    changes.build(source)
    with twinfs.mounted_in_foreground(source) as (process, view):
        subprocess.run(["umount", view.path], check=True)
        assert process.wait(TIMEOUT) == 0
    assert b"namespace" not in process.output[1]


def test_file_open_in_another_namespace_is_served_until_it_is_closed(twinfs, source, strace,
                                                                     root_only):
    with traced(twinfs, source) as view, Namespace() as namespace:
        with open(namespace.path(view.uniques / "c"), "rb") as file:
            subprocess.run(["umount", view.path], check=True)
            view.table_reads.wait(2)
            assert file.read() == OTHER
        assert wait_ended(view.pid)


@pytest.mark.parametrize("copied", [False, True], ids=["no copy", "copied"])
def test_file_of_a_view_unmounted_lazily_is_served_until_it_is_closed(twinfs, source, strace,
                                                                      root_only, copied):
    with traced(twinfs, source) as view, contextlib.ExitStack() as stack:
        if copied:
            stack.enter_context(Namespace())
        with open(view.uniques / "c", "rb") as file:
            subprocess.run(["umount", "-l", view.path], check=True)
            view.table_reads.wait(2)
            assert file.read() == OTHER
        assert wait_ended(view.pid)


def test_folder_of_a_view_unmounted_lazily_is_served(twinfs, source, strace, root_only):
    with traced(twinfs, source) as view:
        folder = os.open(view.uniques, os.O_PATH)
        subprocess.run(["umount", "-l", view.path], check=True)
        view.table_reads.wait(2)
        with open(os.open("c", os.O_RDONLY, dir_fd=folder), "rb") as file:
            assert file.read() == OTHER
        os.close(folder)
        assert wait_ended(view.pid)


@pytest.mark.parametrize("words", [["--bind"], ["--move"]], ids=["bound", "moved"])
def test_view_mounted_at_another_path_is_served(twinfs, source, strace, root_only, tmp_path, words):
    other = tmp_path / "other"
    other.mkdir()
    with traced(twinfs, source) as view, Namespace():
        subprocess.run(["mount", *words, view.path, other], check=True)
        if is_mounted(view.path):
            subprocess.run(["umount", view.path], check=True)
        view.table_reads.wait(0)
        with mount_in(tmp_path / "third"):
            view.table_reads.wait(0)
        assert (other / "uniques/c").read_bytes() == OTHER
        subprocess.run(["umount", other], check=True)
        assert wait_ended(view.pid)


def test_view_is_served_after_another_namespace_unmounted_its_copy(twinfs, source, strace,
                                                                   root_only, tmp_path):
    with traced(twinfs, source) as view, Namespace() as namespace:
        namespace.unmount(view.path)
        with mount_in(tmp_path / "third"):
            view.table_reads.wait(0)
        assert (view.uniques / "c").read_bytes() == OTHER


def test_daemon_in_a_namespace_of_its_own_ends_at_unmount(
        session, source, strace, root_only, tmp_path):
    """A unit may have PrivateMounts= and propagate its mounts to the namespace of the host."""
    changes.build(source)
    folder, trace = tmp_path / "shared", tmp_path / "trace"
    folder.mkdir()
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "--make-shared", folder], check=True)
        twinfs = Program(session, folder)
        twinfs.environment["ASAN_OPTIONS"] += ":detect_leaks=0"
        twinfs.wrapped = ["unshare", "--mount", "--propagation", "unchanged", "--", *STRACE,
                          ONLY_TRACED, "-y", "-o", str(trace), "-e", "trace=openat"]
        with twinfs.mounted_in_foreground(source) as (process, plain):
            view = TracedView(twinfs, plain.path, trace)
            table_reads = TableReads(view)
            with mount_in(folder / "third"):
                table_reads.wait(0)
            assert (view.uniques / "c").read_bytes() == OTHER
            subprocess.run(["umount", view.path], check=True)
            assert process.wait(TIMEOUT) == 0
    finally:
        subprocess.run(["umount", folder], check=True)

# SPDX-License-Identifier: MIT
"""Passthrough and io_uring are used if libfuse, the kernel and the rights of the user permit them.
The bytes are right, and the status names what is used.
"""
import contextlib
import errno
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
import trees
from processes import has_open, until

LARGE = trees.content("large", 3_000_000)
OTHER = trees.content("other", 3_000_000)
FAST = ("--wait", "-o", "passthrough,io_uring")
REASONS = {"passthrough": "reading without passthrough: ",
           "io_uring": "answering requests without io_uring: "}
CAP_SYS_ADMIN = 21  # linux/capability.h
RING_SWITCH = Path("/sys/module/fuse/parameters/enable_uring")


def calls_in_program(name):
    """Whether the program calls a function of libfuse: its name is in the symbol table."""
    return name in Path(os.environ["TWINFS"]).read_bytes()


def passthrough_is_possible():
    """Whether libfuse (3.17), the kernel (6.9) and the user allow passthrough, found out without
    asking the program."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    [effective] = re.findall(r"CapEff:\t(\w+)", Path("/proc/self/status").read_text())
    return (calls_in_program(b"fuse_passthrough_open") and release >= (6, 9)
            and bool(int(effective, 16) >> CAP_SYS_ADMIN & 1))


def io_uring_is_possible():
    """Whether libfuse (3.18, with liburing) and the kernel (6.14, switched on) allow io_uring."""
    return (calls_in_program(b"fuse_req_is_uring") and calls_in_program(b"io_uring_queue_init")
            and RING_SWITCH.exists() and RING_SWITCH.read_text().strip() in ("Y", "1"))


@pytest.fixture
def needs_passthrough():
    if not passthrough_is_possible():
        pytest.skip("this libfuse, kernel or user has no passthrough")


@pytest.fixture
def source(source):
    trees.fill(source, {b"a": LARGE, b"b": LARGE, b"d/lone": OTHER, b"empty": b""})
    return source


def test_requested_features_are_used_or_a_reason_is_printed(twinfs, source):
    passthrough, rings = passthrough_is_possible(), io_uring_is_possible()
    with twinfs.mounted(source, options=FAST) as view:
        status = view.status()
        said = view.result.error.decode()
        assert status["read_mode"] == ("passthrough" if passthrough else "copy")
        assert (REASONS["passthrough"] in said) != passthrough
        assert status["transport"] == ("io_uring" if rings else "device")
        assert (REASONS["io_uring"] in said) != rings
        assert view.differences(source) == []


def test_status_names_the_read_mode_and_faster_ones(twinfs, source):
    with twinfs.mounted(source) as view:
        status = view.status()
        assert view.result.error == b""
        assert status["read_mode"] == "copy"
        assert status["transport"] == "device"
        assert status["advice"] and all(isinstance(text, str) for text in status["advice"])
        text = twinfs("status", "--verbose", view.path).out.decode()
        assert f"{status['read_mode']}; requests: device" in text
        for advice in status["advice"]:
            assert advice in text


def test_file_opened_by_many_threads_is_read_right(twinfs, source):
    """All open handles of an inode must use passthrough, or none of them."""
    with twinfs.mounted(source, options=FAST) as view:
        [folder] = view.dups.iterdir()
        paths = [folder / "a", folder / "b", view.uniques / "d/lone", view.uniques / "empty"]
        wrong = []

        def read(number):
            for turn in range(30):
                path = paths[(number + turn) % len(paths)]
                data = LARGE if path.parent == folder else OTHER if path.name == "lone" else b""
                with open(path, "rb", buffering=0) as file:
                    start = turn * 1000 % (len(data) + 1)
                    if os.pread(file.fileno(), 5000, start) != data[start:start + 5000]:
                        wrong.append(path)

        with open(paths[0], "rb") as held:
            threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong
            assert held.read() == LARGE
        assert paths[0].read_bytes() == LARGE


def test_new_content_is_read_while_the_old_file_is_open(twinfs, source):
    with twinfs.mounted(source, options=FAST) as view:
        path = view.uniques / "d/lone"
        with open(path, "rb") as before:
            assert before.read(10) == OTHER[:10]
            new = OTHER[::-1]
            os.replace(trees.write(source / "next", new), source / "d/lone")
            view.sync()
            with open(path, "rb") as after:
                assert after.read() == new
                assert path.read_bytes() == new


def test_sync_is_answered_to_many_readers(twinfs, source):
    with twinfs.mounted(source, options=FAST) as view:
        asked = [subprocess.Popen(["cat", view.path / ".twinfs/sync"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for _ in range(40)]
        answers = [process.communicate(timeout=60) for process in asked]
        answered = [output for output, error in answers if not error]
        assert answered and all(int(output) > 0 for output in answered)
        if view.status()["transport"] == "device":
            assert len(answered) == len(asked)
        view.sync()


def test_daemon_closes_a_file_after_its_last_reader(twinfs, source):
    with twinfs.mounted(source, options=FAST) as view:
        for _ in range(3):
            assert (view.uniques / "d/lone").read_bytes() == OTHER
        assert until(lambda: not has_open(view.pid, source / "d/lone"))


def bytes_copied(view, path):
    """The number of bytes that the daemon reads while a program reads a file."""
    before = view.count_read_bytes()
    assert path.read_bytes() == LARGE
    return view.count_read_bytes() - before


def is_copied(view, path):
    return bytes_copied(view, path) >= len(LARGE)


@pytest.fixture
def sealed(source, tmp_path, loop_devices):
    """The source on a file system that can never be written to."""
    if not shutil.which("mksquashfs"):
        pytest.skip("needs mksquashfs")
    path = tmp_path / "sealed"
    path.mkdir()
    with contextlib.suppress(OSError):
        os.setxattr(source / "a", "trusted.note", b"for root")
    subprocess.run(["mksquashfs", source, tmp_path / "image", "-quiet", "-no-progress"],
                   check=True, stdout=subprocess.DEVNULL)
    if subprocess.run(["mount", "-o", "loop", tmp_path / "image", path], check=False).returncode:
        pytest.skip("this kernel mounts no SquashFS")
    yield path
    subprocess.run(["umount", path], check=True)


def has_sys_admin(view):
    return "sys_admin" in view.status()["confined"]


def test_file_on_a_sealed_filesystem_is_read_by_passthrough(twinfs, sealed, needs_passthrough):
    with twinfs.mounted(sealed) as view:
        assert view.status()["read_mode"] == "copy, passthrough of sealed files"
        assert has_sys_admin(view)
        assert not is_copied(view, view.uniques / "a")


def test_source_beside_a_sealed_one_is_read_by_the_daemon(
        twinfs, source, sealed, needs_passthrough):
    with twinfs.mounted(source / "d", sealed) as view:
        before = view.count_read_bytes()
        assert (view.uniques / "d/lone").read_bytes() == OTHER
        assert view.count_read_bytes() - before >= len(OTHER)
        assert not is_copied(view, view.uniques / "sealed/a")


def test_view_of_a_sealed_source_shows_no_trusted_attributes(twinfs, sealed):
    """The daemon could read them, because it keeps CAP_SYS_ADMIN."""
    if "trusted.note" not in os.listxattr(sealed / "a"):
        pytest.skip("no trusted attributes here")
    with twinfs.mounted(sealed) as view:
        assert "trusted.note" not in os.listxattr(view.uniques / "a")
        with pytest.raises(OSError) as caught:
            os.getxattr(view.uniques / "a", "trusted.note")
        assert caught.value.errno == errno.ENODATA
    with twinfs.mounted(sealed, options=("--wait", "-o", "trusted_xattrs")) as view:
        assert os.getxattr(view.uniques / "a", "trusted.note") == b"for root"


def test_unfiltered_daemon_keeps_no_right_for_passthrough(
        twinfs, sealed, strace, needs_passthrough, plain_build):
    twinfs.wrapped = ["strace", "-f", "-o", "/dev/null", "-e", "trace=seccomp",
                      "-e", "inject=seccomp:error=ENOSYS"]
    with twinfs.mounted_in_foreground(sealed) as (_, view):
        assert "seccomp" not in view.status()["confined"]
        assert not has_sys_admin(view)
        assert view.status()["read_mode"] == "copy"


def test_view_with_a_limit_of_the_read_size_is_read_right(twinfs, source):
    with twinfs.mounted(source, options=("--wait", "-o", "max_read=65536")) as view:
        before = view.count_read_calls()
        assert is_copied(view, view.uniques / "a")
        assert view.count_read_calls() - before >= len(LARGE) / 65536


def test_writable_file_is_read_by_the_daemon_without_the_option(twinfs, source):
    with twinfs.mounted(source) as view:
        assert is_copied(view, view.uniques / "a")


def test_writable_file_is_read_by_passthrough_with_the_option(twinfs, source, needs_passthrough):
    with twinfs.mounted(source, options=FAST) as view:
        assert view.status()["read_mode"] == "passthrough"
        assert not is_copied(view, view.uniques / "a")


def readahead_of(view):
    """The file in which the kernel shows the readahead of a view."""
    [device] = [line.split()[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()
                if line.split()[4] == str(view.path)]
    return Path(f"/sys/class/bdi/{device}/read_ahead_kb")


def test_root_mounts_with_readahead_of_the_largest_request(twinfs, source, root_only):
    with twinfs.mounted(source, options=("--wait",)) as view:
        assert readahead_of(view).read_text() == "1024\n"
        before = view.count_read_calls()
        assert is_copied(view, view.uniques / "a")
        assert view.count_read_calls() - before < len(LARGE) / 131072


def test_user_mounts_with_the_readahead_of_the_kernel(as_user, fuse_for_users, source):
    with as_user.mounted(source) as view:
        assert view.result.error == b""
        assert readahead_of(view).read_text() == "128\n"
        assert view.differences(source) == []


def test_root_mounts_where_sysfs_is_read_only(twinfs, source, root_only):
    """As in most containers. Tests of root have a mount namespace of their own."""
    subprocess.run(["mount", "--bind", "/sys", "/sys"], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", "/sys"], check=True)
        with twinfs.mounted(source) as view:
            assert view.result.error == b""
            assert readahead_of(view).read_text() == "128\n"
            assert is_copied(view, view.uniques / "a")
    finally:
        subprocess.run(["umount", "/sys"], check=True)

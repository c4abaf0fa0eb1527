# SPDX-License-Identifier: MIT
"""What a daemon may still do: read, and write to its index. The kernel says so, and refuses the
rest to every thread of it, whoever makes it try."""
import contextlib
import ctypes
import errno
import os
import signal
import subprocess
from pathlib import Path

import puppet
import pytest
import trees
from program import end_process, is_mounted, until

# linux/capability.h
DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, LEASE, SYS_ADMIN = (1 << bit for bit in (1, 2, 3, 28, 21))
READING = DAC_READ_SEARCH | FOWNER | LEASE | SYS_ADMIN

AT_FDCWD = -100
CREATE_RULESET = 444  # the same number on all processors

# x86-64
CALLS = {"open": 2, "access": 21, "socket": 41, "execve": 59, "truncate": 76, "rename": 82,
         "mkdir": 83, "rmdir": 84, "link": 86, "unlink": 87, "symlink": 88, "chmod": 90,
         "chown": 92, "utime": 132, "mount": 165, "umount2": 166, "setxattr": 188,
         "removexattr": 197, "utimensat": 280, "ptrace": 101, "io_uring_setup": 425}


def landlock_version():
    return ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)


def status_of(task):
    lines = Path("/proc", str(task), "status").read_text().splitlines()
    return {line.split(":")[0]: line.split(":")[1].strip() for line in lines if ":" in line}


def threads(pid):
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


def children(pid):
    return [int(word) for thread in threads(pid)
            for word in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]


@pytest.fixture
def small(source):
    return trees.small(source)


@pytest.fixture
def confines(twinfs):
    if landlock_version() < 3 or twinfs.is_instrumented():
        pytest.skip("needs Landlock, and a build without instruments")


# what the kernel says

def rights(view):
    """(effective, permitted, bounds) of the daemon; all its threads have the same."""
    found = set()
    for thread in threads(view.pid):
        status = status_of(thread)
        assert status["NoNewPrivs"] == "1"
        assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0
        found.add(tuple(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")))
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("options", ["auto_unmount", "passthrough", "io_uring", "noexec"])
def test_daemon_of_root_keeps_the_capabilities_to_read(twinfs, small, root_only, options):
    with twinfs.mounted(small, options=("--wait", "-o", options)) as view:
        assert rights(view) == (READING, READING, READING)
        assert "capabilities: dac_read_search,fowner,sys_admin,lease" in view.status()["confined"]
        assert view.status()["confined"] in twinfs.ok("status", view.path).out.decode()
        assert view.differences(small) == []


def test_daemon_of_a_plain_user_has_no_capability_and_gains_none(
        as_user, tmp_path, fuse_for_users):
    source = trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(as_user.user.pw_uid if as_user.user else os.getuid()),
                    source], check=True)
    with as_user.mounted(source) as view:
        effective, permitted, _ = rights(view)
        assert effective == permitted == 0
        assert "no_new_privs; capabilities: none" in view.status()["confined"]
        assert view.differences(source) == []


def test_every_thread_is_under_the_filter(twinfs, small, confines):
    with twinfs.mounted(small) as view:
        assert view.status()["confined"].startswith("landlock, seccomp, no_new_privs; ")
        for thread in threads(view.pid):
            assert status_of(thread)["Seccomp"] == "2"


def test_index_of_another_user_is_gone_on_with_by_root(twinfs, as_user, tmp_path, root_only):
    source = trees.small(tmp_path / "source")
    subprocess.run(["chmod", "-R", "a+rX", source], check=True)
    as_user.ok("scan", source)
    with twinfs.mounted(source) as view:
        assert rights(view)[0] == READING | DAC_OVERRIDE
        trees.write(tmp_path / "source/new", trees.content("alone", 70000))
        assert view.differences_now(source) == []
        assert view.status()["groups"] == 3


def test_attributes_that_only_root_sees_are_in_its_view(twinfs, small, root_only):
    path = trees.join(small, b"alone")
    try:
        os.setxattr(path, b"trusted.note", b"for root")
    except OSError as error:
        pytest.skip(f"no trusted attributes here: {error}")
    with twinfs.mounted(small) as view:
        assert os.getxattr(view.uniques / "alone", "trusted.note") == b"for root"
        assert "trusted.note" in os.listxattr(view.uniques / "alone")


# what it refuses

@pytest.fixture
def made(confines):
    """Has a thread of a process make system calls."""
    if not puppet.is_possible():
        pytest.skip("threads can be made to call only on x86-64")

    def make(thread, *calls):
        try:
            with puppet.puppet(thread) as made_thread:
                return [made_thread.call(CALLS[name], *arguments) for name, *arguments in calls]
        except PermissionError:
            pytest.skip("processes may not be traced here")
    return make


def changes_of(folder, file, new):
    """Every way to change something, or to leave."""
    return [
        ("open", file, os.O_WRONLY, 0), ("open", file, os.O_RDWR, 0),
        ("open", new, os.O_WRONLY | os.O_CREAT, 0o600), ("open", folder, os.O_TMPFILE | 2, 0o600),
        ("truncate", file, 0), ("unlink", file), ("rename", file, new), ("link", file, new),
        ("symlink", file, new), ("mkdir", new, 0o700), ("rmdir", folder),
        ("chmod", file, 0o777), ("chown", file, 1, 1), ("utime", file, 0),
        ("utimensat", AT_FDCWD, file, 0, 0), ("setxattr", file, "user.new", "x", 1, 0),
        ("removexattr", file, "user.note"),
    ]


def picture(path):
    """All there is to see of a file."""
    status = os.stat(path)
    return (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_ino,
            status.st_nlink, status.st_mtime_ns, status.st_ctime_ns, os.listxattr(path))


def test_no_thread_can_change_anything_in_a_source(twinfs, source, made):
    trees.fill(source, {b"file": b"only copy", b"folder/other": b"other"})
    os.setxattr(source / "file", "user.note", b"note")
    with twinfs.mounted(source) as view:
        before = picture(source / "file")
        for thread in threads(view.pid):
            calls = changes_of(source / "folder", source / "file", source / "new")
            for call, result in zip(calls, made(thread, *calls)):
                assert -result in (errno.EACCES, errno.EPERM, errno.EXDEV), (call, result)
        assert picture(source / "file") == before
        assert sorted(os.listdir(source)) == ["file", "folder"]
        assert view.differences(source) == []


def test_no_thread_can_run_a_program_or_change_mounts(twinfs, source, made, tmp_path):
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        calls = [("execve", "/bin/true", 0, 0), ("umount2", view.path, 2), ("ptrace", 0, 0, 0, 0),
                 ("mount", "none", tmp_path / "home", "tmpfs", 0, 0), ("io_uring_setup", 1, 0)]
        for call, result in zip(calls, made(threads(view.pid)[0], *calls)):
            assert -result in (errno.EPERM, errno.EACCES), (call, result)
        assert is_mounted(view.path)


def test_every_thread_can_write_to_the_index(twinfs, source, made):
    """So that it is not the puppet that cannot."""
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        for thread in threads(view.pid):
            new = twinfs.index / f"new {thread}"
            fd, moved, gone = made(
                thread, ("open", new, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600),
                ("rename", new, f"{new} moved"), ("unlink", f"{new} moved"))
            assert fd > 2 and (moved, gone) == (0, 0)


def test_damaged_index_is_built_anew_by_a_confined_daemon(twinfs, small, confines):
    """What is checked and set aside at the start needs no more than what is kept."""
    twinfs.ok("scan", small)
    data = twinfs.index / "data.mdb"
    image = bytearray(data.read_bytes())
    for offset in range(8192, len(image), 4096):
        image[offset:offset + 64] = bytes(64)
    data.write_bytes(image)
    (twinfs.index / "seal").unlink()
    with twinfs.mounted(small) as view:
        assert view.status()["confined"].startswith("landlock")
        assert view.differences(small, first_scan=False) == []


# the process that mounts

def test_plain_user_ends_a_daemon_by_a_signal_and_the_view_is_gone(
        as_user, tmp_path, fuse_for_users):
    source = trees.small(tmp_path / "source")
    with as_user.mounted(source) as view:
        assert end_process(view.pid, signal.SIGTERM)
        view.pid = None
        assert not is_mounted(view.path)


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("who", ["twinfs", "as_user"])
def test_view_that_is_to_unmount_itself_does_however_its_daemon_ends(
        request, tmp_path, fuse_for_users, ended, who):
    program, source = request.getfixturevalue(who), trees.small(tmp_path / "source")
    with program.mounted(source, options=("--wait", "-o", "auto_unmount")) as view:
        assert end_process(view.pid, ended)
        view.pid = None
        assert until(lambda: not is_mounted(view.path))


def test_who_mounts_has_nothing_of_the_daemon_open(twinfs, small):
    with twinfs.mounted(small) as view:
        [mounter] = children(view.pid)

        def opened():
            with contextlib.suppress(FileNotFoundError):
                return {os.readlink(f"/proc/{mounter}/fd/{name}")
                        for name in os.listdir(f"/proc/{mounter}/fd")}

        def only_null_and_sockets():  # for a moment also /proc, where it looks for who watches
            return {name for name in opened() or () if not name.startswith("socket:")
                    } == {"/dev/null"}

        assert until(only_null_and_sockets), opened()


def test_daemon_whose_mounter_was_killed_serves_on_and_is_followed_by_another(twinfs, small):
    with twinfs.mounted(small) as view:
        [mounter] = children(view.pid)
        os.kill(mounter, signal.SIGKILL)
        assert view.differences(small) == []
        assert end_process(view.pid, signal.SIGTERM)
        view.pid = None
        with twinfs.mounted(small) as again:
            assert again.differences(small) == []


def test_terminal_ends_the_view_and_leaves_nothing(twinfs, small, tmp_path):
    """Ctrl-C goes to all processes of a terminal."""
    mount = tmp_path / "mount"
    mount.mkdir()
    process = subprocess.Popen(twinfs.command("mount", "-f", small, mount), process_group=0,
                               env=twinfs.environment, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    assert until(lambda: (mount / "uniques").exists() or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert not is_mounted(mount)

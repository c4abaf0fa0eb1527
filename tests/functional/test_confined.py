# SPDX-License-Identifier: MIT
"""The confined daemon can read, and write to its index. The kernel refuses everything else to
each of its threads."""
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
from processes import children, end_process, has_open, until
from program import is_mounted

# linux/capability.h
DAC_READ_SEARCH, FOWNER, LEASE, SYS_ADMIN = (1 << bit for bit in (2, 3, 28, 21))
READING = DAC_READ_SEARCH | FOWNER | LEASE

AT_FDCWD = -100
CREATE_RULESET = 444  # the same number on all processors

# x86-64
CALLS = {"open": 2, "access": 21, "socket": 41, "execve": 59, "truncate": 76, "rename": 82,
         "mkdir": 83, "rmdir": 84, "link": 86, "unlink": 87, "symlink": 88, "chmod": 90,
         "chown": 92, "utime": 132, "mount": 165, "umount2": 166, "setxattr": 188,
         "removexattr": 197, "utimensat": 280, "ptrace": 101, "io_uring_setup": 425,
         "connect": 42, "sendto": 44, "sendmsg": 46, "bind": 49, "listen": 50, "socketpair": 53,
         "clone": 56, "fork": 57, "vfork": 58, "kill": 62, "fcntl": 72, "ioctl": 16, "mmap": 9,
         "mprotect": 10, "shmget": 29, "msgget": 68, "semget": 64, "syslog": 103, "setuid": 105,
         "setpgid": 109, "setresuid": 117, "setresgid": 119, "setfsuid": 122, "mknod": 133,
         "personality": 135, "setpriority": 141, "sched_setscheduler": 144, "prctl": 157,
         "adjtimex": 159, "chroot": 161, "acct": 163, "swapon": 167, "reboot": 169, "iopl": 172,
         "init_module": 175, "quotactl": 179, "tkill": 200, "sched_setaffinity": 203,
         "mq_open": 240, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
         "ioprio_set": 251, "migrate_pages": 256, "mknodat": 259, "unshare": 272,
         "move_pages": 279, "signalfd": 282, "rt_tgsigqueueinfo": 297, "perf_event_open": 298,
         "fanotify_init": 300, "fanotify_mark": 301, "prlimit64": 302, "open_by_handle_at": 304,
         "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
         "kcmp": 312, "finit_module": 313, "seccomp": 317, "kexec_file_load": 320, "bpf": 321,
         "execveat": 322, "userfaultfd": 323, "tgkill": 234, "pidfd_send_signal": 424,
         "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
         "fspick": 433, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
         "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
         "process_mrelease": 448, "set_mempolicy_home_node": 450, "fchmodat2": 452,
         "file_setattr": 469, "of the next kernel": 470, "of a later kernel": 599,
         "close": 3, "lseek": 8, "getpid": 39, "rt_tgsigqueueinfo of x32": 0x40000000 + 536}

# requests of ioctl(2)
FIFREEZE, FITRIM, SETFLAGS, SHUTDOWN, SET_LABEL = (
    0xC0045877, 0xC0185879, 0x40086602, 0x8004587D, 0x41009432)
SUBVOLUME_CREATE, SUBVOLUME_DESTROY, RESIZE, STEAL_INPUT, SET_OWNER, GET_FLAGS = (
    0x5000940E, 0x5000940F, 0x50009403, 0x5412, 0x8901, 0x80086601)

NEW_NAME_SPACES = {"time": 0x80, "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000,
                   "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
THREAD = 0x10D00  # CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, and CLONE_FS
PRIVATE = 0x22  # MAP_PRIVATE | MAP_ANONYMOUS


def landlock_version():
    return ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)


def status_of(task):
    lines = Path("/proc", str(task), "status").read_text().splitlines()
    return {line.split(":")[0]: line.split(":")[1].strip() for line in lines if ":" in line}


def threads(pid):
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


@pytest.fixture
def confines(plain_build):
    if landlock_version() < 3:
        pytest.skip("needs Landlock")


# the state in /proc

def rights(view):
    """(effective, permitted, bounding) capabilities, which all threads of the daemon share."""
    found = set()
    for thread in threads(view.pid):
        status = status_of(thread)
        assert status["NoNewPrivs"] == "1"
        assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0
        found.add(tuple(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")))
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("options", ["auto_unmount", "io_uring", "noexec"])
def test_daemon_of_root_keeps_the_capabilities_to_read(twinfs, small, root_only, options):
    with twinfs.mounted(small, options=("--wait", "-o", options)) as view:
        assert rights(view) == (READING, READING, READING)
        assert "capabilities: dac_read_search,fowner,lease" in view.status()["confined"]
        assert view.status()["confined"] in twinfs.ok("status", "--verbose", view.path).out.decode()
        assert view.differences(small) == []


@pytest.mark.parametrize("options", ["passthrough", "trusted_xattrs"])
def test_daemon_with_an_option_that_needs_it_keeps_sys_admin(twinfs, small, root_only, options):
    kept = READING | SYS_ADMIN
    with twinfs.mounted(small, options=("--wait", "-o", options)) as view:
        assert rights(view) == (kept, kept, kept)
        assert "capabilities: dac_read_search,fowner,sys_admin,lease" in view.status()["confined"]
        assert view.status()["confined"] in twinfs.ok("status", "--verbose", view.path).out.decode()
        assert view.differences(small) == []


def test_daemon_of_a_plain_user_has_no_capability_and_gains_none(as_user, tmp_path, fuse_for_users):
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


def test_trusted_attributes_are_shown_to_root_by_option(twinfs, small, root_only):
    path = trees.join(small, b"alone")
    try:
        os.setxattr(path, b"trusted.note", b"for root")
    except OSError as error:
        pytest.skip(f"no trusted attributes here: {error}")
    with twinfs.mounted(small) as view:
        assert "trusted.note" not in os.listxattr(view.uniques / "alone")
    with twinfs.mounted(small, options=("--wait", "-o", "trusted_xattrs")) as view:
        assert os.getxattr(view.uniques / "alone", "trusted.note") == b"for root"
        assert "trusted.note" in os.listxattr(view.uniques / "alone")


# refused calls

@pytest.fixture
def made(confines):
    """Returns a function that makes a thread of another process do system calls."""
    if not puppet.is_possible():
        pytest.skip("tests/tools/puppet.py knows x86-64 only")

    def make(thread, *calls):
        try:
            with puppet.puppet(thread) as made_thread:
                return [made_thread.call(CALLS[name], *arguments) for name, *arguments in calls]
        except PermissionError:
            pytest.skip("processes may not be traced here")
    return make


def changes_of(folder, file, new):
    """Calls that would change something in a source."""
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
    """The metadata of a file."""
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


def refused_of_others(pid, mounter):
    """Calls that would reach other processes, the network, executable memory or the kernel."""
    signals = [("kill", mounter, 0), ("kill", 1, 0), ("kill", -1, 0), ("kill", 0, 0),
               ("tkill", mounter, 0), ("tgkill", mounter, mounter, 0),
               ("rt_tgsigqueueinfo", mounter, mounter, 0, 0), ("pidfd_open", mounter, 0),
               ("pidfd_send_signal", 1, 0, 0, 0), ("pidfd_getfd", 1, 0, 0),
               ("fcntl", 1, 8, mounter), ("fcntl", 1, 15, 0), ("fcntl", 1, 10, signal.SIGKILL)]
    others = [("prlimit64", mounter, 7, 0, 0), ("prlimit64", pid, 7, 0, 0), ("setpgid", mounter, 0),
              ("sched_setaffinity", mounter, 0, 0), ("sched_setscheduler", mounter, 0, 0),
              ("setpriority", 0, mounter, 0), ("setpriority", 2, 0, 0),
              ("ioprio_set", 1, mounter, 0),
              ("migrate_pages", mounter, 0, 0, 0), ("move_pages", mounter, 0, 0, 0, 0, 0),
              ("kcmp", 1, pid, 0, 0, 0), ("process_vm_readv", mounter, 0, 0, 0, 0, 0),
              ("process_vm_writev", mounter, 0, 0, 0, 0, 0), ("process_madvise", 1, 0, 0, 0, 0),
              ("process_mrelease", 1, 0), ("prctl", 62, 0, 0, 0, 0), ("prctl", 35, 0, 0, 0, 0)]
    sockets = [("socket", family, kind, 0) for family in (1, 2, 10, 16, 17, 38, 40)
               for kind in (1, 2, 3)]
    sockets += [("socketpair", 1, 1, 0, 0), ("connect", 1, 0, 0), ("bind", 1, 0, 0),
                ("listen", 1, 1), ("sendmsg", 1, 0, 0), ("sendto", 1, 0, 0, 0, 4096, 16),
                ("sendto", 1, 0, 0, 0, 1 << 32, 16), ("shmget", 0, 4096, 0o1600),
                ("msgget", 0, 0o1600), ("semget", 0, 1, 0o1600), ("mq_open", "x", 0o102, 0o600, 0)]
    started = [("fork",), ("vfork",), ("clone", signal.SIGCHLD, 0, 0, 0, 0),
               ("execveat", AT_FDCWD, "/bin/true", 0, 0, 0), ("mmap", 0, 4096, 4, PRIVATE, -1, 0),
               ("mmap", 0, 4096, 7, PRIVATE, -1, 0), ("mprotect", 0, 4096, 5),
               ("personality", 0x400000), ("memfd_secret", 0)]
    started += [("clone", flag | signal.SIGCHLD, 0, 0, 0, 0) for flag in NEW_NAME_SPACES.values()]
    started += [("clone", flag | THREAD, 0, 0, 0, 0) for flag in NEW_NAME_SPACES.values()
                if flag != 0x80]
    started += [("unshare", flag) for flag in NEW_NAME_SPACES.values()]
    return signals + others + sockets + started


def refused_of_the_system(folder):
    names = ["setns", "chroot", "acct", "swapon", "reboot", "iopl", "init_module", "finit_module",
             "quotactl", "quotactl_fd", "kexec_load", "kexec_file_load", "add_key", "request_key",
             "keyctl", "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark",
             "open_by_handle_at", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
             "fspick", "mount_setattr", "seccomp", "syslog", "adjtimex", "clock_adjtime", "setuid",
             "setresuid", "setresgid", "setfsuid", "fchmodat2", "file_setattr",
             "set_mempolicy_home_node", "rt_tgsigqueueinfo of x32"]
    kinds = [(name, f"{folder}/new", kind | 0o600, 0x103)
             for name in ("mknod",) for kind in (0o010000, 0o020000, 0o060000, 0o140000)]
    return ([(name, 0, 0, 0, 0, 0, 0) for name in names] + kinds +
            [("mknodat", AT_FDCWD, f"{folder}/new", 0o010600, 0),
             ("symlink", "/etc", f"{folder}/new"), ("link", f"{folder}/data.mdb", f"{folder}/new")])


def test_no_thread_can_reach_other_processes_or_the_system(twinfs, source, made):
    """Includes calls that a list of refused calls once lacked."""
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        [mounter] = children(view.pid)
        calls = refused_of_others(view.pid, mounter) + refused_of_the_system(twinfs.index)
        for call, result in zip(calls, made(threads(view.pid)[0], *calls)):
            assert -result in (errno.EPERM, errno.EACCES), (call, result)
        assert not os.path.lexists(twinfs.index / "new")
        assert children(view.pid) == [mounter]
        assert view.differences(source) == []


def test_ioctl_cannot_change_a_file_system(twinfs, source, made):
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        requests = (FIFREEZE, FITRIM, SETFLAGS, SHUTDOWN, SET_LABEL, SUBVOLUME_CREATE,
                    SUBVOLUME_DESTROY, RESIZE, STEAL_INPUT, SET_OWNER)
        with puppet.puppet(threads(view.pid)[0]) as thread:
            folder = thread.call(CALLS["open"], source, os.O_RDONLY, 0)
            assert folder > 2
            for request in requests:
                result = thread.call(CALLS["ioctl"], folder, request, 0)
                assert -result == errno.EPERM, hex(request)
            # permitted by the filter; the kernel refuses the address
            assert -thread.call(CALLS["ioctl"], folder, GET_FLAGS, 0) == errno.EFAULT
            assert thread.call(CALLS["close"], folder) == 0


def test_calls_with_a_fallback_in_libraries_fail_with_enosys(twinfs, source, made):
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        calls = [("clone3", 0, 0), ("of the next kernel", 0), ("of a later kernel", 0)]
        assert made(threads(view.pid)[0], *calls) == [-errno.ENOSYS] * len(calls)


def test_thread_can_signal_its_own_process_and_map_memory(twinfs, source, made):
    """Shows that the refusals come from the filter and not from the test."""
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        results = made(threads(view.pid)[0], ("kill", view.pid, 0), ("getpid",),
                       ("tgkill", view.pid, view.pid, 0), ("prlimit64", 0, 7, 0, 0),
                       ("fcntl", 0, 1, 0), ("mmap", 0, 4096, 3, PRIVATE, -1, 0))
        assert results[:4] == [0, view.pid, 0, 0]
        assert results[4] >= 0 and results[5] > 0


def test_every_thread_can_write_to_the_index(twinfs, source, made):
    """Shows that the refusals come from the filter and not from the test."""
    trees.fill(source, {b"file": b"data"})
    with twinfs.mounted(source) as view:
        for thread in threads(view.pid):
            new = twinfs.index / f"new {thread}"
            fd, moved, gone = made(
                thread, ("open", new, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600),
                ("rename", new, f"{new} moved"), ("unlink", f"{new} moved"))
            assert fd > 2 and (moved, gone) == (0, 0)


def test_confined_daemon_rebuilds_a_damaged_index(twinfs, small, confines):
    """The rights that the daemon keeps suffice to check an index and set it aside."""
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


# the mounter process

def test_daemon_of_a_plain_user_unmounts_at_sigterm(as_user, tmp_path, fuse_for_users):
    source = trees.small(tmp_path / "source")
    with as_user.mounted(source) as view:
        assert end_process(view.pid, signal.SIGTERM)
        view.pid = None
        assert not is_mounted(view.path)


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("who", ["twinfs", "as_user"])
def test_view_with_auto_unmount_is_unmounted_however_its_daemon_ends(
        request, tmp_path, fuse_for_users, ended, who):
    program, source = request.getfixturevalue(who), trees.small(tmp_path / "source")
    with program.mounted(source, options=("--wait", "-o", "auto_unmount")) as view:
        assert end_process(view.pid, ended)
        view.pid = None
        assert until(lambda: not is_mounted(view.path))


def test_mounter_has_no_file_of_the_daemon_open(twinfs, small):
    with twinfs.mounted(small) as view:
        [mounter] = children(view.pid)

        def opened():
            with contextlib.suppress(FileNotFoundError):
                return {os.readlink(f"/proc/{mounter}/fd/{name}")
                        for name in os.listdir(f"/proc/{mounter}/fd")}

        def only_null_and_sockets():  # /proc is also open while it searches for watchers
            return {name for name in opened() or () if not name.startswith("socket:")
                    } == {"/dev/null"}

        assert until(only_null_and_sockets), opened()


def test_no_view_is_served_while_its_mounter_has_the_device_open(twinfs, small, strace):
    """Otherwise calls to the view wait for ever if the daemon ends now."""
    delayed = twinfs.under_strace("-e", "trace=dup3", "-e", "inject=dup3:delay_enter=1s")
    with delayed.mounted_in_foreground(small, options=()) as (process, view):
        assert view
        [daemon] = children(process.pid)
        [mounter] = children(daemon)
        assert not has_open(mounter, "/dev/fuse")


@pytest.mark.parametrize("fault", ["sendmsg:error=ENOMEM:when=2", "dup3:error=EMFILE"])
def test_mount_ends_if_its_mounter_cannot_say_that_the_device_is_closed(twinfs, small, mount,
                                                                        strace, fault):
    """Otherwise the mount, and all calls to the view, wait for ever."""
    result = twinfs.under_strace("-e", f"inject={fault}")("mount", small, mount)
    assert result.status == 1 and "was unmounted before" in result.error.decode(), result
    assert not is_mounted(mount)


def test_daemon_whose_mounter_was_killed_continues(twinfs, small):
    with twinfs.mounted(small) as view:
        [mounter] = children(view.pid)
        os.kill(mounter, signal.SIGKILL)
        assert view.differences(small) == []
        assert end_process(view.pid, signal.SIGTERM)
        view.pid = None
        with twinfs.mounted(small) as again:
            assert again.differences(small) == []


def test_interrupt_from_a_terminal_unmounts_the_view(twinfs, small, mount):
    """Ctrl-C sends SIGINT to all processes in the foreground of a terminal."""
    process = subprocess.Popen(twinfs.command("mount", "-f", small, mount), process_group=0,
                               env=twinfs.environment, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    assert until(lambda: (mount / "uniques").exists() or process.poll() is not None)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert not is_mounted(mount)

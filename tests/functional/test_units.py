# SPDX-License-Identifier: MIT
"""The units for systemd are valid and grant few rights, and the daemon notifies the service
manager."""
import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT, end_process, until
from program import is_mounted

DATA = Path(__file__).resolve().parent.parent.parent / "data"

# At least the exposure that systemd 252 computes, of at most 10. Options that would lower it would
# also hide the mount.
EXPOSURE_MAX = 4.5

# Options that give a service a mount namespace, which would hide its mounts. In a user's unit also
# options that imply NoNewPrivileges, with which fusermount3 cannot mount.
HIDES_MOUNTS = re.compile(
    r"^(Private(Tmp|Devices|Mounts|Users|IPC)|Protect(System|Home|KernelTunables|KernelModules|"
    r"KernelLogs|ControlGroups|Proc)|ReadOnlyPaths|ReadWritePaths|InaccessiblePaths|ExecPaths|"
    r"NoExecPaths|BindPaths|BindReadOnlyPaths|TemporaryFileSystem|Root(Directory|Image)|"
    r"DynamicUser|ProcSubset|MountFlags|MountAPIVFS)=", re.MULTILINE)
KEEPS_USERS_FROM_MOUNTING = re.compile(
    r"^(NoNewPrivileges|SystemCall\w+|Restrict\w+|MemoryDenyWriteExecute|LockPersonality|"
    r"Protect\w+|CapabilityBoundingSet|PrivateDevices)=", re.MULTILINE)


@pytest.fixture
def analyze():
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("needs systemd-analyze")
    return program


@pytest.fixture(params=["system", "user"])
def kind(request):
    return request.param


@pytest.fixture
def unit(session, tmp_path, kind):
    """The installed unit, with the path of the program under test."""
    text = (DATA / kind / "twinfs@.service.in").read_text()
    program = tmp_path / "twinfs"
    program.symlink_to(session.binary)
    made = tmp_path / "twinfs@test.service"
    made.write_text(text.replace("@bindir@", str(tmp_path)))
    assert "@bindir@" in text
    return made


def test_unit_is_valid_for_systemd(analyze, unit, kind):
    run = subprocess.run([analyze, f"--{kind}", "verify", "--man=no", unit], check=False,
                         capture_output=True, text=True)
    about = [line for line in run.stderr.splitlines() if "twinfs@" in line]
    if kind == "user" and "XDG_RUNTIME_DIR" in run.stderr:
        pytest.skip("no session of a user here")
    assert not about, run.stderr


@pytest.mark.parametrize("kind", ["system"], indirect=True)
def test_exposure_of_the_system_service_is_low(analyze, unit):
    run = subprocess.run([analyze, "security", "--offline=true", "--no-pager", unit],
                         check=False, capture_output=True, text=True)
    if "unrecognized option" in run.stderr:
        pytest.skip("this systemd-analyze reads only loaded units")
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", run.stdout)
    assert found, run.stdout + run.stderr
    assert float(found[1]) <= EXPOSURE_MAX, run.stdout


def test_unit_does_not_hide_its_mounts(unit, kind):
    text = unit.read_text()
    assert not HIDES_MOUNTS.findall(text)
    if kind == "user":
        assert not KEEPS_USERS_FROM_MOUNTING.findall(text)


def test_command_of_the_unit_mounts_and_ends(twinfs, unit, source, mount):
    trees.small(source)
    words = {"$OPTIONS": ["--index", str(twinfs.index)], "${SOURCE}": [str(source)],
             "${MOUNTPOINT}": [str(mount)]}
    [line] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    command = [word for part in shlex.split(line) for word in words.get(part, [part])]
    process = subprocess.Popen(command, env=twinfs.environment, stdin=subprocess.DEVNULL)
    assert until(lambda: (mount / "uniques").exists() or process.poll() is not None)
    process.terminate()
    assert process.wait(60) == 0
    assert not is_mounted(mount)


def test_stop_command_of_the_unit_unmounts_a_view_only(twinfs, unit, source, tmp_path, root_only):
    [line] = re.findall(r"^ExecStop=-(.*)$", unit.read_text(), re.MULTILINE)
    command = shlex.split(line.replace("$$", "$").replace("%%", "%"))
    point = tmp_path / "mount"
    with twinfs.mounted(source, at=point):
        environment = {**os.environ, "MAINPID": "1", "MOUNTPOINT": f"{point}/"}
        subprocess.run(command, env=environment, check=True, timeout=TIMEOUT)
        assert not is_mounted(point)
    subprocess.run(["mount", "-t", "tmpfs", "none", point], check=True)
    try:
        subprocess.run(command, env=environment, check=False, timeout=TIMEOUT)
    finally:
        subprocess.run(["umount", point], check=True)  # it is still there


def test_unit_permits_openat2(unit):
    """RestrictSUIDSGID= makes openat2(2) fail."""
    assert "\nRestrictSUIDSGID=" not in unit.read_text()


# ---- notifications of the service manager ----------------------------------------------------


class Manager:
    """A socket of a service manager. A name that begins with @ is abstract."""

    def __init__(self, twinfs, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0"))
        self.socket.settimeout(60)
        twinfs.environment["NOTIFY_SOCKET"] = name
        self.messages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def wait_for(self, wanted):
        """Receives until a message matches; it is the last one in `messages`."""
        while not (self.messages and re.fullmatch(wanted, self.messages[-1])):
            self.messages.append(self.socket.recv(4096).decode())
        return self.messages[-1]

    def rest(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.messages.append(self.socket.recv(4096).decode())
        return self.messages


@pytest.fixture(params=["in a folder", "abstract"])
def manager(request, twinfs, tmp_path):
    name = f"{tmp_path}/notify" if request.param == "in a folder" else f"@{tmp_path}/notify"
    with Manager(twinfs, name) as made:
        yield made


def test_service_manager_gets_notifications_from_start_to_end(twinfs, source, mount, manager):
    trees.small(source)
    with twinfs.started("mount", "-f", source, mount) as process:
        manager.wait_for("READY=1")
        assert (mount / "uniques").is_dir()
        assert manager.messages[0] == "STATUS=opening the index"
        assert manager.wait_for("STATUS=current: .*") == \
            "STATUS=current: 2 groups, 140 KiB reclaimable"
        trees.write(source / "another", trees.content("alone", 70000))
        manager.wait_for("STATUS=current: 3 groups, 208 KiB reclaimable")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert manager.rest()[-2:] == ["STOPPING=1\nSTATUS=unmounting", "STATUS=unmounted"]
    assert manager.messages.count("READY=1") == 1
    assert all("\n" not in line for line in manager.messages if not line.startswith("STOPPING"))


def test_service_manager_gets_the_cause_of_a_failure(twinfs, source, mount, tmp_path):
    trees.small(source)
    (tmp_path / "second").mkdir()
    with twinfs.mounted(source, at=mount), Manager(twinfs, f"{tmp_path}/notify") as manager:
        assert twinfs("mount", "-f", source, tmp_path / "second").status == 1
        assert manager.rest()[-1] == "ERRNO=16\nSTATUS=failed: Device or resource busy"
        assert "READY=1" not in manager.messages


def test_view_in_the_background_sends_no_notification(twinfs, source, mount, tmp_path):
    trees.small(source)
    with Manager(twinfs, f"{tmp_path}/notify") as manager, twinfs.mounted(source, at=mount) as view:
        trees.write(source / "another", trees.content("alone", 70000))
        view.sync()
        assert manager.rest() == []


def fill(name):
    """Fills the queue of a socket. As each sender has a limit, several senders are used."""
    sent = 1
    while sent:
        sent = 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    other.sendto(b"X=1", name)
                    sent += 1


def test_full_socket_of_the_manager_does_not_delay_the_view(twinfs, source, mount, tmp_path):
    trees.small(source)
    with Manager(twinfs, f"{tmp_path}/notify") as manager:
        with twinfs.started("mount", "-f", source, mount) as process:
            manager.wait_for("STATUS=current: .*")
            fill(f"{tmp_path}/notify")
            for name in ("another", "and one more"):
                trees.write(source / name, trees.content("alone", 70000))
                (mount / ".twinfs/sync").read_bytes()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        assert not is_mounted(mount)


def test_missing_socket_of_the_manager_is_reported(twinfs, source, mount, tmp_path):
    """The failed notification is logged, and the view is mounted."""
    trees.small(source)
    for number, name in enumerate([f"{tmp_path}/nobody", "vsock:2:1234", "@", "x" * 200]):
        twinfs.environment["NOTIFY_SOCKET"] = name
        with twinfs.started("mount", "-f", source, mount) as process:
            assert until(lambda: (mount / "uniques").exists())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, number
        assert b"cannot notify the service manager" in process.output[1], name


def test_service_stopped_during_a_comparison_ends_cleanly(twinfs, source, mount, tmp_path):
    """Commits during the stop must not use a view that is freed."""
    trees.fill(source, {b"%d" % number: b"%04d" % (number % 7) * 5000 for number in range(2000)})
    with Manager(twinfs, f"{tmp_path}/notify") as manager:
        with twinfs.started("mount", "-f", source, mount) as process:
            manager.wait_for("STATUS=(comparing|current).*")  # the latter on a fast machine
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        assert manager.rest()[-2:] == ["STOPPING=1\nSTATUS=unmounting", "STATUS=unmounted"]
    assert not is_mounted(mount)


def test_service_stopped_during_its_walk_ends_by_the_signal(
        strace, twinfs, source, mount, tmp_path):
    trees.small(source)
    traced = twinfs.under_strace("-P", str(source), "-e", "inject=getdents64:delay_enter=500000")
    with Manager(traced, f"{tmp_path}/notify") as manager:
        with traced.started("mount", "-f", source, mount) as process:
            manager.wait_for("STATUS=reading names, .*")
            daemon = int((twinfs.index / "owner").read_text().split()[0])
            end_process(daemon, signal.SIGTERM)
            assert process.wait(60) == -signal.SIGTERM
    assert not is_mounted(mount)


def test_mount_point_of_a_killed_view_is_never_an_empty_folder(
        root_only, strace, twinfs, source, mount, tmp_path):
    """An empty folder would make rsync --delete remove the backup."""
    trees.small(source)
    with twinfs.mounted(source, at=mount) as dead:
        end_process(dead.pid, signal.SIGKILL)
        dead.pid = None
        traced = twinfs.under_strace(
            "-P", str(source), "-e", "inject=getdents64:delay_enter=300000")
        with Manager(traced, f"{tmp_path}/notify") as manager:
            with traced.started("mount", "-f", source, mount) as process:
                manager.wait_for("STATUS=reading names, .*")
                with pytest.raises(OSError, match="not connected"):
                    os.stat(mount / "nothing of this name")
                manager.wait_for("READY=1")
                assert (mount / "uniques").is_dir()
                subprocess.run(["fusermount3", "-u", mount], check=True)
                assert process.wait(60) == 0
    assert not is_mounted(mount)


# ---- a real systemd --------------------------------------------------------------------------


def test_systemd_starts_stops_and_restarts_views(root_only, plain_build):
    build = Path(os.environ["TWINFS"]).resolve().parents[1]
    if not (build / "build.ninja").exists():
        pytest.skip("TWINFS is not in a build folder")
    if not shutil.which("systemctl") or not shutil.which("unshare"):
        pytest.skip("needs systemd")
    run = subprocess.run([DATA.parent / "scripts/try-systemd"], check=False, capture_output=True,
                         text=True, timeout=TIMEOUT, env={**os.environ, "TWINFS_BUILD": str(build)})
    if "cannot boot systemd" in run.stderr:
        pytest.skip("no systemd boots here")
    assert run.returncode == 0 and "not ok" not in run.stdout, run.stdout + run.stderr
    assert "user: systemd accepts all lines of the unit" in run.stdout

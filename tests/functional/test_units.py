# SPDX-License-Identifier: MIT
"""The units for systemd: it understands them, and they give as little as they can."""
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
from program import TIMEOUT, end_process, is_mounted, until

DATA = Path(__file__).resolve().parent.parent.parent / "data"

# As systemd 252 counts, of 10. All that it counts beyond would hide the mount.
EXPOSURE_MAX = 4.5

# These give a service a mount namespace, in which its mounts stay; for a user's unit, also what
# implies NoNewPrivileges, with which fusermount3 cannot mount.
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
    """The unit as it is installed, with the program under test."""
    text = (DATA / kind / "twinfs@.service.in").read_text()
    program = tmp_path / "twinfs"
    program.symlink_to(session.binary)
    made = tmp_path / "twinfs@test.service"
    made.write_text(text.replace("@bindir@", str(tmp_path)))
    assert "@bindir@" in text
    return made


def test_unit_has_nothing_that_systemd_does_not_know(analyze, unit, kind):
    run = subprocess.run([analyze, f"--{kind}", "verify", "--man=no", unit], check=False,
                         capture_output=True, text=True)
    about = [line for line in run.stderr.splitlines() if "twinfs@" in line]
    if kind == "user" and "XDG_RUNTIME_DIR" in run.stderr:
        pytest.skip("no session of a user here")
    assert not about, run.stderr


@pytest.mark.parametrize("kind", ["system"], indirect=True)
def test_service_of_the_system_is_exposed_no_more_than_it_must(analyze, unit):
    run = subprocess.run([analyze, "security", "--offline=true", "--no-pager", unit],
                         check=False, capture_output=True, text=True)
    if "unrecognized option" in run.stderr:
        pytest.skip("this systemd-analyze reads no unit that is not loaded")
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", run.stdout)
    assert found, run.stdout + run.stderr
    assert float(found[1]) <= EXPOSURE_MAX, run.stdout


def test_mounts_of_a_service_are_seen_by_others(unit, kind):
    text = unit.read_text()
    assert not HIDES_MOUNTS.findall(text)
    if kind == "user":
        assert not KEEPS_USERS_FROM_MOUNTING.findall(text)


def test_service_starts_and_ends_as_its_unit_says(twinfs, unit, source, mount):
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


def test_what_is_mounted_where_the_view_is_to_be_is_not_stopped(
        twinfs, unit, source, tmp_path, root_only):
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


def test_unit_leaves_the_call_that_follows_no_symlink(unit):
    """RestrictSUIDSGID= has openat2(2) fail."""
    assert "\nRestrictSUIDSGID=" not in unit.read_text()


# ---- what the service manager is told --------------------------------------------------------


class Manager:
    """Listens as a service manager does; a name that begins with @ is in no folder."""

    def __init__(self, twinfs, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0"))
        self.socket.settimeout(60)
        twinfs.environment["NOTIFY_SOCKET"] = name
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def wait_for(self, wanted):
        """Listen until a message matches; it is the last one in `heard`."""
        while not (self.heard and re.fullmatch(wanted, self.heard[-1])):
            self.heard.append(self.socket.recv(4096).decode())
        return self.heard[-1]

    def rest(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.heard.append(self.socket.recv(4096).decode())
        return self.heard


@pytest.fixture(params=["in a folder", "abstract"])
def manager(request, twinfs, tmp_path):
    name = f"{tmp_path}/notify" if request.param == "in a folder" else f"@{tmp_path}/notify"
    with Manager(twinfs, name) as made:
        yield made


def test_service_manager_is_told_from_the_start_to_the_end(twinfs, source, mount, manager):
    trees.small(source)
    with twinfs.started("mount", "-f", source, mount) as process:
        manager.wait_for("READY=1")
        assert (mount / "uniques").is_dir()
        assert manager.heard[0] == "STATUS=opening the index"
        assert manager.wait_for("STATUS=current: .*") == \
            "STATUS=current: 2 groups, 140 KiB reclaimable"
        trees.write(source / "another", trees.content("alone", 70000))
        manager.wait_for("STATUS=current: 3 groups, 208 KiB reclaimable")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert manager.rest()[-2:] == ["STOPPING=1\nSTATUS=unmounting", "STATUS=unmounted"]
    assert manager.heard.count("READY=1") == 1
    assert all("\n" not in line for line in manager.heard if not line.startswith("STOPPING"))


def test_service_manager_is_told_why_it_failed(twinfs, source, mount, tmp_path):
    trees.small(source)
    (tmp_path / "second").mkdir()
    with twinfs.mounted(source, at=mount), Manager(twinfs, f"{tmp_path}/notify") as manager:
        assert twinfs("mount", "-f", source, tmp_path / "second").status == 1
        assert manager.rest()[-1] == "ERRNO=16\nSTATUS=failed: Device or resource busy"
        assert "READY=1" not in manager.heard


def test_view_in_the_background_is_no_service(twinfs, source, mount, tmp_path):
    trees.small(source)
    with Manager(twinfs, f"{tmp_path}/notify") as manager, twinfs.mounted(source, at=mount) as view:
        trees.write(source / "another", trees.content("alone", 70000))
        view.sync()
        assert manager.rest() == []


def fill(name):
    """Until the socket takes no message of anybody: one sender alone may send only so many."""
    sent = 1
    while sent:
        sent = 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    other.sendto(b"X=1", name)
                    sent += 1


def test_manager_that_listens_no_more_holds_up_nothing(twinfs, source, mount, tmp_path):
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


def test_nobody_listens_where_the_manager_says_so(twinfs, source, mount, tmp_path):
    """Which is said, and no reason to have no view."""
    trees.small(source)
    for number, name in enumerate([f"{tmp_path}/nobody", "vsock:2:1234", "@", "x" * 200]):
        twinfs.environment["NOTIFY_SOCKET"] = name
        with twinfs.started("mount", "-f", source, mount) as process:
            assert until(lambda: (mount / "uniques").exists())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, number
        assert b"cannot notify the service manager" in process.output[1], name


def test_service_is_stopped_while_it_compares(twinfs, source, mount, tmp_path):
    """What it commits meanwhile is told to nobody who is gone."""
    trees.fill(source, {b"%d" % number: b"%04d" % (number % 7) * 5000 for number in range(2000)})
    with Manager(twinfs, f"{tmp_path}/notify") as manager:
        with twinfs.started("mount", "-f", source, mount) as process:
            manager.wait_for("STATUS=(comparing|current).*")  # where it is fast
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        assert manager.rest()[-2:] == ["STOPPING=1\nSTATUS=unmounting", "STATUS=unmounted"]
    assert not is_mounted(mount)


def test_service_that_is_stopped_while_it_reads_names_has_not_failed(
        strace, twinfs, source, mount, tmp_path):
    trees.small(source)
    traced = twinfs.under_strace("-e", "inject=getdents64:delay_enter=500000")
    with Manager(traced, f"{tmp_path}/notify") as manager:
        with traced.started("mount", "-f", source, mount) as process:
            manager.wait_for("STATUS=reading names, .*")
            daemon = int((twinfs.index / "owner").read_text().split()[0])
            end_process(daemon, signal.SIGTERM)
            assert process.wait(60) == -signal.SIGTERM
    assert not is_mounted(mount)


def test_place_of_a_killed_view_is_no_empty_folder_until_there_is_another(
        root_only, strace, twinfs, source, mount, tmp_path):
    """Or who copies it with --delete loses his copy."""
    trees.small(source)
    with twinfs.mounted(source, at=mount) as dead:
        end_process(dead.pid, signal.SIGKILL)
        dead.pid = None
        traced = twinfs.under_strace("-e", "inject=getdents64:delay_enter=300000")
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


# ---- a real one ------------------------------------------------------------------------------


def test_real_systemd_starts_stops_and_restarts_views_and_mounts_those_of_fstab(
        root_only, plain_build):
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

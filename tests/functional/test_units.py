# SPDX-License-Identifier: MIT
"""The units for systemd: it understands them, and they give as little as they can."""
import re
import shlex
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import trees
from program import is_mounted, until

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


def test_service_starts_and_ends_as_its_unit_says(twinfs, unit, source, tmp_path):
    trees.small(source)
    mount = tmp_path / "mount"
    mount.mkdir()
    words = {"$OPTIONS": ["--index", str(twinfs.index)], "${SOURCE}": [str(source)],
             "${MOUNTPOINT}": [str(mount)]}
    [line] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    command = [word for part in shlex.split(line) for word in words.get(part, [part])]
    process = subprocess.Popen(command, env=twinfs.environment, stdin=subprocess.DEVNULL)
    assert until(lambda: (mount / "uniques").exists() or process.poll() is not None)
    process.terminate()
    assert process.wait(60) == 0
    assert not is_mounted(mount)


def test_service_is_told_when_the_view_answers(twinfs, source, tmp_path):
    trees.small(source)
    mount = tmp_path / "mount"
    mount.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "notify"))
        server.settimeout(60)
        twinfs.environment["NOTIFY_SOCKET"] = str(tmp_path / "notify")
        with twinfs.started("mount", "-f", source, mount) as process:
            assert server.recv(100) == b"READY=1"
            assert (mount / "uniques").is_dir()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0

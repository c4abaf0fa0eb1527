# SPDX-License-Identifier: MIT
"""mount: start, refusal, stop, and dead mounts of killed daemons."""
import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess

import oracle
import pytest
import trees
from processes import TIMEOUT, end_process, stopped, until, wait_ended
from program import is_mounted


def status_of(mount):
    return json.loads((mount / ".twinfs/status.json").read_bytes())


def unmount(mount, pid):
    subprocess.run(["fusermount3", "-u", mount], check=True)
    assert wait_ended(pid)


def test_mount_is_the_default_command(twinfs, small, mount):
    options = ["--index", str(twinfs.index), "--wait"]
    for words in ([*options, small, mount], [small, mount, *options]):
        twinfs.ok(*words)
        status = status_of(mount)
        assert status["state"] == "current"
        unmount(mount, status["pid"])


def test_mount_accepts_the_options_of_fstab(twinfs, small, mount):
    options = f"defaults,noauto,user,nofail,x-systemd.automount,rw,dev,suid,index={twinfs.index}"
    result = twinfs(small, mount, "-o", options, "-o", "wait")
    assert result.status == 0, result
    status = status_of(mount)
    assert (status["index"], status["state"]) == (str(twinfs.index), "current")
    with open("/proc/thread-self/mountinfo") as file:
        [line] = [line for line in file if f" {mount} " in line]
    flags = line.split()[5].split(",")
    # twinfs itself refuses writes to a view of a plain user
    assert {"ro" if os.geteuid() == 0 else "rw", "nosuid", "nodev"} <= set(flags)
    assert " - fuse.twinfs " in line
    unmount(mount, status["pid"])


@pytest.mark.parametrize("size", ["4096", "5000", "999999999"])
def test_view_with_a_limit_of_reads_has_the_right_bytes(twinfs, small, size):
    with twinfs.mounted(small, options=("--wait", "-o", f"max_read={size}")) as view:
        assert view.differences(small) == []


@pytest.mark.parametrize("size", ["", "64k", "-5", "99999999999"])
def test_wrong_limit_of_reads_is_refused_in_one_line(twinfs, small, mount, size):
    result = twinfs("mount", small, mount, "-o", f"max_read={size}")
    assert result.status == 2 and not is_mounted(mount)
    [error] = result.errors
    assert f"'max_read={size}'" in error and "number of bytes" in error


def test_debug_prints_the_requests_in_the_foreground(twinfs, small, mount):
    with twinfs.started("mount", "-d", small, mount) as process:
        assert until(lambda: is_mounted(mount))
        assert until(lambda: os.listdir(mount / "uniques"))
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT)
    assert b"opcode: INIT" in process.output[1] and b"opcode: LOOKUP" in process.output[1]


def test_program_named_like_a_mount_helper_mounts(twinfs, small, mount, tmp_path):
    helper = tmp_path / "mount.fuse.twinfs"
    helper.symlink_to(twinfs.session.binary)
    result = twinfs(small, mount, "-n", "-o", f"rw,wait,index={twinfs.index}",
                    binary=str(helper))
    assert result.status == 0, result
    unmount(mount, status_of(mount)["pid"])


def test_mount_8_mounts_a_view(twinfs, small, mount, root_only):
    if not shutil.which("mount.fuse3", path="/sbin:/usr/sbin"):
        pytest.skip("needs mount.fuse3")
    program_and_source = os.fsencode(twinfs.session.binary) + b"#" + small
    subprocess.run(["mount", "-t", "fuse", "-o", f"noauto,wait,index={twinfs.index}",
                    program_and_source, mount], check=True, env=twinfs.environment,
                   stdin=subprocess.DEVNULL, timeout=120)
    status = status_of(mount)
    assert status["sources"][0]["path"] == os.fsdecode(small)
    subprocess.run(["umount", mount], check=True)
    assert wait_ended(status["pid"])


def test_daemon_is_detached_when_mount_returns(twinfs, small):
    with twinfs.mounted(small, options=()) as view:
        pid = view.status()["pid"]
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        assert int(fields[3]) != os.getsid(0)
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        for number in (0, 1, 2):
            assert os.readlink(f"/proc/{pid}/fd/{number}") == "/dev/null"
        assert view.result.error == b""


def test_foreground_process_serves_and_ends_at_sigterm(twinfs, small, mount):
    with twinfs.started("mount", "-f", small, mount) as process:
        assert until(lambda: is_mounted(mount) or process.poll() is not None)
        assert until(lambda: (mount / "uniques").exists())
        assert status_of(mount)["pid"] == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        assert not is_mounted(mount)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_daemon_cleanly(twinfs, small, number):
    with twinfs.mounted(small) as view:
        pid = view.pid
        assert end_process(pid, number)
        assert not is_mounted(view.path)
        assert os.listdir(view.path) == []
        view.pid = None
    with twinfs.mounted(small) as view:
        assert view.result.error == b""
        assert view.differences(small) == []


def test_signal_stops_the_daemon_of_a_busy_view(twinfs, small):
    with twinfs.mounted(small) as view:
        with open(view.uniques / "alone", "rb"):
            assert end_process(view.pid, signal.SIGTERM)
            view.pid = None
            assert not is_mounted(view.path)


def test_busy_view_is_unmounted_only_if_lazily(twinfs, small):
    with twinfs.mounted(small) as view:
        with open(view.uniques / "alone", "rb") as file:
            run = subprocess.run(["fusermount3", "-u", view.path], check=False,
                                 capture_output=True)
            assert run.returncode != 0 and is_mounted(view.path)
            subprocess.run(["fusermount3", "-u", "-z", view.path], check=True)
            assert file.read() == trees.content("alone", 70000)
        assert wait_ended(view.pid)


def test_dead_mount_of_a_killed_daemon_is_replaced(twinfs, small):
    with twinfs.mounted(small) as dead:
        end_process(dead.pid, signal.SIGKILL)
        dead.pid = None
        assert is_mounted(dead.path)
        with twinfs.mounted(small) as view:
            assert view.differences(small) == []
        assert not is_mounted(dead.path)


def test_dead_mount_of_a_plain_user_is_replaced(as_user, tmp_path, plain_user, fuse_for_users):
    source = trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), source], check=True)
    with as_user.mounted(source) as dead:
        end_process(dead.pid, signal.SIGKILL)
        dead.pid = None
        with as_user.mounted(source) as view:
            assert view.differences(source) == []


def test_live_mount_is_refused_as_already_mounted(twinfs, small, tmp_path):
    with twinfs.mounted(small) as view:
        for program in (twinfs, twinfs.with_index(tmp_path / "other index")):
            result = program("mount", small, view.path)
            assert result.status == 1, result
            assert len(result.errors) == 1
            assert "already mounted" in result.errors[0]
            assert str(view.path) in result.errors[0]
        assert view.differences(small) == []
        assert not (tmp_path / "other index").exists()


def test_second_writer_of_an_index_is_refused_and_the_first_is_named(twinfs, small, tmp_path):
    with twinfs.mounted(small) as view:
        (tmp_path / "second").mkdir()
        result = twinfs("mount", small, tmp_path / "second")
        assert result.status == 1, result
        assert len(result.errors) == 1
        assert str(view.pid) in result.errors[0]
        assert str(view.path) in result.errors[0]
        assert not is_mounted(tmp_path / "second")
        assert view.differences(small) == []


def test_mount_waits_for_the_index_of_an_unmounted_view(twinfs, small, mount):
    with twinfs.mounted(small) as view:
        with stopped(view.pid):
            subprocess.run(["fusermount3", "-u", view.path], check=True)
            started = subprocess.Popen(twinfs.command("mount", small, mount),
                                       env=twinfs.environment, stdin=subprocess.DEVNULL)
            assert not until(lambda: started.poll() is not None, 0.5)
        assert started.wait(120) == 0
        unmount(mount, status_of(mount)["pid"])


def test_two_views_with_an_index_each_work(twinfs, small, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as one, other.mounted(small, at=tmp_path / "second") as two:
        assert one.differences(small) == []
        assert two.differences(small) == []
        assert one.pid != two.pid


def test_second_start_reuses_the_index(twinfs, small):
    with twinfs.mounted(small) as view:
        first = {name: sorted(names) for name, names in view.copies().items()}
    with twinfs.mounted(small) as view:
        assert {name: sorted(names) for name, names in view.copies().items()} == first


def test_source_that_is_given_by_several_paths_counts_once(twinfs, small, tmp_path):
    os.symlink(small, tmp_path / "link")
    roots = [small, trees.join(small, b"letters"), tmp_path / "link", small]
    with twinfs.mounted(*roots) as view:
        assert view.differences(*roots) == []
        assert (view.uniques / "alone").exists()
        assert len(view.status()["sources"]) == 1


def test_daemon_that_cannot_mount_fails_with_a_message(twinfs, small, mount, root_only):
    twinfs.wrapped = [shutil.which("setpriv"), "--bounding-set=-sys_admin", "--"]
    twinfs.environment["PATH"] = str(mount)  # without fusermount3
    result = twinfs("mount", small, mount)
    assert result.status == 1, result
    assert result.error
    assert not is_mounted(mount)


def test_view_does_not_depend_on_the_umask(twinfs, small):
    old = os.umask(0o777)
    try:
        result = twinfs("scan", small)
    finally:
        os.umask(old)
    assert result.status == 0, result
    with twinfs.mounted(small) as view:
        assert view.differences(small) == []


def test_moved_source_gives_errors_and_no_wrong_bytes(twinfs, small, tmp_path):
    with twinfs.mounted(small) as view:
        files = [path for path in pathlib.Path(os.fsdecode(small)).rglob("*") if path.is_file()]
        contents = dict(zip(oracle.hashes(files), map(pathlib.Path.read_bytes, files),
                            strict=True))
        os.rename(small, tmp_path / "elsewhere")
        copies = [path for folder in view.dups.iterdir() for path in folder.iterdir()]
        assert len(copies) == 6
        for path in copies:  # the daemon can notice the move between any two of these calls
            with contextlib.suppress(OSError):
                assert path.read_bytes() == contents[path.parent.name]
        view.sync()
        for path in copies:
            with pytest.raises(OSError) as raised:
                path.read_bytes()
            assert raised.value.errno == errno.EIO
        assert view.status()["groups"] == 2
        os.rename(tmp_path / "elsewhere", small)
        assert view.differences_now(small) == []

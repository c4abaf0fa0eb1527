# SPDX-License-Identifier: MIT
"""Views by mount(8) and lines of fstab."""
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT
from program import is_mounted

WORDS = ("noauto,user,nofail,_netdev,x-systemd.automount,x-systemd.requires=/srv,"
         "x-systemd.idle-timeout=1min,x-gvfs-show,x-gvfs-name=Equal%20files,comment=of mine")
HELPER = "/sbin/mount.fuse"


@contextlib.contextmanager
def in_place_of(path, file):
    """Binds a file over a path, in the mount namespace of this process
    (program.take_own_mounts)."""
    subprocess.run(["mount", "--bind", file, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)  # its last process may still be ending


@pytest.fixture
def helper(root_only, twinfs):
    """Puts the program in the place of the mount helper that mount(8) runs for fuse.twinfs.
    test_mount.py mounts by mount.fuse3 itself."""
    if not os.path.exists(HELPER) or os.path.exists("/sbin/mount.fuse.twinfs"):
        pytest.skip("needs mount.fuse of fuse3, and no twinfs that is installed")
    with in_place_of(os.path.realpath(HELPER), twinfs.session.binary):
        yield


def run(program, *command):
    words = [*program.as_user(), *command]
    return subprocess.run(words, check=False, env=program.environment, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT)


def line_for(source, mount, options):
    # fstab(5): a blank ends a field
    return " ".join(field.replace(" ", "\\040") for field in
                    (os.fsdecode(source), str(mount), "fuse.twinfs", options)) + " 0 0\n"


@pytest.fixture
def mount(mount):
    """A mount point with a blank in its path, which fstab has to escape."""
    return mount.rename(mount.with_name("a view"))


def test_line_of_fstab_is_mounted_and_unmounted_and_mounted_again(helper, twinfs, source, mount,
                                                                  tmp_path):
    trees.small(source)
    table = tmp_path / "fstab"
    table.write_text(line_for(source, mount, f"{WORDS},index={twinfs.index}"))
    for _ in range(2):
        result = run(twinfs, "mount", "-T", table, mount)
        assert (result.returncode, result.stderr) == (0, b"")
        assert (mount / "dups").is_dir()
        assert run(twinfs, "umount", mount).returncode == 0
        assert not is_mounted(mount)


def test_line_of_fstab_has_several_sources_with_odd_names(helper, twinfs, source, mount, tmp_path):
    more = [tmp_path / name for name in ("a b", "c,d", "e:f", "-g, h")]
    for number, folder in enumerate([source, *more]):
        folder.mkdir(exist_ok=True)
        trees.fill(folder, {b"same": b"same", b"own": b"%d" % number})
    sources = ",".join("source=" + str(folder).replace(",", "\\,") for folder in more)
    table = tmp_path / "fstab"
    table.write_text(line_for(source, mount, f"{WORDS},{sources},wait,index={twinfs.index}"))
    result = run(twinfs, "mount", "-T", table, mount)
    assert (result.returncode, result.stderr) == (0, b"")
    shown = twinfs("status", "--json", mount, index=False).json[0]["sources"]
    assert [entry["path"] for entry in shown] == [str(folder) for folder in (source, *more)]
    assert len(os.listdir(next((mount / "dups").iterdir()))) == 5
    assert twinfs("unmount", *more[:1]).status == 0
    assert not is_mounted(mount)


def test_mount_of_all_lines_mounts_a_view_once(helper, twinfs, source, mount, tmp_path):
    trees.small(source)
    table = tmp_path / "fstab"
    words = WORDS.replace("noauto,", "")
    table.write_text(line_for(source, mount, f"{words},index={twinfs.index}"))
    for _ in range(2):
        result = run(twinfs, "mount", "-a", "-T", table)
        assert (result.returncode, result.stderr) == (0, b"")
    assert (mount / "dups").is_dir()
    assert run(twinfs, "umount", mount).returncode == 0
    assert not is_mounted(mount)


def test_view_is_mounted_by_type(helper, twinfs, source, mount):
    trees.small(source)
    result = run(twinfs, "mount", "-t", "fuse.twinfs", source, mount, "-o",
                 f"index={twinfs.index},noatime,x-gvfs-show,min-size=4k,wait")
    assert (result.returncode, result.stderr) == (0, b"")
    assert len(os.listdir(mount / "dups")) == 1
    assert run(twinfs, "umount", mount).returncode == 0


def test_mount_reports_the_error_of_twinfs(helper, twinfs, source, mount):
    trees.small(source)
    (mount / "in the way").touch()
    result = run(twinfs, "mount", "-t", "fuse.twinfs", source, mount, "-o",
                 f"index={twinfs.index}")
    assert result.returncode != 0 and b"is not empty; choose an empty folder" in result.stderr


def test_user_mounts_a_line_with_the_option_user(helper, as_user, plain_user, fuse_for_users,
                                                 tmp_path):
    if not Path("/etc/fstab").exists() or not shutil.which("umount"):
        pytest.skip("needs an /etc/fstab to put another one in its place")
    source, mount = tmp_path / "source", tmp_path / "mount"
    trees.small(source)
    mount.mkdir()
    for path in (source, mount):
        subprocess.run(["chown", "-hR", str(plain_user.pw_uid), path], check=True)
    table = tmp_path / "fstab"
    table.write_text(line_for(source, mount, f"{WORDS},index={as_user.index}"))
    with in_place_of("/etc/fstab", table):
        result = run(as_user, "mount", mount)
        assert (result.returncode, result.stderr) == (0, b"")
        run(as_user, "cat", mount / ".twinfs/sync")
        assert run(as_user, "ls", mount / "dups").stdout
        result = run(as_user, "umount", mount)
        assert (result.returncode, result.stderr) == (0, b"")
    assert not is_mounted(mount)

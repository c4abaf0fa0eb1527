# SPDX-License-Identifier: MIT
"""restore: metadata that the target cannot store, or that is set last of all."""
import os
import subprocess

import backups
import pytest
import trees
from backups import STATE, restore, small_backup
from disks import disk

LATE = 8 * 10**18 + 123_456_789  # in 2223, which ext4 with small inodes cannot store


@pytest.mark.parametrize("interrupted", [False, True])
def test_time_that_the_target_cannot_store_is_named(twinfs, source, tmp_path, interrupted):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"folder/c": b"other"})
    for name in ("a", "b", "folder"):
        os.utime(source / name, ns=(0, LATE))
    backup = backups.make(twinfs, tmp_path, source)
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as root:
        target = root / "target"
        target.mkdir()
        if interrupted:
            (backup.copy / "folder/c").rename(tmp_path / "c")
            os.symlink("x" * 2000, backup.copy / "folder/c")  # longer than a block
            restore(twinfs, backup, target, status=3)
            (backup.copy / "folder/c").unlink()
            (tmp_path / "c").rename(backup.copy / "folder/c")
            os.utime(backup.copy / "folder", ns=(0, LATE))
        result = restore(twinfs, backup, target, status=3)
        for name in (b"'a'", b"'b'", b"'folder'"):
            assert b"restored " + name + b" with another time" in result.error
        assert b"3 names have another time" in result.error and b"'folder/c'" not in result.error
        assert (target / "b").read_bytes() == b"same"
        assert not (target / STATE).exists()


def test_flags_are_restored(twinfs, source, tmp_path, target, root_only):
    def flags(path):
        return subprocess.run(["lsattr", "-d", path], check=True, capture_output=True,
                              text=True).stdout.split()[0].replace("-", "").replace("e", "")

    trees.fill(source, {b"d": b"same", b"i": b"same", b"folder/a": b"other", b"plain": b"file"})
    wanted = {"d": "d", "i": "i", "folder/a": "a", "folder": "i", "plain": "", "": "a"}
    backup = backups.Backup(tmp_path / "manifest", tmp_path / "backup")
    backup.copy.mkdir()
    try:
        for name, flag in wanted.items():
            if flag and subprocess.run(["chattr", f"+{flag}", source / name],
                                       check=False).returncode:
                pytest.skip("the file system has no such attributes")
        with twinfs.mounted(source) as view:
            twinfs.ok("manifest", "--all", "--output", backup.manifest, view.path)
            backups.copy_sparsely(view.uniques, backup.copy)
            twinfs.ok("manifest", "--compare", backup.manifest, view.path)
        twinfs.ok("restore", "--check", backup.manifest, backup.copy)
        restore(twinfs, backup, target)
        assert {name: flags(target / name) for name in wanted} == wanted
        assert backups.differences(source, target) == []
    finally:
        for root in (source, target):
            subprocess.run(["chattr", "-R", "-i", "-a", "-d", root], check=True)


def test_flags_that_cannot_be_set_are_named(twinfs, source, tmp_path, target, strace):
    names = [backups.name("a", "a", b"bytes", flags="d"), backups.name("b", "a", b"bytes")]
    backup = small_backup(tmp_path)
    backups.write_manifest(backup.manifest, names)
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls="trace=ioctl", flags=["-e", "inject=ioctl:error=EOPNOTSUPP"])
    assert result.status == 3
    assert b"restored 'a' without the attributes 'd'" in result.error
    assert b"1 name lacks attributes of chattr" in result.error
    assert sorted(os.listdir(target)) == ["a", "b"]

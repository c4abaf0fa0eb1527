# SPDX-License-Identifier: MIT
"""A backup of uniques/ by rsync has each content once and each name that is not redundant. A
second run copies nothing."""
import os
import subprocess

import oracle
import pytest
import trees
from backups import rsync


def test_rsync_alone_copies_such_a_tree_exactly(everything, tmp_path):
    """A control for the other tests."""
    rsync(everything, tmp_path / "backup")
    assert rsync(everything, tmp_path / "backup", "-i") == b""


def test_second_run_copies_nothing(twinfs, everything, tmp_path):
    backup = tmp_path / "backup"
    with twinfs.mounted(everything) as view:
        rsync(view.uniques, backup)
        assert rsync(view.uniques, backup, "-i") == b""
        assert rsync(view.uniques, backup, "-i", "--checksum") == b""
    with twinfs.mounted(everything) as view:
        assert rsync(view.uniques, backup, "-i") == b""


def test_backup_has_every_content_once_and_all_metadata(twinfs, everything, tmp_path):
    backup = tmp_path / "view" / "uniques"
    backup.mkdir(parents=True)
    with twinfs.mounted(everything) as view:
        rsync(view.uniques, backup)
        shown = {entry.path for entry in oracle.walk.walk(view.uniques)}
    assert {entry.path for entry in oracle.walk.walk(backup)} == shown
    model = oracle.Source([everything])
    check = oracle.View(model, tmp_path / "view", content=False)
    check.check_uniques()
    assert check.differences == []

    copied = oracle.Source([backup])
    assert copied.groups() == []
    for found in (model, copied):
        found.read(found.inodes.values())
    contents = {(inode.size, inode.digest) for inode in model.inodes.values()}
    assert {(inode.size, inode.digest) for inode in copied.inodes.values()} == contents


def test_backup_of_several_sources_has_every_content_once(twinfs, tmp_path):
    roots = [trees.small(tmp_path / name) for name in ("one", "two", "three")]
    with twinfs.mounted(*roots) as view:
        rsync(view.uniques, tmp_path / "backup")
        assert rsync(view.uniques, tmp_path / "backup", "-i") == b""
    copied = oracle.Source([tmp_path / "backup"])
    assert copied.groups() == []
    assert len([inode for inode in copied.inodes.values() if inode.size]) == 4


@pytest.fixture
def mount_point(source, root_only):
    folder = source / "mounted"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", folder], check=True)
    os.setxattr(folder, "trusted.of-the-mount", b"value")
    trees.write(folder / "hidden", b"not of this file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_backup_of_a_source_with_a_mount_point_is_complete(twinfs, source, mount_point, tmp_path):
    trees.small(source)
    with twinfs.mounted(source) as view:
        rsync(view.uniques, tmp_path / "backup")
        assert rsync(view.uniques, tmp_path / "backup", "-i") == b""
        assert os.listdir(tmp_path / "backup/mounted") == []
        assert os.listxattr(view.uniques / "mounted") == []
        for name in ("trusted.of-the-mount", "system.posix_acl_access"):
            with pytest.raises(OSError, match="No data available"):
                os.getxattr(view.uniques / "mounted", name)


def test_attributes_of_a_mount_point_are_current_after_sync(twinfs, source, mount_point):
    def attributes(path):
        stat = os.lstat(path)
        return stat.st_mode, stat.st_uid, stat.st_mtime_ns

    with twinfs.mounted(source) as view:
        shown = view.uniques / "mounted"
        for number in range(3):  # also after the first change
            os.chmod(mount_point, 0o700 + number)
            os.chown(mount_point, 1000 + number, 1000)
            os.utime(mount_point, ns=(number, 10**18 + number))
            view.sync()
            assert attributes(shown) == attributes(mount_point)
        assert view.differences_now(source) == []


def test_sparse_files_stay_sparse_in_the_backup(twinfs, source, tmp_path):
    trees.holes(source / "a", 1 << 30, {1 << 29: b"data"})
    with twinfs.mounted(source) as view:
        subprocess.run(["cp", "--sparse=auto", view.uniques / "a", tmp_path / "copy"],
                       check=True)
    assert (tmp_path / "copy").stat().st_size == 1 << 30
    assert (tmp_path / "copy").stat().st_blocks < 1000


def test_tar_of_uniques_has_no_redundant_names(twinfs, source, tmp_path):
    trees.small(source)
    with twinfs.mounted(source) as view:
        subprocess.run(["tar", "-C", view.uniques, "--xattrs", "-cf", tmp_path / "tar", "."],
                       check=True)
    (tmp_path / "view/uniques").mkdir(parents=True)
    subprocess.run(["tar", "-C", tmp_path / "view/uniques", "-xpf", tmp_path / "tar"],
                   check=True)
    names = {entry.path for entry in oracle.walk.walk(tmp_path / "view/uniques")}
    assert b"pictures/1.jpg" in names and b"backup/1.jpg" not in names
    assert oracle.Source([tmp_path / "view/uniques"]).groups() == []

# SPDX-License-Identifier: MIT
"""A source whose disk is not mounted, or which lost all its files, is refused. So is the mount
point of a view that is not mounted."""
import contextlib
import os
import shutil
import signal
import subprocess

import oracle
import pytest
import trees
from disks import disk
from processes import until

ACCEPT = "--accept-changed-source"
DISK_BYTES = 32 << 20
COMMANDS = ["scan", "mount", "list", "report", "manifest", "check", "check --repair", "remove",
            "move", "link", "dedupe"]
ON_VIEW = ["list", "report", "manifest", "check", "remove", "move", "link", "dedupe"]


@pytest.fixture
def root(tmp_path):
    """The root of a small disk."""
    with disk("ext4", tmp_path, DISK_BYTES) as mounted:
        shutil.rmtree(mounted / "lost+found")
        yield mounted


@pytest.fixture
def other(tmp_path):
    """The root of another small disk, with one file."""
    folder = tmp_path / "other"
    folder.mkdir()
    with disk("ext4", folder, DISK_BYTES) as mounted:
        (mounted / "stranger").write_bytes(b"stranger")
        yield mounted


class Hidden:
    """Mounts another folder over a source for the duration of the block."""

    def __init__(self, source, place):
        self.source, self.place = source, place

    def __enter__(self):
        subprocess.run(["mount", "--bind", self.place, self.source], check=True)

    def __exit__(self, *_):
        subprocess.run(["umount", self.source], check=True)


def run(twinfs, command, source, aside, *options):
    name, *words = command.split()
    folders = {"move": [source, aside], "mount": [source, aside]}.get(name, [source])
    words += {"report": ["--html=-"], "mount": ["--wait"]}.get(name, [])
    words += ["--yes"] if name in ("remove", "move", "link", "dedupe") else []
    return twinfs(name, *words, *options, *folders)


def is_refused(result, source):
    """Whether a command failed before it printed anything, and named the source and the option."""
    lines = [line for line in result.errors if f"cannot use source '{source}'" in line]
    return result.status == 1 and result.out == b"" and len(lines) == 1 and ACCEPT in lines[0]


def refuses(twinfs, source, named, aside, commands=COMMANDS):
    for command in commands:
        result = run(twinfs, command, source, aside)
        assert is_refused(result, named), (command, result)
        assert not os.listdir(aside), command
    return True


# ---- commands with an index of their own -------------------------------------------------------

def test_source_whose_disk_is_not_mounted_is_refused_and_the_index_stays(twinfs, root, aside):
    trees.small(root)
    before = twinfs.groups(root)
    empty, strange = aside.parent / "empty", aside.parent / "strange"
    empty.mkdir()
    strange.mkdir()
    (strange / "file").write_bytes(b"not what was there")
    for place in (empty, strange):  # the mount point after an unmount
        with Hidden(root, place):
            assert refuses(twinfs, root, root, aside)
    assert twinfs.content_read("scan", root, below=root) == []
    assert twinfs.groups(root) == before == oracle.path_groups(root)


def test_other_disk_is_refused_or_verified_again_if_accepted(twinfs, root, other, aside):
    """The index and the tree may have been restored after a disk was lost."""
    for name in ("a", "b", "c"):
        (root / name).write_bytes(b"same" * 1000)
        shutil.copy2(root / name, other / name)
    twinfs.ok("scan", root)
    with open(other / "b", "r+b") as file:
        file.write(b"x")
    os.utime(other / "b", ns=((root / "b").stat().st_mtime_ns,) * 2)
    with Hidden(root, other):
        assert refuses(twinfs, root, root, aside)
        assert twinfs.groups(ACCEPT, root) == oracle.path_groups(root)
        assert twinfs.groups(root) == oracle.path_groups(root)
    assert refuses(twinfs, root, root, aside, ["list"])
    assert twinfs.groups(ACCEPT, root) == oracle.path_groups(root)


def test_source_with_a_missing_disk_inside_is_refused(twinfs, source, root, aside):
    trees.small(source)
    trees.write(root / "photo", b"only here")
    folder = source / "disk"
    folder.mkdir()
    across = "--cross-file-systems"
    with Hidden(folder, root):
        twinfs.ok("scan", across, source)
    for command in COMMANDS:
        result = run(twinfs, command, source, aside, across)
        assert result.status == 1 and result.out == b"", command
        [line] = [line for line in result.errors if "cannot use folder" in line]
        assert f"'{folder}'" in line and ACCEPT in line
    with Hidden(folder, root):
        assert "disk/photo" in singles(twinfs, source, across)
    assert "disk/photo" not in singles(twinfs, source, across, ACCEPT)
    assert "disk/photo" not in singles(twinfs, source, across)


def test_empty_disk_inside_that_an_earlier_scan_left_out_is_accepted(twinfs, source, root_only):
    """Nothing is known in it, so nothing can be missed."""
    trees.fill(source, {b"a": b"bytes"})
    (source / "inside").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", source / "inside"], check=True)
    try:
        twinfs.ok("scan", "--one-file-system", source)
        twinfs.ok("scan", "--cross-file-systems", source)
        trees.write(source / "inside/a", b"bytes")
        assert len(twinfs.groups(source, "--cross-file-systems")) == 1
    finally:
        subprocess.run(["umount", source / "inside"], check=True)
    assert b"is empty" in twinfs("scan", "--cross-file-systems", source).error


def singles(twinfs, source, *options):
    """The files that have no copy, relative to the source."""
    result = twinfs.ok("list", "--singles", "--format=null", *options, source)
    return [os.path.relpath(os.fsdecode(path), source) for path in result.out.split(b"\0") if path]


@pytest.mark.parametrize("command", COMMANDS)
def test_emptied_source_is_refused_until_it_is_accepted(twinfs, source, aside, command):
    trees.small(source)
    twinfs.ok("scan", source)
    for path in list(source.iterdir()):
        trees.remove(path)
    result = run(twinfs, command, source, aside)
    assert is_refused(result, source), result
    result = run(twinfs, command, source, aside, ACCEPT)
    try:
        assert result.status == (3 if command == "check" else 0), result
    finally:
        if command == "mount":
            subprocess.run(["umount", aside], check=True)
    if command != "check":
        twinfs.ok("list", source)


def test_recreated_directory_with_files_is_accepted(twinfs, source):
    trees.small(source)
    twinfs.ok("scan", source)
    source.rename(source.parent / "old")
    shutil.copytree(source.parent / "old", source, symlinks=True)
    assert twinfs.groups(source) == oracle.path_groups(source)


def test_one_refused_source_refuses_the_command(twinfs, source, root, aside):
    trees.small(source)
    trees.small(root)
    twinfs.ok("scan", source, root)
    with Hidden(root, aside):
        for command in ("list", "remove", "manifest"):
            words = ["--yes"] if command == "remove" else []
            result = twinfs(command, *words, source, root)
            assert is_refused(result, root), result
    with_missing = twinfs("manifest", source, root / "nowhere")
    assert with_missing.status == 1
    assert with_missing.out == b""


def test_source_emptied_by_an_act_is_accepted(twinfs, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "file").write_bytes(b"same")
    twinfs.ok("remove", "--yes", f"--only={two}", one, two)
    assert os.listdir(two) == []
    twinfs.ok("list", one, two)


def test_manifest_of_an_empty_folder_without_an_index_is_refused(twinfs, source):
    for _ in range(2):
        assert is_refused(twinfs("manifest", source), source)
    twinfs.ok("list", source)
    assert twinfs.ok("manifest", source).out


# ---- a mount point without its view ------------------------------------------------------------

def test_mount_point_of_an_unmounted_view_is_refused(twinfs, source, aside):
    trees.small(source)
    with twinfs.mounted(source) as view:
        pass
    for command in COMMANDS:
        result = run(twinfs, command, view.path, aside)
        assert is_refused(result, view.path), (command, result)
        assert "view" in result.error.decode()
    assert twinfs.groups(source) == oracle.path_groups(source)
    other = twinfs.with_index(twinfs.folder / "other index")
    other.ok("list", view.path)


def test_mount_point_of_an_unmounted_view_is_refused_by_any_index(as_user, source, fuse_for_users):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    os.chmod(source, 0o755)
    mount = as_user.folder / "mount"
    mount.mkdir()
    if as_user.user:
        os.chown(mount, as_user.user.pw_uid, as_user.user.pw_gid)
    as_user.ok("mount", "--wait", source, mount, index=False)
    subprocess.run([*as_user.as_user(), "fusermount3", "-u", mount], check=True)
    for command in ("list", "manifest"):
        assert is_refused(as_user(command, mount, index=False), mount)
    as_user.ok("list", ACCEPT, mount, index=False)


# ---- a backup ----------------------------------------------------------------------------------

def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink()}


def back_up(twinfs, source, mount, backup):
    """Runs the documented commands, whether or not they succeed; returns their statuses."""
    (backup / "tree").mkdir(exist_ok=True)
    mounted = twinfs("mount", "--wait", source, mount)
    manifest = twinfs("manifest", mount)
    if manifest.status == 0:
        (backup / "manifest").write_bytes(manifest.out)
    copied = subprocess.run(["rsync", "-aHAX", "--delete", f"{mount}/uniques/",
                             f"{backup}/tree/"], check=False, capture_output=True)
    if mounted.status == 0:
        subprocess.run(["umount", mount], check=True)
        assert until(lambda: twinfs("scan", source).status != 1)
    return mounted.status, manifest.status, copied.returncode


@pytest.mark.skipif(not shutil.which("rsync"), reason="needs rsync")
def test_backup_is_kept_if_the_disk_is_not_mounted(twinfs, root, aside, tmp_path):
    trees.small(root)
    mount, backup = tmp_path / "mount", tmp_path / "backup"
    mount.mkdir()
    backup.mkdir()
    assert back_up(twinfs, root, mount, backup) == (0, 0, 0)
    before = contents(backup)
    assert len(before) > 5
    with Hidden(root, aside):
        mounted, manifest, copied = back_up(twinfs, root, mount, backup)
    assert (mounted, manifest) == (1, 1)
    assert copied != 0
    assert contents(backup) == before


@pytest.mark.skipif(not shutil.which("rsync"), reason="needs rsync")
@pytest.mark.parametrize("rescan", [False, True])
def test_backup_is_kept_if_the_disk_vanishes_below_a_view(twinfs, root, aside, tmp_path, rescan):
    trees.small(root)
    backup = tmp_path / "backup"
    with twinfs.mounted(root) as view:
        before = view.status()
        copy = ["rsync", "-aHAX", "--delete", f"{view.path}/uniques/", f"{backup}/"]
        subprocess.run(copy, check=True, capture_output=True)
        held = contents(backup)
        with Hidden(root, aside):
            if rescan:
                os.kill(view.pid, signal.SIGHUP)
            view.sync()
            now = view.status()
            assert now["sources"][0]["missing"] is True
            assert (now["files"], now["groups"]) == (before["files"], before["groups"])
            assert subprocess.run(copy, check=False, capture_output=True).returncode in (0, 23)
            assert contents(backup) == held
            away = tmp_path / "away"
            away.mkdir()
            (backup / "old").write_bytes(b"what rsync would delete")
            next(iter(backup.glob("**/*.jpg"))).unlink()
            assert subprocess.run(copy, check=False, capture_output=True).returncode == 23
            assert (backup / "old").exists()
            for operand in (root, view.path):
                for command in ON_VIEW:
                    result = run(twinfs, command, operand, away)
                    assert is_refused(result, root), (command, result)
        view.sync()
        assert view.differences(root) == []


@pytest.mark.parametrize("rescan", [False, True])
def test_recreated_root_below_a_view_is_followed_once_it_has_files(twinfs, source, rescan):
    trees.small(source)
    with twinfs.mounted(source) as view:
        before = view.status()
        old = source.parent / "old"
        source.rename(old)
        source.mkdir()
        if rescan:
            os.kill(view.pid, signal.SIGHUP)
        view.sync()
        assert view.status()["sources"][0]["missing"] is True
        assert view.status()["groups"] == before["groups"]
        assert is_refused(twinfs("manifest", view.path), source)
        for path in old.iterdir():
            path.rename(source / path.name)
        assert view.differences_now(source) == []
        assert not view.status()["sources"][0].get("missing", False)


# views as sources


def test_folder_of_a_view_is_no_source(twinfs, source, tmp_path, target):
    """A walk lists no directory of a view, so it would be an empty source."""
    trees.small(source)
    bound = tmp_path / "bound"
    bound.mkdir()
    target.mkdir()
    with twinfs.mounted(source) as view, contextlib.ExitStack() as ending:
        folders = [view.uniques]
        if os.geteuid() == 0:
            ending.enter_context(Hidden(bound, view.uniques))
            folders.append(bound)
        for folder in folders:
            for command in [*COMMANDS, "covered"]:
                result = run(twinfs, command, folder, target, "--index", tmp_path / "other")
                assert result.status == 1 and "is in the view at" in result.errors[0], result
                assert not (tmp_path / "other").exists()
        assert "is in the view at" in twinfs("scan", view.path, index=False).errors[0]

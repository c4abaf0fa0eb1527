# SPDX-License-Identifier: MIT
"""remove --trash: file managers can list and restore the entries, which are in the trash folder
of the copy's file system."""
import contextlib
import os
import re
import shutil
import subprocess
import time
from urllib.parse import unquote_to_bytes

import pytest
import trees
from disks import disk
from processes import release
from program import Program
from test_act import copies


def entries(trash):
    """{original path: file} of a trash folder. Asserts that it has nothing else."""
    found = {}
    for info in (trash / "info").iterdir():
        match = re.fullmatch(rb"\[Trash Info\]\nPath=([!-~]+)\nDeletionDate=([-0-9T:]{19})\n",
                             info.read_bytes())
        assert match, info.read_bytes()
        written = time.mktime(time.strptime(match[2].decode(), "%Y-%m-%dT%H:%M:%S"))
        assert abs(info.stat().st_mtime - written) < 2
        assert info.stat().st_mode & 0o777 == 0o600
        assert info.name.endswith(".trashinfo")
        found[unquote_to_bytes(match[1])] = trash / "files" / info.name[:-len(".trashinfo")]
    assert set(found.values()) == set((trash / "files").iterdir())
    assert all(folder.stat().st_mode & 0o777 == 0o700
               for folder in (trash, trash / "info", trash / "files"))
    return found


def home_trash(program):
    return program.home / ".local/share/Trash"


def without_gio(program):
    program.environment["PATH"] = "/nonexistent"
    return program


def test_copies_with_any_name_go_to_the_home_trash(twinfs, source):
    names = [b"plain", b"\xff\n%41 =", b"n" * 255, "ü".encode() * 127, b".hidden", b"a.tar.gz",
             b"e" * 240 + b".jpg", b"d" * 100 + b"." + b"x" * 150, b"same/name", b"same too/name"]
    content = {}
    for name in names:
        content[name] = os.urandom(3000)
        for folder in (b"a", b"b"):
            path = trees.join(source, folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content[name])
    result = without_gio(twinfs).ok("remove", "--trash", "--yes", source)
    assert not result.error
    found = entries(home_trash(twinfs))
    assert found.keys() == {trees.join(source, b"b", name) for name in names}
    for name in names:
        path = found[trees.join(source, b"b", name)]
        assert path.read_bytes() == content[name]
        assert not os.path.lexists(trees.join(source, b"b", name))
    expected = {"plain", ".hidden", "a.tar.gz", "name", "name.2", "e" * 240 + ".jpg"}
    assert expected <= {path.name for path in found.values()}


def test_hundred_files_of_one_name_get_different_entries(twinfs, source):
    for number in range(100):
        for folder in ("a", "b"):
            path = source / folder / str(number) / "cover.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"%d" % number)
    twinfs.ok("remove", "--trash", "--yes", source)
    found = entries(home_trash(twinfs))
    assert len(found) == 100
    assert all(path.read_bytes() == original.split(b"/")[-2] for original, path in found.items())
    assert all(path.suffix == ".jpg" for path in found.values())


def test_existing_entries_of_the_trash_are_not_replaced(twinfs, source):
    kept, copy = copies(source, 2)
    trash = home_trash(twinfs)
    for name in ("info/copy 1.trashinfo", "files/copy 1.2"):
        (trash / name).parent.mkdir(parents=True, exist_ok=True)
        (trash / name).write_bytes(b"old")
    twinfs.ok("remove", "--trash", "--yes", source)
    assert not copy.exists()
    assert (trash / "files/copy 1.3").read_bytes() == kept.read_bytes()
    assert (trash / "files/copy 1.2").read_bytes() == b"old"
    assert (trash / "info/copy 1.trashinfo").read_bytes() == b"old"
    assert {path.name for path in (trash / "info").iterdir()} == {
        "copy 1.trashinfo", "copy 1.3.trashinfo"}


def test_hard_links_of_a_trashed_copy_stay(twinfs, source, tmp_path):
    kept, copy = copies(source, 2)
    os.link(copy, tmp_path / "outside")
    twinfs.ok("remove", "--trash", "--yes", "--keep=oldest", source)
    [thrown] = entries(home_trash(twinfs)).values()
    assert thrown.samefile(tmp_path / "outside")
    assert kept.read_bytes() == thrown.read_bytes()


def test_copy_on_another_file_system_goes_to_its_trash(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        (root / "deep/folder").mkdir(parents=True)
        kept, copy = copies(root / "deep/folder", 2)
        twinfs.ok("remove", "--trash", "--yes", root / "deep")
        found = entries(root / ".Trash-0")
        assert list(found) == [b"deep/folder/copy 1"]
        assert [path.read_bytes() for path in found.values()] == [kept.read_bytes()]
        assert not copy.exists()
        assert not home_trash(twinfs).exists()


@pytest.mark.parametrize("shared", ["sticky", "not sticky", "symlink"])
def test_shared_trash_is_used_only_if_it_is_sticky(twinfs, tmp_path, shared):
    with disk("ext4", tmp_path) as root:
        (root / "source").mkdir()
        copies(root / "source", 2)
        made = root / (".Trash" if shared != "symlink" else "elsewhere")
        made.mkdir()
        made.chmod(0o1777 if shared != "not sticky" else 0o777)
        if shared == "symlink":
            (root / ".Trash").symlink_to(made)
        twinfs.ok("remove", "--trash", "--yes", root / "source")
        used = root / (".Trash/0" if shared == "sticky" else ".Trash-0")
        assert list(entries(used)) == [b"source/copy 1"]
        assert (shared == "sticky") == any(made.iterdir())


@pytest.mark.parametrize("planted", ["symlink", "folder of another user", "file"])
def test_trash_folder_that_another_user_planted_is_not_used(twinfs, tmp_path, planted):
    with disk("ext4", tmp_path) as root:
        (root / "source").mkdir()
        _, copy = copies(root / "source", 2)
        (root / "precious").mkdir()
        trash = root / ".Trash-0"
        if planted == "symlink":
            trash.symlink_to(root / "precious")
        elif planted == "file":
            trash.write_bytes(b"")
        else:
            trash.mkdir()
            os.chown(trash, 12345, 12345)
        result = twinfs("remove", "--trash", "--yes", root / "source")
        assert result.status == 3
        assert "no trash folder" in result.error.decode()
        assert copy.exists()
        assert not any((root / "precious").iterdir())


def test_trash_in_the_home_of_another_user_is_not_used(twinfs, source, root_only):
    """sudo may keep $HOME. Root must leave nothing in the home of another user."""
    copies(source, 2)
    os.chown(twinfs.home, 12345, 12345)
    twinfs.environment.pop("XDG_DATA_HOME", None)
    before = sorted(twinfs.home.iterdir())
    with contextlib.ExitStack() as stack:
        stack.callback(os.chown, twinfs.home, 0, 0)
        subprocess.run(["mount", "--bind", source, source], check=True)
        stack.callback(subprocess.run, ["umount", source], check=True)
        twinfs.ok("remove", "--trash", "--yes", source)
        assert list(entries(source / ".Trash-0")) == [b"copy 1"]
        assert [path for path in sorted(twinfs.home.iterdir()) if path not in before] == []


def test_copy_in_a_bind_mount_goes_to_the_trash_of_that_mount(twinfs, source, tmp_path, root_only):
    """The kernel refuses a rename between two mounts of one file system."""
    copies(source, 2)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", source, mounted], check=True)
    try:
        twinfs.ok("remove", "--trash", "--yes", mounted)
        assert list(entries(mounted / ".Trash-0")) == [b"copy 1"]
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert not home_trash(twinfs).exists()


def test_copy_in_a_subvolume_that_is_not_mounted_is_left_alone(twinfs, tmp_path):
    with disk("btrfs", tmp_path) as root:
        subprocess.run(["btrfs", "-q", "subvolume", "create", root / "part"], check=True)
        (root / "part/source").mkdir()
        _, copy = copies(root / "part/source", 2)
        result = twinfs("remove", "--trash", "--yes", root / "part/source")
        assert result.status == 3
        assert "no trash folder" in result.error.decode()
        assert copy.exists()
        assert sorted(os.listdir(root / "part")) == ["source"]


def test_copy_stays_if_the_user_cannot_create_a_trash_folder(session, tmp_path, as_user):
    with disk("ext4", tmp_path) as root:
        source = root / "source"
        source.mkdir()
        kept, copy = copies(source, 2)
        for path in (source, kept, copy):
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid)
        result = as_user("remove", "--trash", "--yes", source)
        assert result.status == 3
        assert "no trash folder" in result.error.decode()
        assert copy.exists()
        root.chmod(0o1777)
        as_user.ok("remove", "--trash", "--yes", source)
        assert list(entries(root / f".Trash-{as_user.user.pw_uid}")) == [b"source/copy 1"]


def test_gio_lists_and_restores_trashed_copies(twinfs, source):
    if not shutil.which("gio") or not shutil.which("dbus-run-session"):
        pytest.skip("needs gio and a bus")
    kept, _ = copies(source, 2)
    odd = source / "b %41 #?.jpg"  # gio itself cannot restore names that are not ASCII
    odd.write_bytes(b"odd")
    (source / "a.jpg").write_bytes(b"odd")
    twinfs.ok("remove", "--trash", "--keep=path:*0,path:a.jpg", "--yes", source)
    assert not odd.exists()

    def gio(*words):
        run = subprocess.run(["dbus-run-session", "--", "gio", *words], check=False, timeout=60,
                             env=twinfs.environment, capture_output=True)
        return run.stdout, run.stderr

    listed, refused = gio("trash", "--list")
    if not listed and refused:
        pytest.skip("no service of a desktop that shows the trash")
    shown = dict(line.split(b"\t") for line in listed.splitlines()
                 if os.fsencode(source) in line)  # other tests may use the trash of this disk
    assert set(shown.values()) == {os.fsencode(path) for path in (odd, source / "copy 1")}
    for name in shown:
        gio("trash", "--restore", name)
    assert odd.read_bytes() == b"odd"
    assert (source / "copy 1").read_bytes() == kept.read_bytes()
    assert not entries(home_trash(twinfs))


def test_folder_swapped_for_a_symlink_causes_no_other_file_to_be_trashed(session, tmp_path):
    """The folder is swapped after the comparison and before the rename to the trash."""
    source, outside = tmp_path / "source", tmp_path / "outside"
    for folder in (source / "a", source / "b", outside):
        folder.mkdir(parents=True)
    for path in (source / "a/name", source / "b/name"):
        path.write_bytes(b"content")
    (outside / "name").write_bytes(b"precious")
    program = Program(session, tmp_path)
    program.ok("scan", source)
    with program.held("remove", "--trash", "--yes", source, call="renameat2", when=2) as process:
        assert list((source / "b").glob(".twinfs~*"))
        os.rename(source / "b", tmp_path / "moved")
        os.symlink(outside, source / "b")
        release(process)
        process.communicate(timeout=60)
    assert (outside / "name").read_bytes() == b"precious"
    assert not list((tmp_path / "moved").iterdir())
    assert [path.read_bytes() for path in entries(home_trash(program)).values()] == [b"content"]

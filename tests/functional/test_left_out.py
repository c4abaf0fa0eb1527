# SPDX-License-Identifier: MIT
"""File systems and subvolumes below a source are left out by default. Each command that says what
is in the source names them."""
import contextlib
import os
import subprocess

import pytest
import trees
from test_backup_script import Script

COMMANDS = {"scan": [], "list": [], "manifest": ["--all"], "check": ["--quick"],
            "export": ["--host=name", "--output=OUTPUT"]}


@contextlib.contextmanager
def mounted(kind, at):
    at.mkdir()
    subprocess.run(["mount", "-t", kind, kind, at], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


@pytest.fixture
def nested(source, root_only):
    """A file system below the source, and one without files."""
    trees.fill(source, {b"a": b"same", b"folder/b": b"same"})
    with mounted("tmpfs", source / "folder/other fs") as inside, mounted("proc", source / "proc"):
        (inside / "file").write_bytes(b"left out")
        yield source


def named(result):
    """The lines that name what is left out."""
    return [line for line in result.errors if "left out" in line]


def words_of(command, tmp_path):
    return [command, *(word.replace("OUTPUT", os.fspath(tmp_path / "inventory"))
                       for word in COMMANDS[command])]


@pytest.mark.parametrize("command", COMMANDS)
def test_file_system_that_is_left_out_is_named(twinfs, nested, tmp_path, command):
    words = words_of(command, tmp_path)
    twinfs("scan", "-x", nested)
    [line] = named(twinfs(*words, nested))
    assert "1 file system below" in line and f"'{nested}/folder/other fs'" in line
    assert named(twinfs(*words, "--one-file-system", nested)) == []
    assert named(twinfs("list", "--no-scan", nested)) == [line]


def test_view_and_status_say_what_is_left_out(twinfs, nested):
    with twinfs.mounted(nested) as view:
        assert view.status()["left_out_file_systems"] == 1
        assert "twinfs_left_out_file_systems{" in os.fsdecode(view.read("metrics"))
        assert b"1 file system below" in twinfs.ok("status", view.path).out
        [line] = named(twinfs.ok("list", view.path))
        assert f"'{nested}/folder/other fs'" in line


def test_mount_that_is_included_or_gone_is_not_named(twinfs, source, root_only):
    trees.fill(source, {b"a": b"same"})
    with mounted("tmpfs", source / "inside"):
        (source / "inside/file").write_bytes(b"file")
        assert len(named(twinfs.ok("scan", source))) == 1
        assert named(twinfs.ok("scan", "--cross-file-systems", source)) == []
        assert named(twinfs.ok("list", "--cross-file-systems", source)) == []
        assert len(named(twinfs.ok("scan", source))) == 1
    assert named(twinfs.ok("scan", source)) == []


def test_many_file_systems_are_counted(twinfs, source, root_only):
    trees.fill(source, {b"a": b"same"})
    with contextlib.ExitStack() as stack:
        for number in range(40):
            stack.enter_context(mounted("tmpfs", source / f"{number:02}"))
        [line] = named(twinfs.ok("scan", source))
        assert "40 file systems below" in line and "/07', ..." in line
        assert twinfs("check", source).status == 0


def test_subvolume_is_named_and_the_backup_lacks_it(twinfs, btrfs, tmp_path):
    source = btrfs / "left out"
    source.mkdir()
    trees.fill(source, {b"a": b"same"})
    subprocess.run(["btrfs", "-q", "subvolume", "create", source / "sub"], check=True)
    (source / "sub/file").write_bytes(b"left out")
    script = Script(twinfs, tmp_path)
    run = script("--new", source, script.folder, status=3)
    assert os.fsencode(source / "sub") in run.stderr
    assert not (script.backup.copy / "sub/file").exists()
    run = script("--one-file-system", source, script.folder)
    assert b"left out" not in run.stderr
    script("--cross-file-systems", source, script.folder)
    assert (script.backup.copy / "sub/file").read_bytes() == b"left out"
    with twinfs.mounted(source) as view:
        script(view.path, script.folder, status=3)
        script("--cross-file-systems", view.path, script.folder, status=2)

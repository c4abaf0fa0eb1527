# SPDX-License-Identifier: MIT
"""share/twinfs/backup --restic and --borg: each snapshot is proved, and restores the whole tree."""
import os
import shutil
import socket
import subprocess

import backups
import pytest
import trees
from backups import Backup, Script
from processes import TIMEOUT

PROGRAMS = ("restic", "borg")


class Repository(Script):
    """The script with a program that stores snapshots."""

    def __init__(self, twinfs, folder, program):
        super().__init__(twinfs, folder)
        self.program = program
        home = folder / "home of programs"
        home.mkdir()
        if twinfs.user:
            os.chown(home, twinfs.user.pw_uid, twinfs.user.pw_gid)
        self.variables = {"RESTIC_PASSWORD": "password", "BORG_PASSPHRASE": "password",
                          "BORG_BASE_DIR": os.fspath(home / "borg"),
                          "RESTIC_CACHE_DIR": os.fspath(home / "cache")}

    def __call__(self, *words, status=0):
        return super().__call__(f"--{self.program}", *words, status=status)

    def snapshots(self):
        return sorted(path.name.removeprefix("manifest.")
                      for path in self.folder.glob("manifest.*"))

    def restored(self, snapshot, folder):
        """A backup with the copy that the program restores from a snapshot."""
        folder.mkdir()
        repository = self.folder / "files"
        command = {
            "restic": ["restic", "-q", "-r", repository, "restore", "latest", f"--tag={snapshot}",
                       "--target=."],
            "borg": ["borg", "extract", "--numeric-ids", f"{repository}::{snapshot}"],
        }[self.program]
        subprocess.run(command, cwd=folder, env={**self.twinfs.environment, **self.variables},
                       check=True, timeout=TIMEOUT)
        return Backup(self.folder / f"manifest.{snapshot}", folder / "uniques")

    def damage(self, name):
        """Puts a program before the real one that restores other bytes of this file once."""
        word = {"restic": "restore", "borg": "extract"}[self.program]
        self.replace_tool(self.program, f"""
            "$program" "$@" || exit
            case " $* " in
            *' {word} '*)
                test -e {self.folder}/tried || printf x | dd of=uniques/{name} conv=notrunc
                touch {self.folder}/tried ;;
            esac""")


@pytest.fixture(params=PROGRAMS)
def script(request, twinfs, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"needs {request.param}")
    return Repository(twinfs, tmp_path, request.param)


def differences(source, target):
    """Those of the backups of programs that do not keep each hole."""
    return [line for line in backups.differences(source, target) if "blocks" not in line]


def test_each_snapshot_restores_the_tree_of_its_time(twinfs, script, source, tmp_path):
    for name, make in (("small", trees.small), ("sizes", trees.sizes), ("names", trees.odd_names)):
        make(source / name)
    os.link(source / "small/alone", source / "small/link")
    os.mkfifo(source / "fifo")
    os.setxattr(source / "small", "user.note", b"value")
    run = script("--new", source, script.folder)
    assert run.stdout == b"" and b"has all" in run.stderr
    before = tmp_path / "before"
    backups.copy_sparsely(source, before)
    shutil.rmtree(source / "sizes")
    os.rename(source / "small/backup", source / "small/new place")
    os.unlink(source / "small/pictures/1.jpg")  # another copy is kept now
    trees.write(source / "added", b"new content")
    script(source, script.folder)
    for number, (snapshot, tree) in enumerate(zip(script.snapshots(), (before, source),
                                                 strict=True)):
        backup = script.restored(snapshot, tmp_path / f"copy {number}")
        target = tmp_path / f"target {number}"
        backups.restore(twinfs, backup, target)
        assert differences(tree, target) == []


def test_what_a_program_does_not_store_is_named(script, source):
    trees.small(source)
    with socket.socket(socket.AF_UNIX) as made:
        at = os.open(source, os.O_PATH)
        made.bind(f"/proc/self/fd/{at}/socket")
        os.close(at)
    assert script("--new", source, script.folder, status=3).stdout == b"missing     socket\n"


def test_snapshot_that_is_damaged_is_stored_again(script, source):
    trees.small(source)
    script.damage("alone")
    run = script("--new", source, script.folder, status=3)
    assert b"damaged     alone\n" in run.stdout and b"trying again (2 of 3)" in run.stderr
    assert len(script.snapshots()) == 2
    run = script(source, script.folder)
    assert b"has all" in run.stderr


def test_source_that_changes_meanwhile_is_stored_again(twinfs, script, source, tmp_path, target):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    word = {"restic": "backup", "borg": "create"}[script.program]
    script.replace_tool(script.program, f"""
        "$program" "$@" || exit
        case " $* " in
        *' {word} '*) test -e {source}/d || mv {source}/a {source}/d ;;
        esac""")
    run = script("--new", source, script.folder)
    assert b"trying again (2 of 3)" in run.stderr
    backup = script.restored(script.snapshots()[-1], tmp_path / "copy")
    backups.restore(twinfs, backup, target)
    assert sorted(os.listdir(target)) == ["b", "c", "d"]


def test_program_that_fails_makes_no_backup(script, source):
    trees.small(source)
    word = {"restic": "backup", "borg": "create"}[script.program]
    script.replace_tool(script.program, f"""
        case " $* " in
        *' {word} '*) exit 2 ;;
        esac
        exec "$program" "$@" """)
    run = script("--new", source, script.folder, status=1)
    assert b"incomplete" in run.stderr and script.snapshots() == []


def test_snapshot_that_lacks_a_file_is_tried_again(script, source):
    trees.small(source)
    word, status = {"restic": ("backup", 3), "borg": ("create", 1)}[script.program]
    script.replace_tool(script.program, f"""
        case " $* " in
        *' {word} '*) test -e {script.folder}/tried || {{
            touch {script.folder}/tried
            "$program" "$@" --exclude=alone
            exit {status}
        }} ;;
        esac
        exec "$program" "$@" """)
    run = script("--new", source, script.folder)
    assert b"trying again (2 of 3)" in run.stderr


def test_other_program_never_changes_a_repository(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    before = backups.regular_files(script.folder)
    others = {"restic": "--borg", "borg": "--restic"}
    for options in ([], [others[script.program]]):
        run = Script.__call__(script, *options, source, script.folder, status=2)
        assert f"was made by {script.program}".encode() in run.stderr
    assert backups.regular_files(script.folder) == before


def test_wrong_password_makes_no_backup(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    script.variables |= {"RESTIC_PASSWORD": "other", "BORG_PASSPHRASE": "other"}
    before = script.snapshots()
    script(source, script.folder, status=1)
    assert script.snapshots() == before


@pytest.mark.parametrize("program", PROGRAMS)
def test_user_makes_a_backup_with_folders_that_are_not_writable(as_user, fuse_for_users, tmp_path,
                                                                source, program):
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    trees.small(source)
    (source / "pictures").chmod(0o500)
    if as_user.user:
        for path in (source, *source.rglob("*")):
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    script = Repository(as_user, tmp_path, program)
    script("--new", source, script.folder)
    script(source, script.folder)

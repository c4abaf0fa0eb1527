# SPDX-License-Identifier: MIT
"""Interrupted restores: the same command resumes, creates nothing twice, and reads again what
may be damaged."""
import os
import signal
import stat
import subprocess

import backups
import pytest
import trees
from backups import STATE, regular_files, restore, small_backup
from disks import disk
from program import Program

ENDED = -signal.SIGKILL


CALLS = {
    "mkdirat": (1, 2, 10), "renameat2": (1, 5, 50), "linkat": (1, 4), "openat": (40, 85),
    "write": (2, 30), "chmod": (1, 20, 60), "utimensat": (1, 50, 75),
    "symlinkat": (3,), "mknodat": (2,), "fchownat": (1,), "setxattr": (2,),
    "unlinkat": (2, 3, 4, 5), "syncfs": (1,), "fsetxattr": (1,), "fremovexattr": (1,),
}


@pytest.fixture(scope="module")
def backed_up(session, scratch):
    """One backup for all tests that interrupt its restore."""
    source = scratch / "source"
    source.mkdir()
    trees.small(source / "small")
    trees.links(source / "links")
    trees.metadata(source / "metadata")
    trees.special(source / "special")
    program = Program(session, scratch)
    return source, backups.make(program, scratch, source, copy=backups.copy_plainly)


@pytest.mark.parametrize("call, when", [(call, when) for call in CALLS for when in CALLS[call]])
def test_killed_restore_resumes_and_creates_nothing_twice(twinfs, backed_up, target, strace, call,
                                                          when):
    source, backup = backed_up
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls=f"trace={call}",
                              flags=["-e", f"inject={call}:signal=KILL:when={when}"])
    assert result.status in (ENDED, 128 + signal.SIGKILL), result
    before = regular_files(target) if target.exists() else {}
    restore(twinfs, backup, target)
    assert backups.differences(source, target) == []
    after = regular_files(target)
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize("from_the_end", [2, 1])
@pytest.mark.parametrize("error, status", [("EPERM", 3), ("ENOSPC", 1)])
def test_restore_whose_target_gets_no_time_can_be_repeated(twinfs, tmp_path, source, target, strace,
                                                           error, status, from_the_end):
    """The target gets its metadata before the staging folder is removed, and again afterwards."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    words = ("restore", backup.manifest, backup.copy)
    result, trace = twinfs.traced(*words, tmp_path / "whole", calls="trace=utimensat")
    assert result.status == 0
    number = trace.count(b"utimensat(") + 1 - from_the_end
    result, trace = twinfs.traced(*words, target, calls="trace=utimensat",
                                  flags=["-e", f"inject=utimensat:error={error}:when={number}"])
    assert result.status == status and b"(INJECTED)" in trace, result
    assert b"cannot remove" not in result.error
    restore(twinfs, backup, target)
    assert backups.differences(source, target) == []
    assert not (target / STATE).exists()


def test_interrupted_restore_ends_by_the_signal_and_resumes(twinfs, backed_up, target, strace):
    source, backup = backed_up
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls="trace=renameat2",
                              flags=["-e", "inject=renameat2:signal=INT:when=20"])
    assert result.status in (-signal.SIGINT, 128 + signal.SIGINT), result
    before = regular_files(target)
    assert before and (target / STATE).exists()
    result = restore(twinfs, backup, target)
    assert any("resuming the interrupted restore" in line for line in result.errors)
    assert backups.differences(source, target) == []
    assert {path: regular_files(target)[path] for path in before} == before


def test_target_is_private_until_it_has_the_mode_of_the_source(twinfs, source, tmp_path, target,
                                                               strace):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"folder/c": b"same"})
    source.chmod(0o750)
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    target.mkdir()
    target.chmod(0o777)
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls="trace=renameat2",
                              flags=["-e", "inject=renameat2:signal=KILL:when=2"])
    assert result.status in (ENDED, 128 + signal.SIGKILL), result
    assert regular_files(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    restore(twinfs, backup, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert backups.differences(source, target) == []


def test_restore_resumes_on_a_file_system_with_coarse_times(twinfs, source, tmp_path, strace):
    trees.fill(source, {b"%d" % number: b"content %d" % number for number in range(40)})
    trees.fill(source, {b"copy %d" % number: b"content %d" % number for number in range(9)})
    for path in source.iterdir():
        os.utime(path, ns=(0, 1_000_000_001_123_456_789))
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as root:
        target = root / "target"
        target.mkdir()
        result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                                  calls="trace=renameat2",
                                  flags=["-e", "inject=renameat2:signal=KILL:when=45"])
        assert result.status in (ENDED, 128 + signal.SIGKILL), result
        made = regular_files(target)
        assert len(made) > 40
        restore(twinfs, backup, target)
        after = regular_files(target)
        assert len(after) == 49
        assert {path: after[path] for path in made} == made


@pytest.mark.parametrize("when", [8, 9, 10, 11])
def test_hard_links_are_restored_as_files_if_the_target_has_none(twinfs, source, tmp_path, target,
                                                                 strace, when):
    """The restore is interrupted once. linkat fails as on FAT."""
    for number in range(10):
        trees.fill(source, {b"%d a" % number: b"content %d" % number})
        for other in "bc":
            os.link(source / f"{number} a", source / f"{number} {other}")
    trees.fill(source, {b"x": b"alone", b"y": b"alone"})
    os.link(source / "y", source / "z")
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    words = ("restore", backup.manifest, backup.copy, target)
    refused = ["-e", "inject=linkat:error=EPERM"]
    result, _ = twinfs.traced(*words, calls="trace=linkat,renameat2",
                              flags=[*refused, "-e", f"inject=renameat2:signal=KILL:when={when}"])
    assert result.status in (ENDED, 128 + signal.SIGKILL), result
    made = regular_files(target)
    assert len(made) > 5
    result, _ = twinfs.traced(*words, calls="trace=linkat", flags=refused)
    assert result.status == 3, result
    assert "refuses such links" in result.error.decode()
    assert not (target / STATE).exists()
    after = regular_files(target)
    assert {path: after[path] for path in made} == made
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in source.iterdir()}


def age_state(target):
    """Changes the state file as if another boot had written it."""
    state = target / STATE / "state"
    text = state.read_text()
    state.write_text(text[:text.index("since ")] +
                     "since 00000000-0000-0000-0000-000000000000 8:1 1\n")


@pytest.mark.parametrize("call, when", [("syncfs", 1), ("linkat", 3), ("renameat2", 40),
                                        ("unlinkat", 3)])
def test_resume_after_a_reboot_reads_the_bytes_again(twinfs, backed_up, target, strace, call, when):
    source, backup = backed_up
    twinfs.traced("restore", backup.manifest, backup.copy, target, calls=f"trace={call}",
                  flags=["-e", f"inject={call}:signal=KILL:when={when}"])
    age_state(target)
    damaged = [target / os.fsdecode(path) for path in regular_files(target)]
    damaged += (target / STATE / "links").iterdir()
    for path in damaged:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            path.write_bytes(bytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = restore(twinfs, backup, target)
    assert any("may be damaged" in line for line in result.errors)
    assert backups.differences(source, target) == []


def test_resume_on_another_mount_reads_the_bytes_again(twinfs, backed_up, tmp_path, target, strace,
                                                       root_only):
    source, backup = backed_up
    twinfs.traced("restore", backup.manifest, backup.copy, target, calls="trace=renameat2",
                  flags=["-e", "inject=renameat2:signal=KILL:when=20"])
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["mount", "--bind", target, other], check=True)
    try:
        result = restore(twinfs, backup, other)
        assert any("may be damaged" in line for line in result.errors)
    finally:
        subprocess.run(["umount", other], check=True)
    assert backups.differences(source, target) == []


def test_user_resumes_in_read_only_folders(as_user, fuse_for_users, source, tmp_path, target,
                                           strace):
    words = as_user.as_user()
    if as_user.user:
        os.chown(source, as_user.user.pw_uid, as_user.user.pw_gid)
    script = "mkdir -p a/b; echo same > a/b/one; cp -p a/b/one a/two; chmod 0555 a/b a ."
    subprocess.run([*words, "sh", "-c", script], cwd=source, check=True)
    backup = backups.make(as_user, tmp_path, source,
                          copy=lambda view, copy: subprocess.run(
                              [*words, "cp", "-a", f"{view}/.", copy], check=True))
    result, _ = as_user.traced("restore", backup.manifest, backup.copy, target,
                               calls="trace=syncfs",
                               flags=["-e", "inject=syncfs:signal=KILL:when=1"])
    assert stat.S_IMODE((target / "a/b").stat().st_mode) == 0o555, result
    for name in ("a/b/one", "a/two"):
        folder = (target / name).parent
        folder.chmod(0o755)
        (target / name).unlink()
        folder.chmod(0o555)
    restore(as_user, backup, target)
    assert backups.differences(source, target) == []


def test_restore_resumes_after_a_failed_write(twinfs, backed_up, target, strace):
    source, backup = backed_up
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls="trace=write",
                              flags=["-e", "inject=write:error=ENOSPC:when=20"])
    assert result.status == 1
    assert any("No space left on device" in line for line in result.errors)
    restore(twinfs, backup, target)
    assert backups.differences(source, target) == []


def test_reused_inode_number_is_not_taken_for_the_old_file(twinfs, tmp_path, target, strace):
    backup = small_backup(tmp_path)
    for number in range(4):
        trees.write(backup.copy / f"old {number}", b"old")
        os.link(backup.copy / f"old {number}", backup.copy / f"again {number}")
    numbers = {(backup.copy / f"old {number}").stat().st_ino for number in range(4)}
    twinfs.traced("restore", backup.manifest, backup.copy, target, calls="trace=linkat",
                  flags=["-e", "inject=linkat:signal=KILL:when=1"])
    kept = list((target / STATE / "links").iterdir())
    assert len(kept) == 1
    for path in backup.copy.iterdir():
        if path.name != "a":
            path.unlink()
    for number in range(4):
        trees.write(backup.copy / f"new {number}", b"new content")
        os.link(backup.copy / f"new {number}", backup.copy / f"new again {number}")
    if not numbers & {(backup.copy / f"new {number}").stat().st_ino for number in range(4)}:
        pytest.skip("the file system does not use inode numbers again so soon")
    restore(twinfs, backup, target)
    for number in range(4):
        assert (target / f"new {number}").read_bytes() == b"new content"
        assert os.path.samefile(target / f"new {number}", target / f"new again {number}")


def test_restore_of_another_manifest_is_not_resumed(twinfs, backed_up, tmp_path, target, strace):
    _, backup = backed_up
    twinfs.traced("restore", backup.manifest, backup.copy, target, calls="trace=renameat2",
                  flags=["-e", "inject=renameat2:signal=KILL:when=20"])
    before = regular_files(target)
    assert before
    other = small_backup(tmp_path)
    assert "another manifest" in str(restore(twinfs, other, target, status=1))
    assert "a different --link" in str(restore(twinfs, backup, target, "--link", status=1))
    assert regular_files(target) == before

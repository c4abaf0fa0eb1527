# SPDX-License-Identifier: MIT
"""share/twinfs/backup makes and proves a backup; scripts/restore-without-twinfs restores it without
the program."""
import os
import shutil
import subprocess

import backups
import pytest
import trees
from backups import Script
from disks import disk
from manual import ROOT
from program import is_mounted

WITHOUT = ROOT / "scripts/restore-without-twinfs"


@pytest.fixture
def script(twinfs, tmp_path):
    if not shutil.which("rsync"):
        pytest.skip("needs rsync")
    return Script(twinfs, tmp_path)


def restore_and_compare(twinfs, backup, source, target):
    backups.restore(twinfs, backup, target)
    backups.check_same(source, target)
    shutil.rmtree(target)


def test_backup_is_made_proved_and_updated(twinfs, script, everything, target):
    run = script("--new", everything, script.folder)
    assert run.stdout == b"" and b"has all" in run.stderr
    restore_and_compare(twinfs, script.backup, everything, target)
    shutil.rmtree(everything / "sizes")
    os.rename(everything / "small/backup", everything / "small/new place")
    trees.write(everything / "added", b"new content")
    script("--", everything, script.folder)
    restore_and_compare(twinfs, script.backup, everything, target)


def test_several_sources_and_hostile_names_are_backed_up(twinfs, script, tmp_path, target):
    roots = [tmp_path / name for name in ("-one", "two words\n", "b/two")]
    for root in roots:
        trees.small(root)
        trees.odd_names(root / "names")
    script("--new", "--", *roots, script.folder)
    backups.restore(twinfs, script.backup, target)
    for root in roots:
        assert backups.differences(root, target / root.name) == []


def test_view_that_is_mounted_is_used_and_stays(twinfs, script, source):
    trees.small(source)
    with twinfs.mounted(source) as view:
        script("--new", view.path, script.folder)
        assert is_mounted(view.path)
    names = {"pictures/1.jpg"}
    assert names <= {os.fsdecode(path) for path in backups.regular_files(script.backup.copy)}


def test_times_and_the_root_are_copied_as_they_are(twinfs, script, source, target):
    """rsync compares times in seconds, unless it is told otherwise."""
    trees.fill(source, {b"folder/file": b"content"})
    os.symlink("file", source / "folder/link")
    os.mkfifo(source / "folder/fifo")
    script("--new", source, script.folder)
    for path in (*source.rglob("*"), source):
        second = path.lstat().st_mtime_ns // 10**9
        os.utime(path, ns=(0, second * 10**9 + 7), follow_symlinks=False)
    source.chmod(0o711)
    os.setxattr(source, "user.root", b"value")
    (source / "folder/file").write_bytes(b"CONTENT")
    os.utime(source / "folder/file", ns=(0, (source / "folder").stat().st_mtime_ns))
    script(source, script.folder)
    restore_and_compare(twinfs, script.backup, source, target)


def test_folder_that_changes_during_the_copy_is_copied_again(twinfs, script, source, target):
    """The name that it gets for a moment changes its time, which is right in no copy before."""
    trees.fill(source, {b"a/1": b"same", b"b/2": b"same", b"c/3": b"other"})
    script.replace_tool("rsync", f"""
        test -e {source.parent}/tried || touch {source}/c/new
        for path; do
            case $path in
            */uniques/) cat "${{path%uniques/}}.twinfs/sync" >/dev/null ;;
            esac
        done
        test -e {source.parent}/tried || rm {source}/c/new
        touch {source.parent}/tried
        "$program" "$@" """)
    run = script("--new", source, script.folder)
    assert b"trying again (2 of 3)" in run.stderr
    restore_and_compare(twinfs, script.backup, source, target)


def test_disk_of_the_backup_that_rounds_times_is_used(script, source, tmp_path, loop_devices):
    trees.small(source)
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as rounding:
        script.folder = rounding
        script("--new", source, rounding)
        before = backups.regular_files(script.backup.copy)
        script(source, rounding)
        assert backups.regular_files(script.backup.copy) == before


def test_user_makes_a_backup(as_user, fuse_for_users, tmp_path, source):
    script = Script(as_user, tmp_path)
    trees.small(source)
    if as_user.user:
        for path in (source, *source.rglob("*")):
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    script("--new", source, script.folder)


def test_damaged_file_of_the_backup_is_copied_again(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    kept = script.backup.copy / "pictures/1.jpg"
    status, data = kept.stat(), bytearray(kept.read_bytes())
    data[7] ^= 1
    kept.write_bytes(data)
    os.utime(kept, ns=(status.st_mtime_ns, status.st_mtime_ns))
    run = script(source, script.folder, status=3)
    assert b"damaged" in run.stdout and b"trying again (2 of 3)" in run.stderr
    [replaced] = script.folder.glob("replaced.*")
    assert (replaced / "pictures/1.jpg").read_bytes() == data
    data[7] ^= 1
    assert kept.read_bytes() == data


def test_good_bytes_of_the_backup_outlive_a_damaged_source(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    path = source / "alone"
    status, good = path.stat(), path.read_bytes()
    path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    run = script(source, script.folder, status=3)
    [replaced] = script.folder.glob("replaced.*")
    assert os.fsencode(replaced) in run.stderr
    assert (replaced / "alone").read_bytes() == good


def test_manifest_of_the_last_backup_stays_beside_the_new_one(script, source):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    script("--new", source, script.folder)
    before = script.backup.manifest.read_bytes()
    (source / "c").unlink()
    script(source, script.folder)
    assert script.backup.manifest.read_bytes() != before
    assert (script.folder / "manifest~").read_bytes() == before


def test_source_that_changes_during_the_copy_is_copied_again(twinfs, script, source, target):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    script.replace_tool("rsync", f"""
        "$program" "$@" || exit
        test -e {source}/d || mv {source}/a {source}/d""")
    run = script("--new", source, script.folder)
    assert b"trying again (2 of 3)" in run.stderr
    backups.restore(twinfs, script.backup, target)
    assert sorted(os.listdir(target)) == ["b", "c", "d"]


def test_source_that_always_changes_ends_with_status_3(script, source):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    script.replace_tool("rsync", f"""
        "$program" "$@" || exit
        date +%N >>{source}/c""")
    run = script("--new", "--tries=2", source, script.folder, status=3)
    assert b"trying again (2 of 2)" in run.stderr
    assert run.stdout == 2 * b"content   c\n"


def test_busy_log_is_copied_once_and_named(script, source):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"log": b"lines"})
    script.replace_tool("rsync", f"""
        echo line >>{source}/log
        for path; do
            case $path in
            */uniques/) cat "${{path%uniques/}}.twinfs/sync" >/dev/null ;;
            esac
        done
        "$program" "$@" """)
    with open(source / "log", "ab"):
        run = script("--new", source, script.folder, status=3)
    assert b"trying again" not in run.stderr
    assert run.stdout == b"unproved    log\n"


def test_copy_that_lacks_a_file_is_tried_again(script, source):
    """A file that is written to while rsync opens it fails with ESTALE."""
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    script.replace_tool("rsync", f"""
        test ! -e {source.parent}/tried || exec "$program" "$@"
        "$program" --exclude=c "$@"
        touch {source.parent}/tried
        exit 23""")
    run = script("--new", source, script.folder)
    assert b"trying again (2 of 3)" in run.stderr
    assert sorted(os.listdir(script.backup.copy)) == ["a", "c"]


def test_backup_keeps_what_is_in_a_folder_that_cannot_be_read_any_more(as_user, fuse_for_users,
                                                                       tmp_path, source):
    script = Script(as_user, tmp_path)
    trees.small(source)
    for path in (source, *source.rglob("*")):
        if as_user.user:
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    script("--new", source, script.folder)
    before = {path: path.read_bytes() for path in script.folder.rglob("*") if path.is_file()}
    (source / "pictures").chmod(0)
    run = script(source, script.folder, status=3)
    (source / "pictures").chmod(0o700)
    assert b"is not replaced" in run.stderr and b"pictures" in run.stderr
    after = {path: path.read_bytes() for path in script.folder.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path in before} == before
    script(source, script.folder)


def test_failed_copy_is_no_backup(script, source):
    trees.small(source)
    script.replace_tool("rsync", "exit 11")
    assert b"incomplete" in script("--new", source, script.folder, status=1).stderr


def test_folder_that_is_no_backup_is_never_changed(script, source, tmp_path):
    """The disk of the backup is possibly not mounted, or the folder is one of the user."""
    trees.small(source)
    script(source, script.folder, status=1)
    assert os.listdir(script.folder) == []
    trees.write(script.folder / "files/mine", b"mine")
    script(source, script.folder, status=1)
    script("--new", source, script.folder, status=1)
    trees.write(script.folder / "manifest", b"mine")
    script(source, script.folder, status=1)
    script("--new", source, script.folder, status=1)
    assert (script.folder / "files/mine").read_bytes() == b"mine"
    assert (script.folder / "manifest").read_bytes() == b"mine"
    script("--new", source, tmp_path / "nowhere", status=1)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("way", ["path", "symlink", "bind mount"])
def test_backup_in_the_source_is_refused(script, source, tmp_path, way):
    trees.small(source)
    script.folder.rmdir()
    inside = source / "deep/er"
    inside.mkdir(parents=True)
    if way == "path":
        script.folder = inside
    elif way == "symlink":
        script.folder.symlink_to(inside)
    elif os.geteuid() != 0:
        pytest.skip("needs root")
    else:
        script.folder.mkdir()
        subprocess.run(["mount", "--bind", inside, script.folder], check=True)
    before = sorted(source.rglob("*"))
    run = script("--new", source, script.folder, status=2)
    if way == "bind mount":
        subprocess.run(["umount", script.folder], check=True)
    [line] = run.stderr.splitlines()
    assert b"it is in a source, as uniques/deep/er/" in line
    assert sorted(source.rglob("*")) == before


def test_backup_on_a_disk_that_is_mounted_in_the_source_is_made(script, source):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    trees.small(source)
    inside = source / "disk"
    inside.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", inside], check=True)
    try:
        script("--new", source, inside)
        assert (inside / "files/pictures/1.jpg").exists()
    finally:
        subprocess.run(["umount", inside], check=True)


def test_source_in_the_backup_is_refused(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    before = backups.regular_files(script.backup.copy)
    run = script(script.backup.copy / "pictures", script.folder, status=2)
    assert b"it is in the backup" in run.stderr
    assert backups.regular_files(script.backup.copy) == before


def test_source_in_a_view_is_refused(twinfs, script, source):
    trees.small(source)
    with twinfs.mounted(source) as view:
        run = script("--new", view.uniques, script.folder, status=1)
    assert b"is in the view at" in run.stderr


def test_unmounted_source_does_not_empty_the_backup(script, source):
    trees.small(source)
    script("--new", source, script.folder)
    before = backups.regular_files(script.backup.copy)
    shutil.rmtree(source)
    source.mkdir()
    script(source, script.folder, status=1)
    assert backups.regular_files(script.backup.copy) == before


def test_script_ends_after_the_daemon_that_follows_the_source(script, source, tmp_path):
    """The daemon is stopped during the unmount, and continues when the script waits for it."""
    trees.small(source)
    stopped = tmp_path / "stopped"
    script.replace_tool("fusermount3", f"""
        pgrep -f "$TMPDIR" | while read -r pid; do
            case $(readlink /proc/$pid/exe) in
            */twinfs) kill -STOP $pid; echo $pid >>{stopped} ;;
            esac
        done
        exec $program "$@" """)
    script.replace_tool("flock", f"""
        test ! -e {stopped} || kill -CONT $(cat {stopped})
        exec $program "$@" """)
    script("--new", source, script.folder)
    assert stopped.exists() and script.twinfs.session.processes() == []


def test_wrong_usage_has_status_2_and_help_0(script, source):
    for words in ((), (source,), ("--no", source, script.folder),
                  ("--tries=0", source, script.folder), ("--tries=x", source, script.folder)):
        script(*words, status=2)
    assert b"Exit status" in script("--help").stdout


# without the program


def restore_without(backup, target):
    subprocess.run([WITHOUT, backup.manifest, backup.copy, target], check=True)


@pytest.mark.parametrize("options", [(), ("--all",)], ids=["redundant names", "all names"])
def test_tree_is_restored_without_the_program(twinfs, everything, tmp_path, target, options):
    backup = backups.Backup(tmp_path / "manifest", tmp_path / "backup")
    backup.copy.mkdir()
    with twinfs.mounted(everything) as view:
        twinfs.ok("manifest", *options, "--output", backup.manifest, view.path)
        backups.copy_sparsely(view.uniques, backup.copy)
    restore_without(backup, target)
    found = backups.differences(everything, target)
    assert [line for line in found if "blocks" not in line] == []


def test_program_without_twinfs_is_short():
    assert len(WITHOUT.read_text().splitlines()) <= 40

# SPDX-License-Identifier: MIT
"""restore --check: a backup is compared with a manifest of all names, and nothing is written."""
import os
import random
import shutil
import signal
import stat
import subprocess

import backups
import pytest
import trees
import walk
from disks import disk


def make(twinfs, folder, *sources, copy=backups.copy_plainly):
    """A backup with a manifest of all names."""
    backup = backups.Backup(folder / "manifest", folder / "backup")
    backup.copy.mkdir()
    if twinfs.user:
        os.chown(backup.copy, twinfs.user.pw_uid, twinfs.user.pw_gid)
    with twinfs.mounted(*sources) as view:
        twinfs.ok("manifest", "--all", "--output", backup.manifest, view.path)
        copy(view.uniques, backup.copy)
        twinfs.ok("manifest", "--compare", backup.manifest, view.path)
    return backup


def check(twinfs, backup, status=3):
    """The result, and the printed lines: {(word, name as the shell reads it)}."""
    result = twinfs("restore", "--check", backup.manifest, backup.copy)
    assert result.status == status, result
    return result, {tuple(line.split(None, 1)) for line in result.out.decode().splitlines()}


@pytest.fixture
def backup(twinfs, source, tmp_path):
    trees.fill(source, {b"kept/a": b"same", b"other/b": b"same", b"alone": b"only one",
                        b"empty": b"", b"deep/er/x": b"content"})
    os.symlink("alone", source / "link")
    os.mkdir(source / "nothing")
    os.mkfifo(source / "fifo")
    return make(twinfs, tmp_path, source)


def test_whole_backup_has_no_fault(twinfs, everything, tmp_path):
    def state():
        return {(entry.path, entry.stat.st_ino, entry.stat.st_ctime_ns)
                for entry in walk.walk(backup.copy)}

    backup = make(twinfs, tmp_path, everything, copy=backups.copy_sparsely)
    before = state()
    result, found = check(twinfs, backup, 0)
    assert found == set() and b"has all" in result.error
    assert state() == before


def test_backup_of_any_tree_has_no_fault(twinfs, source, tmp_path):
    trees.mixed(source)
    backup = make(twinfs, tmp_path, source)
    assert len(backup.names) > 400
    assert check(twinfs, backup, 0)[1] == set()


def test_backup_of_several_sources_has_no_fault(twinfs, tmp_path):
    roots = [trees.small(tmp_path / name) for name in ("one", "two", "b/two")]
    backup = make(twinfs, tmp_path, *roots)
    assert check(twinfs, backup, 0)[1] == set()
    shutil.rmtree(backup.copy / "two~2/letters")
    assert ("missing", "two~2/letters") in check(twinfs, backup)[1]


def test_restored_tree_has_no_fault(twinfs, backup, target):
    backups.restore(twinfs, backup, target)
    assert check(twinfs, backups.Backup(backup.manifest, target), 0)[1] == set()


def test_user_checks_own_backup(as_user, fuse_for_users, source, tmp_path):
    trees.small(source)
    if as_user.user:
        for path in (source, *source.rglob("*")):
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    backup = make(as_user, tmp_path, source, copy=lambda view, copy: subprocess.run(
        [*as_user.as_user(), "cp", "-a", f"{view}/.", copy], check=True))
    assert check(as_user, backup, 0)[1] == set()


def swap_byte(path):
    """Changes a byte and keeps the times."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by(make):
    def replace(path):
        path.unlink()
        make(path)
    return replace


FAULTS = {
    # name: (the name in the backup, what happens to it, what is printed)
    "unique file lost": ("alone", os.unlink, {("missing", "alone")}),
    "kept copy lost": ("kept/a", os.unlink, {("missing", "kept/a"), ("missing", "other/b")}),
    "symlink lost": ("link", os.unlink, {("missing", "link")}),
    "empty folder lost": ("nothing", os.rmdir, {("missing", "nothing")}),
    "folder lost": ("deep", shutil.rmtree,
                    {("missing", "deep"), ("missing", "deep/er"), ("missing", "deep/er/x")}),
    "unique byte changed": ("alone", swap_byte, {("damaged", "alone")}),
    "kept byte changed": ("kept/a", swap_byte, {("damaged", "kept/a"), ("damaged", "other/b")}),
    "cut off": ("alone", lambda path: os.truncate(path, 3), {("damaged", "alone")}),
    "emptied": ("alone", lambda path: os.truncate(path, 0), {("damaged", "alone")}),
    "other target": ("link", replace_by(lambda path: path.symlink_to("alonE")),
                     {("damaged", "link")}),
    "other type": ("alone", replace_by(os.mkfifo), {("damaged", "alone")}),
    "symlink for a file": ("kept/a", replace_by(lambda path: path.symlink_to("../alone")),
                           {("damaged", "kept/a"), ("damaged", "other/b")}),
    "folder for a file": ("alone", replace_by(os.mkdir), {("damaged", "alone")}),
    "new file": ("new", lambda path: path.write_bytes(b""), {("surplus", "new")}),
    "new folder": ("kept/new/er", os.makedirs, {("surplus", "kept/new")}),
    "wrong copy": ("other/b", lambda path: path.write_bytes(b"SAME"), {("damaged", "other/b")}),
}


@pytest.mark.parametrize("name, spoil, printed", FAULTS.values(), ids=FAULTS)
def test_fault_is_printed(twinfs, backup, name, spoil, printed):
    spoil(backup.copy / name)
    assert check(twinfs, backup)[1] == printed


def test_right_copy_of_a_redundant_name_is_no_fault(twinfs, source, backup):
    shutil.copy2(source / "other/b", backup.copy / "other/b")
    shutil.copystat(source / "other", backup.copy / "other")
    assert check(twinfs, backup, 0)[1] == set()


def test_random_faults_are_exactly_found(twinfs, everything, tmp_path):
    backup = make(twinfs, tmp_path, everything, copy=backups.copy_sparsely)
    chosen = random.Random(7)
    files = [backup.copy / os.fsdecode(entry.path) for entry in walk.walk(backup.copy)
             if entry.kind == stat.S_IFREG and entry.stat.st_size and entry.stat.st_nlink == 1]
    lost, damaged = (set(chosen.sample(files, 20)) for _ in range(2))
    damaged -= lost
    for path in lost:
        path.unlink()
    for path in damaged:
        swap_byte(path)
    # names with the content of such a file are faulty as well
    wanted = {"missing": set(), "damaged": set()}
    for word, paths in (("missing", lost), ("damaged", damaged)):
        spoilt = {os.fsencode(path.relative_to(backup.copy)) for path in paths}
        wanted[word] |= spoilt
        wanted[word] |= {name for name, line in backup.names.items()
                         if "content" in line and backups.content_of(line) in spoilt}
    result, _ = check(twinfs, backup)
    found = {"missing": set(), "damaged": set()}
    for line in result.out.splitlines():
        word, quoted = line.split(None, 1)
        name = subprocess.run(["bash", "-c", b"printf %s " + quoted], check=True,
                              capture_output=True).stdout if quoted[:2] == b"$'" else quoted
        found[word.decode()].add(name)
    assert found == wanted


def test_hostile_names_are_printed_on_one_line(twinfs, source, tmp_path):
    name = b"new\nline \xff\x1b[31m"
    trees.fill(source, {name: b"content", b"other": b"more"})
    backup = make(twinfs, tmp_path, source)
    os.unlink(trees.join(os.fsencode(backup.copy), name))
    result, _ = check(twinfs, backup)
    assert result.out.count(b"\n") == 1 and b"\x1b" not in result.out + result.error


def test_unreadable_file_is_printed(twinfs, backup, strace):
    result, _ = twinfs.traced("restore", "--check", backup.manifest, backup.copy,
                              calls="trace=pread64", flags=[
                                  "-P", backup.copy / "alone", "-e", "inject=pread64:error=EIO"])
    assert result.status == 3, result
    assert result.out.split() == [b"unreadable", b"alone"]
    assert b"Input/output error" in result.error


def test_other_metadata_is_counted_once(twinfs, backup):
    for name in ("alone", "kept/a"):
        os.chmod(backup.copy / name, 0o600)
    os.utime(backup.copy / "empty", ns=(0, 7))
    os.setxattr(backup.copy / "alone", "user.a", b"b")
    os.utime(backup.copy / "nothing", ns=(0, 7))
    result, found = check(twinfs, backup)
    assert found == set()
    assert any("mode (2), owner or group (0), time (2), hard links (0) and extended attributes (1)"
               in line and "'alone'" in line for line in result.errors), result


def test_lost_hard_links_are_counted(twinfs, source, tmp_path):
    trees.links(source)
    backup = make(twinfs, tmp_path, source)
    assert check(twinfs, backup, 0)[1] == set()
    linked = next(path for path, line in backup.names.items() if line.get("links", 1) > 1
                  and "content" not in line and "type" not in line)
    path = backup.copy / os.fsdecode(linked)
    folder = path.parent.stat()
    shutil.copy2(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    os.utime(path.parent, ns=(0, folder.st_mtime_ns))
    result, found = check(twinfs, backup)
    assert found == set() and b"hard links (0)" not in result.error
    assert b"mode (0), owner or group (0), time (0)" in result.error


def test_contents_are_read_from_the_disk(twinfs, backup, strace):
    result, trace = twinfs.traced("restore", "--check", backup.manifest, backup.copy,
                                  calls="trace=fadvise64")
    assert result.status == 0
    assert trace.count(b"POSIX_FADV_DONTNEED") >= 3


def test_backup_is_written_to_the_disk_before_it_is_read(twinfs, backup, strace):
    _, trace = twinfs.traced("restore", "--check", backup.manifest, backup.copy,
                             calls="trace=syncfs,fadvise64")
    calls = [line.split(b"(")[0].split()[-1] for line in trace.splitlines() if b"(" in line]
    assert calls.count(b"syncfs") == 1 and calls.index(b"syncfs") < calls.index(b"fadvise64")
    result, _ = twinfs.traced("restore", "--check", backup.manifest, backup.copy,
                              calls="trace=syncfs", flags=["-e", "inject=syncfs:error=EIO"])
    assert result.status == 1 and b"cannot write the disk" in result.error


def test_time_that_a_file_system_rounds_is_no_difference(twinfs, backup, tmp_path):
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as rounding:
        backups.copy_plainly(backup.copy, rounding)
        os.rmdir(rounding / "lost+found")
        shutil.copystat(backup.copy, rounding)
        assert check(twinfs, backups.Backup(backup.manifest, rounding), 0)[1] == set()


def changed_time(path):
    """Removes the nanoseconds of the time, which is what many programs keep."""
    second = path.lstat().st_mtime_ns // 10**9
    os.utime(path, ns=(0, second * 10**9), follow_symlinks=False)


METADATA = {
    # name: (the name in the backup, what happens to it, how the difference is called)
    "time of a folder": ("deep", changed_time, "time (1)"),
    "time of a file": ("alone", changed_time, "time (1)"),
    "time of a symlink": ("link", changed_time, "time (1)"),
    "time of a fifo": ("fifo", changed_time, "time (1)"),
    "time of the root": ("", changed_time, "time (1)"),
    "mode of the root": ("", lambda path: path.chmod(0o711), "mode (1)"),
    "attribute of the root": ("", lambda path: os.setxattr(path, "user.a", b"b"),
                              "extended attributes (1)"),
    "attribute of a folder": ("deep", lambda path: os.setxattr(path, "user.a", b"b"),
                              "extended attributes (1)"),
}


@pytest.mark.parametrize("name, change, called", METADATA.values(), ids=METADATA)
def test_metadata_of_any_name_is_compared(twinfs, backup, name, change, called):
    change(backup.copy / name)
    result, found = check(twinfs, backup)
    assert found == set() and called.encode() in result.error
    assert os.fsencode(name or ".") in result.error


def test_name_without_a_hash_is_printed_and_not_proved(twinfs, source, tmp_path):
    trees.fill(source, {b"busy": b"log", b"quiet": b"file"})
    backup = backups.Backup(tmp_path / "manifest", tmp_path / "backup")
    with twinfs.mounted(source) as view, open(source / "busy", "ab", buffering=0) as writer:
        writer.write(b"line")
        assert twinfs("manifest", "--all", "-o", backup.manifest, view.path).status == 3
    shutil.copytree(source, backup.copy)
    (backup.copy / "busy").write_bytes(b"other and longer")
    result, found = check(twinfs, backup)
    assert found == {("unproved", "busy")} and b"no hash of 1 file" in result.error
    (backup.copy / "busy").unlink()
    assert check(twinfs, backup)[1] == {("missing", "busy")}


def test_manifest_of_redundant_names_is_refused(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    backup = backups.make(twinfs, tmp_path, source)
    result, found = check(twinfs, backup, 1)
    assert found == set() and b"manifest --all" in result.error


def test_damaged_manifest_is_refused_before_anything_is_printed(twinfs, backup):
    os.unlink(backup.copy / "alone")
    text = backup.manifest.read_bytes()
    backup.manifest.write_bytes(text.replace(b'"size":8', b'"size":9', 1))
    assert check(twinfs, backup, 1)[1] == set()


def test_interrupted_check_ends_by_the_signal(twinfs, backup, strace):
    result, _ = twinfs.traced("restore", "--check", backup.manifest, backup.copy,
                              calls="trace=readlinkat",
                              flags=["-e", "inject=readlinkat:signal=INT:when=1"])
    assert result.status in (-signal.SIGINT, 128 + signal.SIGINT), result


def test_wrong_usage_has_status_2(twinfs, backup, target):
    for words in ((backup.manifest,), (backup.manifest, backup.copy, target),
                  ("--only=a", backup.manifest, backup.copy),
                  ("--link", backup.manifest, backup.copy)):
        assert twinfs("restore", "--check", *words).status == 2
    assert twinfs("restore", "--check", backup.manifest, target).status == 1


# restore with a manifest of all names


def test_tree_is_restored_from_a_manifest_of_all_names(twinfs, everything, tmp_path, target):
    backup = make(twinfs, tmp_path, everything, copy=backups.copy_sparsely)
    backups.restore(twinfs, backup, target)
    backups.check_same(everything, target)


@pytest.mark.parametrize("way", [(), ("--link",)])
def test_damaged_unique_file_is_restored_and_named(twinfs, source, backup, target, way):
    swap_byte(backup.copy / "alone")
    result = backups.restore(twinfs, backup, target, *way, status=3)
    assert any("'alone'" in line and "differ" in line for line in result.errors), result
    assert (target / "alone").read_bytes() == (backup.copy / "alone").read_bytes()
    swap_byte(backup.copy / "alone")
    backups.restore(twinfs, backup, target, *way)
    assert (target / "alone").read_bytes() == b"only one"
    if not way:
        assert backups.differences(source, target) == []


def test_missing_names_are_named_and_surplus_ones_restored(twinfs, backup, target):
    (backup.copy / "alone").unlink()
    shutil.rmtree(backup.copy / "deep")
    (backup.copy / "new").write_bytes(b"new")
    result = backups.restore(twinfs, backup, target, status=3)
    for name in ("alone", "deep", "deep/er", "deep/er/x"):
        assert any(f"cannot restore '{name}' from" in line for line in result.errors), result
    assert (target / "new").read_bytes() == b"new"
    assert (target / "other/b").read_bytes() == b"same"

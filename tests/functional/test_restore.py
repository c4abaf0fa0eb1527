# SPDX-License-Identifier: MIT
"""restore: a copy of uniques/ and its manifest give the source again. Damaged files are named
and never written."""
import os
import random
import shutil
import stat
import subprocess
from pathlib import Path

import backups
import oracle
import pytest
import trees
import walk
from backups import STATE, check_same, regular_files, restore, small_backup
from disks import disk

# complete backups


def test_restored_tree_is_the_source(twinfs, everything, tmp_path, target):
    backup = backups.make(twinfs, tmp_path, everything)
    assert len(backup.names) > 200
    restore(twinfs, backup, target)
    check_same(everything, target)


def test_files_that_rsync_cannot_copy_are_restored(twinfs, source, tmp_path, target):
    trees.mixed(source)
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    restore(twinfs, backup, target)
    assert backups.differences(source, target) == []


def test_source_of_extreme_depth_is_restored_from_the_view(twinfs, source, tmp_path, target):
    trees.deep(source)
    with twinfs.mounted(source) as view:
        backup = backups.Backup(tmp_path / "manifest", view.uniques)
        backup.manifest.write_bytes(twinfs.ok("manifest", view.path).out)
        assert backup.lines[-1]["lines"] == 5
        restore(twinfs, backup, target)
    assert backups.differences(source, target) == []


def test_several_sources_are_restored_to_folders_of_the_target(twinfs, tmp_path, target):
    roots = [Path(os.fsdecode(trees.mixed(tmp_path / name))) for name in ("one", "two")]
    backup = backups.make(twinfs, tmp_path, *roots, copy=backups.copy_plainly)
    restore(twinfs, backup, target)
    assert sorted(os.listdir(target)) == ["one", "two"]
    for root in roots:
        assert backups.differences(root, target / root.name) == []


def test_updated_backup_gives_the_changed_source(twinfs, everything, tmp_path, target):
    backup = backups.make(twinfs, tmp_path, everything)
    shutil.rmtree(everything / "sizes")
    os.rename(everything / "small/backup", everything / "small/new place")
    trees.write(everything / "small/letters/b.txt", trees.content("a", 3000))
    with twinfs.mounted(everything) as view:
        backup.manifest.write_bytes(twinfs.ok("manifest", view.path).out)
        backups.rsync(view.uniques, backup.copy, "--delete", "-S")
    restore(twinfs, backup, target)
    check_same(everything, target)


def test_restore_of_a_manifest_without_names_copies(twinfs, source, tmp_path, target):
    trees.fill(source, {b"a": b"one", b"b/c": b"another"})
    restore(twinfs, backups.make(twinfs, tmp_path, source), target)
    check_same(source, target)


def test_attributes_with_names_like_those_of_a_view_are_in_a_backup(twinfs, source, tmp_path,
                                                                    target):
    trees.fill(source, {b"alone": b"one", b"pair": b"another", b"twin": b"another"})
    os.mkdir(source / "folder")
    for path in ("alone", "pair", "twin", "folder", "."):
        os.setxattr(source / path, "user.twinfs.mine", os.fsencode(path))
        os.setxattr(source / path, "user.twinfs.path2", b"")
    restore(twinfs, backups.make(twinfs, tmp_path, source), target)
    check_same(source, target)
    assert os.getxattr(target / "twin", "user.twinfs.mine") == b"twin"


def test_plain_user_restores_own_files(as_user, fuse_for_users, source, tmp_path, target):
    as_user_words = as_user.as_user()
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import trees; "
              "from pathlib import Path; root = Path(sys.argv[2]); trees.small(root / 'small'); "
              "trees.metadata(root / 'metadata'); trees.links(root / 'links')")
    if as_user.user:
        os.chown(source, as_user.user.pw_uid, as_user.user.pw_gid)
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(trees.__file__, tests)
    subprocess.run([*as_user_words, "/usr/bin/python3", "-B", "-c", script, tests, source],
                   check=True)
    locked = source / "small/letters"
    for path in (locked / "again", locked):
        path.chmod(0o555)
    backup = backups.make(as_user, tmp_path, source,
                          copy=lambda view, copy: subprocess.run(
                              [*as_user_words, "cp", "-a", f"{view}/.", copy], check=True))
    restore(as_user, backup, target)
    assert backups.differences(source, target) == []


def test_owners_that_a_user_cannot_set_are_counted(as_user, tmp_path, target, root_only):
    backup = small_backup(tmp_path, copies=(b"b", b"c"), mode="4755")
    for path in (backup.manifest, backup.copy, backup.copy / "a"):
        os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid)
    result = restore(as_user, backup, target, status=3)
    assert len([line for line in result.errors if "owner" in line]) == 1
    assert any("2 names lack the owner" in line for line in result.errors)
    assert stat.S_IMODE((target / "b").stat().st_mode) == 0o755


def test_folder_that_a_user_cannot_search_is_restored(as_user, tmp_path, target):
    backup = small_backup(tmp_path, copies=())
    (backup.copy / "empty").mkdir()
    for path in (backup.manifest, *backup.copy.rglob("*"), backup.copy):
        if os.geteuid() == 0:
            os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid)
    (backup.copy / "empty").chmod(0o444)
    restore(as_user, backup, target)
    assert stat.S_IMODE((target / "empty").stat().st_mode) == 0o444


# links


def test_with_link_files_with_equal_metadata_are_linked(twinfs, source, tmp_path, target):
    trees.small(source)
    for folder, _, files in os.walk(source):
        for file in files:
            if not os.path.islink(os.path.join(folder, file)):
                os.utime(os.path.join(folder, file), ns=(7, 7))
    backup = backups.make(twinfs, tmp_path, source)
    result = restore(twinfs, backup, target, "--link")
    assert any(", 0 B copied" in line for line in result.errors)
    for path in regular_files(source):
        line = backup.names.get(path)
        content = backups.content_of(line) if line else path
        assert os.path.samefile(trees.join(target, path), trees.join(backup.copy, content))


def test_with_link_files_with_other_metadata_are_copied(twinfs, everything, tmp_path, target):
    backup = backups.make(twinfs, tmp_path, everything)
    restore(twinfs, backup, target, "--link")
    found = backups.differences(everything, target)
    assert [line for line in found if not line.startswith("hard links differ")] == []
    linked = [path for path, line in backup.names.items()
              if os.path.samefile(trees.join(target, path),
                                  trees.join(backup.copy, backups.content_of(line)))]
    assert linked
    for path in linked:
        one, other = (os.lstat(trees.join(root, path)) for root in (everything, target))
        assert (one.st_mode, one.st_mtime_ns) == (other.st_mode, other.st_mtime_ns)
    assert b"metadata/xattrs/file" not in linked
    assert not any(path.startswith(b"metadata/mode copies") for path in linked)


def test_with_link_content_is_still_checked(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    trees.write(backup.copy / "a", b"BYTES")
    os.utime(backup.copy / "a", ns=(7 * 10**9 + 5, 7 * 10**9 + 5))
    result = restore(twinfs, backup, target, "--link", status=3)
    assert "bytes in the backup differ from the manifest" in str(result)
    assert not (target / "b").exists()


def test_link_between_file_systems_is_refused(twinfs, tmp_path, target, root_only):
    backup = small_backup(tmp_path)
    target.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", target], check=True)
    try:
        result = restore(twinfs, backup, target, "--link", status=1)
        assert "different file systems" in str(result)
        assert os.listdir(target) == []
    finally:
        subprocess.run(["umount", target], check=True)


@pytest.mark.parametrize("size, status", [(100, 0), (20_000, 3)])
def test_attribute_too_large_for_the_target_is_counted(twinfs, source, tmp_path, size, status):
    """Another file system may hold larger attributes than the target."""
    for name in "ab":
        (source / name).write_bytes(b"same")
        os.setxattr(source / name, "user.small", b"value")
    with disk("xfs", tmp_path) as other, disk("ext4", tmp_path) as target:
        (target / "lost+found").rmdir()
        backup = backups.make(twinfs, tmp_path, source)
        kept = shutil.copytree(backup.copy, other / "copy")
        os.setxattr(kept / "a", "user.large", bytes(size))
        result = restore(twinfs, backups.Backup(backup.manifest, kept), target, status=status)
        assert ("kind or size" in result.error.decode()) == (status == 3)
        for name in "ab":
            assert (target / name).read_bytes() == b"same"
            assert os.getxattr(target / name, "user.small") == b"value"
        assert not (target / STATE).exists()


def reflinks_work(folder):
    return subprocess.run(["cp", "--reflink=always", folder / "manifest", folder / "probe"],
                          check=False, capture_output=True).returncode == 0


def test_reflink_shares_blocks_or_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    if reflinks_work(tmp_path):
        restore(twinfs, backup, target, "--reflink")
        assert (target / "b").read_bytes() == b"bytes"
        return
    result = restore(twinfs, backup, target, "--reflink", status=1)
    assert "cannot share blocks" in str(result)
    assert str(target) in str(result)
    restore(twinfs, backup, target)
    assert (target / "b").read_bytes() == b"bytes"


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_reflinked_tree_is_the_source(twinfs, source, tmp_path, loop_devices, kind):
    if not shutil.which(f"mkfs.{kind}"):
        pytest.skip(f"needs mkfs.{kind}")
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(1 << 29)
    subprocess.run([f"mkfs.{kind}", "-q", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, disk], check=False).returncode != 0:
        pytest.skip(f"cannot mount {kind}")
    try:
        trees.mixed(source)
        os.unlink(source / "links/symlink long")  # too long for xfs
        backup = backups.make(twinfs, disk, source, copy=backups.copy_plainly)
        result = restore(twinfs, backup, disk / "target", "--reflink")
        assert any(", 0 B copied" in line for line in result.errors)
        found = backups.differences(source, disk / "target")
        assert [line for line in found if "blocks" not in line] == []
    finally:
        subprocess.run(["umount", disk], check=True)


# a source that changed between the manifest and the copy


def change(source, seed):
    """Removes, rewrites, renames and copies files at random."""
    chosen = random.Random(seed)
    for number in range(30):
        files = sorted(source / os.fsdecode(path) for path in regular_files(source))
        path, other = chosen.choice(files), chosen.choice(files)
        act = chosen.randrange(4)
        if act == 0:
            path.unlink()
        elif act == 1:
            path.write_bytes(trees.content((seed, number), chosen.randrange(1, 4000)))
        elif act == 2:
            path.rename(path.with_name(f"renamed {number}"))
        else:
            shutil.copy(path, other.with_name(f"copied {number}"))


@pytest.mark.parametrize("seed", range(4))
def test_mixed_backup_restores_nothing_wrong_and_names_missing_files(twinfs, source, tmp_path,
                                                                     target, seed):
    trees.small(source / "small")
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    backup = backups.Backup(tmp_path / "manifest", tmp_path / "backup")
    with twinfs.mounted(source) as view:
        backup.manifest.write_bytes(twinfs.ok("manifest", view.path).out)
        change(source, seed)
        view.sync()
        backups.rsync(view.uniques, backup.copy)
        assert twinfs.ok("manifest", view.path).out != backup.manifest.read_bytes()
    result = restore(twinfs, backup, target, status=3)
    copied = {entry.path for entry in walk.walk(backup.copy)}
    for path in copied:
        assert walk.digest(os.fsencode(target), path) == walk.digest(
            os.fsencode(backup.copy), path)
    for path, line in backup.names.items():
        named = any(f"cannot restore '{path.decode()}' from" in said for said in result.errors)
        there = os.path.lexists(trees.join(target, path))
        right = there and oracle.hashes([trees.join(target, path)]) == [line["hash"]]
        assert named != right, path
        assert not there or right or path in copied, path
    listed = {entry.path for entry in walk.walk(target)
              if not entry.path.startswith(STATE.encode())}
    assert listed <= copied | backup.names.keys()


# damaged


def test_changed_byte_is_found_and_not_restored_as_a_copy(twinfs, source, tmp_path, target):
    trees.small(source)
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    kept = backup.copy / "pictures/1.jpg"
    status = kept.stat()
    data = bytearray(kept.read_bytes())
    data[40000] ^= 1
    kept.write_bytes(data)
    os.utime(kept, ns=(status.st_mtime_ns, status.st_mtime_ns))
    result = restore(twinfs, backup, target, status=3)
    bad = [path for path, line in backup.names.items()
           if backups.content_of(line) == b"pictures/1.jpg"]
    assert len(bad) == 2
    for path in bad:
        assert not os.path.lexists(trees.join(target, path))
        assert any(path.decode() in line and "differ from" in line and "line " in line
                   for line in result.errors)
    wrong = {line.split("'")[1] for line in backups.differences(source, target)
             if line.startswith("b'") and STATE not in line}
    assert wrong - {""} == {"pictures/1.jpg", *(path.decode() for path in bad)}
    # with the right byte again, the same command completes the restore
    data[40000] ^= 1
    kept.write_bytes(data)
    os.utime(kept, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert len(regular_files(target)) > 3
    restore(twinfs, backup, target)
    check_same(source, target)


def test_missing_content_is_named_and_the_rest_restored(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"c"))
    backups.write_manifest(backup.manifest, [
        backups.name("b", "gone", b"bytes"), backups.name("c", "a", b"bytes")])
    result = restore(twinfs, backup, target, status=3)
    assert any("line 2: cannot restore 'b' from 'gone'" in line
               for line in result.errors)
    assert not (target / "b").exists()
    assert (target / "c").read_bytes() == b"bytes"


def test_content_of_another_type_or_size_is_named(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    (backup.copy / "folder").mkdir()
    os.mkfifo(backup.copy / "fifo")
    trees.write(backup.copy / "longer", b"more bytes")
    backups.write_manifest(backup.manifest, [
        backups.name(f"to {name}", name, b"bytes") for name in ("fifo", "folder", "longer")])
    result = restore(twinfs, backup, target, status=3)
    assert len([line for line in result.errors if "has another size or type" in line]) == 3
    assert not [name for name in os.listdir(target) if name.startswith("to ")]


def test_name_that_the_backup_itself_has_is_not_replaced(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"c"))
    trees.write(backup.copy / "b", b"newer")
    trees.write(backup.copy / "c", b"bytes")
    result = restore(twinfs, backup, target, status=3)
    assert (target / "b").read_bytes() == b"newer"
    assert (target / "c").read_bytes() == b"bytes"
    assert len([line for line in result.errors if "line " in line]) == 1
    assert any("line 2: " in line and "itself" in line for line in result.errors)


def test_name_without_its_folder_is_named(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"nowhere/b",))
    result = restore(twinfs, backup, target, status=3)
    assert any("its directory is not in the backup" in line for line in result.errors)


def test_lines_with_one_inode_and_different_contents_are_two_files(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    trees.write(backup.copy / "other", b"OTHER")
    both = {"inode": 7, "links": 3}
    backups.write_manifest(backup.manifest, [
        backups.name("b", "a", b"bytes", **both), backups.name("c", "other", b"OTHER", **both),
        backups.name("d", "a", b"bytes", **both)])
    restore(twinfs, backup, target)
    assert (target / "c").read_bytes() == b"OTHER"
    assert (target / "b").read_bytes() == b"bytes"
    assert os.path.samefile(target / "b", target / "d")
    assert not os.path.samefile(target / "b", target / "c")


# bad manifests


def test_truncated_manifest_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"c"))
    text = backup.manifest.read_bytes()
    ends = [0, 1, len(text) - 1] + [at + 1 for at in range(len(text) - 1) if text[at] == 10]
    for end in ends:
        backup.manifest.write_bytes(text[:end])
        result = restore(twinfs, backup, target, status=1)
        assert "the manifest" in result.errors[0] and "line" in result.errors[0]
        assert not target.exists()


def test_changed_manifest_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"c"))
    text = backup.manifest.read_bytes()
    backup.manifest.write_bytes(text.replace(b'"0644"', b'"4777"', 1))
    assert "its hash is wrong" in str(restore(twinfs, backup, target, status=1))
    backups.write_manifest(backup.manifest, [backups.name("b", "a", b"bytes")], lines=2)
    assert "number of lines" in str(restore(twinfs, backup, target, status=1))
    assert not target.exists()


@pytest.mark.parametrize("path", [
    "../b", "/b", "b/", "b//c", "./b", "b/../c", "b/..", "", ".", "..", "b\0c", "x" * 256,
    STATE, STATE + "/state"])
def test_path_that_leads_elsewhere_is_refused(twinfs, tmp_path, target, path):
    backup = small_backup(tmp_path)
    backups.write_manifest(backup.manifest, [backups.name("a0", "a", b"bytes"),
                                             backups.name(path, "a", b"bytes")])
    result = restore(twinfs, backup, target, status=1)
    assert "line 3 of the manifest" in str(result)
    assert not target.exists()


@pytest.mark.parametrize("path", ["../manifest", "/etc/passwd", "", "b\0c"])
def test_content_path_that_leads_elsewhere_is_refused(twinfs, tmp_path, target, path):
    backup = small_backup(tmp_path)
    backups.write_manifest(backup.manifest, [backups.name("b", path, b"bytes")])
    assert "line 2 of the manifest" in str(restore(twinfs, backup, target, status=1))
    assert not target.exists()


@pytest.mark.parametrize("paths", [("b", "b"), ("c", "b"), ("b-", "b/c")])
def test_names_twice_or_out_of_order_are_refused(twinfs, tmp_path, target, paths):
    backup = small_backup(tmp_path)
    backups.write_manifest(backup.manifest, [backups.name(path, "a", b"bytes")
                                             for path in paths])
    assert "line 3 of the manifest" in str(restore(twinfs, backup, target, status=1))
    assert not target.exists()


def test_symlinks_in_paths_are_not_followed(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    outside = tmp_path / "outside"
    trees.write(outside / "secret", b"bytes")
    os.symlink(outside, backup.copy / "link")
    os.symlink("a", backup.copy / "to a")
    backups.write_manifest(backup.manifest, [
        backups.name("b", "link/secret", b"bytes"), backups.name("c", "to a", b"bytes"),
        backups.name("link/planted", "a", b"bytes")])
    result = restore(twinfs, backup, target, status=3)
    assert len([line for line in result.errors if "a symbolic link, or" in line]) == 3
    assert os.listdir(outside) == ["secret"]
    assert sorted(os.listdir(target)) == [STATE, "a", "link", "to a"]


def test_any_bytes_in_a_message_are_quoted(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    backups.write_manifest(backup.manifest, [backups.name("\x1b[31m\n", "gone\x07", b"bytes")])
    result = restore(twinfs, backup, target, status=3)
    assert b"\x1b" not in result.error and b"\x07" not in result.error


# wrong folders


def test_target_with_something_in_it_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    trees.write(target / "mine", b"mine")
    result = restore(twinfs, backup, target, status=1)
    assert "not empty" in str(result)
    assert os.listdir(target) == ["mine"]


def test_nested_target_and_backup_are_refused(twinfs, tmp_path):
    backup = small_backup(tmp_path)
    (backup.copy / "inside").mkdir()
    (tmp_path / "around/backup").mkdir(parents=True)
    nested = backups.Backup(backup.manifest, tmp_path / "around/backup")
    for which, target in ((backup, backup.copy), (backup, backup.copy / "inside"),
                          (nested, tmp_path / "around")):
        result = restore(twinfs, which, target, status=1)
        assert "give another target" in str(result)
    assert sorted(os.listdir(backup.copy)) == ["a", "inside"]


def test_backup_that_is_an_unfinished_target_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"missing/c"))
    restore(twinfs, backup, target, status=3)
    assert (target / STATE).exists()
    again = backups.Backup(backup.manifest, target)
    assert "unfinished" in str(restore(twinfs, again, tmp_path / "again", status=1))
    assert not list((tmp_path / "again").iterdir())


def test_source_with_the_own_names_of_restore_is_restored(twinfs, source, tmp_path, target, strace):
    """The source was the target of an unfinished restore, and has more such names."""
    one = small_backup(tmp_path, copies=(b"b", b"missing/c"))
    restore(twinfs, one, source, status=3)
    shutil.rmtree(one.copy)
    shutil.rmtree(source / STATE / "links")  # a folder that restore still needs is no content
    trees.fill(source, {f"{STATE}~2/x".encode(): b"bytes", f"{STATE}~4".encode(): b"bytes",
                        f"{STATE}~04".encode(): b"bytes", f"{STATE}/y".encode(): b"bytes"})
    backup = backups.make(twinfs, tmp_path, source)
    result, _ = twinfs.traced("restore", backup.manifest, backup.copy, target,
                              calls="trace=renameat2",
                              flags=["-e", "inject=renameat2:signal=KILL:when=4"])
    assert result.status not in (0, 1, 3)
    assert (target / f"{STATE}~3/state").exists()
    result = restore(twinfs, backup, target)
    assert "of another restore" in str(result)
    assert "resuming the interrupted restore" in str(result)
    check_same(source, target)


def test_symlink_in_place_of_the_state_folder_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    target.mkdir()
    os.symlink(outside, target / STATE)
    restore(twinfs, backup, target, status=1)
    assert os.listdir(outside) == []


def test_missing_operand_fails_with_one_line(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    for words in (("nowhere", backup.copy, target), (backup.manifest, tmp_path / "no", target),
                  (backup.manifest, backup.copy, tmp_path / "no/target"),
                  (backup.copy, backup.copy, target), ("/dev/null", backup.copy, target)):
        result = twinfs("restore", *words)
        assert result.status == 1 and len(result.errors) == 1, result


def test_wrong_usage_has_status_2(twinfs):
    assert twinfs("restore").status == 2
    assert twinfs("restore", "a", "b").status == 2
    assert twinfs("restore", "--link", "--reflink", "a", "b", "c").status == 2


def test_default_acl_of_the_target_is_not_inherited(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    (backup.copy / "folder").mkdir(mode=0o755)
    target.mkdir()
    subprocess.run(["setfacl", "-d", "-m", "u:1:rwx", target], check=True)
    restore(twinfs, backup, target)
    for name in ("a", "b", "folder"):
        assert [key for key in os.listxattr(target / name) if "acl" in key] == []


def test_quiet_prints_nothing_and_progress_is_shown(twinfs, tmp_path):
    backup = small_backup(tmp_path)
    assert restore(twinfs, backup, tmp_path / "one", "--quiet").error == b""
    result = restore(twinfs, backup, tmp_path / "two", "--progress=always")
    assert b"restoring copies" in result.error

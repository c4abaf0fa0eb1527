# SPDX-License-Identifier: MIT
"""restore --only: some names and folders of a backup."""
import os

import backups
import trees
import walk
from backups import restore, small_backup


def paths_below(root):
    return {os.fsdecode(entry.path) for entry in walk.walk(root, xattrs=False)} - {""}


def test_only_the_given_names_are_restored(twinfs, everything, tmp_path, target):
    backup = backups.make(twinfs, tmp_path, everything)
    redundant = next(path for path in backup.names if path.startswith(b"small/"))
    chosen = [os.fsdecode(redundant), "sizes", "links/"]
    restore(twinfs, backup, target, *(f"--only={path}" for path in chosen))
    wanted = {path for path in paths_below(everything) if any(
        (path + "/").startswith(part.rstrip("/") + "/") or part.startswith(path + "/")
        for part in chosen)}
    assert paths_below(target) == wanted and len(wanted) > 20
    found = backups.differences(everything, target)
    assert [line for line in found if not line.endswith("is only in one") and
            not line.startswith("hard links differ")] == []


def test_names_of_one_inode_stay_linked_among_the_given_ones(twinfs, source, tmp_path, target):
    trees.fill(source, {b"a": b"same", b"kept": b"same", b"x": b"other"})
    for name in ("b", "c/d"):
        (source / name).parent.mkdir(exist_ok=True)
        os.link(source / "kept", source / name)
        os.link(source / "x", source / f"{name} x")
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    restore(twinfs, backup, target, "--only=b", "--only=c", "--only=b x")
    assert sorted(paths_below(target)) == ["b", "b x", "c", "c/d", "c/d x"]
    assert os.path.samefile(target / "b", target / "c/d")
    assert os.path.samefile(target / "b x", target / "c/d x")


def test_any_bytes_are_a_name_to_restore(twinfs, source, tmp_path, target):
    name = b"new\nline \xff"
    trees.fill(source, {name: b"content", b"twin": b"content", b"other": b"more"})
    backup = backups.make(twinfs, tmp_path, source, copy=backups.copy_plainly)
    restore(twinfs, backup, target, b"--only=" + name)
    assert os.listdir(os.fsencode(target)) == [name]


def test_name_that_does_not_exist_is_refused(twinfs, tmp_path, target):
    backup = small_backup(tmp_path)
    result = restore(twinfs, backup, target, "--only=a", "--only=nowhere/x", status=1)
    assert "'nowhere/x'" in str(result) and not target.exists()
    for path in ("", "/", "/a", "../a", "a/../b"):
        assert twinfs("restore", f"--only={path}", backup.manifest, backup.copy,
                      target).status == 2
    assert not target.exists()


def test_restore_of_other_names_is_not_resumed(twinfs, tmp_path, target):
    backup = small_backup(tmp_path, copies=(b"b", b"missing/c"))
    restore(twinfs, backup, target, "--only=a", "--only=missing", status=3)
    assert "--only" in str(restore(twinfs, backup, target, status=1))
    assert "--only" in str(restore(twinfs, backup, target, "--only=a", status=1))
    (backup.copy / "missing").mkdir()
    restore(twinfs, backup, target, "--only=a", "--only=missing")
    assert paths_below(target) == {"a", "missing", "missing/c"}

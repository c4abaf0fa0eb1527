# SPDX-License-Identifier: MIT
"""What remove takes, undo brings back: inode flags. It takes no subvolume, and a file system that
is gone does not hold the files for ever."""
import os
import shutil
import subprocess

import pytest
import trees
from disks import bound, disk
from test_act import copies
from test_act_log import EACH_KIND, act_words
from test_undo import undone


def flags(path):
    """The letters of lsattr(1) that a user sets."""
    words = subprocess.run(["lsattr", "-d", path], check=True, capture_output=True,
                           text=True).stdout.split()
    return set(words[0]) & set("dACScmD")


def set_flags(letters, *paths):
    subprocess.run(["chattr", f"+{letters}", *paths], check=True)


@pytest.fixture(params=[("ext4", "dA"), ("btrfs", "dC"), ("btrfs", "c"), ("xfs", "dA")],
                ids=lambda kind: "-".join(kind))
def flagged(request, tmp_path):
    """The root of a file system, and the letters of flags that it has."""
    kind, letters = request.param
    with disk(kind, tmp_path) as root:
        yield root, letters


@EACH_KIND
def test_inode_flags_return(twinfs, tmp_path, flagged, kind):
    root, letters = flagged
    source, moved = root / "source", root / "moved"
    for folder in (source, moved):
        folder.mkdir()
    kept, copy, plain = copies(source)
    data = copy.read_bytes()
    copy.unlink()
    copy.touch()
    set_flags(letters, copy)
    copy.write_bytes(data)
    os.utime(copy, ns=(5, 3 * 10**18))
    # the flag c of btrfs is an extended attribute, too
    words = act_words(kind, source, moved) + (["--force-metadata"] if "link" in kind else [])
    twinfs.ok(*words, "--yes", "--keep=path:copy 0")
    assert undone(twinfs.ok("undo", "--yes")) == 2
    assert flags(copy) == set(letters) and flags(plain) == flags(kept) == set()
    assert copy.stat().st_mtime_ns == 3 * 10**18 and copy.read_bytes() == data


def test_flags_of_a_removed_folder_return(twinfs, tmp_path, flagged):
    root, letters = flagged
    for folder in ("one", "two"):
        (root / "source" / folder / "sub").mkdir(parents=True)
    set_flags(letters, root / "source/two", root / "source/two/sub")
    for folder in ("one", "two"):
        trees.write(root / "source" / folder / "sub/file", b"content")
        trees.write(root / "source" / folder / "other", b"other")
    paths = [root / "source/two" / name for name in ("", "sub", "sub/file", "other")]
    before = [flags(path) for path in paths]
    assert before[0] == set(letters)
    twinfs.ok("remove", "--folders", "--yes", root / "source")
    assert not paths[0].exists()
    twinfs.ok("undo", "--yes")
    assert [flags(path) for path in paths] == before


def test_flag_that_the_file_system_refuses_is_named(twinfs, source, tmp_path):
    """The flag is of btrfs, and the files return to an ext4."""
    inner = source / "disk"
    with disk("btrfs", tmp_path) as root, bound(root, inner):
        _, copy = copies(inner, 2)
        data = copy.read_bytes()
        copy.unlink()
        copy.touch()
        set_flags("C", copy)
        copy.write_bytes(data)
        twinfs.ok("remove", "--yes", "--cross-file-systems", "--keep=path:copy 0", source)
        shutil.copy(inner / "copy 0", tmp_path / "kept")
    (inner / "copy 0").write_bytes((tmp_path / "kept").read_bytes())
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"--any-file-system" in result.error and not copy.exists()
    result = twinfs("undo", "--yes", "--any-file-system")
    assert result.status == 3 and b"flags" in result.error and os.fsencode(copy) in result.error
    assert copy.read_bytes() == data
    assert b"undone already" in twinfs.ok("undo", "--yes").error


# ---- subvolumes ----


@pytest.mark.parametrize("where", ["itself", "inside"])
def test_subvolume_is_not_removed_as_a_folder(twinfs, tmp_path, where):
    with disk("btrfs", tmp_path) as root:
        source = root / "source"
        source.mkdir()
        for name in ("one", "two"):
            folder = source / name
            if where == "inside":
                folder.mkdir()
                folder /= "inside"
            subprocess.run(["btrfs", "-q", "subvolume", "create", folder], check=True)
            trees.write(folder / "file", b"content")
        before = {path: path.stat().st_ino for path in source.rglob("*")}
        words = ["remove", "--folders", "--cross-file-systems", source]
        trial = twinfs(*words, "--dry-run")
        assert b"is a subvolume" in trial.error, trial
        result = twinfs(*words, "--yes")
        assert result.status == 3 and b"is a subvolume" in result.error
        assert {path: path.stat().st_ino for path in source.rglob("*")} == before
        twinfs.ok("list", "--cross-file-systems", source)

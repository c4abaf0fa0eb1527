# SPDX-License-Identifier: MIT
"""Files of twinfs itself are no content: indexes, promises, logs, and files during an act. A copy
that the user made of them is."""
import contextlib
import os
import shutil
import subprocess

import oracle
import pytest
import trees
from disks import disk
from processes import TIMEOUT, until
from terminal import Terminal

END_OF_INPUT = b"\x04"  # the character VEOF, termios(3)
PRIVATE = ".twinfs~"


def below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def indexed(twinfs, *words, status=0):
    """The paths of all files that `export` knows."""
    result = twinfs("list", "--singles", "--format=null", *words)
    assert result.status == status, result
    copies = twinfs("list", "--format=null", *words)
    return {os.fsdecode(path) for path in (result.out + copies.out).split(b"\0") if path}


def private_files(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(PRIVATE)]


@pytest.fixture
def state(twinfs, tmp_path, private_state):
    """The state folder of this user, in the folder `home`, with two indexes and equal files."""
    if os.geteuid() == 0:
        home, found = tmp_path / "var", tmp_path / "var/twinfs"
    else:
        home, found = twinfs.home, twinfs.home / "state/twinfs"
    for name in ("one", "two"):
        trees.small(tmp_path / name)
        twinfs.ok("scan", tmp_path / name, index=False)
    trees.fill(home, {b"a": b"same", b"b": b"same"})
    return home, found


def test_state_folder_in_a_source_is_left_out_and_stays(twinfs, state, tmp_path):
    home, folder = state
    before = below(folder)
    assert len(before) > 10
    twinfs.ok("scan", home, index=False)
    listed = indexed(twinfs, home)
    assert {os.path.basename(path) for path in listed} == {"a", "b"}
    twinfs.ok("manifest", f"--output={tmp_path}/manifest", home)
    assert b"next-id" not in (tmp_path / "manifest").read_bytes()
    with twinfs.mounted(home) as view:
        assert not (view.uniques / "twinfs").exists() or not os.listdir(view.uniques / "twinfs")
        twinfs.ok("scan", tmp_path / "one", index=False)  # the daemon follows the changes
        assert view.sync() is not None
        assert {path.name for path in view.uniques.rglob("*") if path.is_file()} == {"a"}
    twinfs.ok("remove", "--yes", home)
    after = below(folder)
    assert after.keys() >= before.keys()
    assert twinfs("scan", folder, index=False).status == 1


def test_state_folder_is_left_out_below_a_bind_mount_and_by_hard_links(twinfs, state, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    home, folder = state
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    index = next(path for path in folder.iterdir() if path.name.startswith("one"))
    os.link(index / "data.mdb", source / "linked")
    with contextlib.ExitStack() as ending:
        for name, bound in (("all", folder), ("one", index)):
            (source / name).mkdir()
            subprocess.run(["mount", "--bind", bound, source / name], check=True)
            ending.callback(subprocess.run, ["umount", source / name], check=True)
        listed = indexed(twinfs, "--cross-file-systems", source)
    assert listed == {f"{source}/a", f"{source}/b"}


def test_file_with_the_inode_number_of_a_removed_state_file_is_content(twinfs, state, source):
    """A scan replaces files of its index, so their inode numbers become free."""
    _, folder = state
    inner = next(path for path in folder.iterdir() if path.is_dir())
    old = [inner / f"old {number}" for number in range(8)]
    for path in old:
        trees.write(path, b"old")
    numbers = {path.stat().st_ino for path in old}
    with twinfs.mounted(source) as view:
        for path in old:
            path.unlink()
        found = {f"{number}" for number in range(16)}
        for name in found:
            trees.write(source / name, os.fsencode(name))
            os.link(source / name, source / f"{name} link")
        reused = numbers & {(source / name).stat().st_ino for name in found}
        if not reused:
            pytest.skip("the file system does not use inode numbers again so soon")
        view.sync()
        assert set(os.listdir(view.uniques)) == found | {f"{name} link" for name in found}


def test_folder_with_the_inode_number_of_a_removed_index_is_content(twinfs, tmp_path):
    """Without times of birth, only the place of an inode tells that it is still the same."""
    with disk("ext4 of seconds", tmp_path, 64 << 20) as root:
        source, index = root / "source", root / "index"
        source.mkdir()
        other = twinfs.with_index(index)
        other.ok("scan", source)
        old = [index / f"old {number}" for number in range(8)]
        for path in old:
            path.mkdir()
        numbers = {path.stat().st_ino for path in old}
        with other.mounted(source) as view:
            for path in old:
                path.rmdir()
            names = {f"{number}" for number in range(12)}
            for name in names:
                trees.write(source / name / "file", os.fsencode(name))
            reused = numbers & {(source / name).stat().st_ino for name in names}
            assert reused
            view.sync()
            assert {path.parent.name for path in view.uniques.rglob("file")} == names
        assert len(indexed(other, source)) == len(names)


def test_state_folder_that_is_made_later_is_left_out(twinfs, tmp_path, private_state):
    home = tmp_path / "var" if os.geteuid() == 0 else twinfs.home
    for folder in (home, tmp_path / "one"):
        trees.fill(folder, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(home) as view:
        twinfs.ok("remove", "--yes", tmp_path / "one", index=False)
        assert [path for path in home.rglob("*") if path.name == ".acts"]
        view.sync()
        assert {path.name for path in view.uniques.rglob("*") if path.is_file()} == {"a"}


def test_index_of_another_place_is_left_out_and_a_copy_of_it_is_content(twinfs, source, tmp_path):
    trees.small(tmp_path / "one")
    live = twinfs.with_index(source / "live")
    live.ok("scan", tmp_path / "one")
    shutil.copytree(source / "live", source / "copy")
    (source / "live/mine").write_bytes(b"not of twinfs")
    listed = indexed(twinfs, source)
    assert {path for path in listed if "/live/" in path} == {f"{source}/live/mine"}
    assert f"{source}/copy/data.mdb" in listed
    before = below(source)
    with twinfs.mounted(source) as view:
        live.ok("scan", tmp_path / "one")
        assert view.sync() is not None
        assert {path.name for path in (view.uniques / "live").iterdir()} == {"mine"}
    twinfs.ok("remove", "--yes", source)
    assert below(source).keys() >= {path for path in before if "copy" not in path.parts}
    live.ok("scan", tmp_path / "one")


def test_live_file_that_an_index_knows_stays(twinfs, source, tmp_path):
    """An index became live after the files were chosen."""
    trees.small(tmp_path / "one")
    twinfs.with_index(tmp_path / "made").ok("scan", tmp_path / "one")
    for name in ("kept", "later"):
        # without this file, it is no database that stays whole
        shutil.copytree(tmp_path / "made", source / name,
                        ignore=shutil.ignore_patterns("lock.mdb"))
    with contextlib.closing(Terminal(80)) as seen, seen.run(
            twinfs.command("remove", "--protect", source / "kept", source), twinfs.environment,
            stdin=seen.theirs, stdout=seen.theirs) as process:
        asked = until(lambda: "[y/N" in seen.written or process.poll() is not None, 10)
        before = below(source / "later")
        later = twinfs.with_index(source / "later")("scan", tmp_path / "one")
        os.write(seen.ours, b"y\n" + END_OF_INPUT)
        process.wait(TIMEOUT)
    assert asked and later.status == 0 and len(before) > 3, (later, seen.written)
    assert "belongs to twinfs" in seen.written
    assert below(source / "later").keys() >= before.keys()
    twinfs.with_index(source / "later").ok("list", tmp_path / "one")


def test_copy_of_an_index_that_becomes_live_leaves_the_view(twinfs, source, tmp_path):
    trees.fill(tmp_path / "one", {b"a": b"same", b"b": b"same"})
    twinfs.with_index(tmp_path / "made").ok("scan", tmp_path / "one")
    shutil.copytree(tmp_path / "made", source / "copy")
    (source / "copy/mine").write_bytes(b"mine")
    with twinfs.mounted(source) as view:
        assert view.sync() is not None
        assert "boot" in os.listdir(view.uniques / "copy")
        twinfs.with_index(source / "copy").ok("list", tmp_path / "one")
        assert view.sync() is not None
        assert os.listdir(view.uniques / "copy") == ["mine"]
        (source / "copy/.twinfs-own").unlink()
        assert view.sync() is not None
        assert "boot" in os.listdir(view.uniques / "copy")


def kill_in_quarantine(twinfs, source):
    """Kills a remove while a file of the source has its private name."""
    for number in range(1, 40):
        twinfs.traced("remove", "--yes", source, calls="trace=unlinkat", flags=[
            "-e", f"inject=unlinkat:signal=KILL:when={number}"])
        if private_files(source):
            return
    raise AssertionError("no kill left a private name")


def test_file_of_a_killed_act_is_no_copy_for_another_index(twinfs, source, tmp_path):
    trees.fill(source, {b"a/1": b"same", b"b/2": b"same", b"c/3": b"same"})
    kill_in_quarantine(twinfs, source)
    [private] = private_files(source)
    before = oracle.snapshot(source) if hasattr(oracle, "snapshot") else below(source)
    other = twinfs.with_index(tmp_path / "other")
    scanned = other("scan", source)
    assert scanned.status == 3 and private.name in scanned.errors[0], scanned
    assert "twinfs recover" in scanned.errors[0]
    assert str(private) not in indexed(other, source, status=3)
    for words in (["remove"], ["link"], ["remove", "--folders"], ["dedupe"]):
        other(words[0], *words[1:], "--dry-run", source)
    other("remove", "--yes", source)
    assert private.exists() and before
    twinfs.ok("recover")
    assert not private_files(source)
    assert len(below(source)) == 2
    other.ok("scan", source)


def test_view_reports_the_file_of_an_act_that_was_killed_meanwhile(twinfs, source, tmp_path):
    trees.fill(source, {b"a/1": b"same", b"b/2": b"same"})
    other = twinfs.with_index(tmp_path / "other")
    with other.mounted(source) as view:
        kill_in_quarantine(twinfs, source)
        assert view.sync() is not None
        assert until(lambda: view.status()["errors"] == 1)
        twinfs.ok("recover")
        assert view.sync() is not None
        assert until(lambda: view.status()["errors"] == 0)
        assert other.listing(view.path)["groups"]


def test_staging_folder_of_a_restore_is_no_content(twinfs, source, tmp_path, target):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"other"})
    twinfs.ok("manifest", f"--output={tmp_path}/manifest", source)
    for number in range(1, 40):
        shutil.rmtree(target, ignore_errors=True)
        twinfs.traced("restore", tmp_path / "manifest", source, target, calls="trace=renameat2",
                      flags=["-e", f"inject=renameat2:signal=KILL:when={number}"])
        if (target / ".twinfs-restore/file").exists():
            break
    other = twinfs.with_index(tmp_path / "other")
    other.ok("scan", target)
    assert not any(".twinfs-restore" in path for path in indexed(other, target))
    trees.write(target / ".twinfs-restore/mine", b"mine")
    assert f"{target}/.twinfs-restore/mine" in indexed(other, target)
    (target / ".twinfs-restore/mine").unlink()
    assert not any(".twinfs-restore" in path for path in indexed(other, target))
    (tmp_path / "user/.twinfs-restore").mkdir(parents=True)
    trees.write(tmp_path / "user/.twinfs-restore/mine", b"mine")
    last = twinfs.with_index(tmp_path / "last")
    assert indexed(last, tmp_path / "user") == {f"{tmp_path}/user/.twinfs-restore/mine"}


def test_copies_are_not_moved_into_the_state_folder(twinfs, state, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    _, folder = state
    assert "belongs to twinfs" in twinfs("move", "--yes", source, folder).errors[0]

# SPDX-License-Identifier: MIT
"""A copy in a place that something else empties counts nowhere as one that remains: not as
elsewhere, not as the kept copy while there is another, and not for a promise. All commands and the
daemon have one table of such places."""
import contextlib
import json
import os
import re
import subprocess

import pytest
from disks import bound, disk, need_loop_devices, overlay
from keep_lists import Keeper
from processes import TIMEOUT, until
from terminal import Terminal

TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# a cache of some program\n"
OLD, NEW = 10**18, 10**18 + 10**15
# {place: folders}: what programs write; sources are in index/emptied_place.c
PLACES = {
    "in the trash": [
        ".local/share/Trash/files", ".local/share/Trash/expunged/17", ".Trash-1000/files",
        ".Trash-1000/expunged", ".Trash/1000/files", ".Trash", ".Trashes/501",
        "Network Trash Folder", "$RECYCLE.BIN/S-1-5", "$Recycle.Bin/S-1-5", "Recycler/S-1-5",
        "RECYCLED", ".recycle/me", ".Recycle.Bin", "#recycle", "@Recycle",
        "Network Recycle Bin 1", "me/files_trashbin/files", "me/files_versions",
        "__groupfolders/trash/1", ".stversions", ".sync/Archive", ".SyncArchive", ".trashcan",
        ".dropbox.cache/old_files", ".debris/2026-01-01"],
    "in a snapshot": [
        ".snapshots/1/snapshot", ".zfs/snapshot/daily", ".snapshot/hourly.0", ".snap/1",
        "~snapshot/hourly.0",
        "#snapshot/GMT", "@Recently-Snapshot/1", "timeshift/snapshots/2026/localhost",
        "timeshift-btrfs/snapshots/2026/@"],
    "in a cache": ["tagged", "tagged/deep/in/it"],
}
# like those above, but something else
LASTING = ["Trash", "Trash/a", ".Trash-me/files", "recycle", "Network Recycle Bin",
           ".snapshots/daily.0", ".snapshots/1/other", ".sync/Other", "untagged", "linked"]


def put(path, content, time=OLD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(time, time))


def copies(twinfs, *words):
    """{absolute path: (fate, reason)} of all groups."""
    groups = twinfs.ok("list", "--format=json", "--explain", *words).json["groups"]
    return {copy["path"]: (copy["fate"], copy["why"])
            for group in groups for copy in group["copies"]}


def acted_upon(twinfs, *words):
    found = twinfs.ok(*words, "--dry-run", "--format=null").out.split(b"\0")[:-1]
    return {os.fsdecode(path[1:]) for path in found if path.startswith(b"-")}


def missing(twinfs, *words, status=0):
    result = twinfs(*words, "--format=null")
    assert result.status == status, result
    return {os.fsdecode(path) for path in result.out.split(b"\0")[:-1]}, result.error.decode()


@pytest.fixture
def all_places(source):
    """For each place an older file in it, as aside/NUMBER/FOLDER/f, and a newer copy live/NUMBER.
    Returns {absolute path in the place: (absolute path of the copy, place)}."""
    found = {}
    for place, folders in PLACES.items():
        for number, folder in enumerate(folders):
            name = f"{place.split()[-1]}{number}"
            inside, live = source / "aside" / name / folder / "f", source / "live" / name
            put(inside, name.encode() * 100)
            put(live, name.encode() * 100, NEW)
            if place == "in a cache":
                put(source / "aside" / name / "tagged/CACHEDIR.TAG", TAG + name.encode())
            found[str(inside)] = str(live), place
    return found


def test_copy_in_any_place_is_neither_elsewhere_nor_kept(twinfs, source, all_places):
    twinfs.ok("scan", source)
    expected = {path: "kept" for path, _ in all_places.values()}
    expected |= {path: "redundant" if place == "in a cache" else "spared"
                 for path, (_, place) in all_places.items()}
    found = copies(twinfs, source)
    assert {path: fate for path, (fate, _) in found.items()} == expected
    for path, (live, place) in all_places.items():
        assert found[path] == (expected[path], place)
        assert found[live][1] == place.replace("in ", "not in ")
    gone = {path for path, (_, place) in all_places.items() if place == "in a cache"}
    for words in (["remove"], ["link"], ["link", "--symbolic"]):
        assert acted_upon(twinfs, *words, source) == gone
    told = twinfs.ok("remove", "--dry-run", source).error.decode()
    assert f"skipped {len(PLACES['in the trash'])} copies in a trash, such as '{source}" in told
    assert f"skipped {len(PLACES['in a snapshot'])} copies in a snapshot" in told
    for words, status in ((["covered", source / "live"], 4),
                          (["list", "--missing-from", source / "aside", source / "live"], 0)):
        twinfs.index = twinfs.index if words[0] == "covered" else twinfs.folder / "of both"
        paths, told = missing(twinfs, *words, status=status)
        assert paths == {live for live, _ in all_places.values()}
        for place, folders in PLACES.items():
            named = re.search(rf"{len(folders)} of these are elsewhere only "
                              rf"{place.replace('the', 'a')}, such as '(.*)'; that does not", told)
            assert all_places[named[1]][1] == place


def test_view_keeps_no_copy_in_any_place(twinfs, source, all_places):
    with twinfs.mounted(source) as view:
        assert view.differences_now(source) == []
        for path, (live, _) in all_places.items():
            assert (view.uniques / os.path.relpath(live, source)).exists()
            assert not (view.uniques / os.path.relpath(path, source)).exists()
        assert copies(twinfs, view.path) == copies(twinfs, source)
    assert twinfs.ok("check", source).status == 0


def test_folder_with_a_similar_name_is_like_any_other(twinfs, source):
    for number, name in enumerate(LASTING):
        put(source / "aside" / str(number) / name / "f", name.encode() * 100)
        put(source / "live" / str(number), name.encode() * 100, NEW)
    put(source / f"aside/{LASTING.index('untagged')}/untagged/CACHEDIR.TAG", b"Signature: none")
    put(source / "tag", TAG)
    (source / f"aside/{LASTING.index('linked')}/linked/CACHEDIR.TAG").symlink_to(source / "tag")
    twinfs.ok("scan", source)
    assert missing(twinfs, "covered", source / "live")[0] == set()
    assert {fate for path, (fate, why) in copies(twinfs, source).items()
            if "/aside/" in path} == {"kept"}


def test_copies_that_are_all_in_places_are_no_reason_to_remove_each_other(twinfs, source):
    folders = {"trash": ".Trash-1/files", "snapshot": ".zfs/snapshot", "cache": "tagged"}
    put(source / "tagged/CACHEDIR.TAG", TAG)
    for number, folder in enumerate(folders.values()):
        put(source / folder / "all", b"all")
        put(source / folder / "twice a", b"%d twice" % number)
        put(source / folder / "twice b", b"%d twice" % number)
    put(source / "tagged/two", b"two")
    put(source / ".Trash-1/files/two", b"two")
    found = copies(twinfs, source)
    for name, kept in (("all", "snapshot"), ("two", "cache")):
        assert {path: fate for path, (fate, _) in found.items() if path.endswith("/" + name)} == {
            str(source / folder / name): "kept" if place == kept else "spared"
            for place, folder in folders.items() if (source / folder / name).exists()}
    assert acted_upon(twinfs, "remove", source) == {
        str(source / folders[place] / "twice b") for place in ("trash", "cache")}
    (source / ".Trash-1/files/two").rename(source / "two")
    assert acted_upon(twinfs, "remove", "--min-size=3", "--max-size=3", source) == {
        str(source / "tagged/two")}


@pytest.mark.parametrize("folder, is_source", [
    (".Trash-1/files", False), ("a/tagged", False), (".zfs/snapshot", False),
    (".zfs/snapshot/x", True)])
@pytest.mark.parametrize("act", ["remove", "link", "move"])
def test_kept_file_in_a_place_with_a_name_elsewhere_is_a_reason_to_act(twinfs, source, tmp_path,
                                                                       folder, is_source, act):
    put(source / "a/tagged/CACHEDIR.TAG", TAG)
    put(source / folder / "a", b"equal")
    (source / "live").mkdir()
    os.link(source / folder / "a", source / "live/b")
    put(source / "live/c", b"equal")
    (tmp_path / "to").mkdir()
    sources = [source / folder, source / "live"] if is_source else [source]
    twinfs.ok(act, "--yes", *sources, *[tmp_path / "to"] * (act == "move"))
    assert (source / folder / "a").samefile(source / "live/b")
    copy = source / "live/c"
    assert copy.samefile(source / "live/b") if act == "link" else not copy.exists()
    assert twinfs.ok("log", "--format=jsonl").lines
    twinfs.ok("undo", "--yes")
    assert not copy.samefile(source / "live/b")


def test_kept_file_of_a_plan_in_a_place_is_no_reason_to_remove_another(twinfs, source):
    put(source / "tagged/CACHEDIR.TAG", TAG)
    for folder in ("tagged", ".stversions", ".zfs/snapshot", "live"):
        put(source / folder / "a", b"equal")
    plan = source.parent / "plan"
    causes = {"tagged": "in a cache", ".stversions": "in the trash",
              ".zfs/snapshot": "in a snapshot"}
    twinfs.ok("scan", source)
    for folder, cause in causes.items():
        plan.write_text(json.dumps({"copies": [
            {"path": os.fspath(source / folder / "a"), "fate": "kept"},
            {"path": os.fspath(source / "live/a"), "fate": "redundant"}]}) + "\n")
        result = twinfs("remove", "--yes", "--plan", plan, source)
        assert result.status == 3, result
        assert f"the kept file is {cause}" in result.error.decode()
    assert (source / "live/a").exists()


def test_folder_becomes_a_cache_and_ceases_to_be_one_while_it_is_watched(twinfs, source):
    put(source / "a/deep/f", b"equal")
    put(source / "b/f", b"equal", NEW)
    tag = source / "a/CACHEDIR.TAG"

    def kept(view):
        view.sync()
        assert view.differences_now(source) == []
        return [name for name in ("a/deep/f", "b/f") if (view.uniques / name).exists()]
    with twinfs.mounted(source) as view:
        assert kept(view) == ["a/deep/f"]
        tag.touch()
        assert kept(view) == ["a/deep/f"]
        tag.write_bytes(TAG)
        assert kept(view) == ["b/f"]
        tag.unlink()
        assert kept(view) == ["b/f"]  # no reason to give way
        (source / "b/CACHEDIR.TAG").write_bytes(TAG)
        assert kept(view) == ["a/deep/f"]
        (source / "b").rename(source / "a/b")
        view.sync()
        assert (view.uniques / "a/deep/f").exists()
    assert twinfs.ok("check", source).status == 0


def test_cache_that_is_tagged_between_scans_is_found(twinfs, source):
    put(source / "a/deep/f", b"equal")
    put(source / "b/f", b"equal", NEW)
    assert copies(twinfs, source)[str(source / "a/deep/f")][0] == "kept"
    put(source / "a/CACHEDIR.TAG", TAG)
    assert copies(twinfs, source)[str(source / "b/f")][0] == "kept"
    result = twinfs.ok("list", "--exclude=CACHEDIR.TAG", "--format=json", "--explain", source)
    assert [copy["why"] for copy in result.json["groups"][0]["copies"]] == [
        "not in a cache", "in a cache"]
    assert twinfs.ok("check", source).status == 0


def test_source_in_a_cache_is_no_place_for_a_copy(twinfs, tmp_path):
    put(tmp_path / "cache/CACHEDIR.TAG", TAG)
    put(tmp_path / "cache/program/source/f", b"equal")
    put(tmp_path / "live/f", b"equal", NEW)
    paths, _ = missing(twinfs, "covered", "--by", tmp_path / "cache/program/source",
                       tmp_path / "live", status=4)
    assert paths == {str(tmp_path / "live/f")}


def test_folder_in_a_place_is_not_the_one_that_is_kept(twinfs, source):
    for folder in (".stversions/album", "tagged/album", "album 2"):
        put(source / folder / "1", b"1" * 5000)
        put(source / folder / "2", b"2" * 5000)
    put(source / "tagged/CACHEDIR.TAG", TAG)
    assert acted_upon(twinfs, "remove", "--folders", source) == {str(source / "tagged/album")}
    twinfs.ok("remove", "--folders", "--yes", source)
    assert {path.name for path in (source / "album 2").iterdir()} == {"1", "2"}
    assert (source / ".stversions/album").exists()


def test_summary_counts_no_folder_as_redundant_because_of_one_in_a_place(twinfs, source):
    put(source / "a/1", b"1" * 5000)
    for folder in (".Trash-1000/files/a", ".zfs/snapshot/1/a"):  # parts of equal folders
        put(source / folder / "1", b"1" * 5000)
    for words in (["list", "--folders"], ["list"], ["remove", "--dry-run", "--folders"]):
        words = [*words, *["--summary"] * (words[0] == "list"), "--format=json"]
        summary = twinfs.ok(*words, source).json["summary"]
        assert summary.get("redundant_folders", 0) == summary["redundant_files"] == 0
        assert summary["reclaimable_bytes"] == 0


# file systems

def test_copy_in_memory_is_neither_elsewhere_nor_kept(twinfs, tmp_path, root_only):
    put(tmp_path / "disk/f", b"equal", NEW)
    put(tmp_path / "disk/own", b"own")
    (tmp_path / "memory").mkdir()
    with mounted_tmpfs(tmp_path / "memory"):
        put(tmp_path / "memory/f", b"equal")
        put(tmp_path / "memory/deep/again", b"equal")
        for words, status in ((["covered", "--by", tmp_path / "memory", tmp_path / "disk"], 4),
                              (["list", "--missing-from", tmp_path / "memory",
                                tmp_path / "disk"], 0)):
            paths, told = missing(twinfs, *words, status=status)
            assert paths == {str(tmp_path / "disk/f"), str(tmp_path / "disk/own")}
            assert f"1 of these is elsewhere only in memory, such as '{tmp_path}/memory/" in told
        twinfs.index = twinfs.folder / "both"
        both = tmp_path / "memory", tmp_path / "disk"
        assert copies(twinfs, *both)[str(tmp_path / "disk/f")] == ("kept", "not in memory")
        twinfs.ok("remove", "--yes", *both)
        assert (tmp_path / "disk/f").read_bytes() == b"equal"
        assert [path.name for path in (tmp_path / "memory").rglob("*")] == ["deep"]


@contextlib.contextmanager
def mounted_tmpfs(folder):
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("upper", ["memory", "disk"])
def test_overlay_is_in_memory_if_its_upper_layer_is(twinfs, tmp_path, root_only, upper):
    put(tmp_path / "disk/f", b"equal", NEW)
    layers = tmp_path / "layers"
    layers.mkdir()
    with contextlib.ExitStack() as stack:
        if upper == "memory":
            stack.enter_context(mounted_tmpfs(layers))
        shown = stack.enter_context(overlay(layers))
        put(shown / "f", b"equal")
        found = copies(twinfs, shown, tmp_path / "disk")
        assert found[str(shown / "f")] == (
            ("redundant", "in memory") if upper == "memory" else ("kept", "first source"))


@pytest.mark.parametrize("kind", ["ext4", "btrfs"])
def test_disk_whose_image_is_in_memory_is_in_memory(twinfs, tmp_path, kind):
    put(tmp_path / "own/f", b"equal", NEW)
    (tmp_path / "memory").mkdir()
    with contextlib.ExitStack() as stack:
        need_loop_devices()
        stack.enter_context(mounted_tmpfs(tmp_path / "memory"))
        root = stack.enter_context(disk(kind, tmp_path, images=tmp_path / "memory"))
        put(root / "f", b"equal")
        found = copies(twinfs, root, tmp_path / "own")
        assert found[str(root / "f")] == ("redundant", "in memory")
        host = Keeper(twinfs.with_index(twinfs.folder / "disk"), tmp_path, root)
        host.keep()
        host.attest(status=3)
        assert host.outcomes() == {"f": "in memory"}


@pytest.mark.parametrize("folder", ["Trash/files", "Trash"])
def test_bind_mount_of_a_trash_is_a_trash(twinfs, tmp_path, source, folder):
    put(source / "f", b"equal")
    put(tmp_path / "share/Trash/files/f", b"equal")
    with bound(tmp_path / "share" / folder, tmp_path / "at") as shown:
        files = shown if folder == "Trash/files" else shown / "files"
        paths, told = missing(twinfs, "covered", "--by", files, source, status=4)
        assert paths == {str(source / "f")} and "in a trash" in told
        host = Keeper(twinfs.with_index(twinfs.folder / "files"), tmp_path, files)
        host.keep()
        host.attest(status=3)
        assert host.outcomes() == {"f": "in a trash"}


def btrfs_do(*words, **options):
    return subprocess.run(["btrfs", *words], check=True, capture_output=True, **options).stdout


def test_live_file_is_kept_beside_its_read_only_snapshot(twinfs, btrfs_room):
    home = btrfs_room.aside / "home"
    btrfs_do("subvolume", "create", home)
    put(home / "doc", b"text")
    snapshot = home / "hourly"
    btrfs_do("subvolume", "snapshot", "-r", home, snapshot)
    os.utime(home / "doc")
    words = ["--cross-file-systems", home]
    try:
        found = copies(twinfs, *words)
        assert found == {str(home / "doc"): ("kept", "not in a snapshot"),
                         str(snapshot / "doc"): ("spared", "in a snapshot")}
        assert missing(twinfs, "covered", "--cross-file-systems", "--by", snapshot, home,
                       status=4)[0] == {str(home / "doc")}
        result = twinfs.ok("remove", "--yes", *words)
        assert "skipped 1 copy in a snapshot" in result.error.decode()
        assert (home / "doc").read_bytes() == b"text"
        # a snapshot that can be written to is a tree like others
        btrfs_do("property", "set", snapshot, "ro", "false")
        assert copies(twinfs, *words)[str(snapshot / "doc")][0] == "redundant"
    finally:
        btrfs_do("subvolume", "delete", snapshot)


def test_snapshot_that_becomes_read_only_below_a_view_is_no_reason_to_remove(twinfs, btrfs_room):
    home = btrfs_room.aside / "home"
    btrfs_do("subvolume", "create", home)
    put(home / "doc", b"text")
    btrfs_do("subvolume", "snapshot", home, home / "hourly")
    put(home / "doc", b"text", NEW)
    try:
        with twinfs.mounted("--cross-file-systems", home) as view:
            view.sync()
            btrfs_do("property", "set", home / "hourly", "ro", "true")
            result = twinfs("remove", "--yes", "--cross-file-systems", home)
            assert result.status == 3 and "the kept file is in a snapshot" in result.error.decode()
        assert (home / "doc").read_bytes() == b"text"
    finally:
        btrfs_do("subvolume", "delete", home / "hourly")


@pytest.mark.parametrize("folders", [[], ["--folders"]])
def test_kept_copy_that_is_in_a_cache_when_the_user_answers_is_no_reason_to_remove(
        twinfs, source, folders):
    put(source / "a/f", b"equal")
    put(source / "b/f", b"equal", NEW)
    with contextlib.closing(Terminal(200)) as seen, seen.run(
            twinfs.command("remove", *folders, source), twinfs.environment,
            stdin=seen.theirs) as process:
        assert until(lambda: "freed" in seen.written)
        put(source / "a/CACHEDIR.TAG", TAG)
        os.write(seen.ours, b"y\n")
        assert process.wait(TIMEOUT) == 3
    assert (source / "a/f").exists() and (source / "b/f").exists(), seen.written


def test_received_backup_counts_as_elsewhere(twinfs, btrfs_room):
    home, backup = btrfs_room.aside / "home", btrfs_room.aside / "backup"
    btrfs_do("subvolume", "create", home)
    backup.mkdir()
    put(home / "doc", b"text")
    for name, parent in (("first", []), ("second", ["-p", btrfs_room.aside / "first"])):
        btrfs_do("subvolume", "snapshot", "-r", home, btrfs_room.aside / name)
        stream = btrfs_do("send", *parent, btrfs_room.aside / name)
        btrfs_do("receive", backup, input=stream)
    for name, status in (("backup/second", 0), ("second", 4)):
        twinfs.index = twinfs.folder / f"by {name.replace('/', ' ')}"
        missing(twinfs, "covered", "--by", btrfs_room.aside / name, home, status=status)


@pytest.mark.parametrize(("folder", "state"), [
    ("tagged/deep", "in a cache"), ("#recycle", "in a trash"),
    (".zfs/snapshot/1", "in a snapshot"), ("store/base/1", "in a store"), ("set", "in a store")])
def test_file_in_a_place_is_not_attested(twinfs, tmp_path, source, folder, state):
    put(source / "tagged/CACHEDIR.TAG", TAG)
    put(source / folder / "a", b"SQLite format 3\0content")
    for path, content in (("store/PG_VERSION", b"15\n"), ("store/global/1", b"1"),
                          ("set/a-wal", b"log")):
        put(source / path, content)
    host = Keeper(twinfs, tmp_path, source)
    host.keep(choose=lambda path: path.endswith(b"/a"))
    host.attest(status=3)
    assert host.outcomes() == {f"{folder}/a": state}


def test_file_in_a_snapshot_of_btrfs_is_not_attested(twinfs, tmp_path, btrfs_room):
    btrfs_do("subvolume", "create", btrfs_room.aside / "home")
    put(btrfs_room.aside / "home/a", b"content")
    btrfs_do("subvolume", "snapshot", "-r", btrfs_room.aside / "home",
             btrfs_room.aside / "snapshot")
    host = Keeper(twinfs, tmp_path, btrfs_room.aside / "snapshot")
    host.keep()
    host.attest(status=3)
    assert host.outcomes() == {"a": "in a snapshot"}

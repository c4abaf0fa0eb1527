# SPDX-License-Identifier: MIT
"""remove --folders and move --folders: what goes, what is refused, and what undo brings back."""
import csv
import io
import json
import os
import re
import socket
import subprocess

import pytest
import trees
from disks import bound, disk
from equal_folders import copy_tree, make, make_older
from folder_acts import (
    ACTS,
    act_after,
    act_words,
    contents,
    make_folder,
    make_pair,
    snapshot,
    thrown_away,
)
from program import path_of
from test_act import freed
from test_act_log import acts, records

ALL = pytest.mark.parametrize("act", ACTS)


def planned(twinfs, *words):
    """{fate: set of paths} of a dry run."""
    found = {}
    result = twinfs("remove", "--folders", "--dry-run", "--format=jsonl", *words)
    assert result.status in (0, 3), result
    for line in result.out.splitlines():
        for folder in json.loads(line)["folders"]:
            found.setdefault(folder["fate"], set()).add(path_of(folder).decode())
    return found


def refused(result, folder, *texts):
    """Asserts that the act left the folder alone, and says so."""
    assert result.status == 3, result
    line, = [line for line in result.errors if str(folder) in line and "differs from" not in line]
    for text in texts:
        assert text in line, line


@pytest.fixture
def moved(tmp_path):
    """The destination of moves."""
    folder = tmp_path / "moved"
    folder.mkdir()
    return folder


# what an act does

@ALL
def test_folder_goes_as_a_whole_and_comes_back(twinfs, source, moved, act):
    kept, copy = make_pair(source)
    before, whole = snapshot(kept), snapshot(copy)
    result = twinfs.ok(*act_words(act, source, moved))
    assert result.lines[0].split()[1:] == [b"1", b"folder"]
    assert not copy.exists() and sorted(os.listdir(source)) == ["a"]
    assert snapshot(kept) == before
    place = {"move": moved / "b", "trash": thrown_away(twinfs.home).get(str(copy))}.get(act)
    assert not place or snapshot(place) == whole
    if act == "remove":
        assert freed(result) >= 17000
        assert len(records(twinfs)) == len(whole)
    assert acts(twinfs)[-1]["command"] == act
    twinfs.ok("undo", "--yes")
    assert snapshot(copy) == whole and snapshot(kept) == before
    if act != "remove":
        assert not os.path.lexists(place)
    assert "undone already" in twinfs.ok("undo", "--yes").error.decode()
    twinfs.ok("scan", source)
    assert not twinfs.ok("check", source).error


@ALL
def test_dry_run_changes_nothing_and_names_what_goes(twinfs, source, moved, act):
    kept, copy = make_pair(source)
    before = snapshot(source)
    for form in ("text", "fdupes", "json", "jsonl", "csv", "null"):
        words = [word for word in act_words(act, source, moved) if word != "--yes"]
        result = twinfs.ok(*words, "--dry-run", f"--format={form}")
        text = result.out.decode()
        assert str(kept) in text and str(copy) in text
        assert "1 folder would be" in result.error.decode()
        if form == "json":
            group, = json.loads(text)["groups"]
            listed, = twinfs.ok("list", "--folders", "--format=json", source).json["groups"]
            assert group == listed
        elif form == "csv":
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
            assert [(row["fate"], row["path"], row["files"]) for row in rows] == [
                ("kept", str(kept), "5"), ("redundant", str(copy), "5")]
        elif form == "null":
            assert text.split("\0")[:-1] == [f"+{kept}", f"-{copy}"]
        elif form == "fdupes":
            assert text.splitlines() == [f"   [+] {kept}", f"   [-] {copy}"]
    assert snapshot(source) == before


@pytest.mark.parametrize("third", ["goes", "stays"])
def test_dry_run_counts_files_whose_names_are_in_several_folders_that_go(twinfs, source, third):
    for name in "abc":
        trees.fill(source / name, {"one": b"1" * 5000, "sub/two": b"2" * 5000})
    (source / "c/one").unlink()
    os.link(source / "b/one", source / "c/one")
    if third == "stays":
        trees.write(source / "c/more", b"more")
    freed = os.stat(source / "b/one").st_blocks * 512 // 1024
    freed *= 3 if third == "goes" else 2  # "c/sub" goes in both cases
    words = ["remove", "--folders", "--keep=path:a", source]
    said = twinfs.ok(*words, "--dry-run").error.decode()
    assert re.search(fr" and {freed}(\.0)? KiB freed", said), said
    assert f"{freed * 1024:,} bytes" in twinfs.ok(*words, "--yes").out.decode()


def test_differing_metadata_are_told_before(twinfs, source):
    _, copy = make_pair(source)
    (copy / "one").chmod(0o600)  # has two names
    os.setxattr(copy / "none", "user.tag", b"x")
    make_older(copy / "sub/deep", 100)
    result = twinfs.ok("remove", "--folders", "--dry-run", "--keep=path:a", source)
    line, = [line for line in result.errors if "differs from the kept folder" in line]
    assert "owner: 0, mode: 2, extended attributes: 1, time: 1" in line
    before = snapshot(source / "a")
    assert "differs" in twinfs.ok("remove", "--folders", "--yes", "--keep=path:a",
                                  source).error.decode()
    assert snapshot(source / "a") == before and not copy.exists()


def test_hard_links_to_the_kept_folder_free_nothing(twinfs, source):
    make(source / "a")
    subprocess.run(["cp", "-al", source / "a", source / "b"], check=True)
    result = twinfs.ok("remove", "--folders", "--yes", source)
    assert "3 hard links to files of the kept folder" in result.error.decode()
    assert freed(result) == 0
    assert sorted(os.listdir(source)) in (["a"], ["b"])
    twinfs.ok("undo", "--yes")
    assert contents(snapshot(source / "a")).keys() == contents(snapshot(source / "b")).keys()


def test_names_of_any_bytes_go_and_come_back(twinfs, source):
    base = os.fsencode(source)
    for parent in (b"a", b"b"):
        for number, name in enumerate(trees.ODD_NAMES):
            trees.write(trees.join(base, parent, name), trees.content(number, 100))
            trees.write(trees.join(base, parent, b"sub" + name[:200], name), b"x")
    whole = snapshot(source / "b").keys()
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:a", source)
    assert os.listdir(base) == [b"a"]
    twinfs.ok("undo", "--yes")
    assert snapshot(source / "b").keys() == whole


def test_deep_folders_go(twinfs, source):
    for parent in ("a", "b"):
        trees.deep(trees.join(os.fsencode(source), parent.encode()))
    twinfs.ok("remove", "--folders", "--yes", source)
    assert len(os.listdir(source)) == 1


@ALL
def test_file_open_for_reading_does_not_hold_up_the_act(twinfs, source, moved, act):
    kept, copy = make_pair(source)
    with open(copy / "one", "rb") as file, open(kept / "one", "rb"):
        twinfs.ok(*act_words(act, source, moved))
        assert file.read() == (kept / "one").read_bytes()
    assert not copy.exists()


def test_view_follows_acts_on_folders(twinfs, source):
    make_pair(source)
    trees.write(source / "c/other", b"z")
    with twinfs.mounted(source, options=("--wait",)) as view:
        twinfs.ok("remove", "--folders", "--yes", view.path)
        assert not view.differences_now(source)
        assert not os.listdir(view.redundant)
        twinfs.ok("undo", "--yes")
        assert not view.differences_now(source)


# which folders go

def test_folders_in_folders_that_go_are_not_acted_upon_again(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    copy_tree(source / "a/sub", source / "c")
    assert planned(twinfs, "--keep=path:b", source) == {
        "kept": {f"{source}/b", f"{source}/b/sub"}, "redundant": {f"{source}/a", f"{source}/c"}}
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:b", source)
    assert os.listdir(source) == ["b"]


def test_kept_folder_in_one_that_goes_is_chosen_again(twinfs, source):
    make(source / "z/x")
    trees.write(source / "z/more", trees.content(9, 50))
    make_older(source / "z", 1000)
    copy_tree(source / "z", source / "k")
    make_older(source / "k/more", 1)
    os.utime(source / "k/x/one")
    copy_tree(source / "z/x", source / "y")
    found = planned(twinfs, "--keep=path:k,newest", source)
    assert found == {"kept": {f"{source}/k", f"{source}/k/x"},
                     "redundant": {f"{source}/z", f"{source}/y"}}
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:k,newest", source)
    assert os.listdir(source) == ["k"]


def test_rules_that_keep_parts_of_two_folders_lose_nothing(twinfs, source):
    """The rules keep z/x, which is in a folder that goes, and y is elsewhere."""
    make(source / "z/x")
    trees.write(source / "z/more", trees.content(9, 50))
    copy_tree(source / "z", source / "k")
    copy_tree(source / "z/x", source / "y")
    contents_before = trees.every_content(source)
    for rule in ("path:z/x", "path:y", "path:k/x", "newest", "oldest", "longest-path"):
        beside = twinfs.with_index(twinfs.folder / f"index {rule.replace('/', ' ')}")
        found = planned(beside, f"--keep={rule}", source)
        gone = found["redundant"]
        assert not any(one != other and one.startswith(f"{other}/")
                       for one in gone | found["kept"] for other in gone), (rule, found)
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:y", source)
    assert trees.every_content(source) == contents_before


def test_root_of_a_source_never_goes(twinfs, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for root in (first, second):
        make(root)
    assert not planned(twinfs, first, second)
    assert not planned(twinfs, "--keep=path:second", first, second)
    copy_tree(second, first / "inside")
    before = snapshot(second)
    found = planned(twinfs, first, second)
    assert found == {"kept": {str(second), f"{second}/sub"},
                     "redundant": {f"{first}/inside", f"{first}/sub"}}
    twinfs.ok("remove", "--folders", "--yes", first, second)
    assert snapshot(second) == before and not (first / "inside").exists()


@pytest.mark.parametrize("option, redundant", [
    ("--protect={}/b", {"a", "c"}), ("--protect={}/b/sub/two", {"a", "c"}),
    ("--only={}/c", {"c"}), ("--only={}/c/sub", set()), ("--keep=path:c", {"a", "b"}),
    ("--path=nowhere", set()), ("--exclude=two", {"b", "c"}), ("--min-size=1M", set()),
])
def test_rules_and_filters_choose_what_goes(twinfs, source, option, redundant):
    make(source / "a")
    for name in ("b", "c"):
        copy_tree(source / "a", source / name)
    option = option.format(source)
    found = planned(twinfs, option, source).get("redundant", set())
    if option == "--exclude=two":  # no equal folder is known then
        assert not found
        return
    assert found == {f"{source}/{name}" for name in redundant}
    listed = twinfs.ok("list", "--folders", "--format=json", option, source).json["groups"]
    assert found == {folder["path"] for group in listed for folder in group["folders"]
                     if folder["fate"] == "redundant"}
    twinfs.ok("remove", "--folders", "--yes", option, source)
    assert set(os.listdir(source)) == {"a", "b", "c"} - redundant


def test_folder_in_a_bundle_stays(twinfs, source):
    for name in ("a", "b"):
        trees.fill(source / name / ".git", {"HEAD": b"ref", "objects/1": b"one", "refs/x": b"2"})
        trees.write(source / name / "only", name.encode())
        trees.write(source / name / ".git/index", name.encode())
    assert not planned(twinfs, source)


def test_operands_that_do_not_fit_folders_are_refused(twinfs, source):
    make_pair(source)
    plan = source.parent / "plan"
    plan.write_text("")
    for words in (["--plan", plan], ["--files0-from=-"]):
        result = twinfs("remove", "--folders", "--yes", *words, source)
        assert result.status == 2 and "--folders" in result.errors[0], result
    assert twinfs("remove", "--folders", "--yes", source / "a/one").status == 1
    for command in ("link", "dedupe"):
        assert twinfs(command, "--folders", source).status == 2


# what is refused: nothing of the folder goes

@ALL
@pytest.mark.parametrize("change, text", [
    (lambda kept, copy: trees.write(copy / "sub/new", b"new"), "is not in the kept folder"),
    (lambda kept, copy: trees.write(copy / "new"), "is not in the kept folder"),
    (lambda kept, copy: os.mkdir(copy / "sub/deep/new"), "is not in the kept folder"),
    (lambda kept, copy: os.unlink(kept / "sub/link"), "is not in the kept folder"),
    (lambda kept, copy: (copy / "one").write_bytes(b"!" * 5000), "no longer equal"),
    (lambda kept, copy: (kept / "one").write_bytes(b"!" * 5000), "no longer equal"),
    (lambda kept, copy: (copy / "none").write_bytes(b"!"), "no longer equal"),
    (lambda kept, copy: retarget(copy / "sub/link"), "no longer equal"),
    (lambda kept, copy: retarget(copy / "fifo"), "another type"),
    (lambda kept, copy: retarget(copy / "sub/two"), "another type"),
], ids=["new file", "new empty file", "new folder", "name missing in kept", "other bytes",
        "other bytes in kept", "no longer empty", "other target", "other type", "now a symlink"])
def test_folder_that_is_not_equal_any_more_stays(twinfs, source, moved, strace, act, change, text):
    """The act reads the folders themselves, not the index."""
    kept, copy = make_pair(source)
    twinfs.ok("scan", source)
    before = []

    def spoil():
        change(kept, copy)
        before.append(snapshot(source))

    status, error = act_after(twinfs, act_words(act, source, moved), spoil)
    assert status == 3 and snapshot(source) == before[0]
    line, = [line for line in error.splitlines() if f"'{copy}'" in line]
    assert text in line, line


def retarget(path):
    path.unlink()
    path.symlink_to("elsewhere")


@ALL
@pytest.mark.parametrize("name", ["one", "sub/deep/three", "none"])
@pytest.mark.parametrize("in_kept", [False, True], ids=["copy", "kept"])
def test_folder_with_a_file_that_is_open_for_writing_stays(twinfs, source, moved, act, name,
                                                           in_kept):
    kept, copy = make_pair(source)
    twinfs.ok("scan", source)
    before = snapshot(source)
    with open((kept if in_kept else copy) / name, "r+b"):
        result = twinfs(*act_words(act, source, moved))
    assert snapshot(source) == before
    refused(result, copy, name, "open for writing")
    twinfs.ok(*act_words(act, source, moved))
    assert not copy.exists()


@ALL
@pytest.mark.parametrize("place", ["b", "b/empty", "b/sub/deep", "b/sub/two", "b/fifo",
                                   "a/sub/deep", "a/sub/two"])
def test_folder_with_a_mount_point_stays(twinfs, source, moved, root_only, strace, act, place):
    kept, copy = make_pair(source)
    twinfs.ok("scan", source)
    before = snapshot(source)
    other = (copy if place[0] == "a" else kept) / place[2:]

    def mount():
        subprocess.run(["mount", "--bind", other, source / place], check=True)

    try:
        status, error = act_after(twinfs, act_words(act, source, moved), mount)
    finally:
        subprocess.run(["umount", source / place], check=True)
    assert status == 3 and snapshot(source) == before
    assert "mount point" in error or "replaced by another" in error, error


@ALL
def test_folder_with_a_view_in_it_stays(twinfs, source, moved, act):
    _, copy = make_pair(source)
    (source / "a/empty/view").mkdir()
    (copy / "empty/view").mkdir()
    beside = twinfs.with_index(moved.parent / "index of the view")
    with beside.mounted(source / "a", at=copy / "empty/view") as view:
        twinfs(*act_words(act, source, moved, "--keep=path:a"))
        assert copy.exists() and os.listdir(view.uniques)


def test_second_mount_of_the_kept_folder_stays(twinfs, tmp_path, root_only):
    """Both sources show the same folders."""
    first = tmp_path / "first"
    make(first / "a")
    second = tmp_path / "second"
    with bound(first, second):
        trees.write(first / "other", b"x")
        before = snapshot(first)
        for words in ([first, second], ["--cross-file-systems", first, second]):
            twinfs.with_index(tmp_path / f"index {len(words)}")(
                "remove", "--folders", "--yes", *words)
            assert snapshot(first) == before


def test_second_mount_in_the_source_stays(twinfs, source, root_only):
    make(source / "x/a")
    trees.write(source / "x/other", b"x")
    (source / "y").mkdir()
    with bound(source / "x", source / "y"):
        before = snapshot(source / "x")
        for words in ([], ["--keep=path:y"]):
            twinfs("remove", "--folders", "--yes", "--cross-file-systems", *words, source)
            assert snapshot(source / "x") == before


def test_folder_that_contains_the_index_stays(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    program = twinfs.with_index(source / "b/index")
    before = snapshot(source / "a"), sorted(os.listdir(source / "b"))
    program("remove", "--folders", "--yes", "--keep=path:a", source)
    assert (snapshot(source / "a"), sorted(set(os.listdir(source / "b")) - {"index"})) == (
        before[0], before[1])


@pytest.mark.parametrize("place, flag", [("b", "i"), ("b/sub", "i"), ("b/sub", "a"),
                                         ("b/sub/two", "i"), ("b/one", "a"), ("", "i")])
def test_folder_with_an_immutable_name_stays(twinfs, source, root_only, place, flag):
    _, copy = make_pair(source)
    twinfs.ok("scan", source)
    before = snapshot(source)
    if subprocess.run(["chattr", f"+{flag}", source / place], check=False).returncode != 0:
        pytest.skip("this file system has no such flag")
    try:
        result = twinfs("remove", "--folders", "--yes", "--keep=path:a", source)
        assert snapshot(source) == before
        refused(result, copy)
    finally:
        subprocess.run(["chattr", f"-{flag}", source / place], check=True)
    twinfs.ok("remove", "--folders", "--yes", "--keep=path:a", source)


@pytest.mark.parametrize("place", ["b", "b/sub", "b/sub/deep"])
def test_folder_that_cannot_be_emptied_stays(as_user, source, root_only, place):
    make_pair(source)
    for path in (source, *source.rglob("*")):
        os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    (source / place).chmod(0o555)
    before = snapshot(source)
    result = as_user("remove", "--folders", "--yes", "--keep=path:a", source)
    refused(result, source / "b", "Permission denied")
    assert snapshot(source) == before


def test_files_of_other_users_need_the_option(as_user, source, root_only):
    make_pair(source)
    for path in (source, *source.rglob("*")):
        os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid, follow_symlinks=False)
    os.chown(source / "b/sub/two", 0, 0)
    before = snapshot(source)
    words = ["remove", "--folders", "--yes", "--keep=path:a"]
    refused(as_user(*words, source), source / "b", "--without-leases")
    assert snapshot(source) == before
    as_user.ok(*words, "--without-leases", source)
    assert os.listdir(source) == ["a"]


def test_folders_without_leases_go_with_the_option(twinfs, source, no_leases):
    make_pair(source)
    refused(twinfs("remove", "--folders", "--yes", source), source / "b", "--without-leases")
    twinfs.ok("remove", "--folders", "--yes", "--without-leases", source)
    assert os.listdir(source) == ["a"]


def test_kept_folder_on_another_file_system_is_enough(twinfs, source, tmp_path):
    _, copy = make_pair(source)
    with disk("ext4", tmp_path) as other:
        copy_tree(copy, other / "b")
        make(other / "more", "z")
        twinfs.ok("remove", "--folders", "--yes", f"--protect={source / 'a'}", source, other)
        assert sorted(os.listdir(other)) == ["lost+found", "more"]
        assert os.listdir(source) == ["a"]


def test_move_to_another_file_system_is_refused(twinfs, source, tmp_path):
    _, copy = make_pair(source)
    before = snapshot(source)
    with disk("ext4", tmp_path) as other:
        result = twinfs("move", "--folders", "--yes", source, other)
        refused(result, copy, "on another file system")
        assert os.listdir(other) == ["lost+found"]
    assert snapshot(source) == before


def test_move_replaces_nothing(twinfs, source, tmp_path):
    _, copy = make_pair(source)
    moved = tmp_path / "moved"
    (moved / "b").mkdir(parents=True)
    refused(twinfs("move", "--folders", "--yes", source, moved), copy, "exists already")
    assert copy.exists() and not os.listdir(moved / "b")


def test_folders_of_several_sources_move_to_their_trees(twinfs, tmp_path):
    first, second, moved = (tmp_path / name for name in ("first", "second", "moved"))
    for source in (first, second):
        make(source / "in/a")
        trees.write(source / "in/own", str(source).encode())
    moved.mkdir()
    twinfs.ok("move", "--folders", "--yes", first, second, moved)
    assert sorted(path.name for path in (moved / "second/in").iterdir()) == ["a"]
    assert not (second / "in/a").exists() and (second / "in/own").exists()
    twinfs.ok("undo", "--yes")
    assert (second / "in/a/one").exists()


# undo

def test_undo_replaces_nothing(twinfs, source):
    _, copy = make_pair(source)
    whole = contents(snapshot(copy))
    twinfs.ok("remove", "--folders", "--yes", source)
    trees.write(copy / "one", b"mine")
    (copy / "sub").mkdir()
    (copy / "sub/link").symlink_to("mine")
    os.utime(copy / "sub", (5, 5))
    result = twinfs("undo", "--yes")
    assert result.status == 3
    assert (copy / "one").read_bytes() == b"mine" and os.readlink(copy / "sub/link") == "mine"
    assert (copy / "sub/deep/three").exists()
    for name in ("one", "sub/link"):
        (copy / name).unlink()
    twinfs.ok("undo", "--yes")
    assert snapshot(copy).keys() == whole.keys()


def test_undo_names_what_is_there_already_with_other_metadata(twinfs, source):
    _, copy = make_pair(source)
    twinfs.ok("remove", "--folders", "--yes", source)
    (copy / "sub").mkdir(parents=True, mode=0o701)
    (copy / "empty").mkdir()
    os.mkfifo(copy / "fifo", mode=0o602)
    result = twinfs("undo", "--yes")
    assert result.status == 3
    named = [line for line in result.errors if "is there already, with another" in line]
    assert [name for name in ("sub", "fifo", "empty")
            if any(f"'{copy}/{name}'" in line for line in named)] == ["sub", "fifo"]
    assert len(named) == 2 and (copy / "sub").stat().st_mode & 0o777 == 0o701


@pytest.mark.parametrize("act", ["trash", "move"])
def test_undo_of_a_moved_folder_that_is_gone_says_so(twinfs, source, moved, act):
    kept, copy = make_pair(source)
    twinfs.ok(*act_words(act, source, moved))
    trees.remove(moved / "b" if act == "move" else thrown_away(twinfs.home)[str(copy)])
    result = twinfs("undo", "--yes")
    assert result.status == 3 and "no longer where the act moved it" in result.error.decode()
    assert str(kept) in twinfs.ok("log", acts(twinfs)[-1]["act"]).out.decode()


def test_devices_and_sockets_come_back(twinfs, source, root_only):
    kept = make_folder(source / "a")
    os.mknod(kept / "null", 0o20640, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(kept / "socket"))
    copy = copy_tree(kept, source / "b")
    whole = snapshot(copy)
    twinfs.ok("remove", "--folders", "--yes", source)
    assert not copy.exists()
    twinfs.ok("undo", "--yes")
    assert snapshot(copy) == whole
    assert os.lstat(copy / "null").st_rdev == os.makedev(1, 3)

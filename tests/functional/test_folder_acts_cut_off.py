# SPDX-License-Identifier: MIT
"""Folder acts that are interrupted, or of which a call fails: no content is lost, and recover
leaves no half folder."""
import json
import os
import shutil

import pytest
import trees
from folder_acts import (
    ACTS,
    OTHER,
    act_words,
    contents,
    is_being_emptied,
    make_pair,
    private_names,
    snapshot,
    thrown_away,
)
from processes import until
from test_act_faults import each_fault

# A kill at a call that waits for a disk leaves what a kill at the next of these calls leaves.
CHANGING = ("renameat2", "unlinkat", "write", "ftruncate", "mkdirat")


def kill_points(twinfs, words):
    """Runs in which the first, second ... call of each kind is killed, until a run has no further
    call of that kind."""
    for call in CHANGING:
        for number in range(1, 200):
            result, trace = twinfs.traced(
                *words, calls=f"trace={','.join(CHANGING)}",
                flags=["-e", f"inject={call}:signal=KILL:when={number}"])
            killed = b"killed by SIGKILL" in trace
            yield call, number, killed
            if not killed:
                assert result.status == 0, result
                break


def said_to_be_gone(twinfs):
    """The paths whose last record in the log is not of an undo, nor of an interruption."""
    acts = [json.loads(line) for line in twinfs.ok("log", "--format=jsonl").lines]
    records = [json.loads(line) for act in acts
               for line in twinfs.ok("log", "--format=jsonl", act["act"]).lines]
    undone = {record["path"] for record in records if record["command"] == "undo"}
    return {record["path"] for record in records if "state" not in record} - undone


@pytest.mark.parametrize("act", ACTS)
def test_folder_act_killed_at_any_call_leaves_no_half_folder(twinfs, source, tmp_path, strace, act):
    moved = tmp_path / "moved"
    points = kill_points(twinfs, act_words(act, source, moved))
    whole, count, gone = None, 0, 0
    while True:
        for folder in (source, moved, twinfs.home / ".local"):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (source, moved):
            folder.mkdir()
        kept, copy = make_pair(source)
        trees.write(source / "other/file", b"z")
        before, whole = snapshot(kept), contents(snapshot(copy))
        point = next(points, None)
        if point is None:
            break
        count += point[2]
        twinfs.ok("recover")
        assert not private_names(source, moved), point
        assert snapshot(kept) == before, point
        places = [place for place in (copy, moved / "b", thrown_away(twinfs.home).get(str(copy)))
                  if place and place.exists()]
        assert len(places) == 1 or (act == "remove" and not places), (point, places)
        for place in places:
            assert contents(snapshot(place)) == whole, (point, place)
        there = [path for path in said_to_be_gone(twinfs) if os.path.lexists(path)]
        assert not there, (point, there)
        (twinfs.index / "acts.log").unlink(missing_ok=True)
        gone += not copy.exists()
        assert "no act was interrupted" in twinfs.ok("recover").error.decode(), point
    assert count > 15 and gone > 2


def cut_off(twinfs, source, removal=5):
    """Kills a removal when it has removed some files of the folder. Returns the folder."""
    result, _ = twinfs.traced(*act_words("remove", source, None), calls="trace=unlinkat",
                              flags=["-e", f"inject=unlinkat:signal=KILL:when={removal}"])
    assert result.status != 0
    return next(source.glob(".twinfs~*"))


def test_recovery_waits_for_a_kept_folder_that_is_absent(twinfs, source, strace):
    kept, copy = make_pair(source)
    before = snapshot(kept)
    other = cut_off(twinfs, source)
    left = len(snapshot(other))
    kept.rename(source.parent / "away")
    for _ in range(2):
        result = twinfs("recover")
        assert result.status == 3 and other.name in result.error.decode(), result
        assert len(snapshot(other)) == left and not copy.exists()
        assert private_names(source) == [other]
    (source.parent / "away").rename(kept)
    assert "removal completed" in twinfs.ok("recover").error.decode()
    assert os.listdir(source) == ["a"] and snapshot(kept) == before
    twinfs.ok("undo", "--yes")
    assert snapshot(copy) == before


@pytest.mark.parametrize("change", [lambda kept, other: (kept / "one").write_bytes(b"!" * 5000),
                                    lambda kept, other: trees.write(other / "new", b"new"),
                                    lambda kept, other: (kept / "none").unlink()],
                         ids=["kept written", "new file", "kept name removed"])
def test_recovery_returns_the_rest_of_a_folder_that_is_needed(twinfs, source, strace, change):
    kept, copy = make_pair(source)
    whole = contents(snapshot(copy))
    other = cut_off(twinfs, source)
    left = {path for path in snapshot(other) if OTHER not in path.name}
    change(kept, other)
    result = twinfs.ok("recover")
    assert "twinfs undo" in result.error.decode(), result
    assert set(snapshot(copy)) >= left and not private_names(source)
    twinfs.ok("undo", "--yes")
    found = contents(snapshot(copy))
    assert {path: found[path] for path in whole} == whole
    (copy / "new").unlink(missing_ok=True)


def test_undo_brings_back_removed_files_although_others_had_their_names(twinfs, source, strace):
    _, copy = make_pair(source)
    whole = contents(snapshot(copy))
    other = cut_off(twinfs, source)
    trees.write(other / "new", b"new")
    trees.fill(copy, {str(path): b"of the user" for path in whole
                      if (source / "a" / path).is_file()})
    result = twinfs.ok("recover")
    assert "twinfs undo" in result.error.decode(), result
    copy.rename(source.parent / "away")
    twinfs.ok("undo", "--yes")
    assert contents(snapshot(copy)) == whole


def test_undo_completes_a_folder_that_a_killed_removal_left_half_made(twinfs, source, strace):
    _, copy = make_pair(source)
    whole = contents(snapshot(copy))
    result, _ = twinfs.traced(
        *act_words("remove", source, None), calls="trace=unlinkat,removexattr",
        flags=["-e", "inject=unlinkat:error=EIO:when=7", "-e", "inject=removexattr:signal=KILL"])
    assert result.status != 0 and contents(snapshot(copy)) != whole
    twinfs.ok("recover")
    twinfs.ok("undo", "--yes")
    assert contents(snapshot(copy)) == whole


def test_file_with_a_private_name_gets_its_own_one_if_the_kept_folder_lost_it(twinfs, source,
                                                                               strace):
    kept, copy = make_pair(source)
    whole = contents(snapshot(copy))
    twinfs.ok("scan", source)
    other = cut_off(twinfs, source, removal=1)
    assert {path.parent.name for path in private_names(source)} == {source.name, "deep"}, other
    (kept / "sub/deep/three").rename(source / "away")
    assert "cannot complete" in twinfs.ok("recover").error.decode()
    assert contents(snapshot(copy)) == whole
    assert not private_names(source)


def test_removal_killed_while_it_copies_files_back_is_reported(twinfs, source, strace):
    kept, copy = make_pair(source)
    trees.write(source / "other/file", b"z")
    whole = contents(snapshot(copy))
    words = act_words("remove", source, None)
    traced = twinfs.under_strace("-e", "trace=unlinkat,mkdirat",
                                 "-e", "inject=unlinkat:delay_enter=5s:when=7",
                                 "-e", "inject=mkdirat:signal=KILL")
    twinfs.ok("scan", source)
    with traced.started(*words) as process:
        assert until(lambda: is_being_emptied(source, "sub"))
        (kept / "none").rename(source / "away")
        process.communicate(timeout=60)
    assert copy.exists() and contents(snapshot(copy)) != whole
    assert "'twinfs undo' copies the removed files" in twinfs.ok("recover").error.decode()
    twinfs("undo", "--yes")
    assert contents(snapshot(copy)) == whole


def test_removal_that_fails_at_its_first_name_is_undone_in_the_log(twinfs, source, strace):
    _, copy = make_pair(source)
    whole = contents(snapshot(copy))
    twinfs.ok("scan", source)
    result, _ = twinfs.traced(*act_words("remove", source, None), calls="trace=renameat2",
                              flags=["-e", "inject=renameat2:error=EIO:when=2"])
    assert result.status == 3 and b"interrupted" not in result.error, result
    assert contents(snapshot(copy)) == whole
    assert b"undone" in twinfs.ok("log").out


def test_move_that_is_refused_leaves_no_folders_at_its_destination(twinfs, source, tmp_path,
                                                                   strace):
    moved = tmp_path / "moved"
    moved.mkdir()
    _, copy = make_pair(source / "deep/er")
    whole = contents(snapshot(copy))
    twinfs.ok("scan", source)
    result, _ = twinfs.traced(*act_words("move", source, moved), calls="trace=renameat2",
                              flags=["-e", "inject=renameat2:error=EEXIST:when=2"])
    assert result.status == 3 and b"exists already" in result.error, result
    assert contents(snapshot(copy)) == whole
    assert list(moved.iterdir()) == []


def mount_point_of(path):
    return next(folder for folder in path.parents if os.path.ismount(folder))


@pytest.mark.parametrize("act", ACTS)
def test_folder_act_with_a_failing_call_leaves_no_half_folder(twinfs, source, tmp_path, strace,
                                                              act):
    moved = tmp_path / "moved"
    trash = twinfs.home / ".local"
    top_trash = mount_point_of(source) / f".Trash-{os.getuid()}"  # if the home trash fails
    # if the scan cannot read the symlink, only folders in b are known to be equal
    words = act_words(act, source, moved, "--regex=/b$")
    before = {}

    def run(program):
        for folder in (source, moved, trash, top_trash):
            trees.remove(folder)
        for folder in (source, moved):
            folder.mkdir()
        kept, copy = make_pair(source)
        trees.write(source / "other/file", b"z")
        before.update(kept=snapshot(kept), copy=contents(snapshot(copy)))
        return program(*words)

    def judge(result, at):
        at.ok("recover")
        if private_names(source, moved, trash):
            return f"left behind: {private_names(source, moved, trash)}"
        if snapshot(source / "a") != before["kept"]:
            return "the kept folder was changed"
        places = [place for place in (source / "b", moved / "b", top_trash / "files/b",
                                      thrown_away(twinfs.home).get(str(source / "b")))
                  if place and place.exists()]
        if len(places) != 1 and (act != "remove" or places):
            return f"the folder is at {places}"
        if any(contents(snapshot(place)) != before["copy"] for place in places):
            return "half of the folder is missing"
        again = at(*words)
        # the scan does not read the target of an unchanged symlink again
        if again.status != 0 or ((source / "b").exists() and b"nothing to" not in again.error):
            return f"the next run fails: {again}"
        return None

    each_fault(twinfs, tmp_path, run, judge)

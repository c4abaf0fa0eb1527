# SPDX-License-Identifier: MIT
"""Which act was the last one: log and undo know it after a kill, a failing index disk and changes
of the clock, over several indexes."""
import json
import os
import pty
import re
import shutil
from pathlib import Path

import pytest
from disks import bound, disk
from processes import release
from test_act import copies
from test_act_cut_off import cut_off, kill_points
from test_act_log import act_words, acts, records


def pair(folder, name="copy"):
    """A kept file and a copy of it in a new folder."""
    folder.mkdir()
    return copies(folder, 2, name=name)


def state_of(twinfs):
    """The folder with the indexes of the user."""
    root = twinfs("index", "--format=json", index=False)
    folders = [index["folder"] for index in json.loads(root.out)["indexes"]]
    return os.path.dirname(folders[0])


def rewrite(path, change):
    """Applies a function to each record of a log."""
    lines = [json.dumps(change(json.loads(line)), separators=(",", ":"))
             for line in path.read_text().splitlines()]
    path.write_text("".join(f"{line}\n" for line in lines))


def without_order(record):
    return {name: value for name, value in record.items() if name not in ("order", "series")}


def listed(twinfs):
    return [json.loads(line)["act"]
            for line in twinfs("log", "--format=jsonl", index=False).lines]


class Two:
    """Two sources, each with an index in the default folder."""

    def __init__(self, twinfs, tmp_path):
        self.twinfs = twinfs
        self.sources = [tmp_path / "one", tmp_path / "two"]
        self.copies = [pair(source)[1] for source in self.sources]

    def act(self, number):
        """Removes the copy of a source; returns the id of the act."""
        before = set(listed(self.twinfs))
        self.twinfs.ok("remove", "--yes", self.sources[number], index=False)
        assert not self.copies[number].exists()
        [act] = set(listed(self.twinfs)) - before
        return act

    def undo(self, *words):
        return self.twinfs("undo", "--yes", *words, index=False)

    def logs(self):
        return [path for folder in os.scandir(state_of(self.twinfs)) if folder.is_dir()
                for path in [folder.path + "/acts.log"] if os.path.exists(path)]

    def log(self, number):
        [path] = [path for path in self.logs()
                  if f"/{self.sources[number].name}-" in path]
        return Path(path)


@pytest.fixture
def two(twinfs, tmp_path, private_state):
    return Two(twinfs, tmp_path)


# ---- interrupted acts ----


@pytest.mark.parametrize("kind", ["remove", "link", "move"])
def test_undo_after_a_kill_at_any_call_never_undoes_an_older_act(twinfs, source, aside, strace,
                                                                 kind):
    _, older = pair(source / "older")
    twinfs.ok("remove", "--yes", source)
    [first] = acts(twinfs)
    content = {}
    for number in range(3):
        for path in pair(source / f"{number}"):
            content[path] = path.read_bytes()
    begun, seen = 0, {first["act"]}
    words = [*act_words(kind, source, aside), "--yes"]
    for point in kill_points(twinfs, words):
        has_begun = os.path.getsize(twinfs.index / "acts") > 0
        found = acts(twinfs)
        if has_begun:
            begun += 1
            assert found[-1]["act"] not in seen, point
            assert found[-1]["cut_off"] or found[-1]["files"] > 0, point
        if has_begun or found[-1]["act"] not in seen:
            twinfs.ok("undo", "--yes")
            assert not older.exists(), point
        assert {path: path.read_bytes() for path in content} == content, point
        assert not [path for path in aside.rglob("*") if path.is_file()], point
        assert b"no act was interrupted" in twinfs.ok("recover").error, point
        seen = {act["act"] for act in acts(twinfs)}
    assert begun > 6


def test_log_and_undo_know_an_act_whose_records_could_not_be_written(twinfs, source, strace):
    _, older = pair(source / "older")
    twinfs.ok("remove", "--yes", source)
    _, copy = pair(source / "newer")

    def on_full_disk(*words):
        return twinfs.traced(*words, calls="trace=write", flags=[
            "-P", twinfs.index / "acts.log", "-e", "inject=write:error=ENOSPC"])[0]

    result = on_full_disk("remove", "--yes", source)
    assert result.status == 1 and not copy.exists(), result
    full = on_full_disk("undo", "--yes")
    assert full.status == 1 and b"cannot know which act was the last one" in full.error
    assert not copy.exists() and not older.exists()
    assert on_full_disk("log").status == 3
    assert [record["path"] for record in records(twinfs)] == [str(copy)]
    twinfs.ok("undo", "--yes")
    assert copy.exists() and not older.exists()


def test_act_that_waits_for_its_disk_is_listed_and_is_the_last_one(twinfs, source, tmp_path):
    _, older = pair(source / "older")
    twinfs.ok("remove", "--yes", source)
    with disk("ext4", tmp_path) as root:
        inner = source / "disk"
        inner.mkdir()
        with bound(root, inner):
            _, copy = pair(inner / "newer")
            cut_off(twinfs, source, "remove", "--cross-file-systems", folder=copy.parent)
        result = twinfs("log", "--format=jsonl")
        assert result.status == 3
        act = json.loads(result.lines[-1])
        assert (act["files"], act["waiting"], act["cut_off"]) == (0, 1, True)
        text = twinfs("log", act["act"])
        assert os.fsencode(copy) in text.out and b"waits for its disk" in text.out
        result = twinfs("undo", "--yes")
        assert result.status == 3 and not older.exists()
        assert os.fsencode(inner) in result.error
        with bound(root, inner):
            twinfs.ok("undo", "--yes")
            assert copy.exists() and not older.exists()


@pytest.mark.parametrize("is_default", [True, False], ids=["default", "given"])
def test_act_after_one_that_waits_for_its_disk_is_the_last_one(twinfs, source, tmp_path,
                                                               private_state, is_default):
    if is_default:
        twinfs = twinfs.with_index(tmp_path / "none")

    def run(*words):
        return twinfs(*words, index=not is_default)

    with disk("ext4", tmp_path) as root:
        inner = source / "disk"
        inner.mkdir()
        with bound(root, inner):
            _, waiting = pair(inner / "pair")
            words = ["remove", "--yes", "--cross-file-systems", source]
            assert run("scan", *words[2:]).status == 0
            for number in range(1, 40):
                twinfs.under_strace("-e", f"inject=unlinkat:signal=KILL:when={number}")(
                    *words, index=not is_default)
                if list(waiting.parent.glob(".twinfs~*")):
                    break
        _, copy = pair(source / "last")
        assert run(*words, "--accept-changed-source").status == 0 and not copy.exists()
        listed = [json.loads(line) for line in run("log", "--format=jsonl").lines]
        assert [act["waiting"] for act in listed] == [1, 0]
        result = run("undo", "--yes")
        assert result.status == 3 and copy.exists(), result
        with bound(root, inner):
            assert run("recover").status == 0
            listed = [json.loads(line) for line in run("log", "--format=jsonl").lines]
            assert [(act["command"], act["cut_off"]) for act in listed] == [
                ("remove", True), ("remove", False), ("undo", False)]
            assert waiting.exists()


def test_undo_beside_a_running_act_does_not_guess(two, strace):
    two.act(0)
    twinfs = two.twinfs
    twinfs.ok("scan", two.sources[1], index=False)
    [index] = [folder.path for folder in os.scandir(state_of(twinfs))
               if folder.name.startswith("two-")]
    with twinfs.with_index(index).held("remove", "--yes", two.sources[1],
                                       call="unlinkat",
                                       flags=["-P", two.sources[1]]) as process:
        result = two.undo()
        assert result.status == 1 and b"cannot know which act" in result.error
        assert twinfs("log", index=False).status == 3
        assert not two.copies[0].exists()
        release(process)
        process.wait(timeout=60)
    assert two.undo().status == 0
    assert two.copies[1].exists() and not two.copies[0].exists()


# ---- the order ----


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_last_act_of_two_indexes_within_a_second_is_undone(two, order):
    done = [two.act(number) for number in order]
    assert listed(two.twinfs) == done
    assert two.undo().status == 0
    assert [two.copies[number].exists() for number in order] == [False, True]
    assert b"undone already" in two.undo().error


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_clock_set_back_between_two_acts_does_not_change_their_order(two, order):
    done = [two.act(number) for number in order]
    rewrite(two.log(order[1]), lambda record: record | {"time": "2001-02-03T04:05:06Z"})
    assert listed(two.twinfs) == done
    assert two.undo().status == 0
    assert [two.copies[number].exists() for number in order] == [False, True]


def test_clock_set_back_in_one_index_does_not_change_the_order(twinfs, source):
    found = []
    for number in range(2):
        found.append(pair(source / f"{number}")[1])
        twinfs.ok("remove", "--yes", source)
    last = acts(twinfs)[-1]["act"]
    rewrite(twinfs.index / "acts.log", lambda record: without_order(
        record | ({"time": "2001-02-03T04:05:06Z"} if record["act"] == last else {})))
    assert acts(twinfs)[-1]["act"] == last
    twinfs.ok("undo", "--yes")
    assert [path.exists() for path in found] == [False, True]


def test_acts_without_a_common_order_are_named_and_not_undone(two):
    """Logs of an earlier version have no order. An act that is done now is after them."""
    done = [two.act(0), two.act(1)]
    for path in (two.log(0), two.log(1)):
        rewrite(path, without_order)
    os.unlink(state_of(two.twinfs) + "/.acts")
    assert sorted(listed(two.twinfs)) == sorted(done)
    result = two.undo()
    assert result.status == 1
    for act in done:
        assert f"'twinfs undo {act}'".encode() in result.error
    assert not any(path.exists() for path in two.copies)
    assert two.undo(done[0]).status == 0 and two.copies[0].exists()
    third = two.act(0)
    assert listed(two.twinfs)[-1] == third
    assert two.undo().status == 0 and two.copies[0].exists() and not two.copies[1].exists()
    assert two.undo(done[1]).status == 0 and two.copies[1].exists()


@pytest.mark.parametrize("fault", ["lost", "corrupt", "older"])
def test_order_goes_on_if_its_file_is_damaged(two, fault):
    two.act(0)
    path = Path(state_of(two.twinfs), ".acts")
    before = path.read_text()
    assert re.fullmatch(r"series [0-9a-f]{16} last \d{20}\nlogged \d{20}\n", before)
    done = two.act(1)
    if fault == "lost":
        path.unlink()
    else:
        path.write_text(before if fault == "older" else before[:30])
    assert listed(two.twinfs)[-1] == done
    assert two.undo(done).status == 0
    last = two.act(1)
    assert listed(two.twinfs)[-1] == last
    assert two.undo().status == 0
    assert not two.copies[0].exists() and two.copies[1].exists()


def test_index_of_another_user_or_machine_makes_the_last_act_unknown(two, tmp_path):
    """An index folder with acts of another order was copied into the default folder."""
    two.act(0)
    foreign = two.log(0).parent.parent / "foreign"
    shutil.copytree(two.log(0).parent, foreign)
    rewrite(foreign / "acts.log", lambda record: record | {
        "act": "0123abcd", "series": "00000000000000ff", "order": 999})
    result = two.undo()
    assert result.status == 1 and b"twinfs undo 0123abcd" in result.error
    assert not two.copies[0].exists()


def test_order_that_cannot_be_written_prevents_no_act(two):
    root = os.geteuid() == 0
    state = "/var/lib" if root else two.twinfs.environment["XDG_STATE_HOME"]
    os.makedirs(f"{state}/twinfs/.acts")
    two.act(0)
    assert two.undo().status == 0 and two.copies[0].exists()


def test_file_of_the_user_beside_an_index_stays(twinfs, source):
    """It has the name of the file with the order of acts."""
    file = twinfs.index.parent / ".acts"
    file.write_bytes(b"mine\n")
    _, copy = pair(source / "pair")
    twinfs.ok("remove", "--yes", source)
    assert not copy.exists()
    twinfs.ok("undo", "--yes")
    assert copy.exists() and file.read_bytes() == b"mine\n"


# ---- acts that are in no log ----


def removed_later(two):
    """The log of the last act is removed with its index."""
    first, _ = two.act(0), two.act(1)
    shutil.rmtree(two.log(1).parent)
    return first


@pytest.mark.parametrize("since", ["nothing", "empty act", "undo"])
def test_undo_whose_later_act_is_in_no_log_refuses_and_names_the_act_before(two, since):
    first = removed_later(two)
    if since == "empty act":
        two.twinfs.ok("remove", "--yes", two.sources[0], index=False)
    elif since == "undo":
        assert two.undo(first).status == 0
        two.copies[0].unlink()
    result = two.undo()
    assert result.status == 1 and b"a later act is in no log" in result.error, result
    assert f"'twinfs undo {first}'".encode() in result.error
    assert not two.copies[0].exists()
    if since == "nothing":
        assert two.undo(first).status == 0 and two.copies[0].exists()
        third = two.act(0)
        assert listed(two.twinfs)[-1] == third
        assert two.undo().status == 0 and two.copies[0].exists()


def test_question_of_undo_says_that_a_later_act_is_in_no_log(two):
    first = removed_later(two)
    master, slave = pty.openpty()
    try:
        with open(slave, "rb", closefd=False) as terminal:
            os.write(master, b"y\n")
            result = two.twinfs("undo", index=False, stdin=terminal)
    finally:
        os.close(slave)
        os.close(master)
    assert b"A later act is in no log. Act " + first.encode() in result.error, result
    assert two.copies[0].exists()


@pytest.mark.parametrize("loss", ["index", "order", "older log"])
def test_log_or_order_that_was_lost_is_noticed_as_far_as_it_can_be(two, loss):
    first = two.act(0)
    if loss == "older log":
        older = two.log(0).read_bytes()
        other = two.sources[0] / "other"
        pair(other)
        two.twinfs.ok("remove", "--yes", two.sources[0], index=False)
        two.log(0).write_bytes(older)
        assert two.undo().status == 1
        return
    two.act(1)
    folder = two.log(1).parent
    if loss == "index":  # the user asks for one index
        index = two.log(0).parent
        shutil.rmtree(folder)
        assert two.twinfs.with_index(index)("undo", "--yes").status == 0
    else:
        shutil.rmtree(folder)
        os.unlink(state_of(two.twinfs) + "/.acts")
        assert two.undo().status == 0
    assert listed(two.twinfs)[0] == first and two.copies[0].exists()


def test_acts_that_did_nothing_do_not_hinder_undo(two, strace):
    """They took a number of the order, and have no record."""
    two.act(0)
    twinfs = two.twinfs
    twinfs.ok("remove", "--yes", two.sources[0], index=False)
    pair(two.sources[1] / "refused")
    log = two.log(0).read_bytes()
    with open(two.sources[1] / "copy", "ab"):
        twinfs("remove", "--yes", two.sources[1], index=False)
    assert two.log(0).read_bytes() == log
    for number in range(1, 6):
        pair(two.sources[0] / f"{number}")
        twinfs.under_strace("-e", f"inject=unlinkat:signal=KILL:when={number}")(
            "remove", "--yes", two.sources[0], index=False)
    result = two.undo()
    assert b"in no log" not in result.error, result

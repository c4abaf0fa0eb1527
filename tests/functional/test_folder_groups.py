# SPDX-License-Identifier: MIT
"""Equal folders: `list --folders` prints the groups that an independent oracle computes.

A failure names its seed. TWINFS_TEST_SEEDS is the number of random trees and of random histories.
STORM_SECONDS is the duration of each storm; STORM_SEED repeats one.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess

import pytest
import storm
import trees
from callers import Caller, call_as
from folder_oracle import Folders
from folder_trees import Forest, make_socket
from processes import end_process, stopped
from program import path_of
from test_index import MUTATING, kill_points

TREES = range(int(os.environ.get("TWINFS_TEST_SEEDS", "20")))
HISTORIES = range(int(os.environ.get("TWINFS_TEST_SEEDS", "2")))
ROUNDS = 6
STEPS = 12
KILLS = 6
LARGEST = 30  # names in a folder that a storm copies, so that copies do not grow without end
SECONDS = float(os.environ.get("STORM_SECONDS", "0.5"))
BYTES = trees.content("folder", 5000)
FOLDER, FIFO, SOCKET = object(), object(), object()


class Link(str):
    """The target of a symlink."""


class Hard(str):
    """The path of the file that gets another name."""


def plant(root, things):
    """Makes {path: bytes, Link, Hard, FOLDER, FIFO or SOCKET} below a root."""
    for path, thing in things.items():
        path = root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if thing is FOLDER:
            path.mkdir(exist_ok=True)
        elif thing is FIFO:
            os.mkfifo(path)
        elif thing is SOCKET:
            make_socket(os.fsencode(path))
        elif isinstance(thing, Link):
            os.symlink(thing, path)
        elif isinstance(thing, Hard):
            os.link(root / thing, path)
        else:
            trees.write(path, thing)
    return root


def relative(folders, root):
    """{paths relative to a root: (files, bytes, implied)} of the groups of an oracle."""
    return {tuple(sorted(os.path.relpath(os.fsdecode(path), root) for path in paths)):
            (group.files, group.bytes, group.implied) for paths, group in folders.groups.items()}


# names, kinds and contents, and {folders: (files, bytes, implied)}
LITERAL = {
    "equal": ({"a/x": b"1", "b/x": b"1"}, {("a", "b"): (1, 1, False)}),
    "another byte": ({"a/x": b"1", "b/x": b"2"}, {}),
    "another length": ({"a/x": b"1", "b/x": b"11"}, {}),
    "another name": ({"a/x": b"1", "b/y": b"1"}, {}),
    "names exchanged": ({"a/x": b"1", "a/y": b"2", "b/x": b"2", "b/y": b"1"}, {}),
    "one file more": ({"a/x": b"1", "b/x": b"1", "b/y": b"1"}, {}),
    "an empty file more": ({"a/x": b"1", "b/x": b"1", "b/y": b""}, {}),
    "an empty folder more": ({"a/x": b"1", "b/x": b"1", "b/y": FOLDER}, {}),
    "empty files": ({"a/x": b"1", "a/y": b"", "b/x": b"1", "b/y": b""},
                    {("a", "b"): (2, 1, False)}),
    "empty folders": ({"a/x": b"1", "a/y": FOLDER, "b/x": b"1", "b/y": FOLDER},
                      {("a", "b"): (1, 1, False)}),
    "an empty file and an empty folder": (
        {"a/x": b"1", "a/y": b"", "b/x": b"1", "b/y": FOLDER}, {}),
    "nothing": ({"a": FOLDER, "b": FOLDER}, {}),
    "no bytes": ({"a/x": b"", "a/y": Link("x"), "b/x": b"", "b/y": Link("x")}, {}),
    "symlinks": ({"a/x": b"1", "a/y": Link("x"), "b/x": b"1", "b/y": Link("x")},
                 {("a", "b"): (1, 1, False)}),
    "another target": ({"a/x": b"1", "a/y": Link("x"), "b/x": b"1", "b/y": Link("./x")}, {}),
    "a symlink and a file": ({"a/x": b"1", "a/y": b"1", "b/x": b"1", "b/y": Link("x")}, {}),
    "a symlink and a folder": ({"a/x": b"1", "a/y": FOLDER, "b/x": b"1", "b/y": Link("z")}, {}),
    "special files": ({"a/x": b"1", "a/y": FIFO, "a/z": SOCKET,
                       "b/x": b"1", "b/y": FIFO, "b/z": SOCKET}, {("a", "b"): (1, 1, False)}),
    "other kinds": ({"a/x": b"1", "a/y": FIFO, "b/x": b"1", "b/y": SOCKET}, {}),
    "nested": ({"a/s/x": b"1", "a/y": b"22", "b/s/x": b"1", "b/y": b"22"},
               {("a", "b"): (2, 3, False), ("a/s", "b/s"): (1, 1, True)}),
    "nested in other folders": ({"a/s/x": b"1", "a/y": b"22", "b/s/x": b"1"},
                                {("a/s", "b/s"): (1, 1, False)}),
    "nested under other names": ({"a/s/x": b"1", "b/t/x": b"1"}, {("a/s", "b/t"): (1, 1, False)}),
    "nested and once elsewhere": (
        {"a/s/x": b"1", "b/s/x": b"1", "c/s/x": b"1", "c/y": b""},
        {("a", "b"): (1, 1, False), ("a/s", "b/s", "c/s"): (1, 1, False)}),
    "in one folder": ({"a/s/x": b"1", "a/t/x": b"1"}, {("a/s", "a/t"): (1, 1, False)}),
    "in two equal folders": (
        {"a/s/x": b"1", "a/t/x": b"1", "b/s/x": b"1", "b/t/x": b"1"},
        {("a", "b"): (2, 2, False), ("a/s", "a/t", "b/s", "b/t"): (1, 1, True)}),
    "parents in two groups": (
        {f"{folder}/s/x": b"1" for folder in "abcd"} | {"c/y": b"", "d/y": b""},
        {("a", "b"): (1, 1, False), ("c", "d"): (2, 1, False),
         ("a/s", "b/s", "c/s", "d/s"): (1, 1, False)}),
    "a level more": ({"a/s/x": b"1", "b/s/s/x": b"1"}, {("a", "b/s"): (1, 1, False),
                                                       ("a/s", "b/s/s"): (1, 1, True)}),
    "three": ({"a/x": b"1", "b/x": b"1", "c/d/x": b"1"}, {("a", "b", "c/d"): (1, 1, False)}),
    "a lone hard link": ({"a/x": BYTES, "b/x": Hard("a/x")}, {("a", "b"): (1, 5000, False)}),
    "a hard link and a copy": (
        {"a/x": BYTES, "a/y": Hard("a/x"), "b/x": BYTES, "b/y": BYTES},
        {("a", "b"): (2, 10_000, False)}),
    "lone hard links exchanged": (
        {"a/x": BYTES, "a/y": b"1", "b/y": Hard("a/x"), "b/x": Hard("a/y")}, {}),
}


def is_no(path, _):
    return os.path.basename(path) == b"no"


def test_folder_with_an_excluded_name_equals_nothing(source):
    plant(source, {"a/x": b"1", "a/no": b"2", "b/x": b"1", "b/no": b"2", "c/x": b"1", "d/x": b"1",
                   "e/f/no": FOLDER, "e/f/x": b"1", "e/g/x": b"1"})
    found = Folders([source], excluded=is_no)
    assert relative(found, source) == {("c", "d", "e/g"): (1, 1, False)}


def test_small_file_below_min_size_equals_its_hard_links_only(source):
    plant(source, {"a/x": b"1", "b/x": b"1", "c/x": Hard("b/x"), "c/y": BYTES, "b/y": BYTES,
                   "a/y": BYTES})
    assert relative(Folders([source], min_size=2), source) == {("b", "c"): (2, 5001, False)}


def oracle_as(user, *arguments, **options):
    """The oracle, run by a user."""
    def run():
        return Folders(*arguments, **options)
    if not user or os.geteuid() != 0:
        return run()
    return call_as(Caller(user.pw_name, user.pw_uid, user.pw_gid), run)


def test_unreadable_file_or_folder_equals_nothing(source, plain_user):
    plant(source, {f"{folder}/{inner}/x": b"1" for folder in "abcdef" for inner in "st"})
    (source / "a/s/x").chmod(0)
    (source / "b/s").chmod(0)
    (source / "c/s").chmod(0o444)
    (source / "d/s").chmod(0o111)
    assert relative(oracle_as(plain_user, [source]), source) == {
        ("e", "f"): (2, 2, False),
        ("a/t", "b/t", "c/t", "d/t", "e/s", "e/t", "f/s", "f/t"): (1, 1, False)}


@pytest.mark.parametrize("things, freed", [
    ({"a/x": BYTES, "b/x": BYTES}, (5000, 5000)),
    ({"a/x": BYTES, "b/x": Hard("a/x")}, (0, 0)),
    ({"a/x": BYTES, "b/x": BYTES, "c": Hard("b/x")}, (0, 5000)),
    ({"a/x": BYTES, "a/y": Hard("a/x"), "b/x": BYTES, "b/y": BYTES}, (10_000, 5000)),
    ({"a/s/x": BYTES, "a/y": b"1", "b/s/x": Hard("a/s/x"), "b/y": b"1"}, (1, 1)),
    ({"a/x": BYTES, "b/x": BYTES, "c/x": Hard("b/x")}, (5000, 5000)),
    ({"a/x": BYTES, "b/x": Hard("a/x"), "c/x": Hard("a/x"), "c/y": b""}, (0, 0)),
])
def test_oracle_counts_the_bytes_that_would_be_freed(source, things, freed):
    """freed: if only a stays, if only b stays."""
    found = Folders([plant(source, things)])
    [group] = [group for paths, group in found.groups.items()
               if os.fsencode(source / "a") in paths]
    assert tuple(found.reclaimable(group, os.fsencode(source / name)) for name in "ab") == freed


# what is a whole copy, and {its files: bytes}; some folder of each group stays
@pytest.mark.parametrize("things, kept, expected", [
    (LITERAL["equal"][0], "a", (1, 1, 1, 1)),
    (LITERAL["three"][0], "a", (1, 2, 2, 2)),
    (LITERAL["nested"][0], "a", (1, 1, 2, 3)),
    (LITERAL["nested and once elsewhere"][0], "a", (2, 2, 2, 2)),
    (LITERAL["parents in two groups"][0], "a", (3, 2, 3, 2)),
    ({"a/x": BYTES, "b/x": Hard("a/x")}, "a", (1, 1, 1, 0)),
])
def test_oracle_counts_each_byte_of_whole_copies_once(source, things, kept, expected):
    """expected: groups, folders, files and bytes."""
    found = Folders([plant(source, things)])
    records = [record for record, group in zip(lines_of(found), found.groups.values())
               if not group.implied]
    assert tuple(found.summary(records).values()) == expected
    assert any(folder["path"] == f"{source}/{kept}" and folder["kept"]
               for record in records for folder in record["folders"])


def lines_of(found):
    """What `list --folders --all --format=jsonl` must print."""
    records = []
    for paths, group in found.groups.items():
        kept = min(paths)
        records.append({
            "hash": group.hash, "files": group.files, "size": group.bytes,
            "reclaimable": found.reclaimable(group, kept),
            "folders": [{"path": path.decode(), "kept": path == kept,
                         "fate": "kept" if path == kept else "redundant"}
                        for path in sorted(paths)]})
    return records


def change(*keys, to):
    def apply(records):
        at = records[0]
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = to
    return apply


PLANTED = {
    "missing": lambda records: records.pop(),
    "not equal": change("folders", 1, "path", to="/other"),
    "twice": lambda records: records.append(records[0]),
    "files": change("files", to=7),
    "bytes": change("size", to=7),
    "reclaimable": change("reclaimable", to=7),
    "no hash": change("hash", to=None),
    "hash": change("hash", to="0" * 31),
    "2 kept": change("folders", 1, "kept", to=True),
    "0 kept": change("folders", 0, "kept", to=False),
    "fate": change("folders", 0, "fate", to="redundant"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_oracle_detects_a_planted_difference(source, planted):
    things, _ = LITERAL["parents in two groups"]
    found = Folders([plant(source, things)])
    records = lines_of(found)
    assert found.differences(map(json.dumps, records)) == []
    PLANTED[planted](records)
    assert any(planted in text for text in found.differences(map(json.dumps, records)))


def test_oracle_detects_an_implied_group_that_should_be_left_out(source):
    found = Folders([plant(source, LITERAL["nested"][0])])
    records = lines_of(found)
    assert len(records) == 2
    assert len(found.differences(map(json.dumps, records), implied=False)) == 1


def test_generated_trees_have_every_kind_of_group(tmp_path):
    kinds = set()
    for seed in range(12):
        roots = [tmp_path / f"{seed}" / name for name in ("one", "two")]
        forest = Forest(roots, tmp_path / f"{seed}/outside", seed)
        forest.steps(STEPS)
        found = Folders(roots)
        for paths, group in found.groups.items():
            freed = found.reclaimable(group, min(paths))
            kinds |= {("implied", group.implied), ("has hash", group.has_hash),
                      ("frees all", freed == group.bytes * (len(paths) - 1)),
                      ("frees nothing", freed == 0), ("two", len(paths) == 2)}
    assert len(kinds) == 10


# the program

def agrees(twinfs, roots, *words, of=None, **options):
    """Asserts that the program prints the groups of the oracle, with and without implied ones.
    of: what to list, if it is a mounted view."""
    found = oracle_as(twinfs.user, roots, **options)
    for implied in (True, False):
        # the oracle does not know which symlinks lead to the copies
        result = twinfs("list", "--folders", "--break-symlinks", *["--all"] * implied,
                        "--format=json", *words,
                        *(of or roots))
        assert result.status == 0 or (twinfs.user and result.status == 3), result
        groups, summary = result.json["groups"], result.json["summary"]
        assert found.differences(map(json.dumps, groups), implied) == []
        expected = found.summary(groups)
        assert {key: summary[key] for key in expected} == expected
    return found


def is_sound(twinfs, *operands):
    """Asserts that check finds no difference."""
    result = twinfs("check", "--format=json", *operands)
    assert (result.json["names"], result.json["contents"]) == ([], []), result
    assert result.json["summary"]["structure"] == "sound"
    assert result.status == 0 or (twinfs.user and result.status == 3), result
    return True


@pytest.mark.parametrize("case", LITERAL)
def test_equal_folders_are_listed(twinfs, source, case):
    things, expected = LITERAL[case]
    assert relative(Folders([plant(source, things)]), source) == expected
    agrees(twinfs, [source])
    assert is_sound(twinfs, source)


@pytest.mark.parametrize("nested", [False, True])
def test_equal_sources_are_listed(twinfs, tmp_path, nested):
    one, two = (plant(tmp_path / name, {"s/x": b"1", "y": FIFO})
                for name in ("one/inner" if nested else "one", "two"))
    roots = [one.parent if nested else one, two]
    top = "one/inner" if nested else "one"
    assert relative(agrees(twinfs, roots), tmp_path) == {
        (top, "two"): (1, 1, False), (f"{top}/s", "two/s"): (1, 1, True)}
    assert is_sound(twinfs, *roots)


def test_devices_of_one_number_are_listed(twinfs, source, root_only):
    plant(source, {f"{folder}/x": b"1" for folder in "abcd"})
    for folder, kind, minor in (("a", 0o020666, 3), ("b", 0o020666, 3), ("c", 0o020666, 5),
                                ("d", 0o060666, 3)):
        os.mknod(source / folder / "y", kind, os.makedev(1, minor))
    assert relative(agrees(twinfs, [source]), source) == {("a", "b"): (1, 1, False)}
    assert is_sound(twinfs, source)


def test_folders_are_equal_again_without_the_options_that_left_out_files(twinfs, source):
    plant(source, {f"{folder}/{name}": data for folder in "abcd"
                   for name, data in (("s/x", b"1"), ("y", BYTES))})
    plant(source, {"c/no": BYTES, "d/no": BYTES})
    every = (), {}, 3
    without = ("--exclude=no",), {"excluded": is_no}, 2
    large = ("--min-size=2",), {"min_size": 2}, 0
    for words, options, count in (large, every, without, every):
        assert len(agrees(twinfs, [source], *words, **options).groups) == count
    assert is_sound(twinfs, source)


def test_folder_with_a_mount_point_in_it_equals_nothing(twinfs, source, root_only):
    plant(source, {f"{folder}/{name}": thing for folder in "abc"
                   for name, thing in (("x", b"1"), ("m", FOLDER), ("s/y", b"2"))})
    with small_disk(source / "a/m"):
        assert len(agrees(twinfs, [source]).groups) == 2
    assert len(agrees(twinfs, [source]).groups) == 2
    assert is_sound(twinfs, source)


@contextlib.contextmanager
def small_disk(path):
    subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


# random trees

OPTIONS = [
    ((), {}), ((), {}), (("--min-size=101",), {"min_size": 101}), ((), {}),
    (("--exclude=c.txt",), {"excluded": lambda path, _: os.path.basename(path) == b"c.txt"}),
]


def make_forest(tmp_path, seed, user=None):
    """A random forest of one to three sources, and options with which to list it."""
    roots = [tmp_path / name for name in ("one", "two", "three")[:1 + seed % 7 % 3]]
    forest = Forest(roots, tmp_path / "outside", seed)
    give(forest, user)
    words, options = OPTIONS[seed % len(OPTIONS)]
    return forest, roots, words, options


def give(forest, user):
    """Makes a user the owner of a forest."""
    if user and os.geteuid() == 0:
        owner = f"{user.pw_uid}:{user.pw_gid}"
        subprocess.run(["chown", "-hR", owner, *forest.roots], check=True)


@pytest.mark.parametrize("seed", TREES)
def test_random_tree_has_the_groups_of_the_oracle(twinfs, tmp_path, seed):
    _, roots, words, options = make_forest(tmp_path, seed)
    agrees(twinfs, roots, *words, **options)
    assert is_sound(twinfs, *roots)


@pytest.mark.parametrize("seed", TREES[::3])
def test_random_unreadable_tree_has_the_groups_of_the_oracle(as_user, tmp_path, seed):
    forest, roots, words, options = make_forest(tmp_path, seed, as_user.user)
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError):
            forest.lock()
    agrees(as_user, roots, *words, **options)
    assert is_sound(as_user, *roots)


def has_groups_of_a_new_index(twinfs, roots, words):
    """Asserts that an index that followed changes has the groups and hashes of a new one."""
    def listed(program):
        result = program("list", "--folders", "--all", "--format=jsonl", *words, *roots)
        found = {}
        for line in result.lines:
            record = json.loads(line)
            found[frozenset(map(path_of, record["folders"]))] = record["hash"]
        return found
    old, new = listed(twinfs), listed(twinfs.with_index(twinfs.folder / "new index"))
    assert old.keys() == new.keys()
    assert [folders for folders, name in old.items()
            if name and new[folders] and name != new[folders]] == []
    return True


def follow(twinfs, tmp_path, seed):
    """Changes a random forest, and compares after each scan."""
    forest, roots, words, options = make_forest(tmp_path, seed, twinfs.user)
    for number in range(ROUNDS):
        agrees(twinfs, roots, *words, **options)
        assert is_sound(twinfs, *roots), f"round {number}"
        forest.steps(forest.rng.choice((1, STEPS, 4 * STEPS)))
        give(forest, twinfs.user)
        for root in roots:
            trees.write(root / "never empty")
    return has_groups_of_a_new_index(twinfs, roots, words)


@pytest.mark.parametrize("seed", HISTORIES)
def test_history_between_scans_has_the_groups_of_the_oracle(twinfs, tmp_path, seed):
    assert follow(twinfs, tmp_path, seed)


@pytest.mark.parametrize("seed", HISTORIES)
def test_history_of_unreadable_trees_has_the_groups_of_the_oracle(as_user, tmp_path, seed):
    assert follow(as_user, tmp_path, seed)


@pytest.mark.parametrize("again", [False, True])
def test_scan_after_a_killed_scan_has_the_groups_of_the_oracle(twinfs, tmp_path, again, strace):
    forest, roots, *_ = make_forest(tmp_path, 1)
    only = "trace=" + ",".join(MUTATING)
    if again:
        agrees(twinfs, roots)
        forest.steps(4 * STEPS)
    before = tmp_path / "before"
    if again:
        shutil.copytree(twinfs.index, before)
    else:
        before.mkdir()
    _, trace = twinfs.traced("scan", *roots, calls=only)
    points, killed = kill_points(trace.decode(errors="replace")), 0
    for call, number in points[::max(1, len(points) // KILLS)]:
        shutil.rmtree(twinfs.index)
        shutil.copytree(before, twinfs.index)
        result, _ = twinfs.traced("scan", *roots, calls=only, flags=[
            "-e", f"inject={call}:signal=KILL:when={number}"])
        killed += result.status != 0
        agrees(twinfs, roots)
        assert is_sound(twinfs, *roots), (call, number)
    assert killed > KILLS // 2


def test_view_has_the_right_groups_after_changes_of_one_name(twinfs, source):
    plant(source, {f"{folder}/{name}": thing for folder in "abc"
                   for name, thing in (("s/x", BYTES), ("y", b"1"), ("l", Link("y")), ("e", b""))})
    every, without_b = (("a", "b", "c"), ("a/s", "b/s", "c/s")), (("a", "c"), ("a/s", "b/s", "c/s"))
    changes = [
        (lambda: trees.write(source / "b/y", b"2"), without_b),
        (lambda: trees.write(source / "b/y", b"1"), every),
        (lambda: trees.write(source / "b/no"), without_b),
        (lambda: os.unlink(source / "b/no"), every),
        (lambda: os.mkdir(source / "b/no"), without_b),
        (lambda: os.rename(source / "b/no", source / "new"), every),
        (lambda: os.rename(source / "b/l", source / "b/m"), without_b),
        (lambda: os.rename(source / "b/m", source / "b/l"), every),
        (lambda: os.rename(source / "b/e", source / "e"), without_b),
        (lambda: os.link(source / "c/e", source / "b/e"), every),
        (lambda: os.truncate(source / "b/e", 1), (("b", "c"), ("a/s", "b/s", "c/s"))),
        (lambda: os.truncate(source / "b/e", 0), every),
        (lambda: os.rename(source / "b/s", source / "s"), (("a", "c"), ("a/s", "c/s", "s"))),
        (lambda: os.rename(source / "s", source / "b/s"), every),
        (lambda: os.rename(source / "b", source / "no"), (("a", "c"), ("a/s", "c/s"))),
        (lambda: os.rename(source / "no", source / "b"), every),
        (lambda: os.chmod(source / "b/y", 0o600), every),
    ]
    words = ("--exclude=no",)
    with twinfs.mounted(source, options=["--wait", *words]) as view:
        for number, (change, expected) in enumerate(changes):
            change()
            view.sync()
            found = agrees(twinfs, [source], *words, of=[view.path], excluded=is_no)
            assert relative(found, source).keys() == set(expected), f"change {number}"
        assert is_sound(twinfs, view.path)


def disturb(kind, twinfs, forest, view, views, words):
    """Changes the forest while the daemon is stopped, or before it is killed and followed by
    another one; returns the view to continue with."""
    if kind == "overflow":
        burst = storm.watched_folder(forest.roots[0], view)
        with stopped(view.pid):
            storm.burst(burst)
            forest.steps(STEPS)
            trees.remove(burst)
    elif kind == "killed":
        forest.steps(STEPS)
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
        forest.steps(STEPS)
        return views.enter_context(twinfs.mounted(*forest.roots, options=["--wait", *words]))
    return view


@pytest.mark.parametrize("seed", HISTORIES)
@pytest.mark.parametrize("kind", ["plain", "killed", "overflow"])
def test_view_has_the_groups_of_the_oracle_after_each_change(twinfs, tmp_path, kind, seed):
    forest, roots, *_ = make_forest(tmp_path, seed)
    # without --exclude: the daemon gets no events of changes through excluded names
    words, options = OPTIONS[seed % 3]
    with contextlib.ExitStack() as views:
        view = views.enter_context(twinfs.mounted(*roots, options=["--wait", *words]))
        for number in range(ROUNDS):
            if number % 3 == 2:
                view = disturb(kind, twinfs, forest, view, views, words)
            forest.steps(forest.rng.choice((1, STEPS, 4 * STEPS)))
            view.sync()
            agrees(twinfs, roots, *words, of=[view.path], **options)
            assert is_sound(twinfs, view.path), f"round {number}"
    assert has_groups_of_a_new_index(twinfs, roots, words)


class FolderWriter(storm.Writer):
    """A writer that copies and moves folders more often than files."""

    def copy_folder(self):
        path, to = self.folder(1), self.folder(1)
        size = sum(len(names) + len(files) for _, names, files in os.walk(path))
        if size <= LARGEST and not (to + b"/").startswith(path + b"/"):
            shutil.copytree(path, to, symlinks=True, dirs_exist_ok=True)

    CHANGES = (*storm.Writer.CHANGES, *[copy_folder] * 8, *[storm.Writer.rename_folder] * 4)


@pytest.mark.parametrize("kind", ["plain", "overflow", "killed"])
def test_view_has_the_groups_of_the_oracle_after_a_storm(twinfs, source, kind, record_property):
    seed = int(os.environ.get("STORM_SEED", random.randrange(1 << 32)))
    record_property("seed", seed)
    FolderWriter(source, f"{seed} first").run(0.2)
    with contextlib.ExitStack() as views:
        view = views.enter_context(twinfs.mounted(source))
        with storm.Workers(FolderWriter, storm.WRITERS, (source,), seed, SECONDS) as writers:
            view = storm.disturb(kind, twinfs, source, view, views)
            assert sum(writers.results()) > 10
        view.sync()
        record_property("groups", len(agrees(twinfs, [source], of=[view.path]).groups))
        assert is_sound(twinfs, view.path), f"seed {seed}"

# SPDX-License-Identifier: MIT
"""A plan file: the output of a dry run, edited, and then acted upon."""
import base64
import json
import os
import random

import pytest
import trees
from program import path_of
from test_act import copies, everything, planned
from test_act_log import records


@pytest.fixture
def plan(tmp_path):
    return tmp_path / "plan.jsonl"


def dry_run(twinfs, plan, *words):
    """Writes the plan of a dry run; returns its groups."""
    plan.write_bytes(twinfs.ok(*words, "--dry-run", "--quiet", "--format=jsonl").out)
    return [json.loads(line) for line in plan.read_bytes().splitlines()]


def write(plan, groups):
    plan.write_text("".join(json.dumps(group) + "\n" for group in groups))


def entry(path, fate):
    return {"path": str(path), "fate": fate}


def group(kept, *gone):
    return {"copies": [entry(kept, "kept"), *(entry(path, "redundant") for path in gone)]}


def swap(copies_of_group, stays):
    for number, copy in enumerate(copies_of_group):
        copy["fate"] = "kept" if number == stays else "redundant"
        copy["kept"] = number == stays


def pairs(source, count):
    return [copies(source, 2, name=f"pair {number}") for number in range(count)]


def is_refused_whole(twinfs, source, plan, words=("remove",)):
    """Asserts that the plan is refused with one message and without a change; returns it."""
    before = state(source)
    result = twinfs(*words, "--yes", "--plan", plan, source)
    assert result.status == 1, result
    assert state(source) == before
    [line] = [line for line in result.errors if "cannot use the plan" in line]
    assert "nothing was done" in line and f"'{plan}'" in line
    return line


def state(source):
    return {path: (path.lstat().st_ino, path.lstat().st_nlink) for path in source.rglob("*")}


def test_dry_run_has_no_numbers_of_stat(twinfs, source, plan):
    copies(source, 2)
    [printed] = dry_run(twinfs, plan, "remove", source)
    assert all({"dev", "ino"}.isdisjoint(copy) for copy in printed["copies"])
    assert all("inode" in copy for copy in printed["copies"])


# ---- what a plan does ---------------------------------------------------------------------

@pytest.mark.parametrize("words", [["remove"], ["remove", "--trash"], ["link"],
                                   ["link", "--symbolic"], ["move"]], ids="-".join)
def test_plan_of_a_dry_run_is_the_act(twinfs, source, tmp_path, plan, words):
    moved = tmp_path / "moved"
    moved.mkdir()
    to = [moved] if words == ["move"] else []
    expected = planned(twinfs, *words, source, *to) if pairs(source, 5) else None
    dry_run(twinfs, plan, *words, source, *to)
    before = state(source)
    result = twinfs.ok(*words, "--yes", "--plan", plan, source, *to)
    assert b"5 copies" in result.out
    changed = {os.fsencode(path) for path, old in before.items()
               if not os.path.lexists(path) or (path.lstat().st_ino != old[0])}
    assert changed == expected
    assert len(everything(moved)) == (5 if to else 0)


def test_only_the_lines_and_copies_that_are_left_are_acted_upon(twinfs, source, plan):
    for name in ("one", "two", "three"):
        copies(source, 4, name=name)
    groups = dry_run(twinfs, plan, "remove", source)
    del groups[1]
    del groups[0]["copies"][2]
    gone = {path_of(copy) for part in groups for copy in part["copies"]
            if copy["fate"] == "redundant"}
    write(plan, groups)
    before = everything(source)
    twinfs.ok("remove", "--yes", "--plan", plan, source)
    assert everything(source) == before - gone
    assert len(gone) == 5


def test_swapped_copies_stay_and_go(twinfs, source, plan):
    kept, first, second = copies(source)
    [found] = dry_run(twinfs, plan, "remove", source)
    swap(found["copies"], 2)
    write(plan, [found])
    twinfs.ok("remove", "--yes", "--plan", plan, source)
    assert everything(source) == {os.fsencode(second)}
    assert not kept.exists() and not first.exists()


def test_plan_finds_its_sources_in_the_index(twinfs, source, plan):
    copies(source)
    dry_run(twinfs, plan, "remove", source)
    twinfs.ok("remove", "--yes", "--plan", plan)
    assert len(everything(source)) == 1


@pytest.mark.parametrize("count", [0, 2])
def test_plan_without_one_index_needs_its_sources(twinfs, source, plan, count):
    copies(source)
    dry_run(twinfs, plan, "remove", source)
    for folder in [source, source.parent][:count]:
        twinfs.ok("scan", folder, index=False)
    result = twinfs("remove", "--yes", "--plan", plan, index=False)
    assert result.status == 1
    assert "give the SOURCE... of the plan" in result.errors[-1]
    twinfs.ok("remove", "--yes", "--plan", plan, source, index=False)
    assert len(everything(source)) == 1


def test_any_name_can_be_planned(twinfs, source, plan):
    names = [b"\xff\xfe", b"line\nbreak", b'"quoted"', b"\x1b[2J", "∕".encode(), b"-rf"]
    for number, name in enumerate(names):
        for folder in (b"a", b"b"):
            trees.write(os.path.join(os.fsencode(source), folder, name),
                        trees.content(number, 100))
    dry_run(twinfs, plan, "remove", source)
    twinfs.ok("remove", "--yes", "--plan", plan, source)
    assert everything(source) == {os.path.join(os.fsencode(source), b"a", name)
                                  for name in names}


def test_plan_can_be_tried(twinfs, source, plan):
    kept, first, second = copies(source)
    write(plan, [group(second, first)])
    before = everything(source)
    result = twinfs.ok("remove", "--dry-run", "--format=null", "--plan", plan, source)
    assert result.out.split(b"\0")[:-1] == [b"+" + os.fsencode(second), b"-" + os.fsencode(first)]
    assert everything(source) == before


def test_hard_links_of_a_copy_can_go_together(twinfs, source, plan):
    kept, copy = copies(source, 2)
    link = source / "another name"
    os.link(copy, link)
    write(plan, [group(kept, link, copy)])
    result = twinfs.ok("remove", "--yes", "--plan", plan, source)
    assert everything(source) == {os.fsencode(kept)}
    assert b"removed     2 copies" in result.out


@pytest.mark.parametrize("way", ["in a line", "in two lines", "the kept copy"])
def test_name_that_is_listed_twice_counts_once(twinfs, source, plan, way):
    kept, first, second = copies(source, size=5000)
    write(plan, {"in a line": [group(kept, first, first, second)],
                 "in two lines": [group(kept, first, second), group(kept, first)],
                 "the kept copy": [{"copies": [entry(kept, "kept"), entry(kept, "kept"),
                                               *group(kept, first, second)["copies"][1:]]}]}[way])
    result = twinfs.ok("remove", "--dry-run", "--plan", plan, source)
    said = [line for line in result.errors if "repeats 1 name" in line]
    assert len(said) == 1 and f"in line {2 if 'two' in way else 1};" in said[0], result
    assert "2 copies would be removed" in result.errors[-1], result
    result = twinfs.ok("remove", "--yes", "--plan", plan, source)
    assert b"removed     2 copies" in result.out and b"skipped" not in result.out
    assert everything(source) == {os.fsencode(kept)}


def test_plan_of_a_move_needs_only_the_folder(twinfs, source, aside, plan):
    kept, *gone = copies(source)
    dry_run(twinfs, plan, "move", source, aside)
    twinfs.ok("move", "--yes", "--plan", plan, aside)
    assert everything(source) == {os.fsencode(kept)}
    assert {os.path.basename(path) for path in everything(aside)} == {
        os.fsencode(path.name) for path in gone}
    result = twinfs("move", "--yes", "--plan", plan)
    assert result.status == 2 and "no FOLDER given" in result.errors[0]
    result = twinfs("move", "--yes", "--plan", plan, source)
    assert result.status == 1 and "overlaps with the source" in result.errors[-1]


def test_path_in_both_spellings_is_one_path(twinfs, source, plan):
    kept, first, second = copies(source)
    found = group(kept, first, second)
    for copy in found["copies"]:
        copy["path_base64"] = base64.b64encode(os.fsencode(copy["path"])).decode()
    write(plan, [found])
    assert len(planned(twinfs, "remove", "--plan", plan, source)) == 2
    found["copies"][2]["path"] = str(source / "copy 1")
    write(plan, [found])
    assert "path and path_base64 of a copy do not agree" in is_refused_whole(twinfs, source, plan)


def test_empty_plan_does_nothing(twinfs, source, plan):
    copies(source)
    plan.write_bytes(b"\n\n")
    assert "nothing to remove" in twinfs.ok("remove", "--yes", "--plan", plan,
                                            source).error.decode()
    assert len(everything(source)) == 3


# ---- what it refuses ----------------------------------------------------------------------

MALFORMED = {
    "no JSON": "path",
    "cut off": '{"copies": [{"path": "SOURCE/a", "fate": "kept"}',
    "no object": "[]",
    "the format json": '{"version": "1", "groups": [',
    "no copies": '{"hash": "0"}',
    "no list": '{"copies": {"path": "SOURCE/a"}}',
    "no path": '{"copies": [{"fate": "kept"}]}',
    "no copy": '{"copies": [7]}',
    "no fate": '{"copies": [{"path": "SOURCE/a"}]}',
    "another fate": '{"copies": [{"path": "SOURCE/a", "fate": "goes"}]}',
    "fate and kept differ": '{"copies": [{"path": "SOURCE/a", "fate": "redundant", '
                            '"kept": true}]}',
    "nothing kept": '{"copies": [{"path": "SOURCE/a", "fate": "redundant"}]}',
    "outside": '{"copies": [{"path": "/etc/passwd", "fate": "redundant"}]}',
    "above": '{"copies": [{"path": "SOURCE/../x", "fate": "redundant"}]}',
    "the source": '{"copies": [{"path": "SOURCE", "fate": "redundant"}]}',
    "two slashes": '{"copies": [{"path": "SOURCE//a", "fate": "redundant"}]}',
    "relative": '{"copies": [{"path": "a", "fate": "redundant"}]}',
    "not base64": '{"copies": [{"path": "x", "path_base64": "!", "fate": "redundant"}]}',
    "a NUL": json.dumps({"copies": [{"path": "x", "fate": "redundant", "path_base64":
                                     base64.b64encode(b"/a\0b").decode()}]}),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_line_is_named_and_nothing_is_done(twinfs, source, plan, kind):
    copies(source, 3)
    (source / "a").write_bytes(b"content")
    groups = dry_run(twinfs, plan, "remove", source)
    text = json.dumps(groups[0]) + "\n\n" + MALFORMED[kind].replace("SOURCE", str(source)) + "\n"
    plan.write_text(text)
    assert "line 3: " in is_refused_whole(twinfs, source, plan)


def test_missing_plan_is_an_error(twinfs, source, plan):
    for operands in ([source], []):
        result = twinfs("remove", "--yes", "--plan", plan, *operands)
        assert result.status == 1
        assert "No such file" in result.errors[-1]


@pytest.mark.parametrize("option", [["--keep=oldest"], ["--only", "."], ["--protect", "."],
                                    ["--between-sources"], ["--include-bundles"],
                                    ["--path=*"], ["--ipath=*"], ["--regex=."], ["--ext=x"],
                                    ["--max-size=1G"], ["--newer=1d"], ["--older=1d"],
                                    ["--copies=3"], ["--same-name"], ["--top=1"],
                                    ["--min-size=1"], ["--exclude=x"]])
def test_rules_or_filters_and_a_plan_exclude_each_other(twinfs, source, plan, option):
    copies(source)
    dry_run(twinfs, plan, "remove", source)
    result = twinfs("remove", "--yes", "--plan", plan, *option, source)
    assert result.status == 2 and "--plan" in result.errors[-1]
    assert len(everything(source)) == 3


def test_act_of_a_plan_is_recorded_and_undone(twinfs, source, plan):
    """The content is found by its hash, as the kept file is elsewhere."""
    kept, copy = copies(source, 2)
    content = copy.read_bytes()
    [planned_group] = dry_run(twinfs, plan, "remove", source)
    write(plan, [{"copies": planned_group["copies"]}])
    twinfs.ok("remove", "--yes", "--plan", plan, source)
    [record] = records(twinfs)
    assert (record["hash"], record["path"]) == (planned_group["hash"], str(copy))
    (source / "folder").mkdir()
    kept.rename(source / "folder/elsewhere")
    twinfs.ok("scan", source)
    twinfs.ok("undo", "--yes")
    assert copy.read_bytes() == content


# ---- the last copy ------------------------------------------------------------------------

def both_ways(a, b, c, d):
    return [group(a, b), group(b, a)]


def chain(a, b, c, d):
    return [group(a, b), group(b, c), group(c, d)]


def circle(a, b, c, d):
    return [group(a, b), group(b, c), group(c, a)]


def itself(a, b, c, d):
    return [group(a, a)]


def in_one_line(a, b, c, d):
    return [{"copies": [*group(a, b)["copies"], *group(b, a)["copies"]]}]


def link_to_kept(a, b, c, d):
    os.link(a, a.with_name("link"))
    return [group(a, a.with_name("link"))]


def links_both_ways(a, b, c, d):
    os.link(a, a.with_name("link of a"))
    os.link(b, b.with_name("link of b"))
    return [group(a, b), group(a.with_name("link of a"), c),
            group(b.with_name("link of b"), a.with_name("link of a"))]


@pytest.mark.parametrize("words", [("remove",), ("link",), ("link", "--symbolic")], ids="-".join)
@pytest.mark.parametrize("edit", [both_ways, chain, circle, itself, in_one_line, link_to_kept,
                                  links_both_ways])
def test_plan_in_which_a_file_stays_and_goes_is_refused(twinfs, source, plan, edit, words):
    write(plan, edit(*copies(source, 4)))
    line = is_refused_whole(twinfs, source, plan, words)
    assert "a file is kept in one and redundant in the other" in line


def test_copy_in_the_trash_is_no_reason_to_remove_another(twinfs, source, plan):
    trash = source / ".local/share/Trash/files"
    trash.mkdir(parents=True)
    kept, copy = copies(source, 2)
    copy.rename(trash / "copy")
    write(plan, [group(trash / "copy", kept)])
    result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3
    assert "the kept file is in the trash" in result.error.decode()
    assert kept.exists()


def random_plan(rng, groups):
    """Random edits: lines and copies vanish, fates are swapped, copies of two groups are mixed."""
    edited = []
    for each in groups:
        if rng.random() < 0.2:
            continue
        names = [copy for copy in each["copies"] if rng.random() < 0.8]
        if rng.random() < 0.3:
            names += rng.choice(groups)["copies"]
        if names:
            names = [dict(copy) for copy in names]
            swap(names, rng.randrange(len(names)))
            rng.shuffle(names)
            edited.append({"copies": names})
        if rng.random() < 0.3:
            edited += edited[-1:]
    return edited


@pytest.mark.parametrize("seed", range(8))
def test_random_plans_lose_no_content(twinfs, tmp_path, plan, seed):
    rng = random.Random(seed)
    source = tmp_path / "source"
    acted = refused = 0
    for _ in range(12):
        trees.remove(source)
        source.mkdir()
        for number in range(6):
            names = [source / f"{number}{letter}" for letter in "abcd"]
            for name in names[:3]:
                name.write_bytes(trees.content(number, 100))
            os.link(names[0], names[3])
        before = trees.every_content(source)
        write(plan, random_plan(rng, dry_run(twinfs, plan, "remove", source)))
        result = twinfs("remove", "--yes", "--plan", plan, source)
        assert trees.every_content(source) == before, result
        acted += result.status in (0, 3)
        refused += result.status == 1
    assert acted + refused == 12


# ---- what no longer holds -----------------------------------------------------------------

def rewritten(path):
    status = path.stat()
    path.write_bytes(os.urandom(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def removed(path):
    path.unlink()


def replaced_by_a_link(path):
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


CHANGES = {
    "copy rewritten": (rewritten, 1, "no longer equal"),
    "copy removed": (removed, 1, "no longer at its path"),
    "copy is a symlink": (replaced_by_a_link, 1, "was replaced by another file"),
    "kept rewritten": (rewritten, 0, "no longer equal"),
    "kept removed": (removed, 0, "the kept file is no longer at its path"),
    "kept is a symlink": (replaced_by_a_link, 0, "the kept file was replaced by another file"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_no_longer_holds_is_named_with_its_cause(twinfs, source, plan, case):
    change, which, cause = CHANGES[case]
    pair, (_, other) = pairs(source, 2)
    dry_run(twinfs, plan, "remove", source)
    change(pair[which])
    left = everything(source)
    result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3
    [line] = [line for line in result.errors if "skipped" in line]
    assert f"'{pair[1]}'" in line and cause in line
    assert everything(source) == left - {os.fsencode(other)}  # the other pair holds


def test_folder_that_became_a_symlink_is_not_followed(twinfs, source, plan, tmp_path):
    for folder in "ab":
        trees.write(source / folder / "x", b"content")
    dry_run(twinfs, plan, "remove", source)
    (source / "b").rename(tmp_path / "b")
    (source / "b").symlink_to(tmp_path / "b")
    result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3
    assert (tmp_path / "b/x").exists() and (source / "a/x").exists()


@pytest.mark.parametrize("name", ["kept", "copy"])
def test_file_that_is_open_for_writing_is_left_alone(twinfs, source, plan, name):
    pair = dict(zip(("kept", "copy"), copies(source, 2), strict=True))
    dry_run(twinfs, plan, "remove", source)
    with open(pair[name], "r+b"):
        result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3 and "open for writing" in result.error.decode()
    assert len(everything(source)) == 2


def test_plan_beside_a_view_is_followed(twinfs, source, plan):
    copies(source)
    with twinfs.mounted(source) as view:
        dry_run(twinfs, plan, "remove", view.path)
        twinfs.ok("remove", "--yes", "--plan", plan, view.path)
        assert len(everything(source)) == 1
        assert not view.differences_now(source)

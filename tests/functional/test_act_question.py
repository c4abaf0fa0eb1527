# SPDX-License-Identifier: MIT
"""The question before an act, the choice group by group, and what a dry run prints."""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess

import pytest
import trees
from disks import disk
from processes import TIMEOUT
from program import path_of
from terminal import Terminal, screen
from test_act import copies, everything, freed, planned

HOSTILE = [b"\x1b[2J\x1b[31mred", b"line\nbreak", b"\xff\xfe", "\u202egnp.exe".encode(),
           b"-rf", b" blank ", b"long " * 40]


END_OF_INPUT = b"\x04"  # the character VEOF, termios(3)


class Asked:
    """A command on a terminal, its exit status and what it wrote."""

    def __init__(self, twinfs, columns, answers, *words):
        with contextlib.closing(Terminal(columns)) as seen:
            os.write(seen.ours, answers.encode() + 4 * END_OF_INPUT)
            with seen.run(twinfs.command(*words), twinfs.environment,
                          stdin=seen.theirs, stdout=seen.theirs) as process:
                self.status = process.wait(TIMEOUT)
        self.text = seen.written.replace("\r\n", "\n")
        self.lines = screen(seen.written, columns)


def folders(source, spec):
    """Fills folders with files: {folder: [content, ...]}."""
    for folder, contents in spec.items():
        (source / folder).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(contents):
            (source / folder / f"{number}.jpg").write_bytes(trees.content(data, 5000))


# ---- the balance --------------------------------------------------------------------------

def rows(text):
    """{folder: (go, stay)} of the balance on a wide terminal."""
    return {match[3]: (int(match[1]), int(match[2])) for match in
            re.finditer(r"^ *(\d+)  +(\d+)  +[\d.]+ \S+  (.*)$", text, re.MULTILINE)}


def test_balance_has_what_goes_and_stays_in_each_folder(twinfs, source):
    folders(source, {"a": range(8), "b": range(5), "c/d": [5, 6, 7, 7]})
    asked = Asked(twinfs, 200, "n\n", "remove", source)
    assert asked.status == 1
    assert rows(asked.text) == {f"{source}/b": (5, 0), f"{source}/c/d": (4, 0)}
    assert re.search(rf"kept copies:\n +8  {source}/a\n", asked.text), asked.text
    assert "9 copies of 8 groups, 72 KiB freed" in asked.text
    assert "--dry-run" in asked.text and "--trash" in asked.text
    assert len(everything(source)) == 17


def test_balance_has_what_whole_folders_free(twinfs, source):
    folders(source, {"a": [1, 2], "b": [1, 2], "b/sub": [3]})
    folders(source, {"c/a": [1, 2], "c/b": [1, 2], "c/b/sub": [3]})
    asked = Asked(twinfs, 200, "n\n", "remove", "--folders", "--keep=path:c/*", source)
    assert re.search(rf"^ *2 +0 +40\.?0? KiB  {source}$", asked.text, re.MULTILINE), asked.text
    assert "2 folders of 2 groups, 40 KiB freed" in asked.text


def test_balance_of_many_folders_is_bounded(twinfs, source):
    folders(source, {f"a/{number:03}": [number] for number in range(300)})
    folders(source, {f"b/{number:03}": [number] for number in range(300)})
    folders(source, {f"c{number:02}": [number] for number in range(12)})
    asked = Asked(twinfs, 200, "n\n", "remove", source)
    found = rows(asked.text)
    assert len(asked.text.splitlines()) < 25, asked.text
    assert found[f"{source}/b (300 folders)"] == (300, 0)
    more = re.search(r"and (\d+) more folders?: (\d+) go, (\d+) stay", asked.text)
    assert sum(go for go, _ in found.values()) + (int(more[2]) if more else 0) == 312
    assert "  300  " in asked.text.split("kept copies:")[1]


def test_balance_counts_a_folder_once_although_its_keys_exceed_the_memory(twinfs, source):
    """Its names that stay and go are sorted beside the folder in it whose name begins with the
    lowest byte."""
    folders(source, {"keep": range(400)})
    deep = "/".join(["d" * 200] * 17)  # 1400 such keys have more than 4 MiB
    folders(source, {deep: [*range(400), *range(400, 700), *range(400, 700)],
                     f"{deep}/\x01": range(400)})
    asked = Asked(twinfs, 200, "n\n", "remove", source)
    assert sorted(rows(asked.text).values()) == [(400, 0), (700, 300)], asked.text
    kept = asked.text.split("kept copies:")[1]
    assert re.search(rf"^ +400  {source}/keep$", kept, re.MULTILINE), kept
    assert re.search(r"^ +300  \S+d$", kept, re.MULTILINE), kept


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_question_fits_every_terminal_and_quotes_names(twinfs, source, columns):
    for number, name in enumerate(HOSTILE):
        for folder in (b"kept", name):
            trees.write(os.path.join(os.fsencode(source), folder, name + b" %d" % number),
                        trees.content(number, 100))
    asked = Asked(twinfs, columns, "l\ng\ny\nx\na\nn\n", "remove", source)
    assert asked.status == 1
    assert not set(asked.text) & {"\x1b", "\u202e", "\ufffd"}, asked.text
    assert f"{len(HOSTILE)} copies" in " ".join(asked.lines)
    assert "group 1 of 7" in asked.text and "group 2 of 7" in asked.text
    assert len(everything(source)) == 2 * len(HOSTILE)
    # the balance never wraps; the paths of the list are shown whole
    balance = asked.text.split("kept copies:")[0].splitlines()
    assert all(len(line) <= columns for line in balance[1:]), balance


# ---- group by group -----------------------------------------------------------------------

def groups_of(source, count, size=3):
    """Groups of equal files, the largest files first; the kept copy is in folder 0."""
    data = {}
    for number in range(count):
        data[number] = trees.content(number, 9000 - number * 100)
        for folder in range(size):
            trees.write(source / f"{folder}" / f"{number}", data[number])
    return data


def left(source):
    return {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}


def test_choice_acts_upon_exactly_what_was_chosen(twinfs, source):
    data = groups_of(source, 6)
    asked = Asked(twinfs, 100, "g\ny\n2\n1,3\nn\nnonsense\n9\ny\nq\ny\n", "remove", source)
    assert asked.status == 0, asked.text
    assert left(source) == {"0/0", "1/1", "0/2", "2/2", "0/3", "1/3", "2/3", "0/4",
                            "0/5", "1/5", "2/5"}
    assert {path.read_bytes() for path in source.rglob("*") if path.is_file()} == set(
        data.values())
    assert "removed     7 copies" in asked.text


def test_choice_of_all_takes_the_remaining_groups(twinfs, source):
    groups_of(source, 4)
    asked = Asked(twinfs, 100, "g\n3\na\ny\n", "remove", source)
    assert asked.status == 0
    assert left(source) == {"2/0", "0/1", "0/2", "0/3"}


@pytest.mark.parametrize("answers", ["g\nq\n", "g\nn\nn\n", "g\n", "g\ny\ny\nn\n", ""])
def test_choice_of_nothing_changes_nothing(twinfs, source, answers):
    groups_of(source, 2)
    with contextlib.closing(Terminal(80)) as seen:
        os.write(seen.ours, answers.encode() + 4 * END_OF_INPUT)
        with seen.run(twinfs.command("remove", source), twinfs.environment,
                      stdin=seen.theirs) as process:
            assert process.wait(TIMEOUT) == 1
    assert "nothing was done" in seen.written
    assert len(left(source)) == 6


def test_protected_copy_stays_whatever_is_chosen(twinfs, source):
    groups_of(source, 1)
    asked = Asked(twinfs, 100, "g\n2\ny\n", "remove", "--protect", source / "0", source)
    assert "the first one always stays: protected" in asked.text
    assert left(source) == {"0/0", "1/0"}


def test_choice_between_sources_leaves_the_source_of_the_kept_copy_alone(twinfs, source):
    groups_of(source, 1)
    trees.write(source / "1/again", (source / "1/0").read_bytes())
    for folder in "012":
        (source / folder).rename(source.parent / f"tree {folder}")
    sources = [source.parent / f"tree {folder}" for folder in "012"]
    asked = Asked(twinfs, 100, "g\n2\ny\n", "remove", "--between-sources", *sources)
    assert asked.status == 0
    assert [len(everything(folder)) for folder in sources] == [0, 2, 0]


def test_copies_that_go_by_choice_are_checked_again(twinfs, source, root_only):
    """The first copy cannot be removed, which does not matter while it stays."""
    groups_of(source, 1)
    subprocess.run(["chattr", "+i", source / "0/0"], check=True)
    try:
        asked = Asked(twinfs, 200, "g\n2\ny\n", "remove", source)
    finally:
        subprocess.run(["chattr", "-i", source / "0/0"], check=True)
    assert f"skipped '{source}/0/0': it or its folder is immutable" in asked.text
    assert "1 copy of 1 group" in asked.text
    assert left(source) == {"0/0", "1/0"}


# ---- a dry run ----------------------------------------------------------------------------

FORMATS = {
    "text": lambda out: (re.findall(rb"^  kept  (.*)$", out, re.MULTILINE),
                         re.findall(rb"^  copy  (.*)$", out, re.MULTILINE)),
    "fdupes": lambda out: (re.findall(rb"^   \[\+\] (.*)$", out, re.MULTILINE),
                           re.findall(rb"^   \[-\] (.*)$", out, re.MULTILINE)),
    "json": lambda out: fates(json.loads(out)["groups"]),
    "jsonl": lambda out: fates(map(json.loads, out.splitlines())),
    "csv": lambda out: tuple([row["path"].encode() for row in
                              csv.DictReader(io.StringIO(out.decode(), newline=""))
                              if row["fate"] == fate] for fate in ("kept", "redundant")),
    "null": lambda out: tuple([path[1:] for path in out.split(b"\0") if path.startswith(sign)]
                              for sign in (b"+", b"-")),
}


def fates(groups):
    names = [copy for group in groups for copy in group["copies"]]
    return tuple([path_of(copy) for copy in names if copy["fate"] == fate]
                 for fate in ("kept", "redundant"))


@pytest.mark.parametrize("name", FORMATS)
def test_dry_run_prints_the_copy_that_stays(twinfs, source, name):
    kept, *gone = copies(source)
    before = everything(source)
    result = twinfs.ok("remove", "--dry-run", f"--format={name}", source)
    assert FORMATS[name](result.out) == ([os.fsencode(kept)], [os.fsencode(path) for path in gone])
    assert "2 copies would be removed and 16 KiB freed" in result.errors[-1]
    assert everything(source) == before


def refusals(result):
    return sorted(line for line in result.errors if "warning" in line)


def check_dry_run(twinfs, sources, words, operands):
    """Asserts that a dry run refuses what the act refuses, and prints what the act then does."""
    before = {path: state(path) for folder in sources for path in folder.rglob("*")}
    dry = twinfs(*words, "--dry-run", "--format=null", *operands)
    assert {path: state(path) for folder in sources for path in folder.rglob("*")} == before
    result = twinfs(*words, "--yes", *operands)
    after = {path: state(path) for folder in sources for path in folder.rglob("*")}
    changed = {os.fsencode(path) for path in before if after.get(path) != before[path]
               and path.is_dir() is False}
    promised = {path[1:] for path in dry.out.split(b"\0") if path.startswith(b"-")}
    kept = {path[1:] for path in dry.out.split(b"\0") if path.startswith(b"+")}
    assert changed - kept == promised
    assert refusals(dry) == refusals(result)
    assert dry.status == result.status
    return dry, result


def state(path):
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_nlink


@pytest.mark.parametrize("words", [["remove"], ["remove", "--trash"], ["link"],
                                   ["link", "--symbolic"], ["move"]], ids="-".join)
def test_dry_run_refuses_what_the_act_refuses(twinfs, source, tmp_path, words, root_only):
    moved = tmp_path / "moved"
    moved.mkdir()
    (source / "private").mkdir()
    for name, change in {"plain": None, "other mode": lambda path: path.chmod(0o600),
                         "attribute": lambda path: os.setxattr(path, "user.a", b"b"),
                         "there": lambda path: (moved / path.name).write_bytes(b"mine")}.items():
        kept, copy = copies(source, 2, name=name)
        if change:
            change(copy)
    _, locked = copies(source, 2, name="locked")
    [hidden] = copies(source / "private", 1, name="hidden")
    trees.write(source / "0 hidden", hidden.read_bytes())
    (source / "private").chmod(0o700)
    subprocess.run(["chattr", "+i", locked], check=True)
    try:
        dry, result = check_dry_run(twinfs, [source], words,
                                    [source, moved] if words == ["move"] else [source])
    finally:
        subprocess.run(["chattr", "-i", locked], check=True)
    assert result.status == 3 and refusals(result)


def test_dry_run_of_a_user_refuses_what_the_user_may_not_do(as_user, source, root_only):
    (source / "theirs").mkdir()
    kept, copy = copies(source, 2)
    _, blocked = copies(source / "theirs", 2, name="blocked")
    for path in (source, kept, copy, blocked, blocked.with_name("blocked 0")):
        shutil.chown(path, as_user.user.pw_name)
    dry, _ = check_dry_run(as_user, [source], ["remove"], [source])
    assert "Permission denied" in dry.error.decode()


@pytest.mark.parametrize("act", ["link", "dedupe"])
def test_dry_run_across_disks_refuses_like_the_act(twinfs, source, tmp_path, act, root_only):
    with disk("ext4", tmp_path) as other:
        kept, _ = copies(source, 2)
        shutil.copy(kept, other / "copy")
        dry, result = check_dry_run(twinfs, [source, other], [act], [source, other])
        assert dry.status == 3
    assert ("another file system" in dry.error.decode()) or act == "dedupe"


def test_dry_run_of_dedupe_without_shared_blocks_lists_nothing(twinfs, source, tmp_path):
    with disk("ext4", tmp_path) as root:
        copies(root, 30)
        dry, result = check_dry_run(twinfs, [root], ["dedupe"], [root])
    assert dry.out == b"" and dry.status == 3
    assert len(refusals(dry)) == 1 and "29 copies" in refusals(dry)[0]


def test_dry_run_predicts_the_freed_bytes(twinfs, source, tmp_path):
    copies(source, 5, size=100_000)
    kept, copy = copies(source, 2, size=50_000, name="linked")
    os.link(copy, tmp_path / "elsewhere")
    dry = twinfs.ok("remove", "--dry-run", "--keep=oldest", source)
    result = twinfs.ok("remove", "--yes", "--keep=oldest", source)
    assert freed(result) == 4 * 102_400
    assert "400 KiB freed" in dry.errors[-1]


def test_dry_run_makes_no_trash(twinfs, source):
    copies(source, 3)
    assert len(planned(twinfs, "remove", "--trash", source)) == 2
    assert not (twinfs.home / ".local").exists()

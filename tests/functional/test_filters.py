# SPDX-License-Identifier: MIT
"""Filters of list, report and the acts: which groups they select. Spellings of patterns."""
import os
import re
import time

import pytest
import trees
from program import path_of

DAY = 86400


@pytest.fixture
def photos(tmp_path):
    """A source "Photos" with groups in several folders, of several sizes, ages and names."""
    root = tmp_path / "data" / "Photos"
    for number in range(24):
        data = trees.content(number, 500 + 100 * number)
        for copy in range(2 + number % 3):
            folder = ("2019", "2020/2019", "Old", "DCIM/100")[(number + copy) % 4]
            suffix = ("jpg", "JPG", "txt", "tar.gz")[number % 4]
            stem = f"img{number}" if number % 2 else f"img{number}-{copy}"
            path = root / folder / f"{stem}.{suffix}"
            trees.write(path, data)
            age = (number + 7 * copy) * DAY + 100
            os.utime(path, (0, time.time() - age))
    trees.write(root / "2019" / "alone.txt", b"alone")
    trees.write(root / "file 2019", b"no folder")
    return root


def groups_of(twinfs, source, *options):
    return twinfs.ok("list", "--format=json", *options, source).json["groups"]


def as_set(groups):
    return {frozenset(path_of(copy) for copy in group["copies"]) for group in groups}


def below(root, path):
    return path[len(os.fsencode(root)) + 1:].decode()


# Each filter with its model: a function of the paths of a group below the source, and of the times
# of its last change.
def names(test):
    return lambda paths, _: any(map(test, paths))


def newest(test):
    return lambda _, times: test(time.time() - max(times))


def in_folder(folder):
    return names(lambda path: f"/{folder}/" in f"/{path}")


MODELS = {
    "--path=2019/": in_folder("2019"),
    "--path=/2019": names(lambda path: path.startswith("2019/")),
    "--path=/2019/": names(lambda path: path.startswith("2019/")),
    "--path=./2019": names(lambda path: path.startswith("2019/")),
    "--path=Photos/2019": names(lambda path: path.startswith("2019/")),
    "--path=data/Photos/2019/": names(lambda path: path.startswith("2019/")),
    "--path={}/2019": names(lambda path: path.startswith("2019/")),
    "--path={}/*/2019": names(lambda path: path.startswith("2020/2019/")),
    "--path={}": names(lambda path: True),
    "--path={}/": names(lambda path: True),
    "--path=Photos/": names(lambda path: True),
    "--path=Photos/*.jpg": names(lambda path: False),
    "--ipath=*.jpg": names(lambda path: path.lower().endswith(".jpg")),
    "--ipath=dcim/": in_folder("DCIM"),
    "--regex=img1[0-9](-.)?[.]": names(lambda path: re.search("img1[0-9](-.)?[.]", path)),
    "--regex=^{}/Old/": names(lambda path: path.startswith("Old/")),
    "--regex=txt$": names(lambda path: path.endswith("txt")),
    "--ext=jpg": names(lambda path: path.lower().endswith(".jpg")),
    "--ext=.gz,TXT": names(lambda path: path.lower().endswith((".gz", ".txt"))),
    "--ext=tar.gz": names(lambda path: path.endswith(".tar.gz")),
    "--newer=15d": newest(lambda age: age <= 15 * DAY),
    "--older=15d": newest(lambda age: age > 15 * DAY),
    "--newer=1w": newest(lambda age: age <= 7 * DAY),
    "--copies=3": lambda paths, _: len(paths) == 3,
    "--copies=3..": lambda paths, _: len(paths) >= 3,
    "--copies=..3": lambda paths, _: len(paths) <= 3,
    "--copies=3..4": lambda paths, _: 3 <= len(paths) <= 4,
    "--same-name": lambda paths, _: len({os.path.basename(path) for path in paths}) == 1,
}


def model(root, groups, test):
    def chosen(group):
        paths = [path_of(copy) for copy in group["copies"]]
        return test([below(root, path) for path in paths],
                    [os.stat(path).st_mtime for path in paths])
    return as_set(group for group in groups if chosen(group))


@pytest.mark.parametrize("option", MODELS)
def test_filter_selects_whole_groups(twinfs, photos, option):
    everything = groups_of(twinfs, photos)
    expected = model(photos, everything, MODELS[option])
    assert as_set(groups_of(twinfs, photos, option.format(photos))) == expected
    assert "jpg" in option or len(expected) > 0
    count = twinfs.ok("list", "--format=json", "--summary", option.format(photos), photos)
    assert count.json["summary"]["groups"] == len(expected)


def test_filters_narrow_each_other(twinfs, photos):
    everything = groups_of(twinfs, photos)
    found = as_set(groups_of(twinfs, photos, "--path=/2019/", "--path=Old", "--ext=jpg",
                             "--copies=2..3", "--older=3d", "--max-size=2k"))
    expected = as_set(
        group for group in everything
        if any(re.match(r"(2019|Old)/.*[.]jpg$", below(photos, path_of(copy)), re.IGNORECASE)
               for copy in group["copies"])
        and len(group["copies"]) <= 3 and group["size"] <= 2048
        and all(os.stat(path_of(copy)).st_mtime < time.time() - 3 * DAY
                for copy in group["copies"]))
    assert found == expected != set()


def test_one_name_must_fulfil_all_filters_of_names(twinfs, source):
    trees.fill(source, {b"a/x.jpg": b"1", b"b/x.txt": b"1", b"a/y.txt": b"22", b"b/y.jpg": b"22"})
    assert as_set(groups_of(twinfs, source, "--path=a/", "--ext=jpg")) == {
        frozenset({trees.join(source, b"a/x.jpg"), trees.join(source, b"b/x.txt")})}


def test_date_is_compared_with_the_last_change_of_any_copy(twinfs, source):
    trees.fill(source, {b"a": b"1", b"b": b"1", b"c": b"22", b"d": b"22"})
    twinfs.environment["TZ"] = "UTC"
    for name, moment in ((b"a", 1704067199), (b"b", 1704067100), (b"c", 0), (b"d", 1704067200)):
        os.utime(trees.join(source, name), (0, moment))
    old = {frozenset({trees.join(source, b"a"), trees.join(source, b"b")})}
    new = {frozenset({trees.join(source, b"c"), trees.join(source, b"d")})}
    assert as_set(groups_of(twinfs, source, "--older=2024-01-01")) == old
    assert as_set(groups_of(twinfs, source, "--newer=2024-01-01")) == new
    assert as_set(groups_of(twinfs, source, "--newer=2023-12-31 23:59:59")) == old | new
    assert as_set(groups_of(twinfs, source, "--newer=2024-01-01T00:00:01")) == set()


def test_singles_are_filtered_by_their_own_names_and_times(twinfs, photos):
    def singles(*options):
        found = twinfs.ok("list", "--format=json", "--singles", *options, photos)
        return {below(photos, path_of(single)) for single in found.json["singles"]}
    assert singles() == {"2019/alone.txt", "file 2019"}
    assert singles("--path=2019/") == singles("--ext=txt") == {"2019/alone.txt"}
    assert singles("--regex=2019$", "--newer=1h") == {"file 2019"}
    assert singles("--older=1h") == set()


@pytest.mark.parametrize("words", ["remove --yes", "link --yes", "move --yes", "dedupe --yes",
                                   "link --dry-run --format=null"])
def test_act_treats_exactly_the_selected_groups(twinfs, photos, aside, words):
    command, *words = words.split()
    options = ["--path=2020/", "--ext=jpg", "--copies=3..", "--top=2"]
    selected = groups_of(twinfs, photos, *options)
    assert len(selected) == 2
    expected = {path_of(copy) for group in selected for copy in group["copies"]
                if copy["fate"] == "redundant"}
    before = {path: path.stat().st_ino for path in photos.rglob("*") if path.is_file()}
    operands = [photos, aside] if command == "move" else [photos]
    result = twinfs(command, *options, *words, *operands)
    assert [line for line in result.errors if "--only=FOLDER" in line]
    if command == "dedupe":  # the file system shares no blocks
        assert result.status == 3 and f"skipped     {len(expected)} copies" in result.out.decode()
        expected = set()
    elif "--dry-run" in words:
        assert {path[1:] for path in result.out.split(b"\0") if path[:1] == b"-"} == expected
        expected = set()
    changed = {os.fsencode(path) for path, inode in before.items()
               if not path.exists() or path.stat().st_ino != inode}
    assert changed == expected


def test_report_counts_the_selected_groups(twinfs, photos):
    def counted(*words):
        page = twinfs.ok("report", "--html=-", *words, photos).out.decode()
        figures = re.search(r'<dt>groups?</dt><dd><data value="(\d+)">.*\n'
                            r'<div><dt>redundant cop[yies]+</dt><dd><data value="(\d+)">', page)
        return figures.groups()
    for options in ([], ["--path=/2019"], ["--copies=3"], ["--top=3"], ["--ext=txt", "--older=3d"],
                    ["--exclude=Old"]):
        summary = twinfs.ok("list", "--format=json", "--summary", *options, photos).json["summary"]
        assert counted(*options) == (str(summary["groups"]), str(summary["redundant_files"]))


def test_report_shows_no_excluded_copy(twinfs, photos):
    twinfs.ok("scan", photos)
    page = twinfs.ok("report", "--html=-", "--exclude=DCIM", "--exclude=/2019", photos).out
    assert b"DCIM" not in page.replace(b"--exclude=DCIM", b"")  # of the commands that it shows
    assert b"Only the groups" in page
    assert b"Only the groups" not in twinfs.ok("report", "--html=-", photos).out
    empty = twinfs.ok("report", "--html=-", "--max-size=1", photos).out
    assert b"no selected file has a copy" in empty
    assert b"Old/img" in page


@pytest.mark.parametrize("words", [
    ["--path=[a"], ["--path=a\\"], ["--path=/"], ["--ipath=x[!"], ["--ipath="], ["--regex=("],
    ["--regex=[a"], ["--regex="], ["--ext="], ["--ext=jpg,"], ["--ext=a/b"], ["--newer=7"],
    ["--newer=soon"], ["--older=2024-02-30"], ["--copies=1"], ["--copies=.."], ["--copies=5..3"],
    ["--copies=x"], ["--copies="], ["--newer=7d", "--older=8d"], ["--exclude=[a"],
    ["--exclude=x\\"], ["--singles", "--copies=2"], ["--singles", "--same-name"],
])
def test_wrong_filter_is_wrong_usage(twinfs, source, words):
    commands = ["list"] if "--singles" in words else ["list", "remove", "report", "dedupe"]
    if words[0].startswith("--exclude"):
        commands += ["scan", "mount", "manifest"]
    for command in commands:
        output = ["--html=-"] if command == "report" else []
        result = twinfs(command, *output, *words, source)
        assert result.status == 2, (command, result)
        assert result.out == b""
        assert len(result.errors) == 1
        assert words[-1].split("=")[0] in result.errors[0], result


@pytest.mark.parametrize("option", ["--path=2109/", "--ipath=nowhere", "--regex=^/Photos",
                                    "--path=Photos/2109", "--path={}/2109/*"])
def test_pattern_that_matches_no_file_is_named(twinfs, photos, aside, option):
    option = option.format(photos)
    for command in (["list"], ["list", "--singles"], ["remove", "--yes"],
                    ["move", "--dry-run"], ["report", "--html=-"]):
        operands = [photos, aside] if command[0] == "move" else [photos]
        result = twinfs.ok(*command, option, "--path=2019/", *operands)
        name, value = option.split("=", 1)
        lines = [line for line in result.errors if "matches no" in line]
        assert len(lines) == 1 and f"{name}='{value}'" in lines[0].replace("=/", "='/"), result


@pytest.mark.parametrize("option", ["--path=alone.txt", "--regex=alone", "--path=2019/"])
def test_pattern_that_matches_files_without_copies_is_not_reported(twinfs, photos, option):
    assert twinfs.ok("list", option, photos).errors == []
    assert twinfs.ok("list", option, "--top=1", "--path=Old", photos).errors == []


# excludes

def kinds(twinfs, source, *options, command="list"):
    """The base names of the files that a command prints."""
    found = twinfs.ok(command, "--format=fdupes", *options, source)
    return {os.path.relpath(os.fsdecode(line), source) for line in found.lines if line}


SPELLINGS = ["/a/cache", "/a/cache/", "a/cache/", "{}/a/cache", "{}/a/cache/", "source/a/cache",
             "./a/cache"]


@pytest.mark.parametrize("glob", SPELLINGS)
def test_spellings_of_a_folder_exclude_the_same(twinfs, source, glob):
    for folder in (b"a/cache/", b"b/cache/"):
        trees.fill(source, {folder + b"1": b"one", folder + b"2": b"one"})
    glob = glob.format(source).replace("source/", f"{source.name}/") \
        if not glob.startswith("{}") else glob.format(source)
    twinfs.ok("scan", "--exclude", glob, source)
    with twinfs.mounted(source, options=["--wait", "--exclude", glob]) as view:
        assert sorted(os.listdir(view.uniques / "a")) == []
        assert sorted(os.listdir(view.uniques / "b")) == ["cache"]
    other = twinfs.with_index(twinfs.folder / "other")
    assert kinds(other, source, f"--exclude={glob}") == {"b/cache/1", "b/cache/2"}
    assert kinds(other, source) == {f"{folder}/cache/{number}" for folder in "ab"
                                    for number in (1, 2)}
    assert kinds(other, source, f"--exclude={glob}") == {"b/cache/1", "b/cache/2"}


def test_glob_with_the_name_of_the_source_means_a_folder_in_it_first(twinfs, source):
    inner = source / source.name
    trees.fill(source, {b"build/1": b"one", b"build/2": b"one"})
    trees.fill(inner, {b"build/1": b"two", b"build/2": b"two"})
    assert kinds(twinfs, source, f"--exclude={source.name}/build") == {"build/1", "build/2"}
    assert kinds(twinfs, source, f"--path={source.name}/build") == {
        f"{source.name}/build/1", f"{source.name}/build/2"}


@pytest.mark.parametrize("glob", ["{}", "{}/", "{}/..", "/"])
def test_source_itself_is_never_excluded(twinfs, source, glob):
    trees.fill(source, {b"1": b"one", b"2": b"one"})
    result = twinfs("list", "--format=fdupes", f"--exclude={glob.format(source)}", source)
    if glob == "/":
        assert result.status == 2
        return
    assert result.status == 0
    assert len(result.lines) == 2
    assert [line for line in result.errors if "matches no" in line], result


def test_folder_glob_leaves_files_of_that_name_in(twinfs, source):
    trees.fill(source, {b"2019": b"one", b"a/2019/x": b"one", b"b": b"one"})
    with twinfs.mounted(source, options=["--wait", "--exclude=2019/"]) as view:
        assert not (view.uniques / "a/2019").exists()
        (source / "2019").unlink()
        trees.fill(source, {b"2019/x": b"three", b"c/2019": b"four"})
        view.sync()
        assert not (view.uniques / "2019").exists()
        assert (view.uniques / "c/2019").exists()


@pytest.mark.parametrize("command", ["scan", "list", "report --html=-", "remove --yes"])
def test_exclude_that_matches_nothing_is_named(twinfs, source, command):
    trees.fill(source, {b"a": b"one", b"b": b"one"})
    result = twinfs(*command.split(), "--exclude=a", "--exclude=nothing", source)
    lines = [line for line in result.errors if "matches no" in line]
    assert len(lines) == 1 and "--exclude=nothing" in lines[0].replace("'", ""), result


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("command", ["remove", "link", "remove --dry-run"])
@pytest.mark.parametrize("option", ["--exclude=hom", "--exclude=hom/", "--protect={}/hom",
                                    "--protect={}", "--only={}"])
def test_misspelled_exclude_or_protect_stops_an_act(twinfs, source, aside, known, command, option):
    trees.fill(source, {b"a": b"one", b"b": b"one", b"home/c": b"one"})
    if known:
        twinfs.ok("scan", source)
    before = {path: path.lstat().st_ino for path in source.rglob("*")}
    missing = option == "--protect={}/hom"
    option = option.format(source if missing else aside)
    result = twinfs(*command.split(), *([] if "dry" in command else ["--yes"]), "--exclude=b",
                    option, source)
    assert result.status == (1 if missing else 2), result
    assert result.out == b""
    assert ("an --exclude is possibly misspelled" if "exclude" in option else option.split("=")[1]
            ) in result.errors[-1], result
    assert {path: path.lstat().st_ino for path in source.rglob("*")} == before


def test_globs_of_a_file_need_not_match_for_an_act(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"one", b"b": b"one", b"c": b"one"})
    (tmp_path / "globs").write_bytes(b"c\nnothing\n")
    for _ in range(2):
        result = twinfs.ok("remove", "--dry-run", f"--exclude-from={tmp_path}/globs", source)
        assert not [line for line in result.errors if "nothing'" in line], result
    twinfs.ok("remove", "--yes", f"--exclude-from={tmp_path}/globs", source)
    assert len(list(source.iterdir())) == 2


def test_globs_are_read_from_a_file(twinfs, source, tmp_path):
    trees.fill(source, {name: b"one" for name in (b"a", b"b", b"#c", b"d d", b"e/f", b"!g", b"h")})
    (tmp_path / "globs").write_bytes(b"# comment\n\na\n\\#c\nd d\ne/\n\\!g\nnothing\nh")
    result = twinfs.ok("list", "--format=fdupes", f"--exclude-from={tmp_path}/globs", source)
    assert result.errors == [] and result.lines == []
    assert kinds(twinfs, source) == {"a", "b", "#c", "d d", "e/f", "!g", "h"}
    assert kinds(twinfs, source, f"--exclude-from={tmp_path}/globs", "--exclude=none") == set()
    with twinfs.mounted(source, options=["-o", f"wait,exclude-from={tmp_path}/globs"]) as view:
        assert os.listdir(view.uniques) == ["b", ".twinfs"] or os.listdir(view.uniques) == ["b"]


@pytest.mark.parametrize("line", [b"!a", b"- a", b"+ a", b"[a", b"a\\", b"/", b"a\0b"])
def test_malformed_line_of_a_file_is_wrong_usage(twinfs, source, tmp_path, line):
    (tmp_path / "globs").write_bytes(b"# one\n" + line + b"\n")
    result = twinfs("scan", f"--exclude-from={tmp_path}/globs", source)
    assert result.status == 2
    assert len(result.errors) == 1 and "line 2 of" in result.errors[0]
    assert twinfs("scan", f"--exclude-from={tmp_path}/missing", source).status == 1

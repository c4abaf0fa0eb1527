# SPDX-License-Identifier: MIT
"""list: which groups and files are printed, and in which order."""
import json
import re

import oracle
import pytest
import trees
from program import path_of


@pytest.fixture
def many(source):
    """Groups of several sizes and numbers of copies, in folders; singles of the same sizes."""
    for number in range(40):
        size = (100, 1000, 5000, 70000)[number % 4] + number // 8
        data = trees.content(number, size)
        for copy in range(2 + number % 5):
            folder = (b"a", b"b/photos", b"photos/old", b"c")[(number + copy) % 4]
            suffix = b".jpg" if number % 3 else b".txt"
            trees.write(trees.join(source, folder, b"%02d-%d%s" % (number, copy, suffix)), data)
        trees.write(trees.join(source, b"singles", b"%02d.txt" % number),
                    trees.content(("single", number), size))
    return source


def listed(twinfs, source, *options):
    return twinfs.ok("list", "--format=json", *options, source).json


def groups_of(twinfs, source, *options):
    return listed(twinfs, source, *options)["groups"]


def paths_of(group):
    return [path_of(copy) for copy in group["copies"]]


def kept_path(group):
    return min(path_of(copy) for copy in group["copies"] if copy["kept"])


def as_set(groups):
    return {frozenset(paths_of(group)) for group in groups}


def inodes(group):
    return len({copy["inode"] for copy in group["copies"]})


# sizes

def test_sizes_from_min_to_max_are_printed(twinfs, many):
    everything = groups_of(twinfs, many)
    sizes = sorted({group["size"] for group in everything})
    for low, high in ((sizes[0], sizes[0]), (sizes[2], sizes[7]), (sizes[3] + 1, sizes[-1] - 1)):
        expected = as_set(group for group in everything if low <= group["size"] <= high)
        assert expected
        assert as_set(groups_of(twinfs, many, f"--min-size={low}",
                                f"--max-size={high}")) == expected
    assert as_set(groups_of(twinfs, many, "--max-size=5k")) == as_set(
        group for group in everything if group["size"] <= 5120)


def test_files_above_max_size_stay_in_their_groups(twinfs, many):
    assert groups_of(twinfs, many, "--max-size=100") != []
    result = twinfs("copies", kept_path(groups_of(twinfs, many, "--top=1")[0]))
    assert result.status == 0 and result.out != b""


# paths

def regex_of(glob):
    """A regular expression for a glob, made independently of the program."""
    anchored = b"/" in glob
    words = {b"*": b"[^/]*", b"?": b"[^/]"}
    body = b"".join(words.get(letter, re.escape(letter))
                    for letter in re.findall(rb".", glob.lstrip(b"/"), re.DOTALL))
    return re.compile(b"%s%s(?:/|$)" % (b"^" if anchored else b"(?:^|/)", body))


@pytest.mark.parametrize("glob", [
    b"photos", b"/photos", b"b/photos", b"*/photos", b"*.jpg", b"a/*.txt", b"0?-*", b"/a", b"*",
    b"hotos", b"a/photos", b"photos/old/00-2.txt",
])
def test_path_selects_the_files_that_exclude_leaves_out(twinfs, many, glob):
    below = len(trees.join(many, b""))
    pattern = regex_of(glob)

    def matches(path):
        return pattern.search(path[below:]) is not None

    expected = as_set(group for group in groups_of(twinfs, many)
                      if any(map(matches, paths_of(group))))
    found = groups_of(twinfs, many, b"--path=" + glob)
    assert as_set(found) == expected
    singles = {path_of(single) for single in listed(twinfs, many, "--singles")["singles"]}
    assert {path_of(single) for single in
            listed(twinfs, many, "--singles", b"--path=" + glob)["singles"]} == set(
                filter(matches, singles))
    remaining = [frozenset(path for path in group if not matches(path))
                 for group in twinfs.groups(many)]
    left = twinfs.with_index(twinfs.folder / "other index").groups("--exclude", glob, many)
    assert left == {group for group in remaining if len(group) > 1}


def test_several_paths_select_their_union(twinfs, many):
    one, other = (as_set(groups_of(twinfs, many, glob)) for glob in ("--path=00-*", "--path=01-*"))
    assert one and other
    assert as_set(groups_of(twinfs, many, "--path=00-*", "--path=01-*")) == one | other


# order

ORDERS = {
    "reclaimable": lambda group: -group["reclaimable"],
    "size": lambda group: (-group["size"], -inodes(group)),
    "count": lambda group: (-inodes(group), -group["size"]),
    "path": kept_path,
}


@pytest.mark.parametrize("order", ORDERS)
def test_groups_are_in_order(twinfs, many, order):
    found = groups_of(twinfs, many, f"--sort={order}")
    assert as_set(found) == as_set(groups_of(twinfs, many))
    keys = [ORDERS[order](group) for group in found]
    assert keys == sorted(keys)
    assert len(set(keys)) > 10


def test_order_of_paths_is_that_of_the_copies_kept_by_the_rules(twinfs, many):
    found = groups_of(twinfs, many, "--sort=path", "--keep=longest-path,path:photos")
    keys = [kept_path(group) for group in found]
    assert keys == sorted(keys)
    assert keys != sorted(kept_path(group) for group in groups_of(twinfs, many))


def test_singles_are_in_order(twinfs, many):
    def singles(*options):
        return listed(twinfs, many, "--singles", *options)["singles"]
    everything = sorted(singles(), key=path_of)
    assert len(everything) == 40
    assert singles("--sort=path") == everything
    found = singles("--sort=size")
    assert sorted(found, key=path_of) == everything
    assert [single["size"] for single in found] == sorted(
        (single["size"] for single in everything), reverse=True)
    assert found[:3] == singles("--sort=size", "--top=3")


@pytest.mark.parametrize("options", [[], ["--sort=size"], ["--sort=path"], ["--path=*.jpg"],
                                     ["--redundant", "--sort=count"]])
def test_top_prints_the_first_groups(twinfs, many, options):
    everything = groups_of(twinfs, many, *options)
    for count in (1, 2, 7, len(everything), len(everything) + 1, 10**19):
        assert groups_of(twinfs, many, *options, f"--top={count}") == everything[:count]


# figures

@pytest.mark.parametrize("options", [
    [], ["--max-size=2k"], ["--path=photos"], ["--top=3"], ["--sort=count", "--top=4"],
    ["--path=*.jpg", "--max-size=1500", "--sort=path", "--top=2"], ["--protect={}/a"],
    ["--only={}/photos"], ["--redundant", "--only={}/photos"],
])
def test_figures_count_the_selection(twinfs, many, options):
    options = [option.format(many) for option in options]
    found = listed(twinfs, many, *options)
    groups, summary = found["groups"], found["summary"]
    redundant = {(copy["inode"], group["size"]) for group in groups for copy in group["copies"]
                 if copy["fate"] == "redundant"}
    assert summary["groups"] == len(groups)
    assert summary["redundant_files"] == len(redundant)
    assert summary["redundant_bytes"] == sum(size for _, size in redundant)
    assert summary["reclaimable_bytes"] == sum(group["reclaimable"] for group in groups)
    if "--redundant" not in options:
        assert listed(twinfs, many, "--summary", *options)["summary"] == summary


def test_figures_of_singles_count_the_selection(twinfs, many):
    found = listed(twinfs, many, "--singles", "--max-size=2k")
    assert found["summary"]["singles"] == len(found["singles"]) == 20
    assert found["summary"]["single_bytes"] == sum(single["size"] for single in found["singles"])


def test_figures_of_the_index_ignore_the_selection(twinfs, many):
    whole, part = (listed(twinfs, many, *options)["summary"] for options in ([], ["--top=1"]))
    for name in ("files", "directories", "bytes", "errors", "pending"):
        assert whole[name] == part[name]


def test_selection_of_a_view_is_that_of_its_sources(twinfs, many):
    options = ["--format=json", "--path=*.jpg", "--max-size=6k", "--sort=path", "--top=5"]
    expected = twinfs.ok("list", *options, many).json
    with twinfs.mounted(many) as view:
        result = twinfs("list", *options, view.path, index=False)
        assert result.status == 0, result
        assert result.json["groups"] == expected["groups"]
        assert result.json["summary"]["groups"] == 5


def test_listing_ends_quietly_if_its_reader_closes_the_pipe(twinfs, source):
    for number in range(3000):
        for copy in (b"one", b"two"):
            trees.write(trees.join(source, copy, b"%d" % number), b"%d" % number)
    twinfs.ok("scan", source)
    twinfs.wrapped = ["sh", "-c", '"$@" | head -c 100', "sh"]
    for order in ORDERS:
        result = twinfs("list", "--format=jsonl", f"--sort={order}", source)
        assert len(result.out) == 100
        assert result.error == b""


@pytest.mark.parametrize("words", [
    ["--max-size=big"], ["--max-size=10", "--min-size=11"], ["--path="], ["--sort=name"],
    ["--top=0"], ["--top=-1"], ["--top=1k"], ["--top="], ["--singles", "--sort=count"],
    ["--singles", "--sort=reclaimable"],
])
def test_wrong_selection_is_wrong_usage(twinfs, many, words):
    result = twinfs("list", *words, many)
    assert result.status == 2
    assert result.out == b""
    assert len(result.errors) == 1
    assert words[0].split("=")[0] in result.errors[0]


def test_json_is_complete_for_each_selection(twinfs, many):
    for options in (["--path=nothing"], ["--singles", "--path=nothing"], ["--top=1"],
                    ["--redundant", f"--protect={many}"]):
        found = json.loads(twinfs.ok("list", "--format=json", *options, many).out)
        assert found["summary"]["files"] == len(oracle.Source([many]).inodes)

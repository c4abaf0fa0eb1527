# SPDX-License-Identifier: MIT
"""list --folders: formats, the tree hash, figures, filters, orders and errors."""
import csv
import io
import json
import os
import shutil
import socket
import stat

import pytest
import trees
from equal_folders import (
    copy_tree,
    fates,
    listed,
    make,
    make_older,
    make_twins,
    names,
    tree_hash,
    xxh128,
)
from program import path_of

FORMATS = ["text", "fdupes", "json", "jsonl", "csv", "null"]


@pytest.fixture
def twins(source):
    return make_twins(source)


# what is printed

def test_json_has_the_members_of_a_group(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    result = twinfs.ok("list", "--folders", "--format=json", source)
    group, = result.json["groups"]
    assert group == {
        "hash": tree_hash(source / "a"), "files": 3, "size": 10000, "redundant": 10000,
        "reclaimable": 10000, "folders": [{"path": f"{source}/a", "kept": True, "fate": "kept"},
                    {"path": f"{source}/b", "kept": False, "fate": "redundant"}]}
    assert list(group) == ["hash", "files", "size", "redundant", "reclaimable", "folders"]
    summary = result.json["summary"]
    assert summary == {"groups": 1, "redundant_folders": 1, "redundant_files": 3,
                       "reclaimable_bytes": 10000, "files": 6, "directories": 5, "bytes": 20000,
                       "errors": 0, "pending": 0, "others": 0}


@pytest.mark.parametrize("options", [[], ["--redundant"]], ids=["all", "redundant"])
def test_formats_have_the_same_folders(twinfs, twins, options):
    out = {form: twinfs.ok("list", "--folders", f"--format={form}", *options, twins).out
           for form in FORMATS}
    groups = json.loads(out["json"])["groups"]
    assert [json.loads(line) for line in out["jsonl"].splitlines()] == groups
    paths = [folder["path"] for group in groups for folder in group["folders"]]
    assert len(paths) == (3 if options else 5)
    assert out["null"].decode().split("\0")[:-1] == paths
    blocks = out["fdupes"].decode().split("\n\n")
    assert [block.split() for block in blocks] == [
        [folder["path"] for folder in group["folders"]] for group in groups]
    rows = list(csv.DictReader(io.StringIO(out["csv"].decode(), newline="")))
    assert [(row["group"], int(row["reclaimable"]), row["fate"], int(row["files"]),
             int(row["size"]), row["path"], row["path_base64"]) for row in rows] == [
        (group["hash"], group["reclaimable"], folder["fate"], group["files"], group["size"],
         folder["path"], "") for group in groups for folder in group["folders"]]
    text = out["text"].decode().splitlines()
    assert [line.split()[1] for line in text if line.startswith("  ")] == paths
    for group in groups:
        assert any(line.endswith(group["hash"]) for line in text)


def test_text_names_size_rule_and_totals(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    lines = twinfs.ok("list", "--folders", "--keep=path:b", source).out.decode().splitlines()
    assert lines[0].startswith("2 equal folders of 3 files, 9.8 KiB (10,000 bytes), "
                               "9.8 KiB reclaimable, kept: path matches, ")
    assert lines[1:3] == [f"  kept  {source}/b", f"  copy  {source}/a"]
    assert lines[-5:] == ["files       6 in 5 directories, 20 KiB (20,000 bytes)",
                          "groups      1",
                          "redundant   1 folder with 3 files; removing it frees 9.8 KiB "
                          "(10,000 bytes)",
                          "pending     0", "errors      0"]


def test_relative_source_is_printed_as_given(twinfs, twins):
    out = twinfs.ok("list", "--folders", "--format=fdupes", "source", cwd=twins.parent).out
    assert out.splitlines()[0] == b"source/b/sub"


def test_names_of_any_bytes_are_printed(twinfs, source):
    base = os.fsencode(source)
    for number, name in enumerate(trees.ODD_NAMES):
        for parent in (b"a", b"b"):
            trees.write(trees.join(base, parent, b"%d" % number, name, b"file"),
                        trees.content(number, 100))
        trees.write(trees.join(base, parent, b"only here"), b"x")
    expected = {frozenset(trees.join(base, parent, b"%d" % number) for parent in (b"a", b"b"))
                for number in range(len(trees.ODD_NAMES))}
    groups = listed(twinfs, source)
    assert {frozenset(map(path_of, group["folders"])) for group in groups} == expected
    for group in groups[::7]:
        assert group["hash"] == tree_hash(path_of(group["folders"][0]))
    everything = listed(twinfs, "--all", source)
    inner = {frozenset(map(path_of, group["folders"])) for group in everything} - expected
    assert inner == {frozenset(trees.join(base, parent, b"%d" % number, name)
                               for parent in (b"a", b"b"))
                     for number, name in enumerate(trees.ODD_NAMES)}


# the tree hash

def test_hash_is_that_of_the_manual(twinfs, source):
    folder = make(source / "a")
    os.symlink("no such file", folder / "link")
    os.symlink("x" * 300, folder / "sub/long")
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket"))
    (folder / "empty/in it").mkdir(parents=True)
    for name in (b"Z", b"\xff", b"a.b", b"a/b", b"a-", "é".encode(), b"sub2"):
        trees.write(trees.join(folder, b"names", name), trees.content(name, 100))
    copy_tree(folder, source / "copy")
    for group in listed(twinfs, "--all", source):
        for folder in group["folders"]:
            assert group["hash"] == tree_hash(path_of(folder)), folder


def test_hash_has_the_numbers_of_devices(twinfs, source, root_only):
    folder = make(source / "a")
    os.mknod(folder / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    os.mknod(folder / "disk", stat.S_IFBLK | 0o600, os.makedev(700, 70000))
    copy_tree(folder, source / "b")
    copy_tree(folder, source / "c")
    (source / "c/null").unlink()
    os.mknod(source / "c/null", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    group, other = listed(twinfs, "--sort=size", source)
    assert group["hash"] == tree_hash(source / "a")
    assert names(group, source) == ["a", "b"]
    assert names(other, source) == ["a/sub", "b/sub", "c/sub"]


def test_hash_of_many_long_names_is_that_of_the_manual(twinfs, source):
    for number in range(6000):  # more than are sorted in memory
        for parent in ("a", "b"):
            trees.write(source / parent / f"{number * 7919 % 6000:05}{'x' * 200}")
    for parent in ("a", "b"):
        trees.write(source / parent / "file", b"content")
    group, = listed(twinfs, source)
    empty = xxh128(b"")
    entries = {f"{number:05}{'x' * 200}": empty for number in range(6000)}
    entries["file"] = xxh128(b"content")
    text = b"".join(b"f %s %s\0" % (entries[name].encode(), name.encode())
                    for name in sorted(entries))
    assert group["hash"] == xxh128(text) and group["files"] == 6001


def test_hash_of_a_file_that_was_never_read_is_null(twinfs, source):
    trees.write(source / "a/file", trees.content(1, 777))
    (source / "b").mkdir()
    os.link(source / "a/file", source / "b/file")
    group, = listed(twinfs, source)
    assert group["hash"] is None and group["reclaimable"] == 0 and group["size"] == 777
    assert b"no hash" in twinfs.ok("list", "--folders", source).out
    table = twinfs.ok("list", "--folders", "--format=csv", source).out.decode()
    row = next(csv.DictReader(io.StringIO(table, newline="")))
    assert row["group"] == "" and row["reclaimable"] == "0"


# implied groups

def test_implied_groups_need_all(twinfs, twins):
    groups = [set(names(group, twins)) for group in listed(twinfs, twins)]
    assert groups == [{"a/sub", "b/sub", "c"}, {"a", "b"}]
    shutil.rmtree(twins / "c")
    assert [set(names(group, twins)) for group in listed(twinfs, twins)] == [{"a", "b"}]
    groups = [set(names(group, twins)) for group in listed(twinfs, "--all", twins)]
    assert groups == [{"a", "b"}, {"a/sub", "b/sub"}]


def test_folders_without_bytes_are_not_printed(twinfs, source):
    for name in ("a", "b"):
        trees.write(source / name / "empty")
        (source / name / "sub").mkdir()
    assert listed(twinfs, "--all", source) == []
    assert twinfs.ok("copies", source / "a").out == b""


# reclaimable bytes

def test_link_to_a_file_elsewhere_frees_nothing(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    for name in ("one", "sub/two"):
        assert fates(twinfs, source) == {"a": "kept", "b": "redundant"}
        os.link(source / "b" / name, source / os.path.basename(name))
        group, = listed(twinfs, source)
        assert group["reclaimable"] == {"one": 5000, "sub/two": 0}[name]


def test_link_outside_of_the_sources_frees_nothing(twinfs, source, tmp_path):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    os.link(source / "b/one", tmp_path / "outside")
    group, = listed(twinfs, source)
    assert group["reclaimable"] == 5000


def test_links_within_redundant_folders_count_once(twinfs, source):
    make(source / "a")
    os.link(source / "a/one", source / "a/again")
    copy_tree(source / "a", source / "b")
    copy_tree(source / "a", source / "c")
    group, = listed(twinfs, source)
    assert group["files"] == 4 and group["size"] == 15000 and group["reclaimable"] == 20000
    shutil.rmtree(source / "c")
    (source / "c/sub").mkdir(parents=True)  # all its files are those of b
    for name in ("one", "again", "sub/two", "none"):
        os.link(source / "b" / name, source / "c" / name)
    group, = listed(twinfs, source)
    assert fates(twinfs, source)["a"] == "kept" and group["reclaimable"] == 10000
    group, = listed(twinfs, "--keep=path:b", source)
    assert names(group, source, "kept") == ["b"] and group["reclaimable"] == 10000


def test_spared_folders_free_nothing(twinfs, source):
    make(source / "a")
    for name in ("b", "c"):
        copy_tree(source / "a", source / name)
    group, = listed(twinfs, f"--protect={source}/c/one", source)
    assert group["reclaimable"] == 20000 and names(group, source, "kept") == ["c"]
    group, = listed(twinfs, f"--protect={source}/c/one", f"--protect={source}/b", source)
    assert group["reclaimable"] == 10000 and names(group, source, "redundant") == ["a"]


# the summary

def figures(twinfs, *words):
    summary = twinfs.ok("list", "--folders", "--summary", "--format=json", *words).json["summary"]
    return tuple(summary[key] for key in ("groups", "redundant_folders", "redundant_files",
                                          "reclaimable_bytes"))


def test_summary_counts_each_byte_once(twinfs, twins):
    """Of a and b one goes, and c, because a/sub or b/sub stays."""
    assert figures(twinfs, twins) == figures(twinfs, "--all", twins) == (2, 2, 4, 15000)
    assert twinfs.ok("list", "--folders", "--format=json", twins).json["summary"] == (
        twinfs.ok("list", "--folders", "--summary", "--format=json", twins).json["summary"])
    os.link(twins / "c/two", twins / "another")
    assert figures(twinfs, twins) == (2, 2, 4, 10000)
    shutil.rmtree(twins / "c")
    assert figures(twinfs, twins) == (1, 1, 3, 10000)
    assert figures(twinfs, "--all", twins) == (2, 1, 3, 10000)


def test_summary_has_only_what_the_rules_and_filters_leave(twinfs, twins):
    assert figures(twinfs, f"--protect={twins}/c", twins) == (2, 1, 3, 10000)
    assert figures(twinfs, "--keep=path:c", twins) == (2, 2, 4, 15000)
    assert figures(twinfs, f"--only={twins}/c", twins) == (2, 1, 1, 5000)
    assert figures(twinfs, f"--only={twins}/a/one", twins) == (2, 0, 0, 0)
    assert figures(twinfs, "--max-size=5000", twins) == (1, 1, 1, 5000)
    assert figures(twinfs, "--sort=size", "--top=1", twins) == (1, 1, 3, 10000)
    assert figures(twinfs, "--path=nothing", twins) == (0, 0, 0, 0)


def test_summary_is_printed_in_all_formats_with_figures(twinfs, twins):
    def printed(form):
        return twinfs.ok("list", "--folders", "--summary", f"--format={form}", twins).out.decode()
    assert printed("text") == ("files       7 in 6 directories, 24 KiB (25,000 bytes)\n"
                               "groups      2\n"
                               "redundant   2 folders with 4 files; removing them frees "
                               "15 KiB (15,000 bytes)\n"
                               "pending     0\nerrors      0\n")
    assert printed("fdupes") == "2 duplicate folders (in 2 sets), occupying 15000 bytes\n"
    assert printed("csv") == (
        "groups,redundant_folders,redundant_files,reclaimable_bytes,files,directories,bytes,"
        "errors,pending,others\r\n2,2,4,15000,7,6,25000,0,0,0\r\n")
    assert printed("json") == printed("jsonl")
    result = twinfs("list", "--folders", "--summary", "--format=null", twins)
    assert result.status == 2 and "prints only paths" in result.errors[0], result


# filters and orders

@pytest.fixture
def many(source):
    """Groups of several sizes, numbers of folders and names."""
    for number in range(6):
        first = make(source / f"p{5 - number}/x{number}", number, 1000 * (1 + number * 5 % 6))
        for copy in range(1 + number % 3):
            os.makedirs(source / f"q{copy}", exist_ok=True)
            copy_tree(first, source / f"q{copy}/{'x' if number % 2 else 'y'}{number}")
        trees.write(source / f"p{5 - number}/only", b"%d" % number)
    return source


ORDERS = {
    "reclaimable": lambda group: -group["reclaimable"],
    "size": lambda group: (-group["size"], -len(group["folders"])),
    "count": lambda group: (-len(group["folders"]), -group["size"]),
    "path": lambda group: group["folders"][0]["path"],
}


@pytest.mark.parametrize("order", ORDERS)
def test_groups_are_in_the_order_that_is_asked_for(twinfs, many, order):
    groups = listed(twinfs, f"--sort={order}", many)
    assert len(groups) == 6
    assert groups == sorted(groups, key=ORDERS[order])
    if order == "reclaimable":
        assert listed(twinfs, many) == groups
    assert listed(twinfs, f"--sort={order}", "--top=2", many) == groups[:2]
    assert listed(twinfs, f"--sort={order}", "--top=100", many) == groups


@pytest.mark.parametrize("options, wanted", [
    (["--path=x3"], lambda names, group: any(name.endswith("x3") for name in names)),
    (["--path=q1"], lambda names, group: any(name.startswith("q1/") for name in names)),
    (["--path=/p2/*"], lambda names, group: any(name.startswith("p2/") for name in names)),
    (["--ipath=X3"], lambda names, group: any(name.endswith("x3") for name in names)),
    (["--regex=/y[0-9]$"], lambda names, group: any("/y" in name for name in names)),
    (["--same-name"], lambda names, group: len({os.path.basename(name) for name in names}) == 1),
    (["--copies=3.."], lambda names, group: len(names) >= 3),
    (["--copies=2"], lambda names, group: len(names) == 2),
    (["--max-size=6000"], lambda names, group: group["size"] <= 6000),
])
def test_filters_select_groups(twinfs, many, options, wanted):
    groups = listed(twinfs, many)
    expected = [group for group in groups if wanted(names(group, many), group)]
    assert 0 < len(expected) < len(groups)
    assert listed(twinfs, *options, many) == expected


def test_times_select_groups(twinfs, source):
    for seed in ("old", "new"):
        make(source / seed / "a", seed)
        copy_tree(source / seed / "a", source / seed / "b")
    make_older(source / "old", 10 * 86400)
    recent, = listed(twinfs, "--newer=5d", source)
    assert set(names(recent, source)) == {"new/a", "new/b"}
    other, = listed(twinfs, "--older=5d", source)
    assert set(names(other, source)) == {"old/a", "old/b"}


def test_pattern_that_matches_nothing_is_named(twinfs, twins):
    result = twinfs.ok("list", "--folders", "--path=nothing", twins)
    assert b"--path='nothing' matches no file" in result.error


def test_folder_with_an_excluded_name_is_equal_to_none(twinfs, twins):
    trees.write(twins / "a/sub/x.o", b"object")
    trees.write(twins / "b/sub/x.o", b"object")
    with twinfs.mounted(twins) as view:
        assert len(listed(twinfs, view.path)) == 1
        assert listed(twinfs, "--exclude=*.o", view.path) == []
        group, = listed(twinfs, "--exclude=/a/one", view.path)
        assert set(names(group, twins)) == {"a/sub", "b/sub"}
    assert [set(names(group, twins)) for group in listed(twinfs, "--exclude=*.o", twins)] == []


# the index

def test_view_answers_for_its_sources_and_mount_point(twinfs, twins):
    expected = listed(twinfs, twins)
    with twinfs.mounted(twins) as view:
        assert listed(twinfs, view.path) == expected
        assert listed(twinfs, twins) == expected
        shutil.rmtree(twins / "c")
        assert [set(names(group, twins)) for group in listed(twinfs, view.path)] == [{"a", "b"}]
        trees.write(twins / "a/one", b"changed")
        group, = listed(twinfs, view.path)
        assert set(names(group, twins)) == {"a/sub", "b/sub"}
    assert listed(twinfs, "--no-scan", twins) == [group]


def test_absent_source_is_printed_as_before(twinfs, twins, tmp_path):
    before = listed(twinfs, twins)
    twins.rename(tmp_path / "moved")
    assert twinfs("list", "--folders", twins).status == 1
    assert listed(twinfs, "--no-scan", twins) == before


def test_index_without_folder_groups_is_refused(twinfs, twins, strace):
    with open(twins / "a/one", "r+b"):
        result, _ = twinfs.traced("scan", twins, calls="trace=clock_nanosleep", flags=[
            "-e", "inject=clock_nanosleep:signal=KILL:when=1"])
    assert result.status == -9, result
    result = twinfs("list", "--folders", "--no-scan", twins)
    assert result.status == 1 and result.out == b"", result
    assert "no scan of the index has ended" in result.errors[-1]
    assert "run 'twinfs scan'" in result.errors[-1]
    result = twinfs("copies", twins / "b/sub")
    assert result.status == 3 and "is not compared yet" in result.errors[0], result
    assert listed(twinfs, twins) != []


def test_unreadable_name_makes_its_folder_equal_to_none(twinfs, as_user, twins):
    for path in (twins, *twins.rglob("*")):
        os.chown(path, os.stat(as_user.home).st_uid, -1)
    (twins / "a/one").chmod(0)
    result = as_user("list", "--folders", "--format=json", twins)
    assert result.status == 3, result
    group, = result.json["groups"]
    assert set(names(group, twins)) == {"a/sub", "b/sub", "c"}
    result = as_user("copies", twins / "a")
    assert result.status == 3 and "a name in" in result.errors[0], result


@pytest.mark.parametrize("options, message", [
    (["--all"], "--all is for --folders"),
    (["--folders", "--singles"], "--folders prints groups"),
    (["--folders", "--missing-from=/"], "--folders prints groups"),
    (["--folders", "--files0-from=/dev/null"], "--folders compares whole folders"),
    (["--folders", "--explain", "--format=null"], "--explain needs"),
])
def test_contradicting_options_are_refused(twinfs, source, options, message):
    operands = [] if "--files0-from=/dev/null" in options else [source]
    result = twinfs("list", *options, *operands)
    assert result.status == 2 and message in result.errors[0], result


def test_single_file_is_refused(twinfs, twins):
    result = twinfs("list", "--folders", twins / "a/one")
    assert result.status == 1 and "not a directory" in result.errors[0], result

# SPDX-License-Identifier: MIT
"""list --folders: which folder of a group is kept, which may go, and why."""
import os

import pytest
import trees
from equal_folders import copy_tree, fates, kept, listed, make, make_older, make_twins, tree_hash


@pytest.fixture
def twins(source):
    return make_twins(source)


# which folder is kept

def test_original_is_kept(twinfs, source):
    make(source / "b (copy)")
    copy_tree(source / "b (copy)", source / "b")
    copy_tree(source / "b", source / "later")
    assert kept(twinfs, source) == {"b"}
    make_older(source / "later", 3600)
    assert kept(twinfs, source) == {"later"}


def test_time_of_a_folder_is_that_of_its_files(twinfs, source):
    make(source / "b")
    copy_tree(source / "b", source / "a")
    make_older(source / "b", 3600)
    (source / "b/new").mkdir()
    (source / "b/new").rmdir()
    os.utime(source / "a", (1, 1))
    assert kept(twinfs, source) == {"b"}
    assert kept(twinfs, source, "--keep=newest") == {"a"}


@pytest.mark.parametrize("rule, expected", [
    ("oldest", "deep/er/x"), ("newest", "a"), ("shortest-path", "a"), ("longest-path", "deep/er/x"),
    ("path:er", "deep/er/x"), ("path:deep,newest", "deep/er/x"), ("first-seen,newest", "a"),
    ("most-linked,shortest-path", "a"), ("source-order,longest-path", "deep/er/x"),
])
def test_rules_choose_the_kept_folder(twinfs, source, rule, expected):
    make(source / "a")
    (source / "deep/er").mkdir(parents=True)
    copy_tree(source / "a", source / "deep/er/x")
    make_older(source / "deep/er/x", 100)
    assert kept(twinfs, source, f"--keep={rule}") == {expected}


def test_rules_of_a_view_apply(twinfs, twins):
    for name in ("a", "b"):
        with twinfs.mounted(twins, options=("--wait", f"--keep=path:{name}")):
            assert name in kept(twinfs, twins)


def test_folder_in_a_trash_is_spared(twinfs, source):
    make(source / ".Trash-1000/files/a")
    copy_tree(source / ".Trash-1000/files/a", source / "z")
    copy_tree(source / "z", source / "zz")
    assert fates(twinfs, source) == {"z": "kept", "zz": "redundant",
                                     ".Trash-1000/files/a": "spared"}


@pytest.mark.parametrize("place, expected", [
    ("b", "kept"), ("b/sub/two", "kept"), ("b/sub", "kept"), ("", "kept"),
], ids=["folder", "file in it", "folder in it", "folder above"])
def test_protected_folder_is_not_redundant(twinfs, source, place, expected):
    make(source / "a")
    for name in ("b", "c"):
        copy_tree(source / "a", source / name)
    found = fates(twinfs, source, f"--protect={source / place}")
    if place:
        assert found == {"b": expected, "a": "redundant", "c": "redundant"}
    else:
        assert sorted(found.values()) == ["kept", "spared", "spared"]


def test_folder_with_a_protected_file_says_so(twinfs, source):
    make(source / "a")
    copy_tree(source / "a", source / "b")
    group, = listed(twinfs, "--explain", f"--protect={source}/b/one", source)
    assert [folder["why"] for folder in group["folders"]] == [
        "contains what is protected", "another copy stays anyway"]
    text = twinfs.ok("list", "--folders", "--explain", f"--protect={source}/b/one", source).out
    assert b"  kept       contains what is protected" in text
    table = twinfs.ok("list", "--folders", "--explain", "--format=csv", source).out
    assert table.startswith(b"group,redundant,reclaimable,fate,why,files,size,path,path_base64\r\n")


def test_only_spares_folders_that_are_not_wholly_in_it(twinfs, source):
    make(source / "a")
    for name in ("in/b", "in/c"):
        os.makedirs(source / "in", exist_ok=True)
        copy_tree(source / "a", source / name)
    assert fates(twinfs, source, f"--only={source}/in") == {
        "a": "kept", "in/b": "redundant", "in/c": "redundant"}
    assert fates(twinfs, source, f"--only={source}/in/b/sub") == {
        "a": "kept", "in/b": "spared", "in/c": "spared"}


def test_unknown_protected_path_is_refused(twinfs, twins, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    result = twinfs("list", "--folders", f"--protect={tmp_path}/elsewhere", twins)
    assert result.status == 1 and "is no folder or file of the index" in result.errors[0], result


def test_folder_in_a_bundle_is_spared_and_a_whole_bundle_is_not(twinfs, source):
    for name in ("a", "b"):
        trees.fill(source / name / ".git", {"HEAD": b"ref", "objects/1": b"one", "refs/x": b"2"})
    trees.write(source / "a/only", b"only in a")
    assert fates(twinfs, source) == {"a/.git": "kept", "b/.git": "redundant"}
    trees.write(source / "a/.git/index", b"of a")
    groups = listed(twinfs, source)
    assert len(groups) == 2
    for group in groups:
        assert [folder["fate"] for folder in group["folders"]] == ["kept", "spared"]
    result = twinfs.ok("list", "--folders", "--redundant", "--format=null", source)
    assert result.out == b"" and b"which stays whole" in result.error
    groups = listed(twinfs, "--include-bundles", source)
    assert {folder["fate"] for group in groups for folder in group["folders"]} == {
        "kept", "redundant"}


# several sources

@pytest.fixture
def pair(tmp_path):
    """Two sources that are equal, in folders of one name."""
    first, second = tmp_path / "x/photos", tmp_path / "y/photos"
    make(first)
    second.parent.mkdir()
    copy_tree(first, second)
    return first, second


def test_equal_sources_are_a_group(twinfs, pair):
    for first, second in (pair, pair[::-1]):
        beside = twinfs.with_index(twinfs.folder / f"index of {first.parent.name}")
        group, = listed(beside, first, second)
        assert [folder["path"] for folder in group["folders"]] == [str(first), str(second)]
        assert group["hash"] == tree_hash(first)
        assert [folder["fate"] for folder in group["folders"]] == ["kept", "redundant"]
        assert beside.ok("copies", second).lines == [os.fsencode(first)]
        for form in ("text", "fdupes"):
            out = beside.ok("list", "--folders", f"--format={form}", first, second).out.decode()
            assert f"{first}\n" in out and f"{second}\n" in out


@pytest.mark.parametrize("options, count", [
    (["--path=x/photos"], 1), (["--path=y"], 0), (["--same-name"], 1), (["--regex=y/photos$"], 1),
    (["--regex=photos/$"], 0), (["--between-sources"], 1), (["--keep=path:y/photos"], 1),
])
def test_filters_apply_to_the_roots_of_sources(twinfs, pair, options, count):
    groups = listed(twinfs, *options, *pair)
    assert len(groups) == count
    if "--keep=path:y/photos" in options:
        assert groups[0]["folders"][0]["path"] == str(pair[1])


def test_root_in_which_something_is_protected_stays(twinfs, pair):
    group, = listed(twinfs, f"--protect={pair[1]}/sub/two", *pair)
    assert group["folders"][0]["path"] == str(pair[1])


def test_between_sources_spares_folders_in_the_source_of_the_kept_one(twinfs, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    make(first / "a")
    copy_tree(first / "a", first / "b")
    second.mkdir()
    copy_tree(first / "a", second / "c")
    trees.write(second / "other", b"x")
    make(second / "d", "another")
    copy_tree(second / "d", second / "e")
    group, = listed(twinfs, "--between-sources", first, second)
    assert {os.path.basename(folder["path"]): folder["fate"] for folder in group["folders"]} == {
        "a": "kept", "b": "spared", "c": "redundant"}

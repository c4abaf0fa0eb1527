# SPDX-License-Identifier: MIT
"""The folders of `twinfs report` and .twinfs/report.html: whole copies, equal folders, and what of
each source is elsewhere."""
import os
import urllib.parse

import pytest
import trees
from equal_folders import copy_tree, make, make_twins
from folder_trees import Forest
from program import path_of
from test_report import EVIL, SHOWN_NAMES, check_harmless, page_of, report_of

SHOWN_EQUAL = 10
SOURCES_MOST = 8


@pytest.fixture
def twins(source):
    return make_twins(source)


@pytest.fixture
def disks(tmp_path):
    """A disk, and an older one with most of its files and some others."""
    new, old = tmp_path / "new", tmp_path / "old"
    trees.fill(new, {"a/one": b"1" * 1000, "two": b"2" * 2000, "own": b"3" * 300, "none": b""})
    trees.fill(old, {"one": b"1" * 1000, "again": b"1" * 1000, "b/two": b"2" * 2000,
                     "b/own": b"4" * 40, "c/own": b"5" * 50})
    return new, old


def text(element):
    """The text of an element, with usual spaces."""
    return element.text().replace("\xa0", " ")


def folders_of(page):
    return (page.whole_copies(), [group.shown() for group in page.equal()], page.elsewhere())


# whole copies and equal folders

def test_page_begins_with_whole_copies_and_has_the_largest_groups(twinfs, twins):
    page = page_of(twinfs, twins)
    main = page.root.first("main")
    first, second = [child for child in main.children if not isinstance(child, str)][:2]
    assert text(first) == "2 folders are whole copies: 15 KiB"
    assert second.attributes["id"] == "figures"
    assert page.whole_copies() == [2, 15000]
    assert sorted(group.shown() for group in page.equal()) == [
        (10000, 2, 3, 10000, [b"b", b"a"], [b"b"], 0),
        (10000, 3, 1, 5000, [b"b/sub", b"a/sub", b"c"], [b"b/sub"], 0)]
    assert page.elsewhere() == {}
    make(twins / "d", "d")
    copy_tree(twins / "d", twins / "e")
    assert page_of(twinfs, twins).whole_copies() == [3, 25000]


def test_page_without_equal_folders_says_nothing_of_them(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    page = page_of(twinfs, source)
    assert folders_of(page) == ([], [], {}) and "whole cop" not in page.source


def agrees_with_list(page, twinfs, sources, *options):
    """Asserts that the page has the folders of `list --folders`, in its order."""
    found = twinfs.ok("list", "--folders", "--include-bundles", "--format=json", *options,
                      *sources).json
    summary, base = found["summary"], os.fsencode(os.path.dirname(sources[0])) + b"/"
    counted = [summary["redundant_folders"], summary["reclaimable_bytes"]]
    assert page.whole_copies() == (counted if counted[0] else [])
    expected = []
    for group in found["groups"]:
        names = [path_of(folder).removeprefix(base) for folder in group["folders"]]
        expected.append((group["reclaimable"], len(names), group["files"], group["size"],
                         names[:SHOWN_NAMES], names[:1], max(len(names) - SHOWN_NAMES, 0)))
    shown = [group.shown() for group in page.equal()]
    assert [group[0] for group in shown] == [group[0] for group in expected[:SHOWN_EQUAL]]
    least = min([group[0] for group in shown], default=0)
    assert {str(group) for group in shown if group[0] > least} == {
        str(group) for group in expected if group[0] > least}
    assert {str(group) for group in shown} <= {str(group) for group in expected}


@pytest.mark.parametrize("seed", range(6))
def test_folders_of_a_random_tree_are_those_of_list(twinfs, tmp_path, seed):
    roots = [tmp_path / name for name in ("one", "two")]
    forest = Forest(roots, tmp_path / "outside", seed + 200)
    forest.steps(20)
    agrees_with_list(page_of(twinfs, *roots), twinfs, roots)
    agrees_with_list(page_of(twinfs, "--keep=newest", *roots), twinfs, roots, "--keep=newest")


def test_groups_beyond_those_shown_are_counted(twinfs, source):
    for number in range(SHOWN_EQUAL + 2):
        for copy in range(SHOWN_NAMES + 2):
            trees.write(source / f"{copy}{copy}/{number}/file", b"%d" % number * (10 + number))
            trees.write(source / f"{copy}{copy}/own", b"%d" % copy)
    page = page_of(twinfs, source)
    assert len(page.equal()) == SHOWN_EQUAL
    assert page.equal()[0].more == 2 and len(page.equal()[0].names) == SHOWN_NAMES
    assert page.part("equal").first("p", "lead").numbers() == [SHOWN_EQUAL, SHOWN_EQUAL + 2]


def test_filters_select_the_groups_of_the_page(twinfs, twins):
    page = page_of(twinfs, "--path=c", twins)
    assert page.whole_copies() == [1, 5000] and len(page.equal()) == 1
    assert page_of(twinfs, "--min-size=6000", twins).whole_copies() == [1, 10000]
    assert folders_of(page_of(twinfs, "--top=1", twins)) == ([], [], {})
    other = twinfs.with_index(twinfs.folder / "other")
    assert folders_of(page_of(other, twins / "b/one", twins / "a/one")) == ([], [], {})


def test_any_name_of_a_folder_is_shown_completely_and_harmless(twinfs, source):
    names = [name for name in (*trees.ODD_NAMES, *EVIL) if len(name) <= 200]
    seen = set()
    for start in range(0, len(names), 2 * SHOWN_EQUAL):
        root = source / f"{start}"
        some = names[start:start + 2 * SHOWN_EQUAL]
        for number, name in enumerate(some):
            trees.write(trees.join(root, name, b"file"), b"%d" % (number // 2) * 3)
        trees.write(trees.join(root, b"last/file"), b"%d" % ((len(some) - 1) // 2) * 3)
        page = page_of(twinfs.with_index(twinfs.folder / f"{start}"), root)
        check_harmless(page)
        seen |= {name for group in page.equal() for name in group.names}
    assert seen >= set(names)


def test_page_with_very_long_names_of_folders_is_small(twinfs, source):
    place = os.fsencode(source)
    for copy in range(SHOWN_NAMES):
        at = os.open(place, os.O_RDONLY)
        for _ in range(10):
            name = b"\xff" * 240 + b"%d" % copy
            os.mkdir(name, dir_fd=at)
            at, above = os.open(name, os.O_RDONLY, dir_fd=at), at
            os.close(above)
        for number in range(SHOWN_EQUAL):
            os.mkdir(b"%d" % number, dir_fd=at)
            with open(os.open(b"%d/file" % number, os.O_WRONLY | os.O_CREAT, dir_fd=at),
                      "wb") as file:
                file.write(b"%d" % number)
        with open(os.open("own", os.O_WRONLY | os.O_CREAT, dir_fd=at), "wb") as file:
            file.write(b"%d" % copy)
        os.close(at)
    page = page_of(twinfs, source)
    check_harmless(page)
    assert len(page.equal()) == SHOWN_EQUAL and len(page.source) < 600_000
    assert {len(group.names) for group in page.equal()} == {SHOWN_NAMES}


def test_equal_sources_are_shown_by_their_names(twinfs, tmp_path):
    make(tmp_path / "one/inner")
    copy_tree(tmp_path / "one", tmp_path / "two")
    group, = page_of(twinfs, tmp_path / "one", tmp_path / "two").equal()
    assert group.names == [b"one", b"two"] and group.kept == [b"one"]


def test_view_has_the_folders_of_the_command(twinfs, disks):
    make(disks[0] / "x")
    copy_tree(disks[0] / "x", disks[1] / "y")
    with twinfs.mounted(*disks) as view:
        view.sync()
        shown = report_of(view)
        assert folders_of(shown) == folders_of(page_of(twinfs, view.path))
        assert shown.whole_copies() == [view.status()["redundant_folders"],
                                        view.status()["redundant_folder_bytes"]] == [1, 10000]


def test_equal_folders_of_a_view_are_linked_to_their_place_in_folders(twinfs, tmp_path):
    root = tmp_path / "odd <b> '\"#?%"
    make(root / "one/deep <i>")
    copy_tree(root / "one", root / os.fsdecode(b"two \xff"))
    with twinfs.mounted(root) as view:
        page = report_of(view)
        check_harmless(page, "'self' data: file:")
        [group] = page.equal()
        links = [link.attributes["href"] for link in page.part("equal").all("a")]
        places = [os.path.realpath(os.path.join(os.fsencode(view.path), b".twinfs",
                                                urllib.parse.unquote_to_bytes(link)))
                  for link in links]
        assert [os.path.basename(place) for place in places] == group.names
        assert len({os.path.dirname(place) for place in places}) == 1
        for place in places:
            assert os.path.dirname(os.path.dirname(place)) == os.fsencode(view.path / "folders")
            assert os.path.isdir(os.path.join(place, b"deep <i>"))
    assert page_of(twinfs, root).links() == []


# sources

def covered(twinfs, source, others):
    """(bytes elsewhere, files that are not, their bytes) as `covered` says."""
    result = twinfs.with_index(twinfs.folder / f"index of {source.name}")(
        "covered", "--ignore-symlinks", "--format=json",
        *(f"--by={other}" for other in others), source)
    assert result.status in (0, 4), result
    summary = result.json["summary"]
    return (summary["bytes"] - summary["missing_bytes"], summary["missing"],
            summary["missing_bytes"])


def test_page_says_what_of_each_source_is_elsewhere(twinfs, disks):
    new, old = disks
    page = page_of(twinfs, new, old)
    assert page.elsewhere() == {os.fsencode(new): (3000, 1, 300), os.fsencode(old): (4000, 2, 90)}
    assert [text(item) for item in page.part("elsewhere").first("ul").all("li")] == [
        f"2.9 KiB of {new} is elsewhere; 1 file of 300 B is not",
        f"3.9 KiB of {old} is elsewhere; 2 files of 90 B are not"]
    (new / "own").unlink()
    item = page_of(twinfs, new, old).part("elsewhere").first("ul").first("li")
    assert text(item) == f"All 2.9 KiB of {new} is elsewhere"


def test_source_with_nothing_elsewhere_is_left_out(twinfs, disks, tmp_path):
    trees.write(tmp_path / "third/own", b"own")
    page = page_of(twinfs, *disks, tmp_path / "third")
    assert page.elsewhere().keys() == {os.fsencode(disk) for disk in disks}
    page = page_of(twinfs.with_index(twinfs.folder / "other"), disks[0], tmp_path / "third")
    assert page.elsewhere() == {} and not page.part("elsewhere")


def test_number_of_sources_that_are_compared_is_bounded(twinfs, tmp_path):
    roots = [tmp_path / f"{number}" for number in range(SOURCES_MOST + 1)]
    for root in roots:
        trees.write(root / "same", b"same")
    assert len(page_of(twinfs, *roots[1:]).elsewhere()) == SOURCES_MOST
    assert page_of(twinfs.with_index(twinfs.folder / "other"), *roots).elsewhere() == {}


def test_unreadable_file_is_not_elsewhere(as_user, disks):
    (disks[0] / "two").chmod(0)
    page = page_of(as_user, *disks, status=3)
    assert page.elsewhere()[os.fsencode(disks[0])] == (1000, 2, 2300)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_elsewhere_is_what_covered_says(twinfs, tmp_path, seed):
    roots = [tmp_path / name for name in ("one", "two", "three")[:2 + seed % 2]]
    forest = Forest(roots, tmp_path / "outside", seed + 300)
    forest.steps(15)
    for root in roots:
        trees.write(root / "never empty")
    expected = {os.fsencode(root): covered(twinfs, root, [other for other in roots
                                                          if other != root]) for root in roots}
    assert page_of(twinfs, *roots).elsewhere() == {
        root: figures for root, figures in expected.items() if figures[0]}

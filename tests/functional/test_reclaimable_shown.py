# SPDX-License-Identifier: MIT
"""Where reclaimable and redundant bytes are shown, and the order that follows from them."""
import csv
import io
import json
import os

import oracle
import pytest
import trees
from pages import Page
from rank_names import name_of
from reclaimable import Figures, checked, view_differs
from reflinks import BLOCK, clone, clone_range, write_back

KIB, MIB = 1 << 10, 1 << 20

# The figures of each group, by the name of its kept copy, in the order of reclaimable bytes. The
# order of redundant bytes is the reverse.
GROUPS = {
    "own": Figures(MIB, MIB),
    "several": Figures(3 * 500_000, 2 * 500_000),
    "partly": Figures(3 * MIB, 512 * KIB),
    "little": Figures(4 * MIB, BLOCK),
    "clones": Figures(5 * MIB, 0),
}
TOTAL = Figures(sum(figures.redundant for figures in GROUPS.values()),
                sum(figures.reclaimable for figures in GROUPS.values()))
COPIES = {"own": 2, "several": 4, "partly": 2, "little": 2, "clones": 2}


def write_again(path, start, length):
    """Writes the bytes of a range again, to other blocks."""
    with open(path, "r+b") as file:
        file.seek(start)
        data = file.read(length)
        file.seek(start)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@pytest.fixture
def source(room):
    """A source with GROUPS. The names of the copies are those of the kept copies and a number."""
    folder = room.source

    def write(name, *names, size):
        for path in (name, *names):
            (folder / path).write_bytes(trees.content(name, size))

    write("own", "own 1", size=MIB)
    write("several", "several 1", "several 2", size=500_000)
    clone(folder / "several 2", folder / "several 3")
    write("partly", size=3 * MIB)
    clone(folder / "partly", folder / "partly 1")
    write_again(folder / "partly 1", MIB, 512 * KIB)
    write("little", size=4 * MIB)
    clone(folder / "little", folder / "little 1")
    write_again(folder / "little 1", 4 * MIB - BLOCK, BLOCK)
    write("clones", size=5 * MIB)
    clone(folder / "clones", folder / "clones 1")
    write("single", size=MIB)
    clone_range(folder / "clones", folder / "single", 0, 256 * KIB, 0)
    write_back(folder)
    return folder


@pytest.fixture
def view(twinfs, source):
    with twinfs.mounted(source) as mounted:
        yield mounted


def kept_name(group):
    [name] = [os.path.basename(copy["path"]) for copy in group["copies"] if copy["kept"]]
    return name


def figures_of(groups):
    """{name of the kept copy: figures} of groups in JSON, in their order."""
    return {kept_name(group): Figures(group["redundant"], group["reclaimable"])
            for group in groups}


def in_order(found):
    return list(found.items())


def test_list_is_in_the_order_of_reclaimable_bytes(twinfs, source):
    listing = twinfs.listing(source)
    checked(listing, source)
    assert in_order(figures_of(listing["groups"])) == in_order(GROUPS)
    again = twinfs.listing("--sort=reclaimable", source)
    assert again == listing
    top = twinfs.listing("--top=2", source)
    assert list(figures_of(top["groups"])) == ["own", "several"]
    assert (top["summary"]["redundant_bytes"], top["summary"]["reclaimable_bytes"]) == (
        MIB + 1_500_000, MIB + 1_000_000)


def test_json_lines_have_redundant_and_reclaimable_bytes(twinfs, source):
    lines = twinfs.ok("list", "--format=jsonl", source).lines
    assert in_order(figures_of(map(json.loads, lines))) == in_order(GROUPS)


def test_summary_has_redundant_and_reclaimable_bytes(twinfs, source):
    figures = json.loads(twinfs.ok("list", "--summary", "--format=json", source).out)
    figures = figures.get("summary", figures)
    assert (figures["redundant_bytes"], figures["reclaimable_bytes"]) == (
        TOTAL.redundant, TOTAL.reclaimable)


def test_csv_has_the_column_redundant_before_reclaimable(twinfs, source):
    text = twinfs.ok("list", "--format=csv", source).out.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert text.splitlines()[0] == "group,redundant,reclaimable,fate,size,inode,path,path_base64"
    found = {os.path.basename(row["path"]): Figures(int(row["redundant"]), int(row["reclaimable"]))
             for row in rows}
    assert found == {name if copy == 0 else f"{name} {copy}": figures
                     for name, figures in GROUPS.items() for copy in range(COPIES[name])}
    assert len(rows) == len(found)


def test_text_has_reclaimable_bytes_of_groups_and_both_totals(twinfs, source):
    *groups, totals = twinfs.ok("list", source).out.decode().split("\n\n")
    for group, figures in zip(groups, GROUPS.values(), strict=True):
        part = ("" if figures.reclaimable == figures.redundant
                else f" of {oracle.human(figures.redundant)}")
        assert f", {oracle.human(figures.reclaimable)}{part} reclaimable, " in group
    for figure in (TOTAL.redundant, TOTAL.reclaimable):
        assert f"{figure:,} bytes" in totals


def test_text_does_not_repeat_a_total_that_is_the_same(twinfs, room):
    for name in ("a", "b"):
        (room.source / name).write_bytes(trees.content("same", MIB))
    totals = twinfs.ok("list", room.source).out.decode().split("\n\n")[-1]
    assert totals.count(f"{MIB:,} bytes") == 1


def test_folder_in_dups_has_redundant_and_reclaimable_bytes(view, source):
    assert not view_differs(view, source)
    found = {}
    for folder in view.dups.iterdir():
        [kept] = [copy.name for copy in folder.iterdir() if copy.name.startswith("(kept) ")]
        found[kept.removeprefix("(kept) ")] = Figures(*(
            int(os.getxattr(folder, f"user.twinfs.{name}")) for name in
            ("redundant", "reclaimable")))
    assert found == GROUPS


def ranks(view):
    return sorted(os.listdir(view.by_size))


def names_of(groups):
    return [name_of(f"{rank:04}", name, copies, oracle.human(reclaimable))
            for rank, (name, copies, reclaimable) in enumerate(groups, 1)]


def test_by_size_is_in_the_order_of_reclaimable_bytes(view):
    assert ranks(view) == names_of([(name, COPIES[name], figures.reclaimable)
                                    for name, figures in GROUPS.items()])


def test_by_size_follows_blocks_that_are_shared_no_longer(view, source):
    write_again(source / "clones 1", 0, 5 * MIB)
    clone_range(source / "own", source / "own 1", 0, 0, 0)
    view.sync()
    assert ranks(view) == names_of([
        ("clones", 2, 5 * MIB), ("several", 4, 1_000_000), ("partly", 2, 512 * KIB),
        ("little", 2, BLOCK), ("own", 2, 0)])
    assert not view_differs(view, source)


def test_status_of_a_view_has_both_figures(twinfs, view):
    status = view.status()
    assert Figures(status["redundant_bytes"], status["reclaimable_bytes"]) == TOTAL
    text = twinfs.ok("status", view.path).out.decode()
    assert (f", {oracle.human(TOTAL.redundant)}; removing them frees "
            f"{oracle.human(TOTAL.reclaimable)} ({TOTAL.reclaimable:,} bytes)\n") in text


def test_metrics_have_both_figures(view):
    found = {name: value for (name, labels), value in view.metrics().items() if not labels}
    assert Figures(found["twinfs_redundant_bytes"], found["twinfs_reclaimable_bytes"]) == TOTAL


def test_list_of_a_view_has_the_figures_of_the_view(twinfs, view, source):
    assert in_order(figures_of(twinfs.listing(view.path)["groups"])) == in_order(GROUPS)
    checked(twinfs.listing(view.path), source)


def test_redundant_copies_alone_are_listed_with_the_same_figures(twinfs, source):
    lines = twinfs.ok("list", "--redundant", "--format=jsonl", source).lines
    assert [Figures(group["redundant"], group["reclaimable"])
            for group in map(json.loads, lines)] == list(GROUPS.values())


def test_page_has_both_figures(twinfs, source):
    page = Page(twinfs.ok("report", "--html=-", source).out)
    assert page.answer()[0] == TOTAL.reclaimable
    assert f'The redundant copies have <data value="{TOTAL.redundant}">' in page.source


# ---- whole folders ------------------------------------------------------------------------

@pytest.fixture
def folders(room):
    """Four equal folders: the second is a clone of the first, and the others of each other."""
    room.source.joinpath("a").mkdir()
    for name in ("x", "y"):
        (room.source / "a" / name).write_bytes(trees.content(name, MIB))
    for name, origin in (("b", "a"), ("c", None), ("d", "c")):
        room.source.joinpath(name).mkdir()
        for file in ("x", "y"):
            if origin:
                clone(room.source / origin / file, room.source / name / file)
            else:
                (room.source / name / file).write_bytes(trees.content(file, MIB))
    write_back(room.source)
    return room.source


def folders_of(twinfs, source, *options):
    listing = json.loads(twinfs.ok("list", "--folders", "--format=json", *options, source).out)
    [group] = listing["groups"]
    assert listing["summary"]["reclaimable_bytes"] == group["reclaimable"]
    return Figures(group["redundant"], group["reclaimable"])


def test_equal_folders_free_the_blocks_that_only_redundant_ones_hold(twinfs, folders):
    assert folders_of(twinfs, folders) == Figures(6 * MIB, 2 * MIB)
    assert folders_of(twinfs, folders, "--keep=path:*/c") == Figures(6 * MIB, 2 * MIB)


def test_folder_that_stays_holds_the_blocks_of_its_clone(twinfs, folders):
    # d stays besides the kept folder, so c frees nothing
    assert folders_of(twinfs, folders, f"--protect={folders}/d", "--keep=path:*/d") == Figures(
        6 * MIB, 2 * MIB)
    assert folders_of(twinfs, folders, f"--only={folders}/c") == Figures(2 * MIB, 0)

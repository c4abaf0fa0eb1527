# SPDX-License-Identifier: MIT
"""list, copies, path: the printed groups, in each format."""
import os
import re

import oracle
import trees
from program import detach, path_of

CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")


def test_json_agrees_with_the_oracle(twinfs, mixed):
    listing = twinfs.listing(mixed)
    model = oracle.Source([mixed])
    groups = model.groups()
    figures = oracle.summary(groups)
    assert 0 < listing["summary"]["reclaimable_bytes"] < figures["redundant_bytes"]
    assert {name: listing["summary"][name] for name in figures} == figures
    assert listing["summary"]["errors"] == 0
    assert listing["summary"]["pending"] == 0
    by_path = {model.absolute(name): inode
               for inode in model.inodes.values() for name in inode.names}
    seen = set()
    for group in listing["groups"]:
        paths = [path_of(copy) for copy in group["copies"]]
        inodes = {id(by_path[path]): by_path[path] for path in paths}
        assert len(paths) == len(set(paths)) == sum(len(i.names) for i in inodes.values())
        assert {inode.digest for inode in inodes.values()} == {
            by_path[paths[0]].digest}
        assert group["size"] == by_path[paths[0]].size
        assert group["redundant"] == group["size"] * (len(inodes) - 1)
        assert group["reclaimable"] == sum(
            inode.freed for inode in {by_path[path_of(copy)] for copy in group["copies"]
                                      if not copy["kept"]})
        seen |= inodes.keys()
    assert seen == {id(inode) for group in groups for inode in group}


def test_json_hash_agrees_with_xxhsum(twinfs, mixed):
    checked = 0
    for group in twinfs.listing(mixed)["groups"]:
        path = path_of(group["copies"][0])
        if group["size"] <= 1 << 20 and len(path) < 4096:
            assert oracle.hashes([path]) == [group["hash"]]
            checked += 1
    assert checked > 50


def test_json_marks_the_kept_inode_and_hard_links(twinfs, mixed):
    model = oracle.Source([mixed])
    by_path = {model.absolute(name): inode
               for inode in model.inodes.values() for name in inode.names}
    preferred = {id(min(group, key=model.preference)) for group in model.groups()}
    groups = twinfs.listing(mixed)["groups"]
    assert len(groups) == len(model.groups())
    for group in groups:
        numbers, kept = {}, set()
        for copy in group["copies"]:
            inode = by_path[path_of(copy)]
            numbers.setdefault(copy["inode"], set()).add(id(inode))
            if copy["kept"]:
                kept.add(id(inode))
        assert all(len(inodes) == 1 for inodes in numbers.values())
        assert len(numbers) == len(set.union(*numbers.values()))
        assert len(kept) == 1 and kept <= preferred


def test_json_has_base64_only_beside_paths_that_are_not_utf8(twinfs, source):
    trees.odd_names(source)
    copies = [copy for group in twinfs.listing(source)["groups"] for copy in group["copies"]]
    assert {path_of(copy) for copy in copies} == {
        trees.join(source, folder, *rest) for name in trees.ODD_NAMES
        for folder, *rest in ((b"files", name), (b"equal", name), (b"folders", name, b"file"))}
    for copy in copies:
        try:
            path_of(copy).decode()
        except UnicodeDecodeError:
            assert "path_base64" in copy
        else:
            assert "path_base64" not in copy
        assert isinstance(copy["path"], str)


def test_json_summary_has_only_the_figures(twinfs, small):
    result = twinfs.ok("list", "--format=json", "--summary", small).json
    assert result.keys() == {"version", "summary"}
    figures = oracle.summary(oracle.Source([small]).groups())
    assert {name: result["summary"][name] for name in figures} == figures
    assert result["summary"]["files"] > 0


def test_json_summary_has_the_figures_of_the_list(twinfs, small):
    """Copies in a trash, or in a folder that must stay whole, are no redundant copies."""
    trees.fill(small, {b".Trash-1000/files/b": trees.content("b", 3000),
                       b"project/.git/b": trees.content("b", 3000)})
    summary = twinfs.ok("list", "--format=json", "--summary", small).json["summary"]
    assert summary == twinfs.listing(small)["summary"]
    assert summary["redundant_files"] == oracle.summary(
        oracle.Source([small]).groups())["redundant_files"] - 2


def test_json_paths_are_absolute(twinfs, small, tmp_path):
    result = twinfs.ok("list", "--format=json", "source", cwd=tmp_path)
    paths = {path_of(copy) for group in result.json["groups"] for copy in group["copies"]}
    assert trees.join(small, b"pictures/1.jpg") in paths


def test_tree_without_groups_gives_an_empty_list(twinfs, source):
    trees.fill(source, {b"a": b"one", b"b": b"another"})
    listing = twinfs.listing(source)
    assert listing["groups"] == []
    assert listing["summary"]["redundant_bytes"] == 0
    assert twinfs.ok("list", "--format=fdupes", source).out == b""


def test_second_listing_is_the_same(twinfs, mixed):
    first = twinfs.ok("list", "--format=json", mixed).json["groups"]
    assert twinfs.ok("list", "--format=json", mixed).json["groups"] == first


# fdupes

def fdupes_groups(out):
    return {frozenset(block.split(b"\n")) for block in out.strip(b"\n").split(b"\n\n") if block}


def test_fdupes_has_one_path_a_line_and_an_empty_line_between_groups(twinfs, small):
    out = twinfs.ok("list", "--format=fdupes", small).out
    assert fdupes_groups(out) == twinfs.groups(small)


def test_fdupes_prints_the_bytes_of_odd_names(twinfs, source):
    names = [name for name in trees.ODD_NAMES if b"\n" not in name]
    for name in names:
        trees.fill(source, {b"a/" + name: name * 2, b"b/" + name: name * 2})
    out = twinfs.ok("list", "--format=fdupes", source).out
    assert fdupes_groups(out) == {
        frozenset(trees.join(source, folder, name) for folder in (b"a", b"b"))
        for name in names}


def test_fdupes_paths_begin_with_the_source_as_given(twinfs, small, tmp_path):
    out = twinfs.ok("list", "--format=fdupes", "source", cwd=tmp_path).out
    assert b"source/pictures/1.jpg" in out.split(b"\n")


# text

def test_text_is_the_default_and_names_every_copy(twinfs, small):
    out = twinfs.ok("list", small).out
    assert out == twinfs.ok("list", "--format=text", small).out
    for path in set.union(*map(set, twinfs.groups(small))):
        assert path in out


def test_text_has_no_control_byte_of_a_name(twinfs, source):
    trees.odd_names(source)
    trees.write(trees.join(source, b"single\x1b[31m\n"), b"single")
    for part in ([], ["--redundant"], ["--singles"]):
        out = twinfs.ok("list", *part, source).out
        assert out and not CONTROL.search(out)


def test_text_summary_has_the_figures_and_no_path(twinfs, small):
    out = twinfs.ok("list", "--summary", small).out
    assert b"1.jpg" not in out
    figures = oracle.summary(oracle.Source([small]).groups())
    numbers = re.findall(r"\d+", out.decode().replace(",", ""))
    assert str(figures["groups"]) in numbers
    assert str(figures["redundant_files"]) in numbers


# parts

def printed_paths(twinfs, part, source):
    return set(twinfs.ok("list", part, "--format=fdupes", source).lines) - {b""}


def test_redundant_prints_the_copies_that_are_not_kept(twinfs, small):
    found = printed_paths(twinfs, "--redundant", small)
    expected = {path_of(copy) for group in twinfs.listing(small)["groups"]
                for copy in group["copies"] if not copy["kept"]}
    assert found == expected
    assert len(found) == 4  # both names of the redundant inode in letters/


def test_singles_prints_the_files_without_a_copy(twinfs, small):
    found = printed_paths(twinfs, "--singles", small)
    assert {trees.join(small, path) for path in
            (b"alone", b"alone, linked", b"letters/b.txt")} <= found
    assert not found & set.union(*map(set, twinfs.groups(small)))


# listings of a view

def test_listing_of_a_mount_point_equals_that_of_its_sources(twinfs, small):
    expected = twinfs.listing(small)["groups"]
    with twinfs.mounted(small) as view:
        result = twinfs("list", "--format=json", view.path, index=False)
        assert result.status == 0, result
        assert result.json["groups"] == expected


def test_listing_of_mounted_sources_reads_the_index_of_the_view(twinfs, small):
    expected = twinfs.listing(small)["groups"]
    with twinfs.mounted(small):
        assert twinfs.listing(small)["groups"] == expected


def test_listing_of_mounted_sources_is_current_and_names_the_view(twinfs, small):
    with twinfs.mounted(small) as view:
        trees.write(trees.join(small, b"new"), trees.content("p", 70000))
        result = twinfs("list", small)
        assert result.status == 0, result
        assert [line for line in result.errors if str(view.path) in line] == result.errors
        assert f"process {view.pid} maintains" in result.errors[0]
        assert b"new" in result.out


def test_list_warns_if_the_view_cannot_be_reached(twinfs, small, tmp_path):
    """The view is unmounted lazily while one of its files is open."""
    with twinfs.mounted(small) as view:
        with open(view.path / ".twinfs/status.json", "rb"):
            detach(view.path)
            result = twinfs("list", small)
            assert result.status == 3, result
            assert result.out
            assert "warning" in result.errors[0] and str(view.path) in result.errors[0]


def test_list_to_a_full_disk_fails(twinfs, small):
    twinfs.ok("scan", small)
    twinfs.wrapped = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
    result = twinfs("list", "--format=json", small)
    assert result.status == 1
    assert b"No space left" in result.error


# copies and path

def test_copies_prints_the_other_copies_of_a_file(twinfs, small):
    twinfs.ok("scan", small)
    pictures = {trees.join(small, path) for path in
                (b"pictures/1.jpg", b"pictures/copy of 1.jpg", b"backup/1.jpg")}
    one = trees.join(small, b"pictures/1.jpg")
    found = set(twinfs.ok("copies", one).lines)
    assert found == pictures - {one}


def test_copies_with_null_keeps_odd_names(twinfs, source):
    trees.odd_names(source)
    twinfs.ok("scan", source)
    for name in trees.ODD_NAMES[::7]:
        paths = {trees.join(source, b"files", name), trees.join(source, b"equal", name),
                 trees.join(source, b"folders", name, b"file")}
        one = trees.join(source, b"files", name)
        for option in ("-0", "--null"):
            found = twinfs.ok("copies", option, one).out
            assert found.endswith(b"\0")
            assert set(found[:-1].split(b"\0")) == paths - {one}


def test_copies_of_a_lone_file_prints_nothing(twinfs, small):
    twinfs.ok("scan", small)
    assert twinfs.ok("copies", trees.join(small, b"letters/b.txt")).out == b""


def test_copies_of_a_changed_file_is_refused(twinfs, small):
    twinfs.ok("scan", small)
    one = trees.join(small, b"pictures/1.jpg")
    trees.write(one, trees.content("other", 70000))
    result = twinfs("copies", one)
    assert result.status == 3
    assert result.out == b""
    assert b"1.jpg" in result.error


def test_path_prints_the_source_of_each_file_of_a_view(twinfs, small):
    with twinfs.mounted(small) as view:
        shown = [item for folder in view.dups.iterdir() for item in folder.iterdir()]
        found = [twinfs.ok("path", item).lines for item in shown]
        sources = [trees.join(small, oracle.place(item.name).encode()) for item in shown]
        for [path], expected in zip(found, sources, strict=True):
            assert os.path.samefile(path, expected)
        assert twinfs.ok("path", *shown).lines == [line for [line] in found]
        # two names of one file
        assert twinfs.ok("path", view.uniques / "alone").lines[0] in (
            trees.join(small, b"alone"), trees.join(small, b"alone, linked"))


def test_path_with_null_keeps_odd_names(twinfs, source):
    trees.odd_names(source)
    with twinfs.mounted(source) as view:
        for name in (b"new\nline", b"\xff\xfe\xfd"):
            shown = trees.join(view.uniques, b"folders", name)
            assert os.path.isdir(shown)
            found = twinfs.ok("path", "--null", trees.join(view.uniques, b"equal", name)).out
            assert found == trees.join(source, b"equal", name) + b"\0"


def test_path_of_a_file_outside_of_a_view_is_refused(twinfs, small):
    result = twinfs("path", trees.join(small, b"alone"))
    assert result.status == 1
    assert result.out == b""
    assert len(result.errors) == 1 and "alone" in result.errors[0]

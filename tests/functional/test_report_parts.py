# SPDX-License-Identifier: MIT
"""Parts of `twinfs report` and .twinfs/report.html: the commands to go on with, extensions, ages,
shades of folders, and the names of unreadable files."""
import os
import subprocess
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT
from test_report import EVIL, check_harmless, page_of, report_of

UNREADABLE = 20
MAKES_VIEW = "mkdir -p view && "


@pytest.fixture
def two(tmp_path):
    """Two sources with some copies."""
    one, two = tmp_path / "one", tmp_path / "two"
    trees.fill(one, {b"a/1": b"1" * 9000, b"a/2": b"1" * 9000, b"b": b"2" * 7000, b"alone": b"own"})
    trees.fill(two, {b"b": b"2" * 7000, b"c": b"3" * 3000, b"d": b"3" * 3000})
    return one, two


# rows and colours

def test_ages_without_files_have_no_row(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    assert page_of(twinfs, source).ages() == {"a day": (8, 4)}


def test_extensions_are_ordered_by_redundant_bytes(twinfs, source):
    for number in range(15):
        trees.fill(source, {f"{copy}/{number}.X{number}": b"%d" % number * (100 + number)
                            for copy in range(2)})
    trees.fill(source, {"0/own.x14": b"own", "<b>.<b>": b"1" * 5000, "copy.<b>": b"1" * 5000,
                        "own.txt": b"own text"})
    sizes = {f".x{number}": len(b"%d" % number * (100 + number)) for number in range(15)}
    kinds = list(page_of(twinfs, source).kinds().items())
    assert kinds[:2] == [("no extension", (10000, 5000)), (".x14", (2 * sizes[".x14"] + 3,
                                                                     sizes[".x14"]))]
    names = sorted(sizes, key=sizes.get)[::-1]
    assert kinds[2:12] == [(name, (2 * sizes[name], sizes[name])) for name in names[1:11]]
    rest = sum(sizes[name] for name in names[11:])
    assert kinds[12:] == [("4 others", (2 * rest, rest))]


def test_shade_of_a_folder_is_its_redundant_part(twinfs, source):
    trees.fill(source, {"0/a": b"a" * 4000, "0/b": b"b" * 4000, "whole/deep/a": b"a" * 4000,
                        "part/b": b"b" * 4000, "part/own": b"c" * 8000,
                        "part/sub/own": b"d" * 4000})
    os.link(source / "part/own", source / "z")
    page = page_of(twinfs, source)
    assert page.shades() == {os.fsencode(source): (2, "29\xa0%"), b"whole/deep": (5, "100\xa0%"),
                             b"part": (2, "25\xa0%")}
    assert {box.names()[0]: [name for name in box.classes() if name in ("s2", "s5")]
            for box in page.boxes()} == {b"whole/deep": ["s5"], b"part": ["s2"]}
    assert [key.classes()[1] for key in page.part("folders").first("p", "legend").all(
        "span", "key")] == ["s1", "s2", "s3", "s4", "s5"]


def test_page_without_groups_states_this_without_empty_parts(twinfs, source):
    page = page_of(twinfs, source)
    assert "These folders are empty" in page.part("figures").text()
    assert page.commands() == [] and "compared" not in page.root.first("footer").text()
    trees.fill(source, {b"a.txt": b"a", b"b": b"bb"})
    page = page_of(twinfs, source)
    assert page.answer() == [] and "Nothing is redundant" in page.part("figures").text()
    assert {part.attributes["id"] for part in page.root.all("section")} == {"figures", "next"}
    assert page.figures() == {"files": 2, "directories": 1, "bytes": 3}
    [command] = page.commands()
    assert words_of(command) == [
        b"twinfs", b"mount", b"--wait", os.fsencode(source), b"view"]
    with twinfs.mounted(source) as view:
        assert report_of(view).part("next") is None


# unreadable files

def test_number_of_unreadable_files_that_are_named_is_bounded(as_user, source):
    names = [*EVIL, *(b"%d" % number for number in range(UNREADABLE))]
    for name in names:
        trees.write(trees.join(source, name), b"same")
        os.chmod(trees.join(source, name), 0)
    os.mkdir(source / "folder", 0)
    page = page_of(as_user, source, status=3)
    check_harmless(page)
    assert len(page.unreadable()) == UNREADABLE
    assert set(page.unreadable()) <= {os.path.join(os.fsencode(source), name)
                                      for name in [*names, b"folder"]}
    assert page.root.first("aside").first("li", "more").numbers() == [len(EVIL) + 1]


# what to do next

def words_of(command):
    """The words that a shell makes of a command, without the index of the tests."""
    run = subprocess.run(["bash", "-c", f"printf '%s\\0' {command.removeprefix(MAKES_VIEW)}"],
                         check=True, capture_output=True, timeout=TIMEOUT)
    return [word for word in run.stdout.split(b"\0")[:-1] if not word.startswith(b"--index=")]


@pytest.mark.parametrize("name", [b"plain", b"My Photos", b"it's", b"~", b"$(reboot) `x` \"&;|<>*?",
                                  b"new\nline", b"raw \xff", "\u202egnp".encode(), b"-n", b"#!\\"])
def test_commands_name_the_source_for_a_shell(twinfs, source, name):
    root = trees.join(source, name)
    trees.fill(Path(os.fsdecode(root)), {b"a/file": b"same", b"b/file": b"same"})
    page = page_of(twinfs, root)
    check_harmless(page)
    listed, freed, folders, mounted, saved = page.commands()
    assert words_of(listed) == [b"twinfs", b"remove", b"--dry-run", root]
    assert words_of(freed) == [b"twinfs", b"remove", b"--trash", root]
    assert words_of(folders) == [b"twinfs", b"remove", b"--folders", b"--dry-run", root]
    assert words_of(mounted) == [
        b"twinfs", b"mount", b"--wait", root, b"view"]
    assert saved == "rsync -aHAXS view/uniques/ BACKUP/"
    result = twinfs(*words_of(listed)[1:])
    assert result.status == 0 and b"b/file" in result.out, result


def test_commands_repeat_the_options_that_select_the_groups(twinfs, two):
    options = ["--min-size=4000", "--exclude=alone", "--keep=newest,path:a b*", "--top=3"]
    page = page_of(twinfs, *options, "--no-pictures", *two)
    assert sorted(words_of(page.commands()[0])[3:7]) == sorted(map(os.fsencode, options))
    assert words_of(page.commands()[0])[7:] == [os.fsencode(root) for root in two]
    assert words_of(page.commands()[2])[-6:] == [
        b"--wait", b"--min-size=4000", b"--exclude=alone", *map(os.fsencode, two), b"view"]
    found = twinfs.ok(*words_of(page.commands()[0])[1:], "--format=json").json
    assert len(found["groups"]) == page.figures()["groups"]


def test_commands_for_named_files_name_them(twinfs, source):
    trees.fill(source, {b"a b": b"same", b"c": b"same", b"d": b"same"})
    page = page_of(twinfs, source / "a b", source / "c")
    assert [words_of(command)[3:] for command in page.commands()] == 2 * [
        [os.fsencode(source / "a b"), os.fsencode(source / "c")]]


def test_commands_with_too_many_sources_name_none(twinfs, tmp_path):
    roots = [tmp_path / f"{number}" / ("long" * 50) for number in range(12)]
    for root in roots:
        trees.write(root / "same", b"same")
    page = page_of(twinfs, *roots)
    assert words_of(page.commands()[0]) == [b"twinfs", b"remove", b"--dry-run", b"SOURCE..."]


def test_commands_of_a_view_name_its_mount_point(twinfs, two):
    with twinfs.mounted(*two) as view:
        for page in (report_of(view), page_of(twinfs, view.path)):
            assert words_of(page.commands()[0]) == [b"twinfs", b"remove", b"--dry-run",
                                                    os.fsencode(view.path)]
            assert page.commands()[-1] == f"rsync -aHAXS {view.path}/uniques/ BACKUP/"
        assert {"../by-size/", "../dups/", "../folders/", "../redundant/"} <= set(
            report_of(view).links())
        assert twinfs("remove", *words_of(report_of(view).commands()[0])[2:]).status == 0


def kept_and_removed(twinfs, page, root):
    """The kept copies that the page shows, and the files that its first command would remove."""
    program, command, *words = words_of(page.commands()[0])
    assert (program, command) == (b"twinfs", b"remove")
    out = twinfs.ok("remove", *words, "--format=null").out
    return ([name for group in page.groups() for name in group.kept],
            [os.path.relpath(path[1:], os.fsencode(root)) for path in out.split(b"\0")
             if path.startswith(b"-")])


def test_commands_keep_what_the_page_shows_as_kept(twinfs, tmp_path):
    """By the rule of a view, beside the view and without it, and by another rule of the page."""
    root = tmp_path / "root"
    trees.fill(root, {b"one/a": b"same" * 1000, b"two/a": b"same" * 1000})
    one, two = b"one/a", b"two/a"
    with twinfs.mounted(root, options=["--wait", "--keep=path:two/"]) as view:
        pages = [report_of(view), page_of(twinfs, view.path), page_of(twinfs, root)]
        for page in pages:
            assert kept_and_removed(twinfs, page, root) == ([two], [one])
        page = page_of(twinfs, "--keep=path:one/", view.path)
        assert kept_and_removed(twinfs, page, root) == ([one], [two])
    for page in (pages[2], page_of(twinfs, root)):
        assert kept_and_removed(twinfs, page, root) == ([two], [one])
    page = page_of(twinfs, "--keep=path:one/", root)
    assert kept_and_removed(twinfs, page, root) == ([one], [two])
    # the folder that was the mount point is not taken for a source
    result = twinfs("remove", *words_of(pages[0].commands()[0])[2:])
    assert result.status == 1 and "mount point of a view" in result.errors[0], result

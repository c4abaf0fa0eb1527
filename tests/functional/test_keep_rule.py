# SPDX-License-Identifier: MIT
"""mount --keep: the rules of an index choose its kept copies, against an independent model."""
import os
import random
import re
import signal
from pathlib import Path

import pytest
import trees
from callers import Caller, call_as
from pages import Page
from program import path_of

SHARED = ("--wait", "-o", "allow_other")
OTHER_USER = Caller("another user", 61001, 62001)
MEMBER = Caller("member", 61002, 62001)

RULES = ["source-order", "oldest", "newest", "shortest-path", "longest-path", "most-linked",
         "path:*.jpg", "path:keep", "path:/keep/b", "path:*/b", "path:keep/", "path:x/*/"]
FOLDERS = [b"", b"keep", b"keep/b", b"keep/bb", b"a/b", b"keeper", b"x/keep/y", b"backup",
           b".Trash-1/files"]
TIMES = [0, 10**18, 10**18 + 1, 10**18 + 2 * 10**9, 15 * 10**17]


class Tree:
    """Sources with random copies, and random changes of them."""

    def __init__(self, roots, dice):
        self.roots, self.dice, self.number = roots, dice, 0
        for root in roots:
            os.makedirs(root)

    def names(self):
        return sorted(os.path.join(folder, name) for root in self.roots
                      for folder, _, names in os.walk(os.fsencode(root)) for name in names)

    def new_name(self):
        self.number += 1
        name = b"%d%s" % (self.number, self.dice.choice([b"", b".jpg", b"x" * 20, b" (1)"]))
        path = trees.join(self.dice.choice(self.roots), self.dice.choice(FOLDERS), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add(self):
        path, content = self.new_name(), self.dice.randrange(6)
        trees.write(path, trees.content(("keep", content), 20 + content % 3))
        self.touch(path)

    def touch(self, path=None):
        when = self.dice.choice(TIMES)
        os.utime(path or self.dice.choice(self.names()), ns=(when, when))

    def link(self):
        os.link(self.dice.choice(self.names()), self.new_name())

    def remove(self):
        os.unlink(self.dice.choice(self.names()))

    def rename(self):
        os.rename(self.dice.choice(self.names()), self.new_name())

    def chmod(self):
        os.chmod(self.dice.choice(self.names()), self.dice.choice([0o600, 0o644]))

    def rename_folder(self):
        root = os.fsencode(self.dice.choice(self.roots))
        old, new = (trees.join(root, name) for name in self.dice.sample(FOLDERS[1:], 2))
        if not (os.path.isdir(old) and not os.path.exists(new)):
            return
        if not (new + b"/").startswith(old + b"/"):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            os.rename(old, new)

    def change(self):
        changes = [self.add, self.touch, self.link, self.remove, self.rename, self.chmod,
                   self.rename_folder]
        self.dice.choice(changes)()


def draw_rules(dice):
    return dice.sample(RULES, dice.randrange(1, 4))


@pytest.fixture(params=range(6))
def tree(tmp_path, request):
    dice = random.Random(request.param)
    found = Tree([tmp_path / f"source {number}" for number in range(1 + request.param % 2)], dice)
    for _ in range(40):
        found.add()
    for _ in range(5):
        found.link()
    return found


def options_of(rules):
    return ["--wait", "--keep=" + ",".join(rules)]


def test_first_scan_keeps_the_copies_of_the_rules(twinfs, tree):
    rules = draw_rules(tree.dice)
    with twinfs.mounted(*tree.roots, options=options_of(rules)) as view:
        assert view.differences(*tree.roots, rules=rules) == []
        assert view.status()["keep"] == ",".join(rules)


def test_changed_rules_choose_all_kept_copies_again(twinfs, tree):
    twinfs.ok("scan", *tree.roots)
    for rules in [*(draw_rules(tree.dice) for _ in range(4)), None]:
        options = options_of(rules or ["default"])
        with twinfs.mounted(*tree.roots, options=options) as view:
            assert view.differences(*tree.roots, rules=rules or ()) == [], rules
            assert view.status()["keep"] == ",".join(rules or ["default"])
    assert twinfs.ok("check", *tree.roots).status == 0


def test_kept_copies_follow_the_rules_while_files_change(twinfs, tree):
    rules = draw_rules(tree.dice)
    with twinfs.mounted(*tree.roots, options=options_of(rules)) as view:
        for _ in range(12):
            for _ in range(tree.dice.choice([1, 1, 1, 4])):
                tree.change()
            assert view.differences_now(*tree.roots, rules=rules) == [], rules
    assert twinfs.ok("check", *tree.roots).status == 0
    for _ in range(10):
        tree.change()
    with twinfs.mounted(*tree.roots) as view:
        assert view.differences_now(*tree.roots, rules=rules) == [], rules


# ---- what uses the rules --------------------------------------------------------------------

@pytest.fixture
def photos(tmp_path):
    """A source "Photos": 2019/a was written first, 2020/a last, and x is first by default."""
    root = tmp_path / "data" / "Photos"
    for name, when in (("x", 1), ("2019/a", 2), ("2020/a", 3)):
        trees.write(root / name, b"equal")
        os.utime(root / name, (0, when * 10**8))
    return root


def kept_in(view):
    """The only copy of a file below uniques/ of a view; a user may read that one only."""
    [path] = [path for path in view.uniques.rglob("*")
              if path.is_file() and os.access(path, os.R_OK)]
    return str(path.relative_to(view.uniques))


def kept_by(twinfs, *arguments):
    """The only kept copy that a list prints, and its reason."""
    [group] = twinfs.ok("list", "--format=json", "--explain", *arguments).json["groups"]
    [copy] = [copy for copy in group["copies"] if copy["kept"]]
    return path_of(copy).decode(), copy["why"]


def removed(twinfs, *arguments):
    """The paths that a dry run of remove prints as removed."""
    out = twinfs.ok("remove", "--dry-run", "--format=null", *arguments).out
    return {Path(os.fsdecode(path[1:])) for path in out.split(b"\0") if path.startswith(b"-")}


def test_view_lists_acts_and_report_keep_the_same_copy(twinfs, photos):
    with twinfs.mounted(photos, options=["--wait", "--keep=path:2020/"]) as view:
        assert kept_in(view) == "2020/a"
        for operand in (photos, view.path):
            assert kept_by(twinfs, operand) == (str(photos / "2020/a"), "path matches")
            assert removed(twinfs, operand) == {photos / "2019/a", photos / "x"}
        # what must stay is kept by an act, and among that the rules decide
        assert removed(twinfs, f"--protect={photos}/x", photos) == {
            photos / "2019/a", photos / "2020/a"}
    assert kept_by(twinfs, photos) == (str(photos / "2020/a"), "path matches")
    twinfs.ok("remove", "--yes", photos)
    assert [path.name for path in photos.rglob("*") if path.is_file()] == ["a"]
    assert (photos / "2020/a").exists()


def page_of(twinfs, *arguments):
    return Page(twinfs.ok("report", "--html=-", *arguments).out)


def test_report_shows_the_copies_and_the_rules(twinfs, photos):
    def kept(page):
        [group] = page.groups()
        return group.kept

    def names(page):
        return re.findall("chosen by: (.*)", page.root.text())

    assert kept(page_of(twinfs, photos)) == [b"x"]
    assert names(page_of(twinfs, photos)) == []
    for operand in (photos, None):
        with twinfs.mounted(photos, options=["--wait", "--keep=newest"]) as view:
            page = page_of(twinfs, operand or view.path)
            assert (kept(page), names(page)) == ([b"2020/a"], ["newest"])
            page = Page(view.read("report.html"))
            assert (kept(page), names(page)) == ([b"2020/a"], ["newest"])
            page = page_of(twinfs, "--keep=path:Photos/2019,oldest", operand or view.path)
            assert kept(page) == [b"2019/a"]
            assert names(page) == ["path:Photos/2019,oldest"]
            # without its kept copy, the rules decide among the others
            page = page_of(twinfs, "--exclude=2020/", operand or view.path)
            assert kept(page) == [b"2019/a"]
    result = twinfs("report", "--html=-", "--keep=default", photos)
    assert result.status == 2, result


def test_rules_decide_among_the_copies_that_must_stay(twinfs, photos):
    with twinfs.mounted(photos, options=["--wait", "--keep=newest"]):
        pass
    places = [f"--protect={photos}/x", f"--protect={photos}/2019"]
    assert kept_by(twinfs, *places, photos) == (str(photos / "2019/a"), "newest")


def test_rules_of_a_list_replace_those_of_the_view_for_the_list(twinfs, photos):
    with twinfs.mounted(photos, options=["--wait", "--keep=newest"]) as view:
        for operand in (photos, view.path):
            assert kept_by(twinfs, "--keep=path:2019/", operand) == (
                str(photos / "2019/a"), "path matches")
            assert kept_by(twinfs, "--keep=source-order", operand) == (
                str(photos / "2020/a"), "newest")
        assert kept_in(view) == "2020/a"
        assert view.status()["keep"] == "newest"


def test_status_and_later_mounts_say_the_rules(twinfs, photos):
    with twinfs.mounted(photos) as view:
        assert view.status()["keep"] == "default"
        assert b"keep        default\n" in twinfs.ok("status", "--verbose", view.path).out
        assert view.result.errors == []
    for options in (["--keep=path:2019/", "--keep=newest"], ["-o", "keep=path:2019/\\,newest"]):
        with twinfs.mounted(photos, options=["--wait", *options]) as view:
            assert b"keep        path:2019/,newest\n" in twinfs.ok("status", view.path).out
            assert view.result.errors == []
    with twinfs.mounted(photos) as view:
        assert kept_in(view) == "2019/a"
        [line] = view.result.errors
        assert "path:2019/,newest" in line and "--keep=default" in line
    with twinfs.mounted(photos, options=["--wait", "--keep=default"]) as view:
        assert kept_in(view) == "x"
        assert view.result.errors == []
    with twinfs.mounted(photos) as view:
        assert view.status()["keep"] == "default"
        assert view.result.errors == []


@pytest.mark.parametrize("pattern", [
    "2019/", "/2019", "/2019/", "./2019", "2019", "20?9", "Photos/2019", "data/Photos/2019/",
    "{}/2019", "{}/2019/", "{}/*9/a", "2019/a"])
def test_pattern_can_be_spelled_as_in_filters(twinfs, photos, pattern):
    option = f"--keep=path:{pattern.format(photos)}"
    assert kept_by(twinfs, option, photos) == (str(photos / "2019/a"), "path matches")
    with twinfs.mounted(photos, options=["--wait", option]) as view:
        assert kept_in(view) == "2019/a"
    # it is resolved once: a folder of that name in the source does not change its meaning
    for folder in ("Photos/2019", "data/Photos/2019"):
        trees.write(photos / folder / "b", b"equal")
    if "/" in pattern.rstrip("/"):
        with twinfs.mounted(photos) as view:
            assert kept_in(view) == "2019/a"


@pytest.mark.parametrize("options", [
    ["--keep=oldest,default"], ["--keep=default,oldest"], ["--keep=default", "--keep=oldest"],
    ["--keep=oldest", "--keep=default"], ["--keep="], ["--keep=other"], ["--keep=path:"],
    ["--keep=path:a[b"]])
def test_wrong_rules_are_refused_before_anything_is_done(twinfs, photos, mount, options):
    result = twinfs("mount", *options, photos, mount)
    assert result.status == 2, result
    assert not twinfs.index.exists()
    if len(options) == 1:
        assert twinfs("list", *options, photos).status == 2


def test_rules_of_an_index_in_use_are_not_changed(twinfs, photos, tmp_path):
    other = tmp_path / "other mount point"
    other.mkdir()
    with twinfs.mounted(photos, options=["--wait", "--keep=newest"]) as view:
        result = twinfs("mount", "--keep=oldest", photos, other)
        assert result.status == 1, result
        assert "in use" in result.errors[0] or str(view.path) in result.errors[0]
        assert view.status()["keep"] == "newest" and kept_in(view) == "2020/a"


def test_attribute_says_which_copy_is_kept(twinfs, photos):
    trees.write(photos / "alone", b"unique")
    (photos / "2020/link").hardlink_to(photos / "2020/a")
    with twinfs.mounted(photos, options=["--wait", "--keep=newest"]) as view:
        [folder] = view.dups.iterdir()
        found = {path.name: os.getxattr(path, "user.twinfs.kept") for path in folder.iterdir()}
        assert found == {"(kept) 2020\u2215a": b"yes", "(kept) 2020\u2215link": b"yes",
                         "2019\u2215a": b"no", "x": b"no"}
        assert os.getxattr(view.uniques / "2020/a", "user.twinfs.kept") == b"yes"
        assert os.getxattr(view.redundant / "x", "user.twinfs.kept") == b"no"
        for path in (folder, view.uniques / "alone", view.uniques):
            with pytest.raises(OSError, match="No data available"):
                os.getxattr(path, "user.twinfs.kept")
        assert "user.twinfs.kept" not in os.listxattr(view.uniques / "2020/a")
        os.utime(photos / "x", (0, 9 * 10**8))
        view.sync()
        assert os.getxattr(folder / "x", "user.twinfs.kept") == b"yes"
        assert os.getxattr(folder / "2020\u2215a", "user.twinfs.kept") == b"no"


def test_listing_marks_the_kept_copy(twinfs, photos):
    def names():
        return sorted(path.name for path in folder.iterdir())

    trees.write(photos / "(kept) x", b"equal")
    os.utime(photos / "(kept) x", (0, 2 * 10**8))
    (photos / "2020/link").hardlink_to(photos / "2020/a")
    options = ["--wait", "--keep=path:2020/,newest"]
    with twinfs.mounted(photos, options=options) as view:
        [folder] = view.dups.iterdir()
        [marked_name] = [name for name in names() if name.startswith("(kept) x~")]
        assert names() == sorted([
            "(kept) 2020\u2215a", "(kept) 2020\u2215link", "2019\u2215a", "x", marked_name])
        kept = folder / "(kept) 2020\u2215a"
        # the name without the mark stays, and only the kept copy has a mark
        assert (folder / "2020\u2215a").samefile(kept)
        for name in ("(kept) x", "(kept) 2019\u2215a", "(kept) nothing", "(kept) "):
            assert not (folder / name).exists()
        with open(kept, "rb") as file:
            (photos / "2020").rename(photos / "1999")
            view.sync()
            assert names() == sorted([
                "(kept) 1999\u2215a", "(kept) 1999\u2215link", "2019\u2215a", "x", marked_name])
            assert not kept.exists() and file.read() == b"equal"
        os.utime(photos / "x", (0, 9 * 10**8))
        view.sync()
        assert names() == sorted([
            "1999\u2215a", "1999\u2215link", "2019\u2215a", "(kept) x", marked_name])
        assert (folder / "(kept) x").samefile(folder / "x")
        os.utime(photos / "(kept) x", (0, 10 * 10**8))
        view.sync()
        assert (folder / f"(kept) {marked_name}").samefile(folder / marked_name)
        assert f"(kept) {marked_name}" in names() and "x" in names()
        for name in names():
            assert os.getxattr(folder / name, "user.twinfs.kept") == (
                b"yes" if name == f"(kept) {marked_name}" else b"no")
        assert view.differences(photos, rules=["path:2020/", "newest"], first_scan=False) == []


def test_each_user_of_a_shared_view_has_the_best_visible_copy(twinfs, photos, root_only):
    def kept():
        """The kept copy, by uniques/, by the attribute and by the mark."""
        [folder] = view.dups.iterdir()
        by_attribute = [path.name for path in folder.iterdir()
                        if os.getxattr(path, "user.twinfs.kept") == b"yes"]
        assert by_attribute == ["(kept) " + kept_in(view).replace("/", "\u2215")]
        return kept_in(view)

    trees.write(photos / "2018/y", b"equal")
    os.utime(photos / "2018/y", (0, 10**8 + 50))
    os.chown(photos / "2020/a", OTHER_USER.uid, OTHER_USER.gid)
    for path, mode in ((photos, 0o755), (photos / "2019", 0o700), (photos / "2020/a", 0o600)):
        path.chmod(mode)
    with twinfs.mounted(photos, options=[*SHARED, "--keep=newest"]) as view:
        assert kept() == "2020/a"
        assert call_as(OTHER_USER, kept) == "2020/a"
        assert call_as(MEMBER, kept) == "2018/y"
        (photos / "2019").chmod(0o755)
        view.sync()
        assert call_as(MEMBER, kept) == "2019/a"


@pytest.mark.parametrize("names", [0, 10_001], ids=["small", "large"])
def test_renamed_folder_moves_the_kept_copy(twinfs, tmp_path, names):
    """The kept copies below a folder are checked one by one, or all if it has many names."""
    source = tmp_path / "source"
    trees.fill(source, {"b/d/copy": b"equal", "aa/d/copy": b"equal"})
    for number in range(names):
        (source / f"b/{number}").touch()
    with twinfs.mounted(source, options=["--wait", "--keep=shortest-path"]) as view:
        for folder, kept in (("b", "b"), ("bbb", "aa"), ("bb", "aa"), ("b", "b")):
            if not (source / folder).exists():
                next(source.glob("b*")).rename(source / folder)
            view.sync()
            shown = {name for name in ("aa", *os.listdir(source))
                     if (view.uniques / name / "d/copy").exists()}
            assert shown == {kept}, folder


# ---- interruptions --------------------------------------------------------------------------

@pytest.mark.parametrize("number", range(1, 10))
def test_killed_choice_is_completed_by_the_next_start(twinfs, photos, strace, number):
    for at in range(20):
        data = trees.content(at, 100 + at)
        for folder, when in (("2019", 1), ("2020", 2)):
            trees.write(photos / folder / f"{at}", data)
            os.utime(photos / folder / f"{at}", (0, when))
    twinfs.ok("scan", photos)
    calls = "pwrite64,pwritev,fdatasync"
    killed = twinfs.under_strace("-e", f"trace={calls}",
                                 "-e", f"inject={calls}:signal=KILL:when={number}")
    with killed.mounted_in_foreground(photos, options=["--wait", "--keep=newest"]) as (process, _):
        pass
    # the rules were stored or not, as a whole
    with twinfs.mounted(photos) as view:
        rules = [] if view.status()["keep"] == "default" else ["newest"]
        assert view.differences(photos, rules=rules, first_scan=False) == []
        assert kept_in_group(view, photos / "2020/3") is bool(rules)
    assert process.returncode in (0, -signal.SIGKILL)
    assert twinfs.ok("check", photos).status == 0


def kept_in_group(view, path):
    """Whether the file is kept."""
    return any(found.name == path.name and found.parent.name == path.parent.name
               for found in view.uniques.rglob("*"))


def test_rebuilt_index_gets_the_rules_of_the_option(twinfs, photos):
    options = ["--wait", "--keep=newest"]
    with twinfs.mounted(photos, options=options):
        pass
    data = bytearray((twinfs.index / "data.mdb").read_bytes())
    data[-4096:] = os.urandom(4096)
    data[4096 * 2:4096 * 6] = os.urandom(4096 * 4)
    (twinfs.index / "data.mdb").write_bytes(data)
    with twinfs.mounted(photos, options=options) as view:
        assert view.status()["keep"] == "newest" and kept_in(view) == "2020/a"

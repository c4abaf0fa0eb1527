# SPDX-License-Identifier: MIT
"""list --keep, --protect, --only and --between-sources against an independent model."""
import collections
import json
import os
import random
import re
import subprocess
from dataclasses import dataclass, field

import oracle
import original
import pytest
import trees
from program import path_of

RULES = ["source-order", "first-seen", "oldest", "newest", "shortest-path", "longest-path",
         "most-linked", "path:*.jpg", "path:keep", "path:/keep/b", "path:*/b", "path:a\\,b*"]


@dataclass
class Choice:
    """Options: rules as typed, and absolute paths without symlinks."""
    keep: list = field(default_factory=list)
    protect: list = field(default_factory=list)
    only: list = field(default_factory=list)
    between: bool = False


class Model:
    """The result of the rules for the groups of some sources.

    before  the model at an earlier scan
    """

    def __init__(self, roots, before=None):
        self.source = oracle.Source(roots)
        self.groups = self.source.groups()
        self.earlier = {before.source.absolute(name) for name in before.source.names
                        } if before else set()
        self.kept_by_view = set()  # paths
        for group in self.groups:
            kept = min(group, key=lambda inode: (
                not (before and before.kept_by_view & set(self.paths(inode))),
                self.order(inode)))
            self.kept_by_view.update(self.paths(kept))

    def paths(self, inode):
        return [self.source.absolute(name) for name in inode.names]

    @staticmethod
    def below(path, folders):
        return any((path + b"/").startswith(folder.rstrip(b"/") + b"/") for folder in folders)

    def order(self, inode, rules=()):
        """The sort key of an inode by its preferred name."""
        seen = not self.earlier & set(self.paths(inode))
        return min(original.preference(self.source.trees[tree][0], tree, path, seen, rules)
                   for tree, path in inode.names)

    def kept(self, pool, choice):
        def key(inode):
            return (self.order(inode, choice.keep)[:1 + len(choice.keep)],
                    not self.kept_by_view & set(self.paths(inode)), self.order(inode))
        return min(pool, key=key)

    def stays(self, inode, choice):
        return any(self.below(path, choice.protect)
                   or (choice.only and not self.below(path, choice.only))
                   for path in self.paths(inode))

    def fates(self, choice):
        """{path: fate} of all names in groups. --between-sources omits some groups."""
        found = {}
        for group in self.groups:
            staying = [inode for inode in group if self.stays(inode, choice)]
            kept = self.kept(staying or group, choice)
            trees_of = {id(inode): {tree for tree, _ in inode.names} for inode in group}
            if choice.between and len(set.union(*trees_of.values())) < 2:
                continue
            for inode in group:
                fate = "redundant"
                if inode is kept:
                    fate = "kept"
                elif inode in staying or (choice.between
                                          and trees_of[id(inode)] & trees_of[id(kept)]):
                    fate = "spared"
                found.update((path, fate) for path in self.paths(inode))
        return found


def grow(roots, dice, numbers):
    """Random copies in folders of several sources, hard links also between sources.

    A file that gets a hard link is compared again and is no longer the kept copy. So links are made
    among new files only.
    """
    made = collections.defaultdict(list)
    folders = [b"", b"keep", b"keep/b", b"keep/bb", b"a/b", b"a,b", b"keeper", b"x/keep/y"]
    for number in numbers:
        content = dice.randrange(9)
        name = b"%d%s" % (number, dice.choice([b"", b".jpg", b".txt", b" \xff\n", b"x" * 20]))
        path = trees.join(dice.choice(roots), dice.choice(folders), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if made[content] and dice.random() < 0.3:
            os.link(dice.choice(made[content]), path)
        else:
            trees.write(path, trees.content(("rules", content), 10 + content % 3))
            when = dice.choice([-10**9, 0, 10**18, 10**18 + 1, 2 * 10**18])
            os.utime(path, ns=(when, when))
        made[content].append(path)


def places_of(roots):
    """All folders of the sources, the folder above them, and as many files."""
    folders, files = [os.path.dirname(roots[0])], []
    for root in roots:
        for folder, _, names in os.walk(root):
            folders.append(folder)
            files += [os.path.join(folder, name) for name in sorted(names)]
    return folders + files[:len(folders)]


def spell(dice, place, links):
    """A spelling of a folder or file, relative to the folder of links or absolute."""
    is_folder = os.path.isdir(place)
    number = len(os.listdir(links))
    link = trees.join(links, b"%d" % number)
    kind = dice.randrange(5)
    if kind == 0:
        os.symlink(place, link)
        return link
    if kind == 1:
        os.symlink(os.path.relpath(place, links), link)
        return os.path.relpath(link, links) + b"/." * is_folder
    if kind == 2:
        return os.path.relpath(place, links)
    return place + dice.choice([b"", b"/", b"//./"]) * is_folder


def draw(dice, roots):
    places = places_of(roots)
    return Choice(
        keep=dice.sample(RULES, dice.randrange(4)),
        protect=dice.sample(places, dice.choice([0, 0, 1, 2])),
        only=dice.sample(places, dice.choice([0, 0, 1, 3])),
        between=len(roots) > 1 and dice.random() < 0.3)


def options_of(dice, choice, links):
    options = [b"--protect=" + spell(dice, place, links) for place in choice.protect]
    for place in choice.only:
        options += [b"--only", spell(dice, place, links)]
    rules = [rule.encode() for rule in choice.keep]
    cut = dice.randrange(len(rules) + 1)
    options += [b"--keep=" + b",".join(part) for part in (rules[:cut], rules[cut:]) if part]
    return options + [b"--between-sources"] * choice.between


def check_claims(model, choice, redundant):
    """Asserts what must hold for any selection, independently of the model."""
    for group in model.groups:
        left = [inode for inode in group if not set(model.paths(inode)) <= redundant]
        assert left
        for inode in group:
            gone = set(model.paths(inode)) & redundant
            assert gone in (set(), set(model.paths(inode)))
            if gone and choice.between:
                mine = {tree for tree, _ in inode.names}
                assert any(not mine & {tree for tree, _ in other.names} for other in left)
    for path in redundant:
        assert not model.below(path, choice.protect)
        assert not choice.only or model.below(path, choice.only)


@pytest.mark.parametrize("seed", range(6))
def test_rules_agree_with_the_model(twinfs, tmp_path, seed):
    dice = random.Random(seed)
    roots = [trees.join(tmp_path, b"source %d" % number) for number in range(1 + seed % 3)]
    links = trees.join(tmp_path, b"links")
    for folder in (*roots, links):
        os.mkdir(folder)
    grow(roots[len(roots) // 2:], dice, range(dice.randrange(14, 24)))
    before = Model(roots)
    twinfs.ok("scan", *roots)
    grow(roots, dice, range(40, 50 + dice.randrange(30)))
    model = Model(roots, before)
    assert len(model.groups) > 3
    seen = collections.Counter()
    for _ in range(25):
        choice = draw(dice, roots)
        options = options_of(dice, choice, links)
        result = twinfs.ok("list", "--format=json", *options, *roots, cwd=links)
        found = {path_of(copy): copy["fate"] for group in result.json["groups"]
                 for copy in group["copies"]}
        assert found == model.fates(choice), (choice, options)
        out = twinfs.ok("list", "--redundant", "--format=null", *options, *roots, cwd=links).out
        redundant = set(out.split(b"\0")[:-1])
        assert redundant == {path for path, fate in found.items() if fate == "redundant"}
        check_claims(model, choice, redundant)
        seen.update(found.values())
    assert len(seen) == 3


def test_kept_copy_by_the_rules_is_printed_first(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"same"})
    os.utime(trees.join(source, b"b"), (5, 5))
    [group] = twinfs.ok("list", "--format=json", "--keep=oldest", source).json["groups"]
    assert [(copy["path"][-1], copy["fate"], copy["kept"]) for copy in group["copies"]] == [
        ("b", "kept", True), ("a", "redundant", False), ("c", "redundant", False)]
    out = twinfs.ok("list", "--keep=oldest", source).out
    assert b"kept: oldest" in out
    assert out.index(b"  kept  ") < out.index(b"  copy  ")


def test_first_seen_does_not_order_copies_of_one_scan(twinfs, source):
    trees.fill(source, {b"z": b"same"})
    twinfs.ok("scan", source)
    trees.fill(source, {b"a": b"same"})
    for rule, expected in (("first-seen", b"a"), ("shortest-path,first-seen", b"a")):
        out = twinfs.ok("list", "--redundant", "--format=null", f"--keep={rule}", source).out
        assert out == trees.join(source, expected) + b"\0"


def test_rules_give_the_same_for_a_view(twinfs, tmp_path):
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        trees.small(root)
    options = ["--format=json", "--explain", "--keep=newest", f"--protect={roots[1]}/pictures",
               "--between-sources"]
    expected = twinfs.ok("list", *options, *roots).json["groups"]
    assert {copy["fate"] for group in expected for copy in group["copies"]} == {
        "kept", "redundant", "spared"}
    with twinfs.mounted(*roots) as view:
        result = twinfs("list", *options, view.path, index=False)
        assert result.status == 0, result
        assert result.json["groups"] == expected


def test_protected_hard_link_protects_the_inode(twinfs, source):
    trees.fill(source, {b"a": b"same", b"free/b": b"same"})
    os.mkdir(trees.join(source, b"safe"))
    os.link(trees.join(source, b"free/b"), trees.join(source, b"safe/b"))
    out = twinfs.ok("list", "--redundant", "--format=null", "--protect", source / "safe",
                    source).out
    assert out == trees.join(source, b"a") + b"\0"


def test_explain_prints_the_deciding_rule(twinfs, tmp_path):
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        trees.fill(root, {b"a": b"same", b"safe/b": b"same", b"c": b"same"})
    listing = json.loads(twinfs.ok(
        "list", "--format=json", "--explain", "--protect", roots[0] / "safe",
        "--only", roots[1], "--keep=longest-path", *roots).out)
    [group] = listing["groups"]
    assert {copy["path"][len(str(tmp_path)) + 1:]: copy["why"] for copy in group["copies"]} == {
        "one/safe/b": "longest path", "one/a": "outside of --only", "one/c": "outside of --only",
        "two/a": "another copy stays anyway", "two/c": "another copy stays anyway",
        "two/safe/b": "another copy stays anyway"}


# paths that would protect nothing

@pytest.mark.parametrize("option", ["--protect", "--only"])
def test_path_that_has_no_effect_is_an_error(twinfs, tmp_path, source, option):
    trees.small(source)
    os.mkdir(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", source / "leads out")
    os.symlink("nowhere", source / "dangling")
    os.mkfifo(source / "pipe")
    for given in (source / "picture", source / "pictures/none", source / "pipe",
                  tmp_path / "elsewhere", source / "leads out", source / "dangling",
                  tmp_path / "sour", ""):
        for form in ("null", "text"):
            result = twinfs("list", "--redundant", f"--format={form}", option, given, source)
            assert result.status == (2 if given in ("", source / "pipe") else 1), (given, result)
            assert result.out == b"", given
            assert len(result.errors) == 1
            assert option in result.errors[0]
            assert {os.path.basename(given), os.path.basename(os.path.realpath(given))} & set(
                re.split(r"[/']", result.errors[0]))


def test_protected_folder_that_is_excluded_is_an_error(twinfs, source):
    trees.small(source)
    result = twinfs("list", "--exclude=pictures", "--protect", source / "pictures", source)
    assert result.status == 1
    assert "no folder or file of the index" in result.errors[0] and "pictures" in result.errors[0]


def test_folder_named_through_a_bind_mount_is_an_error(twinfs, root_only, tmp_path, source):
    trees.small(source)
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["mount", "--bind", source, other], check=True)
    try:
        for given, listed in ((other / "pictures", source), (source / "pictures", other)):
            program = twinfs.with_index(tmp_path / f"index of {listed.name}")
            program.ok("list", "--protect", listed / "pictures", listed)
            result = program("list", "--redundant", "--protect", given, listed)
            assert result.status == 1
            assert result.out == b""
            assert str(given) in result.errors[-1]
    finally:
        subprocess.run(["umount", other], check=True)


def test_protected_folder_of_no_source_is_an_error_for_a_view(twinfs, tmp_path, source):
    trees.small(source)
    with twinfs.mounted(source) as view:
        result = twinfs("list", "--protect", tmp_path, view.path, index=False)
        assert result.status == 0, result
        result = twinfs("list", "--protect", view.path, view.path, index=False)
        assert result.status == 1
        assert result.out == b""
        assert "--protect" in result.errors[-1]


def test_between_sources_of_one_source_is_wrong_usage(twinfs, source):
    trees.small(source)
    for given in ([source], [source, source], [source, source / "pictures"]):
        for command in (["list"], ["remove", "--dry-run"]):
            result = twinfs(*command, "--between-sources", *given)
            assert result.status == 2
            assert result.out == b""
            [error] = result.errors
            assert "two sources" in error
    assert not twinfs.index.exists()


def test_between_sources_of_a_view_of_one_source_is_an_error(twinfs, source):
    trees.small(source)
    with twinfs.mounted(source) as view:
        result = twinfs("list", "--between-sources", view.path, index=False)
        assert result.status == 1 and result.out == b""
        assert "two sources" in result.errors[-1]


@pytest.mark.parametrize("words", [
    ["--keep=best"], ["--keep="], ["--keep=oldest,,newest"], ["--keep=path:"], ["--keep"],
    ["--keep=path:[a"], ["--between-sources=yes"],
])
def test_wrong_rule_is_wrong_usage(twinfs, source, words):
    trees.small(source)
    result = twinfs("list", str(source), *words)
    assert result.status == 2
    assert result.out == b""
    assert words[0].split("=")[0] in result.errors[0]

# SPDX-License-Identifier: MIT
"""list --similar prints pairs of folders that share most bytes. A model tries all pairs."""
import csv
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import stat
from base64 import b64decode
from collections import Counter, defaultdict

import pytest
import trees
from disks import disk

DIRS_MAX = 16  # contents of more folders make pairs of neighbours only
NEXT_MAX = 4
DEPTH_MAX = 64  # levels below a source of folders that make pairs


# the model

class Model:
    """All folders of some sources with their contents: {(root, part...): {content: size}}."""

    def __init__(self, roots, sizes=(1, 1 << 62)):
        self.contents, self.bytes, self.equal = {}, {}, {}
        self.places = defaultdict(set)  # content -> folders that have a file of it themselves
        for number, root in enumerate(roots):
            for at, _, names in os.walk(os.fsencode(root)):
                below = os.path.relpath(at, os.fsencode(root))
                folder = (number, *(() if below == b"." else below.split(b"/")))
                self.contents.setdefault(folder, {})
                for name in names:
                    self._add(folder, os.path.join(at, name), sizes)
        self.roots = [os.fsencode(root) for root in roots]

    def _add(self, folder, path, sizes):
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not sizes[0] <= status.st_size <= sizes[1]:
            return
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).digest()
        self.places[content].add(folder)
        for depth in range(1, len(folder) + 1):
            self.contents[folder[:depth]][content] = status.st_size

    def bytes_of(self, folder):
        if folder not in self.bytes:
            self.bytes[folder] = sum(self.contents[folder].values())
        return self.bytes[folder]

    def is_candidate(self, first, second, both):
        """Whether the bounds let the pair be found."""
        for content in both:
            places = sorted(self.places[content])
            if len(places) <= DIRS_MAX:
                return True
            for at, place in enumerate(places):
                if is_in(place, first) and any(
                        is_in(other, second) for other in places[at + 1:at + 1 + NEXT_MAX]):
                    return True
        return False

    def similar(self, percent, accepts):
        """{pair: (shared contents, shared bytes)} of all similar pairs."""
        found = {}
        for first, second in itertools.combinations(sorted(self.contents), 2):
            both = self.contents[first].keys() & self.contents[second].keys()
            shared = sum(self.contents[first][content] for content in both)
            larger = max(self.bytes_of(first), self.bytes_of(second))
            if both and not is_in(second, first) and accepts(first, second) and \
                    shared * 100 >= percent * larger and self.is_candidate(first, second, both):
                found[first, second] = (len(both), shared)
        return found

    def are_equal(self, first, second):
        """Whether the folders have the same names of the same kinds and contents."""
        if (first, second) not in self.equal:
            self.equal[first, second] = self._have_equal_names(first, second)
        return self.equal[first, second]

    def _have_equal_names(self, first, second):
        paths = [self.path(folder) for folder in (first, second)]
        names = [sorted(os.listdir(path)) for path in paths]
        return names[0] == names[1] and all(
            self.are_equal((*first, name), (*second, name))
            if os.path.isdir(os.path.join(paths[0], name)) else
            have_same_bytes(*(os.path.join(path, name) for path in paths)) for name in names[0])

    def path(self, folder):
        return os.path.join(self.roots[folder[0]], *folder[1:])

    def listed(self, percent=50, every=False, accepts=lambda first, second: True):
        """What list --similar --format=jsonl prints."""
        similar = self.similar(percent, accepts)
        if not every:
            useful = {pair for pair in similar
                      if not any(self.makes_superfluous(other, pair, similar)
                                 for other in similar)}
            similar = {pair: similar[pair] for pair in useful
                       if not any(other != pair and is_pair_in(pair, other)
                                  for other in useful)}
        order = sorted(similar, key=lambda pair: (-similar[pair][1], pair))
        return [self.printed(pair, *similar[pair]) for pair in order if not self.are_equal(*pair)]

    def makes_superfluous(self, inner, outer, similar):
        """Whether a pair in another pair shares as much, and has less or is equal."""
        return inner != outer and is_pair_in(inner, outer) and \
            similar[inner][1] == similar[outer][1] and not self.are_equal(*outer) and (
                any(self.bytes_of(a) < self.bytes_of(b) for a, b in zip(inner, outer)) or
                self.are_equal(*inner))

    def printed(self, pair, count, shared):
        larger = max(map(self.bytes_of, pair))
        return {
            "folders": [self.path(folder) for folder in pair],
            "shared_files": count, "shared_bytes": shared, "percent": shared * 100 // larger,
            "only": [{"files": len(self.contents[folder]) - count,
                      "bytes": self.bytes_of(folder) - shared} for folder in pair]}


def have_same_bytes(*paths):
    if not all(map(os.path.isfile, paths)):
        return False
    with open(paths[0], "rb") as one, open(paths[1], "rb") as other:
        return one.read() == other.read()


def is_in(folder, other):
    return folder[:len(other)] == other


def is_pair_in(pair, other):
    return is_in(pair[0], other[0]) and is_in(pair[1], other[1])


def with_bytes(pair):
    """A pair of the output, with the paths as bytes."""
    encoded = pair.pop("folders_base64", None)
    pair["folders"] = [b64decode(text) for text in encoded] if encoded else [
        os.fsencode(text) for text in pair["folders"]]
    return pair


def found(twinfs, *words, status=0):
    result = twinfs("list", "--format=jsonl", *words)
    assert result.status == status, result
    return [with_bytes(json.loads(line)) for line in result.out.splitlines()]


def folders(pairs):
    """The names of the folders of pairs in one source."""
    return [tuple(os.path.basename(path).decode() for path in pair["folders"]) for pair in pairs]


# random trees

def grow(chance, root):
    """Makes folders in folders, with files of few contents, hard links and copied folders."""
    made = [os.fsencode(root)]
    for number in range(chance.randint(2, 14)):
        folder = os.path.join(chance.choice(made), b"%d" % number)
        os.mkdir(folder)
        made.append(folder)
    files = []
    for number in range(chance.randint(2, 40)):
        path = os.path.join(chance.choice(made), b"f%d" % number)
        if files and chance.random() < 0.1:
            os.link(chance.choice(files), path)
        else:
            trees.write(path, trees.content(chance.randint(0, 12), chance.choice((0, 1, 7, 4096))))
        files.append(path)
    for number in range(chance.randint(0, 4)):
        of = chance.choice(made)
        copy_folder(chance, of, os.path.join(chance.choice(made), b"copy%d" % number))


def copy_folder(chance, of, to):
    for at, _, names in list(os.walk(of)):
        for name in names:
            if chance.random() < 0.9:
                with open(os.path.join(at, name), "rb") as file:
                    trees.write(os.path.join(to, os.path.relpath(at, of), name), file.read())
    os.makedirs(to, exist_ok=True)


@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_those_of_the_model(twinfs, tmp_path, seed):
    chance = random.Random(seed)
    roots = [tmp_path / name for name in ("one", "two")[:chance.randint(1, 2)]]
    for root in roots:
        root.mkdir()
        grow(chance, root)
    model = Model(roots)
    for percent in (1, 50, 90, 100):
        assert found(twinfs, f"--similar={percent}", *roots) == model.listed(percent)
        assert found(twinfs, f"--similar={percent}", "--all", *roots) == model.listed(
            percent, every=True)
    assert found(twinfs, "--similar", *roots) == model.listed()
    if len(roots) == 2:
        assert found(twinfs, "--similar=20", "--between-sources", *roots) == model.listed(
            20, accepts=lambda first, second: first[0] != second[0])
    large = Model(roots, (2, 5000))
    assert found(twinfs, "--similar=20", "--min-size=2", "--max-size=5000", *roots) == large.listed(
        20)


@pytest.mark.parametrize("seed", range(10))
def test_pairs_with_contents_of_very_many_folders_are_those_of_the_model(twinfs, source, seed):
    chance = random.Random(seed)
    commons = [trees.content(("common", number), chance.choice((1, 50, 3000)))
               for number in range(3)]
    for number in range(45):
        folder = os.fsencode(source / str(number % 7) / str(number % 3) / str(number))
        for at, data in enumerate(commons):
            if chance.random() < 0.9:
                trees.write(os.path.join(folder, b"c%d" % at), data)
        trees.write(os.path.join(folder, b"f"), trees.content(chance.randint(0, 30), 400))
    model = Model([source])
    assert any(len(places) > DIRS_MAX for places in model.places.values())
    for percent in (5, 50, 80):
        assert found(twinfs, f"--similar={percent}", source) == model.listed(percent)
    everything = twinfs.ok("list", "--similar=5", "--all", "--format=json", source)
    assert [with_bytes(pair) for pair in everything.json["similar"]] == model.listed(5, every=True)
    common = sum(len(places) > DIRS_MAX for places in model.places.values())
    assert everything.json["summary"]["common"] == common
    assert f"in more than {DIRS_MAX} folders" in everything.error.decode()


def test_more_pairs_than_memory_has_are_sorted_in_a_file(twinfs, source):
    """About 450,000 pairs of folders share a file. Hard links of unique sizes need no reading."""
    chance, shared, total = random.Random(1), Counter(), Counter()
    for folder in range(1000):
        (source / f"{folder:03}").mkdir()
    for number in range(1, 4001):
        chosen = sorted(chance.sample(range(1000), DIRS_MAX))
        first = source / f"{chosen[0]:03}/{number}"
        first.touch()
        os.truncate(first, number)
        for folder in chosen[1:]:
            os.link(first, source / f"{folder:03}/{number}")
        total.update(dict.fromkeys(chosen, number))
        shared.update(dict.fromkeys(itertools.combinations(chosen, 2), number))
    wanted = [pair for pair, both in shared.items() if both * 100 >= 5 * max(total[folder]
                                                                             for folder in pair)]
    wanted.sort(key=lambda pair: (-shared[pair], pair))
    assert len(wanted) > 100
    assert folders(found(twinfs, "--similar=5", source)) == [
        (f"{first:03}", f"{second:03}") for first, second in wanted]


def test_folders_below_64_levels_are_parts_of_those_above(twinfs, source):
    for name in ("one", "two"):
        below = source / name
        for level in range(DEPTH_MAX + 5):
            below = below / "d"
            trees.write(below / "f", b"%d" % level if level % 3 else name.encode())
    model = Model([source])
    accepts = lambda first, second: max(len(first), len(second)) <= DEPTH_MAX + 1  # noqa: E731
    for percent in (40, 50, 60):
        assert found(twinfs, f"--similar={percent}", source) == model.listed(
            percent, accepts=accepts)
    result = twinfs.ok("list", "--similar=40", "--all", "--format=json", source)
    assert [with_bytes(pair) for pair in result.json["similar"]] == model.listed(
        40, every=True, accepts=accepts)
    assert result.json["summary"]["deep"] == sum(
        len(folder) > DEPTH_MAX + 1 for folder in model.contents) == 12
    assert "left out 12 folders more than 64 levels below the source" in result.error.decode()


# what is printed

@pytest.fixture
def photos(tmp_path):
    """A folder, a copy that differs, and a folder that only has a file of it."""
    root = tmp_path / "disk"
    trees.fill(root, {f"photos/{number % 3}/{number}.jpg": trees.content(number, 1000 + number)
                      for number in range(12)})
    trees.fill(root, {f"old/all/{number % 4}/IMG{number}.jpg": trees.content(number, 1000 + number)
                      for number in range(1, 12)})
    trees.fill(root, {"old/all/notes": b"only here", "photos/empty": b"", "letters/mine": b"own",
                      "letters/0.jpg": trees.content(0, 1000)})
    return root


def test_highest_folders_are_printed_with_what_only_one_has(twinfs, photos):
    shared = sum(1000 + number for number in range(1, 12))
    assert found(twinfs, "--similar", photos) == [{
        "folders": [os.fsencode(photos / "old"), os.fsencode(photos / "photos")],
        "shared_files": 11, "shared_bytes": shared, "percent": shared * 100 // (shared + 1000),
        "only": [{"files": 1, "bytes": 9}, {"files": 1, "bytes": 1000}]}]
    every = folders(found(twinfs, "--similar=1", "--all", photos))
    assert ("all", "photos") in every and ("letters", "photos") in every


def test_folder_that_adds_nothing_shared_is_not_printed(twinfs, photos):
    """The disk has more than the copy, but nothing more that is also in the photos."""
    trees.write(trees.join(photos, b"old/more"), bytes(9000))
    assert folders(found(twinfs, "--similar=40", photos)) == [("all", "photos")]


def test_content_counts_once_for_each_folder(twinfs, source):
    trees.fill(source, {"a/1": b"x" * 10, "a/2": b"x" * 10, "a/sub/3": b"x" * 10,
                          "b/1": b"x" * 10, "b/own": b"y" * 5})
    os.link(source / "b/own", source / "b/linked")
    assert found(twinfs, "--similar", source)[0] == {
        "folders": [os.fsencode(source / "a"), os.fsencode(source / "b")], "shared_files": 1,
        "shared_bytes": 10, "percent": 66,
        "only": [{"files": 0, "bytes": 0}, {"files": 1, "bytes": 5}]}


def test_hard_link_in_the_other_folder_is_shared(twinfs, source):
    trees.fill(source, {"a/1": b"unread", "b/empty": b""})
    os.link(source / "a/1", source / "b/1")
    pair, = found(twinfs, "--similar", source)
    assert folders([pair]) == [("a", "b")] and pair["shared_bytes"] == 6


def test_folders_in_each_other_and_empty_ones_are_no_pair(twinfs, source):
    trees.fill(source, {"a/sub/1": b"same", "a/2": b"same", "a/e": b"", "b/e": b"", "b/s/e": b""})
    assert found(twinfs, "--similar=1", "--all", source) == []
    result = twinfs.ok("list", "--similar", source)
    assert result.out == b"" and b"0 pairs of similar folders" in result.error


def test_equal_folders_are_left_out(twinfs, photos):
    """So are folders in them; what is above them is printed if it adds something shared."""
    shutil.copytree(photos / "photos", photos / "again/new name")
    every = folders(found(twinfs, "--similar=1", "--all", photos))
    assert ("again", "photos") in every and ("new name", "photos") not in every
    highest = found(twinfs, "--similar", photos)
    assert folders(highest) == [("again", "old"), ("old", "photos")]
    assert highest == Model([photos]).listed()
    trees.write(trees.join(photos, b"again/new name/1/new"), b"new")
    assert ("again", "photos") in folders(found(twinfs, "--similar", photos))


def test_two_sources_can_be_a_pair(twinfs, tmp_path):
    for name in ("one", "two"):
        trees.fill(tmp_path / name, {name: b"same", "sub/g": b"also the same"})
    pair, = found(twinfs, "--similar", "--between-sources", tmp_path / "one", tmp_path / "two")
    assert folders([pair]) == [("one", "two")] and pair["percent"] == 100


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "null"])
def test_each_format_has_odd_names(twinfs, source, form):
    names = [b"\n,\"\xff'", "\u00e9 ".encode()]
    for name in names:
        trees.fill(source, {name + b"/" + name[:1] + b"f": b"same" * 500})
    paths = [os.path.join(os.fsencode(source), name) for name in names]
    out = twinfs.ok("list", "--similar", "--format", form, source).out
    if form == "text":
        assert out.decode() == (
            "2.0 KiB (2,000 bytes) in both, 1 file, 100 %\n"
            f"  $'{source}/\\n,\"\\377\\''  only here: nothing\n"
            f"  $'{source}/\u00e9 '  only here: nothing\n\n")
    elif form == "csv":
        row, = csv.DictReader(io.StringIO(out.decode(), newline=""))
        assert b64decode(row["first_path_base64"]) == paths[0] and row["second_path_base64"] == ""
        assert os.fsencode(row["second_path"]) == paths[1]
        names = ("shared_files", "shared_bytes", "percent", "first_only_files", "second_only_bytes")
        assert [row[name] for name in names] == ["1", "2000", "100", "0", "0"]
    elif form == "null":
        assert out.split(b"\0") == [*paths, b""]
    else:
        pairs = json.loads(out)["similar"] if form == "json" else [json.loads(out)]
        assert [with_bytes(pair)["folders"] for pair in pairs] == [paths]


def test_json_has_the_figures_of_the_index(twinfs, photos):
    summary = twinfs.ok("list", "--similar", "--format=json", photos).json["summary"]
    assert summary.pop("last_scan", True)
    assert summary.keys() == {"pairs", "common", "deep", "files", "directories", "bytes",
                              "errors", "pending", "others"}
    assert (summary["pairs"], summary["common"], summary["files"]) == (1, 0, 27)


# which pairs are selected

def test_paths_select_pairs_with_a_folder_of_them(twinfs, photos):
    every = found(twinfs, "--similar=1", "--all", photos)
    for words, begins in ((["--path=letters"], b"letters"), (["--ipath=LETT*/"], b"letters"),
                          (["--regex=/old/all$"], b"old/all"), (["--path=old/all/*"], b"old/all"),
                          ([f"--path={photos}/letters"], b"letters")):
        wanted = [pair for pair in every
                  if any(path.startswith(os.path.join(os.fsencode(photos), begins))
                         for path in pair["folders"])]
        if "--regex=/old/all$" in words:
            wanted = [pair for pair in wanted if pair["folders"][0].endswith(b"/old/all")]
        assert wanted and found(twinfs, "--similar=1", "--all", *words, photos) == wanted
    highest = found(twinfs, "--similar=1", "--path=letters", photos)
    assert folders(highest) == [("letters", "0")]


def test_source_selects_all_of_its_folders(twinfs, photos):
    assert found(twinfs, "--similar", f"--path={photos}", photos) == found(
        twinfs, "--similar", photos) != []


def test_top_prints_the_first_pairs(twinfs, photos):
    every = found(twinfs, "--similar=1", "--all", photos)
    assert found(twinfs, "--similar=1", "--all", "--top=3", photos) == every[:3]


def test_excluded_files_do_not_count(twinfs, photos, tmp_path):
    with twinfs.mounted(photos, at=tmp_path / "view"):
        pair, = found(twinfs, "--similar", "--exclude=notes", photos)
        assert folders([pair]) == [("old", "photos")] and pair["only"][0]["files"] == 0


def test_unreadable_file_is_only_here_and_makes_the_result_incomplete(twinfs, as_user, photos):
    for path in (photos, *photos.rglob("*")):
        os.chown(path, os.stat(as_user.home).st_uid, -1)
    (photos / "photos/1/1.jpg").chmod(0)
    pair, = found(as_user, "--similar", photos, status=3)
    assert pair["shared_files"] == 10 and [only["files"] for only in pair["only"]] == [2, 2]


def test_more_bytes_than_numbers_can_have_are_refused(twinfs, tmp_path):
    with disk("xfs", tmp_path) as root:
        trees.fill(root, {"source/a/f": b"same", "source/b/g": b"same"})
        for number in range(1, 4):
            trees.holes(root / f"source/{number}", (1 << 63) - 4096 * number, {})
        result = twinfs("list", "--similar", root / "source")
        assert result.status == 1 and result.out == b""
        assert "files have 2^64 bytes or more" in result.errors[-1], result
        assert len(found(twinfs, "--similar", "--max-size=1E", root / "source")) == 1


@pytest.mark.parametrize("words, message", [
    (["--format=fdupes"], "needs one of --format=text, json, jsonl, csv and null"),
    (["--sort=size"], "most shared bytes first: omit --sort"),
    (["--explain"], "--similar keeps no copy: omit --explain"),
    (["--keep=oldest"], "--similar keeps no copy"),
    (["--only=."], "--similar keeps no copy"),
    (["--ext=jpg"], "--similar selects folders: omit --ext"),
    (["--newer=7d"], "--similar selects folders"),
    (["--copies=2.."], "--similar selects folders"),
    (["--same-name"], "--similar selects folders"),
    (["--redundant"], "give only one of"),
    (["--folders"], "--folders prints groups: omit"),
    (["--summary"], "give only one of"),
    (["--singles"], "give only one of"),
    (["--files0-from=-"], "--similar compares folders: omit --files0-from"),
    (["--similar=0"], "needs a number from 1 to 100, not '0'"),
    (["--similar=101"], "needs a number from 1 to 100"),
    (["--similar=5%"], "needs a number from 1 to 100"),
    (["--similar="], "needs a number from 1 to 100"),
])
def test_options_that_do_not_fit_are_refused(twinfs, photos, words, message):
    operands = [] if words == ["--files0-from=-"] else [photos]
    result = twinfs("list", "--similar", *words, *operands)
    assert result.status == 2 and message in result.errors[0], result


def test_single_file_is_refused(twinfs, photos):
    result = twinfs("list", "--similar", photos / "letters/mine")
    assert result.status == 1 and "is not a directory" in result.errors[0], result

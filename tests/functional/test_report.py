# SPDX-License-Identifier: MIT
"""`twinfs report` and .twinfs/report.html: the figures agree with the oracle, odd names are
harmless, and the page loads nothing."""
import base64
import collections
import contextlib
import os
import re
import shutil
import stat
import struct
import subprocess
import time
import urllib.parse
from pathlib import Path

import oracle
import pytest
import trees
from conftest import preload
from pages import MAGENTA, TAGS, Element, Page, count_pixels, jpeg, png
from processes import TIMEOUT, children, stopped, until

DAY = 86400
EVIL = [b"<script>alert(1)", b'"><img src=x onerror=alert(1)>', b"' onmouseover='alert(1)", b"<!--",
        b"]]>", b"<style>", b"<base href=x>", b"&lt;b&gt;", b"&#60;", b"javascript:alert(1)",
        b"http:", "\u202e\u2066gnp.exe".encode(), "\ufeff\u00ad".encode(), b"\xf4\x90\x80\x80",
        "\uffff".encode()]
SHOWN_NAMES = 5
SHOWN_GROUPS = 24


def page_of(twinfs, *arguments, status=0):
    result = twinfs("report", "--html", "-", *arguments)
    assert result.status == status, result
    return Page(result.out)


def report_of(view):
    return Page(view.read("report.html"))


@pytest.fixture
def mixed(tmp_path):
    """Two sources with copies in folders of several depths, and hard links across folders."""
    one, two = tmp_path / "one", tmp_path / "two"
    trees.fill(one, {b"a/b/c/1": b"1" * 9000, b"a/b/c/2": b"1" * 9000, b"a/b/x": b"2" * 7000,
                     b"z/deep/est/1": b"1" * 9000, b"z/deep/est/own": b"3" * 5000,
                     b"top": b"2" * 7000, b"alone": b"alone", b"empty": b"",
                     b"z/linked": b"4" * 3000})
    trees.fill(two, {b"a/1": b"1" * 9000, b"a/own": b"3" * 5000, b"n/linked": b"4" * 3000})
    os.makedirs(two / "b")
    os.link(two / "n/linked", two / "b/again")  # the first of its names
    os.link(one / "a/b/c/2", one / "a/another")
    return one, two


def redundant_of(sources):
    """(tree and path of the first name, size) of each redundant file after a first scan."""
    source = oracle.Source(sources)
    for group in source.groups():
        kept = min(group, key=source.preference)
        for inode in group:
            if inode is not kept:
                tree, path = inode.first(bytes)
                yield (source.trees[tree], path), inode.size


def folder_sums(sources):
    """{(tree, folder): [bytes, copies, bytes directly in it]}, with everything below counted."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for (tree, path), size in redundant_of(sources):
        folder = os.path.dirname(path)
        sums[tree, folder][2] += size
        while True:
            sums[tree, folder][0] += size
            sums[tree, folder][1] += 1
            if not folder:
                break
            folder = os.path.dirname(folder)
    return sums


def rows_of(sources):
    """{path: (bytes, copies)} of the table of folders, without folders that have only a folder."""
    sums = folder_sums(sources)
    below = collections.Counter((tree, os.path.dirname(folder)) for tree, folder in sums if folder)
    rows = {}
    for (tree, folder), (size, copies, own) in sums.items():
        if folder and below[tree, folder] == 1 and not own:
            continue
        root, name = tree
        rows[os.path.join(name, folder) if folder else root] = (size, copies)
    return rows


def expected_groups(sources):
    """(reclaimable bytes, copies, size) of each group, the largest first."""
    return sorted(((len(group) - 1) * group[0].size, len(group), group[0].size)
                  for group in oracle.Source(sources).groups())[::-1]


# figures

def test_figures_and_sums_of_folders_agree_with_the_oracle(twinfs, mixed):
    page = page_of(twinfs, *mixed)
    listing = twinfs.listing(*mixed)["summary"]
    figures = page.figures()
    assert figures == {name: listing[name] for name in (
        "groups", "redundant_files", "files", "directories", "bytes")}
    assert page.answer() == [listing["reclaimable_bytes"], listing["bytes"]]
    assert listing["reclaimable_bytes"] == sum(size for _, size in redundant_of(mixed))
    assert page.folders() == rows_of(mixed)
    assert [group.shown()[:3] for group in page.groups()] == expected_groups(mixed)


def test_copy_counts_in_the_folder_of_its_first_name(twinfs, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    trees.fill(one, {b"kept": b"1" * 100, b"z/again": b"", b"kept too": b"2" * 200})
    trees.fill(two, {b"n/found": b"1" * 100, b"n/other": b"2" * 200})
    twinfs.ok("scan", one, two)
    os.mkdir(two / "b")
    os.link(two / "n/found", two / "b/later")
    os.link(two / "n/other", one / "z/other")
    folders = page_of(twinfs, one, two).folders()
    assert folders[b"two/b"] == (100, 1) and folders[b"one/z"] == (200, 1)
    assert b"two/n" not in folders


def test_index_read_in_several_batches_is_counted_once(twinfs, source):
    """There are more files, and more copies of a group, than one batch has."""
    for folder in range(5):
        os.mkdir(source / f"{folder}")
        for number in range(500):
            with open(source / f"{folder}/{number}", "wb", buffering=0) as file:
                file.write(b"same")
    page = page_of(twinfs, source)
    assert page.answer() == [4 * 2499, 4 * 2500]
    assert page.folders() == {os.fsencode(source): (4 * 2499, 2499), b"0": (4 * 499, 499)} | {
        b"%d" % folder: (4 * 500, 500) for folder in range(1, 5)}
    assert page.ages()["a day"] == (4 * 2500, 4 * 2499)
    [group] = page.groups()
    assert (group.copies, group.more) == (2500, 2500 - SHOWN_NAMES)


def test_small_folders_share_one_box(twinfs, source):
    trees.fill(source, {f"{folder}/large": b"large" * 100_000 for folder in ("kept", "large")})
    trees.fill(source, {f"small/{number}/{copy}": b"%d" % number * 5
                        for number in range(100, 150) for copy in range(2)})
    boxes = sorted(page_of(twinfs, source).boxes(), key=Element.numbers)
    assert [box.numbers() for box in boxes] == [[750], [500_000]]
    assert boxes[0].text().startswith("smaller folders")


def test_empty_copies_have_no_boxes(twinfs, tmp_path):
    """There would be as many boxes as folders, and the page would be too large."""
    one, two = tmp_path / "one", tmp_path / "two"
    for source in (one, two):
        trees.fill(source, {f"{folder}/empty": b"" for folder in range(50)})
    page = page_of(twinfs, "--min-size=0", one, two)
    assert page.figures()["redundant_files"] == 99
    assert not page.part("folders")
    trees.fill(one, {"0/kept": b"large" * 100, "1/copy": b"large" * 100})
    page = page_of(twinfs, "--min-size=0", one, two)
    assert {number for box in page.boxes() for number in box.numbers()} == {500}
    assert page.answer()[0] == 500 and "nan%" not in page.source


def test_copies_of_a_group_agree_with_list(twinfs, mixed):
    listed = twinfs.listing(*mixed)["groups"]
    base = os.fsencode(mixed[0].parent) + b"/"
    for group, other in zip(page_of(twinfs, *mixed).groups(), listed, strict=True):
        paths = [os.fsencode(copy["path"]).removeprefix(base) for copy in other["copies"]]
        assert group.names == paths[:SHOWN_NAMES]
        assert group.hash == other["hash"]
        assert group.kept == [path for path, copy in zip(paths, other["copies"]) if copy["kept"]]


def test_ages_agree_with_the_files(twinfs, source):
    now = time.time()
    days = {"a day": 0.5, "a week": 3, "a month": 20, "3 months": 60, "a year": 200,
            "2 years": 500, "5 years": 4 * 365, "10 years": 8 * 365, "more": 20 * 365,
            "in the future": -30}
    expected = {}
    for number, (age, old) in enumerate(days.items()):
        data = trees.content(age, 1000 + number)
        for name in ("kept", "copy", "single"):
            path = source / f"{number}{name}"
            path.write_bytes(data if name != "single" else b"s" * (50 + number))
            # the kept copy is the oldest, so that the redundant one has this age
            changed = now - (old if name != "kept" else 30 * 365) * DAY
            os.utime(path, (changed, changed))
        os.rename(source / f"{number}kept", source / f" kept {number}")
        expected[age] = [len(data) + 50 + number, len(data)]
    expected["more"][0] += sum(1000 + number for number in range(len(days)))
    assert page_of(twinfs, source).ages() == {
        age: tuple(sums) for age, sums in expected.items()}


def test_areas_of_boxes_are_proportional_to_the_sums(twinfs, source):
    sizes = {"a": 40000, "b": 30000, "c": 20000, "d": 10000}
    for name, size in sizes.items():
        trees.fill(source, {f"0/{name}": name.encode() * size, f"{name}/x": name.encode() * size})
    boxes = {box.names()[0].decode(): box for box in page_of(twinfs, source).boxes()}
    assert boxes.keys() == sizes.keys()
    for name, size in sizes.items():
        share = dict(re.findall(r"(\w+):([0-9.]+)%", boxes[name].attributes["style"]))
        area = float(share["width"]) * float(share["height"])
        assert abs(area - 10000 * size / sum(sizes.values())) < 5
        assert f"1 redundant copy\n{name}" in boxes[name].attributes["title"]


def test_groups_beyond_those_shown_are_counted(twinfs, source):
    for number in range(SHOWN_GROUPS + 3):
        data = trees.content(number, 100 + number)
        trees.fill(source, {f"{number}/{copy}": data for copy in range(1 + SHOWN_NAMES + 2)})
    page = page_of(twinfs, source)
    assert [group.shown()[:3] for group in page.groups()] == expected_groups([source])[
        :SHOWN_GROUPS]
    assert page.figures()["groups"] == SHOWN_GROUPS + 3
    assert {group.more for group in page.groups()} == {3}


def test_min_size_omits_the_same_groups_as_list(twinfs, mixed):
    for options in ([], ["--min-size=4000"]):
        page = page_of(twinfs, *options, *mixed)
        summary = twinfs.ok("list", "--summary", "--format=json", *options, *mixed).json["summary"]
        assert page.answer()[0] == summary["reclaimable_bytes"]
        assert page.figures()["groups"] == summary["groups"]
        assert sum(size for size, _ in map(page.folders().get, map(os.fsencode, mixed))) == (
            summary["reclaimable_bytes"])
    with twinfs.mounted(*mixed) as view:
        page = page_of(twinfs, "--min-size=8000", view.path)
        assert page.answer()[0] == sum(one[0] for one in expected_groups(mixed) if one[2] >= 8000)


def test_incomplete_page_states_this_and_gives_status_3(as_user, source):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"same"})
    (source / "c").chmod(0)
    page = page_of(as_user, source, status=3)
    assert "1 file or folder could not be read" in page.warning()
    assert page.figures()["redundant_files"] == 1
    assert page.unreadable() == [os.fsencode(source / "c")]
    assert "Permission denied" in page.warning() and "more" not in page.warning()
    (source / "c").chmod(0o644)
    assert page_of(as_user, source).warning() == ""


# names

def check_harmless(page, pictures="data:"):
    """Asserts that nothing on the page loads, runs or leads away, and that no name has controls."""
    elements = list(page.root.all_elements())
    assert {element.tag for element in elements} - TAGS == set()
    assert not [name for element in elements for name in element.attributes
                if name.startswith("on") or name in ("srcset", "srcdoc", "formaction", "ping")]
    [policy] = [element.attributes["content"] for element in elements
                if element.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ("default-src 'none'; style-src 'unsafe-inline'; "
                      f"img-src {pictures}; base-uri 'none'; form-action 'none'")
    [style] = page.root.all("style")
    assert not re.search(r"url\s*\(|@import|expression|</", style.text())
    places = "".join(element.attributes.get("style", "") for element in elements)
    assert set(re.sub(r"[0-9.%:;]", "", places).replace("left", "").replace("top", "").replace(
        "width", "").replace("height", "")) == set()
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e"
                         "\u2060-\u206f\ufeff\ufffe\uffff]", page.source)


@pytest.fixture
def hostile(source):
    """Files with all odd names, in groups small enough to show all of them, and odd folders."""
    names = [*trees.ODD_NAMES, *EVIL]
    for start in range(0, len(names), SHOWN_NAMES):
        data = trees.content(start, 5000 + start)
        for name in names[start:start + SHOWN_NAMES]:
            trees.write(trees.join(source, b"files", name), data)
    for number, name in enumerate(EVIL[:3]):
        for folder in (b" kept", name):
            trees.write(trees.join(source, folder, b"%d" % number),
                        trees.content(name, 300000 + number))
    return source


def files_in(source):
    return {os.path.relpath(os.path.join(folder, name), os.fsencode(source))
            for folder, _, names in os.walk(os.fsencode(source)) for name in names}


def test_any_name_is_shown_completely_and_harmless(twinfs, hostile):
    page = page_of(twinfs, hostile)
    check_harmless(page)
    assert page.links() == []
    shown = [name for group in page.groups() for name in group.names]
    long = {name for name in files_in(hostile) if len(name) > 240}
    assert set(shown) >= files_in(hostile) - long and len(shown) == len(files_in(hostile))
    assert len(long) > 1
    assert set(EVIL[:3]) <= page.folders().keys()


def test_every_link_of_the_page_in_a_view_is_right(twinfs, hostile):
    data = png(100, 100, level=0)
    trees.fill(hostile, {b"pictures/\xff #?%.png": data, b"pictures/\xff~": data})
    with twinfs.mounted(hostile) as view:
        page = report_of(view)
        check_harmless(page, "'self' data: file:")
        here = os.fsencode(view.path / ".twinfs")
        found = {urllib.parse.unquote_to_bytes(link) for link in page.links()}
        assert all(link.startswith("../") for link in page.links())
        for path in found:
            status = os.lstat(os.path.join(here, path))
            assert stat.S_ISDIR(status.st_mode) == path.endswith(b"/")
        for group in page.groups():
            assert f"../dups/{group.hash}/".encode() in found
        names = {path.split(b"/", 2)[2] for path in found if path.startswith((b"../u", b"../r"))}
        assert files_in(hostile) - names == set()
        assert b"../uniques/pictures/\xff #?%.png" in found


def test_page_with_very_long_names_is_small_and_complete(twinfs, source):
    at = os.open(source, os.O_RDONLY)
    for level in range(60):
        name = b"\xff" * 200 + b"%d" % level
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
        for copy in range(SHOWN_NAMES):
            handle = os.open(b"\xfe" * 250 + b"%d" % copy, os.O_WRONLY | os.O_CREAT, dir_fd=at)
            os.write(handle, b"%d" % level * 1000)
            os.close(handle)
    os.close(at)
    with twinfs.mounted(source) as view:
        data = view.read("report.html")
        page = Page(data)
        check_harmless(page, "'self' data: file:")
        assert len(data.rstrip()) < 800_000
        assert len(page.groups()) == SHOWN_GROUPS


# the file of the view

def test_view_has_the_page_of_the_command(twinfs, mixed):
    with twinfs.mounted(*mixed) as view:
        shown, made = report_of(view), page_of(twinfs, view.path)
        assert shown.figures() == made.figures() and shown.answer() == made.answer()
        assert shown.folders() == made.folders() and shown.ages() == made.ages()
        assert [one.shown() for one in shown.groups()] == [one.shown() for one in made.groups()]
        assert made.links() == [] and shown.links() != []
        for link in shown.links():  # also those to hard links
            os.lstat(os.path.join(view.path, ".twinfs", urllib.parse.unquote(link)))
        at_top = Page((view.path / "report.html").read_bytes())
        assert [os.path.relpath(link, "..") for link in shown.links()] == [
            os.path.relpath(link) for link in at_top.links()]
        assert not any(link.startswith("../") for link in at_top.links())
        trees.fill(mixed[0], {b"new": b"1" * 9000})
        view.sync()
        assert report_of(view).answer()[0] == shown.answer()[0] + 9000
        assert page_of(twinfs, *mixed).answer() == report_of(view).answer()


def test_size_of_the_page_in_the_view_is_right(twinfs, mixed):
    with twinfs.mounted(*mixed) as view:
        path = view.path / ".twinfs/report.html"
        assert path.stat().st_size == len(path.read_bytes())
        with open(path, "rb") as file:
            assert os.fstat(file.fileno()).st_size == path.stat().st_size


# the file that is written

def test_file_is_replaced_by_a_complete_page_and_keeps_its_mode(twinfs, mixed, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    page = folder / "page.html"
    twinfs.ok("report", "--html", page, *mixed, umask=0o027)
    assert Page(page.read_bytes()).figures()["groups"] == 4
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
    page.write_bytes(b"old")
    page.chmod(0o604)
    (folder / "link").symlink_to("page.html")
    twinfs.ok("report", "--html", folder / "link", *mixed)
    assert Page(page.read_bytes()).figures()["groups"] == 4
    assert stat.S_IMODE(page.stat().st_mode) == 0o604
    assert sorted(os.listdir(folder)) == ["link", "page.html"] and (folder / "link").is_symlink()


def test_file_with_the_longest_possible_name_is_written(twinfs, source, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    page = folder / ("n" * 255)
    for _ in range(2):
        twinfs.ok("report", "--html", page, source)
        assert Page(page.read_bytes()).groups() == []
    assert list(folder.iterdir()) == [page]


def test_page_that_cannot_be_written_leaves_the_old_one(twinfs, mixed, tmp_path, strace):
    folder = tmp_path / "pages"
    folder.mkdir()
    page = folder / "page.html"
    page.write_bytes(b"old")
    with twinfs.mounted(*mixed) as view:  # the command then writes only the page
        result, _ = twinfs.traced("report", "--html", page, view.path, calls="trace=fsync",
                                  flags=["-e", "inject=fsync:error=EIO"])
        assert result.status == 1 and os.fspath(page).encode() in result.error, result
    assert page.read_bytes() == b"old" and os.listdir(folder) == ["page.html"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "FIFO"])
def test_path_that_is_no_regular_file_is_not_replaced(twinfs, mixed, tmp_path, make):
    make(tmp_path / "page")
    kind = stat.S_IFMT((tmp_path / "page").stat().st_mode)
    result = twinfs("report", "--html", tmp_path / "page", *mixed)
    assert result.status == 1 and b"no regular file" in result.error, result
    assert stat.S_IFMT((tmp_path / "page").stat().st_mode) == kind


def test_dangling_symlink_is_not_replaced(twinfs, source, tmp_path):
    page = tmp_path / "page"
    page.symlink_to("nowhere")
    result = twinfs("report", "--html", page, source)
    assert result.status == 1 and os.fspath(page).encode() in result.error, result
    assert os.readlink(page) == "nowhere" and not page.exists()


def test_page_of_a_user_keeps_its_owner_when_root_replaces_it(
        twinfs, source, tmp_path, root_only, plain_user):
    page = tmp_path / "page"
    page.write_bytes(b"old")
    page.chmod(0o600)
    os.chown(page, plain_user.pw_uid, plain_user.pw_gid)
    twinfs.ok("report", "--html", page, source)
    now = page.stat()
    assert (now.st_uid, now.st_gid) == (plain_user.pw_uid, plain_user.pw_gid)
    assert stat.S_IMODE(now.st_mode) == 0o600 and page.read_bytes() != b"old"


def test_wrong_usage_is_refused(twinfs, mixed):
    for words, said in ((["report", *mixed], b"--html"), (["report", "--html=-"], b"SOURCE"),
                        (["report", "--html=", *mixed], b"--html")):
        result = twinfs(*words)
        assert result.status == 2 and said in result.error, result


# pictures

@pytest.fixture
def decodes(twinfs):
    if b"libgdk_pixbuf-2.0.so.0" not in Path(twinfs.session.binary).read_bytes():
        pytest.skip("built without gdk-pixbuf")


@pytest.fixture
def album(source):
    """Pictures and files that pretend to be one."""
    wide, tall = png(2000, 500), jpeg(64, 640)
    files = {
        "bomb.png": png(60000, 60000, rows=0),
        "broken.jpg": tall[:60] + b"\xff" * 2000,
        "cut.png": wide[:len(wide) // 2],
        "empty.gif": b"GIF89a" + bytes(3000),
        "no.jpg": b"no picture at all" * 500,
        "tall.jpg": tall,
        "wide.png": wide,
    }
    for name, data in files.items():
        trees.fill(source, {name: data, f"copies/{name}": data})
    return source


def test_pictures_are_scaled_down_and_others_omitted(twinfs, album, decodes):
    page = page_of(twinfs, album)
    check_harmless(page)
    pictures = {group.names[0].decode(): group.picture for group in page.groups()}
    assert {name for name, picture in pictures.items() if picture} == {
        "cut.png", "tall.jpg", "wide.png"}
    for picture in filter(None, pictures.values()):
        kind, data = re.fullmatch(r"data:image/(jpeg|png);base64,([A-Za-z0-9+/=]+)",
                                  picture).groups()
        data = base64.b64decode(data, validate=True)
        assert kind == "jpeg" and data.startswith(b"\xff\xd8\xff")
        frame = data.index(b"\xff\xc0")
        size = data[frame + 5:frame + 9]
        assert max(int.from_bytes(size[:2], "big"), int.from_bytes(size[2:], "big")) == 192
    assert not any(group.picture for group in page_of(twinfs, "--no-pictures", album).groups())


def test_picture_is_decoded_only_after_all_rights_are_given_up(twinfs, album, decodes, strace,
                                                               plain_build):
    twinfs.ok("scan", album)
    result, trace = twinfs.traced(
        "report", "--html=-", album, calls="trace=execve,prlimit64,landlock_restrict_self,seccomp,"
        "capset,pread64,openat,socket,connect", flags=["-y"])
    assert result.status == 0, result
    started = [line.split()[0] for line in trace.splitlines()
               if b'execve("/proc/self/exe"' in line]
    assert len(started) == 6  # all files that begin like a picture
    for process in started:
        lines = [line for line in trace.splitlines() if line.split()[0] == process]
        # the first 12 bytes are read before, to find the type
        read = next(i for i, line in enumerate(lines) if b"pread64(0<" in line and b", 12, 0)"
                    not in line)
        for call in (b"RLIMIT_AS", b"RLIMIT_CPU", b"capset("):
            assert any(call in line for line in lines[:read]), (call, lines)
        assert any(b"seccomp(SECCOMP_SET_MODE_FILTER" in line and line.endswith(b"= 0")
                   for line in lines[:read])
        assert not any(b"O_WRONLY|" in line or b"O_RDWR|" in line or b"connect(" in line
                       for line in lines if b"/dev/null" not in line)
        assert not any(b"openat(" in line for line in lines[read:])
    # the command itself never loads the decoder
    first = trace.split()[0]
    assert not any(b"gdk" in line for line in trace.splitlines() if line.split()[0] == first)


@pytest.fixture
def staying(twinfs, decodes):
    """Makes the decoder of pictures stay after it wrote its result."""
    preload(twinfs, "staying_decoder")


def test_decoder_that_stays_is_killed_and_its_result_dropped(twinfs, album, staying):
    twinfs.environment["STAYS_SILENT"] = "yes"
    page = page_of(twinfs, album)
    assert len(page.groups()) == 7 and not any(group.picture for group in page.groups())


def snapshots_of(process, index):
    """The number of open snapshots of a process: slots in LMDB's table of readers with its id and
    the number of a transaction."""
    table = (index / "lock.mdb").read_bytes()
    slots = (struct.unpack_from("=QI", table, at) for at in range(0, len(table) - 64, 64))
    return sum(pid == process and number < 2 ** 64 - 1 for number, pid in slots)


def decodes_now(process):
    """Whether the process has a decoder that has given up its rights."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        return any("NoNewPrivs:\t1" in Path(f"/proc/{child}/status").read_text()
                   for child in children(process))
    return False


def test_no_snapshot_is_open_while_a_picture_is_decoded(twinfs, album, staying):
    """An open snapshot would make the index grow with each change."""
    with (twinfs.mounted(album) as view,
          twinfs.started("report", "--html=-", view.path) as report):
        assert until(lambda: decodes_now(report.pid))
        with stopped(report.pid):
            assert snapshots_of(report.pid, twinfs.index) == 0


# a browser

def shoot(url, folder):
    """A screenshot of a page and its messages on the console."""
    alone = ["unshare", "-n"] if os.geteuid() == 0 else []
    run = subprocess.run(
        [*alone, "chromium", "--headless", "--no-sandbox", "--disable-gpu",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr",
         f"--user-data-dir={folder}/profile", "--window-size=500,4800",
         "--force-device-scale-factor=0.25",
         f"--screenshot={folder}/shot.png", url],
        check=False, capture_output=True, timeout=TIMEOUT,
        env={**os.environ, "HOME": os.fspath(folder)})
    assert run.returncode == 0, run.stderr
    console = [line for line in run.stderr.splitlines()
               if b"CONSOLE" in line and b"source: chrome://" not in line]
    return (Path(folder) / "shot.png").read_bytes(), console


@pytest.fixture
def browser():
    if not shutil.which("chromium"):
        pytest.skip("needs chromium")


def test_browser_shows_pages_with_pictures_without_errors(
        twinfs, hostile, browser, decodes, tmp_path):
    data = png(400, 400, level=0)  # larger than all other files
    trees.fill(hostile, {b"pictures/a.png": data, b"pictures/b.png": data})
    file = tmp_path / "report.html"
    with twinfs.mounted(hostile) as view:
        twinfs.ok("report", "--html", file, view.path)
        for page in (file, view.path / ".twinfs/report.html", view.path / "report.html"):
            shot, console = shoot(page.as_uri(), tmp_path)
            assert console == []
            assert count_pixels(shot, MAGENTA) > 180, page

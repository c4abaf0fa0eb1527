# SPDX-License-Identifier: MIT
"""twinfs(5) documents exactly the files, keys and attributes that the program provides."""
import contextlib
import csv
import io
import json
import os
import re
import shutil

import manual
import pytest
import trees
from disks import disk
from inventories import load
from test_check import rotten

LIST = "WHAT LIST PRINTS"


@pytest.fixture
def tree(source):
    """A group, hard links, a file without copies, and a name that is not UTF-8."""
    for name in ("a", "b", "c"):
        (source / name).write_bytes(b"copies")
    (source / "single").write_bytes(b"single")
    os.link(source / "b", os.path.join(os.fsencode(source), b"b\xff"))
    os.link(source / "single", os.path.join(os.fsencode(source), b"single\xff"))
    os.setxattr(source / "b", "user.note", b"value")
    return source


def page(section, item=None):
    text = manual.sections(manual.VIEW_PAGE)[section]
    return manual.item(text, item) if item else text


def own_file(name):
    return page("FILES OF THE VIEW ITSELF", f"Pa .twinfs/{name}")


def keys(value):
    """The keys of all objects in a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set()


def plain(names):
    """The names without those that end in _base64, which the page describes once for all."""
    return {name for name in names if not name.endswith("_base64")}


def all_lines(data):
    return [json.loads(line) for line in data.splitlines()]


def test_page_has_every_folder_and_own_file_of_a_view(twinfs, tree):
    with twinfs.mounted(tree) as view:
        folders = {path.name for path in view.path.iterdir()}
        files = {path.name for path in (view.path / ".twinfs").iterdir()}
    said = re.findall(r"^\.It Pa ([^/\s]+)[/\n]", page("THE VIEW"), re.MULTILINE)
    assert set(said) == folders
    said = re.findall(r"^\.It Pa \.twinfs/(\S+)$", page("FILES OF THE VIEW ITSELF"), re.MULTILINE)
    assert set(said) == files


def test_page_has_every_member_of_the_status(twinfs, tree):
    with twinfs.mounted(tree) as view:
        twinfs.ok("dedupe", "--partial", "--dry-run", view.path)
        found = keys(view.status())
    rare = {"missing", "silent_since", "moved", "no_ctime", "problem", "percent",
            "seconds_left", "unwatched", "remedy", "unrefreshed", "unrefreshed_folders",
            "reason", "refresh_problem", "refresh_remedy"}
    assert manual.marked(own_file("status.json"), "Va") - rare == found


def test_page_has_every_metric(twinfs, tree):
    with twinfs.mounted(tree) as view:
        text = (view.path / ".twinfs/metrics").read_text()
    found = {line.split()[0].split("{")[0] for line in text.splitlines() if line[0] != "#"}
    assert manual.marked(own_file("metrics"), "Va") == found


def test_page_has_every_event(twinfs, tree):
    with twinfs.mounted(tree) as view, open(view.path / ".twinfs/events", "rb") as events:
        (tree / "d").write_bytes(b"copies")
        (tree / "other").write_bytes(b"single")
        view.sync()
        (tree / "other").unlink()
        (tree / "b").write_bytes(b"changed")
        for copies in (("x", "y"), ("z",)):  # equal folders
            for name in copies:
                trees.fill(tree / name, {b"f": b"in folders"})
            view.sync()
        shutil.rmtree(tree / "x")
        shutil.rmtree(tree / "y")
        view.sync()
        os.set_blocking(events.fileno(), False)
        found = all_lines(events.read())
    rare = {"error", "missed"}
    assert {event["event"] for event in found} == manual.marked(own_file("events"), "Cm") - rare
    said = manual.marked(own_file("events"), "Va")
    assert plain(keys(found)) == said - {"error", "message", "count"}


def test_page_has_every_member_of_a_pending_file(twinfs, tree):
    with twinfs.mounted(tree) as view, open(tree / "d", "wb") as file:
        file.write(b"copies")
        file.flush()
        view.sync()
        found = keys(all_lines(view.read("pending")))
    assert found == manual.marked(own_file("pending"), "Va")


def test_page_has_every_member_of_an_error(as_user, fuse_for_users, source):
    (source / "closed").mkdir(mode=0)
    with as_user.mounted(source, status=3) as view:
        found = keys(view.errors())
    assert found == manual.marked(own_file("errors"), "Va")


def test_page_has_every_attribute_and_its_place(twinfs, tree):
    text = page("THE VIEW")
    of_files = {"user.twinfs.path", "user.twinfs.hash", "user.twinfs.copies",
                "user.twinfs.kept"}
    of_folders = {"user.twinfs.hash", "user.twinfs.copies", "user.twinfs.size",
                  "user.twinfs.redundant", "user.twinfs.reclaimable"}
    assert manual.marked(text, "Va") == of_files | of_folders
    with twinfs.mounted(tree) as view:
        folder, = (view.path / "dups").iterdir()
        for path, wanted in ((folder, of_folders), (folder / "a", of_files),
                             (view.path / "uniques/a", of_files),
                             (view.path / "uniques/single", {"user.twinfs.path"}),
                             (view.path / "uniques", {"user.twinfs.path"})):
            found = set()
            for name in of_files | of_folders:
                with contextlib.suppress(OSError):
                    os.getxattr(path, name)
                    found.add(name)
            assert (path, found) == (path, wanted)
            assert not any("twinfs" in name for name in os.listxattr(path))


def test_page_has_every_member_that_list_prints(twinfs, tree, tmp_path):
    said = manual.marked(page(LIST), "Va")
    found = set()
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("only here")
    twinfs.ok("scan", tree)
    found |= keys(twinfs.ok("list", "--format=json", "--no-scan", tree).json)
    beside = twinfs.with_index(tmp_path / "index of both")
    found |= keys(beside.ok("list", "--format=json", "--missing-from", other, tree).json)
    found |= keys(beside("covered", "--format=json", "--by", tree, other).json)
    twins = twinfs.with_index(tmp_path / "index of twins")
    for name in ("twins/one", "twins/two"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("twins")
    table = twins.ok("list", "--folders", "--format=csv", tmp_path / "twins").out.decode()
    found |= set(next(csv.reader(io.StringIO(table, newline=""))))
    found |= keys(twins.ok("list", "--folders", "--format=json", tmp_path / "twins").json)
    trees.fill(tmp_path / "twins", {b"one/more": b"more", b"\xff/file": b"twins"})
    table = twins.ok("list", "--similar", "--format=csv", tmp_path / "twins").out.decode()
    found |= set(next(csv.reader(io.StringIO(table, newline=""))))
    found |= keys(twins.ok("list", "--similar", "--format=json", tmp_path / "twins").json)
    mark = {b"%s/0=ocfl_object_1.1" % name: b"ocfl_object_1.1\n" for name in (b"one", b"two")}
    trees.fill(tmp_path / "stores", mark)
    stores = twinfs.with_index(tmp_path / "index of stores")
    found |= keys(stores.ok("list", "--format=json", tmp_path / "stores").json)
    for options in ([], ["--explain"], ["--singles"], ["--redundant"]):
        found |= keys(twinfs.ok("list", "--format=json", *options, tree).json)
        found |= keys(all_lines(twinfs.ok("list", "--format=jsonl", *options, tree).out))
        table = twinfs.ok("list", "--format=csv", *options, tree).out.decode(errors="replace")
        found |= set(next(csv.reader(io.StringIO(table, newline=""))))
    assert found == said


def test_page_has_every_member_that_dedupe_prints(twinfs, tmp_path):
    with disk("xfs", tmp_path) as root:
        data = os.urandom(2 << 20)
        for name in (b"one", b"\xff", b"\xfe"):
            (root / os.fsdecode(name)).write_bytes(data)
        words = ["dedupe", "--partial", "--dry-run"]
        found = keys(twinfs.ok(*words, "--format=json", root).json)
        table = twinfs.ok(*words, "--format=csv", root).out.decode()
    found |= set(next(csv.reader(io.StringIO(table, newline=""))))
    assert found == manual.marked(page("WHAT DEDUPE PRINTS"), "Va")


def test_page_has_every_fate(twinfs, tree):
    (tree / "sub").mkdir()
    (tree / "sub/d").write_bytes(b"copies")
    (tree / "sub/e").write_bytes(b"copies")
    listing = twinfs.ok("list", "--format=json", f"--protect={tree}/sub", tree).json
    fates = {copy["fate"] for group in listing["groups"] for copy in group["copies"]}
    assert fates == {"kept", "redundant", "spared"}
    said = re.search(r"^\.Va fate ,\nwhich is\n((?:\.Ql .*\n|or\n)+)", page(LIST), re.MULTILINE)[1]
    assert set(re.findall(r"Ql (\w+)", said)) == fates


def test_page_has_every_member_that_check_prints(root_only, twinfs, tmp_path):
    with rotten(twinfs, tmp_path, 100) as tree:
        (tree / "alone").write_bytes(b"never read")
        twinfs.ok("scan", tree)
        (tree / "new").write_bytes(b"new")
        found = keys(twinfs("check", "--format=json", tree).json)
    assert found == manual.marked(page("WHAT CHECK PRINTS"), "Va")


def test_page_has_every_member_of_the_manifest(twinfs, tree, tmp_path):
    (tree / "link").symlink_to("a")
    lines = all_lines(twinfs.ok("manifest", tree).out)
    twinfs.ok("manifest", "--all", "--output", tmp_path / "all", tree)
    lines += all_lines((tmp_path / "all").read_bytes())
    # of device nodes, of extended attributes, of unreadable folders, of chattr(1)
    rare = {"device", "value_base64", "unread", "flags"}
    said = manual.marked(page("THE MANIFEST"), "Va")
    assert plain(keys(lines)) | rare == said


def test_page_has_every_member_of_an_inventory(twinfs, tmp_path):
    source, output = tmp_path / "source", tmp_path / "inventory"
    trees.fill(source, {b"a": b"same", b"b": b"same", b"\xff": b"odd"})
    (source / "c").hardlink_to(source / "a")
    twinfs.ok("export", "--host=alpha", "--output", output, source)
    assert plain(keys(list(load(output)))) == manual.marked(page("INVENTORIES"), "Va")

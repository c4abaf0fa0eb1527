# SPDX-License-Identifier: MIT
"""check: it finds and names each error of an index, and nothing else."""
import contextlib
import json
import mmap
import os
import random
import subprocess
import threading

import pytest
import trees
from disks import disk, overlay, rot
from processes import until
from program import path_of
from test_index import CHILD_MAY_CRASH


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    trees.links(source / "links")
    trees.many(source / "many", 60, lambda number: b"%d" % (number // 3), folders=6)
    return source


def found(result):
    """The differing names and contents in the output of check --format=json."""
    names = {path_of(name): name["difference"] for name in result.json["names"]}
    contents = [(difference["difference"],
                 {path_of(file): file["bytes"] for file in difference["files"]})
                for difference in result.json["contents"]]
    return names, contents


def check(twinfs, *arguments, status=0):
    result = twinfs("check", "--format=json", *arguments)
    assert result.status == status, result
    return found(result)


def unverified(result):
    """{file: (cause, checked bytes)} of the files that check --format=json cannot verify."""
    listed = {os.path.basename(path_of(file)).decode(): (file["why"], file["checked"])
              for file in result.json["unverified"]}
    assert len(listed) == result.json["summary"]["contents_unverified"]
    return listed


def left_over(twinfs):
    return (twinfs.index / "check").exists()


# nothing is wrong

def test_right_index_has_no_difference(twinfs, tree):
    twinfs.ok("scan", tree)
    before = (twinfs.index / "data.mdb").read_bytes()
    result = twinfs.ok("check", "--format=json", tree)
    assert (twinfs.index / "data.mdb").read_bytes() == before
    assert not left_over(twinfs)
    assert found(result) == ({}, [])
    summary = result.json["summary"]
    assert summary["structure"] == "sound"
    assert summary["contents_compared"] is True
    assert summary["groups"] == twinfs.listing(tree)["summary"]["groups"]
    assert summary["names"] == sum(len(folders) + len(files)
                                   for _, folders, files in os.walk(tree))
    assert result.error == b""


def test_text_for_a_right_index_has_no_difference(twinfs, tree):
    twinfs.ok("scan", tree)
    lines = twinfs.ok("check", tree).out.decode().splitlines()
    assert [line.split()[0] for line in lines] == [
        "index", "structure", "names", "contents", "unverified"]
    assert all("0 differences" in line for line in lines[2:4])


def test_index_of_every_kind_of_file_has_no_difference(twinfs, source):
    trees.mixed(source)
    twinfs.ok("scan", source)
    assert check(twinfs, source) == ({}, [])


def test_index_inside_its_source_is_no_difference(twinfs, tree):
    twinfs.ok("scan", tree)
    os.rename(twinfs.index, tree / "index")
    inside = twinfs.with_index(tree / "index")
    inside.ok("scan", tree)
    assert check(inside, tree) == ({}, [])


def test_directory_whose_ctime_overlayfs_changes_is_no_difference(twinfs, tmp_path):
    """overlayfs notes in a directory that it has a copied-up file, and a listing without such a
    file removes the note."""
    trees.fill(tmp_path, {"lower/file": b"content", "upper/in/other": b"other"})
    with overlay(tmp_path) as shown:
        twinfs.ok("scan", shown)
        before = (shown / "in").stat()
        os.setxattr(tmp_path / "upper/in", "trusted.overlay.impure", b"y")
        after = (shown / "in").stat()
        assert after.st_ctime_ns != before.st_ctime_ns and after.st_mtime_ns == before.st_mtime_ns
        result = twinfs("check", "--quick", shown)
        assert result.status == 0, result
        (shown / "in/new").write_bytes(b"new")
        assert twinfs("check", "--quick", shown).status == 3


def test_copy_of_a_lower_hard_link_is_no_difference(twinfs, tmp_path, strace):
    """The file handle of the copy is that of the lower file, its device is not."""
    trees.fill(tmp_path, {f"lower/{name}": b"content" for name in ("linked", "b", "c")})
    os.link(tmp_path / "lower/linked", tmp_path / "lower/other")
    with disk("ext4", tmp_path) as changes, overlay(tmp_path, changes) as shown:
        twinfs.ok("scan", shown)
        device = (shown / "linked").stat().st_dev
        (shown / "linked").chmod(0o600)
        assert (shown / "linked").stat().st_dev != device == (shown / "other").stat().st_dev
        read = twinfs.content_read("scan", shown, below=shown)
        assert len({path for _, path in read}) == 2  # the copy and a file to compare it with
        (shown / "new").write_bytes(b"new")
        (shown / "other").chmod(0o600)
        twinfs.ok("scan", shown)
        assert check(twinfs, "--quick", shown) == ({}, [])


def test_quick_check_reads_no_file(twinfs, tree, strace):
    twinfs.ok("scan", tree)
    assert twinfs.content_read("check", "--quick", tree, below=tree) == []
    result = twinfs.ok("check", "--quick", "--format=json", tree)
    assert result.json["summary"]["contents_compared"] is False


def test_check_respects_the_min_size_of_the_scan(twinfs, tree):
    twinfs.ok("scan", "--min-size=10k", tree)
    assert check(twinfs, tree) == ({}, [])


def test_check_without_an_index_fails(twinfs, tree):
    result = twinfs("check", tree)
    assert result.status == 1
    assert "cannot find an index" in result.errors[0]


def test_check_of_the_index_of_another_tree_fails(twinfs, tree, tmp_path):
    twinfs.ok("scan", tree)
    other = tmp_path / "other"
    other.mkdir()
    result = twinfs("check", other)
    assert result.status == 1
    assert "it belongs to other sources" in result.errors[0]


# names

def test_every_kind_of_change_since_the_scan_is_named_and_repaired(twinfs, tree):
    trees.fill(tree, {b"gone/a": b"1", b"gone/b": b"2", b"mode": b"3", b"kind": b"4"})
    twinfs.ok("scan", tree)
    trees.remove(tree / "gone")
    (tree / "mode").chmod(0o600)
    (tree / "kind").unlink()
    (tree / "kind").mkdir()
    odd = os.fsencode(tree) + b"/new\n\xff"
    trees.fill(tree, {odd[len(os.fsencode(tree)) + 1:]: b"5"})
    below = os.fsencode(tree)
    names, contents = check(twinfs, tree, status=3)
    assert contents == []
    assert names == {below: "not as indexed", below + b"/gone": "not on the disk",
                     below + b"/mode": "not as indexed", below + b"/kind": "not as indexed",
                     odd: "not in the index"}
    result = twinfs("check", tree)
    assert result.status == 3
    assert b"not in the index  $'" in result.out
    assert b"\xff" not in result.out
    assert check(twinfs, "--repair", tree)[0] == names
    assert check(twinfs, tree) == ({}, [])


# contents

def flip_on_the_disk(image, text):
    """Changes a byte of a file on an unmounted disk."""
    with open(image, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        at = data.find(text)
        assert at >= 0 and data.find(text, at + 1) < 0
        data[at + len(text) - 1] ^= 1


@contextlib.contextmanager
def rotten(twinfs, folder, place):
    """A disk on which a byte of a copy changed after the scan."""
    with disk("ext4", folder) as root:
        tree = root / "tree"
        data = trees.content("rot", 60_000)
        trees.fill(tree, {b"kept": data, b"copy": data, b"third": data})
        os.sync()
        twinfs.ok("scan", tree)
        rot(root, tree / "copy", place)
        yield tree


@pytest.mark.parametrize("place", [100, 50_000], ids=["begin", "end"])
def test_bit_rot_is_found_and_the_file_that_has_it_is_named(twinfs, tmp_path, place):
    with rotten(twinfs, tmp_path, place) as tree:
        assert check(twinfs, "--quick", tree) == ({}, [])
        names, [(difference, files)] = check(twinfs, tree, status=3)
        assert (names, difference) == ({}, "not equal")
        assert files == {os.fsencode(tree / name): "other bytes" if name == "copy"
                         else "as recorded" for name in ("kept", "copy", "third")}
        result = twinfs("check", tree)
        assert f"  other bytes     {tree}/copy\n" in result.out.decode()
        assert len(twinfs.listing(tree)["groups"][0]["copies"]) == 3  # list trusts the index
        assert check(twinfs, "--repair", tree)[1] == [(difference, files)]
        assert check(twinfs, tree) == ({}, [])
        assert twinfs.groups(tree) == {frozenset(os.fsencode(tree / name)
                                                 for name in ("kept", "third"))}


def test_bit_rot_of_a_file_in_no_group_is_found(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        mark = trees.content("alone", 4000)
        trees.fill(tree, {b"alone": mark, b"other": trees.content("else", 4000)})
        os.sync()
        twinfs.ok("scan", tree)
        subprocess.run(["umount", root], check=True)
        flip_on_the_disk(tmp_path / "ext4.image", mark)
        subprocess.run(["mount", "-o", "loop", tmp_path / "ext4.image", root], check=True)
        alone = os.fsencode(tree / "alone")
        assert check(twinfs, tree, status=3) == ({}, [("other bytes", {alone: "other bytes"})])
        check(twinfs, "--repair", tree)
        assert check(twinfs, tree) == ({}, [])


def test_bit_rot_of_files_that_differ_in_their_last_block_only_is_found(twinfs, tmp_path):
    """Such files were read to their end, and so have a hash. Files without a hash are named."""
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        data, early = trees.content("long", 1_000_000), trees.content("early", 1_000_001)
        trees.fill(tree, {b"one": data, b"two": data[:-1] + bytes([data[-1] ^ 1]),
                          b"early": early, b"soon": early[:20_000] + b"?" + early[20_001:],
                          b"unique": b"?" * 30_000, b"empty": b"", b"small": b"small"})
        os.sync()
        twinfs.ok("scan", tree)
        assert unverified(twinfs.ok("check", "--format=json", tree)) == {
            "early": ("no hash", 4096), "soon": ("no hash", 4096),
            "unique": ("no hash", 0), "small": ("no hash", 0)}
        assert b"unverified  4 files: " in twinfs.ok("check", tree).out
        assert twinfs.ok("check", "--quick", "--format=json", tree).json["unverified"] == []
        rot(root, tree / "two", 500_000)
        assert check(twinfs, tree, status=3) == (
            {}, [("other bytes", {os.fsencode(tree / "two"): "other bytes"})])
        check(twinfs, "--repair", tree)
        assert check(twinfs, tree) == ({}, [])


def test_bit_rot_of_the_last_file_of_a_group_is_found(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        trees.fill(tree, {b"a": trees.content("pair", 60_000), b"b": trees.content("pair", 60_000),
                          b"c": trees.content("pair", 59_999) + b"?"})
        os.sync()
        twinfs.ok("scan", tree)
        os.unlink(tree / "b")
        twinfs.ok("scan", tree)
        rot(root, tree / "a", 30_000)
        assert check(twinfs, tree, status=3) == (
            {}, [("other bytes", {os.fsencode(tree / "a"): "other bytes"})])


def test_bit_rot_of_a_file_that_lost_its_copies_is_found(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        for size in (60_000, 50_000, 3000):
            data = trees.content(size, size)
            trees.fill(tree, {b"%d" % size: data, b"%d again" % size: data})
        os.sync()
        twinfs.ok("scan", tree)
        for size in (60_000, 3000):
            os.unlink(tree / f"{size} again")
        twinfs.ok("scan", tree)
        os.unlink(tree / "50000 again")
        for size in (60_000, 50_000, 3000):
            rot(root, tree / str(size), size // 2)
        names, contents = check(twinfs, tree, status=3)
        below = os.fsencode(tree)
        assert names == {below: "not as indexed", below + b"/50000 again": "not on the disk"}
        assert sorted(contents, key=str) == [
            ("not equal", {below + b"/50000": "other bytes"}),
            ("other bytes", {below + b"/3000": "other bytes"}),
            ("other bytes", {below + b"/60000": "other bytes"})]
        check(twinfs, "--repair", tree)
        assert check(twinfs, tree) == ({}, [])


def test_file_that_another_program_writes_is_unverified_and_its_copy_is_checked(twinfs, tmp_path):
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        pair, like = trees.content("pair", 60_000), trees.content("like", 50_000)
        trees.fill(tree, {b"pair": pair, b"copy": pair, b"last": like, b"first": like[:-1] + b"?"})
        os.sync()
        twinfs.ok("scan", tree)
        rot(root, tree / "copy", 40_000)
        with open(tree / "pair", "r+b"), open(tree / "last", "r+b"):
            result = twinfs("check", "--format=json", tree)
        assert unverified(result) == {name: ("open for writing", 0) for name in ("pair", "last")}
        assert found(result) == ({}, [("not equal", {
            os.fsencode(tree / "copy"): "other bytes", os.fsencode(tree / "pair"): "unknown"})])
        assert result.status == 3


def test_file_that_cannot_be_read_is_unverified(twinfs, source, strace):
    data = trees.content("like", 50_000)
    trees.fill(source, {b"one": data, b"other": data[:-1] + b"?", b"pair": data[1:],
                        b"copy": data[1:]})
    twinfs.ok("scan", source)
    for name in ("one", "pair"):
        result, _ = twinfs.traced("check", "--format=json", source, calls="pread64", flags=[
            "-P", str(source / name), "-e", "inject=pread64:error=EIO"])
        assert result.status == 3
        assert unverified(result) == {name: ("unreadable", 0)}
        assert found(result) == ({}, [])


def test_equal_files_that_are_in_no_group_are_found(twinfs, tmp_path):
    """Files that differed when they were indexed became equal by a change on the disk."""
    with disk("ext4", tmp_path) as root:
        tree = root / "tree"
        data = trees.content("pair", 600_000)
        other = data[:100_000] + bytes([data[100_000] ^ 1]) + data[100_001:]
        trees.fill(tree, {b"one": data, b"two": other})
        os.sync()
        twinfs.ok("scan", tree)
        assert twinfs.groups(tree) == set()
        subprocess.run(["umount", root], check=True)
        flip_on_the_disk(tmp_path / "ext4.image", other[98_000:100_001])
        subprocess.run(["mount", "-o", "loop", tmp_path / "ext4.image", root], check=True)
        both = {os.fsencode(tree / name): "as recorded" for name in ("one", "two")}
        assert check(twinfs, tree, status=3) == ({}, [("not grouped", both)])
        check(twinfs, "--repair", tree)
        assert check(twinfs, tree) == ({}, [])
        assert twinfs.groups(tree) == {frozenset(both)}


def test_file_in_no_group_is_not_listed_below_a_group(twinfs, tmp_path):
    with rotten(twinfs, tmp_path, 50_000) as tree:
        alone = tree / "alone"
        alone.write_bytes(trees.content("changes on the disk", 4000))
        (tree / "other").write_bytes(trees.content("else", 4000))
        os.sync()
        twinfs.ok("scan", tree)
        rot(tree.parent, alone, 100)
        result = twinfs("check", tree)
        assert result.status == 3
        lines = result.out.decode().splitlines()
        assert f"  other bytes     {tree}/copy" in lines
        assert f"other bytes       {alone}" in lines


# the index itself

@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unsealed"])
def test_damaged_index_is_found_left_alone_and_repaired(twinfs, tree, sealed):
    twinfs.environment["ASAN_OPTIONS"] += CHILD_MAY_CRASH
    twinfs.ok("scan", tree)
    right = twinfs.groups(tree)
    data = twinfs.index / "data.mdb"
    if not sealed:
        (twinfs.index / "seal").unlink()
    rng = random.Random(f"check {sealed}")
    whole = data.read_bytes()
    repaired = 0
    for _ in range(12):
        damaged = bytearray(whole)
        for _ in range(200):
            damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        data.write_bytes(damaged)
        result = twinfs("check", "--format=json", tree)
        if result.status == 1 and b"newer twinfs" in result.error:
            continue  # the format number has no checksum
        assert result.status == 3, result
        assert result.json["summary"]["structure"] in ("damaged", "of an older format")
        assert data.read_bytes() == damaged
        result = twinfs("check", "--repair", tree)
        assert result.status == 0, result
        assert check(twinfs, tree) == ({}, [])
        assert twinfs.groups(tree) == right
        repaired += 1
        whole = data.read_bytes()
        if not sealed:
            (twinfs.index / "seal").unlink()
    assert repaired > 6


# beside others

def test_index_of_a_mounted_view_is_checked_while_it_works(twinfs, tree):
    with twinfs.mounted(tree) as view:
        trees.fill(tree, {b"new": b"x", b"twin": b"x"})
        assert check(twinfs, tree) == ({}, [])
        assert check(twinfs, view.path) == ({}, [])
        result = twinfs("check", "--repair", tree)
        assert result.status == 1
        assert "unmount" in result.errors[-1]
        assert view.differences_now(tree) == []


def test_bit_rot_is_found_beside_a_view(twinfs, tmp_path):
    with rotten(twinfs, tmp_path, 50_000) as tree, twinfs.mounted(tree) as view:
        _, [(_, files)] = check(twinfs, view.path, status=3)
        assert files[os.fsencode(tree / "copy")] == "other bytes"


def churn(tree, end):
    """Creates, changes, moves and removes files until `end` is set."""
    rng = random.Random("churn")
    data = [trees.content(number, 3000) for number in range(4)]
    while not end.is_set():
        path = tree / f"churn/{rng.randrange(8)}/{rng.randrange(8)}"
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            act = rng.randrange(5)
            if act < 2:
                trees.write(path, rng.choice(data))
            elif act == 2:
                path.unlink()
            elif act == 3:
                os.rename(path, path.with_name(f"{rng.randrange(8)}"))
            else:
                os.utime(path)


def test_changes_during_a_check_are_no_difference(twinfs, tree):
    with twinfs.mounted(tree) as view:
        end = threading.Event()
        thread = threading.Thread(target=churn, args=(tree, end))
        thread.start()
        try:
            for _ in range(8):
                result = twinfs("check", "--format=json", tree)
                assert result.status in (0, 3), result
                assert found(result) == ({}, []), result
        finally:
            end.set()
            thread.join()
        assert view.differences_now(tree) == []


def test_check_after_a_killed_check_works(twinfs, tree, strace):
    twinfs.ok("scan", tree)
    _, trace = twinfs.traced("check", tree, calls="trace=fdatasync",
                             flags=["-e", "inject=fdatasync:signal=KILL:when=1"])
    assert b"killed by SIGKILL" in trace
    assert left_over(twinfs)
    assert check(twinfs, tree) == ({}, [])
    assert not left_over(twinfs)


def test_two_checks_at_once_do_not_disturb_each_other(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    twinfs.ok("scan", source)
    with open(source / "a", "r+b"), twinfs.started("check", source) as first:
        assert until(lambda: (twinfs.index / "check/owner").exists())
        assert until(lambda: b"\n" in (twinfs.index / "check/owner").read_bytes())
        result = twinfs("check", source)
        assert result.status == 1
        assert "another process is checking it" in result.errors[-1]
        assert first.wait(60) == 3  # a file was being written


def test_json_with_differences_is_complete(twinfs, tree):
    twinfs.ok("scan", tree)
    (tree / "new").write_bytes(b"new")
    result = twinfs("check", "-F", "json", tree)
    assert set(json.loads(result.out)) == {"version", "names", "contents", "unverified", "summary"}
    assert result.json["summary"]["names_different"] == len(result.json["names"]) == 2

# SPDX-License-Identifier: MIT
"""digest computes the SHA-256 of the wanted files, reads no others and none twice."""
import os
import random
import re
import shutil
import subprocess

import pytest
import trees
from block_oracle import extents
from inventories import load
from test_act_causes import figure, warnings
from wanted_lists import Host, sha256

MIB = 1 << 20


@pytest.fixture
def host(twinfs, tmp_path, source):
    return Host(twinfs, tmp_path, source)


# ---- digests ----------------------------------------------------------------------------


def test_digests_are_those_of_hashlib(host, source):
    trees.small(source / "small")
    trees.odd_names(source / "names")
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    trees.special(source / "special")
    trees.sparse(source / "sparse", huge=64 * MIB)
    trees.fill(source, {b"large": os.urandom(9 * MIB + 17), b"one": b"1", b"none": b"",
                        b"block": os.urandom(256 << 10)})
    wanted = host.want()
    result = host.digest()
    assert host.digests() == host.expected(wanted)
    by_id = {row["id"]: row for row in wanted}
    for row in host.rows():
        assert len(row["state"]) == 16
        members = {key: value for key, value in row.items() if key not in ("sha256", "state")}
        assert members == {key: value for key, value in by_id[row["id"]].items()
                           if key in members}
        assert set(by_id[row["id"]]) - set(members) <= {"names", "links", "group"}
    assert figure(result, "read") + figure(result, "equal") == len(wanted)
    manifest = host.manifest()
    assert manifest["index"] == load(host.inventory)[0]["index"]
    assert (manifest["errors"], manifest["pending"], manifest["generation"]) == (0, 0, 1)
    host.twinfs.ok("check", source)


def test_deep_and_very_long_paths_are_found(host, source):
    trees.deep(source, levels=40)
    wanted = host.want()
    result = host.digest()
    assert figure(result, "read") + figure(result, "equal") == len(wanted) > 1
    assert len({row["sha256"] for row in host.rows()}) == len({row["group"] for row in wanted})


def test_files_of_several_sources_are_found(twinfs, tmp_path):
    sources = tmp_path / "one", tmp_path / os.fsdecode(b"two \xff\n")
    for number, source in enumerate(sources):
        trees.fill(source, {b"a/file": b"content %d" % number, b"\xfe": b"odd %d" % number})
    os.link(sources[0] / "a/file", sources[1] / "linked")
    host = Host(twinfs, tmp_path, *sources)
    wanted = host.want()
    assert len(wanted) == 4
    host.digest()
    assert host.digests() == host.expected(wanted)


def test_inventory_has_the_digests_of_the_index(host, source):
    trees.fill(source, {b"a": b"equal", b"b": b"equal", b"c": b"other"})
    wanted = host.want(lambda path: path == b"a")
    host.digest()
    _, rows = host.export()
    assert len(wanted) == 1
    assert {row["path"]: row.get("sha256") for row in rows} == {
        "a": sha256(source / "a"), "b": sha256(source / "a"), "c": None}
    (source / "a").write_bytes(b"EQUAL")
    _, rows = host.export()
    assert {row["path"]: row.get("sha256") for row in rows} == {
        "a": None, "b": sha256(source / "b"), "c": None}


# ---- what is read -----------------------------------------------------------------------


def test_only_wanted_files_are_opened(host, source, strace):
    trees.fill(source, {f"{kind} {number}": trees.content((kind, number), 5000)
                        for kind in ("wanted", "other") for number in range(9)})
    host.want(lambda path: path.startswith(b"wanted"))
    # a file that no index has seen, of a size that other files have
    trees.fill(source, {b"other new": trees.content("new", 5000)})
    calls = "trace=openat,openat2,pread64,read,mmap"
    result, trace = host.twinfs.traced(*host.words(), calls=calls, flags=["-y"])
    assert result.status == 0, result
    assert b'"wanted 3"' in trace
    assert not re.search(rb'"other (\d|new)', trace)  # an index of another test can have the word
    assert len(host.rows()) == 9


def test_equal_files_are_read_once(host, source, strace):
    data = {letter: trees.content(letter, 300_000) for letter in "xyz"}
    trees.fill(source, {f"{letter}{number}": data[letter] for letter in "xyz"
                        for number in range(5)})
    wanted = host.want()
    read = host.read()
    assert sorted(os.path.basename(path)[:1] for path in read) == [b"x", b"y", b"z"]
    assert host.digests() == host.expected(wanted)
    assert len(wanted) == 15


def test_second_call_reads_nothing_then_only_what_changed(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 3000 + number) for number in range(20)})
    trees.fill(source, {b"a": b"equal" * 999, b"b": b"equal" * 999})
    wanted = host.want()
    assert len(host.read()) == 21
    before = host.rows()
    shutil.rmtree(host.output)
    assert host.read() == set()
    assert host.rows() == before
    (source / "7").write_bytes(os.urandom(3007))
    os.utime(source / "8")
    changed = {os.fsencode(source / name) for name in ("7", "8")}
    assert host.read() == changed
    assert host.digests() == host.expected(wanted)
    assert host.manifest()["generation"] == 2


def test_change_that_keeps_size_and_mtime_is_read(host, source, strace):
    trees.fill(source, {b"a": b"before", b"b": b"lonely"})
    wanted = host.want()
    host.digest()
    status = (source / "a").stat()
    (source / "a").write_bytes(b"behind")
    os.utime(source / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert host.read() == {os.fsencode(source / "a")}
    assert host.digests() == host.expected(wanted)


def test_renamed_copy_of_a_group_is_not_read_again(host, source, strace):
    trees.fill(source, {b"a": b"equal" * 999, b"b": b"equal" * 999})
    host.want()
    host.digest()
    (source / "a").rename(source / "c")
    wanted = host.want()
    assert host.read() == set()
    assert host.digests() == host.expected(wanted)


def test_copy_that_appears_later_has_the_digest_of_its_group(host, source, strace):
    trees.fill(source, {b"a": b"content" * 999})
    host.want()
    host.digest()
    trees.fill(source, {b"b": b"content" * 999})
    wanted = host.want()
    assert len(wanted) == 2
    assert host.read() == set()
    assert host.digests() == host.expected(wanted)
    (source / "a").unlink()
    shutil.rmtree(host.output)
    assert host.read() == set()
    assert set(host.digests()) == {os.fsencode(source / "b")}


def test_files_that_changed_since_the_inventory_are_counted_and_named(host, source):
    trees.fill(source, {f"{kind}{number}": b"x" * (100 + number)
                        for kind in ("gone", "longer", "is") for number in range(5)})
    (source / "folder").write_bytes(b"a file")
    wanted = host.want(lambda path: path != b"is1")
    for number in range(5):
        (source / f"gone{number}").unlink()
        (source / f"longer{number}").write_bytes(b"y" * 999)
    (source / "folder").unlink()
    (source / "folder").mkdir()
    result = host.digest()
    stays = [row for row in wanted if row["path"].startswith("is")]
    assert host.digests() == host.expected(stays)
    assert len(stays) == 4
    reason = "the index has no such file any more"
    assert warnings(result, f"left out 6 wanted files in all: {reason}")
    assert len(warnings(result, reason)) == 4
    reason = "the size is not that of the inventory any more"
    assert warnings(result, f"left out 5 wanted files in all: {reason}")
    assert len(warnings(result, f"left out '{source}/longer")) == 3


def test_file_that_was_replaced_by_one_of_equal_size_is_read(host, source):
    trees.fill(source, {b"a": b"first"})
    [row] = host.want()
    (source / "new").write_bytes(b"other")
    (source / "new").rename(source / "a")
    host.digest()
    [found] = host.rows()
    assert found["id"] != row["id"] and found["sha256"] == sha256(source / "a")
    assert found["ino"] == (source / "a").stat().st_ino


def test_two_wanted_names_of_one_inode_have_one_row(host, source):
    trees.fill(source, {b"a": b"first", b"b": b"second"})
    host.want()
    (source / "b").unlink()
    os.link(source / "a", source / "b")
    wanted = host.wanted.read_bytes().replace(b'"size": 6', b'"size": 5').replace(
        b'"bytes": 11', b'"bytes": 10')
    host.wanted.write_bytes(wanted)
    host.digest()
    [row] = host.rows()
    assert (row["path"], row["sha256"]) == ("a", sha256(source / "a"))


def test_rotating_disk_is_read_in_its_order(host, source, strace):
    names = [f"{number:03d}" for number in range(60)]
    random.Random(7).shuffle(names)
    for name in names:
        trees.write(source / name, os.urandom(20_000))
        os.sync() if name.endswith("0") else None
    os.sync()
    host.want()
    _, trace = host.twinfs.traced(*host.words("--disk=rotating"), calls="trace=pread64",
                                  flags=["-y"])
    below = os.fsencode(source) + b"/"
    read = [line.split(below)[1].split(b">")[0].decode() for line in trace.splitlines()
            if below in line]
    places = {name: extents(source / name)[0][1] for name in names}
    assert read == sorted(names, key=places.get)


# ---- files that cannot be read ----------------------------------------------------------


def test_plain_user_gets_digests_and_the_names_of_unreadable_files(as_user, plain_user, tmp_path):
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"alone", b"closed": b"closed", b"group/1": b"equal",
                        b"group/2": b"equal"})
    for path in (source, *source.rglob("*")):
        os.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    host = Host(as_user, tmp_path, source)
    wanted = host.want()
    expected = host.expected(wanted)
    for name in ("closed", "group/1"):
        (source / name).chmod(0)
    result = host.digest(status=3)
    for name in ("closed", "group/1"):  # the change of mode took it out of its group
        assert warnings(result, f"cannot read '{source}/{name}': Permission denied")
        del expected[os.fsencode(source / name)]
    assert host.digests() == expected
    assert host.manifest()["errors"] == 2
    (source / "closed").chmod(0o600)
    (source / "group/1").chmod(0o600)
    host.digest()
    assert host.digests() == host.expected(wanted)


def test_failing_read_is_named_and_the_others_have_digests(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 10_000) for number in range(5)})
    wanted = host.want()
    result, _ = host.twinfs.traced(
        *host.words(), calls="trace=pread64",
        flags=["-P", source / "2", "-e", "inject=pread64:error=EIO"])
    assert result.status == 3
    [line] = warnings(result, "cannot read")
    assert f"cannot read '{source}/2': Input/output error" in line
    assert host.digests() == host.expected([row for row in wanted if row["path"] != "2"])
    assert host.manifest()["errors"] == 1


def test_immutable_file_has_a_digest(root_only, host, source):
    trees.fill(source, {b"fixed": b"fixed"})
    wanted = host.want()
    subprocess.run(["chattr", "+i", source / "fixed"], check=True)
    try:
        host.digest()
        assert host.digests() == host.expected(wanted)
    finally:
        subprocess.run(["chattr", "-i", source / "fixed"], check=True)

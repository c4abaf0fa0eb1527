# SPDX-License-Identifier: MIT
"""The log of acts: each act has its records, in every format, also after a kill."""
import base64
import json
import os
import shutil
import subprocess

import pytest
import trees
from processes import release
from test_act import copies
from test_act_cut_off import kill_points


def records(twinfs, act=None):
    """The records of an act, by default of the last one."""
    if act is None:
        act = acts(twinfs)[-1]["act"]
    return [json.loads(line) for line in twinfs.ok("log", act, "--format=jsonl").lines]


def acts(twinfs):
    return [json.loads(line) for line in twinfs.ok("log", "--format=jsonl").lines]


def xxh(path):
    return subprocess.run(["xxhsum", "-H2", path], check=True,
                          capture_output=True).stdout.split()[0].decode()


def act_words(kind, source, moved):
    """The words of an act that is recorded as this kind."""
    words = {"trash": ["remove", "--trash"], "symlink": ["link", "--symbolic"]}.get(kind, [kind])
    return [*words, source, *([moved] if kind == "move" else [])]


KINDS = ["remove", "trash", "move", "link", "symlink"]
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


@EACH_KIND
def test_act_has_a_record_of_what_it_did(twinfs, source, aside, kind):
    kept, copy = copies(source, 2)
    copy.chmod(0o640 if kind in ("remove", "trash", "move") else 0o644)
    os.utime(copy, ns=(5, 3 * 10**18 + 7))
    before, digest = copy.stat(), xxh(copy)
    twinfs.ok(*act_words(kind, source, aside), "--yes")
    [act] = acts(twinfs)
    assert (act["command"], act["files"], act["bytes"]) == (kind, 1, 5000)
    assert act["index"] == str(twinfs.index)
    [record] = records(twinfs)
    assert record["act"] == act["act"] and record["command"] == kind
    assert (record["path"], record["kept"]) == (str(copy), str(kept))
    assert (record["hash"], record["size"]) == (digest, 5000)
    assert record["mode"] == f"{before.st_mode & 0o7777:04o}"
    assert (record["uid"], record["gid"]) == (before.st_uid, before.st_gid)
    assert (record["mtime"], record["mtime_ns"]) == (3 * 10**9, 7)
    assert "state" not in record
    if kind in ("move", "trash"):
        assert os.path.samestat(os.stat(record["to"]), before)
    assert (twinfs.index / "acts.log").stat().st_mode & 0o777 == 0o600


def test_attributes_and_names_of_any_bytes_are_recorded(twinfs, source):
    name = b"\xff\n\x1b[31m \xc3\xbc"
    for folder in (b"a", b"b"):
        trees.write(trees.join(source, folder, name), b"content")
    os.setxattr(trees.join(source, b"b", name), "user.kind", b"\x00letter")
    twinfs.ok("remove", "--yes", source)
    [record] = records(twinfs)
    assert base64.b64decode(record["path_base64"]) == trees.join(source, b"b", name)
    assert record["xattrs"] == [{"name": "user.kind", "value_base64": "AGxldHRlcg=="}]
    text = twinfs.ok("log", record["act"]).out
    assert name in text  # a pipe gets the exact bytes


def test_log_lists_acts_of_all_indexes_with_the_last_one_at_the_end(twinfs, source, tmp_path):
    copies(source, 3)
    other = tmp_path / "other"
    other.mkdir()
    copies(other, 2)
    second = twinfs.with_index(tmp_path / "second index")
    twinfs.ok("remove", "--yes", "--only", source / "copy 1", source)
    second.ok("remove", "--yes", other)
    twinfs.ok("remove", "--yes", "--only", source / "copy 2", source)
    assert [len(acts(program)) for program in (twinfs, second)] == [2, 1]
    assert [records(twinfs, act["act"])[0]["path"] for act in acts(twinfs)] == [
        str(source / "copy 1"), str(source / "copy 2")]
    text = twinfs.ok("log").lines
    assert [line.split()[0].decode() for line in text] == [act["act"] for act in acts(twinfs)]
    whole = json.loads(twinfs.ok("log", "--format=json").out)
    assert whole["acts"] == acts(twinfs)
    one = json.loads(twinfs.ok("log", "--format=json", acts(twinfs)[0]["act"]).out)
    assert one["files"] == records(twinfs, acts(twinfs)[0]["act"])


def test_log_without_an_act_says_so(twinfs, source):
    copies(source, 2)
    assert "no act is recorded" in twinfs.ok("log").error.decode()
    twinfs.ok("remove", "--dry-run", source)
    twinfs.ok("scan", source)
    assert "no act is recorded" in twinfs.ok("log").error.decode()
    result = twinfs("log", "01234567")
    assert result.status == 1 and b"no act" in result.error


def test_refused_copy_has_no_record(twinfs, source):
    _, first, second = copies(source)
    twinfs.ok("scan", source)
    with first.open("ab"):
        assert twinfs("remove", "--yes", source).status == 3
    assert [record["path"] for record in records(twinfs)] == [str(second)]


def test_log_option_appends_the_records_to_a_file(twinfs, source, tmp_path):
    copies(source, 3)
    there = tmp_path / "there.jsonl"
    there.write_text("an earlier line\nmine, without an end")
    twinfs.ok("remove", "--yes", f"--log={there}", "--only", source / "copy 1", source)
    twinfs.ok("remove", "--yes", f"--log={there}", "--only", source / "copy 2", source)
    expected = [record for act in acts(twinfs) for record in records(twinfs, act["act"])]
    lines = there.read_text().splitlines()
    assert lines[:2] == ["an earlier line", "mine, without an end"]
    assert [json.loads(line) for line in lines[2:]] == expected


def test_unwritable_log_file_prevents_the_act(twinfs, source, tmp_path):
    _, copy = copies(source, 2)
    file = tmp_path / "missing folder/file"
    result = twinfs("remove", "--yes", f"--log={file}", source)
    assert result.status == 1
    assert os.fsencode(file) in result.error
    assert copy.exists()


def test_records_of_more_acts_than_a_batch_are_complete(twinfs, source):
    trees.many(source, 400, lambda number: b"%d" % (number // 2), folders=4)
    twinfs.ok("remove", "--yes", source)
    found = records(twinfs)
    assert len(found) == 200 == acts(twinfs)[0]["files"]
    assert [record["file"] for record in found] == list(range(1, 201))
    assert not any(os.path.lexists(record["path"]) for record in found)
    assert all(os.path.lexists(record["kept"]) for record in found)


def test_hash_of_a_record_is_that_of_the_bytes_and_not_of_a_stale_index(twinfs, source, strace):
    """Both files get other, equal bytes after the plan was made and before they are opened."""
    kept, copy = copies(source, 2)
    twinfs.ok("scan", source)
    new = os.urandom(5000)
    # the second lock is that of the journal, which the act takes when its plan is made
    with twinfs.held("remove", "--yes", source, call="flock", when=2) as process:
        assert copy.exists() and acts(twinfs) == []
        for path in (kept, copy):
            with path.open("r+b") as file:
                file.write(new)
        release(process)
        process.wait(timeout=60)
    assert process.returncode == 0, process.output
    assert not copy.exists() and kept.read_bytes() == new
    assert records(twinfs)[-1]["hash"] == xxh(kept)


def test_corrupt_line_is_skipped_and_said(twinfs, source):
    copies(source, 3)
    twinfs.ok("remove", "--yes", "--only", source / "copy 1", source)
    with (twinfs.index / "acts.log").open("ab") as file:
        file.write(b"{\"act\":\"garbage\n{\"act\":\"incomplete")
    result = twinfs("log")
    assert result.status == 3 and b"1 line" in result.error and len(result.lines) == 1
    assert b"number 2;" in result.error
    twinfs.ok("remove", "--yes", source)
    assert len(twinfs("log").lines) == 2
    assert b"incomplete" not in (twinfs.index / "acts.log").read_bytes()


@EACH_KIND
def test_act_killed_at_any_call_is_recorded_if_and_only_if_it_was_done(twinfs, tmp_path, aside,
                                                                       strace, kind):
    content = {number: os.urandom(3000) for number in range(3)}
    source = tmp_path / "source"
    inodes = {}

    def build():
        for folder in (source, twinfs.home / ".local", twinfs.index, aside):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (source, aside):
            folder.mkdir()
        for number, data in content.items():
            (source / f"kept {number}").write_bytes(data)
            (source / f"redundant {number}").write_bytes(data)
            inodes[number] = (source / f"redundant {number}").stat().st_ino

    build()
    points = 0
    for point in kill_points(twinfs, [*act_words(kind, source, aside), "--yes"]):
        twinfs.ok("recover")
        done = {str(source / f"redundant {number}") for number in content
                if not is_there(source / f"redundant {number}", inodes[number])}
        found = [record for act in acts(twinfs) for record in records(twinfs, act["act"])]
        returned = [record for record in found if record.get("state") == "returned"]
        assert len(returned) <= 1 and not {record["path"] for record in returned} & done, point
        found = [record for record in found if record not in returned]
        assert sorted(record["path"] for record in found) == sorted(done), point
        if kind != "remove":
            assert not any("state" in record for record in found), point
        assert sum("state" in record for record in found) <= 1, point
        points += point[2]
        build()
    assert points > 6


def is_there(path, inode):
    return os.path.lexists(path) and os.lstat(path).st_ino == inode

# SPDX-License-Identifier: MIT
"""list: any name can be read back from each format."""
import base64
import csv
import io
import json
import os
import subprocess

import oracle
import pytest
import trees
from processes import TIMEOUT
from program import path_of

GROUP_COLUMNS = ["group", "redundant", "reclaimable", "fate", "size", "inode", "path",
                 "path_base64"]

# names with special meaning in the formats, besides trees.ODD_NAMES
HOSTILE_NAMES = [
    b"a\r\nb", b"\r", b'"', b'""', b'a"b,c"d', b'","', b"a\tb\x0b\x0c", b"\\x41", b"\\xff",
    b"\\xff and \xff", b"=1+1", b"+1", b"@A1", b"-1", b"\xef\xbb\xbfmark", b"\x01\x02\x7f",
    b"path_base64", b"null", b"{}", b"]}", "\u2028\u2029".encode(), "\U0001f600".encode(),
    b"\xf4\x90\x80\x80", b"\xc0\x80", b"'", b"'\\''", b"\n\n", b"\xe2\x88\x95" * 85,
    b"-print0", b"-0", b"\"\n" * 127,
]


@pytest.fixture
def hostile(source):
    """For each odd name a file, a copy, a folder, a hard link and a single file."""
    trees.odd_names(source)
    for number, name in enumerate(HOSTILE_NAMES):
        data = trees.content(("hostile", number), 500 + number)
        for folder in (b"equal", b"files"):
            trees.write(trees.join(source, folder, name), data)
        trees.write(trees.join(source, b"folders", name, b"file"), data)
        trees.write(trees.join(source, b"singles", name), trees.content(number, 9000 + number))
        os.link(trees.join(source, b"files", name), trees.join(source, b"files", b"l" + name[:250]))
    return os.fsencode(source)


def names_of(source):
    """Paths of all names in groups, and of all singles that are not empty."""
    model = oracle.Source([source])
    groups = model.groups()
    grouped = {id(inode) for group in groups for inode in group}
    in_groups = {model.absolute(name) for group in groups for inode in group
                 for name in inode.names}
    singles = {model.absolute(name) for inode in model.inodes.values()
               if inode.size and id(inode) not in grouped for name in inode.names}
    return in_groups, singles


def csv_rows(out):
    """The header and the rows, as dictionaries, of strict CSV in strict UTF-8."""
    text = out.decode("utf-8")
    assert text.endswith("\r\n")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert all(len(row) == len(rows[0]) for row in rows)
    return rows[0], [dict(zip(rows[0], row)) for row in rows[1:]]


def csv_path(row):
    if row["path_base64"]:
        return base64.b64decode(row["path_base64"], validate=True)
    return row["path"].encode()


def printed(twinfs, format_name, *arguments):
    return twinfs.ok("list", f"--format={format_name}", *arguments).out


# any name

def test_any_name_survives_csv(twinfs, hostile):
    in_groups, singles = names_of(hostile)
    header, rows = csv_rows(printed(twinfs, "csv", hostile))
    assert header == GROUP_COLUMNS
    assert len(rows) == len(in_groups)
    assert {csv_path(row) for row in rows} == in_groups
    header, rows = csv_rows(printed(twinfs, "csv", "--singles", hostile))
    assert header == ["size", "inode", "path", "path_base64"]
    assert len(rows) == len(singles)
    assert {csv_path(row) for row in rows} == singles


def test_any_name_survives_jsonl(twinfs, hostile):
    in_groups, singles = names_of(hostile)
    lines = printed(twinfs, "jsonl", hostile).split(b"\n")
    assert lines.pop() == b""
    groups = [json.loads(line) for line in lines]
    assert groups == twinfs.listing(hostile)["groups"]
    assert {path_of(copy) for group in groups for copy in group["copies"]} == in_groups
    lines = printed(twinfs, "jsonl", "--singles", hostile).splitlines()
    assert len(lines) == len(singles)
    assert {path_of(json.loads(line)) for line in lines} == singles


def test_any_name_survives_json(twinfs, hostile):
    in_groups, singles = names_of(hostile)
    copies = [copy for group in twinfs.listing(hostile)["groups"] for copy in group["copies"]]
    assert len(copies) == len(in_groups)
    assert {path_of(copy) for copy in copies} == in_groups
    listed = json.loads(printed(twinfs, "json", "--singles", hostile))["singles"]
    assert {path_of(single) for single in listed} == singles


def test_any_name_survives_null_and_xargs(twinfs, hostile):
    in_groups, singles = names_of(hostile)
    for part, expected in (([], in_groups), (["--singles"], singles)):
        out = printed(twinfs, "null", *part, hostile)
        assert out.endswith(b"\0")
        assert sorted(out[:-1].split(b"\0")) == sorted(expected)
        passed = subprocess.run(["xargs", "-0", "sh", "-c", r'printf "%s\0" "$@"', "sh"],
                                input=out, capture_output=True, check=True, timeout=TIMEOUT)
        assert passed.stdout == out
        assert passed.stderr == b""


def test_quoted_names_in_text_can_be_read_by_a_shell(twinfs, hostile):
    in_groups, _ = names_of(hostile)
    lines = [line for line in printed(twinfs, "text", hostile).split(b"\n")
             if line.startswith((b"  kept  ", b"  copy  ", b"  link  "))]
    assert len(lines) == len(in_groups)
    words = b" ".join(word if word.startswith(b"$'") else b"$'%s'" % word.replace(
        b"\\", b"\\\\").replace(b"'", b"\\'") for word in (line[8:] for line in lines))
    read = subprocess.run(["bash", "-c", b"printf '%s\\0' " + words], capture_output=True,
                          check=True, timeout=TIMEOUT).stdout
    assert set(read[:-1].split(b"\0")) == in_groups


def test_removing_redundant_paths_with_xargs_leaves_each_content_once(twinfs, hostile):
    before = oracle.Source([hostile])
    before.read(before.inodes.values())
    out = printed(twinfs, "null", "--redundant", hostile)
    subprocess.run(["xargs", "-0", "rm"], input=out, check=True, timeout=TIMEOUT)
    after = oracle.Source([hostile])
    after.read(after.inodes.values())
    assert ({inode.digest for inode in after.inodes.values()}
            == {inode.digest for inode in before.inodes.values()})
    assert after.groups() == []
    assert len(before.names) - len(after.names) == out.count(b"\0")
    assert printed(twinfs, "null", "--redundant", hostile) == b""


def test_null_paths_are_absolute_so_that_none_is_an_option(twinfs, tmp_path):
    trees.small(tmp_path / "-rf")
    out = twinfs.ok("list", "--format=null", "--", "-rf", cwd=tmp_path).out
    assert {path.startswith(os.fsencode(tmp_path) + b"/-rf/")
            for path in out[:-1].split(b"\0")} == {True}


# other columns

def test_json_has_the_device_and_inode_number_of_each_file(twinfs, small):
    copies = [copy for group in twinfs.listing(small)["groups"] for copy in group["copies"]]
    copies += twinfs.ok("list", "--singles", "--format=json", small).json["singles"]
    for copy in copies:
        status = os.stat(path_of(copy))
        assert (copy["dev"], copy["ino"]) == (status.st_dev, status.st_ino)


def test_json_without_a_scan_has_no_device(twinfs, small):
    twinfs.ok("scan", small)
    for group in twinfs.ok("list", "--no-scan", "--format=json", small).json["groups"]:
        for copy in group["copies"]:
            assert copy["dev"] is None
            assert copy["ino"] == os.stat(path_of(copy)).st_ino


def test_json_of_several_file_systems_has_the_device_of_each(twinfs, source, root_only):
    (source / "other").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "other", source / "other"], check=True)
    try:
        trees.fill(source, {b"a": b"same", b"other/a": b"same", b"other/b": b"same"})
        result = twinfs.ok("list", "--cross-file-systems", "--format=json", source)
        [group] = result.json["groups"]
        assert {copy["path"]: copy["dev"] for copy in group["copies"]} == \
            {copy["path"]: os.stat(copy["path"]).st_dev for copy in group["copies"]}
        assert len({copy["dev"] for copy in group["copies"]}) == 2
    finally:
        subprocess.run(["umount", source / "other"], check=True)



def test_csv_has_the_values_of_json(twinfs, small):
    expected = [[group["hash"], str(group["redundant"]), str(group["reclaimable"]),
                 copy["fate"], str(group["size"]),
                 str(copy["inode"]), copy["path"], ""]
                for group in twinfs.listing(small)["groups"] for copy in group["copies"]]
    assert [list(row.values()) for row in csv_rows(printed(twinfs, "csv", small))[1]] == expected


def test_csv_without_groups_has_only_the_header(twinfs, source):
    trees.write(trees.join(source, b"alone"), b"alone")
    assert printed(twinfs, "csv", source) == ",".join(GROUP_COLUMNS).encode() + b"\r\n"
    assert printed(twinfs, "jsonl", source) == printed(twinfs, "null", source) == b""


def test_summary_is_the_same_in_each_format(twinfs, small):
    expected = json.loads(printed(twinfs, "json", "--summary", small))
    assert json.loads(printed(twinfs, "jsonl", "--summary", small)) == expected
    assert printed(twinfs, "jsonl", "--summary", small).count(b"\n") == 1
    [row] = csv_rows(printed(twinfs, "csv", "--summary", small))[1]
    assert {name: int(value) for name, value in row.items()} == expected["summary"]


def test_explain_gives_a_reason_for_each_name_in_each_format(twinfs, small):
    groups = json.loads(printed(twinfs, "json", "--explain", small))["groups"]
    whys = [copy["why"] for group in groups for copy in group["copies"]]
    assert whys and all(whys)
    assert [json.loads(line) for line in
            printed(twinfs, "jsonl", "--explain", small).splitlines()] == groups
    header, rows = csv_rows(printed(twinfs, "csv", "--explain", small))
    assert header == [*GROUP_COLUMNS[:4], "why", *GROUP_COLUMNS[4:]]
    assert [row["why"] for row in rows] == whys
    lines = [line for line in printed(twinfs, "text", "--explain", small).decode().split("\n")
             if line.startswith("  ")]
    copies = [copy for group in groups for copy in group["copies"]]
    assert [line.split(None, 1)[0] for line in lines] == [copy["fate"] for copy in copies]
    assert all(why in line for why, line in zip(whys, lines))


def test_listing_of_a_view_equals_that_of_a_scan_in_each_format(twinfs, hostile):
    expected = {name: printed(twinfs, name, hostile) for name in ("csv", "jsonl", "null")}
    with twinfs.mounted(hostile) as view:
        for name, out in expected.items():
            result = twinfs("list", f"--format={name}", view.path, index=False)
            assert result.status == 0, result
            assert result.out == out


@pytest.mark.parametrize("words", [
    ["--format=xml"], ["--format=null", "--summary"], ["--format=null", "--explain"],
    ["--format=fdupes", "--explain"], ["--explain", "--summary"], ["--explain", "--singles"],
    ["--singles", "--summary"], ["--redundant", "--singles"],
])
def test_option_that_a_format_does_not_support_is_wrong_usage(twinfs, small, words):
    result = twinfs("list", *words, small)
    assert result.status == 2
    assert result.out == b""
    assert len(result.errors) == 1


def test_list_to_a_full_disk_fails_in_any_format(twinfs, small):
    twinfs.ok("scan", small)
    twinfs.wrapped = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
    for name in ("csv", "jsonl", "null"):
        result = twinfs("list", f"--format={name}", small)
        assert result.status == 1
        assert b"No space left" in result.error

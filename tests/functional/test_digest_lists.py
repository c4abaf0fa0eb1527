# SPDX-License-Identifier: MIT
"""digest with lists that are malformed, hostile, or of another index, and on full disks."""
import os
import threading
from types import SimpleNamespace

import pytest
import trees
from disks import disk
from inventories import load
from test_act_causes import warnings
from wanted_lists import Host, list_text


@pytest.fixture
def host(twinfs, tmp_path, source):
    return Host(twinfs, tmp_path, source)


# ---- lists ------------------------------------------------------------------------------


def refused(host, data, line=None):
    """Runs the command with a list, which must be refused before a source is touched."""
    host.wanted.write_bytes(data)
    result = host.digest(status=1)
    errors = result.errors
    assert len(errors) == 1, result
    assert not host.output.exists()
    if line is not None:
        assert f"line {line}: " in errors[0], errors
        assert "nothing was read; make the list again with 'twinfs-fleet wanted'" in errors[0]
    return errors[0]


@pytest.fixture
def listed(host, source):
    """A host with an inventory of three files, its manifest and its rows."""
    trees.fill(source, {b"a": b"first", b"b": b"second", b"c": b"third"})
    (source.parent / "secret").write_bytes(b"first")
    manifest, rows = host.export()
    return SimpleNamespace(host=host, manifest=manifest, rows=rows)


HEADS = {
    "format": "twinfs-inventory", "schema": 2, "host": "../alpha", "index": "12", "rows": -1,
    "sources": [], "created": "yesterday", "bytes": 0,
}


@pytest.mark.parametrize("key", HEADS)
def test_list_with_a_wrong_first_line_is_refused(listed, key):
    refused(listed.host, list_text(listed.manifest, listed.rows, **{key: HEADS[key]}), 1)


@pytest.mark.parametrize("sources", [[{"path": "relative"}], [{}], [3], {"path": "/"},
                                     [{"path": "/a", "path_base64": "!"}],
                                     [{"path_base64": "L2EAYg=="}]])
def test_list_with_wrong_sources_is_refused(listed, sources):
    refused(listed.host, list_text(listed.manifest, listed.rows, sources=sources), 1)


ROWS = {
    "parent": {"path": "../secret"}, "parent inside": {"path": "a/../../secret"},
    "absolute": {"path": "/etc/passwd"}, "empty": {"path": ""}, "dot": {"path": "./a"},
    "double slash": {"path": "a//b"}, "slash": {"path": "a/"}, "long name": {"path": "n" * 256},
    "NUL": {"path_base64": "YQBi", "path": "a\\x00b"}, "not base64": {"path_base64": "*"},
    "two paths": {"path_base64": "Yg==", "path": "a"}, "number": {"path": 5}, "id 0": {"id": 0},
    "large id": {"id": 1 << 48}, "id text": {"id": "1"}, "negative size": {"size": -1},
    "source": {"source": 1}, "negative source": {"source": -1}, "size": {"size": 1.5},
    "no mtime": {"mtime_ns": "now"}, "no ctime": {"ctime_ns": 0.5}, "ino": {"ino": []},
    "small ino as text": {"ino": "77"}, "ino above 64 bits": {"ino": "18446744073709551616"},
    "too large": {"size": 1 << 70},
}


@pytest.mark.parametrize("name", ROWS)
def test_list_with_a_wrong_row_is_refused(listed, name):
    rows = [dict(row) for row in listed.rows]
    rows[1].update(ROWS[name])
    refused(listed.host, list_text(listed.manifest, rows, bytes=0), 3)


def test_inode_number_above_63_bits_is_a_string(listed):
    rows = [dict(row, ino=str((1 << 63) + row["id"])) for row in listed.rows]
    listed.host.wanted.write_bytes(list_text(listed.manifest, rows))
    listed.host.digest()


@pytest.mark.parametrize("text", [
    b"", b"\n", b"{}", b"[1]", b"null", b"{\"id\": 1", b"\xff\xfe", b"x" * 70_000,
    b"[" * 60_000, b'{"id": 1, "id": 2}', b"\0" * 100, b'{"path": "\\u0000"}',
    b'{"path": "\xc3\x28"}'])
def test_list_with_a_malformed_line_is_refused(listed, text):
    lines = list_text(listed.manifest, listed.rows).splitlines(keepends=True)
    refused(listed.host, b"".join([*lines[:2], text + b"\n", *lines[3:]]), 3)
    refused(listed.host, b"".join([text + b"\n", *lines[1:]]), 1)


def test_list_of_another_length_than_it_says_is_refused(listed):
    data = list_text(listed.manifest, listed.rows)
    refused(listed.host, data[:-1], 4)
    refused(listed.host, data[:-9], 4)
    refused(listed.host, b"".join(data.splitlines(keepends=True)[:3]), 3)
    refused(listed.host, list_text(listed.manifest, listed.rows, rows=2), 4)
    refused(listed.host, b"", 1)


def test_list_that_repeats_a_file_is_refused(listed):
    refused(listed.host, list_text(listed.manifest, [*listed.rows, listed.rows[0]]), 5)


def test_list_of_another_index_is_refused(listed):
    error = refused(listed.host, list_text(listed.manifest, listed.rows, index="0" * 16))
    assert "it was made for another index of these sources" in error


def test_list_of_another_source_is_refused(listed):
    error = refused(listed.host, list_text(listed.manifest, listed.rows,
                                           sources=[{"path": "/etc"}]))
    assert "its source '/etc' is not a source of this index" in error


def test_missing_list_and_folder_are_named(listed):
    host = listed.host
    assert "cannot open" in host.digest(status=1).errors[0]
    host.wanted.mkdir()
    assert "Is a directory" in host.digest(status=1).errors[0]


def test_list_can_be_a_pipe(listed):
    host = listed.host
    data = list_text(listed.manifest, listed.rows)
    os.mkfifo(host.wanted)
    writer = threading.Thread(target=host.wanted.write_bytes, args=(data,))
    writer.start()
    host.digest()
    writer.join()
    assert host.digests() == host.expected(listed.rows)


def test_empty_list_gives_an_empty_set(listed):
    listed.host.wanted.write_bytes(list_text(listed.manifest, []))
    listed.host.digest()
    assert listed.host.rows() == []


def test_folder_of_another_host_or_of_an_inventory_is_refused(listed):
    host = listed.host
    host.wanted.write_bytes(list_text(listed.manifest, listed.rows, host="beta"))
    host.output = host.inventory
    host.digest(status=1)
    host.wanted.write_bytes(list_text(listed.manifest, listed.rows))
    host.digest(status=1)
    assert load(host.inventory)[1] == listed.rows


@pytest.mark.parametrize("words", [["--output", "x"], ["--wanted", "x"], []])
def test_missing_option_is_wrong_usage(twinfs, source, words):
    result = twinfs("digest", *words, source)
    assert result.status == 2 and b"given" in result.error


# ---- disks ------------------------------------------------------------------------------


def fill_disk(path):
    with open(path, "wb", buffering=0) as filler:
        size = 1 << 16
        while size >= 1024:
            try:
                filler.write(bytes(size))
            except OSError:
                size //= 2


def test_index_on_a_full_disk_costs_only_the_digests_in_it(twinfs, tmp_path, source, loop_devices):
    trees.many(source, 3000, lambda number: b"%d" % number * 3)
    (tmp_path / "small").mkdir()
    with disk("ext4", tmp_path / "small", size=12 << 20) as small:
        host = Host(twinfs.with_index(small / "index"), tmp_path, source)
        wanted = host.want()
        fill_disk(small / "filler")
        os.truncate(small / "filler", (small / "filler").stat().st_size - (64 << 10))
        result = host.digest()
        assert warnings(result, "cannot write digests to the index: No space left on device")
        assert host.digests() == host.expected(wanted)
        os.unlink(small / "filler")
        host.digest()
        assert host.digests() == host.expected(wanted)
        host.twinfs.ok("check", source)


def test_full_disk_of_the_output_leaves_the_earlier_digests(twinfs, tmp_path, source, loop_devices):
    trees.many(source, 3000, lambda number: b"%d" % number * 3)
    (tmp_path / "small").mkdir()
    with disk("ext4", tmp_path / "small", size=12 << 20) as small:
        host = Host(twinfs, tmp_path, source)
        wanted = host.want()
        host.output = small / "digests"
        host.digest()
        fill_disk(small / "filler")
        result = host.digest(status=1)
        assert b"No space left on device" in result.error
        assert host.digests() == host.expected(wanted)

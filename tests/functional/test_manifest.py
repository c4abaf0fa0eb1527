# SPDX-License-Identifier: MIT
"""manifest: a line for each name that uniques/ leaves out, with all metadata to restore it."""
import base64
import json
import os
import stat
import subprocess

import backups
import oracle
import trees
import walk
from program import path_of


def lines_of(result):
    return [json.loads(line) for line in result.lines]


def xattrs_of(line):
    """The extended attributes of a line, in the form of walk.Entry."""
    return {path_of({name.replace("name", "path"): value for name, value in xattr.items()
                     if name != "value_base64"}).decode(errors="surrogateescape"):
            base64.b64decode(xattr["value_base64"]) for xattr in line.get("xattrs", [])}


def left_out(view, *sources):
    """{path below uniques/: entry} of the names in the sources that uniques/ lacks."""
    model = oracle.Source(sources)
    shown = {entry.path for entry in walk.walk(view.uniques)}
    found = {}
    for (tree, path), entry in model.names.items():
        prefix = model.trees[tree][1]
        whole = prefix + b"/" + path if prefix and path else prefix or path
        if whole not in shown:
            found[whole] = entry
    return found


def check_line(line, entry, view):
    path = path_of(line)
    content = walk.digest(os.fsencode(view.uniques), backups.content_of(line))
    assert (line["size"], int(line["mode"], 8)) == (
        entry.stat.st_size, stat.S_IMODE(entry.stat.st_mode)), path
    assert (line["uid"], line["gid"]) == (entry.stat.st_uid, entry.stat.st_gid), path
    assert line["mtime"] * 10**9 + line["mtime_ns"] == entry.stat.st_mtime_ns, path
    assert xattrs_of(line) == {os.fsdecode(name): value
                               for name, value in entry.xattrs.items()}, path
    return content


def check_manifest(lines, view, *sources):
    wanted = left_out(view, *sources)
    model = oracle.Source(sources)
    assert {path_of(line) for line in lines} == wanted.keys()
    roots = {prefix: root for root, prefix in model.trees}
    inodes = {}
    for line in lines:
        path = path_of(line)
        tree, below = path.split(b"/", 1) if b"" not in roots else (b"", path)
        assert check_line(line, wanted[path], view) == walk.digest(roots[tree], below)
        inodes.setdefault(wanted[path].key, []).append(line)
    for same in inodes.values():
        assert {line.get("links", 1) for line in same} == {len(same)}
        assert len({line.get("inode") for line in same}) == 1
    numbers = [same[0]["inode"] for same in inodes.values() if len(same) > 1]
    assert len(numbers) == len(set(numbers))


def test_manifest_has_exactly_the_names_that_uniques_leaves_out(twinfs, mixed):
    with twinfs.mounted(mixed) as view:
        lines = lines_of(twinfs.ok("manifest", view.path))
        assert len(lines) > 200
        check_manifest(lines[1:-1], view, mixed)


def test_paths_of_several_sources_are_below_their_trees(twinfs, tmp_path):
    roots = [trees.small(tmp_path / name) for name in ("one", "two", "b/two")]
    with twinfs.mounted(*roots) as view:
        lines = lines_of(twinfs.ok("manifest", view.path))
        check_manifest(lines[1:-1], view, *roots)
        assert {path_of(line).split(b"/")[0] for line in lines[1:-1]} == {
            b"one", b"two", b"two~2"}
    assert [path_of(source) for source in lines[0]["sources"]] == roots
    assert [source["tree"] for source in lines[0]["sources"]] == ["one", "two", "two~2"]


def test_hash_agrees_with_xxhsum(twinfs, source):
    trees.small(source)
    lines = lines_of(twinfs.ok("manifest", source))[1:-1]
    paths = [os.path.join(os.fsencode(source), path_of(line)) for line in lines]
    assert lines and oracle.hashes(paths) == [line["hash"] for line in lines]


def test_names_are_in_order_of_their_components(twinfs, mixed):
    paths = [path_of(line).split(b"/") for line in lines_of(twinfs.ok("manifest", mixed))[1:-1]]
    assert len(paths) > 200
    assert paths == sorted(paths)


def test_last_line_counts_and_hashes_the_others(twinfs, mixed):
    text = twinfs.ok("manifest", mixed).out
    whole, last = text[:-1].rsplit(b"\n", 1)
    assert json.loads(last) == {"lines": whole.count(b"\n"),
                                "hash": backups.hash_of(whole + b"\n")}


def test_manifest_without_redundant_names_has_two_lines(twinfs, source):
    trees.fill(source, {b"a": b"one", b"b": b"another"})
    first, last = lines_of(twinfs.ok("manifest", source))
    assert first["twinfs_manifest"] == 1
    assert last["lines"] == 0


def test_manifests_differ_only_if_the_source_changed(twinfs, mixed):
    with twinfs.mounted(mixed) as view:
        first = twinfs.ok("manifest", view.path).out
        assert twinfs.ok("manifest", view.path).out == first
        assert twinfs.ok("manifest", mixed).out == first
        trees.write(trees.join(mixed, b"new"), b"new")
        assert twinfs.ok("manifest", view.path).out != first


def test_pending_file_is_in_uniques_and_not_in_the_manifest(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view, open(source / "b", "r+b"):
        view.sync()
        with open(source / "b", "r+b", buffering=0) as writer:
            writer.write(b"same")
            result = twinfs.ok("manifest", view.path)
            assert lines_of(result)[-1]["lines"] == 0
            assert sorted(os.listdir(view.uniques)) == ["a", "b"]


def test_file_with_unreadable_metadata_is_missing_and_named(twinfs, source, strace):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"same"})
    result, _ = twinfs.traced("manifest", source, calls="trace=listxattr",
                              flags=["-e", "inject=listxattr:error=EIO:when=1"])
    assert result.status == 3
    lines = lines_of(result)
    assert [line["path"] for line in lines[1:-1]] == ["c"] and lines[-1]["lines"] == 1
    assert any("/source/b' to the manifest: Input/output error" in line
               for line in result.errors)


def test_manifest_to_a_full_disk_fails(twinfs, mixed):
    twinfs.ok("scan", mixed)
    with open("/dev/full", "wb") as full:
        run = subprocess.run(twinfs.command("manifest", mixed), env=twinfs.environment,
                             stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.returncode == 1
    assert b"No space left" in run.stderr


def test_manifest_without_operand_is_wrong_usage(twinfs):
    assert twinfs("manifest").status == 2

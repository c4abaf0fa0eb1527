# SPDX-License-Identifier: MIT
"""manifest: a line for each name that uniques/ leaves out, with all metadata to restore it."""
import base64
import json
import os
import shutil
import signal
import stat
import subprocess

import backups
import oracle
import pytest
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


# a file that is replaced


def test_output_replaces_a_manifest_and_keeps_its_mode(twinfs, mixed, tmp_path):
    folder = tmp_path / "backup"
    folder.mkdir()
    manifest = folder / "manifest"
    wanted = twinfs.ok("manifest", mixed).out
    twinfs.ok("manifest", "--output", manifest, mixed, umask=0o027)
    assert manifest.read_bytes() == wanted
    assert stat.S_IMODE(manifest.stat().st_mode) == 0o640
    manifest.chmod(0o600)
    with twinfs.mounted(mixed) as view:
        assert twinfs.ok("manifest", "-o", manifest, view.path).out == b""
        assert manifest.read_bytes() == twinfs.ok("manifest", view.path).out
    assert stat.S_IMODE(manifest.stat().st_mode) == 0o600
    assert os.listdir(folder) == ["manifest"]


@pytest.mark.parametrize("call, error", [("fsync", "EIO"), ("write", "ENOSPC")])
def test_manifest_that_cannot_be_written_leaves_the_old_one(twinfs, mixed, tmp_path, strace, call,
                                                            error):
    folder = tmp_path / "backup"
    folder.mkdir()
    manifest = folder / "manifest"
    twinfs.ok("manifest", "--output", manifest, mixed)
    before = manifest.read_bytes()
    trees.write(trees.join(mixed, b"new"), b"new")
    with twinfs.mounted(mixed) as view:  # the command then writes only the manifest
        result, _ = twinfs.traced("manifest", "--output", manifest, view.path,
                                  calls=f"trace={call}",
                                  flags=["-e", f"inject={call}:error={error}:when=1+"])
    assert result.status == 1, result
    assert manifest.read_bytes() == before and os.listdir(folder) == ["manifest"]


def test_manifest_that_lacks_a_name_leaves_the_old_one(twinfs, source, tmp_path, strace):
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"same"})
    twinfs.ok("manifest", "--output", tmp_path / "manifest", source)
    before = (tmp_path / "manifest").read_bytes()
    result, _ = twinfs.traced("manifest", "--output", tmp_path / "manifest", source,
                              calls="trace=listxattr",
                              flags=["-e", "inject=listxattr:error=EIO:when=1"])
    assert result.status == 3 and b"is not replaced" in result.error, result
    assert (tmp_path / "manifest").read_bytes() == before


def readable_by(user, source):
    """Gives the files to a plain user, from whom folders can be hidden by their mode."""
    for path in (source, *source.rglob("*")):
        if user.user:
            os.chown(path, user.user.pw_uid, user.user.pw_gid)


@pytest.mark.parametrize("options", [(), ("--all",)])
@pytest.mark.parametrize("folder", ["in/deep", "in", "."])
def test_folder_that_cannot_be_read_any_more_leaves_the_old_one(as_user, source, tmp_path, options,
                                                                folder):
    trees.fill(source, {b"in/deep/a": b"same", b"other": b"same", b"in/deep/other": b"same"})
    readable_by(as_user, source)
    manifest = tmp_path / "manifest"
    as_user.ok("manifest", *options, "--output", manifest, source)
    before = manifest.read_bytes()
    (source / folder).chmod(0o100)
    try:
        result = as_user("manifest", *options, "--output", manifest, source)
        assert result.status in (1, 3) and manifest.read_bytes() == before, result
        if folder != ".":
            assert b"is not replaced" in result.error and f"'{folder}'".encode() in result.error
            excluded = as_user("manifest", *options, "--output", manifest,
                               "--exclude", folder, source)
            assert excluded.status == 0 and manifest.read_bytes() != before, excluded
    finally:
        (source / folder).chmod(0o700)


def test_folder_that_could_never_be_read_is_marked(as_user, source, tmp_path):
    trees.fill(source, {b"hidden/a": b"same", b"other": b"one"})
    readable_by(as_user, source)
    (source / "hidden").chmod(0)
    manifest = tmp_path / "manifest"
    for _ in range(2):
        result = as_user("manifest", "--all", "--output", manifest, source)
        assert result.status == 3 and b"is not replaced" not in result.error, result
    marks = {line["path"]: line.get("unread")
             for line in map(json.loads, manifest.read_bytes().splitlines()[1:-1])}
    assert marks == {"hidden": True, "other": None}
    result = as_user("manifest", "--compare", manifest, source)
    assert result.out == b"" and b"lacks what is in 1 folder" in result.error, result
    shutil.copytree(source, tmp_path / "backup", ignore=lambda *_: ["a"])
    (tmp_path / "backup/hidden").chmod(0o700)
    readable_by(as_user, tmp_path / "backup")
    result = as_user("restore", "--check", manifest, tmp_path / "backup")
    assert result.status == 3 and result.out == b"unlisted    hidden\n", result
    (source / "hidden").chmod(0o700)
    result = as_user("manifest", "--compare", manifest, source)
    assert b"content   hidden\n" in result.out and result.status == 3
    as_user.ok("manifest", "--all", "--output", manifest, source)


def test_interrupted_manifest_leaves_the_old_one(twinfs, mixed, tmp_path, strace):
    folder = tmp_path / "backup"
    folder.mkdir()
    trees.write(folder / "manifest", b"")
    result, _ = twinfs.traced("manifest", "--output", folder / "manifest", mixed,
                              calls="trace=listxattr",
                              flags=["-e", "inject=listxattr:signal=INT:when=50"])
    assert result.status in (-signal.SIGINT, 128 + signal.SIGINT), result
    assert os.listdir(folder) == ["manifest"]
    assert (folder / "manifest").read_bytes() == b""


def test_output_never_replaces_a_file_that_is_no_manifest(twinfs, mixed, tmp_path):
    for name, data in ((b"photo", b"\xff\xd8"), (b"json", b'{"a":1}\n'), (b"line", b"x" * 70000),
                       (b"newer", b'{"twinfs_manifest":3}\n')):
        trees.write(trees.join(os.fsencode(tmp_path), name), data)
        path = tmp_path / os.fsdecode(name)
        result = twinfs("manifest", "--output", path, mixed)
        assert result.status == 1 and str(path) in str(result), result
        assert path.read_bytes() == data
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("fifo", "link", "no/manifest", "."):
        assert twinfs("manifest", "--output", tmp_path / name, mixed).status == 1
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    assert os.readlink(tmp_path / "link") == "nowhere"


def test_reader_that_ends_early_is_no_failure_to_report(twinfs, mixed):
    with twinfs.mounted(mixed) as view:
        reading, writing = os.pipe()
        os.close(reading)
        run = subprocess.run(twinfs.command("manifest", view.path), env=twinfs.environment,
                             stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
    assert run.returncode == 1 and b"memory" not in run.stderr, run.stderr


# all names

KINDS = {"directory": stat.S_IFDIR, "symlink": stat.S_IFLNK, "fifo": stat.S_IFIFO,
         "socket": stat.S_IFSOCK, "character device": stat.S_IFCHR, "block device": stat.S_IFBLK}


def check_all(lines, *sources):
    """Compares a manifest of all names with the sources."""
    model = oracle.Source(sources)
    wanted = {}
    for (tree, path), entry in model.names.items():
        prefix = model.trees[tree][1]
        whole = prefix + b"/" + path if prefix and path else prefix or path
        wanted[whole] = (entry, model.trees[tree][0], path)
    wanted.pop(b"", None)
    assert {path_of(line) for line in lines} == wanted.keys()
    for line in lines:
        entry, root, below = wanted[path_of(line)]
        status = entry.stat
        assert KINDS.get(line.get("type"), stat.S_IFREG) == entry.kind, line
        assert int(line["mode"], 8) == stat.S_IMODE(status.st_mode), line
        assert (line["uid"], line["gid"]) == (status.st_uid, status.st_gid), line
        assert line["mtime"] * 10**9 + line["mtime_ns"] == status.st_mtime_ns, line
        assert xattrs_of(line) == {os.fsdecode(name): value
                                   for name, value in entry.xattrs.items()}, line
        if entry.kind == stat.S_IFREG:
            whole = os.path.join(root, below)
            assert line["size"] == status.st_size
            assert line["hash"] == oracle.hashes([whole])[0], line
        if entry.kind == stat.S_IFLNK:
            assert path_of({name.replace("target", "path"): value for name, value in line.items()
                            if name.startswith("target")}) == entry.target
        if "device" in line:
            assert line["device"] == f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def test_with_all_every_name_has_a_line(twinfs, source):
    trees.small(source / "small")
    trees.odd_names(source / "names")
    trees.links(source / "links")
    trees.metadata(source / "metadata")
    trees.special(source / "special")
    trees.sizes(source / "sizes")
    lines = lines_of(twinfs.ok("manifest", "--all", source))
    assert lines[0]["twinfs_manifest"] == 2 and lines[-1]["lines"] == len(lines) - 2
    check_all(lines[1:-1], source)
    redundant = lines_of(twinfs.ok("manifest", source))[1:-1]
    assert [line for line in lines[1:-1] if "content" in line] == redundant
    with twinfs.mounted(source) as view:
        again = lines_of(twinfs.ok("manifest", "--all", view.path))
        assert again[1:-1] == lines[1:-1]


def test_with_all_names_of_several_sources_are_below_their_trees(twinfs, tmp_path):
    roots = [trees.small(tmp_path / name) for name in ("one", "two", "b/two")]
    check_all(lines_of(twinfs.ok("manifest", "--all", *roots))[1:-1], *roots)


def test_with_all_known_files_are_not_read_again(twinfs, source, tmp_path, strace):
    trees.fill(source, {b"a": b"one", b"b/c": b"another", b"d": b"some", b"e": b"some"})
    manifest = tmp_path / "manifest"

    def names_read():
        """The names of the files that are read for a new manifest, which is right."""
        reads = twinfs.content_read("manifest", "--all", "--output", manifest, source,
                                    below=source)
        check_all([json.loads(line) for line in manifest.read_bytes().splitlines()][1:-1], source)
        return {os.path.basename(path) for _, path in reads}

    assert names_read() == {b"a", b"c", b"d", b"e"}
    before = manifest.read_bytes()
    assert names_read() == set()
    assert manifest.read_bytes() == before
    os.rename(source / "b", source / "renamed")
    trees.write(source / "a", b"others")
    assert names_read() == {b"a"}
    manifest.write_bytes(before[:-5])
    assert names_read() == {b"a", b"c"}


def test_with_all_a_file_that_is_written_to_has_no_hash_and_is_named(twinfs, source, tmp_path):
    trees.fill(source, {b"busy": b"log", b"quiet": b"file"})
    manifest = tmp_path / "manifest"
    with twinfs.mounted(source) as view, open(source / "busy", "ab", buffering=0) as writer:
        writer.write(b"line")
        result = twinfs("manifest", "--all", "--output", manifest, view.path)
        assert result.status == 3, result
        assert any("/source/busy'" in line and "writing" in line for line in result.errors)
    names = {line["path"]: line
             for line in map(json.loads, manifest.read_bytes().splitlines()[1:-1])}
    assert "hash" not in names["busy"] and "read" not in names["busy"]
    assert "hash" in names["quiet"]


def test_with_all_an_unreadable_file_is_named_and_listed(as_user, source, root_only):
    trees.fill(source, {b"a": b"one", b"secret": b"two"})
    (source / "secret").chmod(0o600)
    result = as_user("manifest", "--all", source)
    assert result.status == 3 and b"secret': Permission denied" in result.error, result
    names = {line["path"]: line for line in lines_of(result)[1:-1]}
    assert "hash" in names["a"] and "hash" not in names["secret"]


# the comparison with an older manifest


def compared(twinfs, manifest, where, *, status=3):
    """{path: word} of the names that are affected."""
    result = twinfs("manifest", "--compare", manifest, where)
    assert result.status == status, result
    return {path: word for word, path in map(str.split, result.out.decode().splitlines())}


@pytest.fixture
def compared_view(twinfs, source, tmp_path):
    """A view, a manifest of redundant names, and one of all names."""
    trees.fill(source, {b"kept/a": b"same", b"kept/b": b"same", b"other/c": b"same",
                        b"alone": b"only one", b"log": b"lines"})
    with twinfs.mounted(source) as view:
        manifests = tmp_path / "redundant", tmp_path / "all"
        twinfs.ok("manifest", "--output", manifests[0], view.path)
        twinfs.ok("manifest", "--all", "--output", manifests[1], view.path)
        yield view, *manifests


def test_unchanged_sources_affect_no_name(twinfs, compared_view):
    view, *manifests = compared_view
    for manifest in manifests:
        before = manifest.read_bytes()
        assert compared(twinfs, manifest, view.path, status=0) == {}
        assert manifest.read_bytes() == before


def test_busy_log_does_not_affect_redundant_names(twinfs, source, compared_view):
    view, redundant, _ = compared_view
    generation = json.loads(redundant.read_bytes().splitlines()[0])["generation"]
    with open(source / "log", "ab") as log:
        log.write(b"more")
    trees.write(source / "new", b"a new file of another size")
    view.sync()
    now = lines_of(twinfs.ok("manifest", view.path))
    assert now[0]["generation"] > generation
    assert compared(twinfs, redundant, view.path, status=0) == {}


def test_file_without_a_hash_may_change(twinfs, source, compared_view):
    view, _, manifest = compared_view
    with open(source / "log", "ab", buffering=0) as log:
        log.write(b"more")
        assert twinfs("manifest", "--all", "--output", manifest, view.path).status == 3
        log.write(b"and more")
        assert compared(twinfs, manifest, view.path, status=0) == {}
    view.sync()
    assert compared(twinfs, manifest, view.path, status=0) == {}
    (source / "log").unlink()
    assert compared(twinfs, manifest, view.path) == {"log": "gone"}


CHANGES = {
    # name: (what is done to the source, words for redundant names, words for all names)
    "removed": (lambda root: os.unlink(root / "other/c"),
                {"other/c": "gone"}, {"other/c": "gone"}),
    "rewritten": (lambda root: trees.write(root / "other/c", b"four"),
                  {"other/c": "gone"}, {"other/c": "content"}),
    "unique rewritten": (lambda root: trees.write(root / "alone", b"only ONE"),
                         {}, {"alone": "content"}),
    "kept removed": (lambda root: os.unlink(root / "kept/a"),
                     {"kept/b": "gone", "other/c": "place"},
                     {"kept/a": "gone", "kept/b": "place", "other/c": "place"}),
    "became redundant": (lambda root: trees.write(root / "log", b"only one"),
                         {"log": "new"}, {"log": "content"}),
    "copied": (lambda root: trees.write(root / "new", b"same"), {"new": "new"}, {}),
    "mode": (lambda root: os.chmod(root / "other/c", 0o600),
             {"other/c": "metadata"}, {"other/c": "metadata"}),
    "xattr": (lambda root: os.setxattr(root / "alone", "user.a", b"b"), {}, {"alone": "metadata"}),
    "hard link": (lambda root: os.link(root / "alone", root / "link"),
                  {}, {"alone": "metadata"}),
    "touched": (lambda root: os.utime(root / "alone", ns=(0, 7)), {}, {"alone": "metadata"}),
    "folder mode": (lambda root: os.chmod(root / "kept", 0o700), {}, {"kept": "metadata"}),
    "type": (lambda root: (os.unlink(root / "alone"), os.symlink("log", root / "alone")),
             {}, {"alone": "content"}),
    "new": (lambda root: trees.write(root / "kept/new", b"anything"), {}, {}),
}


@pytest.mark.parametrize("change, redundant_words, all_words", CHANGES.values(), ids=CHANGES)
def test_affected_names_are_printed(twinfs, source, compared_view, change, redundant_words,
                                    all_words):
    view, redundant, whole = compared_view
    change(source)
    view.sync()
    for manifest, words in ((redundant, redundant_words), (whole, all_words)):
        assert compared(twinfs, manifest, view.path, status=3 if words else 0) == words


def test_file_that_is_written_to_affects_its_name(twinfs, source, compared_view):
    view, redundant, whole = compared_view
    with open(source / "alone", "ab", buffering=0) as writer:
        writer.write(b"!")
        assert compared(twinfs, whole, view.path) == {"alone": "content"}
        assert compared(twinfs, redundant, view.path, status=0) == {}


def test_damaged_or_missing_manifest_is_not_compared(twinfs, source, tmp_path, compared_view):
    view, redundant, _ = compared_view
    redundant.write_bytes(redundant.read_bytes()[:-3])
    assert twinfs("manifest", "--compare", redundant, view.path).status == 1
    assert twinfs("manifest", "--compare", tmp_path / "no", view.path).status == 1
    for words in (("--all",), ("--output", tmp_path / "x")):
        assert twinfs("manifest", "--compare", redundant, *words, view.path).status == 2
    assert not (tmp_path / "x").exists()

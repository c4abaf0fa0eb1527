# SPDX-License-Identifier: MIT
"""scan: groups, excluded files, and an untouched source."""
import itertools
import os
import re
import stat
import subprocess
import time

import oracle
import pytest
import trees
from processes import stopped, until


def test_small_tree_has_two_groups(twinfs, source):
    trees.small(source)
    below = os.fsencode(source)
    assert twinfs.groups(source) == {
        frozenset(trees.join(below, path) for path in
                  (b"letters/a.txt", b"letters/again/a.txt", b"letters/linked.txt")),
        frozenset(trees.join(below, path) for path in
                  (b"pictures/1.jpg", b"pictures/copy of 1.jpg", b"backup/1.jpg")),
    }


def test_every_kind_of_file_is_grouped_as_the_oracle_does(twinfs, source):
    trees.mixed(source)
    twinfs.ok("scan", source)
    assert twinfs.groups(source) == oracle.path_groups(source)


def test_first_scan_with_few_descriptors_reads_all_uncached_files(twinfs, source):
    trees.many(source, 3000, lambda number: b"%070000d" % (number // 2), folders=100)
    os.sync()
    for path in source.rglob("0*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    twinfs.wrapped = ["prlimit", "--nofile=24", "--"]
    assert len(twinfs.groups(source)) == 1500


def test_complete_scan_prints_nothing_to_stderr(twinfs, source):
    trees.small(source)
    assert twinfs.ok("scan", source).error == b""


def test_quiet_scan_prints_nothing(twinfs, source):
    trees.small(source)
    result = twinfs.ok("scan", "--quiet", source)
    assert (result.out, result.error) == (b"", b"")


def test_progress_without_a_terminal_is_shown_by_option_only(twinfs, source):
    trees.small(source)
    assert twinfs.ok("scan", "--progress=never", source).error == b""
    assert twinfs.ok("scan", "--progress=always", source).error != b""


def test_empty_source_has_no_groups(twinfs, source):
    assert twinfs.groups(source) == set()


def test_empty_files_are_no_copies_by_default(twinfs, source):
    trees.fill(source, {b"one": b"", b"two": b"", b"three": b""})
    assert twinfs.groups(source) == set()


def test_symlinks_and_special_files_are_counted_apart(twinfs, source):
    trees.fill(source, {b"one": b"content", b"two": b""})
    os.symlink("one", source / "link")
    os.mkfifo(source / "pipe")
    summary = twinfs.listing(source)["summary"]
    assert (summary["files"], summary["others"], summary["bytes"]) == (2, 2, 7)
    assert twinfs.ok("list", "--summary", source).out.splitlines()[:2] == [
        b"files       2 in 1 directory, 7 bytes",
        b"others      2 symbolic links and special files, which have no content to compare"]
    os.unlink(source / "pipe")
    assert b"others      1 symbolic link or special file" in twinfs.ok("list", "--summary",
                                                                        source).out


def test_hard_links_alone_are_no_group(twinfs, source):
    trees.write(source / "file", b"content")
    os.link(source / "file", source / "link")
    assert twinfs.groups(source) == set()


def test_files_below_min_size_are_left_out(twinfs, source):
    trees.sizes(source)
    found = twinfs("list", "--format=json", "--min-size=4096", source).json["groups"]
    assert min(group["size"] for group in found) == 4096
    assert len(found) == len(oracle.path_groups(source, min_size=4096))


def test_min_size_accepts_units(twinfs, source):
    trees.sizes(source)
    found = twinfs("list", "--format=json", "--min-size=64k", source).json["groups"]
    assert min(group["size"] for group in found) == 65536


def test_smaller_min_size_finds_files_that_an_earlier_scan_left_out(twinfs, source):
    trees.sizes(source)
    twinfs.ok("scan", "--min-size=1M", source)
    assert twinfs.groups(source) == oracle.path_groups(source)


def excluded(source, *globs):
    def run(twinfs):
        words = [word for glob in globs for word in ("--exclude", glob)]
        result = twinfs.ok("list", "--format=fdupes", *words, source)
        return {line for line in result.lines if line}
    return run


@pytest.mark.parametrize("globs, left", [
    (["*.tmp"], {b"a/x.jpg", b"b/x.jpg", b"b/tmp/x.jpg"}),
    (["tmp"], {b"a/x.jpg", b"b/x.jpg", b"a/x.tmp", b"b/x.tmp"}),
    (["a/*"], {b"b/x.jpg", b"b/tmp/x.jpg", b"b/x.tmp", b"b/tmp/x.tmp"}),
    (["b/tmp"], {b"a/x.jpg", b"b/x.jpg", b"a/x.tmp", b"b/x.tmp"}),
    (["*.tmp", "b/tmp"], {b"a/x.jpg", b"b/x.jpg"}),
    (["x.jpg/x"], {b"a/x.jpg", b"b/x.jpg", b"b/tmp/x.jpg", b"a/x.tmp", b"b/x.tmp",
                   b"b/tmp/x.tmp"}),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_glob_without_slash_matches_base_names_and_with_slash_paths(twinfs, source, globs, left):
    for folder in (b"a/", b"b/", b"b/tmp/"):
        trees.fill(source, {folder + b"x.jpg": b"picture", folder + b"x.tmp": b"temporary"})
    assert excluded(source, *globs)(twinfs) == {
        trees.join(source, path) for path in left}


def test_source_is_not_touched(twinfs, source):
    """The kernel sets the atime of a symlink whose target is read; no call prevents this."""
    trees.small(source)
    paths = [source, *source.rglob("*")]
    for path in paths:
        os.utime(path, ns=(10**18, 2 * 10**18), follow_symlinks=False)

    def state():
        found = [os.lstat(path) for path in paths]
        return [(0 if stat.S_ISLNK(s.st_mode) else s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns,
                 s.st_mode, s.st_nlink) for s in found]
    before = state()
    twinfs.ok("scan", source)
    assert state() == before


# several sources

def two_sources(tmp_path):
    one = trees.fill(tmp_path / "one", {b"a": b"both", b"b": b"only one"})
    two = trees.fill(tmp_path / "two", {b"x/a": b"both", b"c": b"only two"})
    return one, two


def test_copies_are_found_across_sources(twinfs, tmp_path):
    one, two = two_sources(tmp_path)
    assert twinfs.groups(one, two) == {frozenset([one + b"/a", two + b"/x/a"])}


def test_source_given_twice_is_one(twinfs, tmp_path):
    one, _ = two_sources(tmp_path)
    os.symlink(one, tmp_path / "link")
    listing = twinfs.listing(one, one + b"/", tmp_path / "link")
    assert listing["groups"] == []
    assert listing["summary"]["files"] == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_nested_sources_are_one_tree(twinfs, tmp_path, order):
    _, two = two_sources(tmp_path)
    roots = [two, two + b"/x"]
    listing = twinfs.listing(*(roots[number] for number in order))
    assert listing["groups"] == []
    assert listing["summary"]["files"] == 2


def test_source_through_a_symlink_is_its_target(twinfs, tmp_path):
    one, two = two_sources(tmp_path)
    os.symlink(two, tmp_path / "link")
    assert twinfs.groups(one, tmp_path / "link") == {
        frozenset([one + b"/a", two + b"/x/a"])}


def test_relative_source_is_the_same_as_absolute(twinfs, tmp_path):
    one, two = two_sources(tmp_path)
    result = twinfs.ok("list", "--format=json", "one", "./two/../two", cwd=tmp_path)
    assert len(result.json["groups"]) == 1
    assert twinfs.groups(one, two) == {frozenset([one + b"/a", two + b"/x/a"])}


# other file systems

@pytest.fixture
def with_mount(source, root_only):
    trees.fill(source, {b"here": b"copy", b"also": b"copy", b"mnt/hidden": b"hidden"})
    if subprocess.run(["mount", "-t", "tmpfs", "none", source / "mnt"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    trees.write(source / "mnt/there", b"copy")
    yield os.fsencode(source)
    subprocess.run(["umount", source / "mnt"], check=True)


def test_other_file_systems_are_not_entered(twinfs, with_mount):
    group = frozenset([with_mount + b"/here", with_mount + b"/also"])
    assert twinfs.groups(with_mount) == {group}
    assert twinfs.groups("-x", with_mount) == {group}


def test_other_file_systems_are_entered_by_option(twinfs, with_mount):
    assert twinfs.groups("--cross-file-systems", with_mount) == {frozenset(
        with_mount + name for name in (b"/here", b"/also", b"/mnt/there"))}


def test_mounted_file_is_judged_by_its_own_file_system(twinfs, source, tmp_path, strace,
                                                       root_only):
    """The first walk reads no file in memory, as stores to it change no times."""
    trees.fill(source, {f"on disk {number}".encode(): b"copy" for number in range(40)})
    bound, memory, log = source / "bound", tmp_path / "memory", tmp_path / "log"
    bound.touch()
    memory.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", memory], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        (memory / "file").write_bytes(b"copy")
        subprocess.run(["mount", "--bind", memory / "file", bound], check=True)
        assert until(lambda: time.time() > (memory / "file").stat().st_ctime + 0.1)
        twinfs.under_strace("-y", "-e", "trace=preadv2", output=log).ok(
            "scan", "--cross-file-systems", source)
        groups = twinfs.groups("--cross-file-systems", source)
    finally:
        subprocess.run(["umount", bound], check=False)
        subprocess.run(["umount", memory], check=True)
    assert {len(group) for group in groups} == {41}
    assert "/on disk 9>" in log.read_text()
    assert f"{bound}>" not in log.read_text()


def test_bind_mount_in_the_source_is_not_entered(twinfs, source, tmp_path, root_only):
    trees.fill(source, {b"a": b"copy", b"bound/inside": b"alone"})
    other = trees.fill(tmp_path / "other", {b"b": b"copy"})
    if subprocess.run(["mount", "--bind", other, source / "bound"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        assert twinfs.groups(source) == set()
    finally:
        subprocess.run(["umount", source / "bound"], check=True)


# reads

def test_files_of_a_unique_size_are_not_opened(twinfs, source, strace):
    trees.fill(source, {b"alone": b"x" * 5000, b"a": b"y" * 6000, b"b": b"y" * 6000})
    result, trace = twinfs.traced("scan", source, calls="trace=open,openat,openat2")
    assert result.status == 0, result
    names = {name.rsplit(b"/", 1)[-1] for name in re.findall(rb'"([^"]*)"', trace)}
    assert {b"a", b"b"} <= names
    assert b"alone" not in names


def test_plain_user_can_scan_its_own_files(as_user, tmp_path, plain_user):
    trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), tmp_path / "source"], check=True)
    assert len(as_user.groups(tmp_path / "source")) == 2


def test_index_of_a_plain_user_is_below_the_state_folder(as_user, tmp_path):
    trees.small(tmp_path / "source")
    result = as_user("scan", tmp_path / "source", index=False)
    assert result.status == 0, result
    state = as_user.home / "state" / "twinfs"
    [index] = state.iterdir()
    assert index.name.startswith("source")
    assert index.stat().st_mode & 0o7777 == 0o700
    assert state.stat().st_mode & 0o7777 == 0o700


def test_folder_that_cannot_be_opened_is_an_error_and_not_empty(twinfs, source, strace):
    """Otherwise rsync --delete would remove its backup. Each pair of opens fails once. The source
    is known, as the walk of an unknown one opens files among the directories."""
    def listed(*flags):
        # without further threads, one thread opens all files
        return twinfs.traced("list", "--format=json", source, calls="trace=openat2,clone3",
                             flags=["-y", "-e", "inject=clone3:error=EAGAIN", *flags])

    trees.fill(source, {f"{folder}/{name}".encode(): name.encode()
                        for folder in "def" for name in "xy"})
    twinfs.ok("scan", source)
    # each index that the user has is opened before the source is
    opens = [line for line in listed()[1].splitlines() if b"openat2(" in line]
    [first, *_] = [number for number, line in enumerate(opens, 1) if b"<%b>" % source in line]
    named = 0
    for number in itertools.count(first):
        result, trace = listed("-e", f"inject=openat2:error=EIO:when={number}..{number + 1}")
        if b"EIO (Input/output error) (INJECTED)" not in trace:
            break
        if result.status == 3:
            named += any("cannot read directory" in line for line in result.errors)
            assert result.json["summary"]["errors"] >= 1, (number, result)
        else:
            assert result.status == 0, (number, result)
            assert result.json["summary"]["files"] == 6, (number, result)
    assert named >= 3
    assert sorted(len(group) for group in twinfs.groups(source)) == [3, 3]


def test_scan_beside_a_view_waits_until_the_view_is_current(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view:
        trees.write(source / "c", b"same")
        result = twinfs.ok("scan", source)
        assert str(view.path) in result.errors[0]
        assert re.search(rb"^redundant +2 files", result.out, re.MULTILINE)
        assert len(os.listdir(next(view.dups.iterdir()))) == 3
        assert twinfs.ok("scan", "--quiet", source).out == b""


def test_scan_beside_a_view_refuses_other_options_and_reports_what_is_pending(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source):
        for option in ("--min-size=100", "--exclude=*.tmp", "--cross-file-systems"):
            result = twinfs("scan", option, source)
            assert result.status == 1 and result.out == b""
            assert option.split("=")[0] in result.errors[-1]
    with open(source / "a", "r+b"), twinfs.mounted(source, options=()):
        (source / "b").touch()
        assert twinfs("scan", source).status == 3


def test_second_scan_at_the_same_time_is_refused_and_names_the_first(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with open(source / "a", "r+b"), twinfs.started("scan", source) as first:
        assert until(lambda: (twinfs.index / "data.mdb").exists())
        with stopped(first.pid):
            result = twinfs("scan", source)
            assert result.status == 1
            assert f"process {first.pid}" in result.errors[-1]

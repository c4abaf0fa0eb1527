# SPDX-License-Identifier: MIT
"""export writes an inventory: a row for each regular file, in parts with checksums, and a manifest
that replaces the earlier one only when the new one is whole."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import threading

import collide
import pytest
import trees
import walk
from conftest import preload
from disks import disk
from inventories import facts, load, only, walked
from processes import is_held, release, until
from program import HOLD_S, path_of

CHANGING = ("write", "fsync", "mkdir", "mkdirat", "renameat", "unlinkat")
@pytest.fixture
def output(tmp_path):
    return tmp_path / "inventory"


def words_of(output, source):
    return ["export", "--host=alpha", f"--output={output}", source]


def export(twinfs, output, *words, host="alpha", status=0):
    result = twinfs("export", "--host", host, "--output", output, *words)
    assert result.status == status, result
    return result


def tree_of(folder):
    """{path: content} of a folder."""
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


def content_name(data):
    run = subprocess.run(["xxhsum", "-q", "-H2", "-"], input=data, check=True,
                         stdout=subprocess.PIPE)
    return run.stdout.split()[0].decode()


def expected_groups(root):
    """{inode: name of its group} of the files that have equal ones."""
    inodes = {}
    for entry in walk.walk(os.fsencode(root), xattrs=False):
        if stat.S_ISREG(entry.stat.st_mode) and entry.stat.st_size > 0:
            handle = walk.open_beneath(os.fsencode(root), entry.path, os.O_RDONLY)
            with open(handle, "rb") as file:
                inodes.setdefault(file.read(), set()).add(entry.stat.st_ino)
    return {inode: content_name(data) for data, there in inodes.items() if len(there) > 1
            for inode in there}


# ---- rows ---------------------------------------------------------------------------------------


def test_inventory_equals_an_independent_walk(twinfs, source, output):
    trees.small(source / "small")
    trees.odd_names(source / "names")
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    trees.special(source / "special")
    trees.deep(source / "deep")
    export(twinfs, output, source)
    manifest, rows = only(output)
    assert {facts(row) for row in rows} == walked(source)
    assert {row["ino"]: row["group"] for row in rows if "group" in row} == expected_groups(source)
    assert manifest["host"] == "alpha" and manifest["generation"] == 1
    assert manifest["sources"] == [{"path": str(source)}]
    assert (manifest["errors"], manifest["pending"], manifest["min_size"]) == (0, 0, 1)
    assert all("sha256" not in row for row in rows)


def test_inode_numbers_above_63_bits_are_exact(twinfs, source, output):
    trees.fill(source, {b"a": b"equal", b"b": b"equal", b"c": b"single"})
    preload(twinfs, "large_inodes")
    numbers = {os.fsencode(entry.name): str(entry.inode() | 1 << 63)
               for entry in os.scandir(source)}
    export(twinfs, output, source)
    assert {path_of(row): row["ino"] for row in only(output)[1]} == numbers
    [group] = twinfs.listing(source)["groups"]
    assert {os.path.basename(path_of(copy)): copy["ino"] for copy in group["copies"]} == {
        name: number for name, number in numbers.items() if name != b"c"}


def test_colliding_contents_have_groups_of_their_own(twinfs, source, output):
    for number, data in enumerate(collide.short_contents()):
        trees.fill(source, {b"%d/one" % number: data, b"%d/two" % number: data})
    export(twinfs, output, source)
    groups = {}
    for row in only(output)[1]:
        groups.setdefault(row["group"], []).append(path_of(row).partition(b"/")[0])
    [name] = {group.partition("~")[0] for group in groups}
    assert sorted(groups) == sorted([name, f"{name}~2", f"{name}~3", f"{name}~4"])
    assert all(len(members) == 2 and len(set(members)) == 1 for members in groups.values())


def test_names_of_a_file_in_two_sources_are_in_one_row(twinfs, tmp_path, output):
    one, two = tmp_path / "one", tmp_path / os.fsdecode(b"two \xff\n")
    trees.fill(one, {b"a/file": b"content", b"alone": b"alone"})
    two.mkdir()
    os.link(one / "a/file", two / os.fsdecode(b"\xfe"))
    export(twinfs, output, one, two)
    manifest, rows = only(output)
    assert {facts(row) for row in rows} == walked(one, two)
    assert [path_of(record) for record in manifest["sources"]] == [os.fsencode(one),
                                                                  os.fsencode(two)]


def test_inventory_of_an_empty_source_has_no_part(twinfs, source, output):
    export(twinfs, output, source)
    manifest, rows = only(output)
    assert rows == [] and manifest["parts"] == []


def test_inventory_of_a_view_is_current(twinfs, small, source, output):
    with twinfs.mounted(source) as view:
        trees.fill(source, {b"new": b"n", b"newer": b"n"})
        (source / "alone").unlink()
        export(twinfs, output, view.path)
        _, rows = only(output)
        assert {facts(row) for row in rows} == walked(source)
        assert {row["ino"]: row["group"] for row in rows
                if "group" in row} == expected_groups(source)


def test_plain_user_exports_with_unreadable_files(as_user, tmp_path, output):
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"same size", b"b": b"SAME SIZE", b"closed/in": b"x"})
    (source / "closed").chmod(0)
    try:
        result = export(as_user, output, source, status=3)
    finally:
        (source / "closed").chmod(0o755)
    manifest, rows = only(output)
    assert {path_of(row) for row in rows} == {b"a", b"b"}
    assert manifest["errors"] == 1 and b"could not be read" in result.error
    assert output.stat().st_uid == as_user_id(as_user)


def as_user_id(program):
    return program.user.pw_uid if program.user else os.geteuid()


def test_index_without_its_source_is_exported(twinfs, small, source, output):
    twinfs.ok("scan", source)
    expected = {(*fact[:4], None, fact[5]) for fact in walked(source)}
    source.rename(source.with_name("away"))
    result = export(twinfs, output, "--no-scan", source)
    assert b"the last scan was at" in result.error
    assert {facts(row) for row in only(output)[1]} == expected


def test_inventory_says_that_the_last_scan_was_killed(twinfs, small, source, output, strace):
    with open(source / "alone", "r+b"):
        killed, _ = twinfs.traced("scan", source, calls="trace=clock_nanosleep", flags=[
            "-e", "inject=clock_nanosleep:signal=KILL:when=1"])
    assert killed.status == -signal.SIGKILL
    result = export(twinfs, output, "--no-scan", source, status=3)
    assert b"last scan has not ended" in result.error
    assert only(output)[0]["errors"] == 1


def test_files_below_the_smallest_size_have_rows_and_no_group(twinfs, source, output):
    trees.fill(source, {b"a": b"x", b"b": b"x", b"large": b"y" * 9000, b"larger": b"y" * 9000})
    export(twinfs, output, "--min-size=4096", source)
    manifest, rows = only(output)
    assert manifest["min_size"] == 4096
    assert {path_of(row) for row in rows} == {b"a", b"b", b"large", b"larger"}
    assert {path_of(row) for row in rows if "group" in row} == {b"large", b"larger"}


# ---- generations --------------------------------------------------------------------------------


def test_only_the_user_can_read_the_inventory(twinfs, small, source, output):
    before = os.umask(0)
    try:
        export(twinfs, output, source)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (output, *output.rglob("*")) if path.is_file()}
    assert modes == {0o600}
    folders = {path for path in (output, *output.rglob("*")) if path.is_dir()}
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_second_export_replaces_the_first(twinfs, small, source, output):
    export(twinfs, output, source)
    first, before = only(output)
    trees.fill(source, {b"new": b"new"})
    (source / "alone").unlink()
    export(twinfs, output, source)
    second, after = only(output)
    assert (first["generation"], second["generation"]) == (1, 2)
    assert first["index"] == second["index"]
    assert {facts(row) for row in after} == walked(source)
    ids = {path_of(row): row["id"] for row in before}
    assert all(ids[path] == row["id"] for row in after if (path := path_of(row)) in ids)


def test_new_index_has_another_identity(twinfs, small, source, output):
    export(twinfs, output, source)
    first, _ = only(output)
    shutil.rmtree(twinfs.index)
    export(twinfs, output, source)
    second, _ = only(output)
    assert first["index"] != second["index"] and second["generation"] == 2


def test_output_folder_in_a_source_can_be_used_again(twinfs, small, source):
    for generation in (1, 2, 3):
        export(twinfs, source / "inventory", source)
        manifest, _ = only(source / "inventory")
        assert manifest["generation"] == generation


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["", ".", "-a", "a/b", "../a", "a b", "a\n", "é", "a" * 65])
def test_bad_host_name_is_wrong_usage(twinfs, small, source, output, host):
    result = export(twinfs, output, source, host=host, status=2)
    assert len(result.errors) == 1 and "letters, digits" in result.errors[0]
    assert not output.exists()


@pytest.mark.parametrize("words", [["--host=a", "x"], ["--output=d", "x"],
                                   ["--host=a", "--output=d"], ["--host=a", "--output=", "x"]])
def test_missing_option_or_source_is_wrong_usage(twinfs, words):
    assert twinfs("export", *words).status == 2


def other_file(output):
    trees.fill(output, {b"letter.txt": b"dear"})


def other_host(output):
    manifest = json.loads((output / "manifest.json").read_text())
    (output / "manifest.json").write_text(json.dumps(manifest | {"host": "beta"}))


def other_format(output):
    manifest = json.loads((output / "manifest.json").read_text())
    (output / "manifest.json").write_text(json.dumps(manifest | {"format": "twinfs-digests"}))


def newer_schema(output):
    manifest = json.loads((output / "manifest.json").read_text())
    (output / "manifest.json").write_text(json.dumps(manifest | {"schema": 2}))


def damaged(output):
    (output / "manifest.json").write_text('{"format": "twinfs-inv')


def a_list(output):
    (output / "manifest.json").write_text("[]")


def linked(output):
    (output / "manifest.json").rename(output.with_name("other"))
    (output / "manifest.json").symlink_to(output.with_name("other"))


def fifo(output):
    (output / "manifest.json").unlink()
    os.mkfifo(output / "manifest.json")


def other_in_generation(output):
    trees.fill(output, {b"generation-7/photo.jpg": b"dear"})


def odd_generation(output):
    trees.fill(output, {b"generation-07/part-00001.jsonl": b""})


@pytest.mark.parametrize("spoil", [other_file, other_host, other_format, newer_schema, damaged,
                                   a_list, linked, fifo, other_in_generation, odd_generation])
def test_folder_of_something_else_is_refused_unchanged(twinfs, small, source, output, spoil):
    export(twinfs, output, source)
    spoil(output)
    before = {path: path.lstat().st_mtime_ns for path in output.rglob("*")}
    result = export(twinfs, output, source, status=1)
    assert len(result.errors) == 1
    assert str(output) in result.errors[0] and "give --output=DIR another" in result.errors[0]
    assert {path: path.lstat().st_mtime_ns for path in output.rglob("*")} == before


def test_folder_of_the_user_is_refused(twinfs, small, source):
    before = tree_of(source)
    result = export(twinfs, source, source, status=1)
    assert "has other files" in result.errors[0]
    assert tree_of(source) == before


@pytest.mark.parametrize("kind", ["file", "missing/deeper", "dangling"])
def test_output_that_is_no_folder_is_refused(twinfs, small, source, tmp_path, kind):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    result = export(twinfs, tmp_path / kind, source, status=1)
    assert len(result.errors) == 1 and str(tmp_path / kind) in result.errors[0]
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_failed_scan_leaves_no_folder(twinfs, tmp_path, output):
    result = export(twinfs, output, tmp_path / "missing", status=1)
    assert str(tmp_path / "missing") in result.errors[0] and not output.exists()


def test_folder_in_use_is_refused(twinfs, small, source, output):
    export(twinfs, output, source)
    before = tree_of(output)
    handle = os.open(output, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        result = export(twinfs, output, source, status=1)
    finally:
        os.close(handle)
    assert len(result.errors) == 1 and "another process" in result.errors[0]
    assert tree_of(output) == before


def test_second_export_at_once_is_refused(twinfs, small, source, output, tmp_path, strace):
    twinfs.ok("scan", source)
    with twinfs.held(*words_of(output, source), call="fsync", when=2) as process:
        assert any(output.glob("generation-1/*"))
        result = export(twinfs.with_index(tmp_path / "other"), output, source, status=1)
        release(process)
        assert process.wait() == 0
    assert len(result.errors) == 1 and "another process" in result.errors[0]
    assert {facts(row) for row in only(output)[1]} == walked(source)


# ---- failures -----------------------------------------------------------------------------------


def test_full_disk_keeps_the_old_inventory(twinfs, small, source, tmp_path):
    many = tmp_path / "many"
    trees.many(many, 20_000, lambda number: b"", folders=20)
    with disk("ext4", tmp_path, 8 << 20) as root:
        output = root / "inventory"
        export(twinfs, output, source)
        before = tree_of(output)
        fill_disk(root / "fill", 100_000)
        result = export(twinfs.with_index(tmp_path / "other"), output, many, status=1)
        assert len(result.errors) == 1 and "No space left on device" in result.errors[0]
        assert "generation-2/part-00001" in result.errors[0] and "free space" in result.errors[0]
        assert tree_of(output) == before
        (root / "fill").unlink()
        export(twinfs.with_index(tmp_path / "other"), output, many)
        assert len(only(output)[1]) == 20_000


def fill_disk(path, left):
    """Fills a disk but for some bytes."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(path, path.stat().st_size - left)


def test_read_only_disk_is_refused_before_the_scan(twinfs, small, source, tmp_path):
    with disk("ext4", tmp_path, 8 << 20) as root:
        output = root / "inventory"
        export(twinfs, output, source)
        before = tree_of(output)
        subprocess.run(["mount", "-o", "remount,ro", root], check=True)
        other = twinfs.with_index(tmp_path / "other")
        for folder in (output, root / "second"):
            result = export(other, folder, source, status=1)
            assert len(result.errors) == 1 and "Read-only file system" in result.errors[0]
        assert tree_of(output) == before and not other.index.exists()


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "second"])
def test_export_killed_at_any_call_leaves_a_whole_inventory_or_none(twinfs, small, source, output,
                                                                    earlier, strace):
    twinfs.ok("scan", source)
    saved = output.with_name("saved")
    if earlier:
        export(twinfs, saved, source)
        trees.fill(source, {b"new": b"new"})
        twinfs.ok("scan", source)
    expected = walked(source)
    points = set()
    runs = faults(twinfs, words_of(output, source), "signal=KILL")
    while True:
        shutil.rmtree(output, ignore_errors=True)
        if earlier:
            shutil.copytree(saved, output)
        point = next(runs, None)
        if point is None:
            break
        points |= {point[0]} if point[2] else set()
        if (output / "manifest.json").exists():
            manifest, rows = load(output)
            assert manifest["generation"] in ((1, 2) if earlier else (1,)), point
            if manifest["generation"] == 1 + earlier:
                assert {facts(row) for row in rows} == expected, point
        else:
            assert not earlier, point
        export(twinfs, output, source)
        assert {facts(row) for row in only(output)[1]} == expected, point
    assert points >= {"write", "fsync", "mkdirat", "renameat"}


def faults(twinfs, words, fault, calls=CHANGING):
    """Runs in which the first, second ... call of each kind gets a fault, until a run has no
    further call of that kind. Yields the kind, the result and whether the run had the fault."""
    for call in calls:
        for number in range(1, 200):
            result, trace = twinfs.traced(*words, calls=f"trace={','.join(calls)}",
                                          flags=["-e", f"inject={call}:{fault}:when={number}"])
            hit = any(word in trace for word in (b"killed by SIGKILL", b"(INJECTED)", b"SIGINT"))
            yield call, result, hit
            if not hit:
                break


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "second"])
def test_export_with_a_failed_call_leaves_nothing_behind(twinfs, small, source, output, earlier,
                                                         strace):
    twinfs.ok("scan", source)
    if earlier:
        export(twinfs, output, source)
    before = tree_of(output) if earlier else None
    failed = set()
    for call, result, hit in faults(twinfs, words_of(output, source), "error=EIO",
                                    ("fsync", "mkdir", "mkdirat", "renameat")):
        after = tree_of(output) if output.exists() else None
        if result.status == 0:
            only(output)
        elif hit:
            failed.add(call)
            assert result.status == 1 and len(result.errors) == 1, (call, result)
            assert "Input/output error" in result.errors[0]
        if hit and result.status == 1 and call == "fsync" and after and before != after:
            load(output)  # the manifest was renamed already
        elif result.status == 1:
            assert after == before, (call, result)
        if not earlier:
            shutil.rmtree(output, ignore_errors=True)
        before = tree_of(output) if output.exists() else None
    assert failed == {"fsync", "mkdir", "mkdirat", "renameat"}


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "second"])
def test_interrupted_export_leaves_nothing_behind(twinfs, small, source, output, earlier, strace):
    twinfs.ok("scan", source)
    if earlier:
        export(twinfs, output, source)
    before = tree_of(output) if earlier else None
    stopped = 0
    for call, result, hit in faults(twinfs, words_of(output, source), "signal=INT"):
        after = tree_of(output) if output.exists() else None
        if after != before:
            only(output)
        elif hit:
            stopped += 1
        assert (result.status == -signal.SIGINT) == hit, (call, result)
        if not earlier:
            shutil.rmtree(output, ignore_errors=True)
        before = tree_of(output) if output.exists() else None
    assert stopped > 3


def test_failing_zstd_is_reported(twinfs, small, source, output):
    export(twinfs, output, source)
    if not next(output.glob("*/*")).name.endswith(".zst"):
        pytest.skip("needs a build with libzstd")
    before = tree_of(output)
    preload(twinfs, "failing_zstd")
    result = export(twinfs, output, source, status=1)
    assert len(result.errors) == 1 and "generation-2/part-00001" in result.errors[0]
    assert tree_of(output) == before


def test_parts_that_cannot_be_removed_are_removed_by_the_next_export(twinfs, small, source, output,
                                                                     strace):
    export(twinfs, output, source)
    result, _ = twinfs.traced(*words_of(output, source), calls="trace=unlinkat",
                              flags=["-e", "inject=unlinkat:error=EBUSY"])
    assert result.status == 0 and "generation-1" in result.errors[0]
    assert load(output)[0]["generation"] == 2 and (output / "generation-1").exists()
    export(twinfs, output, source)
    assert only(output)[0]["generation"] == 3


# ---- changes meanwhile, and scale ---------------------------------------------------------------


def churn(source, ended):
    number = 0
    while not ended.is_set():
        number += 1
        path = source / f"churn {number % 300}"
        path.write_bytes(b"%d" % (number % 7))
        if number % 3 == 0:
            path.rename(source / f"moved {number % 50}")
        if number % 5 == 0:
            (source / f"moved {number % 40}").unlink(missing_ok=True)


@contextlib.contextmanager
def meanwhile(change, source):
    """Runs change(source, ended) in a thread until the end of the block."""
    ended = threading.Event()
    writer = threading.Thread(target=change, args=(source, ended))
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def test_changes_meanwhile_hide_no_other_file(twinfs, source, output):
    trees.many(source / "stable", 6000, lambda number: b"%d" % (number // 2), folders=6)
    stable = walked(source)
    with twinfs.mounted(source) as view, meanwhile(churn, source):
        for _ in range(5):
            result = twinfs(*words_of(output, view.path))
            assert result.status in (0, 3), result
            rows = [facts(row) for row in only(output)[1]]
            assert len({fact[3:] for fact in rows}) >= 6000
            assert stable <= set(rows)
            assert all(path.startswith((b"stable/", b"churn ", b"moved "))
                       for names, *_ in rows for _, path in names)


def move_about(source, ended):
    """Renames each file between two folders, again and again."""
    here, there = source / "here", source / "there"
    while not ended.is_set():
        for path in sorted(here.iterdir()):
            path.rename(there / path.name)
        here, there = there, here


def test_renamed_files_are_not_missing(twinfs, source, output, plain_build):
    """A commit has at most 32,768 names. So between two commits files can have no name. The
    manifest counts the files that are renamed too often. With sanitizers, a daemon is slower than
    the renames, and a ticket waits for minutes."""
    (source / "there").mkdir()
    trees.fill(source, {b"here/%d" % number: b"" for number in range(40_000)})
    inodes = {path.stat().st_ino for path in (source / "here").iterdir()}
    with twinfs.mounted(source) as view, meanwhile(move_about, source):
        for _ in range(5):
            result = twinfs(*words_of(output, view.path))
            assert result.status in (0, 3), result
            manifest, rows = only(output)
            found = {row["ino"] for row in rows}
            assert len(found) == len(rows) and found <= inodes
            assert len(inodes - found) == manifest["pending"]
            assert (result.status == 3) == (b"renamed or removed" in result.error) == (
                manifest["pending"] > 0)


def test_file_renamed_during_its_recheck_stays_the_same_file(twinfs, source, output, strace):
    """The daemon finds no file in one folder, and is held until the file has left the other. So its
    index has no name of the file until the next recheck."""
    trees.fill(source, {b"one/file": b"x"})
    one, two = source / "one/file", source / "two/file"
    with twinfs.mounted(source) as view:
        two.parent.mkdir()  # after the other folder, so that it is rechecked after that one
        export(twinfs, output, view.path)
        [before] = only(output)[1]
        with view.traced("-P", two.parent, "-e", "trace=statx", "-e",
                         f"inject=statx:delay_enter={HOLD_S}s:when=1"):
            one.rename(two)
            assert until(lambda: is_held(view.pid))
            two.rename(one)
        view.sync()
        export(twinfs, output, view.path)
        [after] = only(output)[1]
        assert (after["id"], after["path"]) == (before["id"], "one/file")


def test_memory_does_not_grow_with_files(twinfs, source, output, plain_build):
    """The rows of 100,000 files would need 100 MiB."""
    trees.many(source, 100_000, lambda number: b"", folders=100)
    twinfs.ok("scan", source)
    twinfs.wrapped = ["prlimit", f"--data={16 << 20}", "--"]
    export(twinfs, output, "--no-scan", source)
    twinfs.wrapped = []
    assert {path_of(row) for row in only(output)[1]} == {
        name[1] for names, *_ in walked(source) for name in names}

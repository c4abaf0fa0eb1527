# SPDX-License-Identifier: MIT
"""attest reads the files of a keep list from the disk. It attests exactly the contents that are
surely there, and promises them before it reads."""
import mmap
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest
import trees
from disks import bound, disk, extents, in_memory
from inventories import load
from keep_lists import DAYS, Keeper, contents, keep_text
from processes import has_open, one_waits_for_lease, release, until
from test_act_causes import figure, warnings
from test_digest_changes import ATTACKS, overwrite_and_set_times
from wanted_lists import sha256

MIB = 1 << 20
OCFS2 = 0x7461636F


@pytest.fixture
def host(twinfs, tmp_path, source):
    return Keeper(twinfs, tmp_path, source)


def all_kept(host, rows):
    return host.outcomes() == {row["path"]: True for row in rows}


# ---- contents ---------------------------------------------------------------------------


def test_contents_that_are_there_are_attested_and_promised(host, source):
    trees.small(source / "small")
    trees.odd_names(source / "names")
    trees.links(source / "links")
    trees.sizes(source / "sizes")
    trees.holes(os.fsencode(source / "sparse"), 64 * MIB, {32 * MIB: b"data"})
    trees.fill(source, {b"large": os.urandom(9 * MIB + 17), b"equal 1": b"equal",
                        b"equal 2": b"equal"})
    rows = host.keep()
    before = time.time()
    result = host.attest()
    assert all_kept(host, rows)
    assert figure(result, "kept") == len(rows) and figure(result, "not kept") == 0
    promises = host.promises()
    assert set(promises) == contents(rows)
    assert all(int(before) + DAYS <= until <= time.time() + DAYS for until in promises.values())
    assert host.left() == [host.attested.name]
    host.twinfs.ok("check", source)


def test_files_of_several_sources_are_attested(twinfs, tmp_path):
    sources = tmp_path / "one", tmp_path / os.fsdecode(b"two \xff\n")
    for number, source in enumerate(sources):
        trees.fill(source, {b"a/file": b"content %d" % number, b"\xfe": b"odd %d" % number})
    host = Keeper(twinfs, tmp_path, *sources)
    rows = host.keep()
    assert len(rows) == 4
    host.attest()
    assert all(row["kept"] for row in host.attestation()[1])
    host.operands = sources[:1]
    result = host.attest(status=1)
    assert "belongs to other sources" in result.errors[0], result


def test_empty_list_is_attested(host, source):
    trees.fill(source, {b"a": b"a"})
    host.keep(lambda path: False)
    host.attest()
    assert host.attestation()[1] == [] and host.promises() == {}


def test_index_is_found_by_the_list(private_state, twinfs, tmp_path, source, aside):
    trees.fill(source, {b"a": b"a"})
    trees.fill(aside, {b"a": b"a"})
    host = Keeper(twinfs, tmp_path, source)
    for folder in (aside, source):
        twinfs.ok("export", "--host", host.name, "--output", tmp_path / f"of {folder.name}",
                  folder, index=False)
    host.list_contents(*load(tmp_path / "of source"))
    twinfs.ok("attest", "--output", host.output, host.list, index=False)
    assert host.outcomes() == {"a": True}
    twinfs.ok("attest", "--output", host.output, host.list, source, index=False)
    result = twinfs("attest", "--output", host.output, host.list, aside, index=False)
    assert result.status == 1 and "made for another index" in result.errors[0], result
    host.list_contents(*load(tmp_path / "of source"), index="0" * 16)
    result = twinfs("attest", "--output", host.output, host.list, index=False)
    assert result.status == 1 and "no index is that of the keep list" in result.errors[0], result


# ---- contents that are not there --------------------------------------------------------


def remove(path):
    path.unlink()


def shorten(path):
    os.truncate(path, path.stat().st_size - 1)


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x")


def empty(path):
    os.truncate(path, 0)


def link_to_itself(path):
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def link_folder(path):
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to("moved")


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def make_socket(path):
    path.unlink()
    at = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{at}/{path.name}")
    os.close(at)


def make_folder(path):
    path.unlink()
    path.mkdir()


def put_file_above(path):
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"file")


def replace_by_other_bytes(path):
    new = path.with_name("new")
    new.write_bytes(os.urandom(path.stat().st_size))
    new.rename(path)


CHANGES = {remove: "missing", shorten: "changed", lengthen: "changed", empty: "changed",
           overwrite_and_set_times: "changed", link_to_itself: "missing", link_folder: "missing",
           make_fifo: "changed", make_socket: "changed", make_folder: "changed",
           put_file_above: "missing", replace_by_other_bytes: "changed"}


@pytest.mark.parametrize("change", CHANGES)
def test_content_that_is_not_there_is_not_attested(host, source, change):
    trees.fill(source, {b"folder/victim": os.urandom(5000), b"other": b"other"})
    rows = host.keep()
    host.know_digests()
    change(source / "folder/victim")
    result = host.attest(status=3)
    assert host.outcomes() == {"folder/victim": CHANGES[change], "other": True}
    [line] = warnings(result, "did not attest")
    assert f"did not attest '{source}/folder/victim': {CHANGES[change]}" in line
    assert warnings(result, "the attestation is incomplete: 1 content is not kept here")
    assert set(host.promises()) == contents(rows)


def test_file_in_a_trash_is_not_attested(host, source):
    trees.fill(source, {b".Trash-0/files/a": b"thrown away", b"other": b"other"})
    host.keep()
    host.attest(status=3)
    assert host.outcomes() == {".Trash-0/files/a": "in a trash", "other": True}


def test_unreadable_file_is_not_attested(as_user, plain_user, tmp_path):
    source = tmp_path / "source"
    trees.fill(source, {b"closed": b"closed", b"folder/a": b"inside", b"other": b"other"})
    for path in (source, *source.rglob("*")):
        os.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    host = Keeper(as_user, tmp_path, source)
    host.keep()
    (source / "closed").chmod(0)
    (source / "folder").chmod(0)
    result = host.attest(status=3)
    (source / "folder").chmod(0o700)
    assert host.outcomes() == {"closed": "unreadable", "folder/a": "unreadable", "other": True}
    assert warnings(result, f"did not attest '{source}/closed': Permission denied")


def test_failing_read_is_named(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 10_000) for number in range(5)})
    host.keep()
    result, _ = host.twinfs.traced(*host.words(), calls="trace=pread64", flags=[
        "-P", source / "2", "-e", "inject=pread64:error=EIO"])
    assert result.status == 3
    assert warnings(result, f"did not attest '{source}/2': Input/output error")
    assert {path for path, kept in host.outcomes().items() if kept is not True} == {"2"}


def test_file_in_a_mounted_view_is_not_attested(twinfs, tmp_path, source, aside):
    trees.fill(aside, {b"a": b"elsewhere"})
    trees.fill(source, {b"other": b"other"})
    host = Keeper(twinfs, tmp_path, source)
    (source / "view").mkdir()
    [row] = host.keep(words=["--cross-file-systems"])
    manifest, _ = load(host.inventory)
    inside = {**row, "id": row["id"] + 1, "path": "view/uniques/a", "size": 9,
              "sha256": sha256(aside / "a")}
    host.list.write_bytes(keep_text(manifest, [row, inside]))
    with twinfs.with_index(tmp_path / "index of view").mounted(aside, at=source / "view"):
        assert (source / "view/uniques/a").read_bytes() == b"elsewhere"
        host.attest(status=3)
        assert host.outcomes() == {"other": True,
                                   "view/uniques/a": "on a network file system"}


def test_file_on_a_cluster_file_system_is_not_attested(host, source, take_filesystem_for):
    trees.fill(source, {b"a": b"shared"})
    host.keep()
    host.twinfs.environment["OTHER_FILESYSTEM_OF_FILES"] = "1"
    take_filesystem_for(OCFS2)
    host.attest(status=3)
    assert host.outcomes() == {"a": "on a network file system"}


def test_file_in_memory_is_not_attested(twinfs, tmp_path, source):
    with in_memory(source):
        trees.fill(source, {b"a": b"lost at the next restart"})
        host = Keeper(twinfs, tmp_path, source)
        host.keep()
        host.attest(status=3)
        assert host.outcomes() == {"a": "in memory"}


def test_file_below_a_mount_is_hidden(twinfs, tmp_path, source, aside):
    trees.fill(source, {b"folder/a": b"hidden", b"other": b"other"})
    trees.fill(aside, {b"a": b"hidden"})
    host = Keeper(twinfs, tmp_path, source)
    host.keep()
    with bound(aside, source / "folder"):
        host.attest(status=3)
        assert host.outcomes() == {"folder/a": "missing", "other": True}


def test_absent_source_has_no_file(host, source):
    trees.fill(source, {b"a": b"a"})
    host.keep()
    source.rename(source.with_name("away"))
    host.operands = []
    host.attest(status=3)
    assert host.outcomes() == {"a": "missing"}


# ---- the disk ---------------------------------------------------------------------------


def test_rotten_byte_behind_the_page_cache_is_found(twinfs, tmp_path, loop_devices):
    with disk("ext4", tmp_path) as root:
        trees.fill(root / "source", {b"rotten": os.urandom(MIB), b"other": os.urandom(MIB)})
        host = Keeper(twinfs, tmp_path, root / "source")
        host.keep()
        os.sync()
        [first, *_] = extents(root / "source/rotten")
        device = subprocess.run(["findmnt", "-no", "SOURCE", root], check=True,
                                stdout=subprocess.PIPE).stdout.strip()
        with open(device, "r+b", buffering=0) as raw:
            raw.seek(first[1] + 5000)
            byte = raw.read(1)
            raw.seek(first[1] + 5000)
            raw.write(bytes([byte[0] ^ 1]))
            os.fsync(raw.fileno())
        host.attest(status=3)
        assert host.outcomes() == {"rotten": "changed", "other": True}


def test_bad_block_is_named(twinfs, tmp_path, make_disk):
    bad = make_disk(time_scale=0)
    bad.fill(lambda root: trees.fill(root / "source", {b"bad": os.urandom(MIB),
                                                       b"other": os.urandom(MIB)}))
    with bad.served():
        host = Keeper(twinfs, tmp_path, bad.root / "source")
        host.keep()
        bad.spoil(*[(place, size) for _, place, size in extents(bad.root / "source/bad")])
        bad.cold()
        result = host.attest(status=3)
        assert host.outcomes() == {"bad": "unreadable", "other": True}
        assert warnings(result, "Input/output error")


def test_promise_and_sync_are_before_the_first_read(host, source, strace):
    trees.fill(source, {b"a": os.urandom(3 * MIB)})
    host.keep()
    calls = "trace=syncfs,fsync,rename,renameat,renameat2,pread64,fadvise64"
    result, trace = host.twinfs.traced(*host.words(), calls=calls, flags=["-y"])
    assert result.status == 0, result
    below = re.escape(os.fsencode(source) + b"/")
    read = first(trace, rb"pread64\(\d+<" + below)  # a trial of the disk, or of a file
    dropped = first(trace, rb"fadvise64\(\d+<" + below + rb"a>")
    promise = first(trace, rb'renameat2?\(.*"promises\.new".*"promises"')
    assert first(trace, rb"fsync\(\d+<[^>]*/promises\.new>") < promise
    folder = re.escape(os.fsencode(host.promises_file.parent))
    assert promise < first(trace, rb"fsync\(\d+<" + folder + rb">") < read
    assert first(trace, rb"syncfs\(\d+<" + below) < dropped
    assert trace.index(b"POSIX_FADV_DONTNEED") < trace.index(b"POSIX_FADV_SEQUENTIAL")
    assert len(re.findall(rb"pread64\(\d+<" + below + rb"a>", trace[dropped:])) == 12
    attested = first(trace, rb'renameat2?\(.*"attested-alpha\.jsonl"')
    assert last(trace, rb"pread64\(\d+<" + below) < last(trace, rb"syncfs\(") < attested
    assert first(trace, rb"fsync\(\d+<[^>]*/attested-alpha-\w+\.jsonl\.new>") < attested
    assert attested < last(trace, rb"fsync\(\d+<" + re.escape(os.fsencode(host.output)) + rb">")


def first(trace, pattern):
    return re.search(pattern, trace).start()


def last(trace, pattern):
    return [found.start() for found in re.finditer(pattern, trace)][-1]


@pytest.mark.parametrize("when", [1, 2], ids=["before", "after"])
def test_failing_sync_attests_nothing(as_user, plain_user, tmp_path, strace, when):
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"first"})
    for path in (source, source / "a"):
        os.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    host = Keeper(as_user, tmp_path, source)
    rows = host.keep()
    # strace counts the calls of each thread; a user with processes enough cannot start another
    failing = host.twinfs.under_strace("-e", "trace=syncfs", "-e",
                                       f"inject=syncfs:error=EIO:when={when}")
    failing.wrapped += ["prlimit", "--nproc=1"]
    result = failing(*host.words())
    assert result.status == 1 and host.left() == []
    [line] = result.errors
    assert f"cannot sync the file system of '{source}/a': Input/output error; nothing was " \
        "attested" in line
    assert set(host.promises()) == contents(rows)


def test_each_file_system_is_synced(twinfs, tmp_path, source, loop_devices, strace):
    (source / "mounted").mkdir()
    with disk("ext4", tmp_path) as root, bound(root, source / "mounted"):
        trees.fill(source, {b"a": b"first", b"mounted/b": b"second"})
        host = Keeper(twinfs, tmp_path, source)
        rows = host.keep(words=["--cross-file-systems"])
        _, trace = host.twinfs.traced(*host.words(), calls="trace=syncfs", flags=["-y"])
        assert all_kept(host, rows)
        for name in ("/a>", "/mounted/b>"):
            assert trace.count(os.fsencode(f"{source}{name}")) == 2


# ---- files that change ------------------------------------------------------------------


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("size", [5000, 3 * MIB])
def test_file_that_a_program_can_write_to_is_busy(host, source, size, mapped):
    trees.fill(source, {b"open": os.urandom(size), b"other": b"other"})
    rows = host.keep()
    with open(source / "open", "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0) if mapped else None
        if mapped:
            file.close()
        host.attest(status=3)
        assert host.outcomes() == {"open": "busy", "other": True}
        if mapping:
            mapping.close()
    host.attest()
    assert all_kept(host, rows)


# Before the lease, at the beginning of a file that is read from the disk, and at a read in the
# middle of a large one. Before that, up to 16 reads find out whether the disk seeks.
HOLDS = {"lease": (100_000, {"call": "fcntl"}),
         "small": (100_000, {"call": "fadvise64", "after": True}),
         "large": (3 * MIB, {"call": "fadvise64", "after": True}),
         "middle": (8 * MIB, {"call": "pread64", "when": 20})}


def held_while_reading(host, path, hold, attack):
    """Runs the command, and attacks the file while it is read. A writer waits while the lease is
    held, so it has a thread."""
    _, where = HOLDS[hold]
    with host.twinfs.held(*host.words(), flags=("-P", path), **where) as process:
        assert has_open(process.pid, path)
        writer = threading.Thread(target=attack, args=(path,))
        writer.start()
        assert until(lambda: not writer.is_alive() or one_waits_for_lease())
        release(process)
        assert process.wait(300) == 3
        writer.join()


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_file_that_changes_while_it_is_read_is_not_attested(host, source, strace, attack, hold):
    trees.fill(source, {b"victim": os.urandom(HOLDS[hold][0]), b"other": b"other"})
    host.keep()
    held_while_reading(host, source / "victim", hold, attack)
    outcomes = host.outcomes()
    assert outcomes["other"] is True and outcomes["victim"] in ("busy", "changed")


@pytest.mark.parametrize("hold", HOLDS)
def test_file_whose_name_leads_elsewhere_at_the_end_is_not_attested(host, source, strace, hold):
    trees.fill(source, {b"victim": os.urandom(HOLDS[hold][0])})
    host.keep()
    held_while_reading(host, source / "victim", hold, lambda path: path.rename(source / "moved"))
    assert host.outcomes() == {"victim": "changed"}


def test_files_are_attested_without_leases(host, source, no_leases):
    trees.fill(source, {f"{number}": trees.content(number, 10_000) for number in range(20)})
    rows = host.keep()
    host.attest()
    assert all_kept(host, rows)


# ---- a view -----------------------------------------------------------------------------


def test_contents_are_attested_beside_a_view(host, source):
    trees.fill(source, {f"{number}": trees.content(number, 3000 + number) for number in range(9)})
    with host.twinfs.mounted(source) as view:
        host.operands = [view.path]
        rows = host.keep()
        for operands in ([view.path], [source], []):
            host.operands = operands
            host.attest()
            assert all_kept(host, rows)
            assert set(host.promises()) == contents(rows)
        host.attested.unlink()
        (source / "5").unlink()
        host.attest(status=3)
        assert host.outcomes() == {row["path"]: row["path"] != "5" or "missing" for row in rows}
        assert view.differences_now(source) == []
    host.twinfs.ok("check", source)

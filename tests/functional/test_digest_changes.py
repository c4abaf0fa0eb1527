# SPDX-License-Identifier: MIT
"""digest while files change, calls are interrupted, and a view holds the index: no digest is one of
bytes that a file did not have.

A storm kills $TWINFS_DIGEST_ROUNDS calls (12)."""
import json
import mmap
import os
import random
import subprocess
import threading

import pytest
import trees
from processes import interrupt_when_held, one_waits_for_lease, release, until
from test_act_causes import warnings
from wanted_lists import Host, sha256

MIB = 1 << 20
ROUNDS = int(os.environ.get("TWINFS_DIGEST_ROUNDS", "12"))


@pytest.fixture
def host(twinfs, tmp_path, source):
    return Host(twinfs, tmp_path, source)


# ---- files that change ------------------------------------------------------------------


def overwrite(path):
    with open(path, "r+b") as file:
        for at in range(0, path.stat().st_size, 1000):
            file.seek(at)
            file.write(b"other bytes")


def overwrite_and_set_times(path):
    status = path.stat()
    overwrite(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def truncate(path):
    os.truncate(path, 1000)


def append(path):
    with open(path, "ab") as file:
        file.write(b"more")


def punch(path):
    subprocess.run(["fallocate", "--punch-hole", "--offset", "0", "--length", "8192", path],
                   check=True)


def replace(path):
    new = path.with_name("new")
    new.write_bytes(os.urandom(path.stat().st_size))
    new.rename(path)


def store_through_map(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"torn"
        mapped[len(mapped) - 4:] = b"torn"


ATTACKS = [overwrite, overwrite_and_set_times, truncate, append, punch, replace, store_through_map]


def attacked_at(host, path, number, attack):
    """Runs the command, and attacks when it makes this read of the file, or is about to. Returns
    whether it was reached. A writer waits while a lease is held, so it has a thread."""
    with host.twinfs.held(*host.words(), call="pread64", when=number,
                          flags=("-P", path)) as process:
        reached = process.poll() is None
        if reached:
            writer = threading.Thread(target=attack, args=(path,))
            writer.start()
            assert until(lambda: not writer.is_alive() or one_waits_for_lease())
            release(process)
        assert process.wait(300) in (0, 3)
        if reached:
            writer.join()
    return reached


@pytest.mark.parametrize("size", [100_000, 3 * MIB], ids=["leased", "large"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_file_that_changes_while_it_is_read_has_no_digest_of_other_bytes(host, source, strace,
                                                                         attack, size):
    path = source / "victim"
    path.write_bytes(os.urandom(size))
    trees.fill(source, {b"other": os.urandom(5000)})
    host.want()
    before = {"size": size, "mtime_ns": path.stat().st_mtime_ns, "sha256": sha256(path)}
    assert attacked_at(host, path, 1 if size < MIB else 7, attack)
    rows = {row["path"]: row for row in host.rows()}
    assert rows["other"]["sha256"] == sha256(source / "other")
    if "victim" in rows:  # then it was read before the change
        assert {key: rows["victim"][key] for key in before} == before
        assert size < MIB or attack == replace
    else:
        assert host.manifest()["pending"] == 1
    # what was stored is true, too
    wanted = host.want()
    host.digest()
    assert host.digests() == host.expected(wanted)
    host.twinfs.ok("check", source)


@pytest.mark.parametrize("size", [5000, 3 * MIB])
def test_file_that_is_open_for_writing_is_pending(host, source, size):
    path = source / "open"
    path.write_bytes(os.urandom(size))
    trees.fill(source, {b"other": b"other"})
    wanted = host.want()
    with open(path, "r+b"):
        result = host.digest(status=3)
        [line] = warnings(result, "cannot read")
        assert f"cannot read '{path}': it changed meanwhile" in line
        assert warnings(result, "1 wanted file was not read in a state that lasted")
        assert [row["path"] for row in host.rows()] == ["other"]
        assert host.manifest()["pending"] == 1
    host.digest()
    assert host.digests() == host.expected(wanted)


def test_file_that_is_mapped_for_writing_is_pending(host, source):
    path = source / "mapped"
    path.write_bytes(os.urandom(50_000))
    wanted = host.want()
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[0:1] = b"x"
    try:
        host.digest(status=3)
        assert host.rows() == []
    finally:
        mapped.close()
    host.digest()
    assert host.digests() == host.expected(wanted)


def test_pending_file_of_a_group_has_the_digest_of_another(host, source):
    trees.fill(source, {name: b"equal" * 1000 for name in (b"a", b"b", b"c")})
    wanted = host.want()
    with open(source / "a", "r+b"):
        host.digest()
        assert host.digests() == host.expected(wanted)


def test_many_pending_files_are_counted_and_few_are_named(host, source):
    trees.fill(source, {f"{number}": b"x" * (50 + number) for number in range(9)})
    host.want()
    files = [open(source / f"{number}", "r+b") for number in range(9)]  # noqa: SIM115
    try:
        result = host.digest(status=3)
    finally:
        for file in files:
            file.close()
    assert len(warnings(result, "cannot read")) == 3
    assert warnings(result, "9 wanted files were not read in a state that lasted")


def test_files_are_read_without_leases(host, source, no_leases):
    trees.fill(source, {f"{number}": trees.content(number, 10_000) for number in range(20)})
    wanted = host.want()
    host.digest()
    assert host.digests() == host.expected(wanted)


# ---- interruptions ----------------------------------------------------------------------


def many(host, source, count=60):
    trees.fill(source, {f"{number}": trees.content(number, 100_000 + number)
                        for number in range(count)})
    return host.want()


def interrupt(host, wanted):
    """Interrupts the command when a thread has read four of the 60 files. Eight threads can share
    them evenly."""
    paths = [os.fsdecode(host.path(row)) for row in wanted]
    slow = host.twinfs.under_strace(*(word for path in paths for word in ("-P", path)),
                                    "-e", "inject=pread64:delay_enter=400ms:when=5+")
    with slow.started(*host.words("--disk=solid")) as process:
        interrupt_when_held(process)
        assert process.wait(300) != 0
    assert b"stopped: interrupted; run the command again to continue" in process.output[1]


def test_interrupted_call_keeps_what_it_read(host, source, strace):
    wanted = many(host, source)
    interrupt(host, wanted)
    assert not host.output.exists()
    assert 0 < len(host.read()) < 60
    assert host.digests() == host.expected(wanted)


def test_killed_calls_leave_no_wrong_digest(host, source, strace):
    wanted = many(host, source)
    random_ = random.Random(5)
    calls = ["pread64", "fdatasync", "pwrite64", "pwritev", "write", "renameat", "fsync",
             "unlinkat", "mkdirat"]
    for number in range(ROUNDS):
        call = calls[number % len(calls)]
        host.twinfs.traced(*host.words(), calls=f"trace={call}",
                           flags=["-e", f"inject={call}:signal=KILL:"
                                        f"when={random_.randrange(1, 40)}"])
        if (host.output / "manifest.json").exists():
            for row in host.stored_rows():
                path = host.path(row)
                assert os.stat(path).st_mtime_ns != row["mtime_ns"] or \
                    sha256(path) == row["sha256"]
        changed = source / f"{random_.randrange(60)}"
        changed.write_bytes(os.urandom(changed.stat().st_size))
    host.digest()
    assert host.digests() == host.expected(wanted)
    host.twinfs.ok("check", source)


def test_killed_call_keeps_the_digests_of_its_transactions(host, source, strace):
    trees.many(source, 3000, lambda number: b"%d" % number * 3)
    wanted = host.want()
    last = host.path(sorted(wanted, key=lambda row: row["id"])[2500])
    result, _ = host.twinfs.traced(*host.words(), calls="trace=pread64",
                                   flags=["-P", last, "-e", "inject=pread64:signal=KILL:when=1"])
    assert result.status != 0
    assert len(host.read()) <= 3000 - 1024
    assert host.digests() == host.expected(wanted)


# ---- a view -----------------------------------------------------------------------------


def test_digests_beside_a_view_are_kept_in_the_output(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 3000 + number) for number in range(9)})
    trees.fill(source, {b"a": b"equal" * 999, b"b": b"equal" * 999})
    with host.twinfs.mounted(source) as view:
        host.operands = [view.path]
        wanted = host.want()
        assert len(host.read()) == 10
        before = host.rows()
        assert {host.path(row): row["sha256"] for row in before} == host.expected(wanted)
        result = host.digest()
        assert warnings(result, f"the digests are kept in '{host.output}' only")
        assert host.read() == set()
        assert host.rows() == before
        status = (source / "5").stat()
        (source / "5").write_bytes(os.urandom(3005))
        os.utime(source / "5", ns=(status.st_atime_ns, status.st_mtime_ns))
        assert host.read() == {os.fsencode(source / "5")}
        assert host.digests() == host.expected(wanted)
    host.operands = host.sources
    assert host.read() == set()
    assert host.digests() == host.expected(wanted)


def test_digests_of_an_earlier_list_stay_while_they_are_current(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 3000 + number) for number in range(9)})
    with host.twinfs.mounted(source) as view:
        host.operands = [view.path]
        host.want(lambda path: path < b"6")
        host.digest()
        (source / "1").write_bytes(b"other")
        (source / "2").unlink()
        (source / "3").rename(source / "moved")
        assert host.want(lambda path: b"5" <= path < b"9")
        result = host.digest()
        assert result.lines[-1].split()[:2] == [b"earlier", b"2"]
        found = host.digests()
        assert sorted(map(os.path.basename, found)) == [b"0", b"4", b"5", b"6", b"7", b"8"]
        assert found == {path: sha256(path) for path in found}


def test_interrupted_call_beside_a_view_keeps_what_it_read(host, source, strace):
    trees.fill(source, {f"{number}": trees.content(number, 100_000 + number)
                        for number in range(60)})
    with host.twinfs.mounted(source, options=("--wait", "--disk=solid")) as view:
        host.operands = [view.path]
        wanted = host.want()
        interrupt(host, wanted)
        rows = host.rows()
        assert 0 < len(rows) < 60
        assert host.manifest()["pending"] == 60 - len(rows)
        assert len(host.read()) == 60 - len(rows)
        assert host.digests() == host.expected(wanted)


@pytest.mark.parametrize("damage", ["torn", "changed", "missing", "state"])
def test_damaged_earlier_digests_are_not_used(host, source, strace, damage):
    trees.fill(source, {b"a": b"first", b"b": b"second"})
    with host.twinfs.mounted(source) as view:
        host.operands = [view.path]
        wanted = host.want()
        host.digest()
        [part] = host.manifest()["parts"]
        path = host.output / part["name"]
        if damage == "torn":
            os.truncate(path, path.stat().st_size - 5)
        elif damage == "changed":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        elif damage == "missing":
            path.unlink()
        else:
            manifest = host.manifest()
            manifest["index"] = "0" * 16
            (host.output / "manifest.json").write_text(json.dumps(manifest))
        assert len(host.read()) == 2
        assert host.digests() == host.expected(wanted)

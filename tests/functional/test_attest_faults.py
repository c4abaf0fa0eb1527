# SPDX-License-Identifier: MIT
"""attest with lists that are malformed or of another host, damaged promises, full disks, and calls
that are interrupted: there is a whole attestation or none, and no promise is lost.

A storm kills $TWINFS_ATTEST_ROUNDS calls (18)."""
import fcntl
import json
import os
import random
import shutil
import time
from types import SimpleNamespace

import pytest
import trees
from disks import bound, disk
from fleet_faults import FAULTS_OF_LISTS, ListEditor
from inventories import load
from keep_lists import FURTHER, Keeper, contents, keep_text, promises_hash
from processes import interrupt_when_held, release
from test_act_causes import warnings
from test_digest_lists import fill_disk
from wanted_lists import list_text

ROUNDS = int(os.environ.get("TWINFS_ATTEST_ROUNDS", "18"))


@pytest.fixture
def host(twinfs, tmp_path, source):
    return Keeper(twinfs, tmp_path, source)


@pytest.fixture
def listed(host, source):
    """A host with a keep list of three files, the manifest of its inventory and the rows."""
    trees.fill(source, {b"a": b"first", b"b": b"second", b"c": b"third"})
    rows = host.keep()
    return SimpleNamespace(host=host, manifest=load(host.inventory)[0], rows=rows)


# ---- lists ------------------------------------------------------------------------------


def refused(host, line=None):
    """Runs the command, which must fail before a source is touched, with one error."""
    result = host.attest(status=1)
    assert len(result.errors) == 1, result
    assert not host.output.exists() and not host.promises_file.exists()
    if line is not None:
        assert f"line {line}: " in result.errors[0], result
        assert "nothing was read; make the lists again with 'twinfs-fleet plan'" in \
            result.errors[0]
    return result.errors[0]


# Only twinfs-fleet refuses these.
HARMLESS = {"a source is there twice", "a source has two dots"}


@pytest.mark.parametrize("fault", sorted(FAULTS_OF_LISTS.keys() - HARMLESS))
def test_faulty_list_is_refused(listed, fault):
    FAULTS_OF_LISTS[fault](ListEditor(listed.host.list))
    assert "cannot use the keep list" in refused(listed.host)


HEADS = {"no plan": {"plan": None}, "short plan": {"plan": "a" * 31},
         "plan in capitals": {"plan": "A" * 32}, "plan is a number": {"plan": 5},
         "no replicas": {"keep_replicas": 0}, "negative replicas": {"keep_replicas": -1},
         "replicas are a text": {"keep_replicas": "1"},
         "impossible time": {"created": "2026-02-30T00:00:00Z"},
         "time without zeros": {"created": "2026-2-3T00:00:00Z"},
         "local time": {"created": "2026-02-03T00:00:00+01:00"}}
ROWS = {"no digest": {"sha256": None}, "short digest": {"sha256": "a" * 63},
        "digest in capitals": {"sha256": "A" * 64}, "digest is a number": {"sha256": 5},
        "empty file": {"size": 0}}


@pytest.mark.parametrize("name", HEADS)
def test_list_with_a_wrong_plan_is_refused(listed, name):
    listed.host.list.write_bytes(keep_text(listed.manifest, listed.rows, **HEADS[name]))
    refused(listed.host, 1)


@pytest.mark.parametrize("name", ROWS)
def test_list_with_a_wrong_content_is_refused(listed, name):
    listed.rows[1].update(ROWS[name])
    listed.host.list.write_bytes(keep_text(listed.manifest, listed.rows))
    refused(listed.host, 3)


def test_list_with_a_content_twice_is_refused(listed):
    again = {**listed.rows[0], "id": 1 << 40, "path": "again"}
    listed.host.list.write_bytes(keep_text(listed.manifest, [*listed.rows, again]))
    assert "an earlier line has the same content" in refused(listed.host, 5)


def test_list_of_another_kind_is_refused_with_its_command(listed):
    listed.host.list.write_bytes(list_text(listed.manifest, listed.rows))
    assert "a list of wanted files, which 'twinfs digest' reads" in refused(listed.host, 1)
    data = keep_text(listed.manifest, listed.rows, format="twinfs-remove")
    listed.host.list.write_bytes(data)
    assert "a remove list, which 'twinfs remove --plan' reads" in refused(listed.host, 1)
    listed.host.list.write_bytes(keep_text(listed.manifest, listed.rows))
    result = listed.host.twinfs("digest", "--wanted", listed.host.list, "--output",
                                listed.host.output, *listed.host.operands)
    assert result.status == 1 and "a keep list, which 'twinfs attest' reads" in result.errors[0]


@pytest.mark.parametrize("kind", ["fifo", "folder", "missing"])
def test_list_that_is_no_file_is_refused(listed, kind):
    listed.host.list.unlink()
    if kind == "fifo":
        os.mkfifo(listed.host.list)
    elif kind == "folder":
        listed.host.list.mkdir()
    error = refused(listed.host)
    assert ("cannot open" if kind == "missing" else "it is no regular file") in error


def attest_nothing(host, words):
    """Runs the command, which must fail and promise nothing. Returns its only error."""
    result = host.attest(status=1)
    assert len(result.errors) == 1 and words in result.errors[0], result
    assert host.left() == [] and not host.promises_file.exists()


def test_list_of_another_host_is_refused(listed, twinfs, tmp_path, aside):
    trees.fill(aside, {b"a": b"first"})
    other = Keeper(twinfs.with_index(tmp_path / "other"), tmp_path, aside, name="beta")
    other.keep()
    other.operands = listed.host.sources
    other.twinfs = twinfs
    attest_nothing(other, "it was made for another index of these sources")
    other.operands = []
    attest_nothing(other, "it was made for another index of these sources")


def test_list_of_another_source_is_refused(listed):
    data = keep_text(listed.manifest, listed.rows, sources=[{"path": "/etc"}])
    listed.host.list.write_bytes(data)
    attest_nothing(listed.host, "its source '/etc' is not a source of this index")


@pytest.mark.parametrize("words", [["--output", "x"], ["list"], []])
def test_missing_operand_or_option_is_wrong_usage(twinfs, words):
    result = twinfs("attest", *words)
    assert result.status == 2 and b"given" in result.error


DAY = 24 * 3600

# ---- promises ---------------------------------------------------------------------------


def test_promises_of_all_lists_stay_until_they_expire(listed, source):
    host = listed.host
    host.attest()
    first = host.promises()
    head, *lines = host.promises_file.read_bytes().splitlines(keepends=True)
    old = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 10))
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + (20 * 24 * 3600)))
    lines[0] = promise(json.loads(lines[0]), old)
    lines[1] = promise(json.loads(lines[1]), later)
    write_promises(host, lines, lived=15 * DAY)
    host.list.write_bytes(keep_text(listed.manifest, [row for row in listed.rows if (
        row["sha256"], row["size"]) == content_of(lines[1])]))
    host.attest()
    promises = host.promises()
    assert set(promises) == set(first) - {content_of(lines[0])}
    assert promises[content_of(lines[1])] > time.time() + (19 * 24 * 3600)


def test_clock_that_is_wrong_drops_no_promise(listed):
    """As if a clock years ahead had written the times of now, again and again."""
    host = listed.host
    host.attest()
    first = host.promises()
    head, *lines = host.promises_file.read_bytes().splitlines(keepends=True)
    old = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 10))
    write_promises(host, [promise(json.loads(lines[0]), old), *lines[1:]])
    host.list.write_bytes(keep_text(listed.manifest, [row for row in listed.rows if (
        row["sha256"], row["size"]) != content_of(lines[0])]))
    for _ in range(3):
        host.attest()
        assert set(host.promises()) == set(first)
    _, *lines = host.promises_file.read_bytes().splitlines(keepends=True)
    write_promises(host, lines, lived=json.loads(head)["lived"] + 15 * DAY)
    host.attest()
    assert set(host.promises()) == set(first) - {content_of(next(
        line for line in lines if old.encode() in line))}


def test_promises_of_an_earlier_version_stay_as_long_as_others(listed):
    host = listed.host
    host.attest()
    _, *lines = host.promises_file.read_bytes().splitlines(keepends=True)
    old = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 10))
    rows = [{key: value for key, value in json.loads(line).items() if key != "lived"}
            for line in lines]
    write_promises(host, [promise(row, old) for row in rows], **dict.fromkeys(FURTHER))
    (host.twinfs.index / "promised").unlink()
    host.list.write_bytes(keep_text(listed.manifest, listed.rows[:1]))
    for _ in range(2):
        host.attest()
        assert len(host.promises()) == len(lines)


@pytest.mark.parametrize("loss", ["all", "file", "older"])
def test_lost_promises_are_noticed(listed, loss):
    host = listed.host
    host.attest()
    older = host.promises_file.read_bytes()
    host.attest()
    folder = host.promises_file.parent
    host.promises_file.unlink()
    if loss == "all":
        shutil.rmtree(folder)
    elif loss == "older":
        host.promises_file.write_bytes(older)
    result = host.attest(status=1)
    assert "they are lost or older than the note" in result.errors[0], result
    (host.twinfs.index / "promised").unlink()
    host.attest()


@pytest.mark.parametrize("loss", ["all", "file", "older"])
def test_lost_promises_of_the_index_are_noticed_if_those_of_the_host_are_whole(listed, loss):
    """Only they have the promises that were made under another host name."""
    host = listed.host
    host.attest()
    identity = json.loads(host.list.read_bytes().splitlines()[0])["index"]
    promises = host.promises_file.parent.parent / f"+{identity}" / "promises"
    older = promises.read_bytes()
    host.attest()
    promises.unlink()
    if loss == "all":
        shutil.rmtree(promises.parent)
    elif loss == "older":
        promises.write_bytes(older)
    result = host.attest(status=1)
    assert f"'{promises}': they are lost or older than the note" in result.errors[0], result
    if loss == "file":  # as an earlier version noted it
        note = (host.twinfs.index / "promised").read_text()
        (host.twinfs.index / "promised").write_text(note.rpartition(" ")[0])
    else:
        (host.twinfs.index / "promised").unlink()
    host.attest()


def test_promises_are_not_lost_if_their_index_is_made_anew(listed):
    """It then has another identity. The promises of the host have all of its contents."""
    host = listed.host
    host.attest()
    promised = set(host.promises())
    host.twinfs.ok("index", "--forget", host.twinfs.index, index=False)
    assert (host.twinfs.index / "promised").exists()
    shutil.rmtree(host.inventory)
    host.keep(lambda path: path == b"a")
    host.attest()
    assert set(host.promises()) == promised
    (host.promises_file).unlink()
    assert "older than the note" in host.attest(status=1).errors[0]


def test_promises_in_a_restored_folder_are_noticed(listed):
    """The notes of the indexes can be as old as the promises."""
    host = listed.host
    host.attest()
    folder = host.promises_file.parent
    older = folder.with_name("older")
    shutil.copytree(folder, older)
    shutil.rmtree(folder)
    older.rename(folder)
    [line] = host.attest(status=1).errors
    assert "was copied or restored" in line and f"'{folder}'" in line
    for path in (folder / ".twinfs-own", folder / "promises"):
        assert path.exists()
    (folder / ".twinfs-own").unlink()
    host.attest()
    (folder / ".twinfs-own").write_bytes(b"")  # a power failure
    host.attest()


def test_lost_promises_of_another_index_are_noticed(twinfs, tmp_path, private_state):
    hosts = []
    for name in ("one", "two"):
        trees.fill(tmp_path / name, {b"a": name.encode()})
        hosts.append(Keeper(twinfs, tmp_path, tmp_path / name))
    state = hosts[0].promises_file.parent.parent
    twinfs = twinfs.with_index(state.parent / "one")
    other = twinfs.with_index(state.parent / "two")
    for host, program in zip(hosts, (twinfs, other)):
        host.twinfs = program
        shutil.rmtree(host.inventory, ignore_errors=True)
        host.keep()
        host.attest()
        if host is hosts[0]:
            older = hosts[0].promises_file.read_bytes()
    hosts[0].promises_file.write_bytes(older)
    shutil.rmtree(hosts[0].inventory)
    hosts[0].keep()
    [line] = hosts[0].attest(status=1).errors
    assert "older than the note" in line and " in 'two', so" in line


def content_of(line):
    row = json.loads(line)
    return row["sha256"], row["size"]


def promise(row, until):
    return json.dumps({**row, "until": until}, separators=(",", ":")).encode() + b"\n"


def write_promises(host, lines, **changes):
    """Replaces the lines, and members of the first one; None removes a member."""
    head = json.loads(host.promises_file.read_bytes().splitlines()[0])
    head.update(rows=len(lines), **changes)
    head = {key: value for key, value in head.items() if value is not None}
    head["sha256"] = promises_hash(head, lines)
    host.promises_file.write_bytes(json.dumps(head).encode() + b"\n" + b"".join(lines))


DAMAGES = {
    "empty": lambda data: b"",
    "torn": lambda data: data[:-5],
    "cut at a line": lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
    "a line is gone": lambda data: b"".join(data.splitlines(keepends=True)[::2]),
    "a digit": lambda data: flip(data, data.rindex(b'"sha256":"') + 12),
    "a time": lambda data: flip(data, data.rindex(b"T")),
    "a size": lambda data: data.replace(b'"size":5', b'"size":6'),
    "zeros": lambda data: bytes(len(data)),
    "a later schema": lambda data: data.replace(b'"schema":1', b'"schema":2'),
    "more after it": lambda data: data + data.splitlines(keepends=True)[1],
}


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_promises_are_refused_and_stay(listed, damage):
    host = listed.host
    host.attest()
    whole = host.promises_file.read_bytes()
    damaged = DAMAGES[damage](whole)
    assert damaged != whole
    host.promises_file.write_bytes(damaged)
    host.attested.unlink()
    result = host.attest(status=1)
    [line] = result.errors
    assert f"cannot use the promises '{host.promises_file}': line " in line
    assert "move the file away when the last 'twinfs attest' of this host was more than 14 " \
        "days ago" in line
    assert host.promises_file.read_bytes() == damaged and host.left() == []
    host.promises_file.rename(host.promises_file.with_name("moved"))
    assert "move the note away" in host.attest(status=1).errors[0]
    (host.twinfs.index / "promised").unlink()
    host.attest()
    assert set(host.promises()) == contents(listed.rows)


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_promises_that_are_no_file_are_refused(listed, kind):
    host = listed.host
    host.promises_file.parent.mkdir(parents=True)
    if kind == "symlink":
        host.promises_file.symlink_to(host.list)
    else:
        (os.mkfifo if kind == "fifo" else os.mkdir)(host.promises_file)
    before = host.list.read_bytes()
    result = host.attest(status=1)
    assert len(result.errors) == 1 and host.left() == []
    assert host.list.read_bytes() == before


def test_promises_are_those_of_a_host_in_all_its_indexes(listed, twinfs, tmp_path, source):
    listed.host.attest()
    with open(listed.host.twinfs.index / "data.mdb", "r+b") as file:
        file.write(bytes(20_000))
    trees.fill(source, {b"folder/d": b"fourth"})
    promises = listed.host.promises()
    other = Keeper.__new__(Keeper)
    other.__dict__.update(listed.host.__dict__, twinfs=twinfs.with_index(tmp_path / "second"))
    other.sources = other.operands = [source / "folder"]
    rows = other.keep()
    other.attest()
    assert set(other.promises()) == set(promises) | contents(rows)
    assert len(other.promises()) == 4


# ---- two processes ----------------------------------------------------------------------


def test_second_call_of_a_host_is_refused_while_the_first_reads(listed, strace):
    host = listed.host
    with host.twinfs.held(*host.words(), call="fadvise64", after=True) as process:
        assert set(host.promises()) == contents(listed.rows)
        result = host.attest(status=1)
        assert len(result.errors) == 1
        assert "another 'twinfs attest' or 'twinfs remove --attested' of this host uses them; " \
            "wait until it has ended" in result.errors[0]
        release(process)
        assert process.wait(300) == 0
    assert len(host.attestation()[1]) == 3


def test_lock_of_another_process_keeps_all_files_unread(listed, strace):
    host = listed.host
    host.promises_file.parent.mkdir(parents=True)
    lock = os.open(host.promises_file.parent, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        result, trace = host.twinfs.traced(*host.words(), calls="trace=openat,openat2,pread64",
                                           flags=["-y"])
    finally:
        os.close(lock)
    assert result.status == 1 and host.left() == [] and not host.promises_file.exists()
    assert b'"b"' not in trace


# ---- the output -------------------------------------------------------------------------


def test_earlier_attestation_is_replaced_and_a_symlink_is_not_followed(listed, source, tmp_path):
    host = listed.host
    host.attest()
    (source / "a").unlink()
    host.attest(status=3)
    assert host.outcomes()["a"] == "missing"
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    host.attested.unlink()
    host.attested.symlink_to(victim)
    host.attest(status=3)
    assert victim.read_bytes() == b"mine" and not host.attested.is_symlink()
    assert host.outcomes()["a"] == "missing"


def test_other_files_in_the_folder_stay(listed):
    host = listed.host
    host.output.mkdir(mode=0o755)
    others = ["remove-alpha.jsonl", "attested-beta.jsonl", "attested-beta-" + "0" * 16 +
              ".jsonl.new", "attested-alpha-beta.jsonl.new", "attested-alpha-" + "0" * 17 +
              ".jsonl.new"]
    for name in [*others, "attested-alpha-" + "0" * 16 + ".jsonl.new"]:
        (host.output / name).write_bytes(b"theirs")
    host.attest()
    assert host.left() == sorted([*others, host.attested.name])
    assert all((host.output / name).read_bytes() == b"theirs" for name in others)


@pytest.mark.parametrize("kind", ["a file", "below nothing", "a folder of that name"])
def test_folder_that_cannot_be_written_is_named(listed, tmp_path, kind):
    host = listed.host
    if kind == "a file":
        host.output.write_bytes(b"mine")
    elif kind == "below nothing":
        host.output = tmp_path / "missing/plan"
    else:
        host.attested.mkdir(parents=True)
    result = host.attest(status=1)
    [line] = result.errors
    assert f"cannot write the attestation to '{host.output}': " in line
    if kind == "a file":
        assert line.endswith("give --output=DIR another folder")
        assert host.output.read_bytes() == b"mine"


def test_folder_of_another_user_is_refused(as_user, plain_user, tmp_path):
    source = tmp_path / "source"
    trees.fill(source, {b"a": b"first"})
    for path in (source, source / "a"):
        os.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    host = Keeper(as_user, tmp_path, source)
    host.keep()
    host.output.mkdir(mode=0o555)
    os.chown(host.output, plain_user.pw_uid, plain_user.pw_gid)
    result = host.attest(status=1)
    assert "Permission denied; give --output=DIR another folder" in result.errors[0]
    assert not host.promises_file.exists()


def test_full_disk_leaves_the_earlier_attestation(twinfs, tmp_path, source, loop_devices):
    trees.many(source, 400, lambda number: b"%d" % number * 3)
    (tmp_path / "small").mkdir()
    with disk("ext4", tmp_path / "small", size=12 << 20) as small:
        host = Keeper(twinfs, tmp_path, source)
        rows = host.keep()
        host.output = small / "plan"
        host.attest()
        before = host.attested.read_bytes()
        fill_disk(small / "filler")
        result = host.attest(status=1)
        [line] = result.errors
        assert "No space left on device; free space there, or give --output=DIR" in line
        assert host.attested.read_bytes() == before
        assert host.left() == [host.attested.name]
        assert set(host.promises()) == contents(rows)


def test_full_disk_of_the_promises_attests_nothing(twinfs, tmp_path, source, loop_devices):
    trees.many(source, 400, lambda number: b"%d" % number * 3)
    (tmp_path / "small").mkdir()
    host = Keeper(twinfs, tmp_path, source)
    rows = host.keep()
    host.promises_file.parent.mkdir(parents=True, mode=0o700)
    with disk("ext4", tmp_path / "small", size=12 << 20) as small, \
            bound(small, host.promises_file.parent):
        fill_disk(small / "filler")
        result = host.attest(status=1)
        [line] = result.errors
        assert f"cannot write the promises '{host.promises_file}': No space left on device" in line
        assert host.left() == [] and not host.promises_file.exists()
        assert not host.promises_file.with_name("promises.new").exists()
        os.unlink(small / "filler")
        host.attest()
        assert set(host.promises()) == contents(rows)


# ---- interruptions ----------------------------------------------------------------------


def test_interrupted_call_attests_nothing_and_keeps_its_promise(listed, strace):
    host = listed.host
    slow = host.twinfs.under_strace("-e", "inject=fadvise64:delay_exit=2s")
    with slow.started(*host.words()) as process:
        interrupt_when_held(process)
        assert process.wait(300) != 0
    assert b"stopped: interrupted; nothing was attested" in process.output[1]
    assert host.left() == []
    assert set(host.promises()) == contents(listed.rows)


def test_new_file_is_closed_once_if_that_fails(listed, strace):
    """Another thread can have the same number after the first call, even if it failed."""
    host = listed.host
    new = host.promises_file.with_name("promises.new")
    host.attest()
    result, trace = host.twinfs.traced(*host.words(), calls="trace=close", flags=[
        "-P", new, "-e", "inject=close:error=EIO"])
    assert result.status == 1 and b"Input/output error" in result.error
    assert trace.count(b"INJECTED") == 1


def test_killed_calls_leave_a_whole_attestation_or_none(listed, strace):
    host = listed.host
    random_ = random.Random(5)
    calls = ["write", "fsync", "renameat", "unlinkat", "pread64", "syncfs", "openat"]
    seen = set()
    for number in range(ROUNDS):
        call = calls[number % len(calls)]
        when = random_.randrange(1, 40 if call in ("pread64", "openat") else 4)
        host.twinfs.traced(*host.words(), calls=f"trace={call}",
                           flags=["-e", f"inject={call}:signal=KILL:when={when}"])
        if host.output.exists() and host.attested.exists():
            seen.add(len(host.attestation()[1]))
            assert set(host.promises()) == contents(listed.rows)
            host.attested.unlink()
        if host.promises_file.exists():
            assert set(host.promises()) == contents(listed.rows)
    assert seen <= {3}
    host.attest()
    assert host.left() == [host.attested.name]
    assert not host.promises_file.with_name("promises.new").exists()


def test_quiet_prints_warnings_only(listed, source):
    (source / "a").unlink()
    result = listed.host.attest("--quiet", status=3)
    assert result.out == b"" and not warnings(result, "wrote")
    assert warnings(result, f"did not attest '{source}/a': missing")


def test_progress_is_shown(listed):
    result = listed.host.attest("--progress=always")
    assert b"reading" in result.error

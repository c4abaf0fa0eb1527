# SPDX-License-Identifier: MIT
"""remove --attested removes exactly the files whose contents enough hosts attested lately."""
import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import test_act_races as races
import trees
from disks import disk
from program import Program
from removal_lists import Remover
from test_act_causes import figure, warnings
from test_act_cut_off import CHANGING
from test_act_question import Asked
from wanted_lists import sha256


@pytest.fixture
def beta(twinfs, tmp_path, source):
    return Remover(twinfs, tmp_path, source)


def left(source):
    return {os.fsdecode(os.path.relpath(os.path.join(above, name), os.fsencode(source)))
            for above, _, names in os.walk(os.fsencode(source)) for name in names}


def said(result):
    return "\n".join(result.errors)


def records(twinfs, act=None):
    acts = [json.loads(line) for line in
            twinfs.ok("log", "--format=jsonl").lines]
    return [json.loads(line) for line in
            twinfs.ok("log", "--format=jsonl", act or acts[-1]["act"]).lines]


# ---- what goes --------------------------------------------------------------------------


def test_only_attested_files_of_the_list_go(beta, source):
    trees.fill(source, {b"a/gone": b"elsewhere", b"b/gone too": b"elsewhere", b"single": b"alone",
                        b"stays": b"not listed", b"a/other": b"not attested"})
    os.link(source / "single", source / "a/linked")
    beta.plan(lambda path: path != b"stays")
    digest = sha256(source / "single"), sha256(source / "a/gone")
    beta.attest("alpha", kept=lambda row: row["sha256"] in digest)
    result = beta.remove(status=3)
    assert left(source) == {"stays", "a/other"}
    assert figure(result, "removed") == 4
    assert warnings(result, "a/other") and "too few hosts" in said(result)
    assert (source / "a/other").read_bytes() == b"not attested"
    found = records(beta.twinfs)
    assert {record["sha256"] for record in found} == set(digest)
    assert {(record["command"], record["kept_by"]) for record in found} == {("remove", "alpha")}
    assert not any("kept" in record for record in found)
    beta.twinfs.ok("scan", source)
    beta.twinfs.ok("check", source)


def test_hostile_names_and_several_sources(twinfs, tmp_path):
    sources = tmp_path / "one", tmp_path / os.fsdecode(b"two \xff\n")
    trees.odd_names(sources[0])
    trees.fill(sources[1], {b"\xfe\n": b"odd", b"sub/\xff": b"odd 2"})
    beta = Remover(twinfs, tmp_path, *sources)
    rows = beta.plan()
    beta.attest("gamma")
    result = beta.remove(*sources)
    assert figure(result, "removed") == len(rows) > 10
    assert not left(sources[0]) and not left(sources[1])


def in_order(beta, first, last):
    """Puts the rows of two paths first and last, and so in different batches."""
    head, *rows = beta.list.read_bytes().splitlines(keepends=True)
    rows.sort(key=lambda row: (json.loads(row)["path"] != first, json.loads(row)["path"] == last))
    beta.list.write_bytes(head + b"".join(rows))


def test_folder_that_lost_a_file_to_the_act_becomes_no_store(beta, source):
    """The index still has the name of the first file when the last one is examined."""
    trees.fill(source, {b"%d" % number: b"content %d" % number for number in range(130)})
    for name in ("data.mdb", "lock.mdb"):
        (source / name).write_bytes(b"no database " + name.encode())
    beta.plan()
    in_order(beta, "data.mdb", "lock.mdb")
    beta.attest("alpha")
    assert figure(beta.remove(), "removed") == 132 and not left(source)


def test_enough_distinct_hosts_must_attest(twinfs, tmp_path, source):
    trees.fill(source, {b"two of three": b"1", b"both": b"22", b"all": b"333"})
    beta = Remover(twinfs, tmp_path, source, keepers=("alpha", "delta", "gamma"), replicas=2)
    beta.plan()
    beta.attest("alpha", kept=lambda row: row["size"] != 2)
    beta.attest("delta", kept=lambda row: row["size"] >= 2)
    beta.attest("gamma", kept=lambda row: row["size"] == 3)
    result = beta.remove(status=3)
    assert left(source) == {"two of three", "both"}
    assert "2 copies" in said(result) and "too few hosts" in said(result)
    assert records(twinfs)[0]["kept_by"] == "alpha, delta, gamma"


def test_hosts_that_do_not_keep_the_content_do_not_count(twinfs, tmp_path, source):
    """gamma attested the content, but is no keeper of this row in the list."""
    trees.fill(source, {b"file": b"content"})
    beta = Remover(twinfs, tmp_path, source)
    beta.plan()
    beta.attest("gamma")
    beta.plan(keepers=[0])
    beta.remove(status=3)
    assert left(source) == {"file"}


# ---- attestations that do not count ------------------------------------------------------


@pytest.mark.parametrize("changed", [
    {"plan": "f" * 32}, {"list": "0" * 64}, {"age": 24 * 3600 + 60}, {"age": -600},
], ids=["plan", "list", "stale", "future"])
def test_attestation_of_something_else_does_not_count(beta, source, changed):
    trees.fill(source, {b"file": b"content"})
    beta.plan()
    beta.attest("alpha", **changed)
    result = beta.remove(status=3)
    assert left(source) == {"file"} and "alpha" in said(result)


def test_max_age_is_the_limit_of_the_age(beta, source):
    trees.fill(source, {b"file": b"content"})
    beta.plan()
    beta.attest("alpha", age=3 * 24 * 3600)
    beta.remove(status=3)
    beta.remove("--max-age=2d", status=3)
    assert left(source) == {"file"}
    for age in ("8d", "59s", "0", "x"):
        result = beta.twinfs(*beta.removal("--yes", f"--max-age={age}"))
        assert result.status == 2 and "--max-age" in said(result)
    beta.remove("--max-age=4d")
    assert not left(source)


@pytest.mark.parametrize("text", ["", "{", "null\n", "[]\n", "{}\n", '{"format": "twinfs-keep"}\n'])
def test_malformed_attestation_stops_all(beta, source, text):
    trees.fill(source, {b"file": b"content"})
    beta.plan()
    beta.attest("gamma")
    (beta.folder / "attested-alpha.jsonl").write_text(text)
    result = beta.remove(status=1)
    assert left(source) == {"file"} and "attested-alpha.jsonl" in said(result)


def test_torn_attestation_stops_all(beta, source):
    trees.fill(source, {b"%d" % number: b"%d" % number for number in range(20)})
    beta.plan()
    beta.attest("alpha")
    path = beta.folder / "attested-alpha.jsonl"
    data = path.read_bytes()
    for cut in (len(data) - 1, len(data) - 40, data.index(b"\n") + 1):
        path.write_bytes(data[:cut])
        beta.remove(status=1)
        assert len(left(source)) == 20


# ---- lists ------------------------------------------------------------------------------


def test_list_of_another_index_is_refused(beta, source):
    trees.fill(source, {b"file": b"content"})
    beta.plan(index="0123456789abcdef")
    beta.attest("alpha")
    result = beta.remove(status=1)
    assert left(source) == {"file"} and "another index" in said(result)


def test_kinds_of_plans_are_not_mixed_up(beta, source):
    trees.fill(source, {b"file": b"content", b"copy": b"content"})
    beta.plan()
    beta.attest("alpha")
    result = beta.twinfs("remove", "--yes", "--plan", beta.list, source)
    assert result.status == 1 and "--attested" in said(result)
    plan = beta.folder / "plan"
    plan.write_bytes(beta.twinfs.ok("remove", "--dry-run", "--format=jsonl", source).out)
    result = beta.twinfs("remove", "--yes", "--plan", plan, "--attested", beta.folder)
    assert result.status == 1, result
    assert left(source) == {"file", "copy"}


@pytest.mark.parametrize("words", [
    ["--format=json", "--dry-run"], ["--folders"], ["--keep=newest"], ["--protect=/"],
    ["--min-size=1"], ["--exclude=x"], ["--only=/"]], ids=lambda words: words[0])
def test_options_that_select_are_refused(beta, source, words):
    trees.fill(source, {b"file": b"content"})
    beta.plan()
    beta.attest("alpha")
    assert beta.twinfs(*beta.removal("--yes", *words)).status == 2
    assert left(source) == {"file"}


def test_attested_needs_a_list(twinfs, source):
    trees.fill(source, {b"file": b"content"})
    result = twinfs("remove", "--yes", "--attested", source, source)
    assert result.status == 2 and "--plan" in said(result)
    result = twinfs("remove", "--yes", "--max-age=1d", source)
    assert result.status == 2 and "--attested" in said(result)


def test_empty_list_removes_nothing(beta, source):
    trees.fill(source, {b"file": b"content"})
    beta.plan(lambda path: False)
    result = beta.remove()
    assert left(source) == {"file"} and "nothing to remove" in said(result)


# ---- files that changed ------------------------------------------------------------------


def test_changed_files_stay(beta, source):
    names = ["same size", "grown", "replaced", "link", "missing", "folder", "written", "gone"]
    trees.fill(source, {name: f"content of {name}".encode() for name in names})
    beta.plan()
    beta.attest("alpha")
    status = os.stat(source / "same size")
    (source / "same size").write_bytes(b"CONTENT of same size")
    os.utime(source / "same size", ns=(status.st_atime_ns, status.st_mtime_ns))
    with open(source / "grown", "ab") as file:
        file.write(b"more")
    (source / "new").write_bytes(b"CONTENT OF replaced")
    os.rename(source / "new", source / "replaced")
    os.rename(source / "link", source / "target")
    os.symlink("target", source / "link")
    os.unlink(source / "missing")
    os.unlink(source / "folder")
    os.mkdir(source / "folder")
    with open(source / "written", "r+b"):
        result = beta.remove(status=3)
    assert left(source) == {"same size", "grown", "replaced", "link", "target", "written"}
    assert figure(result, "removed") == 1
    for name in set(names) - {"gone"}:
        assert warnings(result, name), name


def test_equal_bytes_in_another_file_may_go(beta, source):
    """The SHA-256 decides, not inode and time."""
    trees.fill(source, {b"file": b"content"})
    beta.plan()
    beta.attest("alpha")
    (source / "new").write_bytes(b"content")
    os.rename(source / "new", source / "file")
    beta.remove()
    assert not left(source)


def born_ns(path):
    """The time of birth, as statx(2) has it."""
    text = subprocess.run(["stat", "-c", "%W %w", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    seconds, _, time, _ = text.split()
    return int(seconds) * 10**9 + int(time.partition(".")[2])


def test_file_that_another_host_attested_on_a_shared_disk_stays(beta, source):
    """Two hosts see one tree, whose ctimes changed between their exports."""
    trees.fill(source, {b"file": b"content", b"other": b"2"})
    beta.plan()
    beta.attest("alpha", kept=lambda row: row["path"] == "file",
                file=(os.stat(source / "file").st_ino, born_ns(source / "file")))
    beta.attest("gamma")
    result = beta.remove(status=3)
    assert left(source) == {"file"} and "on a disk that two hosts share" in said(result)


def test_bundles_stay_whole(beta, source):
    trees.fill(source, {b"project/.git/HEAD": b"ref: x", b"project/.git/config": b"c",
                        b"project/.git/objects/a": b"object", b"file": b"content"})
    beta.plan()
    beta.attest("alpha")
    result = beta.remove()
    assert "stays whole" in said(result)
    assert left(source) == {"project/.git/HEAD", "project/.git/config", "project/.git/objects/a"}
    beta.remove("--include-bundles", status=3)  # a name of the list is gone
    assert not left(source)


def test_file_that_a_symlink_leads_to_stays(beta, source):
    trees.fill(source, {b"file": b"content", b"other": b"2"})
    (source / "link").symlink_to(source / "file")
    beta.plan(lambda path: path != b"link")
    beta.attest("alpha")
    result = beta.remove()
    assert "skipped 1 copy that symbolic links lead to" in said(result)
    assert f"symbolic link: '{source / 'link'}'" in said(result)
    assert (source / "link").read_bytes() == b"content" and not (source / "other").exists()
    result = beta.remove("--break-symlinks", status=3)  # a name of the list is gone
    assert "1 symbolic link to these copies would lead nowhere" in said(result)
    assert not (source / "file").exists()


# ---- the act ----------------------------------------------------------------------------


def test_dry_run_names_files_and_hosts(beta, source):
    trees.fill(source, {b"file": b"content", b"sub/other": b"other"})
    beta.plan()
    beta.attest("alpha")
    beta.attest("gamma")
    result = beta.twinfs(*beta.removal("--dry-run"))
    assert result.status == 0
    assert sorted(os.fsdecode(line) for line in result.lines) == [
        f"{source}/file  (alpha, gamma)", f"{source}/sub/other  (alpha, gamma)"]
    assert "2 files" in said(result) and left(source) == {"file", "sub/other"}


def test_trash_and_undo(beta, source):
    trees.fill(source, {b"file": b"content", b"sub/other": b"other"})
    beta.plan()
    beta.attest("alpha")
    beta.remove("--trash")
    assert not left(source)
    beta.twinfs.ok("undo", "--yes")
    assert left(source) == {"file", "sub/other"}
    assert (source / "file").read_bytes() == b"content"


def test_undo_says_that_the_content_is_elsewhere(beta, source):
    trees.fill(source, {b"file": b"content", b"keeps the source": b"1"})
    beta.plan(lambda path: path == b"file")
    beta.attest("alpha")
    beta.remove()
    result = beta.twinfs("undo", "--yes")
    assert result.status == 3 and not (source / "file").exists()
    assert b"kept by alpha" in beta.twinfs.ok("log", records(beta.twinfs)[0]["act"]).out
    (source / "from alpha").write_bytes(b"content")
    beta.twinfs.ok("scan", source)
    beta.twinfs.ok("undo", "--yes")
    assert (source / "file").read_bytes() == b"content"


def test_beside_a_view(beta, source):
    trees.fill(source, {b"file": b"content", b"stays": b"1"})
    beta.plan(lambda path: path == b"file")
    beta.attest("alpha")
    with beta.twinfs.mounted(source) as view:
        beta.remove()
        assert left(source) == {"stays"}
        view.sync()
        assert os.listdir(view.path / "uniques") == ["stays"]


def test_killed_at_any_call_removes_or_restores(beta, source, strace):
    content = {f"{number}".encode(): os.urandom(3000) for number in range(3)}
    points = 0
    for call in CHANGING:
        for number in range(1, 100):
            shutil.rmtree(source, ignore_errors=True)
            trees.fill(source, {**content, b"stays": b"1"})
            beta.twinfs.ok("scan", "--accept-changed-source", source)
            beta.plan(lambda path: path != b"stays")
            beta.attest("alpha")
            _, trace = beta.twinfs.traced(
                *beta.removal("--yes"), calls=f"trace={','.join(CHANGING)}",
                flags=["-e", f"inject={call}:signal=KILL:when={number}"])
            points += 1
            if b"killed by SIGKILL" not in trace:
                break
            beta.twinfs.ok("recover")
            there = left(source)
            assert there <= {"0", "1", "2", "stays"}
            for name in there - {"stays"}:
                assert (source / name).read_bytes() == content[name.encode()]
            gone = {os.path.basename(record["path"]) for record in records(beta.twinfs)
                    if "state" not in record} if points > 1 else set()
            assert gone.isdisjoint(there) or there == {"0", "1", "2", "stays"}
    assert points > 12


def race(session, root, attack):
    """Removes attested files that are attacked meanwhile. A kept file, which is not in the list,
    has the original bytes of each."""
    folder = root / attack.__name__
    source, outside = folder / "source", folder / "outside"
    source.mkdir(parents=True)
    outside.mkdir()
    pairs = [races.Pair(source, number) for number in range(races.ROUNDS)]
    beta = Remover(Program(session, folder), folder, source, name=attack.__name__)
    beta.plan(lambda path: path.startswith(b"b/"))
    beta.attest("alpha")
    traced = beta.twinfs.under_strace(
        "-e", f"trace={races.ACTING},unlinkat",
        "-e", f"inject={races.ACTING}:delay_enter={races.DELAY_US}",
        "-e", f"inject=unlinkat:delay_enter={races.DELAY_US}:delay_exit={races.LAST_CHECK_US}")
    ended = threading.Event()
    attacker = threading.Thread(target=races.attack_all, args=(pairs, attack, outside, 0.02, ended))
    attacker.start()
    result = traced(*beta.removal("--yes"))
    ended.set()
    attacker.join()
    wrong = races.lost(pairs, source, outside)
    wrong += [f"left behind: {path}" for path in folder.rglob(".twinfs~*")]
    wrong += [f"changed: {path}" for path in outside.glob("precious */copy")
              if path.read_bytes()[:8] != b"original"]
    if result.status not in (0, 3):
        wrong.append(str(result))
    return wrong, sum(pair.written is not None for pair in pairs)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_removal_under_attack_loses_no_content(session, tmp_path, kind):
    attacks = [races.replace, races.rewrite, races.store_by_mapping, races.swap_in_symlink]
    with disk(kind, tmp_path) as root, ThreadPoolExecutor(len(attacks)) as runs:
        results = list(runs.map(lambda attack: race(session, root, attack), attacks))
    for attack, (wrong, count) in zip(attacks, results):
        assert not wrong, (attack.__name__, wrong)
        assert count > races.ROUNDS // 4, f"{attack.__name__} came too late: {count}"


# ---- the question -----------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n", ""])
def test_only_yes_removes(beta, source, answer):
    trees.fill(source, {b"file": b"content", b"stays": b"1"})
    beta.plan(lambda path: path == b"file")
    beta.attest("alpha")
    asked = Asked(beta.twinfs, 80, answer, *beta.removal())
    text = " ".join(asked.text.split())
    assert "1 file, 4.0 KiB freed. Other hosts attested" in text
    assert left(source) == ({"stays"} if answer == "y\n" else {"file", "stays"})

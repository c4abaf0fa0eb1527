# SPDX-License-Identifier: MIT
"""dedupe --partial: equal aligned blocks of files that differ share their extents, and no byte
changes."""
import csv
import io
import itertools
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from block_oracle import BLOCK, digests, equal_and_shared, extents, make_images
from disks import disk
from oracle import human
from program import Program, reads_below
from test_act_causes import figure, warnings
from test_commands import CONTROL_NAMES, check_terminal
from test_report import page_of, report_of

PARTIAL = ("dedupe", "--partial", "--yes")


@pytest.fixture(params=["btrfs", "xfs"])
def root(request, tmp_path):
    with disk(request.param, tmp_path) as mounted:
        yield mounted


@pytest.fixture
def source(root):
    folder = root / "source"
    folder.mkdir()
    return folder


def blocks(count):
    return os.urandom(count * BLOCK)


def write(path, *parts):
    """Writes a file in one piece, so that its equal parts share nothing yet."""
    path.write_bytes(b"".join(parts))
    return path


def shared_bytes(*paths, block=BLOCK):
    return equal_and_shared(paths, block)[1]


# ---- what is shared -----------------------------------------------------------------------

def test_equal_blocks_are_shared_and_no_byte_changes(twinfs, source):
    images = make_images(source, seed=1)
    before = digests(source)
    result = twinfs.ok(*PARTIAL, source)
    equal, shared = equal_and_shared(images)
    assert equal > 150 * BLOCK
    assert shared == equal
    assert digests(source) == before
    assert figure(result, "shared") > 10
    assert figure(result, "read") == len(images)
    twinfs.ok("check", source)


def test_second_run_reads_only_changed_files(twinfs, source, strace):
    images = make_images(source, seed=2)
    twinfs.ok(*PARTIAL, source)
    result, trace = twinfs.traced(*PARTIAL, source, calls="trace=pread64,read,ioctl",
                                  flags=["-y"])
    assert result.status == 0
    assert not reads_below(trace, source)
    # btrfs takes long for each extent of the answer
    asked = [int(length) for length in re.findall(rb"fm_length=(\d+)", trace)]
    assert asked and max(asked) <= images[0].stat().st_size
    assert figure(result, "shared") == 0
    assert figure(result, "unchanged") > 0
    with open(images[1], "r+b") as file:
        file.seek(7 * BLOCK)
        file.write(images[0].read_bytes()[:BLOCK])
    before = digests(source)
    result, trace = twinfs.traced(*PARTIAL, source, calls="trace=pread64,read", flags=["-y"])
    assert result.status == 0
    assert figure(result, "read") == 1
    assert figure(result, "known") == len(images) - 1
    assert digests(source) == before
    equal, shared = equal_and_shared(images)
    assert shared == equal


def test_other_block_size_reads_files_again(twinfs, source):
    common = os.urandom(96 << 10)
    one = write(source / "one", os.urandom(32 << 10), common, blocks(10))
    two = write(source / "two", common, blocks(10))
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(one, two, block=4096) == 0
    result = twinfs.ok("dedupe", "--partial=32k", "--min-run=64k", "--yes", source)
    assert figure(result, "read") == 2
    assert shared_bytes(one, two, block=32 << 10) == len(common)


def test_equal_blocks_in_one_file_are_shared(twinfs, source):
    common = blocks(5)
    one = write(source / "one", common, blocks(3), common)
    before = digests(source)
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(one) == len(common)
    assert digests(source) == before


def test_repeated_block_is_shared_and_never_overlaps(twinfs, source):
    one = write(source / "one", blocks(1) * 40)
    before = digests(source)
    twinfs.ok(*PARTIAL, "--min-run=0", source)
    equal, shared = equal_and_shared([one])
    assert shared == equal == 39 * BLOCK
    assert digests(source) == before


def test_last_block_is_shared_only_with_another_last_block(twinfs, source):
    tail = os.urandom(50_001)
    common = blocks(4)
    one = write(source / "one", blocks(9), common, tail)
    two = write(source / "two", blocks(5), common, tail)
    three = write(source / "three", blocks(6), common, tail, blocks(1))
    before = digests(source)
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(one, two) == len(common) + len(tail)
    assert shared_bytes(two, three) == len(common)
    assert digests(source) == before


def test_run_grows_into_blocks_that_are_partly_equal(twinfs, source):
    common = os.urandom(8 * BLOCK + (96 << 10))
    one = write(source / "one", blocks(4), os.urandom(64 << 10), common, blocks(3))
    two = write(source / "two", blocks(2), os.urandom(64 << 10), common, blocks(5))
    before = digests(source)
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(one, two, block=4096) == len(common)
    assert digests(source) == before


def test_holes_stay_holes_and_zeros_are_not_shared(twinfs, source):
    common = blocks(2)
    paths = [source / "one", source / "two"]
    for number, path in enumerate(paths):
        with open(path, "wb") as file:
            file.seek((number + 1) * BLOCK)
            file.write(common)
            file.seek((100 + number) << 20)
            file.write(bytes(4 * BLOCK))
            file.truncate(1 << 30)
    space = [path.stat().st_blocks for path in paths]
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(*paths) == len(common)
    assert all(path.stat().st_blocks <= before for path, before in zip(paths, space))
    assert [extent[0] >> 20 for extent in extents(paths[0])][-1] == 100


def test_runs_shorter_than_the_limit_stay_apart(twinfs, source):
    short, long = blocks(2), blocks(6)
    one = write(source / "one", blocks(3), short, blocks(2), long)
    two = write(source / "two", short, blocks(3), long, blocks(1))
    twinfs.ok(*PARTIAL, "--min-run=512k", source)
    assert shared_bytes(one, two) == len(long)


def test_files_below_the_smallest_size_are_left_out(twinfs, source):
    common = blocks(4)
    one, two = write(source / "one", common), write(source / "two", common, blocks(1))
    twinfs.ok(*PARTIAL, source)
    assert shared_bytes(one, two) == 0
    twinfs.ok(*PARTIAL, "--min-size=100k", source)
    assert shared_bytes(one, two) == len(common)


def test_excluded_and_too_large_files_are_left_out(twinfs, source):
    common = blocks(9)
    one, two = write(source / "one", common), write(source / "two", common)
    three = write(source / "three", common, blocks(40))
    twinfs.ok("scan", source)
    twinfs.ok(*PARTIAL, "--exclude=two", "--max-size=4M", source)
    assert shared_bytes(one, two, three) == 0
    twinfs.ok(*PARTIAL, "--exclude=two", source)
    assert shared_bytes(one, two) == 0
    assert shared_bytes(one, three) == len(common)


def test_named_files_are_compared_and_no_others(twinfs, source):
    common = blocks(9)
    one, two, three = (write(source / name, common) for name in ("one", "two", "three"))
    twinfs.ok(*PARTIAL, one, two, index=False)
    assert shared_bytes(one, two) == len(common)
    assert shared_bytes(one, three) == 0


def test_removed_files_lose_their_hashes(twinfs, source):
    images = make_images(source, seed=3)
    twinfs.ok(*PARTIAL, source)
    for path in images[1:]:
        path.unlink()
    result = twinfs.ok(*PARTIAL, source)
    assert figure(result, "known") == 1
    twinfs.ok("scan", source)
    twinfs.ok("check", source)


def test_progress_of_each_step_is_shown(twinfs, source):
    make_images(source, seed=7)
    result = twinfs.ok(*PARTIAL, "--progress=always", source)
    for step in ("hashing", "finding shared blocks", "sharing"):
        assert [line for line in result.errors if step in line and " MiB" in line], step


# ---- output -------------------------------------------------------------------------------

def runs_of(twinfs, source, form):
    return twinfs.ok("dedupe", "--partial", "--dry-run", f"--format={form}", source)


def test_dry_run_prints_each_run_in_all_formats(twinfs, source):
    common = blocks(7)
    odd = os.fsdecode(b'odd "\xff, \n')
    one = write(source / "one", blocks(2), common)
    two = write(source / odd, blocks(5), common, blocks(1))
    before = digests(source), extents(one), extents(two)
    data = runs_of(twinfs, source, "json").json
    [run] = data["runs"]
    assert data["summary"] == {"runs": 1, "bytes": len(common), "shared_bytes": 0, "files": 2}
    places = {"one": (2 * BLOCK, os.fsencode(one)), "two": (5 * BLOCK, os.fsencode(two))}
    forward = run["offset"] == 5 * BLOCK
    (offset, path), (source_offset, source_path) = sorted(places.values(),
                                                          reverse=forward)
    assert (run["bytes"], run["offset"], run["source_offset"]) == (
        len(common), offset, source_offset)
    assert json.loads(runs_of(twinfs, source, "jsonl").out) == run
    assert runs_of(twinfs, source, "null").out.split(b"\0") == [
        b"%d %d %d" % (len(common), offset, source_offset), path, source_path, b""]
    [row] = csv.DictReader(io.StringIO(runs_of(twinfs, source, "csv").out.decode(), newline=""))
    assert (int(row["bytes"]), int(row["offset"]), int(row["source_offset"])) == (
        len(common), offset, source_offset)
    assert bool(row["path_base64"]) == (b"\xff" in path)
    assert bool(row["source_path_base64"]) == (b"\xff" in source_path)
    text = runs_of(twinfs, source, "text")
    assert text.out.startswith(b"  896 KiB  ")
    assert b" at %d like " % offset in text.out
    assert b"1 run of 896 KiB" in text.error
    assert (digests(source), extents(one), extents(two)) == before


def test_no_format_writes_control_characters_to_a_terminal(twinfs, source):
    common = blocks(7)
    for number, name in enumerate(CONTROL_NAMES):
        write(Path(os.fsdecode(os.path.join(os.fsencode(source), name))), blocks(number), common)
    for name in ("text", "json", "jsonl", "csv", "null"):
        check_terminal(twinfs, "dedupe", "--partial", "--dry-run", f"--format={name}", source)


def test_longest_runs_are_printed_first(twinfs, source):
    make_images(source, seed=4)
    lengths = [run["bytes"] for run in runs_of(twinfs, source, "json").json["runs"]]
    assert len(lengths) > 10
    assert lengths == sorted(lengths, reverse=True)


def test_runs_are_in_the_order_of_a_rotating_disk(twinfs, source):
    images = make_images(source, seed=4)
    runs = twinfs.ok("dedupe", "--partial", "--dry-run", "--format=json", "--disk=rotating",
                     source).json["runs"]
    by_place = sorted(images, key=lambda path: extents(path)[0][1])
    places = [(by_place.index(source / os.path.basename(run["path"])), run["offset"])
              for run in runs]
    assert len(places) > 10
    assert places == sorted(places)
    twinfs.ok(*PARTIAL, "--disk=rotating", source)
    equal, shared = equal_and_shared(images)
    assert shared == equal


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 1)])
def test_user_is_asked_before_blocks_are_shared(twinfs, source, answer, status):
    common = blocks(9)
    one, two = write(source / "one", common), write(source / "two", common)
    own, terminal = pty.openpty()
    os.write(own, answer)
    result = twinfs("dedupe", "--partial", source, stdin=terminal)
    os.close(terminal)
    os.close(own)
    assert result.status == status
    assert b"1 run of equal blocks" in result.error
    assert shared_bytes(one, two) == (len(common) if status == 0 else 0)


@pytest.mark.parametrize(("words", "said"), [
    (["--partial=100k"], "power of two"),
    (["--partial=2k"], "power of two"),
    (["--partial=32M"], "power of two"),
    (["--min-run=1M"], "--min-run needs --partial"),
    (["--partial", "--keep=oldest"], "no kept copies"),
    (["--partial", "--path=*.img"], "no kept copies"),
    (["--partial", "--plan=x"], "omit --plan"),
    (["--partial", "--log=x"], "omit --plan, --log"),
    (["--partial", "--dry-run", "--format=fdupes"], "--format=text"),
    (["--partial", "--format=json"], "--format needs --dry-run"),
])
def test_wrong_options_are_refused(session, tmp_path, words, said):
    folder = tmp_path / "source"
    folder.mkdir()
    result = Program(session, tmp_path)("dedupe", "--yes", *words, folder)
    assert result.status == 2
    assert said in result.errors[0]


# ---- files that cannot be shared ----------------------------------------------------------

def test_disk_without_shared_blocks_is_named_once(session, tmp_path):
    with disk("ext4", tmp_path) as root:
        common = blocks(9)
        for name in ("one", "two", "three"):
            write(root / name, common)
        result = Program(session, tmp_path)(*PARTIAL, root)
    assert result.status == 3
    [line] = warnings(result, "cannot share blocks")
    assert "btrfs, XFS and bcachefs can" in line


def test_immutable_files_are_named_once_and_the_others_are_shared(twinfs, source):
    images = make_images(source, seed=5)
    before = digests(source)
    subprocess.run(["chattr", "+i", *images[2:]], check=True)
    try:
        result = twinfs(*PARTIAL, source)
    finally:
        subprocess.run(["chattr", "-i", *images[2:]], check=True)
    assert result.status == 3
    named = [path for line in warnings(result, "not permitted") for path in images
             if f"cannot share blocks of '{path}'" in line]
    assert named and set(named) <= set(images[2:])  # the first file is a source only
    assert len(named) == len(set(named)) == len(result.errors)
    assert figure(result, "skipped") > 0
    assert digests(source) == before
    equal, shared = equal_and_shared(images[:2])
    assert shared == equal > 0


def test_file_open_for_writing_is_shared(twinfs, source):
    common = blocks(9)
    one, two = write(source / "one", common), write(source / "two", common)
    with open(two, "r+b") as file:
        twinfs.ok(*PARTIAL, source)
        assert shared_bytes(one, two) == len(common)
        file.write(b"new bytes")
    assert one.read_bytes() == common
    assert two.read_bytes() == b"new bytes" + common[9:]


def test_running_program_is_shared(twinfs, source):
    program = write(source / "program", Path(shutil.which("sleep")).read_bytes(), bytes(1 << 20))
    copy = write(source / "copy", program.read_bytes(), b"more")
    program.chmod(0o755)
    with subprocess.Popen([program, "60"]) as running:
        result = twinfs.ok(*PARTIAL, "--partial=4k", "--min-run=4k", source)
        running.kill()
    assert figure(result, "shared") > 0
    assert shared_bytes(program, copy, block=4096) > 0


def test_files_of_other_users_are_sources_only(root, as_user, plain_user):
    folder = root / "source"
    folder.mkdir()
    common, later = blocks(9), blocks(8)
    own = write(folder / "a own", common, later)
    os.chown(own, plain_user.pw_uid, plain_user.pw_gid)
    foreign = [write(folder / "b foreign", blocks(2), common),
               write(folder / "c foreign", blocks(3), later, blocks(1)),
               write(folder / "d foreign", blocks(4), later)]
    os.chmod(folder, 0o755)
    result = as_user(*PARTIAL, folder)
    assert shared_bytes(*foreign, own) == len(common) + len(later)
    assert result.status == 3
    assert len(warnings(result, "cannot share blocks")) == 1


def test_view_keeps_the_index_and_the_hashes_are_used_once(twinfs, source):
    images = make_images(source, seed=6)
    twinfs.ok(*PARTIAL, "--dry-run", source)
    with open(images[0], "r+b") as file:
        file.write(b"changed")
    with twinfs.mounted(source) as view:
        for operand in (source, view.path):
            result = twinfs.ok(*PARTIAL, operand)
            assert figure(result, "read") == 1
            assert figure(result, "known") == len(images) - 1
            assert warnings(result, "hashes of the blocks")
        assert not view.differences_now(source)
    equal, shared = equal_and_shared(images)
    assert shared == equal


# ---- what is known afterwards -------------------------------------------------------------

def has_command(page, operand):
    """Whether a page has the command that shares equal parts of the sources."""
    words = [shlex.split(command) for command in page.commands()]
    return [os.fspath(operand)] in [command[-1:] for command in words
                                    if command[:3] == ["twinfs", "dedupe", "--partial"]]


def check_parts_shown(twinfs, view, runs, size):
    """Checks that status and report say how much could be shared."""
    parts = view.status().get("equal_parts")
    assert (parts["runs"], parts["bytes"], parts["block_bytes"]) == (runs, size, BLOCK)
    made = datetime.fromisoformat(parts["time"].replace("Z", "+00:00"))
    assert abs(datetime.now(UTC) - made) < timedelta(hours=1)
    lines = twinfs.ok("status", view.path).out.decode().splitlines()
    shown = [line.split(None, 2)[2] for line in lines if line.startswith("equal parts ")]
    for page in (report_of(view), page_of(twinfs, view.path)):
        assert has_command(page, view.path) == (runs > 0)
        assert ("equal blocks" in page.root.text()) == (runs > 0)
        if runs:
            [step] = [step for step in page.part("next").all("li") if "blocks" in step.text()]
            assert step.numbers() == [size, runs]
    assert len(shown) == (runs > 0)
    start = f"{runs} runs of different files, {human(size)} ("
    assert all(line.startswith(start) for line in shown)


def planned(result):
    listing = json.loads(result.out)
    return listing["summary"]["runs"], listing["summary"]["bytes"]


def test_status_and_report_know_what_a_dry_run_found(twinfs, source):
    make_images(source, seed=7)
    with twinfs.mounted(source) as view:
        assert "equal_parts" not in view.status()
        assert "equal blocks" not in report_of(view).root.text()
        first = planned(twinfs.ok("dedupe", "--partial", "--dry-run", "--format=json", view.path))
        assert first[0] > 10
        check_parts_shown(twinfs, view, *first)
        for selective in ("--max-size=1M", "--min-size=4M", "--exclude=*0", "--min-run=1M"):
            twinfs.ok("dedupe", "--partial", "--dry-run", selective, view.path)
        check_parts_shown(twinfs, view, *first)
    with twinfs.mounted(source) as view:
        check_parts_shown(twinfs, view, *first)
        twinfs.ok(*PARTIAL, view.path)
        check_parts_shown(twinfs, view, 0, 0)


def test_note_of_another_index_or_a_torn_one_is_not_shown(twinfs, source):
    make_images(source, seed=8)
    twinfs.ok("dedupe", "--partial", "--dry-run", source)
    note = twinfs.index / "equal-parts"
    whole = note.read_bytes()
    assert has_command(page_of(twinfs, source), source)
    for torn in (whole[:-1], whole[:-5], b"", b"1" + whole, whole[::-1], b"\xff" * 300):
        note.write_bytes(torn)
        assert "equal blocks" not in page_of(twinfs, source).root.text()
    twinfs.ok("index", "--forget", twinfs.index)
    twinfs.ok("scan", source)
    assert not note.exists()
    note.write_bytes(whole)
    assert "equal blocks" not in page_of(twinfs, source).root.text()


# ---- btrfs --------------------------------------------------------------------------------

@pytest.fixture
def btrfs(tmp_path):
    with disk("btrfs", tmp_path) as mounted:
        folder = mounted / "source"
        folder.mkdir()
        yield folder


def test_compressed_files_are_shared(twinfs, btrfs):
    subprocess.run(["chattr", "+c", btrfs], check=True)
    text = b"".join(b"%09d all work and no play\n" % number for number in range(100_000))
    common = text[:16 * BLOCK]
    one = write(btrfs / "one", blocks(1), common)
    two = write(btrfs / "two", common, blocks(1))
    before = digests(btrfs)
    twinfs.ok(*PARTIAL, btrfs)
    assert digests(btrfs) == before
    again = twinfs.ok(*PARTIAL, btrfs)
    assert figure(again, "shared") == 0
    assert figure(again, "unchanged") > 0
    assert shared_bytes(one, two) >= 15 * BLOCK


def test_files_without_checksums_share_among_themselves(twinfs, btrfs):
    plain = btrfs / "plain"
    plain.mkdir()
    subprocess.run(["chattr", "+C", plain], check=True)
    common = blocks(9)
    one, two = write(btrfs / "one", common), write(btrfs / "two", common)
    three, four = write(plain / "three", common), write(plain / "four", common)
    result = twinfs.ok(*PARTIAL, btrfs)
    assert figure(result, "shared") == 2
    assert shared_bytes(one, two) == shared_bytes(three, four) == len(common)
    assert shared_bytes(one, three) == 0


def test_files_of_two_subvolumes_are_shared(twinfs, btrfs):
    for name in ("one", "two"):
        subprocess.run(["btrfs", "-q", "subvolume", "create", btrfs / name], check=True)
    common = blocks(9)
    paths = [write(btrfs / name / "image", common, blocks(1)) for name in ("one", "two")]
    twinfs.ok(*PARTIAL, "--cross-file-systems", btrfs)
    assert shared_bytes(*paths) == len(common)


# ---- holes --------------------------------------------------------------------------------

def make_with_zeros(path, kind, ends, zeros):
    """Writes a file with zeros between two equal parts: as a hole, unwritten, or written."""
    with open(path, "wb") as file:
        file.write(ends)
        file.flush()
        if kind == "unwritten":
            os.posix_fallocate(file.fileno(), len(ends), zeros)
        if kind == "written":
            file.write(bytes(zeros))
        file.seek(len(ends) + zeros)
        file.write(ends)
        file.flush()
        os.fsync(file.fileno())


@pytest.mark.parametrize("command", [PARTIAL, ("dedupe", "--yes")], ids=["partial", "whole"])
def test_dedupe_of_files_with_holes_makes_no_file_larger(twinfs, source, command):
    kinds = ("written", "hole", "unwritten")
    for number, (first, second) in enumerate(itertools.permutations(kinds, 2)):
        ends = blocks(2)
        for age, kind in enumerate((first, second)):
            path = source / f"{number}.{age} {kind}"
            # the parts begin and end within blocks of dedupe --partial
            make_with_zeros(path, kind, ends[:-5000], 1 << 20)
            os.utime(path, (age, age))
    before = digests(source)
    used = {path: path.stat().st_blocks for path in source.iterdir()}
    result = twinfs.ok(*command, source)
    subprocess.run(["sync", "-f", source], check=True)
    assert digests(source) == before
    assert figure(result, "shared" if command == PARTIAL else "deduped") > 0
    assert not [path for path, were in used.items() if path.stat().st_blocks > were]
    again = twinfs.ok(*command, source)
    assert figure(again, "shared" if command == PARTIAL else "deduped") == 0

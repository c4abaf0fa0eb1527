# SPDX-License-Identifier: MIT
"""dedupe --partial when files became bad, or changed, after their blocks were hashed: each is named
once, and the others share all that is equal. The first of equal files is the source of the runs of
the others, so these need another source then."""
import contextlib
import os
import signal

import pytest
from block_oracle import BLOCK, digests, equal_and_shared, make_images
from disks import IMAGE_BYTES, MAKE
from processes import children, until
from terminal import Terminal
from test_act_causes import figure, warnings
from test_bad_blocks import on_disk, spoil
from test_partial import PARTIAL

HELD_US = 100_000


@pytest.fixture
def bad_disk(make_disk):
    """Makes an XFS whose blocks can become bad, with files that fill(folder) writes."""
    def make(fill):
        disk = make_disk(IMAGE_BYTES, time_scale=0, make=MAKE["xfs"])
        disk.fill(fill)
        return disk
    return make


def planned_runs(twinfs, folder):
    """(run, path of the source, path of the destination) of each run to share."""
    runs = twinfs.ok("dedupe", "--partial", "--dry-run", "--format=json", folder).json["runs"]
    return [(run, folder / run["source_path"], folder / run["path"]) for run in runs]


def sources_of_runs(twinfs, folder):
    return {source for _, source, _ in planned_runs(twinfs, folder)}


def fill_equal(folder, files=6, runs=5):
    """Files with the same runs of 4 blocks, each followed by a block of the file."""
    common = [os.urandom(4 * BLOCK) for _ in range(runs)]
    paths = [folder / f"{number:02}" for number in range(files)]
    for path in paths:
        path.write_bytes(b"".join(run + os.urandom(BLOCK) for run in common))
    return paths


def fill_ring(folder):
    """Three files of which each two have an equal part. One is a source and a destination."""
    parts = [os.urandom(8 * BLOCK) for _ in range(3)]
    for number in range(3):
        (folder / f"{number}").write_bytes(parts[number] + os.urandom(BLOCK) + parts[number - 1] +
                                           os.urandom(BLOCK))


def both_of_ring(twinfs, folder):
    runs = planned_runs(twinfs, folder)
    return min({source for _, source, _ in runs} & {path for _, _, path in runs})


def assert_rest_is_shared(folder, left_out):
    equal, shared = equal_and_shared(sorted(set(folder.iterdir()) - set(left_out)))
    assert equal == shared > 0


def assert_only_bad_is_left_out(twinfs, folder, bad):
    """Shares what is equal, while one file cannot be read."""
    result = twinfs(*PARTIAL, folder)
    assert result.status == 3
    [line] = warnings(result, "Input/output error")
    assert f"'{bad}'" in line
    assert_rest_is_shared(folder, [bad])


# ---- bad blocks ---------------------------------------------------------------------------

@pytest.mark.parametrize("role", ["source", "destination"])
def test_bad_file_is_named_and_the_others_are_shared(twinfs, bad_disk, role):
    disk = bad_disk(lambda root: make_images(root, seed=9))
    with disk.served():
        images, before = sorted(disk.root.iterdir()), digests(disk.root)
        sources = sources_of_runs(twinfs, disk.root)
        bad = min(sources if role == "source" else set(images) - sources)
        spoil(disk, bad)
        assert_only_bad_is_left_out(twinfs, disk.root, bad)
        disk.spoil()
        disk.cold()
        assert digests(disk.root) == before
        twinfs.ok(*PARTIAL, disk.root)
        assert_rest_is_shared(disk.root, [])


def test_bad_block_costs_only_its_run(twinfs, bad_disk):
    disk = bad_disk(lambda root: make_images(root, seed=11))
    with disk.served():
        images = sorted(disk.root.iterdir())
        runs = planned_runs(twinfs, disk.root)
        sources = {source for _, source, _ in runs}
        bad = next(path for _, _, path in runs if path not in sources)
        # the longest run of the file is shared first
        run = max((run for run, _, path in runs if path == bad), key=lambda run: run["bytes"])
        spoil(disk, bad, run["offset"] + run["bytes"] // 2, 4096)
        result = twinfs(*PARTIAL, disk.root)
        assert result.status == 3
        assert len(warnings(result, "Input/output error")) == 1
        assert figure(result, "skipped") == 1
        assert figure(result, "shared") == len(runs) - 1
        disk.spoil()
        disk.cold()
        equal, shared = equal_and_shared(images)
        assert equal - shared == run["bytes"]


def test_many_bad_files_do_not_keep_the_others_from_sharing(twinfs, bad_disk):
    """All are possible sources, before any file that is not bad."""
    disk = bad_disk(lambda root: fill_equal(root, files=30, runs=2))
    with disk.served():
        runs = planned_runs(twinfs, disk.root)
        order = list(dict.fromkeys([runs[0][1], *(path for _, _, path in runs)]))
        assert len(order) == 30
        disk.spoil(*(part for path in order[:20] for part in on_disk(path)))
        disk.cold()
        result = twinfs(*PARTIAL, disk.root)
        assert result.status == 3
        for path in order:
            assert len(warnings(result, f"'{path}'")) == (path in order[:20])
        assert_rest_is_shared(disk.root, order[:20])


def test_bad_file_that_is_source_and_destination_is_named_once(twinfs, bad_disk):
    disk = bad_disk(fill_ring)
    with disk.served():
        bad = both_of_ring(twinfs, disk.root)
        spoil(disk, bad)
        assert_only_bad_is_left_out(twinfs, disk.root, bad)


def test_blocks_beside_a_run_are_not_to_blame(twinfs, bad_disk):
    """A run of two small blocks fails because of its destination; the source is bad elsewhere."""
    words = ("dedupe", "--partial=4k", "--min-run=4k")
    common = os.urandom(8192)
    disk = bad_disk(lambda root: [(root / name).write_bytes(common + os.urandom(1 << 20))
                                  for name in "ab"])
    with disk.served():
        [run] = twinfs.ok(*words, "--dry-run", "--format=json", disk.root).json["runs"]
        source, path = disk.root / run["source_path"], disk.root / run["path"]
        disk.spoil(*on_disk(source, 32768, 4096), *on_disk(path, 0, 4096))
        disk.cold()
        result = twinfs(*words, "--yes", disk.root)
        assert result.status == 3
        [line] = warnings(result, "Input/output error")
        assert f"'{path}'" in line


# ---- changed files ------------------------------------------------------------------------

def truncate(path):
    os.truncate(path, 100)


def overwrite(path):
    data = os.urandom(path.stat().st_size)
    with open(path, "r+b") as file:
        file.write(data)


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"edited")
    other.rename(path)


CHANGES = [truncate, overwrite, replace]


@contextlib.contextmanager
def asked(twinfs, folder):
    """Yields a process of dedupe --partial that asks its question, and its terminal. Waits for its
    end."""
    with contextlib.closing(Terminal(200)) as seen, seen.run(
            twinfs.command("dedupe", "--partial", folder), twinfs.environment,
            stdin=seen.theirs) as process:
        assert until(lambda: "Share them?" in seen.written)
        yield process, seen


@contextlib.contextmanager
def asked_to_share(twinfs, folder):
    """Answers the question with yes at the end of the block. Yields a list that gets the exit
    status and the text."""
    result = []
    with asked(twinfs, folder) as (process, seen):
        yield result
        os.write(seen.ours, b"y\n")
    result.extend((process.returncode, seen.written))


@pytest.mark.parametrize("change", CHANGES)
def test_runs_of_a_source_that_changed_get_another_source(twinfs, room, change):
    make_images(room.source, seed=10)
    changed = min(sources_of_runs(twinfs, room.source))
    with asked_to_share(twinfs, room.source) as result:
        change(changed)
        before = digests(room.source)
    status, text = result
    assert status == 3
    assert text.count("warning") == 1
    assert f"'{changed}': it changed meanwhile" in text
    assert_rest_is_shared(room.source, [changed])
    assert digests(room.source) == before


@pytest.mark.parametrize("change", [*CHANGES, os.unlink])
def test_changed_file_that_is_source_and_destination_is_named_once(twinfs, room, change):
    fill_ring(room.source)
    changed = both_of_ring(twinfs, room.source)
    with asked_to_share(twinfs, room.source) as result:
        change(changed)
    status, text = result
    assert status == 3
    assert text.count("warning") == 1
    assert f"'{changed}': it changed meanwhile" in text
    assert_rest_is_shared(room.source, [changed])


@pytest.mark.parametrize("change", [truncate, overwrite])
def test_source_that_changes_while_its_runs_are_shared_is_named(twinfs, room, strace, tmp_path,
                                                                change):
    """The file is open already, so the command notices it by runs that fail or differ."""
    fill_equal(room.source)
    [source] = sources_of_runs(twinfs, room.source)
    trace = tmp_path / "trace"
    held = twinfs.under_strace("-e", "trace=ioctl", "-e", f"inject=ioctl:delay_exit={HELD_US}",
                               output=trace)
    with held.started(*PARTIAL, "--disk=rotating", room.source) as process:
        assert until(lambda: b"FIDEDUPERANGE, {src_offset=0, src_length=5" in trace.read_bytes())
        change(source)
        before = digests(room.source)
        assert process.wait() == 3
    [line] = [line for line in process.output[1].splitlines() if b"warning" in line]
    assert os.fsencode(f"'{source}': it changed meanwhile") in line
    assert_rest_is_shared(room.source, [source])
    assert digests(room.source) == before


# ---- what is left ---------------------------------------------------------------------------

def parts_left(twinfs, folder):
    with twinfs.mounted(folder) as view:
        parts = view.status()["equal_parts"]
    return parts["runs"], parts["bytes"]


def test_interruption_of_the_second_plan_leaves_the_figures_of_the_first(twinfs, room, strace,
                                                                         tmp_path):
    fill_equal(room.source)
    [changed] = sources_of_runs(twinfs, room.source)
    before, trace = parts_left(twinfs, room.source), tmp_path / "trace"
    held = twinfs.under_strace("-e", "trace=ioctl", "-e", f"inject=ioctl:delay_enter={HELD_US}",
                               output=trace)
    with asked(held, room.source) as (process, seen):
        replace(changed)
        os.write(seen.ours, b"y\n")
        assert until(lambda: "changed meanwhile" in seen.written)
        mapped = trace.read_bytes().count(b"FIEMAP")
        assert until(lambda: trace.read_bytes().count(b"FIEMAP") > mapped + 1)
        os.kill(*children(process.pid), signal.SIGINT)
    assert "interrupted; run the command again" in seen.written
    assert parts_left(twinfs, room.source) == before


def test_run_of_which_a_part_was_shared_is_left_with_the_rest(twinfs, bad_disk):
    size = 40 << 20
    common = os.urandom(size)
    disk = bad_disk(lambda root: [(root / name).write_bytes(common) for name in "ab"])
    with disk.served():
        for name in "ab":
            with open(disk.root / name, "ab") as file:
                file.write(os.urandom(100))
        [(_, _, path)] = planned_runs(twinfs, disk.root)
        spoil(disk, path, 20 << 20, 4096)
        result = twinfs(*PARTIAL, disk.root)
        assert result.status == 3
        disk.spoil()
        disk.cold()
        equal, shared = equal_and_shared(sorted(disk.root.iterdir()))
        assert 0 < shared < equal == size
        assert parts_left(twinfs, disk.root) == (1, equal - shared)

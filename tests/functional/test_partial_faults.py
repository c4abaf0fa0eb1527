# SPDX-License-Identifier: MIT
"""dedupe --partial while calls fail, files change and the process is killed: every file has the
bytes that its writers gave it, and a second run does the rest.

Each storm kills $TWINFS_PARTIAL_ROUNDS runs (8)."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
from block_oracle import BLOCK, digests, equal_and_shared, make_images
from disks import disk
from processes import interrupt_when_held, release
from test_act_causes import figure, warnings
from test_partial import PARTIAL

ROUNDS = int(os.environ.get("TWINFS_PARTIAL_ROUNDS", "8"))


@pytest.fixture(params=["btrfs", "xfs"])
def root(request, tmp_path):
    with disk(request.param, tmp_path) as mounted:
        yield mounted


@pytest.fixture
def source(root):
    folder = root / "source"
    folder.mkdir()
    return folder


def assert_second_run_shares_all(twinfs, images, source):
    twinfs.ok(*PARTIAL, source)
    equal, shared = equal_and_shared(images)
    assert equal == shared > 0
    twinfs.ok("check", source)


# ---- failing calls ------------------------------------------------------------------------

def test_full_disk_stops_the_run(twinfs, source, strace):
    images = make_images(source, seed=1)
    before = digests(source)
    result, _ = twinfs.traced(*PARTIAL, source, calls="trace=ioctl",
                              flags=["-e", "inject=ioctl:error=ENOSPC:when=12+"])
    assert result.status == 1
    assert warnings(result, "the disk is full")
    assert digests(source) == before
    assert_second_run_shares_all(twinfs, images, source)


def test_blocks_that_the_kernel_cannot_read_are_left_alone(twinfs, source, strace):
    images = make_images(source, seed=2)
    before = digests(source)
    result, _ = twinfs.traced(*PARTIAL, source, calls="trace=ioctl",
                              flags=["-e", "inject=ioctl:error=EIO:when=12+"])
    assert result.status == 3
    assert warnings(result, "Input/output error")
    assert figure(result, "skipped") > 0
    assert digests(source) == before
    assert_second_run_shares_all(twinfs, images, source)


def test_runs_on_a_really_full_disk_change_no_byte(twinfs, source):
    images = make_images(source, seed=3)
    before = digests(source)
    with open(source.parent / "rest", "wb", buffering=0) as rest:
        with contextlib.suppress(OSError):
            while rest.write(bytes(1 << 16)):
                pass
        result = twinfs(*PARTIAL, source)
        assert result.status == 0 or warnings(result, "the disk is full")
        assert digests(source) == before
    (source.parent / "rest").unlink()
    assert_second_run_shares_all(twinfs, images, source)


def test_unreadable_file_is_named_and_the_others_are_shared(root, as_user, plain_user):
    folder = root / "source"
    folder.mkdir()
    os.chown(folder, plain_user.pw_uid, plain_user.pw_gid)
    images = make_images(folder, seed=3)
    for image in images:
        os.chown(image, plain_user.pw_uid, plain_user.pw_gid)
    os.chmod(images[1], 0)
    result = as_user(*PARTIAL, folder)
    assert result.status == 3
    [line] = warnings(result, "cannot read")
    assert f"cannot read '{images[1]}': Permission denied" in line
    equal, shared = equal_and_shared([images[0], *images[2:]])
    assert equal == shared > 0
    os.chmod(images[1], 0o600)
    as_user.ok(*PARTIAL, folder)
    equal, shared = equal_and_shared(images)
    assert equal == shared


def test_index_on_a_full_disk_costs_only_the_hashes(session, tmp_path, twinfs, source):
    images = make_images(source, seed=4)
    (tmp_path / "small").mkdir()
    with disk("ext4", tmp_path / "small", size=8 << 20) as small:
        other = twinfs.with_index(small / "index")
        other.ok("scan", source)
        with open(small / "filler", "wb", buffering=0) as filler:
            size = 1 << 16
            while size >= 1024:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2
            filler.truncate(filler.tell() - (64 << 10))
        result = other(*PARTIAL, "--partial=4k", source)
        assert result.status == 0, result
        assert warnings(result, "cannot write hashes of blocks to the index")
    equal, shared = equal_and_shared(images)
    assert equal == shared > 0


# ---- files that change --------------------------------------------------------------------

def truncate(path):
    os.truncate(path, 15 * BLOCK + 100)


def punch(path):
    subprocess.run(["fallocate", "--punch-hole", "--offset", str(BLOCK), "--length",
                    str(20 * BLOCK), path], check=True)


def overwrite(path):
    with open(path, "r+b") as file:
        for at in range(0, path.stat().st_size, BLOCK):
            file.seek(at + 100)
            file.write(b"other bytes")


def replace(path):
    new = path.with_name("new")
    new.write_bytes(os.urandom(30 * BLOCK))
    new.rename(path)


@pytest.mark.parametrize("attack", [truncate, punch, overwrite, replace])
def test_file_that_changes_at_any_call_keeps_its_new_bytes(twinfs, source, strace, attack,
                                                           tmp_path):
    shape = {"count": 3, "blocks": 40, "longest": 8}
    attacked = 0
    for number in (1, 5, 9, 13, 20, 30, 40):
        images = make_images(source, seed=5, **shape)
        other = twinfs.with_index(tmp_path / f"index {number}")
        with other.held(*PARTIAL, source, call="ioctl", when=number) as process:
            if process.poll() is None:
                attack(images[1])
                attacked += 1
                release(process)
            expected = digests(source)
            process.wait(60)
        assert digests(source) == expected
        assert process.returncode in (0, 1, 3), process.output
        other.ok(*PARTIAL, source)
        equal, shared = equal_and_shared(images)
        assert equal == shared > 0
        assert digests(source) == expected
    assert attacked > 2


class Writer(threading.Thread):
    """Writes random bytes to random places of a file, and knows what the file must have."""

    def __init__(self, path, seed, images):
        super().__init__()
        self.path, self.random, self.images = path, random.Random(seed), images
        self.bytes = bytearray(path.read_bytes())
        self.ended = threading.Event()

    def run(self):
        with open(self.path, "r+b", buffering=0) as file:
            while not self.ended.is_set():
                at = self.random.randrange(len(self.bytes) // 4096) * 4096
                if self.random.random() < 0.5:
                    data = os.urandom(self.random.randint(1, 6000))
                else:  # blocks that another image has, too
                    data = self.random.choice(self.images)[at:at + 2 * BLOCK]
                data = data[:len(self.bytes) - at]
                os.pwrite(file.fileno(), data, at)
                self.bytes[at:at + len(data)] = data
                time.sleep(0.0005)


def test_killed_runs_beside_writers_change_no_byte(twinfs, source):
    images = make_images(source, seed=6, blocks=150)
    copies = [path.read_bytes() for path in images]
    writers = [Writer(path, seed, copies) for seed, path in enumerate(images[:2])]
    chance = random.Random(7)
    for writer in writers:
        writer.start()
    took, ended = 0.1, 0
    try:
        for number in range(ROUNDS):
            begun = time.monotonic()
            if number % 2 == 0:  # reads all files again
                shutil.rmtree(twinfs.index, ignore_errors=True)
            with twinfs.started(*PARTIAL, "--quiet", source) as process:
                try:
                    process.wait(chance.uniform(0, took) if number % 4 else 60)
                except subprocess.TimeoutExpired:
                    process.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT]))
                process.wait(60)
            assert process.returncode in (0, 1, 3, -signal.SIGKILL, -signal.SIGINT), number
            ended += process.returncode < 0
            if number % 4 == 0:
                took = time.monotonic() - begun
    finally:
        for writer in writers:
            writer.ended.set()
            writer.join()
    for writer in writers:
        assert writer.path.read_bytes() == writer.bytes
    for path, data in zip(images[2:], copies[2:]):
        assert path.read_bytes() == data
    assert ended > ROUNDS // 10
    subprocess.run(["sync", "-f", source], check=True)
    assert_second_run_shares_all(twinfs, images, source)
    shutil.rmtree(source)


def test_interrupted_run_is_continued(twinfs, source, strace):
    images = make_images(source, seed=8)
    before = digests(source)
    slow = twinfs.under_strace("-e", "inject=ioctl:delay_enter=400ms:when=40+")
    with slow.started(*PARTIAL, source) as process:
        interrupt_when_held(process)
        process.wait(60)
    assert b"interrupted; run the command again" in process.output[1]
    assert digests(source) == before
    result = twinfs.ok(*PARTIAL, source)
    assert figure(result, "known") == len(images)
    equal, shared = equal_and_shared(images)
    assert equal == shared > 0

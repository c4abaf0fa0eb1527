# SPDX-License-Identifier: MIT
"""Causes that all copies on a file system share: an act names each of them once, with the number of
copies, and stops where no further copy can succeed."""
import contextlib
import os
import shutil
import subprocess

import pytest
from disks import disk
from processes import release
from program import Program
from terminal import Terminal
from test_act import copies, everything

COUNT = 300  # more than one batch of an act


def warnings(result, word):
    return [line for line in result.errors if word in line]


def pairs(kept, gone, count=COUNT):
    """Equal files, one in each folder."""
    for folder in (kept, gone):
        folder.mkdir(exist_ok=True)
    for number in range(count):
        data = os.urandom(100)
        for folder in (kept, gone):
            (folder / f"{number:03}").write_bytes(data)


def figure(result, label):
    """The number that the act prints after a label, or 0."""
    found = [line.split()[1] for line in result.lines if line.startswith(label.encode())]
    return int(found[0].replace(b",", b"")) if found else 0


def test_dedupe_on_a_disk_without_shared_blocks_warns_once_and_stops(session, tmp_path, strace):
    with disk("ext4", tmp_path) as root:
        pairs(root / "a", root / "b")
        twinfs = Program(session, tmp_path)
        result, trace = twinfs.traced("dedupe", "--yes", root / "a", root / "b",
                                      calls="trace=ioctl")
    assert result.status == 3
    [line] = warnings(result, "cannot share blocks")
    assert f"{COUNT} copies, of which the first is '{root}/b/" in line
    assert figure(result, "skipped") == COUNT
    assert trace.count(b"FIDEDUPERANGE") == 1


def test_link_across_disks_warns_once(twinfs, source, tmp_path, root_only):
    with disk("ext4", tmp_path) as other:
        pairs(source / "a", other / "b")
        result = twinfs("link", "--yes", source / "a", other / "b")
    assert result.status == 3
    [line] = warnings(result, "another file system")
    assert f"skipped {COUNT} copies" in line
    assert figure(result, "skipped") == COUNT


def test_link_at_the_limit_of_links_warns_once(twinfs, source, strace):
    pairs(source / "a", source / "b", 20)
    result, _ = twinfs.traced("link", "--yes", source, calls="trace=linkat",
                              flags=["-e", "inject=linkat:error=EMLINK"])
    assert result.status == 3
    [line] = warnings(result, "as many hard links")
    assert "cannot link 20 copies" in line
    assert len(everything(source)) == 40


def test_move_of_a_time_that_the_disk_cannot_store_is_refused(twinfs, source, tmp_path):
    late = 8 * 10**18  # in 2223; ext4 with small inodes ends in 2038
    pairs(source / "a", source / "b", 3)
    for path in (source / "b").iterdir():
        os.utime(path, ns=(late, late))
    with disk("ext4 of seconds", tmp_path, size=8 << 20) as small:
        result = twinfs("move", "--yes", source, small)
        assert result.status == 3
        [line] = warnings(result, "cannot store the time")
        assert "cannot move 3 copies" in line
        assert {path.stat().st_mtime_ns for path in (source / "b").iterdir()} == {late}
        assert len(list((source / "b").iterdir())) == 3
        assert not [path for path in small.rglob("*") if path.is_file()]


@pytest.mark.skipif(not shutil.which("mksquashfs"), reason="needs mksquashfs")
@pytest.mark.parametrize("flags", [[], ["-e", "inject=faccessat,faccessat2:retval=0"]],
                         ids=["foreseen", "tried"])
def test_act_on_an_image_leaves_no_intent(twinfs, source, tmp_path, strace, loop_devices, flags):
    """An image has nothing to sync. The second act does not foresee that it is only read."""
    copies(source, 3)
    image, root = tmp_path / "image", tmp_path / "root"
    root.mkdir()
    subprocess.run(["mksquashfs", source, image, "-quiet", "-no-progress"], check=True,
                   capture_output=True)
    if subprocess.run(["mount", "-o", "loop,ro", image, root], check=False).returncode != 0:
        pytest.skip("this kernel mounts no SquashFS")
    try:
        for act in ["remove"], ["link"], ["link", "--symbolic"]:
            result, trace = twinfs.traced(*act, "--yes", root, flags=flags,
                                          calls="trace=renameat2,faccessat,faccessat2")
            assert result.status == 3
            [line] = warnings(result, "Read-only file system")
            assert "2 copies" in line and len(result.errors) == 1
            assert (b"renameat2" in trace) == (bool(flags) and act == ["remove"])
            assert "no act was interrupted" in twinfs.ok("recover").error.decode()
    finally:
        subprocess.run(["umount", root], check=True)


def test_cause_of_one_file_is_named_for_each_file(twinfs, source):
    kept, *others = copies(source, 4)
    for path in others:
        path.chmod(0o600)
    result = twinfs("link", "--yes", source)
    assert result.status == 3
    assert len(warnings(result, "--force-metadata")) == 3
    assert kept.stat().st_nlink == 1


def test_move_to_a_full_disk_stops(twinfs, source, tmp_path):
    count, size = 20, 1 << 20
    with disk("ext4", tmp_path, size=8 << 20) as small:
        (source / "a").mkdir()
        (source / "b").mkdir()
        for number in range(count):
            data = os.urandom(size)
            for folder in "ab":
                (source / folder / f"{number:02}").write_bytes(data)
        result = twinfs("move", "--yes", source, small)
        moved = [path for path in everything(small) if b"lost+found" not in path]
        left = everything(source / "b")
        assert result.status == 1
        [line] = warnings(result, "No space left on device")
        assert "cannot move" in line
        [line] = warnings(result, "stopped")
        assert f"the disk of '{small}' is full" in line
        assert len(moved) + len(left) == count and 0 < len(moved) < 8
        assert figure(result, "moved") == len(moved)
        assert b"not started" in result.out
        assert not list(source.rglob(".twinfs~*")) and not list(small.rglob(".twinfs~*"))
        assert len(everything(source / "a")) == count


# ---- the destination of a move ------------------------------------------------------------


def test_move_of_a_refused_copy_needs_no_space(twinfs, source, tmp_path):
    kept, copy = source / "a", source / "b"
    for path in (kept, copy):
        path.write_bytes(b"x" * (1 << 20))
    with disk("ext4", tmp_path, size=8 << 20) as small:
        with contextlib.suppress(OSError), open(small / "other", "wb", buffering=0) as other:
            while other.write(bytes(4096)):
                pass
        twinfs.ok("scan", source)
        # the second rename finds that the destination is on another file system
        with twinfs.held("move", "--yes", source, small, call="renameat2", when=2,
                         after=True) as process:
            assert not copy.exists()
            kept.rename(source / "c")
            release(process)
            _, error = process.communicate(timeout=60)
        assert b"the kept file is no longer at its path" in error
        assert process.returncode == 3
        assert copy.read_bytes() == (source / "c").read_bytes()


def test_move_takes_the_folder_last(twinfs, tmp_path):
    one, two, moved = (tmp_path / name for name in ("one", "two", "moved"))
    for folder in (one, two, moved):
        folder.mkdir()
    for folder in (one, two):
        (folder / "x").write_bytes(b"content")
    twinfs.ok("move", "--yes", one, two, moved)
    assert everything(moved) == {os.fsencode(moved / "two/x")}
    result = twinfs("move", "--yes", one)
    assert result.status == 2
    assert "no FOLDER given; the FOLDER is the last operand" in result.errors[-1]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_question_of_a_move_names_the_folder(twinfs, source, tmp_path, answer):
    copies(source, 3)
    moved = tmp_path / "moved"
    moved.mkdir()
    seen = Terminal(300)
    try:
        os.write(seen.ours, f"{answer}\n".encode())
        result = twinfs("move", source, moved, stdin=seen.theirs)
    finally:
        seen.close()
    assert f"move them to '{moved}'?" in result.error.decode()
    assert result.status == (0 if answer == "y" else 1)
    assert len(everything(moved)) == (2 if answer == "y" else 0)

# SPDX-License-Identifier: MIT
"""Acts on file systems that refuse RENAME_NOREPLACE and RENAME_EXCHANGE, as NFS and FUSE do often:
they work, replace no file, and lose nothing when they are interrupted.

strace refuses the flags here, so the real file system has leases and any test can force a race."""
import os
import shutil
import subprocess

import pytest
from disks import shown_by_fuse
from histories import place_of
from processes import TIMEOUT, release, until
from test_act import copies, everything
from test_act_cut_off import cut_off, kill_points, thrown_away

REFUSED = ("-e", "inject=renameat2:error=EINVAL")
NO_LINKS = (*REFUSED, "-e", "inject=linkat:error=EPERM")
ACTS = [["remove"], ["remove", "--trash"], ["link"], ["link", "--symbolic"], ["move"]]
CALLS = ("renameat", "linkat", "unlinkat", "symlinkat")

pytestmark = pytest.mark.usefixtures("strace")


def without(twinfs, flags=REFUSED):
    return twinfs.under_strace("--seccomp-bpf", "-e", "trace=renameat2,linkat", *flags)


def words_of(act, source, moved):
    return [*act, "--yes", source, *([moved] if act == ["move"] else [])]


def contents(folder):
    """{path: bytes, or target of a symlink}"""
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink()
            else path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture(name="moved")
def moved_fixture(tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    return moved


@pytest.mark.parametrize("act", [*ACTS, ["remove", "--folders"], ["move", "--folders"],
                                 ["remove", "--folders", "--trash"]], ids="-".join)
def test_act_and_undo_without_flags_of_renames_do_the_same(twinfs, source, moved, act):
    for name in "ab":
        (source / name).mkdir()
    kept, *others = copies(source / "a", 2)
    for path in (kept, *others):
        shutil.copy(path, source / "b")
    os.symlink("target", source / "a/symlink")
    os.symlink("target", source / "b/symlink")
    before = contents(source)
    words = [*act, "--yes", "--keep=path:*/a/*", source, *([moved] if "move" in act else [])]
    result = without(twinfs).ok(*words)
    assert b"skipped" not in result.out
    after = contents(source)
    if act[0] == "link":
        assert len({os.stat(source / path).st_ino for path in after
                    if not path.endswith("symlink")}) == 1
    else:
        assert len(after) == len(before) - 3 and set(after) < set(before)
    without(twinfs).ok("undo", "--yes")
    assert contents(source) == before
    assert contents(moved) == {}


@pytest.mark.parametrize(("act", "flags"), [*((act, REFUSED) for act in ACTS),
                                            (["remove"], NO_LINKS)],
                         ids=lambda value: "-".join(value).replace("-e-inject=", ""))
def test_act_killed_at_any_call_is_undone_or_done(twinfs, source, moved, act, flags):
    data, count, names = os.urandom(3000), 0, ["copy 0", "copy 1"]
    runs = kill_points(twinfs, words_of(act, source, moved),
                       flags=["-P", source, "-P", moved, *flags],
                       calls=CALLS[:1] + CALLS[2:3] if flags is NO_LINKS else CALLS)
    while True:
        for folder in (source, moved, twinfs.home / ".local"):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (source, moved):
            folder.mkdir()
        for name in names:
            (source / name).write_bytes(data)
        point = next(runs, None)
        if point is None:
            break
        count += point[2]
        without(twinfs, flags).ok("recover")
        left = {path: (source / path).read_bytes() for path in os.listdir(source)}
        assert set(left) <= set(names) and set(left.values()) == {data}, point
        assert (source / "copy 0").exists()
        thrown = thrown_away(twinfs.home) if "--trash" in act else {}
        places = [source / "copy 1", moved / "copy 1", thrown.get(str(source / "copy 1"))]
        assert sum(bool(place and place.exists()) for place in places) == 1 or (
            act == ["remove"]), point
        without(twinfs, flags)("undo", "--yes")
        assert contents(source) == dict.fromkeys(names, data), point
    assert count > 1


def test_name_that_a_killed_move_left_where_links_do_not_show_is_named(twinfs, tmp_path,
                                                                      private_state):
    """sshfs shows a hard link as another file, so recovery leaves it."""
    left = 0
    with place_of("sshfs", tmp_path) as place:
        source, moved = place.root / "source", place.root / "moved"
        for number in (1, 2):
            for folder in (source, moved):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            copies(source, 2)
            twinfs.traced(*words_of(["move"], source, moved), "--without-leases",
                          calls="trace=unlinkat", flags=[
                              "-P", source, "-P", moved,
                              "-e", f"inject=unlinkat:signal=KILL:when={number}"])
            told = twinfs.ok("recover").error.decode()
            other = f"'{moved}/copy 1' is possibly another name of this file" in told
            left += other
            beside = "the copy is 'copy 1.kept-1'" in told
            names = [path.name for path in (*source.iterdir(), *moved.rglob("copy*"))]
            assert len(names) == 2 + other + beside, (names, told)
    assert left > 0


def test_undo_names_the_moved_file_where_a_move_gives_it_another_number(twinfs, tmp_path,
                                                                       private_state):
    """sshfs shows a hard link as another file, so undo makes a copy and leaves the moved file."""
    with place_of("sshfs", tmp_path) as place:
        source, moved = place.root / "source", place.root / "moved"
        for folder in (source, moved):
            folder.mkdir()
        kept, copy = copies(source, 2)
        twinfs.ok(*words_of(["move"], source, moved), *place.options)
        told = twinfs.ok("undo", "--yes").error.decode()
        assert copy.read_bytes() == (moved / copy.name).read_bytes() == kept.read_bytes()
        assert f"'{moved}/{copy.name}' stays: it is not certain that it is" in told


def killed_in_quarantine(twinfs, source):
    """Two files; the second one is under its private name, as its removal was killed."""
    kept, copy = copies(source, 2)
    cut_off(twinfs, source)
    assert not copy.exists()
    return kept, copy


@pytest.mark.parametrize("attack", ["write", "rename", "folder"])
def test_recovery_does_not_replace_a_file_made_in_the_last_moment(
        twinfs, source, tmp_path, attack):
    kept, copy = killed_in_quarantine(twinfs, source)
    with twinfs.held("recover", call="linkat", flags=REFUSED) as process:
        if attack == "write":
            copy.write_bytes(b"new")
        elif attack == "rename":
            (tmp_path / "new").write_bytes(b"new")
            (tmp_path / "new").rename(copy)
        else:
            (copy / "in").mkdir(parents=True)
        release(process)
        assert process.wait(TIMEOUT) == 0
    assert (source / "copy 1.kept-1").read_bytes() == kept.read_bytes()
    assert copy.is_dir() if attack == "folder" else copy.read_bytes() == b"new"
    assert len(everything(source)) == (2 if attack == "folder" else 3)


def test_recovery_without_links_copies_and_replaces_nothing(twinfs, source):
    kept, copy = killed_in_quarantine(twinfs, source)
    copy.write_bytes(b"new")
    without(twinfs, NO_LINKS).ok("recover")
    assert copy.read_bytes() == b"new"
    assert (source / "copy 1.kept-1").read_bytes() == kept.read_bytes()
    assert len(everything(source)) == 3


def test_recovery_brings_back_the_time_where_only_both_times_can_be_set(twinfs, tmp_path,
                                                                        private_state):
    """libfuse 2 ignores a call that sets one of atime and mtime, and reports success."""
    with place_of("exfat-fuse", tmp_path) as place:
        source = place.root / "source"
        source.mkdir()
        kept, copy = copies(source, 2)
        os.utime(copy, ns=(10**18, 10**18))
        cut_off(twinfs, source)
        assert not copy.exists()
        twinfs.ok("recover")
        assert copy.read_bytes() == kept.read_bytes()
        assert copy.stat().st_mtime_ns == 10**18


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_file_that_a_killed_undo_made_at_its_path_is_named(twinfs, tmp_path, private_state, call):
    """exFAT has no other way that replaces nothing; files there have no second name."""
    with place_of("exfat-fuse", tmp_path) as place:
        source = place.root / "source"
        source.mkdir()
        kept, copy = copies(source, 2)
        os.utime(copy, ns=(10**18, 10**18))
        # FUSE reports the end of a write late, and a file that is open for writing waits
        assert until(lambda: twinfs("scan", source).status == 0)
        twinfs.ok("remove", "--yes", source, *place.options)
        result, trace = twinfs.traced("undo", "--yes", calls=f"trace={call}", flags=[
            "-P", copy, "-e", f"inject={call}:signal=KILL:when=1"])
        assert result.status < 0 and b"killed by SIGKILL" in trace
        assert copy.exists()
        recovered = twinfs("recover")
        assert recovered.status == 3
        [line] = recovered.errors
        assert f"'{copy}' is possibly incomplete" in line
        assert "no act was interrupted" in twinfs.ok("recover").error.decode()
        copy.unlink()
        twinfs.ok("undo", "--yes")
        assert copy.read_bytes() == kept.read_bytes()
        assert copy.stat().st_mtime_ns == 10**18


def test_recovery_without_links_leaves_a_file_that_a_program_writes(twinfs, source):
    kept, copy = killed_in_quarantine(twinfs, source)
    [other] = source.glob(".twinfs~*")
    with open(other, "ab"):
        result = without(twinfs, NO_LINKS)("recover")
        assert result.status == 3 and "busy" in result.error.decode()
        assert other.read_bytes() == kept.read_bytes() and not copy.exists()
    without(twinfs, NO_LINKS).ok("recover")
    assert copy.read_bytes() == kept.read_bytes() and not other.exists()


@pytest.mark.parametrize("act", ACTS[2:4], ids="-".join)
def test_link_does_not_replace_a_file_made_in_the_last_moment(twinfs, source, act):
    kept, copy = copies(source, 2)
    number = 2 if act == ["link"] else 1  # the first one makes the link
    with twinfs.held(*act, "--yes", source, call="linkat", when=number,
                     flags=REFUSED) as process:
        assert not copy.exists()
        copy.write_bytes(b"new")
        release(process)
        assert process.wait(TIMEOUT) == 3
    assert copy.read_bytes() == b"new"
    assert (source / "copy 1.kept-1").read_bytes() == kept.read_bytes()
    assert len(everything(source)) == 3


@pytest.mark.parametrize("act", [["remove", "--trash"], ["move"], ["link"]], ids="-".join)
def test_act_that_needs_hard_links_is_refused_in_one_line(twinfs, source, moved, act):
    copies(source, 4)
    before = contents(source)
    result = without(twinfs, NO_LINKS)(*words_of(act, source, moved))
    assert result.status == 3
    [line] = [line for line in result.errors if "needs hard links" in line]
    assert "3 copies" in line
    assert contents(source) == before and contents(moved) == {}
    assert "no act was interrupted" in twinfs.ok("recover").error.decode()


@pytest.mark.parametrize("act", [*ACTS[:4], ["remove", "--folders"]], ids="-".join)
def test_act_on_a_file_system_of_fuse_is_done_and_undone(twinfs, tmp_path, root_only, act):
    """A removed file that is open has the name .fuse_hidden... until it is closed."""
    with shown_by_fuse(tmp_path) as root:
        for name in "ab":
            (root / name).mkdir()
        kept, *_ = copies(root / "a", 3)
        for path in (root / "a").iterdir():
            shutil.copy(path, root / "b")
        before = contents(root)
        result = twinfs.ok(*act, "--yes", "--without-leases", root)
        assert (b"freed       0 bytes" in result.out) == ("--trash" in act)
        assert kept.exists() and contents(root) != before or act == ["link"]
        result = twinfs("undo", "--yes")  # bindfs stores times in microseconds
        assert not [line for line in result.errors if "with another time" not in line]
        after = {path: data for path, data in contents(root).items() if ".Trash" not in path}
        assert after == before


def test_dry_run_and_doctor_name_a_file_system_without_hard_links(
        twinfs, source, take_filesystem_for):
    take_filesystem_for(0x4d44)  # vfat
    copies(source, 2)
    result = twinfs("link", "--dry-run", source)
    assert any("cannot link copies in" in line and "(vfat)" in line for line in result.errors)
    assert "without hard links, 'link' skip" in twinfs("doctor", source).out.decode()
    for act in (["remove"], ["link", "--symbolic"], ["remove", "--trash"]):
        assert "hard links" not in twinfs(*act, "--dry-run", source).error.decode()


@pytest.mark.parametrize("act", [["link"], ["move"], ["remove", "--trash"]], ids="-".join)
def test_dry_run_on_fuse_tells_that_hard_links_are_needed(twinfs, source, moved, tmp_path, act):
    copies(source, 2)
    served = tmp_path / "served"
    if not shutil.which("bindfs"):
        pytest.skip("needs bindfs")
    served.mkdir()
    subprocess.run(["bindfs", "--no-allow-other", source, served], check=True)
    try:
        to = [moved] if act == ["move"] else []
        result = twinfs.ok(*act, "--dry-run", "--without-leases", served, *to)
        assert any("no hard links" in line and "(fuse)" in line for line in result.errors), result
        assert "'link', 'move' and 'remove --trash' need hard links" in (
            twinfs("doctor", served).out.decode())
    finally:
        subprocess.run(["umount", served], check=True)

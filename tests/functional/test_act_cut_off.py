# SPDX-License-Identifier: MIT
"""remove, move, link and dedupe that are interrupted: no content is lost, and each file gets its
name back."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
import trees
from disks import bound, disk
from processes import children, release, until, with_children
from test_act import copies, everything

CHANGING = ("renameat2", "unlinkat", "linkat", "symlinkat", "fdatasync", "ftruncate", "mkdirat",
            "fsync")


def kill_points(twinfs, words, fault="signal=KILL", calls=CHANGING, flags=()):
    """Runs in which the first, second ... call of each kind is killed or fails, until a run has no
    further call of that kind."""
    for call in calls:
        for number in range(1, 100):
            result, trace = twinfs.traced(
                *words, calls=f"trace={','.join((*CHANGING, *calls))}",
                flags=[*flags, "-e", f"inject={call}:{fault}:when={number}"])
            killed = b"killed by SIGKILL" in trace or (not flags and b"(INJECTED)" in trace)
            yield call, number, killed
            if not killed:
                assert result.status in (0, 3), result
                break


def thrown_away(home):
    """{original path: file} of the home trash; each file has an info file."""
    trash = home / ".local/share/Trash"
    entries = {path.name.removesuffix(".trashinfo"): unquote(path.read_text().split("\n")[1][5:])
               for path in trash.glob("info/*")}
    assert entries.keys() == {path.name for path in trash.glob("files/*")}
    return {original: trash / "files" / name for name, original in entries.items()}


@pytest.mark.parametrize("words", [["remove"], ["remove", "--trash"], ["link"],
                                   ["link", "--symbolic"], ["move"], ["move across"]],
                         ids=lambda words: "-".join(words))
def test_act_killed_at_any_call_loses_nothing_and_is_undone(twinfs, tmp_path, words):
    content = {number: os.urandom(3000) for number in range(3)}
    with contextlib.ExitStack() as stack:
        moved = tmp_path / "moved"
        if words == ["move across"]:
            moved = stack.enter_context(disk("ext4", tmp_path))
        else:
            moved.mkdir()
        options = [words[0].split()[0], *words[1:]]
        points = 0
        source = tmp_path / "source"
        options += ["--yes", source, *([moved] if "move" in words[0] else [])]
        runs = kill_points(twinfs, options)
        while True:
            shutil.rmtree(source, ignore_errors=True)
            shutil.rmtree(twinfs.home / ".local", ignore_errors=True)
            for path in moved.iterdir():
                if path.name != "lost+found":
                    path.unlink()
            source.mkdir()
            for number, data in content.items():
                (source / f"kept {number}").write_bytes(data)
                (source / f"redundant {number}").write_bytes(data)
            point = next(runs, None)
            if point is None:
                break
            points += point[2]
            there = {path.read_bytes() for folder in (source, moved)
                     for path in folder.rglob("*") if path.is_file()}
            assert there >= set(content.values()), point
            twinfs.ok("recover")
            for folder in (source, moved):
                assert not list(folder.rglob(".twinfs~*")), point
            for number, data in content.items():
                assert (source / f"kept {number}").read_bytes() == data, point
                copy = source / f"redundant {number}"
                where = [copy, moved / copy.name] if "move" in words[0] else [copy]
                if "--trash" in words:
                    thrown = thrown_away(twinfs.home).get(str(copy))
                    assert copy.exists() != bool(thrown), point
                    where = [thrown or copy]
                if words != ["remove"]:
                    assert any(path.exists() and path.read_bytes() == data for path in where), point
        assert points > 6


def cut_off(twinfs, source, *words, folder=None, to=()):
    """Kills an act, a removal by default, once it has renamed the copy; returns the new path."""
    for number in range(1, 10):
        twinfs.traced(*(words or ["remove"]), "--yes", source, *to, calls="trace=unlinkat",
                      flags=["-e", f"inject=unlinkat:signal=KILL:error=EIO:when={number}"])
        for other in (folder or source).glob(".twinfs~*"):
            return other
    raise AssertionError("the copy was not renamed")


def test_scan_undoes_an_interrupted_act(twinfs, source):
    copies(source, 2)
    cut_off(twinfs, source)
    assert not (source / "copy 1").exists()
    scan = twinfs.ok("scan", source)
    assert "undone" in scan.error.decode()
    assert {path.name for path in source.iterdir()} == {"copy 0", "copy 1"}
    assert json.loads(twinfs.ok("list", "--format=json", source).out)["summary"]["groups"] == 1


def test_undo_that_meets_a_new_file_keeps_both_files(twinfs, source):
    kept, copy = copies(source, 2)
    cut_off(twinfs, source)
    copy.write_bytes(b"new")
    result = twinfs.ok("recover")
    assert "copy 1.kept-1" in result.error.decode()
    assert copy.read_bytes() == b"new"
    assert (source / "copy 1.kept-1").read_bytes() == kept.read_bytes()


def test_undo_waits_until_the_disk_is_mounted_again(twinfs, source, tmp_path, root_only):
    _, copy = copies(source, 2)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", source, mounted], check=True)
    try:
        cut_off(twinfs, mounted)
    finally:
        subprocess.run(["umount", mounted], check=True)
    result = twinfs("recover")
    assert result.status == 3
    assert "nothing is left" not in result.error.decode()
    assert not copy.exists()
    subprocess.run(["mount", "--bind", source, mounted], check=True)
    try:
        twinfs.ok("recover")
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert copy.exists()
    assert not list(source.glob(".twinfs~*"))


LINKS = [["link"], ["link", "--symbolic"]]


@pytest.mark.parametrize("words", LINKS, ids=["hard", "symbolic"])
def test_undo_of_an_edited_link_keeps_the_edit_at_its_path(twinfs, source, words):
    kept, copy = copies(source, 2)
    data = kept.read_bytes()
    cut_off(twinfs, source, *words)
    with copy.open("ab") as file:
        file.write(b"edit")
    result = twinfs.ok("scan", source)
    assert "copy 1.kept-1" in result.error.decode()
    assert copy.read_bytes() == kept.read_bytes() == data + b"edit"
    assert (source / "copy 1.kept-1").read_bytes() == data
    assert not list(source.glob(".twinfs~*"))


@pytest.mark.parametrize("words", LINKS, ids=["hard", "symbolic"])
def test_undo_of_a_link_waits_for_its_writer(twinfs, source, words):
    kept, copy = copies(source, 2)
    data, inode = kept.read_bytes(), copy.stat().st_ino
    cut_off(twinfs, source, *words)
    with copy.open("ab"):
        assert twinfs("recover").status == 3
        assert copy.stat().st_ino == kept.stat().st_ino
    twinfs.ok("recover")
    assert copy.lstat().st_ino == inode
    assert copy.read_bytes() == kept.read_bytes() == data
    assert not list(source.glob(".twinfs~*"))


@pytest.mark.parametrize("path", ["letter", "sub/letter"])
def test_missing_disk_in_the_source_keeps_the_intent(twinfs, source, tmp_path, path):
    with disk("ext4", tmp_path) as root:
        inner = source / "disk"
        inner.mkdir()
        kept, copy = source / "a", inner / path
        kept.write_bytes(os.urandom(3000))
        with bound(root, inner):
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(kept.read_bytes())
            cut_off(twinfs, source, "remove", "--cross-file-systems", folder=copy.parent)
        result = twinfs("recover")
        assert result.status == 3
        [warning] = [line for line in result.error.decode().splitlines() if "warning" in line]
        assert f"'{inner}'" in warning and "run 'twinfs recover'" in warning
        assert twinfs.ok("scan", source)
        with bound(root, inner):
            twinfs.ok("recover")
            assert copy.read_bytes() == kept.read_bytes()
            assert not list(copy.parent.glob(".twinfs~*"))
    assert "no act was interrupted" in twinfs.ok("recover").error.decode()


def test_missing_destination_keeps_the_intent(twinfs, source, tmp_path):
    copies(source, 2)
    with disk("ext4", tmp_path) as root:
        there = tmp_path / "there"
        with bound(root, there):
            (there / "moved").mkdir()
            twinfs.traced("move", "--yes", source, there / "moved", calls="trace=utimensat",
                          flags=["-e", "inject=utimensat:signal=KILL:when=1"])
            [partial] = there.rglob(".twinfs~*")
        result = twinfs("recover")
        assert result.status == 3
        assert f"'{there}'" in result.error.decode()
        assert {path.name for path in source.iterdir()} == {"copy 0", "copy 1"}
        with bound(root, there):
            twinfs.ok("recover")
            assert not partial.exists()
    assert "no act was interrupted" in twinfs.ok("recover").error.decode()


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_recovery_of_a_move_keeps_a_copy_that_is_open_for_writing(twinfs, source, tmp_path,
                                                                  is_open):
    _, copy = copies(source, 2)
    data = copy.read_bytes()
    with disk("ext4", tmp_path) as there, contextlib.ExitStack() as ending:
        other = cut_off(twinfs, source, "move", to=[there])
        assert (there / copy.name).read_bytes() == data
        if is_open:
            file = ending.enter_context(other.open("ab"))
        result = twinfs.ok("recover")
        assert ("interrupted move completed" in result.error.decode()) != is_open
        assert ("restored 1 file" in result.error.decode()) == is_open
        assert copy.exists() == is_open
        if is_open:
            file.write(b"more")
            file.flush()
            assert copy.read_bytes() == data + b"more"
        assert (there / copy.name).read_bytes() == data
        assert not list(source.glob(".twinfs~*"))


def test_recovery_of_a_move_does_not_accept_an_equal_file_as_its_own(twinfs, source, tmp_path):
    _, copy = copies(source, 2)
    copy.chmod(0o600)
    there = tmp_path / "there"
    there.mkdir()
    (there / copy.name).write_bytes(copy.read_bytes())
    for number in range(1, 10):
        twinfs.traced("move", "--yes", source, there, calls="trace=renameat2",
                      flags=["-e", f"inject=renameat2:signal=KILL:error=EIO:when={number}"])
        if list(source.glob(".twinfs~*")):
            break
    assert not copy.exists()
    twinfs.ok("recover")
    assert copy.stat().st_mode & 0o777 == 0o600


def test_undo_does_not_use_another_disk_that_looks_the_same(twinfs, tmp_path, root_only):
    """Two disks whose roots have the same inode number and no birth time."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with contextlib.ExitStack() as stack:
        for name in ("one", "two"):
            stack.enter_context(disk("ext4 of seconds", tmp_path / name))
        mounted = tmp_path / "mounted"
        mounted.mkdir()
        first, second = (tmp_path / name / "ext4 of seconds" for name in ("one", "two"))
        subprocess.run(["mount", "--bind", first, mounted], check=True)
        try:
            _, copy = copies(mounted, 2)
            cut_off(twinfs, mounted)
        finally:
            subprocess.run(["umount", mounted], check=True)
        subprocess.run(["mount", "--bind", second, mounted], check=True)
        try:
            assert twinfs("recover").status == 3
        finally:
            subprocess.run(["umount", mounted], check=True)
        subprocess.run(["mount", "--bind", first, mounted], check=True)
        try:
            twinfs.ok("recover")
            assert copy.exists()
            assert not list(mounted.glob(".twinfs~*"))
        finally:
            subprocess.run(["umount", mounted], check=True)


def test_undo_names_a_copy_in_a_folder_that_was_moved(twinfs, source):
    copies(source, 2)
    folder = source / "folder"
    folder.mkdir()
    (source / "copy 1").rename(folder / "copy 1")
    for number in range(1, 10):
        twinfs.traced("remove", "--yes", source, calls="trace=unlinkat",
                      flags=["-e", f"inject=unlinkat:signal=KILL:when={number}"])
        if list(folder.glob(".twinfs~*")):
            break
    [other] = folder.glob(".twinfs~*")
    folder.rename(source / "elsewhere")
    assert other.name in twinfs.ok("recover").error.decode()


# numbers of x86-64 and of asm-generic/unistd.h
UNLINKAT = 263 if os.uname().machine == "x86_64" else 35


def is_unlinking(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/syscall").read_text().startswith(f"{UNLINKAT} ")
    return False


def is_being_removed(process, source):
    """Whether the copy is renamed, and the process or its child waits in the call that removes
    it."""
    return list(source.glob(".twinfs~*")) and any(map(is_unlinking, with_children(process.pid)))


def replace(path):
    new = path.with_name("new")
    new.touch()
    new.rename(path)


def assert_recovered(twinfs, copy, data):
    twinfs.ok("recover")
    assert copy.read_bytes() == data
    assert not list(copy.parent.glob(".twinfs~*"))
    assert not list(twinfs.index.glob(".twinfs~*"))


@pytest.mark.parametrize("hindrance", ["group", "interrupt"])
def test_copy_that_became_the_last_one_is_saved(as_user, source, hindrance):
    """The kept file is removed while the act is removing the copy."""
    kept, copy = copies(source, 2)
    content = kept.read_bytes()
    for path in (source, kept, copy):
        os.chown(path, as_user.user.pw_uid, as_user.user.pw_gid)
    if hindrance == "group":
        os.chown(copy, -1, 0)
    as_user.ok("scan", source)
    here = ["-P", source]  # not the seal of the index, which a scan removes before it writes
    with as_user.held("remove", "--yes", source, call="unlinkat", flags=here) as process:
        assert is_being_removed(process, source)
        kept.unlink()
        if hindrance == "interrupt":
            process.send_signal(signal.SIGINT)
        release(process)
        process.communicate(timeout=60)
    assert copy.read_bytes() == content


@pytest.mark.parametrize("index", ["elsewhere", "there"])
def test_copy_that_became_the_last_one_on_a_full_disk_is_restored(twinfs, strace, tmp_path, index):
    """The kept file is replaced while the act is removing the copy, and the disk is full."""
    with disk("ext4", tmp_path, 40 << 20) as full:
        (source := full / "source").mkdir()
        kept, copy = copies(source, 2, size=8 << 20)
        data = copy.read_bytes()
        if index == "there":
            twinfs.index = full / "index"
        twinfs.ok("scan", source)
        with contextlib.suppress(OSError), (full / "rest").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        os.truncate(full / "rest", (full / "rest").stat().st_size - (1 << 20))
        with twinfs.held("remove", "--yes", source, call="unlinkat", flags=("-P", source)) as run:
            assert is_being_removed(run, source)
            replace(kept)
            release(run)
            _, error = run.communicate(timeout=60)
        assert b"saved the bytes in" in error
        assert_recovered(twinfs, copy, data)


@pytest.mark.parametrize("failures", [1, 3])
def test_copy_that_cannot_be_written_back_is_saved_and_the_cause_is_named(twinfs, strace, source,
                                                                          failures):
    """The kept file is replaced while the act is removing the copy. The disk of the copy fails
    once, or the disks of the first rescue folders fail as well. No message may name a full disk as
    the cause, and no folder may be left behind."""
    before = set(Path("/var/tmp").glob(".twinfs~*"))
    kept, copy = copies(source, 2)
    data = copy.read_bytes()
    twinfs.ok("scan", source)
    traced = twinfs.under_strace("-e", "trace=unlinkat,linkat",
                                 "-e", "inject=unlinkat:delay_enter=3s:when=1",
                                 "-e", f"inject=linkat:error=EIO:when=1..{failures}")
    with traced.started("remove", "--yes", source) as process:
        assert until(lambda: is_being_removed(process, source))
        replace(kept)
        _, error = process.communicate(timeout=60)
    assert b"Input/output error; saved the bytes in" in error
    assert b"the kept file is no longer at its path" in error
    assert b"no space" not in error.lower()
    assert set(Path("/var/tmp").glob(".twinfs~*")) == before
    saved = [json.loads(line) for line in (twinfs.index / "acts").read_text().splitlines()
             if '"saved"' in line][-1]
    assert Path(saved["saved mount"]) in Path(saved["saved"]).parents
    assert os.path.ismount(saved["saved mount"])
    assert saved["saved mount inode"] == os.stat(saved["saved mount"]).st_ino
    assert_recovered(twinfs, copy, data)


@pytest.mark.parametrize("folder", ["there", "gone"])
def test_recover_names_saved_bytes_that_it_cannot_put_back(twinfs, source, tmp_path, folder):
    """Either the saved bytes or the folder of the copy are missing."""
    (source / "folder").mkdir()
    _, copy = copies(source, 2)
    copy = copy.rename(source / "folder" / copy.name)
    twinfs.ok("scan", source)
    saved, acts = tmp_path / "saved", twinfs.index / "acts"
    for number in range(1, 10):
        twinfs.traced("remove", "--yes", source, calls="trace=unlinkat",
                      flags=["-e", f"inject=unlinkat:signal=KILL:when={number}"])
        if list(copy.parent.glob(".twinfs~*")):
            break
    [other] = copy.parent.glob(".twinfs~*")
    [intent] = [json.loads(line) for line in acts.read_text().splitlines()]
    acts.write_text(json.dumps(intent | {"saved": str(saved)}) + "\n")
    if folder == "there":
        other.unlink()
        for _ in range(2):
            result = twinfs("recover")
            assert result.status == 3 and os.fsencode(saved) in result.error
        saved.write_bytes(b"content")
        twinfs.ok("recover")
        assert copy.read_bytes() == b"content" and not saved.exists()
        return
    saved.write_bytes(b"content")
    copy.parent.rename(tmp_path / "elsewhere")
    for _ in range(2):
        result = twinfs("recover")
        assert result.status == 3 and os.fsencode(saved) in result.error
    copy.parent.mkdir()
    twinfs.ok("recover")
    assert copy.read_bytes() == b"content" and not saved.exists()


def test_saved_bytes_on_an_absent_disk_wait_for_it(twinfs, source, tmp_path):
    """The disk of the rescue folder is not mounted."""
    _, copy = copies(source, 2)
    data = copy.read_bytes()
    other = cut_off(twinfs, source)
    with disk("ext4", tmp_path) as root:
        rescue = tmp_path / "rescue"
        acts = twinfs.index / "acts"
        with bound(root, rescue):
            (rescue / "saved").write_bytes(data)
            intent = json.loads(acts.read_text())
            acts.write_text(json.dumps(intent | {
                "saved": str(rescue / "saved"), "saved mount": str(rescue),
                "saved mount inode": rescue.stat().st_ino}) + "\n")
            other.unlink()
        for command in ("recover", "log", "recover"):
            result = twinfs(command)
            assert result.status == 3 and b"is not mounted" in result.error
            assert os.fsencode(rescue / "saved") in result.error
        with bound(root, rescue):
            twinfs.ok("recover")
            assert copy.read_bytes() == data and not (rescue / "saved").exists()
    assert "no act was interrupted" in twinfs.ok("recover").error.decode()


@contextlib.contextmanager
def disk_that_comes_and_goes(source, tmp_path, kind="ext4"):
    """Yields a function that mounts a disk in the source."""
    inner = source / "disk"
    with disk(kind, tmp_path) as root:
        inner.mkdir()
        yield lambda: bound(root, inner)


def test_act_whose_disk_never_returns_can_be_given_up(twinfs, source, tmp_path):
    folder = source / "disk" / "folder"
    with disk_that_comes_and_goes(source, tmp_path) as mounted:
        with mounted():
            folder.mkdir()
            _, copy = copies(folder, 2)
            inode = copy.stat().st_ino
            other = cut_off(twinfs, source, "remove", "--cross-file-systems", folder=folder)
        assert twinfs("recover").status == 3
        assert twinfs("recover", "--give-up").status == 2  # nobody can be asked
        assert twinfs("index", "--forget", twinfs.index).status == 1
        result = twinfs.ok("recover", "--give-up", "--yes")
        assert os.fsencode(copy) in result.error and os.fsencode(other) in result.error
        assert b"no act was interrupted" in twinfs.ok("recover").error
        [line] = twinfs.ok("log", "--format=jsonl").lines
        act = json.loads(line)
        assert (act["files"], act["interrupted"], act["waiting"]) == (1, 1, 0)
        assert os.fsencode(other) in twinfs.ok("log", act["act"]).out
        twinfs.ok("index", "--forget", twinfs.index)
        with mounted():
            assert other.exists()
            twinfs.ok("undo", "--yes")
            assert copy.stat().st_ino == inode and not other.exists()


def test_nothing_is_given_up_without_an_answer(twinfs, source, tmp_path):
    folder = source / "disk"
    with disk_that_comes_and_goes(source, tmp_path) as mounted:
        with mounted():
            _, copy = copies(folder, 2)
            cut_off(twinfs, source, "remove", "--cross-file-systems", folder=folder)
        answer = subprocess.run(["script", "-qec", " ".join(map(str, twinfs.command(
            "recover", "--give-up"))), "/dev/null"], env=twinfs.environment, input=b"n\n",
            capture_output=True, check=False)
        assert b"[y/N]" in answer.stdout and b"nothing was given up" in answer.stdout
        with mounted():
            twinfs.ok("recover")
            assert copy.exists()


def test_killed_dedupe_whose_disk_never_returns_blocks_nothing(twinfs, source, tmp_path, strace):
    folder = source / "disk"
    with disk_that_comes_and_goes(source, tmp_path, "btrfs") as mounted:
        with mounted():
            copies(folder, 2, size=1 << 20)
            twinfs.ok("scan", "--cross-file-systems", source)
            twinfs.traced("dedupe", "--yes", "--cross-file-systems", source,
                          calls="trace=fdatasync", flags=[
                              "-P", twinfs.index / "acts", "-e",
                              "inject=fdatasync:signal=KILL:when=2"])
            assert (twinfs.index / "acts").stat().st_size > 0
        twinfs.ok("recover")
        [line] = twinfs.ok("log", "--format=jsonl").lines
        assert json.loads(line)["interrupted"] == 1
        assert b"changed no content" in twinfs.ok("undo", "--yes").error
        twinfs.ok("index", "--forget", twinfs.index)


def test_interrupted_act_finishes_the_current_file(twinfs, source):
    for number in range(40):
        copies(source, 2, name=f"pair {number}")
    twinfs.ok("scan", source)
    traced = twinfs.under_strace("-e", "trace=unlinkat", "-e",
                                 "inject=unlinkat:delay_enter=30000")
    with traced.started("remove", "--yes", source) as process:
        assert until(lambda: len(everything(source)) < 78)
        [pid] = [pid for pid in twinfs.session.processes() if pid != process.pid]
        os.kill(pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert b"not started" in out
    assert process.returncode == -signal.SIGINT
    left = everything(source)
    assert 40 < len(left) < 80
    assert not list(source.glob(".twinfs~*"))
    assert twinfs.ok("remove", "--yes", source)
    assert len(everything(source)) == 40


def test_copy_is_saved_although_the_act_is_killed_meanwhile(twinfs, source, strace, root_only):
    """The kept file is removed while the act is removing the copy."""
    kept, copy = copies(source, 2, size=1 << 20)
    data, inode = copy.read_bytes(), copy.stat().st_ino
    twinfs.ok("scan", source)
    traced = twinfs.under_strace(
        "-e", "trace=unlinkat,write", "-e", "inject=unlinkat:delay_enter=1000000",
        "-e", "inject=write:delay_enter=300000")
    with traced.started("remove", "--yes", source) as process:
        assert until(lambda: is_being_removed(process, source))
        [act] = children(process.pid)
        kept.unlink()
        assert until(lambda: children(act) or any(
            path.stat().st_ino != inode for path in source.glob(".twinfs~*")))
        os.kill(act, signal.SIGKILL)
        process.wait(60)
    twinfs.ok("recover")
    assert os.listdir(source) == [copy.name]
    assert copy.read_bytes() == data


@pytest.mark.parametrize("words", [["move"], ["move", "--folders"]], ids=["files", "folders"])
def test_killed_move_leaves_no_empty_folder(twinfs, source, aside, strace, words):
    """The folders of the user stay, also empty ones."""
    for name in ("one", "two"):
        trees.fill(source / "new/in" / name, {b"a": b"first", b"b": b"second"})
    (aside / "mine").mkdir()
    for number in range(2, 8):
        twinfs.traced(*words, "--yes", source, aside, calls="trace=renameat2", flags=[
            "-e", f"inject=renameat2:signal=KILL:when={number}"])
        if (aside / "new").is_dir():
            break
    assert not [path for path in aside.rglob("*") if path.is_file()]
    twinfs.ok("recover")
    assert list(aside.iterdir()) == [aside / "mine"]


def test_recover_knows_an_interrupted_act_that_left_nothing(twinfs, source, strace):
    _, copy = copies(source, 2)
    for number in range(1, 40):
        twinfs.traced("remove", "--yes", source, calls="trace=write", flags=[
            "-e", f"inject=write:signal=KILL:when={number}"])
        if not copy.exists() and not list(source.glob(".twinfs~*")):
            break
    assert os.path.getsize(twinfs.index / "acts") > 0
    error = twinfs.ok("recover").error
    assert b"an interrupted act left nothing to restore" in error, error
    assert b"no act was interrupted" in twinfs.ok("recover").error

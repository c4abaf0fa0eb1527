# SPDX-License-Identifier: MIT
"""Commands beside other commands, on a terminal, and interrupted by signals."""
import contextlib
import json
import os
import signal
import subprocess
import unicodedata
from pathlib import Path

import pytest
import trees
from processes import TIMEOUT, children, has_open, stopped, until
from program import is_mounted, path_of
from terminal import Terminal


@pytest.fixture
def busy(source):
    """A source with a pair of files. One is open for writing, so that the comparison waits."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with open(source / "a", "r+b"):
        yield os.fsencode(source)


def on_terminal(twinfs, *arguments):
    """Exit status and output of a command that writes to a terminal."""
    terminal = Terminal(80)
    result = subprocess.run(twinfs.command(*arguments), stdin=subprocess.DEVNULL, check=False,
                            stdout=terminal.theirs, stderr=subprocess.PIPE, timeout=TIMEOUT,
                            env=twinfs.environment)
    terminal.close()
    return result.returncode, b"".join(terminal.seen).replace(b"\r\n", b"\n")


# signals

def test_interrupted_scan_ends_by_the_signal_and_loses_nothing(twinfs, busy):
    with twinfs.started("scan", busy) as process:
        assert until(lambda: (twinfs.index / "data.mdb").exists())
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == -signal.SIGINT
        assert b"interrupted" in process.stderr.read()
    assert twinfs("scan", busy).status == 3  # still open for writing


def test_interrupted_mount_wait_unmounts_the_view(twinfs, busy, mount):
    with twinfs.started("mount", "--wait", busy, mount) as process:
        assert until(lambda: is_mounted(mount))
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == -signal.SIGINT
        assert not is_mounted(mount)
    assert twinfs("scan", "--quiet", busy).status == 3  # the index is not locked


def test_waiting_for_a_file_in_use_ends_with_status_3_and_a_view(twinfs, busy):
    with twinfs.mounted(busy, status=3) as view:
        assert view.status()["pending"] >= 1
        assert view.dups.is_dir() and os.listdir(view.dups) == []


def test_mount_without_wait_shows_all_names(twinfs, busy):
    with twinfs.mounted(busy, options=()) as view:
        assert sorted(os.listdir(view.uniques)) == ["a", "b"]


def waits_for(view, pid):
    """Whether a command, which reads by a child process, waits until the view has all changes."""
    return any(has_open(child, view.path / ".twinfs/sync") for child in children(pid))


def test_list_that_waits_for_a_view_can_be_interrupted(twinfs, busy):
    with twinfs.mounted(busy, options=()) as view, twinfs.started("list", busy) as process:
        assert until(lambda: waits_for(view, process.pid))
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == -signal.SIGINT
        assert process.stdout.read() == b""


# views that do not answer

def test_view_that_does_not_answer_is_reported_and_delays_no_other(twinfs, small, source, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    trees.fill(tmp_path / "other", {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(small) as view:
        with stopped(view.pid):
            result = twinfs("status", view.path)
            assert result.status == 3
            assert len(result.errors) == 1 and "does not answer" in result.errors[0]
            with other.mounted(tmp_path / "other", at=tmp_path / "second") as second:
                assert len(os.listdir(second.dups)) == 1
        assert twinfs("status", view.path).status == 0


@contextlib.contextmanager
def hanging(view):
    """Delays the answers of a daemon for longer than the block."""
    with view.traced("-e", "trace=writev", "-e", f"inject=writev:delay_enter={TIMEOUT}s"):
        yield


def test_status_does_not_wait_for_a_view_that_hangs_in_an_answer(twinfs, small, strace):
    """The child that reads the status of a hanging view cannot be killed. It must not hold a pipe
    that its parent waits for."""
    with twinfs.mounted(small) as view:
        with hanging(view):
            result = twinfs("status", view.path, timeout=TIMEOUT / 2)
        assert result.status == 3
        assert len(result.errors) == 1 and "does not answer" in result.errors[0]
        # libfuse keeps an interrupt that came after the answer until the next request, and does not
        # free it at the end.
        twinfs.ok("status", view.path)


def test_status_of_all_views_is_an_array(twinfs, small, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as one, other.mounted(small, at=tmp_path / "second") as two:
        found = {path_of({"path": view["mountpoint"]}): view["pid"]
                 for view in twinfs("status", "--json").json}
        assert found[os.fsencode(one.path)] == one.pid
        assert found[os.fsencode(two.path)] == two.pid
        views = twinfs("status", "--format=json", one.path).json
        assert [view["pid"] for view in views] == [one.pid]
        text = twinfs.ok("status", one.path).out.decode()
        assert str(one.path) in text and str(two.path) not in text


def test_view_unmounted_during_status_is_skipped(twinfs, small, tmp_path):
    """The first view delays the command until the second one is unmounted."""
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as first, other.mounted(small, at=tmp_path / "second") as second:
        with stopped(first.pid), twinfs.started("status") as process:
            assert until(lambda: children(process.pid))
            second.unmount()
            os.kill(first.pid, signal.SIGCONT)
            out, error = process.communicate(timeout=TIMEOUT)
        assert os.fsencode(first.path) in out
        assert os.fsencode(second.path) not in out + error


def refusal(twinfs, view, small, command, status):
    """The only message of a command about a daemon that is stopped."""
    result = twinfs(command, small, timeout=TIMEOUT / 2)
    assert result.status == status, result
    [line] = result.errors
    assert f"process {view.pid}," in line and f"'{view.path}'" in line, line
    return line


@pytest.mark.parametrize(("command", "status"), [("scan", 1), ("list", 3)])
def test_command_gives_up_if_the_daemon_of_its_index_is_stopped(twinfs, small, command, status):
    with twinfs.mounted(small) as view:
        with stopped(view.pid):
            line = refusal(twinfs, view, small, command, status)
            assert "is stopped" in line and f"'kill -CONT {view.pid}'" in line
        assert twinfs(command, small).status == 0


def test_scan_gives_up_if_the_daemon_is_stopped_while_it_waits(twinfs, busy):
    with twinfs.mounted(busy, options=()) as view, twinfs.started("scan", busy) as process:
        assert until(lambda: waits_for(view, process.pid))
        with stopped(view.pid):
            assert process.wait(TIMEOUT / 2) == 1
            assert b"is stopped; continue it" in process.stderr.read()


def test_scan_gives_up_if_the_daemon_hangs(twinfs, small, strace):
    with twinfs.mounted(small) as view:
        with hanging(view):
            assert "does not answer" in refusal(twinfs, view, small, "scan", 1)


# indexes of views

def test_scan_waits_for_the_index_of_an_unmounted_view(twinfs, small, strace):
    trace = twinfs.folder / "trace"
    with twinfs.mounted(small) as view:
        traced_scan = twinfs.under_strace("-e", "trace=flock", output=trace)
        with stopped(view.pid):
            subprocess.run(["fusermount3", "-u", view.path], check=True)
            with traced_scan.started("scan", "--quiet", small) as process:
                assert until(lambda: process.poll() is not None or (
                    trace.exists() and trace.read_bytes().count(b"EAGAIN") > 2))
                assert process.poll() is None
                os.kill(view.pid, signal.SIGCONT)
                assert process.wait(TIMEOUT) == 0


def test_copies_reads_the_index_of_a_mounted_view(twinfs, small):
    copy = trees.join(small, b"letters/a.txt")
    with twinfs.mounted(small) as view:
        for file in (copy, view.uniques / "letters/a.txt"):
            result = twinfs.ok("copies", file, index=False)
            assert result.lines and copy not in result.lines
    result = twinfs("copies", copy, index=False)
    assert result.status == 1 and len(result.errors) == 1


def test_copies_prints_the_folder_of_a_group_in_each_view(twinfs, small, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as one, other.mounted(small, at=tmp_path / "second") as two:
        for file in (trees.join(small, b"letters/linked.txt"), one.uniques / "letters/a.txt"):
            folders = [Path(os.fsdecode(line)) for line in
                       twinfs.ok("copies", "--folder", file, index=False).lines]
            assert {folder.parent for folder in folders} == {one.dups, two.dups}
            for folder in folders:
                assert len(list(folder.iterdir())) == 3
                assert os.path.samefile(next(folder.glob("letters\u2215a.txt")),
                                        folder.parent.parent / "uniques/letters/a.txt")
        assert twinfs.ok("copies", "--folder", trees.join(small, b"alone")).out == b""
        trees.write(trees.join(small, b"letters/b.txt"), b"other")
    result = twinfs("copies", "--folder", trees.join(small, b"letters/a.txt"))
    assert (result.status, result.out) == (1, b"")
    assert len(result.errors) == 1 and "mount" in result.errors[0]


def test_copies_reads_the_other_indexes_if_one_is_broken(as_user, tmp_path):
    for name in (b"one", b"two"):
        trees.fill(tmp_path / os.fsdecode(name), {b"a": name, b"b": name})
        as_user.ok("scan", tmp_path / os.fsdecode(name), index=False)
    home = Path(as_user.environment["XDG_STATE_HOME"])
    indexes = sorted(home.rglob("data.mdb"))
    assert len(indexes) >= 2
    answers = []
    for index in indexes:  # each may be read first
        sound = index.read_bytes()
        index.write_bytes(b"nothing of the kind" * 1000)
        for name in ("one", "two"):
            result = as_user("copies", tmp_path / name / "a", index=False)
            assert result.status == (3 if result.lines else 1)
            assert os.fsencode(index.parent) in result.error
            answers += result.lines
        index.write_bytes(sound)
    assert set(answers) == {os.fsencode(tmp_path / name / "b") for name in ("one", "two")}
    assert len(answers) >= len(indexes)


def test_index_in_use_is_refused_for_other_sources(twinfs, small, tmp_path):
    trees.fill(tmp_path / "other", {b"a": b"b"})
    with twinfs.mounted(small):
        result = twinfs("list", tmp_path / "other")
        assert (result.status, result.out) == (1, b"")
        assert len(result.errors) == 1 and str(twinfs.index) in result.errors[0]


def test_changed_copies_are_counted_and_not_printed(twinfs, small):
    twinfs.ok("scan", small)
    one = trees.join(small, b"pictures/1.jpg")
    trees.write(trees.join(small, b"backup/1.jpg"), b"another")
    result = twinfs("copies", one)
    assert result.status == 3
    assert result.lines == [trees.join(small, b"pictures/copy of 1.jpg")]
    assert len(result.errors) == 1 and "skipped" in result.errors[0]


# paths

def test_path_of_a_symlink_is_its_own_and_not_its_target(twinfs, source, tmp_path):
    trees.fill(source, {b"folder/file": b"content"})
    os.symlink(tmp_path, source / "folder" / "link")
    os.mkfifo(source / "pipe")
    with twinfs.mounted(source) as view:
        for name in ("folder/link", "pipe"):
            assert twinfs.ok("path", view.uniques / name).lines == [
                os.fsencode(source / name)]
        result = twinfs("path", view.path / ".twinfs/status.json")
        assert (result.status, result.out) == (1, b"")


def test_odd_names_are_quoted_on_a_terminal_only(twinfs, source):
    trees.fill(source, {b"\x1b[31m\n": b"same", b"plain": b"same"})
    twinfs.ok("scan", source)
    raw = trees.join(os.fsencode(source), b"\x1b[31m\n")
    assert twinfs.ok("copies", source / "plain").out == raw + b"\n"
    status, out = on_terminal(twinfs, "copies", source / "plain")
    assert status == 0
    assert b"\x1b" not in out
    shell = subprocess.run(["bash", "-c", b"printf %s " + out], check=True, capture_output=True)
    assert shell.stdout == raw


CONTROL_NAMES = [b"\x1b[31m", b"csi-\xc2\x9b31m", b"raw-\x9b31m", b"cr\rover", b"line\nend",
                b"bell\a", b"del\x7f", "turned\u202e".encode(), "tag\U000e0041".encode()]


@pytest.fixture
def odd(source):
    """A source whose names, also its own, have control characters for terminals."""
    source = trees.join(os.fsencode(source), b"\x1b[2J\xc2\x9b1m")
    for name in CONTROL_NAMES:
        trees.fill(source, {trees.join(folder, name): name for folder in (b"a", b"b")})
        trees.write(trees.join(source, b"alone", name), b"alone" + name)
    return source


def check_terminal(twinfs, *arguments, statuses=(0,)):
    """Asserts that the output has no control or format character except line ends (csv: CR LF)."""
    status, out = on_terminal(twinfs, *arguments)
    assert status in statuses and out
    # decode() fails on what is not UTF-8
    odd = {character for character in out.replace(b"\r\n", b"\n").decode()
           if unicodedata.category(character) in ("Cc", "Cf") and character not in "\n\0"}
    assert not odd, (arguments, odd)
    return out


def test_no_command_writes_control_characters_to_a_terminal(twinfs, odd):
    check_terminal(twinfs, "scan", odd)
    for name in ("text", "fdupes", "json", "jsonl", "csv", "null"):
        for part in ([], ["--singles"]):
            check_terminal(twinfs, "list", *part, f"--format={name}", odd)
        check_terminal(twinfs, "remove", "--dry-run", f"--format={name}", odd)
    for option in ([], ["-0"]):
        out = check_terminal(twinfs, "copies", *option, trees.join(odd, b"a", CONTROL_NAMES[0]))
        shell = subprocess.run(["bash", "-c", b"printf %s " + out.strip(b"\n\0")], check=True,
                               capture_output=True)
        assert shell.stdout == trees.join(odd, b"b", CONTROL_NAMES[0])
    check_terminal(twinfs, "manifest", odd)
    check_terminal(twinfs, "report", "--html=-", odd)
    check_terminal(twinfs, "doctor", "--format=json", odd, statuses=(0, 3))
    trees.write(trees.join(odd, b"new" + CONTROL_NAMES[0] + CONTROL_NAMES[1]), b"new")
    for name in ("text", "json"):
        check_terminal(twinfs, "check", f"--format={name}", odd, statuses=(3,))


def test_list_of_a_view_writes_no_control_characters_to_a_terminal(twinfs, odd):
    with twinfs.mounted(odd) as view:
        for name in ("fdupes", "json", "csv", "null"):
            check_terminal(twinfs, "list", f"--format={name}", view.path)
        check_terminal(twinfs, "status", "--json", view.path)
        for option in ([], ["-0"]):
            check_terminal(twinfs, "path", *option, view.uniques / os.fsdecode(
                trees.join(b"alone", CONTROL_NAMES[1])))


def test_json_on_a_terminal_has_the_same_values(twinfs, odd):
    twinfs.ok("scan", odd)
    status, out = on_terminal(twinfs, "list", "--format=json", odd)
    assert status == 0
    assert json.loads(out) == json.loads(twinfs.ok("list", "--format=json", odd).out)



# mount(8)

def test_mount_helper_with_fake_option_mounts_nothing(twinfs, small, mount, tmp_path):
    helper = tmp_path / "mount.fuse.twinfs"
    helper.symlink_to(twinfs.session.binary)
    options = ["-o", f"index={twinfs.index}"]
    assert twinfs.ok(small, mount, "-f", *options, binary=str(helper)).out == b""
    assert not is_mounted(mount) and not twinfs.index.exists()
    result = twinfs(small, mount, "-f", *options, "-o", "bogus", binary=str(helper))
    assert result.status == 2 and "bogus" in result.errors[0]
    twinfs.ok(small, mount, "-f", "-s", *options, "-o", "bogus", binary=str(helper))

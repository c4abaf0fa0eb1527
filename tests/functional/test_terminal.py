# SPDX-License-Identifier: MIT
"""Output on a terminal: progress, and the message about a new view."""
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
import trees
from processes import TIMEOUT, until
from program import Program, is_mounted
from terminal import CLEAR_REST, Terminal, screen

BAR = re.compile(r"(walking|comparing) .*")


@contextmanager
def terminal(columns=80, name="xterm"):
    made = Terminal(columns, name)
    try:
        yield made
    finally:
        made.close()


def run_at(seen, twinfs, *arguments, **options):
    """Runs a command to its end; returns its exit status."""
    with seen.run(twinfs.command(*arguments, **options), twinfs.environment) as process:
        return process.wait(TIMEOUT)


@pytest.fixture
def mount(mount):
    """A mount point with a blank in its path, which commands for a shell have to quote."""
    folder = mount.rename(mount.with_name("a view"))
    yield folder
    if is_mounted(folder):
        subprocess.run(["fusermount3", "-u", folder], check=True)


# ---- the first message ------------------------------------------------------------------


def lines_of_mount(twinfs, columns, *arguments, **options):
    with terminal(columns) as seen:
        assert run_at(seen, twinfs, *arguments, **options) == 0
    return seen.lines()


def test_message_of_mount_names_existing_paths_and_working_commands(twinfs, source, mount):
    trees.small(source)
    lines = lines_of_mount(twinfs, 200, "mount", "--wait", source, mount)
    assert re.fullmatch(rf"twinfs: '{mount}' is mounted: 9 files; removing the redundant "
                        "copies of 2 groups would free up to 140 KiB", lines[0]), lines
    assert len(lines) == 5
    what = [re.split(r"  +", line.strip())[0] for line in lines[1:]]
    for words in map(shlex.split, what):
        if len(words) == 1:
            assert os.listdir(words[0])
        else:
            words[0] = {"twinfs": twinfs.session.binary}.get(words[0], words[0])
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert words[1] == "unmount" and not is_mounted(mount)


def test_message_of_mount_without_wait_mentions_the_background(twinfs, source, mount):
    with slow(source):
        lines = lines_of_mount(twinfs, 200, "mount", source, mount)
    assert "mounted; comparing its" in lines[0] and lines[0].endswith("in the background"), lines


@pytest.mark.parametrize("options", [["mount", "--quiet"], ["helper"]])
def test_quiet_mount_and_mount_helper_print_nothing(twinfs, source, mount, options, tmp_path):
    trees.small(source)
    if options == ["helper"]:
        helper = tmp_path / "mount.fuse.twinfs"
        helper.symlink_to(twinfs.session.binary)
        assert lines_of_mount(twinfs, 80, source, mount, "-o", f"index={twinfs.index}",
                              binary=str(helper)) == []
    else:
        assert lines_of_mount(twinfs, 80, *options, source, mount) == []


def test_foreground_mount_names_the_key_that_unmounts(twinfs, source, mount):
    trees.small(source)
    with terminal() as seen:
        with seen.run(twinfs.command("mount", "-f", source, mount),
                      twinfs.environment) as process:
            assert until(lambda: "Ctrl-C unmounts it" in seen.written, 20)
            assert (mount / "dups").is_dir()
            process.send_signal(signal.SIGINT)
            assert process.wait(TIMEOUT) == 0
        assert not is_mounted(mount)


def test_list_that_waits_for_a_view_reports_it(twinfs, source, mount):
    with slow(source), terminal(200) as seen:
        twinfs.ok("mount", source, mount)
        assert run_at(seen, twinfs, "list", mount) == 3
    assert re.fullmatch(rf"twinfs: waiting for the view at '{mount}', which has to compare "
                        r"\d+ files?", seen.lines()[0]), seen.lines()


# ---- progress ---------------------------------------------------------------------------


@contextmanager
def slow(source):
    """A source whose comparison takes some seconds, as a file is open for writing."""
    trees.small(source)
    trees.write(source / "one", b"x" * 5000)
    with open(source / ("a long name " * 15), "wb") as file:
        file.write(b"y" * 5000)
        file.flush()
        yield source


# Runs a command as a background job of a shell.
IN_BACKGROUND = """import fcntl, os, subprocess, sys, termios
os.setsid()
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
sys.exit(subprocess.run(sys.argv[1:], preexec_fn=lambda: os.setpgid(0, 0)).returncode)
"""


@pytest.fixture(scope="module")
def shown(session, scratch):
    """{kind: terminal} of scans that take some seconds, all at the same time. All folders are
    known, as the walk would read some of the files in new ones."""
    kinds = {"narrow": Terminal(40), "usual": Terminal(80), "wide": Terminal(200),
             "dumb": Terminal(80, "dumb"), "background": Terminal(80)}
    for folder in "", "letters", "letters/again", "pictures", "backup":
        trees.write(scratch / "source" / folder / "scanned before", b"")
    programs = {kind: Program(session, scratch).with_index(scratch / f"index {kind}")
                for kind in kinds}
    for twinfs in programs.values():
        twinfs.ok("scan", scratch / "source")
    started = []
    with slow(scratch / "source") as source:
        for kind, seen in kinds.items():
            twinfs = programs[kind]
            twinfs.environment |= {"LC_ALL": "C", "NO_COLOR": "1"}
            command = twinfs.command("scan", source)
            if kind == "background":
                command = [sys.executable, "-c", IN_BACKGROUND, *command]
            elif kind == "dumb":
                command.append("--progress=always")
            started.append(seen.run(command, twinfs.environment))
        ended = [process.wait(TIMEOUT) for process in started]
    for seen in kinds.values():
        seen.close()
    assert ended == [3] * len(kinds)
    return kinds


def frames(written):
    """Each state of the progress line."""
    return [piece for piece in re.split(r"[\r\n]|\x1b\[K", written) if BAR.match(piece)]


@pytest.mark.parametrize("kind", ["narrow", "usual", "wide"])
def test_progress_line_fits_the_terminal_and_is_erased(shown, kind):
    seen = shown[kind]
    drawn = frames(seen.written)
    assert drawn and all(len(line) < seen.columns for line in drawn), drawn
    assert "100%" in drawn[-1] and ("9/9 files" in drawn[-1]) == (kind != "narrow"), drawn
    assert not any(BAR.match(line) for line in seen.lines()), seen.lines()
    assert seen.lines()[0].startswith("twinfs: warning: "), seen.lines()
    assert set(re.findall(r"\x1b\[?[^a-zA-Z]*.", seen.written)) == {CLEAR_REST}


def test_progress_line_follows_the_width_of_the_terminal(twinfs, source):
    with slow(source), terminal(120) as seen:
        with seen.run(twinfs.command("scan", source), twinfs.environment) as process:
            assert until(lambda: frames(seen.written), 20)
            before = len(seen.written)
            seen.resize(50)
            assert process.wait(TIMEOUT) == 3
    assert 50 <= len(frames(seen.written[:before])[0]) < 120
    later = frames(seen.written[before:])[1:]
    assert later and all(len(line) < 50 for line in later), later


def test_dumb_terminal_gets_whole_lines(shown):
    text = shown["dumb"].written.replace("\r\n", "\n")
    assert "\r" not in text and "\x1b" not in text
    assert "twinfs: walking  " in text and "\ntwinfs: comparing  " in text
    assert all(line.startswith("twinfs: ") for line in text.splitlines()), text


def test_background_job_shows_no_progress(shown):
    assert frames(shown["background"].written) == []
    assert shown["background"].lines()[0].startswith("twinfs: warning: ")


def test_screen_interprets_carriage_returns_and_wraps():
    assert screen("one two\rONE", 80) == ["ONE two"]
    assert screen("a bar\r\x1b[Kmessage\r\nbar\r\x1b[K", 80) == ["message"]
    assert screen("12345", 3) == ["123", "45"]

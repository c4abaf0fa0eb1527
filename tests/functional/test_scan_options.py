# SPDX-License-Identifier: MIT
"""A scan option is obeyed or refused when a view or a scan maintains the index. No act changes a
file that the options exclude."""
import contextlib
import os
import subprocess
from pathlib import Path

import newer_index
import pytest
from processes import stopped, until
from program import is_mounted

READERS = ["list", "list --redundant", "report", "check"]
ACTS = ["remove", "move", "link", "dedupe"]
COMMANDS = [*READERS, "manifest", *ACTS]

# (options of the view or scan, options of the command, commands that obey them beside the view).
# The other commands refuse them. check scans the sources itself and obeys all options.
CASES = {
    "exclude": ([], ["--exclude=*.jpg"], [*READERS, *ACTS]),
    "further excludes": (["--exclude=*.tmp"], ["--exclude=*.jpg", "--exclude=*.tmp"],
                         [*READERS, *ACTS]),
    "another exclude": (["--exclude=*.tmp"], ["--exclude=*.jpg"], ["check"]),
    "fewer excludes": (["--exclude=*.tmp", "--exclude=*.jpg"], ["--exclude=*.jpg"], ["check"]),
    "same excludes": (["--exclude=*.jpg", "--exclude=*.tmp"],
                      ["--exclude=*.tmp", "--exclude=*.jpg", "--exclude=*.tmp"], COMMANDS),
    "one file system": (["--cross-file-systems"], ["-x"], ["check"]),
    "default file system": (["--cross-file-systems"], [],
                            ["list", "list --redundant", "report", "check", "manifest"]),
    "other file systems": ([], ["--cross-file-systems"], ["check"]),
    "smaller files": (["--min-size=100"], ["--min-size=1"], ["check"]),
    "larger files": ([], ["--min-size=100"], [*READERS, *ACTS]),
    "empty files": (["--min-size=0"], ["--min-size=0"], COMMANDS),
    "default size": (["--min-size=0"], [], COMMANDS),
    "disk": ([], ["--disk=rotating"], ["check"]),
}


def tree(source):
    """Two copies of each kind that the options select. The first one by path is kept."""
    for name, content in (("jpg", b"j" * 10), ("tmp", b"t" * 11), ("txt", b"x" * 12),
                          ("large", b"l" * 1000), ("empty", b"")):
        for number in (1, 2):
            (source / f"{number}.{name}").write_bytes(content)


def names(source):
    return {path.name for path in source.rglob("*")}


def may_go(options, maintained):
    """The names of copies that a command with these options may change: files in the index that its
    own options select."""
    left = {"2.jpg", "2.tmp", "2.txt", "2.large"}
    both = [*options, *maintained]
    left -= {f"2.{kind}" for kind in ("jpg", "tmp") if f"--exclude=*.{kind}" in both}
    if "--min-size=100" in both:
        left = {"2.large"}
    return left | ({"2.empty"} if "--min-size=0" in options else set())


def words_of(command, options, source, aside):
    name, *words = command.split()
    if name == "report":
        return [name, "--html=-", *options, source]
    if name == "move":
        return [name, "--yes", *options, source, aside]
    if name in ACTS:
        return [name, "--yes", *options, source]
    return [name, *words, *options, source]


def state_of(source):
    return {path.name: (path.stat().st_ino, path.read_bytes()) for path in source.iterdir()
            if path.is_file()}


def run(twinfs, command, options, source, aside):
    """Runs a command; returns its result and the names of changed or removed files."""
    before = state_of(source)
    result = twinfs(*words_of(command, options, source, aside))
    after = state_of(source)
    return result, {name for name in before if before[name] != after.get(name)}


def refused(result, option):
    """Whether a command failed with one line that names the option, and printed nothing."""
    lines = [line for line in result.errors if "cannot use the index" in line]
    return result.status == 1 and result.out == b"" and len(lines) == 1 and option in lines[0]


def name_of(options):
    """The long name of the first option, or of the default option if there is none."""
    return "--one-file-system" if options in ([], ["-x"]) else options[0].split("=")[0]


@pytest.mark.parametrize("case", CASES)
def test_option_is_obeyed_or_refused_beside_a_view(twinfs, source, aside, case):
    maintained, options, obeying = CASES[case]
    tree(source)
    view_options = ("--wait", "--quiet", *maintained)
    with twinfs.mounted(source, options=view_options) as view:
        for command in COMMANDS:
            result, gone = run(twinfs, command, options, source, aside)
            if command not in obeying:
                assert refused(result, name_of(options)), (command, result)
                assert gone == set(), command
                continue
            if command != "dedupe":  # ext4 cannot share blocks
                assert result.status in (0, 3), (command, result)
            assert gone <= may_go(options, maintained), command
            if command in ("remove", "move", "link"):
                assert gone == may_go(options, maintained), (command, result)
                for name in gone:
                    (source / name).unlink(missing_ok=True)
                tree(source)
                view.sync()


@pytest.mark.parametrize("command", ACTS)
def test_act_beside_a_view_leaves_empty_files_alone(twinfs, source, aside, command):
    for number in (1, 2):
        (source / f"{number}.empty").touch()
    with twinfs.mounted(source, options=("--wait", "--min-size=0")):
        result, gone = run(twinfs, command, [], source, aside)
        assert result.status == 0, result
        assert gone == set()
        assert [line for line in result.errors if "--min-size=0" in line], result
        planned = twinfs.ok(*words_of(command, ["--dry-run", "--format=null"], source, aside))
        assert planned.out == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_obeyed_if_no_other_process_uses_the_index(twinfs, source, aside, command):
    tree(source)
    twinfs.ok("scan", "--min-size=0", "--quiet", source)
    result, gone = run(twinfs, command, ["--exclude=*.jpg"], source, aside)
    assert result.status in (0, 3), result
    assert "2.jpg" not in gone
    assert "2.empty" not in gone
    if command == "list":
        assert b".txt" in result.out
        assert b".jpg" not in result.out
        assert b".empty" not in result.out


def full_pipe():
    """Both ends of a full pipe."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    return reading, writing


def writes_to_stdout(pid):
    """Whether a process waits in a system call whose first argument is 1."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[1:2] == ["0x1"]


@contextlib.contextmanager
def scan_under_way(twinfs, source):
    """A stopped scan that holds the index, but no lock of LMDB, for which others would wait."""
    reading, writing = full_pipe()  # the scan cannot print its result and so does not end
    process = subprocess.Popen(twinfs.command("scan", source), env=twinfs.environment,
                               stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        assert until(lambda: writes_to_stdout(process.pid))
        assert (twinfs.index / "owner").read_text().startswith(str(process.pid))
        with stopped(process.pid):
            yield
    finally:
        process.kill()
        process.wait()
        os.close(reading)


@contextlib.contextmanager
def lock_taken(twinfs):
    """Another process holds the lock of the index and has not written its id."""
    with newer_index.lock_held(twinfs.index) as owner:
        owner.truncate(0)
        yield


def check_act_does_nothing(twinfs, command, options, source, aside):
    result, gone = run(twinfs, command, options, source, aside)
    assert result.status == 1, (command, result)
    assert gone == set(), command
    assert result.out == b"", command
    assert "try again when it has finished" in result.error.decode(), result
    assert names(aside) == set()


@pytest.mark.parametrize("options", [[], ["--exclude=*.jpg"], ["-x"], ["--cross-file-systems"],
                                     ["--min-size=100"]], ids=" ".join)
def test_act_beside_a_scan_is_refused(twinfs, source, aside, options):
    tree(source)
    twinfs.ok("scan", "--quiet", "--min-size=0", source)
    with scan_under_way(twinfs, source):
        for command in [*ACTS, "manifest"]:
            check_act_does_nothing(twinfs, command, options, source, aside)
        for command in ("list", "report"):
            result, _ = run(twinfs, command, options, source, aside)
            if options in (["-x"], ["--cross-file-systems"]):
                assert result.status == 1, (command, result)
                assert result.out == b""
            else:
                assert result.status == 3, (command, result)
        for command in ("scan", "mount"):
            result = twinfs(command, *options, source, *([aside] if command == "mount" else []))
            assert result.status == 1, result
            assert not is_mounted(aside)


def test_act_beside_an_unknown_process_is_refused(twinfs, source, aside):
    tree(source)
    twinfs.ok("scan", "--quiet", "--min-size=0", source)
    with lock_taken(twinfs):
        check_act_does_nothing(twinfs, "remove", [], source, aside)  # after 12 s


def test_check_uses_the_options_of_the_last_scan(twinfs, source):
    tree(source)
    twinfs.ok("scan", "--exclude=*.jpg", "--exclude=*.tmp", source)
    twinfs.ok("check", source)
    assert twinfs("check", "--exclude=*.tmp", source).status == 3
    twinfs.ok("check", "--repair", source)
    twinfs.ok("check", source)
    with twinfs.mounted(source, options=("--wait", "--exclude=2.*")) as view:
        twinfs.ok("check", view.path)

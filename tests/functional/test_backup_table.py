# SPDX-License-Identifier: MIT
"""The table of backup programs in README.md and twinfs(5) is what tools/backup_table.py printed.
Its measure of what a program reads counts each way to read, and its oracle finds each loss."""
import os
import shutil
import subprocess
import sys

import pytest
import trees
from manual import ROOT

sys.path.insert(0, str(ROOT / "tests/tools"))

import backup_table  # noqa: E402
import backup_text  # noqa: E402
from backup_programs import PROGRAMS, Program  # noqa: E402

MIB = 1 << 20
WAYS = {
    "read": "cat view/uniques/file",
    "pread": "dd if=view/uniques/file of=/dev/null bs=64k skip=4 count=1 2>&1",
    "thread": "python3 -c 'import threading as t; t.Thread("
              "target=open(\"view/uniques/file\").read).start()'",
    "mmap": "python3 -c 'import mmap; file = open(\"view/uniques/file\"); "
            "mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)'",
    "sendfile": "python3 -c 'import os; file = open(\"view/uniques/file\"); "
                "os.sendfile(os.open(\"copy\", os.O_CREAT | os.O_WRONLY), file.fileno(), 0, "
                "65536)'",
    "name only": "stat view/uniques/file; head -c 0 view/uniques/file",
}
WHOLE = ("read", "thread", "mmap")


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for name in ("strace", "setfacl", "rsync"):
        if not shutil.which(name):
            pytest.skip(f"needs {name}")


@pytest.mark.parametrize("page", backup_text.PAGES)
def test_page_has_what_the_script_printed(page):
    _, made, _ = backup_text.between(page)
    assert made == backup_text.texts(backup_text.load())[page]


def test_commands_of_the_data_are_those_that_the_script_runs():
    commands = {program.name: program for program in PROGRAMS}
    for row in backup_text.load():
        program = commands[row["program"]]
        assert (row["prepare"], row["backup"], row["restore"]) == (
            program.prepare, program.backup, program.restore)


@pytest.mark.parametrize("way", WAYS)
def test_bytes_are_counted_however_they_are_read(root, tmp_path, way):
    view = backup_table.View("", tmp_path)
    trees.fill(view.uniques, {"file": trees.content(1, MIB)})
    run = backup_table.Run(view, Program("cat", WAYS[way]))
    read = run.backup("first")
    assert run.row.failed == {}
    count = MIB if way in WHOLE else 0 if way == "name only" else 65536
    assert run.row.reads["first"]["bytes"] == count
    assert read == ({"file"} if count else set())


def damages():
    """{words: a change of a copy that loses this}"""
    return {
        "content": lambda root: (root / "sizes/5000 bytes").write_bytes(bytes(5000)),
        "files": lambda root: (root / "sizes/5000 bytes").unlink(),
        "names that are not UTF-8": lambda root: os.unlink(os.fsencode(root) + b"/names/caf\xe9"),
        "empty folders": lambda root: (root / "empty").rmdir(),
        "symlinks": lambda root: (root / "links/dangling").unlink(),
        "FIFOs": lambda root: (root / "fifo").unlink(),
        "hard links": lambda root: separate(root / "links/two"),
        "holes": lambda root: fill_holes(root / "sparse"),
        "times": lambda root: os.utime(root / "owner", ns=(0, 7)),
        "nanoseconds": lambda root: cut_time(root / "owner"),
        "nanoseconds of folders": lambda root: cut_time(root / "empty"),
        "times of symlinks": lambda root: os.utime(root / "links/folder", follow_symlinks=False),
        "modes": lambda root: os.chmod(root / "modes/none", 0o644),
        "modes of folders": lambda root: os.chmod(root / "empty", 0o700),
        "owners": lambda root: os.chown(root / "owner", 0, 0),
        "xattrs": lambda root: os.removexattr(root / "xattr", "user.note"),
        "ACLs": lambda root: os.removexattr(root / "acl", "system.posix_acl_access"),
        "attributes of the root": lambda root: cut_time(root),
    }


def cut_time(path):
    second = path.stat().st_mtime_ns // 10**9 * 10**9
    os.utime(path, ns=(second, second))


def separate(path):
    other = path.with_name("other")
    shutil.copy2(path, other)
    os.rename(other, path)


def fill_holes(path):
    before = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before, before))


@pytest.mark.parametrize("word", damages())
def test_loss_is_found(root, tmp_path, monkeypatch, word):
    monkeypatch.setattr(backup_table.time, "sleep", lambda seconds: None)
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    backup_table.make_source(source)
    subprocess.run(["rsync", "-aHAXS", "--numeric-ids", f"{source}/", copy], check=True)
    assert backup_table.losses(source, copy, ()) == {}
    damages()[word](copy)
    lost = backup_table.losses(source, copy, ())
    assert word in lost
    for other in lost.keys() - {word}:  # a removed name changes the time of its folder
        assert other in ("times of folders", "times", "ACLs", "attributes of the root")


def test_program_that_is_run_reads_and_keeps_what_the_table_says(root, twinfs, tmp_path):
    output = tmp_path / "rows.jsonl"
    subprocess.run([ROOT / "tests/tools/backup_table.py", "--binary", twinfs.session.binary,
                    "--only=rsync", "--only=tar", f"--output={output}"], check=True,
                   env={**os.environ, "TMPDIR": os.fspath(tmp_path)}, capture_output=True)
    wanted = {row["program"]: row for row in backup_text.load()}
    for row in backup_text.load(output):
        row["version"] = wanted[row["program"]]["version"]
        for state in row["reads"].values():
            state["stored"] = 0
        assert row["lost"] == row["lost_after_restore"] == {} and row["missed"] == []
        assert [backup_text.read(row, state) for state in row["reads"]] == [
            "all", "nothing", "nothing", "what changed"]

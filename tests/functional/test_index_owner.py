# SPDX-License-Identifier: MIT
"""An index of another user is refused, as commands act on the journal in an index."""
import json
import os
import stat

import pytest
import trees

COMMANDS = ["scan", "list", "check", "report", "manifest", "remove", "mount", "copies", "recover"]
ANOTHER = 12345
LEFTOVER = ".twinfs~0000000000000001"


@pytest.fixture
def tree(source):
    trees.small(source)
    return source


def run(twinfs, command, tree, tmp_path):
    (tmp_path / "view").mkdir(exist_ok=True)
    words = {"scan": [tree], "list": [tree], "check": [tree], "report": ["--html=/dev/null", tree],
             "manifest": [tree], "remove": ["--yes", tree], "recover": [],
             "mount": ["--wait", tree, tmp_path / "view"],
             "copies": [next(path for path in tree.rglob("*") if path.is_file())]}[command]
    return twinfs(command, "--index", twinfs.index, *words, index=False)


def refused(result, *words):
    assert result.status == 1, result
    assert all(word in result.errors[0] for word in words), result
    return True


@pytest.mark.parametrize("command", COMMANDS)
def test_journal_in_an_index_of_another_user_is_not_executed(
        twinfs, tree, tmp_path, root_only, command):
    twinfs.ok("scan", tree)
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / LEFTOVER).write_text("x")
    intent = {"intent": 1, "kind": "away", "source": str(canary), "path": "renamed",
              "other": LEFTOVER, "kept inode": 0, "inode": (canary / LEFTOVER).stat().st_ino,
              "born": 0, "root inode": 0, "root born": 0}
    (twinfs.index / "acts").write_text(json.dumps(intent) + "\n")
    for path in (twinfs.index, *twinfs.index.iterdir()):
        os.chown(path, ANOTHER, ANOTHER)
    refused(run(twinfs, command, tree, tmp_path), str(twinfs.index), f"user {ANOTHER}")
    assert os.listdir(canary) == [LEFTOVER]
    assert not os.path.ismount(tmp_path / "view")


@pytest.mark.parametrize("command", COMMANDS)
def test_file_of_another_user_in_an_index_is_refused(twinfs, tree, tmp_path, root_only, command):
    twinfs.ok("scan", tree)
    os.chown(twinfs.index / "data.mdb", ANOTHER, -1)
    refused(run(twinfs, command, tree, tmp_path), str(twinfs.index), "belongs to another user")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("linked", ["", "acts", "data.mdb"])
def test_symbolic_link_in_an_index_is_refused(twinfs, tree, tmp_path, command, linked):
    twinfs.ok("scan", tree)
    path = twinfs.index / linked
    moved = tmp_path / "moved"
    if path.exists():
        path.rename(moved)
    else:
        moved.write_text("")
    before = {name: (moved / name).read_bytes() for name in os.listdir(moved)} \
        if moved.is_dir() else moved.read_bytes()
    path.symlink_to(moved)
    refused(run(twinfs, command, tree, tmp_path), str(twinfs.index), "symbolic link")
    after = {name: (moved / name).read_bytes() for name in os.listdir(moved)} \
        if moved.is_dir() else moved.read_bytes()
    assert before == after


def test_write_permission_of_others_on_an_index_is_removed(twinfs, tree):
    twinfs.index.mkdir()
    twinfs.index.chmod(0o777)
    twinfs.ok("scan", tree)
    assert stat.S_IMODE(twinfs.index.stat().st_mode) == 0o755

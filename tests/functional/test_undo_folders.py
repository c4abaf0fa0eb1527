# SPDX-License-Identifier: MIT
"""undo of acts on folders: what it makes and removes of them, and what a killed one leaves."""
import contextlib

import pytest
import trees
from disks import disk
from test_undo import tree_of


@pytest.mark.parametrize("words, across", [
    (["move"], False), (["move", "--folders"], False), (["move"], True)],
    ids=["files", "folders", "across"])
def test_undo_of_a_move_removes_the_folders_that_the_move_made(twinfs, source, aside, tmp_path,
                                                               words, across):
    """The folders of the user stay, also empty ones, and folders that have a file now."""
    for name in ("one", "two"):
        trees.fill(source / "new/in" / name, {b"a": b"first", b"b": b"second"})
    trees.fill(source / "new/used/one", {b"c": b"third"})
    trees.fill(source / "new/used/two", {b"c": b"third"})
    trees.fill(source / "mine/one", {b"d": b"fourth"})
    trees.fill(source / "mine/two", {b"d": b"fourth"})
    before = tree_of(source)
    with disk("ext4", tmp_path) if across else contextlib.nullcontext(aside) as root:
        target = root / "target"
        (target / "mine").mkdir(parents=True)
        twinfs.ok(*words, "--yes", "--keep=path:one", source, target)
        assert (target / "new/in").is_dir() and (target / "new/used").is_dir()
        (target / "new/used/mine").write_bytes(b"mine")
        twinfs.ok("undo", "--yes")
        assert tree_of(source) == before
        assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == [
            "mine", "new", "new/used", "new/used/mine"]

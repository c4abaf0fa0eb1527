# SPDX-License-Identifier: MIT
"""The file system of a source goes under a view: what the view has of it stays, and is said to be
of yesterday; nothing becomes redundant or unique by it."""
import os
import subprocess
from pathlib import Path

import trees
from disks import disk
from program import Program


def shown(view):
    """Every file in the view with what the index knows of it."""
    found = {}
    for where in (view.dups, view.uniques, view.redundant):
        for folder, _, names in os.walk(where):
            for path in (os.path.join(folder, name) for name in names):
                status = os.lstat(path)
                found[path] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def test_source_that_is_unmounted_is_missing_until_it_is_mounted_again(session, tmp_path):
    other = tmp_path / "other"
    trees.fill(other, {b"z": trees.content("p", 70000), b"new": b"new"})
    with disk("ext4", tmp_path) as root:
        trees.small(root)
        [device] = [line.split()[0] for line in Path("/proc/self/mounts").read_text().splitlines()
                    if line.split()[1] == str(root)]
        with Program(session, tmp_path).mounted(root, other) as view:
            before = shown(view)
            assert len(before) > 10
            # the view keeps it busy, as any program does that has something of it open
            subprocess.run(["umount", "--lazy", root], check=True)
            view.sync()
            assert shown(view) == before
            assert [tree.get("missing", False) for tree in view.status()["sources"]] == [
                True, False]
            trees.fill(other, {b"newer": b"new"})
            subprocess.run(["mount", device, root], check=True)
            trees.fill(root, {b"later": trees.content("alone", 70000)})
            assert view.differences_now(root, other) == []
            assert not any("missing" in tree for tree in view.status()["sources"])

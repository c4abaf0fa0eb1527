# SPDX-License-Identifier: MIT
"""Runs commands with single files as operands, in a folder of its own."""
import json
import os
from pathlib import Path

import trees
from program import path_of

EARLY = 1_600_000_000


class Names:
    """Runs the program with the default index, in a folder, with names as operands or in a list."""

    def __init__(self, twinfs, folder):
        self.twinfs, self.folder = twinfs, Path(folder)

    def run(self, command, *words, names=(), listed=None, **options):
        words = [*words]
        if listed is not None:
            path = self.twinfs.folder / "names"
            path.write_bytes(listed if isinstance(listed, bytes) else
                             b"".join(os.fsencode(name) + b"\0" for name in listed))
            words.append(f"--files0-from={path}")
        return self.twinfs(command, *words, "--", *names, index=False, cwd=self.folder, **options)

    def ok(self, *words, **options):
        result = self.run(*words, **options)
        assert result.status == 0, result
        return result

    def groups(self, *words, status=0, **options):
        """Groups as sets of paths (bytes) relative to the folder; each path is printed once."""
        result = self.run("list", "--format=jsonl", *words, **options)
        assert result.status == status, result
        return groups_of(result, self.folder)


def groups_of(result, folder):
    found = []
    for line in result.lines:
        group = json.loads(line)
        if "copies" not in group:
            continue
        paths = [os.path.realpath(os.path.join(os.fsencode(folder), path_of(copy)))
                 for copy in group["copies"]]
        assert len(paths) == len(set(paths))
        found.append(frozenset(os.path.relpath(path, os.fsencode(folder)) for path in paths))
    assert len(found) == len(set(found))
    return set(found)


def group(*paths):
    return frozenset(os.fsencode(path) for path in paths)


def fill(source, files):
    trees.fill(source, files)
    for place, name in enumerate(files):
        os.utime(source / name, (EARLY + 10 * place,) * 2)

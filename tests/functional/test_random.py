# SPDX-License-Identifier: MIT
"""Generated trees and histories: after each round the oracle finds no difference.

A failure names its seed. TWINFS_TEST_SEEDS is the number of histories; raise it for a long run.
"""
import os
import random

import oracle
import pytest
import trees

SEEDS = range(int(os.environ.get("TWINFS_TEST_SEEDS", "6")))
ROUNDS = 12
STEPS = 40
SIZES = [0, 1, 3, 100, 100, 4096, 20_000, 20_000, 70_000]


class History:
    """Random changes of a tree. Few contents and few names make collisions frequent."""

    def __init__(self, root, seed):
        self.root, self.rng = os.fsencode(root), random.Random(seed)
        trees.fill(self.root, {b"d%d/f%d" % (n % 4, n): self.content() for n in range(30)})

    def content(self):
        size = self.rng.choice(SIZES)
        return trees.content(("random", size, self.rng.randrange(3)), size)

    def entries(self, folders):
        found = []
        for folder, names, files in os.walk(self.root):
            found += [os.path.join(folder, name) for name in (names if folders else files)]
        found.sort()
        return [path for path in found if os.path.islink(path) is False]

    def some(self, folders=False):
        found = self.entries(folders)
        return self.rng.choice(found) if found else None

    def place(self):
        """A path in an existing folder. The path itself can exist or be missing."""
        folder = self.rng.choice([self.root, *self.entries(True)])
        return os.path.join(folder, self.rng.choice([b"f%d", b"d%d"]) % self.rng.randrange(12))

    def create(self):
        path = self.place()
        if not os.path.lexists(path):
            trees.write(path, self.content(), self.rng.choice([0o644, 0o600]))

    def rewrite(self):
        path = self.some()
        if path:
            trees.write(path, self.content())

    def rewrite_and_restore_mtime(self):
        path = self.some()
        if path:
            when = os.stat(path)
            trees.write(path, trees.content(self.rng.randrange(3), when.st_size))
            os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))

    def copy(self):
        source, path = self.some(), self.place()
        if source and not os.path.lexists(path):
            with open(source, "rb") as file:
                trees.write(path, file.read())

    def truncate(self):
        path = self.some()
        if path:
            os.truncate(path, self.rng.choice(SIZES))

    def remove(self):
        path = self.some()
        if path:
            os.unlink(path)

    def link(self):
        source, path = self.some(), self.place()
        if source and not os.path.lexists(path):
            os.link(source, path)

    def make_folder(self):
        path = self.place()
        if not os.path.lexists(path):
            os.mkdir(path)

    def remove_folder(self):
        path = self.some(folders=True)
        if path and self.rng.random() < 0.3:
            trees.remove(path)

    def rename(self):
        path, to = self.some(self.rng.random() < 0.5), self.place()
        if path and not os.path.isdir(to) and not (to + b"/").startswith(path + b"/"):
            if os.path.isdir(path) and os.path.lexists(to):
                return
            os.rename(path, to)

    def symlink(self):
        path = self.place()
        if not os.path.lexists(path):
            os.symlink(self.rng.choice([b"f1", b"..", b"nowhere"]), path)

    def change_mode(self):
        path = self.some(self.rng.random() < 0.3)
        if path:
            os.chmod(path, self.rng.choice([0o700, 0o755, 0o644]) | 0o700 * os.path.isdir(path))

    CHANGES = [create, create, rewrite, rewrite_and_restore_mtime, copy, copy, truncate, remove,
               link, make_folder, remove_folder, rename, rename, symlink, change_mode]

    def step(self):
        self.rng.choice(self.CHANGES)(self)


@pytest.mark.parametrize("seed", SEEDS)
def test_history_between_runs_leaves_no_difference(twinfs, source, seed):
    history = History(source, seed)
    for number in range(ROUNDS):
        for _ in range(STEPS):
            history.step()
        assert twinfs.groups(source) == oracle.path_groups(source), f"seed {seed}, round {number}"
        if number % 4 == 3:
            with twinfs.mounted(source) as view:
                assert view.differences(source, first_scan=False) == []
    fresh = twinfs.with_index(twinfs.folder / "fresh index").listing(source)
    grown = twinfs.listing(source)
    assert grown["summary"] == fresh["summary"]
    assert ({group["hash"][:32] for group in grown["groups"]}
            == {group["hash"][:32] for group in fresh["groups"]})


def generated_name(rng):
    length = rng.choice([1, 2, 3, 10, 80, 254, 255])
    alphabet = rng.choice([range(1, 256), range(1, 32), range(0x80, 0x100), b"a~.-09f",
                           "\u2215~.".encode() + b"1-", b"\\x%\"' \n"])
    while True:
        name = bytes(rng.choice(alphabet) for _ in range(length)).replace(b"/", b"_")
        if name not in (b".", b".."):
            return name


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_names_are_unaltered_in_view_and_list(twinfs, source, seed):
    rng = random.Random(seed)
    for number in range(300):
        folder = b"/".join(generated_name(rng) for _ in range(rng.randrange(3)))
        path = trees.join(source, folder, generated_name(rng)) if folder else \
            trees.join(source, generated_name(rng))
        try:
            trees.write(path, b"content %d" % (number // 50))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    groups = oracle.path_groups(source)
    assert twinfs.groups(source) == groups
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []
        shown = [trees.join(view.dups, folder, name)
                 for folder, names in view.copies().items() for name in names]
        paths = {path for path in twinfs.ok("path", "-0", *shown).out[:-1].split(b"\0")}
        assert paths == frozenset().union(*groups)

# SPDX-License-Identifier: MIT
"""Random acts with changes of other programs in between: undo brings back every file whose content
still exists, or names it, and changes nothing else.

TWINFS_TEST_ACTS sets the number of acts."""
import os
import random
import shutil
import subprocess

import trees
from test_act_log import act_words, acts, records

ACTS = int(os.environ.get("TWINFS_TEST_ACTS", "60"))
SEED = int(os.environ.get("TWINFS_TEST_SEED", "1"))
CONTENTS = [trees.content(f"undo {number}", 100 + number * 37 % 4000) for number in range(12)]
FOLDERS = ["a", "b", "b/c", "d"]


class World:
    """A source, a folder for moves, a trash, and what other programs do to them."""

    def __init__(self, twinfs, source, moved, rng):
        self.twinfs, self.source, self.moved, self.rng = twinfs, source, moved, rng
        self.number = 0

    def files(self, *folders):
        """{path: stat} of the regular files, without following symlinks."""
        folders = folders or (self.source, self.moved, self.twinfs.home / ".local")
        return {path: path.lstat() for folder in folders for path in sorted(folder.rglob("*"))
                if path.is_file() and not path.is_symlink() and path.suffix != ".trashinfo"}

    def contents(self):
        """{path: hash} of the regular files."""
        paths = [str(path) for path in self.files()]
        out = subprocess.run(["xxhsum", "-H2", *paths], check=True, capture_output=True,
                             text=True).stdout
        return {line[34:]: line[:32] for line in out.splitlines()}

    def some_file(self):
        return self.rng.choice(sorted(self.files(self.source)) or [self.create()])

    def name(self):
        self.number += 1
        return self.source / self.rng.choice(FOLDERS) / f"file {self.number}"

    # ---- changes ----

    def create(self):
        path = self.name()
        trees.write(path, self.rng.choice(CONTENTS))
        path.chmod(self.rng.choice([0o600, 0o644, 0o640]))
        return path

    def remove(self):
        self.some_file().unlink()

    def rename(self):
        path = self.name()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.some_file().rename(path)

    def rewrite(self):
        with self.some_file().open("r+b") as file:
            file.write(b"edit %d" % self.rng.randrange(10**6))

    def replace(self):
        """A new file at the path of a file that an act took away."""
        act = self.rng.choice(acts(self.twinfs) or [None])
        record = act and records(self.twinfs, act["act"])[0]
        if record and not os.path.lexists(record["path"]):
            trees.write(record["path"], b"new %d" % self.number)

    def link(self):
        path = self.name()
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(self.some_file(), path)

    def set_mode(self):
        self.some_file().chmod(self.rng.choice([0o600, 0o644]))

    def empty_trash(self):
        if self.rng.random() < 0.2:
            shutil.rmtree(self.twinfs.home / ".local", ignore_errors=True)

    def remove_moved(self):
        for path in sorted(self.moved.rglob("*")):
            if path.is_file() and self.rng.random() < 0.2:
                path.unlink()

    def change(self):
        self.rng.choice([self.create, self.create, self.create, self.create, self.remove,
                         self.rename, self.rewrite, self.replace, self.link, self.set_mode,
                         self.empty_trash, self.remove_moved])()

    # ---- acts ----

    def act(self):
        kind = self.rng.choice(["remove", "remove", "move", "trash", "link", "symlink"])
        words = act_words(kind, self.source, self.moved)
        if "link" in kind:
            words.append("--force-metadata")
        rules = ["oldest", "newest", "shortest-path", "source-order"]
        words.append(f"--keep={self.rng.choice(rules)}")
        for path in self.rng.sample(sorted(self.files(self.source)),
                                    min(9, len(self.files(self.source)))):
            words += ["--only", path]
        result = self.twinfs(*words, "--yes", "--include-bundles")
        assert result.status in (0, 3), result


def undo_and_judge(world, act):
    """Undoes an act and compares with what is possible. Returns how many of its files are back,
    and how many are named."""
    twinfs, source = world.twinfs, world.source
    twinfs("scan", source)
    before = world.contents()
    links = {str(path): os.readlink(path) for path in source.rglob("*") if path.is_symlink()}
    done = {record["undone_file"] for other in acts(twinfs) if other.get("undone_act") == act["act"]
            for record in records(twinfs, other["act"])}
    wanted = {record["path"]: record for record in records(twinfs, act["act"])
              if record["file"] not in done}
    result = twinfs("undo", "--yes", act["act"])
    assert result.status in (0, 3), result
    after = world.contents()
    assert not list(source.rglob(".twinfs~*"))
    # one that is back, but is no hard link any more, is named, too
    told = "\n".join(line for line in result.errors if "brought back" not in line)
    named = {path for path in wanted if f"'{path}'" in told}
    for path, record in wanted.items():
        if path in named:
            continue
        assert after.get(path) == record["hash"], (record, result)
        assert path in before or f"{os.lstat(path).st_mode & 0o7777:04o}" == record["mode"], record
    # a file whose content exists is brought back, unless another file has its path
    for path in named:
        leads = path in links and os.path.exists(path)  # to a file that a program wrote to
        assert path in before or leads or wanted[path]["hash"] not in before.values(), (
            wanted[path], result)
    # nothing else changed: only moved and trashed files left their places
    returned = {record.get("to") for path, record in wanted.items() if path not in named}
    for path, content in before.items():
        assert path in returned or after.get(path) == content, path
    for path, target in links.items():
        assert (path in wanted and path not in named) or os.readlink(path) == target
    assert set(after.values()) >= set(before.values())
    return len(wanted) - len(named), len(named)


def test_undo_after_random_acts_brings_back_what_exists(twinfs, source, aside):
    rng = random.Random(SEED)
    world = World(twinfs, source, aside, rng)
    for _ in range(40):
        world.create()
    back = named = 0
    for number in range(ACTS):
        for _ in range(rng.randrange(6)):
            world.change()
        world.act()
        if number % 10 == 9:
            one, two = undo_and_judge(world, rng.choice(
                [act for act in acts(twinfs) if act["command"] != "undo"]))
            back, named = back + one, named + two
    for act in rng.sample(acts(twinfs), len(acts(twinfs))):
        if act["command"] != "undo":
            one, two = undo_and_judge(world, act)
            back, named = back + one, named + two
    assert back > ACTS // 2 and named > 0

# SPDX-License-Identifier: MIT
"""Random changes of a source and backups of it by share/twinfs/backup, on several file systems. A
status of 0 was always a whole backup, and one of 3 always had a cause that was named.

TWINFS_TEST_CYCLES sets their number on each file system, and TWINFS_TEST_FILESYSTEMS names these,
with commas: see PLACES in histories.py."""
import contextlib
import os
import random
import shutil
import subprocess

import backups
import pytest
import trees
from histories import place_of

CYCLES = int(os.environ.get("TWINFS_TEST_CYCLES", "2"))
SEED = int(os.environ.get("TWINFS_TEST_SEED", "1"))
KINDS = os.environ.get("TWINFS_TEST_FILESYSTEMS", "ext4").split(",")


class Source:
    """A tree that changes at random."""

    def __init__(self, place, root, user, seed):
        self.place, self.root, self.user = place, root, user
        self.rng = random.Random(seed)
        self.mounted, self.locked, self.is_rewritten = [], [], False
        root.mkdir(exist_ok=True)
        for _ in range(12):
            self.add()

    def paths(self, kind):
        """Files or folders outside of what is mounted or locked."""
        hidden = (*self.mounted, *self.locked)
        found = [path for path in sorted(self.root.rglob("*")) if kind(path)
                 and not path.is_symlink() and not any(path.is_relative_to(at) for at in hidden)
                 and not any(path.is_relative_to(at) for at in self.place.memory)]
        made = found or [self.add()]
        return made if kind(made[0]) else [made[0].parent]

    def file(self):
        return self.rng.choice(self.paths(os.path.isfile))

    def folder(self):
        return self.rng.choice([self.root, *self.paths(os.path.isdir)])

    def new_name(self):
        return self.folder() / f"n{self.rng.randrange(10**9)}"

    def add(self):
        folder = self.root / self.rng.choice("abc") / self.rng.choice("de")
        if not any(folder.is_relative_to(at) for at in self.locked):
            path = folder / f"n{self.rng.randrange(10**9)}"
            trees.write(path, trees.content(self.rng.randrange(6), self.rng.randrange(3) * 3000))
            return path
        return self.add()

    def rewrite(self):
        """Other bytes of the same size, with the times of before: as a damage would do."""
        path = self.file()
        self.is_rewritten = True
        before = path.stat()
        path.write_bytes(trees.content(self.rng.randrange(10**6), before.st_size))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def append(self):
        with open(self.file(), "ab") as file:
            file.write(b"more")

    def copy(self):
        shutil.copy2(self.file(), self.new_name())

    def rename(self):
        path = self.rng.choice([self.file(), self.rng.choice(self.paths(os.path.isdir))])
        to = self.new_name()
        if not to.is_relative_to(path):
            path.rename(to)

    def delete(self):
        self.file().unlink()

    def delete_folder(self):
        path = self.rng.choice(self.paths(os.path.isdir))
        if not any(at.is_relative_to(path) for at in (*self.mounted, *self.locked,
                                                      *self.place.memory)):
            shutil.rmtree(path)

    def link(self):
        with contextlib.suppress(PermissionError, OSError if not self.place.has_links else ()):
            os.link(self.file(), self.new_name())

    def symlink(self):
        targets = ["a", "b"] if self.place.inodes != self.place.root else ["../b/d", "/absent"]
        with contextlib.suppress(OSError if not self.place.has_links else ()):
            os.symlink(self.rng.choice(targets), self.new_name())  # sshfs hides others

    def change_mode(self):
        self.rng.choice([self.file(), self.folder()]).chmod(self.rng.choice([0o700, 0o750, 0o711]))

    def change_time(self):
        second = 10**9 + self.rng.randrange(10**6) * 2
        ns = self.rng.choice([0, 10_000_000, 123_456_789])
        path = self.rng.choice([self.file(), self.folder()])
        os.utime(path, ns=(second * 10**9,) * 2 if not self.place.keeps_links
                 else (second * 10**9, second * 10**9 + ns))

    def set_attribute(self):
        with contextlib.suppress(OSError):
            os.setxattr(self.file(), "user.mark", b"%d" % self.rng.randrange(9))

    def lock(self):
        """A folder that the user who makes the backup cannot read."""
        path = self.rng.choice(self.paths(os.path.isdir))
        if self.user and not any(at.is_relative_to(path) for at in self.mounted):
            path.chmod(0)
            self.locked.append(path)

    def mount(self, at):
        if not self.mounted and not any(path.is_relative_to(at) for path in self.locked):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", at], check=True)
            self.mounted.append(at)
            trees.write(at / "in", b"on another file system")

    def open_all(self):
        for path in reversed(self.locked):
            path.chmod(0o755)
        for path in self.mounted:
            subprocess.run(["umount", "-l", path], check=True)
        self.locked, self.mounted = [], []

    def change(self):
        kinds = [self.add, self.rewrite, self.rewrite, self.append, self.copy, self.rename,
                 self.delete, self.delete_folder, self.link, self.symlink, self.change_mode,
                 self.change_time, self.set_attribute]
        self.open_all()
        for _ in range(self.rng.randrange(2, 9)):
            self.rng.choice(kinds)()
        if self.rng.randrange(3) == 0:
            self.lock()
        at = self.rng.choice(self.paths(os.path.isdir))
        if self.user:
            subprocess.run(["chown", "-hR", f"{self.user.pw_name}:", self.root], check=True)
        if self.rng.randrange(4) == 0:
            self.mount(at)


def check_same(source, target):
    """Compares the trees, and what is mounted in the source apart: differences() stays on one file
    system. Some file systems have no attributes."""
    for at in (*source.mounted, *source.place.memory):
        inside = target / at.relative_to(source.root)
        assert backups.differences(at, inside) == []
        before = inside.parent.stat().st_mtime_ns
        shutil.rmtree(inside)
        os.utime(inside.parent, ns=(before, before))
    assert [line for line in backups.differences(source.root, target)
            if "xattrs are {}, not {'unreadable': 'ENOTSUP'}" not in line] == []


def check_cycle(twinfs, script, source, target, systems):
    """Makes a backup, and holds its status against what a restore brings back."""
    backup = script.run(*systems, source.root, script.folder)
    includes = "--cross-file-systems" in systems
    causes = bool(source.locked or (source.mounted or source.place.memory) and not systems)
    left_out = bool(source.locked or (source.mounted or source.place.memory) and not includes)
    said = backup.stderr.decode(errors="replace")
    if not causes and source.is_rewritten and "files that differ are replaced" in said:
        assert backup.returncode == 3, said
    else:
        assert backup.returncode == (3 if causes else 0), said
    source.is_rewritten &= causes  # a locked folder is compared the next time
    for path in source.locked:
        assert path.name in said
    if left_out:
        return
    result = backups.restore(twinfs.with_index(target.parent / "of root"), script.backup, target)
    assert result.status == 0
    check_same(source, target)
    shutil.rmtree(target)


@pytest.mark.parametrize("seed", range(SEED, SEED + CYCLES))
@pytest.mark.parametrize("kind", KINDS)
def test_backup_with_status_0_has_everything(twinfs, tmp_path, target, root_only, kind, seed):
    script = backups.Script(twinfs, tmp_path)
    with place_of(kind, tmp_path) as place, contextlib.ExitStack() as ending:
        source = Source(place, place.root / "one", None, seed)
        ending.callback(source.open_all)
        script("--new", "--one-file-system", source.root, script.folder)
        for _ in range(3):
            source.change()
            systems = source.rng.choice([[], ["--cross-file-systems"]])
            check_cycle(twinfs, script, source, target, systems)


@pytest.mark.parametrize("seed", range(SEED, SEED + CYCLES))
def test_backup_by_a_user_who_cannot_read_all_ends_with_status_3(as_user, fuse_for_users, tmp_path,
                                                                 target, root_only, seed):
    script = backups.Script(as_user, tmp_path)
    with place_of("ext4", tmp_path) as place, contextlib.ExitStack() as ending:
        source = Source(place, place.root / "one", as_user.user, seed)
        ending.callback(source.open_all)
        source.change()
        source.open_all()
        first = script.run("--new", source.root, script.folder)
        assert first.returncode == 0, first.stderr.decode()
        for _ in range(3):
            source.change()
            check_cycle(as_user, script, source, target, [])

# SPDX-License-Identifier: MIT
"""Random trees with many equal, nearly equal, nested and hard-linked folders, and random changes.

Few names and few contents make equal folders frequent. A change can be taken back later, so that
folders become equal again in another way than by a copy.
"""
import contextlib
import os
import random
import socket
import stat

import trees

NAMES = (b"a", b"b", b"c.txt", b"new\nline", b"latin1-\xe9", b"\xff\xfe", b" ", "\u00e9".encode())
TARGETS = (b"a", b"..", b"nowhere", b"\xff\n")
SIZES = (1, 100, 100, 4096, 20_000)
DEPTH = 3
MOST = 400  # names; a larger forest loses a folder


class Forest:
    """A source of random folders. steps() changes it at random; a seed repeats everything."""

    def __init__(self, roots, outside, seed):
        self.roots, self.outside = [os.fsencode(root) for root in roots], os.fsencode(outside)
        self.rng = random.Random(seed)
        self.moment = self.numbers = 0
        self.inverse = []
        for root in (*self.roots, self.outside):
            os.makedirs(root, exist_ok=True)
        for number in range(self.rng.randint(1, 3)):
            self.plant(os.path.join(self.rng.choice(self.roots), b"tree %d" % number), 0)
        for _ in range(self.rng.randint(4, 10)):
            with contextlib.suppress(OSError):
                self.copy()
        for _ in range(self.rng.randint(0, 5)):
            with contextlib.suppress(OSError):
                self.rng.choice(self.SPOIL)(self)

    # choices

    def number(self):
        self.numbers += 1
        return self.numbers

    def content(self):
        """Few contents of few sizes, and sometimes one of a size that no other file has."""
        if self.rng.random() < 0.15:
            return trees.content("lone", 30_000 + self.number())
        size = self.rng.choice(SIZES)
        return trees.content(("folders", size, self.rng.randrange(2)), size)

    def entries(self, kind):
        """The paths of this kind, in an order that depends on the names only."""
        found = []
        for root in self.roots:
            for folder, names, files in os.walk(root):
                found += [os.path.join(folder, name) for name in (*names, *files)]
        return sorted(path for path in found if stat.S_IFMT(os.lstat(path).st_mode) == kind)

    def some(self, kind):
        found = self.entries(kind)
        if not found:
            raise FileNotFoundError
        return self.rng.choice(found)

    def file(self):
        return self.some(stat.S_IFREG)

    def folder(self):
        return self.some(stat.S_IFDIR)

    def place(self):
        """A new path in an existing folder, or in a source."""
        parent = self.rng.choice([*self.roots, *self.entries(stat.S_IFDIR)])
        if self.rng.random() < 0.4:
            parent = self.rng.choice(self.roots)
        path = os.path.join(parent, self.rng.choice((*NAMES, b"%d" % self.number())))
        if os.path.lexists(path):
            raise FileExistsError
        return path

    def beside(self):
        return os.path.join(self.outside, b"%d" % self.number())

    # what trees are made of

    def plant(self, folder, depth):
        os.mkdir(folder)
        for name in self.rng.sample(NAMES, self.rng.randint(0 if depth else 2, 5)):
            path, choice = os.path.join(folder, name), self.rng.random()
            if choice < 0.25 and depth < DEPTH:
                self.plant(path, depth + 1)
            elif choice < 0.35:
                os.symlink(self.rng.choice(TARGETS), path)
            elif choice < 0.4:
                self.rng.choice((os.mkfifo, make_socket))(path)
            elif choice < 0.5:
                trees.write(path)
            else:
                trees.write(path, self.content())

    def copy(self):
        """Copies a folder, with hard links to none, some or all of its files."""
        source = self.rng.choice((*self.entries(stat.S_IFDIR), *self.roots))
        to, linked = self.place(), self.rng.choice((0, 0, 0.5, 1))
        if (to + b"/").startswith(source + b"/"):
            raise FileExistsError
        for folder, names, files in os.walk(source):
            names.sort()
            into = os.path.normpath(os.path.join(to, os.path.relpath(folder, source)))
            os.mkdir(into)
            for name in sorted(files + [name for name in names
                                        if os.path.islink(os.path.join(folder, name))]):
                copy_name(os.path.join(folder, name), os.path.join(into, name),
                          self.rng.random() < linked)

    # changes that usually make folders differ; most can be taken back

    def flip_a_byte(self):
        path = self.file()
        at = self.rng.randrange(os.path.getsize(path) or 1)
        flip(path, at)
        self.inverse.append(lambda: flip(path, at))

    def replace_a_file(self):
        path, new = self.file(), self.beside()
        old = self.beside()
        trees.write(new, self.content())
        os.rename(path, old)
        os.rename(new, path)
        self.inverse.append(lambda: os.rename(old, path))

    def rename_a_file(self):
        path = self.rng.choice((self.file, lambda: self.some(stat.S_IFLNK)))()
        self.move(path, os.path.join(os.path.dirname(path), self.rng.choice(NAMES)))

    def move_a_file(self):
        self.move(self.file(), self.place())

    def rename_a_folder(self):
        path = self.folder()
        self.move(path, os.path.join(os.path.dirname(path), self.rng.choice(NAMES)))

    def move_a_folder(self):
        self.move(self.folder(), self.place())

    def move_a_folder_out(self):
        self.move(self.folder(), self.beside())

    def move_a_file_out(self):
        self.move(self.file(), self.beside())

    def move(self, path, to):
        if os.path.lexists(to):
            raise FileExistsError
        os.rename(path, to)
        self.inverse.append(lambda: None if os.path.lexists(path) else os.rename(to, path))

    def retarget_a_symlink(self):
        path = self.some(stat.S_IFLNK)
        old = os.readlink(path)
        retarget(path, self.rng.choice(TARGETS))
        self.inverse.append(lambda: retarget(path, old))

    def add_an_empty_folder(self):
        path = self.place()
        os.mkdir(path)
        self.inverse.append(lambda: os.rmdir(path))

    def add_an_empty_file(self):
        path = self.place()
        trees.write(path)
        self.inverse.append(lambda: os.unlink(path))

    def add_a_hard_link(self):
        path, to = self.file(), self.place()
        os.link(path, to)
        self.inverse.append(lambda: os.unlink(to))

    def replace_a_file_by_a_hard_link(self):
        path, other, old = self.file(), self.file(), self.beside()
        if os.path.samefile(path, other):
            raise FileExistsError
        os.rename(path, old)
        os.link(other, path)
        self.inverse.append(lambda: os.rename(old, path))

    def add_a_fifo(self):
        path = self.place()
        os.mkfifo(path)
        self.inverse.append(lambda: os.unlink(path))

    def truncate(self):
        path = self.file()
        os.truncate(path, self.rng.choice((0, 1, 100)))

    def remove_a_file(self):
        os.unlink(self.file())

    def lock(self):
        """Takes all permissions, which matters to plain users."""
        path = self.rng.choice((self.file, self.folder))()
        mode = stat.S_IMODE(os.lstat(path).st_mode) or 0o755
        os.chmod(path, self.rng.choice((0, 0, 0o111, 0o444)))
        self.inverse.append(lambda: os.chmod(path, mode))

    # changes after which equal folders are equal

    def touch(self):
        path = self.rng.choice((self.file, self.folder))()
        self.moment += 1_000_000_007
        os.utime(path, ns=(self.moment, self.moment))

    def change_mode(self):
        os.chmod(self.rng.choice((self.file, self.folder))(), self.rng.choice((0o700, 0o755)))

    def rewrite_with_the_same_bytes(self):
        path = self.file()
        with open(path, "rb") as file:
            data = file.read()
        trees.write(path, data, stat.S_IMODE(os.lstat(path).st_mode))

    SPOIL = (flip_a_byte, replace_a_file, rename_a_file, move_a_file, rename_a_folder,
             retarget_a_symlink, add_an_empty_folder, add_an_empty_file, add_a_hard_link,
             add_a_fifo, remove_a_file, touch, change_mode)
    STEPS = (*SPOIL, copy, copy, copy, move_a_folder, move_a_folder, rename_a_folder,
             move_a_folder_out, move_a_file_out, replace_a_file_by_a_hard_link, truncate, lock,
             rewrite_with_the_same_bytes)

    def take_back(self):
        self.inverse.pop(self.rng.randrange(len(self.inverse)))()

    def step(self):
        """Makes a random change. Some changes fail, as their paths do not suit."""
        with contextlib.suppress(OSError):
            if self.inverse and self.rng.random() < 0.35:
                self.take_back()
            else:
                self.rng.choice(self.STEPS)(self)

    def steps(self, count):
        for _ in range(count):
            self.step()
        while sum(len(names) + len(files) for root in self.roots
                  for _, names, files in os.walk(root)) > MOST:
            trees.remove(self.folder())


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        at = os.open(os.path.dirname(path), os.O_PATH)
        try:
            made.bind(b"/proc/self/fd/%d/%s" % (at, os.path.basename(path)))
        finally:
            os.close(at)


def copy_name(path, to, linked):
    status = os.lstat(path)
    if linked:
        os.link(path, to, follow_symlinks=False)
    elif stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(path), to)
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            trees.write(to, file.read())
    elif stat.S_ISSOCK(status.st_mode):
        make_socket(to)
    else:
        os.mknod(to, status.st_mode, status.st_rdev)


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes(value ^ 1 for value in byte))


def retarget(path, target):
    os.symlink(target, path + b" new")
    os.rename(path + b" new", path)

# SPDX-License-Identifier: MIT
"""Makes the hosts of a fleet as folders, and changes them. A seed repeats everything.

Each host has one or two sources with common, nearly common and own files. Their names, sizes,
times, links and holes are those that are easily mistaken. All paths are bytes.
"""
import os
import random
import stat
from dataclasses import dataclass, field

import trees

# Programs for tables take some of these names for numbers, dates, or no value.
NAMES = ("alpha", "Alpha", "b-2.example.org", "007", "x" * 64, "NULL", "2026-11-27", "1e5",
         "delta_5", "e.", "true", "nan")
FEW_SIZES = (1, 2, 150, 300, 300, 4096, 4097, 9000)  # sizes of other contents on other hosts
FIRST_LONE_SIZE = 10_001  # sizes from here on are given to one content each
DEEPEST = 3000  # bytes of a path that is used in changes
SMALL = 100  # the --min-size of some hosts
TIMES = (0, -1, -1_000_000_001, 1_000_000_001, 1_700_000_000_123_456_789, 4_102_444_800_987_654_321)
FOLDERS = (b"new\nline", b"latin1-\xe9", b"-rf", b'"quoted"', b"back\\slash", b"~2", b" ",
           b"host=alpha", b"%2F", b"*", b"cut-\xe2\x88", "\u00e9".encode() * 100, b"f" * 255)


@dataclass
class Host:
    """A host: its name, the roots of its sources and its --min-size."""
    name: str
    sources: list
    min_size: int = 1
    empty: bool = False  # has no file
    lone_sizes: list = field(default_factory=list)  # sizes of files on this host only


class Fleet:
    """Three to eight hosts below a folder."""

    def __init__(self, root, seed, count=None):
        self.seed, self.rng = seed, random.Random(f"fleet {seed}")
        self.root, self.numbers = os.fsencode(root), 0
        count = count or self.rng.randint(3, 8)
        self.hosts = [self._host(name) for name in self.rng.sample(NAMES, count)]
        if count > 3:
            self.hosts[self.rng.randrange(count)].empty = True
        self.full = [host for host in self.hosts if not host.empty]
        for plant in PLANTS:
            plant(self)
        self._set_times()

    def _host(self, name):
        at = os.path.join(self.root, name.encode())
        sources = [os.path.join(at, b"files")]
        if self.rng.random() < 0.6:
            sources.append(os.path.join(at, b"more \xff\n"))
        for source in sources:
            os.makedirs(source)
        return Host(name, sources, self.rng.choice((1, 1, SMALL)))

    def _set_times(self):
        for host in self.full:
            for path in self.rng.sample(regular_files(host), 20):
                when = self.rng.choice(TIMES)
                os.utime(path, ns=(when, when))

    # choices

    def number(self):
        self.numbers += 1
        return self.numbers

    def data(self, label, size):
        return trees.content((self.seed, label), size)

    def lone(self, host):
        """A content of a size that no other content has."""
        size = FIRST_LONE_SIZE + self.number()
        host.lone_sizes.append(size)
        return self.data("lone", size)

    def few(self):
        """A new content of a size that other contents have."""
        return self.data(("few", self.number()), self.rng.choice(FEW_SIZES[2:]))

    def at(self, host, *names):
        """A path in one of the sources of a host."""
        return os.path.join(self.rng.choice(host.sources), *names)

    def some_hosts(self, least=2):
        return self.rng.sample(self.full, self.rng.randint(least, len(self.full)))

    # changes

    def change(self, steps=25):
        """Changes the hosts at random; returns what was done."""
        done = []
        for _ in range(steps):
            host = self.rng.choice(self.full)
            act = self.rng.choice(CHANGES)
            act(self, host)
            done.append((host.name, act.__name__))
        return done

    def pick(self, host):
        return self.rng.choice(regular_files(host))


def regular_files(host):
    """The paths of the regular files of a host that are not deeper than a call permits, sorted."""
    found = []
    for source in host.sources:
        for folder, _, names in os.walk(source):
            if len(folder) - len(source) < DEEPEST:
                found += [os.path.join(folder, name) for name in names]
    return sorted(path for path in found if stat.S_ISREG(os.lstat(path).st_mode))


def flipped(data, at):
    other = bytearray(data)
    other[at] ^= 1
    return bytes(other)


def rewrite_in_place(path, data):
    """Writes other bytes and restores the times."""
    status = os.stat(path)
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def link(old, new):
    os.makedirs(os.path.dirname(new), exist_ok=True)
    os.link(old, new)


# Plants: each adds one kind of files to all hosts.


def plant_common(fleet):
    """Trees that several hosts have, some at other places and some not whole."""
    for tree in range(4):
        files = {b"%d/%d.txt" % (number % 3, number): fleet.data((tree, number), 40 + number * 97)
                 for number in range(12)}
        for host in fleet.some_hosts():
            top = fleet.at(host, b"tree %d" % tree, fleet.rng.choice((b"", b"moved")))
            left_out = fleet.rng.choice((None, None, b"0/0.txt", b"1/4.txt"))
            trees.fill(top, {path: data for path, data in files.items() if path != left_out})


def plant_nearly(fleet):
    """Files that have one other byte on some hosts."""
    for number, size in enumerate((1, 2, 17, 300, 4096, 4097, 16_384, 16_385, 65_536, 65_537)):
        data = fleet.data(("nearly", number), size)
        for host in fleet.full:
            at = fleet.rng.choice((None, None, 0, size // 2, size - 1))
            changed = data if at is None else flipped(data, at)
            trees.write(fleet.at(host, b"nearly/%d" % number), changed)


def plant_own(fleet):
    """Files that no other host has, of sizes that others have or not."""
    for host in fleet.full:
        for number in range(20):
            trees.write(fleet.at(host, b"own/%d" % number), fleet.lone(host))
            trees.write(fleet.at(host, b"own/few/%d" % number), fleet.few())


def plant_copies(fleet):
    """Equal files on one host, whose content other hosts have or not."""
    for host in fleet.full:
        for number in range(5):
            for data in (fleet.lone(host), fleet.few(), fleet.data(("known", number), 300),
                         fleet.data(("shared", number), 9000)):
                place = b"copies/%d" % fleet.number()
                for copy in range(fleet.rng.randint(1, 4)):
                    trees.write(fleet.at(host, place, b"%d" % copy), data)


def plant_links(fleet):
    """Files with several names, also in several sources, which are single files elsewhere."""
    for number in range(6):
        data = fleet.data(("linked", number), 700 + number // 2)
        for host in fleet.full:
            first = trees.write(fleet.at(host, b"links/%d" % number), data)
            for name in range(fleet.rng.randint(0, 3)):
                new = fleet.at(host, b"links/again/%d-%d" % (number, name))
                if fleet.rng.random() < 0.7:
                    link(first, new)
                else:
                    trees.write(new, data)
    for host in fleet.full:
        first = trees.write(fleet.at(host, b"links/lone"), fleet.lone(host))
        link(first, fleet.at(host, b"links/lone too"))
        for source in host.sources:
            link(first, os.path.join(source, b"links/in each source"))


def plant_holes(fleet):
    """Holes that equal written zeros of other hosts, and such with one other byte."""
    size, piece = 200_000, fleet.data("piece", 5000)
    written = bytearray(size)
    written[100_000:105_000] = piece
    for host in fleet.full:
        name = b"holes/%d" % fleet.rng.randrange(3)
        trees.holes(fleet.at(host, name), size, {100_000: piece})
        trees.write(fleet.at(host, b"written"), fleet.rng.choice((written, flipped(written, 9))))
        trees.holes(fleet.at(host, b"holes/all"), size, {})
        trees.holes(fleet.at(host, b"holes/last byte"), size, {size - 1: b"\1"})


def plant_empty(fleet):
    for host in fleet.full:
        for name in (b"empty/one", b"empty/two", b"only empty/one"):
            trees.write(fleet.at(host, name))
        link(trees.write(fleet.at(host, b"empty/linked")), fleet.at(host, b"empty/linked too"))
        os.makedirs(fleet.at(host, b"empty folder/in it"), exist_ok=True)


def plant_small(fleet):
    """Files below the --min-size of some hosts, equal ones and such of a size of their own."""
    for number, host in enumerate(fleet.full):
        for copy in range(2):
            trees.write(fleet.at(host, b"small/shared %d" % copy), fleet.data("small", 50))
            trees.write(fleet.at(host, b"small/lone %d" % copy), fleet.data("small", 60 + number))
        trees.write(fleet.at(host, b"small/other"), fleet.data(("small", number), 50))
        trees.write(fleet.at(host, b"small/limit"), fleet.data("limit", SMALL))
        trees.write(fleet.at(host, b"small/limit too"), fleet.data("limit", SMALL))


def plant_names(fleet):
    """Names of any bytes, as files and as folders."""
    for number, name in enumerate(trees.ODD_NAMES):
        for host in fleet.some_hosts(1):
            size = 100 + number if fleet.rng.random() < 0.8 else 300
            trees.write(fleet.at(host, b"names", name), fleet.data(name, size))
    for name in FOLDERS:
        for host in fleet.some_hosts(1):
            trees.fill(fleet.at(host, name), {b"a": fleet.data(name, 300),
                                              name: fleet.data((name, host.name), 300)})


def plant_deep(fleet):
    """Deep folders on all hosts, and a path that is too long for one call on one host."""
    for host in fleet.full:
        path = fleet.at(host, *[b"%02d" % level * 15 for level in range(40)], b"file")
        trees.write(path, fleet.data("deepest", 5001))
    trees.deep(fleet.at(fleet.full[0], b"deep"), levels=25)


def plant_covered(fleet):
    """Folders that are elsewhere wholly, in parts, at several hosts, or only by empty files."""
    first, *others = fleet.full
    contents = [fleet.data(("album", number), 2000 + number // 2) for number in range(8)]
    album = {b"%d.jpg" % number: data for number, data in enumerate(contents)}
    for name, own in ((b"albums/whole", {}), (b"albums/part", {b"own.jpg": fleet.lone(first)}),
                      (b"albums/inner", {b"in/it/own.jpg": fleet.few()})):
        top = os.path.join(first.sources[0], name)
        trees.fill(top, {**album, **own, b"empty": b"", b"below/again.jpg": contents[0]})
        os.symlink(b"nowhere", os.path.join(top, b"symlink"))
    for number, data in enumerate(contents):  # no host needs to have all of them
        host = others[number % len(others)]
        trees.write(fleet.at(host, b"pictures", b"%d" % number), data)
    whole = {b"x/%d" % number: data for number, data in enumerate(contents)}
    trees.fill(os.path.join(others[-1].sources[0], b"has all"), whole)
    outside = os.path.join(first.sources[0], b"albums/by links")
    for number in range(3):
        data = fleet.data(("by links", number), 2500)
        link(trees.write(os.path.join(first.sources[0], b"outside/%d" % number), data),
             os.path.join(outside, b"%d" % number))
        trees.write(fleet.at(others[0], b"by links", b"%d" % number), data)


def plant_others(fleet):
    """Symbolic links and FIFOs, which are no files of a fleet."""
    for host in fleet.full:
        top = fleet.at(host, b"others")
        trees.fill(top, {b"file": fleet.data("others", 800)})
        for name, target in ((b"file link", b"file"), (b"folder link", b"../own"),
                             (b"loop", b"loop"), (b"up", b".."), (b"out", b"/etc/hostname")):
            os.symlink(target, os.path.join(top, name))
        os.mkfifo(os.path.join(top, b"fifo"))


PLANTS = (plant_common, plant_nearly, plant_own, plant_copies, plant_links, plant_holes,
          plant_empty, plant_small, plant_names, plant_deep, plant_covered, plant_others)


# Changes: each changes one host once.


def copy_from_another(fleet, host):
    other = fleet.rng.choice([other for other in fleet.full if other is not host])
    with open(fleet.pick(other), "rb") as file:
        trees.write(fleet.at(host, b"new/%d" % fleet.number()), file.read())


def take_size_of_another(fleet, host):
    """Gives a size that was on one host only to another content."""
    other = fleet.rng.choice([other for other in fleet.full if other is not host])
    size = fleet.rng.choice(other.lone_sizes)
    trees.write(fleet.at(host, b"new/%d" % fleet.number()), fleet.data(fleet.number(), size))


def remove_file(fleet, host):
    os.unlink(fleet.pick(host))


def rewrite_with_same_times(fleet, host):
    """Another content of the same size and the same mtime."""
    path = fleet.pick(host)
    rewrite_in_place(path, fleet.data(fleet.number(), os.stat(path).st_size))


def append_byte(fleet, host):
    with open(fleet.pick(host), "ab") as file:
        file.write(b"\0")


def touch(fleet, host):
    when = fleet.rng.choice(TIMES)
    os.utime(fleet.pick(host), ns=(when, when))


def rename_file(fleet, host):
    path = fleet.pick(host)
    source = next(top for top in host.sources if path.startswith(top + b"/"))
    os.rename(path, os.path.join(source, b"renamed %d" % fleet.number()))


def rename_folder(fleet, host):
    tops = [os.path.join(source, name) for source in host.sources
            for name in sorted(os.listdir(source))]
    path = fleet.rng.choice([path for path in tops
                             if os.path.isdir(path) and not os.path.islink(path)])
    os.rename(path, os.path.join(os.path.dirname(path), b"folder %d" % fleet.number()))


def add_link(fleet, host):
    link(fleet.pick(host), fleet.at(host, b"new/%d" % fleet.number()))


def replace_by_rename(fleet, host):
    """The same path and content, but another inode."""
    path = fleet.pick(host)
    with open(path, "rb") as file:
        data = file.read()
    os.rename(trees.write(path[:path.rindex(b"/")] + b"/.replacing", data), path)


CHANGES = (copy_from_another, take_size_of_another, remove_file, rewrite_with_same_times,
           append_byte, touch, rename_file, rename_folder, add_link, replace_by_rename)

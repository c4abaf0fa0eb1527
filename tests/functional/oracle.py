#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An independent oracle: it computes what a view must show, and compares it with a view.

usage: oracle.py [--later] SOURCE... MOUNT   compare a view, print every difference; --later:
                                          the kept copy need not be that of a first scan
       oracle.py --summary SOURCE...         groups, redundant files, redundant bytes

Content is compared by SHA-256 and size, one read per inode, and only where two inodes
have one size.  The names of the hash folders are checked with xxhsum.
"""
import collections
import multiprocessing
import os
import re
import stat
import subprocess
import sys

import original
import rank_names
import walk

MAPPED_ABOVE = 4096  # bytes; a smaller file counts with its size
HUGE = 1 << 28  # bytes; the holes of a larger copy are not read through the view
SLASH = "\u2215".encode()
FOLDER = re.compile(rb"([0-9a-f]{32})(?:~([2-9]|[1-9][0-9]+))?")
MARK = b"(kept) "  # before the name of a kept copy in dups/
SHORTENED = re.compile(rb"~[0-9a-f]+-[0-9a-f]+(\..{1,15})?$", re.DOTALL)
CHUNK = 256  # files given to a process at once
HANDLES = 256  # files held open at once
RANKS = 2000  # links in a folder of by-size/


class Inode:
    """A regular file with all its names; a name is (number of the tree, path)."""

    def __init__(self, entry):
        self.size = entry.stat.st_size
        self.allocated = entry.stat.st_blocks * 512
        self.names = []
        self.digest = None
        self.error = 0

    @property
    def freed(self):
        """The bytes that removing the file frees, if files of its disk share no blocks. Otherwise
        see reclaimable.py."""
        return self.size if self.size <= MAPPED_ABOVE else min(self.size, self.allocated)

    def first(self, order):
        """The sort key of the inode: its first name."""
        return min((tree, order(path)) for tree, path in self.names)


class Source:
    """Everything that one walk finds in the sources.

    trees   list of (root, name in the view, or b"" for a single source)
    names   (tree, path) -> walk.Entry
    inodes  (st_dev, st_ino) -> Inode, regular files only
    rules   the keep rules of the index
    """

    def __init__(self, roots, index=None, excluded=None, xattrs=True, rules=()):
        self.trees, self.rules = name_trees(roots), tuple(rules)
        self.names, self.inodes = {}, {}
        folders = frozenset()
        if index and os.path.isdir(index):
            status = os.stat(index)
            folders = frozenset([(status.st_dev, status.st_ino)])
        self.mounts = set()
        for number, (root, _) in enumerate(self.trees):
            skip = walk.Skip(folders=folders, excluded=excluded)
            for entry in walk.walk(root, skip, xattrs):
                self._add(number, entry)
            self.mounts.update((number, path) for path in skip.mounts)

    def _add(self, number, entry):
        name = (number, entry.path)
        self.names[name] = entry
        if entry.kind == stat.S_IFREG:
            inode = self.inodes.setdefault(entry.key, Inode(entry))
            inode.names.append(name)

    def read(self, inodes):
        """Sets the digest or the error of these inodes, in several processes."""
        inodes = [inode for inode in inodes if not inode.digest and not inode.error]
        found = digests((self.trees[inode.names[0][0]][0], inode.names[0][1])
                        for inode in inodes)
        for inode, (content, error) in zip(inodes, found):
            inode.digest, inode.error = content, error

    def groups(self, min_size=1):
        """Lists of two or more inodes with equal content, each in path order."""
        sizes = collections.defaultdict(list)
        for inode in self.inodes.values():
            if inode.size >= max(min_size, 1):
                sizes[inode.size].append(inode)
        shared = [inode for same in sizes.values() if len(same) > 1 for inode in same]
        self.read(shared)
        classes = collections.defaultdict(list)
        for inode in shared:
            if inode.digest:
                classes[inode.size, inode.digest].append(inode)
        found = [sorted(same, key=lambda inode: inode.first(bytes))
                 for same in classes.values() if len(same) > 1]
        return sorted(found, key=lambda group: group[0].first(bytes))

    def preference(self, inode):
        """The sort key of an inode by its preferred name, for a first scan."""
        return min(original.preference(self.trees[tree][0], tree, path, rules=self.rules)
                   for tree, path in inode.names)

    def preference_by_rules(self, inode):
        """The part of the key that decides also over a copy that is kept already."""
        return self.preference(inode)[:1 + len(self.rules)] if self.rules else ()

    def absolute(self, name):
        tree, path = name
        root = self.trees[tree][0]
        return os.path.join(root, path) if path else root


def path_groups(*roots, min_size=1, **options):
    """The groups of some sources as a set of frozen sets of absolute paths."""
    source = Source(roots, xattrs=False, **options)
    return {frozenset(source.absolute(name) for inode in group for name in inode.names)
            for group in source.groups(min_size)}


def name_trees(roots):
    """(root, name) of each tree. Equal and nested roots are one tree; equal names get `~2`."""
    kept = []
    for root in roots:
        root = os.path.realpath(os.fsencode(root))
        if root not in kept:
            kept.append(root)
    kept = [root for root in kept
            if not any(root.startswith(other.rstrip(b"/") + b"/") for other in kept)]
    if len(kept) == 1:
        return [(kept[0], b"")]
    seen, trees = collections.Counter(), []
    for root in kept:
        name = os.path.basename(root)
        seen[name] += 1
        trees.append((root, name if seen[name] == 1 else b"%s~%d" % (name, seen[name])))
    return trees


def _digest_job(job):
    return walk.digest(*job)


def digests(jobs):
    """walk.digest() of each (root, path), in order, in several processes if there are many."""
    jobs = list(jobs)
    if len(jobs) < 2 * CHUNK:
        return [walk.digest(*job) for job in jobs]
    with multiprocessing.Pool() as pool:
        return pool.map(_digest_job, jobs, CHUNK)


def summary(groups):
    """The three figures of a list of groups."""
    return {
        "groups": len(groups),
        "redundant_files": sum(len(group) - 1 for group in groups),
        "redundant_bytes": sum(group[0].size * (len(group) - 1) for group in groups),
    }


def place(name):
    """The path in uniques/ or redundant/ of a copy, by its plain name in dups/."""
    return name.removeprefix(MARK.decode()).replace(SLASH.decode(), "/")


def human(size):
    """A size in powers of 1024 with at most three digits."""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1024, 0
    while value >= 999.5:
        value, unit = value / 1024, unit + 1
    return f"{value:.{2 if value < 0.995 else int(value < 9.95)}f} {'KMGTPE'[unit]}iB"


def hashes(paths):
    """The XXH3-128 hash by xxhsum of each path, in order."""
    found = []
    for at in range(0, len(paths), HANDLES):
        handles = []
        try:
            for path in paths[at:at + HANDLES]:
                handles.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            names = [f"/proc/self/fd/{handle}" for handle in handles]
            run = subprocess.run(["xxhsum", "-q", "-H2", *names], pass_fds=handles, check=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True)
        finally:
            for handle in handles:
                os.close(handle)
        lines = run.stdout.splitlines()
        assert len(lines) == len(handles), run.stdout + run.stderr
        found += [line.split()[0] for line in lines]
    return found


def holes(root, path):
    """The ranges of data of a file and whether it is sparse, or errno."""
    try:
        handle = walk.open_beneath(root, path, os.O_RDONLY)
    except OSError as error:
        return error.errno
    try:
        status = os.fstat(handle)
        return walk.segments(handle), status.st_blocks * 512 < status.st_size
    finally:
        os.close(handle)


class View:
    """Compares a mounted view with a Source and collects the differences."""

    def __init__(self, source, mount, min_size=1, first_scan=True, content=True):
        self.source = source
        self.mount = os.path.realpath(os.fsencode(mount))
        self.first_scan = first_scan
        self.content = content
        self.groups = source.groups(min_size)
        self.group_of = {id(inode): group for group in self.groups for inode in group}
        # ids of inodes that have the mark of the kept copy in dups/; None: dups/ was not checked
        self.marked = None
        self.differences = []

    def check(self):
        folders = self.check_dups()
        unique = self.check_uniques()
        self.check_redundant(unique)
        self.check_by_size(folders, unique)
        return self.differences

    def add(self, what, *details):
        self.differences.append(" ".join([what, *(repr(detail) for detail in details)]))

    # dups/

    def plain(self, name):
        """(plain name of a copy in dups/, whether it must be shortened, whether it may be
        shortened)."""
        tree, path = name
        prefix = self.source.trees[tree][1]
        full = prefix + b"/" + path if prefix else path
        shown = full.replace(b"/", SLASH)
        shortened = len(shown) > 255 or SLASH in full or full.startswith(MARK)
        may_be = len(shown + MARK) > 255 or SHORTENED.search(shown) is not None
        return shown, shortened, shortened or may_be

    def check_dups(self):
        """Compares dups/ with the groups; returns {folder: group}."""
        self.marked = []
        dups = os.path.join(self.mount, b"dups")
        by_path = {self.source.absolute(name): (name, inode)
                   for inode in self.source.inodes.values() for name in inode.names}
        shown, jobs, found = collections.Counter(), [], {}
        for folder in sorted(os.listdir(dups)):
            match = FOLDER.fullmatch(folder)
            if not match:
                self.add("dups: not a hash:", folder)
                continue
            group = self.check_folder(os.path.join(dups, folder), by_path, jobs)
            if group:
                shown[id(group)] += 1
                found[folder] = group
        for group in self.groups:
            if shown[id(group)] != 1:
                self.add(f"dups: shown {shown[id(group)]} times: group of",
                         self.source.absolute(group[0].names[0]))
        self.check_hashes(jobs)
        self.check_ordinals(os.listdir(dups))
        return found

    def check_folder(self, folder, by_path, jobs):
        """Compares a folder with the group of its files; returns the group."""
        files, groups, contents, marks = {}, {}, {}, collections.defaultdict(set)
        for item in os.scandir(folder):
            status = item.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                self.add("dups: not a regular file:", item.path)
                continue
            path = self.source_path(item.path)
            if path not in by_path:
                self.add("dups: not a path of the source:", item.path, path)
                continue
            inode = by_path[path][1]
            contents[status.st_ino] = (folder, item.name, inode)
            marks[id(inode)].add(item.name.startswith(MARK))
            files[item.name.removeprefix(MARK)] = (inode, status)
            groups[id(self.group_of.get(id(inode)))] = self.group_of.get(id(inode))
        if len(groups) != 1 or None in groups.values():
            self.add(f"dups: files of {len(groups)} classes in", folder)
            return None
        group = next(iter(groups.values()))
        self.marked += [inode for inode, marked in marks.items() if True in marked]
        if any(len(marked) > 1 for marked in marks.values()):
            self.add("dups: only some names of an inode have the mark in", folder)
        self.check_names(folder, files, group)
        self.check_numbers(folder, files)
        jobs += contents.values()
        return group

    def source_path(self, path):
        try:
            return os.getxattr(path, "user.twinfs.path")
        except OSError as error:
            return os.strerror(error.errno).encode()

    def check_names(self, folder, files, group):
        left = dict(files)
        shortened = collections.Counter()
        for inode in group:
            for name in inode.names:
                shown, must, may = self.plain(name)
                if not must and shown in left and left[shown][0] is inode:
                    del left[shown]
                elif may:
                    shortened[id(inode)] += 1
                else:
                    self.add("dups: missing in", folder, shown)
        for shown, (inode, _) in left.items():
            if shortened[id(inode)] and SHORTENED.search(shown) and len(shown) <= 255:
                shortened[id(inode)] -= 1
            else:
                self.add("dups: unexpected in", folder, shown)
        for inode in group:
            if shortened[id(inode)]:
                self.add(f"dups: {shortened[id(inode)]} shortened names missing in", folder,
                         self.source.absolute(inode.names[0]))

    def check_numbers(self, folder, files):
        """Names of one inode, and only they, have one inode number in the view."""
        pairs = {(id(inode), status.st_ino) for inode, status in files.values()}
        inodes, numbers = zip(*pairs)
        if not len(pairs) == len(set(inodes)) == len(set(numbers)):
            self.add("dups: inode numbers do not follow hard links in", folder)
        for name, (inode, status) in files.items():
            if status.st_size != inode.size:
                self.add(f"dups: size {status.st_size}, not {inode.size}:", folder, name)

    def check_hashes(self, jobs):
        small = [(folder, name) for folder, name, inode in jobs if inode.size <= HUGE]
        found = hashes([os.path.join(*job) for job in small])
        for (folder, name), value in zip(small, found):
            if os.path.basename(folder)[:32].decode() != value:
                self.add(f"dups: xxhsum says {value}:", folder, name)
        for folder, name, inode in jobs:
            if inode.size <= HUGE:
                continue
            tree, path = inode.names[0]
            if holes(folder, name) != holes(self.source.trees[tree][0], path):
                self.add("dups: other holes:", folder, name)
            elif walk.digest(folder, name)[0] != inode.digest:
                self.add("dups: other content:", folder, name)

    def check_ordinals(self, folders):
        numbers = collections.defaultdict(list)
        for match in map(FOLDER.fullmatch, folders):
            if match:
                numbers[match[1]].append(int(match[2] or 1))
        for value, found in numbers.items():
            if self.first_scan and sorted(found) != list(range(1, len(found) + 1)):
                self.add("dups: ordinals are not 1, 2 ...:", value, sorted(found))

    # uniques/ and redundant/

    def shown_in(self, where):
        """{(tree, path): walk.Entry} of everything in uniques/ or redundant/."""
        shown = {}
        for number in range(len(self.source.trees)):
            root = self.tree_in_view(where, number)
            if os.path.isdir(root):
                shown |= {(number, entry.path): entry for entry in walk.walk(root)}
        return shown

    def check_trees(self, where, numbers):
        """With several sources, the folder has exactly their names."""
        found = sorted(os.listdir(os.path.join(self.mount, where)))
        if self.source.trees[0][1] and found != sorted(self.source.trees[number][1]
                                                       for number in numbers):
            self.add(f"{where.decode()}: other trees:", found)

    def check_uniques(self):
        """Compares uniques/ with the source; returns its entries."""
        shown = self.shown_in(b"uniques")
        self.check_trees(b"uniques", range(len(self.source.trees)))
        for number, (_, tree) in enumerate(self.source.trees):
            if (number, b"") not in shown:
                self.add("uniques: no such tree:", tree)
        self.check_kept(shown)
        redundant = {name for group in self.groups for inode in group for name in inode.names}
        for name in self.source.names:
            if name not in shown and name not in redundant:
                self.add("uniques: missing:", self.source.absolute(name))
        for name, entry in shown.items():
            if name in self.source.names:
                self.check_entry("uniques", name, entry)
            elif name not in self.source.mounts:
                self.add("uniques: not in the source:", self.source.absolute(name))
        self.check_links("uniques", shown)
        if self.content:
            self.check_contents(b"uniques", shown)
        return shown

    def check_redundant(self, unique):
        """Compares redundant/ with the names of copies that uniques/ lacks."""
        shown = self.shown_in(b"redundant")
        expected = {name for group in self.groups for inode in group for name in inode.names
                    if name not in unique}
        folders = {(tree, b"/".join(path.split(b"/")[:depth]))
                   for tree, path in expected for depth in range(path.count(b"/") + 1)}
        self.check_trees(b"redundant", {tree for tree, _ in expected})
        if not self.source.trees[0][1]:
            folders.add((0, b""))
        for name in expected - shown.keys():
            self.add("redundant: missing:", self.source.absolute(name))
        for name in folders - shown.keys():
            self.add("redundant: missing folder:", self.source.absolute(name))
        for name, entry in shown.items():
            if name not in (folders if entry.kind == stat.S_IFDIR else expected):
                self.add("redundant: unexpected:", self.source.absolute(name))
            else:
                self.check_entry("redundant", name, entry)
        self.check_links("redundant", {**unique, **shown})
        if self.content:
            self.check_contents(b"redundant", {name: entry for name, entry in shown.items()
                                               if name in expected})

    def check_kept(self, shown):
        for group in self.groups:
            kept = [inode for inode in group if any(name in shown for name in inode.names)]
            first = self.source.absolute(group[0].names[0])
            if len(kept) != 1:
                self.add(f"uniques: {len(kept)} copies kept of the group of", first)
                continue
            if self.marked is not None and kept != [
                    inode for inode in group if id(inode) in self.marked]:
                self.add("dups: wrong marks of the group of", first)
            for name in kept[0].names:
                if name not in shown:
                    self.add("uniques: missing link of the kept copy:",
                             self.source.absolute(name))
            order = (self.source.preference if self.first_scan
                     else self.source.preference_by_rules)
            if order(kept[0]) != min(map(order, group)):
                self.add("uniques: not the preferred copy is kept:",
                         self.source.absolute(kept[0].names[0]))

    # by-size/

    def check_by_size(self, folders, unique):
        """Compares by-size/ with the groups, given the content of dups/ and uniques/."""
        root = os.path.join(self.mount, b"by-size")
        paths = sorted(os.listdir(root))
        last = -(-len(self.groups) // RANKS) * RANKS
        many = len(self.groups) > RANKS
        digits = max(5, len(str(last))) if many else 4
        if many:
            expected = [b"%0*d-%0*d" % (digits, first, digits, first + RANKS - 1)
                        for first in range(1, last, RANKS)]
            if paths != expected:
                self.add("by-size: other folders:", paths)
            paths = [os.path.join(folder, name) for folder in paths
                     for name in sorted(os.listdir(os.path.join(root, folder)))]
        if len(paths) != len(self.groups):
            self.add(f"by-size: {len(paths)} links to {len(self.groups)} groups")
        sizes = []
        for rank, path in enumerate(paths, 1):
            target = os.readlink(os.path.join(root, path))
            group = folders.pop(os.path.basename(target), None)
            if os.path.dirname(target) != (b"../../dups" if many else b"../dups") or not group:
                self.add("by-size: leads elsewhere, or twice:", path, target)
                continue
            sizes.append(original.freed_by(group, unique, self.source.absolute))
            self.check_rank(path, b"%0*d" % (digits, rank), group, unique)
        if sizes != sorted(sizes, reverse=True):
            self.add("by-size: not in order:", sizes)

    def check_rank(self, path, rank, group, unique):
        """Compares the name of a link with its group."""
        names = {os.path.basename(name[1]) for inode in group for name in inode.names
                 if name in unique}
        figures = len(group), human(original.freed_by(group, unique, self.source.absolute))
        if not rank_names.is_name(os.path.basename(path), rank, names, *figures):
            self.add("by-size: not the name of the kept copy:", path, sorted(names), *figures)

    def check_entry(self, where, name, entry):
        expected = self.source.names[name]
        want, have = expected.stat, entry.stat
        path = self.source.absolute(name)
        if expected.unreadable != entry.unreadable:
            self.add(f"{where}: errno {entry.unreadable}, not {expected.unreadable}:", path)
        if not want or not have:
            return
        fields = ["st_mode", "st_uid", "st_gid", "st_mtime_ns"]
        if expected.kind != stat.S_IFDIR:
            fields.append("st_size")
        if expected.kind in (stat.S_IFCHR, stat.S_IFBLK):
            fields.append("st_rdev")
        for field in fields:
            if getattr(want, field) != getattr(have, field):
                self.add(f"{where}: {field} is {getattr(have, field)}, "
                         f"not {getattr(want, field)}:", path)
        if expected.target != entry.target:
            self.add(f"{where}: other link target:", path, entry.target)
        if expected.xattrs != entry.xattrs:
            self.add(f"{where}: other xattrs:", path, sorted(
                name for name in expected.xattrs.keys() | entry.xattrs.keys()
                if expected.xattrs.get(name) != entry.xattrs.get(name)))

    def check_links(self, where, shown):
        """Names of one inode, and only they, have one inode number in the view."""
        pairs, counts = set(), collections.Counter()
        for name, entry in shown.items():
            if entry.kind not in (0, stat.S_IFDIR) and name in self.source.names:
                pairs.add((self.source.names[name].key, entry.key))
                counts[entry.key] += 1
        if pairs:
            inodes, numbers = zip(*pairs)
            if not len(pairs) == len(set(inodes)) == len(set(numbers)):
                self.add(f"{where}: inode numbers do not follow hard links")
        for name, entry in shown.items():
            if entry.kind not in (0, stat.S_IFDIR) and entry.stat.st_nlink < counts[entry.key]:
                self.add(f"{where}: {entry.stat.st_nlink} links, but {counts[entry.key]} names:",
                         self.source.absolute(name))

    def check_contents(self, where, shown):
        jobs, wanted = [], {}
        for name, entry in shown.items():
            expected = self.source.names.get(name)
            if expected and expected.kind == stat.S_IFREG == entry.kind:
                inode = self.source.inodes[expected.key]
                if id(inode) not in wanted and self.check_holes(where, name):
                    wanted[id(inode)] = inode
                    jobs.append((inode, name))
        self.source.read(wanted.values())
        found = digests((self.tree_in_view(where, name[0]), name[1]) for _, name in jobs)
        for (inode, name), (content, error) in zip(jobs, found):
            if (content, error) != (inode.digest, inode.error):
                self.add(f"{where.decode()}: other content (errno {error}, source {inode.error}):",
                         self.source.absolute(name))

    def tree_in_view(self, where, number):
        return os.path.join(self.mount, where, self.source.trees[number][1])

    def check_holes(self, where, name):
        """Whether a file has the same holes in the view as in the source, or none."""
        status = self.source.names[name].stat
        if status.st_blocks * 512 >= status.st_size:
            return True
        source = holes(self.source.trees[name[0]][0], name[1])
        shown = holes(self.tree_in_view(where, name[0]), name[1])
        if source != shown:
            self.add(f"{where.decode()}: other holes:", self.source.absolute(name))
        return source == shown


def check(roots, mount, index=None, excluded=None, rules=(), **options):
    """The differences between a view and its sources."""
    return View(Source(roots, index, excluded, rules=rules), mount, **options).check()


def main(arguments):
    later = arguments[:1] == ["--later"]
    if later:
        del arguments[0]
    if len(arguments) < 2 or (arguments[0].startswith("-") and arguments[0] != "--summary"):
        sys.exit(__doc__.split("\n\n")[1])
    if arguments[0] == "--summary":
        source = Source(arguments[1:], xattrs=False)
        figures = summary(source.groups())
        figures["files"] = len(source.inodes)
        for name, value in figures.items():
            print(f"{name} {value}")
        return 0
    view = View(Source(arguments[:-1]), arguments[-1], first_scan=not later)
    for difference in view.check():
        print(difference)
    figures = ", ".join(f"{name} {value}" for name, value in summary(view.groups).items())
    print(f"{len(view.differences)} differences; {figures}")
    return 1 if view.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

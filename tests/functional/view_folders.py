# SPDX-License-Identifier: MIT
"""Compares MOUNT/folders/ with the groups of folder_oracle.py and with the folders of a source."""
import errno
import os
import re
import stat

import backups
import oracle
import rank_names
import walk
from folder_oracle import Folders

SHORTENED = re.compile(rb"~[0-9a-f]+(-[0-9a-f]+)?(\..{1,15})?$", re.DOTALL)
PATH_MAX = 4096
OWN = ("hash", "copies", "kept", "size", "reclaimable")  # names after "user.twinfs."


def parts(view):
    """The names in folders/, sorted."""
    return sorted(os.listdir(view.folders))


def entries(view):
    """The path of the entry of each group, in the order of ranks."""
    root = view.folders
    if any(" " not in name for name in parts(view)):
        return [root / part / name for part in parts(view)
                for name in sorted(os.listdir(root / part))]
    return [root / name for name in parts(view)]


def groups(view):
    """The names of the folders in each entry, as a set of sorted tuples."""
    return {tuple(sorted(os.listdir(entry))) for entry in entries(view)}


def shown_as(*paths):
    """The names in an entry of the folders with these paths, sorted."""
    return tuple(sorted(path.replace("/", "\u2215") for path in paths))


def entry_of(view, *names):
    """The entry that has exactly these folders."""
    [entry] = [entry for entry in entries(view) if sorted(os.listdir(entry)) == sorted(names)]
    return entry


def own(path, name):
    """The value of an attribute of the view, or the name of the error."""
    try:
        return os.getxattr(path, f"user.twinfs.{name}")
    except OSError as error:
        return errno.errorcode[error.errno]


def number(value):
    return b"%d" % value


class Shown:
    """The differences of folders/ from the groups that `found`, a Folders, has. Of very many
    groups, the content of each `every`-th is compared."""

    def __init__(self, found, mount, every=1):
        self.found, self.every = found, every
        self.mount = os.fsencode(mount)
        self.wanted = {paths: group for paths, group in found.groups.items() if not group.implied}
        self.group_of = {path: paths for paths in self.wanted for path in paths}
        self.names = {found.source.absolute(name): name
                      for group in self.wanted.values() for name in group.names}
        self.plain = {self.full_name(name).replace(b"/", oracle.SLASH): path
                      for path, name in self.names.items()}
        self.differences, self.seen = [], set()

    def add(self, what, *details):
        self.differences.append(" ".join([what, *map(repr, details)]))

    def compare(self):
        root = os.path.join(self.mount, b"folders")
        paths, digits = sorted(os.listdir(root)), 4
        if len(self.wanted) > oracle.RANKS:
            last = -(-len(self.wanted) // oracle.RANKS) * oracle.RANKS
            digits = max(5, len(b"%d" % last))
            expected = [b"%0*d-%0*d" % (digits, first, digits, first + oracle.RANKS - 1)
                        for first in range(1, last, oracle.RANKS)]
            if paths != expected:
                self.add("other parts:", paths)
            paths = [os.path.join(part, name) for part in paths
                     for name in sorted(os.listdir(os.path.join(root, part)))]
        sizes = []
        for rank, path in enumerate(paths, 1):
            found = self.compare_entry(os.path.join(root, path), b"%0*d" % (digits, rank),
                                       rank % self.every == 0)
            sizes += [group.bytes * (len(group.names) - 1) for group in found]
        if sizes != sorted(sizes, reverse=True):
            self.add("not in order:", sizes)
        for folders in self.wanted.keys() - self.seen:
            self.add("missing:", sorted(folders))
        return self.differences

    def compare_entry(self, entry, rank, whole):
        """Compares an entry with its group, which is returned in a list, if there is one."""
        names = os.listdir(entry)
        paths = {name: own(os.path.join(entry, name), "path") for name in names} if whole else {
            name: self.plain.get(name) for name in names}
        groups = {self.group_of.get(path) for path in paths.values()}
        group = groups.pop() if len(groups) == 1 else None
        if not group or sorted(group) != sorted(paths.values()) or group in self.seen or \
                len(names) != len(paths):
            self.add("no group, or twice:", entry, names)
            return []
        self.seen.add(group)
        self.compare_name(entry, rank, self.wanted[group])
        if whole:
            self.compare_attributes(entry, self.wanted[group], ("copies", "size", "reclaimable"))
            for name, path in paths.items():
                self.compare_copy_name(path, name)
                shown = os.path.join(entry, name)
                self.compare_attributes(shown, self.wanted[group], ("copies",))
                self.compare_folder(path, shown)
        return [self.wanted[group]]

    def compare_name(self, entry, rank, group):
        count = len(group.names)
        # the root of a source has the name of its tree
        names = {os.path.basename(path) or self.found.source.trees[tree][1]
                 for tree, path in group.names}
        figures = count, oracle.human(group.bytes * (count - 1))
        if not rank_names.is_name(os.path.basename(entry), rank, names, *figures):
            self.add("not the name of a folder:", entry, sorted(names), *figures)

    def full_name(self, name):
        """The path of a folder, below the name of its tree if there are several."""
        return b"/".join(part for part in (self.found.source.trees[name[0]][1], name[1]) if part)

    def compare_copy_name(self, path, shown):
        full = self.full_name(self.names[path])
        plain = full.replace(b"/", oracle.SLASH)
        must = len(plain) > 255 or oracle.SLASH in full
        may = must or len(oracle.MARK + plain) > 255 or plain.startswith(oracle.MARK) or \
            SHORTENED.search(plain)
        if (must or shown != plain) and not (may and SHORTENED.search(shown)
                                             and len(shown) <= 255):
            self.add("other name:", shown, path)

    def compare_attributes(self, path, group, names):
        count = len(group.names)
        expected = {"copies": number(count), "size": number(group.bytes),
                    "reclaimable": number(group.bytes * (count - 1))}
        found = {name: own(path, name) for name in names}
        if found != {name: expected[name] for name in names}:
            self.add("attributes:", path, found)
        digits = own(path, "hash")
        unknown = ("ENODATA",) if not group.has_hash else ()
        if digits not in (*unknown, group.hash and group.hash.encode()):
            self.add("hash:", path, digits, group.hash)

    def compare_folder(self, path, shown):
        """Compares a folder of the source with what the view shows: names, attributes, bytes."""
        if len(path) >= PATH_MAX:
            return  # it is compared as a part of a folder above it
        try:
            for text in backups.differences(path, shown):
                self.add(text, shown)
            for entry in walk.walk(shown, xattrs=False):
                if entry.kind in (stat.S_IFDIR, stat.S_IFREG):
                    self.compare_own(path, shown, entry)
        except OSError as error:
            self.add(f"{error.strerror}:", shown)

    def compare_own(self, path, shown, entry):
        wanted = os.path.join(path, entry.path) if entry.path else path
        handle = walk.open_beneath(shown, entry.path, os.O_PATH)
        try:
            at = f"/proc/self/fd/{handle}"
            told, found = own(at, "path"), {name: own(at, name) for name in OWN}
        finally:
            os.close(handle)
        if told != wanted and not (entry.kind == stat.S_IFREG and os.path.samefile(told, wanted)):
            self.add("path:", shown, entry.path, told)
        if entry.kind == stat.S_IFREG and found != self.elsewhere(wanted):
            self.add("attributes:", shown, entry.path, found)

    def elsewhere(self, path):
        """The attributes of a file in uniques/ or redundant/."""
        for root, tree in self.found.source.trees:
            if path.startswith(root + b"/"):
                for where in (b"uniques", b"redundant"):
                    try:
                        handle = walk.open_beneath(os.path.join(self.mount, where, tree),
                                                   path[len(root) + 1:], os.O_PATH)
                    except FileNotFoundError:
                        continue
                    try:
                        return {name: own(f"/proc/self/fd/{handle}", name) for name in OWN}
                    finally:
                        os.close(handle)
        return None


def differences(view, *roots, every=1, **options):
    """The differences of folders/ from what the sources have now."""
    return Shown(Folders(roots, **options), view.path, every).compare()


def differences_now(view, *roots, **options):
    view.sync()
    return differences(view, *roots, **options)


class Seen:
    """Lets the kernel cache all that folders/ shows, and remembers each path that it ever had."""

    def __init__(self, view):
        self.root, self.paths = os.fsencode(view.folders), set()

    def wrong(self):
        """The paths that are listed and not found, or found and not listed, now. Remembered paths
        are looked up before a listing can correct what the kernel has of them."""
        found = {path: os.path.lexists(path) for path in sorted(self.paths)}
        listed = set()
        for folder, names, files in os.walk(self.root, onerror=self.fail):
            listed.update(os.path.join(folder, name) for name in (*names, *files))
        self.paths |= listed
        found.update((path, os.path.lexists(path)) for path in listed - found.keys())
        return [path for path, exists in found.items() if exists != (path in listed)]

    @staticmethod
    def fail(error):
        raise error

# SPDX-License-Identifier: MIT
"""An independent oracle of equal folders: it computes what `list --folders` must print.

Two folders are equal if they have the same names, and each name is in both an empty file, a file
with the same bytes, a symlink with the same target, a special file of the same kind and device, or
an equal folder. Bytes are compared by SHA-256. Something that is left out or cannot be read is
equal to nothing but to a hard link of itself.

The tree hash is that of twinfs(5).
"""
import collections
import json
import os
import re
import stat
from dataclasses import dataclass

import oracle
import walk
from program import path_of
from storm import xxh3_128

HASH = re.compile(r"[0-9a-f]{32}")
LETTERS = {stat.S_IFREG: b"f", stat.S_IFDIR: b"d", stat.S_IFLNK: b"l", stat.S_IFIFO: b"p",
           stat.S_IFSOCK: b"s", stat.S_IFCHR: b"c", stat.S_IFBLK: b"b"}
FATES = {True: ("kept",), False: ("redundant", "spared")}


@dataclass(frozen=True)
class Group:
    """A group of equal folders.

    names     (number of the tree, path) of each folder
    files     names of regular files in one folder
    bytes     the sum of their sizes
    implied   whether the parents of all folders are in one group
    has_hash  whether another file has the bytes of each file, so that the program read them all
    hash      the tree hash, or None if a file cannot be read
    """
    names: frozenset
    files: int
    bytes: int
    implied: bool
    has_hash: bool
    hash: str


@dataclass
class Tree:
    """All that is below a folder. token is equal for equal folders."""
    token: object
    files: int = 0
    bytes: int = 0
    has_hash: bool = True


def above(name):
    """The parent folder of a name, or None for the root of a source."""
    number, path = name
    return (number, os.path.dirname(path)) if path else None


def is_below(name, folder):
    return name[0] == folder[0] and (not folder[1] or name[1].startswith(folder[1] + b"/"))


class Folders:
    """The equal folders of some sources. `groups` has each group by the absolute paths (bytes) of
    its folders."""

    def __init__(self, roots, min_size=1, excluded=None):
        self.source = oracle.Source(roots, excluded=excluded, xattrs=False)
        self.min_size = min_size
        self.source.read(self.source.inodes.values())
        self.equal = collections.Counter(
            self._content(inode) for inode in self.source.inodes.values())
        self.children = collections.defaultdict(list)
        for name in self.source.names:
            if name[1]:
                self.children[above(name)].append(name)
        self.trees, self.known = {}, {}
        for name in sorted((name for name, entry in self.source.names.items()
                            if entry.kind == stat.S_IFDIR),
                           key=lambda name: len(name[1].split(b"/")) if name[1] else 0,
                           reverse=True):
            self.trees[name] = self._tree(name)
        self.groups = self._groups()

    def _content(self, inode):
        """The size and the digest of a file, if its bytes count as known."""
        return (inode.size, inode.digest) if inode.digest and inode.size >= self.min_size else None

    def _has_all_names(self, folder):
        """Whether the folder can be listed, and no name in it is left out."""
        try:
            handle = walk.open_beneath(self.source.trees[folder[0]][0], folder[1],
                                       os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            names = [os.fsencode(name) for name in os.listdir(handle)]
        finally:
            os.close(handle)
        return all((folder[0], os.path.join(folder[1], name)) in self.source.names
                   for name in names)

    def _tree(self, folder):
        tree = Tree(None)
        items = set()
        for name in self.children[folder]:
            items.add((os.path.basename(name[1]), self._token(name)))
            self._count(tree, name)
        if self.source.names[folder].unreadable or not self._has_all_names(folder):
            tree.token = ("unknown", folder)
        else:
            tree.token = ("folder", self.known.setdefault(frozenset(items), len(self.known)))
        return tree

    def _count(self, tree, name):
        entry = self.source.names[name]
        if entry.kind == stat.S_IFDIR:
            inner = self.trees[name]
            tree.files += inner.files
            tree.bytes += inner.bytes
            tree.has_hash &= inner.has_hash
        elif entry.kind == stat.S_IFREG:
            tree.files += 1
            tree.bytes += entry.stat.st_size
            content = self._content(self.source.inodes[entry.key])
            tree.has_hash &= not entry.stat.st_size or bool(content and self.equal[content] > 1)

    def _token(self, name):
        """A value that is equal for equal names of two folders."""
        entry = self.source.names[name]
        if not entry.stat:
            return ("unknown", name)
        if entry.kind == stat.S_IFDIR:
            return self.trees[name].token
        if entry.kind == stat.S_IFLNK:
            return ("symlink", entry.target)
        if entry.kind != stat.S_IFREG:
            return ("special", entry.kind, entry.stat.st_rdev)
        inode = self.source.inodes[entry.key]
        if not inode.size:
            return ("empty",)
        content = self._content(inode)
        return ("content", content) if content else ("inode", entry.key)

    def _groups(self):
        same = collections.defaultdict(set)
        for name, tree in self.trees.items():
            same[tree.token].add(name)
        groups = {}
        for names in same.values():
            tree = self.trees[min(names)]
            if len(names) > 1 and tree.bytes:
                parents = [above(name) for name in names]
                tokens = {parent and self.trees[parent].token for parent in parents}
                implied = None not in parents and len(tokens) == 1 and len(same[min(tokens)]) > 1
                groups[frozenset(map(self.source.absolute, names))] = Group(
                    frozenset(names), tree.files, tree.bytes, implied, tree.has_hash,
                    self._hash(min(names)))
        return groups

    def _hash(self, folder):
        """The tree hash of a folder, or None if a file in it cannot be read."""
        text = b""
        for name in sorted(self.children[folder], key=lambda name: os.path.basename(name[1])):
            digits = self._digits(name)
            if digits is None:
                return None
            text += b"%s %s %s\0" % (LETTERS[self.source.names[name].kind], digits.encode(),
                                     os.path.basename(name[1]))
        return xxh3_128(text)

    def _digits(self, name):
        entry = self.source.names[name]
        if entry.kind == stat.S_IFDIR:
            return self._hash(name)
        if entry.kind == stat.S_IFREG:
            try:
                root = self.source.trees[name[0]][0]
                with open(walk.open_beneath(root, name[1], os.O_RDONLY), "rb") as file:
                    return xxh3_128(file.read())
            except PermissionError:
                return None
        device = entry.stat.st_rdev
        return xxh3_128(entry.target or b"%d:%d" % (os.major(device), os.minor(device))
                        if entry.kind not in (stat.S_IFIFO, stat.S_IFSOCK) else b"")

    def reclaimable(self, group, kept):
        """The bytes that would be freed if of the group only the folder `kept` stayed."""
        return self._freed([name for name in group.names if self.source.absolute(name) != kept])

    def _freed(self, removed):
        """The bytes that would be freed without these folders."""
        freed = 0
        for inode in self.source.inodes.values():
            gone = sum(any(is_below(name, folder) for folder in removed) for name in inode.names)
            if gone and gone == self.source.names[inode.names[0]].stat.st_nlink:
                freed += inode.freed
        return freed

    def summary(self, records):
        """What the summary of these groups of `list --folders` must have of them. Without rules, no
        kept folder must stay.

        A folder whose parent is in a group goes or stays with the parent."""
        removed = []
        for record in records:
            group = self.groups[frozenset(map(path_of, record["folders"]))]
            kept, = [path_of(folder) for folder in record["folders"] if folder["kept"]]
            outermost = self._outermost(group)
            removed += [name for name in outermost if len(outermost) < len(group.names)
                        or self.source.absolute(name) != kept]
        assert not any(is_below(name, other) for name in removed for other in removed
                       if name != other)
        return {"groups": len(records), "redundant_folders": len(removed),
                "redundant_files": sum(self.trees[name].files for name in removed),
                "reclaimable_bytes": self._freed(removed)}

    def _outermost(self, group):
        """The folders of a group that are in no folder of a group."""
        inner = {name for other in self.groups.values() for name in other.names}
        return [name for name in group.names if above(name) not in inner]

    def figures(self, redundant_bytes):
        """The figures of folders in the status of a view, which has these redundant bytes."""
        groups = [group for group in self.groups.values() if not group.implied]
        copies = [(min(len(self._outermost(group)), len(group.names) - 1), group.bytes)
                  for group in groups]
        size = sum(count * each for count, each in copies)
        return {"folder_groups": len(groups),
                "redundant_folders": sum(count for count, _ in copies),
                "redundant_folder_bytes": min(size, redundant_bytes)}

    def differences(self, lines, implied=True):
        """The differences between the groups and the lines of `list --folders --format=jsonl`, with
        or without implied groups, as text."""
        wanted = {folders for folders, group in self.groups.items()
                  if group.bytes >= self.min_size and (implied or not group.implied)}
        found, texts = set(), []
        for line in lines:
            record = json.loads(line)
            paths = [path_of(folder) for folder in record["folders"]]
            folders = frozenset(paths)
            if folders in found or len(paths) != len(folders):
                texts.append(f"twice: {sorted(paths)}")
            found.add(folders)
            if folders in wanted:
                texts += [f"{text}: {sorted(folders)}"
                          for text in self._compare(self.groups[folders], record)]
        texts += [f"missing: {sorted(folders)}" for folders in wanted - found]
        texts += [f"not equal{', or implied' * (not implied)}: {sorted(folders)}"
                  for folders in found - wanted]
        return texts

    def _compare(self, group, record):
        if (record["files"], record["size"]) != (group.files, group.bytes):
            yield (f"{record['files']} files, {record['size']} bytes, "
                   f"not {group.files}, {group.bytes}")
        if record["hash"] is None:
            if group.has_hash:
                yield "no hash"
        elif not HASH.fullmatch(record["hash"]) or group.hash not in (None, record["hash"]):
            yield f"hash {record['hash']!r}, not {group.hash}"
        kept = [path_of(folder) for folder in record["folders"] if folder["kept"]]
        if len(kept) != 1:
            yield f"{len(kept)} kept folders"
            return
        for folder in record["folders"]:
            if folder["fate"] not in FATES[folder["kept"]]:
                yield f"fate {folder['fate']!r} of {path_of(folder)}"
        freed = self.reclaimable(group, kept[0])
        if record["reclaimable"] != freed:
            yield f"reclaimable {record['reclaimable']}, not {freed}, without all but {kept[0]}"

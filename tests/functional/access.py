# SPDX-License-Identifier: MIT
"""Builds a tree with many kinds of rights, records what a user can observe at this source and in a
shared view of it, and compares both records.

The kernel decides what a user can do at the source; this module computes no rights.
"""
import collections
import errno
import os
import stat
import subprocess

import oracle
import original
import trees
from callers import Caller

OWNER, MEMBER, EXTRA, NAMED, MANY, STRANGER = range(61001, 61007)
TEAM, CREW, OTHERS = range(62001, 62004)
ELSE = 63000  # first of the groups without any rights

CALLERS = (
    Caller("stranger", STRANGER, OTHERS),
    Caller("owner", OWNER, OTHERS),
    Caller("owner in team", OWNER, OTHERS, (TEAM,)),
    Caller("member", MEMBER, TEAM),
    Caller("member by a further group", EXTRA, OTHERS, (ELSE, TEAM)),
    Caller("named", NAMED, OTHERS),
    Caller("named in team", NAMED, OTHERS, (TEAM,)),
    Caller("crew", MEMBER, CREW),
    Caller("crew by a further group in team", EXTRA, TEAM, (CREW, ELSE)),
    Caller("last of many groups", MANY, OTHERS, (*range(ELSE, ELSE + 100), TEAM)),
    Caller("named on file systems alone", NAMED, CREW, (TEAM,), "file system"),
    Caller("thread of a member", EXTRA, OTHERS, (TEAM,), "thread"),
    Caller("stranger of group 0", STRANGER, 0, (0,)),
)
ROOT = Caller("root", 0, 0)

# {name: (mode, entries of an ACL)}. Everything belongs to OWNER and TEAM.
FOLDERS = {
    "rwxr-xr-x": (0o755,), "rwxr-x---": (0o750,), "rwx------": (0o700,), "rwx--x--x": (0o711,),
    "rwxr--r--": (0o744,), "rwx---r-x": (0o705,), "---r-xr-x": (0o055,),
    "named x": (0o700, f"u:{NAMED}:x"), "named r": (0o700, f"u:{NAMED}:r"),
    "not named": (0o755, f"u:{NAMED}:-"), "crew": (0o700, f"g:{CREW}:rx"),
    "not crew": (0o755, f"g:{CREW}:-"), "masked": (0o700, f"u:{NAMED}:rx,g:{CREW}:rx,m::-"),
    "of what is in it": (0o700, f"d:u:{NAMED}:rx"),
}
FILES = {
    "rw-r--r--": (0o644,), "rw-r-----": (0o640,), "rw----r--": (0o604,),
    "---r--r--": (0o044,), "---------": (0o000,),
    "named": (0o600, f"u:{NAMED}:r"), "not named": (0o644, f"u:{NAMED}:-"),
    "crew": (0o600, f"g:{CREW}:r"), "not crew": (0o644, f"g:{CREW}:-"),
    "crew, not team": (0o604, f"g:{CREW}:r"), "masked": (0o600, f"u:{NAMED}:rw,g:{CREW}:rw,m::-"),
}
# {name: (rights of the folder above a source, rights of the root of the source)}
ABOVE = {
    "all": (FOLDERS["rwxr-xr-x"], FOLDERS["rwxr-xr-x"]),
    "nobody": (FOLDERS["rwx------"], FOLDERS["rwxr-xr-x"]),
    "search": (FOLDERS["rwx--x--x"], FOLDERS["rwxr-xr-x"]),
    "team": (FOLDERS["rwxr-x---"], FOLDERS["rwxr-xr-x"]),
    "named": (FOLDERS["named x"], FOLDERS["rwxr-xr-x"]),
    "not team": (FOLDERS["rwx---r-x"], FOLDERS["rwxr-xr-x"]),
    "root of crew": (FOLDERS["rwxr-xr-x"], FOLDERS["crew"]),
    "root to search": (FOLDERS["rwxr-xr-x"], FOLDERS["rwx--x--x"]),
}
ALL_FILES_IN = 4
MISSING = "is missing"  # a name that never exists, to compare hidden names with
CLOSED = ("by-size", f"by-size/{MISSING}", "folders", f"folders/{MISSING}", "report.html",
          ".twinfs", ".twinfs/status.json", ".twinfs/sync", ".twinfs/events", ".twinfs/errors",
          f".twinfs/{MISSING}")
DENIED = os.strerror(errno.EACCES)
NO_DATA = os.strerror(errno.ENODATA)
NO_HASH = "0" * 32
STAT_FIELDS = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks",
               "st_blksize", "st_rdev", "st_mtime_ns", "st_ctime_ns")
RIGHTS = ("names", "content", "access")  # parts of an observation that show rights


# ---- the tree ------------------------------------------------------------------------------

def permit(rights, *paths):
    """Gives these paths to OWNER and TEAM, with a mode and the entries of an ACL."""
    mode, *entries = rights
    for path in paths:
        os.chown(path, OWNER, TEAM)
        os.chmod(path, mode)
    if entries and paths:
        subprocess.run(["setfacl", "-m", entries[0], *paths], check=True)


def write(path, text):
    trees.write(path, text.encode() * 20)
    os.setxattr(path, "user.note", text.encode())


def build_matrix(root):
    """Makes every kind of file in the first ALL_FILES_IN kinds of folders, and every second kind in
    each other folder.

    Each file has a copy that all users may read. Some of these copies sort before their file, so
    that they are the kept copies. Each third file has one more copy. Each folder also contains a
    folder that all users may enter.
    """
    files = collections.defaultdict(list)
    for number, folder in enumerate(FOLDERS):
        for other, kind in enumerate(FILES):
            if number >= ALL_FILES_IN and (number + other) % 2:
                continue
            name = f"{kind} in {folder}"
            write(root / f"in {folder}" / name, name)
            files[kind].append(root / f"in {folder}" / name)
            write(root / ("a" if (number + other) // 2 % 2 else "z") / f"copy of {name}", name)
            if (number + other) % 3 == 0:
                write(root / "z" / f"more of {name}", name)
        name = f"deep in {folder}"
        write(root / f"in {folder}/deep {folder}/{name}", name)
        write(root / f"z/copy of {name}", name)
    for kind, paths in files.items():
        permit(FILES[kind], *paths)


def build_links(root):
    """Makes two files with a visible name and a hidden hard link each."""
    hidden, shown = root / "in rwx------", root / "in rwxr-xr-x"
    for name in ("first", "last"):
        write(shown / f"{name} link", f"{name} link")
        os.link(shown / f"{name} link", root / ("a hidden" if name == "first" else "z hidden"))
        os.rename(root / ("a hidden" if name == "first" else "z hidden"),
                  hidden / f"{name} hidden link")
        write(root / f"z/copy of {name} link", f"{name} link")
    for folder in (hidden, shown):
        os.symlink(f"where {folder.name} leads", folder / f"symlink {folder.name}")


def build(folder):
    """Makes several sources, each below a folder of its own; returns their roots."""
    roots = []
    for name in ABOVE:
        root = folder / f"above {name}" / f"source {name}"
        root.mkdir(parents=True)
        roots.append(root)
        for kind in ("rw-r--r--", "rw-r-----"):
            text = f"{kind} below {name}"
            write(root / text, text)
            permit(FILES[kind], root / text)
            write(roots[0] / f"z/copy of {text}", text)
    build_matrix(roots[0])
    build_links(roots[0])
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)  # independently of the umask
    for kind, rights in FOLDERS.items():
        permit(rights, roots[0] / f"in {kind}")
    for root, rights in zip(roots, ABOVE.values()):
        permit(rights[1], root)
        permit(rights[0], root.parent)
    return roots


# ---- observations --------------------------------------------------------------------------

def attempt(function, *arguments):
    """The result of a function, or the text of its error."""
    try:
        return function(*arguments)
    except OSError as error:
        return os.strerror(error.errno)


def read(path):
    """The bytes of a file that can be read without blocking."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return read_open(handle)
    finally:
        os.close(handle)


def read_open(handle):
    pieces = []
    while piece := os.read(handle, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def attributes_of(at):
    """All listed extended attributes, each with its value or error.

    at  a path, or a descriptor, which needs no lookup
    """
    follow = {} if isinstance(at, int) else {"follow_symlinks": False}
    names = attempt(lambda: os.listxattr(at, **follow))
    if isinstance(names, str):
        return names
    return {name: attempt(lambda name=name: os.getxattr(at, name, **follow))
            for name in names if name != "security.selinux"}


def of_twinfs(at, names=("path", "hash", "copies")):
    follow = {} if isinstance(at, int) else {"follow_symlinks": False}
    return {name: attempt(lambda name=name: os.getxattr(at, f"user.twinfs.{name}", **follow))
            for name in names}


def of_group(at):
    return of_twinfs(at, ("hash", "copies", "size", "reclaimable"))


def observe(path, own=None):
    """Everything that can be found out at a path, in comparable values. If `stat` is an error, it
    is the only value.

    own  a function that reads the attributes of twinfs
    """
    status = attempt(os.lstat, path)
    if isinstance(status, str):
        return {"stat": status}
    kind = stat.S_IFMT(status.st_mode)
    seen = {"stat": (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)}
    if kind != stat.S_IFDIR:
        seen["stat"] += (status.st_size, status.st_nlink)
    if kind == stat.S_IFLNK:
        seen["target"] = attempt(os.readlink, path)
        return seen
    handle = attempt(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
    at = path if isinstance(handle, str) else handle
    if kind == stat.S_IFDIR:
        seen["names"] = handle if at == path else attempt(lambda: sorted(os.listdir(handle)))
    elif kind == stat.S_IFREG:
        seen["content"] = handle if at == path else attempt(read_open, handle)
    seen["access"] = os.access(path, os.X_OK if kind == stat.S_IFDIR else os.R_OK,
                               effective_ids=True)
    seen["attributes"] = attributes_of(at)
    if own:
        seen["twinfs"] = own(at)
    if at != path:
        os.close(handle)
    return seen


def observe_sources(names):
    """{(root, path): observation} of the caller at the sources."""
    return {(root, path): observe(os.path.join(root, path)) for root, path in names}


def observe_view(mount, trees_of, names, groups):
    """The observations of the caller in the view: each name of the sources and each copy.

    trees_of  {root: its folder in the view}
    groups    {hash: [names in its folder]}
    """
    os.chdir(mount)  # lookups of shorter paths are faster
    found = {"top": attempt(lambda: set(os.listdir()))}
    found["closed"] = {name: observe(name) for name in CLOSED}
    for where in ("uniques", "redundant"):
        base = f"{mount}/{where}" if attempt(os.chdir, f"{mount}/{where}") else "."
        found[where] = {(root, path): observe(os.path.join(base, trees_of[root], path), of_twinfs)
                        for root, path in names}
        found[f"{where}/"] = attempt(lambda base=base: set(os.listdir(base)))
        found[where, MISSING] = observe(os.path.join(base, MISSING))
    os.chdir(f"{mount}/dups")
    found["dups/"] = attempt(lambda: set(os.listdir()))
    found["dups"] = {}
    for folder, copies in [*groups.items(), (NO_HASH, [])]:
        found["dups"][folder] = observe(folder, of_group), {
            name: observe(f"{folder}/{name}", of_twinfs) for name in (*copies, MISSING)}
    return found


def trace(mount):
    """A list of lines with everything that the caller finds by a walk of the view, including all
    numbers."""
    found = [f"df: {attempt(lambda: tuple(os.statvfs(mount)))}"]
    pending = [mount]
    while pending:
        path = pending.pop()
        status = attempt(os.lstat, path)
        numbers = status if isinstance(status, str) else {
            name: getattr(status, name) for name in STAT_FIELDS}
        seen = observe(path, lambda at: {**of_twinfs(at), **of_group(at)})
        found.append(f"{os.path.relpath(path, mount)}: {numbers} {seen}")
        if not isinstance(seen.get("names", ""), str):
            pending += [os.path.join(path, name) for name in reversed(seen["names"])]
    return found


# ---- comparison ----------------------------------------------------------------------------

class Shared:
    """Sources, as root sees them, and their view."""

    def __init__(self, roots, mount):
        self.mount = os.fspath(mount)
        self.model = oracle.Source(roots)
        self.trees = {os.fsdecode(root): os.fsdecode(tree) for root, tree in self.model.trees}
        tops = list(self.trees)
        self.names = sorted((tops[tree], os.fsdecode(path)) for tree, path in self.model.names)
        self.folders = {(tops[tree], os.fsdecode(path)) for (tree, path), entry
                        in self.model.names.items() if entry.kind == stat.S_IFDIR}
        self.probes = self.names + [(root, os.path.join(path, MISSING))
                                    for root, path in sorted(self.folders)]
        self.inodes = {(tops[tree], os.fsdecode(path)): (number, inode.size)
                       for number, inode in enumerate(self.model.inodes.values())
                       for tree, path in inode.names}
        self.names_of = collections.defaultdict(list)
        for name, inode in self.inodes.items():
            self.names_of[inode].append(name)
        self.classes, self.hashes, self.preferences = {}, {}, {}
        for group in self.model.groups():
            names = [(tops[tree], os.fsdecode(path)) for inode in group
                     for tree, path in inode.names]
            for inode in group:
                self.preferences.update({
                    (tops[tree], os.fsdecode(path)): original.preference(
                        os.fsencode(tops[tree]), tree, path) for tree, path in inode.names})
            [value] = oracle.hashes([os.path.join(*names[0])])
            self.classes[value] = names
            self.hashes.update(dict.fromkeys(names, value))

    def copy_name(self, name):
        root, path = name
        return os.path.join(self.trees[root], path).replace("/", "\u2215")

    def observe(self):
        """The observations of the caller at the sources and in the view."""
        groups = {value: [self.copy_name(name) for name in names]
                  for value, names in self.classes.items()}
        return (observe_sources(self.probes),
                observe_view(self.mount, self.trees, self.probes, groups))


class Judge:
    """Compares the observations of a caller in the view with those at the sources.

    exact  also compares modes, owners and times, which the view has a moment after a change
    """

    def __init__(self, shared, seen, exact=True):
        self.shared, self.exact = shared, exact
        self.source, self.view = seen
        self.wrong = []
        self.known = {name for name in shared.names if self.is_listed(name)}
        self.readable = {name for name in shared.names if self.can_read(name)}
        self.groups = {}
        for value, names in shared.classes.items():
            mine = [name for name in names if name in self.known & self.readable]
            if len({shared.inodes[name] for name in mine}) > 1:
                self.groups[value] = mine
        self.redundant = self.choose_redundant()

    def add(self, what, *details):
        self.wrong.append(" ".join([what, *(repr(detail) for detail in details)]))

    def can_read(self, name):
        return isinstance(self.source[name].get("content"), bytes)

    def is_listed(self, name):
        """Whether the caller finds a name by listing folders from the root of its source."""
        root, path = name
        if isinstance(self.source[root, ""]["stat"], str):
            return False
        parts = path.split("/") if path else []
        for depth, part in enumerate(parts):
            names = self.source[root, "/".join(parts[:depth])].get("names", "")
            if isinstance(names, str) or part not in names:
                return False
        return True

    def choose_redundant(self):
        """The redundant names of each group that the caller sees: all but the first inode."""
        found = set()
        for names in self.groups.values():
            first = min(names, key=self.shared.preferences.get)
            found.update(name for name in names
                         if self.shared.inodes[name] != self.shared.inodes[first])
        return found

    def judge(self):
        self.check_tops()
        for name, expected in self.source.items():
            for where in ("uniques", "redundant"):
                self.check_name(where, name, expected)
        self.check_groups()
        return self.wrong

    # uniques/ and redundant/

    def reaches(self, root):
        return not isinstance(self.source[root, ""]["stat"], str)

    def check_tops(self):
        if self.view["top"] != {"README.txt", "dups", "uniques", "redundant"}:
            self.add("other folders:", self.view["top"])
        for name, found in self.view["closed"].items():
            if found != {"stat": DENIED}:
                self.add("open to the caller:", name, found)
        reached = {tree for root, tree in self.shared.trees.items() if self.reaches(root)}
        for where in ("uniques", "redundant"):
            if "" not in self.shared.trees.values() and self.view[f"{where}/"] != reached:
                self.add(f"{where}: other trees:", self.view[f"{where}/"], reached)

    def check_name(self, where, name, expected):
        """Folders are in uniques/ and redundant/; each other name is in one of these trees."""
        found = self.view[where][name]
        if self.shared.trees[name[0]] and not self.reaches(name[0]):
            if found != self.view[where, MISSING]:
                self.add(f"{where}: exists:", name, found)
        elif name in self.shared.folders or isinstance(expected["stat"], str) or (
                where == "redundant") == (name in self.redundant):
            self.check_entry(where, name, expected, found)
        else:
            beside = (name[0], os.path.join(os.path.dirname(name[1]), MISSING))
            if found != self.view[where][beside]:
                self.add(f"{where}: exists:", name, found)

    def check_entry(self, where, name, expected, found):
        found = dict(found)
        own = found.pop("twinfs", None)
        expected = dict(expected)
        if not isinstance(expected.get("names", ""), str):
            expected["names"] = self.names_in(where, name, expected["names"])
        if self.part(found) != self.part(expected):
            for key in expected.keys() | found.keys():
                if expected.get(key) != found.get(key):
                    self.add(f"{where}: {key}:", name, found.get(key), expected.get(key))
        elif own is not None:
            self.check_own(where, name, own)

    def part(self, observation):
        """The part of an observation that is compared."""
        if self.exact:
            return observation
        return {key: value if isinstance(value, str) or key in RIGHTS else None
                for key, value in observation.items()}

    def names_in(self, where, name, names):
        inside = {(name[0], os.path.join(name[1], child)): child for child in names}
        if where == "uniques":
            return [child for full, child in inside.items() if full not in self.redundant]
        return [child for full, child in inside.items()
                if full in self.redundant or full in self.shared.folders]

    def check_own(self, where, name, own):
        """The attributes of twinfs have a path that the caller knows and figures of visible
        copies."""
        if "target" in self.source[name]:
            return  # only files and folders have such attributes
        same = self.shared.names_of[self.shared.inodes[name]] if name in self.shared.inodes else ()
        paths = {os.fsencode(os.path.join(*other).rstrip("/"))
                 for other in (name, *(other for other in same if other in self.known))}
        if name not in self.known or not self.may_ask(name):
            paths |= {NO_DATA, DENIED}
        if own["path"] not in paths:
            self.add(f"{where}: other path:", name, own["path"])
        expected = dict.fromkeys(("hash", "copies"), NO_DATA)
        value = self.shared.hashes.get(name)
        if value in self.groups and name in self.groups[value]:
            inodes = {self.shared.inodes[other] for other in self.groups[value]}
            expected.update(hash=value.encode(), copies=b"%d" % len(inodes))
        for key, wanted in expected.items():
            if own[key] != wanted and (own[key] != DENIED or self.may_ask(name)):
                self.add(f"{where}: {key}:", name, own[key], wanted)

    def may_ask(self, name):
        """Whether the caller may read user attributes of this name."""
        return not isinstance(self.source[name].get("content", self.source[name].get("names")), str)

    # dups/

    def check_groups(self):
        if self.view["dups/"] != self.groups.keys():
            self.add("dups: listed:", set(self.view["dups/"]) - self.groups.keys(),
                     "not listed:", self.groups.keys() - set(self.view["dups/"]))
        absent, _ = self.view["dups"][NO_HASH]
        for value, names in self.shared.classes.items():
            folder, copies = self.view["dups"][value]
            mine = self.groups.get(value, ())
            if not mine and folder != absent:
                self.add("dups: exists:", value, names, folder, absent)
            if mine:
                shown = sorted(oracle.MARK.decode() * (name not in self.redundant)
                               + self.shared.copy_name(name) for name in mine)
                if folder.get("names") != shown:
                    self.add("dups: other names in", value, folder.get("names"), shown)
                self.check_figures(value, mine, folder.get("twinfs", {}))
            for name in names:
                found = copies[self.shared.copy_name(name)]
                if name in mine:
                    self.check_entry("dups", name, self.source[name], found)
                elif found != copies[MISSING]:
                    self.add("dups: exists:", value, name, found)

    def check_figures(self, value, mine, own):
        inodes = {self.shared.inodes[name] for name in mine}
        [size] = {size for _, size in inodes}
        expected = {"hash": value.encode(), "copies": b"%d" % len(inodes), "size": b"%d" % size,
                    "reclaimable": b"%d" % (size * (len(inodes) - 1))}
        if {key: own.get(key) for key in expected} != expected:
            self.add("dups: attributes of", value, own, expected)


def served_beyond(shared, seen):
    """Names whose content the caller could read in the view and not at their paths."""
    source, view = seen
    copies = {shared.copy_name(name): name for name in shared.names}
    found = [(where, name, observation) for where in ("uniques", "redundant")
             for name, observation in view[where].items()]
    found += [("dups", copies.get(copy), observation)
              for _, inside in view["dups"].values() for copy, observation in inside.items()]
    return [f"{where}: {name}" for where, name, observation in found
            if isinstance(observation.get("content"), bytes)
            and observation["content"] != source[name].get("content")]

# SPDX-License-Identifier: MIT
"""What the contract permits a command to do to a tree. It knows the bytes, hard links, symlinks,
modes and times of every name, and nothing of the index, the journal and the log."""
import hashlib
import os
import stat
from dataclasses import dataclass, field

OWN = (".trashinfo", "lost+found")


@dataclass(frozen=True)
class Name:
    """What a name is. A symlink has its target as content; a folder has no times."""
    kind: str
    content: str = ""
    mode: int = 0
    mtime: int = 0
    size: int = 0


@dataclass
class Picture:
    """All names at a moment."""
    names: dict = field(default_factory=dict)  # {path: Name}
    inodes: dict = field(default_factory=dict)  # {path of a regular file: inode}
    leads: dict = field(default_factory=dict)  # {path of a symlink: see lead_of()}

    def contents(self, inside):
        """The contents of the regular files for which inside(path) is true."""
        return {name.content for path, name in self.names.items()
                if name.kind == "file" and inside(path)}

    def links(self):
        """{path: the paths that are hard links of it, and itself}."""
        sets = {}
        for path, inode in self.inodes.items():
            sets.setdefault(inode, set()).add(path)
        return {path: frozenset(sets[inode]) for path, inode in self.inodes.items()}

    def below(self, folder):
        return {path: name for path, name in self.names.items() if is_below(path, folder)}


def is_below(path, *folders):
    return any(path == str(folder) or path.startswith(f"{folder}/") for folder in folders)


def is_near(path, others):
    """Whether a path is above or below one of others."""
    return is_below(path, *others) or any(is_below(other, path) for other in others)


def is_trashed(path):
    return "/.Trash-" in path or "/Trash/" in path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def lead_of(path):
    """What a symlink leads to, and where that is."""
    try:
        at = os.path.realpath(path)
        return "folder" if stat.S_ISDIR(os.stat(path).st_mode) else digest(path), at
    except OSError:
        return None, path


def target_of(path):
    try:
        return os.readlink(path)
    except OSError:  # sshfs of Debian 12 lets nobody read an absolute target
        return "unreadable"


def take(roots, inode_of):
    """The picture of all names below some folders."""
    picture = Picture()
    for root in roots:
        for folder, folders, files in os.walk(root):
            for path in (os.path.join(folder, name) for name in (*folders, *files)):
                if not path.endswith(OWN):
                    add(picture, path, inode_of)
    return picture


def add(picture, path, inode_of):
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        picture.names[path] = Name("symlink", target_of(path))
        picture.leads[path] = lead_of(path)
    elif stat.S_ISDIR(status.st_mode):
        if is_trashed(path):
            return  # of no interest: twinfs moves only files there
        picture.names[path] = Name("folder", mode=mode)
    else:
        picture.names[path] = Name("file", digest(path), mode, status.st_mtime_ns, status.st_size)
        picture.inodes[path] = inode_of(path)


def differences(before, after):
    """The paths that are not what they were. Folders are the same if their mode is."""
    return {path for path in before.names.keys() | after.names.keys()
            if before.names.get(path) != after.names.get(path)}


@dataclass
class Act:
    """An act that changed something, and what it changed."""
    id: str
    command: str
    before: Picture
    records: dict  # {path: record} of all names
    undone: set = field(default_factory=set)  # paths

    def counts(self, paths=None):
        """[files, bytes, folders, others] of these paths, by default of all."""
        paths = set(self.records) if paths is None else paths
        names = [self.before.names[path] for path in paths]
        files = [name for name in names if name.kind == "file"]
        moved = [name for path in paths if "to" in self.records[path]
                 for below, name in self.before.below(path).items() if below != path]
        return [len(files), sum(name.size for name in (*files, *moved)),
                sum(name.kind == "folder" for name in names),
                sum(name.kind == "symlink" for name in names)]

    def taken(self):
        """The paths that the act changed, with those in folders that were moved as a whole."""
        if self.command == "dedupe":
            return set()
        found = set(self.records)
        for path, record in self.records.items():
            if record.get("type") == "folder" and "to" in record:
                found |= set(self.before.below(path))
        return found


def lost(before, after, sources, memory):
    """The names whose contents a command of twinfs lost: from everywhere, from the sources, or from
    what of these is not below a file system in memory."""
    def live(path):
        return not is_trashed(path) and is_below(path, *sources)

    def lasting(path):
        return live(path) and not is_below(path, *memory)

    gone = set()
    for where in (lambda _: True, live, lasting):
        gone |= before.contents(where) - after.contents(where)
    return {path for path, name in before.names.items() if name.content in gone}


def broken(before, after, sources):
    """Symlinks in the sources that led to a file or folder in them, and lead elsewhere now."""
    return {path for path, (content, at) in before.leads.items()
            if content and is_below(path, *sources) and is_below(at, *sources)
            and after.names.get(path) == before.names[path] and after.leads[path][0] != content}


def is_new_and_empty(after, path):
    """Whether a folder is empty: a killed act can leave one at its destination."""
    return path in after.names and after.names[path].kind == "folder" and \
        all(name.kind == "folder" for name in after.below(path).values())


def wrong_acts(act, after, second, same_links=True):
    """What is not as the records of an act say. second: names that it left beside copies."""
    before, wrong = act.before, []
    taken = act.taken()
    arrived = {record["to"] for record in act.records.values() if "to" in record}
    for path in set(differences(before, after)) - taken - second:
        if not is_near(path, arrived) and not is_new_and_empty(after, path):
            wrong.append(f"changed without a record: {path}")
    for path, record in act.records.items():
        wrong += wrong_record(act, path, record, after)
    if same_links and act.command not in ("link", "symlink"):
        former, now = before.links(), after.links()
        for path in set(former) - taken:
            if path in now and (former[path] - taken) != now[path] - {
                    other for other in now[path] if is_below(other, *arrived)}:
                wrong.append(f"other hard links: {path}")
    return wrong


def wrong_record(act, path, record, after):
    name, now = act.before.names.get(path), after.names.get(path)
    if name is None:
        return [f"recorded, but never there: {path}"]
    kind = {"symlink": "symlink", "folder": "folder"}.get(record.get("type"), "file")
    if kind != name.kind:
        return [f"recorded as {kind}: {path}"]
    if kind == "file" and (record["size"], int(record["mode"], 8)) != (name.size, name.mode):
        return [f"recorded with other attributes: {path}"]
    if act.command == "dedupe":
        return [] if now == name else [f"changed by dedupe: {path}"]
    if act.command == "link":
        return [] if after.inodes.get(path) == after.inodes.get(record["kept"]) and \
            now.content == name.content else [f"not linked: {path}"]
    if act.command == "symlink":
        leads = path in after.leads and after.leads[path][0] == name.content
        return [] if leads else [f"does not lead there: {path}"]
    if now is not None:
        return [f"recorded as {act.command}, but there: {path}"]
    if "to" in record:
        to = after.names.get(record["to"])
        if to is None or (to.kind, to.content, to.mode) != (name.kind, name.content, name.mode):
            return [f"not where it was moved to: {record['to']}"]
    return []


def moved_name(act, before, path):
    """What a name was before the undo that the act moved: what was changed there stays."""
    for top, record in act.records.items():
        if "to" in record and is_below(path, top):
            return before.names.get(record["to"] + path[len(top):], act.before.names[path])
    return act.before.names[path]


def wrong_undo(act, before, after, named, same_links=True):
    """What is wrong after an undo of an act; `named` are the paths that it says it could not bring
    back as they were. Also returns the paths that are back."""
    wrong, back = [], set()
    former, taken = act.before, act.taken()
    for path in taken - act.undone:
        if after.names.get(path) in (former.names[path], moved_name(act, before, path)):
            back.add(path)
        elif not is_below(path, *named):
            wrong.append(f"not brought back, and not named: {path}")
    if same_links:
        links, now = former.links(), after.links()
        for path in back & set(links):
            # a name that another step changed is another file
            wanted = {other for other in links[path]
                      if other in back or other in before.inodes and other not in taken
                      and before.inodes[other] == former.inodes[other]}
            if not wanted <= now[path] and not wanted & named:
                wrong.append(f"apart from its hard links, and not named: {path}")
    moved = {record["to"] for record in act.records.values() if "to" in record}
    for path in differences(before, after) - taken:
        if path not in before.names and after.names[path].kind == "folder":
            continue  # above a file that is back
        if not is_near(path, moved):
            wrong.append(f"changed by undo: {path}")
    return wrong, back


def not_elsewhere(picture, folder, others, memory, ignore_symlinks):
    """(paths, number of files): what `covered folder --by others` prints."""
    def elsewhere(path):
        return is_below(path, *others) and not is_trashed(path) and not is_below(path, *memory)

    contents = picture.contents(elsewhere)
    own = picture.below(folder)
    files = [path for path, name in own.items() if name.kind == "file" and name.size]
    links = [path for path, name in own.items() if name.kind == "symlink" and not ignore_symlinks]
    return {path for path in files if own[path].content not in contents} | set(links), len(files)

# SPDX-License-Identifier: MIT
"""Folders to act upon, what exists of them afterwards, and acts that are held at a system call."""
import os
import stat
from pathlib import Path
from urllib.parse import unquote

import trees
from equal_folders import copy_tree
from processes import release

OTHER = ".twinfs~"
ACTS = {"remove": ["remove"], "trash": ["remove", "--trash"], "move": ["move"]}


def make_folder(folder, seed="a"):
    """A folder with every kind of name."""
    trees.fill(folder, {"one": trees.content((seed, 1), 5000),
                        "sub/two": trees.content((seed, 2), 3000),
                        "sub/deep/three": trees.content((seed, 3), 9000),
                        "none": b""})
    (folder / "empty").mkdir()
    os.symlink("no such file", folder / "sub/link")
    os.mkfifo(folder / "fifo")
    os.link(folder / "one", folder / "sub/one again")
    os.setxattr(folder / "one", "user.kind", b"letter")
    (folder / "sub").chmod(0o750)
    return folder


def make_pair(source):
    """Two equal folders; "a" is kept."""
    make_folder(source / "a")
    copy_tree(source / "a", source / "b")
    return source / "a", source / "b"


def entry(path):
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    content = (path.read_bytes() if stat.S_ISREG(kind) else
               os.readlink(path) if stat.S_ISLNK(kind) else None)
    attributes = {} if stat.S_ISLNK(kind) else {
        name: os.getxattr(path, name) for name in os.listxattr(path)}
    return (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content,
            attributes)


def snapshot(folder):
    """{relative path: (mode, owner, group, mtime, content, attributes)} of a folder and all names
    in it; None if it does not exist."""
    if not os.path.lexists(folder):
        return None
    return {path.relative_to(folder): entry(path) for path in [folder, *folder.rglob("*")]}


def contents(found):
    """What a snapshot has besides the times of its directories."""
    return {path: (mode, *owner, content, attributes) if stat.S_ISDIR(mode) else
            (mode, *owner, time, content, attributes)
            for path, (mode, *owner, time, content, attributes) in found.items()}


def thrown_away(home):
    """{original path: path} of the home trash; each folder has an info file."""
    trash = home / ".local/share/Trash"
    if not (trash / "files").exists():
        return {}
    found = {unquote(info.read_text().split("\n")[1][5:]): trash / "files" / info.stem
             for info in (trash / "info").iterdir()}
    assert set(found.values()) == set((trash / "files").iterdir())
    return found


def private_names(*folders):
    return [path for folder in folders for path in Path(folder).rglob(f"{OTHER}*")]


def act_words(act, source, moved, *options):
    """The words of an act, by its name in ACTS."""
    return [*ACTS[act], "--folders", "--yes", *options, source,
            *([moved] if act == "move" else [])]


def act_while(twinfs, words, change, **where):
    """Calls change() while the act is held at a system call, by default the first renameat2().
    Returns (status, error)."""
    with twinfs.held(*words, **{"call": "renameat2"} | where) as process:
        assert process.poll() is None, process.communicate()
        change()
        release(process)
        _, error = process.communicate(timeout=60)
    return process.returncode, error.decode()


def is_being_emptied(source, gone):
    """Whether this name is gone of a folder that is being emptied."""
    return any(not (folder / gone).exists() for folder in source.glob(f"{OTHER}*"))


def act_after(twinfs, words, change):
    """Calls change() after the act was planned, and before it opens a folder. Returns (status,
    error)."""
    journal = twinfs.index / "acts"
    journal.touch(0o600)
    return act_while(twinfs, words, change, call="flock", flags=("-P", str(journal)))

# SPDX-License-Identifier: MIT
"""An independent model of the choice of the kept copy among equal files (twinfs(1))."""
import contextlib
import ctypes
import fnmatch
import os
import re
import struct

AT_SYMLINK_NOFOLLOW, STATX_BTIME = 0x100, 0x800  # linux/stat.h
SECOND_NS = 10**9
MARKS = re.compile(
    rb"^\.|~$"
    rb"|(?<![A-Za-z\x80-\xff0-9])"
    rb"(?:backups?|bak|bkp|copied|cop(?:y|ies|ie|ia)|duplicates?|old|kopien?)[0-9]*"
    rb"(?![A-Za-z\x80-\xff0-9])"
    rb"|.[(\[][0-9]{1,3}[)\]](?:\.|$)", re.IGNORECASE | re.DOTALL)
SNAPSHOT, CACHE, TRASH, MEMORY = range(1, 5)  # places that something else empties, best first
PLACES = {
    SNAPSHOT: re.compile(
        rb"/(?:\.snapshots/[0-9]+/snapshot|\.zfs/snapshot|[.~#]snapshot|\.snap|@Recently-Snapshot"
        rb"|timeshift(?:-btrfs)?/snapshots)/"),
    TRASH: re.compile(
        rb"/(?:Trash/(?:files|info|expunged)|\.Trash(?:-[0-9]+|es)?|Network Trash Folder"
        rb"|(?i:\$recycle\.bin|recycler|recycled)|\.recycle|\.Recycle\.Bin|#recycle|@Recycle"
        rb"|Network Recycle Bin [0-9]+|files_trashbin|files_versions|__groupfolders/trash"
        rb"|\.stversions|\.sync/Archive|\.SyncArchive|\.trashcan|\.dropbox\.cache|\.debris)/"),
}
CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def opened_folder(path):
    """A descriptor of the folder of a file, whose path can be too long for one system call."""
    handle = os.open("/", os.O_PATH)
    try:
        for name in filter(None, os.path.dirname(path).split(b"/")):
            above, handle = handle, os.open(name, os.O_PATH, dir_fd=handle)
            os.close(above)
        yield handle
    finally:
        os.close(handle)


def birth_ns(name, folder):
    """The birth time of a file, or infinity if it has none."""
    buffer = ctypes.create_string_buffer(256)
    if LIBC.statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, buffer) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    mask, = struct.unpack_from("=I", buffer, 0)
    seconds, ns = struct.unpack_from("=qI", buffer, 80)
    return seconds * SECOND_NS + ns if mask & STATX_BTIME else float("inf")


def count_marks(path):
    return sum(bool(MARKS.search(name)) for name in path.split(b"/"))


def matches(glob, path):
    """Whether the glob matches the path or a folder above it, name by name."""
    names = path.split(b"/")
    if b"/" not in glob.rstrip(b"/"):
        return any(fnmatch.fnmatchcase(name, glob.rstrip(b"/"))
                   for name in names[:-1 if glob.endswith(b"/") else None])
    globs = glob.strip(b"/").split(b"/")
    return len(names) >= len(globs) + glob.endswith(b"/") and all(
        map(fnmatch.fnmatchcase, names, globs))


def score(rule, absolute, name, status):
    """The score of a name, (tree, path, seen), by a keep rule: the least score is preferred."""
    tree, path, seen = name
    if rule in ("oldest", "newest"):
        return status.st_mtime_ns * (1 if rule == "oldest" else -1)
    if rule in ("shortest-path", "longest-path"):
        return len(absolute) * (1 if rule == "shortest-path" else -1)
    if rule.startswith("path:"):
        return not matches(rule.removeprefix("path:").replace("\\", "").encode(), path)
    return {"source-order": tree, "first-seen": seen, "most-linked": -status.st_nlink}[rule]


def is_in_cache(path):
    """Whether a folder above the path has the tag of a cache."""
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        with contextlib.suppress(OSError):
            tag = os.path.join(path, b"CACHEDIR.TAG")
            if not os.path.islink(tag):
                with open(tag, "rb") as file:
                    if file.read(len(CACHE_TAG)) == CACHE_TAG:
                        return True
    return False


def stays(best, found, several=False):
    """Whether acts leave a copy at its place, if the kept copy is at the best one. several: it has
    names in other places, too."""
    return (found == SNAPSHOT or found > best and (found == TRASH or best > 0) or
            several and best > 0)


def place(absolute):
    """The place of a file, as far as folders tell."""
    found = [number for number, names in PLACES.items() if names.search(absolute)]
    return max([0, CACHE * is_in_cache(absolute), *found])


def freed_by(group, unique, absolute):
    """The bytes that acts free that remove the inodes without a name in uniques/. If one of those
    at the best place stays, acts keep that one."""
    places = [{place(absolute(name)) for name in inode.names} for inode in group]
    best = min(map(min, places))
    stay = [stays(best, min(its), len(its) > 1) for its in places]
    keep = any(stays and min(its) == best for stays, its in zip(stay, places, strict=True))
    return sum(inode.freed for inode, stays in zip(group, stay, strict=True)
               if not stays and (keep or unique.keys().isdisjoint(inode.names)))


def preference(root, tree, path, seen=0, rules=()):
    """A key of a name: the name with the least key is preferred. seen: when its inode was found.

    The first 1 + len(rules) items of the key decide also over a copy that is kept already.
    """
    absolute, name = os.path.join(root, path), os.path.basename(path)
    with opened_folder(absolute) as folder:
        status = os.lstat(name, dir_fd=folder)
        birth = birth_ns(name, folder)
    return (place(absolute),
            *(score(rule, absolute, (tree, path, seen), status) for rule in rules),
            tree, seen, status.st_mtime_ns // (2 * SECOND_NS), count_marks(path),
            birth, path.count(b"/"), path)

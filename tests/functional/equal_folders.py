# SPDX-License-Identifier: MIT
"""Trees with equal folders, what list prints of them, and the tree hash of twinfs(5)."""
import os
import stat
import subprocess

import trees
from program import path_of


def xxh128(data):
    run = subprocess.run(["xxhsum", "-q", "-H2", "-"], input=data, capture_output=True, check=True)
    return run.stdout.split()[0].decode()


def entry(path):
    """The letter and the hash of a name, as twinfs(5) describes them."""
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        return b"d", tree_hash(path)
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            return b"f", xxh128(file.read())
    if stat.S_ISLNK(status.st_mode):
        return b"l", xxh128(os.readlink(path))
    if stat.S_ISFIFO(status.st_mode):
        return b"p", xxh128(b"")
    if stat.S_ISSOCK(status.st_mode):
        return b"s", xxh128(b"")
    device = b"%d:%d" % (os.major(status.st_rdev), os.minor(status.st_rdev))
    return (b"c" if stat.S_ISCHR(status.st_mode) else b"b"), xxh128(device)


def tree_hash(folder):
    folder = os.fsencode(folder)
    text = bytearray()
    for name in sorted(os.listdir(folder)):
        letter, digits = entry(os.path.join(folder, name))
        text += b"%s %s %s\0" % (letter, digits.encode(), name)
    return xxh128(bytes(text))


def copy_tree(folder, copy):
    """Copies a folder with its times, and with hard links in it. The copies were created later."""
    subprocess.run(["cp", "-a", "--", folder, copy], check=True)
    return copy


def make(folder, seed="a", size=5000):
    """A folder with a file, a subfolder with another file, and an empty file."""
    trees.fill(folder, {"one": trees.content((seed, 1), size),
                        "sub/two": trees.content((seed, 2), size),
                        "none": b""})
    return folder


def make_older(folder, seconds):
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            time = os.lstat(path).st_mtime_ns - seconds * 10**9
            os.utime(path, ns=(time, time), follow_symlinks=False)


def make_twins(source):
    """Two equal folders, and a folder that is equal to a folder in them."""
    make(source / "b")
    copy_tree(source / "b", source / "a")
    copy_tree(source / "b/sub", source / "c")
    return source


def listed(twinfs, *words):
    return twinfs.ok("list", "--folders", "--format=json", *words).json["groups"]


def names(group, source, fate=None):
    """The paths of the folders of a group below the source, the kept one first."""
    return [os.path.relpath(os.fsdecode(path_of(folder)), source) for folder in group["folders"]
            if fate is None or folder["fate"] == fate]


def kept(twinfs, source, *words):
    """The kept folders of all groups."""
    return {name for group in listed(twinfs, *words, source)
            for name in names(group, source, "kept")}


def fates(twinfs, source, *words):
    """{name: fate} of the only group."""
    group, = listed(twinfs, *words, source)
    return {os.path.relpath(folder["path"], source): folder["fate"]
            for folder in group["folders"]}

# SPDX-License-Identifier: MIT
"""Backups for tests: made from a view, restored, and compared with the source independently of the
program."""
import json
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import trees
import walk
from manual import ROOT
from processes import TIMEOUT
from program import path_of

RSYNC = ["rsync", "-aHAX", "--numeric-ids", "--modify-window=-1"]
SCRIPT = ROOT / "data/backup/backup"
STATE = ".twinfs-restore"  # the folder of an unfinished restore in its target


def rsync(source, backup, *options, user=()):
    """Copies with rsync; returns its output."""
    run = subprocess.run([*user, *RSYNC, *options, os.fsencode(source) + b"/", backup],
                         check=False, capture_output=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def everything(root):
    """A tree that rsync can copy: without times before 1970 and symlinks as long as PATH_MAX."""
    trees.small(root / "small")
    trees.sizes(root / "sizes")
    trees.odd_names(root / "names")
    trees.links(root / "links")
    os.unlink(root / "links/symlink long")
    trees.metadata(root / "metadata")
    for name in ("before", "minus one"):
        os.unlink(root / "metadata/times" / name)
    trees.special(root / "special")
    trees.sparse(root / "sparse", huge=1 << 22)
    for name in ("1 GiB one", "1 GiB two"):
        os.unlink(root / "sparse" / name)
    return root


@dataclass
class Backup:
    """A copy of uniques/ and its manifest."""
    manifest: Path
    copy: Path

    @property
    def lines(self):
        return [json.loads(line) for line in self.manifest.read_bytes().splitlines()]

    @property
    def names(self):
        """{path (bytes): line} of all lines but the first and the last one."""
        return {path_of(line): line for line in self.lines[1:-1]}


def content_of(line):
    """The bytes of the "content" of a line."""
    shown = {name.replace("content", "path"): value for name, value in line.items()
             if name.startswith("content")}
    return path_of(shown)


def copy_sparsely(source, backup):
    """Copies with rsync and keeps holes."""
    rsync(source, backup, "-S")


def copy_plainly(source, backup):
    """Copies with cp, which does not have the limits of rsync."""
    subprocess.run(["cp", "-a", f"{source}/.", backup], check=True)


def make(twinfs, folder, *sources, copy=copy_sparsely):
    """Makes a backup as the manual describes it."""
    backup = Backup(folder / "manifest", folder / "backup")
    backup.copy.mkdir()
    if twinfs.user:
        os.chown(backup.copy, twinfs.user.pw_uid, twinfs.user.pw_gid)
    with twinfs.mounted(*sources) as view:
        backup.manifest.write_bytes(twinfs.ok("manifest", view.path).out)
        copy(view.uniques, backup.copy)
        assert twinfs.ok("manifest", view.path).out == backup.manifest.read_bytes()
    return backup


def hash_of(data):
    """The XXH3-128 hash by xxhsum."""
    return subprocess.run(["xxhsum", "-q", "-H2", "-"], input=data, check=True,
                          capture_output=True).stdout.split()[0].decode()


def write_manifest(path, names, **end):
    """Writes a consistent manifest of these names; `end` replaces members of its last line."""
    lines = [{"twinfs_manifest": 1, "version": "0", "generation": 1, "sources": []}, *names]
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    last = {"lines": len(names), "hash": hash_of(text), **end}
    path.write_bytes(text + json.dumps(last).encode() + b"\n")


def name(path, content, data, **members):
    """A line for a file with this content."""
    return {"path": path, "content": content, "hash": hash_of(data), "size": len(data),
            "mode": "0644", "uid": os.geteuid(), "gid": os.getegid(), "mtime": 7,
            "mtime_ns": 5, **members}


def small_backup(folder, copies=(b"b",), data=b"bytes", **members):
    """A backup with one file and a manifest of copies of it."""
    backup = Backup(folder / "manifest", folder / "backup")
    trees.write(backup.copy / "a", data)
    write_manifest(backup.manifest, [
        name(path.decode(), "a", data, **members) for path in copies])
    return backup


class Script:
    """The script, with a folder to back up to."""

    def __init__(self, twinfs, folder):
        self.twinfs, self.folder = twinfs, folder / "disk"
        self.temporary = folder / "temporary"
        self.variables = {}  # of the environment
        for path in (self.folder, self.temporary):
            path.mkdir()
            if twinfs.user:
                os.chown(path, twinfs.user.pw_uid, twinfs.user.pw_gid)
        # a copy that plain users can reach
        self.path = shutil.copy(SCRIPT, folder)
        self.tools = folder / "tools"

    @property
    def backup(self):
        return Backup(self.folder / "manifest", self.folder / "files")

    def replace_tool(self, name, script):
        """Puts a shell script in front of a program."""
        self.tools.mkdir(exist_ok=True)
        (self.tools / name).write_text(f"#!/bin/sh\nprogram={shutil.which(name)}\n{script}\n")
        (self.tools / name).chmod(0o755)

    def __call__(self, *words, status=0):
        run = self.run(*words)
        assert run.returncode == status, run
        return run

    def run(self, *words):
        environment = {**self.twinfs.environment, "TWINFS": self.twinfs.session.binary,
                       "TMPDIR": os.fspath(self.temporary),
                       "PATH": f"{self.tools}:{os.environ['PATH']}", **self.variables}
        run = subprocess.run([*self.twinfs.as_user(), self.path, *words], env=environment,
                             stdin=subprocess.DEVNULL, capture_output=True, check=False,
                             timeout=TIMEOUT)
        assert os.listdir(self.temporary) == []  # the view is unmounted
        return run


def restore(twinfs, backup, target, *options, status=0):
    """Runs restore and checks its exit status."""
    result = twinfs("restore", *options, backup.manifest, backup.copy, target)
    assert result.status == status, result
    return result


def regular_files(root):
    """{path: inode number} of the files of a tree, without those in the folder STATE."""
    return {entry.path: entry.stat.st_ino for entry in walk.walk(root, xattrs=False)
            if entry.kind == stat.S_IFREG and not entry.path.startswith(STATE.encode())}


def differences(source, target):
    """The differences of two trees, without ctime, atime and sizes of folders."""
    source, target = os.fsencode(source), os.fsencode(target)
    trees_found = [list(walk.walk(root)) for root in (source, target)]
    wanted, found = ({entry.path: entry for entry in entries} for entries in trees_found)
    result = [f"{path!r} is only in one" for path in wanted.keys() ^ found.keys()]
    for path in wanted.keys() & found.keys():
        result += [f"{path!r}: {what}" for what in
                   _differences((source, wanted[path]), (target, found[path]))]
    links = [{frozenset(paths) for paths in _linked(entries)} for entries in trees_found]
    result += [f"hard links differ: {group!r}" for group in links[0] ^ links[1]]
    return result


def _linked(entries):
    groups = {}
    for entry in entries:
        if entry.kind != stat.S_IFDIR:
            groups.setdefault(entry.key, []).append(entry.path)
    return groups.values()


def _xattrs(entry):
    """Extended attributes without those by which xfs repeats ACLs."""
    return {key: value for key, value in entry.xattrs.items()
            if not key.startswith("trusted.SGI_ACL_")}


def _differences(left, right):
    (source, wanted), (target, found) = left, right
    fields = ["st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_rdev"]
    if wanted.kind != stat.S_IFDIR:
        fields.append("st_size")
    for field in fields:
        if getattr(wanted.stat, field) != getattr(found.stat, field):
            yield f"{field} is {getattr(found.stat, field)}, not {getattr(wanted.stat, field)}"
    if wanted.target != found.target:
        yield f"leads to {found.target!r}"
    if _xattrs(wanted) != _xattrs(found):
        yield f"xattrs are {found.xattrs}, not {wanted.xattrs}"
    if wanted.kind == stat.S_IFREG:
        if walk.digest(source, wanted.path) != walk.digest(target, found.path):
            yield "other content"
        if found.stat.st_blocks > wanted.stat.st_blocks + 16:
            yield f"takes {found.stat.st_blocks} blocks, not {wanted.stat.st_blocks}"


def check_same(source, target):
    """Asserts that differences() and rsync find no difference."""
    assert differences(source, target) == []
    assert rsync(source, target, "-nc", "--delete", "-i") == b""

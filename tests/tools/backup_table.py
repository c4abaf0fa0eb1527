#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Backup programs on uniques/: what each reads, what its copy lacks, and what `restore` makes.

  backup_table.py --binary TWINFS [--install] [--only NAME]... [--output FILE]
      Makes a tree, mounts a view of it, and runs each program four times: on the new view, without
      a change, after a remount, and after kept copies went or changed, so that other names are
      shown. Restores what the program stored and compares it with uniques/, runs `twinfs restore`
      on it and compares that with the tree. Prints the table; FILE gets a line of JSON for each
      program.
  backup_table.py --render
      Writes what backup_table.jsonl has to README.md and man/twinfs.5.

Needs root, for files of other owners, strace, and a file system with extended attributes and ACLs
for temporary files (TMPDIR). --install installs the programs of Debian with apt-get, and those that
Debian lacks with go, in a temporary folder. A program that is not there is named and left out.

What a program reads is what its system calls return of files below uniques/: strace sees the calls
of all of its processes. A mapping counts as read. io_uring would not be seen, so its use is an
error.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "functional"))

import backup_text  # noqa: E402
import trees  # noqa: E402
import walk  # noqa: E402
from backup_programs import PROGRAMS  # noqa: E402

MIB = 1 << 20
STATES = ("first", "second", "remounted", "changed")
CALLS = "read,pread64,readv,preadv,preadv2,sendfile,splice,copy_file_range,mmap,io_uring_setup"
CALL = re.compile(r"(\w+)\((.*)\) += (0x[0-9a-f]+|-?\d+)")
OTHER_MOUNTS = 200
QUIET_SECONDS = 3  # programs distrust files that changed in the last second or two
ROOT, OF_ROOT = "root: ", "attributes of the root"
ATTRIBUTES = ("holes", "times", "nanoseconds", "modes", "owners", "xattrs", "ACLs")
KINDS = {stat.S_IFDIR: " of folders", stat.S_IFLNK: " of symlinks"}
LOST = ("content", "names that are not UTF-8", "files", "empty folders", "folders", "symlinks",
        "FIFOs", "hard links", *(what + of for what in ATTRIBUTES for of in ("", *KINDS.values())),
        OF_ROOT)


# ---- the tree -----------------------------------------------------------------------------------

def make_source(root):
    """Files of all kinds, some equal, whose times do not depend on the moment."""
    for number, size in enumerate((0, 1, 100, 4096, 5000, 100_000, MIB + 7, 5 * MIB)):
        trees.fill(root / "sizes", {f"{size} bytes": trees.content(number, size)})
    for name in ("removed", "rewritten", "copied twice"):
        data = trees.content(hash_of(name), MIB)
        trees.fill(root, {f"photos/{name}.jpg": data, f"an album/{name} (1).jpg": data})
    trees.fill(root, {"an album/copied twice (2).jpg": trees.content(hash_of("copied twice"), MIB),
                      "links/one": trees.content(20, 50_000), "links/equal": b"equal",
                      "other links/equal": b"equal", "modes/none": b"none",
                      "modes/set-user": b"set", "modes/read-only": b"read",
                      "owner": b"owner", "xattr": b"xattr", "acl": b"acl",
                      b"names/caf\xe9": b"Latin-1", "names/caf\u00e9": b"UTF-8",
                      "names/with  spaces ": b"spaces"})
    os.link(root / "links/one", root / "links/two")
    os.link(root / "other links/equal", root / "other links/again")
    (root / "empty").mkdir()
    os.symlink("../sizes", root / "links/folder")
    os.symlink("no such file", root / "links/dangling")
    os.mkfifo(root / "fifo")
    with open(root / "sparse", "wb") as file:
        file.write(trees.content(21, 65536))
        file.seek(8 * MIB)
        file.write(trees.content(22, 65536))
        file.truncate(16 * MIB)
    set_attributes(root)


def hash_of(name):
    return 1000 + sum(name.encode())


def set_attributes(root):
    os.chown(root / "owner", 1234, 2345)
    for path in ("xattr", "names"):
        os.setxattr(root / path, "user.note", b"a \0 value")
    subprocess.run(["setfacl", "-m", "u:1234:rw", root / "acl"], check=True)
    subprocess.run(["setfacl", "-m", "u:1234:rx,d:u:1234:rx", root / "names"], check=True)
    for path, mode in (("modes/none", 0), ("modes/set-user", 0o4755), ("modes/read-only", 0o400),
                       ("names", 0o1777), ("empty", 0o500)):
        os.chmod(root / path, mode)
    for number, path in enumerate(sorted([root, *root.rglob("*")], reverse=True)):
        at = (10**9 + number * 1000) * 10**9 + 123_456_789
        os.utime(path, ns=(at, at), follow_symlinks=False)
    time.sleep(1)
    os.chmod(root / "owner", 0o640)  # one file has the newest ctime: borg reads such files again


def change_kept_copies(root, uniques):
    """Removes one kept copy and rewrites another; returns the names that uniques/ then has new or
    changed: those of their promoted copies, and the rewritten one."""
    removed, rewritten = root / "photos/removed.jpg", root / "photos/rewritten.jpg"
    for path in (removed, rewritten):
        assert (uniques / path.relative_to(root)).exists(), f"{path} is not the kept copy"
    removed.unlink()
    rewritten.write_bytes(trees.content(30, MIB // 2))
    return {"an album/removed (1).jpg", "an album/rewritten (1).jpg"}, {"photos/rewritten.jpg"}


# ---- the view -----------------------------------------------------------------------------------

@dataclass
class View:
    binary: str
    folder: Path

    @property
    def source(self):
        return self.folder / "source"

    @property
    def path(self):
        return self.folder / "view"

    @property
    def uniques(self):
        return self.path / "uniques"

    def twinfs(self, *words, status=(0,)):
        run = subprocess.run([self.binary, *words], check=False, capture_output=True)
        assert run.returncode in status, run
        return run

    def mount(self):
        self.twinfs("mount", "--wait", "--quiet", f"--index={self.folder / 'index'}", self.source,
                    self.path)

    def unmount(self):
        self.twinfs("unmount", self.path)

    def sync(self):
        (self.path / ".twinfs/sync").read_bytes()

    def regular_files(self):
        """{path: inode number} of the files that have bytes."""
        return {os.fsdecode(entry.path): entry.stat.st_ino
                for entry in walk.walk(self.uniques, xattrs=False)
                if entry.kind == stat.S_IFREG and entry.stat.st_size}


# ---- one run ------------------------------------------------------------------------------------

@dataclass
class Row:
    """What was seen of one program."""
    program: object
    version: str = ""
    reads: dict = field(default_factory=dict)  # {state: {"files", "of", "bytes"}}
    others: int = 0  # files without a change that were read after the change
    missed: list = field(default_factory=list)
    lost: dict = field(default_factory=dict)
    lost_after_restore: dict = field(default_factory=dict)
    restore_status: int = 0  # of twinfs
    failed: dict = field(default_factory=dict)  # {state: exit status of the program}
    without: dict = field(default_factory=dict)  # what the program did without the option it needs

    def as_json(self):
        shown = {name: value for name, value in vars(self).items() if name != "program"}
        return {"program": self.program.name, "prepare": self.program.prepare,
                "backup": self.program.backup, "restore": self.program.restore,
                "within": self.program.within, "variables": self.program.variables,
                "note": self.program.note, **shown}


class Run:
    """A program with its repository."""

    def __init__(self, view, program, folder=""):
        self.view, self.program = view, program
        self.folder = (folder or program.name).replace(" ", "_")
        self.is_variant = bool(folder)
        self.repo = view.folder / "stored" / self.folder
        self.repo.mkdir(parents=True)
        self.row = Row(program, version_of(program))
        self.number = 0
        if program.prepare:
            self.shell("prepare", program.prepare)

    @property
    def copy(self):
        """The copy of uniques/."""
        return self.out / self.program.within if self.program.restore else self.repo

    @property
    def out(self):
        return self.view.folder / "restored" / self.folder

    def shell(self, state, command, tracer=()):
        repo = os.fspath(self.repo)
        variables = {name: value.replace("$repo", repo)
                     for name, value in self.program.variables.items()}
        environment = {**os.environ, **variables, "repo": repo, "n": str(self.number),
                       "out": os.fspath(self.out), "HOME": os.fspath(self.view.folder / "home"),
                       "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": os.fspath(self.view.folder / "cache")}
        run = subprocess.run([*tracer, "sh", "-c", command], cwd=self.view.folder, check=False,
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        if run.returncode:
            self.row.failed[state] = run.returncode
            sys.stderr.write(f"{self.program.name}: status {run.returncode}: {command}\n"
                             + run.stderr.decode(errors="replace")[-600:] + "\n")

    def backup(self, state):
        """Runs the program; returns the paths that it read."""
        self.number += 1
        files, before = self.view.regular_files(), stored_bytes(self.repo)
        with tempfile.TemporaryDirectory(dir=self.view.folder) as trace:
            self.shell(state, self.program.backup, tracer=(
                "strace", "-ff", "-qq", "-y", "-s", "0", "--seccomp-bpf", "-e", f"trace={CALLS}",
                "-o", f"{trace}/calls"))
            read = bytes_read(Path(trace), os.fspath(self.view.uniques) + "/")
        stored = stored_bytes(self.repo) - before
        inodes = {files[path] for path in read if path in files}
        unknown = read.keys() - files.keys()
        assert not unknown, unknown
        self.row.reads[state] = {"files": len(inodes), "of": len(set(files.values())),
                                 "bytes": sum(read.values()), "stored": stored}
        return set(read)

    def restore(self):
        if self.program.restore:
            self.out.mkdir(parents=True)
            self.shell("restore", self.program.restore)


def stored_bytes(repo):
    return sum(os.lstat(path).st_blocks * 512 for path in repo.rglob("*") if not path.is_dir())


def bytes_read(folder, prefix):
    """{path below the prefix: bytes} of all calls of all threads."""
    found = {}
    for trace in folder.iterdir():
        for line in trace.read_text(errors="surrogateescape").splitlines():
            assert not line.startswith("io_uring_setup") or "= -1" in line, line
            match = CALL.match(line)
            path = re.search("<(" + re.escape(prefix) + "[^>]*)>", line)
            if not match or not path or match[3].startswith("-"):
                continue
            count = int(match[3], 0)
            if match[1] == "mmap":  # a mapping that cannot be read is for mincore(2)
                length, protection = match[2].split(", ")[1:3]
                count = int(length) if "PROT_READ" in protection else 0
            name = unescape(path[1][len(prefix):])
            if count:
                found[name] = found.get(name, 0) + count
    return found


def unescape(text):
    """A path as strace prints it: other bytes than ASCII as octal numbers."""
    plain = re.sub(rb"\\([0-7]{1,3})", lambda match: bytes([int(match[1], 8)]),
                   os.fsencode(text))
    return os.fsdecode(plain)


def version_of(program):
    command = program.version or f"{program.name} --version"
    run = subprocess.run(["sh", "-c", command], check=False, capture_output=True)
    return re.search(r"\d+(\.[\d.]+)?", (run.stdout + run.stderr).decode())[0]


# ---- the oracle ---------------------------------------------------------------------------------

def losses(wanted_root, found_root, missed):
    """What the second tree lacks of the first one: {word of LOST: a path}; `missed` is left out."""
    wanted, found = (tree_of(root) for root in (wanted_root, found_root))
    lost = {}
    for path, entry in wanted.items():
        if os.fsdecode(path) in missed:
            continue
        if path in found:
            words = losses_of(entry, found[path], (wanted_root, found_root))
        else:
            words = [kind_of(entry, wanted)]
        for word in words:
            lost.setdefault(word, os.fsdecode(path))
    links = [groups_of(entries, wanted.keys() & found.keys()) for entries in (wanted, found)]
    if not links[0] <= links[1]:
        lost["hard links"] = os.fsdecode(min(min(names) for names in links[0] - links[1]))
    if any(word[len(ROOT):] + KINDS[stat.S_IFDIR] not in lost for word in lost
           if word.startswith(ROOT)):
        lost[OF_ROOT] = ""
    assert not [word for word in lost if word not in LOST and not word.startswith(ROOT)], lost
    return {word: lost[word] for word in LOST if word in lost}


def tree_of(root):
    return {entry.path: entry for entry in walk.walk(root)}


def groups_of(entries, paths):
    groups = {}
    for path in paths:
        if entries[path].kind == stat.S_IFREG:
            groups.setdefault(entries[path].key, set()).add(path)
    return {frozenset(names) for names in groups.values()}


def kind_of(entry, tree):
    """The word for an entry that is missing."""
    try:
        entry.path.decode()
    except UnicodeDecodeError:
        return "names that are not UTF-8"
    if entry.kind == stat.S_IFDIR:
        is_empty = not any(path.startswith(entry.path + b"/") for path in tree)
        return "empty folders" if is_empty else "folders"
    return {stat.S_IFREG: "files", stat.S_IFLNK: "symlinks", stat.S_IFIFO: "FIFOs"}[entry.kind]


def losses_of(entry, found, roots):
    if entry.kind != found.kind or entry.target != found.target:
        yield kind_of(entry, {})
        return
    for what in attributes_lost(entry, found):
        yield what + KINDS.get(entry.kind, "") if entry.path else ROOT + what
    if entry.kind == stat.S_IFREG:
        digests = [walk.digest(os.fsencode(root), entry.path) for root in roots]
        if digests[0] != digests[1]:
            yield "content"
        if found.stat.st_blocks > entry.stat.st_blocks + 16:
            yield "holes"


def attributes_lost(entry, found):
    times = [status.st_mtime_ns for status in (entry.stat, found.stat)]
    if times[0] != times[1]:
        yield "nanoseconds" if times[0] // 10**9 == times[1] // 10**9 else "times"
    if entry.stat.st_mode != found.stat.st_mode:
        yield "modes"
    if (entry.stat.st_uid, entry.stat.st_gid) != (found.stat.st_uid, found.stat.st_gid):
        yield "owners"
    for name in entry.xattrs.keys() | found.xattrs.keys():
        if entry.xattrs.get(name) != found.xattrs.get(name):
            yield "ACLs" if name.startswith("system.posix_acl") else "xattrs"


# ---- all programs -------------------------------------------------------------------------------

def install(folder):
    packages = {name for program in PROGRAMS if not program.module
                for name in program.packages or (program.name,)}
    subprocess.run(["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "acl",
                    "strace", *sorted(packages)], check=True, stdout=sys.stderr,
                   env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    for program in PROGRAMS:
        if program.module and not shutil.which(program.name) and shutil.which("go"):
            subprocess.run(["go", "install", program.module], check=False,
                           env={**os.environ, "GOBIN": os.fspath(folder)})
    os.environ["PATH"] += f":{folder}"


def available(only):
    for program in PROGRAMS:
        if only and program.name not in only:
            continue
        if shutil.which(program.name.split()[0]):
            yield program
        else:
            print(f"{program.name}: not installed, left out", file=sys.stderr)


def rows_of(view, programs):
    """Runs all programs in each state."""
    make_source(view.source)
    for name in ("view", "home", "cache"):
        (view.folder / name).mkdir()
    time.sleep(QUIET_SECONDS)
    with mounted(view):
        runs = [run for program in programs for run in runs_of(view, program)]
        for state in ("first", "second"):
            for run in runs:
                run.backup(state)
        remount(view)
        for run in runs:
            run.backup("remounted")
        promoted, rewritten = change_kept_copies(view.source, view.uniques)
        view.sync()
        time.sleep(QUIET_SECONDS)
        manifest = view.folder / "manifest"
        view.twinfs("manifest", "--all", f"--output={manifest}", view.path)
        for run in runs:
            read = run.backup("changed")
            run.row.others = len(read - promoted - rewritten)
        for run in runs:
            judge(run, promoted, manifest)
    return rows_with_variants(runs)


def runs_of(view, program):
    """A run, and one without the option that the program needs."""
    yield Run(view, program)
    if program.needs:
        without = program.backup.replace(program.needs, "")
        yield Run(view, dataclasses.replace(program, backup=without, needs=""),
                  f"{program.name} without")


def rows_with_variants(runs):
    rows = {run.program.name: run.row for run in runs if not run.is_variant}
    for run in runs:
        row = rows[run.program.name]
        if run.is_variant:
            row.without = {"option": row.program.needs.strip(), "reads": run.row.reads,
                           "missed": run.row.missed}
    return list(rows.values())


def judge(run, promoted, manifest):
    """Restores what the program stored, with it and with twinfs, and compares."""
    view, row = run.view, run.row
    run.restore()
    row.missed = sorted(path for path in promoted if not (run.copy / path).exists())
    row.lost = losses(view.uniques, run.copy, row.missed)
    target = view.folder / "target" / run.folder
    target.parent.mkdir(exist_ok=True)
    result = view.twinfs("restore", "--quiet", manifest, run.copy, target, status=(0, 1, 3))
    row.restore_status = result.returncode
    if row.restore_status:
        sys.stderr.write(f"{row.program.name}: restore: " + result.stderr.decode(errors="replace"))
    row.lost_after_restore = losses(view.source, target, ()) if target.exists() else {"all": ""}


def remount(view):
    """Mounts the view as another device. The kernel gives the lowest number that is free, so other
    mounts take the numbers up to that of the view meanwhile."""
    before = view.uniques.stat().st_dev
    view.unmount()
    with contextlib.ExitStack() as others:
        for number in range(OTHER_MOUNTS):
            other = view.folder / f"other{number}"
            other.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", other], check=True)
            others.callback(subprocess.run, ["umount", other], check=True)
            if other.stat().st_dev == before:
                break
        view.mount()
    assert view.uniques.stat().st_dev != before


@contextlib.contextmanager
def mounted(view):
    view.mount()
    try:
        yield
    finally:
        view.unmount()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if options.render:
        backup_text.write(backup_text.load())
        return
    if not options.binary or os.geteuid() != 0:
        parser.error("needs root and --binary, or --render")
    with tempfile.TemporaryDirectory(prefix="twinfs-backups-") as top:
        if options.install:
            install(Path(top) / "bin")
        view = View(os.fspath(options.binary.resolve()), Path(top) / "work")
        view.folder.mkdir()
        rows = [row.as_json() for row in rows_of(view, list(available(options.only)))]
    if options.output:
        options.output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sys.stdout.write(backup_text.markdown(rows))


if __name__ == "__main__":
    main()

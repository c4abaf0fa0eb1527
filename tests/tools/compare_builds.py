#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what two builds print and write on fixed trees: every format for scripts, the texts of
--help, messages, exit statuses, the files of acts, and the bytes of the index of a first scan.

The clock stands still and random numbers repeat (libfaketime), so that only times and inode numbers
of the kernel have to be ignored.

usage: compare_builds.py OLD NEW

Prints what differs. Exit status: 0 if nothing differs, 1 if something does.
"""
import contextlib
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "functional"))

import trees  # noqa: E402

STATE = Path("/var/lib/twinfs")  # of root
COMMANDS = (
    "mount", "unmount", "scan", "list", "report", "copies", "covered", "path", "remove", "move",
    "link", "dedupe", "log", "undo", "recover", "index", "status", "doctor", "check",
    "manifest", "restore", "export", "digest", "attest", "help", "version",
)
FORMATS = ("text", "json", "jsonl", "null", "csv", "fdupes")
PLANS = ("text", "json", "jsonl", "null")  # formats of a dry run and of covered
SELECTIONS = (["--redundant"], ["--explain"], ["--folders"], ["--folders", "--all"],
              ["--folders", "--explain"], ["--min-size=2000"], ["--regex=one"], ["--keep=newest"],
              ["--only=SOURCE/b"], ["--protect=SOURCE/a"], ["--sort=size", "--top=2"],
              ["--ext=txt"], ["--copies=3"], ["--same-name"], ["--include-bundles"])
LISTS = (["--summary"], ["--summary", "--format=json"], ["--singles"],
         ["--singles", "--format=null"], ["--singles", "--format=jsonl"], ["--similar"],
         ["--similar", "--format=jsonl"], ["--missing-from=SOURCE/b"])
ACTS = (["remove"], ["remove", "--trash"], ["remove", "--folders"], ["link"],
        ["link", "--symbolic"], ["move", "SOURCE", "MOVED"],
        ["move", "--folders", "SOURCE", "MOVED"], ["dedupe"])
KILLED = (("renameat2", 1), ("renameat2", 2), ("unlinkat", 2), ("fdatasync", 2), ("write", 4))

# What no build decides: inode numbers, times that the kernel gives, and durations.
IGNORED = (
    (rb'(\\?"(?:ino|dev|inode|\w+[ _]inode|born|\w+[ _]born|\w*ctime(?:_ns)?|root file system|'
     rb'filesystem|kept_changed|pid|pid_namespace)\\?": ?)-?\d+', rb"\1N"),
    (rb'("read":")\w+-\w+', rb"\1N"),
    # of a whole file with such numbers
    (rb'("lines":\d+,"hash":"|"sha256": "|"bytes": )\w+', rb"\1N"),
    (rb"(?m)^(time|compared|on disk) .*$", rb"\1"),
    (rb"process \d+|[\d,]+ (?:of [\d,]+ inotify|more directories)", b"N"),
    (rb"\.twinfs~[0-9a-f]{16}", b".twinfs~N"),
    (rb"(_seconds(?:_\w+)?(?:\{[^}]*\})?) [\d.e+-]+", rb"\1 N"),
)
# files of the state with such numbers, or that a killed scan has or lacks
UNLIKE = ("boot", "seal", "owner", ".twinfs-own", "scanned")


class Build:
    """Runs one build, and keeps what it printed and wrote."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.source, self.moved = folder / "source", folder / "moved"
        self.found = {}
        [library] = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        self.environment = {
            "HOME": f"{folder}/home", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "LD_PRELOAD": library, "FAKETIME": "2026-01-01 00:00:00", "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKERANDOM_SEED": "0x12345678DEADBEEF"}

    def run(self, *words, kill=None, wrong=False):
        words = [str(word).replace("SOURCE", str(self.source)).replace("MOVED", str(self.moved))
                 for word in words]
        command = [self.program, *words]
        if kill:
            command = ["strace", "-f", "-o", "/dev/null", "-e",
                       "inject={}:signal=KILL:when={}".format(*kill), *command]
        result = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL,
                                check=False, capture_output=True, timeout=300, cwd=self.folder)
        assert wrong or result.returncode != 2, result
        self.note(" ".join(words) + (f" killed at {kill}" if kill else ""),
                  b"status %d\n" % result.returncode + result.stdout + b"stderr\n" + result.stderr)
        return result

    def note(self, name, data):
        """Keeps the data under this name, or under the name with a number."""
        for pattern, replacement in IGNORED:
            data = re.sub(pattern, replacement, data)
        number = 1
        while f"{name} #{number}" in self.found:
            number += 1
        self.found[f"{name} #{number}"] = data

    def make_source(self):
        for folder in (self.source, self.moved, self.folder / "home", *STATE.iterdir()):
            trees.remove(folder)
        for folder in (self.source, self.moved, self.folder / "home"):
            folder.mkdir()
        fill(self.source)


def fill(source):
    """Files of every kind that a list, an act or an inventory can have."""
    for folder in ("a", "b"):
        trees.fill(source / folder, {"one": trees.content(1, 5000), "none": b"",
                                     "sub/two": trees.content(2, 300),
                                     "sub/deep/three": trees.content(3, 70_000),
                                     "copy (1).txt": trees.content(4, 100)})
        os.symlink("one", source / folder / "link")
    trees.fill(source / "c", {b"one": trees.content(1, 5000), b"alone": trees.content(5, 4000),
                              b"n\nl": trees.content(4, 100), b"\xff": trees.content(2, 300),
                              "\u00fc \"q\"".encode(): trees.content(6, 10)})
    os.link(source / "c/one", source / "c/one again")
    os.mkfifo(source / "c/fifo")
    (source / ".Trash-1/files").mkdir(parents=True)
    (source / ".Trash-1/files/one").write_bytes(trees.content(1, 5000))
    os.setxattr(source / "a/one", "user.kind", b"letter")
    for number, path in enumerate([source, *sorted(source.rglob("*"))]):
        os.utime(path, (10**9 + number * 100,) * 2, follow_symlinks=False)


# ---- what is compared ---------------------------------------------------------------------------

def texts(build):
    build.run("--help")
    build.run("--version")
    build.run(wrong=True)
    for command in COMMANDS:
        build.run(command, "--help")
        build.run(command, "--no-such-option", wrong=True)
        build.run(command, "/no/such/folder", "/no/such/mount", wrong=True)


def lists(build):
    build.run("scan", "SOURCE")
    for words in ([], *SELECTIONS):
        for form in FORMATS:
            build.run("list", f"--format={form}", *words, "SOURCE", wrong=form != "text")
    for words in LISTS:
        build.run("list", *words, "SOURCE")
    build.run("list", "--between-sources", "SOURCE/a", "SOURCE/b", "SOURCE/c")
    build.run("list", "--no-scan", "SOURCE")
    build.run("report", "--html=report.html", "SOURCE")
    build.note("report.html", (build.folder / "report.html").read_bytes())
    build.run("copies", "SOURCE/a/one", "SOURCE/c/alone")
    build.run("copies", "--null", "SOURCE/a/one", "SOURCE/c/alone")
    build.run("copies", "--folder", "SOURCE/a/sub")
    for form in PLANS:
        build.run("covered", f"--format={form}", "SOURCE/a", "--by=SOURCE/b")
        build.run("covered", f"--format={form}", "SOURCE/c", "--by=SOURCE/b")
    for words in (["check"], ["check", "--quick"], ["manifest"], ["manifest", "--all"], ["doctor"]):
        build.run(*words, "SOURCE")
    build.run("index")
    build.run("status")
    build.run("export", "--host=name", "--output=inventory", "SOURCE")
    for path in sorted((build.folder / "inventory").rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".zst":
                data = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
            build.note(f"inventory/{path.relative_to(build.folder / 'inventory')}", data)
    trees.remove(build.folder / "inventory")


def views(build):
    mount = build.folder / "mount"
    mount.mkdir()
    build.run("mount", "--wait", "SOURCE", mount)
    try:
        files_of(build, mount)
        for words in (["status"], ["status", "--verbose"], ["list", "--format=json"], ["check"],
                      ["manifest"], ["remove", "--dry-run"]):
            build.run(*words, mount)
        build.run("path", mount / "uniques/a/one")
    finally:
        build.run("unmount", mount)
    mount.rmdir()


def files_of(build, mount):
    for path in sorted((mount / ".twinfs").iterdir()):
        if path.name not in ("events", "remap", "sync"):
            build.note(f".twinfs/{path.name}", path.read_bytes())
    names = sorted(os.fsencode(os.path.relpath(path, mount)) for path in mount.rglob("*")
                   if ".twinfs" not in path.parts)
    build.note("names of the view", b"\n".join(names))
    lines = [b"%s %s %s" % (os.fsencode(group.name), os.fsencode(key), os.getxattr(group, key))
             for group in sorted((mount / "dups").iterdir()) for key in sorted(os.listxattr(group))]
    build.note("attributes of groups", b"\n".join(lines))


def acts(build):
    for words in ACTS:
        operands = [] if "SOURCE" in words else ["SOURCE"]
        build.make_source()
        build.run(words[0], "--dry-run", *words[1:], *operands)
        for form in PLANS:
            build.run(words[0], "--dry-run", f"--format={form}", *words[1:], *operands,
                      wrong=form != "text")
        for kill in (None, *KILLED):
            build.make_source()
            build.run("scan", "SOURCE")
            build.run(words[0], "--yes", *words[1:], *operands, kill=kill)
            state(build, words)
            build.run("recover")
            state(build, words)
            build.run("log", "--format=jsonl")
            build.run("undo", "--yes")
            state(build, words)


def state(build, words):
    """The names of the source, and the files of the state folder that have text."""
    name = " ".join(words)
    found = [f"{path.relative_to(build.folder)} {os.lstat(path).st_nlink}"
             for top in (build.source, build.moved, build.folder / "home")
             for path in sorted(top.rglob("*"))]
    build.note(f"names after {name}", "\n".join(found).encode("utf-8", "surrogateescape"))
    for path in sorted(STATE.rglob("*")):
        if path.is_file() and path.suffix != ".mdb" and path.name not in UNLIKE:
            build.note(f"{path.name} after {name}", path.read_bytes())


def index_bytes(programs, folder):
    """The first scans of one tree, which gives the same inode numbers and times."""
    found = []
    for program in programs:
        build = Build(program, folder)
        if not found:
            build.make_source()
            build.run("scan", "SOURCE")  # marks the state, which takes a random number
        build.run("scan", f"--index={folder}/index", "SOURCE")
        dump = subprocess.run(["mdb_dump", "-a", folder / "index"], check=True, capture_output=True)
        found.append({"index": (folder / "index/data.mdb").read_bytes(), "dump": dump.stdout})
        trees.remove(folder / "index")
    return found


def differences(old, new):
    for name in [*old, *(name for name in new if name not in old)]:
        one, other = old.get(name, b""), new.get(name, b"")
        if one != other and name == "index":
            yield "index: other bytes\n"
        elif one != other:
            lines = (data.decode(errors="backslashreplace").splitlines() for data in (one, other))
            yield f"{name}:\n" + "".join(f"  {line}\n" for line in
                                         list(difflib.unified_diff(*lines, lineterm="", n=0))[2:])


@contextlib.contextmanager
def own_state():
    """Gives this process and its children, in a mount namespace of their own, an empty state."""
    with tempfile.TemporaryDirectory(prefix="twinfs-compare-") as top:
        for name in ("work", "state"):
            os.mkdir(f"{top}/{name}")
        subprocess.run(["mount", "--bind", f"{top}/state", STATE], check=True)
        try:
            yield Path(top) / "work"
        finally:
            subprocess.run(["umount", STATE], check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("compare_builds.py: needs root, for a state of its own")
    if "TWINFS_COMPARES" not in os.environ:
        os.environ["TWINFS_COMPARES"] = "yes"
        STATE.mkdir(mode=0o700, exist_ok=True)
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the same order of work each time
    programs, found = [os.path.abspath(path) for path in sys.argv[1:]], []
    with own_state() as folder:
        for program in programs:
            build, began = Build(program, folder), time.monotonic()
            for step in (texts, lists, views, acts):
                build.make_source()
                step(build)
            print(f"{program}: {len(build.found)} results, {time.monotonic() - began:.0f} s")
            found.append(build.found)
        for results, index in zip(found, index_bytes(programs, folder), strict=True):
            results.update(index)
    different = list(differences(*found))
    sys.stdout.write("".join(different))
    print(f"{len(different)} of {len(found[0])} differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()

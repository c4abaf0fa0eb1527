# SPDX-License-Identifier: MIT
"""A recursive watcher as chokidar and watchdog have one, in its own process.

It watches a folder and lists it, does the same for each folder whose creation is reported, and
changes its names by events only. Each event is recorded. It can also watch files.
"""
import contextlib
import ctypes
import json
import os
import select
import struct
import subprocess
import sys
from pathlib import Path

EVENTS = {0x4: "ATTRIB", 0x40: "MOVED_FROM", 0x80: "MOVED_TO", 0x100: "CREATE", 0x200: "DELETE",
          0x400: "DELETE_SELF", 0x800: "MOVE_SELF", 0x4000: "OVERFLOW", 0x8000: "IGNORED"}
IS_FOLDER = 0x40000000
ONLY_FOLDER, NO_FOLLOW = 0x01000000, 0x02000000


class Model:
    def __init__(self, *folders):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.queue = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.paths, self.names, self.events = {}, {}, []
        for path in folders:
            if os.path.isdir(path):
                self.add(path)
            else:
                self.watch(path, NO_FOLLOW)

    def watch(self, path, flags):
        mask = sum(number for number in EVENTS if number < 0x4000) | flags
        watch = self.libc.inotify_add_watch(self.queue, os.fsencode(path), mask)
        if watch >= 0:
            self.paths[watch] = path
        return watch >= 0

    def add(self, path):
        if not self.watch(path, ONLY_FOLDER | NO_FOLLOW):
            return
        self.names.setdefault(path, set())
        with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
            for entry in entries:
                self.names[path].add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    self.add(f"{path}/{entry.name}")

    def drop(self, path):
        for known in list(self.names):
            if known == path or known.startswith(f"{path}/"):
                del self.names[known]

    def take(self, watch, mask, cookie, name):
        kind = next(text for number, text in EVENTS.items() if mask & number)
        path = self.paths.get(watch, "")
        self.events.append([kind, path, name, bool(mask & IS_FOLDER), cookie])
        if kind in ("CREATE", "MOVED_TO"):
            self.names.setdefault(path, set()).add(name)
            if mask & IS_FOLDER:
                self.add(f"{path}/{name}")
        elif kind in ("DELETE", "MOVED_FROM"):
            self.names.get(path, set()).discard(name)
            if mask & IS_FOLDER:
                self.drop(f"{path}/{name}")
        elif kind == "DELETE_SELF":
            self.drop(path)
        elif kind == "IGNORED":
            self.paths.pop(watch, None)

    def read(self):
        while True:
            try:
                data = os.read(self.queue, 1 << 16)
            except BlockingIOError:
                return
            while data:
                watch, mask, cookie, length = struct.unpack_from("iIII", data)
                name = os.fsdecode(data[16:16 + length].rstrip(b"\0"))
                data = data[16 + length:]
                self.take(watch, mask, cookie, name)

    def state(self):
        return {"names": sorted(f"{path}/{name}" for path, names in self.names.items()
                                for name in names),
                "events": self.events, "watched": sorted(self.paths.values())}


def serve(folders):
    """Writes the state for each line of input."""
    model = Model(*folders)
    print("watching", flush=True)
    while True:
        ready = select.select([0, model.queue], [], [])[0]
        model.read()
        if 0 in ready:
            if not os.read(0, 1):
                return
            print(json.dumps(model.state()), flush=True)


class Recursive:
    """The client of a process that watches these folders of a view, and all folders in them."""

    def __init__(self, view, *folders):
        program = view.program
        command = [sys.executable, "-c", Path(__file__).read_text(), *map(str, folders)]
        self.program, self.folders = program, folders
        self.process = subprocess.Popen([*program.as_user(), *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=program.environment)
        assert self.process.stdout.readline() == b"watching\n"

    def state(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def events(self, *kinds):
        """[(event, folder relative to the watched one, name)] of these kinds."""
        return [(event[0], event[1], event[2]) for event in self.state()["events"]
                if not kinds or event[0] in kinds]

    def wrong(self):
        """Names that the watcher knows and do not exist, or exist and it does not know."""
        find = ["find", *map(str, self.folders), "-mindepth", "1", "-print0"]
        run = subprocess.run([*self.program.as_user(), *find], check=False, capture_output=True)
        there = {os.fsdecode(name) for name in run.stdout.split(b"\0") if name}
        return there ^ set(self.state()["names"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


if __name__ == "__main__":
    serve(sys.argv[1:])

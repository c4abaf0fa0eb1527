# SPDX-License-Identifier: MIT
"""Real programs that watch folders know all names of a view, after many changes of the source."""
import contextlib
import os
import random
import shutil
import subprocess
import threading

import pytest
import trees
from processes import end_process, until

WATCHDOG = """
import sys
from watchdog.events import FileSystemEventHandler
from watchdog.observers.inotify import InotifyObserver

class Printer(FileSystemEventHandler):
    def on_created(self, event):
        print("+" + event.src_path, flush=True)

    def on_deleted(self, event):
        print("-" + event.src_path, flush=True)

    def on_moved(self, event):
        print("-" + event.src_path + chr(10) + "+" + event.dest_path, flush=True)

observer = InotifyObserver()
observer.schedule(Printer(), sys.argv[1], recursive=True)
observer.start()
print("ready", flush=True)
observer.join()
"""
CHOKIDAR = """
const chokidar = require('chokidar');
const watcher = chokidar.watch(process.argv[1], {followSymlinks: false, ignoreInitial: true});
for (const [event, sign] of [['add', '+'], ['addDir', '+'], ['unlink', '-'], ['unlinkDir', '-']])
    watcher.on(event, path => console.log(sign + path));
watcher.on('ready', () => console.log('ready'));
"""
COMMANDS = {"watchdog": ("/usr/bin/python3", "-c", WATCHDOG), "chokidar": ("node", "-e", CHOKIDAR)}
CHECKS = {"watchdog": ("/usr/bin/python3", "-c", "import watchdog"),
          "chokidar": ("node", "-e", "require('chokidar')")}
MODULES = {**os.environ, "NODE_PATH": "/usr/share/nodejs:/usr/lib/nodejs"}
FOLDERS, ROUNDS = 40, 6


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")


def listing(root):
    return {os.path.join(folder, name) for folder, folders, files in os.walk(root)
            for name in folders + files}


class Names:
    """The names that a program knows: those at its start, and what it prints after that."""

    def __init__(self, output, root):
        self.output, self.root, self.known = output, str(root), None
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.output:
            line = line.rstrip("\n")
            if line == "ready":
                self.known = listing(self.root)
                self.ready.set()
            elif line.startswith("+"):
                self.known.add(line[1:])
            else:  # a folder that was moved away has taken its names with it
                gone = line[1:]
                self.known = {name for name in self.known
                              if name != gone and not name.startswith(gone + "/")}
        self.ready.set()

    def are(self, names):
        with contextlib.suppress(RuntimeError):  # the set changes meanwhile
            return self.known - {self.root} == names
        return False


@contextlib.contextmanager
def watching(program, root):
    if subprocess.run(CHECKS[program], env=MODULES, capture_output=True).returncode != 0:
        pytest.skip(f"needs {program}")
    with subprocess.Popen([*COMMANDS[program], root], env=MODULES, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            names = Names(process.stdout, root)
            assert names.ready.wait(60) and names.known is not None
            yield names
        finally:
            assert end_process(process.pid, 15)
            names.reader.join()


def storm(rng, source, number):
    """Changes by which files become equal or different, and folders too. In one storm, no name
    comes back: the programs would lose names of any file system then."""
    folders = sorted(source.iterdir())
    rng.shuffle(folders)
    for position, folder in enumerate(folders):
        match rng.randrange(8):
            case 0:
                shutil.rmtree(folder)
            case 1:
                folder.rename(source / f"moved {number} {position}")
            case 2:
                shutil.copytree(folder, source / f"copied {number} {position}")
            case 3:
                trees.write(folder / f"file {position % 4}", b"content %d" % rng.randrange(9))
            case 4:
                trees.write(folder / f"new {number}", b"%d" % (position // 3))
            case 5 if old := sorted(folder.iterdir()):
                old[0].unlink()
    for position in range(len(folders), FOLDERS):
        trees.write(source / f"folder {number} {position}/file", b"content %d" % rng.randrange(9))


# chokidar reads a folder at most once a second, and so misses names that come and go in it
@pytest.mark.parametrize(("program", "part"), [
    ("watchdog", "dups"), ("watchdog", "uniques"), ("watchdog", "by-size"), ("watchdog", "folders"),
    ("chokidar", "uniques")])
def test_a_watching_program_knows_the_names_after_storms(twinfs, source, program, part):
    rng = random.Random(f"{program} {part}")
    storm(rng, source, 0)
    with twinfs.mounted(source) as view, watching(program, view.path / part) as names:
        folders = sum(1 for _ in os.walk(view.path / part))
        # the names of the first moments after the begin of a watch are known in uniques/ only
        assert until(lambda: view.status()["refreshed"] >= folders)
        for number in range(1, ROUNDS + 1):
            storm(rng, source, number)
            view.sync()
            expected = listing(view.path / part)
            if not until(lambda expected=expected: names.are(expected), 60):
                assert names.known - {names.root} == expected


def test_lsyncd_copies_each_change(twinfs, source, tmp_path):
    need("lsyncd", "rsync")
    for number in range(FOLDERS):
        trees.write(source / f"folder {number}/file", b"%d" % (number // 2))
    target = tmp_path / "target"
    target.mkdir()
    with (twinfs.mounted(source) as view,
          subprocess.Popen(["lsyncd", "-nodaemon", "-delay", "1", "-rsync", view.uniques, target],
                           stdout=subprocess.DEVNULL) as lsyncd):
        def equal():
            return subprocess.run(["diff", "-r", view.uniques, target],
                                  capture_output=True).returncode == 0
        try:
            assert until(equal, 60)
            for number in range(FOLDERS):
                trees.write(source / f"folder {number}/new", b"new %d" % (number // 3))
            (source / "folder 1/file").unlink()
            shutil.rmtree(source / "folder 2")
            (source / "folder 3").rename(source / "folder x")
            view.sync()
            assert until(equal, 60)
        finally:
            assert end_process(lsyncd.pid, 15)


def test_fswatch_names_each_new_file(twinfs, source):
    need("fswatch")
    for number in range(FOLDERS):
        trees.write(source / f"folder {number}/file", b"%d" % number)
    with (twinfs.mounted(source) as view,
          subprocess.Popen(["fswatch", "-r", "--event=Created", view.uniques],
                           stdout=subprocess.PIPE, text=True) as fswatch):
        seen = set()
        reader = threading.Thread(target=lambda: seen.update(map(str.rstrip, fswatch.stdout)))
        reader.start()
        try:
            expected = {f"{view.uniques}/folder {number}/new" for number in range(FOLDERS)}
            assert until(lambda: view.status()["refreshed"] > FOLDERS)
            for number in range(FOLDERS):
                trees.write(source / f"folder {number}/new", b"new %d" % number)
            view.sync()
            assert until(lambda: seen.copy() >= expected, 60), expected - seen
        finally:
            assert end_process(fswatch.pid, 15)
            reader.join()


def test_entr_runs_a_command_after_each_change_of_a_file(twinfs, source):
    """entr watches files only, and again after the end of a watch."""
    need("entr")
    names = [f"folder {number}/file" for number in range(FOLDERS)]
    for number, name in enumerate(names):
        trees.write(source / name, b"%d" % number)
    with twinfs.mounted(source) as view:
        with subprocess.Popen(["entr", "-np", "echo", "/_"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as entr:
            entr.stdin.write("".join(f"{view.uniques / name}\n" for name in names))
            entr.stdin.close()
            try:
                for round_ in range(3):
                    assert until(lambda: view.status()["refreshed_files"] == FOLDERS)
                    trees.write(source / names[round_], b"another %d" % round_)
                    view.sync()
                    assert entr.stdout.readline() == f"{view.uniques / names[round_]}\n"
            finally:
                assert end_process(entr.pid, 15)

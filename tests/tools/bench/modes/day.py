# SPDX-License-Identifier: MIT
"""The index after a day of changes, which a mounted view follows. The changes are the same in each
run: every hour, files in random places are written, removed, renamed and created."""
import os
import random
import shutil
import time

from bench import agreement
from bench.modes.scale import add_index
from bench.runs import Failure, progress
from bench.twinfs import View

HOURS = 24
# In an hour, one file in this many is changed so.
WRITTEN, REPLACED, REMOVED, RENAMED = 400, 400, 400, 1000
MOST_BYTES = 1023
SLICE = 7  # one created file in this many is a copy of an older one


class Day:
    """A tree and the changes to it."""

    def __init__(self, root):
        self.root, self.random = root, random.Random("day")
        self.count = 0
        self.paths = sorted(os.path.join(folder, name)
                            for folder, _, names in os.walk(root) for name in names)

    def change(self, hour):
        """Makes the changes of one hour. The number of files stays the same."""
        total = len(self.paths)
        for path in self.some(total // WRITTEN):
            self.write(path)
        for path in self.some(total // REPLACED):
            self.write(f"{path}.new")
            os.rename(f"{path}.new", path)
        folder = self.root / f"hour-{hour:02}"
        folder.mkdir()
        for number in self.places(total // RENAMED):
            self.put(number, folder / f"renamed-{number}", os.rename)
        for number in self.places(total // REMOVED):
            old = self.paths[number]
            self.put(number, folder / f"new-{number}", self.create)
            os.unlink(old)

    def places(self, count):
        return self.random.sample(range(len(self.paths)), max(1, count))

    def some(self, count):
        return [self.paths[number] for number in self.places(count)]

    def put(self, number, path, make):
        make(self.paths[number], path)
        self.paths[number] = path

    def create(self, old, path):
        if self.random.randrange(SLICE) == 0:
            shutil.copyfile(old, path)
        else:
            self.write(path)

    def write(self, path):
        with open(path, "wb") as out:
            out.write(self.random.randbytes(self.random.randint(1, MOST_BYTES)))


def run(bench):
    count = bench.settings.files[0]
    text = f"{count} files, {HOURS} h"
    bench.title(f"a day of changes: {text}")
    for twinfs in reversed(bench.builds):  # the first build is last: its tree is compared
        root = bench.machine.fresh("day")
        bench.library.write_many(root, count)
        day = Day(root)
        twinfs.forget()
        with View(twinfs, [root]) as view:
            for hour in range(HOURS):
                day.change(hour)
                view.sync()
                progress(f"day, {twinfs.name}: hour {hour + 1}")
            pending = view.status()["pending"]
        if pending:
            raise Failure(f"day: {pending} files are pending after a sync")
    add_index(bench, "day", text, [root], count)
    agreement.check(bench, text, [root], since=time.time())
    shutil.rmtree(root)

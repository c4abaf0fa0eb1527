# SPDX-License-Identifier: MIT
"""Instructions that fixed trees need, beside the budgets in budget.json. valgrind counts them on
one processor, so that another run has the same count within a hundredth. A count that is more than
3 % above its budget fails, and one that is as far below asks for a lower budget."""
import json
import os
import re
import select
import shutil
import subprocess
from pathlib import Path

from bench.data import File, write_content
from bench.runs import Failure
from bench.twinfs import UNREADABLE, unmount

BUDGETS = Path(__file__).with_name("budget.json")
TOLERANCE = 0.03
AGAIN = 2
FOLDER_BYTES = 120  # of the absolute path: lists, journals and logs hold paths
LIVE_FILES = 500  # with fewer, the timers of the daemon change the count
COUNT = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
KIB = 1 << 10


def plain(files, folder_files, content, size, shared=0):
    """A tree of this many files; functions of the number give their contents and sizes."""
    def make(root):
        for number in range(files):
            path = root / f"{number // folder_files:03}" / f"{number % folder_files:03}"
            write(path, File("", content(number), size(number), shared))
    return make


def write(path, file):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        write_content(out, file)


def hard_links(root):
    """Ten snapshots of 200 files by hard links."""
    for number in range(200):
        write(root / "0" / str(number), File("", number, 2 * KIB))
    for snapshot in range(1, 10):
        shutil.copytree(root / "0", root / str(snapshot), copy_function=os.link)


def deep(root):
    """A chain of 100 folders with three files each; contents repeat."""
    for depth in range(1, 101):
        for number in range(3):
            write(root.joinpath(*["x"] * depth, str(number)),
                  File("", depth % 40 * 3 + number, 1500))


def wide(root):
    """A folder with 50,000 empty files."""
    root.mkdir()
    for number in range(50_000):
        (root / f"{number:05}").touch()


def equal_folders(root):
    """Forty folders with 25 files; eight contents of folders, at the same depth."""
    for folder in range(40):
        for number in range(25):
            write(root / f"{folder // 4}" / f"{folder % 4}" / "inner" / str(number),
                  File("", folder % 8 * 25 + number, 1200))


TREES = {
    "small": plain(4000, 1000, lambda number: number % 1000, lambda _: KIB),
    "same-size": plain(2000, 1000, lambda number: number, lambda _: 8 * KIB, 6 * KIB),
    "no-duplicates": plain(2000, 500, lambda number: number, lambda n: KIB * (1 + n % 64)),
    "photos": plain(60, 30, lambda n: n - 5 * (n % 6 == 5), lambda n: 300 * KIB + n // 6 * KIB),
    "equal folders": equal_folders,
    "hard links": hard_links,
    "deep": deep,
    "wide": wide,
}


def folder_of_fixed_length(parent):
    """Makes a folder whose path has the same length in each checkout."""
    filler = FOLDER_BYTES - len(os.fsencode(parent)) - 1
    if filler < 1:
        raise Failure(f"budget: {parent} is too long for its counts; use --folder")
    path = parent / ("x" * filler)
    path.mkdir()
    return path


class Counter:
    """Counts the instructions of commands on one tree, each with an index that it may change."""

    def __init__(self, bench, name):
        self.binary = bench.twinfs.binary
        self.folder = folder_of_fixed_length(bench.machine.fresh("budget"))
        self.tree, self.index = self.folder / "tree", self.folder / "index"
        TREES[name](self.tree)
        self.processor = min(os.sched_getaffinity(0))

    def words(self, command, *options):
        for old in self.folder.glob("count.*"):
            old.unlink()
        return ["taskset", "-c", str(self.processor), "valgrind", "--quiet", "--tool=callgrind",
                f"--callgrind-out-file={self.folder}/count.%p", self.binary, command, "--quiet",
                "--index", self.index, *options]

    def run(self, command, *options):
        """The instructions of a command, and of its processes."""
        with open(self.folder / "said", "wb") as said:
            status = subprocess.run([*self.words(command, *options), self.tree], check=False,
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                    env=self.environment()).returncode
        if status not in (0, UNREADABLE):
            text = (self.folder / "said").read_text(errors="replace")[-400:].strip()
            raise Failure(f"{command}: failed with status {status} {text}")
        return sum(self.counts().values())

    def environment(self):
        return {**os.environ, "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}

    def counts(self):
        """The instructions in each file of callgrind, by the end of its name."""
        return {path.suffix: int(COUNT.search(path.read_text())[1])
                for path in self.folder.glob("count.*")}

    def mounted(self):
        """The instructions of a mount until all is compared, and until a folder that moves into the
        tree is in the view."""
        view, outside = self.folder / "view", self.folder / "outside"
        view.mkdir()
        for number in range(LIVE_FILES):
            write(outside / str(number), File("", 100_000 + number // 2, KIB))
        with open(self.folder / "said", "wb") as said:
            daemon = subprocess.Popen(
                [*self.words("mount", "--foreground", "--wait"), self.tree, view], stdout=said,
                stderr=said, env=self.environment())
        try:
            self.wait(daemon, view)
            mount = self.dumped(daemon)
            outside.rename(self.tree / "live")
            (view / ".twinfs/sync").read_bytes()
            live = self.dumped(daemon)
        finally:
            if os.path.ismount(view):
                unmount(view)
            daemon.wait()
        return mount, live

    @staticmethod
    def wait(daemon, view):
        """Waits until the view answers."""
        ended = os.pidfd_open(daemon.pid)
        try:
            while not os.path.exists(view / ".twinfs"):
                if select.select([ended], [], [], 0.02)[0]:
                    raise Failure(f"mount: failed with status {daemon.wait()}")
        finally:
            os.close(ended)
        (view / ".twinfs/sync").read_bytes()

    def dumped(self, daemon):
        """The instructions of the daemon since the last call."""
        for old in self.folder.glob(f"count.{daemon.pid}.*"):
            old.unlink()
        subprocess.run(["callgrind_control", "--dump", str(daemon.pid)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        [count] = [COUNT.search(path.read_text())[1]
                   for path in self.folder.glob(f"count.{daemon.pid}.*")]
        return int(count)

    def steps(self):
        """The instructions of each step."""
        yield "first scan", self.run("scan")
        yield "rescan", self.run("scan")
        yield "list", self.run("list", "--no-scan")
        yield from zip(("mount", "live change"), self.mounted())
        yield "remove", self.run("remove", "--yes")


def compiler(binary):
    """The compiler of a program, as its comment section names it."""
    said = subprocess.run(["readelf", "-p", ".comment", binary], check=True, capture_output=True,
                          text=True).stdout
    return re.search(r"\]  (.*)", said)[1]


def count_trees(bench, trees, found):
    """Counts all steps on some trees; the least count of each step stays."""
    for tree in trees:
        for step, count in Counter(bench, tree).steps():
            name = f"{tree}, {step}"
            found[name] = min(count, found.get(name, count))


def over(budgets, found):
    """The complaints about counts over their budgets, by tree and step."""
    for name, count in found.items():
        if name not in budgets:
            yield name, "no budget"
        elif count > budgets[name] * (1 + TOLERANCE):
            yield name, f"{100 * (count / budgets[name] - 1):.1f} % over its budget"


def below(budgets, found):
    """The advice on budgets that are too high."""
    for name, count in found.items():
        if count < budgets.get(name, 0) * (1 - TOLERANCE):
            yield name, f"{100 * (1 - count / budgets[name]):.1f} % below its budget: lower it"


def run(bench):
    """Counts, and compares with the budgets of this compiler. A count that is over its budget is
    taken again: threads that meet otherwise need other system calls."""
    bench.title("instructions beside their budgets")
    if not shutil.which("valgrind"):
        bench.report.note("budget: needs valgrind")
        return
    stored, built_by = json.loads(BUDGETS.read_text()), compiler(bench.twinfs.binary)
    setting = bench.settings.set_budget
    budgets = stored["instructions"]
    found = {}
    count_trees(bench, TREES, found)
    for _ in range(AGAIN):
        again = TREES if setting else {name.split(",")[0] for name, _ in over(budgets, found)}
        count_trees(bench, again, found)
    for name, count in found.items():
        bench.report.figure("instructions", name, count, "")
    if setting:
        BUDGETS.write_text(json.dumps({"compiler": built_by, "instructions": found}, indent=1)
                           + "\n")
    elif stored["compiler"] != built_by:
        bench.report.note(f"budget: the budgets are those of {stored['compiler']}")
    else:
        judge(bench, budgets, found)


def judge(bench, budgets, found):
    """Reports the counts that are far from their budgets; fails if one is over its budget."""
    high = list(over(budgets, found))
    for name, text in (*high, *below(budgets, found)):
        bench.report.note(f"{name}: {found[name]:,} instructions, {text}")
    if high:
        raise Failure(f"{len(high)} counts are over their budgets, see --set-budget")

# SPDX-License-Identifier: MIT
"""The targets of twinfs, and the results of a run for people and programs."""
import json
import statistics
from dataclasses import asdict, dataclass, field

FEW = 20  # differences that are printed at most
HEADINGS = ("row", "of", "figure", "target", "result", "distance to the floor", "note")
NUMBERS = (2, 3)  # columns that are aligned right


@dataclass(frozen=True)
class Target:
    """A row of the table: its text, the mode that measures it, and the largest figure that is
    good.

    floor   the floor, if the figure itself is a ratio to it
    """
    row: str
    mode: str
    unit: str
    limit: float
    floor: str = ""


MIB = 1 << 20
OF_FASTEST = "of the fastest peer"
# Some peers verify less than others; the fastest peer counts in any case.
TARGETS = {
    "warm": Target(f"first scan, cache warm, {OF_FASTEST}", "warm", "x", 0.9),
    "warm-floor": Target("first scan, cache warm, of a walk that verifies", "warm", "x", 1.25,
                         floor="walk that verifies"),
    "cold": Target(f"first scan, cache cold, {OF_FASTEST}", "cold", "x", 0.8),
    "readers": Target("first scan, cache cold, of the same with one reader", "cold", "x", 1),
    "disk": Target(f"first scan, disk with 8 ms seeks, {OF_FASTEST}", "disk", "x", 1),
    "share": Target("share of the index in the scan", "warm", "%", 20),
    "rescan": Target("rescan, of a parallel walk with statx", "rescan", "x", 1.3, floor="walk"),
    "rescan-peer": Target("rescan, of the fastest peer's with a cache", "rescan", "x", 1),
    "mount": Target("mount of an indexed tree, of a parallel walk", "rescan", "x", 1.5,
                    floor="walk"),
    "memory": Target("peak anonymous memory of a scan", "scale", "MiB", 64),
    "index": Target("index on disk, a file, without the names", "scale", "bytes", 200),
    "scale": Target("time a file, of that with the fewest files", "scale", "x", 1.3),
    "day": Target("the same index after a day of changes", "day", "bytes", 200),
    "held-up": Target("opens for writing held up by a scan, of --against", "writers", "x", 1),
    "folders": Target("first scan that lists equal folders, of rmlint -D", "folders", "x", 0.2),
    "folders-scan": Target("first scan that knows equal folders, of --against", "folders", "x",
                           1.05),
    "folders-rescan": Target("rescan that knows equal folders, of --against", "folders", "x",
                             1.05),
    "folders-index": Target("index that knows equal folders, of --against", "folders", "x", 1.1),
    "partial": Target("parts shared, time a shared byte, of duperemove", "partial", "x", 1),
    "partial-again": Target("the same with 1 % of the blocks changed, of duperemove", "partial",
                            "x", 1),
    "partial-left": Target("bytes of equal blocks that stay unshared", "partial", "%", 5),
    "fleet": Target("twinfs-fleet, time a row, of that with the fewest rows", "fleet", "x", 1.5),
    "fleet-memory": Target("twinfs-fleet, peak memory", "fleet", "MiB", 16 << 10),
    "latency-median": Target("copy closed until seen, beyond settling, median", "live", "ms", 20),
    "latency-p99": Target("copy closed until seen, beyond settling, p99", "live", "ms", 100),
    "load-1-median": Target("the same beside one writer, median", "load", "ms", 50),
    "load-1-p99": Target("the same beside one writer, p99", "load", "ms", 100),
    "load-4-median": Target("the same beside four writers, median", "load", "ms", 300),
    "load-4-p99": Target("the same beside four writers, p99", "load", "ms", 800),
    "slow-down": Target("writer slowed down by being watched", "live", "%", 20),
    "find-warm": Target("find over the view, warm, of native", "view", "x", 1, floor="native"),
    "find-cold": Target("find over the view, cold, of native", "view", "x", 3, floor="native"),
    "tar": Target("tar of many small files, of native", "view", "x", 4.5, floor="native"),
    "read-copy": Target("sequential read, copied, of native", "view", "x", 3.4),
    "read-passthrough": Target("sequential read, passthrough, of native", "view", "x", 1.05,
                               floor="native"),
    "read-bindfs": Target("sequential read, of the same through bindfs", "view", "x", 1),
    "rsync": Target("rsync -a, second run, of the same over the source", "view", "x", 2,
                    floor="native"),
}


@dataclass
class Row:
    """One figure for a target, and its distance to the floor, if there is one."""
    target: str
    of: str
    value: float
    limit: float
    note: str = ""
    distance: float = None
    floor: str = ""

    @property
    def met(self):
        return self.value <= self.limit

    def cells(self):
        """The text of each column of the table."""
        target = TARGETS[self.target]
        distance = "-" if self.distance is None else f"{self.distance:.2f} x {self.floor}"
        return (target.row, self.of, f"{self.value:.2f} {target.unit}",
                f"<= {self.limit:g} {target.unit}", "met" if self.met else "missed", distance,
                self.note)


@dataclass
class Summary:
    """The runs of one program on one data set."""
    mode: str
    data: str
    name: str
    walls: list
    cpu: float
    max_rss: int
    max_anon: int
    note: str = ""
    ratio: float = 0  # of the time of the program that it is compared with, if any
    cpu_ratio: float = 0  # the same for processor time
    reads: float = 0  # mean number of reads that the disk had to do; 0: unknown

    @property
    def wall(self):
        return statistics.median(self.walls)


@dataclass
class Report:
    """All results; lines for people are printed at once."""
    rows: list = field(default_factory=list)
    summaries: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)
    differences: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def add(self, target, of, value, limit=None, note="", distance=None, floor=""):
        """Adds a row. Without a limit, that of the target counts."""
        known = TARGETS[target]
        if known.floor:
            distance, floor = value, known.floor
        if limit is None:
            limit = known.limit
        self.rows.append(Row(target, of, value, limit, note, distance, floor))

    def figure(self, name, of, value, unit):
        """Reports a figure without a target."""
        self.figures.setdefault(name, {})[of] = {"value": value, "unit": unit}
        print(f"  {name}, {of}: {value:.4g} {unit}", flush=True)

    def note(self, text):
        self.notes.append(text)
        print(f"  note: {text}", flush=True)

    def differ(self, data, lines):
        """Reports that two programs have different results for a data set."""
        self.differences += [f"{data}: {line}" for line in lines]
        for line in lines[:FEW]:
            print(f"  DIFFERENT: {data}: {line}", flush=True)

    def compare(self, summaries, base=None):
        """Prints the programs, and the ratios of their times to those of the program `base`."""
        print(f"  {'':25} {'median s':>9} {'min':>8} {'max':>8} {'CPU s':>8} {'ratio':>6} "
              f"{'of CPU':>6} {'peak MiB':>9} {'anon MiB':>9} {'reads':>6}")
        for one in sorted(summaries, key=lambda one: one.wall):
            if base:
                one.ratio = one.wall / base.wall
                one.cpu_ratio = one.cpu / base.cpu if base.cpu else 0
            ratio, of_cpu, reads = (f"{value:.2f}" if value else ""
                                    for value in (one.ratio, one.cpu_ratio, one.reads))
            print(f"  {one.name:25} {one.wall:9.3f} {min(one.walls):8.3f} {max(one.walls):8.3f} "
                  f"{one.cpu:8.3f} {ratio:>6} {of_cpu:>6} {one.max_rss / MIB:9.1f} "
                  f"{one.max_anon / MIB:9.1f} {reads:>6}  {one.note}".rstrip(), flush=True)
        self.summaries += summaries

    def lines(self):
        """The table."""
        cells = [HEADINGS]
        for name, target in TARGETS.items():
            found = [row.cells() for row in self.rows if row.target == name]
            cells += found or [(target.row, "", "-", f"<= {target.limit:g} {target.unit}",
                                f"not measured: mode {target.mode}", "", "")]
        widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
        return ["  ".join(f"{cell:{'>' if column in NUMBERS else '<'}{width}}"
                          for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
                for line in cells]

    def save(self, path, about):
        found = {
            "about": about,
            "rows": [{**asdict(row), "row": TARGETS[row.target].row, "met": row.met,
                      "unit": TARGETS[row.target].unit} for row in self.rows],
            "measurements": [{**asdict(one), "wall": one.wall} for one in self.summaries],
            "figures": self.figures,
            "differences": self.differences,
            "notes": self.notes,
        }
        path.write_text(json.dumps(found, indent=1) + "\n")

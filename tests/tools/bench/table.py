# SPDX-License-Identifier: MIT
"""The targets of twinfs, and the results of a run for people and programs."""
import json
import statistics
from dataclasses import asdict, dataclass, field

FEW = 20  # differences that are printed at most


@dataclass(frozen=True)
class Target:
    """A row of the table: its text, the mode that measures it, and its default limit."""
    row: str
    mode: str
    unit: str
    limit: float
    at_least: bool = False


MIB = 1 << 20
OF_FASTEST = "of the time of the fastest peer"
# Some peers verify less than others; the fastest peer counts in any case.
TARGETS = {
    "warm": Target(f"first scan, cache warm, {OF_FASTEST}", "warm", "x", 0.6),
    "cold": Target(f"first scan, cache cold, {OF_FASTEST}", "cold", "x", 0.9),
    "disk": Target(f"first scan, disk with 8 ms seeks, {OF_FASTEST}", "disk", "x", 1),
    "share": Target("share of the index in the scan", "warm", "%", 20),
    "rescan": Target("rescan, of a parallel walk with statx", "rescan", "x", 1.5),
    "rescan-peer": Target("rescan, of the fastest peer's with a cache", "rescan", "x", 1),
    "memory": Target("peak anonymous memory of a scan", "scale", "MiB", 64),
    "index": Target("index on disk, a file, without the names", "scale", "bytes", 250),
    "latency-median": Target("copy closed until seen, beyond settling, median", "live", "ms", 20),
    "latency-p99": Target("copy closed until seen, beyond settling, p99", "live", "ms", 100),
    "slow-down": Target("writer slowed down by being watched", "live", "%", 20),
    "find-warm": Target("find over the view, warm, of native", "view", "x", 1.1),
    "find-cold": Target("find over the view, cold, of native", "view", "x", 3),
    "read-passthrough": Target("sequential read, passthrough, speed of native", "view", "x", 0.95,
                               at_least=True),
    "read-copy": Target("sequential read, copied, speed of native", "view", "x", 0.5,
                        at_least=True),
    "rsync": Target("rsync -a, second run, of the same over the source", "view", "x", 2),
    "mount": Target("mount of an indexed tree, of a parallel walk", "rescan", "x", 2),
    "scale": Target("time a file, of that with the fewest files", "scale", "x", 1.3),
}


@dataclass
class Row:
    """One figure for a target."""
    target: str
    of: str
    value: float
    limit: float
    note: str = ""

    @property
    def holds(self):
        if TARGETS[self.target].at_least:
            return self.value >= self.limit
        return self.value <= self.limit


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
    ratio: float = 0  # of the time of the fastest peer, if any

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

    def add(self, target, of, value, limit=None, note=""):
        self.rows.append(Row(target, of, value, TARGETS[target].limit if limit is None else limit,
                             note))

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

    def compare(self, summaries, fastest=None):
        """Prints the programs, and the ratio of the time of each to that of the fastest peer."""
        print(f"  {'':22} {'median s':>9} {'min':>8} {'max':>8} {'CPU s':>8} {'ratio':>6} "
              f"{'peak MiB':>9} {'anon MiB':>9}")
        for one in sorted(summaries, key=lambda one: one.wall):
            if fastest:
                one.ratio = one.wall / fastest.wall
            ratio = f"{one.ratio:.2f}" if one.ratio else ""
            print(f"  {one.name:22} {one.wall:9.3f} {min(one.walls):8.3f} {max(one.walls):8.3f} "
                  f"{one.cpu:8.3f} {ratio:>6} {one.max_rss / MIB:9.1f} "
                  f"{one.max_anon / MIB:9.1f}  {one.note}".rstrip(), flush=True)
        self.summaries += summaries

    def lines(self):
        """The table."""
        cells = [("row", "of", "figure", "target", "")]
        for name, target in TARGETS.items():
            found = [row for row in self.rows if row.target == name]
            sign = ">=" if target.at_least else "<="
            for row in found:
                holds = "holds" if row.holds else "does not hold"
                cells.append((target.row, row.of, f"{row.value:.2f} {target.unit}",
                              f"{sign} {row.limit:g} {target.unit}",
                              f"{holds}; {row.note}" if row.note else holds))
            if not found:
                cells.append((target.row, "", "-", f"{sign} {target.limit:g} {target.unit}",
                              f"not measured: mode {target.mode}"))
        widths = [max(len(line[column]) for line in cells) for column in range(4)]
        return [f"{row:{widths[0]}}  {of:{widths[1]}}  {figure:>{widths[2]}}  "
                f"{limit:>{widths[3]}}  {end}".rstrip()
                for row, of, figure, limit, end in cells]

    def save(self, path, about):
        found = {
            "about": about,
            "rows": [{**asdict(row), "row": TARGETS[row.target].row, "holds": row.holds,
                      "unit": TARGETS[row.target].unit,
                      "at_least": TARGETS[row.target].at_least} for row in self.rows],
            "measurements": [{**asdict(one), "wall": one.wall} for one in self.summaries],
            "figures": self.figures,
            "differences": self.differences,
            "notes": self.notes,
        }
        path.write_text(json.dumps(found, indent=1) + "\n")

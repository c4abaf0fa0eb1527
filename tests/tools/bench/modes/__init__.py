# SPDX-License-Identifier: MIT
"""The modes of scripts/bench. A mode is a function that gets the bench and adds to its report. A
new mode needs a module here, a line in MODES, and rows in `table.TARGETS`."""
from bench.modes import (
    budget,
    day,
    disk,
    fleet,
    folders,
    live,
    load,
    partial,
    rescan,
    scale,
    scans,
    views,
    writers,
)

MODES = {
    "budget": (budget.run, "instructions of small trees, beside their budgets; needs valgrind"),
    "warm": (scans.warm, "first scans with all files in the page cache, and the floor"),
    "cold": (scans.cold, "the same with empty caches (root)"),
    "disk": (disk.run, "the same from a simulated rotating disk (root)"),
    "rescan": (rescan.run, "scans of an indexed tree, changed and unchanged; its mount"),
    "scale": (scale.run, "time, memory and index of trees of --files small files"),
    "day": (day.run, "the index after a day of changes"),
    "writers": (writers.run, "how often a scan holds up programs that open files for writing"),
    "folders": (folders.run, "the list of equal folders, and what it costs beside --against"),
    "partial": (partial.run, "equal parts of images on btrfs and xfs, beside duperemove (root)"),
    "fleet": (fleet.run, "time and memory of twinfs-fleet for --fleet rows of simulated hosts"),
    "view": (views.run, "find, tar, dd and rsync over a view, its source, and bindfs"),
    "live": (live.run, "how fast a view follows its source, and the costs for a writer"),
    "load": (load.run, "how fast a view follows its source beside one writer and beside four"),
}

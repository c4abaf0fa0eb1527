# SPDX-License-Identifier: MIT
"""What scripts/bench can measure. A mode is a function that is given the bench and adds to its
report; a new one is a module here, a line in MODES, and its rows in `table.TARGETS`."""
from bench.modes import disk, live, rescan, scale, scans, views

MODES = {
    "warm": (scans.warm, "first scans with everything in the page cache, and the floor"),
    "cold": (scans.cold, "the same with empty caches (root)"),
    "disk": (disk.run, "the same from a simulated rotating disk (root)"),
    "rescan": (rescan.run, "scans of what is indexed already, changed and not; mounting it"),
    "scale": (scale.run, "time, memory and index of trees of --files small files"),
    "view": (views.run, "find, tar, dd and rsync over a view, its source, and bindfs"),
    "live": (live.run, "how fast a view follows, and what that costs who writes"),
}

# SPDX-License-Identifier: MIT
"""First scans of a simulated rotating disk (rotating.py)."""
from rotating import RotatingDisk, aged_tree

from bench.modes.scans import scan
from bench.runs import can_drop_caches

DISK_BYTES = 1 << 30
FILES = 1000
SIZES = (1 << 10, 1 << 20)


def run(bench):
    tool = bench.settings.tools.parent / "rotating_disk"
    if not can_drop_caches():
        bench.report.note("disk: only root can mount one and empty the caches")
        return
    if not tool.exists():
        bench.report.note(f"disk: cannot find {tool}")
        return
    count = max(4, round(FILES * bench.settings.scale))
    data = f"{count} files, 8 ms seeks"
    bench.title(f"first scan, from a rotating disk: {data}")
    disk = RotatingDisk(bench.machine.fresh("rotating"), tool, DISK_BYTES, seek_ms=8)
    disk.fill(lambda root: aged_tree(root, count, sizes=SIZES))
    with disk.served():
        scan(bench, "disk", data, [disk.root], disk.cold)

# SPDX-License-Identifier: MIT
"""Equal parts of images: dedupe --partial and duperemove on btrfs and xfs, a first run and a run
after 1 % of the blocks changed. Both read the images from the disk, if the bench can empty the
caches."""
import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from block_oracle import BLOCK, digests, equal_and_shared, lay_out, make_images

from bench import disks, peers
from bench.runs import Contender, Rounds, can_drop_caches, drop_caches, finished, named

KINDS = ("btrfs", "xfs")
IMAGES, BLOCKS = 8, 4096  # 512 MiB each
CHANGED = 100  # one in this many blocks


@dataclass
class Images:
    """Images on the measured disk, which are written anew before each run. Each common run is an
    extent of its own where the file system permits it: duperemove finds more in such files."""
    made: list
    parts: list  # of lay_out()
    root: Path
    seed: int = 0

    @property
    def folder(self):
        return self.root / "images"

    def reset(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for path, parts in zip(self.made, self.parts):
            with open(path, "rb") as source, open(self.folder / path.name, "wb",
                                                  buffering=0) as target:
                for _, size in parts:
                    target.write(source.read(size * BLOCK))
                    os.fsync(target.fileno())
        settle()

    def change(self):
        """Replaces one in a hundred blocks: half of them by new bytes, half by a block of another
        image."""
        self.seed += 1
        numbers = random.Random(self.seed)
        paths = sorted(self.folder.iterdir())
        for path in paths:
            with open(path, "r+b") as file, open(numbers.choice(paths), "rb") as other:
                count = path.stat().st_size // BLOCK
                for at in numbers.sample(range(count), max(1, count // CHANGED)):
                    other.seek(at * BLOCK)
                    data = other.read(BLOCK) if numbers.random() < 0.5 else os.urandom(BLOCK)
                    file.seek(at * BLOCK)
                    file.write(data)
        settle()


def settle():
    os.sync()
    if can_drop_caches():
        drop_caches()


def run(bench):
    if not disks.can_mount():
        bench.report.note("partial: only root can mount the file systems")
        return
    blocks = max(20, round(BLOCKS * bench.settings.scale))
    shape = {"seed": 1, "count": IMAGES, "blocks": blocks, "longest": 64}
    made = make_images(bench.machine.fresh("images"), **shape)
    for kind in KINDS:
        if not shutil.which(f"mkfs.{kind}"):
            bench.report.note(f"partial: mkfs.{kind} is not installed")
            continue
        size = 3 * IMAGES * blocks * BLOCK + (1 << 30)
        with disks.of_kind(kind, bench.machine.fresh(f"{kind} disk"), size) as root:
            bench.title(f"equal parts of {IMAGES} images: {kind}")
            images = Images(made, lay_out(**shape), root)
            measure(bench, kind, images, "partial", again=False)
            measure(bench, kind, images, "partial-again", again=True)


def contenders(bench, images, again):
    """The programs. Before a second run, each makes a first one, and blocks change."""
    found = []
    for twinfs in bench.builds:
        words = [twinfs.binary, "dedupe", "--partial", "--yes", "--quiet", "--index", twinfs.index,
                 images.folder]
        found.append((Contender(twinfs.name, words), twinfs.forget))
    if "duperemove" in bench.peers:
        state = bench.machine.fresh("state of duperemove")
        words = [peers.find_program("duperemove"), "-rdq", "-b", "128k",
                 "--dedupe-options=partial,same", f"--hashfile={state}/db", images.folder]
        found.append((Contender("duperemove", words, is_peer=True),
                      lambda: (state / "db").unlink(missing_ok=True)))
    for contender, forget in found:
        contender.prepare = preparation(bench, images, contender, forget, again)
    return [contender for contender, _ in found]


def preparation(bench, images, contender, forget, again):
    first = Contender(contender.name, contender.words)

    def prepare():
        forget()
        images.reset()
        if again:
            bench.machine.run(first)
            images.change()
    return prepare


def measure(bench, kind, images, target, again):
    listed = contenders(bench, images, again)
    data = f"{kind}, 1 % changed" if again else kind
    summaries = Rounds(bench.machine, target, data).run(listed, bench.rounds)
    shared = {one.name: count_shared(bench, images, one, data) for one in listed}
    rival = next((one for one in summaries if one.name == "duperemove" and finished(one)), None)
    bench.report.compare(summaries, rival)
    twinfs = named(summaries, "twinfs")
    for name, (equal, found) in shared.items():
        print(f"  {name} shares {found / equal:.1%} of {equal} equal bytes", flush=True)
    equal, found = shared["twinfs"]
    bench.report.add("partial-left", data, 100 * (1 - found / equal))
    if not rival:
        bench.report.note(f"{data}: duperemove was not measured")
    elif shared["duperemove"][1] == 0:
        bench.report.note(f"{data}: duperemove shares nothing")
    else:
        bench.report.add(target, data, twinfs.wall / found / (rival.wall / shared["duperemove"][1]),
                         note=f"time {twinfs.ratio:.2f} x, CPU {twinfs.cpu_ratio:.2f} x")


def count_shared(bench, images, contender, data):
    """(equal bytes, bytes that share their blocks) after a run, which must change no byte."""
    contender.prepare()
    before = digests(images.folder)
    bench.machine.run(Contender(contender.name, contender.words))
    if digests(images.folder) != before:
        bench.report.differ(data, [f"{contender.name} changed a file"])
    return equal_and_shared(sorted(images.folder.iterdir()))

# SPDX-License-Identifier: MIT
"""Power cuts at any moment: afterwards the index agrees with the disk, and no content is lost."""
import collections
import contextlib
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import backups
import pytest
import trees
from disks import bound
from power_cut import PowerCuts
from rotating import RotatingDisk, find_tool
from test_act_log import acts, records

# Power cuts over all file systems. Raise it for a long run.
CUTS = int(os.environ.get("TWINFS_TEST_POWER_CUTS", "210"))
MAKE = {
    "ext4": (64 << 20, ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0")),
    "xfs": (300 << 20, ("mkfs.xfs", "-q")),
    "btrfs": (128 << 20, ("mkfs.btrfs", "-q", "-m", "single")),
}
ROOM = 1 << 30
FILES = 60
CONTENTS = 20
AT_ONCE = CUTS // 70  # tried states that one cut may leave


@pytest.fixture
def work(root_only, tmp_path):
    """A folder for images, in memory if there is room, as they are mounted many times."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    folder = Path(tempfile.mkdtemp(prefix="twinfs-power-", dir=memory if roomy else tmp_path))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=list(MAKE))
def disk(request, work):
    """A disk with a tree that records all writes."""
    size, make = MAKE[request.param]
    tool = find_tool(os.environ["TWINFS"])
    if not (tool and shutil.which(make[0])):
        pytest.skip(f"needs rotating_disk, {make[0]} and loop devices")
    made = RotatingDisk(work, tool, size, make=make, time_scale=0, writes=work / "record")
    try:
        made.fill(build)
    except subprocess.CalledProcessError:
        pytest.skip(f"the kernel does not mount {request.param}")
    return made


def data(number):
    """Contents of two sizes, so that one can be written over another of its size."""
    return trees.content(number, 20_000 if number % 3 else 700)


def build(root):
    for number in range(FILES):
        trees.write(root / f"tree/{number % 5}/{number}", data(number % CONTENTS))
    os.sync()


def contents(folder):
    """{path: bytes} of the files in a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def groups_of(files):
    classes = collections.defaultdict(set)
    for path, content in files.items():
        if content:
            classes[content].add(os.fsencode(path))
    return {frozenset(paths) for paths in classes.values() if len(paths) > 1}


def write_over(path, content):
    with open(path, "r+b") as file:
        file.write(content)


def change(tree, generation):
    """Rewrites, creates and removes files without a sync."""
    rng = random.Random(generation)
    there = sorted(path for path in tree.rglob("*") if path.is_file())
    for path in rng.sample(there, 12):
        same_size = [number for number in range(CONTENTS)
                     if len(data(number)) == path.stat().st_size]
        write_over(path, data(rng.choice(same_size)))
    for number in range(4):
        trees.write(tree / f"new {generation}/{number}", data(rng.randrange(CONTENTS)))
    for path in rng.sample(there, 3):
        path.unlink()


@contextlib.contextmanager
def mounted(image, at):
    """Mounts an image; yields whether that worked."""
    done = subprocess.run(["mount", "-o", "loop,noatime", image, at], check=False,
                          capture_output=True)
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", at], check=True)


def after_cuts(cuts, disk, work, seed, at=None):
    """Yields the position of each cut while the state of the disk after it is mounted.

    at  the positions of the cuts; by default random ones
    """
    lost = found = 0
    image = work / "cut"
    rng = random.Random(seed)
    for state in cuts.states_at(at, rng) if at else cuts.states(CUTS // (2 * len(MAKE)), rng):
        state.write(image)
        with mounted(image, disk.root) as is_mounted:
            lost += not is_mounted
            found += 1
            if is_mounted:
                yield state.position
    assert found > lost, "no state after a cut was examined"
    assert lost <= max(1, found // 10), "file systems must survive this themselves"


def wrong_after_cuts(cuts, disk, work, program):
    """(position, difference) of each cut after which the index is not right."""
    tree, index = disk.root / "tree", disk.root / "index"
    cuts.load(work / "record")
    wrong = []
    for position in after_cuts(cuts, disk, work, "index"):
        with contextlib.suppress(FileNotFoundError):
            (index / "boot").unlink()  # a real cut would change the boot id
        result = program("list", "--format=json", tree)
        if result.status != 0:
            wrong.append((position, str(result)[-600:]))
            continue
        right = groups_of(contents(tree))
        if result.groups != right:
            wrong.append((position, result.groups ^ right))
    return wrong


def test_index_is_right_after_a_power_cut(twinfs, disk, work):
    tree, index = disk.root / "tree", disk.root / "index"
    program = twinfs.with_index(index)
    cuts = PowerCuts(disk.image)
    with disk.served():
        program.ok("scan", tree)
        for generation in range(3):
            change(tree, generation)
            program.ok("scan", tree)
        with program.mounted(tree) as view:
            for generation in range(3, 6):
                change(tree, generation)
                view.sync()
    assert wrong_after_cuts(cuts, disk, work, program) == []


def test_index_is_right_after_a_power_cut_in_the_first_scan(twinfs, disk, work):
    program = twinfs.with_index(disk.root / "index")
    cuts = PowerCuts(disk.image)
    with disk.served():
        change(disk.root / "tree", 0)
        program.ok("scan", disk.root / "tree")
    assert wrong_after_cuts(cuts, disk, work, program) == []


def test_removal_with_a_power_cut_loses_no_content(twinfs, disk, work):
    tree, index = disk.root / "tree", disk.root / "index"
    program = twinfs.with_index(index)
    with disk.served():
        program.ok("scan", tree)
        before = trees.every_content(tree)
    cuts = PowerCuts(disk.image)
    with disk.served():
        program.ok("remove", "--yes", tree)
        assert len(contents(tree)) == CONTENTS
    cuts.load(work / "record")
    wrong = []
    for position in after_cuts(cuts, disk, work, "removal"):
        if not trees.every_content(tree) >= before:
            wrong.append((position, "lost"))
        result = program("recover")
        left = list(tree.rglob(".twinfs~*"))
        after = contents(tree)
        if result.status != 0 or left or set(after.values()) != before:
            wrong.append((position, str(result)[-600:], left))
    assert wrong == []


# ---- acts on files that were written a moment before ---------------------------------------------

ACTS = {
    "remove": ("remove",),
    "link": ("link",),
    "symlink": ("link", "--symbolic"),
    "move": ("move",),
}
FRESH = 300  # contents with a copy for each act: more than one batch of its journal


def build_old(root):
    for act in ACTS:
        for number in range(FRESH):
            trees.write(root / act / f"old/{number}", trees.content(f"{act} {number}", 5000))
    os.sync()


def write_fresh(tree):
    """Writes a copy of each file, which becomes the kept one, without a sync."""
    for path in sorted((tree / "old").iterdir()):
        trees.write(tree / "fresh/deep" / path.name, path.read_bytes())


def words_of(act, folder):
    """The words of an act that keeps the fresh files."""
    destination = [folder / "moved"] if act == "move" else []
    return [*ACTS[act], "--yes", "--keep=source-order", folder / "fresh", folder / "old",
            *destination]


def sync_other_file(path):
    """Syncs another file, so that the file system writes its log."""
    with open(path, "wb") as file:
        file.write(b"other")
        os.fsync(file.fileno())


def act_on_fresh_files(program, act, folder):
    write_fresh(folder)
    if act == "move":
        (folder / "moved").mkdir()
    program.ok(*words_of(act, folder))
    for path in (folder / "old").iterdir():
        assert path.is_symlink() or path.stat().st_nlink > 1, path


def wrong_records(program, folder):
    """The copies that an act took away without one record, or that have one and are there."""
    gone = []
    for path in (folder / "old" / str(number) for number in range(FRESH)):
        if (folder / "old").exists() and (
                not path.exists() or path.is_symlink() or path.stat().st_nlink > 1):
            gone.append(str(path))
    found = [record["path"] for act in acts(program) for record in records(program, act["act"])
             if record.get("state") != "returned"]
    return sorted(set(gone) ^ set(found)) + [path for path in found if found.count(path) > 1]


def every_content_at(root):
    return trees.every_content(*(root / act for act in ACTS))


def test_act_on_fresh_files_with_a_power_cut_loses_no_content(twinfs, disk, work):
    disk.fill(build_old)
    cuts = PowerCuts(disk.image)
    with disk.served():
        before = every_content_at(disk.root)
        for act in ACTS:
            act_on_fresh_files(twinfs.with_index(disk.root / f"index {act}"), act,
                               disk.root / act)
    cuts.load(work / "record")
    wrong = []
    for position in after_cuts(cuts, disk, work, "fresh"):
        lost = before - every_content_at(disk.root)
        results = [twinfs.with_index(disk.root / f"index {act}")("recover") for act in ACTS
                   if (disk.root / f"index {act}/acts").exists()]
        unlike = [wrong_records(twinfs.with_index(disk.root / f"index {act}"), disk.root / act)
                  for act in ACTS]
        after = every_content_at(disk.root)
        left = list(disk.root.rglob(".twinfs~*"))
        if lost or left or not after >= before or any(unlike) or any(
                result.status for result in results):
            wrong.append((position, len(lost), len(before - after), left, unlike, results))
    assert len(before) == FRESH * len(ACTS)
    assert wrong == []


FOLDERS = 40  # with a copy each


def build_folders(root):
    for number in range(FOLDERS):
        for name in ("x", "sub/y", "sub/z"):
            trees.write(root / f"old/{number}" / name, trees.content(f"{number} {name}", 5000))
        (root / f"old/{number}/sub/link").symlink_to("elsewhere")
    trees.write(root / "old/own", b"so that the parents are not equal")
    os.sync()


def shape(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("words", [("remove",), ("remove", "--trash"), ("move",)], ids="-".join)
def test_folder_act_with_a_power_cut_leaves_no_half_folder(twinfs, disk, work, words):
    """The kept folders were written a moment before."""
    disk.fill(build_folders)
    program, root = twinfs.with_index(disk.root / "index"), disk.root
    program.environment["XDG_DATA_HOME"] = "/nonexistent"  # the trash is on the disk
    cuts = PowerCuts(disk.image)
    with disk.served():
        before, whole = trees.every_content(root / "old"), shape(root / "old/0")
        for number in range(FOLDERS):
            shutil.copytree(root / f"old/{number}", root / f"fresh/deep/{number}", symlinks=True)
        (root / "moved").mkdir()
        program.ok(*words, "--folders", "--yes", "--keep=source-order", root / "fresh",
                   root / "old", *([root / "moved"] if words == ("move",) else []))
        assert os.listdir(root / "old") == ["own"]
    cuts.load(work / "record")
    wrong = []
    for position in after_cuts(cuts, disk, work, "folders"):
        result = program("recover") if (root / "index/acts").exists() else None
        lost = before - trees.every_content(root)
        # the journal is not synced before an info file is made, so an unfinished one can stay
        left = [path for path in root.rglob(".twinfs~*") if path.parent.name != "info"]
        there = [path for path in (root / "old").iterdir() if path.name != "own"]
        half = [path for path in there if shape(path) != whole]
        found = {record["path"] for act in acts(program)
                 for record in records(program, act["act"])
                 if record.get("type") == "folder" and record["path"].endswith("0")
                 and record.get("state") != "returned"}
        unlike = [path for path in there if str(path) in found]
        if lost or left or half or unlike or (result and result.status):
            wrong.append((position, len(lost), left, half, unlike, result))
    assert len(before) > 3 * FOLDERS
    assert wrong == []


LINKED = [f"{number}/{name}" for number in range(30) for name in ("x", "y/1", "y/2")]


def linked_data(name):
    return trees.content(f"linked {name.split('/', maxsplit=1)[0]}", 5000)


def build_linked(root):
    for name in LINKED:
        number = name.split("/", maxsplit=1)[0]
        if name.endswith("x"):
            trees.write(root / "linked/kept" / number, linked_data(name))
            first = trees.write(root / "linked/old" / name, linked_data(name))
        else:
            os.makedirs((root / "linked/old" / name).parent, exist_ok=True)
            os.link(first, root / "linked/old" / name)
    (root / "inside").mkdir()
    os.sync()


def test_move_of_hard_links_with_a_power_cut_loses_no_name(twinfs, disk, work):
    """The destination is another mount of the disk, so that files are copied and not renamed."""
    disk.fill(build_linked)
    tree, moved = disk.root / "linked", work / "moved"
    program = twinfs.with_index(disk.root / "index")
    cuts = PowerCuts(disk.image)
    with disk.served(), bound(disk.root / "inside", moved):
        program.ok("move", "--yes", tree, moved)
        assert len(contents(moved)) == len(LINKED)
        assert len({path.stat().st_ino for path in contents(moved)}) * 3 == len(LINKED)
    cuts.load(work / "record")
    wrong = []
    for position in after_cuts(cuts, disk, work, "linked"):
        with bound(disk.root / "inside", moved):
            result = program("recover") if (disk.root / "index/acts").exists() else None
            for name in LINKED:
                there = [path for path in (tree / "old" / name, moved / "old" / name)
                         if path.exists()]
                if not there or any(path.read_bytes() != linked_data(name) for path in there):
                    wrong.append((position, name, there))
            left = [*tree.rglob(".twinfs~*"), *moved.rglob(".twinfs~*")]
            if left or (result and result.status != 0):
                wrong.append((position, left, str(result)[-600:]))
    assert wrong == []


@pytest.mark.parametrize("when", [35, 89])
def test_move_of_hard_links_to_a_disk_with_a_power_cut_loses_no_name(twinfs, disk, work, strace,
                                                                     when):
    """Names that left the source, which is on another disk, exist at the destination."""
    build_linked(work)
    source, cuts = work / "linked", PowerCuts(disk.image)
    with disk.served():
        result, _ = twinfs.with_index(work / "index").traced(
            "move", "--yes", source, disk.root, calls="unlinkat",
            flags=["-e", f"inject=unlinkat:signal=KILL:when={when}"])
        assert result.status != 0
        shutil.copyfile(work / "record", work / "until then")
    cuts.load(work / "until then")
    gone = [name for name in LINKED if not (source / "old" / name).exists()]
    [other] = source.rglob(".twinfs~*")
    assert len(gone) > when // 2
    wrong = []
    for position in after_cuts(cuts, disk, work, when, at=[len(cuts.writes)] * AT_ONCE):
        there = {name for name in gone if (disk.root / "old" / name).exists()}
        assert all((disk.root / "old" / name).read_bytes() == linked_data(name) for name in there)
        if len(set(gone) - there) > 1:  # one may have its temporary name in the source
            wrong.append((position, other, set(gone) - there))
    assert wrong == []


@pytest.mark.parametrize("act", ["remove", "link", "symlink"])
def test_act_with_its_index_on_another_disk_and_a_power_cut_loses_no_content(
        twinfs, disk, work, act):
    disk.fill(build_old)
    folder, index, record = disk.root / act, work / "index", work / "record"
    when = random.Random(act).randrange(FRESH // 2, FRESH)
    cuts = PowerCuts(disk.image)
    with disk.served():
        before = trees.every_content(folder)
        write_fresh(folder)
        result, _ = twinfs.with_index(index).traced(
            *words_of(act, folder), calls="unlinkat",
            flags=["-e", f"inject=unlinkat:signal=KILL:when={when}"])
        assert result.status != 0
        sync_other_file(disk.root / "other")
        shutil.copyfile(record, work / "until then")
    cuts.load(work / "until then")
    wrong = []
    for position in after_cuts(cuts, disk, work, act, at=[len(cuts.writes)] * AT_ONCE):
        shutil.copytree(index, work / "copy")
        result = twinfs.with_index(work / "copy")("recover")
        left = list(folder.rglob(".twinfs~*"))
        unlike = wrong_records(twinfs.with_index(work / "copy"), folder)
        if result.status != 0 or left or unlike or not trees.every_content(folder) >= before:
            wrong.append((position, str(result)[-600:], left, unlike))
        shutil.rmtree(work / "copy")
    assert len(before) == FRESH
    assert wrong == []


def test_restore_can_be_resumed_after_a_power_cut(twinfs, disk, work, tmp_path):
    source, target = tmp_path / "source", disk.root / "target"
    for number in range(FILES):
        trees.write(source / f"{number % 5}/{number}", data(number % CONTENTS))
    os.link(source / "0/0", source / "4/link")
    backup = backups.make(twinfs, tmp_path, source)
    cuts = PowerCuts(disk.image)
    with disk.served():
        backups.restore(twinfs, backup, target)
    cuts.load(work / "record")
    unfinished = 0
    for _ in after_cuts(cuts, disk, work, "restore"):
        if not target.exists() or backups.differences(source, target) != []:
            unfinished += 1
            backups.restore(twinfs, backup, target)
            assert backups.differences(source, target) == []
    assert unfinished > 0

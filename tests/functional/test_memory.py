# SPDX-License-Identifier: MIT
"""Failing allocations: each place of the program that allocates memory fails once. The result is
right, or there is an error message. Nothing crashes, nothing is lost, and the next run is right.

A sample of the places of each command fails. With TWINFS_MEMORY_PLACES=all each of them does."""
import contextlib
import json
import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import backups
import oracle
import pytest
import trees
import walk
from block_oracle import digests, equal_and_shared, make_images
from disks import disk
from inventories import facts, load, only, walked
from pages import Page
from program import Result
from wanted_lists import Host

TOOL = Path(os.environ["TWINFS"]).resolve().parents[1] / "tests/tools/failing_memory.so"
PLACES = os.environ.get("TWINFS_MEMORY_PLACES", "10")
MINE = b".twinfs~"


@pytest.fixture
def places(twinfs, plain_build):
    if not TOOL.exists():
        pytest.skip("TWINFS is not in a folder where the tests are built")
    return Places(twinfs)


class Places:
    """The places in the code that allocate memory during a run."""

    def __init__(self, twinfs):
        self.twinfs = twinfs
        self.report = twinfs.folder / "memory"

    def program(self, index, fails=None):
        program = self.twinfs.with_index(index)
        program.environment.update(LD_PRELOAD=str(TOOL), MEMORY_REPORT=str(self.report))
        if fails:
            program.environment["MEMORY_FAILS"] = fails
        self.report.unlink(missing_ok=True)
        return program

    def reported(self):
        return self.report.read_text().rstrip("\0")

    def allocating(self, library):
        """The places found by the survey run; only those of a library if one is named."""
        lines = [line.split(maxsplit=1) for line in self.reported().splitlines()]
        return list(dict.fromkeys(line[0] for line in lines if library in line[-1]))

    def each(self, run, judge, library=""):
        """For a sample of the places, or for each one of a library, calls run with a program in
        which this place fails, and judge with the result. judge returns a problem or None."""
        problem = judge(run(self.program(self.twinfs.folder / "index 0")),
                        self.twinfs.with_index(self.twinfs.folder / "index 0"))
        assert not problem, problem
        found = self.allocating(library)
        assert len(found) > (0 if library else 20)
        wanted = len(found) if library or PLACES == "all" else int(PLACES)
        wrong, tried, reached = [], 0, 0
        for number in range(0, len(found), max(1, len(found) // wanted)):
            index = self.twinfs.folder / f"index {number + 1}"
            program = self.program(index, fails=found[number])
            try:
                result = run(program)
            except AssertionError as failure:
                raise AssertionError(f"{found[number]}: {self.reported()}") from failure
            tried += 1
            reached += bool(self.reported())
            problem = judge(result, self.twinfs.with_index(index))
            if problem:
                stack = self.reported() or "not reached"
                wrong.append(f"{found[number]}: {problem}\n{result}\n{stack}")
            trees.remove(index)
        assert not wrong, "\n".join(wrong)
        assert reached > tried // 2  # another thread may have done the work


def contents(root):
    """{path: (metadata, bytes or target)} of a tree."""
    return {entry.path: (entry.stat.st_mode, entry.stat.st_mtime_ns, entry.stat.st_ino,
                         read(root, entry.path) if entry.kind == stat.S_IFREG else entry.target)
            for entry in walk.walk(root, xattrs=False)}


def read(root, path):
    return Path(os.fsdecode(trees.join(root, path))).read_bytes()


def regular(root):
    """Paths of the regular files of a tree."""
    return {entry.path for entry in walk.walk(root, xattrs=False) if entry.kind == stat.S_IFREG}


def badly_ended(result):
    """The problem with an exit status or a missing message, or None."""
    if result.status not in (0, 1, 3):
        return f"ended with {result.status}"
    if result.status != 0 and not result.error:
        return "failed without a message"
    return None


@pytest.fixture
def tree(source):
    trees.small(source / "small")
    trees.fill(source, {b"odd/\xff": b"odd", b"odd/\xfe": b"odd", b"large/a": b"x" * 300_000,
                        b"large/b": b"x" * 300_000})
    os.setxattr(source / "large/b", "user.note", b"kept")
    return source


def wrong_afterwards(twinfs, source, right):
    result = twinfs("list", "--format=json", source)
    if result.status != 0 or result.groups != right:
        return f"the next run is wrong: {result}"
    return None


# reading

@pytest.mark.parametrize("words", [["scan"], ["list", "--format=json"]], ids="-".join)
def test_index_is_right_or_there_is_an_error(places, tree, words):
    right, before = oracle.path_groups(tree), contents(tree)

    def judge(result, twinfs):
        problem = badly_ended(result)
        if words[0] == "list" and result.status == 0 and result.groups != right:
            problem = "prints other groups and reports success"
        if contents(tree) != before:
            problem = "the source is changed"
        return problem or wrong_afterwards(twinfs, tree, right)

    places.each(lambda program: program(*words, tree), judge)


def names_of(manifest):
    """{hash: all names of a content}. After a failure another copy may be the kept one."""
    found = {}
    for entry in map(json.loads, manifest.lines[1:-1]):
        found.setdefault(entry["hash"], set()).update((entry["path"], entry["content"]))
    return found


def test_manifest_is_complete_or_there_is_an_error(places, tree):
    places.twinfs.ok("scan", tree)
    whole = names_of(places.twinfs.ok("manifest", tree))

    def judge(result, twinfs):
        if result.status == 0 and names_of(result) != whole:
            return "another manifest"
        return badly_ended(result)

    places.each(lambda program: program("manifest", tree), judge)


@pytest.mark.parametrize("library", ["", "libzstd"])
def test_inventory_is_whole_or_the_earlier_one_stays(places, tree, tmp_path, library):
    expected, output = walked(tree), tmp_path / "inventory"

    def export(program):
        return program("export", "--host=alpha", "--output", output, tree)

    def judge(result, twinfs):
        manifest, rows = load(output)  # removing other parts takes memory, too
        if {facts(row) for row in rows} != expected:
            return "another inventory"
        if (result.status != 0) != (manifest["generation"] == judge.generation):
            return "the result is not what is reported"
        judge.generation = manifest["generation"]
        return badly_ended(result)

    judge.generation = 1
    assert export(places.twinfs).status == 0
    places.each(export, judge, library)
    assert export(places.twinfs).status == 0
    only(output)


def test_digests_are_right_or_there_is_an_error(places, tree, tmp_path):
    host = Host(places.twinfs, tmp_path, tree)
    wanted = host.want()
    expected = host.expected(wanted)

    def digest(program):
        for path in expected:
            os.utime(path)  # so that the file is read again
        return program(*host.words())

    def judge(result, twinfs):
        found = {host.path(row): row["sha256"] for row in host.stored_rows()}
        if not found.items() <= expected.items():
            return "a wrong digest"
        if result.status == 0 and found != expected:
            return "missing digests are not reported"
        return badly_ended(result)

    host.digest()
    places.each(digest, judge)
    digest(places.twinfs.ok)
    assert host.digests() == expected


def test_page_is_complete_or_there_is_an_error(places, tree):
    whole = Page(places.twinfs.ok("report", "--html=-", tree).out)

    def judge(result, twinfs):
        if result.status != 0:
            return badly_ended(result)
        page = Page(result.out)
        if (page.folders(), page.ages()) != (whole.folders(), whole.ages()):
            return "another page"
        return None

    places.each(lambda program: program("report", "--html=-", tree), judge)


# a view

@dataclass
class Mounted(Result):
    wrong: list
    mounted: bool


def read_all(view):
    """Reads all files of a view and ignores errors."""
    for folder, _, names in os.walk(os.fsencode(view.path)):
        if os.path.basename(folder) == b".twinfs":
            names = (b"status.json", b"errors", b"pending", b"metrics")  # others block
        for name in names:
            with contextlib.suppress(OSError):
                path = os.path.join(folder, name)
                os.listxattr(path, follow_symlinks=False)
                Path(os.fsdecode(path)).read_bytes()


def mount(program, source):
    """Mounts in the foreground, reads everything, changes something, unmounts."""
    report = Path(program.environment["MEMORY_REPORT"])
    with program.mounted_in_foreground(source) as (process, view):
        wrong = differences_of(view, source, report) if view else []
    out, error = process.output
    return Mounted(process.returncode, out, error, wrong, view is not None)


def differences_of(view, source, report):
    """What is wrong after a change. The first comparison, or the second one, may meet the
    failure."""
    read_all(view)
    trees.write(source / "new", b"odd")
    try:
        for number in range(3):
            before = report.read_bytes()
            try:
                wrong = view.differences_now(source)
            except (OSError, subprocess.SubprocessError) as problem:
                wrong = [f"{problem}"]
            if not wrong or (number > 0 and report.read_bytes() == before):
                break
        return wrong
    finally:
        os.unlink(source / "new")


def judge_view(result, twinfs, tree, right):
    if result.wrong:
        return f"the view is wrong: {result.wrong}"
    if result.mounted and result.status != 0:
        return "the view has ended"
    return badly_ended(result) or wrong_afterwards(twinfs, tree, right)


def test_view_is_right_or_ends_with_an_error(places, tree):
    right = oracle.path_groups(tree)
    places.each(lambda program: mount(program, tree),
                lambda result, twinfs: judge_view(result, twinfs, tree, right))


def test_view_is_right_or_ends_with_an_error_if_libfuse_gets_no_memory(places, tree):
    right = oracle.path_groups(tree)
    places.each(lambda program: mount(program, tree),
                lambda result, twinfs: judge_view(result, twinfs, tree, right), "libfuse3.so")


# what changes files

@pytest.mark.parametrize("words", [["remove"], ["link"], ["link", "--symbolic"], ["move"],
                                   ["dedupe"]], ids="-".join)
def test_act_without_memory_loses_nothing(places, source, tmp_path, words):
    moved = tmp_path / "moved"
    data = {}

    def fill():
        for folder in (source, moved):
            trees.remove(folder)
            folder.mkdir()
        trees.small(source)
        data["all"] = trees.every_content(source)

    def act(program):
        fill()
        return program(*words, "--yes", source, *([moved] if words == ["move"] else []))

    def judge(result, twinfs):
        problem = badly_ended(result)
        if trees.every_content(source, moved) != data["all"]:
            problem = "a content is lost"
        twinfs.ok("recover")
        if [path for root in (source, moved) for path in contents(root) if MINE in path]:
            problem = "there is a leftover"
        if trees.every_content(source) != data["all"]:
            problem = "a content is missing in the source"
        return problem

    places.each(act, judge)


def test_parts_are_shared_without_a_changed_byte_or_there_is_an_error(places, tmp_path):
    with disk("xfs", tmp_path) as root:
        def share(program):
            trees.remove(root / "source")
            (root / "source").mkdir()
            images = make_images(root / "source", seed=1, count=3, blocks=20)
            share.before = digests(root / "source")
            share.images = images
            return program("dedupe", "--partial", "--yes", root / "source")

        def judge(result, twinfs):
            problem = badly_ended(result)
            if digests(root / "source") != share.before:
                problem = "a byte was changed"
            twinfs.ok("dedupe", "--partial", "--yes", root / "source")
            equal, shared = equal_and_shared(share.images)
            if equal != shared:
                problem = f"{equal - shared} bytes stay unshared"
            return problem

        places.each(share, judge)


def test_restored_tree_is_right_or_there_is_an_error(places, tree, tmp_path):
    backup = backups.make(places.twinfs, tmp_path, tree, copy=backups.copy_plainly)
    before = contents(backup.copy)
    target = tmp_path / "target"

    def restore(program):
        trees.remove(target)
        return program("restore", backup.manifest, backup.copy, target)

    def judge(result, twinfs):
        problem = badly_ended(result)
        if result.status == 0 and backups.differences(tree, target):
            problem = f"another tree: {backups.differences(tree, target)}"
        again = twinfs("restore", backup.manifest, backup.copy, target)
        if result.status != 0 and again.status != 0:
            problem = f"cannot be resumed: {again}"
        elif result.status != 0 and backups.differences(tree, target):
            problem = f"resumed to another tree: {backups.differences(tree, target)}"
        if contents(backup.copy) != before:
            problem = "the backup is changed"
        return problem

    places.each(restore, judge)

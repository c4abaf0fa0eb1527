# SPDX-License-Identifier: MIT
"""No step is quadratic. Each test takes seconds; with a quadratic step, the fixture guard would end
the test. No time is asserted."""
import os
import resource
import subprocess
from pathlib import Path

import collide
import oracle
import pytest
import trees

COUNT = 100_000


@pytest.fixture(scope="module")
def copies(scratch):
    """One group of 100,000 copies, in a hundred folders."""
    return trees.many(scratch / "copies", COUNT, lambda number: b"the same everywhere")


@pytest.fixture(scope="module")
def one_folder(scratch):
    """One folder of 100,000 names, all of one size; the last twenty are ten pairs."""
    def data(number):
        return b"%016d" % (number if number < COUNT - 20 else COUNT + number // 2)
    return trees.many(scratch / "flat", COUNT, data, folders=1)


def test_one_group_of_100_000_copies_is_listed(twinfs, copies):
    summary = twinfs.ok("list", "--format=json", "--summary", copies).json["summary"]
    assert (summary["groups"], summary["redundant_files"]) == (1, COUNT - 1)
    assert len(twinfs.ok("list", "--format=fdupes", copies).lines) >= COUNT
    assert len(twinfs.ok("list", "--redundant", "--format=fdupes", copies).lines) >= COUNT - 1


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


def test_view_of_100_000_files_needs_no_more_than_1024_descriptors(twinfs, copies):
    twinfs.wrapped = ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"]
    with twinfs.mounted(copies) as view:
        found = subprocess.run(["find", view.path, "-type", "f", "-size", "19c"], check=True,
                               capture_output=True, preexec_fn=limit_descriptors)
        assert len(found.stdout.splitlines()) == 2 * COUNT  # dups/ and one other tree
        [folder] = os.listdir(view.dups)
        names = os.listdir(view.dups / folder)
        assert len(names) == len(set(names)) == COUNT
        for name in names[:: COUNT // 100]:
            assert (view.dups / folder / name).read_bytes() == b"the same everywhere"
        limits = Path(f"/proc/{view.pid}/limits").read_text()
        assert "Max open files            1024" in limits


def test_folder_of_100_000_names_of_one_size_is_shown(twinfs, one_folder):
    groups = twinfs.groups(one_folder)
    assert sorted(map(len, groups)) == [2] * 10
    with twinfs.mounted(one_folder) as view:
        names = os.listdir(view.uniques / "000")
        assert len(names) == len(set(names)) == COUNT - 10
        assert (view.uniques / "000/000007").read_bytes() == b"%016d" % 7


def test_files_that_differ_only_at_their_end_are_distinguished(twinfs, source):
    data = trees.content("end", 60_000)
    for number in range(2000):
        trees.write(source / f"{number}", data + b"%05d" % (number // 2))
    assert len(twinfs.groups(source)) == 1000


def test_thousand_collisions_are_distinguished(twinfs, source):
    collide.write_long_contents(os.fspath(source / "a"), 1000, 65536, 50_000)
    collide.write_long_contents(os.fspath(source / "b"), 1000, 65536, 50_000)
    groups = twinfs.listing(source)["groups"]
    assert len(groups) == 1000
    assert len({group["hash"] for group in groups}) == 1000
    assert len({group["hash"][:32] for group in groups}) == 1


def test_rescan_without_a_change_gives_the_same_groups(twinfs, copies, one_folder):
    first = twinfs.ok("list", "--format=json", "--summary", copies, one_folder).json["summary"]
    assert first["groups"] == 11
    again = twinfs.ok("list", "--format=json", "--summary", copies, one_folder).json["summary"]
    assert again == first


def test_group_that_lost_most_of_its_copies_is_right(twinfs, scratch):
    root = trees.many(scratch / "removed", COUNT // 2, lambda number: b"soon gone")
    twinfs.ok("scan", root)
    for name in os.listdir(root)[1:]:
        trees.remove(trees.join(root, name))
    [group] = groups = twinfs.groups(root)
    assert len(group) == COUNT // 200
    assert groups == oracle.path_groups(root)


def test_copy_with_30_000_hard_links_follows_its_names(twinfs, source):
    """Each new or removed name can put the copy into a trash or take it out of one."""
    trees.fill(source, {"links/0": b"same", "copy": b"same"})
    os.utime(source / "links/0", (1, 1))
    with twinfs.mounted(source) as view:
        assert view.differences_now(source) == []
        for number in range(1, 30_000):
            os.link(source / "links/0", source / f"links/{number}")
        view.sync()
        for number in range(0, 30_000, 2):
            os.unlink(source / f"links/{number}")
        view.sync()
        [names] = map(os.listdir, view.dups.iterdir())
        assert len(names) == 15_000 + 1


def test_200_000_globs_are_compared_with_those_of_the_last_scan(twinfs, source, tmp_path):
    trees.fill(source, {"a": b"same", "b": b"same", "other 7": b"same"})
    globs = tmp_path / "globs"
    globs.write_text("".join(f"other {number}\n" for number in range(200_000)))
    twinfs.ok("scan", f"--exclude-from={globs}", source)
    for _ in range(2):
        listed = twinfs.ok("list", "--format=json", f"--exclude-from={globs}", source)
        assert list(map(len, listed.groups)) == [2]

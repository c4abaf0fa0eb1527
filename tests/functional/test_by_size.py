# SPDX-License-Identifier: MIT
"""by-size/: links to the groups, in the order of their reclaimable bytes.

Each test that calls differences() compares its content with the source.
"""
import os
import subprocess

import oracle
import pytest
import trees
from rank_names import name_of

LARGE = trees.content("large", 300_000)
MIDDLE = trees.content("middle", 50_000)
SMALL = trees.content("small", 2000)


@pytest.fixture
def view(twinfs, source):
    trees.fill(source, {b"d/large": LARGE, b"large copy": LARGE, b"e/small": SMALL})
    os.utime(source / "e/small", ns=(0, 0))
    trees.fill(source, {b"small %d" % number: SMALL for number in range(4)})
    trees.fill(source, {b"middle": MIDDLE, b"middle copy": MIDDLE})
    with twinfs.mounted(source) as mounted:
        yield mounted


def listed(view):
    return sorted(os.listdir(view.by_size))


def test_links_are_in_the_order_of_reclaimable_bytes(view):
    assert listed(view) == [name_of("0001", "large", 2, "293 KiB"),
                            name_of("0002", "middle", 2, "49 KiB"),
                            name_of("0003", "small", 5, "7.8 KiB")]


def test_link_leads_to_the_folder_of_its_group(view):
    for name, data, count in zip(listed(view), (LARGE, MIDDLE, SMALL), (2, 2, 5), strict=True):
        folder = view.by_size / name
        assert folder.is_symlink() and folder.is_dir()
        assert folder.resolve().parent == view.dups
        assert [copy.read_bytes() for copy in folder.iterdir()] == [data] * count


def test_ranks_follow_changes_of_the_source(view, source):
    before = listed(view)
    trees.write(source / "middle", trees.content("another", 50_000))
    view.sync()
    assert listed(view) == [before[0], name_of("0002", "small", 5, "7.8 KiB")]
    trees.fill(source, {b"more %03d" % number: SMALL for number in range(200)})
    view.sync()
    assert listed(view) == [name_of("0001", "small", 205, "398 KiB"),
                            name_of("0002", "large", 2, "293 KiB")]
    assert view.differences_now(source) == []


def test_old_names_of_moved_ranks_do_not_exist(view, source):
    names = [view.by_size / name for name in listed(view)]
    assert len(names) == 3
    for name in names:
        assert os.path.lexists(name)
    os.unlink(source / "large copy")
    view.sync()
    for name in names:
        assert not os.path.lexists(name), name
    assert [name[4:] for name in listed(view)] == [name.name[4:] for name in names[1:]]


def test_name_of_a_link_follows_the_kept_copy(view, source):
    assert os.path.lexists(view.by_size / name_of("0002", "middle", 2, "49 KiB"))
    os.rename(source / "middle", source / "e/renamed")
    os.rename(source / "middle copy", source / "e/renamed, too")
    view.sync()
    assert listed(view)[1].startswith("0002 renamed")
    assert not os.path.lexists(view.by_size / name_of("0002", "middle", 2, "49 KiB"))
    assert view.differences_now(source) == []


def test_open_folder_lists_the_current_links(view, source):
    handle = os.open(view.by_size, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert len(os.listdir(handle)) == 3
        for left in (2, 1):
            os.unlink(source / ("large copy" if left == 2 else "middle copy"))
            view.sync()
            os.lseek(handle, 0, os.SEEK_SET)
            assert len(os.listdir(handle)) == left
    finally:
        os.close(handle)


def test_mtime_of_the_folder_changes_with_the_ranks(view, source):
    """Also for a program that has it open: file managers list it again after that."""
    handle = os.open(view.by_size, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in ("large copy", "middle copy"):
            before = os.fstat(handle).st_mtime_ns
            os.unlink(source / name)
            view.sync()
            assert os.fstat(handle).st_mtime_ns > before
            assert os.stat(view.by_size).st_mtime_ns > before
    finally:
        os.close(handle)


def test_view_without_groups_has_an_empty_folder(twinfs, source):
    trees.fill(source, {b"a": b"one", b"b": b"other"})
    with twinfs.mounted(source) as view:
        assert os.listdir(view.by_size) == []


def test_names_of_any_bytes_have_at_most_255_bytes(twinfs, source):
    for number in range(3):
        trees.fill(source, {b"%d/%s" % (number, name): b"%d" % index * 10
                            for index, name in enumerate(trees.ODD_NAMES)})
    long = "\u20ac".encode() * 85
    trees.fill(source, {b"a/" + long: b"long", b"b/" + long: b"long"})
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []
        names = os.listdir(os.fsencode(view.by_size))
        assert max(len(name) for name in names) <= 255
        [name] = [name for name in names if "\u20ac (2\u00a0copies,".encode() in name]
        assert len(name) > 252 and "\ufffd" not in name.decode()


@pytest.fixture(scope="module")
def many(scratch):
    """4,100 groups of two files, each pair of another size."""
    return trees.many(scratch / "source", 8200, lambda number: b"x" * (number // 2 + 1),
                      folders=41)


def test_many_links_are_in_folders(twinfs, many):
    with twinfs.mounted(many) as view:
        assert listed(view) == ["00001-02000", "02001-04000", "04001-06000"]
        assert [len(os.listdir(view.by_size / name)) for name in listed(view)] == [2000, 2000, 100]
        first = min(os.listdir(view.by_size / "00001-02000"))
        assert first.endswith(name_of("", "", 2, "4.0 KiB")[2:])
        assert (view.by_size / "00001-02000" / first).resolve().parent == view.dups
        assert view.differences(many) == []


def test_plain_tools_see_every_link(twinfs, many):
    with twinfs.mounted(many) as view:
        run = subprocess.run(["ls", "-lR", view.by_size], check=True, capture_output=True,
                             text=True)
        assert run.stderr == "" and run.stdout.count(" -> ../../dups/") == 4100
        run = subprocess.run(["find", "-L", view.by_size, "-type", "f"], check=True,
                             capture_output=True, text=True)
        assert len(run.stdout.splitlines()) == 8200


def test_links_leave_their_folders_when_few_are_left(twinfs, many, source):
    subprocess.run(["cp", "-rT", many, source], check=True)
    with twinfs.mounted(source) as view:
        folder = os.open(view.by_size / "04001-06000", os.O_RDONLY | os.O_DIRECTORY)
        try:
            assert len(os.listdir(folder)) == 100
            before = os.fstat(folder).st_mtime_ns
            trees.write(source / "one more", b"x")
            view.sync()
            assert os.fstat(folder).st_mtime_ns > before
            for number in range(20, 41):
                trees.remove(source / f"{number:03d}")
            view.sync()
            assert len(listed(view)) == len(oracle.Source([source]).groups()) <= 2000
            os.lseek(folder, 0, os.SEEK_SET)
            with pytest.raises(OSError):
                os.listdir(folder)
        finally:
            os.close(folder)
        assert view.differences_now(source) == []

# SPDX-License-Identifier: MIT
"""Hostile trees: names, depths, types of files, and changes during a walk."""
import contextlib
import os
import signal
import threading

import oracle
import pytest
import trees
from changes import exchange
from processes import end_process
from program import is_mounted


def test_every_odd_name_is_in_the_view_unaltered(twinfs, source):
    trees.odd_names(source)
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []
        for name in trees.ODD_NAMES:
            assert os.path.isdir(trees.join(view.uniques, b"folders", name))
            copy = trees.join(view.uniques, b"equal", name)  # the first of its group
            with open(copy, "rb") as file:
                assert file.read() == trees.content(name, os.stat(copy).st_size)


def test_paths_longer_than_path_max_are_grouped_and_shown(twinfs, source):
    copies = trees.deep(source)
    assert [len(group["copies"]) for group in twinfs.listing(source)["groups"]] == [copies]
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []


def test_very_deep_tree_is_grouped(twinfs, source):
    trees.deep(source, levels=2000, name_length=3)
    assert [len(group["copies"]) for group in twinfs.listing(source)["groups"]] == [200]


def test_shortened_names_never_equal_a_plain_name(twinfs, source):
    """Another file gets a path that looks like the shortened name of a copy."""
    trees.fill(source, {"a\u2215b.txt": b"same", b"c": b"same"})
    with twinfs.mounted(source) as view:
        [names] = view.copies().values()
        [short] = names - {b"c"}
    assert short != "a\u2215b.txt".encode()
    trees.write(trees.join(source, short.replace("\u2215".encode(), b"/")), b"same")
    trees.write(trees.join(source, short), b"same")
    with twinfs.mounted(source) as view:
        [names] = view.copies().values()
        assert short in names
        assert len(names) == 4
        assert view.differences(source, first_scan=False) == []


def test_name_of_a_copy_does_not_depend_on_other_copies(twinfs, source):
    trees.fill(source, {b"a/" + b"n" * 255: b"same", "b\u2215c": b"same", b"d": b"same"})
    with twinfs.mounted(source) as view:
        [before] = view.copies().values()
    os.unlink(source / "d")
    trees.fill(source, {b"e": b"same", b"f/" + b"n" * 255: b"same"})
    with twinfs.mounted(source) as view:
        [after] = view.copies().values()
    assert before - {b"d"} <= after and len(after) == 4


def test_extension_stays_when_a_name_is_shortened(twinfs, source):
    trees.fill(source, {b"x" * 200 + b"/" + b"y" * 200 + b".jpg": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view:
        [names] = view.copies().values()
        [short] = names - {b"b"}
        assert short.endswith(b".jpg") and len(short) <= 255
        assert short.startswith(b"x" * 150)


def test_special_files_are_never_opened(twinfs, source):
    trees.special(source)
    trees.links(source / "links")
    with twinfs.mounted(source) as view:  # a FIFO without a writer would block for ever
        assert view.differences(source) == []


def test_hard_link_farm_is_one_file(twinfs, source):
    trees.fill(source, {b"first": b"content" * 500, b"other": b"content" * 500})
    for number in range(5000):
        folder = source / f"{number % 10}"
        folder.mkdir(exist_ok=True)
        os.link(source / "first", folder / f"{number}")
    [group] = twinfs.listing(source)["groups"]
    assert len(group["copies"]) == 5002
    assert len({copy["inode"] for copy in group["copies"]}) == 2
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []


def test_huge_sparse_files_take_no_time(twinfs, source):
    trees.holes(source / "one", trees.TIB, {0: b"a", 1 << 39: b"b"})
    trees.holes(source / "two", trees.TIB, {0: b"a", 1 << 39: b"c"})
    trees.holes(source / "largest", (1 << 44) - 4096, {})
    trees.holes(source / "equal 1", 1 << 33, {1 << 32: b"d"})
    trees.holes(source / "equal 2", 1 << 33, {1 << 32: b"d"})
    [group] = twinfs.listing(source)["groups"]
    assert group["size"] == 1 << 33


def test_index_inside_the_source_is_left_out(twinfs, source):
    trees.small(source)
    twinfs.ok("scan", source)
    (source / "state").mkdir()
    os.rename(twinfs.index, source / "state/index")
    inside = twinfs.with_index(source / "state/index")
    with inside.mounted(source) as view:
        assert view.differences(source) == []
        assert not (view.uniques / "state/index").exists()
    found = inside.groups(source)
    assert not [path for group in found for path in group if b"/state/" in path]
    assert inside.groups(source) == found == twinfs.groups(source)


def test_view_mounted_inside_its_own_source_is_not_walked(twinfs, source):
    trees.small(source)
    with twinfs.mounted(source, at=source / "view") as view:
        assert view.differences(source) == []
        assert os.listdir(view.uniques / "view") == []
        assert len(twinfs.groups(source)) == 2


def test_dead_mount_inside_the_source_is_harmless(twinfs, source, tmp_path):
    trees.small(source)
    other = twinfs.with_index(tmp_path / "other index")
    trees.fill(tmp_path / "other", {b"a": b"b"})
    with other.mounted(tmp_path / "other", at=source / "dead") as dead:
        end_process(dead.pid, signal.SIGKILL)
        assert is_mounted(source / "dead")
        assert len(twinfs.groups(source)) == 2
        with twinfs.mounted(source) as view:
            assert view.differences(source) == []


@contextlib.contextmanager
def meanwhile(act):
    """A thread repeats an act while the block runs."""
    stop = threading.Event()
    failures = []

    def run():
        number = 0
        try:
            while not stop.is_set():
                act(number)
                number += 1
        except BaseException as failure:  # reported at the end of the block
            failures.append(failure)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures, failures


def test_folder_swapped_for_a_symlink_is_not_followed_by_a_walk(twinfs, source, tmp_path):
    outside = trees.fill(tmp_path / "outside", {b"secret": b"not of this tree" * 1000,
                                                b"deeper/secret": b"not of this tree" * 1000})
    trees.fill(source, {b"folder/lone": b"x" * 16000, b"folder/deeper/lone": b"y" * 16000,
                        b"copy": b"not of this tree" * 1000})
    os.symlink(outside, source / "link")
    with meanwhile(lambda _: exchange(source / "folder", source / "link")):
        for _ in range(20):
            result = twinfs("list", "--format=json", source)
            assert result.status in (0, 3), result
            assert result.json["groups"] == []
    assert twinfs.groups(source) == set()


def test_folder_swapped_for_a_file_is_shown_as_folder_or_as_file(twinfs, source):
    trees.fill(source, {b"folder/a": b"x" * 16000, b"folder/deeper/b": b"y" * 16000,
                        b"file": b"z" * 16000, b"copy": b"z" * 16000})
    pair = frozenset(os.fsencode(source / name) for name in ("file", "copy"))
    swapped = frozenset(os.fsencode(source / name) for name in ("folder", "copy"))
    with meanwhile(lambda _: exchange(source / "folder", source / "file")):
        for _ in range(20):
            result = twinfs("list", "--format=json", source)
            assert result.status in (0, 3), result
            assert len(result.json["groups"]) <= 1
    if (source / "folder").is_file():
        pair = swapped
    assert twinfs.groups(source) == {pair}


def test_files_that_change_under_a_scan_are_right_afterwards(twinfs, source):
    """Files grow, shrink, vanish, reappear and change in place while scans run."""
    data = trees.content("storm", 50_000)
    for number in range(200):
        trees.write(source / f"{number % 10}/{number}", data)

    def act(number):
        path = source / f"{number % 10}/{number * 7 % 200}"
        kind = number % 5
        if kind == 0:
            trees.write(path, data[:number % 50_000])
        elif kind == 1 and path.exists():
            os.truncate(path, 60_000)
        elif kind == 2 and path.exists():
            os.unlink(path)
        elif kind == 3:
            trees.write(path, data)
        else:
            other = bytearray(data)
            other[number % 50_000] ^= 1
            trees.write(path, other)
    with meanwhile(act):
        for _ in range(5):
            result = twinfs("scan", source)
            assert result.status in (0, 3), result
    assert twinfs.groups(source) == oracle.path_groups(source)


def test_folders_renamed_under_a_scan_are_right_afterwards(twinfs, source):
    trees.many(source / "t", 500, lambda number: b"%d" % (number // 2), folders=50)

    def act(number):
        folder = source / f"t/{number % 50:03d}"
        os.rename(folder, source / "t/moving")
        os.rename(source / "t/moving", folder)
    with meanwhile(act):
        for _ in range(5):
            assert twinfs("scan", source).status in (0, 3)
    with twinfs.mounted(source) as view:
        assert view.differences(source, first_scan=False) == []


@pytest.mark.parametrize("name", [b"new\nline", b"\x1b[31mred\x1b[0m", b"\xff\xfe"])
def test_message_about_an_odd_name_has_no_control_byte(twinfs, tmp_path, name):
    result = twinfs("scan", trees.join(tmp_path, name))
    assert result.status == 1
    assert len(result.errors) == 1
    assert not [byte for byte in result.error[:-1] if byte < 32 or byte == 127]
    result.error.decode()


def test_odd_names_of_source_and_mount_point_work(twinfs, tmp_path):
    for name in (b"new\nline \x1b[1m", b"\xff\xfe", b"comma,equals=backslash\\", b"-dash"):
        source = trees.small(trees.join(tmp_path, b"source " + name))
        at = os.fsdecode(trees.join(tmp_path, b"mount " + name))
        with twinfs.mounted(source, at=at) as view:
            assert view.differences(source) == []
            assert os.path.samefile(view.status()["index"], twinfs.index)
        trees.remove(twinfs.index)


def test_unreadable_source_root_is_an_error(as_user, tmp_path, root_only):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    result = as_user("scan", locked)
    assert result.status == 3
    assert "locked" in result.errors[0]

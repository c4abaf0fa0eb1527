# SPDX-License-Identifier: MIT
"""Different contents with the same XXH3-128 hash are different groups: <hash>, <hash>~2 ..."""
import os

import collide
import oracle
import pytest
import trees
from program import path_of

# (size, offset of the difference); differences after the prefix are found by comparing only
LONG = [(241, 0), (4096, 0), (1 << 20, 0), (1 << 20, 1 << 19), (1 << 20, (1 << 20) - 2048),
        (100_001, 70_000)]


def pairs(source, contents):
    """Two files of each content; returns the hash of all."""
    for number, data in enumerate(contents):
        trees.fill(source, {b"%04d/one" % number: data, b"%04d/two" % number: data})
    paths = [trees.join(source, b"%04d/one" % number) for number in range(len(contents))]
    [found] = set(oracle.hashes(paths))
    assert len(set(contents)) == len(contents)
    return found


def check_groups(twinfs, source, value, count):
    groups = twinfs.listing(source)["groups"]
    expected = [value] + [f"{value}~{number}" for number in range(2, count + 1)]
    assert sorted(group["hash"] for group in groups) == sorted(expected)
    for group in groups:
        folders = {os.path.dirname(path_of(copy)) for copy in group["copies"]}
        assert len(folders) == 1 and len(group["copies"]) == 2


def test_colliding_contents_of_32_bytes_are_distinguished(twinfs, source):
    value = pairs(source, collide.short_contents())
    check_groups(twinfs, source, value, 4)


@pytest.mark.parametrize("size, offset", LONG)
def test_longer_colliding_contents_are_distinguished(twinfs, source, size, offset):
    value = pairs(source, list(collide.long_contents(3, size, offset)))
    check_groups(twinfs, source, value, 3)
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []


def test_colliding_files_without_copies_are_no_group(twinfs, source):
    collide.write_long_contents(os.fspath(source), 50, 4096)
    collide.write_long_contents(os.fspath(source / "late"), 5, 1 << 20, 1 << 19)
    assert twinfs.listing(source)["groups"] == []


def test_thousand_collisions_in_the_prefix_are_grouped_right(twinfs, source):
    contents = list(collide.long_contents(1000, 4096))
    collide.write_long_contents(os.fspath(source / "a"), 1000, 4096)
    for number in range(0, 1000, 3):
        trees.write(source / f"b/{number}", contents[number])
    with twinfs.mounted(source) as view:
        assert view.differences(source) == []
        assert len(os.listdir(view.dups)) == len(range(0, 1000, 3))
        assert len({name[:32] for name in os.listdir(view.dups)}) == 1


def test_thousand_collisions_after_the_prefix_are_grouped_right(twinfs, source):
    collide.write_long_contents(os.fspath(source / "a"), 1000, 20_000, 17_000)
    collide.write_long_contents(os.fspath(source / "b"), 300, 20_000, 17_000)
    groups = twinfs.listing(source)["groups"]
    assert len(groups) == 300
    for group in groups:
        names = {os.path.basename(path_of(copy)) for copy in group["copies"]}
        assert len(names) == 1 and len(group["copies"]) == 2


def test_more_collisions_than_are_compared_at_once_are_grouped_right(twinfs, source):
    collide.write_long_contents(os.fspath(source / "a"), 1600, 20_000, 17_000)
    collide.write_long_contents(os.fspath(source / "b"), 20, 20_000, 17_000)
    groups = twinfs.listing(source)["groups"]
    assert len(groups) == 20
    for group in groups:
        names = {os.path.basename(path_of(copy)) for copy in group["copies"]}
        assert len(names) == 1 and len(group["copies"]) == 2


def test_ordinal_of_a_group_stays_when_another_group_vanishes(twinfs, source):
    contents = list(collide.long_contents(3, 4096))
    value = pairs(source, contents)
    before = {group["hash"]: path_of(group["copies"][0]).split(b"/")[-2]
              for group in twinfs.listing(source)["groups"]}
    gone = trees.join(source, before[value])
    trees.remove(gone)
    after = {group["hash"]: path_of(group["copies"][0]).split(b"/")[-2]
             for group in twinfs.listing(source)["groups"]}
    assert after == {name: folder for name, folder in before.items() if name != value}


def test_collision_that_comes_later_is_a_group_of_its_own(twinfs, source):
    first, second = collide.long_contents(2, 1 << 16, 1 << 15)
    trees.fill(source, {b"a1": first, b"a2": first})
    [group] = twinfs.listing(source)["groups"]
    trees.fill(source, {b"b1": second, b"b2": second})
    found = {group["hash"]: {os.path.basename(path_of(copy)) for copy in group["copies"]}
             for group in twinfs.listing(source)["groups"]}
    assert found == {group["hash"]: {b"a1", b"a2"}, group["hash"] + "~2": {b"b1", b"b2"}}
    trees.fill(source, {b"a3": first, b"b3": second})
    found = {group["hash"]: {os.path.basename(path_of(copy)) for copy in group["copies"]}
             for group in twinfs.listing(source)["groups"]}
    assert found == {group["hash"]: {b"a1", b"a2", b"a3"},
                     group["hash"] + "~2": {b"b1", b"b2", b"b3"}}

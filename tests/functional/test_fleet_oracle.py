# SPDX-License-Identifier: MIT
"""The oracle of fleets computes the right tables, and it finds planted faults: in sets of rows, in
lists of wanted files, and in what they say about the files on the disk."""
import os
import random

import fleet_compare
import fleet_faults
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_writer
import pytest
import trees
from fleet_faults import FAULTS_OF_LISTS, FAULTS_OF_SETS, SetEditor

HOSTS = ("alpha", "beta", "gamma")
A, B, C, D, E = (trees.content(name, size) for name, size in zip("ABCDE", (10, 20, 30, 30, 40)))


@pytest.fixture
def hosts(tmp_path):
    """Three hosts whose tables are easy to compute by hand."""
    made = [fleet_hosts.Host(name, [trees.join(tmp_path, name.encode())]) for name in HOSTS]
    alpha, beta, gamma = (host.sources[0] for host in made)
    trees.fill(alpha, {"one": A, "x/two": A, "x/only": B, "x/empty": b"", "both": C, "y/z/f": A})
    fleet_hosts.link(trees.join(alpha, b"both"), trees.join(alpha, b"x/both"))
    trees.fill(beta, {"one": A, "other": D, "lone": E})
    trees.fill(gamma, {"c": C, "a": A})
    return made


@pytest.fixture
def fleet(hosts):
    return fleet_oracle.Fleet(hosts)


def names(files):
    return sorted(file.names[0][1] for file in files)


def sums(contents):
    return len(contents), sum(content.size for content in contents)


def digested(fleet, *wanted):
    """The inodes of some (host, path)."""
    return {(file.host, file.inode) for file in fleet.all_files()
            if (file.host, file.names[0][1].decode()) in wanted}


# The tables


def test_digested_fleet_has_the_tables_that_were_computed_by_hand(fleet):
    assert fleet.totals() == {
        "hosts": 3, "inodes": 10, "bytes": 200, "contents": 5, "content_bytes": 130,
        "undecided_contents": 0, "undecided_bytes": 0, "undecided_inodes": 0}
    assert fleet.replicas() == {1: (3, 90), 2: (1, 30), 3: (1, 10)}
    assert fleet.pairs() == {
        ("alpha", "beta"): (2, 50), ("alpha", "gamma"): (1, 20), ("beta", "alpha"): (2, 70),
        ("beta", "gamma"): (2, 70), ("gamma", "alpha"): (0, 0), ("gamma", "beta"): (1, 30)}
    assert [(count, size) for count, size, *_ in fleet.most_replicated()] == [(3, 10), (2, 30)]
    assert {host: sums(fleet.on_one_host(host)) for host in HOSTS} == {
        "alpha": (1, 20), "beta": (2, 70), "gamma": (0, 0)}
    assert all(fleet.wanted(host) == [] for host in HOSTS)


def test_covered_folders_are_those_that_were_found_by_hand(fleet):
    assert fleet.covered("alpha").keys() == {(0, b"y"), (0, b"y/z")}
    assert fleet.outermost_covered("alpha").keys() == {(0, b"y")}
    assert fleet.covered("beta") == {}
    assert {folder: len(files) for folder, files in fleet.outermost_covered("gamma").items()} == {
        (0, b""): 2}
    assert fleet.covered("gamma", by=["beta"]) == {}
    assert fleet.covered("gamma", by=["alpha"]).keys() == {(0, b"")}


def test_undigested_fleet_is_undecided_where_sizes_are_shared(fleet):
    fleet.set_digested(set())
    assert fleet.replicas() == {1: (2, 60)}
    totals = fleet.totals()
    assert (totals["contents"], totals["undecided_contents"], totals["undecided_bytes"],
            totals["undecided_inodes"]) == (8, 6, 120, 8)
    assert names(fleet.wanted("alpha")) == [b"both", b"one", b"x/two", b"y/z/f"]
    assert names(fleet.wanted("beta")) == [b"one", b"other"]
    assert names(fleet.wanted("gamma")) == [b"a", b"c"]
    assert sums(fleet.lacking("alpha", "beta")) == (1, 20)
    assert sums(fleet.undecided_between("alpha", "beta")) == (2, 40)
    assert fleet.covered("gamma") == {}


def test_digest_of_one_host_does_not_decide_about_undigested_ones(fleet):
    fleet.set_digested(digested(fleet, ("alpha", "both")))
    assert sums(fleet.on_one_host("alpha")) == (1, 20)
    assert sums(fleet.undecided_between("alpha", "gamma")) == (2, 40)


def test_digest_of_one_file_holds_for_its_group(fleet):
    fleet.set_digested(digested(fleet, ("alpha", "x/two"), ("beta", "one"), ("gamma", "a")))
    assert fleet.replicas() == {1: (2, 60), 3: (1, 10)}
    assert names(fleet.wanted("alpha")) == [b"both"]


def test_equal_files_below_the_least_size_are_several_contents(hosts):
    source = hosts[1].sources[0]
    trees.fill(source, {"s1": b"small", "s2": b"small", "large1": E + E, "large2": E + E})
    assert sums(fleet_oracle.Fleet(hosts).on_one_host("beta")) == (4, 155)
    hosts[1].min_size = 10
    assert sums(fleet_oracle.Fleet(hosts).on_one_host("beta")) == (5, 160)


def false_claims(fleet):
    """The claims of the tables that hashing all files refutes, and what they leave out."""
    true, found = fleet_oracle.true_hosts(fleet), []
    for content in fleet.on_one_host():
        found += [("one host", content)] * (len(true[content.true_sha256]) != 1)
    for content in fleet.contents:
        found += [("replicas", content)] * (not content.hosts <= true[content.true_sha256])
    for has, lacks in fleet.pairs():
        lacking = fleet.lacking(has, lacks)
        found += [("lacks", content) for content in lacking if lacks in true[content.true_sha256]]
        left = {content.true_sha256
                for content in (*lacking, *fleet.undecided_between(has, lacks))}
        found += [("left out", sha256) for sha256, holders in true.items()
                  if has in holders and lacks not in holders and sha256 not in left]
    for host in fleet.names:
        found += [("covered", file) for files in fleet.covered(host).values() for file in files
                  if true[file.sha256] == {host}]
    return found


def some_digests(fleet, seed):
    rng = random.Random(seed)
    share = rng.random()
    return {(file.host, file.inode) for file in fleet.all_files() if rng.random() < share}


@pytest.mark.parametrize("seed", range(3))
def test_tables_of_partly_digested_hosts_claim_nothing_false(tmp_path, seed):
    fleet = fleet_oracle.Fleet(fleet_hosts.Fleet(tmp_path, seed).hosts)
    for step in range(5):
        fleet.set_digested(some_digests(fleet, f"{seed} {step}"))
        assert false_claims(fleet) == []
    fleet.set_digested()
    assert false_claims(fleet) == []
    assert all(not content.undecided for content in fleet.contents)


@pytest.mark.parametrize("name", ["_is_undecided", "_lacks", "covered"])
def test_false_claim_is_found(fleet, monkeypatch, name):
    careless = {"_is_undecided": lambda self, content: False,
                "_lacks": lambda self, content, host: True,
                "covered": fleet_oracle.Fleet.folders}[name]
    monkeypatch.setattr(fleet_oracle.Fleet, name, careless)
    fleet.set_digested(digested(fleet, ("alpha", "both"), ("beta", "one")))
    assert false_claims(fleet) != []


# The generator


@pytest.mark.parametrize("seed", range(4))
def test_hosts_of_a_seed_have_what_is_easily_mistaken(tmp_path, seed):
    made = fleet_hosts.Fleet(tmp_path / "one", seed)
    fleet = fleet_oracle.Fleet(made.hosts)
    contents = fleet.contents
    assert 3 <= len(made.hosts) <= 8
    assert {content.replicas for content in contents} >= {1, 2, len(made.full)}
    first = fleet.outermost_covered(made.full[0].name)
    assert (0, b"albums/whole") in first and (0, b"albums/by links") in first
    assert (0, b"albums/part") not in first and (0, b"albums/part/below") in first
    for host in made.full:
        files = fleet.files[host.name]
        assert 150 < len(files) < 600
        assert any(len(file.names) > 2 for file in files) and any(file.group for file in files)
        assert any(file.size == 0 for file in files) and fleet.on_one_host(host.name)
        assert any(file.status.st_blocks * 512 < file.size for file in files)


def test_seed_repeats_the_hosts_and_their_changes(tmp_path):
    def state(folder):
        made = fleet_hosts.Fleet(folder, 5)
        made.change(40)
        fleet = fleet_oracle.Fleet(made.hosts)
        return [(file.host, file.names, file.sha256) for file in fleet.all_files()]

    assert state(tmp_path / "one") == state(tmp_path / "two")


def test_changes_change_the_tables(tmp_path):
    made = fleet_hosts.Fleet(tmp_path, 6, 3)
    before = fleet_oracle.Fleet(made.hosts)
    assert {name for _, name in made.change(150)} == {
        change.__name__ for change in fleet_hosts.CHANGES}
    after = fleet_oracle.Fleet(made.hosts)
    assert after.replicas() != before.replicas() and after.pairs() != before.pairs()


# Faults in sets and lists


@pytest.fixture
def host(tmp_path):
    """A host with two sources, and its files."""
    one, other = (trees.join(tmp_path, b"h", name) for name in (b"one", b"\xff"))
    trees.fill(one, {f"d/{number}": trees.content(number, 100 + number // 2)
                     for number in range(14)})
    trees.fill(one, {b"copy": A, b"copy too": A, b"new\nline": B, b"empty": b""})
    trees.fill(other, {b"latin1-\xe9": C, b"copy": A, b"linked": E})
    fleet_hosts.link(trees.join(other, b"linked"), trees.join(one, b"linked-\xff"))
    return fleet_hosts.Host("alpha", [one, other])


@pytest.fixture
def files(host):
    return fleet_oracle.Fleet([host]).files["alpha"]


@pytest.fixture(params=[True, False], ids=["zstd", "plain"])
def compressed(request):
    return request.param


def write(tmp_path, host, files, compressed=False):
    form = fleet_writer.Form(compressed=compressed, part_rows=8)
    fleet_writer.write_inventory(tmp_path / "set", host, files, form)
    return SetEditor(tmp_path / "set")


def read(tmp_path):
    return fleet_sets.read_set(tmp_path / "set", fleet_sets.INVENTORY)


def write_list(tmp_path, host, files):
    fleet_writer.write_wanted(tmp_path / "alpha.jsonl", host, files, files)
    return fleet_faults.ListEditor(tmp_path / "alpha.jsonl")


def test_right_set_is_read_and_agrees_with_the_disk(tmp_path, host, files, compressed):
    write(tmp_path, host, files, compressed)
    inventory = read(tmp_path)
    assert len(inventory.head["parts"]) == 3
    assert fleet_compare.compare_inventory(inventory, host, files, with_hashes=False) == []


def test_right_list_and_digests_are_read_and_agree(tmp_path, host, files):
    write(tmp_path, host, files)
    write_list(tmp_path, host, files)
    fleet_writer.write_digests(tmp_path / "digests", host, files, files[3:])
    wanted = fleet_sets.read_wanted(tmp_path / "alpha.jsonl")
    digests = fleet_sets.read_set(tmp_path / "digests", fleet_sets.DIGESTS)
    for found, expected in ((wanted, files), (digests, files[3:])):
        assert fleet_compare.compare_files(found, host, expected) == []
        assert fleet_compare.compare_with_inventory(found, read(tmp_path)) == []


@pytest.mark.parametrize("fault", FAULTS_OF_SETS)
def test_set_with_a_fault_is_refused(tmp_path, host, files, fault):
    FAULTS_OF_SETS[fault](write(tmp_path, host, files))
    with pytest.raises(fleet_sets.InvalidError):
        read(tmp_path)


@pytest.mark.parametrize("fault", ["part is torn", "part has garbage after it", "row missing",
                                   "last line is torn", "byte flipped"])
def test_compressed_set_with_a_fault_is_refused(tmp_path, host, files, fault):
    FAULTS_OF_SETS[fault](write(tmp_path, host, files, compressed=True))
    with pytest.raises(fleet_sets.InvalidError):
        read(tmp_path)


@pytest.mark.parametrize("left", ["file", "generation-0", "generation-1/part-00009.jsonl"])
def test_set_with_a_leftover_is_refused(tmp_path, host, files, left):
    write(tmp_path, host, files)
    trees.write(trees.join(tmp_path, b"set", left.encode()))
    with pytest.raises(fleet_sets.InvalidError):
        read(tmp_path)


@pytest.mark.parametrize("fault", FAULTS_OF_LISTS)
def test_list_with_a_fault_is_refused(tmp_path, host, files, fault):
    FAULTS_OF_LISTS[fault](write_list(tmp_path, host, files))
    with pytest.raises(fleet_sets.InvalidError):
        fleet_sets.read_wanted(tmp_path / "alpha.jsonl")


# Sets of the right form that do not agree with the disk


def without(members):
    return lambda rows: [{name: value for name, value in row.items() if name not in members}
                         for row in rows]


def change_first(**members):
    """Changes the first row with one name and without a group."""
    def change(rows):
        row = next(row for row in rows if row["names"] == 1 and "group" not in row)
        row.update(members)
        return rows
    return change


def exchange(*members):
    """Exchanges members between two rows of one name and no group."""
    def change(rows):
        one, other = [row for row in rows if row["names"] == 1 and "group" not in row][:2]
        for name in members:
            one[name], other[name] = other[name], one[name]
        return rows
    return change


def forget_link(rows):
    row = next(row for row in rows if row["names"] == 2)
    row["names"] = 1
    del row["links"]
    return rows


def add_to_group(rows):
    group = next(row["group"] for row in rows if "group" in row)
    one = next(row for row in rows if "group" in row)
    other = next(row for row in rows if "group" not in row and row["size"] > one["size"])
    other.update(group=group, size=one["size"])
    return rows


def take_from_group(rows):
    del next(row for row in rows if "group" in row)["group"]
    return rows


def split_inode(rows):
    row = next(row for row in rows if row["names"] == 2)
    [link] = row.pop("links")
    row["names"] = 1
    row.pop("path_base64", None)
    return [*rows, {**row, **link, "id": 1000, "ino": row["ino"] + (1 << 40)}]


FALSE_ROWS = {
    "a row is missing": lambda rows: rows[1:],
    "a file is invented": lambda rows: [*rows, {**rows[0], "id": 1000, "path": "zz", "ino": 1}],
    "a size is another one": change_first(size=5),
    "a time is another one": change_first(mtime_ns=5),
    "a time of change is another one": change_first(ctime_ns=5),
    "an inode is another one": change_first(ino=5),
    "a path is another one": change_first(path="zz"),
    "a source is another one": change_first(source=1),
    "two paths are exchanged": exchange("path"),
    "two inodes are exchanged": exchange("ino"),
    "a SHA-256 is another one": change_first(sha256="0" * 64), "a link is missing": forget_link,
    "a hard link is two files": split_inode, "a group has another file": add_to_group,
    "a group lacks a file": take_from_group, "all groups are missing": without({"group"}),
}


@pytest.mark.parametrize("fault", FALSE_ROWS)
def test_false_row_is_a_difference(tmp_path, host, files, fault):
    rows = FALSE_ROWS[fault](fleet_writer.inventory_rows(files))
    fleet_writer.write_set(tmp_path / "set", fleet_sets.INVENTORY, host, rows)
    assert fleet_compare.compare_inventory(read(tmp_path), host, files, with_hashes=False)


@pytest.mark.parametrize("members", [{"host": "beta"}, {"min_size": 7},
                                     {"sources": [{"path": "/a"}, {"path": "/b"}]}])
def test_false_head_is_a_difference(tmp_path, host, files, members):
    fleet_writer.write_inventory(tmp_path / "set", host, files, fleet_writer.Form(head=members))
    assert fleet_compare.compare_inventory(read(tmp_path), host, files, with_hashes=False)


def test_false_hash_of_a_group_is_a_difference(tmp_path, host, files):
    write(tmp_path, host, files)
    [*others] = fleet_compare.compare_inventory(read(tmp_path), host, files)
    assert len(others) == 3 and all("xxhsum" in text for text in others)


def rewrite_with_same_times(path):
    fleet_hosts.rewrite_in_place(path, trees.content("new", os.stat(path).st_size))


CHANGES = {
    "size": lambda path: trees.write(path, B),
    "content": rewrite_with_same_times,
    "name": lambda path: os.rename(path, path + b" new"),
    "link": lambda path: os.link(path, path + b" new"),
    "new": lambda path: trees.write(path + b" new", B),
    "gone": os.unlink,
    "time": lambda path: os.utime(path, ns=(0, 0)),
    "inode": lambda path: os.rename(trees.write(path + b" new", C), path),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_of_the_disk_is_a_difference(tmp_path, host, files, change):
    for file in files:
        file.known = True
    write(tmp_path, host, files)
    CHANGES[change](trees.join(host.sources[0], b"d/3"))
    now = fleet_oracle.Fleet([host]).files["alpha"]
    assert fleet_compare.compare_inventory(read(tmp_path), host, now, with_hashes=False)


def test_list_that_lacks_a_file_is_a_difference(tmp_path, host, files):
    fleet_writer.write_wanted(tmp_path / "alpha.jsonl", host, files, files[1:])
    wanted = fleet_sets.read_wanted(tmp_path / "alpha.jsonl")
    assert fleet_compare.compare_files(wanted, host, files) != []
    assert fleet_compare.compare_files(wanted, host, files[2:]) != []


@pytest.mark.parametrize("members", [{}, {"index": "f" * 16}], ids=["ids", "index"])
def test_list_with_other_ids_is_a_difference(tmp_path, host, files, members):
    write(tmp_path, host, files)
    ordered = files if members else files[::-1]
    form = fleet_writer.Form(head=members)
    fleet_writer.write_wanted(tmp_path / "alpha.jsonl", host, ordered, files, form)
    wanted = fleet_sets.read_wanted(tmp_path / "alpha.jsonl")
    assert fleet_compare.compare_files(wanted, host, files) == []
    assert fleet_compare.compare_with_inventory(wanted, read(tmp_path)) != []

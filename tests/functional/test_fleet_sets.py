# SPDX-License-Identifier: MIT
"""`twinfs export` and `twinfs digest` on generated hosts: the sets have exactly the form of
twinfs(5), agree with the disk, and only wanted files were read. twinfs-fleet has no part in it: the
lists of wanted files are those of the oracle."""
import os

import fleet_compare
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_writer
import pytest
from fleet_machines import Machine

FIGURES = ("id", "size", "mtime_ns", "ctime_ns", "dev", "ino")
SEEDS = range(int(os.environ.get("TWINFS_TEST_SEEDS", "2")))


class Fleet:
    """Generated hosts, a machine for each, and the sets of the last round."""

    def __init__(self, session, folder, seed):
        self.made = fleet_hosts.Fleet(folder / "hosts", seed)
        self.machines = [Machine(session, folder / "machines", host) for host in self.made.hosts]
        self.lists = folder / "lists"
        self.lists.mkdir()

    def export(self, mounted=()):
        """Exports all hosts and compares the inventories with the disk. `mounted` has the views of
        some hosts."""
        mounted = dict(mounted)
        inventories = {machine.host.name: machine.export(mounted.get(machine.host.name))
                       for machine in self.machines}
        self.oracle = fleet_oracle.Fleet(self.made.hosts, self.known(inventories))
        for machine in self.machines:
            name = machine.host.name
            assert fleet_compare.compare_inventory(
                inventories[name], machine.host, self.oracle.files[name]) == []
        self.inventories = inventories
        return inventories

    @staticmethod
    def known(inventories):
        return {(name, row.inode) for name, inventory in inventories.items()
                for row in inventory.rows if row.get("sha256")}

    def digest(self, machine, mountpoint=None):
        """Digests what the oracle wants of a host; returns the wanted files and the digests."""
        name = machine.host.name
        wanted = self.oracle.wanted(name)
        path = self.lists / f"{name}.jsonl"
        self.write_list(path, machine.host, wanted)
        digests, paths = machine.digest(path, mountpoint)
        assert fleet_compare.compare_digests(
            digests, machine.host, wanted, self.oracle.files[name]) == []
        assert fleet_compare.compare_with_inventory(digests, self.inventories[name]) == []
        self.check_reads(machine.host, wanted, paths, mountpoint)
        return wanted, digests

    def write_list(self, path, host, wanted):
        """A list with the ids and sources of the inventory."""
        inventory = self.inventories[host.name]
        inodes = {file.inode for file in wanted}
        rows = [{name: row.values[name] for name in FIGURES}
                | fleet_writer.name_members(row.names[0])
                for row in inventory.rows if row.inode in inodes]
        head = {name: inventory.head[name] for name in ("schema", "host", "index", "created",
                                                        "sources")}
        head |= {"format": fleet_sets.WANTED, "rows": len(rows),
                 "bytes": sum(row["size"] for row in rows)}
        fleet_writer.write_lines(path, (head, *rows))

    def check_reads(self, host, wanted, paths, mountpoint):
        """Only wanted files were read, and of each group one. Files of nothing but a hole need not
        be read, and strace does not know the longest paths."""
        by_path = {path: file for file in self.oracle.files[host.name]
                   for path in fleet_compare.names_on_disk(host, file)}
        read = {by_path[path] for path in paths}
        assert read <= set(wanted), read - set(wanted)
        groups = [file.group for file in read if file.group]
        assert len(groups) == len(set(groups))
        if not mountpoint:  # else the digests before are known, but not in the inventory
            assert {file.group or file.inode for file in wanted if file.status.st_blocks > 0
                    and max(map(len, fleet_compare.names_on_disk(host, file))) < 4000
                    } <= {file.group or file.inode for file in read}


@pytest.mark.parametrize("seed", SEEDS)
def test_inventories_agree_with_the_disk_after_random_changes(session, tmp_path, seed):
    fleet = Fleet(session, tmp_path, ("changes", seed))
    for _ in range(4):
        fleet.export()
        fleet.made.change(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_sets_of_generated_hosts_agree_with_the_disk_in_each_round(session, tmp_path, strace, seed):
    fleet = Fleet(session, tmp_path, seed)
    for round_number in range(3):
        fleet.export()
        counts = [len(fleet.digest(machine)[0]) for machine in fleet.machines]
        assert sum(counts) > 0
        before, after = fleet.inventories, fleet.export()
        assert all(fleet.oracle.wanted(machine.host.name) == [] for machine in fleet.machines)
        for name, inventory in after.items():
            assert inventory.head["index"] == before[name].head["index"]
            assert inventory.head["generation"] > before[name].head["generation"]
        if round_number < 2:
            fleet.made.change()


def test_second_digest_of_the_same_list_reads_nothing(session, tmp_path, strace):
    fleet = Fleet(session, tmp_path, "again")
    fleet.export()
    for machine in fleet.machines:
        _, digests = fleet.digest(machine)
        again, paths = machine.digest(fleet.lists / f"{machine.host.name}.jsonl")
        assert paths == set()
        assert [row.values for row in again.rows] == [row.values for row in digests.rows]


def test_sets_of_a_mounted_view_agree_with_the_disk(session, tmp_path, strace):
    """The daemon of the view has the index and follows the changes."""
    fleet = Fleet(session, tmp_path, "mounted")
    machine = next(machine for machine in fleet.machines if not machine.host.empty)
    fleet.export()
    options = ("--wait", f"--min-size={machine.host.min_size}")
    with machine.program.mounted(*machine.host.sources, options=options) as view:
        for _ in range(3):
            fleet.made.change(40)
            fleet.export({machine.host.name: view.path})
            fleet.digest(machine, view.path)
    fleet.export()


def test_ids_and_the_name_of_an_index_stay_when_files_are_renamed(session, tmp_path):
    fleet = Fleet(session, tmp_path, "renamed")
    before = fleet.export()
    for host in fleet.made.full:
        fleet_hosts.rename_file(fleet.made, host)
        fleet_hosts.rename_folder(fleet.made, host)
    after = fleet.export()
    for name, inventory in after.items():
        ids = {row.inode: row.id for row in before[name].rows}
        assert {row.inode: row.id for row in inventory.rows} == ids

# SPDX-License-Identifier: MIT
"""A fleet from end to end: `twinfs export` on each host, `twinfs-fleet wanted`, `twinfs digest`,
and `twinfs-fleet report`, in several rounds with changes between them, against an oracle that
hashes everything. Only files whose size another host has are read by `digest`."""
import os

import fleet_compare
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_tables
import pytest
from fleet_machines import Machine
from fleet_tables import differences, fleet_ok

SEEDS = range(int(os.environ.get("TWINFS_TEST_SEEDS", "2")))
TABLES = ("totals", "hosts", "replicas", "alone", "undecided", "pairs", "covered", "redundant",
          "alone_largest", "alone_files", "replicated_largest")


@pytest.fixture(autouse=True)
def engines():
    fleet_tables.need_engines()


class Fleet:
    """Generated hosts, the sets that they wrote, and the oracle of the last export."""

    def __init__(self, session, folder, seed):
        self.folder = folder
        self.made = fleet_hosts.Fleet(folder / "hosts", seed)
        self.machines = [Machine(session, folder / "machines", host) for host in self.made.hosts]
        self.digested, self.rounds = set(), 0
        self.views = {}  # mounted views, by host

    @property
    def sets(self):
        return [folder for machine in self.machines for folder in machine.sets]

    def export(self):
        """Exports all hosts. The digests of earlier rounds that are current are in the inventories,
        or only in the sets of digests."""
        self.inventories = {machine.host.name: machine.export(self.views.get(machine.host.name))
                            for machine in self.machines}
        self.digested = {(name, row.inode) for name, inventory in self.inventories.items()
                         for row in inventory.rows if row.get("sha256")}
        self.oracle = fleet_oracle.Fleet(self.made.hosts, self.digested)
        for machine in self.machines:
            self.digested |= self.current_digests(machine)
        self.oracle.set_digested(self.digested)

    def current_digests(self, machine):
        """The files of a host that are as they were when they were digested."""
        name, found = machine.host.name, set()
        for folder in machine.sets[1:]:
            for row in fleet_sets.read_set(folder, fleet_sets.DIGESTS).rows:
                file = self.oracle.inodes.get((name, row.inode))
                if file and (file.size, file.mtime_ns, file.ctime_ns) == (
                        row.size, row.mtime_ns, row.ctime_ns):
                    found.add((name, row.inode))
        return found

    def wanted(self):
        """Writes and compares the lists of wanted files; returns {host: files}."""
        self.rounds += 1
        self.lists = self.folder / f"lists-{self.rounds}"
        fleet_ok("wanted", f"--output={self.lists}", *self.sets)
        expected = {host.name: self.oracle.wanted(host.name) for host in self.made.hosts}
        for host in self.made.hosts:
            found = fleet_sets.read_wanted(self.lists / f"{host.name}.jsonl")
            assert fleet_compare.compare_files(found, host, expected[host.name]) == []
            assert fleet_compare.compare_with_inventory(found, self.inventories[host.name]) == []
        return expected

    def digest(self, wanted):
        """Digests the wanted files on each host; only they are read, and of each group one."""
        for machine in self.machines:
            host, files = machine.host, wanted[machine.host.name]
            digests, paths = machine.digest(self.lists / f"{host.name}.jsonl",
                                            self.views.get(host.name))
            assert fleet_compare.compare_digests(
                digests, host, files, self.oracle.files[host.name]) == []
            by_path = {path: file for file in self.oracle.files[host.name]
                       for path in fleet_compare.names_on_disk(host, file)}
            read = {by_path[path] for path in paths}
            assert read <= set(files)
            groups = [file.group for file in read if file.group]
            assert len(groups) == len(set(groups))
            self.digested |= {(host.name, file.inode) for file in files}
        self.oracle.set_digested(self.digested)

    def report(self, *options):
        return fleet_tables.report_json(*options, *self.sets)

    def check(self, *options):
        """Compares the report with the oracle."""
        tables = self.report(*options)
        assert tables.keys() >= set(TABLES)
        assert differences(tables, self.oracle, self.made.hosts) == []
        return tables

    def round(self):
        """Export, wanted, digest and report; returns the wanted files."""
        self.export()
        wanted = self.wanted()
        self.digest(wanted)
        tables = self.check()
        assert tables["totals"][0]["undecided_contents"] == 0
        return wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_report_agrees_with_hashing_everything_in_each_round(session, tmp_path, strace, seed):
    fleet = Fleet(session, tmp_path, seed)
    first = fleet.round()
    for _ in range(2):
        fleet.made.change()
        later = fleet.round()
        assert 0 < sum(map(len, later.values())) < sum(map(len, first.values())) / 2


def test_rounds_with_a_mounted_view_agree_with_hashing_everything(session, tmp_path, strace):
    """The daemon of a view has the index, so `digest` cannot write to it."""
    fleet = Fleet(session, tmp_path, "mounted")
    machine = next(machine for machine in fleet.machines if not machine.host.empty)
    options = ("--wait", f"--min-size={machine.host.min_size}")
    fleet.round()
    with machine.program.mounted(*machine.host.sources, options=options) as view:
        fleet.views[machine.host.name] = view.path
        for _ in range(2):
            fleet.made.change()
            fleet.round()


def test_report_before_digests_claims_what_sizes_and_groups_prove(session, tmp_path):
    fleet = Fleet(session, tmp_path, "undigested")
    fleet.export()
    tables = fleet.check()
    assert tables["totals"][0]["undecided_contents"] > 100 and tables["alone"]


def test_digests_of_some_hosts_decide_nothing_about_the_others(session, tmp_path, strace):
    fleet = Fleet(session, tmp_path, "partly")
    fleet.export()
    wanted = fleet.wanted()
    digesting, fleet.machines = fleet.machines, fleet.machines[:2]
    fleet.digest(wanted)
    fleet.machines = digesting
    tables = fleet.check()
    assert tables["totals"][0]["undecided_contents"] > 0
    assert len(tables["replicas"]) > 1


def test_digests_older_than_the_inventory_are_used_only_where_they_hold(session, tmp_path, strace):
    """A file that was rewritten with its size and times restored has another content."""
    fleet = Fleet(session, tmp_path, "older")
    fleet.round()
    for host in fleet.made.full:
        for _ in range(10):
            fleet_hosts.rewrite_with_same_times(fleet.made, host)
    fleet.export()
    fleet.check()
    assert any(fleet.wanted().values())


def test_import_answers_as_the_sets_do(session, tmp_path, strace):
    fleet = Fleet(session, tmp_path, "imported")
    fleet.round()
    imported = tmp_path / "imported"
    fleet_ok("import", f"--output={imported}", *fleet.sets)
    tables = fleet_tables.report_json(imported)
    assert differences(tables, fleet.oracle, fleet.made.hosts) == []
    assert tables == fleet.report()


def test_formats_have_the_same_tables(session, tmp_path, strace):
    fleet = Fleet(session, tmp_path, "formats")
    fleet.round()
    expected = fleet_tables.rows_as_set(fleet.report())
    for read in (fleet_tables.report_csv, fleet_tables.report_parquet):
        tables = read(tmp_path / read.__name__, *fleet.sets)
        assert differences(tables, fleet.oracle, fleet.made.hosts) == []
        assert fleet_tables.rows_as_set(tables) == expected

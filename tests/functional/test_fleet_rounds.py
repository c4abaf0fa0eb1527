# SPDX-License-Identifier: MIT
"""Random rounds of plan, attest and remove on several hosts, with faults between any two steps:
no content falls below the replicas of a plan, and whatever may go goes (rounds.py)."""
import os

import pytest
import rounds
import trees
from fleet_tables import need_engines
from round_hosts import Host
from round_lists import KEEP, REMOVE
from round_machines import Machines, fleet_server

FIRST = int(os.environ.get("TWINFS_FLEET_FIRST", "0"))
COUNT = int(os.environ.get("TWINFS_FLEET_ROUNDS", "20"))
BATCH = 10  # rounds that share a plan


@pytest.fixture(scope="module")
def fleet():
    need_engines()
    with fleet_server() as server:
        yield server


def run_batch(session, fleet, folder, seeds, kind=None):
    """Runs rounds and returns the number of names that were removed."""
    folder.mkdir()
    made = rounds.run_batch(Machines(session, fleet, folder), folder, seeds, kind)
    trees.remove(folder)
    return sum(len(paths) for each in made for paths in each.removed.values())


def test_random_rounds_with_faults_keep_the_replicas_of_each_content(session, tmp_path, strace,
                                                                     fleet):
    gone = 0
    for first in range(FIRST, FIRST + COUNT, BATCH):
        gone += run_batch(session, fleet, tmp_path / str(first), range(first, first + BATCH))
    assert gone > COUNT


@pytest.mark.parametrize("kind", sorted(set(rounds.KINDS)))
def test_each_kind_of_round_removes_files(session, tmp_path, strace, fleet, kind):
    seeds = [f"{kind} {number}" for number in range(3)]
    assert run_batch(session, fleet, tmp_path / "batch", seeds, kind) > 0


# ---- a tree that is exported under two host names -----------------------------------------


class Shared:
    """The hosts "one" and "two", which see one tree, and "three", which has a copy of it. The
    inventory of "one" is older than the last change of the attributes of the files."""

    def __init__(self, session, fleet, folder):
        self.machines = Machines(session, fleet, folder)
        tree = {b"%d" % number: trees.content((folder.name, number), 500)  # not promised before
                for number in range(3)}
        self.tree = trees.fill(folder / "tree", tree)
        copy = trees.fill(folder / "copy", tree)
        self.hosts = {name: Host(name, str(folder / name), [source]) for name, source in
                      (("one", self.tree), ("two", self.tree), ("three", copy))}
        self.export(*self.hosts)
        for name in tree:
            os.chmod(os.path.join(self.tree, name), 0o600)
        self.export("two")

    def export(self, *names):
        for name in names:
            self.machines.export(self.hosts[name])
        self.machines.wanted()
        for name in names:
            self.machines.digest(self.hosts[name])

    def act(self, folder, replicas, keepers, remover):
        """Plans, attests on the keepers, and removes; returns the run of remove."""
        others = set(self.hosts) - {*keepers, remover}
        plan = rounds.Plan(str(folder), rounds.Wish(replicas, [*keepers, *sorted(others)], []),
                           ("1d", rounds.DAY), False)
        run = self.machines.plan(plan.folder, plan.wish)
        assert run.status == 0, run
        for name in keepers:
            run = self.machines.attest(self.hosts[name], plan.file(KEEP, name), plan.folder)
            assert run.status == 0, run
        return self.machines.remove(self.hosts[remover], plan.file(REMOVE, remover), plan)


@pytest.fixture
def shared(session, fleet, tmp_path):
    return Shared(session, fleet, tmp_path)


@pytest.mark.parametrize("keeper, remover", [("one", "two"), ("two", "one")])
def test_host_that_sees_the_tree_of_a_keeper_removes_nothing_of_it(shared, tmp_path, keeper,
                                                                   remover):
    run = shared.act(tmp_path / "plan", 1, [keeper], remover)
    assert run.status == 3 and len(os.listdir(shared.tree)) == 3, run
    assert "inode number" in run.errors[0]


def test_two_keepers_that_see_one_tree_are_one_replica(shared, tmp_path):
    run = shared.act(tmp_path / "plan", 2, ["one", "two"], "three")
    assert run.status == 3 and len(os.listdir(tmp_path / "copy")) == 3, run


def test_one_of_two_hosts_that_see_one_tree_is_a_keeper(shared, tmp_path):
    run = shared.act(tmp_path / "plan", 1, ["one"], "three")
    assert run.status == 0 and os.listdir(tmp_path / "copy") == [], run

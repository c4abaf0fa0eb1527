# SPDX-License-Identifier: MIT
"""The checker of rounds accepts the model, and finds what is wrong in each model that differs."""
import json
import os
import secrets
import shutil

import pytest
import round_lists
import rounds
from round_hosts import entry_of, snapshot
from round_lists import ATTESTATION, KEEP, file_name
from round_model import Model, Run

SEEDS = 150  # rounds in which a difference must be found
ACCEPTED = 40


class IgnoresAttestations(Model):
    def may_go(self, host, listed, row, attested, max_age):
        return listed.path(row) in snapshot(host) and not self.is_promised(host, row)


class NeedsOneReplicaLess(Model):
    def may_go(self, host, listed, row, attested, max_age):
        listed.head["keep_replicas"] = max(1, self.wish.replicas - 1)
        return super().may_go(host, listed, row, attested, max_age)

    def plan(self, folder, wish):
        self.wish = wish
        return super().plan(folder, wish)


class IgnoresAges(Model):
    @staticmethod
    def is_fresh(begun, max_age):
        return True


class AcceptsTheFuture(Model):
    @staticmethod
    def is_fresh(begun, max_age):
        return rounds.time.time() - round_lists.read_time(begun) <= max_age


class IgnoresThePlan(Model):
    def counts(self, lines, head, number, max_age):
        return (lines.head["host"] == head["keepers"][number]["host"] and
                self.is_fresh(lines.head["begun"], max_age))


class CountsAttestationsNotHosts(Model):
    @staticmethod
    def read_attestations(folder, keepers):
        return [round_lists.read_attestation(os.path.join(folder, name))
                for name in os.listdir(folder) if name.startswith("attested-")]

    def may_go(self, host, listed, row, attested, max_age):
        count = sum(self.counts(lines, listed.head, number, max_age) and
                    self.says_kept(lines, row) for number in row.keepers for lines in attested)
        entry = snapshot(host).get(listed.path(row))
        return (count >= listed.head["keep_replicas"] and entry is not None and
                self.is_listed(entry, row) and not self.is_promised(host, row))


class TakesListedForKept(Model):
    @staticmethod
    def says_kept(lines, row):
        return any(attested["sha256"] == row.sha256 for attested in lines.rows)


class IgnoresPromises(Model):
    def is_promised(self, host, row):
        return False


class RemovesChangedFiles(Model):
    def is_listed(self, entry, row):
        return entry.size == row.size


class SkipsMalformedAttestations(Model):
    @staticmethod
    def read_attestations(folder, keepers):
        found = []
        for keeper in keepers:
            try:
                found += Model.read_attestations(folder, [keeper])
            except round_lists.fleet_sets.InvalidError:
                continue
        return found


class RemovesNothing(Model):
    def may_go(self, host, listed, row, attested, max_age):
        return False


class LeavesOne(Model):
    def may_go(self, host, listed, row, attested, max_age):
        return row is not listed.rows[-1] and super().may_go(host, listed, row, attested, max_age)


class RemovesFromBundles(Model):
    def remove_alone(self, host, path, plan, kill):
        plan.bundles, bundles = True, plan.bundles
        run = super().remove_alone(host, path, plan, kill)
        plan.bundles = bundles
        return run


class RemovesOneMore(Model):
    def remove_alone(self, host, path, plan, kill):
        run = super().remove_alone(host, path, plan, kill)
        if run.status == 0:
            os.unlink(next(path for path, entry in snapshot(host).items() if entry.sha256))
        return run


class ChangesAnotherFile(Model):
    def remove_alone(self, host, path, plan, kill):
        run = super().remove_alone(host, path, plan, kill)
        os.utime(next(path for path, entry in snapshot(host).items() if entry.sha256), ns=(1, 1))
        return run


class LeavesQuarantine(Model):
    def remove_alone(self, host, path, plan, kill):
        run = super().remove_alone(host, path, plan, kill)
        if run.killed:
            path = next(path for path, entry in snapshot(host).items() if entry.sha256)
            os.rename(path, os.path.join(os.path.dirname(path), b".twinfs~1"))
        return run


class RemovesOnAnotherHost(Model):
    def remove_alone(self, host, path, plan, kill):
        self.last = getattr(self, "last", host)
        if self.last is not host:
            os.unlink(next(path for path, entry in snapshot(self.last).items() if entry.sha256))
        self.last = host
        return super().remove_alone(host, path, plan, kill)


class AlwaysEndsWell(Model):
    def remove_alone(self, host, path, plan, kill):
        run = super().remove_alone(host, path, plan, kill)
        return run if run.killed else Run(0)


class RecordsNothing(Model):
    def removed(self, host):
        return set()


class RecordsWhatStayed(Model):
    def removed(self, host):
        return super().removed(host) | {host.sources[0] + b"/empty"}


class AttestsWithoutReading(Model):
    def verdict(self, host, path, row):
        return self.kept(self.first.setdefault(path, entry_of(path)))

    def export(self, host):
        self.first = {**getattr(self, "first", {}), **snapshot(host)}
        return super().export(host)


class AttestsBySize(Model):
    def verdict(self, host, path, row):
        try:
            entry = entry_of(path)
        except OSError:
            return {"kept": False, "reason": "missing"}
        kept = entry.size == row.size
        return self.kept(entry) if kept else {"kept": False, "reason": "changed"}


class AttestsThroughSymlinks(Model):
    def verdict(self, host, path, row):
        try:
            entry = entry_of(os.path.realpath(path))
        except OSError:
            return {"kept": False, "reason": "missing"}
        kept = entry.content == (row.sha256, row.size)
        return self.kept(entry) if kept else {"kept": False, "reason": "changed"}


class AttestsNothing(Model):
    def verdict(self, host, path, row):
        return {"kept": False, "reason": "unreadable"}


class NamesNothing(Model):
    def attest_alone(self, host, path, folder, kill):
        run = super().attest_alone(host, path, folder, kill)
        return Run(run.status, run.killed)


class AttestsWithoutStatus(Model):
    def attest_alone(self, host, path, folder, kill):
        run = super().attest_alone(host, path, folder, kill)
        return Run(0, run.killed, run.errors) if run.status == 3 else run


class WritesHalfAnAttestation(Model):
    def attest_alone(self, host, path, folder, kill):
        run = super().attest_alone(host, path, folder, kill)
        if run.killed:
            with open(os.path.join(folder, file_name(ATTESTATION, host.name)), "w",
                      encoding="utf-8") as file:
                file.write('{"format": "twinfs-attestation"')
        return run


class ChangesItsHost(Model):
    def attest_alone(self, host, path, folder, kill):
        os.utime(next(path for path, entry in snapshot(host).items() if entry.sha256), ns=(1, 1))
        return super().attest_alone(host, path, folder, kill)


class PlansWithout(Model):
    """Plans without an option."""
    lacks = {}

    def plan(self, folder, wish):
        return super().plan(folder, rounds.Wish(**{**vars(wish), **self.lacks}))


class IgnoresPrefer(PlansWithout):
    lacks = {"prefer": []}


class IgnoresProtect(PlansWithout):
    lacks = {"protect": []}


class KeepsOneReplica(PlansWithout):
    lacks = {"replicas": 1}


class EditsLists(Model):
    """Changes one list after it was made."""

    def plan(self, folder, wish):
        run = super().plan(folder, wish)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                head, *rows = map(json.loads, file)
            self.edit(head, rows)
            self.write_lines(path, (head, *rows))
        return run


class ForgetsAName(EditsLists):
    def edit(self, head, rows):
        if "keepers" in head and len(rows) > 1:
            head["bytes"] -= rows.pop()["size"]
            head["rows"] -= 1


class PlansInSeveralPlans(EditsLists):
    def edit(self, head, rows):
        head["plan"] = secrets.token_hex(16)


class CountsRowsWrongly(EditsLists):
    def edit(self, head, rows):
        head["rows"] += 1


class PlansOneListLess(Model):
    def plan(self, folder, wish):
        run = super().plan(folder, wish)
        for name in [name for name in os.listdir(folder) if name.startswith("remove-")][:1]:
            os.unlink(os.path.join(folder, name))
        return run


class KeepsAnotherFile(Model):
    def rows_for(self, kind, host, expected, names):
        rows = super().rows_for(kind, host, expected, names)
        if kind == KEEP and rows:
            rows[0]["ino"] += 1
        return rows


CLEAN = {RemovesNothing, LeavesOne, RemovesOneMore, ChangesAnotherFile, RecordsNothing,
         RecordsWhatStayed, AttestsNothing, ChangesItsHost, RemovesOnAnotherHost,
         RemovesFromBundles}
PAIRS = {IgnoresPromises}
KILLS = {LeavesQuarantine, WritesHalfAnAttestation}


def all_models(base=Model):
    found = []
    for model in base.__subclasses__():
        found += all_models(model) or [model]
    return found


def kind_of(model):
    return ("clean" if model in CLEAN else "clean pair" if model in PAIRS else
            "kills" if model in KILLS else "faults")


def run_round(folder, model, seed, kind):
    folder.mkdir()
    try:
        [made] = rounds.run_batch(model(), folder, [seed], kind)
        return made
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("kind", sorted(set(rounds.KINDS)))
def test_model_is_accepted(tmp_path, kind):
    gone = 0
    for seed in range(ACCEPTED // len(rounds.KINDS)):
        made = run_round(tmp_path / "round", Model, seed, kind)
        gone += sum(map(len, made.removed.values()))
    assert gone > 0


@pytest.mark.parametrize("model", all_models(), ids=lambda model: model.__name__)
def test_model_that_differs_is_found(tmp_path, model):
    for seed in range(SEEDS):
        try:
            run_round(tmp_path / "round", model, seed, kind_of(model))
        except rounds.ViolationError:
            return
    pytest.fail("no round found the difference")

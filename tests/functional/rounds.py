# SPDX-License-Identifier: MIT
"""Rounds of a fleet: export, wanted, digest, plan, attest and remove on small random hosts, in a
random order and with random faults. After each step the round hashes everything on all hosts and
raises ViolationError if the step did something else than it must."""
import contextlib
import json
import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import fleet_sets
import round_faults
import round_hosts
import round_lists
from round_hosts import contents, leftovers, snapshot
from round_lists import ATTESTATION, KEEP, REMOVE, Wish, file_name, read_time

DAY = 86_400
AGES = (("1d", DAY), ("60m", 3600), ("2h", 7200), ("7d", 7 * DAY))  # of --max-age
KINDS = ("clean", "clean pair", "faults", "faults", "faults", "kills", "kills", "together")
MUST_FAIL, CAN_FAIL = "must fail", "can fail"  # a run with a malformed attestation
BUNDLE = b"/.git/"  # is in the paths of files in bundles
FUTURE = 300  # seconds that an attestation may be from the future


class ViolationError(AssertionError):
    """The programs did something else than they must."""


def demand(claim, *what):
    if not claim:
        raise ViolationError(" ".join(map(str, what)))


def age_of(head):
    return time.time() - read_time(head["begun"])


def is_fresh(data, max_age):
    """Whether the first line of a malformed attestation says that it is fresh."""
    try:
        return -FUTURE <= age_of(json.loads(data.partition(b"\n")[0])) <= max_age
    except (ValueError, KeyError, fleet_sets.InvalidError):
        return False


@dataclass
class Plan:
    """A folder with the lists of a plan, and what they were when they were made."""
    folder: str
    wish: Wish
    age: tuple
    bundles: bool  # whether files in bundles may go
    lists: dict = field(default_factory=dict)  # {(kind, host): Lines}

    def hosts(self, kind):
        return sorted(host for of, host in self.lists if of == kind)

    def file(self, kind, host):
        return os.path.join(self.folder, file_name(kind, host))

    def attestations(self):
        """The bytes of the attestations, by name."""
        found = {}
        for name in sorted(os.listdir(self.folder)):
            if name.startswith("attested-") and name.endswith(".jsonl"):
                with open(os.path.join(self.folder, name), "rb") as file:
                    found[name] = file.read()
        return found


@dataclass
class Step:
    """A run of attest or remove; `act` is a generator that runs it and then checks it."""
    act: object
    plan: Plan
    host: str
    kill: object


class Round:
    """Hosts with the commands that run on them, and what has happened so far."""

    def __init__(self, commands, folder, seed, number=0, kind=None):
        self.rng = random.Random(f"round {seed}")
        self.kind = kind or self.rng.choice(KINDS)
        self.commands, self.folder, self.seed = commands, os.fspath(folder), seed
        made = round_hosts.make_hosts(os.path.join(self.folder, "hosts"), seed, number)
        self.hosts = {host.name: host for host in made}
        self.seen = self.look()
        self.first = self.seen
        self.promised = {name: set() for name in self.hosts}  # contents that must stay
        self.maybe = {name: set() for name in self.hosts}  # contents that may stay
        self.attested = {name: set() for name in self.hosts}
        self.lost = {}  # {content: hosts that lost it by a fault after they attested it}
        self.destroyed = {}  # {content: hosts that lost it by a fault}
        self.removed = {name: set() for name in self.hosts}
        self.plans, self.story, self.inventories, self.digests = [], [], {}, {}

    @property
    def faulty(self):
        return not self.kind.startswith("clean")

    def look(self):
        return {name: snapshot(host) for name, host in self.hosts.items()}

    def tell(self, *words):
        self.story.append(" ".join(map(str, words)))

    # the steps of a round

    @contextlib.contextmanager
    def telling(self):
        """Adds the story of the round to what was found."""
        try:
            yield
        except (AssertionError, fleet_sets.InvalidError) as error:
            story = "\n  ".join(self.story)
            raise ViolationError(f"round {self.seed} ({self.kind}): {error}\n  {story}") from error

    def export(self):
        for name, host in self.hosts.items():
            self.inventories[name] = self.commands.export(host)
        self.maybe_fault()

    def digest(self):
        self.maybe_fault()
        for name, host in self.hosts.items():
            found = self.commands.digest(host)
            if found:
                self.digests[name] = found
            self.maybe_fault()
        self.demand_unchanged("export and digest")

    def act(self):
        """Runs attest and remove in a random order, with faults between them."""
        steps = self.make_steps()
        while steps:
            count = 2 if self.kind == "together" and self.rng.random() < 0.5 else 1
            self.run_steps(*steps[:count])
            del steps[:count]
            if self.faulty and steps and self.kind != "together" and self.rng.random() < 0.5:
                round_faults.inject(self, steps[0].plan)
        self.end()

    def maybe_fault(self):
        if self.faulty and self.rng.random() < 0.1:
            round_faults.change_host(self)

    def make_steps(self):
        """The steps of one plan, or of two that overlap, in a random order."""
        steps = self.steps_of(self.plans[0])
        if self.kind == "clean" or self.rng.random() < 0.3:
            return steps
        others = self.steps_of(self.plans[1])
        if self.rng.random() < 0.3:
            return steps + others
        return self.merged(steps, others)

    def merged(self, one, other):
        one, other, found = list(one), list(other), []
        while one or other:
            found.append((one if not other or one and self.rng.random() < 0.5 else other).pop(0))
        return found

    def random_wish(self):
        """A random order of hosts, and random files that some of them keep."""
        names, rng = sorted(self.hosts), self.rng
        prefer = rng.sample(names, rng.randint(0, len(names)))
        protect = []
        for _ in range(rng.choice((0, 0, 1, 2))):
            host = rng.choice(names)
            path = os.fsdecode(rng.choice(sorted(self.seen[host])))
            plain = path if path.isascii() and path.isprintable() else "*"
            protect.append((host, rng.choice((plain, plain[:-1] + "?", "*/" + plain[-3:], "*/a/*",
                                              "*.git*", "?" + plain[1:], "/keep"))))
        return Wish(0, prefer, protect)

    def opposite_wish(self, wish):
        prefer = [name for name in wish.prefer if name in self.hosts]
        return Wish(0, (prefer or sorted(self.hosts))[::-1], [])

    def own(self, wish):
        """The part of a wish that is for the hosts of this round."""
        return Wish(wish.replicas, [name for name in wish.prefer if name in self.hosts],
                    [rule for rule in wish.protect if rule[0] in self.hosts])

    def take_plan(self, folder, wish):
        """Takes the lists of the hosts of this round from a plan and checks them."""
        plan = Plan(os.path.join(self.folder, f"plan {len(self.plans)}"), wish,
                    self.rng.choice(AGES), self.rng.random() < 0.5)
        self.tell("plan", *self.own(wish).words)
        os.mkdir(plan.folder, 0o700)
        for host in self.hosts:
            for kind in (KEEP, REMOVE):
                made = os.path.join(folder, file_name(kind, host))
                if os.path.exists(made):
                    shutil.copy2(made, plan.folder)
                    plan.lists[kind, host] = round_lists.read_list(made, kind)
        expected = round_lists.expected_plan(self.inventories, self.digests, wish)
        round_lists.check_plan(plan.folder, expected, self.inventories, wish.replicas)
        self.plans.append(plan)
        self.demand_unchanged("plan")

    def steps_of(self, plan):
        """Calls of attest and remove; in a clean round all of them, attest first."""
        rng, keepers, removers = self.rng, plan.hosts(KEEP), plan.hosts(REMOVE)
        if self.faulty and rng.random() < 0.5:
            keepers = rng.sample(keepers, rng.randint(0, len(keepers)))
        if self.faulty:
            keepers += rng.choices(keepers, k=rng.choice((0, 0, 1))) if keepers else []
            removers = rng.choices(removers, k=len(removers) + 1) if removers else []
        rng.shuffle(keepers)
        rng.shuffle(removers)
        steps = [self.step(self.attest, plan, name) for name in keepers]
        steps += [self.step(self.remove, plan, name) for name in removers]
        if self.faulty and rng.random() < 0.2:
            rng.shuffle(steps)
        return steps

    def step(self, act, plan, host):
        kill = round_faults.kill_point(self.rng) if self.kind == "kills" else None
        return Step(act, plan, host, kill)

    def run_steps(self, *steps):
        """Runs steps at the same time; their checks run after all have ended."""
        together = len(steps) > 1
        if together:
            self.tell("together:")
        self.shared = set()
        work = [step.act(step.plan, step.host, step.kill, together) for step in steps]
        with ThreadPoolExecutor(len(work)) as pool:
            for done in [pool.submit(next, step) for step in work]:
                done.result()
        after, hosts = self.look(), {step.host for step in steps}
        for other in self.hosts.keys() - hosts:
            demand(after[other] == self.seen[other], "a step on", hosts, "changed", other)
        for step in work:
            step.send(after)
        self.seen = after

    # attest

    def attest(self, plan, host, kill, together):
        """Runs attest; is then sent what is on the disks, and checks it."""
        path, before = plan.file(KEEP, host), plan.attestations()
        listed, begun = self.read(path, KEEP), int(time.time())
        run = self.commands.attest(self.hosts[host], path, plan.folder, kill)
        self.tell("attest", self.plans.index(plan), host, run)
        after = yield
        if not together:
            demand(after[host] == self.seen[host], "attest changed its host", host)
        name, made = file_name(ATTESTATION, host), plan.attestations()
        if listed:
            self.maybe[host] |= {(row.sha256, row.size) for row in listed.rows}
        if together and run.status == 1:
            yield  # another run has the promises of this host
        if run.killed or not listed:
            demand(run.killed or run.status == 1, "attest of", host, run)
            if made.get(name) == before.get(name) or not listed:
                demand(made == before or together, "attest of", host, "wrote something")
                yield
        found = round_lists.read_attestation(os.path.join(plan.folder, name))
        self.check_attestation(plan, host, listed, found, begun)
        self.check_attested(host, listed, found, run, (self.seen[host], after[host]))
        yield

    @staticmethod
    def read(path, kind):
        with contextlib.suppress(fleet_sets.InvalidError):
            return round_lists.read_list(path, kind)

    def check_attestation(self, plan, host, listed, found, begun):
        head = found.head
        demand(head["plan"] == listed.head["plan"] and head["host"] == host and
               head["list"] == round_lists.sha256_of(plan.file(KEEP, host)),
               "the attestation of", host, "is for another list:", head)
        demand(begun <= read_time(head["begun"]) <= read_time(head["created"]) <= time.time() + 1,
               "the attestation of", host, "has another time:", head)
        demand([(row.sha256, row.size) for row in listed.rows] ==
               [(row["sha256"], row["size"]) for row in found.rows],
               "the attestation of", host, "has other rows than its list")
        mode = os.stat(plan.file(ATTESTATION, host)).st_mode & 0o777
        demand(mode == 0o600, "an attestation has mode", oct(mode))

    def check_attested(self, host, listed, found, run, files):
        """Checks what an attestation says of the files before and after it, and the exit status
        and messages."""
        lost = 0
        for row, says in zip(listed.rows, found.rows):
            content, path = (row.sha256, row.size), listed.path(row)
            true = [path in seen and seen[path].content == content for seen in files]
            demand(says["kept"] == true[1] or (not says["kept"] and not all(true)),
                   "attest of", host, "says", says, "of", path, files[1].get(path))
            if says["kept"]:
                demand(int(says["inode"], 16) == files[1][path].ino, "attest says", says, "of",
                       files[1][path])
                self.promised[host].add(content)
                self.attested[host].add(content)
            else:
                lost += 1
                name = os.fsdecode(os.path.basename(path))
                if name.isalnum() and name.isascii():
                    demand(any(name in line for line in run.errors) or run.killed,
                           "attest does not name", path, run)
        if not run.killed:
            demand(run.status == (3 if lost else 0), lost, "are not kept:", run)

    # remove

    def remove(self, plan, host, kill, together):
        """Runs remove; is then sent what is on the disks, and checks it."""
        path = plan.file(REMOVE, host)
        listed = self.read(path, REMOVE)
        allowed, must = self.may_and_must(plan, host, listed)
        self.shared |= allowed
        run = self.commands.remove(self.hosts[host], path, plan, kill)
        self.tell("remove", self.plans.index(plan), host, run)
        if run.killed:
            self.after_kill(plan, host, listed)
        after = yield
        if together:  # the other step can be an attest, or a remove on the same host
            allowed |= self.may_and_must(plan, host, listed)[0] | self.shared
            must = set()
        before = self.seen[host]
        gone = before.keys() - after[host].keys()
        demand(gone <= allowed, "remove on", host, "removed", gone - allowed)
        demand({path: entry for path, entry in before.items() if path not in gone} == after[host],
               "remove changed other files of", host)
        self.removed[host] |= gone
        least = min(each.wish.replicas for each in (self.plans if together else [plan]))
        self.check_replicas(least, host, {before[path].content for path in gone}, after)
        if not run.killed and not together:
            demand(must <= gone, "remove on", host, "left", must - gone, run)
            self.check_status(listed, plan, gone, run)
        yield

    def after_kill(self, plan, host, listed):
        """Recovers by the command for it, or by the next run of remove."""
        if listed is None or self.broken(plan, listed) or self.rng.random() < 0.5:
            self.commands.recover(self.hosts[host])
        else:
            run = self.commands.remove(self.hosts[host], plan.file(REMOVE, host), plan, None)
            self.tell("again:", run)

    def check_status(self, listed, plan, gone, run):
        broken = self.broken(plan, listed) if listed else MUST_FAIL
        if broken and (run.status == 1 or broken == MUST_FAIL):
            demand(run.status == 1 and not gone and run.errors, "a malformed file:", run)
            return
        left = {listed.path(row) for row in listed.rows} - gone
        spared = set() if plan.bundles else {path for path in left if BUNDLE in path}
        expected = {3} if left - spared else {0, 3} if spared else {0}
        demand(run.status in expected, "status", run, len(left), "are left")
        demand(not left or run.errors, "remove does not say what it left")

    @staticmethod
    def attestations(plan):
        """{file name: attestation} of a plan, without malformed ones."""
        found = {}
        for name in plan.attestations():
            with contextlib.suppress(fleet_sets.InvalidError):
                found[name] = round_lists.read_attestation(os.path.join(plan.folder, name))
        return found

    @staticmethod
    def broken(plan, listed):
        """Whether remove must fail or can fail, because an attestation is malformed. Only those
        that count for this list need to be read whole."""
        found, keepers = None, {keeper["host"]: keeper for keeper in listed.head["keepers"]}
        for name, data in plan.attestations().items():
            path, host = os.path.join(plan.folder, name), name[len("attested-"):-len(".jsonl")]
            try:
                if round_lists.read_attestation(path).head["host"] != host:
                    found = found or CAN_FAIL
            except fleet_sets.InvalidError:
                counts = (host in keepers and listed.head["plan"].encode() in data and
                          keepers[host]["list"].encode() in data and is_fresh(data, plan.age[1]))
                found = MUST_FAIL if counts else found or CAN_FAIL
        return found

    def may_and_must(self, plan, host, listed):
        """The names that may go now, and those that must go."""
        broken = self.broken(plan, listed) if listed else MUST_FAIL
        if broken == MUST_FAIL:
            return set(), set()
        attested = self.attestations(plan)
        allowed, must = set(), set()
        first, now = self.first_entries(host), self.seen[host]
        for row in listed.rows:
            path, content = listed.path(row), (row.sha256, row.size)
            keepers = self.keepers(plan, listed, row, attested)
            if len({keeper for keeper, _ in keepers} - {host}) < plan.wish.replicas:
                continue
            if content in self.promised[host] or path not in now or now[path].content != content:
                continue
            if BUNDLE in path and not plan.bundles:
                continue
            allowed.add(path)
            by_name = {keeper for keeper, name in keepers
                       if name == file_name(ATTESTATION, keeper)}
            if (len(by_name) >= plan.wish.replicas and content not in self.maybe[host] and
                    path in first and not broken):
                must.add(path)
        return allowed, must

    def first_entries(self, host):
        """The names that no fault has changed, nor any name of their inode."""
        now, first = self.seen[host], self.first[host]
        names, names_first = self.names_of_inodes(now), self.names_of_inodes(first)
        return {path for path, entry in now.items() if first.get(path) == entry and
                names[entry.ino] | self.removed[host] >= names_first[entry.ino] and
                names[entry.ino] <= names_first[entry.ino]}

    @staticmethod
    def names_of_inodes(found):
        names = {}
        for path, entry in found.items():
            names.setdefault(entry.ino, set()).add(path)
        return names

    @staticmethod
    def keepers(plan, listed, row, attested):
        """{(host, file name)} of the attestations that count for a row."""
        found = set()
        for number in row.keepers:
            keeper = listed.head["keepers"][number]
            for name, lines in attested.items():
                head = lines.head
                age = age_of(head)
                if (head["plan"] == listed.head["plan"] and head["host"] == keeper["host"] and
                        head["list"] == keeper["list"] and -FUTURE <= age <= plan.age[1] and
                        any(says["kept"] and (says["sha256"], says["size"]) ==
                            (row.sha256, row.size) for says in lines.rows)):
                    found.add((keeper["host"], name))
        return found

    def check_replicas(self, least, host, gone, after):
        """Each content that went from a host is on enough others, but for what faults took."""
        for content in gone:
            others = {other for other in self.hosts if content in contents(after[other])}
            others = (others | self.lost.get(content, set())) - {host}
            demand(len(others) >= least, "content", content, "went from", host,
                   "and is only on", others)

    # faults and the end

    def changed(self, host, what):
        """Notes what a fault on a host changed."""
        before, after = self.seen[host], snapshot(self.hosts[host])
        self.tell("fault:", host, what)
        for content in contents(before) - contents(after):
            self.destroyed.setdefault(content, set()).add(host)
            if content in self.attested[host]:
                self.lost.setdefault(content, set()).add(host)
        self.seen[host] = after

    def demand_unchanged(self, what):
        now = self.look()
        demand(now == self.seen, what, "changed a host")

    def end(self):
        for name, host in self.hosts.items():
            self.commands.recover(host)
            removed = self.commands.removed(host)
            demand(removed == self.removed[name], "the log of", name, "differs:",
                   removed ^ self.removed[name])
        self.demand_unchanged("recover")
        for name, found in self.seen.items():
            demand(not leftovers(found), "left behind on", name, leftovers(found))
        for plan in self.plans:
            strange = [name for name in os.listdir(plan.folder) if not name.endswith(".jsonl")]
            demand(not strange or self.kind == "kills", "left behind:", strange)
        self.check_all_contents()

    def check_all_contents(self):
        """No content is on fewer hosts than before or than the least number that a plan keeps."""
        least = min(plan.wish.replicas for plan in self.plans)
        for content in set().union(*map(contents, self.first.values())):
            before = {name for name in self.hosts if content in contents(self.first[name])}
            now = {name for name in self.hosts if content in contents(self.seen[name])}
            safe = now | self.destroyed.get(content, set())
            demand(len(safe) >= min(least, len(before)), "content", content, "was on", before,
                   "and is on", now)


def joint_wish(wishes, replicas):
    """One wish for the hosts of several rounds, which have no common contents."""
    return Wish(replicas, [name for wish in wishes for name in wish.prefer],
                [rule for wish in wishes for rule in wish.protect])


def run_batch(commands, folder, seeds, kind=None):
    """Runs a round for each seed; returns the rounds."""
    rng, folder = random.Random(f"batch {seeds}"), os.fspath(folder)
    made = [Round(commands, os.path.join(folder, f"round {number}"), seed, number, kind)
            for number, seed in enumerate(seeds)]
    for each in made:
        with each.telling():
            each.export()
    commands.wanted()
    for each in made:
        with each.telling():
            each.digest()
    wishes = [each.random_wish() for each in made]
    replicas = rng.choice((1, 1, 2, 2, 3))
    plan_all(commands, os.path.join(folder, "plan"), made, joint_wish(wishes, replicas))
    wishes = [each.opposite_wish(wish) for each, wish in zip(made, wishes)]
    replicas = rng.choice((replicas, rng.randint(1, 3)))
    plan_all(commands, os.path.join(folder, "opposite plan"), made, joint_wish(wishes, replicas))
    found = []
    for each in made:
        try:
            with each.telling():
                each.act()
        except ViolationError as error:
            found.append(str(error))
    demand(not found, "\n".join(found))
    return made


def plan_all(commands, folder, made, wish):
    run = commands.plan(folder, wish)
    demand(run.status == 0, "plan:", run)
    for each in made:
        with each.telling():
            each.take_plan(folder, wish)

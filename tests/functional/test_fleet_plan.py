# SPDX-License-Identifier: MIT
"""`twinfs-fleet plan`: each content stays on enough hosts, the right ones keep it, nothing else may
go, and the lists and the summary say so. The lists are those of an oracle that hashes all files."""
import hashlib
import json
import os
import random
import re

import fleet_hosts
import fleet_oracle
import fleet_plan
import fleet_sets
import fleet_tool
import fleet_writer
import pytest
import trees
from fleet_plan import Wishes
from fleet_tool import Tool

SEEDS = range(int(os.environ.get("TWINFS_TEST_SEEDS", "3")))
NAMES = ("alpha", "beta", "gamma", "delta")
A, B, C = (trees.content(name, size) for name, size in zip("ABC", (10, 20, 30)))


class Case:
    """Hosts with these files, {host: {path: data}}, and their sets."""

    def __init__(self, folder, files, read=None):
        self.folder = folder
        self.hosts = [fleet_hosts.Host(name, [trees.fill(folder / "hosts" / name, content)])
                      for name, content in files.items()]
        self.read = read
        self.tool = Tool(folder)

    def source(self, name):
        return next(host.sources[0] for host in self.hosts if host.name == name)

    def link(self, host, old, new, other=None):
        """Gives a file of a host a further name there, or on another host."""
        fleet_hosts.link(trees.join(self.source(host), old),
                         trees.join(self.source(other or host), new))

    def write(self):
        self.fleet = fleet_oracle.Fleet(self.hosts)
        self.sets = fleet_tool.write_sets(self.folder, self.fleet, self.hosts, self.read)
        return self

    @property
    def output(self):
        return self.folder / "plan"

    def run(self, wishes, status=0):
        return self.tool("plan", "--output", self.output, *wishes.words, *self.sets,
                         status=status)

    def plan(self, wishes):
        """The plan, which must be that of the oracle."""
        self.said = self.run(wishes).stdout.decode()
        found = fleet_plan.read_plan(self.output)
        assert found.differences(fleet_plan.expected(self.fleet, self.hosts, wishes)) == []
        return found

    def glob(self, host, pattern):
        return os.path.join(self.source(host), pattern)


def everywhere(files, names=NAMES):
    return {name: dict(files) for name in names}


def removing(plan):
    """{path: hosts from which it may go}."""
    found = {}
    for host, (_, path) in sorted(plan.removable):
        found.setdefault(path, []).append(host)
    return found


def keeping(plan, data):
    sha256 = hashlib.sha256(data).hexdigest()
    return sorted(host for host, kept in plan.kept if kept == sha256)


# Who keeps a content


def test_hosts_that_are_not_needed_may_remove_all_names(tmp_path):
    case = Case(tmp_path, everywhere({"one": A, "copy/two": A, "other": B}, NAMES[:3]))
    for host in NAMES[:3]:
        case.link(host, b"one", b"copy/link")
    plan = case.write().plan(Wishes(1))
    paths = (b"one", b"copy/two", b"copy/link", b"other")
    assert removing(plan) == {path: ["beta", "gamma"] for path in paths}
    assert keeping(plan, A) == keeping(plan, B) == ["alpha"]
    sha256 = hashlib.sha256(A).hexdigest()
    assert plan.kept["alpha", sha256] == (0, b"copy/link")  # the file with the lowest id, once


def test_content_on_no_more_hosts_than_wanted_is_in_no_list(tmp_path):
    case = Case(tmp_path, {"alpha": {"a": A, "b": B, "own": C}, "beta": {"a": A, "b": B},
                           "gamma": {"a": A, "again": A}}).write()
    plan = case.plan(Wishes(2))
    assert removing(plan) == {b"a": ["gamma"], b"again": ["gamma"]}
    assert keeping(plan, A) == ["alpha", "beta"] and keeping(plan, B) == []
    assert "- 2 contents are on 2 hosts or fewer, as far as is known.\n" in case.said


def test_copies_on_one_host_count_as_one_replica(tmp_path):
    case = Case(tmp_path, {"alpha": {"1": A, "2": A, "3": A}, "beta": {"1": A}}).write()
    assert case.plan(Wishes(2)).removable == {}


def test_preferred_hosts_keep_in_their_order_and_then_the_others_by_name(tmp_path):
    case = Case(tmp_path, {**everywhere({"a": A}), "beta": {"a": A, "b": B},
                           "gamma": {"a": A, "b": B}}).write()
    for prefer, keepers in (([], ["alpha", "beta"]), (["delta"], ["alpha", "delta"]),
                            (["gamma", "delta", "beta"], ["delta", "gamma"])):
        assert keeping(case.plan(Wishes(2, prefer)), A) == keepers
    plan = case.plan(Wishes(1, ["delta", "gamma"]))
    assert (keeping(plan, A), keeping(plan, B)) == (["delta"], ["gamma"])


def test_protected_hosts_keep_before_preferred_ones_and_beyond_the_number(tmp_path):
    case = Case(tmp_path, everywhere({"a": A, "b": B})).write()
    protect = [(host, case.glob(host, b"a")) for host in ("gamma", "delta")]
    plan = case.plan(Wishes(1, ["alpha"], protect))
    assert keeping(plan, A) == ["delta", "gamma"] and keeping(plan, B) == ["alpha"]
    assert keeping(case.plan(Wishes(3, ["alpha"], protect)), A) == ["alpha", "delta", "gamma"]


def test_content_that_all_hosts_protect_is_in_no_list(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}, NAMES[:2])).write()
    plan = case.plan(Wishes(1, protect=[(host, b"*") for host in NAMES[:2]]))
    assert plan.kept == plan.removable == {}
    assert "- 1 content is protected on each host that need not keep it.\n" in case.said


def test_one_protected_name_of_a_file_or_of_a_copy_protects_the_content(tmp_path):
    case = Case(tmp_path, everywhere({"a": A, "b": B, "copy of b": B, "c": C}, NAMES[:2]))
    case.link("beta", b"a", b"kept/a")
    case.write()
    protect = [("beta", case.glob("beta", name)) for name in (b"kept/*", b"copy of ?")]
    plan = case.plan(Wishes(1, protect=protect))
    assert keeping(plan, A) == keeping(plan, B) == ["beta"] and keeping(plan, C) == ["alpha"]
    assert removing(plan) == {b"a": ["alpha"], b"b": ["alpha"], b"copy of b": ["alpha"],
                              b"c": ["beta"]}


def test_pattern_of_one_host_protects_nothing_on_another(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}, NAMES[:2])).write()
    plan = case.plan(Wishes(1, protect=[("beta", case.glob("alpha", b"a"))]))
    assert keeping(plan, A) == ["alpha"]


def test_source_that_is_the_root_has_paths_with_one_slash(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}, NAMES[:2])).write()
    rows = fleet_writer.inventory_rows(case.fleet.files["beta"])
    case.hosts[1].sources = [b"/"]
    fleet_writer.write_set(case.folder / "inventory/root", fleet_sets.INVENTORY, case.hosts[1],
                           rows, fleet_writer.Form(index=f"{1:016x}"))
    case.sets[2] = case.folder / "inventory/root"
    assert keeping(case.plan(Wishes(1, protect=[("beta", b"/a")])), A) == ["beta"]


# What is left out


def test_undecided_content_is_in_no_list(tmp_path):
    """A host whose file was not digested neither keeps it for others nor may remove it."""
    case = Case(tmp_path, everywhere({"a": A, "b": B}, NAMES[:3]))
    fleet = fleet_oracle.Fleet(case.hosts)
    case.read = {(file.host, file.inode) for file in fleet.all_files()
                 if (file.host, file.size) != ("alpha", len(A))}
    plan = case.write().plan(Wishes(1))
    assert keeping(plan, A) == ["beta"] and keeping(plan, B) == ["alpha"]
    assert removing(plan) == {b"a": ["gamma"], b"b": ["beta", "gamma"]}
    assert "- 1 content is undecided: other hosts have files of its size" in case.said


def test_fleet_without_digests_has_an_empty_plan(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}), read=set()).write()
    assert case.plan(Wishes(1)).removable == {}
    assert case.said.startswith("Nothing may go if each content is to stay on 1 host.\n")
    assert "Next" not in case.said and os.listdir(case.output) == []


def test_content_that_can_be_one_file_of_two_hosts_is_left_out(tmp_path):
    case = Case(tmp_path, everywhere({"a": A, "b": B}, NAMES[:3]))
    case.link("alpha", b"b", b"seen", other="gamma")  # the same inode number and times
    plan = case.write().plan(Wishes(1))
    assert removing(plan) == {b"a": ["beta", "gamma"]}
    assert "- 1 content can be one file that two hosts see" in case.said


def write_rows(case, change):
    """Writes another inventory of beta: `change` is called with each row and alpha's of the same
    number. All rows have their SHA-256."""
    alpha, beta = (case.fleet.files[name] for name in ("alpha", "beta"))
    rows = fleet_writer.inventory_rows(beta)
    for row, other, file in zip(rows, fleet_writer.inventory_rows(alpha), beta):
        row["sha256"] = file.sha256
        change(row, other)
    fleet_writer.write_set(case.folder / "inventory/other", fleet_sets.INVENTORY, case.hosts[1],
                           rows, fleet_writer.Form(index=f"{1:016x}"))
    case.sets[2:] = [case.folder / "inventory/other"]


@pytest.mark.parametrize("differs", [None, "ino", "mtime_ns", "ctime_ns"])
def test_files_whose_inode_number_or_time_differs_are_two_files(tmp_path, differs):
    case = Case(tmp_path, everywhere({"a": A, "b": B, "c": C}, NAMES[:2])).write()
    write_rows(case, lambda row, other: row.update(
        {name: other[name] + (name == differs) for name in ("ino", "mtime_ns", "ctime_ns")}))
    case.run(Wishes(1))
    assert len(fleet_plan.read_plan(case.output).removable) == (3 if differs else 0)


def test_files_of_one_host_with_the_same_inode_number_are_left_in(tmp_path):
    """Two devices of a host can have the same numbers."""
    case = Case(tmp_path, everywhere({"a": A, "copy": A}, NAMES[:2])).write()
    write_rows(case, lambda row, other: row.update(dev=row["id"], ino=7, mtime_ns=7, ctime_ns=7))
    assert removing(case.plan(Wishes(1))) == {b"a": ["beta"], b"copy": ["beta"]}


def test_files_of_no_bytes_stay(tmp_path):
    case = Case(tmp_path, everywhere({"empty": b""})).write()
    assert case.plan(Wishes(1)).removable == {}


def test_content_with_a_name_that_is_too_long_for_a_list_is_left_out(tmp_path):
    case = Case(tmp_path, everywhere({"a": A, "b": B}, NAMES[:2]))
    case.write()
    rows = fleet_writer.inventory_rows(case.fleet.files["beta"])
    rows[0]["path"] = "\1/" * 5500 + "a"
    fleet_writer.write_set(case.folder / "inventory/long", fleet_sets.INVENTORY, case.hosts[1],
                           rows, fleet_writer.Form(index=f"{1:016x}"))
    case.sets[2] = case.folder / "inventory/long"
    run = case.run(Wishes(1), status=3)
    plan = fleet_plan.read_plan(case.output)
    assert removing(plan) == {b"b": ["beta"]} and keeping(plan, A) == []
    assert b"- 1 content has a name that is too long for a list.\n" in run.stdout
    assert b"warning: left out 1 content with names" in run.stderr


# Patterns

ODD = (b"100%", b"1000", b"a_b", b"a-b", b"back\\slash", b"backslash", b"new\nline", b"e!", b"!%",
       b"*", b"?", b"[a]", b"a", b"x/y/z", b"w/y", b"caf\xc3\xa9", b"latin1-\xe9",
       b"latin1-\xe9\xe8", b"\\xe9", b"\xf0\x9f\x98\x80", b"''", b'"', b"Caf\xc3\xa9", b"trailing ")
# {glob below a folder: the names of ODD that it matches}
GLOBS = {
    b"100%": {b"100%"}, b"100?": {b"100%", b"1000"}, b"a_b": {b"a_b"}, b"a?b": {b"a_b", b"a-b"},
    b"back\\slash": {b"back\\slash"}, b"back*slash": {b"back\\slash", b"backslash"},
    b"back?slash": {b"back\\slash"}, b"\\*": {b"\\xe9"}, b"new?line": {b"new\nline"},
    b"n*e": {b"new\nline"}, b"e!": {b"e!"}, b"!%": {b"!%"}, b"!?": {b"!%"}, b"[a]": {b"[a]"},
    # in a path that is not UTF-8, a question mark stands for any number of characters
    b"?": {b"*", b"?", b"a", b"\xf0\x9f\x98\x80", b'"', b"latin1-\xe9", b"latin1-\xe9\xe8"},
    b"x/?/z": {b"x/y/z"}, b"x*z": {b"x/y/z"}, b"w?y": {b"w/y"}, b"x/*": {b"x/y/z"},
    b"caf?": {b"caf\xc3\xa9"}, b"caf\xc3\xa9": {b"caf\xc3\xa9"}, b"''": {b"''"},
    b"latin1-\xe9": {b"latin1-\xe9"}, b"latin1-?": {b"latin1-\xe9", b"latin1-\xe9\xe8"},
    b"*\xe9": {b"latin1-\xe9", b"\\xe9"}, b"*\xe9*": {b"latin1-\xe9", b"latin1-\xe9\xe8", b"\\xe9"},
    b"trailing": set(), b"trailing?": {b"trailing "}, b"": set(), b"100": set(), b"*": set(ODD),
}


def test_pattern_matches_the_whole_path_and_knows_two_special_characters(tmp_path):
    """One plan, with a host of the odd names for each pattern. Another host has all contents, and
    keeps those that no pattern protects."""
    files = {name: trees.content(name, 200 + number) for number, name in enumerate(ODD)}
    globs = {f"host-{number}": glob for number, glob in enumerate(GLOBS)}
    case = Case(tmp_path, {"alpha": {b"%d" % number: data for number, data in enumerate(
        files.values())}, **everywhere(files, globs)}).write()
    protect = {host: case.glob(host, glob) if glob else case.source(host)
               for host, glob in globs.items()}
    run = case.run(Wishes(1, protect=list(protect.items())))
    gone = removing(fleet_plan.read_plan(case.output))
    useless = [line for line in run.stderr.split(b"twinfs-fleet: ") if b"protects nothing" in line]
    for host, glob in globs.items():
        assert {name for name in ODD if host not in gone.get(name, ())} == GLOBS[glob] & set(ODD), (
            glob)
    assert len(useless) == sum(not names for names in GLOBS.values()), run.stderr
    for host, glob in globs.items():
        assert any(host.encode() + b":" in line for line in useless) == (not GLOBS[glob]), glob


def test_oracle_matches_patterns_as_it_was_said_by_hand():
    for glob, names in GLOBS.items():
        assert {name for name in ODD if fleet_plan.matches(b"/s/" + glob, b"/s/" + name)} == names


# Generated fleets


class Generated:
    """A generated fleet of which some files were digested, and some are on two hosts."""

    def __init__(self, folder, seed):
        self.rng = random.Random(f"plan {seed}")
        self.made = fleet_hosts.Fleet(folder / "hosts", f"plan {seed}", 4 + seed % 3)
        self.hosts, self.folder, self.tool = self.made.hosts, folder, Tool(folder)
        self.see_twice()
        self.fleet = fleet_oracle.Fleet(self.hosts)
        wanted = [(file.host, file.inode) for file in self.fleet.all_files()
                  if self.fleet.has_shared_size(file)]
        read = set(self.rng.sample(wanted, len(wanted) * self.rng.choice((7, 8, 9)) // 10))
        self.sets = fleet_tool.write_sets(folder, self.fleet, self.hosts, read)

    def see_twice(self):
        one, other = self.made.full[:2]
        for number, path in enumerate(self.rng.sample(fleet_hosts.regular_files(one), 25)):
            fleet_hosts.link(path, trees.join(other.sources[0], b"seen %d" % number))

    def wishes(self):
        names = [host.name for host in self.hosts]
        prefer = self.rng.sample(names, self.rng.randint(0, len(names)))
        protect = [self.protection() for _ in range(self.rng.randint(0, 6))]
        return Wishes(self.rng.randint(1, 3), prefer, protect)

    def protection(self):
        """A pattern made of a path of a host."""
        host = self.rng.choice(self.made.full)
        path = self.rng.choice(fleet_hosts.regular_files(host)).decode("utf-8", "surrogateescape")
        source = len(os.fsdecode(host.sources[0]).rpartition("/")[0])
        for _ in range(self.rng.randint(0, 4)):
            at = self.rng.randrange(source, len(path) + 1)
            path = path[:at] + self.rng.choice("*?") + path[at + self.rng.randint(0, 9):]
        return host.name, os.fsencode(path)


@pytest.mark.parametrize("seed", SEEDS)
def test_plan_of_a_generated_fleet_is_that_of_the_oracle(tmp_path, seed):
    case, commands, cases = Generated(tmp_path, seed), [], []
    for number in range(8):
        cases.append((case.wishes(), tmp_path / f"plan {number}"))
        commands.append(("plan", "--output", cases[-1][1], *cases[-1][0].words, *case.sets))
    seen = set()
    for (wishes, output), (status, said, error) in zip(cases, case.tool.many(commands)):
        assert status == 0, error
        found = fleet_plan.read_plan(output)
        expected = fleet_plan.expected(case.fleet, case.hosts, wishes)
        assert found.differences(expected) == [], wishes
        check_summary(case.fleet, wishes, expected, said)
        seen |= expected.left_out.keys()
    assert seen >= {"few", "undecided", "seen twice"}


REASONS = {"few": "on [0-9]+ hosts? or fewer", "undecided": "undecided: ",
           "seen twice": "can be one file", "protected": "protected on each"}


def check_summary(fleet, wishes, plan, said):
    """The figures of the summary."""
    plain = said.replace(",", "")
    for host, sums in fleet_plan.sums(plan, fleet).items():
        [line] = re.findall(rf"^{re.escape(host)}: (.*)$", plain, re.MULTILINE)
        kept = re.match(r"keeps (\d+) contents? for others (\d+) bytes; ", line)
        gone = re.search(r"(\d+) files? with (\d+) names? may go (\d+) bytes$", line)
        assert (kept is None) == ("keeps nothing for others" in line)
        assert (gone is None) == line.endswith("nothing may go")
        found = [*map(int, kept.groups() if kept else (0, 0)),
                 *map(int, gone.groups() if gone else (0, 0, 0))]
        assert found == list(sums)
        for beginning, sum_of_host in ((f"{host}: twinfs attest --output=", sums[0]),
                                       (f"{host}: twinfs remove --plan=", sums[2])):
            assert (f"  on {beginning}" in said) == (sum_of_host > 0)
    for reason, text in REASONS.items():
        found = re.findall(rf"^- (\d+) contents? (?:is |are )?{text}", plain, re.MULTILINE)
        assert [int(number) for number in found] == [
            number for name, number in plan.left_out.items() if name == reason], (reason, said)


# The folder and the summary


def test_summary_says_what_may_go_and_what_to_run(tmp_path):
    case = Case(tmp_path, everywhere({"a": A, "copy": A}, NAMES[:3]))
    case.link("gamma", b"a", b"link")
    case.write().plan(Wishes(2))
    path = str(case.output)
    assert case.said == f"""\
Each content stays on at least 2 hosts.
alpha: keeps 1 content for others, 10 bytes; nothing may go
beta: keeps 1 content for others, 10 bytes; nothing may go
gamma: keeps nothing for others; 2 files with 3 names may go, 20 bytes

Next, copy this folder to the hosts that keep contents, and run there:
  on alpha: twinfs attest --output={path} {path}/keep-alpha.jsonl
  on beta: twinfs attest --output={path} {path}/keep-beta.jsonl
Then copy each attested-HOST.jsonl into this folder, and the folder to the hosts
from which files may go. Run there within a day, with --dry-run at first:
  on gamma: twinfs remove --plan={path}/remove-gamma.jsonl --attested={path}
"""


def test_lists_can_only_be_read_by_the_user(tmp_path):
    case = Case(tmp_path, everywhere({"a": A})).write()
    case.plan(Wishes(1))  # checks the files
    assert case.output.stat().st_mode & 0o777 == 0o700
    assert json.loads(next(case.output.glob("keep-*")).open().readline())["keep_replicas"] == 1


def test_commands_name_an_odd_folder_for_a_shell(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}, NAMES[:2])).write()
    for name, said in (("a b", "/a b/keep-alpha.jsonl'\n"), ("new\nline", "/new\\nline/"),
                       (os.fsdecode(b"\xff"), "/\\377/keep-alpha.jsonl'\n")):
        output = f"{tmp_path}/{name}"
        run = case.tool("plan", "--output", output, "--keep-replicas=1", *case.sets)
        assert said.replace("\\n", "\\012") in run.stdout.decode()
        assert len(os.listdir(output)) == 2


EARLIER = {
    "attestation": ("attested-alpha.jsonl", b'{"format":"twinfs-attestation","schema":1}\n'),
    "unfinished attestation": ("attested-alpha-0123456789abcdef.jsonl.new", b"{"),
}
OTHERS = {
    "file": ("notes.txt", b"x"), "name of a list": ("keep-alpha.txt", b"{}\n"),
    "other content": ("attested-gamma.jsonl", b"precious"),
    "other new file": ("attested-alpha.jsonl.new", b"{}"),
    "other list": ("remove-x.jsonl", b'{"format": "twinfs-keep"}\n'),
    "wanted": ("gamma.jsonl", b'{"format": "twinfs-wanted", "schema": 1}\n'),
}


@pytest.fixture(scope="module")
def planned(scratch):
    folder = scratch / "planned"
    folder.mkdir()
    return Case(folder, everywhere({"a": A}, NAMES[:2])).write()


def test_earlier_plan_is_replaced_with_its_attestations(planned):
    planned.plan(Wishes(1))
    for name, data in EARLIER.values():
        trees.write(planned.output / name, data)
    planned.plan(Wishes(1, ["beta"]))
    assert sorted(os.listdir(planned.output)) == ["keep-beta.jsonl", "remove-alpha.jsonl"]
    planned.plan(Wishes(2))
    assert os.listdir(planned.output) == []


@pytest.mark.parametrize("kind", [*OTHERS, "fifo", "symlink"])
def test_folder_with_other_things_is_refused_and_left_alone(planned, kind):
    planned.plan(Wishes(1))
    name, data = OTHERS.get(kind, ("attested-beta.jsonl", b""))
    path = planned.output / name
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "symlink":
        path.symlink_to(planned.output / "keep-alpha.jsonl")
    else:
        trees.write(path, data)
    before = sorted(os.listdir(planned.output))
    error = planned.run(Wishes(1), status=1).stderr.decode()
    assert error.startswith("twinfs-fleet: error: ") and "it has other files" in error
    assert sorted(os.listdir(planned.output)) == before
    path.unlink()


def test_each_plan_has_a_number_of_its_own(planned):
    numbers = set()
    for _ in range(2):
        planned.plan(Wishes(1))
        numbers.add(json.loads((planned.output / "keep-alpha.jsonl").open().readline())["plan"])
    assert len(numbers) == 2


# Wrong options


def test_unknown_host_is_an_error_that_names_the_hosts(planned, tmp_path):
    for wishes, option in ((Wishes(1, ["alpha", "nobody"]), "--prefer"),
                           (Wishes(1, protect=[("nobody", b"/*")]), "--protect")):
        run = planned.tool("plan", "--output", tmp_path / "plan", *wishes.words, *planned.sets,
                           status=1)
        assert run.stderr.decode() == (
            f"twinfs-fleet: error: {option}: there is no inventory of a host nobody; the hosts are "
            "alpha, beta\n")
        assert not (tmp_path / "plan").exists()


WRONG = ((), ("--keep-replicas=0",), ("--keep-replicas=-1",), ("--keep-replicas=two",),
         ("--keep-replicas=1", "--prefer="), ("--keep-replicas=1", "--prefer=alpha,alpha"),
         ("--keep-replicas=1", "--prefer=alpha,,beta"), ("--keep-replicas=1", "--prefer=a b"),
         ("--keep-replicas=1", "--protect=alpha"), ("--keep-replicas=1", "--protect=alpha:"),
         ("--keep-replicas=1", "--protect=:/a"), ("--keep-replicas=1", "--protect=alpha:a/b"),
         ("--keep-replicas=1", "--protect=../x:/a"))


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_option_is_refused_with_status_2(planned, tmp_path, words):
    run = fleet_tool.run_plain("plan", f"--output={tmp_path / 'plan'}", *words, *planned.sets)
    assert run.returncode == 2 and run.stdout == b"" and b"error: " in run.stderr
    assert not (tmp_path / "plan").exists()


def test_plan_without_a_folder_is_refused_with_status_2(planned):
    assert fleet_tool.run_plain("plan", "--keep-replicas=1", *planned.sets).returncode == 2


def test_list_with_a_head_that_is_too_long_is_an_error(tmp_path):
    case = Case(tmp_path, everywhere({"a": A}, NAMES[:2])).write()
    form = fleet_writer.Form(index=f"{1:016x}", head={
        "sources": [{"path": "/" + "/".join(["x" * 250] * 300)}]})
    fleet_writer.write_inventory(case.folder / "inventory/long", case.hosts[1],
                                 case.fleet.files["beta"], form)
    case.sets[2] = case.folder / "inventory/long"
    error = case.run(Wishes(1), status=1).stderr.decode()
    assert error.startswith("twinfs-fleet: error: cannot write a list of beta: the names of its ")
    assert not case.output.exists()

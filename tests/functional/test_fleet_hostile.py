# SPDX-License-Identifier: MIT
"""Hostile inventories and digests: twinfs-fleet refuses them with one clear error, and writes
nothing; or it reports them as they are."""
import hashlib
import json
import os
import subprocess
import sys

import fleet_faults
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_tables
import fleet_tool
import fleet_writer
import pytest
import trees
from fleet_faults import FAULTS_OF_SETS, SetEditor
from fleet_tables import fleet, fleet_ok

# Differences from twinfs(5) that a reader cannot notice or need not refuse.
TOLERATED = {"part not listed", "inode twice", "group is alone"}
MEMORY_MAX = 1 << 30  # bytes of a run that refuses an inventory
HUGE = (1 << 63) - 1  # the largest size of a file
# {command: the options without which it does not run}
NEEDED = {"plan": ["--keep-replicas=1"], "report": ["--format=csv"]}


@pytest.fixture(autouse=True)
def engines():
    fleet_tables.need_engines()


class Sets:
    """Inventories and digests of two hosts, `a` and `b`."""

    def __init__(self, folder):
        self.folder = folder
        shared = {f"d/{number}": trees.content(number, 100 + number // 2) for number in range(14)}
        self.hosts = []
        for number, name in enumerate("ab"):
            source = trees.fill(folder / "hosts" / name, {
                **shared, "own": trees.content(name, 50), "lone": trees.content("l", 70 + number),
                "copy": trees.content("c", 60), "copy too": trees.content("c", 60)})
            self.hosts.append(fleet_hosts.Host(name, [source]))
        self.fleet = fleet_oracle.Fleet(self.hosts, set())
        for number, host in enumerate(self.hosts):
            self.write(host, number)

    def write(self, host, number):
        form = fleet_writer.Form(index=f"{number:016x}", compressed=False, part_rows=8)
        fleet_writer.write_inventory(self.inventory(host.name), host,
                                     self.fleet.files[host.name], form)
        fleet_writer.write_digests(self.digests(host.name), host, self.fleet.files[host.name],
                                   self.fleet.wanted(host.name), form)

    def inventory(self, name):
        return self.folder / f"inventory-{name}"

    def digests(self, name):
        return self.folder / f"digests-{name}"

    @property
    def all(self):
        return [path(name) for name in "ab" for path in (self.inventory, self.digests)]

    @property
    def output(self):
        return self.folder / "output"


@pytest.fixture
def sets(tmp_path):
    return Sets(tmp_path)


def state(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def is_refused(sets, *words, command="wanted", paths=None):
    """Asserts that twinfs-fleet fails with one line, which has these words, and writes nothing."""
    before = state(sets.folder)
    result = fleet(command, *NEEDED.get(command, ()), f"--output={sets.output}",
                   *(paths or sets.all))
    assert result.status in (1, 2), result
    [line] = result.errors
    assert line.startswith("twinfs-fleet: ") and all(str(word) in line for word in words), line
    assert not sets.output.exists() and state(sets.folder) == before
    return line


def report(sets, *paths):
    return fleet_tables.report_json(*(paths or sets.all))


def test_right_sets_are_reported(sets):
    sets.fleet.set_digested()
    assert fleet_tables.differences(report(sets), sets.fleet, sets.hosts) == []


# Faults of one set


def refusals(tmp_path, kind, faults):
    """Plants each fault in a set of its own, of this kind, and runs `wanted` for all in one
    process. Returns {fault: what is wrong with the refusal} of those not refused as they must."""
    made, commands = {}, []
    for number, fault in enumerate(faults):
        made[fault] = Sets(tmp_path / str(number))
        FAULTS_OF_SETS[fault](SetEditor(getattr(made[fault], kind)("b")))
        commands.append(("wanted", f"--output={made[fault].output}", *made[fault].all))
    before = {fault: state(sets.folder) for fault, sets in made.items()}
    wrong = {}
    for (fault, sets), (status, _, error) in zip(
            made.items(), fleet_tool.Tool(tmp_path).many(commands)):
        if (status != 1 or error.count("\n") != 1 or f"{kind}-b" not in error
                or not error.startswith("twinfs-fleet: ") or state(sets.folder) != before[fault]):
            wrong[fault] = (status, error)
    return wrong


def test_inventory_with_any_fault_is_refused(tmp_path):
    assert refusals(tmp_path, "inventory", sorted(FAULTS_OF_SETS.keys() - TOLERATED)) == {}


def test_digests_with_any_fault_are_refused(tmp_path):
    others = ["part is torn", "checksum wrong", "row twice", "part is fifo", "sum of bytes wrong"]
    assert refusals(tmp_path, "digests", [*fleet_faults.ROW_FAULTS, *others]) == {}


@pytest.mark.parametrize("fault", sorted(TOLERATED))
def test_tolerated_fault_is_reported_or_refused(sets, fault):
    FAULTS_OF_SETS[fault](SetEditor(sets.inventory("b")))
    result = fleet("wanted", f"--output={sets.output}", *sets.all)
    assert result.status == 0 and sets.output.is_dir() or len(result.errors) == 1


@pytest.mark.parametrize("command", ["import", "plan", "report"])
@pytest.mark.parametrize("fault", ["schema is 2", "row missing", "part outside", "size is negative",
                                   "part is torn", "member is there twice"])
def test_each_command_refuses_an_inventory_with_a_fault(sets, command, fault):
    FAULTS_OF_SETS[fault](SetEditor(sets.inventory("b")))
    is_refused(sets, "inventory-b", command=command)


def test_digest_without_a_hash_is_refused(sets):
    SetEditor(sets.digests("b")).edit_row({"sha256": fleet_faults.OMIT})
    is_refused(sets, "digests-b")


def as_lines(data, rows=1):
    """Makes these bytes the first part of an inventory."""
    def change(editor):
        part = editor.manifest["parts"][0]
        editor.manifest["rows"] += rows - part["rows"]
        part["rows"] = rows
        editor.store(data)
    return change


def compressed(make, *words):
    """The output of a program, compressed."""
    with subprocess.Popen([make, *words], stdout=subprocess.PIPE) as process:
        return subprocess.run(["zstd", "-cq"], stdin=process.stdout, stdout=subprocess.PIPE,
                              check=True).stdout


BOMBS = {
    "1.2 GiB of zeros": lambda: compressed("head", "-c", "1200M", "/dev/zero"),
    "1.2 GiB in a text": lambda: compressed(
        "sh", "-c", "printf '{\"id\":1,\"path\":\"'; head -c 1200M /dev/zero | tr '\\0' x"),
    "500 million lines": lambda: compressed("sh", "-c", "yes | head -c 1G"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_small_file_that_unpacks_to_a_huge_one_is_refused(sets, bomb):
    part = BOMBS[bomb]()
    editor = SetEditor(sets.inventory("b"))
    name = editor.manifest["parts"][0]["name"]
    for number, one in enumerate(editor.manifest["parts"]):
        path = editor.part(number)
        one["name"] += ".zst"
        path.rename(f"{path}.zst")
        editor.store(compressed("cat", f"{path}.zst"), number)
    assert editor.manifest["parts"][0]["name"] == name + ".zst"
    as_lines(part, rows=8)(editor)
    assert memory_of_refusal(sets) < MEMORY_MAX


@pytest.mark.parametrize(("begin", "byte", "end"), [
    (b'{"id": 1, "path": "', b"x", b'"}\n'), (b"", b"[", b"\n"), (b"", b" ", b"{}\n"),
    (b"", b"1", b"\n")], ids=["text", "deep", "blank", "digits"])
def test_line_of_100_mib_is_refused(sets, begin, byte, end):
    as_lines(begin + byte * (100 << 20) + end)(SetEditor(sets.inventory("b")))
    assert memory_of_refusal(sets) < MEMORY_MAX


def memory_of_refusal(sets):
    """Runs a command that must refuse, and returns the memory that it used."""
    program = ("import resource, subprocess, sys\n"
               "run = subprocess.run(sys.argv[1:], capture_output=True)\n"
               "assert run.returncode == 1 and run.stderr.count(b'\\n') == 1, run\n"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    run = subprocess.run(
        [sys.executable, "-c", program, sys.executable, "-B",
         fleet_tables.ROOT / "scripts/twinfs-fleet", "wanted", f"--folder={fleet_tables.ENGINES}",
         f"--output={sets.output}", *sets.all], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert not sets.output.exists()
    return int(run.stdout) * 1024


def test_huge_manifest_is_refused(sets):
    editor = SetEditor(sets.inventory("b"))
    editor.edit_head({"version": "x" * (200 << 20)})
    assert memory_of_refusal(sets) < MEMORY_MAX


# Sets that do not belong together


def test_host_that_is_there_twice_is_refused(sets):
    subprocess.run(["cp", "-a", sets.inventory("b"), sets.folder / "again"], check=True)
    line = is_refused(sets, paths=[*sets.all, sets.folder / "again"])
    assert "again" in line and "inventory-b" in line and "'b'" in line.replace('"', "'") or (
        "host b" in line)


def test_folder_that_is_given_twice_is_refused(sets):
    is_refused(sets, "inventory-b", paths=[*sets.all, sets.inventory("b")])


def test_folder_that_is_given_twice_by_two_names_is_refused(sets):
    (sets.folder / "other").symlink_to(sets.inventory("b"))
    is_refused(sets, paths=[*sets.all, sets.folder / "other"])


def test_one_index_under_two_hosts_is_refused(sets):
    """It is one machine with two names: its copies would count as replicas."""
    index = SetEditor(sets.inventory("a")).manifest["index"]
    SetEditor(sets.inventory("b")).edit_head({"index": index})
    SetEditor(sets.digests("b")).edit_head({"index": index})
    is_refused(sets, index)


def test_digests_of_another_index_decide_nothing(sets):
    SetEditor(sets.digests("b")).edit_head({"index": "f" * 16})
    result = fleet("report", "--format=json", *sets.all)
    if result.status != 0:
        assert len(result.errors) == 1
        return
    assert result.json["totals"]["undecided_contents"] > 0


def test_digests_without_an_inventory_are_named(sets):
    result = fleet("report", "--format=json", sets.inventory("a"), sets.digests("b"))
    [line] = result.errors
    assert "digests-b" in line
    assert result.status != 0 or result.json["totals"]["hosts"] == 1


def second_digests(sets, sha256=None):
    """Another set of digests of b, which has the same or other hashes."""
    host, files = sets.hosts[1], sets.fleet.files["b"]
    rows = fleet_writer.file_rows(files, sets.fleet.wanted("b"), True)
    for row in rows:
        row["sha256"] = sha256 or row["sha256"]
    form = fleet_writer.Form(index=f"{1:016x}", compressed=False)
    fleet_writer.write_set(sets.folder / "again", fleet_sets.DIGESTS, host, rows, form)
    return sets.folder / "again"


def test_digests_of_two_rounds_are_taken_together(sets):
    paths = [*sets.all, second_digests(sets)]
    sets.fleet.set_digested()
    assert fleet_tables.differences(report(sets, *paths), sets.fleet, sets.hosts) == []


def test_digests_that_differ_are_refused_or_decide_nothing(sets):
    paths = [*sets.all, second_digests(sets, "0" * 64)]
    result = fleet("report", "--format=json", *paths)
    if result.status != 0:
        assert len(result.errors) == 1 and "again" in result.errors[0]
    else:
        digested = {("a", file.inode) for file in sets.fleet.wanted("a")}
        sets.fleet.set_digested(digested)
        tables = fleet_tables.report_json(*paths)
        assert fleet_tables.differences(tables, sets.fleet, sets.hosts) == []


@pytest.mark.parametrize("name", ["size", "mtime_ns", "ctime_ns"])
def test_digest_of_an_older_state_decides_nothing(sets, name):
    editor = SetEditor(sets.digests("b"))
    rows = [json.loads(text) for text in editor.lines()]
    at = next(at for at, row in enumerate(rows) if row["path"].startswith("d/"))
    assert report(sets)["totals"][0]["undecided_contents"] == 0
    editor.edit_row({name: rows[at][name] + 1}, at=at)
    assert report(sets)["totals"][0]["undecided_contents"] > 0
    fleet_ok("wanted", f"--output={sets.output}", *sets.all)
    assert [found.id for found in fleet_sets.read_wanted(sets.output / "b.jsonl").rows] == [
        rows[at]["id"]]


def test_digests_that_differ_within_a_group_are_refused_or_decide_nothing(sets):
    """Equal files of one host cannot have two SHA-256."""
    files = sets.fleet.files["b"]
    editor = SetEditor(sets.digests("b"))
    grouped = {number for number, file in fleet_writer.numbered(files) if file.group}
    at = next(at for at, text in enumerate(editor.lines()) if json.loads(text)["id"] in grouped)
    editor.edit_row({"sha256": "0" * 64}, at=at)
    result = fleet("report", "--format=json", *sets.all)
    if result.status != 0:
        assert len(result.errors) == 1
    else:
        sets.fleet.set_digested({(file.host, file.inode) for host in "ab"
                                 for file in sets.fleet.wanted(host)
                                 if host == "a" or not file.group})
        assert fleet_tables.differences(report(sets), sets.fleet, sets.hosts) == []


def test_equal_hashes_of_different_sizes_are_refused(sets):
    rows = [json.loads(text) for text in SetEditor(sets.digests("a")).lines()]
    editor = SetEditor(sets.digests("b"))
    other = next(row for row in map(json.loads, editor.lines()) if row["size"] != rows[0]["size"])
    at = [json.loads(text)["id"] for text in editor.lines()].index(other["id"])
    editor.edit_row({"sha256": rows[0]["sha256"]}, at=at)
    is_refused(sets)


@pytest.mark.parametrize("created", ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_clock_of_a_host_does_not_matter(sets, created):
    for path in (sets.inventory("b"), sets.digests("b")):
        SetEditor(path).edit_head({"created": created})
    sets.fleet.set_digested()
    assert fleet_tables.differences(report(sets), sets.fleet, sets.hosts) == []


def test_version_of_a_host_does_not_matter(sets):
    SetEditor(sets.inventory("b")).edit_head({"version": "9.9.9~rc1"})
    sets.fleet.set_digested()
    assert fleet_tables.differences(report(sets), sets.fleet, sets.hosts) == []


# Sums, names and paths


def test_sums_above_64_bits_are_right(sets):
    for name in "ab":
        editor = SetEditor(sets.inventory(name))
        editor.edit_row({"size": HUGE}, at=0)
        editor.edit_row({"size": HUGE}, at=2)
    result = fleet("report", "--format=json", *sets.all)
    if result.status != 0:
        assert len(result.errors) == 1 and b"Traceback" not in result.error
        return
    total = sum(json.loads(text)["size"] for name in "ab" for number in range(3)
                for text in SetEditor(sets.inventory(name)).lines(number))
    assert result.json["totals"]["bytes"] == total > 1 << 64


@pytest.mark.parametrize("name", ["it's", 'quo"ted', "a b", "*", "[a]", "{a,b}", "?", "host=b",
                                  "a%2Fb", "new\nline", "semi;colon", "-dash", "$HOME", "\\",
                                  b"\xff\xfe", "\u00e9", ".hidden", "~", "#", "a,b", "x" * 255])
def test_folder_with_an_odd_name_is_read(sets, name):
    path = os.path.join(os.fsencode(sets.folder), os.fsencode(name))
    os.rename(sets.inventory("b"), path)
    sets.fleet.set_digested()
    tables = report(sets, sets.inventory("a"), sets.digests("a"), path, sets.digests("b"))
    assert fleet_tables.differences(tables, sets.fleet, sets.hosts) == []


@pytest.mark.parametrize("kind", ["missing", "empty", "file", "fifo", "other"])
def test_path_that_is_no_set_is_refused(sets, kind):
    path = sets.folder / "odd"
    if kind == "file":
        path.write_bytes(b"{}")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind != "missing":
        path.mkdir()
        if kind == "other":
            (path / "file").touch()
    is_refused(sets, "odd", paths=[*sets.all, path])


MARKUP = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&amp;b", "</table>",
          "'onmouseover='alert(1)", "<!--", "\u202egnp.exe")


def test_names_are_no_markup_in_the_page(sets):
    """Lone and shared files with such names, so that all tables have them."""
    for number, host in enumerate(sets.hosts):
        for at, name in enumerate(MARKUP):
            safe = name.replace("/", "\u2215")
            trees.fill(host.sources[0], {f"{safe}/{safe}": trees.content(name, 5000),
                                         f"others/{safe}": trees.content(
                                             (name, host.name), 9000 + 10 * at + number)})
    sets.fleet = fleet_oracle.Fleet(sets.hosts, set())
    for number, host in enumerate(sets.hosts):
        subprocess.run(["rm", "-r", sets.inventory(host.name), sets.digests(host.name)],
                       check=True)
        sets.write(host, number)
    fleet_ok("report", "--format=html", f"--output={sets.output}", *sets.all)
    pages = [path.read_text() for path in sets.output.rglob("*.html")]
    assert pages and any("alert(1)" in page for page in pages)
    for page in pages:
        assert not any(name.replace("/", "\u2215") in page for name in MARKUP[:2])
        assert page.lower().count("<script") == page.lower().count("</script")
        assert "<!--<" not in page and "\u202e" not in page


# Output folders


@pytest.mark.parametrize("command", ["wanted", "import", "plan", "report"])
@pytest.mark.parametrize("kind", ["file", "dangling", "other"])
def test_output_that_belongs_to_others_is_refused_and_left_alone(sets, command, kind):
    if kind == "file":
        sets.output.write_bytes(b"x")
    elif kind == "dangling":
        sets.output.symlink_to(sets.folder / "nowhere")
    else:
        trees.write(sets.output / "other", b"x")
    result = fleet(command, *NEEDED.get(command, ()), f"--output={sets.output}", *sets.all)
    assert not (sets.folder / "nowhere").exists()
    if kind == "file":
        assert sets.output.read_bytes() == b"x"
    elif kind == "other":
        assert (sets.output / "other").read_bytes() == b"x"
    if kind != "other":
        assert result.status in (1, 2) and len(result.errors) == 1, result


def test_planted_symbolic_link_is_not_written_through(sets):
    victim = trees.write(sets.folder / "victim", b"x")
    sets.output.mkdir()
    (sets.output / "b.jsonl").symlink_to(victim)
    result = fleet("wanted", f"--output={sets.output}", *sets.all)
    with open(victim, "rb") as file:
        assert file.read() == b"x"
    if result.status == 0:
        assert fleet_sets.read_wanted(sets.output / "b.jsonl")


def test_lists_of_an_earlier_run_do_not_stay_beside_new_ones(sets):
    """A host that is no longer there must not be digested by an old list."""
    paths = [sets.inventory("a"), sets.inventory("b")]
    fleet_ok("wanted", f"--output={sets.output}", *paths)
    assert sorted(os.listdir(sets.output)) == ["a.jsonl", "b.jsonl"]
    result = fleet("wanted", f"--output={sets.output}", sets.inventory("a"))
    if result.status == 0:
        assert os.listdir(sets.output) == ["a.jsonl"]
    else:
        assert len(result.errors) == 1
        assert sorted(os.listdir(sets.output)) == ["a.jsonl", "b.jsonl"]


def test_checksum_is_of_the_stored_bytes(sets):
    """A part that was unpacked by a user has the same rows but another checksum."""
    editor = SetEditor(sets.inventory("b"))
    data = compressed("cat", editor.part())
    assert hashlib.sha256(data).hexdigest() != editor.manifest["parts"][0]["sha256"]
    editor.part().write_bytes(data)
    is_refused(sets, "inventory-b")

# SPDX-License-Identifier: MIT
"""Hostile lists of wanted files and hostile output folders: `twinfs digest` and `twinfs export`
refuse them with one clear error, read nothing for them, and change nothing."""
import json
import os
import shutil
import stat

import fleet_compare
import fleet_faults
import fleet_hosts
import fleet_oracle
import fleet_sets
import fleet_writer
import pytest
import trees
from fleet_faults import FAULTS_OF_LISTS, ListEditor, exact
from processes import TIMEOUT
from program import Program

SECRET = b"secret " * 100


class Served:
    """A host with an index and an inventory, and a list of all its files."""

    def __init__(self, twinfs, folder):
        self.twinfs, self.folder = twinfs, folder
        self.source, self.other = (trees.join(folder, name) for name in (b"one", b"\xff"))
        trees.fill(self.source, {f"d/{number}": trees.content(number, 3000 + number // 2)
                                 for number in range(8)})
        trees.fill(self.other, {b"latin1-\xe9": b"x" * 900, b"new\nline": b"y" * 900})
        self.secret = trees.write(folder / "outside/secret", SECRET)
        self.host = fleet_hosts.Host("alpha", [self.source, self.other])
        twinfs.ok("export", "--host", "alpha", "--output", folder / "inventory", *self.sources)
        self.list = folder / "alpha.jsonl"
        self.write_list()

    @property
    def sources(self):
        return self.source, self.other

    def inventory(self):
        return fleet_sets.read_set(self.folder / "inventory", fleet_sets.INVENTORY)

    def files(self):
        return fleet_oracle.Fleet([self.host]).files["alpha"]

    def write_list(self):
        """Writes a list of all files from the inventory; returns its editor."""
        inventory = self.inventory()
        names = [name for name in fleet_sets.FILE if name not in ("source", "path")]
        rows = [{name: row.values[name] for name in names}
                | fleet_writer.name_members(row.names[0]) for row in inventory.rows]
        head = {name: inventory.head[name] for name in ("schema", "host", "index", "sources")}
        head |= {"format": fleet_sets.WANTED, "created": fleet_writer.CREATED, "rows": len(rows),
                 "bytes": sum(row["size"] for row in rows)}
        self.list.write_bytes(b"".join(map(fleet_faults.line, (head, *rows))))
        return ListEditor(self.list)

    def command(self, output="digests", sources=None):
        return ("digest", "--wanted", self.list, "--output", self.folder / output,
                *(sources or self.sources))

    def digests(self, output="digests"):
        return fleet_sets.read_set(self.folder / output, fleet_sets.DIGESTS)


@pytest.fixture
def served(twinfs, tmp_path):
    return Served(twinfs, tmp_path)


@pytest.fixture(scope="module")
def host_of_module(session, scratch):
    return Served(Program(session, scratch), scratch)


@pytest.fixture
def shared(host_of_module):
    """A host for many tests that change only its list."""
    yield host_of_module
    shutil.rmtree(host_of_module.folder / "digests", ignore_errors=True)


def state(folder):
    """The files below a folder with their bytes, and the targets of its symbolic links."""
    found = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            found[path] = path.read_bytes()
        else:
            found[path] = os.readlink(path) if stat.S_ISLNK(mode) else stat.S_IFMT(mode)
    return found


def is_refused(result, *words):
    """Asserts that a command failed with one error, which has these words."""
    assert result.status in (1, 2), result
    [line] = result.errors
    assert all(word in line for word in words), line
    return line


# Lists


def test_right_list_is_digested(served):
    served.twinfs.ok(*served.command())
    digests = served.digests()
    assert fleet_compare.compare_files(digests, served.host, served.files()) == []
    assert fleet_compare.compare_with_inventory(digests, served.inventory()) == []


@pytest.mark.parametrize("fault", FAULTS_OF_LISTS)
def test_list_with_a_fault_is_refused_and_nothing_is_written(shared, fault):
    FAULTS_OF_LISTS[fault](shared.write_list())
    before = state(shared.folder / "inventory")
    is_refused(shared.twinfs(*shared.command()), "alpha.jsonl")
    assert not os.path.lexists(shared.folder / "digests")
    assert state(shared.folder / "inventory") == before


@pytest.mark.parametrize("fault", ["list has fewer lines", "list has more lines", "list is torn",
                                   "size is a boolean", "path leaves the source", "schema is 2"])
def test_list_with_a_fault_causes_no_read(shared, strace, fault):
    FAULTS_OF_LISTS[fault](shared.write_list())
    result, trace = shared.twinfs.traced(*shared.command(), calls="trace=%file", flags=["-y"])
    assert result.status in (1, 2), result
    assert b"one/d/" not in trace and not os.path.lexists(shared.folder / "digests")


@pytest.mark.parametrize("fault", ["list has fewer lines", "list is torn", "another host"])
def test_older_digests_stay_whole_when_a_list_is_refused(served, fault):
    served.twinfs.ok(*served.command())
    before = state(served.folder / "digests")
    editor = served.write_list()
    if fault == "another host":
        editor.edit_head({"host": "beta"})
        served.list = served.list.rename(served.folder / "beta.jsonl")
    else:
        FAULTS_OF_LISTS[fault](editor)
    is_refused(served.twinfs(*served.command()))
    assert state(served.folder / "digests") == before


def test_list_of_a_source_that_is_not_served_is_refused(served):
    editor = served.write_list()
    editor.edit_head({"sources": [{"path": str(served.folder / "outside")},
                                  fleet_sets.path_members(served.other)]})
    is_refused(served.twinfs(*served.command()))
    assert not (served.folder / "digests").exists()


def test_list_of_another_index_is_refused(served):
    served.write_list().edit_head({"index": "0" * 16})
    is_refused(served.twinfs(*served.command()))
    assert not (served.folder / "digests").exists()


@pytest.mark.parametrize("kind", ["missing", "directory", "empty"])
def test_list_that_is_no_file_is_refused(served, kind):
    served.list.unlink()
    if kind == "directory":
        served.list.mkdir()
    elif kind == "empty":
        served.list.touch()
    is_refused(served.twinfs(*served.command()))
    assert not (served.folder / "digests").exists()


@pytest.mark.parametrize(("byte", "count"), [
    (b"[", 8 << 20), (b"x", 100 << 20), (b"\0", 8 << 20), (b"\n", 8 << 20)],
    ids=["deep", "100 MiB", "zeros", "lines"])
def test_huge_list_without_a_head_is_refused(shared, byte, count):
    shared.list.write_bytes(byte * count)
    is_refused(shared.twinfs(*shared.command()))
    assert not (shared.folder / "digests").exists()


def wanted_at(served, path, size):
    """A list of one file of the first source, of which the index knows or does not know."""
    editor = served.write_list()
    row = json.loads(editor.lines[0]) | {"size": size}
    row.pop("path_base64", None)
    editor.head["bytes"] = size
    editor.set_lines([fleet_faults.line(row | path | {"source": 0})])


def test_wanted_file_that_the_index_lacks_is_not_read(served, strace):
    trees.write(trees.join(served.source, b"d/new"), SECRET)
    for path in ({"path": "d/nothing"}, {"path": "d"}, {"path": "d/3/x"}, exact(b"d/\xff")):
        wanted_at(served, path, len(SECRET))
        result, trace = served.twinfs.traced(*served.command(), calls="trace=read,pread64",
                                             flags=["-y"])
        assert result.status in (0, 3), result
        assert trace and b"outside/secret>" not in trace
        assert served.digests().rows == []


@pytest.mark.parametrize("part", ["d/3", "d"])
def test_symbolic_link_in_place_of_a_wanted_file_is_not_followed(served, strace, part):
    outside = served.folder / "outside"
    trees.write(outside / "3", b"z" * 3001)
    path = trees.join(served.source, part.encode())
    os.rename(path, path + b" moved")
    os.symlink(outside / "3" if part == "d/3" else outside, path)
    result, trace = served.twinfs.traced(*served.command(), calls="trace=read,pread64,mmap",
                                         flags=["-y"])
    assert result.status in (0, 3), result
    assert b"outside/" not in trace
    files = {file.sha256 for file in served.files()}
    assert {row.sha256 for row in served.digests().rows} <= files


@pytest.mark.parametrize("kind", ["fifo", "directory", "gone", "longer", "other content"])
def test_wanted_file_that_has_changed_is_not_called_by_its_old_content(served, kind):
    path = trees.join(served.source, b"d/3")
    if kind == "longer":
        trees.write(path, b"w" * 5000)
    elif kind == "other content":
        fleet_hosts.rewrite_in_place(path, b"w" * 3001)
    else:
        os.unlink(path)
        if kind != "gone":
            (os.mkfifo if kind == "fifo" else os.mkdir)(path)
    result = served.twinfs(*served.command(), timeout=TIMEOUT / 5)
    assert result.status in (0, 3), result
    files = [file for file in served.files() if kind == "other content"
             or file.names[0] != (0, b"d/3")]
    assert fleet_compare.compare_files(served.digests(), served.host, files) == []


def test_digests_of_a_lost_index_are_not_taken_for_those_of_the_new_one(served):
    """The new index gives the ids of the old one to other files."""
    served.twinfs.ok(*served.command())
    shutil.rmtree(served.twinfs.index)
    for number in range(4):
        fleet_hosts.rewrite_in_place(trees.join(served.source, b"d/%d" % number),
                                     b"v" * (3000 + number // 2))
    served.twinfs.ok("export", "--host", "alpha", "--output", served.folder / "inventory",
                     *served.sources)
    served.write_list()
    result = served.twinfs(*served.command())
    if result.status == 0:
        assert fleet_compare.compare_files(served.digests(), served.host, served.files()) == []
    else:
        is_refused(result, "digests")


# Output folders


@pytest.fixture(params=["export", "digest"])
def act(request, served):
    """(the command, its output folder) of a command that writes a set."""
    output = served.folder / "output"
    if request.param == "digest":
        return served.command("output"), output
    return ("export", "--host", "alpha", "--output", output, *served.sources), output


KINDS = {"export": fleet_sets.INVENTORY, "digest": fleet_sets.DIGESTS}


def rows_of(act):
    return fleet_sets.read_set(act[1], KINDS[act[0][0]]).rows


@pytest.mark.parametrize("content", ["file", "folder", ".hidden", "generation-x", "manifest"])
def test_folder_with_other_things_is_refused_and_left_alone(served, act, content):
    command, output = act
    output.mkdir()
    if content == "folder":
        trees.write(output / "folder/file", SECRET)
    else:
        trees.write(output / content, SECRET)
    before = state(output)
    is_refused(served.twinfs(*command), "output")
    assert state(output) == before


def test_output_that_is_a_link_to_a_folder_with_other_things_is_refused(served, act):
    command, output = act
    victim = served.folder / "victim"
    trees.write(victim / "file", SECRET)
    output.symlink_to(victim)
    is_refused(served.twinfs(*command), "output")
    assert state(victim) == {victim / "file": SECRET} and output.is_symlink()


@pytest.mark.parametrize("kind", ["file", "dangling", "fifo"])
def test_output_that_is_no_folder_is_refused_and_left_alone(served, act, kind):
    command, output = act
    if kind == "file":
        output.write_bytes(SECRET)
    elif kind == "dangling":
        output.symlink_to(served.folder / "nowhere")
    else:
        os.mkfifo(output)
    is_refused(served.twinfs(*command, timeout=TIMEOUT / 5), "output")
    assert os.path.lexists(output) and not (served.folder / "nowhere").exists()
    assert kind != "file" or output.read_bytes() == SECRET


@pytest.mark.parametrize("kind", ["host", "kind"])
def test_set_of_another_host_or_kind_is_refused_and_left_whole(served, act, kind):
    command, output = act
    if kind == "host":
        other = ["beta" if word == "alpha" else word for word in command]
        if command[0] == "digest":
            served.write_list().edit_head({"host": "beta"})
            served.list.rename(served.folder / "beta.jsonl")
            other[2] = served.folder / "beta.jsonl"
            served.write_list()
        served.twinfs.ok(*other)
    elif command[0] == "digest":
        served.twinfs.ok("export", "--host", "alpha", "--output", output, *served.sources)
    else:
        served.twinfs.ok(*served.command("output"))
    before = state(output)
    is_refused(served.twinfs(*command), "output")
    assert state(output) == before


@pytest.mark.parametrize("name", ["generation-1", "generation-2", "generation-7",
                                  "manifest.json.new", "manifest.json"])
def test_planted_symbolic_link_is_not_followed(served, act, name):
    """Names that the command writes or removes lead to files of the user."""
    command, output = act
    served.twinfs.ok(*command)
    victim = served.folder / "victim"
    trees.fill(victim, {"part-00001.jsonl.zst": SECRET, "part-00001.jsonl": SECRET,
                        "sub/file": SECRET})
    before = state(victim)
    planted = output / name
    if planted.is_dir():
        shutil.rmtree(planted)
    planted.unlink(missing_ok=True)
    is_file = name.startswith("manifest")
    planted.symlink_to(victim / "part-00001.jsonl" if is_file else victim)
    result = served.twinfs(*command)
    assert state(victim) == before
    if result.status == 0:
        assert rows_of(act)
    else:
        is_refused(result, "output")


@pytest.mark.parametrize("generation", ["18446744073709551615", "18446744073709551616",
                                        "9223372036854775807", "00000000000000000002",
                                        "99999999999999999999999999"])
def test_planted_generation_with_a_huge_number_is_no_crash(served, act, generation):
    command, output = act
    served.twinfs.ok(*command)
    (output / f"generation-{generation}").mkdir()
    result = served.twinfs(*command)
    if result.status == 0:
        assert rows_of(act)
    else:
        is_refused(result, "output")


@pytest.mark.parametrize(("text", "count"), [
    (b"", 1), (b"{", 1), (b"[]", 1), (b"{}", 1), (b"null", 1), (b"[", 4 << 20),
    (b'{"format":"twinfs-inventory","host":"alpha"}', 1), (b"x", 32 << 20)],
    ids=["empty", "cut", "list", "object", "null", "deep", "short", "huge"])
def test_foreign_manifest_is_refused_or_replaced_by_a_whole_one(served, act, text, count):
    """A torn manifest cannot come from the command itself, which renames it."""
    data = text * count
    command, output = act
    output.mkdir()
    (output / "manifest.json").write_bytes(data)
    result = served.twinfs(*command)
    if result.status == 0:
        assert rows_of(act)
    else:
        is_refused(result, "output")
        assert state(output) == {output / "manifest.json": data}


def test_output_in_a_source_does_not_disturb_the_inventory(served):
    """The parts of the generation before are files of the source, and are removed at the end."""
    output = os.fsdecode(os.path.join(served.source, b"inventory"))
    for _ in range(2):
        served.twinfs.ok("export", "--host", "alpha", "--output", output, *served.sources)
        inventory = fleet_sets.read_set(output, fleet_sets.INVENTORY)
        inventory.rows = [row for row in inventory.rows
                          if not row.names[0][1].startswith(b"inventory/")]
        files = [file for file in served.files() if not file.names[0][1].startswith(b"inventory/")]
        assert fleet_compare.compare_inventory(inventory, served.host, files) == []


@pytest.mark.parametrize("name", ["", "-a", ".a", "a/b", "../a", "a b", "a\n", "\u00e9", "x" * 65,
                                  "*", "a'b", "~"])
def test_host_with_a_bad_name_is_refused(served, name):
    output = served.folder / "output"
    result = served.twinfs("export", f"--host={name}", "--output", output, *served.sources)
    assert result.status in (1, 2) and result.errors, result
    assert not output.exists()


@pytest.mark.parametrize("name", ["a", "0", "A.b_c-d", "x" * 64, "a--"])
def test_host_with_a_good_name_is_exported(served, name):
    output = served.folder / "output"
    served.twinfs.ok("export", f"--host={name}", "--output", output, *served.sources)
    assert fleet_sets.read_set(output, fleet_sets.INVENTORY).head["host"] == name

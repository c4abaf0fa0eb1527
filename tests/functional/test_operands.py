# SPDX-License-Identifier: MIT
"""Files and folders as operands, on the command line and from a list."""
import collections
import contextlib
import fcntl
import json
import os
import random
import re
import signal
import stat
import subprocess
import termios
from pathlib import Path

import pytest
import trees
from operands import Names, fill, group, groups_of
from processes import until
from program import path_of

pytestmark = pytest.mark.usefixtures("private_state")


@pytest.fixture
def names(twinfs, source):
    return Names(twinfs, source)


# ---- what is found ----------------------------------------------------------------------------

def random_tree(root, chance):
    """Folders with odd names, files of few contents, hard links and symlinks. Returns the folders
    and the files."""
    folders, files = [b""], []
    odd = chance.sample(trees.ODD_NAMES, 30)
    for name in odd[:12]:
        folders.append(os.path.join(chance.choice(folders), name[:40]))
        os.makedirs(trees.join(root, folders[-1]), exist_ok=True)
    for number in range(60):
        name = odd[12 + number % 18][:80] + b".%d" % number
        path = os.path.join(chance.choice(folders), name)
        if files and chance.random() < 0.15:
            os.link(trees.join(root, chance.choice(files)), trees.join(root, path))
        else:
            trees.write(trees.join(root, path), b"%d" % chance.randrange(12) * 3)
        files.append(path)
    for number in range(6):
        os.symlink(trees.join(root, chance.choice(folders)), trees.join(root, b"to%d" % number))
        os.symlink(trees.join(root, chance.choice(files)), trees.join(root, b"file%d" % number))
    return folders, files


def spelled(root, path, chance):
    """The path of a name in one of the spellings that lead to it."""
    way = chance.randrange(5)
    if way == 0:
        return trees.join(root, path)
    if way == 1:
        return b"./" + path.replace(b"/", b"//")
    if way == 2 and path:
        return os.path.join(os.path.dirname(path), b".", b"..",
                            os.path.basename(os.path.dirname(trees.join(root, path))),
                            os.path.basename(path))
    if way == 3:
        above = os.path.dirname(path)
        for number in range(6):
            if os.readlink(trees.join(root, b"to%d" % number)) == trees.join(root, above):
                return os.path.join(b"to%d" % number, os.path.basename(path))
    return b"./" + path


def expected_groups(root, operands):
    """The groups of the files at and below these paths, by their contents."""
    paths = set()
    for operand in operands:
        full = trees.join(root, operand)
        if not os.path.isdir(full):
            paths.add(operand)
            continue
        for above, _, found in os.walk(full):
            paths.update(os.path.relpath(os.path.join(above, name), os.fsencode(root))
                         for name in found)
    contents = collections.defaultdict(set)
    inodes = collections.defaultdict(set)
    for path in paths:
        full = trees.join(root, path)
        if os.path.isfile(full) and not os.path.islink(full):
            content = Path(os.fsdecode(full)).read_bytes()
            contents[content].add(path)
            inodes[content].add(os.stat(full).st_ino)
    return {frozenset(found) for content, found in contents.items() if len(inodes[content]) > 1}


@pytest.mark.parametrize("seed", range(8))
def test_random_operands_give_the_groups_of_their_files(names, source, seed):
    chance = random.Random(f"operands {seed}")
    folders, files = random_tree(source, chance)
    for turn in range(6):
        chosen = chance.sample(files, chance.randrange(1, 30))
        chosen += chance.sample(folders[1:], turn // 2)
        given = [spelled(source, path, chance) for path in chosen]
        given += chance.sample(given, len(given) // 3)
        chance.shuffle(given)
        words = {"listed": given} if turn % 2 else {"names": given}
        assert names.groups(**words) == expected_groups(source, chosen), given


def test_each_odd_name_is_an_operand(names, source):
    for name in trees.ODD_NAMES:
        trees.write(trees.join(source, b"in", name), b"same")
    given = [b"./in/" + name for name in trees.ODD_NAMES]
    everything = group(*[os.path.join(b"in", name) for name in trees.ODD_NAMES])
    assert names.groups(names=given) == {everything}
    assert names.groups(listed=given) == {everything}


def test_only_the_named_names_of_an_inode_are_listed(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    os.link(source / "a", source / "outside")
    os.link(source / "a", source / "again")
    assert names.groups(names=["a", "again"]) == set()  # hard links are no copies
    assert names.groups(names=["a", "again", "b"]) == {group("a", "again", "b")}


def test_paths_are_printed_relative_to_the_current_folder_as_given(names, source):
    fill(source, {"in/a": b"x", "in/b": b"x"})

    def printed(*given):
        return set(names.ok("list", "--format=fdupes", names=given).out.decode().split())

    assert printed("in/a", "./in/b") == {"in/a", "in/b"}
    assert printed("in/a", source / "in/b") == {f"{source}/in/a", f"{source}/in/b"}
    assert printed("in/a", "../source/in/b") == {"in/a", "in/b"}
    (source / "a").write_bytes(b"x")
    assert printed("a", "in/b") == {"./a", "./in/b"}


# ---- names that cannot be used ------------------------------------------------------------------

def test_missing_names_are_named_and_the_rest_is_done(names, source):
    fill(source, {"a": b"x", "b": b"x", "c/d": b"y"})
    wanted = ["cannot find 'gone': No such file or directory; skipped",
              "cannot find 'a/below': Not a directory; skipped",
              "cannot find 'new\\nline': No such file or directory; skipped"]
    for how in ("names", "listed"):
        result = names.run("list", "--format=jsonl",
                           **{how: ["a", "gone", "b", "a/below", "new\nline"]})
        assert result.status == 3
        assert groups_of(result, source) == {group("a", "b")}
        assert result.errors == [f"twinfs: warning: {line}" for line in wanted]
    result = names.run("remove", "--yes", names=["a", "gone", "b"])
    assert result.status == 3
    assert b"removed     1 copy" in result.out
    assert (source / "a").exists() and not (source / "b").exists()


def test_symlinks_and_special_files_are_named_and_skipped(names, source):
    fill(source, {"a": b"x", "in/b": b"x"})
    os.symlink("a", source / "link")
    os.symlink("in", source / "folder")
    os.mkfifo(source / "pipe")
    result = names.run("list", "--format=jsonl", names=["a", "in/b", "link", "pipe"])
    assert result.status == 0
    assert groups_of(result, source) == {group("a", "in/b")}
    assert result.errors == [
        "twinfs: warning: skipped 'link': it is a symbolic link; name the file that it leads to",
        "twinfs: warning: skipped 'pipe': it is neither a file nor a folder"]
    # a command line follows a symlink to a folder, as for a source; a list can be that of find
    assert names.groups(names=["a", "folder"]) == {group("a", "in/b")}
    result = names.run("list", "--format=jsonl", listed=["a", "folder", "link"])
    assert groups_of(result, source) == set()
    assert result.errors == ["twinfs: warning: skipped 2 names, such as 'folder': they are "
                             "symbolic links; name the files that they lead to"]
    assert names.groups(listed=["a", "folder/"]) == {group("a", "in/b")}


def test_an_empty_name_of_a_list_is_named_by_its_number(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    result = names.run("list", "--format=jsonl", listed=b"a\0\0b")
    assert result.status == 3
    assert groups_of(result, source) == {group("a", "b")}
    assert result.errors == [f"twinfs: warning: name 2 of '{names.twinfs.folder}/names' is empty; "
                             "skipped"]


def test_a_list_can_be_standard_input(names, source):
    fill(source, {"a": b"x", "b": b"x", "-": b"x"})
    for data in (b"a\0b\0-\0", b"a\0b\0-"):
        (source.parent / "list").write_bytes(data)
        with open(source.parent / "list", "rb") as stdin:
            result = names.run("list", "--format=jsonl", "--files0-from=-", stdin=stdin)
        assert groups_of(result, source) == {group("a", "b", "-")}


def test_a_list_without_names_has_no_groups(names):
    assert names.ok("list", "--format=json", listed=[]).json["groups"] == []
    result = names.ok("remove", "--yes", listed=[])
    assert "nothing to remove" in result.errors[-1]


def test_a_list_that_cannot_be_read_fails(names, source):
    result = names.run("list", "--files0-from=gone")
    assert (result.status, result.errors) == (1, ["twinfs: cannot open 'gone': No such file or "
                                                  "directory"])
    result = names.run("list", f"--files0-from={source}")
    assert (result.status, result.errors) == (1, [f"twinfs: cannot read '{source}': Is a "
                                                  "directory"])


def test_a_signal_ends_a_command_that_waits_for_names(names, source):
    pipe = source.parent / "pipe"
    os.mkfifo(pipe)
    with names.twinfs.started("remove", "--yes", f"--files0-from={pipe}") as process, \
         open(pipe, "wb", buffering=0) as sink:
        sink.write(b"a\0")
        assert until(lambda: is_drained(process.pid, sink))
        process.send_signal(signal.SIGTERM)
        process.wait()
    assert process.returncode == -signal.SIGTERM
    assert b"Interrupted system call" not in process.output[1]


def test_files_of_a_view_are_refused(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    with names.twinfs.mounted(source) as view:
        result = names.run("list", "--format=jsonl", names=["a", view.path / "uniques/a"])
    assert result.status == 3
    assert groups_of(result, source) == set()
    assert result.errors == [f"twinfs: warning: skipped '{view.path}/uniques/a': it is in a view; "
                             "'twinfs path' prints its path in the source"]


@pytest.mark.parametrize(("words", "status", "message"), [
    (["mount", "a", "mountpoint"], 1, "source 'a' is not a directory; give the directory that "
     "contains it"),
    (["scan", "a"], 1, "source 'a' is not a directory"),
    (["manifest", "a"], 1, "source 'a' is not a directory"),
    (["list", "--missing-from=in", "a"], 1, "source 'a' is not a directory"),
    (["list", "--missing-from=in", "--files0-from=-"], 2, "--missing-from compares folders: omit "
     "--files0-from"),
    (["list", "--no-scan", "a"], 1, "cannot use --no-scan with single files; omit it, or print the "
     "whole index with --index=DIR and no names"),
    (["list", "--no-scan", "--files0-from=-"], 2, "--no-scan examines no file: omit --files0-from"),
    (["list", "--files0-from=-", "in"], 2, "--files0-from names the operands: give no others"),
    (["remove", "--yes", "--files0-from=-", "in"], 2, "--files0-from names the operands"),
    (["remove", "--yes", "--between-sources", "a", "b"], 2, "--between-sources needs two sources"),
    (["list"], 2, "no SOURCE, no FILE and no MOUNTPOINT given"),
])
def test_what_is_not_possible_with_files_is_refused_with_the_remedy(names, source, words, status,
                                                                    message):
    fill(source, {"a": b"x", "b": b"x", "in/c": b"x", "mountpoint/.keep": b""})
    (source / "mountpoint/.keep").unlink()
    result = names.run(*words)
    assert result.status == status, result
    assert message in result.errors[-1]
    assert {path.name for path in source.iterdir()} == {"a", "b", "in", "mountpoint"}


# ---- only the operands --------------------------------------------------------------------------

def test_nothing_but_the_operands_is_opened(names, source, strace, plain_build, private_state):
    fill(source, {"way/in/a": b"x" * 9000, "way/in/b": b"x" * 9000, "way/in/other": b"x" * 9000,
                  "way/beside": b"x" * 9000, "whole/deep/c": b"x" * 9000, "top": b"x" * 9000,
                  "apart/d": b"x" * 9000})
    # strace prints the paths of descriptors, so also those of names in them
    result, trace = names.twinfs.traced("list", "--format=jsonl", source / "way/in/a",
                                        source / "way/in/b", source / "whole", flags=["-y"])
    assert groups_of(result, source) == {group("way/in/a", "way/in/b", "whole/deep/c")}
    for name in (b"other", b"beside", b"top", b"apart"):
        assert name not in trace
    listed = [line for line in trace.splitlines() if b"getdents64(" in line]
    base = os.fsencode(source)
    opened = {line.split(base, 1)[1].split(b">", 1)[0] for line in listed if base in line}
    assert opened == {b"/whole", b"/whole/deep"}


def test_a_plain_user_needs_only_search_permission_on_the_way(as_user, tmp_path):
    source = tmp_path / "source"
    trees.fill(source, {"way/in/a": b"x", "way/in/b": b"x", "way/hidden/c": b"x", "whole/d": b"x"})
    subprocess.run(["chmod", "-R", "a+rX", source], check=True)
    closed = [source / "way/hidden", source / "way", source]
    for folder, mode in zip(closed, (0o000, 0o711, 0o711), strict=True):
        if os.geteuid() != 0:
            mode = {0o711: 0o311}.get(mode, mode)
        folder.chmod(mode)
    try:
        given = [source / name for name in ("way/in/a", "way/in/b", "whole")]
        result = as_user("list", "--format=jsonl", *given, index=False)
        assert (result.status, result.error) == (0, b"")
        assert groups_of(result, source) == {group("way/in/a", "way/in/b", "whole/d")}
        result = as_user("list", "--format=jsonl", *given, source / "way/hidden/c", index=False)
        assert result.status == 3
        assert result.errors == [f"twinfs: warning: cannot find '{source}/way/hidden/c': "
                                 "Permission denied; skipped"]
    finally:
        for folder in reversed(closed):
            folder.chmod(0o755)


@contextlib.contextmanager
def mounted_tmpfs(folder):
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_mounts_are_crossed_only_on_the_way(names, source, root_only):
    fill(source, {"a": b"x", "whole/b": b"x"})
    with mounted_tmpfs(source / "way/mounted") as way, \
         mounted_tmpfs(source / "whole/below") as below:
        trees.fill(way, {"in/c": b"x", "other": b"x", "d": b"y"})
        trees.fill(below, {"e": b"x"})
        given = ["a", "way/mounted/in/c", "whole"]
        assert names.groups(names=given) == {group("a", "way/mounted/in/c", "whole/b")}
        assert names.groups("--cross-file-systems", names=given) == {
            group("a", "way/mounted/in/c", "whole/b", "whole/below/e")}
        assert names.groups(names=["a", "way/mounted"]) == {
            group("a", "way/mounted/in/c", "way/mounted/other")}
        result = names.run("remove", "--yes", "--without-leases", names=["a", "way/mounted/other"])
        assert result.status == 0, result
        assert not (way / "other").exists() and (way / "in/c").exists()


def test_an_act_touches_only_operands(names, source):
    fill(source, {"other/0": b"x", "in/1": b"x", "in/2": b"x", "in/3": b"x", "4": b"x"})
    result = names.ok("remove", "--yes", names=["in/1", "in/2", "4"])
    assert b"removed     2 copies" in result.out
    assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} == {
        "other/0", "in/1", "in/3"}
    names.ok("undo", "--yes")
    assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} == {
        "other/0", "in/1", "in/2", "in/3", "4"}


def states(root):
    """{path: (inode, change time, content)} of all regular files."""
    found = {}
    for above, _, files in os.walk(os.fsencode(root)):
        for name in files:
            path = os.path.join(above, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                found[path] = (status.st_ino, status.st_ctime_ns,
                               Path(os.fsdecode(path)).read_bytes())
    return found


@pytest.mark.parametrize("command", ["remove", "link"])
@pytest.mark.parametrize("seed", range(3))
def test_random_acts_change_only_operands_and_lose_no_content(names, source, seed, command):
    chance = random.Random(f"acts {seed}")
    _, files = random_tree(source, chance)
    chosen = chance.sample(files, 35)
    inodes = {os.stat(trees.join(source, path)).st_ino for path in chosen}
    before = states(source)
    contents = {before[trees.join(source, path)][2] for path in chosen}
    names.ok(command, "--yes", listed=[spelled(source, path, chance) for path in chosen])
    after = states(source)
    for path, state in before.items():
        if state[0] not in inodes:
            assert after[path] == state, path
    left = [trees.join(source, path) for path in chosen if trees.join(source, path) in after]
    assert {after[path][2] for path in left} == contents
    assert all(after[path][2] == before[path][2] for path in after)
    kinds = {(after[path][2], after[path][0]) for path in left}
    # one inode for each content; `link` leaves those alone that have further names elsewhere, as it
    # would free nothing
    elsewhere = {state[:1] + state[2:] for path, state in before.items()
                 if command == "link" and state[0] in inodes and path not in
                 {trees.join(source, name) for name in chosen}}
    for content in contents:
        inodes_left = {inode for data, inode in kinds if data == content}
        held = {inode for inode, data in elsewhere if data == content}
        assert held <= inodes_left and len(inodes_left) == max(1, len(held))


@pytest.mark.parametrize("command", ["link", "move"])
def test_each_act_takes_a_list(names, source, command):
    fill(source, {"in/1": b"x", "in/2": b"x", "3": b"x"})
    (source / "moved").mkdir()
    words = ["moved"] if command == "move" else []
    names.ok(command, "--yes", listed=["in/1", "in/2"], names=words)
    if command == "link":
        assert (source / "in/1").stat().st_ino == (source / "in/2").stat().st_ino
        assert (source / "3").stat().st_nlink == 1
    else:
        assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} == {
            "in/1", "moved/2", "3"}


def test_a_report_is_about_the_named_files(names, source):
    fill(source, {"in/1": b"x" * 5000, "in/2": b"x" * 5000, "in/3": b"x" * 5000})
    names.ok("report", "--html=../page", names=["in/1", "in/2"])
    page = (source.parent / "page").read_text()
    assert re.search(f"<li>named files in .*{source}/in<", page)
    assert re.search("[>/]1<", page) and not re.search("[>/]3<", page)


def test_a_move_into_a_named_folder_is_refused(names, source):
    fill(source, {"in/1": b"x", "2": b"x"})
    result = names.run("move", "--yes", names=["2", "in", "in"])
    assert result.status == 1
    assert "it overlaps with the source" in result.errors[-1]


# ---- which copy stays ---------------------------------------------------------------------------

def kept(program, *words, **options):
    result = program.ok("list", "--format=jsonl", *words, **options)
    first, = [json.loads(line) for line in result.lines if b'"copies"' in line]
    path, = [path_of(copy) for copy in first["copies"] if copy["kept"]]
    return os.path.relpath(os.fsdecode(path), program.folder)


def test_what_is_named_first_is_kept_but_files_in_a_row_count_as_one(names, source):
    fill(source, {"old/a": b"x", "b": b"x", "new/c": b"x", "new/d": b"x"})
    assert kept(names, names=["new", "b", "old"]) == "new/c"
    assert kept(names, names=["b", "new"]) == "b"
    assert kept(names, names=["new/d", "new/c"]) == "new/c"  # the oldest
    assert kept(names, "--keep=source-order", names=["new/d", "new/c"]) == "new/d"
    assert kept(names, names=["new/d", "new", "old"]) == "new/d"  # it is in both operands


def test_the_order_of_a_list_counts_only_with_the_rule_for_it(names, source):
    fill(source, {"old/a": b"x", "b": b"x", "new/c": b"x", "new/d": b"x"})
    assert kept(names, listed=["new", "b", "old"]) == "old/a"
    assert kept(names, "--keep=source-order", listed=["new/d", "b", "old"]) == "new/d"
    assert kept(names, "--keep=source-order", listed=["b", "new/d", "old"]) == "b"


def test_explain_says_that_a_copy_was_named_first(names, source):
    fill(source, {"old/a": b"x", "b": b"x"})
    result = names.ok("list", "--explain", "--format=jsonl", names=["b", "old"])
    assert [copy["why"] for copy in json.loads(result.lines[0])["copies"]] == [
        "named first", "named later"]


# ---- scans, filters and indexes -----------------------------------------------------------------

def test_unchanged_files_are_not_read_again_after_the_list_was_edited(names, source, strace):
    fill(source, {f"{number}": b"x" * 9000 for number in range(6)})

    def read(*numbers):
        listed = names.twinfs.folder / "names"
        listed.write_bytes(b"".join(os.fsencode(source / str(number)) + b"\0"
                                    for number in numbers))
        found = names.twinfs.content_read("list", f"--files0-from={listed}", below=source)
        return {os.path.basename(os.fsdecode(path)) for _, path in found}

    assert read(0, 1, 2) == {"0", "1", "2"}
    assert read(0, 1, 2) == set()
    assert read(2, 0) == set()
    assert "1" not in read(0, 2, 3)
    assert read(0, 2, 3) == set()


def test_a_file_that_is_replaced_after_it_was_named_is_left_out(names, source):
    fill(source, {"a": b"x", "b": b"x", "c": b"x", "in/d": b"x", "aside": b"x"})
    pipe = source.parent / "pipe"
    os.mkfifo(pipe)
    with names.twinfs.started("list", "--format=jsonl", f"--files0-from={pipe}",
                              index=False) as process, open(pipe, "wb", buffering=0) as sink:
        for name in ("a", "b", "c", "in"):
            sink.write(os.fsencode(source / name) + b"\0")
            assert until(lambda: is_drained(process.pid, sink))
        (source / "b").unlink()
        os.symlink("aside", source / "b")
        (source / "c").unlink()
        (source / "c").mkdir()
        (source / "c/below").write_bytes(b"x")
        os.rename(source / "in", source / "was")
        os.symlink("was", source / "in")
        sink.close()
        process.wait()
    assert process.returncode == 0
    assert b"copies" not in process.output[0]


def is_drained(pid, pipe):
    """Whether a process read all of a pipe and waits for more."""
    waiting = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    state = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0]
    return waiting == bytearray(4) and state == b"S" and b"pipe" in Path(
        f"/proc/{pid}/wchan").read_bytes()


def test_filters_and_excludes_are_for_operands_too(names, source):
    fill(source, {"in/a.jpg": b"x", "in/b.txt": b"x", "c.jpg": b"x", "d.txt": b"x"})
    given = ["in", "c.jpg", "d.txt"]
    assert names.groups("--exclude=*.txt", names=given) == {group("in/a.jpg", "c.jpg")}
    assert names.groups("--exclude=in", names=given) == {group("c.jpg", "d.txt")}
    assert names.groups("--min-size=2", names=given) == set()
    assert names.groups("--path=in/*", "--copies=4", names=given) == {
        group("in/a.jpg", "in/b.txt", "c.jpg", "d.txt")}
    result = names.ok("remove", "--dry-run", "--format=null", "--only=in", names=given)
    assert {name[:1] + os.path.basename(name) for name in result.out.split(b"\0")[:-1]} == {
        b"-a.jpg", b"-b.txt", b"+c.jpg"}


def test_the_index_of_files_is_shown_refused_for_folders_and_forgotten(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    names.ok("list", names=["a", "b"])
    result = names.ok("index")
    assert f"files in    {source}" in result.out.decode()
    shown, = names.ok("index", "--format=json").json["indexes"]
    assert shown["single_files"] is True
    folder = shown["folder"]
    result = names.run("list", f"--index={folder}", names=[source])
    assert result.status == 1
    assert result.errors == [f"twinfs: cannot use the index '{folder}': it is of single files in "
                             f"'{source}'; choose another with --index"]
    names.ok("scan", "--index=../whole", names=[source])
    result = names.run("list", "--index=../whole", names=["a", "b"])
    assert "it is of the whole folder" in result.errors[-1]
    result = names.ok("list", "--no-scan", f"--index={folder}", "--format=jsonl")
    assert groups_of(result, source) == {group("a", "b")}
    for command in ("check", "manifest"):
        result = names.run(command, f"--index={folder}", names=[source])
        assert "it is of single files" in result.errors[-1]
    names.ok("index", "--forget", names=[folder])
    assert names.ok("index", "--format=json").json["indexes"] == []


def test_an_index_in_a_named_folder_is_refused(names, source):
    fill(source, {"a": b"x", "in/b": b"x"})
    result = names.run("list", "--index=in/index", names=["a", "in"])
    assert "the folder is in the source" in result.errors[-1]
    assert names.groups("--index=index", names=["a", "in"]) == {group("a", "in/b")}


def test_a_plan_of_files_is_carried_out_for_the_same_files(names, source):
    fill(source, {"a": b"x", "b": b"x", "c": b"x"})
    plan = source.parent / "plan"
    plan.write_bytes(names.ok("remove", "--dry-run", "--format=jsonl", names=["a", "b"]).out)
    result = names.run("remove", "--yes", f"--plan={plan}")
    assert "give the SOURCE... of the plan" in result.errors[-1]
    names.ok("remove", "--yes", f"--plan={plan}", names=["a", "b", "c"])
    assert {path.name for path in source.iterdir()} == {"a", "c"}


def test_a_second_process_with_files_in_the_same_folder_is_refused(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    names.ok("list", names=["a", "b"])
    folder, = [index["folder"] for index in names.ok("index", "--format=json").json["indexes"]]
    with open(f"{folder}/owner", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = names.run("list", names=["a", "b"])
    assert result.status == 1
    assert "try again when it has finished" in result.errors[-1]


def test_the_index_of_files_is_checked_when_it_was_not_closed(names, source):
    fill(source, {"a": b"x", "b": b"x"})
    names.ok("list", names=["a", "b"])
    folder, = [index["folder"] for index in names.ok("index", "--format=json").json["indexes"]]
    os.unlink(f"{folder}/seal")
    result = names.ok("list", names=["a", "b"])
    assert result.error == b""

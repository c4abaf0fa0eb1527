# SPDX-License-Identifier: MIT
"""Stores, which are folders and sets of files that a program manages as one, such as a database: no
act changes a single file of one, whatever the options are. PostgreSQL, LMDB and SQLite themselves
check what is left."""
import contextlib
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest
import trees
from manual import COMMANDS_PAGE, ROOT, sections
from processes import TIMEOUT, release, until
from removal_lists import Remover
from terminal import Terminal
from test_emptied_places import TAG

ACTS = [["remove"], ["remove", "--include-bundles"], ["link", "--include-bundles"],
        ["link", "--symbolic", "--include-bundles"], ["move", "--include-bundles"]]
COMMIT = """
import sys, lmdb
folder, key = sys.argv[1:]
with lmdb.open(folder, subdir=not folder.endswith(".db"), map_size=1 << 20) as database:
    for line in sys.stdin:
        with database.begin(write=True) as transaction:
            transaction.put(f"{key}{line.strip()}".encode(), b"value")
        print("done", flush=True)
"""


def state(*folders):
    """What an act can change of each file, with the target of a link."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.lstat()
            found[path] = (status.st_ino, status.st_nlink, status.st_mode, status.st_size,
                           status.st_mtime_ns)
    return found


def act(twinfs, words, source, aside, *options, status=0):
    command, *given = words
    folders = [source, aside] if command == "move" else [source]
    return twinfs(command, *given, "--yes", *options, *folders)


def is_left_alone(twinfs, source, aside, *stores):
    """No act on files changes a file of these stores, with one line for each; returns the lines of
    the last act."""
    for words in ACTS:
        before = state(*stores)
        result = act(twinfs, words, source, aside)
        assert result.status == 0, (words, result)
        assert state(*stores) == before, words
        skipped = [line for line in result.errors if "skipped" in line]
        assert 1 <= len(skipped) <= len(stores), skipped
        assert not any("--include-bundles includes" in line for line in skipped), skipped
    return skipped


# ---- PostgreSQL ---------------------------------------------------------------------------

def postgres(words, folder, text=None):
    """Runs a program of PostgreSQL as the owner of the folder, who is not root."""
    [programs] = glob.glob("/usr/lib/postgresql/*/bin")[-1:] or [None]
    if not programs:
        pytest.skip("needs PostgreSQL")
    owner = os.stat(folder)
    words = [f"{programs}/{words[0]}", *words[1:]]
    if os.geteuid() == 0:
        words = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}",
                 "--clear-groups", "--", *words]
    return subprocess.run(words, input=text, check=True, capture_output=True, text=True,
                          cwd=folder).stdout


def select(cluster, statement):
    """Runs a statement without a server; returns the values of a column."""
    out = postgres(["postgres", "--single", "-D", cluster, "postgres"], cluster, statement + "\n")
    return re.findall(r'= "(.*?)"', out)


@pytest.fixture(scope="module")
def cluster(scratch, plain_user):
    """A cluster with a table, which nothing uses."""
    folder = scratch / "cluster"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chmod(scratch, 0o755)
        os.chown(folder, plain_user.pw_uid, plain_user.pw_gid)
    postgres(["initdb", "-k", "--no-sync", "--auth=trust", "-D", folder], folder)
    select(folder, "create table t as select generate_series(1, 1000) as n")
    return folder


@pytest.fixture
def clusters(cluster, source):
    """Two equal clusters."""
    for name in ("a", "b"):
        subprocess.run(["cp", "-a", cluster, source / name], check=True)
    return source / "a", source / "b"


def is_sound(cluster):
    """PostgreSQL reads all pages of the cluster and writes to it."""
    postgres(["pg_checksums", "--check", "-D", cluster], cluster)
    assert select(cluster, "select count(*) from t") == ["1000"]
    select(cluster, "update t set n = n + 1")
    postgres(["pg_checksums", "--check", "-D", cluster], cluster)
    return True


def test_files_of_postgresql_clusters_are_left_alone(twinfs, source, clusters, aside):
    lines = is_left_alone(twinfs, source, aside, *clusters)
    assert [line for line in lines if "a PostgreSQL cluster" in line] == lines
    assert all(map(is_sound, clusters))


def test_files_of_a_database_in_a_tablespace_are_left_alone(twinfs, source, cluster, aside):
    database = min(cluster.glob("base/*"))
    for name in ("a", "b"):
        shutil.copytree(database, source / name / "PG_15_202209061" / "5")
    assert "a database of PostgreSQL" in is_left_alone(twinfs, source, aside, source / "a",
                                                       source / "b")[0]


def test_source_inside_a_cluster_is_left_alone(twinfs, clusters, aside):
    inside = clusters[0] / "base"
    assert "a PostgreSQL cluster" in is_left_alone(twinfs, inside, aside, inside)[0]


def test_folder_in_a_cluster_stays_and_a_whole_cluster_goes(twinfs, source, clusters):
    first, second = clusters
    (second / "postgresql.conf").write_text("# of b")
    before = state(*clusters)
    twinfs.ok("remove", "--folders", "--include-bundles", "--yes", source)
    assert state(*clusters) == before
    shutil.copy2(first / "postgresql.conf", second)
    twinfs.ok("remove", "--folders", "--yes", source)
    [left] = source.iterdir()
    assert is_sound(left)


def test_whole_cluster_that_a_server_uses_stays(twinfs, source, clusters):
    for folder in clusters:
        (folder / "postmaster.pid").write_text("4711\n")
    before = state(*clusters)
    result = twinfs("remove", "--folders", "--yes", source)
    assert result.status == 3 and state(*clusters) == before
    assert any("postmaster.pid' in it: shows that a program uses" in line
               for line in result.errors), result


def test_plan_that_names_files_of_a_cluster_is_refused(twinfs, source, clusters, tmp_path):
    first, second = clusters
    names = [path.relative_to(first) for path in sorted(first.glob("global/[0-9]*"))
             if path.stat().st_size > 0]
    plan = tmp_path / "plan"
    plan.write_text("".join(json.dumps({"copies": [
        {"path": str(first / name), "fate": "kept"},
        {"path": str(second / name), "fate": "redundant"}]}) + "\n" for name in names))
    before = state(*clusters)
    for words in (["remove"], ["link"], ["link", "--symbolic"]):
        result = twinfs(*words, "--yes", "--plan", plan, source)
        assert result.status == 3 and state(*clusters) == before
        [line] = [line for line in result.errors if "skipped" in line]
        assert f"{len(names)} copies" in line and "manages it together" in line


# ---- LMDB ---------------------------------------------------------------------------------

def lmdb_words(*words):
    if subprocess.run(["/usr/bin/python3", "-c", "import lmdb"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("needs python3-lmdb")
    return ["/usr/bin/python3", *words]


def commit(words, answers, number):
    words.stdin.write(f"{number}\n")
    words.stdin.flush()
    assert words.stdout.readline() == answers


def commit_to_both(databases):
    """Two programs commit in turns; returns the keys that each database has then."""
    programs = [subprocess.Popen(lmdb_words("-c", COMMIT, str(database), name), text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for name, database in zip("ab", databases)]
    for number in range(3):
        for program in programs:
            commit(program, "done\n", number)
    for program in programs:
        program.communicate()
        assert program.returncode == 0
    dump = ("import sys, lmdb; d = sys.argv[1]; e = lmdb.open(d, subdir=not d.endswith('.db'));"
            "print(*(k.decode() for k in e.begin().cursor().iternext(values=False)))")
    return [subprocess.run(lmdb_words("-c", dump, str(database)), check=True, text=True,
                           capture_output=True).stdout.split() for database in databases]


@pytest.mark.parametrize("names", [("a", "b"), ("a.db", "b.db")], ids=["folders", "files"])
def test_commits_to_two_lmdb_databases_survive_an_act(twinfs, source, aside, names):
    databases = [source / name for name in names]
    make = "import sys, lmdb; d = sys.argv[1]; lmdb.open(d, subdir=not d.endswith('.db')).close()"
    for database in databases:
        subprocess.run(lmdb_words("-c", make, str(database)), check=True)
    before = state(source)
    for words in ACTS:
        result = act(twinfs, words, source, aside)
        assert result.status == 0 and state(source) == before, result
        assert any("an LMDB database" in line for line in result.errors)
    assert commit_to_both(databases) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


def test_copied_index_of_twinfs_is_left_alone(twinfs, source, tmp_path, aside):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("content")
    twinfs.with_index(tmp_path / "live").ok("scan", tmp_path / "other")
    for name in ("a", "b"):
        shutil.copytree(tmp_path / "live", source / name)
    assert "an LMDB database" in is_left_alone(twinfs, source, aside, source / "a",
                                               source / "b")[0]


# ---- caches -------------------------------------------------------------------------------

def test_tags_of_caches_are_left_alone(twinfs, source, aside):
    """Otherwise copies in the caches would count as lasting ones in the next act."""
    tags = [source / name / "CACHEDIR.TAG" for name in ("a", "b", "c")]
    for tag in tags:
        trees.write(tag, TAG)
    is_left_alone(twinfs, source, aside, *(tag.parent for tag in tags))
    trees.write(source / "1", TAG)  # copies that are no tags
    trees.write(source / "2", TAG)
    (source / "d").mkdir()
    (source / "d/CACHEDIR.TAG").symlink_to("../1")
    result = twinfs.ok("remove", "--yes", source)
    assert not (source / "2").exists() and all(tag.exists() for tag in tags), result
    trees.write(source / "a/f", b"a file")
    trees.write(source / "b/f", b"a file")
    twinfs.ok("remove", "--folders", "--yes", source)
    assert len([tag for tag in tags if tag.exists()]) == 2


# ---- SQLite -------------------------------------------------------------------------------

WRITE = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute(f"pragma journal_mode={sys.argv[2]}")
database.execute("create table t (n)")
database.execute("insert into t values (1), (2), (3)")
if sys.argv[2] == "persist":
    database.execute("pragma cache_size=1")
    database.execute("begin")
    database.executemany("insert into t values (zeroblob(?))", [(3000,)] * 100)
os._exit(0)  # as if killed: the files beside the database stay
"""


def make_sqlite(path, mode):
    subprocess.run([sys.executable, "-c", WRITE, str(path), mode], check=True)


def rows(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        return [number for number, in database.execute("select n from t order by n")]


@pytest.mark.parametrize(("mode", "besides"), [("wal", {"-wal", "-shm"}),
                                               ("persist", {"-journal"})])
def test_sqlite_database_with_files_beside_it_is_left_alone(twinfs, source, aside, mode, besides):
    names = ("a.db", "b.db", "lone.db")
    make_sqlite(source / "a.db", mode)
    assert {path.name[4:] for path in source.iterdir()} == {"", *besides}
    for end in ("", *besides):
        shutil.copy2(source / f"a.db{end}", source / f"b.db{end}")
    shutil.copy2(source / "a.db", source / "lone.db")
    for words in ACTS:
        before = state(source)
        result = act(twinfs, words, source, aside)
        assert result.status == 0 and state(source) == before, result
        [line] = [line for line in result.errors if "skipped" in line]
        assert "of an SQLite database that has other files beside it" in line
    (source / "lone.db").unlink()
    assert [rows(source / name) for name in names[:2]] == [[1, 2, 3], [1, 2, 3]]


def test_lone_sqlite_database_is_removed_but_not_linked(twinfs, source):
    make_sqlite(source / "a.db", "delete")
    shutil.copy2(source / "a.db", source / "b.db")
    before = state(source)
    for words in (["link"], ["link", "--symbolic"], ["link", "--include-bundles"]):
        result = twinfs.ok(*words, "--yes", source)
        assert state(source) == before
        [line] = [line for line in result.errors if "skipped" in line]
        assert "skipped 1 copy: a program writes it or the kept copy in place" in line
    plan = source.parent / "plan"
    plan.write_bytes(twinfs.ok("remove", "--dry-run", "--format=jsonl", "--quiet", source).out)
    result = twinfs("link", "--yes", "--plan", plan, source)
    assert result.status == 3 and state(source) == before
    assert any("a link would change both" in line for line in result.errors), result
    twinfs.ok("remove", "--yes", source)
    [left] = source.iterdir()
    assert rows(left) == [1, 2, 3]


def test_database_that_is_used_after_the_plan_stays(twinfs, source, tmp_path):
    make_sqlite(source / "a.db", "delete")
    shutil.copy2(source / "a.db", source / "b.db")
    plan = tmp_path / "plan"
    plan.write_bytes(twinfs.ok("remove", "--dry-run", "--format=jsonl", "--quiet", source).out)
    for name in ("a.db-wal", "b.db-wal"):
        (source / name).write_bytes(b"\x37\x7f\x06\x82" + name.encode())
    before = state(source)
    result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3 and state(source) == before
    assert any("manages it together" in line for line in result.errors), result


def put_version(source):
    """Makes source/db a cluster, which has no other files than its version and base/1."""
    (source / "db" / "global").mkdir(exist_ok=True)
    (source / "db" / "PG_VERSION").write_bytes(b"15\n")


def put_log(source):
    (source / "db" / "base" / "1-wal").write_bytes(b"\x37\x7f\x06\x82log")


@pytest.mark.parametrize("kept", ["db/base/1", "out/1"])
@pytest.mark.parametrize("mark", [put_version, put_log])
def test_store_that_appears_during_an_act_holds(twinfs, source, strace, kept, mark):
    content = b"SQLite format 3\0".ljust(512)
    trees.fill(source, {"db/base/1": content, "out/1": content})
    os.utime(source / kept, ns=(10**18, 10**18))
    with twinfs.held("remove", "--yes", source, call="syncfs") as process:  # of the kept file
        mark(source)
        before = state(source)
        release(process)
        assert process.wait(TIMEOUT) == 3
    assert state(source) == before, process.output


@pytest.mark.parametrize("kept", ["db/base", "out"])
def test_store_that_appears_around_a_folder_before_the_answer_holds(twinfs, source, kept):
    trees.fill(source, {"db/base/1": b"content", "out/1": b"content"})
    words = ["remove", "--folders", f"--protect={source / kept}", source]
    with contextlib.closing(Terminal(200)) as seen, seen.run(
            twinfs.command(*words), twinfs.environment, stdin=seen.theirs) as process:
        assert until(lambda: "freed" in seen.written)
        put_version(source)
        before = state(source)
        os.write(seen.ours, b"y\n")
        assert process.wait(TIMEOUT) == 3
    assert state(source) == before, seen.written


# ---- copies outside of a store ------------------------------------------------------------

PREFER = [["--keep=oldest"], ["--keep=path:store"], ["--protect=store"], ["--only=outside"],
          ["--protect=store", "--include-bundles"]]


@pytest.mark.parametrize("options", PREFER, ids=" ".join)
def test_copy_in_a_store_is_no_reason_to_remove_one_outside(twinfs, source, aside, options):
    trees.fill(source, {"store/PG_VERSION": b"15\n", "store/global/1": b"g",
                        "store/base/1": b"content", "outside/a": b"content"})
    os.utime(source / "store" / "base" / "1", ns=(10**18, 10**18))
    options = [word.replace("=store", f"={source}/store").replace("=out", f"={source}/out")
               for word in options]
    for command in ("remove", "link", "move"):
        before = state(source)
        result = act(twinfs, [command, *options], source, aside)
        assert result.status == 0 and state(source) == before, result
        assert "--keep" not in options[0] or "a PostgreSQL cluster" in result.error.decode()
    (source / "outside" / "b").write_bytes(b"content")
    twinfs.ok("remove", "--yes", *options, source)
    assert len(os.listdir(source / "outside")) == 1 and (source / "store" / "base" / "1").exists()


def test_folder_in_a_store_is_no_reason_to_remove_one_outside(twinfs, source):
    trees.fill(source, {"store/PG_VERSION": b"15\n", "store/global/1": b"g",
                        "store/base/1": b"content", "outside/1": b"content"})
    before = state(source)
    twinfs.ok("remove", "--folders", "--yes", f"--protect={source}/store", source)
    assert state(source) == before


def test_plan_that_keeps_a_file_of_a_store_is_refused(twinfs, source, tmp_path):
    trees.fill(source, {"store/base/1": b"content", "outside": b"content"})
    plan = tmp_path / "plan"
    plan.write_bytes(twinfs.ok("remove", "--dry-run", "--format=jsonl", "--quiet",
                               f"--only={source}/outside", source).out)
    assert b"outside" in plan.read_bytes()
    trees.fill(source, {"store/PG_VERSION": b"15\n", "store/global/1": b"g"})
    before = state(source)
    result = twinfs("remove", "--yes", "--plan", plan, source)
    assert result.status == 3 and state(source) == before
    assert any("the kept file is in a store" in line for line in result.errors), result


# ---- stores of files ----------------------------------------------------------------------

def make_dvc(folder):
    trees.fill(folder, {".dvc/config": b"", ".dvc/.gitignore": b"/cache",
                        ".dvc/cache/files/md5/9a/0364b9e99bb480dd25e1f0284c8555": b"content",
                        "data.csv": b"content"})


def make_ocfl(folder):
    inventory = b'{"id": "urn:x", "type": "https://ocfl.io/1.1/spec/#inventory", "head": "v1"}'
    trees.fill(folder, {"0=ocfl_object_1.1": b"ocfl_object_1.1\n", "inventory.json": inventory,
                        "v1/inventory.json": inventory, "v1/content/file": b"content"})


@pytest.mark.parametrize(("make", "name", "inside"), [
    (make_dvc, "a DVC repository", ".dvc"), (make_ocfl, "an OCFL object", ".")])
def test_objects_of_a_store_stay(twinfs, source, aside, make, name, inside):
    make(source / "store")
    (source / "outside").write_bytes(b"content")
    for words in ACTS:
        before = state(source / "store" / inside)
        result = act(twinfs, words, source, aside)
        assert result.status == 0 and state(source / "store" / inside) == before, result
        assert any(name in line for line in result.errors)
    assert state(source / "store" / inside) == before


def test_attested_removal_leaves_stores_alone(twinfs, source, tmp_path):
    make_ocfl(source / "object")
    make_sqlite(source / "a.db", "wal")
    beta = Remover(twinfs, tmp_path, source)
    beta.plan()
    beta.attest("alpha")
    before = state(source)
    for options in ([], ["--include-bundles"]):
        result = beta.remove(*options, status=3)
        said = b"\n".join(result.errors) if isinstance(result.errors[0], bytes) else "\n".join(
            result.errors)
        assert "an OCFL object, which stays whole" in said and "manages it together" in said
    assert {path: found[0] for path, found in state(source).items()} == {
        path: found[0] for path, found in before.items()}


# ---- what is shown ------------------------------------------------------------------------

def test_lists_mark_the_copies_in_a_store(twinfs, source):
    make_ocfl(source / "object")
    (source / "outside").write_bytes(b"content")
    listed = twinfs.ok("list", "--explain", "--format=json", source).json["groups"]
    shown = {copy["path"]: (copy.get("store"), copy["fate"], copy["why"])
             for group in listed for copy in group["copies"]}
    assert shown[f"{source}/object/v1/content/file"] == (
        "an OCFL object", "spared", "in an OCFL object, which stays whole")
    assert shown[f"{source}/outside"][:2] == (None, "kept")
    text = twinfs.ok("list", source).out.decode()
    assert "object/v1/content/file  [in an OCFL object]" in text
    assert "outside\n" in text


@pytest.mark.parametrize("files", [
    {"PG_VERSION": b"the version", "global/x": b"1", "base/y": b"same"},
    {"data.mdb": b"no database" * 9, "lock.mdb": b"same"},
    {"0=ocfl_object_1.1": b"something else", "x": b"same"},
    {"x.db": b"same", "x.db-wal": b"log"},
    {"x-lock": b"same", "x": b"any"},
    {".dvc": b"same"},
], ids=lambda files: min(files))
def test_names_without_the_content_of_a_store_are_ordinary(twinfs, source, files):
    trees.fill(source / "folder", files)
    trees.fill(source, {"1": b"same", "2": b"same"})
    twinfs.ok("remove", "--yes", source)
    left = [path for path in source.rglob("*") if path.is_file() and path.read_bytes() == b"same"]
    assert len(left) == 1


def test_plain_user_cannot_link_the_files_of_a_store(as_user, source):
    make_sqlite(source / "a.db", "delete")
    shutil.copy2(source / "a.db", source / "b.db")
    make_ocfl(source / "object")
    if as_user.user:
        subprocess.run(["chown", "-R", f"{as_user.user.pw_uid}", source], check=True)
    before = state(source)
    as_user.ok("link", "--yes", "--include-bundles", source)
    assert state(source) == before


def test_manual_has_the_table_of_the_code():
    code = (ROOT / "src/index/managed.c").read_text()
    text = re.sub(r"^\.[A-Z][a-z] | [,.]$", "", sections(COMMANDS_PAGE)["RULE OPTIONS"],
                  flags=re.MULTILINE)
    words = re.split(r"[\s,()]+", text)
    tables = code[code.index("folder_rows[] = {"):code.index("/* ---- folders")]
    marks = [mark for row in re.findall(r"\.(?:marks|beside) = \{(.*?)\}", tables)
             for mark in re.findall(r'"(.*?)"', row)]
    kinds = set(re.findall(r'(?:FOLDER|FILES)\("(.*?)"\)', tables))
    assert len(marks) > 15 and len(kinds) > 5
    assert [mark for mark in marks if mark not in words] == []
    joined = " ".join(words)
    assert [kind for kind in kinds if kind not in joined] == []

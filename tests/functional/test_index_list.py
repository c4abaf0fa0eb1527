# SPDX-License-Identifier: MIT
"""The command index prints the indexes of a user and removes those that the user names."""
import fcntl
import os

import pytest
import trees
from processes import release
from program import path_of

pytestmark = pytest.mark.usefixtures("private_state")


@pytest.fixture
def two(twinfs, tmp_path):
    """Two sources with an index each, in the default folder."""
    for name in ("one", "two"):
        trees.small(tmp_path / name)
        twinfs.ok("scan", tmp_path / name, index=False)
    return tmp_path / "one", tmp_path / "two"


def listed(twinfs, *folders):
    """{source paths: object}."""
    found = twinfs.ok("index", "--format=json", *folders).json["indexes"]
    return {tuple(path_of(source) for source in index["sources"]): index for index in found}


def test_indexes_are_printed_with_their_sources(twinfs, two):
    found = listed(twinfs)
    assert set(found) == {(os.fsencode(source),) for source in two}
    for index in found.values():
        assert index["bytes"] > 0 and not index["absent"] and not index["in_use"]
        assert index["last_scan"].endswith("Z") and os.path.isdir(index["folder"])
    text = twinfs.ok("index").out.decode()
    assert all(str(source) in text for source in two) and text.count("last scan") == 2
    name = os.path.basename(found[(os.fsencode(two[0]),)]["folder"])
    assert set(listed(twinfs, name)) == {(os.fsencode(two[0]),)}


def test_index_elsewhere_is_printed_by_its_path(twinfs, two):
    twinfs.ok("scan", *two)
    assert set(listed(twinfs, twinfs.index)) == {tuple(map(os.fsencode, two))}
    assert tuple(map(os.fsencode, two)) not in listed(twinfs)


def test_no_index_prints_nothing(twinfs):
    assert twinfs.ok("index").out == b""
    assert listed(twinfs) == {}


def test_folder_without_an_index_is_an_error(twinfs, two, aside):
    result = twinfs("index", aside)
    assert result.status == 1 and str(aside) in result.errors[0], result
    folder = next(iter(listed(twinfs).values()))["folder"]
    result = twinfs("index", "--format=json", "nothing", folder)
    assert result.status == 3 and len(result.json["indexes"]) == 1, result


def test_absent_sources_are_said_and_old_indexes_are_offered_for_removal(twinfs, two, tmp_path):
    two[0].rename(tmp_path / "drawer")
    folder = listed(twinfs)[(os.fsencode(two[0]),)]["folder"]
    result = twinfs.ok("index")
    assert b"no source exists now" in result.out and result.error == b""
    for name in {index["folder"] for index in listed(twinfs).values()}:
        with open(f"{name}/scanned", "w", encoding="ascii") as file:
            file.write("1000000000\n")
    result = twinfs.ok("index")
    assert len(result.errors) == 1 and folder in result.errors[0], result
    assert "--forget" in result.errors[0]


def test_forgotten_index_is_removed_as_a_whole(twinfs, two):
    found = listed(twinfs)
    folder = found.pop((os.fsencode(two[0]),))["folder"]
    for name in ("seal.new", "damaged.mdb", "checked.mdb"):
        with open(f"{folder}/{name}", "wb"):
            pass
    twinfs.ok("index", "--forget", os.path.basename(folder))
    assert not os.path.exists(folder)
    assert set(listed(twinfs)) == set(found)
    assert len(twinfs.groups(two[0])) == 2


def test_other_files_in_the_folder_stay(twinfs, two):
    twinfs.ok("scan", two[0])
    (twinfs.index / "notes").write_text("mine")
    twinfs.ok("index", "--forget", twinfs.index)
    assert os.listdir(twinfs.index) == ["notes"]


def test_log_of_acts_stays_so_that_an_act_can_be_undone(twinfs, two):
    twinfs.ok("remove", "--yes", two[0])
    assert twinfs.listing(two[0])["groups"] == []
    result = twinfs.ok("index", "--forget", twinfs.index)
    kept = os.listdir(twinfs.index)
    assert "log of acts" in result.errors[0]
    assert sorted(kept) == [".acts", ".twinfs-own", "acts.log"]
    for words in ([], ["--forget"]):
        result = twinfs("index", *words, twinfs.index)
        assert result.status == 1 and "cannot find an index" in result.errors[0], result
    assert os.listdir(twinfs.index) == kept
    twinfs.ok("undo", "--yes")
    assert len(twinfs.groups(two[0])) == 2
    assert b"undo" in twinfs.ok("log").out


def test_index_of_an_undo_stays(twinfs, two):
    """An undo locks the journal, not the index."""
    twinfs.ok("remove", "--yes", two[0])
    with open(twinfs.index / "acts", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = twinfs("index", "--forget", twinfs.index)
    assert result.status == 1 and "another twinfs uses the index" in result.errors[0], result
    assert (twinfs.index / "data.mdb").exists()


@pytest.mark.parametrize("words", [["scan"], ["index", "--forget"]])
def test_index_that_is_forgotten_while_its_lock_is_taken_is_not_opened(twinfs, two, strace, words):
    """A process that opened the lock file before it was removed would share the new index."""
    twinfs.ok("remove", "--yes", two[0])  # its log keeps the folder
    operand = two[0] if words == ["scan"] else twinfs.index
    with twinfs.held(*words, operand, call="flock") as late:
        twinfs.ok("index", "--forget", twinfs.index)
        with twinfs.mounted(two[1]) as view:
            release(late)
            _, error = late.communicate(timeout=60)
            expected = b"other sources" if words == ["scan"] else b"cannot find an index"
            assert late.returncode == 1 and expected in error, error
            assert view.differences_now(two[1]) == []


def test_file_of_the_user_that_is_named_like_the_log_makes_no_index(twinfs, two, aside):
    for name in ("acts.log", "photo.jpg"):
        (aside / name).write_text("mine")
    assert twinfs("index", "--forget", aside).status == 1
    result = twinfs.with_index(aside)("scan", two[0])
    assert result.status == 1 and "photo.jpg" in result.errors[0], result
    assert (aside / "acts.log").read_text() == "mine"


@pytest.mark.parametrize("content", [[], ["photo.jpg"]])
def test_folder_that_is_no_index_is_left_alone(twinfs, aside, content):
    for name in content:
        (aside / name).write_text("mine")
    result = twinfs("index", "--forget", aside)
    assert result.status == 1 and "cannot find an index" in result.errors[0], result
    assert os.listdir(aside) == content


def test_data_of_another_program_is_left_alone(twinfs, aside):
    """Every LMDB environment has these two files."""
    for name in ("data.mdb", "lock.mdb"):
        (aside / name).write_text("mine")
    result = twinfs("index", "--forget", aside)
    assert result.status == 1 and "cannot find an index" in result.errors[0], result
    assert sorted(os.listdir(aside)) == ["data.mdb", "lock.mdb"]
    assert (aside / "data.mdb").read_text() == "mine"


def test_index_of_a_view_stays(twinfs, two):
    with twinfs.mounted(two[0]) as view:
        assert listed(twinfs, twinfs.index)[(os.fsencode(two[0]),)]["in_use"]
        assert str(view.path) in twinfs.ok("index", twinfs.index).out.decode()
        result = twinfs("index", "--forget", twinfs.index)
        assert result.status == 1 and str(view.path) in result.errors[0], result
        assert view.differences_now(two[0]) == []


def test_index_of_a_scan_stays(twinfs, two):
    twinfs.ok("scan", two[0])
    with open(twinfs.index / "owner", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a scan does
        file.write("4711\n")
        file.flush()
        [index] = listed(twinfs, twinfs.index).values()
        assert index["in_use"] and "view" not in index
        result = twinfs("index", "--forget", twinfs.index)
    assert result.status == 1 and "process 4711 uses the index" in result.errors[0], result
    assert (twinfs.index / "data.mdb").exists()


def test_index_with_an_interrupted_act_stays(twinfs, two):
    twinfs.ok("scan", two[0])
    (twinfs.index / "acts").write_text("{}\n")
    result = twinfs("index", "--forget", twinfs.index)
    assert result.status == 1 and "twinfs recover" in result.errors[0], result
    assert (twinfs.index / "data.mdb").exists()


def test_index_of_another_user_stays(twinfs, two, root_only):
    twinfs.ok("scan", two[0])
    os.chown(twinfs.index, 12345, -1)
    result = twinfs("index", "--forget", twinfs.index)
    assert result.status == 1 and "12345" in result.errors[0], result
    assert (twinfs.index / "data.mdb").exists()
    assert "another user" in twinfs.ok("index", twinfs.index).out.decode()


def test_index_that_cannot_be_read_is_named_with_the_reason(twinfs, two):
    folder = listed(twinfs)[(os.fsencode(two[0]),)]["folder"]
    with open(f"{folder}/data.mdb", "r+b") as file:
        file.write(bytes(8192))
    [problem] = [index["problem"] for index in twinfs.ok("index", "--format=json").json["indexes"]
                 if "problem" in index]
    assert "damaged" in problem
    twinfs.ok("index", "--forget", folder)


@pytest.mark.parametrize("words", [["--forget"], ["--forget", "--format=json", "x"]])
def test_wrong_usage_removes_nothing(twinfs, two, words):
    assert twinfs("index", *words).status == 2
    assert len(listed(twinfs)) == 2

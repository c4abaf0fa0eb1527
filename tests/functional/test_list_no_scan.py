# SPDX-License-Identifier: MIT
"""list and report with --no-scan print what an index knows, without its sources."""
import contextlib
import os
import re
import shutil
import stat
import subprocess
import time

import pytest
import trees

FORMATS = ["text", "fdupes", "json", "jsonl", "csv", "null"]
ANOTHER = 12345
FUTURE = 4102444800  # 2100-01-01


@pytest.fixture
def tree(source):
    trees.small(source)
    return source


@contextlib.contextmanager
def read_only(folder):
    """Makes the folder a read-only file system."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def printed(twinfs, form, *operands):
    result = twinfs("list", f"--format={form}", *operands)
    assert result.status == 0, result
    out = re.sub(rb',"last_scan":"[^"]*"', b"", result.out)
    out = re.sub(rb'"dev":[0-9]+', b'"dev":null', out)  # unknown without a scan
    return out.replace(os.fsencode(twinfs.folder) + b"/gone", os.fsencode(twinfs.folder))


def as_another(index, mode=0o755):
    for path in (index, *index.iterdir()):
        os.chown(path, ANOTHER, ANOTHER)
        path.chmod(mode if path == index else mode & 0o644)


@pytest.mark.parametrize("form", FORMATS)
def test_absent_source_is_printed_as_before(twinfs, tree, tmp_path, form):
    before = printed(twinfs, form, tree)
    tree.rename(tmp_path / "moved")
    assert twinfs("list", tree).status == 1
    assert printed(twinfs, form, "--no-scan", tree) == before
    os.symlink(tmp_path, tmp_path / "way")
    assert printed(twinfs, form, "--no-scan", tmp_path / "way/source/") == before
    if form in ("json", "jsonl", "csv", "null"):
        assert printed(twinfs, form, "--no-scan") == before  # --index is enough


def test_nothing_is_read_or_written(twinfs, tree, strace):
    twinfs.ok("scan", tree)
    (tree / "new").write_bytes(b"new")
    before = {path.name: (path.stat().st_ctime_ns, path.read_bytes())
              for path in twinfs.index.iterdir() if path.name != "lock.mdb"}
    result, trace = twinfs.traced("list", "--no-scan", "--format=null", "--singles", tree,
                                  calls="trace=getdents64,write,pwrite64,unlink,unlinkat,rename,"
                                        "renameat,ftruncate,fchmod,mkdir", flags=["-y"])
    assert result.status == 0 and b"new" not in result.out, result
    # the program lists its own state, but no folder of the source
    assert not [line for line in trace.splitlines()
                if b" getdents64(" in line and b"<%b" % os.fsencode(tree) in line]
    assert {path.name: (path.stat().st_ctime_ns, path.read_bytes())
            for path in twinfs.index.iterdir() if path.name != "lock.mdb"} == before


def test_date_is_that_of_the_last_scan(twinfs, tree):
    twinfs.ok("scan", tree)
    (twinfs.index / "scanned").write_text(f"{FUTURE}\n")
    result = twinfs.ok("list", "--no-scan", "--format=json", tree)
    assert result.json["summary"]["last_scan"] == "2100-01-01T00:00:00Z"
    assert b"2100-01-01 00:00:00 +0000" in result.error
    begun = int(time.time())
    twinfs.ok("scan", tree)
    assert begun <= int((twinfs.index / "scanned").read_text()) <= time.time()
    assert "last_scan" not in twinfs.listing(tree)["summary"]
    page = twinfs.folder / "page.html"
    (twinfs.index / "scanned").write_text(f"{FUTURE}\n")
    twinfs.ok("report", "--no-scan", f"--html={page}", tree)
    assert "1 January 2100, 00:00 UTC" in page.read_text()


@pytest.mark.parametrize("text", ["", "\0" * 11, "x", None])
def test_date_without_a_record_is_that_of_the_last_change(twinfs, tree, text):
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    twinfs.ok("scan", tree)
    (twinfs.index / "scanned").unlink()
    if text is not None:
        (twinfs.index / "scanned").write_text(text)
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    found = twinfs.ok("list", "--no-scan", "--format=json", tree).json["summary"]["last_scan"]
    assert begun <= found <= ended


def test_view_that_ends_was_current_until_then(twinfs, tree):
    with twinfs.mounted(tree) as view:
        view.sync()
        (twinfs.index / "scanned").write_text("1\n")
    assert (twinfs.index / "scanned").read_text() != "1\n"


def test_view_that_is_not_watched_was_current_at_its_last_walk(twinfs, tree):
    with twinfs.mounted(tree, options=("--wait", "--watch=none")) as view:
        view.sync()
        (twinfs.index / "scanned").write_text("1\n")
    assert (twinfs.index / "scanned").read_text() == "1\n"


def test_index_of_a_running_view_is_not_updated(twinfs, tree):
    with twinfs.mounted(tree) as view:
        view.sync()
        for operand in (tree, view.path):
            result = twinfs.ok("list", "--no-scan", "--format=json", operand)
            assert len(result.groups) == 2
            assert b"maintains" not in result.error


def test_interrupted_scan_is_incomplete(twinfs, tree, strace):
    with open(tree / "letters/a.txt", "r+b"):
        result, _ = twinfs.traced("scan", tree, calls="trace=clock_nanosleep", flags=[
            "-e", "inject=clock_nanosleep:signal=KILL:when=1"])
    assert result.status == -9, result
    result = twinfs("list", "--no-scan", tree)
    assert result.status == 3 and "last scan has not ended" in result.error.decode(), result


def test_errors_of_the_last_scan_are_named(twinfs, as_user, tree):
    trees.write(tree / "locked/file", b"x")
    (tree / "locked").chmod(0)
    for path in (tree, *tree.rglob("*")):
        os.chown(path, os.stat(as_user.home).st_uid, -1, follow_symlinks=False)
    assert as_user("scan", tree).status == 3
    tree.rename(tree.parent / "away")
    result = as_user("list", "--no-scan", tree)
    assert result.status == 3 and b"locked" in result.error, result


def test_index_on_a_read_only_file_system_is_printed(twinfs, tree, root_only):
    before = printed(twinfs, "json", tree)
    with read_only(twinfs.index):
        assert twinfs("list", tree).status == 1
        assert printed(twinfs, "json", "--no-scan", tree) == before


@pytest.mark.parametrize("writable", [False, True], ids=["read-only", "writable"])
def test_index_of_another_user_is_printed_and_not_changed(twinfs, tree, root_only, writable):
    before = printed(twinfs, "json", tree)
    (twinfs.index / "lock.mdb").write_bytes(b"?" * 8192)  # LMDB must not read it
    as_another(twinfs.index, 0o777)
    stored = {path.name: (path.stat().st_ctime_ns, path.read_bytes())
              for path in (*twinfs.index.iterdir(),)}
    mode = twinfs.index.stat().st_mode
    with contextlib.nullcontext() if writable else read_only(twinfs.index):
        assert twinfs("list", tree).status == 1
        assert printed(twinfs, "json", "--no-scan", tree) == before
    assert {path.name: (path.stat().st_ctime_ns, path.read_bytes())
            for path in twinfs.index.iterdir()} == stored
    assert twinfs.index.stat().st_mode == mode


def test_user_can_print_a_readable_index_of_root(twinfs, as_user, tree, root_only):
    before = printed(twinfs, "json", tree)
    for path in (twinfs.index, *twinfs.index.iterdir()):
        os.chown(path, 0, 0)
        path.chmod(0o755 if path == twinfs.index else 0o644)
    assert printed(as_user, "json", "--no-scan", tree) == before
    (twinfs.index / "data.mdb").chmod(0o600)
    result = as_user("list", "--no-scan", tree)
    assert result.status == 1 and str(twinfs.index) in result.errors[0], result


def test_index_of_another_user_without_a_seal_is_refused(twinfs, tree, root_only):
    twinfs.ok("scan", tree)
    (twinfs.index / "seal").unlink()
    as_another(twinfs.index)
    result = twinfs("list", "--no-scan", tree)
    assert result.status == 1 and "let its owner run 'twinfs scan'" in result.errors[0], result


def test_damaged_index_of_another_user_is_refused(twinfs, tree, root_only):
    twinfs.ok("scan", tree)
    with open(twinfs.index / "data.mdb", "r+b") as file:
        file.seek(3 * 4096 + 100)
        file.write(b"?" * 3000)
    as_another(twinfs.index)
    assert twinfs("list", "--no-scan", tree).status == 1


@pytest.mark.parametrize("name", ["data.mdb", "seal", "scanned"])
def test_fifo_in_an_index_of_another_user_does_not_block(twinfs, tree, root_only, name):
    twinfs.ok("scan", tree)
    (twinfs.index / name).unlink()
    os.mkfifo(twinfs.index / name)
    as_another(twinfs.index)
    result = twinfs("list", "--no-scan", tree)
    assert result.status == (0 if name == "scanned" else 1), result


def test_symbolic_link_in_an_index_of_another_user_is_refused(twinfs, tree, tmp_path, root_only):
    twinfs.ok("scan", tree)
    as_another(twinfs.index)
    (twinfs.index / "data.mdb").rename(tmp_path / "moved")
    (twinfs.index / "data.mdb").symlink_to(tmp_path / "moved")
    assert twinfs("list", "--no-scan", tree).status == 1
    (twinfs.index / "data.mdb").unlink()
    shutil.move(tmp_path / "moved", twinfs.index / "data.mdb")
    os.symlink(twinfs.index, tmp_path / "link")
    assert twinfs.with_index(tmp_path / "link")("list", "--no-scan", tree).status == 1


def test_index_on_a_network_file_system_is_printed(twinfs, tree, take_filesystem_for):
    before = printed(twinfs, "json", tree)
    take_filesystem_for(0x6969)
    assert twinfs("list", tree).status == 1
    assert printed(twinfs, "json", "--no-scan", tree) == before


def test_filters_apply_to_absent_sources(twinfs, tree):
    twinfs.ok("scan", tree)
    filters = (["--exclude=letters"], ["--path=letters/"], [f"--path={tree}/letters"],
               ["--regex=a.txt$"], ["--ext=txt"], ["--max-size=5000"], ["--newer=1h"],
               ["--copies=3.."], ["--top=1"])
    expected = [twinfs.ok("list", "--format=null", *words, tree).out for words in filters]
    assert len(set(expected)) == 3
    pages = []
    tree.rename(tree.parent / "away")
    for words, printed_before in zip(filters, expected, strict=True):
        result = twinfs.ok("list", "--no-scan", "--format=null", *words, tree)
        assert result.out == printed_before, words
        pages.append(twinfs.ok("report", "--no-scan", "--html=-", *words, tree).out)
    assert len(set(pages)) >= 3


def test_name_that_the_last_scan_left_out_is_not_hidden_silently(twinfs, tree):
    twinfs.ok("scan", "--exclude=letters", tree)
    twinfs.ok("list", "--no-scan", "--exclude=letters", "--exclude=x", tree)
    result = twinfs("list", "--no-scan", "--exclude=x", tree)
    assert result.status == 1 and "--exclude='letters'" in result.errors[0], result


def test_options_filter_or_are_refused(twinfs, tree):
    twinfs.ok("scan", tree)
    assert twinfs("list", "--no-scan", "--cross-file-systems", tree).status == 1
    assert twinfs.ok("list", "--no-scan", "--min-size=1G", "--format=null", tree).out == b""
    result = twinfs("list", "--no-scan", "--accept-changed-source", tree)
    assert result.status == 2, result
    assert twinfs("list", "--no-scan", index=False).status == 2


def test_missing_index_is_said(twinfs, tree):
    result = twinfs("list", "--no-scan", tree)
    assert result.status == 1 and "cannot find an index" in result.errors[0]
    assert not twinfs.index.exists()
    result = twinfs("list", "--no-scan", tree, index=False)
    assert result.status == 1 and "cannot find an index" in result.errors[0]


def test_index_of_other_sources_is_refused(twinfs, tree, aside):
    twinfs.ok("scan", tree)
    result = twinfs("list", "--no-scan", aside)
    assert result.status == 1 and "belongs to other sources" in result.errors[0]


@pytest.mark.parametrize("command", ["remove", "link", "dedupe", "move", "scan", "mount",
                                     "manifest"])
def test_command_that_needs_current_files_refuses_no_scan(twinfs, tree, aside, command):
    twinfs.ok("scan", tree)
    words = ["--yes"] if command in ("remove", "link", "dedupe", "move") else []
    last = [aside] if command in ("mount", "move") else []
    before = sorted(tree.rglob("*"))
    result = twinfs(command, "--no-scan", *words, tree, *last)
    assert result.status == 2, result
    assert sorted(tree.rglob("*")) == before


# --index

def test_folder_with_other_files_is_refused_as_a_new_index(twinfs, tree, aside):
    (aside / "photo.jpg").write_text("mine")
    result = twinfs.with_index(aside)("scan", tree)
    assert result.status == 1, result
    assert str(aside) in result.errors[0] and "photo.jpg" in result.errors[0]
    assert "new or empty folder" in result.errors[0]
    assert os.listdir(aside) == ["photo.jpg"]
    assert stat.S_IMODE(aside.stat().st_mode) == 0o755


def test_existing_index_beside_other_files_is_used(twinfs, tree):
    twinfs.ok("scan", tree)
    (twinfs.index / "notes").write_text("mine")
    twinfs.ok("scan", tree)
    (twinfs.index / "data.mdb").unlink()
    twinfs.ok("scan", tree)


def test_empty_disk_can_have_a_new_index(twinfs, tree, aside):
    (aside / "lost+found").mkdir()
    twinfs.with_index(aside).ok("scan", tree)


@pytest.mark.parametrize("command", ["scan", "list", "mount"])
def test_new_index_in_a_source_is_refused(twinfs, tree, aside, mount, command):
    os.symlink(tree, aside / "link")
    last = [mount] if command == "mount" else []
    for inside in (tree / "state/index", aside / "link/index"):
        result = twinfs.with_index(inside)(command, aside, tree, *last)
        assert result.status == 1, result
        assert str(inside) in result.errors[0] and f"in the source '{tree}'" in result.errors[0]
        assert not (tree / "state").exists() and not (tree / "index").exists()


def test_index_that_is_in_its_source_already_is_used(twinfs, tree):
    twinfs.ok("scan", tree)
    os.rename(twinfs.index, tree / "index")
    inside = twinfs.with_index(tree / "index")
    assert inside.groups(tree) == twinfs.groups(tree)


def test_default_index_can_be_in_its_source(twinfs, tree):
    twinfs.environment["XDG_STATE_HOME"] = str(tree / "state")
    twinfs.environment["HOME"] = str(tree)
    assert twinfs("scan", tree, index=False).status == 0

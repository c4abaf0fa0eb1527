# SPDX-License-Identifier: MIT
"""Bad input gives one clear line and status 1 or 2, and changes nothing. Unreadable files are
named, counted, and give status 3."""
import os
import re
import subprocess

import pytest
import trees
from conftest import preload
from program import COMMANDS, is_mounted


def one_line(result, *words, status=1):
    """Whether a run failed with one line that has all these words."""
    assert result.status == status, result
    assert result.out == b""
    assert len(result.errors) == 1, result
    for word in words:
        assert os.fsdecode(word) in result.errors[0], result
    return True


@pytest.fixture
def denied(twinfs, source):
    """A tree whose file system, from now on, lists the names 'denied' but says that they do not
    exist."""
    trees.fill(source, {f"{name}/{file}": b"same" for name in "ab" for file in ("denied", "other")})
    preload(twinfs, "missing_name")
    twinfs.environment["MISSING_NAME"] = "denied"
    return source


@pytest.mark.parametrize("known", [False, True])
def test_file_that_is_listed_but_does_not_exist_is_named_and_counted(twinfs, denied, known):
    if known:
        twinfs.environment.pop("MISSING_NAME")
        assert sorted(map(len, twinfs.groups(denied))) == [4]
        twinfs.environment["MISSING_NAME"] = "denied"
    for words in ("scan", "list"):
        result = twinfs(words, denied)
        assert result.status == 3, result
        errors = [line for line in result.errors if "denied" in line]
        assert len(errors) == 2 and all("No such file" in line for line in errors), result
    twinfs.environment.pop("MISSING_NAME")
    assert sorted(map(len, twinfs.groups(denied))) == [4]


def test_file_that_is_deleted_when_it_is_examined_is_no_error(twinfs, denied):
    twinfs.environment["MISSING_REMOVED"] = "1"
    result = twinfs.ok("list", denied)
    assert result.errors == [] and not (denied / "a/denied").exists()


def test_folder_that_cannot_be_listed_but_exists_is_named_and_counted(twinfs, source, strace):
    trees.fill(source, {"folder/file": b"same", "other": b"same"})
    result, _ = twinfs.traced("scan", source, calls="trace=getdents64",
                              flags=["-P", source / "folder",
                                     "-e", "inject=getdents64:error=ENOENT:when=1"])
    assert result.status == 3 and "folder': No such" in result.errors[0], result
    assert sorted(map(len, twinfs.groups(source))) == [2]


@pytest.mark.parametrize("command", ["scan", "list", "mount"])
def test_missing_source_is_refused(twinfs, tmp_path, mount, command):
    result = twinfs(command, tmp_path / "nowhere", *([mount] if command == "mount" else []))
    assert one_line(result, "nowhere")
    assert re.search("No such file|does not exist", result.errors[0])
    assert not twinfs.index.exists()
    assert not is_mounted(mount)


@pytest.mark.parametrize("command", ["scan", "manifest", "mount"])
def test_source_that_is_a_file_is_refused(twinfs, small, mount, command):
    path = trees.join(small, b"alone")
    result = twinfs(command, path, *([mount] if command == "mount" else []))
    assert one_line(result, path)
    assert "directory" in result.errors[0]
    assert not twinfs.index.exists()


def test_one_missing_source_of_several_is_refused(twinfs, small, tmp_path):
    assert one_line(twinfs("scan", small, tmp_path / "nowhere"), "nowhere")
    assert not twinfs.index.exists()


def test_source_that_is_a_loop_of_symlinks_is_refused(twinfs, tmp_path):
    os.symlink("loop", tmp_path / "loop")
    assert one_line(twinfs("scan", tmp_path / "loop"), "loop")


def test_missing_mount_point_is_refused(twinfs, small, tmp_path):
    assert one_line(twinfs("mount", small, tmp_path / "nowhere"), "nowhere")
    assert not twinfs.index.exists()


def test_mount_point_that_is_a_file_is_refused(twinfs, small):
    path = trees.join(small, b"alone")
    assert one_line(twinfs("mount", small, path), path)
    assert not twinfs.index.exists()


def test_mount_point_that_is_not_empty_is_refused(twinfs, small, mount):
    (mount / "mine").write_text("mine")
    assert one_line(twinfs("mount", small, mount), mount, "empty")
    assert os.listdir(mount) == ["mine"]
    assert not twinfs.index.exists()


def test_mount_point_inside_a_view_is_refused(twinfs, small, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as view:
        assert one_line(other("mount", small, view.uniques / "empty folder"), view.uniques)
        assert not other.index.exists()
        assert view.differences(small) == []


def test_mount_point_inside_a_source_of_another_view_is_refused(twinfs, small, tmp_path):
    other = twinfs.with_index(tmp_path / "other index")
    trees.fill(tmp_path / "other", {b"a": b"b"})
    with twinfs.mounted(small) as view:
        inside = trees.join(small, b"empty folder")
        result = other("mount", tmp_path / "other", inside)
        assert one_line(result, inside)
        assert not is_mounted(inside)
        assert view.differences(small) == []


def test_source_inside_a_view_is_refused(twinfs, small, tmp_path, mount):
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(small) as view:
        assert one_line(other("scan", view.uniques), view.uniques)


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_unknown_option_is_refused(twinfs, command):
    words = [command] if command else []
    result = twinfs(*words, "--no-such-option", index=False)
    assert one_line(result, "--no-such-option", status=2)


@pytest.mark.parametrize("arguments", [
    ["list", "--format=xml", "SOURCE"], ["list", "--format", "xml", "SOURCE"],
    ["scan", "--min-size=many", "SOURCE"], ["scan", "--min-size=-1", "SOURCE"],
    ["scan", "--min-size=", "SOURCE"], ["scan", "--progress=perhaps", "SOURCE"],
    ["scan", "--min-size=99999999999999999999", "SOURCE"], ["scan", "--index"],
    ["list", "--redundant=yes", "SOURCE"],
], ids=lambda words: " ".join(words))
def test_bad_value_of_an_option_is_refused(twinfs, small, arguments):
    words = [small if word == "SOURCE" else word for word in arguments]
    result = twinfs(*words, index=False)
    option = re.match("--[a-z-]+", arguments[1])[0]
    assert one_line(result, option, status=2)


@pytest.mark.parametrize("arguments", [[], ["scan"], ["list"], ["mount"], ["copies"], ["path"]],
                         ids=lambda words: " ".join(words) or "nothing")
def test_missing_argument_is_refused(twinfs, arguments):
    result = twinfs(*arguments, index=False)
    assert result.status == 2, result
    assert result.out == b""
    assert 1 <= len(result.errors) <= 2


@pytest.mark.parametrize("words", [["remove", "--dry-run"], ["check"], ["list", "--no-scan"]],
                         ids=lambda words: words[0])
def test_unfit_folder_for_temporary_files_is_named_with_the_remedy(twinfs, small, words, tmp_path):
    (tmp_path / "file").touch()
    twinfs.ok("scan", small)
    for folder in (tmp_path / "missing", tmp_path / "file"):
        twinfs.environment["TMPDIR"] = str(folder)
        result = twinfs(*words, small)
        assert result.status == 1, result
        [error] = [line for line in result.errors if "last scan was" not in line]
        assert f"'{folder}'" in error and "set TMPDIR" in error


def test_folder_for_temporary_files_of_another_user_is_named(as_user, fuse_for_users, tmp_path,
                                                            root_only):
    source = trees.small(tmp_path / "source")
    (tmp_path / "private").mkdir(mode=0o755)
    subprocess.run(["chown", "-hR", str(as_user.user.pw_uid), source], check=True)
    with as_user.mounted(source) as view:
        as_user.environment["TMPDIR"] = str(tmp_path / "private")
        result = as_user("list", view.path, index=False)
        assert result.status == 1 and result.out == b""
        assert f"'{tmp_path / 'private'}': Permission denied; set TMPDIR" in result.errors[-1]


def test_unknown_command_is_refused(twinfs):
    result = twinfs("frobnicate", index=False)
    assert result.status == 2, result
    assert "frobnicate" in result.error.decode()


def test_status_of_a_plain_folder_is_refused(twinfs, tmp_path):
    assert one_line(twinfs("status", tmp_path, index=False), tmp_path)


def test_copies_of_a_file_in_no_index_is_refused(twinfs, small, tmp_path):
    twinfs.ok("scan", small)
    trees.write(tmp_path / "stranger", b"unknown")
    assert one_line(twinfs("copies", tmp_path / "stranger"), "stranger")


def test_copies_of_a_file_that_was_left_out_says_why(twinfs, source):
    trees.fill(source, {b"small": b"tiny", b"in/small": b"tiny", b"a.tmp": b"text" * 99,
                        b"single": b"one"})
    os.mkfifo(source / "fifo")
    twinfs.ok("scan", "--min-size=100", "--exclude=*.tmp", source)
    assert one_line(twinfs("copies", source / "small"), "smaller than --min-size", status=3)
    assert one_line(twinfs("copies", source / "in"), "a name in", "smaller than", status=3)
    assert one_line(twinfs("copies", source / "a.tmp"), "--exclude", status=3)
    assert one_line(twinfs("copies", source / "fifo"), "no regular file", status=1)
    assert twinfs.ok("copies", source / "single").out == b""  # no other file has its size


def test_copies_without_an_index_is_refused(twinfs, small):
    result = twinfs("copies", trees.join(small, b"alone"))
    assert one_line(result)
    assert not twinfs.index.exists()


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_goes_to_stdout(twinfs, command, option):
    result = twinfs(*([command] if command else []), option, index=False)
    assert result.status == 0, result
    assert result.error == b""
    for name in [command] if command else COMMANDS:
        assert name.encode() in result.out


@pytest.mark.parametrize("output", ["&-", "/dev/full"])
def test_output_that_cannot_be_written_is_an_error(twinfs, small, tmp_path, output):
    copy = trees.join(small, b"alone")
    view = tmp_path / "mount"
    with twinfs.mounted(small, at=view):
        twinfs.wrapped = ["sh", "-c", f'exec "$@" >{output}', "sh"]
        for words in ([], ["path", view / "uniques/alone"], ["status"], ["status", "--json"],
                      ["check", view], ["list", view], ["manifest", view], ["doctor"], ["help"],
                      ["help", "scan"], ["version"], ["report", "--html=-", view],
                      *([command, "--help"] for command in COMMANDS)):
            words = words or ["--version"]
            result = twinfs(*words, index=False)
            assert result.status == 1 and "cannot" in result.errors[-1], (words, result)
    for words in (["list", small], ["list", "--format=json", small], ["remove", "--dry-run", small],
                  ["scan", small], ["check", small], ["manifest", small]):
        result = twinfs(*words)
        assert result.status == 1 and "cannot" in result.errors[-1], (words, result)
    assert twinfs("scan", "--quiet", small).status == 0  # prints nothing
    assert twinfs("copies", copy).status == 0


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version_goes_to_stdout(twinfs, option):
    result = twinfs(option, index=False)
    assert result.status == 0, result
    assert re.match(rb"twinfs \d+\.\d+", result.out)


def test_help_and_version_are_also_commands(twinfs):
    assert twinfs.ok("version").out == twinfs.ok("--version").out
    assert twinfs.ok("help").out == twinfs.ok("--help").out
    for command in COMMANDS:
        expected = twinfs.ok(command, "--help", index=False).out
        assert twinfs.ok("help", command).out == expected
    for words in (["help", "frobnicate"], ["help", "scan", "list"], ["version", "scan"]):
        assert one_line(twinfs(*words), status=2)


# as a plain user

@pytest.fixture
def unreadable(as_user, tmp_path, plain_user):
    source = trees.unreadable(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), source], check=True)
    return source


@pytest.mark.parametrize("command", ["scan", "list"])
def test_unreadable_files_are_named_and_give_status_3(as_user, unreadable, command):
    result = as_user(command, unreadable)
    assert result.status == 3, result
    named = result.error.decode()
    for name in ("locked", "locked folder"):
        path = os.fsdecode(trees.join(unreadable, name.encode()))
        assert [line for line in result.errors if f"'{path}'" in line], named
    assert "Permission denied" in named


def test_unreadable_files_are_counted_and_in_no_group(as_user, unreadable):
    listing = as_user.listing(unreadable, status=3)
    assert listing["summary"]["errors"] >= 3
    [group] = listing["groups"]
    assert sorted(copy["path"] for copy in group["copies"]) == [
        os.fsdecode(trees.join(unreadable, name)) for name in (b"a", b"b")]


def test_files_that_became_readable_are_compared(as_user, unreadable):
    as_user("scan", unreadable)
    subprocess.run(["chmod", "-R", "u+rwX", unreadable], check=True)
    groups = as_user.groups(unreadable)
    assert sorted(len(group) for group in groups) == [5]


def test_folder_that_became_unreadable_is_named(as_user, tmp_path, plain_user):
    source = trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), source], check=True)
    assert len(as_user.groups(source)) == 2
    os.chmod(trees.join(source, b"pictures"), 0)
    result = as_user("list", "--format=json", source)
    assert result.status == 3, result
    assert "pictures" in result.error.decode()


def test_index_that_cannot_be_written_is_named(as_user, tmp_path, plain_user):
    trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), tmp_path / "source"], check=True)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    result = as_user.with_index(locked / "index")("scan", tmp_path / "source")
    assert one_line(result, locked / "index")
    assert "Permission denied" in result.errors[0]


def test_plain_user_cannot_mount_on_a_folder_of_another(
        as_user, tmp_path, plain_user, mount, fuse_for_users):
    trees.small(tmp_path / "source")
    subprocess.run(["chown", "-hR", str(plain_user.pw_uid), tmp_path / "source"], check=True)
    result = as_user("mount", tmp_path / "source", mount)
    assert result.status == 1, result
    assert [line for line in result.errors if str(mount) in line], result
    assert not is_mounted(mount)

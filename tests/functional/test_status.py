# SPDX-License-Identifier: MIT
"""What `status` says to a person: plain sentences that fit a terminal, without technical details
and without advice that only root can follow."""
import os
import re

import pytest
import trees
from processes import until
from test_lanes import endless  # noqa: F401

WIDTH = 80
DETAILS = ("keep", "index", "since", "reads", "confined", "faster")


def lines_of(twinfs, view, *options, status=0):
    """[(label, value)] of what is printed about the view."""
    result = twinfs("status", *options, view.path)
    assert result.status == status, result
    lines = result.out.decode().splitlines()
    assert options or all(len(line) <= WIDTH or "/" in line for line in lines), lines
    return [(line[:12].rstrip(), line[12:]) for line in lines]


def values(lines):
    """{label: values}; a line without a label continues the one above."""
    found, last = {}, None
    for label, value in lines:
        last = label or last
        found.setdefault(last, []).append(value)
    return found


def test_status_says_in_plain_words_what_a_view_is(twinfs, source, tmp_path):
    other = tmp_path / "other"
    trees.fill(source, {b"a/1": b"copy", b"a/2": b"other", b"b/1": b"copy", b"b/2": b"other"})
    trees.fill(other, {b"alone": b"alone"})
    with twinfs.mounted(source, other) as view:
        assert lines_of(twinfs, view) == [
            ("view", str(view.path)),
            ("sources", str(source)),
            ("", str(other)),
            ("state", "up to date; watching the sources for changes"),
            ("files", "5 in 4 folders, 23 bytes"),
            ("groups", "2 groups of equal files"),
            ("redundant", "2 files; removing them frees 9 bytes"),
            ("folders", "1 folder is a whole copy: 9 bytes"),
            ("unreadable", "none")]


def test_technical_details_are_printed_on_request_only(twinfs, source):
    trees.fill(source, {b"a": b"copy", b"b": b"copy"})
    with twinfs.mounted(source) as view:
        status = view.status()
        assert not {"percent", "seconds_left"} & status.keys()
        short, long = lines_of(twinfs, view), lines_of(twinfs, view, "--verbose")
        assert not {label for label, _ in short} & set(DETAILS)
        assert long[:len(short)] == short
        assert lines_of(twinfs, view, "-v") == long
        said = values(long)
        assert said["index"] == [status["index"]]
        assert f"process {view.pid}" in said["since"][0]
        assert said.get("faster", []) == status["advice"]


def test_view_without_copies_says_so(twinfs, source):
    trees.fill(source, {b"alone": b"alone"})
    with twinfs.mounted(source) as view:
        said = values(lines_of(twinfs, view))
        assert said["groups"] == ["none: no file has a copy"]
        assert "redundant" not in said and "folders" not in said


@pytest.mark.parametrize(("mode", "words"), [
    ("poll", "walking the sources for changes at intervals"),
    ("none", "changes are not watched")])
def test_state_says_how_changes_are_found(twinfs, source, mode, words):
    trees.fill(source, {b"a": b"copy"})
    with twinfs.mounted(source, options=["--wait", f"--watch={mode}"]) as view:
        assert words in values(lines_of(twinfs, view))["state"][0]


@pytest.mark.parametrize(("count", "words"), [
    (1, "1 file or folder; see .twinfs/errors in the view"),
    (20, "20 files or folders; see .twinfs/errors in the view")])
def test_files_that_could_not_be_read_are_counted(as_user, fuse_for_users, source, count, words):
    for number in range(count):
        trees.fill(source, {b"file %d" % number: b"same size"})
        (source / f"file {number}").chmod(0)
    trees.fill(source, {b"readable": b"same size"})
    with as_user.mounted(source, options=["--wait", "--quiet"], status=3) as view:
        said = values(lines_of(as_user, view))
        assert (said["unreadable"], said["groups"]) == ([words], ["none"])


def test_first_scan_tells_how_far_it_is(twinfs, endless):  # noqa: F811
    with twinfs.mounted(endless, options=()) as view:
        assert until(lambda: "percent" in view.status())
        said = values(lines_of(twinfs, view))
        assert re.fullmatch(r"scanning: \d+ % done(, .+ left)?", said["state"][0])
        assert said["groups"] == ["none so far"]
        assert said["pending"] == ["2 files wait to be compared; see .twinfs/pending"]
        status = view.status()
        assert status["state"] == "comparing" and 0 <= status["percent"] <= 99


def test_missing_source_is_named_with_what_to_do(twinfs, source):
    trees.fill(source, {b"a": b"copy", b"b": b"copy"})
    with twinfs.mounted(source) as view:
        source.rename(source.parent / "away")
        view.sync()
        said = values(lines_of(twinfs, view, status=3))
        assert said["missing"] == [str(source)]
        assert said["state"] == ["source missing: its files cannot be read"]
        assert "mount the disk" in said["to do"][0]
        (source.parent / "away").rename(source)


def test_view_of_another_user_is_no_view_of_this_user(twinfs, session, plain_user, source, tmp_path,
                                                      root_only):
    """For a plain user while root has a view, also one that is shared; and for root, if that user
    has a view."""
    user = type(twinfs)(session, tmp_path, plain_user)
    trees.fill(source, {b"a": b"copy"})
    os.chmod(tmp_path, 0o755)
    for options in (["--wait"], ["--wait", "-o", "allow_other"]):
        with twinfs.mounted(source, options=options) as view:
            for words, out in (((), b"no view of this user is mounted\n"), (("--json",), None)):
                result = user("status", *words, index=False)
                assert (result.status, result.error) == (0, b""), result
                assert result.out == out if out else result.json == []
            result = user("status", view.path, index=False)
            assert result.status == 1 and "another user" in result.errors[0], result


def test_user_gets_no_advice_that_only_root_can_follow(as_user, fuse_for_users, source, tmp_path):
    trees.fill(source, {b"a": b"copy"})
    with as_user.mounted(source) as view:
        advice = view.status()["advice"]
        assert not re.search(r"root|Linux|/sys/|passthrough", " ".join(advice)), advice
        said = values(lines_of(as_user, view, "--verbose"))
        assert said.get("faster", []) == advice

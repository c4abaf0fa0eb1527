# SPDX-License-Identifier: MIT
"""A view that root shares with all users. Each user sees in the view what the source shows to that
user, and hidden files leave no trace.
"""
import itertools
import os
import subprocess

import access
import changes
import pytest
import trees
from access import CALLERS, CREW, NAMED, OTHERS, OWNER, ROOT, STRANGER, TEAM, Judge, Shared
from callers import Call, Caller, call_as

SHARED = ("--wait", "-o", "allow_other")
STRANGE = Caller("stranger", STRANGER, OTHERS)


@pytest.fixture(autouse=True)
def mounts_for_others(root_only):
    """Requires root, which may share a view, and a umask that lets others read the files."""
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.fixture(scope="module")
def many_rights(scratch):
    """The sources of access.py."""
    return access.build(scratch)


def wrong(shared, calls):
    """The differences between what each caller saw and should have seen."""
    return [f"{caller}: {text}" for caller, call in calls.items()
            for text in Judge(shared, call.result()).judge()]


# ---- the matrix ----------------------------------------------------------------------------

def test_each_caller_sees_what_the_source_shows_to_that_caller(twinfs, many_rights):
    """First one caller after the other, then some at the same time, once root has filled the
    caches of the kernel."""
    callers = [caller for caller in CALLERS if caller.possible]
    assert len(callers) > 4
    with twinfs.mounted(*many_rights, options=SHARED) as view:
        shared = Shared(many_rights, view.path)
        for caller in callers:
            assert wrong(shared, {caller: Call(caller, shared.observe)}) == []
        assert view.differences(*many_rights) == []
        calls = {caller: Call(caller, shared.observe) for caller in callers[::4]}
        assert wrong(shared, calls) == []


# ---- what is hidden ------------------------------------------------------------------------

def hidden_changes(source):
    """Changes by root in hidden folders; none may be visible to other users."""
    hidden, other = source / "a hidden/deep", source / "z hidden/deep"
    alone, pair = ((source / f"public/{name}").read_bytes() for name in ("alone", "pair"))

    def writing(folder, data, name):
        return lambda: trees.write(folder / name, data)

    yield "a copy of a visible file, before it", writing(hidden, alone, "alone")
    yield "a copy of a visible file, after it", writing(other, alone, "alone too")
    yield "a copy of a visible pair, before it", writing(hidden, pair, "pair")
    yield "a large file", writing(hidden, bytes(range(256)) * 40_000, "large")
    yield "a copy of the large file", writing(other, bytes(range(256)) * 40_000, "large")
    yield "a hard link to it", lambda: os.link(other / "large", hidden / "linked")
    yield "a move to another folder", lambda: os.rename(hidden / "large", hidden / "deeper/large")
    yield "a change of the copy", writing(hidden, alone + b"more", "alone")
    yield "a change of a mode", lambda: os.chmod(hidden / "pair", 0o600)
    yield "removal of the kept copy", lambda: os.unlink(hidden / "pair")
    yield "removal of all", lambda: [trees.remove(folder / name) for folder in (hidden, other)
                                     for name in os.listdir(folder)]


def differing(before, after):
    return [line for line in before if line not in after] + [
        line for line in after if line not in before]


@pytest.mark.parametrize("kept", ["visible", "hidden"])
def test_hidden_files_leave_no_trace(twinfs, source, kept):
    """No name and no number that a user can read changes with hidden files."""
    trees.fill(source, {b"public/alone": b"his alone" * 900, b"public/pair": b"a pair" * 900,
                        b"public/folder/pair": b"a pair" * 900, b"public/unlike": b"!" * 999})
    for folder in ("a hidden", "z hidden"):
        (source / folder / "deep/deeper").mkdir(parents=True)
        (source / folder).chmod(0o700)
    changes = list(hidden_changes(source))
    if kept == "hidden":
        for _, act in changes[:3]:
            act()
    with twinfs.mounted(source, options=SHARED) as view:
        before = call_as(STRANGE, access.trace, view.path)
        assert any("dups/" in line and "pair" in line for line in before)
        for name, act in changes:
            act()
            view.sync()
            assert differing(before, call_as(STRANGE, access.trace, view.path)) == [], name


# ---- rights that change --------------------------------------------------------------------

def acl(*words):
    return lambda path: subprocess.run(["setfacl", *words, path], check=True)


def mode(number):
    return lambda path: os.chmod(path, number)


def group(number):
    return lambda path: os.chown(path, -1, number)


# A change that revokes a right and one that grants it again. Before, TEAM alone has the right.
RIGHTS = {
    "mode": (mode(0o700), mode(0o750)),
    "group": (group(CREW), group(TEAM)),
    "acl": (acl("-m", f"u:{NAMED}:-"), acl("-x", f"u:{NAMED}")),
    "mask": (acl("-m", "g:1:rwx,m::-"), acl("-m", "m::rx")),
    "owner": (lambda path: os.chown(path, NAMED, -1), lambda path: os.chown(path, OWNER, -1)),
}


# each right at a file and at a folder, and one of them at all other places
PLACES = ["above/source/d/copy", "above/source/d", "above/source/z", "above/source", "above"]
CHANGED = [*itertools.product(RIGHTS, PLACES[:2]), *(("mode", place) for place in PLACES[2:])]


@pytest.mark.parametrize(("right", "place"), CHANGED)
def test_changed_right_holds_from_the_next_call_on(twinfs, tmp_path, right, place):
    """Neither a revoked nor a granted right depends on the events of the view."""
    source = tmp_path / "above/source"
    trees.fill(source, {b"d/copy": b"content", b"e": b"content", b"z": b"content",
                        b"d/lone": b"lone"})
    for path in (tmp_path / "above", source, source / "d", *source.rglob("*")):
        os.chown(path, OWNER, TEAM)
        path.chmod(0o755 if path.is_dir() else 0o644)
    place, (take, give) = tmp_path / place, RIGHTS[right]
    place.chmod(0o750)
    if right == "owner":
        place.chmod(0o050)
    caller = Caller("named in team", NAMED, OTHERS, (TEAM,))
    with twinfs.mounted(source, options=SHARED) as view:
        shared = Shared([source], view.path)

        def wrong_now(exact=False):
            call_as(ROOT, shared.observe)  # fills the caches of the kernel
            return Judge(shared, call_as(caller, shared.observe), exact).judge()

        assert wrong_now(exact=True) == []
        for change in (take, give, take):
            change(place)
            assert wrong_now() == []
            view.sync()
            assert wrong_now(exact=True) == []


# ---- files that were moved out of reach ----------------------------------------------------

def move_the_file(source, hidden):
    os.rename(source / "d/copy", hidden / "copy")


def leave_a_hidden_name(source, hidden):
    os.link(source / "d/copy", hidden / "copy")
    os.unlink(source / "d/copy")


def move_the_folder(source, hidden):
    os.rename(source / "d", hidden / "d")


def move_the_source(source, hidden):
    os.rename(source, hidden.parents[2] / "hidden/source")


def move_the_source_and_make_it_anew(source, hidden):
    move_the_source(source, hidden)
    (source / "d").mkdir(parents=True)


def exchange_the_folder(source, hidden):
    trees.fill(source, {b"new/copy": b"new", b"new/lone": b"new"})
    changes.exchange(source / "d", source / "new")
    os.rename(source / "new", hidden / "d")


@pytest.mark.parametrize("act", [move_the_file, leave_a_hidden_name, move_the_folder,
                                 move_the_source, move_the_source_and_make_it_anew,
                                 exchange_the_folder], ids=lambda act: act.__name__)
def test_file_moved_out_of_reach_is_not_served_at_its_old_path(twinfs, tmp_path, act):
    """The daemon possibly has the file open or knows its new path. Neither must bypass the rights
    of the parent directories."""
    source, hidden = tmp_path / "above/source", tmp_path / "above/source/hidden"
    trees.fill(source, {b"d/copy": b"content", b"e": b"content", b"z": b"content",
                        b"d/lone": b"lone", b"hidden/x": b"hidden"})
    (tmp_path / "hidden").mkdir()
    for folder in (hidden, tmp_path / "hidden"):
        folder.chmod(0o700)
    with twinfs.mounted(source, options=SHARED) as view:
        shared = Shared([source], view.path)
        assert wrong(shared, {STRANGE: Call(STRANGE, shared.observe)}) == []
        act(source, hidden)
        for _ in range(2):
            assert access.served_beyond(shared, call_as(STRANGE, shared.observe)) == []
            view.sync()


# ---- cost ----------------------------------------------------------------------------------

def everything_below(mount):
    """The number of files in each of the three folders, and the bytes of each thousandth."""
    counts, bytes_read = {}, set()
    for where in ("uniques", "redundant", "dups"):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(f"{mount}/{where}")
                 for name in names]
        for path in paths:
            os.lstat(path)
        counts[where] = len(paths)
        bytes_read.update(access.read(path) for path in paths[::1000])
    return counts, bytes_read


def test_cost_is_linear_for_other_users(twinfs, source):
    """A group of 5,000 visible copies, and a group of which only the last two are visible."""
    trees.many(source / "mine", 5000, lambda number: b"all may read this")
    trees.many(source / "hidden", 5000, lambda number: b"few may read this")
    trees.fill(source, {b"z/one": b"few may read this", b"z/two": b"few may read this"})
    (source / "hidden").chmod(0o700)
    with twinfs.mounted(source, options=SHARED) as view:
        counts, contents = call_as(STRANGE, everything_below, view.path)
    assert counts == {"uniques": 2, "redundant": 5000, "dups": 5002}
    assert contents == {b"all may read this", b"few may read this"}


def test_lookup_of_a_copy_does_not_check_all_others(twinfs, source, tmp_path, strace):
    trees.many(source, 400, lambda number: b"the same", folders=1)
    trace = tmp_path / "looked"
    with twinfs.mounted(source, options=SHARED) as view:
        [kept] = os.listdir(view.uniques / "000")
        [name, *_] = set(os.listdir(source / "000")) - {kept}
        with view.traced("--output", trace, "-e", "trace=faccessat2"):
            assert call_as(STRANGE, os.path.lexists, view.redundant / "000" / name)
        asked = trace.read_text().count("faccessat2(")
        assert 0 < asked < 100
        assert view.differences(source) == []


# ---- views that are not shared -------------------------------------------------------------

def test_other_users_cannot_enter_a_view_that_is_not_shared(twinfs, source):
    trees.fill(source, {b"a": b"content", b"b": b"content"})
    with twinfs.mounted(source) as view:
        for path in ("", "dups", "uniques/a", ".twinfs/status.json", "nothing"):
            seen = call_as(STRANGE, access.observe, os.path.join(view.path, path))
            assert seen.get("names", seen["stat"]) == access.DENIED, path
        assert (view.uniques / "a").read_bytes() == b"content"

# SPDX-License-Identifier: MIT
"""A view that root shares with other users. test_access.py compares rights; the other properties
are tested here."""
import contextlib
import errno
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import collide
import oracle
import pytest
import trees
from callers import PROCESSES, Call, Caller, call_as
from processes import TIMEOUT, of_threads, stopped, until

SHARED = ("--wait", "-o", "allow_other")
OTHER_USER = Caller("another user", 61001, 62001)
ROOT = Caller("root", 0, 0)
MEMBER = Caller("member", 61002, 62001, (62002,))
DENIED = errno.EACCES
ABSENT = errno.ENOENT
COST = 400  # calls for a group; a quadratic count of 80 groups of one hash needs more


@pytest.fixture
def shared(twinfs, source, root_only):
    """Returns a function that mounts the source for all users."""
    old = os.umask(0o022)
    yield lambda *options: twinfs.mounted(source, options=(*SHARED, *options))
    os.umask(old)


def error_of(function, *arguments):
    """The errno with which a function fails, or 0."""
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


def names_below(folder):
    """The relative paths of all files that a walk of the folder finds."""
    return sorted(os.path.relpath(os.path.join(path, name), folder)
                  for path, _, names in os.walk(folder) for name in names)


def as_other_user(function, *arguments):
    return call_as(OTHER_USER, function, *arguments)


# ---- the right to share ---------------------------------------------------------------------

def test_plain_user_cannot_share_and_the_message_says_why(as_user, tmp_path, mount):
    source = trees.small(tmp_path / "source")
    result = as_user("mount", "-o", "allow_other", source, mount)
    assert result.status == 1, result
    [line] = result.errors
    assert "only root" in line and line.endswith("omit allow_other")
    assert not as_user.index.exists()


def test_root_without_setuid_capability_cannot_share(twinfs, source, mount, root_only):
    twinfs.wrapped = [shutil.which("setpriv"), "--bounding-set=-setuid", "--inh-caps=-setuid",
                      "--"]
    result = twinfs("mount", "-o", "allow_other", source, mount)
    assert result.status == 1, result
    assert "allow_other" in result.errors[0]


def test_status_shows_whether_a_view_is_shared(twinfs, source, shared):
    trees.small(source)
    with shared() as view:
        assert view.status()["shared"] is True
        assert b"other users" in twinfs.ok("status", view.path).out
    with twinfs.mounted(source) as view:
        assert view.status()["shared"] is False
        assert b"other users" not in twinfs.ok("status", view.path).out


def test_mount_table_does_not_name_the_source(source, shared):
    trees.small(source)
    with shared() as view, open("/proc/thread-self/mountinfo") as file:
        [line] = [line for line in file if f" {view.path} " in line]
    assert os.fspath(source) not in line
    assert " fuse.twinfs twinfs " in line


def test_root_sees_everything_of_a_shared_view(source, shared):
    trees.mixed(source)
    (source / "small/letters").chmod(0o700)
    with shared() as view:
        as_other_user(names_below, view.path)
        assert view.differences(source) == []


@pytest.mark.parametrize("weak", [
    ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
    ["unshare", "--user", "--map-root-user"],
    [],
], ids=["no capabilities", "user namespace", "all capabilities"])
def test_root_reads_in_a_shared_view_what_the_kernel_permits(source, shared, weak):
    for name, owner, mode in (("hidden", OTHER_USER.uid, 0o600), ("own", 0, 0o600),
                              ("open", OTHER_USER.uid, 0o644)):
        trees.write(source / name, name.encode())
        os.chown(source / name, owner, owner)
        (source / name).chmod(mode)

    def readable(folder):
        return [name for name in ("hidden", "own", "open")
                if subprocess.run([*weak, "cat", os.fsencode(folder) + b"/" + name.encode()],
                                  check=False, capture_output=True).returncode == 0]

    with shared() as view:
        view.sync()
        assert readable(view.path / "uniques") == readable(source)
        assert readable(source) == (["own", "open"] if weak else ["hidden", "own", "open"])
        for name in ("hidden", "own", "open"):  # root itself reads all
            assert read(view.path / "uniques" / name) == name.encode()


def test_view_that_is_not_shared_does_not_check_callers(twinfs, source, strace):
    """The daemon makes no system calls to find or take on the identity of the caller."""
    trees.small(source)
    calls = "openat,openat2,setgroups,setresuid,setresgid,faccessat2"
    with twinfs.mounted_and_traced(source, calls=calls) as view:
        view.sync()
        began = view.trace.stat().st_size
        assert names_below(view.path) and os.statvfs(view.path)
        assert os.getxattr(view.dups / os.listdir(view.dups)[0], "user.twinfs.copies")
        assert os.listxattr(view.uniques / "alone") == []
        assert (view.uniques / "alone").read_bytes()
        trace = view.trace.read_bytes()[began:]
    assert b"/source/alone" in trace
    assert not re.search(rb"/task/\d+/status|setgroups|setres.id|faccessat2", trace)


# ---- files that describe everything ----------------------------------------------------------

def test_ranks_and_own_files_are_for_root_alone(source, shared):
    trees.small(source)
    shutil.copytree(source / "pictures", source / "pictures again", copy_function=shutil.copy2)
    with shared() as view:
        links = os.listdir(view.by_size)
        assert len(list(view.folders.glob("*/*"))) == 2
        own = os.listdir(view.path / ".twinfs")
        assert as_other_user(lambda: sorted(os.listdir(view.path))) == [
            "README.txt", "dups", "redundant", "uniques"]
        as_other_user(read, view.path / "README.txt")
        for path in (view.by_size, view.path / ".twinfs", view.by_size / links[0],
                     view.folders, *view.folders.glob("*/*"),
                     *[view.path / ".twinfs" / name for name in own]):
            assert as_other_user(error_of, os.lstat, path) == DENIED
            assert as_other_user(error_of, read, path) == DENIED
            os.lstat(path)  # the kernel caches it for root; others must still be refused
            assert as_other_user(error_of, os.lstat, path) == DENIED


def test_folder_opened_by_root_lists_only_visible_names_to_others(source, shared):
    """The same open folder is listed for each caller; no listing for root is cached."""
    trees.fill(source, {b"a": b"same", b"b": b"same", b"c": b"same"})
    (source / "c").chmod(0o600)
    with shared() as view:
        [group] = view.dups.iterdir()
        for path, theirs in ((view.path, ["README.txt", "dups", "redundant", "uniques"]),
                             (group, ["(kept) a", "b"])):
            folder = os.open(path, os.O_RDONLY)
            everything = os.listdir(folder)
            assert len(everything) > len(theirs)
            assert as_other_user(lambda folder=folder: sorted(os.listdir(folder))) == theirs
            assert os.listdir(folder) == everything
            os.close(folder)


def test_cookies_of_a_listing_do_not_reveal_hidden_copies(source, shared):
    """A cookie of telldir is a number, and any number can be tried."""
    trees.many(source / "hidden", 3000, lambda number: b"same")
    (source / "hidden").chmod(0o700)
    with shared() as view:
        trees.fill(source, {b"z/one": b"same", b"z/two": b"same"})  # after all others
        view.sync()
        [group] = view.dups.iterdir()
        folder = os.open(group, os.O_RDONLY)

        def names_behind(place):
            os.lseek(folder, place, os.SEEK_SET)
            return sorted(os.listdir(folder))

        def places():
            os.lseek(folder, 0, os.SEEK_SET)
            with os.scandir(folder) as entries:
                return [os.lseek(folder, 0, os.SEEK_CUR) for _ in entries]

        place = places()[0]  # of the last name that was read
        assert 2 < len(names_behind(place)) < 3000
        assert as_other_user(names_behind, 0) == ["(kept) z\u2215one", "z\u2215two"]
        assert set(as_other_user(names_behind, place)) <= {"(kept) z\u2215one", "z\u2215two"}
        # the caller's own cookies count nothing, and numbers near them lead nowhere
        own = max(as_other_user(places))
        assert own > 2**40
        for number in [*range(16, 100), *range(own + 1, own + 100)]:
            assert as_other_user(names_behind, number) == []
        os.close(folder)


# ---- every content, and no more ---------------------------------------------------------------

def test_each_user_finds_each_readable_content_once_in_uniques(source, shared):
    """This holds for any choice of the kept copy for root."""
    for number in range(20):
        trees.fill(source, {b"a/%d" % number: b"content %d" % number,
                            b"m/%d" % number: b"content %d" % number,
                            b"z/%d" % number: b"content %d" % number})
    for folder, group in (("a", 0), ("m", 62002)):
        os.chown(source / folder, 0, group)
        (source / folder).chmod(0o750)
    contents = sorted(b"content %d" % number for number in range(20))
    with shared() as view:
        for caller, hidden, kept in ((OTHER_USER, ("a/", "m/"), "z/"), (MEMBER, ("a/",), "m/")):
            unique = call_as(caller, names_below, view.uniques)
            assert [name for name in unique if name.startswith(hidden)] == []
            assert {name[:2] for name in unique} == {kept}
            assert sorted(call_as(caller, read, view.uniques / name) for name in unique) == contents
        assert as_other_user(names_below, view.redundant) == []
        assert as_other_user(os.listdir, view.dups) == []
        assert len(call_as(MEMBER, os.listdir, view.dups)) == 20
        assert call_as(MEMBER, names_below, view.redundant) == sorted(
            f"z/{number}" for number in range(20))


def test_guess_at_a_hidden_content_is_not_confirmed(source, shared):
    """A caller who writes guesses into the source learns nothing from the view."""
    trees.fill(source, {b"hidden/secret": b"the secret", b"open/wrong": b"the sacred",
                        b"open/right": b"the secret"})
    (source / "hidden").chmod(0o700)

    def told(guess):
        path = view.uniques / "open" / guess
        return [error_of(os.getxattr, path, f"user.twinfs.{name}") for name in ("hash", "copies")
                ] + [error_of(os.lstat, view.dups / oracle.hashes([path])[0])]

    with shared() as view:
        assert len(os.listdir(view.dups)) == 1
        assert as_other_user(told, "right") == as_other_user(told, "wrong") == [
            errno.ENODATA, errno.ENODATA, ABSENT]
        for guess in ("right", "wrong"):
            shutil.copy(source / "open" / guess, source / "open" / f"{guess} too")
        view.sync()
        assert as_other_user(told, "right") == as_other_user(told, "wrong") == [0, 0, 0]
        for guess in ("right", "wrong"):
            path = view.uniques / "open" / guess
            assert as_other_user(os.getxattr, path, "user.twinfs.copies") == b"2"


def test_hidden_content_of_the_same_hash_does_not_number_others(source, shared):
    first, second, third, _ = collide.short_contents()
    trees.fill(source, {b"hidden/1": first, b"hidden/2": first})
    with shared() as view:  # makes it the first group of that hash
        trees.fill(source, {b"open/1": second, b"open/2": second})
        view.sync()
        trees.fill(source, {b"open/3": third, b"open/4": third})
        view.sync()
        (source / "hidden").chmod(0o700)
        [value] = set(oracle.hashes([source / "open/1"]))
        assert sorted(os.listdir(view.dups)) == [value, f"{value}~2", f"{value}~3"]
        assert as_other_user(lambda: sorted(os.listdir(view.dups))) == [value, f"{value}~2"]
        for folder, content in ((value, second), (f"{value}~2", third)):
            names = as_other_user(os.listdir, view.dups / folder)
            assert len(names) == 2
            for name in names:
                path = view.dups / folder / name
                assert as_other_user(read, path) == content
                assert as_other_user(os.getxattr, path, "user.twinfs.hash") == folder.encode()
        assert as_other_user(error_of, os.lstat, view.dups / f"{value}~3") == ABSENT


@pytest.mark.parametrize("hidden", [0, 40])
def test_cost_of_many_contents_with_one_hash_is_linear(source, shared, strace, tmp_path, hidden):
    """Contents with one hash are easy to make. The hidden contents of that hash are first in the
    index."""
    count = 80
    for folder in "ab":
        collide.write_long_contents(os.fspath(source / folder), count, 1024)
    for path in (path for folder in "ab" for path in sorted((source / folder).iterdir())[:hidden]):
        path.chmod(0o600)
    trace = tmp_path / "trace"
    with shared() as view:
        with view.traced("--output", trace, "-e", "trace=faccessat2"):
            names = as_other_user(lambda: [name for name in sorted(os.listdir(view.dups))
                                         if len(os.listdir(view.dups / name)) == 2])
        asked = trace.read_text().count("faccessat2(")
        [value] = set(oracle.hashes([source / "a" / sorted(os.listdir(source / "a"))[0]]))
        assert sorted(names) == sorted([value, *(f"{value}~{number}" for number in
                                                 range(2, count - hidden + 1))])
        assert count < asked < COST * count, asked


def test_large_group_is_right_for_each_user(source, shared):
    """The group has more copies than are checked each time. The result is cached for a moment."""
    trees.many(source / "hidden", 200, lambda number: b"same")
    trees.many(source / "open", 50, lambda number: b"same")
    os.chown(source / "hidden", 0, 62002)
    (source / "hidden").chmod(0o750)

    def counts():
        return [len(names_below(folder)) for folder in (view.uniques, view.redundant, view.dups)]

    with shared() as view:
        for _ in range(2):
            assert call_as(MEMBER, counts) == [1, 249, 250]
            assert as_other_user(counts) == [1, 49, 50]
        shutil.rmtree(source / "hidden")
        view.sync()
        assert call_as(MEMBER, counts) == as_other_user(counts) == [1, 49, 50]


def test_cached_rights_never_hide_all_copies_of_a_content(source, shared, strace):
    """A result that took longer is cached longer."""
    trees.write(source / "a hidden/copy", b"same")
    trees.many(source / "open", 40, lambda number: b"same", folders=1)
    (source / "a hidden").chmod(0o700)

    def unique():
        return names_below(view.uniques / "a hidden"), names_below(view.uniques / "open")

    with shared() as view:
        with view.traced("-e", "inject=faccessat2:delay_enter=5000"):
            assert [len(names) for names in as_other_user(unique)] == [0, 1]
        (source / "a hidden").chmod(0o755)
        view.sync()
        for _ in range(2):
            assert sum(map(len, as_other_user(unique))) > 0


# ---- opening, running, passing a file ---------------------------------------------------------

@pytest.mark.parametrize("options", [(), ("-o", "passthrough")], ids=["copy", "passthrough"])
def test_file_that_root_reads_stays_closed_to_others(source, shared, options):
    trees.write(source / "private", b"private" * 10_000)
    (source / "private").chmod(0o600)
    with shared(*options) as view:
        path = view.uniques / "private"
        with open(path, "rb") as file:
            content = file.read()  # fills the page cache
            assert as_other_user(error_of, read, path) == DENIED
            assert as_other_user(error_of, read, f"/proc/self/fd/{file.fileno()}") == DENIED
            file.seek(0)
            assert file.read() == content


def test_file_opened_by_root_can_be_read_by_another_user(source, shared):
    """Rights are checked at open, as on any file system."""
    trees.write(source / "hidden/private", b"private" * 10_000)
    (source / "hidden").chmod(0o700)
    with shared() as view, open(view.uniques / "hidden/private", "rb", buffering=0) as file:
        def read_handed():
            return [os.read(file.fileno(), 50_000) for _ in range(3)]

        assert b"".join(as_other_user(read_handed)) == b"private" * 10_000


def test_program_can_be_run_by_the_users_who_can_in_the_source(source, shared):
    program = Path("/bin/true").read_bytes()
    names = ("755", "744", "644", "655")
    for name in names:  # bytes after the end of a program are ignored
        trees.write(source / name, program + name.encode(), int(name, 8))

    def run(path):
        return error_of(lambda: subprocess.run([path], check=True))

    def runs(folder):
        return [(run(folder / name), as_other_user(run, folder / name),
                 as_other_user(os.access, folder / name, os.X_OK)) for name in names]

    with shared() as view:
        assert runs(view.uniques) == runs(source)
        assert set(runs(source)) == {(0, 0, True), (0, DENIED, False), (DENIED, DENIED, False),
                                     (0, 0, True)}


def test_access_and_chdir_are_as_in_the_source(source, shared):
    modes = (0o755, 0o711, 0o744, 0o700, 0o705, 0o750)
    for mode in modes:
        trees.write(source / f"{mode:o}/file", b"%o" % mode)
        (source / f"{mode:o}").chmod(mode)
        trees.write(source / f"file {mode:o}", b"file %o" % mode, mode)

    def may(root):
        return [(error_of(os.chdir, root / f"{mode:o}"), *[
            os.access(root / path, wanted) for wanted in (os.F_OK, os.R_OK, os.X_OK)
            for path in (f"{mode:o}", f"{mode:o}/file", f"file {mode:o}")]) for mode in modes]

    with shared() as view:
        for caller in (OTHER_USER, Caller("in group 0", 61001, 0), Caller("root", 0, 0)):
            assert call_as(caller, may, view.uniques) == call_as(caller, may, source)


def test_trusted_attributes_are_for_root_alone(source, shared):
    trees.write(source / "file", b"content")
    os.setxattr(source / "file", "user.note", b"for all")
    try:
        os.setxattr(source / "file", "trusted.note", b"for root")
    except OSError:
        pytest.skip("the file system has no trusted attributes")
    with shared("-o", "trusted_xattrs") as view:
        path = view.uniques / "file"
        assert {"user.note", "trusted.note"} <= set(os.listxattr(path))
        assert as_other_user(os.listxattr, path) == as_other_user(os.listxattr, source / "file")
        assert as_other_user(os.getxattr, path, "user.note") == b"for all"
        assert as_other_user(error_of, os.getxattr, path, "trusted.note") == errno.ENODATA


FAR = 1 << 14  # random numbers are nearer than this once in 65,536 times


def numbers_of(view, names):
    """st_ino of these paths in uniques/ for another user."""
    return [as_other_user(os.stat, view.uniques / name).st_ino for name in names]


def test_inode_numbers_do_not_reveal_hidden_files(shared, source):
    for number in range(100):
        trees.write(source / f"{number}", b"%d" % number)
        if 0 < number < 99:
            (source / f"{number}").chmod(0o600)
    os.link(source / "0", source / "linked")
    with shared() as view:
        first, last, linked = numbers_of(view, ("0", "99", "linked"))
    assert abs(first - last) > FAR and max(first, last) < 1 << 53
    assert linked == first
    with shared() as view:
        assert numbers_of(view, ("0", "99", "linked")) == [first, last, linked]


# ---- several at a time ------------------------------------------------------------------------

ANSWER_LIMIT = 60  # seconds; the delayed call waits longer


def is_held(pid):
    """Whether strace holds a thread of the process in a system call."""
    return any("State:\tt" in text for text in of_threads(pid, "status").values())


def test_slow_listing_delays_no_other_call_in_the_folder(shared, source, strace):
    """A listing waits until the rights of its caller are known. Root needs no such check."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    absent = "0" * 32
    with shared() as view:
        wears = ("trace=setresuid", "-e", f"inject=setresuid:delay_enter={10 * TIMEOUT}s")
        with view.traced("-e", *wears):
            listing = Call(OTHER_USER, os.listdir, view.dups)
            assert until(lambda: is_held(view.pid))
            other = Call(ROOT, error_of, os.stat, view.dups / absent)
            answered = until(lambda: other.pipe.poll(), ANSWER_LIMIT)
            waits = not listing.pipe.poll()
        assert (listing.result(), other.result()) == (oracle.hashes([source / "a"]), ABSENT)
        assert answered and waits


# ---- sources on other FUSE file systems -------------------------------------------------------

@contextlib.contextmanager
def bound(source, folder):
    """A FUSE file system that shows the source to root alone, whatever the modes are."""
    if not shutil.which("bindfs"):
        pytest.skip("needs bindfs")
    folder.mkdir()
    subprocess.run(["bindfs", "--no-allow-other", source, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_fuse_source_for_root_alone_stays_closed(twinfs, source, tmp_path, root_only):
    """Only the user who mounted it may enter, which modes do not show."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    source.chmod(0o755)
    with bound(source, tmp_path / "bound") as root:
        assert as_other_user(error_of, os.listdir, root) == DENIED
        with twinfs.mounted(root, options=SHARED) as view:
            assert (view.uniques / "a").read_bytes() == b"same"
            assert as_other_user(error_of, os.listdir, view.uniques) == DENIED
            assert as_other_user(error_of, read, view.uniques / "a") == DENIED
            assert as_other_user(os.listdir, view.dups) == []


@contextlib.contextmanager
def hung_mount(twinfs, folder, tmp_path):
    """A file system over a folder that all users may enter and that does not answer."""
    shown = tmp_path / "shown"
    trees.fill(shown, {b"file": b"other"})
    with twinfs.with_index(tmp_path / "other-index").mounted(
            shown, at=tmp_path / "other", options=SHARED) as view, contextlib.ExitStack() as stack:
        subprocess.run(["mount", "--bind", view.path, folder], check=True)
        stack.callback(subprocess.run, ["umount", folder], check=True)
        stack.enter_context(stopped(view.pid))
        yield


@pytest.mark.parametrize("over", ["above/source/d", "above/source", "above"])
def test_hung_mount_in_or_over_a_source_delays_no_request(twinfs, source, tmp_path, root_only,
                                                          over):
    """The check of a user's rights walks from / down and enters no mount that hides the source."""
    root = source / "above" / "source"
    trees.fill(root, {b"d/e/a": b"same", b"d/e/b": b"same"})
    for folder in (source, source / "above", root, root / "d", root / "d/e"):
        folder.chmod(0o755)
    with twinfs.mounted(root, options=SHARED) as view, contextlib.ExitStack() as stack:
        folder = os.open(view.uniques / "d/e", os.O_PATH)
        stack.callback(os.close, folder)
        assert as_other_user(stat_in, folder, "a") == 0
        calls = []
        with hung_mount(twinfs, source / over, tmp_path):
            for function, where in ((stat_in, (folder, "a")), (error_of, (os.listdir, view.dups)),
                                    (error_of, (os.listdir, view.uniques / "d/e"))):
                calls.append(Call(OTHER_USER, function, *where))
                assert until(lambda: calls[-1].pipe.poll(), ANSWER_LIMIT)
        assert [call.result() == 0 for call in calls] == [False, True, False]
        view.sync()
        assert until(lambda: as_other_user(error_of, read, view.uniques / "d/e/a") == 0)


def stat_in(folder, name):
    return error_of(lambda: os.stat(name, dir_fd=folder))


def test_source_below_several_mounts_can_be_read(twinfs, source, tmp_path, root_only):
    """The check of rights enters the mounts above the source."""
    inner = source / "outer" / "inner"
    inner.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        for point in (source / "outer", inner):
            point.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", point], check=True)
            stack.callback(subprocess.run, ["umount", point], check=True)
        trees.fill(inner / "source", {b"a": b"same", b"b": b"same"})
        for folder in (source, inner / "source"):
            folder.chmod(0o755)
        with twinfs.mounted(inner / "source", options=SHARED) as view:
            assert as_other_user(read, view.uniques / "a") == b"same"
            assert len(as_other_user(os.listdir, view.dups)) == 1


# ---- descriptors --------------------------------------------------------------------------------

DESCRIPTORS = 400  # limit of the daemon


def open_many(path, pipe=None, end=None):
    """How often the file can be opened, and the error after that."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * DESCRIPTORS, 2 * DESCRIPTORS))
    opened = []
    try:
        while len(opened) < DESCRIPTORS:
            opened.append(os.open(path, os.O_RDONLY))
        return len(opened), 0
    except OSError as error:
        return len(opened), error.errno
    finally:
        if pipe:
            pipe.send_bytes(b"opened")
            end.wait()
        for descriptor in opened:
            os.close(descriptor)


def test_user_with_all_files_open_leaves_descriptors_for_others(twinfs, source, root_only):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    source.chmod(0o755)
    twinfs.wrapped = ["prlimit", f"--nofile={DESCRIPTORS}", "--"]
    with twinfs.mounted(source, options=SHARED) as view:
        path = view.uniques / "a"
        ours, theirs = PROCESSES.Pipe(False)
        end = PROCESSES.Event()
        call = Call(OTHER_USER, open_many, path, theirs, end)
        assert ours.poll(TIMEOUT)
        try:
            assert call_as(MEMBER, read, path) == b"same"
            count, error = call_as(MEMBER, open_many, path)
            assert (count > 0, error) == (True, errno.EMFILE)
            assert read(path) == b"same"
            assert set(call_as(MEMBER, os.listdir, view.uniques)) == {"a"}
        finally:
            end.set()
        many = call.result()
        assert (many[0] > count, many[1]) == (True, errno.EMFILE)
        assert many[0] < DESCRIPTORS / 2
        assert until(lambda: call_as(OTHER_USER, open_many, path) == many)  # all were closed

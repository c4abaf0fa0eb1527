# SPDX-License-Identifier: MIT
"""A change shows in a time. A file that enters uniques/ or redundant/ because the redundancy of a
copy changed has a ctime of that moment, as long as it is there, also after remounts. So incremental
backups by time find it. The ctime of a folder moves with its listing, and never goes back."""
import contextlib
import os
import shutil
import signal
import subprocess
from decimal import Decimal
from pathlib import Path

import changes
import pytest
import trees
from processes import TIMEOUT, end_process, until, wait_ended

DATA, OTHER = trees.content("kept", 5000), trees.content("other", 5000)
LONG_AGO = 10**18
X, Y = "A/x", "B/y"  # the kept copy and the redundant one
TRASH = ".local/share/Trash/files"


class Files:
    """A source with a kept and a redundant copy, and the program that mounts it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.source = folder / "source"
        self.readable = True  # all that is shown
        self.source.mkdir(exist_ok=True)
        trees.fill(self.source, {X: DATA, Y: DATA, "A/lone": OTHER, "B/alone": b"alone",
                                 "C/deep/more": OTHER})
        for number, name in enumerate((X, Y)):
            os.utime(self.source / name, ns=(LONG_AGO, LONG_AGO + number))
        if program.user:
            for path in [self.source, *self.source.rglob("*")]:
                os.chown(path, program.user.pw_uid, program.user.pw_gid)

    @contextlib.contextmanager
    def mounted(self, *options, sources=None):
        with self.program.mounted(*(sources or [self.source]),
                                  options=["--wait", *options]) as view:
            view.sync()
            yield view

    def stamp(self):
        """Makes a file whose times are those of now. Later changes get later times."""
        stamp, probe = self.folder / "stamp", self.folder / "probe"
        stamp.touch()

        def has_ticked():
            probe.touch()
            return os.stat(probe).st_ctime_ns > os.stat(stamp).st_ctime_ns
        assert until(has_ticked)

    def run(self, *command):
        result = subprocess.run([*self.program.as_user(), *command], check=self.readable,
                                timeout=TIMEOUT, stdout=subprocess.PIPE)
        return result.stdout.decode()

    def found(self, folder, *tests):
        return set(self.run("find", folder, *tests, "-printf", "%P\\0").split("\0")[:-1])

    def newer(self, folder):
        """The files that find(1) and tar(1) take for changed since the stamp."""
        stamp = self.folder / "stamp"
        found = self.found(folder, "-type", "f", "-cnewer", stamp)
        command = [*self.program.as_user(), "tar", "-C", folder, f"--newer={stamp}", "-cf", "-",
                   "."]
        archive = subprocess.run(command, check=self.readable, stdout=subprocess.PIPE,
                                 timeout=TIMEOUT, stderr=subprocess.DEVNULL).stdout
        names = subprocess.run(["tar", "-t"], input=archive, check=True,
                               stdout=subprocess.PIPE).stdout.decode().splitlines()
        assert not self.readable or found <= {name.removeprefix("./") for name in names}
        return found

    def times(self, folder):
        """{path: (ctime, mtime)} of all that is shown."""
        lines = self.run("find", folder, "-printf", "%P\\t%C@\\t%T@\\0").split("\0")[:-1]
        return {name: (Decimal(ctime), Decimal(mtime))
                for name, ctime, mtime in (line.split("\t") for line in lines)}

    def mtime(self, name):
        return Decimal(os.lstat(self.source / name).st_mtime_ns) / 10**9

    def assert_promoted(self, view, name=Y):
        assert name in self.newer(view.uniques)
        times = self.times(view.uniques)
        assert times[name][1] == self.mtime(name)
        return times


@pytest.fixture
def files(twinfs, tmp_path):
    return Files(twinfs, tmp_path)


@pytest.fixture
def user_files(as_user, fuse_for_users, tmp_path):
    return Files(as_user, tmp_path)


def exchange_with_another(source):
    changes.exchange(source / X, source / "A/lone")
    os.unlink(source / "A/lone")


def replace(source):
    trees.write(source / "A/new", OTHER)
    os.rename(source / "A/new", source / X)


def move_to_trash(source):
    (source / TRASH).mkdir(parents=True)
    os.rename(source / X, source / TRASH / "x")


def write_through_a_mapping(source):
    changes.rewrite(source / X, OTHER)
    os.utime(source / X, ns=(LONG_AGO, LONG_AGO))


WAYS = {
    "removed": lambda source: os.unlink(source / X),
    "overwritten": lambda source: changes.rewrite(source / X, OTHER),
    "overwritten, mtime restored": write_through_a_mapping,
    "truncated": lambda source: os.truncate(source / X, 100),
    "grown": lambda source: os.truncate(source / X, 6000),
    "replaced": replace,
    "exchanged": exchange_with_another,
    "moved out": lambda source: os.rename(source / X, changes.outside(source) / "x"),
    "moved to the trash": move_to_trash,
    "its folder is removed": lambda source: trees.remove(source / "A"),
    "its folder is moved out": lambda source: os.rename(source / "A",
                                                        changes.outside(source) / "A"),
    "its folder is moved to the trash": lambda source: (
        (source / TRASH).mkdir(parents=True), os.rename(source / "A", source / TRASH / "A")),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@each_way
def test_promoted_file_is_newer_than_a_stamp_before_the_change(files, way):
    with files.mounted() as view:
        assert Y not in files.found(view.uniques)
        files.stamp()
        assert not files.newer(view.uniques)
        way(files.source)
        view.sync()
        times = files.assert_promoted(view)
        assert view.differences(files.source, first_scan=False) == []
    for _ in range(2):
        with files.mounted() as view:
            assert files.assert_promoted(view) == times


@each_way
def test_promotion_while_unmounted_shows_in_a_time(files, way):
    with files.mounted():
        pass
    files.stamp()
    way(files.source)
    with files.mounted() as view:
        times = files.assert_promoted(view)
    with files.mounted() as view:
        assert files.times(view.uniques) == times


@pytest.mark.parametrize("way", ["removed", "overwritten", "its folder is moved out"])
def test_promoted_file_of_a_plain_user_is_newer(user_files, way):
    with user_files.mounted() as view:
        user_files.stamp()
        WAYS[way](user_files.source)
        view.sync()
        times = user_files.assert_promoted(view)
    with user_files.mounted() as view:
        assert user_files.assert_promoted(view) == times


@pytest.mark.parametrize("kept", [X, "A"])
def test_file_is_promoted_while_a_folder_or_the_kept_copy_cannot_be_read(user_files, kept):
    """When it can be read again and is the kept copy, it is newer, too."""
    path = user_files.source / kept
    user_files.readable = False
    with user_files.mounted() as view:
        user_files.stamp()
        path.chmod(0)
        view.sync()
        promoted = Y in user_files.found(view.uniques)
        assert promoted == (Y in user_files.newer(view.uniques))
        assert promoted or kept == X  # its content stays known
        user_files.stamp()
        path.chmod(0o755)
        view.sync()
        if X in user_files.found(view.uniques):
            assert X in user_files.newer(view.uniques)
        else:
            assert Y in user_files.found(view.uniques)


def test_loss_of_the_last_visible_name_promotes(files):
    os.link(files.source / X, files.source / "A/x2")
    os.link(files.source / X, changes.outside(files.source) / "x3")
    with files.mounted() as view:
        os.unlink(files.source / X)
        view.sync()
        assert Y not in files.found(view.uniques)
        files.stamp()
        os.unlink(files.source / "A/x2")
        view.sync()
        files.assert_promoted(view)


def test_all_names_of_a_promoted_file_have_the_time(files):
    os.link(files.source / Y, files.source / "C/deep/y2")
    with files.mounted() as view:
        files.stamp()
        os.unlink(files.source / X)
        view.sync()
        assert {Y, "C/deep/y2"} <= files.newer(view.uniques)


def test_mount_over_the_kept_copy_promotes_and_its_end_shows_in_a_time(files, root_only):
    with files.mounted() as view:
        pass
    files.stamp()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", files.source / "A"], check=True)
    try:
        with files.mounted() as view:
            files.assert_promoted(view)
    finally:
        subprocess.run(["umount", files.source / "A"], check=True)
    with files.mounted() as view:
        assert view.differences(files.source, first_scan=False) == []


# options of the next mount, besides those that change what is compared
OPTIONS = {
    "keep rules": ([], ["--keep=path:B/"]),
    "other keep rules": (["--keep=path:A/"], ["--keep=newest"]),
    "no keep rules": (["--keep=path:C/"], ["--keep=path:B/"]),
    "exclude": ([], ["--exclude=/A/x"]),
    "exclude a folder": ([], ["--exclude=/A"]),
    "smallest size": ([], ["--min-size=5001"]),
}


@pytest.mark.parametrize("before, after", OPTIONS.values(), ids=OPTIONS.keys())
def test_promotion_by_options_shows_in_a_time(files, before, after):
    with files.mounted(*before) as view:
        assert Y in files.found(view.redundant)
    files.stamp()
    with files.mounted(*after) as view:
        times = files.assert_promoted(view)
        if X in files.found(view.redundant):
            assert X in files.newer(view.redundant)
    with files.mounted(*after) as view:
        assert files.times(view.uniques) == times


# ---- demotion and back ----------------------------------------------------------------------

def test_demoted_file_is_newer_in_redundant(files):
    os.unlink(files.source / X)
    with files.mounted("--keep=path:A/") as view:
        files.stamp()
        trees.write(files.source / X, DATA)
        view.sync()
        assert Y in files.newer(view.redundant)
        times = files.times(view.redundant)
        assert times[Y][1] == files.mtime(Y)
    with files.mounted("--keep=path:A/") as view:
        assert files.times(view.redundant) == times


def test_each_promotion_and_demotion_has_its_time(files):
    seen = []
    with files.mounted("--keep=path:A/") as view:
        for _ in range(3):
            for data, tree in ((OTHER, view.uniques), (DATA, view.redundant)):
                files.stamp()
                changes.rewrite(files.source / X, data)
                view.sync()
                assert Y in files.newer(tree)
                seen.append(files.times(tree)[Y][0])
    assert seen == sorted(set(seen))


def test_file_that_takes_the_place_of_a_kept_copy_is_newer(files):
    """A folder that is moved in has files with old ctimes."""
    os.rename(files.source / "A", changes.outside(files.source) / "A")
    with files.mounted("--keep=path:A/") as view:
        files.stamp()
        os.rename(changes.outside(files.source) / "A", files.source / "A")
        view.sync()
        assert Y in files.newer(view.redundant)
        assert X in files.newer(view.uniques)


def test_new_copy_has_the_ctime_of_the_source(files):
    with files.mounted() as view:
        trees.write(files.source / "C/copy", DATA)
        view.sync()
        assert files.times(view.redundant)["C/copy"][0] == Decimal(
            os.stat(files.source / "C/copy").st_ctime_ns) / 10**9


def test_first_scan_shows_the_ctimes_of_the_source(files):
    def of_source(folder):
        return {name: Decimal(os.lstat(files.source / name).st_ctime_ns) / 10**9
                for name in files.times(folder)}
    files.program.ok("scan", files.source)
    with files.mounted() as view:
        for tree in (view.uniques, view.redundant):
            assert {name: ctime for name, (ctime, _) in files.times(tree).items()} == \
                of_source(tree)


# ---- what stays -----------------------------------------------------------------------------

def test_times_are_equal_after_remounts_without_changes(files):
    with files.mounted() as view:
        os.unlink(files.source / X)
        trees.write(files.source / "C/another", b"alone")
        view.sync()
        times = files.times(view.uniques), files.times(view.redundant)
    for number in range(5):
        if number == 3:
            files.program.ok("scan", files.source)
        with files.mounted() as view:
            assert (files.times(view.uniques), files.times(view.redundant)) == times


def test_moment_stays_when_the_daemon_is_killed(files):
    with files.mounted() as view:
        files.stamp()
        os.unlink(files.source / X)
        view.sync()
        times = files.assert_promoted(view)
        end_process(view.pid, signal.SIGKILL)
        assert wait_ended(view.pid)
        view.pid = None
    with files.mounted() as view:
        assert files.times(view.uniques) == times


def test_promotion_after_a_kill_shows_in_a_time(files):
    with files.mounted() as view:
        end_process(view.pid, signal.SIGKILL)
        assert wait_ended(view.pid)
        view.pid = None
    files.stamp()
    os.unlink(files.source / X)
    with files.mounted() as view:
        files.assert_promoted(view)


def test_open_file_shows_the_new_ctime(files):
    """The kernel has cached the attributes of the file by its name in dups/."""
    with files.mounted() as view:
        [copy] = [path for path in view.dups.rglob("*") if path.name.endswith("y")]
        handle = os.open(copy, os.O_RDONLY)
        try:
            before = os.fstat(handle)
            assert os.stat(view.redundant / Y).st_ino == before.st_ino
            files.stamp()
            os.unlink(files.source / X)
            view.sync()
            now = os.fstat(handle)
            assert now.st_ino == before.st_ino
            assert now.st_ctime_ns > os.stat(files.folder / "stamp").st_ctime_ns
            assert now.st_ctime_ns == os.stat(view.uniques / Y).st_ctime_ns
            assert now.st_mtime_ns == before.st_mtime_ns
        finally:
            os.close(handle)


def test_index_check_accepts_the_times(files):
    with files.mounted() as view:
        os.unlink(files.source / X)
        view.sync()
        trees.remove(files.source / "C")
        view.sync()
    assert files.program.ok("check", files.source)


# ---- folders --------------------------------------------------------------------------------

def test_ctime_of_a_folder_moves_with_its_listing_over_remounts(files):
    """Live and while unmounted, in both trees, without a change of the folder."""
    seen, listed = {}, {}

    def note(view):
        for tree in (view.uniques, view.redundant):
            times = files.times(tree)
            names = files.found(tree)
            for folder in ("", "B", "C/deep", "C"):
                if folder not in times:
                    continue
                key = tree.name, folder
                own = {name for name in names
                       if name and str(Path("/") / name).rpartition("/")[0] ==
                       str(Path("/") / folder)}
                ctime = times[folder][0]
                if key in seen:
                    assert ctime >= seen[key], key
                    assert ctime > seen[key] or own == listed[key], key
                seen[key], listed[key] = ctime, own

    with files.mounted() as view:
        note(view)
    for number in range(4):
        with files.mounted() as view:
            note(view)
            changes.rewrite(files.source / X, DATA if number % 2 else OTHER)
            view.sync()
            note(view)
        changes.rewrite(files.source / "A/lone", trees.content(number, 5000)
                        if number % 2 else OTHER)
    with files.mounted() as view:
        note(view)
    assert len(seen) >= 6


def test_ctime_of_a_folder_moves_when_names_are_excluded(files):
    with files.mounted() as view:
        before = files.times(view.uniques)["B"]
    for excluded in ("--exclude=/B/alone", "--exclude=/B/none"):
        with files.mounted(excluded) as view:
            now = files.times(view.uniques)["B"]
            assert now[0] > before[0] and now[1] == before[1]
            before = now


def test_promotion_by_a_scan_shows_in_the_next_view(files):
    with files.mounted() as view:
        folder = files.times(view.uniques)["B"]
    files.stamp()
    os.unlink(files.source / X)
    files.program.ok("scan", files.source)
    with files.mounted() as view:
        times = files.assert_promoted(view)
        assert times["B"][0] > folder[0]


def test_ctime_of_a_folder_shows_a_new_name_after_a_promotion(files):
    """The kernel takes the ctime of the source from the last timer tick."""
    with files.mounted() as view:
        for number in range(20):
            changes.rewrite(files.source / X, DATA if number % 2 else OTHER)
            view.sync()
            before = files.times(view.uniques)["B"][0]
            trees.write(files.source / f"B/new {number}", b"%d" % number)
            view.sync()
            assert files.times(view.uniques)["B"][0] > before


# ---- sources, users and formats -------------------------------------------------------------

def test_promotion_between_sources_shows_in_a_time(files):
    """Also while the source of the kept copy is missing: its files stay until it is back."""
    sources = [files.source / name for name in ("A", "B")]
    with files.mounted(sources=sources) as view:
        assert files.found(view.redundant, "-type", "f") == {"B/y"}
        files.stamp()
        os.unlink(files.source / X)
        view.sync()
        times = files.assert_promoted(view)
        folders = {"", ".."}
    with files.mounted(sources=sources) as view:
        again = files.times(view.uniques)
        assert {name: time for name, time in again.items() if name not in folders} == {
            name: time for name, time in times.items() if name not in folders}
        assert again[""] >= times[""]


def test_caller_of_a_shared_view_sees_the_times_of_the_source(files, root_only, plain_user):
    """What another user cannot see has no influence on a time."""
    with files.program.mounted(files.source, options=["--wait", "-o", "allow_other"]) as view:
        files.stamp()
        os.unlink(files.source / X)
        view.sync()
        files.assert_promoted(view)
        user = ["setpriv", f"--reuid={plain_user.pw_uid}", f"--regid={plain_user.pw_gid}",
                "--clear-groups"]
        shown = subprocess.run([*user, "stat", "-c", "%.9Z", view.uniques / Y], check=True,
                               stdout=subprocess.PIPE).stdout
        assert Decimal(shown.decode()) == Decimal(
            os.stat(files.source / Y).st_ctime_ns) / 10**9
        files.assert_promoted(view)


def test_restic_saves_a_promoted_file_and_reads_nothing_without_changes(files):
    restic = shutil.which("restic")
    if not restic:
        pytest.skip("needs restic")

    def backup(view):
        environment = os.environ | {"RESTIC_PASSWORD": "x", "HOME": str(files.folder),
                                    "RESTIC_REPOSITORY": str(files.folder / "saved")}
        if not (files.folder / "saved").exists():
            subprocess.run([restic, "init"], env=environment, check=True, capture_output=True)
        result = subprocess.run([restic, "backup", "-v", "-v", "."], cwd=view.uniques,
                                env=environment, check=True, stdout=subprocess.PIPE)
        lines = result.stdout.decode().splitlines()
        return {line.split("/", 1)[1].split(",")[0]: line.split()[0]
                for line in lines if line.startswith(("new ", "modified ", "unchanged "))
                and not line.split(",")[0].endswith("/")}

    with files.mounted() as view:
        assert backup(view)[X] == "new"
    with files.mounted() as view:
        assert set(backup(view).values()) == {"unchanged"}
        os.unlink(files.source / X)
        view.sync()
        saved = backup(view)
        assert saved.pop(Y) == "new" and set(saved.values()) == {"unchanged"}
    with files.mounted() as view:
        assert set(backup(view).values()) == {"unchanged"}

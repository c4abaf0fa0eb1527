# SPDX-License-Identifier: MIT
"""Programs with an inotify watch on a view, such as file managers, get an event for each change."""
import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import oracle
import pytest
from processes import TIMEOUT, attached, children, of_threads, stopped, until, wait_ended
from program import is_mounted

# Tries each way to change something; prints each attempt that did not fail with EROFS.
ATTEMPTS = r"""
import ctypes, errno, os, sys
view, libc = os.fsencode(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
tree = view + b"/uniques/"
def call(function, *arguments):
    if getattr(libc, function)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), function)
attempts = {
    "write": lambda: os.open(tree + b"file", os.O_WRONLY),
    "read and write": lambda: os.open(tree + b"file", os.O_RDWR),
    "append": lambda: os.open(tree + b"file", os.O_WRONLY | os.O_APPEND),
    "truncate at open": lambda: os.open(tree + b"file", os.O_RDONLY | os.O_TRUNC),
    "truncate": lambda: os.truncate(tree + b"file", 0),
    "create": lambda: os.open(tree + b"new", os.O_WRONLY | os.O_CREAT),
    "create for reading": lambda: os.open(tree + b"new", os.O_RDONLY | os.O_CREAT),
    "mknod": lambda: os.mknod(tree + b"new"),
    "mkfifo": lambda: os.mkfifo(tree + b"new"),
    "mkdir": lambda: os.mkdir(tree + b"new"),
    "mkdir in dups": lambda: os.mkdir(view + b"/dups/" + b"0" * 32),
    "unlink": lambda: os.unlink(tree + b"file"),
    "rmdir": lambda: os.rmdir(tree + b"empty"),
    "symlink": lambda: os.symlink(b"x", tree + b"new"),
    "link": lambda: os.link(tree + b"file", tree + b"new"),
    "rename": lambda: os.rename(tree + b"file", tree + b"new"),
    "rename of a folder": lambda: os.rename(tree + b"empty", tree + b"new"),
    "chmod": lambda: os.chmod(tree + b"file", 0o600),
    "chmod of a folder": lambda: os.chmod(view + b"/dups", 0o700),
    "chown": lambda: os.chown(tree + b"file", os.getuid(), os.getgid()),
    "utime": lambda: os.utime(tree + b"file"),
    "utime of a link": lambda: os.utime(tree + b"link", follow_symlinks=False),
    "setxattr": lambda: os.setxattr(tree + b"file", "user.twinfs.hash", b"x"),
    "removexattr": lambda: os.removexattr(tree + b"file", "user.x"),
    "access": lambda: call("access", tree + b"file", os.W_OK),
    "access to a folder": lambda: call("access", view + b"/dups", os.W_OK),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name, "worked")
    except OSError as error:
        if error.errno != errno.EROFS:
            print(name, error)
"""


CHANGES = "create,delete,attrib,modify,move"


class Watcher:
    """inotifywait; `events` has the events so far, as (folder, events, name)."""

    def __init__(self, view, source, *folders, known=True, options=()):
        program, before = view.program, view.status()["refreshed"]
        command = ["inotifywait", "-m", "-e", CHANGES, "--format", "%w|%e|%f", *options, *folders]
        self.process = subprocess.Popen([*program.as_user(), *command], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=program.environment)
        self.events = []
        for line in self.process.stderr:
            if b"established" in line:
                break
        else:
            raise AssertionError("no watches")
        self.thread = threading.Thread(target=self.read_events)
        self.thread.start()
        if not known:
            return
        # the daemon searches for watchers when something changes
        poke = source / ".poke"
        poke.mkdir()
        assert until(lambda: view.status()["refreshed"] >= before + len(folders))
        poke.rmdir()
        view.sync()

    def read_events(self):
        for line in self.process.stdout:
            self.events.append(tuple(line.decode("utf-8", "surrogateescape").rstrip("\n")
                                    .split("|", 2)))

    def gets(self, folder, event, name=""):
        return until(lambda: (f"{folder}/", event, name) in self.events)

    def gets_any(self, folder, name, *kinds):
        """Whether an event of one of these kinds was reported, for a file or for a folder."""
        return until(lambda: any(event[::2] == (f"{folder}/", name) and
                                 event[1].split(",")[0] in kinds for event in self.events))

    def gets_new(self, folder, name):
        return self.gets_any(folder, name, "CREATE", "MOVED_TO")

    def gets_removal(self, folder, name):
        return self.gets_any(folder, name, "DELETE", "MOVED_FROM")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.thread.join()


@pytest.fixture(params=["root", "user"])
def owner(request, tmp_path):
    """The program, run by root or a plain user, with a source of that user."""
    if request.param == "root":
        request.getfixturevalue("root_only")
        program = request.getfixturevalue("twinfs")
    else:
        request.getfixturevalue("fuse_for_users")
        program = request.getfixturevalue("as_user")
    source = tmp_path / "source"
    source.mkdir(exist_ok=True)
    (source / "folder").mkdir()
    (source / "empty").mkdir()
    for name in ("file", "folder/copy"):
        (source / name).write_text("content\n")
    (source / "alone").write_text("nothing like it\n")
    (source / "link").symlink_to("file")
    subprocess.run(["chown", "-R", "--reference", tmp_path, source], check=True)
    program.source = source
    return program


def listed(program, folder):
    return set(run_as(program, "ls", "-A", folder).splitlines())


def run_as(program, *words):
    run = subprocess.run([*program.as_user(), *words], check=False, capture_output=True,
                         timeout=TIMEOUT)
    return run.stdout.decode() + run.stderr.decode()


def test_created_and_removed_names_are_reported(owner):
    with owner.mounted(owner.source) as view:
        with Watcher(view, owner.source, view.uniques, view.dups) as watcher:
            (owner.source / "new").write_text("other\n")
            assert watcher.gets(view.uniques, "CREATE", "new")
            (owner.source / "also new").write_text("other\n")
            assert watcher.gets(view.dups, "CREATE,ISDIR", view_hash(view, owner, "new"))
            (owner.source / "new").unlink()
            assert watcher.gets(view.uniques, "DELETE", "new")
            (owner.source / "subfolder").mkdir()
            assert watcher.gets(view.uniques, "CREATE,ISDIR", "subfolder")
            (owner.source / "subfolder").rmdir()
            assert watcher.gets(view.uniques, "DELETE,ISDIR", "subfolder")


def view_hash(view, owner, name):
    view.sync()
    return run_as(owner, "getfattr", "--absolute-names", "--only-values", "-n",
                     "user.twinfs.hash", view.uniques / name)


def test_changed_attributes_are_reported(owner):
    """If the daemon does not know whether the name is new, it reports a changed file as created."""
    with owner.mounted(owner.source) as view:
        with Watcher(view, owner.source, view.uniques) as watcher:
            def events():
                return [event for _, event, name in watcher.events if name == "alone"]

            (owner.source / "alone").chmod(0o640)
            assert until(events)
            first = len(events())
            (owner.source / "alone").write_text("more than there was\n")
            assert until(lambda: len(events()) > first)
            assert set(events()) <= {"ATTRIB", "CREATE"}


def test_moved_ranks_are_reported(owner):
    with owner.mounted(owner.source) as view:
        first = sorted(run_as(owner, "ls", view.by_size).splitlines())
        with Watcher(view, owner.source, view.by_size) as watcher:
            for name in ("large", "large too"):
                (owner.source / name).write_text("much more content\n")
            view.sync()
            now = sorted(run_as(owner, "ls", view.by_size).splitlines())
            assert len(now) == len(first) + 1
            for name in set(now) - set(first):
                assert watcher.gets(view.by_size, "CREATE", name)


def test_removal_of_a_group_is_reported_for_its_folder(owner):
    with owner.mounted(owner.source) as view:
        group = view.dups / view_hash(view, owner, "file")
        names = run_as(owner, "ls", group).splitlines()
        assert {oracle.place(name) for name in names} == {"file", "folder/copy"}
        with Watcher(view, owner.source, group) as watcher:
            (owner.source / "file").unlink()
            for name in names:
                assert watcher.gets(group, "DELETE", name)
            view.sync()
            assert not run_as(owner, "ls", view.dups)
        # the group reappears complete
        (owner.source / "file").write_text("content\n")
        view.sync()
        assert set(run_as(owner, "ls", group).splitlines()) == {"file", "(kept) folder∕copy"}
        assert view.differences_now(owner.source) == []


def test_another_kept_copy_is_reported_for_the_folder_of_its_group(owner):
    for name, when in (("file", 1), ("folder/copy", 2)):
        os.utime(owner.source / name, (0, when * 10**8))
    with owner.mounted(owner.source, options=("--wait", "--keep=newest")) as view:
        group = view.dups / view_hash(view, owner, "folder/copy")
        with Watcher(view, owner.source, group) as watcher:
            os.utime(owner.source / "file", (0, 3 * 10**8))
            assert watcher.gets_new(group, "(kept) file")
            assert watcher.gets_new(group, "folder∕copy")
            assert watcher.gets_removal(group, "(kept) folder∕copy")
            assert watcher.gets_removal(group, "file")


def test_copies_below_a_renamed_folder_are_reported_with_new_names(owner):
    with owner.mounted(owner.source) as view:
        group = view.dups / view_hash(view, owner, "file")
        with Watcher(view, owner.source, group) as watcher:
            (owner.source / "folder").rename(owner.source / "renamed")
            assert watcher.gets_new(group, "renamed∕copy")
            assert watcher.gets_removal(group, "folder∕copy")


def test_nothing_can_be_changed(owner):
    with owner.mounted(owner.source) as view:
        before = view.status()["generation"]
        assert run_as(owner, sys.executable, "-c", ATTEMPTS, view.path) == ""
        assert view.differences_now(owner.source) == []
        assert view.status()["generation"] == before


def test_nothing_can_be_changed_if_root_remounts_writable(twinfs, source, root_only):
    (source / "empty").mkdir()
    (source / "file").write_text("content\n")
    (source / "link").symlink_to("file")
    with twinfs.mounted(source) as view:
        subprocess.run(["mount", "-o", "remount,bind,rw", view.path], check=True)
        found = run_as(twinfs, sys.executable, "-c", ATTEMPTS, view.path).splitlines()
        assert [line for line in found if not line.startswith("access")] == []
        assert view.differences_now(source) == []


def test_access_of_a_plain_user_is_that_of_the_source(as_user, source, fuse_for_users, plain_user):
    for mode in (0o000, 0o400, 0o500, 0o055, 0o711):
        (source / f"file {mode:o}").write_text(f"{mode}")
        (source / f"folder {mode:o}").mkdir()
        for name in (f"file {mode:o}", f"folder {mode:o}"):
            if os.geteuid() == 0:
                os.chown(source / name, plain_user.pw_uid, plain_user.pw_gid)
            (source / name).chmod(mode)
    script = ("import os, sys\nfor name in sorted(os.listdir(sys.argv[1])):\n"
              "    print(name, [os.access(sys.argv[1] + '/' + name, way) for way in "
              "(os.F_OK, os.R_OK, os.X_OK)])")
    with as_user.mounted(source, status=3) as view:
        expected = run_as(as_user, sys.executable, "-c", script, source)
        assert len(expected.splitlines()) == 10 and "Error" not in expected
        assert run_as(as_user, sys.executable, "-c", script, view.uniques) == expected


def test_plain_user_can_run_the_same_programs_as_in_the_source(as_user, source, fuse_for_users,
                                                               plain_user):
    """The kernel alone would permit execution if any x bit is set, also one for others."""
    for mode in (0o755, 0o700, 0o655, 0o677, 0o644):
        program = source / f"{mode:o}"
        program.write_text(f"#!/bin/sh\necho {mode:o}\n")
        if os.geteuid() == 0:
            os.chown(program, plain_user.pw_uid, plain_user.pw_gid)
        program.chmod(mode)
    with as_user.mounted(source) as view:
        for program in source.iterdir():
            run = [run_as(as_user, "sh", "-c", 'cd -- "$1" && "./$2"', "-", folder, program.name)
                   for folder in (source, view.uniques)]
            assert run[0] == run[1]
            assert (run[0] == f"{program.name}\n") == (program.name in ("755", "700"))


class Manager:
    """Shows a folder as a file manager does: lists it once, then relies on events."""

    def __init__(self, view, source, folder, known=True):
        self.program, self.folder = view.program, folder
        self.first = listed(view.program, folder)
        self.watcher = Watcher(view, source, folder, known=known)

    def shows(self):
        shown = set(self.first)
        for _, events, name in list(self.watcher.events):
            if events.startswith(("CREATE", "MOVED_TO")):
                shown.add(name)
            elif events.startswith(("DELETE", "MOVED_FROM")):
                shown.discard(name)
        return shown

    def wrong(self):
        """Names that are shown and do not exist, or exist and are not shown."""
        return self.shows() ^ listed(self.program, self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.watcher.__exit__(*reason)


@pytest.mark.parametrize("seed", range(2))
def test_names_shown_by_managers_become_right(owner, seed):
    chance, folder = random.Random(seed), owner.source / "folder"
    with owner.mounted(owner.source) as view, contextlib.ExitStack() as stack:
        managers = [stack.enter_context(Manager(view, owner.source, path)) for path in
                    (view.uniques / "folder", view.dups, view.by_size)]
        for number in range(300):
            path = folder / f"{chance.randrange(40)}"
            if chance.random() < 0.4:
                path.unlink(missing_ok=True)
            else:
                path.write_text(f"content {chance.randrange(12)}")
            if number % 50 == 0:
                view.sync()
        view.sync()
        for manager in managers:
            assert until(lambda manager=manager: not manager.wrong(), 60), (manager.folder,
                                                                            manager.wrong())
        assert view.differences_now(owner.source) == []


def test_many_names_at_once_are_all_reported(owner):
    with (owner.mounted(owner.source) as view,
          Manager(view, owner.source, view.uniques / "folder") as manager):
        view.sync()
        for number in range(700):
            (owner.source / f"folder/{number}").write_text(f"content {number}")
        view.sync()
        assert until(lambda: not manager.wrong()), manager.wrong()


def test_names_are_reported_to_a_watcher_that_is_found_later(owner):
    """The watcher was served from the kernel's caches, so the daemon does not know it. Changes
    while the daemon searches for watchers are reported too."""
    folder = owner.source / "folder"
    with owner.mounted(owner.source) as view:
        run_as(owner, "find", view.path)
        with Manager(view, owner.source, view.uniques / "folder", known=False) as manager:
            with stopped(children(view.pid)[0]):
                (folder / "first").write_text("content first")
                view.sync()
                for number in range(20):
                    (folder / f"{number}").write_text(f"content {number}")
                view.sync()
            assert until(lambda: not manager.wrong(), 20), manager.wrong()


def test_no_event_is_sent_in_a_shared_view(twinfs, source, root_only):
    """A watcher must not learn of changes that are hidden from its user."""
    (source / "file").write_text("content\n")
    with twinfs.mounted(source, options=("--wait", "-o", "allow_other")) as view:
        watch = ["inotifywait", "-m", "-q", "-e", CHANGES, view.uniques, view.dups]
        with subprocess.Popen(watch, stdout=subprocess.PIPE) as watcher:
            assert until(lambda: "inotify wd:2" in fdinfo(watcher.pid))
            (source / "new").write_text("content\n")
            view.sync()
            assert listed(twinfs, view.uniques) | listed(twinfs, view.redundant) >= {"new"}
            assert view.status()["refreshed"] == 0
            watcher.kill()
            assert watcher.stdout.read() == b""


def fdinfo(pid):
    text = ""
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has been closed
            text += path.read_text()
    return text


def test_view_is_unmounted_while_it_is_watched(owner):
    with owner.mounted(owner.source) as view:
        watcher = Watcher(view, owner.source, view.uniques, view.dups)
        stop = threading.Event()

        def change():
            while not stop.is_set():
                (owner.source / "folder/changing").write_text("content\n")
                (owner.source / "folder/changing").unlink()
        writer = threading.Thread(target=change)
        writer.start()
        try:
            view.sync()
            watcher.process.kill()
            watcher.__exit__()
            assert until(lambda: subprocess.run(
                [*owner.as_user(), "fusermount3", "-u", view.path], check=False,
                capture_output=True).returncode == 0)
            assert not is_mounted(view.path)
        finally:
            stop.set()
            writer.join()


def test_daemon_that_sends_events_ends_at_sigterm(owner):
    """SIGTERM while events are sent ends the daemon at once and leaves no mount."""
    with (owner.mounted(owner.source) as view,
          Manager(view, owner.source, view.uniques / "folder") as manager):
        view.sync()
        for number in range(300):
            (owner.source / f"folder/{number}").write_text("x")
        assert until(lambda: manager.watcher.events)
        os.kill(view.pid, signal.SIGTERM)
        assert until(lambda: not is_mounted(view.path))


def test_stopped_mounter_does_not_delay_the_view(twinfs, source, root_only):
    """The mounter makes the events. The view works while the mounter is stopped."""
    (source / "file").write_text("content\n")
    with twinfs.mounted(source) as view:
        with Watcher(view, source, view.uniques) as watcher:
            mounter = children(view.pid)[0]
            with stopped(mounter):
                (source / "new").write_text("content\n")
                view.sync()
                assert (view.redundant / "new").exists()
                (source / "last").write_text("other\n")
                view.sync()
            assert watcher.gets(view.uniques, "CREATE", "last")


def test_daemon_ends_while_its_mounter_is_stopped(twinfs, source):
    """The daemon reports the dead mount that is left, and the next mount replaces it. The mounter
    ends when it continues, and leaves the next mount alone."""
    (source / "file").write_text("content\n")
    with twinfs.mounted_in_foreground(source) as (daemon, view), contextlib.ExitStack() as later:
        mounter = children(daemon.pid)[0]
        with stopped(mounter):
            daemon.terminate()
            daemon.wait(TIMEOUT)
            assert is_mounted(view.path)
            with pytest.raises(OSError) as raised:
                os.listdir(view.path)
            # ECONNABORTED for a request that was pending
            assert raised.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
            again = later.enter_context(twinfs.mounted(source, at=view.path))
        assert until(lambda: not Path(f"/proc/{mounter}").exists())
        assert again.differences_now(source) == []
    assert f"cannot unmount '{view.path}': " in daemon.output[1].decode()


NUMBERS = {"renameat2": 276, "unlinkat": 35, "sendto": 206, "recvfrom": 207}
if os.uname().machine == "x86_64":
    NUMBERS = {"renameat2": 316, "unlinkat": 263, "sendto": 44, "recvfrom": 45}


def calls(process, name):
    """Whether a thread of the process is in this system call soon."""
    return until(lambda: any(text.startswith(f"{NUMBERS[name]} ")
                             for text in of_threads(process, "syscall").values()))


@contextlib.contextmanager
def held_at(mounter, call):
    """Holds the mounter when it begins this call; yields a function that waits for this."""
    with attached(mounter, "-e", f"trace={call}", "-e",
                  f"inject={call}:delay_enter={TIMEOUT}s:when=1"):
        yield lambda: calls(mounter, call)


@contextlib.contextmanager
def shell_in(owner, folder):
    """A shell in this folder that lists it after a line of input."""
    words = ["sh", "-c", 'cd -- "$1" && echo && read line && ls', "-", folder]
    with subprocess.Popen([*owner.as_user(), *words], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as shell:
        assert shell.stdout.readline() == b"\n"
        yield shell


def test_folder_that_reappears_is_not_removed(owner, strace):
    """The folder reappears before its removal is reported. A process in it can still use it."""
    folder = owner.source / "folder"
    (folder / "own").write_text("like nothing else\n")
    with owner.mounted(owner.source) as view:
        before = listed(owner, view.uniques / "folder")
        assert "own" in before
        with (contextlib.ExitStack() as stack,
              Watcher(view, owner.source, view.uniques) as watcher):
            assert watcher.gets_removal(view.uniques, ".poke")
            with held_at(children(view.pid)[0], "renameat2") as begins:
                folder.rename(owner.source / ".away")
                assert begins()
                (owner.source / ".away").rename(folder)
                view.sync()
                shell = stack.enter_context(shell_in(owner, view.uniques / "folder"))
            assert watcher.gets(view.uniques, "MOVED_FROM,ISDIR", "folder")
            assert set(shell.communicate(b"\n")[0].decode().splitlines()) == before
            assert listed(owner, view.uniques / "folder") == before
            assert view.differences_now(owner.source) == []


def test_daemon_that_ends_before_an_answer_of_its_mounter_unmounts(owner, strace):
    with owner.mounted(owner.source) as view:
        with (contextlib.ExitStack() as held,
              Watcher(view, owner.source, view.uniques) as watcher):
            assert watcher.gets_removal(view.uniques, ".poke")
            mounter = children(view.pid)[0]
            with held_at(mounter, "unlinkat") as begins:
                (owner.source / "alone").unlink()
                assert begins()
                held.enter_context(view.traced("-e", f"inject=sendto:delay_enter={TIMEOUT}s"))
                os.kill(view.pid, signal.SIGTERM)
                assert calls(view.pid, "sendto")
            assert calls(mounter, "recvfrom")
        assert wait_ended(view.pid)
        assert not is_mounted(view.path)

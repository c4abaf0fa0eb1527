# SPDX-License-Identifier: MIT
"""The command unmount: views that answer, are in use, or whose daemon was killed or is stopped."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys

import pytest
import trees
from disks import bound
from processes import (
    TIMEOUT,
    children,
    end_process,
    has_open,
    of_threads,
    release,
    stopped,
    until,
    wait_ended,
)
from program import is_mounted


@pytest.fixture(params=["as this user", "as a plain user"])
def program(request, twinfs):
    """The program, run by the user of the tests and by a plain user."""
    if request.param == "as this user":
        return twinfs
    request.getfixturevalue("fuse_for_users")
    return request.getfixturevalue("as_user")


@pytest.fixture
def tree(program, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    if program.user:
        subprocess.run(["chown", "-hR", str(program.user.pw_uid), source], check=True)
    return source


def unmount(program, *operands, status=0):
    result = program("unmount", *operands)
    assert result.status == status, result
    return result.errors


def has_ended(view):
    """Whether the daemon of the view has ended before now."""
    pid, view.pid = view.pid, None
    return wait_ended(pid, timeout=0)


def test_view_is_unmounted_and_its_daemon_has_ended(program, tree):
    with program.mounted(tree) as view:
        assert unmount(program, view.path) == []
        assert has_ended(view) and not is_mounted(view.path)


def ends_its_view(daemon):
    """Whether the daemon no longer answers signals, as it is ending its other threads."""
    return not any("sigtimedwait" in text for text in of_threads(daemon, "wchan").values())


@contextlib.contextmanager
def waiting_mount(twinfs, source, mount):
    """Yields a `mount --wait` whose view is mounted and compares files. Lets it go on when the
    daemon is ending, long before all is compared."""
    trees.fill(source, {name: trees.content("equal", 32 << 20) for name in (b"a", b"b")})
    # another thread reads the prefix before, with one read
    with twinfs.held("mount", "--wait", "--disk=solid", source, mount, call="pread64", when=3,
                     flags=("-P", source / "a")) as process:
        [daemon] = children(process.pid)
        assert until(lambda: not ends_its_view(daemon))
        yield process
        assert until(lambda: ends_its_view(daemon))
        release(process)
        process.wait(TIMEOUT)


def test_mount_that_waits_for_a_view_that_is_unmounted_says_so(twinfs, source, mount, strace,
                                                               root_only):
    with waiting_mount(twinfs, source, mount) as process:
        subprocess.run(["fusermount3", "-u", "-z", mount], check=True)
    assert process.returncode == 1
    assert process.output[1] == b"twinfs: the view was unmounted before it was ready\n"


def test_mount_that_is_interrupted_while_it_waits_does_not_speak_of_an_unmount(
        twinfs, source, mount, strace, root_only):
    with waiting_mount(twinfs, source, mount) as process:
        process.send_signal(signal.SIGINT)
    assert process.returncode == -signal.SIGINT
    assert process.output[1] == b"" and not is_mounted(mount)


def test_views_of_a_source_are_unmounted_and_named(program, tree, tmp_path):
    (tree / "in").mkdir()
    other = program.with_index(tmp_path / "other")
    with program.mounted(tree) as view, other.mounted(tree / "in", at=tmp_path / "second") as inner:
        errors = unmount(program, tree)
        assert has_ended(view) and has_ended(inner)
    assert {error.split(" view at ")[1] for error in errors} == \
        {f"'{view.path}'", f"'{inner.path}'"}


def test_missing_source_unmounts_its_view(program, tree):
    with program.mounted(tree) as view:
        tree.rename(tree.with_name("moved"))
        unmount(program, tree)
        assert has_ended(view)


def test_folder_in_a_source_is_refused_and_the_source_is_named(program, tree):
    (tree / "in").mkdir()
    with program.mounted(tree) as view:
        [error] = unmount(program, tree / "in", status=1)
        assert f"'{tree}'" in error and f"'{view.path}'" in error
        assert is_mounted(view.path)


def test_plain_folder_is_refused_and_other_operands_are_unmounted(program, tree, tmp_path):
    [error] = unmount(program, tmp_path, status=1)
    assert f"'{tmp_path}'" in error
    with program.mounted(tree) as view:
        assert unmount(program, tmp_path / "home", view.path, status=3)
        assert has_ended(view)


def test_view_in_use_stays_and_its_user_is_named(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), sys.executable, "-c",
                   "import sys; file = open(sys.argv[1]); print('open', flush=True); input()",
                   view.uniques / "a"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            assert reader.stdout.readline() == b"open\n"
            [error] = unmount(program, view.path, status=1)
            assert f"(process {reader.pid})" in error and "in use by" in error
            assert view.status()["state"] == "current"
            reader.communicate(b"\n")
        assert unmount(program, view.path) == []
        assert has_ended(view)


def test_reader_of_events_does_not_keep_the_view(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), "tail", "-n", "0", "-f", view.path / ".twinfs/events"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            assert until(lambda: has_open(reader.pid, view.path / ".twinfs/events"))
            [error] = unmount(program, view.path)
            assert error.endswith(f"have ended for 'tail' (process {reader.pid})")
            assert has_ended(view) and not is_mounted(view.path)
            reader.communicate(timeout=TIMEOUT)


@pytest.fixture
def helper(twinfs, tmp_path):
    """The program under the name by which umount(8) runs it."""
    path = tmp_path / "umount.fuse.twinfs"
    path.symlink_to(twinfs.session.binary)
    return str(path)


def test_helper_of_umount_unmounts_and_waits(program, tree, helper):
    with program.mounted(tree) as view:
        assert program.ok("-n", "-v", "-t", "fuse.twinfs", view.path, binary=helper).errors == []
        assert has_ended(view) and not is_mounted(view.path)


def test_helper_of_umount_detaches_a_view_in_use_only_if_told(twinfs, source, helper):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view, open(view.uniques / "a", "rb") as file:
        result = twinfs(view.path, binary=helper)
        assert result.status == 1 and "in use by" in result.errors[0]
        assert is_mounted(view.path)
        assert twinfs.ok("-l", view.path, binary=helper).errors == []
        assert not is_mounted(view.path)
        assert file.read() == b"same"
        file.close()
        assert wait_ended(view.pid)
        view.pid = None


def test_reader_of_events_and_files_keeps_the_view(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), sys.executable, "-c",
                   "import sys; files = [open(path) for path in sys.argv[1:]]; "
                   "print('open', flush=True); input()",
                   view.path / ".twinfs/events", view.uniques / "a"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            assert reader.stdout.readline() == b"open\n"
            [error] = unmount(program, view.path, status=1)
            assert f"(process {reader.pid})" in error
            assert is_mounted(view.path)
            reader.communicate(b"\n")


@contextlib.contextmanager
def reading_events(view):
    with subprocess.Popen(["tail", "-n", "0", "-f", view.events], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as reader:
        try:
            assert until(lambda: has_open(reader.pid, view.events))
            yield reader
        finally:
            reader.kill()


def test_mount_in_a_view_keeps_it_beside_a_reader_of_events(twinfs, source, root_only):
    trees.fill(source, {b"folder/a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view, bound(source, view.uniques), reading_events(view):
        assert "in use by 'tail'" in unmount(twinfs, view.path, status=1)[0]
        assert is_mounted(view.path) and is_mounted(view.uniques)


def test_running_program_keeps_a_view_with_an_odd_name(twinfs, source, tmp_path, root_only):
    """A program has no descriptor of its own file, which is only mapped."""
    shutil.copy(shutil.which("sleep"), source / "sleep")
    with twinfs.mounted(source, at=tmp_path / "line\nline \\012") as view, reading_events(view):
        with subprocess.Popen([view.uniques / "sleep", "60"]) as process:
            assert f"'sleep' (process {process.pid})" in unmount(twinfs, view.path, status=1)[0]
            process.kill()
        assert unmount(twinfs, view.path) != []
        assert has_ended(view)


def test_daemon_in_another_pid_namespace_is_not_taken_for_a_process(twinfs, source, root_only):
    """Its pid is 1, which means another process here: that gets no signal."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    inside = twinfs.with_index(twinfs.index)
    inside.wrapped = ["unshare", "--pid", "--fork", "--kill-child"]
    with inside.mounted_in_foreground(source) as (_, view):
        assert view.status()["pid"] == 1
        with reading_events(view):
            result, trace = twinfs.traced("unmount", view.path, calls="pidfd_send_signal",
                                          flags=["-e", "inject=pidfd_send_signal:retval=0"])
            assert result.status == 1 and "in use by 'tail'" in result.errors[0], result
            assert b"pidfd_send_signal(" not in trace
        assert unmount(twinfs, view.path) == []


def test_shell_in_a_view_is_named(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), "sh", "-c", 'cd "$0" && echo in && read line', view.uniques]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
            assert shell.stdout.readline() == b"in\n"
            [error] = unmount(program, view.path, status=1)
            assert f"'sh' (process {shell.pid}); cd out of it" in error
            shell.communicate(b"\n")


def test_unmount_in_a_shell_in_the_view_names_the_shell_alone(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), "sh", "-c",
                   'cd "$1" && "$0" unmount .; status=$?; cd /; read line; exit $status',
                   program.session.binary, view.uniques]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=program.environment, text=True) as shell:
            _, error = shell.communicate("\n")
            assert (shell.returncode, error.count("process")) == (1, 1), error
            assert f"'sh' (process {shell.pid}); cd out of it" in error
        assert is_mounted(view.path)


def test_unmount_whose_working_directory_is_in_the_view_does_not_use_it(program, tree):
    with program.mounted(tree) as view:
        command = [*program.as_user(), "sh", "-c", 'cd "$1" && exec "$0" unmount .',
                   program.session.binary, view.uniques]
        run = subprocess.run(command, check=False, env=program.environment, capture_output=True)
        assert (run.returncode, run.stderr) == (0, b"")
        assert has_ended(view) and not is_mounted(view.path)


def test_view_of_a_killed_daemon_is_unmounted(program, tree):
    with program.mounted(tree) as view:
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
        assert unmount(program, view.path) == []
        assert not is_mounted(view.path)


def mounted_with_a_default_index(program, tree, tmp_path):
    mount = tmp_path / "mount"
    mount.mkdir()
    if program.user:
        os.chown(mount, program.user.pw_uid, program.user.pw_gid)
    assert program("mount", "--wait", tree, mount, index=False).status == 0
    return mount


def test_killed_view_with_a_default_index_is_found_by_its_source(program, tree, tmp_path):
    mount = mounted_with_a_default_index(program, tree, tmp_path)
    status = program("status", "--json", mount).json[0]
    end_process(status["pid"], signal.SIGKILL)
    assert is_mounted(mount)
    unmount(program, tree)
    assert not is_mounted(mount)


def test_killed_view_with_an_index_elsewhere_is_named_for_its_source(twinfs, source):
    trees.fill(source, {b"a": b"same"})
    with twinfs.mounted(source) as view:
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
        [error] = unmount(twinfs, source, status=1)
        assert "does not answer" in error and f"'{view.path}'" in error
        assert is_mounted(view.path)


def test_view_of_a_stopped_daemon_is_unmounted_and_the_daemon_is_named(program, tree, tmp_path):
    mount = mounted_with_a_default_index(program, tree, tmp_path)
    pid = program("status", "--json", mount).json[0]["pid"]
    with stopped(pid):
        [error] = unmount(program, mount, status=3)
        assert "is stopped" in error and f"'kill -CONT {pid}'" in error
        assert not is_mounted(mount)
    assert wait_ended(pid)


def test_second_mount_of_a_view_is_named(twinfs, source, tmp_path, root_only):
    trees.fill(source, {b"a": b"same"})
    (tmp_path / "second").mkdir()
    with twinfs.mounted(source) as view:
        subprocess.run(["mount", "--bind", view.path, tmp_path / "second"], check=True)
        [error] = unmount(twinfs, view.path, status=3)
        assert "still mounted" in error and f"'{tmp_path / 'second'}'" in error
        assert unmount(twinfs, tmp_path / "second") == []
        assert has_ended(view)


def test_view_of_another_user_is_refused(twinfs, as_user, source, root_only):
    trees.fill(source, {b"a": b"same"})
    with twinfs.mounted(source) as view:
        [error] = unmount(as_user, view.path, status=1)
        assert "Operation not permitted" in error
        assert is_mounted(view.path)


def test_root_unmounts_the_view_of_another_user(twinfs, as_user, fuse_for_users, source, root_only):
    trees.fill(source, {b"a": b"same"})
    with as_user.mounted(source) as view:
        assert unmount(twinfs, view.path) == []
        assert not is_mounted(view.path)

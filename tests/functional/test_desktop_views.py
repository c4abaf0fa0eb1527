# SPDX-License-Identifier: MIT
"""The actions of file managers that mount and unmount views: Find equal files here, Stop showing
equal files. Also the file manager that asked, and all actions after a removal of the package."""
import configparser
import os
import shlex
import shutil
import signal
import subprocess
from xml.etree import ElementTree

import pytest
import trees
import walk
from processes import TIMEOUT, end_process
from program import View
from test_desktop_actions import ACTION, INSTALL, ODD, ROOT, Desk, said
from test_desktop_install import EVERY, Home

FIND, STOP = "find", "stop"
PROGRESS = """#!/bin/sh
case " $*" in *--progress*)
	printf '%s\\0' zenity "$@" >>{record}
	printf '\\n--\\n' >>{record}
	{shown}
esac
"""


@pytest.fixture
def desk(as_user, fuse_for_users, tmp_path):  # noqa: ARG001
    found = Desk(as_user, tmp_path)
    found.stand_in("zenity")
    found.stand_in("xdg-open")
    return found


@pytest.fixture
def photos(source):
    trees.fill(source, {b"Photos/one": b"same", b"Photos/sub/two": b"same",
                        b"Stick/one": b"same", b"Stick/other": b"other", b"Alone/file": b"alone"})
    return source


def mounts(desk):
    """The mount points that the actions made."""
    return sorted(path for path in walk.mount_points() if path.startswith(os.fsencode(desk.run)))


def left(desk):
    """The folders that the actions have made."""
    return sorted(os.listdir(desk.run / "twinfs"))


def opened(*folders):
    return [[b"xdg-open", os.fsencode(folder), b""] for folder in folders]


def view_named(desk, name):
    return desk.run / "twinfs" / f"Equal files in {name}"


def stop(desk, folder, name):
    [call] = desk.act(STOP, folder)
    assert b"--info" in call, call
    assert b"'Equal files in %s' is closed." % name.encode() in said(call)
    assert mounts(desk) == [] and left(desk) == [".lock"]


# find

def test_view_of_a_folder_is_mounted_and_opened_and_its_folder_removed_at_the_stop(desk, photos):
    view = view_named(desk, "Photos")
    assert desk.act(FIND, photos / "Photos") == opened(view)
    assert mounts(desk) == [os.fsencode(view)]
    assert View(desk.program, view, None).status()["groups"] == 1
    assert desk.act(FIND, photos / "Photos") == opened(view)
    assert desk.act(FIND, "Photos", cwd=photos) == opened(view)
    assert desk.act(FIND, cwd=photos / "Photos") == opened(view)  # as a script of Nautilus
    assert desk.act(FIND, photos / "Photos/sub") == opened(view)
    assert desk.act(FIND, view / "uniques") == opened(view)
    assert mounts(desk) == [os.fsencode(view)]
    stop(desk, photos / "Photos", "Photos")


def test_view_that_the_user_mounted_is_found_and_its_folder_stays_at_the_stop(desk, photos):
    with desk.program.mounted(photos) as view:
        assert desk.act(FIND, photos / "Photos") == opened(view.path)
        assert mounts(desk) == []
        [call] = desk.act(STOP, photos / "Photos")
        assert b"'mount' is closed." in said(call)
        assert not os.path.ismount(view.path) and view.path.is_dir()


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_folder_with_an_odd_name_is_shown_and_stopped(desk, source, name):
    trees.fill(source, {name + b"/one": b"same", name + b"/two": b"same"})
    [[program, view, _]] = desk.act(FIND, name, cwd=source)
    assert program == b"xdg-open" and view.startswith(os.fsencode(view_named(desk, "")))
    assert mounts(desk) == [view]
    [call] = desk.act(STOP, name, cwd=source)
    assert b"--info" in call and b"'%s' is closed." % view.rpartition(b"/")[2] in said(call)
    assert mounts(desk) == [] and left(desk) == [".lock"]


def test_folders_of_one_name_have_views_of_different_names(desk, source):
    long = "\u00e4" * 120  # a mount point with the whole name would be too long
    for folder in ("a/Photos", "b/Photos", f"a/{long}"):
        trees.fill(source, {f"{folder}/{name}".encode(): b"same" for name in ("one", "two")})
    assert desk.act(FIND, source / "a/Photos") == opened(view_named(desk, "Photos"))
    assert desk.act(FIND, source / "b/Photos") == opened(view_named(desk, "Photos (2)"))
    assert desk.act(FIND, source / "a" / long) == opened(view_named(desk, long[:75]))
    [call] = desk.act(STOP, source)  # as the mount point of a disk
    assert said(call).count(b"' is closed.") == 3
    assert mounts(desk) == [] and left(desk) == [".lock"]


def test_mount_point_below_a_symlink_is_found_again(desk, photos):
    real = desk.run.rename(desk.run.with_name("real"))
    desk.run.symlink_to(real)
    view = real / "twinfs/Equal files in Photos"
    assert desk.act(FIND, photos / "Photos") == opened(view)
    assert desk.act(FIND, photos / "Photos") == opened(view)
    [call] = desk.act(STOP, photos / "Photos")
    assert b"is closed." in said(call) and left(desk) == [".lock"]


def test_selected_folders_are_compared_with_each_other_in_one_view(desk, photos):
    view = view_named(desk, "Photos and 1 more")
    both = [photos / "Photos", photos / "Stick"]
    assert desk.act(FIND, *both) == opened(view)
    assert sorted(source["path"] for source in View(desk.program, view, None).status()["sources"]
                  ) == [str(folder) for folder in both]
    assert desk.act(FIND, *both) == opened(view)
    assert desk.act(FIND, photos / "Stick") == opened(view)
    stop(desk, photos / "Stick", "Photos and 1 more")


def test_folder_without_equal_files_gets_no_view(desk, photos):
    [call] = desk.act(FIND, photos / "Alone")
    assert b"--info" in call and b"No two files in 'Alone' are equal." in said(call)
    assert mounts(desk) == [] and left(desk) == [".lock"]


def test_files_that_cannot_be_read_are_counted(desk, photos):
    (photos / "Stick/one").chmod(0)
    *_, call = desk.act(FIND, photos / "Stick", photos / "Photos")
    assert b"Equal files in 'Stick' and 1 other folder can be missing, because 1 file or folder " \
        b"could not be read." in said(call), call
    stop(desk, photos / "Stick", "Stick and 1 more")
    (photos / "Alone/file").chmod(0)
    trees.write(photos / "Alone/equal", b"alone")
    [call] = desk.act(FIND, photos / "Alone")
    assert b"No equal files were found in 'Alone', but 1 file or folder could not be read." \
        in said(call), call


def test_view_that_cannot_be_mounted_is_explained_in_a_sentence(desk, photos):
    for selected, reason in ((photos / "Photos/one", b"'one' is not a folder. Select a folder."),
                             (photos / "gone", b"'gone' does not exist any more.")):
        [call] = desk.act(FIND, selected)
        assert b"--error" in call and reason in said(call)
    trees.write(desk.program.home / "state", b"")  # where the folder of the index would be
    [call] = desk.act(FIND, photos / "Photos")
    assert b"--text=The equal files in 'Photos' cannot be found: Not a directory." in call, call
    assert mounts(desk) == [] and left(desk) == [".lock"]
    trees.remove(desk.run / "twinfs")
    trees.write(desk.run / "twinfs", b"")
    [call] = desk.act(FIND, photos / "Photos")
    assert b"twinfs' cannot be made: File exists." in said(call), call


# stop

def test_view_is_stopped_from_any_folder_in_it_or_of_its_source(desk, photos):
    view = view_named(desk, "Photos")
    for folder in (view, view / "by-size", photos / "Photos/sub", photos):
        assert desk.act(FIND, photos / "Photos") == opened(view)
        stop(desk, folder, "Photos")
    desk.act(FIND, photos / "Photos")
    # the working directory of the file manager's child does not keep the view in use
    command = [*desk.program.as_user(), "sh", "-c", 'cd "$1" && exec "$2" stop by-size', "sh", view,
               desk.action]
    subprocess.run(command, check=True, env=desk.environment, timeout=TIMEOUT)
    assert mounts(desk) == []


def test_program_that_uses_the_view_is_named_once(desk, photos):
    desk.act(FIND, photos / "Photos")
    view = view_named(desk, "Photos")
    command = [*desk.program.as_user(), "sh", "-c", 'cd "$1" && echo && exec cat', "sh", view]
    with subprocess.Popen(command, env=desk.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as user, \
            subprocess.Popen(command, env=desk.environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) as second:
        user.stdout.readline()
        second.stdout.readline()
        [call] = desk.act(STOP, photos / "Photos")
        assert b"--error" in call
        assert b"in Photos' cannot be closed, because it is in use by 'cat'." in said(call)
        assert mounts(desk) == [os.fsencode(view)]
        user.stdin.close()
        second.stdin.close()
    stop(desk, photos / "Photos", "Photos")


def test_view_of_a_killed_daemon_is_stopped(desk, photos):
    desk.act(FIND, photos / "Photos")
    view = view_named(desk, "Photos")
    end_process(View(desk.program, view, None).status()["pid"], signal.SIGKILL)
    stop(desk, view, "Photos")


def test_stop_of_a_folder_that_is_not_shown_is_explained(desk, photos):
    [call] = desk.act(STOP, photos / "Photos")
    assert b"--error" in call and b"No equal files in 'Photos' are shown now." in said(call)


# progress

def answer_progress(desk, shown):
    """Has zenity do this while it shows progress."""
    desk.tests_progress = True
    desk.stand_in("zenity")
    path = desk.bin / "zenity"
    script = path.read_text().removeprefix("#!/bin/sh\n")
    path.write_text(PROGRESS.format(record=desk.record, shown=shown) + script)


def replace(desk, name, script):
    """Replaces a program by a script, in which $real is the program."""
    path = desk.bin / name
    real = os.readlink(path)
    path.unlink()
    path.write_text(f"#!/bin/sh\nreal={shlex.quote(real)}\n{script}\n")
    path.chmod(0o755)


def test_walk_shows_progress_and_can_be_cancelled(desk, photos, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    replace(desk, "twinfs", f'test "$1" != mount || read -r line <{fifo}\nexec "$real" "$@"')
    answer_progress(desk, f"echo >{fifo}; cat >/dev/null; exit")  # until twinfs-action closes it
    progress, call = desk.act(FIND, photos / "Photos")
    assert b"--text=Reading the names of the files in 'Photos' ..." in progress
    assert [call] == opened(view_named(desk, "Photos"))
    stop(desk, photos / "Photos", "Photos")

    shutil.rmtree(desk.bin / "twinfs", ignore_errors=True)
    (desk.bin / "twinfs").unlink()
    (desk.bin / "twinfs").symlink_to(desk.program.session.binary)
    replace(desk, "twinfs", f'test "$1" != mount || exec cat {fifo}\nexec "$real" "$@"')
    answer_progress(desk, "exit 1")
    [progress] = desk.act(FIND, photos / "Photos")
    assert b"--cancel-label=Cancel" in progress
    assert mounts(desk) == [] and left(desk) == [".lock"]


def test_view_is_opened_while_files_are_compared(desk, photos, tmp_path):
    ended = tmp_path / "ended"
    # whether the comparison has ended
    replace(desk, "grep", f'case "$*" in *walking*) test ! -e {ended}; exit ;; esac\n'
            'exec "$real" "$@"')
    answer_progress(desk, f"touch {ended}; cat >/dev/null; exit")
    calls = desk.act(FIND, photos / "Photos")
    assert sorted(call[0] for call in calls) == [b"xdg-open", b"zenity"]
    progress = next(call for call in calls if call[0] == b"zenity")
    assert any(word.startswith((b"--pulsate", b"--percentage=")) for word in progress)
    assert b"--cancel-label=Hide" in progress
    assert b"Comparing the files in 'Photos'." in said(progress)
    stop(desk, photos / "Photos", "Photos")


# the file manager that asked

@pytest.mark.parametrize("manager", ["thunar", "nautilus", "nemo", "caja", "dolphin", "pcmanfm"])
def test_file_manager_that_asked_opens_the_folder(desk, photos, manager):
    desk.stand_in(manager)
    desk.stand_in("gdbus")
    view = view_named(desk, "Photos")
    assert desk.act("--manager", manager, FIND, photos / "Photos") == [
        [manager.encode(), os.fsencode(view), b""]]
    group = folder_of_user(desk, view)
    assert desk.act("--manager", manager, "show-copies", photos / "Photos/one") == [
        [manager.encode(), group, b""]]
    [call] = desk.act("--manager", manager, "show-source", view / "uniques/one")
    services = {"thunar": b"org.xfce.Thunar", "nautilus": b"org.gnome.Nautilus",
                "nemo": b"org.Nemo"}
    if manager in services:
        assert call[0] == b"gdbus" and services[manager] in call
    else:
        assert call == [manager.encode(), os.fsencode(photos / "Photos") + b"/", b""]
    desk.stand_in(manager, status=1)  # it cannot open the folder
    assert desk.act("--manager", manager, FIND, photos / "Photos")[1:] == opened(view)
    (desk.bin / manager).unlink()
    assert desk.act("--manager", manager, FIND, photos / "Photos") == opened(view)
    stop(desk, photos / "Photos", "Photos")


def folder_of_user(desk, view):
    """The only group of the view, which root cannot read."""
    names = subprocess.run([*desk.program.as_user(), "ls", view / "dups"], check=True,
                           capture_output=True, timeout=TIMEOUT).stdout.split()
    assert len(names) == 1
    return os.fsencode(view / "dups") + b"/" + names[0]


# after an installation, and after a removal of the package

def test_installed_scripts_work_without_the_source_tree(desk, photos, tmp_path):
    home, place = Home(tmp_path), tmp_path / "tree"
    script, action = (place / path.relative_to(ROOT) for path in (INSTALL, ACTION))
    for path in (script, action):
        path.parent.mkdir(parents=True)
        shutil.copy(ROOT / path.relative_to(place), path)
    home.install(*EVERY, script=script)
    shutil.rmtree(place)
    with desk.program.mounted(photos / "Photos") as view:
        for folder in (home.data / "nautilus", home.data / "nemo", home.config / "caja"):
            desk.action = folder / "scripts/Show copies"
            assert desk.act("./one", cwd=photos / "Photos") == opened(
                os.fsdecode(folder_of_user(desk, view.path)))


def commands_of(home):
    """The command of each installed action, as words for subprocess.run, and the program without
    which the file manager hides it, if it can hide actions."""
    found = []
    for path, text in home.everything().items():
        if path == home.uca:
            commands = [action.findtext("command") for action in ElementTree.fromstring(text)]
            found += [(["sh", "-c", command.replace("%F", "/").replace("%%", "%")], None)
                      for command in commands]
        elif path.parent.name == "scripts":
            found.append(([str(path), "/"], None))
        elif path.suffix in (".desktop", ".nemo_action"):
            entry = configparser.RawConfigParser(delimiters="=")
            entry.read_string(text.decode())
            parts = [dict(part) for part in entry.values()]
            [shown] = [part.get("tryexec") or part["dependencies"]
                       for part in parts if "tryexec" in part or "dependencies" in part]
            found += [(["sh", "-c", part["exec"].replace("\\\\", "\\").replace("%F", "/")
                        .replace("%U", "file:///").replace("%%", "%")], shown)
                      for part in parts if "exec" in part]
    return found


@pytest.mark.parametrize("from_package", [True, False])
def test_actions_are_silent_or_hidden_after_a_removal_of_the_package(desk, tmp_path, from_package):
    home = Home(tmp_path)
    place = tmp_path / "share"
    place.mkdir()
    script, action = shutil.copy(INSTALL, place), shutil.copy(ACTION, place)
    home.environment["PATH"] = f"{desk.bin}:{home.environment['PATH']}"
    home.install(*EVERY, script=script if from_package else INSTALL)
    program = home.data / "twinfs/twinfs-action"
    assert program.is_symlink() == from_package
    commands = commands_of(home)
    assert len(commands) == 7 + 3 * 7 + 3 * 7
    assert sorted(str(shown) for _, shown in commands) == ["None"] * 28 + ["twinfs"] * 21
    os.unlink(action)  # what a removal of the package removes
    os.unlink(desk.bin / "twinfs")
    for command, shown in commands:
        run = subprocess.run(command, env=desk.environment, check=False, timeout=TIMEOUT,
                             capture_output=True)
        if program.exists() or not shown:
            assert (run.returncode, run.stdout, run.stderr) == (0, b"", b""), (command, run)
    assert desk.record.read_bytes() == b""


def test_action_of_an_upgraded_package_is_the_new_one(tmp_path):
    home = Home(tmp_path)
    place = tmp_path / "share"
    place.mkdir()
    script, action = shutil.copy(INSTALL, place), shutil.copy(ACTION, place)
    home.install("--for=Nautilus", script=INSTALL)  # of a source tree
    home.install("--for=Nautilus", script=script)
    with open(action, "w", encoding="utf-8") as file:
        file.write("new\n")
    assert (home.data / "twinfs/twinfs-action").read_text() == "new\n"
    home.install("--for=Nautilus", script=INSTALL)
    assert (home.data / "twinfs/twinfs-action").read_text() != "new\n"
    with open(action, encoding="utf-8") as file:
        assert file.read() == "new\n"  # a copy does not replace the file of the package
    home.install("--remove")
    assert home.everything() == {}

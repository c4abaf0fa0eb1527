# SPDX-License-Identifier: MIT
"""Obstacles to a view are named with a remedy: by `mount`, in one line and before it indexes
anything, and by `doctor`, which does not mount.

Each obstacle exists in namespaces of its own only.
"""
import os
import shutil
import signal
import subprocess
import sys

import pytest
import trees
from processes import end_process, stopped
from program import Program, as_user_words

NFS, UNKNOWN = 0x6969, 0x12345678  # file system types

# A /dev with nothing but /dev/null.
BARE_DEV = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3"
OPEN_DEV = f"{BARE_DEV} && mknod -m 666 /dev/fuse c 10 229"
FOR_ALL = ["/usr/bin/fusermount3", "/usr/local/bin/fusermount3"]


def instead_of_fusermount(path):
    return " && ".join([OPEN_DEV, *(f"mount --bind {path} {place}" for place in FOR_ALL
                                    if os.path.exists(place))])


@pytest.fixture
def namespaced(session, tmp_path, root_only):
    """Returns a function that makes a program in a mount namespace changed by a shell command."""
    def make(setup, user=None, words=()):
        program = Program(session, tmp_path)
        if user:
            for folder in (tmp_path, program.home):
                os.chown(folder, user.pw_uid, user.pw_gid)
        program.wrapped = ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                           "--mount-proc", "sh", "-c", f'{setup} && exec "$@"', "sh", *words,
                           *(as_user_words(user) if user else ())]
        return program
    return make


@pytest.fixture
def mount(mount):
    """A mount point that every user may write to."""
    mount.chmod(0o777)
    return mount


def examine(twinfs, *words):
    """Runs doctor; returns {(about, check): check}. Asserts that each note and problem has a
    remedy, and that only problems change the exit status."""
    result = twinfs("doctor", "--format=json", *words)
    assert result.error == b"", result
    checks = result.json["checks"]
    assert all(bool(check.get("remedy")) == (check["verdict"] != "ok") for check in checks)
    assert result.json["problems"] == sum(check["verdict"] == "problem" for check in checks)
    assert result.json["notes"] == sum(check["verdict"] == "note" for check in checks)
    assert result.status == (3 if result.json["problems"] else 0)
    return {(check["about"], check["check"]): check for check in checks}


# obstacles to every mount

def obstacle(name, source, folder):
    """(setup, whether for a plain user, words before the program, cause, remedy) of an obstacle."""
    empty = folder / "empty"
    plain = folder / "plain"
    empty.touch()
    helper = shutil.which("fusermount3")
    if helper:
        shutil.copyfile(helper, plain)
        plain.chmod(0o755)
    no_device = f"mount -t tmpfs -o nodev none {folder} && mknod -m 666 {folder}/fuse c 10 229"
    return {
        "no device": (BARE_DEV, False, (), "/dev/fuse does not exist", "modprobe fuse"),
        "no device for a user": (BARE_DEV, True, (), "/dev/fuse does not exist",
                                 "--device /dev/fuse --cap-add SYS_ADMIN"),
        "no driver": (f"{BARE_DEV} && mknod -m 666 /dev/fuse c 4000 1", False, (),
                      "has no FUSE behind /dev/fuse", "modprobe fuse"),
        "device refused": (f"{BARE_DEV} && mknod -m 600 /dev/fuse c 10 229", True, (),
                           "this user may not open /dev/fuse", "chmod 666 /dev/fuse"),
        "device forbidden": (f"{no_device} && mount --bind {folder}/fuse /dev/fuse", False, (),
                             "no user may open /dev/fuse", "--device /dev/fuse"),
        "not permitted": (OPEN_DEV, True, ("setpriv", "--bounding-set=-sys_admin", "--"),
                          "mounting is not permitted", "--cap-add SYS_ADMIN"),
        "not permitted to root": (OPEN_DEV, False, ("setpriv", "--bounding-set=-sys_admin", "--"),
                                  "mounting is not permitted", "--cap-add SYS_ADMIN"),
        "no new rights": (OPEN_DEV, True, ("setpriv", "--no-new-privs", "--"),
                          "no_new_privs", "NoNewPrivileges=no"),
        "no fusermount3": (instead_of_fusermount(empty), True, (),
                           "fusermount3 is missing", "apt install fuse3"),
        "fusermount3 without rights": (instead_of_fusermount(plain), True, (),
                                       "fusermount3 is not set-user-ID root",
                                       "apt install --reinstall fuse3"),
        "no table of mounts": (f"{OPEN_DEV} && mount -t tmpfs -o mode=755 none {folder} && "
                               f"cp -a /etc/. {folder} && rm -f {folder}/mtab && "
                               f"mount --bind {folder} /etc", True, (),
                               "fusermount3 cannot unmount",
                               "ln -s ../proc/self/mounts /etc/mtab"),
    }[name]


@pytest.mark.parametrize("name", [
    "no device", "no device for a user", "no driver", "device refused", "device forbidden",
    "not permitted", "not permitted to root", "no new rights", "no fusermount3",
    "fusermount3 without rights", "no table of mounts"])
def test_obstacle_is_named_with_its_remedy(namespaced, source, mount, scratch, plain_user, name):
    if not shutil.which("fusermount3"):
        pytest.skip("needs fusermount3")
    folder = scratch / name.replace(" ", "-")
    folder.mkdir()
    setup, is_plain, words, cause, remedy = obstacle(name, source, folder)
    program = namespaced(setup, plain_user if is_plain else None, words)
    # no other fusermount3 is found
    program.environment["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    trees.small(source)
    result = program("mount", source, mount)
    assert result.status == 1
    [line] = result.errors
    assert str(mount) in line and cause in line and remedy in line and "twinfs doctor" in line
    assert not program.index.exists()
    found = examine(program)
    [problem] = [check for check in found.values() if check["verdict"] == "problem"]
    if is_plain:  # such a user needs no command for root
        said = [line, *(check.get("remedy", "") for check in found.values())]
        assert not any("as root" in words for words in said), said
    assert cause in problem["found"] and remedy in problem["remedy"]
    text = program("doctor").out.decode()
    assert problem["found"] in text and problem["remedy"] in text


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_mount_point_that_fusermount_would_refuse_is_named(
        namespaced, source, tmp_path, plain_user, mode):
    if not shutil.which("fusermount3"):
        pytest.skip("needs fusermount3")
    program = namespaced(OPEN_DEV, plain_user)
    trees.small(source)
    others = tmp_path / "others"
    others.mkdir()
    others.chmod(mode)
    result = program("mount", source, others)
    assert result.status == 1
    [line] = result.errors
    assert str(others) in line and line.endswith("choose a folder of your own")
    assert not program.index.exists()
    problem = examine(program, source, others)["mount point", "mount point"]
    assert "you own and may write to" in problem["found"]


def test_user_who_may_mount_has_no_problem(namespaced, source, mount, plain_user):
    if not shutil.which("fusermount3"):
        pytest.skip("needs fusermount3")
    program = namespaced(OPEN_DEV, plain_user)
    os.chown(source, plain_user.pw_uid, -1)
    os.chown(mount, plain_user.pw_uid, -1)
    found = examine(program, source, mount)
    assert "fusermount3, set-uid root" in found["machine", "mounting"]["found"]
    assert found["mount point", "mount point"]["verdict"] == "ok"
    assert not program.index.exists()


# limits

FOLDERS = 12


def folders_in(source):
    """Makes FOLDERS folders with a file in each."""
    trees.many(source, FOLDERS, lambda number: b"%d" % number, folders=FOLDERS)
    return sorted(source.iterdir())


def test_low_limit_of_open_files_is_named_with_its_remedy(twinfs, source, mount, plain_build):
    prlimit = shutil.which("prlimit")
    if not prlimit:
        pytest.skip("needs prlimit")
    trees.small(source)
    twinfs.wrapped = [prlimit, "--nofile=8", "--"]
    result = twinfs("scan", source)
    assert result.status == 1
    assert "open files is too low" in result.errors[0] and "ulimit -n" in result.errors[0]
    twinfs.wrapped = [prlimit, "--nofile=32", "--"]
    problem = examine(twinfs)["machine", "open files"]
    assert "LimitNOFILE=" in problem["remedy"]


HOLD = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
inotify = libc.inotify_init()
for folder in sys.argv[1].encode().split(b":"):
    assert libc.inotify_add_watch(inotify, folder, 2) > 0
os.execv(sys.argv[2], sys.argv[2:])
"""
FEW = 'echo 10 >/proc/sys/user/max_inotify_watches && ' \
      'echo 1 >/proc/sys/user/max_inotify_instances && exec "$@"'


def test_limiting_setting_of_watches_is_named(twinfs, source):
    """The limit of the user namespace counts, and watches in use are subtracted."""
    folders = folders_in(source)
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
              "--mount-proc", "sh", "-c", FEW, "sh"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    watched = ":".join(str(folder) for folder in folders[:3])
    twinfs.wrapped = [*inside, sys.executable, "-c", HOLD, watched]
    found = examine(twinfs, source)
    assert found["machine", "watches"]["found"] == "7 more directories can be watched, of 10"
    assert found["machine", "watches"]["remedy"].startswith(
        "as root: sysctl user.max_inotify_watches=")
    assert found["machine", "instances"]["found"].startswith("1 of 1 ")
    assert "sysctl user.max_inotify_instances=" in found["machine", "instances"]["remedy"]
    size = found["source", "size"]
    assert size["verdict"] == "note" and "no more than 7 can be watched" in size["found"]
    assert size["remedy"] == "as root: sysctl user.max_inotify_watches=65536"


def test_source_with_enough_watches_needs_no_remedy(twinfs, source):
    folders_in(source)
    found = examine(twinfs, source)
    assert found["source", "size"]["found"] == "12 files in 13 directories"
    assert found["source", "size"]["verdict"] == "ok"


# sources

@pytest.mark.parametrize("number, verdict, words", [
    (NFS, "note", "remote"), (UNKNOWN, "ok", "can be coarse")])
def test_remote_or_unknown_file_system_is_named(
        twinfs, source, take_filesystem_for, number, verdict, words):
    take_filesystem_for(number)
    trees.small(source)
    found = examine(twinfs, source)
    assert found["source", "file system"]["verdict"] == verdict
    assert words in found["source", "file system"]["found"]
    assert found["index", "file system"]["verdict"] == ("problem" if number == NFS else "ok")


def test_mount_in_a_source_is_named(namespaced, source):
    trees.fill(source, {b"a": b"a", b"in/b": b"b"})
    inner = source / "in"
    program = namespaced(f"mount -t tmpfs none {inner} && touch {inner}/c {inner}/d")
    found = examine(program, source)
    assert str(inner) in found["source", "mounts"]["found"]
    assert "--cross-file-systems" in found["source", "mounts"]["remedy"]
    assert found["source", "size"]["found"] == "1 file in 1 directory"


def test_files_of_other_users_and_unreadable_folders_are_named(as_user, source, root_only):
    trees.fill(source, {b"a": b"a", b"closed/b": b"b"})
    os.chmod(source / "closed", 0o700)
    found = examine(as_user, source)
    assert found["source", "owners"]["found"].startswith("1 of 1 files ")
    assert found["source", "readable"]["found"].startswith("1 of its directories ")
    os.chmod(source, 0o700)
    found = examine(as_user, source)
    assert found["source", "readable"]["verdict"] == "problem"
    assert "Permission denied" in found["source", "readable"]["found"]


# the index

def test_index_folder_is_examined_and_not_created(twinfs, source):
    trees.small(source)
    found = examine(twinfs, source)
    assert found["index", "rights"]["path"] == str(twinfs.index)
    assert found["index", "rights"]["verdict"] == found["index", "room"]["verdict"] == "ok"
    assert not twinfs.index.exists()
    twinfs.index.mkdir()
    twinfs.index.chmod(0o755)
    assert examine(twinfs, source)["index", "rights"]["remedy"].startswith("chmod 700 ")


def test_index_folder_of_another_user_is_named(as_user, source, root_only):
    as_user.index.mkdir()
    assert examine(as_user, source)["index", "rights"]["verdict"] == "problem"
    found = examine(as_user.with_index("/proc/1/index"), source)
    assert found["index", "rights"]["verdict"] == "problem"


def test_too_little_room_for_an_index_is_named(namespaced, source):
    trees.small(source)
    program = namespaced("true")
    program.index.mkdir()
    program.wrapped = namespaced(f"mount -t tmpfs -o size=256k none {program.index}").wrapped
    room = examine(program, source)["index", "room"]
    assert room["verdict"] == "problem" and "--index=DIR" in room["remedy"]


# mount points

def test_doctor_and_mount_agree_on_a_mount_point(twinfs, source, mount, tmp_path):
    trees.small(source)
    assert examine(twinfs, source, mount)["mount point", "mount point"]["verdict"] == "ok"
    (mount / "file").touch()
    for words, cause in ((("-m", mount), "is not empty"), (("-m", mount / "file"), "not a folder"),
                         ((mount / "none",), "does not exist")):
        problem = examine(twinfs, source, *words)["mount point", "mount point"]
        assert problem["verdict"] == "problem" and cause in problem["found"]
        result = twinfs("mount", source, words[-1])
        assert result.status == 1 and problem["remedy"] in result.errors[0], result
    # without -m an operand may be a source
    assert ("source", "size") in examine(twinfs, mount)


def test_advice_of_a_view_is_shown(twinfs, source, mount, tmp_path):
    trees.small(source)
    inner = source / "inner"
    inner.mkdir()
    with twinfs.mounted(source, at=mount) as view:
        result = twinfs("doctor", "-F", "json", view.path)
        checks = [check for check in result.json["checks"] if check["about"] == "mount point"]
        assert checks[0]["verdict"] == "ok" and "current" in checks[0]["found"]
        assert [check["remedy"] for check in checks[1:]] == view.status()["advice"]
        found = examine(twinfs, inner)
        assert str(mount) in found["mount point", "mount point"]["found"]
        assert "outside" in found["mount point", "mount point"]["remedy"]
        found = examine(twinfs, view.dups)
        assert "is inside a mounted view" in found["mount point", "mount point"]["found"]


def test_doctor_does_not_wait_for_a_stopped_daemon(twinfs, source, mount):
    trees.small(source)
    with twinfs.mounted(source, at=mount) as view, stopped(view.pid):
        problem = examine(twinfs, mount)["source", "readable"]
        assert problem["verdict"] == "problem" and "does not answer" in problem["found"]


def test_dead_view_is_named_and_left_alone(twinfs, source, mount):
    trees.small(source)
    with twinfs.mounted(source, at=mount) as view:
        end_process(view.pid, signal.SIGKILL)
        view.pid = None
        for _ in range(2):
            problem = examine(twinfs, mount)["mount point", "mount point"]
            assert "mount of a killed twinfs" in problem["found"]
            assert "mount again" in problem["remedy"]


def test_text_has_a_line_for_each_check_and_for_each_remedy(twinfs, source, mount):
    (mount / "file").touch()
    words = ("-m", mount, source)
    checks = twinfs("doctor", "-F", "json", *words).json["checks"]
    lines = twinfs("doctor", *words).out.decode().splitlines()
    for check in checks:
        # other processes change these numbers
        numbers = check["check"] in ("instances", "watches", "room")
        assert any(line.split()[0] == check["verdict"] and check["check"] in line and
                   (numbers or line.endswith(check["found"])) for line in lines)
    remedies = [check["remedy"] for check in checks if "remedy" in check]
    assert remedies
    assert [line.split("remedy:")[1].strip() for line in lines if "remedy:" in line] == remedies
    assert "problem" in lines[-1]

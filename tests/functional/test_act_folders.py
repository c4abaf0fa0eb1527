# SPDX-License-Identifier: MIT
"""Acts in folders in which names can be created and not removed, moves into a source, and
changes of folders and files during an act."""
import os
import shutil
import subprocess
from pathlib import Path

import folder_acts
import pytest
from disks import disk
from processes import until
from test_act import copies, everything, refusal


def check_nothing_left(twinfs, source, before):
    assert everything(source) == before
    assert (twinfs.index / "acts").stat().st_size == 0


@pytest.mark.parametrize("words", [("link",), ("link", "--symbolic")], ids=" ".join)
def test_link_in_an_append_only_folder_creates_no_name(twinfs, source, root_only, words):
    """A folder in which names can be created and never removed."""
    _, copy = copies(source, 2)
    folder = source / "folder"
    folder.mkdir()
    copy.rename(folder / "copy")
    before = everything(source)
    if subprocess.run(["chattr", "+a", folder], check=False).returncode != 0:
        pytest.skip("this file system has no such flag")
    try:
        for _ in range(2):
            refusal(twinfs(*words, "--yes", source), folder / "copy", "append-only")
            check_nothing_left(twinfs, source, before)
    finally:
        subprocess.run(["chattr", "-a", folder], check=True)
    twinfs.ok(*words, "--yes", source)


def test_link_to_a_file_of_another_user_in_a_sticky_folder_creates_no_name(
        as_user, source, root_only):
    """The plain user could create such a link, and not remove it."""
    kept, copy = copies(source, 2)
    folder = source / "sticky"
    folder.mkdir()
    folder.chmod(0o1777)
    copy.rename(folder / "copy")
    os.chown(folder / "copy", as_user.user.pw_uid, as_user.user.pw_gid)
    kept.chmod(0o666)
    source.chmod(0o755)
    before = everything(source)
    for _ in range(2):
        refusal(as_user("link", "--yes", "--without-leases", "--force-metadata", source),
                folder / "copy", "sticky")
        check_nothing_left(as_user, source, before)


def test_link_by_root_without_fowner_in_a_sticky_folder_creates_no_name(twinfs, plain_user, source,
                                                                        root_only):
    """Root of a container can lack this capability."""
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    kept, copy = copies(source, 2)
    source.chmod(0o1777)
    for path in (source, kept, copy):
        os.chown(path, plain_user.pw_uid, plain_user.pw_gid)
    before = everything(source)
    twinfs.ok("scan", source)
    twinfs.wrapped = ["setpriv", "--bounding-set=-fowner", "--inh-caps=-fowner"]
    for words, cause in ((["link"], "sticky"), (["link", "--symbolic"], "not permitted")):
        refusal(twinfs(*words, "--yes", "--without-leases", "--force-metadata", source),
                copy, cause)
        check_nothing_left(twinfs, source, before)


def test_move_to_an_append_only_folder_of_another_disk_creates_no_name(twinfs, source, tmp_path,
                                                                       root_only):
    _, copy = copies(source, 2)
    with disk("ext4", tmp_path) as other:
        folder = other / "folder"
        folder.mkdir()
        subprocess.run(["chattr", "+a", folder], check=True)
        for _ in range(2):
            assert twinfs("move", "--yes", source, folder).status == 3
            assert copy.exists() and everything(folder) == set()
        subprocess.run(["chattr", "-a", folder], check=True)


@pytest.mark.parametrize("bound, destination", [(".", "."), ("folder", "."), (".", "below"),
                                                ("folder", "below")])
def test_copies_are_not_moved_into_a_source_by_another_mount(twinfs, source, tmp_path, root_only,
                                                             bound, destination):
    copies(source, 2)
    (source / "folder/below").mkdir(parents=True)
    (source / "below").mkdir()
    before = everything(source)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", source / bound, mounted], check=True)
    try:
        result = twinfs("move", "--yes", source, mounted / destination)
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert result.status == 1
    assert "cannot move copies to" in result.error.decode()
    assert everything(source) == before


def test_copies_are_not_moved_above_a_source_by_another_mount(twinfs, source, tmp_path, root_only):
    copies(source, 2)
    before = everything(source)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "--bind", source.parent, mounted], check=True)
    try:
        result = twinfs("move", "--yes", source, mounted)
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert result.status == 1
    assert everything(source) == before


def test_copies_are_moved_to_another_folder_of_a_bound_file_system(twinfs, source, tmp_path,
                                                                   root_only):
    _, copy = copies(source, 2)
    folder, mounted = tmp_path / "folder", tmp_path / "mounted"
    folder.mkdir()
    mounted.mkdir()
    subprocess.run(["mount", "--bind", folder, mounted], check=True)
    try:
        twinfs.ok("move", "--yes", source, mounted)
        assert (mounted / copy.name).exists() and not copy.exists()
    finally:
        subprocess.run(["umount", mounted], check=True)


# changes during an act

ACTS = {"remove": ("remove",), "link": ("link",), "link -s": ("link", "--symbolic"),
        "trash": ("remove", "--trash")}


@pytest.fixture
def apart(source):
    """A kept file and a copy in folders of their own."""
    kept, copy = copies(source, 2)
    for folder, file in (("a", kept), ("b", copy)):
        (source / folder).mkdir()
        file.rename(source / folder / "file")
    return source


def act_while(twinfs, source, words, change, status=3, **where):
    """Calls change() when the act is about to make the first call that changes a folder, or
    elsewhere."""
    twinfs.ok("scan", source)
    ended, error = folder_acts.act_while(twinfs, [*words, "--yes", source], change,
                                         **{"call": "renameat2,linkat,symlinkat"} | where)
    assert ended == status, error
    return error


@pytest.mark.parametrize("moved", ["a", "b", "."], ids=["kept", "copy", "source"])
@pytest.mark.parametrize("act", ACTS)
def test_act_keeps_both_files_if_a_folder_is_moved_meanwhile(twinfs, apart, tmp_path, strace, act,
                                                             moved):
    """Open files move along with the folder, and their old paths do not exist any more."""
    away = tmp_path / "away"
    act_while(twinfs, apart, ACTS[act], lambda: os.rename(apart / moved, away))
    found = sorted(path.name for root in (apart, away) if root.exists()
                   for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    assert found == ["file", "file"]
    assert (twinfs.index / "acts").stat().st_size == 0


def make_private(path):
    path.chmod(0o600)


def tag(path):
    os.setxattr(path, "user.tag", b"mine")


@pytest.mark.parametrize("change", [make_private, tag])
@pytest.mark.parametrize("act", ["link", "link -s"])
def test_link_is_refused_if_metadata_changed_during_the_comparison(twinfs, apart, strace, act,
                                                                   change):
    kept, copy = apart / "a/file", apart / "b/file"
    before = kept.stat().st_mode, os.listxattr(kept)
    error = act_while(twinfs, apart, ACTS[act], lambda: change(copy), call="pread64",
                      flags=("-P", copy))
    assert copy.is_file() and not copy.is_symlink() and copy.stat().st_nlink == 1
    assert (copy.stat().st_mode, os.listxattr(copy)) != before
    assert (kept.stat().st_mode, os.listxattr(kept)) == before
    assert "--force-metadata" in error
    assert (twinfs.index / "acts").stat().st_size == 0


def is_waited_for(path):
    """Whether a program waits for the lease that the act has on this file."""
    number = f":{path.stat().st_ino} "
    return any(" BREAKING " in line and number in line
               for line in Path("/proc/locks").read_text().splitlines())


@pytest.mark.parametrize("opened", ["a", "b"], ids=["kept", "copy"])
@pytest.mark.parametrize("act", ["link", "link -s"])
def test_edit_during_a_link_is_at_the_path_that_was_opened(twinfs, apart, strace, act, opened):
    """The path of the copy is a link to the kept file already. A program that opens it waits until
    the act has confirmed the link."""
    kept, copy = apart / "a/file", apart / "b/file"
    writers = []

    def write():
        assert copy.samefile(kept)
        script = f'printf edit >>"{apart / opened / "file"}"'
        writers.append(subprocess.Popen(["sh", "-c", script]))
        assert until(lambda: is_waited_for(kept))

    act_while(twinfs, apart, ACTS[act], write, status=0, call="renameat2", after=True)
    assert writers[0].wait() == 0
    assert copy.samefile(kept) and copy.is_symlink() == (act == "link -s")
    assert copy.read_bytes().endswith(b"edit")
    assert sorted(os.listdir(apart / "b")) == ["file"]
    assert (twinfs.index / "acts").stat().st_size == 0


@pytest.mark.parametrize("act", ["link", "link -s"])
def test_link_is_undone_if_the_copy_was_opened_for_writing(twinfs, apart, strace, act):
    """The edit is in the opened file, which is at its path again."""
    kept, copy = apart / "a/file", apart / "b/file"
    before, writers = kept.read_bytes(), []

    def write():
        writers.append(subprocess.Popen(["sh", "-c", f'printf edit >>"{copy}"']))
        assert until(lambda: is_waited_for(copy))

    act_while(twinfs, apart, ACTS[act], write, call="linkat,symlinkat")
    assert writers[0].wait() == 0
    assert (kept.read_bytes(), copy.read_bytes()) == (before, before + b"edit")
    assert (twinfs.index / "acts").stat().st_size == 0

# SPDX-License-Identifier: MIT
"""Acts in folders in which a name can be made, but not removed again."""
import os
import subprocess

import pytest
from disks import disk
from test_act import copies, everything, refusal


def nothing_left_of_links(twinfs, source, before):
    assert everything(source) == before
    assert (twinfs.index / "acts").stat().st_size == 0


@pytest.mark.parametrize("words", [("link",), ("link", "--symbolic")], ids=" ".join)
def test_link_in_an_append_only_folder_makes_no_name(twinfs, source, root_only, words):
    """Names can be made there, but never removed."""
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
            nothing_left_of_links(twinfs, source, before)
    finally:
        subprocess.run(["chattr", "-a", folder], check=True)
    twinfs.ok(*words, "--yes", source)


def test_link_to_the_file_of_another_user_in_a_sticky_folder_makes_no_name(as_user, source,
                                                                          root_only):
    """The plain user could make such a link, and not remove it."""
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
        nothing_left_of_links(as_user, source, before)


def test_move_to_an_append_only_folder_of_another_disk_makes_no_name(twinfs, source, tmp_path,
                                                                    root_only):
    _, copy = copies(source, 2)
    with disk("ext4", tmp_path) as other:
        folder = other / "folder"
        folder.mkdir()
        subprocess.run(["chattr", "+a", folder], check=True)
        for _ in range(2):
            assert twinfs("move", "--yes", folder, source).status == 3
            assert copy.exists() and everything(folder) == set()
        subprocess.run(["chattr", "-a", folder], check=True)

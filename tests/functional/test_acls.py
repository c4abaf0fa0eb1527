# SPDX-License-Identifier: MIT
"""ACLs: moved and restored files grant the rights of the original, whatever default ACL the
destination has. If the destination has no ACLs, the files grant no more than the original."""
import contextlib
import os
import stat
import struct
import subprocess

import backups
import pytest

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
OWNER, USER, GROUP, NAMED_GROUP, MASK, OTHERS = 1, 2, 4, 8, 16, 32
OTHER_USER = 1234567  # a user and a group that do not exist


def acl(group, named, mask, others, tag=USER):
    """An ACL in the format of the kernel, with one named user or group."""
    nobody = 0xffffffff
    entries = [(OWNER, 7, nobody), (USER, named, OTHER_USER), (GROUP, group, nobody),
               (NAMED_GROUP, named, OTHER_USER), (MASK, mask, nobody), (OTHERS, others, nobody)]
    wanted = [entry for entry in entries if entry[0] not in {USER, NAMED_GROUP} - {tag}]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in wanted)


def set_acl(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError:
        pytest.skip("this file system has no ACLs")


def acls(path):
    found = {}
    for name in (ACCESS, DEFAULT):
        with contextlib.suppress(OSError):
            found[name] = os.getxattr(path, name)
    return found


def rights(path):
    return stat.S_IMODE(path.stat().st_mode), acls(path)


@contextlib.contextmanager
def mounted(kind, folder):
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", kind, "none", folder], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def private(source):
    """A folder whose ACL keeps its owning group out, with a redundant copy in it."""
    (source / "a").mkdir()
    (source / "private").mkdir()
    for path in ("a/kept", "private/letter"):
        (source / path).write_bytes(b"same content")
        (source / path).chmod(0o644)
    folder = source / "private"
    folder.chmod(0o700)
    set_acl(folder, ACCESS, acl(group=0, named=5, mask=5, others=0))
    assert rights(folder)[0] == 0o750
    return folder


@pytest.fixture
def plain(private):
    """The folder of `private` without its ACL."""
    os.removexattr(private, ACCESS)
    private.chmod(0o750)
    assert acls(private) == {}
    return private


def move(twinfs, source, to):
    twinfs.ok("move", "--yes", source, to)
    assert (to / "private/letter").read_bytes() == b"same content"
    assert not (source / "private/letter").exists()


# ---- move ---------------------------------------------------------------------------------

@pytest.mark.parametrize("others", [0, 5])
def test_folder_of_moved_copies_has_the_acls_of_the_original(twinfs, source, private, tmp_path,
                                                             others):
    (tmp_path / "to").mkdir()
    set_acl(private, ACCESS, acl(group=1, named=5, mask=5, others=others))
    set_acl(private, DEFAULT, acl(group=4, named=7, mask=7, others=0))
    before = rights(private)
    move(twinfs, source, tmp_path / "to")
    assert rights(tmp_path / "to/private") == before
    assert acls(tmp_path / "to/private/letter") == {}


def test_folder_of_moved_copies_grants_no_more_without_acls(
        twinfs, source, private, tmp_path, root_only):
    with mounted("ramfs", tmp_path / "to") as to:
        move(twinfs, source, to)
        assert rights(to / "private") == (0o700, {})
        assert rights(to / "private/letter") == (0o644, {})


def test_copy_with_an_acl_is_not_moved_to_where_there_are_no_acls(twinfs, source, private, tmp_path,
                                                                  root_only):
    set_acl(private / "letter", ACCESS, acl(group=0, named=4, mask=4, others=0))
    with mounted("ramfs", tmp_path / "to") as to:
        result = twinfs("move", "--yes", source, to)
        assert result.status == 3, result
        assert (private / "letter").read_bytes() == b"same content"
        assert os.listdir(to) == []  # nor a folder that the move would have filled


@pytest.mark.parametrize("on", ["the same disk", "another disk"])
def test_moved_copies_do_not_inherit_the_default_acl(twinfs, source, plain, tmp_path, root_only,
                                                     on):
    file_before, folder_before = rights(plain / "letter"), rights(plain)
    with contextlib.ExitStack() as stack:
        to = tmp_path / "to"
        if on == "another disk":
            stack.enter_context(mounted("tmpfs", to))
        to.mkdir(exist_ok=True)
        set_acl(to, DEFAULT, acl(group=7, named=7, mask=7, others=7))
        move(twinfs, source, to)
        assert rights(to / "private") == folder_before
        assert rights(to / "private/letter") == file_before


def test_folder_of_moved_copies_is_private_if_its_owner_cannot_be_set(as_user, source, plain,
                                                                      tmp_path, root_only):
    user = as_user.user
    to = tmp_path / "to"
    to.mkdir()
    for path in (source, source / "a", source / "a/kept", plain / "letter", to):
        os.chown(path, user.pw_uid, user.pw_gid)
    os.chown(plain, 0, user.pw_gid)
    plain.chmod(0o770)
    set_acl(to, DEFAULT, acl(group=7, named=7, mask=7, others=7))
    move(as_user, source, to)
    assert rights(to / "private") == (0o700, {})


# ---- restore ------------------------------------------------------------------------------

@pytest.fixture
def backup(twinfs, source, private, tmp_path):
    """A backup of a folder and two files with ACLs; one file is in the manifest only."""
    for path in (source / "a/kept", private / "letter"):
        set_acl(path, ACCESS, acl(group=0, named=4, mask=4, others=4, tag=NAMED_GROUP))
        assert rights(path)[0] == 0o744
    set_acl(private, DEFAULT, acl(group=4, named=7, mask=7, others=0))
    return backups.make(twinfs, tmp_path, source)


def test_restored_names_have_their_acls_and_inherit_none(twinfs, source, backup, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    set_acl(target, DEFAULT, acl(group=7, named=7, mask=7, others=7))
    backups.restore(twinfs, backup, target)
    for path in ("", "a", "a/kept", "private", "private/letter"):
        assert rights(target / path) == rights(source / path), path


def test_restored_names_grant_no_more_without_acls(twinfs, source, backup, tmp_path, root_only):
    with mounted("ramfs", tmp_path / "target") as target:
        result = backups.restore(twinfs, backup, target, status=3)
        assert "attributes were" in result.error.decode()
        assert rights(target / "private") == (0o700, {})
        for path in ("a/kept", "private/letter"):
            assert (target / path).read_bytes() == b"same content"
            assert rights(target / path) == (0o704, {})

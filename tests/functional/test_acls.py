# SPDX-License-Identifier: MIT
"""ACLs: what restore makes lets in whom the original does, whatever the folder that it is
made in gives to new files, and nobody more where there can be no ACL."""
import contextlib
import os
import stat
import struct
import subprocess

import backups
import pytest

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
OWNER, USER, GROUP, NAMED_GROUP, MASK, OTHERS = 1, 2, 4, 8, 16, 32
SOMEBODY = 1234567  # a user and a group that nobody is


def acl(group, named, mask, others, tag=USER):
    """As the kernel has it: the owner may do all, one other user or group what is said."""
    nobody = 0xffffffff
    entries = [(OWNER, 7, nobody), (USER, named, SOMEBODY), (GROUP, group, nobody),
               (NAMED_GROUP, named, SOMEBODY), (MASK, mask, nobody), (OTHERS, others, nobody)]
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
    """A folder whose owning group an ACL keeps out, with a copy in it that goes."""
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


# ---- restore ------------------------------------------------------------------------------

@pytest.fixture
def backup(twinfs, source, private, tmp_path):
    """Of a folder and two files with ACLs, one of which has a name in the manifest alone."""
    for path in (source / "a/kept", private / "letter"):
        set_acl(path, ACCESS, acl(group=0, named=4, mask=4, others=4, tag=NAMED_GROUP))
        assert rights(path)[0] == 0o744
    set_acl(private, DEFAULT, acl(group=4, named=7, mask=7, others=0))
    return backups.make(twinfs, tmp_path, source)


def test_restored_names_have_their_acls_and_none_of_the_target(twinfs, source, backup, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    set_acl(target, DEFAULT, acl(group=7, named=7, mask=7, others=7))
    backups.restore(twinfs, backup, target)
    for path in ("", "a", "a/kept", "private", "private/letter"):
        assert rights(target / path) == rights(source / path), path


def test_restored_names_let_nobody_more_in_where_there_are_no_acls(twinfs, source, backup, tmp_path,
                                                                   root_only):
    with mounted("ramfs", tmp_path / "target") as target:
        result = backups.restore(twinfs, backup, target, status=3)
        assert "attributes were" in result.error.decode()
        assert rights(target / "private") == (0o700, {})
        for path in ("a/kept", "private/letter"):
            assert (target / path).read_bytes() == b"same content"
            assert rights(target / path) == (0o704, {})

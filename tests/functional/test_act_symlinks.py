# SPDX-License-Identifier: MIT
"""link --symbolic: each user who could read the copy can read it through the link."""
import os
import subprocess

import pytest
from test_act import copies


@pytest.mark.parametrize("other", ["owner", "group", "mode", "xattr", "acl"])
def test_symbolic_link_to_other_metadata_needs_force(twinfs, source, other, root_only):
    kept, copy = copies(source, 2)
    change = {"owner": lambda: os.chown(copy, 1, -1), "group": lambda: os.chown(copy, -1, 1),
              "mode": lambda: copy.chmod(0o600),
              "xattr": lambda: os.setxattr(copy, "user.kind", b"letter"),
              "acl": lambda: subprocess.run(["setfacl", "-m", "u:1:-", copy], check=True)}
    change[other]()
    result = twinfs("link", "--symbolic", "--yes", source)
    assert result.status == 3
    assert "--force-metadata" in result.errors[-1]
    assert not copy.is_symlink()
    twinfs.ok("link", "--symbolic", "--yes", "--force-metadata", source)
    assert os.path.samefile(kept, copy)
    assert copy.is_symlink()


# Changes of the folders a (of the kept file) and b (of the copy), and whether a link is permitted.
REACHES = {
    "both open": (lambda a, b: None, True),
    "kept one of its owner": (lambda a, b: a.chmod(0o700), False),
    "both of one owner": (lambda a, b: (a.chmod(0o700), b.chmod(0o700)), True),
    "of two owners": (lambda a, b: (a.chmod(0o700), b.chmod(0o700), os.chown(b, 1001, -1)), False),
    "of two groups": (lambda a, b: (a.chmod(0o710), b.chmod(0o710), os.chown(b, -1, 1001)), False),
    "kept one more open": (lambda a, b: (a.chmod(0o710), b.chmod(0o700)), True),
    "kept one less open": (lambda a, b: (a.chmod(0o710), b.chmod(0o711)), False),
    "kept out by its group": (lambda a, b: a.chmod(0o701), False),
    "kept out by an ACL": (
        lambda a, b: subprocess.run(["setfacl", "-m", "u:1001:-", a], check=True), False),
    "let in by an ACL": (
        lambda a, b: (a.chmod(0o700), b.chmod(0o700),
                      subprocess.run(["setfacl", "-m", "u:1001:x", b], check=True)), False),
    "one ACL on both": (
        lambda a, b: (subprocess.run(["setfacl", "-m", "u:1001:-", a, b], check=True)), True),
    "link in a sticky folder of another user": (
        lambda a, b: (b.chmod(0o1777), os.chown(b, 1001, -1)), False),
    "link in a sticky folder": (lambda a, b: b.chmod(0o1777), True),
}


@pytest.mark.parametrize("name", REACHES)
def test_symbolic_link_needs_a_kept_file_that_no_fewer_users_reach(twinfs, source, name, root_only):
    kept, copy = source / "a/in/kept", source / "b/in/copy"
    for path in (kept, copy):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"content")
    change, allowed = REACHES[name]
    change(source / "a", source / "b")
    # the rights of the directory that contains the file and of all directories above it count
    if name.startswith("link in"):
        change(source / "a/in", source / "b/in")
    result = twinfs("link", "--symbolic", "--yes", source)
    assert result.status == (0 if allowed else 3), result
    assert copy.is_symlink() == allowed
    assert any("--force-metadata" in line for line in result.errors) != allowed
    twinfs.ok("link", "--symbolic", "--force-metadata", "--yes", source)
    assert os.path.samefile(kept, copy)


def test_no_symbolic_link_is_made_where_its_target_cannot_be_read(twinfs, source, strace):
    """sshfs of Debian 12 lets nobody read an absolute target."""
    _, copy = copies(source, 2)
    before = copy.stat()
    result, _ = twinfs.traced("link", "--symbolic", "--yes", source, calls="trace=readlinkat",
                              flags=["-e", "inject=readlinkat:error=EPERM"])
    assert result.status == 3 and b"Operation not supported" in result.error, result
    assert os.path.samestat(copy.lstat(), before) and len(list(source.iterdir())) == 2


def test_link_whose_target_cannot_be_read_is_removed_after_a_kill(twinfs, source, strace):
    _, copy = copies(source, 2)
    before = copy.stat()
    hidden = ["-e", "inject=readlinkat:error=EPERM"]
    for number in range(1, 20):
        twinfs.traced("link", "--symbolic", "--yes", source, calls="trace=readlinkat,unlinkat",
                      flags=[*hidden, "-e", f"inject=unlinkat:signal=KILL:when={number}"])
        if any(path.is_symlink() for path in source.iterdir()):
            break
    else:
        raise AssertionError("no kill left the link")
    result, _ = twinfs.traced("recover", calls="trace=readlinkat", flags=hidden)
    assert result.status == 0 and b"another file" not in result.error, result
    assert os.path.samestat(copy.lstat(), before) and len(list(source.iterdir())) == 2

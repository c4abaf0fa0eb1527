# SPDX-License-Identifier: MIT
"""undo: takes no content from a file that another user could have forged."""
import contextlib
import os

import pytest
from disks import disk
from test_act import copies
from test_act_log import act_words, records
from test_undo import metadata


def rewrite(path):
    with path.open("r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(data)


@pytest.mark.parametrize("kind", ["remove", "symlink", "move across"])
def test_content_that_another_user_could_have_forged_is_not_used(twinfs, source, tmp_path, kind,
                                                                 root_only):
    """The hash is no proof against a user who can write to the file."""
    with contextlib.ExitStack() as stack:
        moved = stack.enter_context(disk("ext4", tmp_path)) if "across" in kind else None
        kept, copy = copies(source, 2)
        content = kept.read_bytes()
        os.chown(kept, 65534, 65534)
        words = [*act_words(kind.split()[0], source, moved), "--yes", "--keep=path:copy 0"]
        words += ["--force-metadata"] if kind == "symlink" else []
        twinfs.ok(*words)
        if moved:
            there = records(twinfs)[0]["to"]
            os.chown(there, 65534, 65534)
        result = twinfs("undo", "--yes")
        if moved:
            assert result.status == 3 and b"could have forged" in result.error
            assert not copy.exists()
            return
        assert result.status == 0  # the kept file is the compared one
        assert copy.read_bytes() == content and copy.stat().st_uid == 0
        twinfs.ok(*words)
        before = os.lstat(kept)
        rewrite(kept)
        os.utime(kept, ns=(before.st_atime_ns, before.st_mtime_ns))
        result = twinfs("undo", "--yes")
        assert result.status == 3 and b"could have forged" in result.error, result
        assert not copy.exists() or copy.is_symlink()
        os.chown(kept, 0, 0)
        twinfs.ok("undo", "--yes")
        assert copy.read_bytes() == content and not copy.is_symlink()


RIGHTS = [(0o4755, 0, None), (0o2755, 0, None), (0o4755, 1000, None),
          (0o755, 0, b"\1\0\0\2\0\4\0\0" + bytes(12))]


@pytest.mark.parametrize(("mode", "owner", "capability"), RIGHTS)
@pytest.mark.parametrize("writable", [0o664, 0o646])
def test_file_with_rights_gets_no_content_that_others_can_write(twinfs, source, mode, owner,
                                                                capability, writable, root_only):
    kept, copy = copies(source, 2)
    for path in (kept, copy):
        os.chown(path, owner, 0)
    copy.chmod(mode)
    if capability:
        os.setxattr(copy, "security.capability", capability)
    before = metadata(copy)
    twinfs.ok("remove", "--yes", "--keep=path:copy 0", source)
    kept.chmod(writable)
    result = twinfs("undo", "--yes")
    assert result.status == 3 and b"could have forged" in result.error, result
    assert not copy.exists()
    kept.chmod(0o644)
    twinfs.ok("undo", "--yes")
    assert metadata(copy) == before

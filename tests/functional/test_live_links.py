# SPDX-License-Identifier: MIT
"""Contents of files with hard links outside of the sources, after many changes at a time."""
import os
import signal

import trees
from changes import rewrite_and_restore_mtime

MANY = 5000  # more than scan/batch.c commits at a time
FILES = 60


def test_link_of_a_file_that_was_written_to_outside_is_not_taken_for_all_its_names(
        twinfs, source, tmp_path):
    """A new link is possibly committed before the removal of another name. Then the file has as
    many names as links, although one of its links is outside."""
    for number in range(FILES):
        trees.fill(source, {b"kept/%d" % number: b"%d old" % number,
                            b"from %d/y" % number: b"%d old" % number,
                            b"to %d/old" % number: b""})
        os.link(source / f"from {number}/y", tmp_path / f"z{number}")
    trees.fill(source, {b"busy/%d" % number: b"" for number in range(MANY)})
    with twinfs.mounted(source) as view:
        os.kill(view.pid, signal.SIGSTOP)
        for number in range(FILES):
            rewrite_and_restore_mtime(tmp_path / f"z{number}")
            os.link(tmp_path / f"z{number}", source / f"to {number}/x")
        for number in range(MANY):
            os.unlink(source / f"busy/{number}")
        for number in range(FILES):
            os.unlink(source / f"from {number}/y")
        os.kill(view.pid, signal.SIGCONT)
        assert view.differences_now(source) == []

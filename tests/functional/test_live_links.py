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
    trees.fill(source, {b"kept/%d" % number: b"%d old" % number for number in range(FILES)})
    with twinfs.mounted(source) as view:
        # Directories are rechecked in the order in which they entered the index.
        for folder, count in ("to", 1), ("busy", MANY), ("from", FILES):
            trees.fill(source, {f"{folder}/{number}".encode(): b"%d old" % number
                                for number in range(count)})
            view.sync()
        for number in range(FILES):
            os.link(source / f"from/{number}", tmp_path / f"{number}")
        assert view.differences_now(source) == []
        os.kill(view.pid, signal.SIGSTOP)
        for number in range(FILES):
            rewrite_and_restore_mtime(tmp_path / f"{number}")
            os.link(tmp_path / f"{number}", source / f"to/link {number}")
        for number in range(MANY):
            os.unlink(source / f"busy/{number}")
        for number in range(FILES):
            os.unlink(source / f"from/{number}")
        os.kill(view.pid, signal.SIGCONT)
        assert view.differences_now(source) == []

# SPDX-License-Identifier: MIT
"""How many requests programs wait for, counted in what the daemon prints with --debug, and which
threads these requests wake."""
import contextlib
import re
import subprocess
from collections import Counter

import trees


class CountedView:
    """A view in the foreground that prints every request to a file."""

    def __init__(self, view, log):
        self.path, self.log = view.path, log

    def requests(self, *command):
        """The requests that a command causes, by name; its output must be complete."""
        before = self.log.stat().st_size
        run = subprocess.run(command, check=True, capture_output=True)
        printed = self.log.read_bytes()[before:]
        return Counter(re.findall(rb"opcode: ([A-Z]+) ", printed)), run.stdout


@contextlib.contextmanager
def counted(twinfs, source, tmp_path, *options):
    log = tmp_path / "requests"
    twinfs.wrapped = ["sh", "-c", f"exec \"$@\" 2>'{log}'", "sh"]
    with twinfs.mounted_in_foreground(source, options=("-d", *options)) as (_, view):
        view.sync()
        yield CountedView(view, log)


def test_debug_option_prints_every_request(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"a"})
    with counted(twinfs, source, tmp_path) as view:
        requests, _ = view.requests("cat", view.path / "uniques/a")
    assert requests[b"LOOKUP"] > 0
    assert requests[b"OPEN"] == 1

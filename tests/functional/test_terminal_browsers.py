# SPDX-License-Identifier: MIT
"""File managers in a terminal show the names of a view, and new ones when they are asked."""
import contextlib
import os
import shutil
import subprocess

import pytest
import trees
from processes import end_process, until
from terminal import Terminal

# command, and the keys that read the folder again
BROWSERS = {"mc": (["mc", "-u", "-b"], b"\x12"), "ranger": (["ranger", "--clean"], b"\x12"),
            "lf": (["lf"], b":reload\r"), "vifm": (["vifm"], b"\x0c")}


@contextlib.contextmanager
def browsing(command, folder, home):
    terminal = Terminal(120)
    environment = {**os.environ, "HOME": str(home), "TERM": terminal.name, "PAGER": "cat",
                   "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(home / ".config")}
    # setsid: the terminal becomes the controlling one
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command, folder], env=environment, cwd=folder,
        stdin=terminal.theirs, stdout=terminal.theirs, stderr=terminal.theirs)
    try:
        yield terminal
    finally:
        assert end_process(process.pid, 9)
        process.wait()
        terminal.close()


@pytest.mark.parametrize("browser", BROWSERS)
def test_a_browser_shows_the_view(twinfs, source, tmp_path, browser):
    command, again = BROWSERS[browser]
    if not shutil.which(browser):
        pytest.skip(f"needs {browser}")
    for number in range(4):
        trees.write(source / f"name-{number}", b"%d" % (number // 2))
    home = tmp_path / "home of the browser"
    home.mkdir()
    with twinfs.mounted(source) as view, browsing(command, view.uniques, home) as terminal:
        shown = sorted(os.listdir(view.uniques))
        assert len(shown) == 2
        assert until(lambda: all(name in terminal.written for name in shown), 60)
        trees.write(source / "later-one", b"new")
        view.sync()
        os.write(terminal.ours, again)
        assert until(lambda: "later-one" in terminal.written, 60)

# SPDX-License-Identifier: MIT
"""Views of a daemon that may watch few folders."""
import contextlib
import re
import signal
import subprocess
from pathlib import Path

from processes import TIMEOUT, until
from program import Program

FEW = 20  # watches


class InsideProgram(Program):
    """The program in a user and mount namespace of its own, with few watches."""

    LIMIT = f'echo {FEW} >/proc/sys/user/max_inotify_watches && exec "$@"'

    def __init__(self, session, folder):
        super().__init__(session, folder)
        self.wrapped = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                        self.LIMIT, "sh"]
        self.pid = None

    @staticmethod
    def permit_watches(pid, count):
        """Raises the number of folders that the user of the daemon may watch."""
        subprocess.run(["nsenter", f"--target={pid}", "--user", "--preserve-credentials", "sh",
                        "-c", f"echo {count} >/proc/sys/user/max_inotify_watches"], check=True)

    def as_user(self):
        """The words before a command that run it in the namespaces of the daemon."""
        return ["nsenter", f"--target={self.pid}", "--user", "--mount",
                "--preserve-credentials", "--"] if self.pid else []


@contextlib.contextmanager
def followed_inside(inside, source, mount):
    """The process of a view with few watches, and the path of the view."""
    words = ("mount", "-f", "--wait", "--watch=inotify", "--interval=1h", source, mount)
    with inside.started(*words) as process:
        at = Path(f"/proc/{process.pid}/root{mount}")
        try:
            assert until(lambda: (at / ".twinfs").exists() or process.poll() is not None)
            assert process.poll() is None, process.stderr.read()
            yield process, at
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT)


def unwatched(process, folders):
    """The first of more than FEW folders that the process does not watch by inotify."""
    known = set()
    for path in Path(f"/proc/{process.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            known |= {int(number, 16)
                      for number in re.findall(r"^inotify .*ino:(\w+)", path.read_text(), re.M)}
    return next(folder for folder in folders if folder.stat().st_ino not in known)

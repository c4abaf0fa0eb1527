# SPDX-License-Identifier: MIT
"""A terminal: the output of a program, and the resulting screen."""
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

CLEAR_REST = "\x1b[K"
PIECES = re.compile(r"\r|\n|\x1b\[K|[^\r\n\x1b]+|\x1b")


class Terminal:
    """A terminal of the given width without input."""

    def __init__(self, columns, name="xterm"):
        self.name = name
        self.ours, self.theirs = pty.openpty()
        self.seen = []
        self.resize(columns)
        self.reader = threading.Thread(target=self.read_all)
        self.reader.start()

    def read_all(self):
        with contextlib.suppress(OSError):  # EIO after the last program has closed it
            while piece := os.read(self.ours, 65536):
                self.seen.append(piece)

    def resize(self, columns):
        self.columns = columns
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def close(self):
        os.close(self.theirs)
        self.reader.join()
        os.close(self.ours)

    @property
    def written(self):
        return b"".join(self.seen).decode(errors="replace")

    def run(self, command, environment, **options):
        """Starts a program with the terminal as stderr."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        return subprocess.Popen(command, env={**environment, "TERM": self.name},
                                stderr=self.theirs, **(streams | options))

    def lines(self):
        """The lines on the screen, wrapped at its width."""
        return screen(self.written, self.columns)


def screen(text, columns):
    lines, at = [""], 0
    for piece in PIECES.findall(text):
        if piece == "\r":
            at = 0
        elif piece == "\n":
            lines.append("")
        elif piece == CLEAR_REST:
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at].ljust(at) + piece + lines[-1][at + len(piece):]
            at += len(piece)
            while at >= columns:  # wraps to the next line
                lines.append(lines[-1][columns:])
                lines[-2] = lines[-2][:columns]
                at -= columns
    return [line.rstrip() for line in lines if line.strip()]

# SPDX-License-Identifier: MIT
"""Hosts of a fleet on which the program runs, each with an index of its own."""
import os
import re

import fleet_sets
from program import Program

ESCAPE = re.compile(rb'\\([0-7]{1,3}|[abfnrtv\\"])')
LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
           b"v": b"\v", b"\\": b"\\", b'"': b'"'}


def unescape(text):
    """The bytes of a path that strace printed."""
    def replace(match):
        code = match[1]
        return LETTERS.get(code) or bytes([int(code, 8)])
    return ESCAPE.sub(replace, text)


class Machine:
    """A host, the program with the index of this host, and the sets that it writes."""

    def __init__(self, session, folder, host):
        self.host, self.folder = host, folder / host.name
        self.folder.mkdir(parents=True)
        self.program = Program(session, self.folder)
        self.inventory, self.digests = self.folder / "inventory", self.folder / "digests"

    @property
    def operands(self):
        """The sources as they are given to the program."""
        return f"--min-size={self.host.min_size}", *self.host.sources

    def export(self, mountpoint=None):
        """Exports the host, or a view of it; returns the inventory."""
        operands = [mountpoint] if mountpoint else self.operands
        self.program.ok("export", f"--host={self.host.name}", f"--output={self.inventory}",
                        *operands)
        return fleet_sets.read_set(self.inventory, fleet_sets.INVENTORY)

    def digest(self, wanted, mountpoint=None):
        """Digests the files of a list; returns the digests and the paths that were read."""
        operands = [mountpoint] if mountpoint else self.operands
        read = self.program.content_read(
            "digest", f"--wanted={wanted}", f"--output={self.digests}", *operands,
            below=os.path.dirname(self.host.sources[0]))
        paths = {unescape(path) for _, path in read}
        return fleet_sets.read_set(self.digests, fleet_sets.DIGESTS), paths

    @property
    def sets(self):
        """The folders of the sets that exist."""
        return [folder for folder in (self.inventory, self.digests) if folder.exists()]

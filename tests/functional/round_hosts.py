# SPDX-License-Identifier: MIT
"""Small random hosts of a fleet for rounds of plan, attest and remove, and what is on their disks.

Nothing here uses the program: a snapshot hashes every file. All paths are bytes.
"""
import hashlib
import os
import random
import stat
from dataclasses import dataclass

import trees

LONGEST = 64  # bytes of the name of a host
NAMES = ("alpha", "Alpha", "b-2.example.org", "007", "x" * LONGEST, "NULL", "e.")
SIZES = (9, 9, 9, 300, 300, 4096, 5000, 5000, 70_000)
FOLDERS = (b"", b"a", b"a/b", b".git/objects/4b", b"new\nline", b"\xff", b"keep", b"-rf")
ODD = [name for name in trees.ODD_NAMES if name not in (b"lost+found", *FOLDERS)]
QUARANTINE = b".twinfs~"  # begins the names that an act uses meanwhile


@dataclass(frozen=True)
class Entry:
    """What must stay as it is of a name: its kind, inode, attributes and bytes."""
    kind: int
    ino: int = 0
    mode: int = 0
    owner: tuple = ()
    mtime_ns: int = 0
    size: int = 0
    sha256: str = ""
    target: bytes = b""

    @property
    def content(self):
        """The key of the content, or None for what is no file with bytes."""
        return (self.sha256, self.size) if stat.S_ISREG(self.kind) and self.size else None


@dataclass
class Host:
    """A host: its name, the folder that has all of it, and the roots of its sources."""
    name: str
    folder: str
    sources: list
    min_size: int = 1


def entry_of(path):
    status = os.lstat(path)
    kind, owner = stat.S_IFMT(status.st_mode), (status.st_uid, status.st_gid)
    if stat.S_ISREG(kind):
        with open(path, "rb") as file:
            data = file.read()
        return Entry(kind, status.st_ino, status.st_mode, owner, status.st_mtime_ns, len(data),
                     hashlib.sha256(data).hexdigest())
    if stat.S_ISLNK(kind):
        return Entry(kind, status.st_ino, target=os.readlink(path))
    return Entry(kind, status.st_ino, status.st_mode, owner)


def snapshot(host):
    """{path: Entry} of everything below the sources of a host."""
    found = {}
    for source in host.sources:
        for folder, folders, names in os.walk(source):
            for name in folders + names:
                path = os.path.join(folder, name)
                found[path] = entry_of(path)
    return found


def contents(found):
    """The contents of a snapshot, also those in files that an act has set aside."""
    return {entry.content for entry in found.values()} - {None}


def leftovers(found):
    return [path for path in found if os.path.basename(path).startswith(QUARANTINE)]


def make_hosts(folder, seed, number=0):
    """Three to five hosts with common and own contents; returns them. Their names have the number
    of a round of a batch, in which no two hosts have the same name."""
    rng, hosts = random.Random(f"hosts {seed}"), []
    for start in rng.sample(NAMES, rng.randint(3, 5)):
        name = start[:LONGEST - len(str(number))] + str(number)
        own = os.path.join(folder, name)
        sources = [os.path.join(os.fsencode(own), b"files")]
        if rng.random() < 0.4:
            sources.append(os.path.join(os.fsencode(own), b"more \xff\n"))
        for source in sources:
            os.makedirs(source)
        hosts.append(Host(name, own, sources))
    for number in range(rng.randint(6, 14)):
        plant_content(rng, hosts, number, trees.content((seed, number), rng.choice(SIZES)))
    for host in hosts:
        plant_own(rng, host, seed)
    return hosts


def plant_content(rng, hosts, number, data):
    """Gives a content to some hosts, as one file or several, with one name or several."""
    when = rng.choice((None, 1_700_000_000_123_456_789))
    for host in rng.sample(hosts, rng.randint(1, len(hosts))):
        for copy in range(rng.choice((1, 1, 1, 2, 3))):
            path = trees.write(new_path(rng, host, b"%d-%d" % (number, copy)), data,
                               rng.choice((0o644, 0o600, 0o444)))
            if when:
                os.utime(path, ns=(when, when + number))
            for name in range(rng.choice((0, 0, 0, 1, 2))):
                new = new_path(rng, host, b"%d-%d-%d" % (number, copy, name))
                os.makedirs(os.path.dirname(new), exist_ok=True)
                os.link(path, new)


def plant_own(rng, host, seed):
    """Files that equal others in their size only, empty files, a symbolic link and a FIFO."""
    for number in range(3):
        trees.write(new_path(rng, host, b"own %d" % number),
                    trees.content((seed, host.name, number), rng.choice(SIZES)))
    trees.write(new_path(rng, host, b"empty"))
    os.symlink(rng.choice((b"a", b"/etc/hostname", b"nowhere")),
               os.path.join(host.sources[0], b"symlink"))
    os.mkfifo(os.path.join(host.sources[0], b"fifo"))


def new_path(rng, host, name):
    """A path in a source that does not exist yet, often with an odd name."""
    folder = os.path.join(rng.choice(host.sources), rng.choice(FOLDERS))
    odd = os.path.join(folder, rng.choice(ODD))
    if rng.random() < 0.3 and not os.path.lexists(odd) and odd not in host.sources:
        return odd
    return os.path.join(folder, name)

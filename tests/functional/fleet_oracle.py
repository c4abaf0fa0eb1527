# SPDX-License-Identifier: MIT
"""An independent oracle of a fleet: it hashes every file of all hosts, and computes what the tables
of a report must say.

No code is shared with the program or with twinfs-fleet. A content is identified as they do it, by
its SHA-256 if it is known, else by the group of its host, else by its inode. The oracle knows all
SHA-256, and thus also which claims about contents without one are true.
"""
import collections
import hashlib
import itertools
import os
import stat
from dataclasses import dataclass, field


@dataclass(eq=False)
class File:
    """A regular file with all its names; a name is (number of the source, path)."""
    host: str
    status: os.stat_result
    sha256: str
    names: list = field(default_factory=list)
    group: str = None  # of equal files on its host
    known: bool = False  # whether the tables have its SHA-256

    @property
    def size(self):
        return self.status.st_size

    @property
    def mtime_ns(self):
        return self.status.st_mtime_ns

    @property
    def ctime_ns(self):
        return self.status.st_ctime_ns

    @property
    def inode(self):
        return self.status.st_dev, self.status.st_ino


def read_host(host):
    """All regular files of a host, in the order of their first names, with their groups."""
    found = {}
    for number, source in enumerate(host.sources):
        for folder, _, names, handle in os.fwalk(os.fsencode(source)):
            below = folder[len(os.fsencode(source)):].lstrip(b"/")
            for name in names:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    continue
                key = (status.st_dev, status.st_ino)
                if key not in found:
                    found[key] = File(host.name, status, hash_file(name, handle))
                found[key].names.append((number, os.path.join(below, name)))
    for file in found.values():
        file.names.sort()
    files = sorted(found.values(), key=lambda file: file.names[0])
    set_groups(files, host.min_size)
    return files


def hash_file(name, folder):
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with open(handle, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def set_groups(files, min_size):
    """Names the groups of equal files. A file below min_size is never compared."""
    equal = collections.Counter(file.sha256 for file in files)
    for file in files:
        if file.size >= max(min_size, 1) and equal[file.sha256] > 1:
            file.group = file.sha256[:32]


@dataclass(eq=False)
class Content:
    """A content as the tables identify it."""
    key: tuple
    size: int
    sha256: str  # None: not known to the tables
    true_sha256: str
    files: list = field(default_factory=list)
    undecided: bool = False

    @property
    def hosts(self):
        return {file.host for file in self.files}

    @property
    def replicas(self):
        return len(self.hosts)


class Fleet:
    """The state of all hosts.

    hosts    fleet_hosts.Host or the like: name, sources, min_size
    digested (host, (dev, ino)) of the files of which there are digests; None: all that are wanted
    """

    def __init__(self, hosts, digested=None):
        self.names = [host.name for host in hosts]
        self.files = {host.name: read_host(host) for host in hosts}
        self.inodes = {(file.host, file.inode): file for file in self.all_files()}
        self.set_digested(digested)

    def all_files(self):
        return itertools.chain.from_iterable(self.files.values())

    def set_digested(self, digested=None):
        """Sets of which files there are digests; a digest holds for the whole group."""
        self.sizes = collections.defaultdict(set)
        for file in self.all_files():
            self.sizes[file.size].add(file.host)
        if digested is None:
            digested = {(file.host, file.inode) for file in self.all_files()
                        if self.has_shared_size(file)}
        groups = {(host, self.inodes[host, inode].group) for host, inode in digested}
        for file in self.all_files():
            file.known = (file.host, file.inode) in digested or (
                file.group is not None and (file.host, file.group) in groups)
        self.contents = self._contents()
        self.by_file = {file: content for content in self.contents for file in content.files}
        self.unread = collections.defaultdict(set)  # size: hosts with contents without SHA-256
        for content in self.contents:
            if not content.sha256:
                self.unread[content.size] |= content.hosts
        for content in self.contents:
            content.undecided = self._is_undecided(content)

    def _contents(self):
        found = {}
        for file in self.all_files():
            if file.size == 0:
                continue
            if file.known:
                key = ("sha256", file.sha256)
            elif file.group:
                key = ("group", file.host, file.group)
            else:
                key = ("inode", file.host, file.inode)
            content = found.setdefault(key, Content(
                key, file.size, file.sha256 if file.known else None, file.sha256))
            content.files.append(file)
        return list(found.values())

    def has_shared_size(self, file):
        """Whether the size of a file is on another host, too."""
        return file.size > 0 and bool(self.sizes[file.size] - {file.host})

    def _is_undecided(self, content):
        """Whether another host can have this content, but the tables do not know."""
        if not content.sha256:
            return bool(self.sizes[content.size] - content.hosts)
        return content.replicas == 1 and bool(self.unread[content.size] - content.hosts)

    # wanted

    def wanted(self, host):
        """The files of a host that must be read: their size is on another host, and the tables
        lack their SHA-256."""
        return [file for file in self.files[host] if self.has_shared_size(file) and not file.known]

    # report

    def totals(self):
        """Inodes and bytes without files of no bytes; content_bytes counts each content once."""
        files = [file for file in self.all_files() if file.size > 0]
        undecided = [content for content in self.contents if content.undecided]
        return {
            "hosts": len(self.names), "inodes": len(files),
            "bytes": sum(file.size for file in files),
            "contents": len(self.contents),
            "content_bytes": sum(content.size for content in self.contents),
            "undecided_contents": len(undecided),
            "undecided_bytes": sum(content.size for content in undecided),
            "undecided_inodes": sum(len(content.files) for content in undecided),
        }

    def replicas(self):
        """{number of hosts: (contents, bytes of one copy of each)} of the decided contents."""
        found = collections.defaultdict(lambda: (0, 0))
        for content in self.contents:
            if not content.undecided:
                count, size = found[content.replicas]
                found[content.replicas] = count + 1, size + content.size
        return dict(found)

    def on_one_host(self, host=None):
        """The contents that are on one host only, of all hosts or of this one."""
        return [content for content in self.contents
                if content.replicas == 1 and not content.undecided
                and (host is None or host in content.hosts)]

    def lacking(self, has, lacks):
        """The contents that one host has and another one certainly lacks."""
        return [content for content in self._not_on(has, lacks) if self._lacks(content, lacks)]

    def undecided_between(self, has, lacks):
        """The contents that one host has and another one may have or lack."""
        return [content for content in self._not_on(has, lacks)
                if not self._lacks(content, lacks)]

    def _not_on(self, has, lacks):
        return [content for content in self.contents
                if has in content.hosts and lacks not in content.hosts]

    def _lacks(self, content, host):
        possible = self.unread if content.sha256 else self.sizes
        return host not in possible[content.size]

    def pairs(self):
        """{(A, B): (contents, bytes) that A has and B lacks}."""
        found = {}
        for has, lacks in itertools.permutations(self.names, 2):
            contents = self.lacking(has, lacks)
            found[has, lacks] = len(contents), sum(content.size for content in contents)
        return found

    def most_replicated(self):
        """The contents on several hosts: (replicas, size, hosts, SHA-256)."""
        return sorted(((content.replicas, content.size, sorted(content.hosts), content.sha256)
                       for content in self.contents if content.replicas > 1), reverse=True)

    # folders

    def folders(self, host):
        """{(source, folder): files of some bytes below it}. The root of a source is b""."""
        found = collections.defaultdict(set)
        for file in self.files[host]:
            if file.size > 0:
                for source, path in file.names:
                    for folder in parents(path):
                        found[source, folder].add(file)
        return found

    def covered(self, host, by=None):
        """{(source, folder): files below it} of the folders whose contents are all on other hosts,
        each on any of them, or on the given ones."""
        others = set(self.names if by is None else by) - {host}
        return {folder: files for folder, files in self.folders(host).items()
                if all(self.by_file[file].hosts & others for file in files)}

    def outermost_covered(self, host, by=None):
        """covered() without the folders inside another covered folder."""
        found = self.covered(host, by)
        return {(source, folder): files for (source, folder), files in found.items()
                if not any((source, above) in found for above in parents(folder))}


def parents(path):
    """The folders above a path, up to b""; none for b"" itself."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def true_hosts(fleet):
    """{SHA-256: hosts that have it}, whatever the tables know."""
    found = collections.defaultdict(set)
    for file in fleet.all_files():
        if file.size > 0:
            found[file.sha256].add(file.host)
    return found

# SPDX-License-Identifier: MIT
"""The measured program: its scans and its views."""
import json
import os
import select
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from bench.runs import Contender, Failure

UNREADABLE = 3  # exit status: done, but some files could not be read


class Twinfs:
    """A build of twinfs, with one index on the disk of the work folder."""

    def __init__(self, machine, binary, name="twinfs"):
        self.machine, self.binary, self.name = machine, binary, name
        self.index = machine.folder / f"index of {name}"

    def forget(self):
        shutil.rmtree(self.index, ignore_errors=True)

    def scan(self, sources, rescan=False):
        """A scan into a new index, or into the existing one."""
        return Contender(self.name, [self.binary, "scan", "--quiet", "--index", self.index,
                                     *sources],
                         prepare=(lambda: None) if rescan else self.forget,
                         statuses=(0, UNREADABLE))

    def list_folders(self, sources):
        """A scan into a new index that lists the equal folders."""
        return replace(self.scan(sources), words=[
            self.binary, "list", "--folders", "--quiet", "--index", self.index, *sources])

    def scan_timed(self, sources, report):
        """A scan that writes the time spent in LMDB to the file `report`."""
        return self.preloaded(self.scan(sources), "index_time.so", INDEX_TIME_REPORT=report)

    def scan_with_readers(self, sources, readers, report):
        """A scan in which at most so many threads read at a time. It writes the number of reads to
        the file `report`."""
        name = f"{self.name}, {readers} {'reader' if readers == 1 else 'readers'}"
        return replace(self.preloaded(self.scan(sources), "few_reads.so", READS_AT_ONCE=readers,
                                      READS_REPORT=report), name=name)

    def preloaded(self, contender, library, **variables):
        # ASan must be the first library, which does not matter here
        return replace(contender, words=[
            "env", f"LD_PRELOAD={self.machine.tools / library}",
            *(f"{name}={value}" for name, value in variables.items()),
            "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0", *contender.words])

    def listing(self, *sources):
        """The JSON of `list`."""
        run = subprocess.run([self.binary, "list", "--format=json", "--index", self.index,
                              *sources], check=False, capture_output=True)
        if run.returncode not in (0, UNREADABLE):
            raise Failure(f"twinfs list: {run.stderr.decode(errors='replace')}")
        return json.loads(run.stdout)

    def summary(self, *sources):
        run = subprocess.run([self.binary, "list", "--summary", "--format=json", "--index",
                              self.index, *sources], check=True, capture_output=True)
        return json.loads(run.stdout)["summary"]

    def index_bytes(self):
        """The size of the index on the disk."""
        return sum(path.stat().st_blocks * 512 for path in self.index.rglob("*"))

    def mount(self, sources, folder, options=()):
        """The command that mounts a view; it ends when the view answers."""
        return Contender(f"{self.name} mount",
                         [self.binary, "mount", *options, "--index", self.index, *sources, folder],
                         statuses=(0, UNREADABLE))


class View:
    """A view with all files compared. At the end of the block the daemon has ended."""

    def __init__(self, twinfs, sources, options=()):
        self.path = twinfs.index.with_name(f"view of {twinfs.index.name}")
        self.path.mkdir(exist_ok=True)
        self.machine = twinfs.machine
        self.mount = twinfs.mount(sources, self.path, ["--wait", *options])

    def __enter__(self):
        try:
            self.machine.run(self.mount)
            self.pid = self.status()["pid"]
        except BaseException:  # the view can answer before its files are compared
            if os.path.ismount(self.path):
                unmount(self.path)
            raise
        return self

    def __exit__(self, *_):
        unmount(self.path)

    def status(self):
        return status_of(self.path)

    def sync(self):
        """Waits until all earlier changes are in the view."""
        (self.path / ".twinfs/sync").read_bytes()

    def footprint(self):
        """(resident bytes, open descriptors) of the daemon."""
        return self.memory("VmRSS"), len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self, what):
        """The bytes of a line of /proc/PID/status of the daemon."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith(f"{what}:")]
        return int(line.split()[1]) * 1024


def status_of(path):
    return json.loads((path / ".twinfs/status.json").read_bytes())


def unmount(path):
    """Unmounts a view, and waits until the daemon has ended."""
    try:
        handle = os.pidfd_open(status_of(path)["pid"])
    except OSError:  # the daemon has crashed
        subprocess.run(["fusermount3", "-u", "-z", path], check=True)
        return
    try:
        subprocess.run(["fusermount3", "-u", path], check=True)
        select.select([handle], [], [])
    finally:
        os.close(handle)

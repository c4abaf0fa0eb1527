# SPDX-License-Identifier: MIT
"""Other duplicate finders, with options for the same work: hidden files, hard links once, all sizes
from 1 byte, and no cache of an earlier run unless a mode asks for it.
"""
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.runs import Contender

CARGO = Path.home() / ".cargo/bin"


@dataclass(frozen=True)
class Peer:
    """words(sources, state) make a first scan; cached(sources, state) make one with a cache."""
    program: str
    words: Callable
    cached: Callable = None
    verifies: bool = False
    marks_files: bool = False  # its cache is in extended attributes of the files
    needs: tuple = ()  # file systems that it requires; empty: any


def each(flag, sources):
    return [word for source in sources for word in (flag, source)]


FCLONES = ["--progress=false", "group", "--hidden", "--no-ignore", "-s", "1"]
# -W: duplicates are no error; -M: no messages; -H: no cache. Caches have all files only on request.
CZKAWKA = ["dup", "-m", "1", "-W", "-M"]
CZKAWKA_CACHE = ["-u", "-c", "1", "-Z", "1"]
# rmlint replaces its output file. With the name "stdout" it writes no file.
RMLINT = ["-T", "df", "-o", "fdupes:stdout", "--hidden"]
RDFIND = ["-dryrun", "true", "-makeresultsfile", "false", "-removeidentinode", "true"]

PEERS = {
    "jdupes": Peer("jdupes", lambda sources, _: ["-r", "-q", "-0", *sources], verifies=True),
    "jdupes -Q": Peer("jdupes", lambda sources, _: ["-r", "-q", "-0", "-Q", *sources]),
    "fdupes": Peer("fdupes", lambda sources, _: ["-r", "-q", *sources], verifies=True),
    "fclones": Peer("fclones", lambda sources, _: [*FCLONES, *sources],
                    lambda sources, _: [*FCLONES, "--cache", *sources]),
    "yadf": Peer("yadf", lambda sources, _: sources),
    "czkawka": Peer("czkawka_cli",
                    lambda sources, _: [*CZKAWKA, "-H", *each("-d", sources)],
                    lambda sources, _: [*CZKAWKA, *CZKAWKA_CACHE, *each("-d", sources)]),
    "rdfind": Peer("rdfind", lambda sources, _: [*RDFIND, *sources]),
    "duff": Peer("duff", lambda sources, _: ["-r", "-p", "-a", *sources]),
    "rmlint": Peer("rmlint", lambda sources, _: [*RMLINT, *sources],
                   lambda sources, _: [*RMLINT, "--xattr", *sources], marks_files=True),
    "rmlint -pp": Peer("rmlint", lambda sources, _: [*RMLINT, "-pp", *sources], verifies=True),
    "dupd": Peer("dupd", lambda sources, state: ["scan", "-q", "--hidden", "--db", state / "db",
                                                 *each("-p", sources)]),
    "duperemove": Peer("duperemove",
                       lambda sources, state: ["-q", "-r", f"--hashfile={state}/db", *sources],
                       lambda sources, state: ["-q", "-r", f"--hashfile={state}/db", *sources],
                       needs=("btrfs", "xfs")),
}


def find_program(name):
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{CARGO}")


def state_of(machine, name):
    return machine.folder / f"state of {name}"


def contender(machine, name, sources, cached=False):
    """A peer without state of earlier runs, or one with its cache."""
    peer = PEERS[name]
    state = state_of(machine, name)
    words = (peer.cached if cached else peer.words)(list(sources), state)

    def forget():
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
    if cached:
        state.mkdir(exist_ok=True)
    return Contender(name, [find_program(peer.program), *words],
                     prepare=(lambda: None) if cached else forget,
                     environment={"HOME": str(state), "XDG_CACHE_HOME": str(state),
                                  "XDG_CONFIG_HOME": str(state)},
                     folder=state, is_peer=True)


def present(wanted):
    """Names of the selected peers (default: all) that are installed, and those missing."""
    names = [name for name, peer in PEERS.items()
             if not wanted or name in wanted or peer.program in wanted]
    here = [name for name in names if find_program(PEERS[name].program)]
    return here, sorted({PEERS[name].program for name in names if name not in here})


def works_on(name, kind):
    """Whether a peer supports this file system."""
    return not PEERS[name].needs or kind in PEERS[name].needs

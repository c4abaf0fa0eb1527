# SPDX-License-Identifier: MIT
"""Runs export, wanted, digest, plan, attest and remove for rounds, on hosts with an index each. One
process answers all calls of twinfs-fleet, because its start takes longer than a plan."""
import contextlib
import json
import os
import subprocess
from dataclasses import dataclass

import fleet_sets
from fleet_tool import FOLDER
from manual import ROOT
from processes import TIMEOUT
from program import STRACE, Program, path_of
from round_model import Run

# Answers one call a line.
SERVER = f"""
import contextlib, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(ROOT / "scripts")!r})
from fleet.command import main
for line in sys.stdin:
    out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = main("twinfs-fleet", json.loads(line))
    error.flush()
    print(json.dumps((status, error.buffer.getvalue().decode().splitlines())), flush=True)
"""


class FleetServer:
    """A process that runs the commands of twinfs-fleet that need no Spark."""

    def __init__(self):
        self.process = subprocess.Popen([FOLDER / "bin/python3", "-I", "-c", SERVER], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, command, *words):
        print(json.dumps([command, f"--folder={FOLDER}", "--threads=2", "--memory=1G",
                          *map(os.fspath, words)]), file=self.process.stdin, flush=True)
        status, errors = json.loads(self.process.stdout.readline())
        return Run(status, errors=tuple(errors))

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0
        self.process.stdout.close()


@dataclass
class Paths:
    """Where a host has its index and its sets."""
    program: Program
    inventory: str
    digests: str


class Machines:
    """The commands that a round runs."""

    def __init__(self, session, fleet, folder):
        self.session, self.fleet, self.folder = session, fleet, os.fspath(folder)
        self.paths = {}

    def of(self, host):
        if host.name not in self.paths:
            folder = os.path.join(self.folder, "machines", host.name)
            os.makedirs(folder)
            self.paths[host.name] = Paths(Program(self.session, folder), f"{folder}/inventory",
                                          f"{folder}/digests")
        return self.paths[host.name]

    @property
    def sets(self):
        return [path for paths in self.paths.values() for path in (paths.inventory, paths.digests)
                if os.path.exists(path)]

    def export(self, host):
        at = self.of(host)
        at.program.ok("export", f"--host={host.name}", f"--output={at.inventory}", "--quiet",
                      *host.sources)
        return fleet_sets.read_set(at.inventory, fleet_sets.INVENTORY)

    def wanted(self):
        run = self.fleet("wanted", f"--output={self.folder}/wanted", *self.sets)
        assert run.status == 0, run

    def digest(self, host):
        """Digests the wanted files of a host; returns the set."""
        at = self.of(host)
        result = at.program("digest", f"--wanted={self.folder}/wanted/{host.name}.jsonl",
                            f"--output={at.digests}", "--quiet", *host.sources)
        assert result.status in (0, 3), result
        return fleet_sets.read_set(at.digests, fleet_sets.DIGESTS)

    def plan(self, folder, wish):
        return self.fleet("plan", f"--output={folder}", *wish.words, *self.sets)

    def attest(self, host, path, folder, kill=None):
        return self.run(host, kill, "attest", f"--output={folder}", path, *host.sources)

    def remove(self, host, path, plan, kill=None):
        bundles = ["--include-bundles"] if plan.bundles else []
        return self.run(host, kill, "remove", f"--plan={path}", f"--attested={plan.folder}",
                        f"--max-age={plan.age[0]}", "--yes", *bundles, *host.sources)

    def run(self, host, kill, *words):
        """Runs a command, and kills it at a system call."""
        program = self.of(host).program
        if kill:
            program = program.with_index(program.index)
            program.wrapped = [*STRACE, "-o", "/dev/null", "-e", f"trace={kill[0]}", "-e",
                               f"inject={kill[0]}:signal=KILL:when={kill[1]}"]
        result = program(words[0], f"--index={program.index}", *words[1:], index=False)
        killed = result.status in (-9, 137)
        return Run(result.status, killed, tuple(result.errors))

    def recover(self, host):
        self.of(host).program.ok("recover")

    def removed(self, host):
        """The paths of the files that the log says were removed."""
        program, found = self.of(host).program, set()
        for line in program.ok("log", "--format=jsonl").lines:
            act = json.loads(line)["act"]
            for record in program.ok("log", act, "--format=jsonl").lines:
                found.add(path_of(json.loads(record)))
        return found


@contextlib.contextmanager
def fleet_server():
    server = FleetServer()
    try:
        yield server
    finally:
        server.end()

# SPDX-License-Identifier: MIT
"""Shells that complete command lines of twinfs, typed at a terminal or by asking the shell for its
offers."""
import os
import pty
import select
import shlex
import subprocess
import time
from pathlib import Path

from processes import TIMEOUT

COMPLETIONS = Path(__file__).resolve().parents[2] / "data/completions"
PROMPT = "ready> "

# Runs the program for --help only; otherwise records its arguments.
STAND_IN = """#!/bin/sh
for word; do
	test "$word" != --help || exec {program} "$@"
done
printf '%s\\0' "$@" >{called}
"""

BASH_OFFERS = """source {file}
compopt() {{ :; }}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_twinfs "$1"
test "${{#COMPREPLY[@]}}" = 0 || printf '%s\\n' "${{COMPREPLY[@]}}"
"""

BASH_START = f"""PS1='{PROMPT}'
HISTFILE=
source {{file}}
"""

INPUTRC = """set bell-style none
set enable-bracketed-paste off
set completion-query-items 0
set page-completions off
"""

# Calls of compadd that fill arrays are no offers.
ZSH_START = f"""PS1='{PROMPT}'
LISTMAX=-1
unsetopt beep
fpath=({{folder}} $fpath)
autoload -U compinit
compinit -u -C -d {{dump}}
compadd() {{{{
	local -a offered
	if [[ ${{{{argv[(r)-[AOD]]}}}} == '' ]]; then
		builtin compadd -A offered "$@"
		((${{{{#offered}}}} == 0)) || print -rl -- $offered >>{{offers}}
	fi
	builtin compadd "$@"
}}}}
"""


class Shell:
    """A shell with a stand-in for the program in $PATH."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        self.called = folder / "called"
        (folder / "bin").mkdir()
        stand_in = folder / "bin/twinfs"
        stand_in.write_text(STAND_IN.format(program=shlex.quote(session.binary),
                                            called=shlex.quote(str(self.called))))
        stand_in.chmod(0o755)
        self.environment = session.environment(folder)
        self.environment.update(PATH=f"{folder}/bin:{os.environ['PATH']}", TERM="dumb",
                                ZDOTDIR=str(folder), INPUTRC=f"{folder}/inputrc")
        self.set_up()

    def set_up(self):
        """Writes the files that the shell reads at its start."""

    def run(self, *command):
        run = subprocess.run(command, env=self.environment, cwd=self.folder, check=False,
                             capture_output=True, text=True, timeout=TIMEOUT)
        assert (run.returncode, run.stderr) == (0, ""), run
        return run.stdout.splitlines()

    def type(self, keys):
        """Types keys at a terminal; returns its output when the shell has ended."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(self.interactive[0], self.interactive, self.environment)
        shown = b""
        waiting = keys.encode()
        end = time.monotonic() + TIMEOUT
        while select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the shell has ended
                break
            if waiting and PROMPT.encode() in shown:
                os.write(terminal, waiting)
                waiting = b""
        else:
            os.kill(pid, 9)
        os.close(terminal)
        os.waitpid(pid, 0)
        return shown.decode(errors="replace")

    def called_after(self, line):
        """The arguments of twinfs after the last word of the line was completed with Tab."""
        shown = self.type(f"{line}\t\nexit\n")
        assert self.called.exists(), shown
        return self.called.read_bytes().decode().split("\0")[:-1]


class Bash(Shell):
    interactive = ("bash", "--rcfile", "bashrc", "-i")

    def set_up(self):
        file = shlex.quote(str(COMPLETIONS / "twinfs"))
        (self.folder / "inputrc").write_text(INPUTRC)
        (self.folder / "bashrc").write_text(BASH_START.format(file=file))
        (self.folder / "offers.sh").write_text(BASH_OFFERS.format(file=file))

    def offers(self, *words):
        *before, last = words
        name, equals, value = last.partition("=")
        apart = [name, equals, value] if equals else [last]  # as bash splits words
        found = self.run("bash", "--norc", "offers.sh", "twinfs", *before, *apart)
        return {word.rstrip("=") for word in found}


class Zsh(Shell):
    interactive = ("zsh", "-i")

    def set_up(self):
        self.offered = self.folder / "offered"
        (self.folder / ".zshrc").write_text(ZSH_START.format(
            folder=shlex.quote(str(COMPLETIONS)), offers=shlex.quote(str(self.offered)),
            dump=shlex.quote(f"{self.session.base}/zcompdump")))  # shared, as it is slow to make

    def offers(self, *words):
        self.offered.write_text("")
        self.type(f"twinfs {shlex.join(words[:-1])} {words[-1]}\t\x15exit\n")
        return {shlex.split(word)[0].rstrip("=")
                for word in self.offered.read_text().splitlines()}


class Fish(Shell):
    def complete(self, line):
        """The offers of fish, as arguments of twinfs."""
        found = self.run("fish", "--no-config", "-c",
                         f"source {shlex.quote(str(COMPLETIONS / 'twinfs.fish'))}\n"
                         f"complete -C {shlex.quote(line)}")
        return [word.split("\t")[0] for word in found]

    def offers(self, *words):
        name, equals, _ = words[-1].partition("=")
        return {word.removeprefix(name + equals if equals else "").rstrip("=")
                for word in self.complete(f"twinfs {shlex.join(words[:-1])} {words[-1]}")}

    def called_after(self, line):
        _, *before, last = line.split(" ")
        found = self.complete(line)
        assert len(found) <= 1
        return [*before, *(found or [last])]

# SPDX-License-Identifier: MIT
"""The manual page and what the program says of itself are one thing."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from program import COMMANDS

PAGE = Path(__file__).resolve().parents[2] / "man/twinfs.1"

HELP_OPTION = re.compile(r"^ {2,6}(?:-(?P<letter>.), )?--(?P<name>[a-z-]+)(?:=(?P<value>\S+))?",
                         re.MULTILINE)
PAGE_OPTION = re.compile(r"^\.It (?:Fl (?P<letter>\S) , )?Fl -(?P<name>[a-z-]+)"
                         r"(?: Ns = Ns Ar (?P<value>.+))?$", re.MULTILINE)


def options(pattern, text):
    """Name, letter and argument of each option."""
    found = set()
    for match in pattern.finditer(text):
        value = match["value"]
        if value:  # Ar OPTION Ns Op , Ns Ar OPTION -> OPTION[,OPTION]
            value = re.sub(r" Ns Op , Ns Ar (\S+)", r"[,\1]", value)
        found.add((match["name"], match["letter"], value))
    return found


def sections():
    """The text of each section and subsection of the page by its title."""
    parts = re.split(r"^\.S[hs] (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def documented(command):
    """The options in the command's subsection, in the sections it names, and those of all."""
    found = sections()
    text = found[command]
    names = re.findall(r"^\.Sx (.*?)(?: [.,])?$", text, flags=re.MULTILINE)
    assert set(names) <= found.keys()
    return set().union(*(options(PAGE_OPTION, found[part])
                         for part in (command, "COMMANDS", *names)))


@pytest.mark.parametrize("command", COMMANDS)
def test_page_and_help_have_the_same_options(twinfs, command):
    text = twinfs.ok(command, "--help", index=False).out.decode()
    offered = options(HELP_OPTION, text)
    assert ("help", "h", None) in offered
    assert documented(command) == offered


def test_page_has_every_command_and_no_other(twinfs):
    offered = re.findall(r"^  ([a-z]+)  ", twinfs.ok("--help", index=False).out.decode(),
                         re.MULTILINE)
    described = re.findall(r"^\.Ss (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    assert set(described) == set(offered) == set(COMMANDS)
    synopsis = re.findall(r"Cm (\w+)", sections()["SYNOPSIS"])
    assert synopsis == described


def test_page_has_every_exit_status(twinfs):
    header = (PAGE.parents[1] / "include/twinfs/exit.h").read_text()
    numbers = set(re.findall(r"TWINFS_EXIT_\w+ = (\d+)", header))
    assert numbers
    assert set(re.findall(r"^\.It (\d+)$", sections()["EXIT STATUS"], re.MULTILINE)) == numbers


def test_page_is_well_formed():
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    run = subprocess.run(["mandoc", "-Tlint", "-Wwarning", PAGE], check=False,
                         capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")

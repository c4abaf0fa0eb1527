# SPDX-License-Identifier: MIT
"""The manual pages agree with --help and with the header of exit statuses."""
import re
import shutil
import subprocess

import pytest
from manual import COMMANDS_PAGE, HELP_OPTION, ROOT, VIEW_PAGE, sections
from program import COMMANDS

PAGE_OPTION = re.compile(r"^\.It (?:Fl (?P<letter>\S) , )?Fl -(?P<name>[a-z0-9-]+)"
                         r"(?: Ns (?:Op )?= Ns (?:Ar|Cm) (?P<value>.+))?$", re.MULTILINE)


def options(pattern, text):
    """Name, letter and argument of each option."""
    found = set()
    for match in pattern.finditer(text):
        value = match["value"]
        if value:  # Ar OPTION Ns Op , Ns Ar OPTION -> OPTION[,OPTION]
            value = re.sub(r" Ns Op , Ns Ar (\S+)", r"[,\1]", value)
        found.add((match["name"], match["letter"], value))
    return found


def documented(command):
    """The options in the subsection of a command, in the sections that it names, and in
    COMMANDS."""
    found = sections(COMMANDS_PAGE)
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
    described = re.findall(r"^\.Ss (.*)$", COMMANDS_PAGE.read_text(), flags=re.MULTILINE)
    assert set(described) == set(offered) == set(COMMANDS)
    synopsis = re.findall(r"Cm (\w+)", sections(COMMANDS_PAGE)["SYNOPSIS"])
    assert synopsis == described


def test_page_has_every_exit_status(twinfs):
    header = (ROOT / "include/twinfs/exit.h").read_text()
    numbers = set(re.findall(r"TWINFS_EXIT_\w+ = (\d+)", header))
    assert numbers
    described = sections(COMMANDS_PAGE)["EXIT STATUS"]
    assert set(re.findall(r"^\.It (\d+)$", described, re.MULTILINE)) == numbers


@pytest.mark.parametrize("page", [COMMANDS_PAGE, VIEW_PAGE], ids=lambda page: page.name)
def test_page_is_well_formed(page):
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    run = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], check=False,
                         capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


def test_pages_refer_to_each_other():
    assert re.search(r"^\.Xr twinfs 5\b", sections(COMMANDS_PAGE)["SEE ALSO"], re.MULTILINE)
    assert re.search(r"^\.Xr twinfs 1\b", sections(VIEW_PAGE)["SEE ALSO"], re.MULTILINE)


@pytest.mark.parametrize("page", [COMMANDS_PAGE, VIEW_PAGE], ids=lambda page: page.name)
def test_sections_that_a_page_names_exist(page):
    found = re.findall(r"^\.Sx (.*?)(?: [.,;])?$", page.read_text(), flags=re.MULTILINE)
    assert found and set(found) <= sections(page).keys()
    of_other = re.findall(r"([A-Z]{2,}(?: [A-Z]+)*) in\n\.Xr twinfs [15]", page.read_text())
    assert of_other
    other = VIEW_PAGE if page == COMMANDS_PAGE else COMMANDS_PAGE
    assert set(of_other) <= sections(other).keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns_and_names_the_manuals(twinfs, command):
    lines = twinfs.ok(command, "--help", index=False).out.decode().splitlines()
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
    last = " ".join(lines[-2:])
    assert "twinfs(1)" in last and "twinfs(5)" in last


def test_page_has_the_places_that_the_program_knows():
    rows = re.findall(r"\{\{((?:\"[^\"]+\"(?:, )?)+)\}, PLACE_(\w+),",
                      (ROOT / "src/index/emptied_place.c").read_text(encoding="ascii"))
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    section = text.split(".Sh PLACES THAT SOMETHING ELSE EMPTIES")[1].split("\n.Sh ")[0]
    assert len(rows) > 30
    listed = set()
    for names, place in rows:
        path = "/".join(re.findall(r'"([^"]+)"', names))
        path = path.replace("-%", "-UID").replace("%", "N")
        described = section.split(f".It {place.lower()}\n")[1].split("\n.It memory\n")[0]
        described = described.split("\n.It cache\n")[0] if place == "SNAPSHOT" else described
        listed.add(path)
        assert re.search(rf"^\.Pa (.* )?{re.escape(path)}( |$)", described, re.MULTILINE), path
    named = re.findall(r"^\.Pa (.+?)$", section, re.MULTILINE)
    words = {word for line in named for word in re.split(r" , | ,$", line)}
    others = {"", "CACHEDIR.TAG", "/dev/ramN", "/dev/zramN", "/proc/self/mountinfo", "/sys"}
    assert words - others == listed

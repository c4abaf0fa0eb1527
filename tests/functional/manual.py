# SPDX-License-Identifier: MIT
"""Parsers of the manual pages and the output of --help."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS_PAGE = ROOT / "man/twinfs.1"
VIEW_PAGE = ROOT / "man/twinfs.5"

# An option in the output of --help. An argument that can be omitted is in brackets with its '='.
HELP_OPTION = re.compile(r"^ {2,6}(?:-(?P<letter>.), )?--(?P<name>[a-z0-9-]+)"
                         r"(?P<open>\[)?(?:=(?P<value>\S+?))?(?(open)\])(?=\s)", re.MULTILINE)


def sections(page):
    """{title: text} of the sections and subsections of a page."""
    parts = re.split(r"^\.S[hs] (.*)$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def item(text, title):
    """The text of an item of the lists in a section, with the lists inside it."""
    found, depth = [], 0
    for line in text.split(f"\n.It {title}\n")[1].splitlines(keepends=True):
        if depth == 0 and re.match(r"\.(?:It|El)\b", line):
            break
        depth += line.startswith(".Bl") - line.startswith(".El")
        found.append(line)
    return "".join(found)


def marked(text, macro):
    """All words with this macro: Va marks names that scripts read, Cm their values."""
    lines = re.findall(rf"^\.(?:It )?{macro} (.*)$", text, flags=re.MULTILINE)
    return {word for line in lines for word in re.findall(r"[a-z][a-z_.]+[0-9]*", line)}

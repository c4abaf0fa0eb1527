# SPDX-License-Identifier: MIT
"""The words of backup_table.py, for README.md and man/twinfs.5."""
import json
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).resolve().parent / "backup_table.jsonl"
# The file, and the lines between which it has what was made.
PAGES = {"README.md": ("<!-- made by tests/tools/backup_table.py -->", "<!-- end -->"),
         "man/twinfs.5": (r'.\" Made by tests/tools/backup_table.py:', r'.\" End')}
COLUMNS = 68  # of a command in the manual
STORES_AGAIN = 3  # times as many bytes as without a change


def load(path=DATA):
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- words --------------------------------------------------------------------------------------

def read(row, state):
    """What the program read in a state, in words."""
    count = row["reads"][state]
    if count["files"] == count["of"]:
        return "all"
    if state == "changed":
        return changed(row, count)
    if not count["bytes"]:
        return "nothing"
    return f"{count['files']} of {count['of']} files"


def changed(row, count):
    names = "what changed" if count["files"] > row["others"] else "nothing"
    if row["others"]:
        names += f", {row['others']} more"
    return names


def remounted(row):
    again = row["reads"]["remounted"]["stored"] >= STORES_AGAIN * row["reads"]["second"]["stored"]
    words = read(row, "remounted")
    return f"{words} (stores folders again)" if words == "nothing" and again \
        and row["reads"]["remounted"]["stored"] else words


def lacks(lost):
    """What a copy lacks, in words: "xattrs" stands for those of files and folders."""
    folders, symlinks = " of folders", " of symlinks"
    words = []
    for word in lost:
        base = word.removesuffix(folders).removesuffix(symlinks)
        if word == base or base not in lost:
            words.append(word)
    joined = ", ".join(words)
    return re.sub(rf"(\w+){folders}, \1{symlinks}", rf"\1{folders} and symlinks", joined)


def without(row):
    """What the program did without the option that it needs: (option, words)."""
    other = row["without"]
    if not other:
        return None
    if other["missed"]:
        return other["option"], "promoted files are missed"
    count = other["reads"]["remounted"]
    words = "all" if count["files"] == count["of"] else f"{count['files']} of {count['of']} files"
    return other["option"], f"{words} after a remount"


def restored(row):
    """What `twinfs restore` made of the copy."""
    if not row["lost_after_restore"]:
        return "the whole tree"
    if lacks(row["lost_after_restore"]) == lacks(row["lost"]):
        return "the tree, without these"
    return f"the tree, without {lacks(row['lost_after_restore'])}"


# ---- README.md ----------------------------------------------------------------------------------

HEAD = ("program", "first", "no change", "remounted", "kept copies changed", "the copy lacks",
        "`restore` makes")


def markdown(rows):
    lines = [HEAD, ["---"] * len(HEAD)]
    for row in rows:
        option = f" `{row['without']['option']}`" if row["without"] else ""
        missed = "; misses promoted files" if row["missed"] else ""
        lines.append([f"{row['program']}{option}", read(row, "first"), read(row, "second"),
                      remounted(row), read(row, "changed") + missed,
                      lacks(row["lost"]) or "nothing", restored(row)])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# ---- twinfs(5) ----------------------------------------------------------------------------------

def roff(rows):
    lines = [".Bl -tag -width Ds"]
    for row in rows:
        lines += [f".It {row['program']} {row['version']}", ".Bd -literal -compact"]
        exported = [f'export {name}="{value}"' for name, value in row["variables"].items()]
        for command in (*exported, row["prepare"], row["backup"], row["restore"]):
            lines += folded(command)
        lines += [".Ed", *(escaped(line) for line in sentences(row))]
    return "\n".join([*lines, ".El", ""])


def folded(command):
    """The lines of a command, which sh joins."""
    lines = textwrap.wrap(command, COLUMNS, break_long_words=False, break_on_hyphens=False,
                          subsequent_indent="    ")
    return [escaped(line) + r" \e" * (line != lines[-1]) for line in lines]


def escaped(text):
    """Text in which no character means anything to mandoc."""
    return text.replace("\\", r"\e").replace("'", r"\(aq").replace("-", r"\-")


def sentences(row):
    yield f"No change: reads {read(row, 'second')}."
    yield f"After a remount: {remounted(row)}."
    yield f"After a change of kept copies: {read(row, 'changed')}."
    if row["missed"]:
        yield "Promoted files are missed."
    if without(row):
        option, words = without(row)
        yield f"Without {option}: {words}."
    yield from row["note"]
    if row["failed"]:
        yield f"The exit status of the program is {max(row['failed'].values())}."
    if row["within"]:
        yield f"The copy is in $out/{row['within']}."
    yield f"The copy lacks: {lacks(row['lost']) or 'nothing'}."
    yield f"A restore makes {restored(row)} (exit status {row['restore_status']})."


# ---- the pages ----------------------------------------------------------------------------------

def texts(rows):
    return {"README.md": markdown(rows), "man/twinfs.5": roff(rows)}


def between(page):
    """The text before, between and after the lines of a page."""
    text = (ROOT / page).read_text()
    first, last = PAGES[page]
    before, rest = text.split(first + "\n")
    made, after = rest.split(last + "\n", 1)
    return before + first + "\n", made, last + "\n" + after


def write(rows):
    for page, text in texts(rows).items():
        before, _, after = between(page)
        (ROOT / page).write_text(before + text + after)

# SPDX-License-Identifier: MIT
"""Says what a plan is, what it leaves out, and what to run next."""
import os
import shlex
import sys
import textwrap

from fleet.errors import warn
from fleet.human import is_unfit, shell_name

COLUMNS = 80
AGAIN = (". Run 'twinfs-fleet wanted', 'twinfs digest' on the hosts, then this command with the "
         "digests")
SEEN = (", as on a network mount, a shared disk or clones of a disk: files on two hosts have the "
        "same inode number and times")
# {column of left_out.sql: why nothing of one content, or of several, may be removed}
REASONS = {
    "few": ("is on {hosts} or fewer, as far as is known",
            "are on {hosts} or fewer, as far as is known"),
    "undecided": ("is undecided: other hosts have files of its size, and not all of these were "
                  "read" + AGAIN,
                  "are undecided: other hosts have files of their size, and not all of these were "
                  "read" + AGAIN),
    "seen_twice": ("can be one file that two hosts see" + SEEN, "can be one file that two hosts "
                   "see" + SEEN),
    "protected": ("is protected on each host that need not keep it",
                  "are protected on each host that need not keep them"),
    "too_long": ("has a name that is too long for a list",
                 "have names that are too long for a list"),
}


def counted(number, noun):
    return f"{number:,} {noun}" + "s" * (number != 1)


def word(path):
    """A path as a word of a shell."""
    if any(map(is_unfit, path)) or os.fsencode(path) != path.encode("utf-8", "replace"):
        return shell_name(os.fsencode(path))
    return shlex.quote(path)


def replicas(plan):
    return counted(plan.settings.keep_replicas, "host")


def paragraph(text, mark=""):
    return textwrap.fill(text, COLUMNS, initial_indent=mark, subsequent_indent=" " * len(mark),
                         break_long_words=False, break_on_hyphens=False)


def host_line(host, kept, removable):
    keeps = "keeps nothing for others"
    if kept:
        keeps = f"keeps {counted(kept.contents, 'content')} for others, {kept.bytes:,} bytes"
    goes = "nothing may go"
    if removable:
        goes = (f"{counted(removable.files, 'file')} with {counted(removable.names, 'name')} may "
                f"go, {removable.bytes:,} bytes")
    return f"{host}: {keeps}; {goes}"


def reason_lines(plan):
    for name, (one, several) in REASONS.items():
        number = plan.left_out[name]
        reason = (one if number == 1 else several).format(hosts=replicas(plan))
        if number:
            yield paragraph(f"{counted(number, 'content')} {reason}.", "- ")


def protection_lines(plan):
    for (host, pattern), contents in zip(plan.settings.protect, plan.protections):
        option = f"--protect={host}:{word(pattern)}"
        if contents:
            yield f"{option} protects {counted(contents, 'content')}"
        else:
            warn(f"{option} protects nothing: it matches no content that is on more than "
                 f"{replicas(plan)}")


def next_lines(plan):
    folder = plan.settings.output
    yield "Next, copy this folder to the hosts that keep contents, and run there:"
    for host in plan.kept:
        path = os.path.join(folder, f"keep-{host}.jsonl")
        yield f"  on {host}: twinfs attest --output={word(folder)} {word(path)}"
    yield paragraph("Then copy each attested-HOST.jsonl into this folder, and the folder to the "
                    "hosts from which files may go. Run there within a day, with --dry-run at "
                    "first:")
    for host in plan.removable:
        path = os.path.join(folder, f"remove-{host}.jsonl")
        yield f"  on {host}: twinfs remove --plan={word(path)} --attested={word(folder)}"


def summary(plan):
    yield (f"Each content stays on at least {replicas(plan)}." if plan.removable else
           f"Nothing may go if each content is to stay on {replicas(plan)}.")
    for host in plan.indexes:
        yield host_line(host, plan.kept.get(host), plan.removable.get(host))
    yield from protection_lines(plan)
    reasons = list(reason_lines(plan))
    if reasons:
        yield from ("", "Left out:", *reasons)
    if plan.removable:
        yield from ("", *next_lines(plan))


def write(plan):
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    print("\n".join(summary(plan)), flush=True)

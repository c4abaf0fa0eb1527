# SPDX-License-Identifier: MIT
"""The names in by-size/ and folders/."""
import os
import re

NO_BREAK = "\u00a0"  # within the figures
FIGURES = re.compile(f" \\(([0-9]+){NO_BREAK}copies, frees{NO_BREAK}[^)]+\\)$".encode())


def name_of(rank, name, copies, reclaimable):
    """The name of a group in by-size/ or folders/. reclaimable is a text, such as "12 MiB"."""
    size = reclaimable.replace(" ", NO_BREAK)
    return f"{rank} {name} ({copies}{NO_BREAK}copies, frees{NO_BREAK}{size})"


def is_name(shown, rank, names, copies, reclaimable):
    """Whether it is the name of a group. A long name is cut between two characters."""
    whole = [os.fsencode(name_of(rank.decode(), os.fsdecode(name), copies, reclaimable))
             for name in names]
    figures = name_of("", "", copies, reclaimable)[1:].encode()
    return shown in whole or shown.endswith(figures) and 251 < len(shown) <= 255 and any(
        len(one) > 255 and one.startswith(shown[:-len(figures)]) for one in whole)

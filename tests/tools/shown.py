#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the windows of a program as JSON: the title of each, and the texts of its rows, cells and
labels from top to bottom.  Reads them by AT-SPI, as screen readers do.

  shown.py PROGRAM [NAME...]

For each NAME, first activates the menu or button of that name; "row:NAME" selects the row of that
name.
Needs python3-gi, gir1.2-atspi-2.0 and at-spi2-core.
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

ANSWER_MS = 2000  # a program without an answer in this time shows nothing
ROW = "row:"
CHILDREN_MAX = 500  # of one widget; of a long list only the beginning is read


def children(node):
    for index in range(min(node.get_child_count(), CHILDREN_MAX)):
        child = node.get_child_at_index(index)
        if child is not None:
            yield child


def read(node, texts, above=()):
    """Appends the texts of a node and its children.  A node that disappears or hangs meanwhile has
    no texts. A label that repeats the name of a node above it is omitted."""
    try:
        name = node.get_name()
        if name and name not in above:
            texts.append(name)
        for child in children(node):
            read(child, texts, (*above, name))
    except GLib.Error:
        pass


def click(node, name):
    """Activates or selects the node of a name; returns whether one was found."""
    if node.get_name() == name.removeprefix(ROW) != name:
        return node.grab_focus()
    if node.get_name() == name and node.get_n_actions() > 0:
        actions = [node.get_action_name(number) for number in range(node.get_n_actions())]
        return node.do_action(actions.index("activate") if "activate" in actions else 0)
    return any(click(child, name) for child in children(node))


def main():
    found = []
    Atspi.init()
    Atspi.set_timeout(ANSWER_MS, ANSWER_MS)
    for program in children(Atspi.get_desktop(0)):
        if sys.argv[1] in (program.get_name() or "").lower():
            for name in sys.argv[2:]:
                click(program, name)
            for window in children(program):
                found.append({"title": window.get_name() or "", "texts": []})
                for child in children(window):
                    read(child, found[-1]["texts"])
    print(json.dumps(found))


main()

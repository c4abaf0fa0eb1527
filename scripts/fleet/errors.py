# SPDX-License-Identifier: MIT
"""What goes wrong, for the user."""
import sys

COMPLETE, FAILED, USAGE, INCOMPLETE = range(4)  # exit statuses, as in include/twinfs/exit.h


class FleetError(Exception):
    """A failure that ends the command. The text is for the user, with the remedy if any."""


class InvalidError(Exception):
    """Input that does not have its form. The reader adds the name of the file and the line."""


def warn(text):
    print(f"twinfs-fleet: warning: {text}", file=sys.stderr)

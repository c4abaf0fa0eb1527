# SPDX-License-Identifier: MIT
"""A plugin of pytest that keeps the summary short: one line of bounded length for each failure.
With $CI set, pytest prints whole messages there, and one long message hides the names of all other
failed tests."""

LONGEST = 160  # characters of a message


def shorten(message):
    """The first line of a message, cut off if it is long."""
    first = message.partition("\n")[0]
    return first if len(first) <= LONGEST else first[:LONGEST - 3] + "..."


class Summaries:
    """Shortens the messages of the summary. The tracebacks above it have the whole messages."""

    def pytest_runtest_logreport(self, report):
        self.shorten(report)

    def pytest_collectreport(self, report):
        self.shorten(report)

    def shorten(self, report):
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash:
            crash.message = shorten(crash.message)


def register(config):
    """Only the controller of pytest-xdist prints a summary."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summaries(), "summaries")

# SPDX-License-Identifier: MIT
"""A plugin of pytest that counts skipped tests by their reason.

With $CI set, the run fails if a test was skipped for a reason that is not in ALLOWED: if a
tool disappears from a CI machine, the skipped tests must be noticed.
"""
import collections
import os
import re
from dataclasses import dataclass

import pytest
from program import has_instruments

PREFIX = "Skipped: "


@dataclass(frozen=True)
class Allowed:
    """A reason to skip that is accepted in CI."""
    reason: str  # matches the whole reason
    why: str  # how it can happen in CI
    instrumented: bool = False  # accepted only if the program has sanitizers or counts coverage


ALLOWED = (
    Allowed("needs nemo", "scripts/setup does not install it, as it depends on a whole desktop"),
    Allowed("this libfuse, kernel or user has no passthrough",
            "the libfuse of Debian 12 does not know it"),
    Allowed("needs (Xvfb|dbus-daemon|gdbus|thunar|pcmanfm|nautilus)",
            "scripts/setup goes on if the programs for a desktop cannot be installed"),
    Allowed("needs (nginx|lighttpd|lsyncd|smbd)",
            "scripts/setup installs no servers where Debian would start them"),
    Allowed("needs python3-gi and gir1.2-atspi-2.0",
            "scripts/setup goes on if the programs for a desktop cannot be installed"),
    Allowed("no service of a desktop that shows the trash", "it belongs to a whole desktop"),
    Allowed("no session of a user here", "CI logs no user in"),
    Allowed("no systemd boots here", "containers seldom have what systemd needs to boot"),
    Allowed("needs systemd", "images of containers often have none"),
    Allowed("needs dpkg-buildpackage, debhelper and lintian",
            "scripts/setup installs them only to make a package"),
    Allowed("needs Landlock", "the host chooses the kernel"),
    Allowed("needs Linux 6.11, which zeroes the rest of a stored page",
            "the host chooses the kernel"),
    Allowed("the queue of inotify is too long to fill it", "the host chooses the length"),
    Allowed("needs fanotify with a mark on a file system",
            "the host chooses the kernel, and the rights of root in a container"),
    Allowed("this kernel encrypts no folders", "the host chooses the kernel"),
    Allowed("this kernel mounts no SquashFS", "the host chooses the kernel"),
    Allowed("the file system does not use inode numbers again so soon",
            "other tests make files on that disk meanwhile"),
    Allowed("needs a build without instruments",
            "a sanitizer brings its own allocator, must be the first library, and needs memory, "
            "files and system calls that the test forbids", instrumented=True),
)


def is_allowed(reason, instrumented):
    return any(re.fullmatch(entry.reason, reason) and (instrumented or not entry.instrumented)
               for entry in ALLOWED)


def reason_of(report):
    """The reason of a skipped test. None for any other report, also for an expected failure."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return None
    _, _, text = report.longrepr
    return text.removeprefix(PREFIX)


class Skips:
    """Counts the skips of a run. With pytest-xdist the controller gets the reports of all
    workers."""

    def __init__(self, instrumented):
        self.instrumented = instrumented
        self.counts = collections.Counter()

    def refused(self):
        return sorted(reason for reason in self.counts
                      if not is_allowed(reason, self.instrumented))

    def pytest_runtest_logreport(self, report):
        self.count(report)

    def pytest_collectreport(self, report):
        self.count(report)

    def count(self, report):
        reason = reason_of(report)
        if reason is not None:
            self.counts[reason] += 1

    def pytest_sessionfinish(self, session):
        if os.environ.get("CI") and self.refused() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter):
        """The reasons come before the summary of pytest, and those that fail the run after it."""
        self.print_counts(terminalreporter)
        yield
        if os.environ.get("CI"):
            for reason in self.refused():
                terminalreporter.line(f"ERROR: not allowed in CI by skips.py: {reason}", red=True)

    def print_counts(self, terminalreporter):
        if not self.counts:
            return
        terminalreporter.section("skipped tests by reason")
        for reason, count in self.counts.most_common():
            terminalreporter.line(f"{count:5}  {reason}")


def register(config):
    """Has a run counted; workers of pytest-xdist leave it to the controller."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Skips(has_instruments(os.environ["TWINFS"])), "skips")

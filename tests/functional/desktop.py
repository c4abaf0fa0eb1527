# SPDX-License-Identifier: MIT
"""A desktop for tests: an X server without a screen, a message bus, and file managers whose windows
are read as screen readers read them.

The desktop marks all its processes, including those that the bus starts, and ends them with itself.
It has its own home, and no network if the network can be disabled.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import TIMEOUT, end_process, until
from program import ENDING

MARK = "TWINFS_TEST_DESKTOP"
SHOWN = Path(__file__).resolve().parent.parent / "tools/shown.py"
SCREEN = "1100x750x24"
OPENING = 60  # seconds in which a window must show its folder, also on a busy machine
FILE_MANAGER = "org.freedesktop.FileManager1"  # the running file manager
ASK_BUS = ("gdbus", "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/",
           "--method", "org.freedesktop.DBus.ListNames")
THUNAR = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="thunar" version="1.0">
  <property name="last-view" type="string" value="ThunarDetailsView"/>
  <property name="last-window-width" type="int" value="1090"/>
  <property name="last-window-height" type="int" value="740"/>
</channel>
"""
# Only rows that are in the window can be read.
NAUTILUS = """[org/gnome/nautilus/preferences]
default-folder-viewer='list-view'
[org/gnome/nautilus/list-view]
default-visible-columns=['name', 'size', 'detailed_type']
default-zoom-level='small'
[org/gnome/nautilus/window-state]
initial-size=(1090, 740)
"""
NEMO = """[org/nemo/preferences]
default-folder-viewer='list-view'
[org/nemo/list-view]
default-visible-columns=['name', 'size', 'detailed_type']
"""
PCMANFM = """[ui]
view_mode=list
win_width=1090
win_height=700
"""
GSETTINGS = ".config/glib-2.0/settings/keyfile"
SERVICES = ".local/share/dbus-1/services"
# Optional services that some file managers start by the bus.
UNWANTED = ("org.freedesktop.LocalSearch3", "org.freedesktop.Tracker3.Miner.Files",
            "org.gtk.vfs.Daemon")
NOT_STARTED = """[D-BUS Service]
Name={}
Exec=/bin/false
"""


@dataclass
class Manager:
    """A file manager: its command, and settings for a list view, whose rows can be read."""
    command: tuple
    settings: dict  # {path in the home: text}
    serving: tuple = None  # the command that starts it without a window, as a service

    @property
    def program(self):
        return self.command[0]


MANAGERS = {
    "thunar": Manager(("thunar",), {
        ".config/xfce4/xfconf/xfce-perchannel-xml/thunar.xml": THUNAR},
        ("thunar", "--daemon")),
    "pcmanfm": Manager(("pcmanfm", "--no-desktop"), {
        ".config/pcmanfm/default/pcmanfm.conf": PCMANFM}),
    "nautilus": Manager(("nautilus", "--new-window"), {GSETTINGS: NAUTILUS},
                        ("nautilus", "--gapplication-service")),
    "nemo": Manager(("nemo",), {GSETTINGS: NEMO}, ("nemo", "--no-default-window")),
}


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"needs {program}")


def without_network():
    """The words before a command that run it without a network, or none if not permitted."""
    command = ["unshare", "--net", "--"]
    works = shutil.which("unshare") and subprocess.run(
        [*command, "true"], check=False, capture_output=True).returncode == 0
    return command if works else []


class Desktop:
    """A desktop; it has no window until a file manager is opened."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        self.home = folder / "home"
        self.alone = without_network()
        self.environment = {
            **session.environment(self.home),
            **dict([self.mark.split("=")]),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            # without this, the bus looks for services in the home of /etc/passwd
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/run/bus",
            "GIO_USE_VFS": "local",
            "GIO_USE_VOLUME_MONITOR": "unix",
            "GSETTINGS_BACKEND": "keyfile",
            "GSK_RENDERER": "cairo",
            "GTK_MODULES": "gail:atk-bridge",
            "TMPDIR": str(folder),
        }
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "NO_AT_BRIDGE",
                     "DESKTOP_SESSION", "XDG_STATE_HOME"):
            self.environment.pop(name, None)

    def processes(self):
        return self.session.processes(self.mark)

    def start(self, *command, before=None, **options):
        """Starts a process of this desktop."""
        before = self.alone if before is None else before
        return subprocess.Popen([*before, *map(os.fspath, command)], env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, **options)

    def begin(self):
        for name in ("home", "run"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        self.write({f"{SERVICES}/{name}.service": NOT_STARTED.format(name) for name in UNWANTED})
        ready, told = os.pipe()
        with open(ready, "rb") as number:
            # in the network namespace of the machine, where servers see which displays are in use
            self.server = self.start("Xvfb", "-displayfd", str(told), "-screen", "0", SCREEN,
                                     "-nolisten", "tcp", "-noreset", before=[],
                                     pass_fds=[told])
            os.close(told)
            assert select.select([number], [], [], TIMEOUT)[0]
            # reads the whole line, as SIGPIPE would end the server
            display = number.readline().strip()
        assert display, "Xvfb did not start"
        self.environment["DISPLAY"] = f":{display.decode()}"
        self.bus = self.start("dbus-daemon", "--session", "--nofork", "--nopidfile",
                              "--address", self.environment["DBUS_SESSION_BUS_ADDRESS"])
        assert until(lambda: os.path.exists(self.folder / "run/bus"))

    def end(self):
        """Ends all processes, the server last, so that it removes its lock and socket."""
        def others():
            return [pid for pid in self.processes() if pid != self.server.pid]

        while others():
            for pid in others():
                end_process(pid, signal.SIGKILL)
        self.server.terminate()
        self.server.wait(TIMEOUT)
        self.bus.wait(TIMEOUT)

    def write(self, texts):
        """Writes {path in the home: text}."""
        for name, text in texts.items():
            place = self.home / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    @contextlib.contextmanager
    def opened(self, manager, path=None):
        """The file manager with a window on a folder, or as a service without a window."""
        self.write(manager.settings)
        process = self.start(*([*manager.command, path] if path else manager.serving))
        try:
            yield Window(self, manager, process)
        finally:
            process.kill()
            process.wait(TIMEOUT)
            # the answer shows that the bus has noticed the end; without the wait, the next file
            # manager would pass its work to the ended one
            subprocess.run(ASK_BUS, check=True, env=self.environment, capture_output=True,
                           timeout=TIMEOUT)


class Window:
    """The windows of a file manager."""

    def __init__(self, desktop, manager, process):
        self.desktop, self.manager, self.process = desktop, manager, process

    def windows(self, *clicked):
        """The windows with their titles and texts, after clicks on these names."""
        run = subprocess.run([sys.executable, SHOWN, self.manager.program, *clicked], check=False,
                             env=self.desktop.environment, capture_output=True, timeout=TIMEOUT)
        return json.loads(run.stdout) if run.returncode == 0 else []

    def shown(self, *clicked):
        """The titles and the texts of all windows."""
        found = self.windows(*clicked)
        return {"titles": [window["title"] for window in found if window["title"]],
                "texts": [text for window in found for text in window["texts"]]}

    def show_properties(self, path):
        """Makes the file manager show the properties of a file, by the bus."""
        for command in (("wait", "--session", "--timeout", str(OPENING), FILE_MANAGER),
                        ("call", "--session", "--dest", FILE_MANAGER, "--object-path",
                         "/org/freedesktop/FileManager1", "--method",
                         f"{FILE_MANAGER}.ShowItemProperties", str([path.as_uri()]), "")):
            subprocess.run(["gdbus", *command], check=True, env=self.desktop.environment,
                           capture_output=True, timeout=TIMEOUT)

    def texts(self, names):
        """The texts that are among these names, from top to bottom."""
        return [text for text in self.shown()["texts"] if text in names]

    def wait_for(self, names):
        """Waits until all names are shown."""
        wanted = set(names)
        if not until(lambda: set(self.texts(wanted)) == wanted, OPENING):
            missing = wanted - set(self.texts(wanted))
            raise AssertionError(f"not shown: {missing}, but {self.shown()}")


@contextlib.contextmanager
def desktop(session, folder):
    need("Xvfb", "dbus-daemon", "gdbus")
    if subprocess.run([sys.executable, "-c", "import gi; gi.require_version('Atspi', '2.0')"],
                      check=False, capture_output=True).returncode != 0:
        pytest.skip("needs python3-gi and gir1.2-atspi-2.0")
    found = Desktop(session, folder)
    found.begin()
    try:
        yield found
    finally:
        found.end()
        assert until(lambda: not found.processes(), ENDING)

# SPDX-License-Identifier: MIT
"""The script that installs the actions of twinfs in file managers."""
import configparser
import os
import shlex
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from processes import TIMEOUT
from test_desktop_actions import INSTALL

TERMINAL = b"""<?xml version="1.0" encoding="UTF-8"?>
<actions>
<action>
	<icon>utilities-terminal</icon>
	<name>Open Terminal Here</name>
	<unique-id>1700000000000000-1</unique-id>
	<command>exo-open --working-directory %f &amp;&amp; echo '</command>
	<description>Example</description>
	<patterns>*</patterns>
	<startup-notify/>
	<directories/>
</action>
</actions>
"""
THUNARS = {
    "as Thunar writes it": TERMINAL,
    "empty": b"<actions/>",
    "without a line end": TERMINAL.rstrip().replace(b"\n", b"\r\n"),
    "with what looks like others": TERMINAL.replace(
        b"<actions>", b"<actions><!-- <action><unique-id>twinfs-old</unique-id></action> -->"),
    "with odd bytes": TERMINAL.replace(b"Example", "\u6708 \u00e9".encode()),
}


class Home:
    """A home folder to install the actions in."""

    def __init__(self, folder):
        self.data, self.config = folder / "data of 'me' \"100%\" $HOME", folder / "config"
        self.uca = self.config / "Thunar/uca.xml"
        self.system = folder / "xdg"
        self.environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(self.data),
                            "XDG_CONFIG_HOME": str(self.config),
                            "XDG_CONFIG_DIRS": str(self.system)}

    def install(self, *options, script=INSTALL, status=0):
        run = subprocess.run([sys.executable, script, *options], env=self.environment, check=False,
                             capture_output=True, text=True, timeout=TIMEOUT)
        assert run.returncode == status, run
        return run.stderr

    def everything(self):
        return {path: path.read_bytes() for folder in (self.data, self.config)
                for path in folder.rglob("*") if path.is_file()}


EVERY = [f"--for={name}" for name in ("Thunar", "Nautilus", "Nemo", "Caja", "Dolphin", "PCManFM")]


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.mark.parametrize("before", THUNARS.values(), ids=THUNARS)
def test_actions_of_thunar_are_installed_once_and_removed(home, before):
    home.uca.parent.mkdir(parents=True)
    home.uca.write_bytes(before)
    others = [ElementTree.tostring(action) for action in ElementTree.fromstring(before)]
    home.install("--for=Thunar")
    installed = home.uca.read_bytes()
    actions = list(ElementTree.fromstring(installed))
    assert [ElementTree.tostring(action).strip() for action in actions[:len(others)]] == [
        other.strip() for other in others]
    ours = actions[len(others):]
    assert [action.findtext("unique-id") for action in ours] == [
        "twinfs-find", "twinfs-stop", "twinfs-show-copies", "twinfs-show-source",
        "twinfs-show-equal", "twinfs-elsewhere", "twinfs-trash"]
    assert [[kind.tag for kind in action][6:] for action in ours
            if len(action) == 7] == [["directories"]] * 4
    for action in ours:
        words = shlex.split(action.findtext("command").replace("%%", "%"))
        path = str(home.data / "twinfs/twinfs-action")
        assert words == ["test", "!", "-x", path, "||", "exec", path, "--manager", "thunar",
                         action.findtext("unique-id").removeprefix("twinfs-"), "%F"]
        assert os.access(path, os.X_OK)
    assert home.uca.with_name("uca.xml.before-twinfs").read_bytes() == before
    home.install("--for=Thunar")
    assert home.uca.read_bytes() == installed
    home.install("--remove")
    assert home.everything() == {home.uca: before}


def test_edited_actions_of_the_user_survive_the_removal(home):
    home.uca.parent.mkdir(parents=True)
    home.uca.write_bytes(TERMINAL)
    home.install("--for=Thunar")
    changed = home.uca.read_bytes().replace(b"Open Terminal Here", b"Terminal")
    home.uca.write_bytes(changed)
    home.install("--remove")
    assert home.uca.read_bytes() == TERMINAL.replace(b"Open Terminal Here", b"Terminal")
    assert home.uca.with_name("uca.xml.before-twinfs").read_bytes() == TERMINAL


def test_system_wide_actions_are_copied_at_the_installation(home):
    (home.system / "Thunar").mkdir(parents=True)
    (home.system / "Thunar/uca.xml").write_bytes(TERMINAL)
    home.install("--for=Thunar")
    assert [action.findtext("name") for action in ElementTree.parse(home.uca).getroot()][0] == \
        "Open Terminal Here"
    home.install("--remove")
    assert home.everything() == {}


@pytest.mark.parametrize("broken", [b"", b"<actions>", b"<other></other>", TERMINAL[:-12],
                                    b"<actions>\xff</actions>"])
def test_broken_settings_are_left_alone(home, broken):
    home.uca.parent.mkdir(parents=True)
    home.uca.write_bytes(broken)
    for options in (["--for=Thunar"], ["--remove"]):
        assert "uca.xml" in home.install(*options, status=1)
        assert home.uca.read_bytes() == broken


def test_broken_settings_do_not_prevent_other_installations(home):
    home.uca.parent.mkdir(parents=True)
    home.uca.write_bytes(b"<actions>")
    assert "uca.xml" in home.install(*EVERY, status=1)
    scripts = [home.data / "nautilus/scripts", home.data / "nemo/scripts",
               home.config / "caja/scripts"]
    assert all((folder / "Show copies").exists() for folder in scripts)
    assert "uca.xml" in home.install("--remove", status=1)
    assert home.everything() == {home.uca: b"<actions>"}


def test_private_settings_stay_private(home):
    home.uca.parent.mkdir(parents=True)
    home.uca.write_bytes(TERMINAL)
    home.uca.chmod(0o600)
    home.install("--for=Thunar")
    assert {path.name: oct(path.stat().st_mode) for path in home.uca.parent.iterdir()} == {
        "uca.xml": "0o100600", "uca.xml.before-twinfs": "0o100600"}
    home.install("--remove")
    assert home.uca.stat().st_mode == 0o100600


def test_files_for_every_file_manager_are_installed_and_removed(home):
    home.install(*EVERY)
    found = home.everything()
    home.install(*EVERY)
    assert home.everything() == found
    commands = []
    for path, text in found.items():
        if path.suffix not in (".desktop", ".nemo_action"):
            continue
        entry = configparser.RawConfigParser(delimiters="=", strict=True)
        entry.optionxform = str
        entry.read_string(text.decode())
        commands += [(path, part["Exec"]) for part in map(dict, entry.values()) if "Exec" in part]
    assert len(commands) == 21
    for path, command in commands:
        # escapes of values, and of Exec
        command = command.replace("\\\\", "\\").replace("%%", "%")
        run = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], check=True, text=True,
                             capture_output=True)
        program, *words = run.stdout.splitlines()
        assert program == str(home.data / "twinfs/twinfs-action"), path
        assert words[-1] == ("%U" if path.suffix == ".nemo_action" else "%F")
        assert ("--uris" in words) == (path.suffix == ".nemo_action")
    scripts = [path for path in found if path.parent.name == "scripts"]
    assert len(scripts) == 21 and all(os.access(path, os.X_OK) for path in scripts)
    menus = list(home.data.glob("kio/servicemenus/*"))
    assert len(menus) == 2 and all(os.access(path, os.X_OK) for path in menus)
    of_folders = {path.name for path, text in found.items()
                  if b"inode/directory" in text or b"Extensions=dir" in text}
    assert of_folders == {"twinfs-folders.desktop"} | {
        f"twinfs-{name}.{kind}" for name in ("find", "stop", "show-equal", "elsewhere")
        for kind in ("desktop", "nemo_action")}
    home.install("--remove")
    assert home.everything() == {}


def test_script_of_the_user_is_not_replaced_or_removed(home):
    path = home.data / "nautilus/scripts/Show copies"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    assert "Show copies" in home.install("--for=Nautilus", status=1)
    home.install("--remove")
    assert path.read_text() == "#!/bin/sh\n"

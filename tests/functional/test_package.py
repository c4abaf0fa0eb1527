# SPDX-License-Identifier: MIT
"""The files that `meson install` and the Debian package install. tests/tools/use_package uses the
package in clean systems."""
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import trees
from manual import ROOT
from processes import TIMEOUT

BUILD = Path(os.environ["TWINFS"]).resolve().parents[1]

# Paths below the prefix, with the target of each symbolic link.
FILES = {
    "bin/twinfs": None,
    "bin/twinfs-fleet": None,
    "lib/systemd/system/twinfs@.service": None,
    "lib/systemd/user/twinfs@.service": None,
    "sbin/mount.fuse.twinfs": "{prefix}/bin/twinfs",
    "sbin/umount.fuse.twinfs": "{prefix}/bin/twinfs",
    "share/bash-completion/completions/twinfs": None,
    "share/fish/vendor_completions.d/twinfs.fish": None,
    "share/man/man1/twinfs.1": None,
    "share/man/man1/twinfs-fleet.1": None,
    "share/man/man5/twinfs.5": None,
    "share/man/man8/mount.fuse.twinfs.8": "../man1/twinfs.1",
    "share/man/man8/umount.fuse.twinfs.8": "../man1/twinfs.1",
    "share/twinfs/backup": None,
    "share/twinfs/install-desktop": None,
    "share/twinfs/page/head.html": None,
    "share/twinfs/page/style.css": None,
    "share/twinfs/twinfs-action": None,
    "share/zsh/site-functions/_twinfs": None,
}
# The modules, the SQL and the style of twinfs-fleet, as they are in the sources.
FILES |= {f"share/twinfs/{path.relative_to(ROOT / 'scripts')}": None
          for path in (ROOT / "scripts/fleet").rglob("*")
          if path.is_file() and "__pycache__" not in path.parts}
PROGRAMS = {"bin/twinfs", "bin/twinfs-fleet", "share/twinfs/backup", "share/twinfs/install-desktop",
            "share/twinfs/twinfs-action"}

# Files that Debian has at another path, and files that only the package has.
DEBIAN_PLACES = {
    "share/zsh/site-functions/_twinfs": "share/zsh/vendor-completions/_twinfs",
}
DEBIAN_FILES = {"share/doc/twinfs/README.md", "share/doc/twinfs/changelog",
                "share/doc/twinfs/copyright", "share/doc/twinfs/examples/on-duplicate",
                "share/doc/twinfs/examples/restore-without-twinfs"}

WHO = "Ann & Bob/Carl"
QUICK = "nocheck noopt parallel=2"


def files_below(folder):
    return {str(Path(parent, name).relative_to(folder))
            for parent, _, names in os.walk(folder) for name in names}


def version():
    return re.search(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


@pytest.fixture(scope="module")
def prefix():
    """The prefix of the build under test."""
    options = BUILD / "meson-info/intro-buildoptions.json"
    if not (shutil.which("meson") and options.exists() and os.access(BUILD, os.W_OK)):
        pytest.skip("TWINFS is not in a build folder of this user")
    return next(Path(option["value"]) for option in json.loads(options.read_text())
                if option["name"] == "prefix")


@pytest.fixture(scope="module")
def installed(scratch, prefix):
    """The prefix in a folder to which everything was installed, with a umask of 077."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--skip-subprojects",
                    "--destdir", scratch], check=True, capture_output=True, timeout=TIMEOUT,
                   umask=0o077)
    return scratch / prefix.relative_to("/")


def test_exactly_the_listed_files_are_installed(installed, prefix):
    assert files_below(installed) == set(FILES)
    for name, target in FILES.items():
        if target:
            assert os.readlink(installed / name) == target.format(prefix=prefix)


def test_installed_files_are_readable_for_all_and_writable_for_root(installed):
    for path in [installed, *installed.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or str(path.relative_to(installed)) in PROGRAMS
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if runs else 0o644), path


def test_installed_program_runs(installed):
    run = subprocess.run([installed / "bin/twinfs", "--version"], check=True,
                         capture_output=True, text=True)
    assert run.stdout == f"twinfs {version()}\n"


def test_installed_fleet_tool_runs(installed):
    run = subprocess.run([installed / "bin/twinfs-fleet", "--version"], check=True,
                         capture_output=True, text=True)
    assert run.stdout == f"twinfs-fleet {version()}\n"
    assert not list(installed.rglob("__pycache__"))


def test_installed_units_run_the_installed_program(installed, prefix):
    for kind in ("system", "user"):
        unit = (installed / f"lib/systemd/{kind}/twinfs@.service").read_text()
        [program] = re.findall(r"^ExecStart=(\S+) ", unit, re.MULTILINE)
        assert program == f"{prefix}/bin/twinfs"
        assert "@bindir@" not in unit


@pytest.mark.parametrize("name", [name for name in FILES if "/man/" in name])
def test_installed_manuals_can_be_formatted(installed, name):
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    run = subprocess.run(["mandoc", "-Tutf8", installed / name], check=True,
                         capture_output=True, text=True)
    page = "TWINFS-FLEET" if "fleet" in name else "TWINFS"
    assert run.stdout.startswith(f"{page}({5 if name.endswith('.5') else 1})")


def test_installed_files_do_not_contain_the_path_of_the_build_folder(installed, tmp_path):
    if not shutil.which("objcopy"):
        pytest.skip("needs objcopy")
    places = {os.fsencode(BUILD), os.fsencode(ROOT)}
    sources = os.fsencode(os.path.relpath(ROOT, BUILD))  # in messages of assertions
    for name in FILES:
        path = installed / name
        if name == "bin/twinfs":  # debug information has the folder
            path = tmp_path / "stripped"
            subprocess.run(["objcopy", "--strip-debug", installed / name, path], check=True)
        if not path.is_symlink():
            content = path.read_bytes().replace(sources, b"")
            assert not [place for place in places if place in content], name


def test_setup_installs_all_build_dependencies_of_the_package():
    control = (ROOT / "data/debian/control").read_text()
    [field] = re.findall(r"^Build-Depends: (.*(?:\n .*)*)", control, re.MULTILINE)
    wanted = {entry.split()[0].replace("-compat", "") for entry in field.split(",")
              if "<!nocheck>" not in entry}
    setup = (ROOT / "scripts/setup").read_text()
    lists = re.findall(r"^(?:build|package)_needs='\n(.*?)^'", setup, re.MULTILINE | re.DOTALL)
    got = {line.split()[0] for line in "".join(lists).splitlines()}
    assert len(lists) == 2 and "libfuse3-dev" in wanted
    assert wanted - got == set()


@pytest.mark.parametrize("name", ["fuzz", "package", "test"])
def test_script_prints_its_usage_in_another_folder(name):
    run = subprocess.run([f"{ROOT.name}/scripts/{name}", "--help"], check=False, cwd=ROOT.parent,
                         capture_output=True, text=True, timeout=TIMEOUT)
    assert f"  scripts/{name} " in run.stdout + run.stderr


def test_package_is_built_and_lintian_accepts_it(plain_build, tmp_path):
    if not all(map(shutil.which, ("dpkg-buildpackage", "dh", "lintian"))):
        pytest.skip("needs dpkg-buildpackage, debhelper and lintian")
    before = files_below(ROOT / "data")
    others = tmp_path / "made/work/precious"  # the script must keep this file
    trees.write(others, b"precious")
    run = subprocess.run([ROOT / "scripts/package", "--output", tmp_path / "made"], check=False,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=TIMEOUT, env={**os.environ, "DEB_BUILD_OPTIONS": QUICK,
                                          "DEBFULLNAME": WHO})
    assert run.returncode == 0, run.stdout + run.stderr
    assert files_below(ROOT / "data") == before and not (ROOT / "debian").exists()
    [package] = (tmp_path / "made").glob("twinfs_*.deb")
    assert others.exists() and not list((tmp_path / "made").glob("twinfs-work*"))
    fields = [subprocess.run(["dpkg-deb", "--field", package, name], check=True,
                             capture_output=True, text=True).stdout.strip()
              for name in ("Version", "Maintainer")]
    assert re.sub(r"~deb\d+$", "", fields[0]) == version()
    assert fields[1].startswith(f"{WHO} <")
    subprocess.run(["dpkg-deb", "--extract", package, tmp_path / "root"], check=True)
    usr = tmp_path / "root/usr"
    wanted = {DEBIAN_PLACES.get(name, name) for name in FILES} | DEBIAN_FILES
    assert {name.removesuffix(".gz") for name in files_below(usr)} == wanted
    assert b"/usr/bin/twinfs mount -f" in (usr / "lib/systemd/system/twinfs@.service").read_bytes()

# SPDX-License-Identifier: MIT
"""What is installed, by `meson install` and as a Debian package. tests/tools/use_package uses that
in clean systems."""
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
from program import TIMEOUT

BUILD = Path(os.environ["TWINFS"]).resolve().parents[1]

# Below the prefix, with what each symbolic link leads to.
FILES = {
    "bin/twinfs": None,
    "lib/systemd/system/twinfs@.service": None,
    "lib/systemd/user/twinfs@.service": None,
    "sbin/mount.fuse.twinfs": "{prefix}/bin/twinfs",
    "share/bash-completion/completions/twinfs": None,
    "share/fish/vendor_completions.d/twinfs.fish": None,
    "share/man/man1/twinfs.1": None,
    "share/man/man5/twinfs.5": None,
    "share/man/man8/mount.fuse.twinfs.8": "../man1/twinfs.1",
    "share/twinfs/install-desktop": None,
    "share/twinfs/twinfs-action": None,
    "share/zsh/site-functions/_twinfs": None,
}
PROGRAMS = {"bin/twinfs", "share/twinfs/install-desktop", "share/twinfs/twinfs-action"}

# What else the package of it has, and where Debian wants something of it.
DEBIAN_PLACES = {
    "share/zsh/site-functions/_twinfs": "share/zsh/vendor-completions/_twinfs",
}
DEBIAN_FILES = {"share/doc/twinfs/README.md", "share/doc/twinfs/changelog",
                "share/doc/twinfs/copyright", "share/doc/twinfs/examples/on-duplicate"}

WHO = "Ann & Bob/Carl"
QUICK = "nocheck noopt parallel=2"


def files_below(folder):
    return {str(Path(parent, name).relative_to(folder))
            for parent, _, names in os.walk(folder) for name in names}


def version():
    return re.search(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


@pytest.fixture(scope="module")
def prefix():
    """What the build under test is installed below."""
    options = BUILD / "meson-info/intro-buildoptions.json"
    if not (shutil.which("meson") and options.exists() and os.access(BUILD, os.W_OK)):
        pytest.skip("TWINFS is not in a build folder of this user")
    return next(Path(option["value"]) for option in json.loads(options.read_text())
                if option["name"] == "prefix")


@pytest.fixture(scope="module")
def installed(scratch, prefix):
    """That place in a folder that all was installed to, by somebody whose files are his own."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--skip-subprojects",
                    "--destdir", scratch], check=True, capture_output=True, timeout=TIMEOUT,
                   umask=0o077)
    return scratch / prefix.relative_to("/")


def test_everything_is_installed_and_nothing_else(installed, prefix):
    assert files_below(installed) == set(FILES)
    for name, target in FILES.items():
        if target:
            assert os.readlink(installed / name) == target.format(prefix=prefix)


def test_what_is_installed_is_for_all_to_read_and_for_root_to_write(installed):
    for path in [installed, *installed.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or str(path.relative_to(installed)) in PROGRAMS
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if runs else 0o644), path


def test_installed_program_runs(installed):
    run = subprocess.run([installed / "bin/twinfs", "--version"], check=True,
                         capture_output=True, text=True)
    assert run.stdout == f"twinfs {version()}\n"


def test_installed_units_run_the_installed_program(installed, prefix):
    for kind in ("system", "user"):
        unit = (installed / f"lib/systemd/{kind}/twinfs@.service").read_text()
        [program] = re.findall(r"^ExecStart=(\S+) ", unit, re.MULTILINE)
        assert program == f"{prefix}/bin/twinfs"
        assert "@bindir@" not in unit


@pytest.mark.parametrize("name", [name for name in FILES if "/man/" in name])
def test_installed_pages_can_be_read(installed, name):
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    run = subprocess.run(["mandoc", "-Tutf8", installed / name], check=True,
                         capture_output=True, text=True)
    assert run.stdout.startswith(f"TWINFS({5 if name.endswith('.5') else 1})")


def test_nothing_installed_names_the_folder_it_was_built_in(installed, tmp_path):
    if not shutil.which("objcopy"):
        pytest.skip("needs objcopy")
    places = {os.fsencode(BUILD), os.fsencode(ROOT)}
    sources = os.fsencode(os.path.relpath(ROOT, BUILD))  # in what failed assertions say
    for name in FILES:
        path = installed / name
        if name == "bin/twinfs":  # what debuggers read has it, and goes with --strip
            path = tmp_path / "stripped"
            subprocess.run(["objcopy", "--strip-debug", installed / name, path], check=True)
        if not path.is_symlink():
            content = path.read_bytes().replace(sources, b"")
            assert not [place for place in places if place in content], name


def test_set_up_for_a_package_is_all_that_it_is_built_with():
    control = (ROOT / "data/debian/control").read_text()
    [field] = re.findall(r"^Build-Depends: (.*(?:\n .*)*)", control, re.MULTILINE)
    wanted = {entry.split()[0].replace("-compat", "") for entry in field.split(",")
              if "<!nocheck>" not in entry}
    setup = (ROOT / "scripts/setup").read_text()
    lists = re.findall(r"^(?:build|package)_needs='\n(.*?)^'", setup, re.MULTILINE | re.DOTALL)
    got = {line.split()[0] for line in "".join(lists).splitlines()}
    assert len(lists) == 2 and "libfuse3-dev" in wanted
    assert wanted - got == set()


def test_package_is_made_of_the_sources_and_lintian_has_no_objections(plain_build, tmp_path):
    if not all(map(shutil.which, ("dpkg-buildpackage", "dh", "lintian"))):
        pytest.skip("needs dpkg-buildpackage, debhelper and lintian")
    before = files_below(ROOT / "data")
    others = tmp_path / "made/work/precious"  # in a folder that has more than packages
    trees.write(others, b"of somebody else")
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

# SPDX-License-Identifier: MIT
"""The build of the program is hardened, and it does not depend on the folder of the sources."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from manual import ROOT

BINARY = Path(os.environ["TWINFS"]).resolve()
BUILD = BINARY.parents[1]
COMMANDS = BUILD / "compile_commands.json"
CET = re.compile(r"\bIBT\b.*\bSHSTK\b|\bSHSTK\b.*\bIBT\b")


def readelf(*words):
    return subprocess.run(["readelf", "--wide", *words], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout


@pytest.fixture(scope="module")
def commands():
    """The compile commands of the build."""
    if not (COMMANDS.exists() and shutil.which("readelf")):
        pytest.skip("needs the folder of the build, and binutils")
    lines = [entry["command"] for entry in json.loads(COMMANDS.read_text())
             if entry["output"].startswith("src/")]
    assert lines
    return lines


@pytest.fixture
def plain(commands):
    """The compile commands of a build with optimization and without instruments."""
    if any("-fsanitize=" in line or "--coverage" in line or " -O" not in line
           for line in commands):
        pytest.skip("needs a build without instruments")
    return commands


def compiler(line):
    return line.split()[1 if line.startswith("ccache ") else 0]


def compiles(tmp_path, line, *options):
    source = tmp_path / "empty.c"
    source.write_text("#include <string.h>\nint main(void) { return 0; }\n")
    return subprocess.run([compiler(line), "-O2", "-Werror", *options, source, "-o",
                           tmp_path / "empty"], check=False, capture_output=True).returncode == 0


def test_program_is_position_independent_and_its_tables_are_read_only(commands):
    assert re.search(r"Type:\s+DYN", readelf("--file-header", BINARY))
    dynamic = readelf("--dynamic", BINARY)
    assert re.search(r"\bBIND_NOW\b|\bFlags:.*\bNOW\b", dynamic) and re.search(r"\bPIE\b", dynamic)
    headers = readelf("--program-headers", BINARY)
    assert "GNU_RELRO" in headers
    assert re.search(r"GNU_STACK.* RW ", headers)
    assert not re.search(r"LOAD.* RWE ", headers)


def test_program_has_fortified_functions_and_guarded_stacks(plain, tmp_path):
    symbols = readelf("--dyn-syms", BINARY)
    assert "__stack_chk_fail" in symbols
    assert re.search(r"__(mem|str|v?snprintf)\w*_chk", symbols)
    level = 3 if compiles(tmp_path, plain[0], "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3") else 2
    for line in plain:
        assert re.findall(r"-D_FORTIFY_SOURCE=(\d)", line)[-1] == str(level), line
    if compiles(tmp_path, plain[0], "-fstack-clash-protection"):
        assert all("-fstack-clash-protection" in line for line in plain)


def test_objects_have_cet_if_the_compiler_supports_it(commands, tmp_path):
    """The linker marks the program only if the objects of the C library have CET too."""
    if not compiles(tmp_path, commands[0], "-fcf-protection=full"):
        pytest.skip("this compiler has no CET for this processor")
    objects = sorted((BUILD / "src").glob("*.p/*.o"))
    assert objects
    assert all(CET.search(readelf("--notes", path)) for path in objects)
    if CET.search(readelf("--notes", tmp_path / "empty")):
        assert CET.search(readelf("--notes", BINARY))


def objects_built_in(folder, compiler_line):
    """Builds the lowest layer of the program from a copy of the sources."""
    folder.mkdir(parents=True)
    for name in ("meson.build", "meson_options.txt", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "include", "data", "man", "scripts"):
        shutil.copytree(ROOT / name, folder / name)
    environment = {**os.environ, "CC": compiler(compiler_line), "CCACHE_DISABLE": "1"}
    subprocess.run(["meson", "setup", "build", "-Dtests=false"], cwd=folder, check=True,
                   capture_output=True, env=environment)
    subprocess.run(["ninja", "-C", "build", "src/libtwinfs-base.a"], cwd=folder, check=True,
                   capture_output=True, env=environment)
    made = (folder / "build/src").glob("libtwinfs-base.a.p/*.o")
    return {path.name: path.read_bytes() for path in made}


def test_builds_in_two_folders_are_equal_bit_by_bit(plain, tmp_path):
    if not (shutil.which("meson") and shutil.which("ninja")):
        pytest.skip("needs meson and ninja")
    first = objects_built_in(tmp_path / "first", plain[0])
    second = objects_built_in(tmp_path / "another/folder of sources", plain[0])
    assert len(first) > 10
    assert {name for name in first if first[name] != second.get(name)} == set()
    assert first.keys() == second.keys()
    assert not any(os.fsencode(tmp_path) in data for data in first.values())

# SPDX-License-Identifier: MIT
"""The folder with the Python packages of the engines: `twinfs-fleet setup` makes it, and the other
commands run with its Python."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fleet.errors import FleetError

HERE = Path(__file__).resolve().parent
REQUIREMENTS = {"duckdb": ("requirements.txt",),
                "spark": ("requirements.txt", "requirements-spark.txt")}
MODULES = {"duckdb": ("duckdb", "pyarrow"), "spark": ("duckdb", "pyarrow", "pyspark")}
MARK = "twinfs-fleet.json"  # written last
JAVA_LEAST = 17


def default_folder():
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "twinfs-fleet")


def packages(engine):
    """The packages of an engine with their versions, as pip takes them."""
    return [line for name in REQUIREMENTS[engine]
            for line in (HERE / name).read_text(encoding="ascii").split()]


def installed(folder):
    """The packages in a folder; None if it was not set up wholly."""
    try:
        found = json.loads(Path(folder, MARK).read_bytes())["packages"]
        return found if isinstance(found, list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def python_of(folder):
    return os.path.join(folder, "bin/python3")


# ---- setup


def run(settings):
    """The command setup."""
    wanted = packages(settings.engine)
    folder = os.path.abspath(settings.folder)
    if settings.engine == "spark":
        check_java()
    present = installed(folder) or []
    if set(wanted) <= set(present):
        print(f"{folder} is set up: {', '.join(present)}")
        return
    make_environment(folder)
    print(f"installing with pip into {folder}: {', '.join(wanted)}", flush=True)
    command = [python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--use-pep517", *wanted]
    if subprocess.run(command, check=False).returncode != 0:
        raise FleetError(f"cannot install {', '.join(wanted)} with pip; its messages are above")
    everything = wanted + [one for one in present if one not in wanted and is_current(one)]
    Path(folder, MARK).write_text(json.dumps({"packages": everything}) + "\n", encoding="ascii")
    print("set up; to remove everything, remove this folder")


def is_current(package):
    return package in packages("spark")


def make_environment(folder):
    if os.path.exists(python_of(folder)):
        Path(folder, MARK).unlink(missing_ok=True)
        return
    if os.path.isdir(folder) and os.listdir(folder):
        raise FleetError(f"cannot set up {folder}: it has other files; use another --folder")
    if not importlib.util.find_spec("ensurepip"):
        raise FleetError("cannot make a Python environment: the module ensurepip is missing; on "
                         "Debian: apt-get install python3-venv")
    print(f"making a Python environment in {folder}", flush=True)
    command = [sys.executable, "-m", "venv", folder]
    if subprocess.run(command, check=False).returncode != 0:
        raise FleetError(f"cannot make a Python environment in {folder}; its messages are above")


def check_java():
    """Refuses a machine without a Java runtime that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin/java") if home else shutil.which("java")
    found = None
    if java and os.access(java, os.X_OK):
        said = subprocess.run([java, "-version"], check=False, capture_output=True, text=True)
        found = re.search(r'version "(\d+)', said.stderr)
    if not found or int(found[1]) < JAVA_LEAST:
        raise FleetError(f"Spark needs Java {JAVA_LEAST} or later, which is not installed; on "
                         "Debian: apt-get install default-jre-headless")


# ---- running with the packages


def enter(script, arguments, settings):
    """Runs this command again with the Python of the folder, unless the packages are here."""
    folder = os.path.abspath(settings.folder)
    python = python_of(folder)
    if os.path.abspath(sys.prefix) != folder and installed(folder) is not None:
        os.execv(python, [python, "-I", str(script), *arguments])
    missing = [name for name in MODULES[settings.engine] if not importlib.util.find_spec(name)]
    if missing:
        option = " --engine=spark" if settings.engine == "spark" else ""
        raise FleetError(f"the Python package {missing[0]} is not installed; run once: "
                         f"twinfs-fleet setup{option}{folder_option(settings)}")


def folder_option(settings):
    given = settings.folder != default_folder()
    return f" --folder {settings.folder}" if given else ""

# SPDX-License-Identifier: MIT
"""Folders and files of results. They are written under a temporary name and renamed, so that a
result is never taken for a whole one before it is. Only this user can read the folders, as names
can be private."""
import contextlib
import os
import shutil
import tempfile

from fleet.errors import FleetError

TEMPORARY = set()  # folders to remove if the command is ended by a signal


@contextlib.contextmanager
def new_folder(path, is_ours):
    """A temporary folder that replaces the folder at `path` at the end, or is removed after a
    failure. `is_ours` says whether an earlier run wrote the folder of this path."""
    path = os.path.abspath(path)
    check_replaceable(path, is_ours)
    parent, name = os.path.split(path)
    try:
        os.makedirs(parent, exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{name}-", dir=parent)
    except OSError as error:
        raise FleetError(f"cannot write {path}: {error.strerror}") from None
    TEMPORARY.add(made)
    try:
        yield made
        replace(made, path, is_ours)
    except OSError as error:
        raise FleetError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
        TEMPORARY.discard(made)


def check_replaceable(path, is_ours):
    try:
        entries = os.listdir(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FleetError(f"cannot write {path}: {error.strerror}") from None
    if entries and (os.path.islink(path) or not is_ours(path)):
        raise FleetError(f"cannot write {path}: it has other files; use an empty folder or a new "
                         "name")


def replace(made, path, is_ours):
    """Renames a folder, also if there is an older one."""
    check_replaceable(path, is_ours)
    old = None
    if os.path.isdir(path) and os.listdir(path):
        old = tempfile.mkdtemp(prefix=".old-", dir=os.path.dirname(path))
        os.rename(path, old)
    os.rename(made, path)
    if old:
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def scratch():
    """A folder for what an engine does not keep in memory."""
    parent = os.environ.get("TMPDIR") or "/var/tmp"
    try:
        made = tempfile.mkdtemp(prefix="twinfs-fleet-", dir=parent)
    except OSError as error:
        raise FleetError(f"cannot make a folder in {parent}: {error.strerror}; set TMPDIR"
                         ) from None
    TEMPORARY.add(made)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        TEMPORARY.discard(made)

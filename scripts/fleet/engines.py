# SPDX-License-Identifier: MIT
"""An engine with the tables of the inputs of a command.

An engine has open_tables(folders), make(step, sql), query(sql), which returns the names of the
columns and yields rows as tuples, and close().
"""
import contextlib
import os

from fleet import questions
from fleet.errors import FleetError
from fleet.importing import import_to, open_inputs
from fleet.outputs import scratch


def make_engine(settings, folder):
    if settings.engine == "spark":
        from fleet.spark import SparkEngine
        return SparkEngine(settings, folder)
    from fleet.duck import DuckEngine
    return DuckEngine(settings, folder)


def plain_name(path, folder, number):
    """A path that no engine takes for a pattern: a symbolic link, if the path is special."""
    path = os.path.abspath(path)
    if not set(path) & set("*?[]{}\\,'\"%:#\n"):
        return path
    link = os.path.join(folder, f"input-{number}")
    os.symlink(path, link)
    return link


@contextlib.contextmanager
def opened(settings, steps):
    """An engine that has made these steps of all inputs of a command."""
    inputs = open_inputs(settings.inventory)
    settings.remote = bool(inputs.remote)
    with scratch() as folder:
        paths = [*inputs.remote]
        if inputs.sets:
            imported = os.path.join(folder, "imported")
            os.mkdir(imported)
            import_to(imported, inputs, settings, with_folders=False)
            paths.append(imported)
        paths += [plain_name(other.path, folder, number)
                  for number, other in enumerate(inputs.folders)]
        with contextlib.closing(make_engine(settings, folder)) as engine:
            engine.open_tables(paths)
            check_duplicates(engine)
            for step in steps:
                engine.make(step, questions.statement(step.name))
            yield engine


def check_duplicates(engine):
    """Refuses two inventories of a host, also of folders that only the engine can read."""
    _, rows = engine.query(questions.statement("duplicate_hosts"))
    for (host,) in rows:
        raise FleetError(f"two inventories of the host {host}; give one of them")

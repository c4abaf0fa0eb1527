# SPDX-License-Identifier: MIT
"""An engine with the tables of the inputs of a command.

An engine has open_tables(folders), add_table(name, Arrow table), make(step, sql), query(sql), which
returns the names of the columns and yields rows as tuples, and close().
"""
import contextlib
import os

from fleet import questions
from fleet.errors import FleetError, warn
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
def opened(settings, steps, prepare=None):
    """An engine that has made these steps of all inputs of a command. `prepare`, called with the
    engine and the settings, adds tables that the steps need."""
    inputs = open_inputs(settings.inventory)
    settings.remote = bool(inputs.remote)
    warn_of_unused(inputs)
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
            check_hosts(engine)
            if prepare:
                prepare(engine, settings)
            for step in steps:
                engine.make(step, questions.statement(step.name))
            check_digests(engine)
            yield engine


def warn_of_unused(inputs):
    """Warns of digests of hosts without an inventory."""
    known = {found.host for found in inputs.inventories} | {
        host["host"] for folder in inputs.folders for host in folder.hosts}
    for digests in inputs.digests:
        if digests.host not in known and not inputs.remote:
            warn(f"the digests in {digests.folder} are not used: there is no inventory of "
                 f"{digests.host}")


def check_hosts(engine):
    """Refuses two inventories of a host, or of one host with two names, also if only the engine can
    read them."""
    for (host,) in engine.query(questions.statement("duplicate_hosts"))[1]:
        raise FleetError(f"two inventories of the host {host}; give one of them")
    for index, host, other in engine.query(questions.statement("duplicate_indexes"))[1]:
        raise FleetError(f"the inventories of {host} and {other} are of one index, {index}: one "
                         "host with two names; give one of them")


def check_digests(engine):
    for sha256, size, other in engine.query(questions.statement("false_digests"))[1]:
        raise FleetError(f"the digests are wrong: files of {size} and of {other} bytes have the "
                         f"SHA-256 {sha256}; find the host whose digests are false")

# SPDX-License-Identifier: MIT
"""The arguments of twinfs-fleet."""
import argparse
import multiprocessing
import os
import re
import shutil
import signal
import sys

from fleet import VERSION, environment, outputs
from fleet.errors import COMPLETE, FAILED, FleetError
from fleet.rows import HOST

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
FORMATS = ("text", "json", "csv", "parquet", "html")
EPILOG = "See twinfs-fleet(1)."


def size(text):
    found = re.fullmatch(r"(\d+)([KMGT]?)(?:iB)?", text, re.ASCII)
    if not found or int(found[1]) * UNITS[found[2]] < 64 << 20:
        raise argparse.ArgumentTypeError(f"{text}: not a size of at least 64M, such as 8G")
    return int(found[1]) * UNITS[found[2]]


def count(text):
    if not re.fullmatch(r"[1-9]\d{0,3}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text}: not a number from 1 to 9999")
    return int(text)


def hosts(text):
    """Names of hosts with commas between them."""
    found = text.split(",")
    if not all(map(HOST.match, found)) or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text}: not different names of hosts, such as "
                                         "alpha,beta")
    return found


def protection(text):
    """(host, pattern of an absolute path)."""
    host, _, pattern = text.partition(":")
    if not HOST.match(host) or not re.match(r"[/*?]", pattern):
        raise argparse.ArgumentTypeError(f"{text}: not a host and a pattern of an absolute path, "
                                         "such as 'alpha:/srv/photos/*'")
    return host, pattern


def half_of_memory():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def add_common(parser, with_engine=True):
    add = parser.add_argument
    add("--folder", metavar="DIR", default=environment.default_folder(),
        help="the folder of 'twinfs-fleet setup' (~/.local/share/twinfs-fleet)")
    if with_engine:
        add("--engine", choices=("duckdb", "spark"), default="duckdb",
            help="what runs the SQL (duckdb)")
        add("--master", metavar="URL", help="the cluster of Spark (this machine)")
    add("--memory", metavar="SIZE", type=size, default=half_of_memory(),
        help="memory of the engine, such as 8G (half of the machine); the rest is on disk")
    add("--threads", metavar="N", type=count, default=len(os.sched_getaffinity(0)),
        help="processors to use (all)")
    add("inventory", metavar="INVENTORY", nargs="+",
        help="a folder that 'twinfs export', 'twinfs digest' or 'twinfs-fleet import' wrote")


def make_parser():
    parser = argparse.ArgumentParser(
        prog="twinfs-fleet", epilog=EPILOG, allow_abbrev=False,
        description="Finds what several hosts have twice, once, or nowhere else.")
    parser.add_argument("--version", action="version", version=f"twinfs-fleet {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, text):
        return commands.add_parser(name, help=text, description=text, epilog=EPILOG,
                                   allow_abbrev=False)
    setup = command("setup", "Installs the engines into a folder of their own.")
    setup.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb",
                       help="spark also installs Spark (duckdb)")
    setup.add_argument("--folder", metavar="DIR", default=environment.default_folder(),
                       help="where (~/.local/share/twinfs-fleet)")
    imported = command("import", "Makes Parquet of inventories and digests, by host.")
    imported.add_argument("--output", metavar="DIR", required=True, help="a new folder")
    add_common(imported, with_engine=False)
    wanted = command("wanted", "Lists for each host the files that 'twinfs digest' must read.")
    wanted.add_argument("--output", metavar="DIR", required=True,
                        help="a folder for a file HOST.jsonl for each host")
    add_common(wanted)
    plan = command("plan", "Plans what may be removed, so that enough hosts keep each content.")
    plan.add_argument("--output", metavar="DIR", required=True,
                      help="a folder for the lists keep-HOST.jsonl and remove-HOST.jsonl")
    plan.add_argument("--keep-replicas", metavar="N", type=count, required=True,
                      help="hosts that keep each content, at least")
    plan.add_argument("--prefer", metavar="HOST,...", type=hosts, default=[],
                      help="hosts that keep contents rather than others, the first one most (by "
                           "name)")
    plan.add_argument("--protect", metavar="HOST:GLOB", type=protection, default=[],
                      action="append",
                      help="a host keeps each content that has a matching path there; can be "
                           "given several times")
    add_common(plan)
    report = command("report", "Reports what the hosts have.")
    report.add_argument("--output", metavar="DIR", default="-",
                        help="a folder for the report, or - for the standard output (-)")
    report.add_argument("--format", choices=FORMATS, default="text",
                        help="csv and parquet are a file for each table (text)")
    add_common(report)
    return parser


def check(parser, settings):
    """Completes the settings, and refuses options that do not fit."""
    if settings.command == "import":
        settings.engine, settings.master = "duckdb", None
    if settings.command == "report" and settings.output == "-" and settings.format in (
            "csv", "parquet"):
        parser.error(f"--format={settings.format} writes several files: use --output DIR")
    if settings.command == "setup":
        return
    if settings.master and settings.engine != "spark":
        parser.error("--master is for --engine=spark")
    settings.master = settings.master or f"local[{settings.threads}]"
    settings.version = VERSION


def run(settings):
    """Runs a command with the packages of its engine; returns the exit status."""
    # these modules import the packages
    from fleet import importing, plan, report, wanted
    commands = {"import": importing.run, "wanted": wanted.run, "plan": plan.run,
                "report": report.run}
    return commands[settings.command](settings) or COMPLETE


def end(number, frame):
    """Ends the command at a signal. It raises no exception, because one in the middle of a fork or
    of a lock would be lost, or would leave other threads waiting."""
    for process in multiprocessing.active_children():
        process.kill()
    for folder in outputs.TEMPORARY:
        shutil.rmtree(folder, ignore_errors=True)
    os.write(2, b"twinfs-fleet: interrupted\n")
    os._exit(FAILED)


def main(script, arguments):
    parser = make_parser()
    settings = parser.parse_args(arguments)
    check(parser, settings)
    try:
        if settings.command == "setup":
            environment.run(settings)
            return COMPLETE
        environment.enter(script, arguments, settings)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        return run(settings)
    except FleetError as error:
        print(f"twinfs-fleet: error: {error}", file=sys.stderr)
    except KeyboardInterrupt:  # Spark has a handler of its own
        print("twinfs-fleet: interrupted", file=sys.stderr)
    except BrokenPipeError:  # the reader of a report ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED

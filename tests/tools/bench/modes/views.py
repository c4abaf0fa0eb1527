# SPDX-License-Identifier: MIT
"""The costs of programs on a view, on its source, and on the source through bindfs, a file system
in user space that only passes requests on."""
import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from bench.runs import Contender, Failure, Rounds, can_drop_caches, drop_caches, finished, named
from bench.table import TARGETS
from bench.twinfs import Twinfs, View

NAMES = 2  # for drop_caches(): names and attributes, but no content
URING_COLD_LIMIT = 2


@dataclass
class Subject:
    """The path of a tree; with options it is a view, and `reads` is its read mode."""
    name: str
    path: Path
    options: str = None
    reads: str = ""


def run(bench):
    same, small = bench.library.set("same-size"), bench.library.set("small")
    bench.title("view: many small files")
    with subjects(bench, same, "uniques") as found:
        find(bench, "uniques", found)
        tar(bench, found)
        rsync(bench, found)
    with subjects(bench, small, "dups") as found:
        find(bench, "dups", found)
    bench.title("view: one large file")
    with subjects(bench, bench.library.one_file(), "uniques") as found:
        read(bench, found)


@contextlib.contextmanager
def subjects(bench, source, part):
    """The source, a part of each selected view, and bindfs if it is installed."""
    with contextlib.ExitStack() as stack:
        found = [Subject("native", source)]
        for number, options in enumerate(["", *bench.settings.view_options]):
            twinfs = Twinfs(bench.machine, bench.twinfs.binary, f"index {number}")
            twinfs.forget()
            view = stack.enter_context(View(twinfs, [source], ["-o", options] if options else []))
            found.append(Subject(f"twinfs {options}".strip(), view.path / part, options,
                                 view.status()["read_mode"]))
        bound = bind(bench.machine, source)
        if bound:
            stack.callback(subprocess.run, ["fusermount3", "-u", bound], check=True)
            found.append(Subject("bindfs", bound))
        yield found


def bind(machine, source):
    """The source through bindfs, or None if that does not work."""
    if not shutil.which("bindfs"):
        return None
    folder = machine.fresh("bound")
    run = subprocess.run(["bindfs", "--no-allow-other", "-o", "ro", source, folder], check=False,
                         capture_output=True)
    return folder if run.returncode == 0 else None


def ratios(bench, mode, data, summaries):
    """Prints the programs; returns the ratio of the time of each to that on the source."""
    native = named(summaries, "native")
    bench.report.compare(summaries, native)
    return {one.name: one.wall / native.wall for one in summaries if finished(one)}


def take(bench, mode, data, contenders, before=lambda: None):
    print(f"  {mode}, {data}:")
    return ratios(bench, mode, data, Rounds(bench.machine, mode, data, before).run(
        contenders, bench.rounds))


def find(bench, data, found):
    """Measures the time for each name, because a view has fewer or more names than its source."""
    contenders, names = [], {}
    for subject in found:
        contender = Contender(subject.name, ["find", subject.path])
        bench.machine.run(contender)
        names[subject.name] = bench.machine.out.read_bytes().count(b"\n")
        contenders.append(contender)
    caches = [("find-warm", "find", lambda: None)]
    if can_drop_caches():
        caches += [("find-cold", "find, names cold", lambda: drop_caches(NAMES)),
                   ("find-cold", "find, disk cold", drop_caches)]
    else:
        bench.report.note("find cold: only root can empty the caches")
    for target, mode, before in caches:
        ratio = take(bench, mode, data, contenders, before)
        for subject in views(found):
            uring = target == "find-cold" and "io_uring" in subject.options
            bench.report.add(target, label(subject, mode.replace("find", data)),
                             ratio[subject.name] * names["native"] / names[subject.name],
                             URING_COLD_LIMIT if uring else TARGETS[target].limit)


def views(found):
    return [subject for subject in found if subject.options is not None]


def label(subject, text):
    return f"{text}, {subject.options}" if subject.options else text


def tar(bench, found):
    """Measures tar, which writes to a pipe: to /dev/null it would not read files."""
    command = ["sh", "-c", 'tar -cf - -C "$0" . | cat >/dev/null']
    ratio = take(bench, "tar", "uniques",
                 [Contender(subject.name, [*command, subject.path]) for subject in found])
    for name, value in ratio.items():
        if name != "native":
            bench.report.figure("tar of small files, of native", name, value, "x")


def rsync(bench, found):
    """Measures rsync: the first run copies, later runs find nothing to copy."""
    def command(subject, target):
        return Contender(subject.name, ["rsync", "-a", f"{subject.path}/", target])
    copies = {subject.name: bench.machine.fresh(f"copy of {subject.name}") for subject in found}
    contenders = [command(subject, copies[subject.name]) for subject in found]
    print("  rsync first, uniques:")
    ratios(bench, "rsync first", "uniques",
           Rounds(bench.machine, "rsync first", "uniques").run(contenders, 1))
    ratio = take(bench, "rsync second", "uniques", contenders)
    for subject in views(found):
        listed = bench.machine.run(replace(command(subject, copies[subject.name]), words=[
            "rsync", "-a", "--out-format=%n", f"{subject.path}/", copies[subject.name]]))
        if listed.status != 0 or bench.machine.out.read_bytes():
            raise Failure("rsync: a second run over a view copies something")
        bench.report.add("rsync", label(subject, "uniques"), ratio[subject.name])
    for path in copies.values():
        shutil.rmtree(path)


def forget_pages(path):
    """Drops the cached pages of a file of a view; the cached pages of its source stay."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def read(bench, found):
    """Measures reads with the pages of the source cached: first without cached pages of the view,
    then with all of them."""
    contenders = []
    for subject in found:
        path = subject.path / "file"
        contenders.append(Contender(subject.name, ["dd", f"if={path}", "of=/dev/null", "bs=1M"]))
        bench.machine.run(contenders[-1])
    first = [contender if contender.name == "native" else
             replace(contender, prepare=lambda path=subject.path / "file": forget_pages(path))
             for subject, contender in zip(found, contenders)]
    ratio = take(bench, "read", "one large file", first)
    again = take(bench, "read again", "one large file", contenders)
    for subject in views(found):
        kind = "read-passthrough" if subject.reads == "passthrough" else "read-copy"
        bench.report.add(kind, label(subject, "first time"), 1 / ratio[subject.name])
        bench.report.figure("sequential read again, speed of native", subject.name,
                            1 / again[subject.name], "x")

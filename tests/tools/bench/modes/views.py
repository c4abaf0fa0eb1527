# SPDX-License-Identifier: MIT
"""The costs of programs on a view, on its source, and on the source through bindfs, a file system
in user space that only passes requests on."""
import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench.runs import (
    Contender,
    Failure,
    Rounds,
    can_drop_caches,
    drop_caches,
    finished,
    named,
    noted,
)
from bench.twinfs import Twinfs, View

NAMES = 2  # for drop_caches(): names and attributes, but no content
MEMORY = "floor: memory"
FASTER = ("passthrough", "io_uring")  # options of a second view, if the machine permits any of them
DUPS_COLD_LIMIT = 5
URING_COLD_LIMIT = 2
TAR_FASTER_LIMIT = 2
MOUNT_SECONDS = 10
READAHEAD_KIB = 1024  # as twinfs


@dataclass
class Subject:
    """The path of a tree, and the process that serves it. `ways` says how a view is read."""
    name: str
    path: Path
    server: int = 0
    ways: tuple = ()

    @property
    def is_measured(self):
        """Whether it is a view of the twinfs that gets the rows."""
        return self.name.startswith("twinfs")

    def label(self, text):
        faster = [way for way in self.ways if way in FASTER]
        return ", ".join([text, *faster])

    def command(self, *words):
        return Contender(self.name, list(words), server=lambda: self.server)


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
    source = bench.library.one_file()
    with subjects(bench, source, "uniques") as found, \
            memory(bench.machine, (source / "file").stat().st_size) as floor:
        read(bench, [*found, *floor])


@contextlib.contextmanager
def subjects(bench, source, part):
    """The source, a part of the views of each build, and bindfs if it is installed."""
    with contextlib.ExitStack() as stack:
        found = [Subject("native", source)]
        for build in bench.builds:
            found += views_of(bench, stack, build, source, part)
        bound = bind(bench.machine, stack, source)
        if bound:
            found.append(bound)
        yield found


def views_of(bench, stack, build, source, part):
    """A view with the defaults, and a faster one if there is one."""
    found = []
    for options in ("", ",".join(FASTER)):
        twinfs = Twinfs(bench.machine, build.binary, f"{build.name} {options}".strip())
        twinfs.forget()
        view = stack.enter_context(View(twinfs, [source], ["-o", options] if options else []))
        status = view.status()
        ways = (status["read_mode"], status["transport"])
        if found and ways == found[0].ways:
            bench.report.note(f"{twinfs.name}: not faster than the default: {', '.join(ways)}")
        else:
            found.append(Subject(twinfs.name, view.path / part, view.pid, ways))
    return found


def bind(machine, stack, source):
    """The source through bindfs, or None if that does not work."""
    if not shutil.which("bindfs"):
        return None
    folder = machine.fresh("bound")
    return serve(stack, "bindfs", folder, "bindfs", "-f", "--no-allow-other", "-o", "ro", source,
                 folder)


@contextlib.contextmanager
def memory(machine, size):
    """A list of the floor: a file of this size that a program answers from memory, read ahead as
    in a view."""
    with contextlib.ExitStack() as stack:
        folder = machine.fresh("memory")
        found = serve(stack, MEMORY, folder, machine.tools / "memory_file", str(size), folder)
        if found:
            device = folder.stat().st_dev
            readahead = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
            with contextlib.suppress(OSError):  # as a user
                readahead.write_text(str(READAHEAD_KIB))
        yield [found] if found else []


def serve(stack, name, folder, *command):
    """Runs a program that mounts a file system on a folder, or returns None if it does not."""
    server = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    stack.callback(subprocess.run, ["fusermount3", "-u", folder], check=False)
    end = time.monotonic() + MOUNT_SECONDS
    while not os.path.ismount(folder):
        if server.poll() is not None or time.monotonic() > end:
            server.terminate()
            return None
        time.sleep(0.01)
    return Subject(name, folder, server.pid)


def ratios(bench, summaries):
    """Prints the programs; returns their summaries by name, with the ratios to the source."""
    bench.report.compare(summaries, named(summaries, "native"))
    return {one.name: one for one in summaries if finished(one)}


def take(bench, mode, data, contenders, before=lambda: None):
    print(f"  {mode}, {data}:")
    return ratios(bench, Rounds(bench.machine, mode, data, before).run(
        contenders, bench.rounds))


def find(bench, data, found):
    """Measures the time for each name, because a view has fewer or more names than its source."""
    contenders, names = [], {}
    for subject in found:
        contender = subject.command("find", subject.path)
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
        a_name = {name: replace(one, ratio=one.ratio * names["native"] / names[name],
                                cpu_ratio=one.cpu_ratio * names["native"] / names[name])
                  for name, one in take(bench, mode, data, contenders, before).items()}
        for subject in measured(found):
            bench.report.add(target, subject.label(mode.replace("find", data)),
                             a_name[subject.name].ratio, find_limit(target, data, subject),
                             note=others(a_name, subject))


def find_limit(target, data, subject):
    if target != "find-cold":
        return None
    if "io_uring" in subject.ways:
        return URING_COLD_LIMIT
    return DUPS_COLD_LIMIT if data == "dups" else None


def measured(found):
    return [subject for subject in found if subject.is_measured]


def others(found, subject):
    """The ratio of processor times, and the ratios of the older twinfs and of bindfs, as a note."""
    names = (subject.name.replace("twinfs", "against"), "bindfs")
    return noted(f"CPU {found[subject.name].cpu_ratio:.2f} x",
                 *(f"{name} {found[name].ratio:.2f} x, CPU {found[name].cpu_ratio:.2f} x"
                   for name in names if name in found))


def tar(bench, found):
    """Measures tar, which writes to a pipe: to /dev/null it would not read files."""
    command = ["sh", "-c", 'tar -cf - -C "$0" . | cat >/dev/null']
    contenders = [subject.command(*command, subject.path) for subject in found]
    bench.machine.run(contenders[0])  # the caches were emptied for find
    ratio = take(bench, "tar", "uniques", contenders)
    for subject in measured(found):
        limit = TAR_FASTER_LIMIT if set(FASTER) <= set(subject.ways) else None
        bench.report.add("tar", subject.label("uniques"), ratio[subject.name].ratio, limit,
                         note=others(ratio, subject))


def rsync(bench, found):
    """Measures rsync: the first run copies, later runs find nothing to copy."""
    copies = {subject.name: bench.machine.fresh(f"copy of {subject.name}") for subject in found}
    contenders = [subject.command("rsync", "-a", f"{subject.path}/", copies[subject.name])
                  for subject in found]
    print("  rsync first, uniques:")
    ratios(bench, Rounds(bench.machine, "rsync first", "uniques").run(contenders, 1))
    ratio = take(bench, "rsync second", "uniques", contenders)
    for subject in measured(found):
        listed = bench.machine.run(subject.command("rsync", "-a", "--out-format=%n",
                                                   f"{subject.path}/", copies[subject.name]))
        if listed.status != 0 or bench.machine.out.read_bytes():
            raise Failure("rsync: a second run over a view copies something")
        bench.report.add("rsync", subject.label("uniques"), ratio[subject.name].ratio,
                         note=others(ratio, subject))
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
        contenders.append(subject.command("dd", f"if={path}", "of=/dev/null", "bs=1M"))
        bench.machine.run(contenders[-1])
    first = [contender if contender.name == "native" else
             replace(contender, prepare=lambda path=subject.path / "file": forget_pages(path))
             for subject, contender in zip(found, contenders)]
    for text, programs in (("first time", first), ("again", contenders)):
        ratio = take(bench, f"read, {text}", "one large file", programs)
        for subject in measured(found):
            add_read(bench, subject, subject.label(text), ratio)


def add_read(bench, subject, of, ratio):
    ours = ratio[subject.name].ratio
    if "passthrough" in subject.ways:
        bench.report.add("read-passthrough", of, ours, note=others(ratio, subject))
    else:
        distance = ours / ratio[MEMORY].ratio if MEMORY in ratio else None
        bench.report.add("read-copy", of, ours, note=others(ratio, subject), distance=distance,
                         floor="a server in memory")
    if "bindfs" in ratio:
        bindfs = ratio["bindfs"]
        bench.report.add("read-bindfs", of, ours / bindfs.ratio, distance=ours, floor="native",
                         note=f"CPU {ratio[subject.name].cpu / bindfs.cpu:.2f} x")

# SPDX-License-Identifier: MIT
"""Runs the program under test, mounts views, and knows every process and mount of a session.

Every process of a session has a mark in its environment, and every mount is below the base folder.
The mark and the path identify leftovers, and no other process is ever ended.
"""
import base64
import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import oracle
import prometheus
import walk
from processes import (
    TIMEOUT,
    attached,
    command_line,
    end_process,
    is_held,
    release,
    until,
    wait_ended,
)

CLONE_NEWNS = 0x00020000  # linux/sched.h
ENDING = 5  # seconds in which idle processes end and unmounted loop devices detach
MARK = "TWINFS_TEST_SESSION"
STRACE = ("strace", "-f")
HOLD_S = 86_400  # longer than any test
READS = "read,readv,pread64,preadv,preadv2,splice,sendfile,copy_file_range,readahead"
# LeakSanitizer stops all threads of a process that ends, and says this if a test kills it then.
KILLED_AT_ITS_END = re.compile(r"(==\d+==Unable to get registers from thread \d+\.\n)+")
# strace stops at traced calls only, which is faster. It cannot inject signals then.
ONLY_TRACED = "--seccomp-bpf"
NUMBERS = {os.strerror(number): number for number in errno.errorcode}  # of errors, by their texts


def take_own_mounts():
    """Gives this process a mount namespace of its own, if it is root. Concurrent runs then do not
    see each other's mounts, leftovers vanish with the process, and no copy of a mount keeps the
    daemon of another run alive."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["umount", "-l", "-a", "-t", "fuse.twinfs"], check=False)


@dataclass
class Session:
    """The binary, the base folder, the mark and the plain user of a run, if it has one."""
    binary: str
    base: str
    mark: str
    user: object = None  # pwd entry

    def environment(self, home):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("XDG_", "TWINFS")) and name != "JOURNAL_STREAM"}
        reports = f"log_path={self.base}/sanitizer/report"
        environment.update({
            MARK: self.mark,
            "HOME": str(home),
            "XDG_STATE_HOME": f"{home}/state",
            "LC_ALL": "C.UTF-8",
            "ASAN_OPTIONS": f"{reports}:exitcode=99",
            # some versions print their reports to stderr, which a daemon has closed
            "UBSAN_OPTIONS": f"{reports}:exitcode=99:halt_on_error=1:print_stacktrace=1",
            "LSAN_OPTIONS": "report_objects=1",
            "TSAN_OPTIONS": f"{reports}:exitcode=99",
        })
        return environment

    def processes(self, mark=None):
        """Ids of the live processes that have the mark of the session, or another given mark."""
        wanted = (mark or f"{MARK}={self.mark}").encode()
        return [int(name) for name in os.listdir("/proc")
                if name.isdigit() and int(name) != os.getpid() and is_alive_with(name, wanted)]

    def mounts(self):
        """Mount points below the base folder, deepest first."""
        base = os.fsencode(self.base) + b"/"
        return sorted((path for path in walk.mount_points() if path.startswith(base)),
                      key=len, reverse=True)

    def loop_devices(self):
        return attached_loops(self.base)

    def sanitizer_reports(self):
        texts = [path.read_text(errors="replace")
                 for path in sorted(Path(self.base, "sanitizer").glob("report*"))]
        return [text for text in texts if not KILLED_AT_ITS_END.fullmatch(text)]

    def kill_all(self):
        for pid in self.processes():
            end_process(pid, signal.SIGKILL)

    def clean_up(self):
        """Ends and unmounts leftovers; returns what they were."""
        left = []
        # the mounter of a killed daemon ends a moment after it
        if not until(lambda: not self.processes(), ENDING):
            left += [f"process {pid}: {command_line(pid)}" for pid in self.processes()]
            self.kill_all()
        for path in self.mounts():
            left.append(f"mount {path!r}")
            detach(path)
        # umount(8) may return before the kernel detaches the loop device
        if not until(lambda: not self.loop_devices(), ENDING):
            left += [f"loop device {name}" for name in self.loop_devices()]
        return left


def is_alive_with(process, variable):
    """Whether a process is alive and its environment has this variable with its value."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{process}/environ", "rb", buffering=0) as file:
            if variable not in file.read().split(b"\0"):
                return False
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            return file.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    return False


def attached_loops(below):
    """The names of the loop devices whose image has a path that begins so."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if path.read_text().startswith(below):
                found.append(path.parts[3])
    return found


@contextlib.contextmanager
def held_meanwhile(sync, pid, folder, call="getdents64"):
    """Calls sync() in a thread. In the block, a thread of the process waits that lists this folder,
    or is in another system call with this path or name. The end of the block waits for sync()."""
    thread = threading.Thread(target=sync)
    with attached(pid, "-P", folder, "-e", f"inject={call}:delay_enter={HOLD_S}s") as tracer:
        try:
            thread.start()
            assert until(lambda: is_held(pid))
            yield
        finally:
            tracer.kill()
    thread.join()


def detach(path):
    """Unmounts a path lazily, even if its mount is dead or busy."""
    for command in (["fusermount3", "-u", "-z", path], ["umount", "-l", path]):
        if shutil.which(command[0]) and subprocess.run(
                command, check=False, capture_output=True).returncode == 0:
            return


def is_mounted(path):
    return os.fsencode(os.path.realpath(path)) in walk.mount_points()


def is_refused(mount):
    """Whether the daemon failed to answer the first request of the kernel, for lack of memory."""
    try:
        os.stat(mount)
    except OSError as error:
        return error.errno == errno.ECONNREFUSED
    return False


@dataclass
class Result:
    """Exit status and output of a run."""
    status: int
    out: bytes
    error: bytes

    @property
    def errors(self):
        """stderr as lines."""
        return self.error.decode(errors="surrogateescape").splitlines()

    @property
    def lines(self):
        return self.out.split(b"\n")[:-1]

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def groups(self):
        """Groups of `list --format=json` as a set of frozen sets of absolute paths (bytes)."""
        return {frozenset(path_of(copy) for copy in group["copies"])
                for group in self.json["groups"]}

    def __str__(self):
        return (f"status {self.status}\nstdout: {self.out[-4000:]!r}\n"
                f"stderr: {self.error[-4000:]!r}")


def path_of(record):
    """The bytes of a path in JSON: those of "path_base64" if the record has it, else of "path"."""
    if "path_base64" in record:
        return base64.b64decode(record["path_base64"], validate=True)
    return record["path"].encode()


def as_user_words(user):
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
            "--"]


def has_instruments(binary):
    """Whether a program was built with sanitizers or to count coverage. Such programs need much
    memory and write files of their own."""
    data = Path(binary).read_bytes()
    return any(word in data for word in (b"__asan_init", b"__tsan_init", b"__gcov_init"))


class Program:
    """The program with an index and a home of its own, run as another user if one is given."""

    def __init__(self, session, folder, user=None):
        self.session, self.folder, self.user = session, Path(folder), user
        self.index = self.folder / "index"
        self.home = self.folder / "home"
        self.home.mkdir(exist_ok=True)
        if user:
            os.chown(self.home, user.pw_uid, user.pw_gid)
        self.wrapped = []  # a command that runs the program, such as strace or prlimit
        self.environment = session.environment(self.home)

    def is_instrumented(self):
        return has_instruments(self.session.binary)

    def with_index(self, index):
        other = Program(self.session, self.folder, self.user)
        other.index = Path(index)
        return other

    def command(self, *arguments, index=True, binary=None):
        words = [os.fsencode(word) if isinstance(word, os.PathLike) else word
                 for word in arguments]
        if index and words and words[0] in WITH_INDEX:
            words[1:1] = ["--index", str(self.index)]
        return [*self.as_user(), *self.wrapped, binary or self.session.binary, *words]

    def as_user(self):
        """The words before a command that run it as the user of this program."""
        return as_user_words(self.user) if self.user else []

    def __call__(self, *arguments, timeout=TIMEOUT, **options):
        """Runs a subcommand to its end, with the --index of this test."""
        passed = {name: options.pop(name) for name in ("cwd", "umask", "stdin")
                  if name in options}
        passed.setdefault("stdin", subprocess.DEVNULL)
        run = subprocess.run(self.command(*arguments, **options), capture_output=True,
                             timeout=timeout, env=self.environment, check=False, **passed)
        return Result(run.returncode, run.stdout, run.stderr)

    def ok(self, *arguments, **options):
        result = self(*arguments, **options)
        assert result.status == 0, result
        return result

    def listed(self, *sources, status=0):
        """The result of `list --format=json` of these sources."""
        result = self("list", "--format=json", *sources)
        assert result.status == status, result
        return result

    def listing(self, *sources, status=0):
        """The JSON of `list` of these sources."""
        return self.listed(*sources, status=status).json

    def groups(self, *sources, status=0):
        """Groups of `list` as a set of frozen sets of absolute paths (bytes)."""
        return self.listed(*sources, status=status).groups

    def under_strace(self, *words, output="/dev/null"):
        """Returns this program, run by strace with these words."""
        other = self.with_index(self.index)
        other.wrapped = [*STRACE, "-o", str(output), *words]
        other.environment["ASAN_OPTIONS"] += ":detect_leaks=0"  # it cannot work when traced
        return other

    def traced(self, *arguments, calls="trace=all", flags=()):
        """Runs under strace; returns the result and the trace."""
        path = self.folder / "trace"
        quick = [] if any(b"signal=" in os.fsencode(flag) for flag in flags) else [ONLY_TRACED]
        result = self.under_strace(*quick, "-e", calls, *flags, output=path)(*arguments)
        return result, path.read_bytes()

    def content_read(self, *arguments, below):
        """Runs a command to its end under strace; returns its reads of files below a folder."""
        result, trace = self.traced(*arguments, calls=f"trace={READS},mmap", flags=["-y"])
        assert result.status == 0, result
        assert b"exited with 0" in trace
        return reads_below(trace, below)

    @contextlib.contextmanager
    def started(self, *arguments, **options):
        """Starts a child process and kills it at the end of the block. Its attribute `output` then
        has what it wrote."""
        process = subprocess.Popen(self.command(*arguments, **options), env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.output = process.communicate()

    @contextlib.contextmanager
    def held(self, *arguments, call, when=1, after=False, flags=()):
        """Starts a child process, as started(), and waits until strace holds it, or a child of it,
        before or after this call of a system call, or the process has ended. Only release() ends
        the hold, so a change during the hold is never late. The process is itself the child, not
        strace."""
        side = "exit" if after else "enter"
        other = self.under_strace("-D", *flags, "-e",
                                  f"inject={call}:delay_{side}={HOLD_S}s:when={when}")
        with other.started(*arguments) as process:
            try:
                assert until(lambda: process.poll() is not None or is_held(process.pid))
                yield process
            finally:
                if process.poll() is None and is_held(process.pid):
                    release(process)  # strace would hold a killed process, too

    @contextlib.contextmanager
    def mounted_in_foreground(self, *sources, options=("--wait",)):
        """Mounts in the foreground; yields the process and its view. The view is None if the
        process ended or no call to the view succeeds. At the end of the block, unmounts the view
        and waits for the end of the process."""
        mount = self.folder / "mount"
        mount.mkdir(exist_ok=True)
        own_files = mount / ".twinfs"
        with self.started("mount", "-f", *options, *sources, mount) as process:
            assert until(lambda: os.path.exists(own_files) or process.poll() is not None or
                         is_refused(mount))
            view = None if process.poll() is not None else View(self, mount, None)
            try:
                yield process, None if is_refused(mount) else view
            finally:
                if view:
                    view.unmount()
                process.wait(TIMEOUT)

    @contextlib.contextmanager
    def mounted_and_traced(self, *sources, options=("--wait",), calls=f"{READS},mmap"):
        """A mounted view whose daemon is traced."""
        trace = self.folder / "trace"
        other = self.under_strace(ONLY_TRACED, "-y", "-e", f"trace={calls}", output=trace)
        with other.mounted_in_foreground(*sources, options=options) as (_, plain):
            assert plain
            view = TracedView(other, plain.path, trace)
            view.pid = view.status()["pid"]
            yield view

    @contextlib.contextmanager
    def mounted(self, *sources, options=("--wait",), at=None, status=0):
        """A mounted view. The end of the block unmounts it and waits for the end of its daemon."""
        mount = Path(at or self.folder / "mount")
        if not is_mounted(mount):
            mount.mkdir(exist_ok=True)
        if self.user and not is_mounted(mount):
            os.chown(mount, self.user.pw_uid, self.user.pw_gid)
        result = self("mount", *options, *sources, mount)
        view = View(self, mount, result)
        try:
            assert result.status == status, result
            view.pid = view.status()["pid"]
            yield view
        finally:
            view.unmount()


WITH_INDEX = ("mount", "scan", "list", "copies", "covered", "remove", "move", "link", "dedupe",
              "recover", "log", "undo", "check", "manifest", "doctor", "report", "export",
              "digest", "attest")
COMMANDS = (*WITH_INDEX, "unmount", "index", "path", "status", "restore", "help",
            "version")


class View:
    """One mounted view."""

    def __init__(self, program, path, result):
        self.program, self.path, self.result = program, path, result
        self.dups, self.uniques = path / "dups", path / "uniques"
        self.redundant = path / "redundant"
        self.by_size, self.folders = path / "by-size", path / "folders"
        self.pid = None

    def read(self, name):
        """The content of a file of .twinfs/, read by the user who mounted the view."""
        command = [*self.program.as_user(), "cat", self.path / ".twinfs" / name]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=TIMEOUT).stdout

    def status(self):
        return json.loads(self.read("status.json"))

    def sync(self):
        """Waits until all earlier changes are in the view; returns the generation."""
        return int(self.read("sync"))

    @property
    def events(self):
        return self.path / ".twinfs/events"

    def pending(self):
        """Paths (bytes) of the files that wait for their comparison."""
        return {path_of(json.loads(line)) for line in self.read("pending").splitlines()}

    def metrics(self):
        """{(name, labels): value}, without the label of the view, which each must have."""
        samples = prometheus.parse(self.read("metrics").decode())
        own = ("view", prometheus.label(os.fsencode(self.path)))
        assert all(own in labels for _, labels in samples)
        return {(name, labels - {own}): value for (name, labels), value in samples.items()}

    def errors(self):
        return [json.loads(line) for line in self.read("errors").splitlines()]

    def reading(self, figure):
        with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
            return int(dict(line.split(":") for line in file)[figure])

    def count_read_calls(self):
        """The number of reading system calls that the daemon has made."""
        return self.reading("syscr")

    def count_read_bytes(self):
        """The number of bytes that the daemon has read."""
        return self.reading("rchar")

    def wrong_bytes(self, source, failed):
        """The readable files with wrong bytes: in dups/, their hash is not that of their folder; in
        uniques/, they differ from the source. Appends errors to `failed`."""
        wrong, names = [], []
        for folder, _, files in os.walk(self.dups, onerror=failed.append):
            names += [os.path.join(folder, name) for name in files]
        run = subprocess.run(["xxhsum", "-q", "-H2", "/dev/null", *names], check=False,
                             capture_output=True)
        failed += [OSError(NUMBERS[line.rstrip(". ").rpartition(": ")[2]], line)
                   for line in run.stderr.decode(errors="replace").splitlines()
                   if "Could not open" in line]
        for line in run.stdout.decode().splitlines()[1:]:
            if not line.split("/")[-2].startswith(line.split()[0]):
                wrong.append(line)
        for folder, _, files in os.walk(self.uniques, onerror=failed.append):
            for path in (Path(folder, name) for name in files):
                try:
                    if not path.is_symlink() and path.read_bytes() != (
                            source / path.relative_to(self.uniques)).read_bytes():
                        wrong.append(path)
                except OSError as error:
                    failed.append(error)
        return wrong

    @contextlib.contextmanager
    def traced(self, *words):
        """Traces the daemon by strace with these words, for the duration of the block."""
        with attached(self.pid, *words):
            yield

    def unmount(self):
        """Unmounts and waits for the end of the daemon. After the timeout, kills it and fails."""
        pid, self.pid = self.pid, None
        if is_mounted(self.path):
            run = subprocess.run(["fusermount3", "-u", self.path], check=False,
                                 capture_output=True)
            if run.returncode != 0:
                detach(os.fsencode(self.path))
        if pid and not wait_ended(pid):
            end_process(pid, signal.SIGKILL)
            raise AssertionError("the daemon did not end when its view was unmounted")

    def differences(self, *sources, **options):
        """The differences that the oracle finds, run by the user who mounted the view."""
        options.setdefault("index", self.program.index)
        if not self.program.user:
            return oracle.check(sources, self.path, **options)
        script = os.path.join(self.program.session.base, "oracle.py")
        later = [] if options.get("first_scan", True) else ["--later"]
        run = subprocess.run([*self.program.as_user(), sys.executable, script, *later, *sources,
                              self.path], check=False, capture_output=True, timeout=TIMEOUT)
        lines = (run.stdout + run.stderr).decode(errors="replace").splitlines()
        return lines[:-1] if run.returncode == 0 else lines

    def differences_now(self, *sources, **options):
        """The differences that the oracle finds after a sync, once the source has changed."""
        self.sync()
        return self.differences(*sources, first_scan=False, **options)

    def copies(self):
        """{folder name: set of names without the mark of the kept copy} of dups/, all bytes."""
        dups = os.fsencode(self.dups)
        return {folder: {name.removeprefix(oracle.MARK)
                         for name in os.listdir(os.path.join(dups, folder))}
                for folder in os.listdir(dups)}


class TracedView(View):
    """A view whose daemon runs under strace. The trace has each call before it returns."""

    def __init__(self, program, path, trace):
        super().__init__(program, path, None)
        self.trace, self.seen = trace, 0

    def trace_since(self):
        """The trace since the last call of this function."""
        with open(self.trace, "rb") as file:
            file.seek(self.seen)
            text = file.read()
            self.seen = file.tell()
        return text

    def reads(self, below):
        """(call, path) of the reads of files below a folder since the last trace_since()."""
        return reads_below(self.trace_since(), below)


CALL = re.compile(rb"^(?:\d+ +)?(\w+)\(\d+<((?:[^>\\]|\\.)*)>", re.MULTILINE)
MAPPED = re.compile(rb"mmap\([^)]*, \d+<((?:[^>\\]|\\.)*)>")


def reads_below(trace, folder):
    """(call, path) of every read of a file below the folder, in an `strace -y` output."""
    below = os.fsencode(folder) + b"/"
    found = CALL.findall(trace) + [(b"mmap", path) for path in MAPPED.findall(trace)]
    return [(call, path) for call, path in found
            if call.decode() in READS.split(",") + ["mmap"] and path.startswith(below)]

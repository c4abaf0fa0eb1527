# SPDX-License-Identifier: MIT
"""Fixtures of the functional tests.  $TWINFS is the path of the program under test."""
import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
if "TWINFS_BYTECODE" in os.environ:  # a folder for it: most of the start of a worker is compiling
    sys.pycache_prefix, sys.dont_write_bytecode = os.environ["TWINFS_BYTECODE"], False

import backups  # noqa: E402
import changes  # noqa: E402
import reflinks  # noqa: E402
import skips  # noqa: E402
import summaries  # noqa: E402
import trees  # noqa: E402
from disks import disk, free_memory, need_loop_devices  # noqa: E402
from few_watches import InsideProgram  # noqa: E402
from processes import TIMEOUT, until  # noqa: E402
from program import Program, Session, attached_loops, take_own_mounts  # noqa: E402
from rotating import RotatingDisk, find_tool  # noqa: E402

DISK_BYTES = 256 << 20
PLACE_BYTES = 32 << 30
ROOM_BYTES = 4 << 30
MEMORY_BYTES = 2 << 30  # twice what a worker needs for its trees at most
STATE = "/var/lib/twinfs"


# Parameters are in the memory of each worker from the start, and make each fork slower.
PARAMETER_BYTES_MAX = 1 << 20


def pytest_collection_modifyitems(items):
    for item in items:
        parameters = getattr(item, "callspec", None)
        for value in parameters.params.values() if parameters else ():
            if isinstance(value, (bytes, str)) and len(value) > PARAMETER_BYTES_MAX:
                name = item.nodeid.partition("[")[0]
                raise pytest.UsageError(f"{name}: make large contents in the test")


def pytest_configure(config):
    binary = os.environ.get("TWINFS")
    if not binary:
        raise pytest.UsageError("set TWINFS to the path of the twinfs program to test")
    if not os.access(binary, os.X_OK):
        raise pytest.UsageError(f"TWINFS is not a program: {binary}")
    skips.register(config)
    summaries.register(config)


def let_programs_be_interrupted():
    """Restores the action of SIGINT. A shell ignores SIGINT in its background jobs, and their
    children would inherit this."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def room_for_images(folder):
    """Yields a folder for images of disks: a tmpfs if there is enough memory for all workers. Acts
    and indexes sync very often, and then nothing waits for the disk of this machine."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    room = make_folder(folder / "images")
    if os.geteuid() != 0 or free_memory() < workers * MEMORY_BYTES or subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", room], check=False).returncode != 0:
        yield room
        return
    try:
        yield room
    finally:
        subprocess.run(["umount", "-l", room], check=True)  # a loop device may detach later


@contextlib.contextmanager
def place():
    """A folder for the trees of a session, on a disk of its own if possible. Removing the disk is
    faster than removing its files. Some machines have an ext4 without a journal, which searches all
    inodes removed in the last minute for each created file."""
    with contextlib.ExitStack() as ending:
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="twinfs-test-")))
        ending.callback(trees.remove, folder)
        folder.chmod(0o755)
        # The tmpfs becomes invisible, so that the program does not know that the disk is in memory.
        with room_for_images(folder) as images, contextlib.suppress(pytest.skip.Exception):
            # discard: the image becomes smaller when files are removed
            folder = ending.enter_context(
                disk("ext4", folder, PLACE_BYTES, "loop,discard", images))
        base = folder / "session"
        base.mkdir(mode=0o755)
        yield str(base)


@contextlib.contextmanager
def hidden_state(base):
    """Hides the indexes of root, those of the machine and of other sessions."""
    if os.geteuid() != 0:
        yield
        return
    os.mkdir(f"{base}/state", mode=0o700)
    os.makedirs(STATE, mode=0o700, exist_ok=True)
    subprocess.run(["mount", "--bind", f"{base}/state", STATE], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", STATE], check=True)


@pytest.fixture(scope="session")
def session():
    """One run of the suite; fails at its end if anything is left behind."""
    let_programs_be_interrupted()
    take_own_mounts()
    with place() as base, hidden_state(base):
        os.mkdir(f"{base}/sanitizer")
        os.chmod(f"{base}/sanitizer", 0o1777)
        mark = uuid.uuid4().hex
        # A copy that plain users can reach wherever the build folder is.
        binary = shutil.copy(os.path.realpath(os.environ["TWINFS"]), f"{base}/twinfs")
        for name in ("oracle.py", "original.py", "rank_names.py", "walk.py"):  # for plain users
            shutil.copy(Path(__file__).parent / name, base)
        found = Session(binary, base, mark)
        yield found
        left = found.clean_up()
        reports = found.sanitizer_reports()
    assert not left, f"left behind: {left}"
    assert not reports, "\n".join(reports)


@pytest.fixture
def tmp_path(session):
    """A folder that every user may enter, removed after the test."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir=session.base))
    folder.chmod(0o755)
    yield folder
    trees.remove(folder)


@pytest.fixture(scope="module")
def scratch(session):
    """A folder for all tests of a file, which every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="m-", dir=session.base))
    folder.chmod(0o755)
    yield folder
    trees.remove(folder)


@pytest.fixture(autouse=True)
def guard(session, tmp_path):
    """Ends a test that hangs, and fails a test that leaves something behind or causes a report of
    a sanitizer."""
    hung = threading.Event()

    def give_up():
        hung.set()
        session.kill_all()  # calls that wait for a killed daemon fail

    before = session.sanitizer_reports()
    timer = threading.Timer(3 * TIMEOUT, give_up)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()
    left = session.clean_up()
    reports = [report for report in session.sanitizer_reports() if report not in before]
    assert not hung.is_set(), "the test hung and was ended"
    assert not left, f"left behind: {left}"
    assert not reports, "\n".join(reports)


@pytest.fixture
def twinfs(session, tmp_path):
    """The program, with an index of this test."""
    return Program(session, tmp_path)


@pytest.fixture
def private_state(tmp_path):
    """Root's indexes are in /var/lib, which this test hides from other programs."""
    if os.geteuid() != 0:
        yield
        return
    state = tmp_path / "var"
    state.mkdir()
    subprocess.run(["mount", "--bind", state, "/var/lib"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", "/var/lib"], check=True)


def need_plain_build(twinfs):
    if twinfs.is_instrumented():
        pytest.skip("needs a build without instruments")


def preload(twinfs, name):
    tool = Path(os.environ["TWINFS"]).resolve().parents[1] / f"tests/tools/{name}.so"
    need_plain_build(twinfs)
    if not tool.exists():
        pytest.skip("TWINFS is not in a folder where the tests are built")
    twinfs.environment["LD_PRELOAD"] = str(tool)


@pytest.fixture
def plain_build(twinfs):
    """Skips tests that fail with sanitizers or counting of coverage."""
    need_plain_build(twinfs)


@pytest.fixture
def no_leases(twinfs):
    """Makes the kernel refuse leases to the program on every file system."""
    preload(twinfs, "no_leases")


@pytest.fixture
def take_filesystem_for(twinfs):
    """Returns a function that makes every file system look like the given type to the program."""
    preload(twinfs, "other_filesystem")

    def take_for(number):
        twinfs.environment["OTHER_FILESYSTEM"] = f"{number:x}"
    return take_for


def make_folder(path):
    path.mkdir()
    return path


@pytest.fixture
def source(tmp_path):
    """An empty folder to build a source in."""
    return make_folder(tmp_path / "source")


@pytest.fixture
def small(source):
    """The root, bytes, of a source with two groups and some lone files."""
    return trees.small(source)


@pytest.fixture
def mixed(source):
    """The root, bytes, of a source with every kind of file."""
    return trees.mixed(source)


@pytest.fixture
def everything(source):
    """A source with all that rsync can copy."""
    return backups.everything(source)


@pytest.fixture
def mount(tmp_path):
    """An empty folder to mount on."""
    return make_folder(tmp_path / "mount")


@pytest.fixture
def aside(tmp_path):
    """An empty folder beside the source."""
    return make_folder(tmp_path / "aside")


@pytest.fixture
def target(tmp_path):
    """The path of a folder to restore to, which does not exist yet."""
    return tmp_path / "target"


@pytest.fixture
def view(twinfs, source):
    """A mounted view of the tree that all changes start from."""
    changes.build(source)
    with twinfs.mounted(source) as mounted:
        yield mounted


@pytest.fixture(scope="session")
def plain_user():
    """A user without rights: the user who runs the suite, or the user "nobody"."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    return pwd.getpwnam("nobody")


@pytest.fixture
def as_user(session, tmp_path, plain_user):
    """The program, run as a plain user. This user owns tmp_path."""
    if os.geteuid() != 0:
        return Program(session, tmp_path)
    os.chown(tmp_path, plain_user.pw_uid, plain_user.pw_gid)
    return Program(session, tmp_path, plain_user)


@pytest.fixture(scope="session")
def fuse_for_users(plain_user):
    """Permits the plain user to mount. On some systems only root may open /dev/fuse."""
    helper = shutil.which("fusermount3")
    if not helper or not os.stat(helper).st_mode & stat.S_ISUID:
        pytest.skip("fusermount3 is not set up for plain users")
    if os.stat("/dev/fuse").st_mode & 0o006 == 0o006:
        yield
        return
    allow = ["setfacl", "-m", f"u:{plain_user.pw_uid}:rw", "/dev/fuse"]
    if os.geteuid() != 0:
        pytest.skip("/dev/fuse is not open to plain users")
    # Concurrent runs share the permission; the last one removes it.
    with open("/dev/fuse", "rb", buffering=0) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if subprocess.run(allow, check=False, capture_output=True).returncode != 0:
            pytest.skip("/dev/fuse is not open to plain users")
        yield
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            subprocess.run(["setfacl", "-b", "/dev/fuse"], check=True)


@pytest.fixture
def root_only():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def loop_devices():
    need_loop_devices()


@pytest.fixture
def make_disk(root_only, tmp_path):
    """Returns a function that makes simulated disks and takes the options of RotatingDisk."""
    tool = find_tool(os.environ["TWINFS"])
    if not (tool and shutil.which("mkfs.ext4")):
        pytest.skip("needs rotating_disk, mkfs.ext4 and loop devices")
    folders = iter(range(9))

    def make(size=DISK_BYTES, **options):
        folder = tmp_path / f"disk{next(folders)}"
        folder.mkdir()
        return RotatingDisk(folder, tool, size, **options)

    return make


@contextlib.contextmanager
def disk_of_module(session, kind):
    """A disk for all tests of a file. It is outside of the base folder, below which each test must
    leave no mount."""
    folder = Path(tempfile.mkdtemp(prefix="reflinks-", dir=Path(session.base).parent))
    with disk(kind, folder, ROOM_BYTES) as root:
        yield root
    assert until(lambda: not attached_loops(str(folder)))


@pytest.fixture(scope="module")
def btrfs(session):
    with disk_of_module(session, "btrfs") as root:
        yield root


@pytest.fixture(scope="module")
def xfs(session):
    with disk_of_module(session, "xfs") as root:
        yield root


@pytest.fixture
def btrfs_room(btrfs, tmp_path):
    """Empty folders for a test on a btrfs."""
    return reflinks.make_room(btrfs, "btrfs", tmp_path.name)


@pytest.fixture(params=["btrfs", "xfs"])
def room(request, tmp_path):
    """Empty folders for a test on each kind of disk that has shared blocks."""
    root = request.getfixturevalue(request.param)
    return reflinks.make_room(root, request.param, tmp_path.name)


@pytest.fixture(scope="session")
def strace():
    """Skips tests that need strace if this machine has no strace or forbids tracing."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("strace is not permitted here")


@pytest.fixture
def inside(session, tmp_path):
    """The program where a user may watch few folders."""
    program = InsideProgram(session, tmp_path)
    if not shutil.which("nsenter") or subprocess.run(
            [*program.wrapped, "mount", "-t", "tmpfs", "none", tmp_path], check=False,
            capture_output=True).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    return program

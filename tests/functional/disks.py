# SPDX-License-Identifier: MIT
"""File systems for tests: small ones in an image on a loop device, overlays, bind mounts, and a
mount that never answers."""
import contextlib
import ctypes
import fcntl
import glob
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from processes import until

MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "ext4 of seconds": ["mkfs.ext4", "-q", "-F", "-I", "128"],  # such inodes have times in seconds
    "ext4 with encryption": ["mkfs.ext4", "-q", "-F", "-O", "encrypt"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "xfs without reflinks": ["mkfs.xfs", "-q", "-f", "-m", "reflink=0"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
IMAGE_BYTES = 512 << 20  # xfs needs 300 MiB
MS_NOSUID, MS_NODEV = 2, 4  # linux/mount.h
# linux/fiemap.h: _IOWR('f', 11, struct fiemap), struct fiemap, and struct fiemap_extent
FIEMAP, FIEMAP_SYNC = 0xC020660B, 1
FIEMAP_HEAD, FIEMAP_EXTENT = struct.Struct("=QQLLLL"), struct.Struct("=QQQ16xL12x")
EXTENTS = 500  # more than any file of the tests has
# {controllers in /proc/self/cgroup: names of the limit and of the used bytes} (cgroups(7))
MEMORY_FILES = {"": ("memory.max", "memory.current"),
                "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}


def free_memory():
    """The bytes that this machine and the control group of this process have left, at least."""
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    free = [int(re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)[1]) << 10]
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, own = line.split(":", 2)
        if controllers not in MEMORY_FILES:
            continue
        limit, used = MEMORY_FILES[controllers]
        for folder in {f"/sys/fs/cgroup/{controllers}{path}" for path in (own, "/")}:
            with contextlib.suppress(OSError, ValueError):  # ValueError: the limit is "max"
                free.append(int(Path(folder, limit).read_text(encoding="ascii")) -
                            int(Path(folder, used).read_text(encoding="ascii")))
    return min(free)


def need_loop_devices():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        pytest.skip("needs root and loop devices")


@contextlib.contextmanager
def disk(kind, folder, size=IMAGE_BYTES, options="loop", images=None):
    """Mounts an empty file system in a folder; yields its root. The image is a sparse file in this
    or in another folder."""
    need_loop_devices()
    if not shutil.which(MAKE[kind][0]):
        pytest.skip(f"needs {MAKE[kind][0]}")
    image, root = (images or folder) / f"{kind}.image", folder / kind
    with open(image, "wb") as file:
        file.truncate(size)
    subprocess.run([*MAKE[kind], image], check=True, capture_output=True)
    root.mkdir()
    mounted = subprocess.run(["mount", "-o", options, image, root], check=False)
    if mounted.returncode != 0:
        pytest.skip(f"the kernel does not mount {kind}")
    try:
        yield root
    finally:
        subprocess.run(["umount", root], check=True)
        image.unlink(missing_ok=True)  # a session hides the image of its disk


def extents(path):
    """(offset, offset on the disk, length) of each extent of a file or folder."""
    asked = FIEMAP_HEAD.pack(0, (1 << 64) - 1, FIEMAP_SYNC, 0, EXTENTS, 0)
    answer = bytearray(asked + bytes(EXTENTS * FIEMAP_EXTENT.size))
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, FIEMAP, answer)
    finally:
        os.close(handle)
    count = FIEMAP_HEAD.unpack_from(answer)[3]
    assert 0 < count < EXTENTS
    return [FIEMAP_EXTENT.unpack_from(answer, FIEMAP_HEAD.size + number * FIEMAP_EXTENT.size)[:3]
            for number in range(count)]


def remount(root):
    """Unmounts a disk and mounts it again, after which all freed blocks are free."""
    subprocess.run(["umount", root], check=True)
    subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)


def rot(root, path, place):
    """Changes a byte of a file in the image of its unmounted disk, so that no time changes and no
    event is raised."""
    image = root.with_suffix(".image")
    at = extents(path)[0][1] + place
    subprocess.run(["umount", root], check=True)
    with open(image, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    subprocess.run(["mount", "-o", "loop", image, root], check=True)


@contextlib.contextmanager
def overlay(folder, changes=None):
    """Mounts an overlay of folder/lower and folder/upper, or changes/upper; yields its path."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    lower, shown = folder / "lower", folder / "shown"
    upper, work = ((changes or folder) / name for name in ("upper", "work"))
    for made in (lower, upper, work, shown):
        made.mkdir(exist_ok=True)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, shown],
                             check=False)
    if mounted.returncode != 0:
        pytest.skip("the kernel does not mount overlays here")
    try:
        yield shown
    finally:
        subprocess.run(["umount", shown], check=True)


@contextlib.contextmanager
def bound(folder, at):
    """Mounts a folder at a second path also; yields the second path."""
    at.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", folder, at],
                                           check=False).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


@contextlib.contextmanager
def in_memory(at):
    """Mounts an empty file system without any identity, and without leases and birth times; yields
    its root."""
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "ramfs", "ramfs", at],
                                           check=False).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


@contextlib.contextmanager
def unanswered(at):
    """Mounts a FUSE file system whose requests are not answered. Yields a function that closes the
    connection, so that the waiting calls fail."""
    at.mkdir(exist_ok=True)
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("needs root and /dev/fuse")
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"unanswered", os.fsencode(at), b"fuse.unanswered", MS_NOSUID | MS_NODEV,
                  options.encode()) != 0:
        os.close(device)
        pytest.skip(f"cannot mount here: {os.strerror(ctypes.get_errno())}")
    with contextlib.ExitStack() as ending:
        ending.callback(os.close, device)
        try:
            yield ending.close
        finally:
            ending.close()  # so that waiting calls fail
            subprocess.run(["umount", "-l", at], check=True)


class EncryptedFolder:
    """An empty folder on an ext4 with encryption, whose names and files need a key."""
    ADD, REMOVE, SET = 0xC0506617, 0xC0406618, 0x800C6613  # linux/fscrypt.h
    KEY = b"k" * 64

    def __init__(self, root, path):
        self.path, self.root = path, root
        path.mkdir()
        try:
            self.unlock()
        except OSError:
            pytest.skip("this kernel encrypts no folders")
        policy = struct.pack("<BBBBB3x16s", 2, 1, 4, 0, 0, self.key)
        self.control(path, self.SET, policy)

    @staticmethod
    def control(path, request, argument):
        handle = os.open(path, os.O_RDONLY)
        try:
            return fcntl.ioctl(handle, request, argument)
        finally:
            os.close(handle)

    def unlock(self):
        argument = bytearray(struct.pack("<II32xII32x", 2, 0, len(self.KEY), 0) + self.KEY)
        self.control(self.root, self.ADD, argument)
        self.key = bytes(argument[8:24])

    def lock(self):
        # only this file system: sync(2) would wait for mounts of other tests that never answer
        subprocess.run(["sync", "--file-system", self.root], check=True)
        self.control(self.root, self.REMOVE,
                     bytearray(struct.pack("<II16s16xI20x", 2, 0, self.key, 0)))


@contextlib.contextmanager
def shown_by_fuse(folder, *options):
    """A file system of FUSE that has the files of a folder; yields its root."""
    if not shutil.which("bindfs"):
        pytest.skip("needs bindfs")
    below, above = folder / "below", folder / "above"
    below.mkdir()
    above.mkdir()
    if subprocess.run(["bindfs", *options, below, above], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("needs bindfs")
    try:
        yield above
    finally:
        subprocess.run(["umount", above], check=True)


def need_tools(*tools):
    for tool in tools:
        if os.geteuid() != 0 or not shutil.which(tool):
            pytest.skip(f"needs {tool}")


@contextlib.contextmanager
def fuse_place(folder, name, command, **options):
    """Mounts a FUSE file system by a command to which the mount point is added."""
    root = folder / name
    root.mkdir()
    with subprocess.Popen([*command, root], stdin=options.get("stdin"),
                          stdout=options.get("stdout")) as process:
        try:
            assert until(lambda: os.path.ismount(root), 20)
            yield root
        finally:
            subprocess.run(["umount", root], check=True)
            process.wait(60)


def sftp_mount(folder, real, ending, options="noforget"):
    """Mounts a folder by sshfs and sftp-server, without a network; returns the mount point."""
    need_tools("sshfs")
    server = next(iter(glob.glob("/usr/lib/*/sftp-server")), None)
    if not server:
        pytest.skip("needs sftp-server")
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    # pylint: disable=consider-using-with
    process = subprocess.Popen([server], stdin=to_server, stdout=from_server)
    ending.callback(process.wait, 60)
    command = ["sshfs", "-o", f"passive,dir_cache=no,{options}", "-f", f":{real}"]
    mounted = fuse_place(folder, "sshfs", command, stdin=to_client, stdout=from_client)
    root = ending.enter_context(mounted)
    for pipe in (to_server, from_client, to_client, from_server):
        os.close(pipe)
    return root

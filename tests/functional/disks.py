# SPDX-License-Identifier: MIT
"""File systems for tests: small ones of a kind, in an image on a loop device; a folder that is seen
twice; one that never answers."""
import contextlib
import ctypes
import os
import shutil
import subprocess

import pytest

MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
IMAGE_BYTES = 512 << 20  # xfs wants 300 MiB
MS_NOSUID, MS_NODEV = 2, 4  # linux/mount.h


@contextlib.contextmanager
def disk(kind, folder):
    """Mounts an empty one in a folder; gives its root."""
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        pytest.skip("needs root and loop devices")
    if not shutil.which(MAKE[kind][0]):
        pytest.skip(f"needs {MAKE[kind][0]}")
    image, root = folder / f"{kind}.image", folder / kind
    with open(image, "wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run([*MAKE[kind], image], check=True, capture_output=True)
    root.mkdir()
    mounted = subprocess.run(["mount", "-o", "loop", image, root], check=False)
    if mounted.returncode != 0:
        pytest.skip(f"the kernel does not mount {kind}")
    try:
        yield root
    finally:
        subprocess.run(["umount", root], check=True)
        image.unlink()


def rot(root, path, place):
    """Changes a byte of a file on such a disk behind the back of its file system: no time moves,
    and nobody is told."""
    if not shutil.which("filefrag"):
        pytest.skip("needs filefrag")
    os.sync()
    image = root.with_suffix(".image")
    where = subprocess.run(["filefrag", "-v", "-b4096", path], check=True, capture_output=True,
                           text=True).stdout
    at = int(where.splitlines()[3].split()[3].rstrip(".:")) * 4096 + place
    subprocess.run(["umount", root], check=True)
    with open(image, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    subprocess.run(["mount", "-o", "loop", image, root], check=True)


@contextlib.contextmanager
def bound(folder, at):
    """The same folder once more, at another place; gives that."""
    at.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", folder, at],
                                           check=False).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


@contextlib.contextmanager
def unanswered(at):
    """A FUSE file system whose daemon answers nothing; gives what ends that daemon."""
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
            ending.close()  # everybody who waits gets an error
            subprocess.run(["umount", "-l", at], check=True)

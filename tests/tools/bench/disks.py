# SPDX-License-Identifier: MIT
"""A file system made for very many small files, so that they fit on any disk of a test machine."""
import contextlib
import ctypes
import os
import subprocess

from bench.runs import progress

CLONE_NEWNS = 0x20000  # linux/sched.h
# ext4 makes an inode for this many bytes. A file of a kilobyte takes one block, an inode of 256
# bytes, and its name. Inodes of 128 bytes would have times without nanoseconds.
BYTES_A_FILE = 2048
SPARE_BYTES = 64 << 20
MAKE = ["mkfs.ext4", "-q", "-F", "-b", "1024", "-I", "256", "-i", str(BYTES_A_FILE), "-m", "0",
        "-O", "^has_journal", "-E", "lazy_itable_init=0"]


def can_mount():
    return os.geteuid() == 0 and os.path.exists("/dev/loop-control")


def leave_mounts():
    """Gives this process mounts of its own: they vanish with it, even if it is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@contextlib.contextmanager
def of_kind(kind, folder, size):
    """Mounts an empty file system of a kind in a sparse image of `size` bytes; yields its root."""
    leave_mounts()
    image, root = folder / "disk.image", folder / "disk"
    with open(image, "wb") as file:
        file.truncate(size)
    root.mkdir()
    try:
        subprocess.run([f"mkfs.{kind}", "-q", "-f", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop,noatime", image, root], check=True)
    finally:
        image.unlink()
    try:
        yield root
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


@contextlib.contextmanager
def of_small_files(folder, count):
    """Mounts an ext4 for this many files; yields its root.

    The image below `folder` is sparse and loses its name at once. Therefore the kernel frees the
    image and the loop device with the last mount.
    """
    leave_mounts()
    image, root = folder / "disk.image", folder / "disk"
    progress(f"making a file system for {count} files")
    with open(image, "wb") as file:
        file.truncate(count * 11 // 10 * BYTES_A_FILE + SPARE_BYTES)
    root.mkdir()
    try:
        subprocess.run([*MAKE, image], check=True)
        subprocess.run(["mount", "-o", "loop,noatime", image, root], check=True)
    finally:
        image.unlink()
    try:
        yield root
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)  # a killed program may still end
        root.rmdir()

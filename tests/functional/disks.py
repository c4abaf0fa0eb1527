# SPDX-License-Identifier: MIT
"""Small file systems of a kind, in an image on a loop device."""
import contextlib
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

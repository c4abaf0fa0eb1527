#!/bin/sh
# SPDX-License-Identifier: MIT
# rclone mount uploads a new file 5 s after its last close (--vfs-write-back). Each open for reading
# begins these 5 s anew. A program that looks at the file more often keeps it from being uploaded, so
# the only copy stays in the cache of one machine.
# Needs Debian 12, root and /dev/fuse. Installs the package below in a temporary folder only.
set -eu

rclone=rclone=1.60.1+dfsg-2+b5

folder=$(mktemp -d)
trap 'umount "$folder/mount" 2>/dev/null || true; sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$rclone" 2>/dev/null
dpkg-deb -x rclone_*.deb root
mkdir remote mount
export XDG_CONFIG_HOME="$folder/config" XDG_CACHE_HOME="$folder/cache"
root/usr/bin/rclone --version 2>/dev/null | head -1

cat >observe.py <<'END'
import os
import subprocess
import time

client = subprocess.Popen(["root/usr/bin/rclone", "mount", "--vfs-cache-mode=writes", "--quiet",
                           os.path.abspath("remote"), "mount"])
while not os.path.ismount("mount"):
    time.sleep(0.05)
for name in ("untouched", "read"):
    with open(f"mount/{name}", "w") as file:
        file.write("content")
began = time.monotonic()
uploaded = {}


def look():
    for name in os.listdir("remote"):
        uploaded.setdefault(name, time.monotonic() - began)


while time.monotonic() < began + 15:
    with open("mount/read") as file:
        assert file.read() == "content"
    time.sleep(1)
    look()
while_read = dict(uploaded)
while "read" not in uploaded and time.monotonic() < began + 60:
    time.sleep(0.1)
    look()
subprocess.run(["umount", "mount"], check=True)
client.wait()

print("expected  both files are uploaded 5 s after they were written, as reading changes nothing")
print(f"seen      untouched after {uploaded['untouched']:.0f} s; the one that is read each second"
      f" after {uploaded['read']:.0f} s, when the reading had ended")
assert set(while_read) == {"untouched"} and while_read["untouched"] < 10
assert uploaded["read"] > 15
print("finding holds")
END
python3 observe.py

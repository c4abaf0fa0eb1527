#!/bin/sh
# SPDX-License-Identifier: MIT
# link(2) on sshfs makes a hard link on the server, but the two names have different inode numbers and
# one link each. A program that knows hard links by inode number and link count takes them for two
# files: du counts both, and tar and rsync -H copy both.
# Needs Debian 12, root and /dev/fuse. Installs the packages below in a temporary folder only.
set -eu

sshfs=sshfs=3.7.3-1.2~deb12u1
server=openssh-sftp-server=1:9.2p1-2+deb12u10

folder=$(mktemp -d)
trap 'umount "$folder/mount" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$sshfs" "$server" 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
root/usr/bin/sshfs --version
mkdir real mount
echo content >real/file

cat >observe.py <<'END'
import os
import subprocess
import time

to_server, from_client = os.pipe()
to_client, from_server = os.pipe()
server = subprocess.Popen(["root/usr/lib/openssh/sftp-server"], stdin=to_server,
                          stdout=from_server)
client = subprocess.Popen(["root/usr/bin/sshfs", "-o", "passive", "-f",
                           ":" + os.path.abspath("real"), "mount"],
                          stdin=to_client, stdout=from_client)
for pipe in (to_server, from_client, to_client, from_server):
    os.close(pipe)
while not os.path.ismount("mount"):
    time.sleep(0.05)


def identity(folder):
    names = [os.stat(f"{folder}/{name}") for name in ("file", "link")]
    return "one inode" if names[0].st_ino == names[1].st_ino else "two inodes", [
        status.st_nlink for status in names]


os.link("mount/file", "mount/link")  # sshfs reports success
time.sleep(1.2)  # longer than sshfs and the kernel cache attributes
with open("mount/link", "w") as file:
    file.write("written through one name\n")
with open("mount/file") as file:
    shared = file.read()
there, here = identity("real"), identity("mount")
subprocess.run(["umount", "mount"], check=True)
client.wait()
server.wait()

print("expected ", *there, "as in the exported folder")
print("seen     ", *here)
assert there == ("one inode", [2, 2]) and here == ("two inodes", [1, 1])
with open("real/file") as file:
    assert file.read() == "written through one name\n"
print("bytes    written through one name, read through the other:", repr(shared))
print("finding holds")
END
/usr/bin/python3 observe.py

#!/bin/sh
# SPDX-License-Identifier: MIT
# sshfs gives each file a ctime that is its mtime: chmod(2) does not move it, and utimensat(2) moves
# it into the past. A program that takes the ctime for proof that a file did not change is wrong there.
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


def ctime(folder):
    time.sleep(1.2)  # longer than sshfs and the kernel cache attributes
    return os.stat(folder + "/file").st_ctime


PAST = 1_000_000_000
before, native_before = ctime("mount"), ctime("real")
os.chmod("mount/file", 0o600)
after_chmod, native_after_chmod = ctime("mount"), ctime("real")
os.utime("mount/file", (PAST, PAST))
after_utime, native_after_utime = ctime("mount"), ctime("real")
subprocess.run(["umount", "mount"], check=True)
client.wait()
server.wait()

print("expected  chmod and utimensat move the ctime to the present, as in the exported folder:")
print(f"          {native_before:.0f}, {native_after_chmod:.0f}, {native_after_utime:.0f}")
print(f"seen      {before:.0f}, {after_chmod:.0f}, {after_utime:.0f}")
assert native_before < native_after_chmod < native_after_utime
assert after_chmod == before and after_utime == PAST
print("finding holds")
END
python3 observe.py

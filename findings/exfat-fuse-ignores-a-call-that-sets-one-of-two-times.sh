#!/bin/sh
# SPDX-License-Identifier: MIT
# utimensat(2) with UTIME_OMIT sets one of atime and mtime. exfat-fuse uses libfuse 2, which passes
# a change of times on only if both are in it. A call that sets the mtime alone changes nothing, and
# reports success. So does touch -m; cp -p and touch set both times, so they work.
# Needs Debian 12, root, /dev/fuse and a loop device. Installs the packages below in a temporary
# folder only.
set -eu

fuse=exfat-fuse=1.3.0+git20220115-2 library=libfuse2=2.9.9-6+b1 progs=exfatprogs=1.2.0-1+deb12u1

folder=$(mktemp -d)
device=
end() {
	umount "$folder/shown" 2>/dev/null || true
	test -z "$device" || losetup -d "$device"
	rm -rf "$folder"
}
trap end EXIT
cd "$folder"
apt-get -qq download "$fuse" "$library" "$progs" 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
PATH=$PWD/root/sbin:$PWD/root/usr/sbin:$PATH
LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name 'libfuse.so.2')")
export PATH LD_LIBRARY_PATH
mount.exfat-fuse -V 2>&1 | head -1
truncate -s 64M image
mkfs.exfat image >/dev/null
mkdir shown
device=$(losetup -f --show image)
mount.exfat-fuse "$device" shown >/dev/null 2>&1

echo bytes >shown/file
touch -a -m -d @1000000000 shown/file
both=$(stat -c %Y shown/file)
touch -m -d @1100000000 shown/file # ends with 0, or this script ends here
one=$(stat -c %Y shown/file)
touch -a -m -d @1200000000 shown/file
again=$(stat -c %Y shown/file)
echo "expected  touch -m sets the mtime, or fails"
echo "seen      set with the atime: $both; set alone to 1100000000: $one; with the atime: $again"
test "$both" = 1000000000
test "$one" = 1000000000
test "$again" = 1200000000
echo "finding holds"

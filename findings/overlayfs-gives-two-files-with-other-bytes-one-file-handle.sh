#!/bin/sh
# SPDX-License-Identifier: MIT
# overlayfs copies a hard link of a lower file when it is written to; the other names stay with the
# lower file, as its manual says (without index=on). The copy has another st_dev, another st_ino and
# other bytes, but its file handle (name_to_handle_at(2) with AT_HANDLE_FID, since Linux 6.5, which
# reports of fanotify have, too) remains that of the lower file. So two different files of one mount
# have equal handles, and a program that tells files apart by their handles takes them for one.
# Needs Debian 12, root, and Linux 6.6 or later. Uses only what a Debian has: python3, mount.
set -eu

folder=$(mktemp -d)
trap 'umount "$folder/shown" "$folder/changes" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
uname -sr
mkdir lower changes shown
mount -t tmpfs none changes
mkdir changes/upper changes/work
echo old >lower/one
ln lower/one lower/two
mount -t overlay none -o lowerdir=lower,upperdir=changes/upper,workdir=changes/work shown

cat >handle.py <<'END'
import ctypes
import os
import sys

AT_FDCWD, AT_HANDLE_FID = -100, 0x200
libc = ctypes.CDLL(None, use_errno=True)


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]


handle, mount = Handle(128), ctypes.c_int()
if libc.name_to_handle_at(AT_FDCWD, os.fsencode(sys.argv[1]), ctypes.byref(handle),
                          ctypes.byref(mount), AT_HANDLE_FID) < 0:
    raise OSError(ctypes.get_errno(), "name_to_handle_at")
print(mount.value, handle.type, bytes(handle.data[:handle.bytes]).hex())
END

before=$(python3 handle.py shown/one)
test "$before" = "$(python3 handle.py shown/two)"
echo new >shown/one
one=$(python3 handle.py shown/one) two=$(python3 handle.py shown/two)
echo "expected  files with other device, inode number and bytes have other handles"
echo "seen      one: $(stat -c 'device %d, inode %i' shown/one), $(cat shown/one), handle $one"
echo "          two: $(stat -c 'device %d, inode %i' shown/two), $(cat shown/two), handle $two"
test "$(stat -c '%d %i' shown/one)" != "$(stat -c '%d %i' shown/two)"
test "$(cat shown/one)" != "$(cat shown/two)"
test "$one" = "$two"
echo "finding holds"

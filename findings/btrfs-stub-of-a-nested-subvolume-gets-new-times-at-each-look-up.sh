#!/bin/sh
# SPDX-License-Identifier: MIT
# In a snapshot of btrfs, a nested subvolume is an empty directory with inode number 2. No inode is
# stored for it: the kernel makes one at each look-up, with the present as all its times, even in a
# read-only snapshot. A program that compares the ctime to see whether a directory changed finds a
# change whenever the directory was dropped from the cache.
# Needs Debian 12, root and a loop device. Installs the package below in a temporary folder only.
set -eu

progs=btrfs-progs=6.2-1+deb12u2

folder=$(mktemp -d)
trap 'umount "$folder/disk" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$progs" 2>/dev/null
dpkg-deb -x btrfs-progs_*.deb root
PATH=$PWD/root/bin:$PWD/root/sbin:$PATH
export PATH
btrfs --version
uname -sr
truncate -s 200M image
mkfs.btrfs -q image >/dev/null
mkdir disk
mount -o loop image disk
btrfs subvolume create disk/home >/dev/null
btrfs subvolume create disk/home/inner >/dev/null
mkdir disk/home/plain
btrfs subvolume snapshot -r disk/home disk/snapshot >/dev/null

# Prints inode number and ctime, and has the directory dropped from the cache.
look() {
	stat -c '%i %z' "disk/snapshot/$1"
	umount disk
	mount -o loop image disk
	sleep 1
}

plain=$(look plain) stub=$(look inner)
plain_again=$(look plain) stub_again=$(look inner)
echo "expected  a directory of a read-only snapshot has the same times at each look:"
echo "          $plain, then $plain_again"
echo "seen      the stub of the nested subvolume has others:"
echo "          $stub, then $stub_again"
test "$plain" = "$plain_again"
test "${stub%% *}" = 2
test "${stub_again%% *}" = 2
test "$stub" != "$stub_again"
echo "finding holds"

#!/bin/sh
# SPDX-License-Identifier: MIT
# find reports a loop of the file system, and fails, where a folder and one in it are renamed right
# after find opened them. find reads the attributes of an open folder again by its name. Where that
# fails, device and inode number count as 0, and both folders as the same one.
# Needs Debian 12 and gcc. Installs the package below in a temporary folder only.
set -eu

find=findutils=4.9.0-4

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$find" 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
root/usr/bin/find --version | head -n 1
mkdir -p tree/outer/inner/leaf
echo content >tree/outer/inner/leaf/file

# Another program that renames each of the two folders once it is open.
cat >rename.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int openat(int folder, const char *name, int flags, ...)
{
	int (*next)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
	int opened = next(folder, name, flags);

	if (strcmp(name, "outer") == 0 || strcmp(name, "inner") == 0)
		renameat(folder, name, folder, "renamed");
	return opened;
}
END
gcc -shared -fPIC -o rename.so rename.c

LD_PRELOAD=$PWD/rename.so LC_ALL=C root/usr/bin/find tree >names 2>said || true
echo "expected  at most: No such file or directory; the tree has no link, and no folder in itself"
echo "seen      $(grep loop said)"
grep -q "File system loop detected; 'tree/outer/inner' is part of the same file system loop as 'tree/outer'" said
grep -q leaf/file names
test -e tree/renamed/renamed/leaf/file
echo "finding holds"

#!/bin/sh
# SPDX-License-Identifier: MIT
# inotify(7) lists a change of the link count under IN_ATTRIB. A watch on a file reports it. A watch on
# the folder of the file reports other attributes of the file, such as its mode, but not that a link
# to it was made or removed in another folder. A program that watches folders is not told that a file
# has a name outside of them, nor that it had one, by which it could be written to.
# Needs Debian 12. Installs the packages below in a temporary folder only.
set -eu

tools=inotify-tools=3.22.6.0-4
library=libinotifytools0=3.22.6.0-4

folder=$(mktemp -d)
trap 'kill $watchers 2>/dev/null || true; rm -rf "$folder"' EXIT
watchers=
cd "$folder"
apt-get -qq download "$tools" "$library" 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
PATH=$PWD/root/usr/bin:$PATH
LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name 'libinotifytools.so.0')")
export PATH LD_LIBRARY_PATH
inotifywait --help | head -n 1 || true
uname -sr
mkdir watched elsewhere
echo content >watched/file

# Writes the events of a path to a list, and waits until it is watched.
watch() {
	inotifywait -q -m -e attrib --format %e -o "$1" "$2" &
	watchers="$watchers $!"
	until grep -qs '^inotify ' /proc/$!/fdinfo/*; do
		sleep 0.1
	done
}

watch of-folder watched
watch of-file watched/file
ln watched/file elsewhere/link
rm elsewhere/link
chmod 600 watched/file # the last event of both
until test "$(wc -l <of-file)" -ge 3 && test "$(wc -l <of-folder)" -ge 1; do
	sleep 0.1
done
echo "expected  both watches report the link, its removal and the mode: 3 events each"
echo "seen      the watch on the file: $(wc -l <of-file); that on its folder: $(wc -l <of-folder)"
test "$(wc -l <of-file)" = 3
test "$(wc -l <of-folder)" = 1
echo "finding holds"

#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual of unison says that only contents decide whether a path is updated, and that the fast
# check reads times of files. But unison does not even list a folder whose mtime is as it was in the
# last run: a new file in it is never copied, and none is reported. Programs that copy a file and
# the time of its folder leave such folders. With -fastcheck false, the file is found.
# Needs Debian 12. Installs the package below in a temporary folder only.
set -eu

unison=unison-2.52=2.52.1-1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$unison" 2>/dev/null
dpkg-deb -x unison-2.52_*.deb root
export UNISON="$folder/state" HOME="$folder"
mkdir -p one/folder two
echo old >one/folder/old

synchronize()
{
	root/usr/bin/unison-2.52 one two -ui text -batch "$@" >>log 2>&1
}

root/usr/bin/unison-2.52 -version 2>/dev/null
sleep 2 # no name is as young as the run
synchronize
sleep 2
synchronize

before=$(stat -c %.9Y one/folder)
echo new >one/folder/new
touch -d "@$before" one/folder
synchronize
fast=$(ls two/folder | paste -sd' ')
sleep 2
synchronize
later=$(ls two/folder | paste -sd' ')
grep -c 'Nothing to do' log >unreported
synchronize -fastcheck false
slow=$(ls two/folder | paste -sd' ')

echo "expected  the new file is copied, as the folder lists it: new old"
echo "seen      after two runs: $fast, $later, '$(grep 'Nothing to do' log | tail -n 1)';" \
	"with -fastcheck false: $slow"
test "$fast" = old
test "$later" = old
test "$(cat unreported)" = 3
test "$slow" = 'new old'
echo "finding holds"

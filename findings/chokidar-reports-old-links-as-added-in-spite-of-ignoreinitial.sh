#!/bin/sh
# SPDX-License-Identifier: MIT
# With ignoreInitial, chokidar reports no names that were there before it is ready. With
# followSymlinks: false as well, it reports each symbolic link that was there as added, before it is
# ready, but no file and no folder. Without ignoreInitial, all names are reported.
# Needs node and npm. Installs the packages below in a temporary folder only.
set -eu

versions="3.6.0 4.0.3 5.0.0"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p watched/folder
echo text >watched/file
ln -s file watched/link
ln -s folder watched/link-to-folder

cat >watch.mjs <<'END'
import chokidar from 'chokidar';
const watcher = chokidar.watch('watched', {followSymlinks: false, ignoreInitial: true});
const added = [];
watcher.on('add', path => added.push(path));
watcher.on('addDir', path => added.push(path));
watcher.on('ready', () => { console.log(added.sort().join(' ')); process.exit(0); });
END

for version in $versions; do
	rm -rf node_modules package*.json
	npm install --silent --no-audit --no-fund "chokidar@$version" >/dev/null
	seen=$(node watch.mjs)
	echo "chokidar $version"
	echo "expected  no name is reported"
	echo "seen      reported before it is ready: $seen"
	test "$seen" = "watched/link watched/link-to-folder"
done
echo "finding holds"

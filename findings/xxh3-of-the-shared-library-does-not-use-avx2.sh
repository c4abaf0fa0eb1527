#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library of xxHash contains XXH3 for SSE2, AVX2 and AVX-512. memcpy(3) and other functions
# of shared libraries choose the code for the processor when the program starts. XXH3_128bits() and
# XXH3_128bits_update() do not: they always run the code for SSE2. Only a program that includes
# xxh_x86dispatch.h, so that it calls XXH3_128bits_dispatch(), runs the faster code.
# valgrind counts the instructions for 8 MiB, on a processor with AVX2.
# Needs Debian 12 and gcc. Installs the packages below in a temporary folder only.
set -eu

packages='libxxhash0=0.8.1-1 libxxhash-dev=0.8.1-1 valgrind=1:3.19.0-1'

grep -qw avx2 /proc/cpuinfo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck disable=SC2086 # several packages
apt-get -qq download $packages 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name 'libxxhash.so.0')")
VALGRIND_LIB=$(dirname "$(find "$PWD/root" -name 'callgrind-amd64-linux')")
export LD_LIBRARY_PATH VALGRIND_LIB
printf '%s\n' $packages

cat >hash.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include HEADER

int main(int argc, char **argv)
{
	size_t length = (size_t)atoi(argv[argc - 1]) << 20;
	char *bytes = calloc(1, length);

	printf("%016llx\n", (unsigned long long)XXH3_128bits(bytes, length).low64);
	return 0;
}
END
for header in xxhash xxh_x86dispatch; do
	gcc -O2 -DHEADER="<$header.h>" -I root/usr/include -L "$LD_LIBRARY_PATH" -o "$header" hash.c \
		-l:libxxhash.so.0
done

# Prints the instructions that a program needs to hash 9 MiB, except those for 1 MiB.
count() { # PROGRAM
	for mebibytes in 1 9; do
		root/usr/bin/valgrind --tool=callgrind --callgrind-out-file=/dev/null "./$1" \
			$mebibytes 2>&1 | sed -n 's/.*Collected : //p'
	done | paste -sd ' ' | awk '{ print $2 - $1 }'
}

plain=$(count xxhash)
chosen=$(count xxh_x86dispatch)
echo "expected  as many instructions with both headers: the library chooses the code for AVX2"
echo "seen      $plain with xxhash.h, $chosen with xxh_x86dispatch.h"
test "$plain" -gt $((chosen * 5 / 4))
echo "finding holds"

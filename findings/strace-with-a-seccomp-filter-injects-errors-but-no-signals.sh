#!/bin/sh
# SPDX-License-Identifier: MIT
# strace can inject an error or a signal at a system call. With --seccomp-bpf, which stops the
# program only at the traced calls and so costs less, the error is still injected, but the signal is
# not: the call is made, the program goes on, and strace says nothing. A test that ends a program
# at each of its calls then ends it at none, and passes.
# Needs Debian 12. Installs the packages below in a temporary folder only.
set -eu

strace=strace=6.1-0.1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$strace" 2>/dev/null
dpkg-deb -x strace_*.deb root
PATH=$PWD/root/usr/bin:$PATH
export PATH
strace -V | head -n 1

# Prints the status of mkdir and whether the folder was made, with an injection.
try() {
	status=0
	strace -f -o log -e trace=mkdir "$@" mkdir made 2>/dev/null || status=$?
	test -d made && made=made || made='not made'
	rm -rf made
	echo "status $status, $made"
}

error=$(try -e inject=mkdir:error=ENOSPC)
error_filtered=$(try --seccomp-bpf -e inject=mkdir:error=ENOSPC)
signal=$(try -e inject=mkdir:signal=TERM)
signal_filtered=$(try --seccomp-bpf -e inject=mkdir:signal=TERM)
echo "expected  --seccomp-bpf changes no result: an injected error gives '$error',"
echo "          and an injected SIGTERM gives '$signal'"
echo "seen      with it, the error gives '$error_filtered',"
echo "          and SIGTERM gives '$signal_filtered'"
test "$error" = 'status 1, not made'
test "$error_filtered" = "$error"
test "${signal%%,*}" = 'status 143'
test "$signal_filtered" = 'status 0, made'
echo "finding holds"

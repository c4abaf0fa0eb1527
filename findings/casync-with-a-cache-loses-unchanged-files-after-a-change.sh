#!/bin/sh
# SPDX-License-Identifier: MIT
# casync make --cache=DIR takes chunks of unchanged files from the run before. After one file was
# rewritten, it still ends with status 0, but casync extract of the new index ends with "Bad message",
# before it has made the files that follow. Without --cache, the same tree is stored and extracted.
# Needs Debian 12. Installs the packages below in a temporary folder only.
set -eu

casync=casync=2+20201210-1+b1
libraries='libfuse2 libcurl3-gnutls libnghttp2-14 librtmp1 libssh2-1 libpsl5 libbrotli1'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download "$casync" $libraries 2>/dev/null
for package in *.deb; do
	dpkg-deb -x "$package" root
done
libraries=$(ls -d "$PWD"/root/usr/lib/*-linux-gnu "$PWD"/root/lib/*-linux-gnu | paste -sd:)
export LD_LIBRARY_PATH="$libraries"
dpkg-deb -f casync_*.deb Package Version

cat >observe.py <<'END_OF_PROGRAM'
import filecmp
import os
import random
import subprocess
import time

CASYNC = os.path.abspath("root/usr/bin/casync")
SIZES = {"a/rewritten": 1_000_000, "a/second": 1_000_000, "b/large": 5_000_000, "c/last": 1000}
rng = random.Random(1)


def write(name, size):
    os.makedirs(os.path.dirname(f"tree/{name}"), exist_ok=True)
    with open(f"tree/{name}", "wb") as file:
        file.write(rng.randbytes(size))
    time.sleep(1.5)  # no file is as young as the run that follows


def casync(*words):
    run = subprocess.run([CASYNC, *words], capture_output=True, text=True)
    return run.returncode, run.stderr.strip()


def store_and_extract(index, *cache):
    """The statuses of make and extract, the message, and the files that lack or differ."""
    made, _ = casync("make", "--store=store", *cache, index, "tree")
    extracted, said = casync("extract", "--store=store", index, f"{index}.out")
    lost = [name for name in SIZES if not os.path.exists(f"{index}.out/{name}") or
            not filecmp.cmp(f"tree/{name}", f"{index}.out/{name}", shallow=False)]
    return made, extracted, said, lost


for name, size in SIZES.items():
    write(name, size)
first = store_and_extract("1.caidx", "--cache=cache")
write("a/rewritten", 300_000)
cached = store_and_extract("2.caidx", "--cache=cache")
plain = store_and_extract("3.caidx")
print("expected  make --cache 0, extract 0, no file lost, as without --cache:", plain)
print("seen      make --cache {}, extract {}: {}; lost: {}".format(*cached))
assert first == plain == (0, 0, "", [])
assert cached == (0, 1, "Failed to run synchronizer: Bad message", ["b/large", "c/last"])
print("finding holds")
END_OF_PROGRAM
/usr/bin/python3 observe.py

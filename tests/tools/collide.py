#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Different contents with one XXH3-128 hash, made without a search.

XXH3 mixes input with a public constant (its default secret).  If an input
word equals the word of the secret, one factor of a product is zero, and the
other factor does not matter: the word is only added to a lane.

Inputs of 17 to 32 bytes: a half (a, b) of 16 bytes enters as the product
(a ^ s0) * (b ^ s1), folded, and as the sum a + b.  (s0, x) and
(s0 + x - s1, s1) both have the product 0 and the sum s0 + x.

Inputs above 240 bytes: the 64-byte stripe n of a 1024-byte block adds, in each
lane i, the word d to acc[i ^ 1] and lo32(d ^ s) * hi32(d ^ s) to acc[i], where
s is the secret's word at 8 * n + 8 * i.  With lo32(d) == lo32(s) the product is
0 for any upper half.  If the upper halves in two stripes of one block change by
+k and -k, no accumulator changes: 2^32 inputs with one hash.

usage: collide.py FOLDER COUNT SIZE [OFFSET]
"""
import os
import random
import struct
import sys

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1
BLOCK = 1024
STRIPE = 64

# The first 128 bytes of XXH3's default secret (kSecret in xxhash.h): enough for
# the first 9 stripes of a block.
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
)


def secret_word(offset):
    return struct.unpack_from("<Q", SECRET, offset)[0]


def short_contents(count=4, seed=1):
    """Up to 4 contents of 32 bytes with one hash: each half has two forms."""
    if not 1 <= count <= 4:
        raise ValueError("32 bytes have at most 4 such contents")
    rng = random.Random(seed)
    halves = []
    for offset in (0, 16):
        s0, s1 = secret_word(offset), secret_word(offset + 8)
        x = rng.getrandbits(64)
        halves.append((
            struct.pack("<QQ", s0, x),
            struct.pack("<QQ", (s0 + x - s1) & MASK64, s1),
        ))
    every = [first + second for first in halves[0] for second in halves[1]]
    return every[:count]


def long_contents(count, size, offset=0, seed=1):
    """Yields `count` contents of `size` bytes that differ in 128 bytes only.

    size    more than 240 bytes
    offset  where they differ: rounded down to a block of 1024 bytes, of which
            stripes 0 and 1 must lie wholly inside the content, before its last stripe
    """
    start = offset // BLOCK * BLOCK
    if size <= 240 or start + 2 * STRIPE > size - STRIPE:
        raise ValueError("no room for two stripes there")
    if count > MASK32:
        raise ValueError("at most 2^32 contents")
    rng = random.Random(seed)
    base = bytearray(rng.randbytes(size))
    lane = 3
    first, second = start + 8 * lane, start + STRIPE + 8 * lane
    low = [secret_word(8 * stripe + 8 * lane) & MASK32 for stripe in (0, 1)]
    high = [rng.getrandbits(32), rng.getrandbits(32)]
    for k in range(count):
        struct.pack_into("<II", base, first, low[0], (high[0] + k) & MASK32)
        struct.pack_into("<II", base, second, low[1], (high[1] - k) & MASK32)
        yield bytes(base)


def write_long_contents(folder, count, size, offset=0, seed=1):
    """Writes long_contents() as FOLDER/c00000 ...; returns the paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for number, content in enumerate(long_contents(count, size, offset, seed)):
        path = os.path.join(folder, f"c{number:05d}")
        with open(path, "wb") as file:
            file.write(content)
        paths.append(path)
    return paths


def main(arguments):
    if not 3 <= len(arguments) <= 4:
        sys.exit(__doc__.rsplit("\n\n", 1)[1].strip())
    folder, numbers = arguments[0], [int(text) for text in arguments[1:]]
    write_long_contents(folder, *numbers)


if __name__ == "__main__":
    main(sys.argv[1:])

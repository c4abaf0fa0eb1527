#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes files as constants of C: style.css as page_style. Unlike a string literal, an array has no
limit of length."""
import sys
from pathlib import Path


def constant(path):
    data = path.read_bytes() + b"\0"
    lines = (", ".join(map(str, data[at:at + 20])) for at in range(0, len(data), 20))
    return f"const char page_{path.stem}[] = {{\n\t" + ",\n\t".join(lines) + ",\n};\n"


def main(output, *inputs):
    Path(output).write_text('#include "page/page_parts.h"\n\n'
                            + "\n".join(constant(Path(name)) for name in inputs),
                            encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])

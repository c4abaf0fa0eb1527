# SPDX-License-Identifier: MIT
"""Numbers and names for people, as the program twinfs writes them."""
import itertools
import unicodedata

PREFIXES = "KMGTPEZY"
# Characters that are invisible, or change the order of others (src/base/text.c).
UNFIT = ((0x00, 0x1f), (0x7f, 0x9f), (0xad, 0xad), (0x61c, 0x61c), (0x180e, 0x180e),
         (0x200b, 0x200b), (0x200e, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0xfeff, 0xfeff),
         (0xfff9, 0xfffb), (0xe0000, 0xe0fff))


def size_text(size):
    """1234567 -> 1.2 MiB."""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1024, 0
    while value >= 999.5 and unit + 1 < len(PREFIXES):
        value, unit = value / 1024, unit + 1
    digits = 2 if value < 0.995 else 1 if value < 9.95 else 0
    return f"{value:.{digits}f} {PREFIXES[unit]}iB"


def is_unfit(character):
    code = ord(character)
    return any(low <= code <= high for low, high in UNFIT)


def shell_name(path):
    """A path of any bytes as a word that a shell reads: $'...' if it has odd bytes."""
    text = path.decode("utf-8", "replace")
    if text and text == text.strip(" ") and text[0] != "$" and text.encode() == path and not any(
            map(is_unfit, text)):
        return text
    return "$'" + "".join(map(escaped, path.decode("utf-8", "surrogateescape"))) + "'"


def escaped(character):
    if character in "\\'":
        return "\\" + character
    if "\udc80" <= character <= "\udcff" or is_unfit(character):
        # three octal digits: the escape ends before a digit that follows
        return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
    return character


def width(text):
    """The columns of a terminal that a text takes."""
    return sum(0 if unicodedata.combining(character) else
               2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def first_rows(rows, limit):
    """The first rows, and the number of further ones."""
    rows = iter(rows)
    shown = list(itertools.islice(rows, limit))
    return shown, sum(1 for _ in rows)

# SPDX-License-Identifier: MIT
"""A strict parser of the page that `twinfs report` writes."""
import re
import struct
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "img"}
# Among these elements, only a policy and a style could make a browser load or run something.
TAGS = {"html", "head", "meta", "link", "title", "style", "body", "header", "main", "footer",
        "section", "aside", "figure", "figcaption", "h1", "h2", "h3", "p", "ul", "ol", "li", "dl",
        "dt", "dd", "div", "span", "a", "b", "i", "bdi", "small", "strong", "code", "data", "time",
        "img", "table", "caption", "thead", "tbody", "tr", "th", "td"}
ODD = re.compile(r"\\(n|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
MAGENTA = (255, 0, 255)
FIGURES = {"group": "groups", "groups": "groups", "redundant copy": "redundant_files",
           "redundant copies": "redundant_files", "file": "files", "files": "files",
           "folder": "directories", "folders": "directories", "in all": "bytes"}


@dataclass
class Element:
    tag: str
    attributes: dict
    parent: "Element"
    children: list = field(default_factory=list)  # elements and texts

    def all(self, tag, of_class=None):
        """The elements below with this tag, in order."""
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and (of_class is None or of_class in child.classes()):
                    yield child
                yield from child.all(tag, of_class)

    def first(self, tag, of_class=None):
        return next(self.all(tag, of_class), None)

    def classes(self):
        return self.attributes.get("class", "").split()

    def text(self):
        return "".join(child if isinstance(child, str) else child.text()
                       for child in self.children)

    def numbers(self):
        return [int(data.attributes["value"]) for data in self.all("data")]

    def names(self):
        """The bytes of the names in the element: <bdi>, in which <i> has escaped bytes."""
        return [b"".join(child.encode() if isinstance(child, str) else unescaped(child.text())
                         for child in name.children) for name in self.all("bdi")]


def unescaped(text):
    """The bytes of an escape such as \\xff."""
    word = ODD.fullmatch(text)[1]
    if word in "nt":
        return {"n": b"\n", "t": b"\t"}[word]
    number = int(word[1:], 16)
    return bytes([number]) if word[0] == "x" else chr(number).encode()


class Reader(HTMLParser):
    """Builds a tree of elements; refuses tags that do not nest, comments and declarations."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), attrs
        element = Element(tag, dict(attrs), self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_endtag(self, tag):
        assert self.at.tag == tag, (self.at.tag, tag, self.getpos())
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data}")


class Page:
    """The content of a page."""

    def __init__(self, data):
        reader = Reader()
        self.source = data.decode()
        reader.feed(self.source)
        reader.close()
        assert reader.at is reader.root
        self.root = reader.root

    def part(self, name):
        return next((part for part in self.root.all("section")
                     if part.attributes["id"] == name), None)

    def figures(self):
        found = self.part("figures").first("dl")
        return {FIGURES[entry.first("dt").text()]: entry.numbers()[0] for entry in found.all("div")}

    def answer(self):
        """[reclaimable bytes, all bytes], or [] if nothing is reclaimable."""
        return self.part("figures").first("p", "answer").numbers()

    def folders(self):
        """{path: (bytes, copies)} of the rows of the table."""
        part = self.part("folders")
        return {b"".join(row.first("th").names()): tuple(row.numbers())
                for row in part.first("tbody").all("tr")} if part else {}

    def shades(self):
        """{path: (number of the shade, percentage)} of the rows of the table of folders."""
        return {b"".join(row.first("th").names()): (
            int(row.first("span", "key").classes()[1][1:]), list(row.all("td"))[1].text())
            for row in self.part("folders").first("tbody").all("tr")}

    def boxes(self):
        """The boxes of the map."""
        return [box for box in self.part("folders").all("div") if "box" in box.classes()] + [
            box for tag in ("a", "span") for box in self.part("folders").all(tag)
            if "box" in box.classes()]

    def bars(self, name):
        """{row: (bytes of all files, of redundant ones)} of a table with bars."""
        part = self.part(name)
        return {row.first("th").text(): tuple(row.numbers())
                for row in part.first("tbody").all("tr")} if part else {}

    def ages(self):
        return self.bars("ages")

    def kinds(self):
        return self.bars("kinds")

    def commands(self):
        """The commands to go on with. Escapes are no part of them, as they are quoted."""
        part = self.part("next")
        codes = list(part.all("code", "command")) if part else []
        assert not any(code.first("i") for code in codes)
        return [code.text() for code in codes]

    def groups(self):
        """The shown groups, in order."""
        part = self.part("groups")
        return [Group(item) for item in part.all("li", "group")] if part else []

    def whole_copies(self):
        """[folders, bytes], or [] if no folder is a whole copy."""
        sentence = self.root.first("p", "copies")
        return sentence.numbers() if sentence else []

    def equal(self):
        """The shown groups of equal folders, in order."""
        part = self.part("equal")
        return [EqualFolders(item) for item in part.all("li", "group")] if part else []

    def elsewhere(self):
        """{path of a source: (bytes elsewhere, files that are not, their bytes)}."""
        part = self.part("elsewhere")
        return {item.names()[0]: tuple((item.numbers() + [0, 0])[:3])
                for item in part.first("ul").all("li")} if part else {}

    def links(self):
        """All links and all addresses of resources."""
        return [value for element in self.root.all_elements()
                for name, value in element.attributes.items()
                if name in ("href", "src", "srcset", "action", "background", "poster", "data")
                and element.tag != "link"]

    def warning(self):
        aside = self.root.first("aside")
        return aside.text() if aside else ""

    def unreadable(self):
        """The names of unreadable files and folders."""
        return self.root.first("aside").names()


class Group:
    def __init__(self, item):
        [self.reclaimable] = item.first("h3").numbers()
        self.copies, self.size = item.first("p", "what").numbers()
        self.hash = re.search(r"[0-9a-f]{32}(~\d+)?$", item.first("p", "what").text())[0]
        names = [name for name in item.first("ul").all("li") if "more" not in name.classes()]
        self.names = [name.names()[0] for name in names]
        self.kept = [name.names()[0] for name in names if "kept" in name.classes()]
        more = item.first("li", "more")
        self.more = more.numbers()[0] if more else 0
        image = item.first("img")
        self.picture = image.attributes["src"] if image else None

    def shown(self):
        return (self.reclaimable, self.copies, self.size, self.hash, self.names, self.kept,
                self.more)


class EqualFolders:
    def __init__(self, item):
        [self.reclaimable] = item.first("h3").numbers()
        self.folders, self.files, self.size = item.first("p", "what").numbers()
        names = [name for name in item.first("ul").all("li") if "more" not in name.classes()]
        self.names = [name.names()[0] for name in names]
        self.kept = [name.names()[0] for name in names if "kept" in name.classes()]
        more = item.first("li", "more")
        self.more = more.numbers()[0] if more else 0

    def shown(self):
        return (self.reclaimable, self.folders, self.files, self.size, self.names, self.kept,
                self.more)


def all_elements(element):
    for child in element.children:
        if isinstance(child, Element):
            yield child
            yield from all_elements(child)


Element.all_elements = all_elements


# pictures

def png(width, height, colour=MAGENTA, rows=None, level=-1):
    """A PNG of one colour.

    rows   the number of rows in the data, by default all
    level  of zlib; 0 does not compress
    """
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    row = b"\0" + bytes(colour) * min(width, 4096)
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(row * (height if rows is None else rows), level)) +
            chunk(b"IEND", b""))


def jpeg(width, height):
    """A grey JPEG. Each block of 8 x 8 pixels takes two bits (ITU T.81)."""
    def segment(mark, data):
        return struct.pack(">BBH", 0xff, mark, len(data) + 2) + data

    blocks = -(-width // 8) * -(-height // 8)
    single = bytes([1] + 15 * [0])  # one code, of one bit
    return (b"\xff\xd8" + segment(0xdb, bytes([0] + 64 * [1])) +
            segment(0xc0, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0") +
            segment(0xc4, b"\0" + single + b"\0") + segment(0xc4, b"\x10" + single + b"\0") +
            segment(0xda, b"\1\1\0\0\x3f\0") + bytes(-(-blocks * 2 // 8)) + b"\xff\xd9")


def pixels(data):
    """The number of channels and the bytes of each row of a PNG with 8 bits each (RFC 2083)."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack_from(">IIBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    assert depth == 8
    channels = {2: 3, 6: 4}[colours]
    raw, stride = zlib.decompress(packed), width * channels
    rows, above = [], bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        above = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above,
                           channels)
        rows.append(above)
    return channels, rows


def unfiltered(kind, row, above, channels):
    for i in range(len(row) if kind else 0):
        left = row[i - channels] if i >= channels else 0
        corner = above[i - channels] if i >= channels else 0
        if kind == 4:
            guess = left + above[i] - corner
            near = min((left, above[i], corner), key=lambda one: abs(guess - one))
        else:
            near = (0, left, above[i], (left + above[i]) // 2)[kind]
        row[i] = row[i] + near & 255
    return row


def count_pixels(data, wanted, tolerance=24):
    """The number of pixels of a PNG with nearly this colour."""
    channels, rows = pixels(data)
    return sum(all(abs(row[i + j] - wanted[j]) <= tolerance for j in range(3))
               for row in rows for i in range(0, len(row), channels))

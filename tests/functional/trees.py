# SPDX-License-Identifier: MIT
"""Builders of source trees. All content is deterministic.

Each builder takes an existing or new root and returns it as bytes. All names are bytes.
"""
import os
import random
import socket
import stat
import subprocess

TEN_YEARS_BEFORE_1970 = -315_619_200_123_456_789
FAR_FUTURE = 4_102_444_800_987_654_321  # 2100
TIB = 1 << 40

ODD_NAMES = [
    b"new\nline", b"\n", b"tab\there", b"carriage\rreturn", b"bell\x07", b"delete\x7f",
    b"\x1b[31mred\x1b[0m", b"\x1b]0;title\x07", b"\x9b31m",
    b"latin1-\xe9\xe8", b"\xff\xfe\xfd", b"cut-\xe2\x88", b"surrogate-\xed\xa0\x80",
    "right-to-left-\u202etxt.exe".encode(), "combining-e\u0301".encode(),
    "composed-\u00e9".encode(), "zero-width-\u200b".encode(),
    "slash\u2215inside".encode(), "\u2215".encode(), "\u2215.jpg".encode(),
    b"copy~2", b"copy~2.jpg", b"~2", b"~", b"%2F", b"a%2Fb", b"%00", b"%n%s",
    b" ", b" leading", b"trailing ", b"  two  spaces  ",
    b"'single'", b'"double"', b"back\\slash", b"\\", b"\\n", b"`tick`", b"$HOME", b"$(id)",
    b"-", b"--", b"-rf", b"--help", b"*", b"?", b"[a]", b"{a,b}", b"!", b"#", b"&", b";", b"|",
    b"<", b">", b"=", b":", b",", b"a,b=c", b"@", b"^", b"()",
    b".hidden", b"...", b". ", b"..a", b".twinfs", b"dups", b"uniques", b"redundant", b"by-size",
    b"status.json", b"errors", b"lost+found", b"data.mdb", b"lock.mdb",
    b"0123456789abcdef0123456789abcdef", b"0123456789abcdef0123456789abcdef~2",
    b"x" * 255, b"y" * 251 + b".jpg", "\u00e9".encode() * 127, b"\xff" * 255, b".".ljust(255, b"e"),
]

SIZES = [0, 1, 2, 15, 16, 17, 240, 241, 4095, 4096, 4097, 16383, 16384, 16385,
         65535, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]


def content(seed, size):
    return random.Random(f"{seed}").randbytes(size)


def join(root, *names):
    return os.path.join(os.fsencode(root), *names)


def write(path, data=b"", mode=0o644):
    """Writes a file, and creates its parent directories."""
    path = os.fsencode(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        os.fchmod(handle, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view):]
    finally:
        os.close(handle)
    return path


def fill(root, files):
    """Writes {path: data}; paths are bytes or str relative to the root."""
    for path, data in files.items():
        write(join(root, os.fsencode(path)), data)
    return os.fsencode(root)


def small(root):
    """A few groups, links, an empty file, an empty folder, a symlink."""
    root = fill(root, {
        b"letters/a.txt": content("a", 3000),
        b"letters/again/a.txt": content("a", 3000),
        b"letters/b.txt": content("b", 3000),
        b"pictures/1.jpg": content("p", 70000),
        b"pictures/copy of 1.jpg": content("p", 70000),
        b"backup/1.jpg": content("p", 70000),
        b"alone": content("alone", 70000),
        b"empty/one": b"",
        b"empty/two": b"",
    })
    os.link(join(root, b"letters/again/a.txt"), join(root, b"letters/linked.txt"))
    os.link(join(root, b"alone"), join(root, b"alone, linked"))
    os.mkdir(join(root, b"empty folder"))
    os.symlink(b"letters/a.txt", join(root, b"symlink"))
    return root


def mixed(root):
    """A tree with every kind of file that plain users can create."""
    small(join(root, b"small"))
    sizes(join(root, b"sizes"))
    odd_names(join(root, b"names"))
    links(join(root, b"links"))
    sparse(join(root, b"sparse"))
    metadata(join(root, b"metadata"))
    special(join(root, b"special"))
    return os.fsencode(root)


def sizes(root):
    """For each critical size two equal files, and three that differ in the first, the middle and
    the last byte."""
    for size in SIZES:
        data = content(size, size)
        folder = b"%07d" % size
        fill(root, {folder + b"/one": data, folder + b"/two": data})
        for name, at in ((b"first", 0), (b"middle", size // 2), (b"last", size - 1)):
            if size:
                other = bytearray(data)
                other[at] ^= 1
                write(join(root, folder, name), other)
    return os.fsencode(root)


def odd_names(root):
    """Each odd name as a file, as a second copy in a folder, and as a folder."""
    for number, name in enumerate(ODD_NAMES):
        data = content(name, 100 + number)
        fill(root, {
            b"equal/" + name: data,
            b"files/" + name: data,
            b"folders/" + name + b"/file": data,
        })
    return os.fsencode(root)


def deep(root, levels=60, name_length=200):
    """A chain of folders far beyond PATH_MAX, with a copy of one file at each tenth level.

    Returns the number of copies.
    """
    os.makedirs(root, exist_ok=True)
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    copies = 0
    for level in range(levels):
        name = b"%03d" % level
        name = name.ljust(name_length, b"d")
        os.mkdir(name, dir_fd=at)
        into = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = into
        if level % 10 == 9:
            handle = os.open("copy.bin", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
            os.write(handle, content("deep", 5000))
            os.close(handle)
            copies += 1
    os.symlink("copy.bin", "link", dir_fd=at)
    os.close(at)
    return copies


def links(root):
    """Symlinks of every kind, hard links within and across folders."""
    root = fill(root, {
        b"one/file": content("linked", 5000),
        b"two/copy": content("linked", 5000),
        b"three/alone": content("linked alone", 5000),
    })
    for path in (b"one/again", b"three/file", b"four"):
        os.link(join(root, b"one/file"), join(root, path))
    os.link(join(root, b"two/copy"), join(root, b"two/copy linked"))
    os.link(join(root, b"three/alone"), join(root, b"one/alone"))
    for name, target in {
        b"dangling": b"nowhere", b"absolute": b"/etc/hostname", b"folder": b"one",
        b"parent": b"..", b"loop": b"loop", b"there": b"back", b"back": b"there",
        b"file": b"one/file", b"odd": b"\x1b[31m\n\xff", b"long": b"l" * 4095,
        b"proc": b"/proc/self/root", b"fifo": b"/dev/stdin",
    }.items():
        os.symlink(target, join(root, b"symlink " + name))
    return root


def holes(path, size, pieces):
    """A file of `size` bytes that has data only at {offset: bytes}."""
    write(path)
    with open(path, "r+b") as file:
        file.truncate(size)
        for offset, data in pieces.items():
            file.seek(offset)
            file.write(data)
    return path


def sparse(root, huge=1 << 34):
    """Holes at the start, in the middle, at the end; holes equal to written zeros."""
    mib = 1 << 20
    piece = content("sparse", 8192)
    for name, pieces in {
        b"start": {3 * mib: piece}, b"middle": {0: piece, 4 * mib - 8192: piece},
        b"end": {0: piece}, b"all": {},
    }.items():
        holes(join(root, name + b" one"), 4 * mib, pieces)
        holes(join(root, name + b" two"), 4 * mib, pieces)
        written = bytearray(4 * mib)
        for offset, data in pieces.items():
            written[offset:offset + len(data)] = data
        write(join(root, name + b" written"), written)
    holes(join(root, b"huge one"), huge, {huge // 2: piece, huge - 100: b"one"})
    holes(join(root, b"huge two"), huge, {huge // 2: piece, huge - 100: b"two"})
    holes(join(root, b"1 GiB one"), 1 << 30, {(1 << 29) + 5: b"x"})
    holes(join(root, b"1 GiB two"), 1 << 30, {(1 << 29) + 5: b"x"})
    return os.fsencode(root)


def metadata(root):
    """Modes, times, xattrs and ACLs, on unique files and on copies."""
    root = os.fsencode(root)
    for number, mode in enumerate((0o400, 0o600, 0o640, 0o755, 0o4755, 0o2755, 0o6711, 0o1777)):
        write(join(root, b"mode %04o" % mode), content(("mode", number), 300), mode)
        write(join(root, b"mode copies/%04o" % mode), content("one content", 400), mode)
    for mode in (0o700, 0o755, 0o1777, 0o2775):
        folder = join(root, b"folder %04o" % mode)
        os.makedirs(folder)
        os.chmod(folder, mode)
    for name, when in ((b"before", TEN_YEARS_BEFORE_1970), (b"future", FAR_FUTURE),
                       (b"zero", 0), (b"nanoseconds", 1_000_000_001), (b"minus one", -1)):
        path = write(join(root, b"times", name), content(("time", name), 200))
        os.utime(path, ns=(when, when))
    os.utime(join(root, b"folder 0700"), ns=(FAR_FUTURE, FAR_FUTURE))
    plain = write(join(root, b"xattrs/file"), content("xattr", 500))
    write(join(root, b"xattrs/copy"), content("xattr", 500))
    for path in (plain, join(root, b"xattrs")):
        os.setxattr(path, b"user.note", b"any \x00 bytes \xff")
        os.setxattr(path, b"user.empty", b"")
    long = write(join(root, b"xattrs/long"), content("long xattr", 500))
    os.setxattr(long, b"user.long", content("xattr value", 3000))
    with_acl = write(join(root, b"acl/file"), content("acl", 600))
    for path in (with_acl, join(root, b"acl")):
        subprocess.run(["setfacl", "-m", "u:1:rx,g:2:r", path], check=True)
    subprocess.run(["setfacl", "-d", "-m", "u:1:rx", join(root, b"acl")], check=True)
    return root


def special(root):
    """FIFOs and sockets; as root also device nodes. The program must not open them."""
    root = os.fsencode(root)
    os.makedirs(root, exist_ok=True)
    for name in (b"fifo", b"fifo too"):
        os.mkfifo(join(root, name), 0o640)
    os.link(join(root, b"fifo"), join(root, b"fifo linked"))
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as server:  # bind by descriptor: sun_path is short
        server.bind(b"/proc/self/fd/%d/socket" % here)
    os.close(here)
    if os.geteuid() == 0:
        os.mknod(join(root, b"null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(join(root, b"block"), stat.S_IFBLK | 0o600, os.makedev(240, 77))
        os.chown(join(root, b"fifo"), 1, 2)
        os.symlink(b"null", join(root, b"owned symlink"))
        os.chown(join(root, b"owned symlink"), 1, 2, follow_symlinks=False)
    return root


def unreadable(root):
    """Copies, some of which their own owner cannot read, unless it is root."""
    root = fill(root, {
        b"a": content("readable", 800), b"b": content("readable", 800),
        b"locked": content("readable", 800), b"locked alone": content("locked", 801),
        b"locked folder/inside": content("readable", 800),
        b"no search/inside": content("readable", 800),
    })
    os.chmod(join(root, b"locked"), 0)
    os.chmod(join(root, b"locked alone"), 0)
    os.chmod(join(root, b"locked folder"), 0)
    os.chmod(join(root, b"no search"), 0o600)
    return root


def many(root, count, data, folders=100):
    """`count` files spread over folders; data(number) gives the content."""
    for folder in range(folders):
        at_path = join(root, b"%03d" % folder)
        os.makedirs(at_path)
        at = os.open(at_path, os.O_RDONLY | os.O_DIRECTORY)
        for number in range(folder, count, folders):
            handle = os.open(b"%06d" % number, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
            os.write(handle, data(number))
            os.close(handle)
        os.close(at)
    return os.fsencode(root)


def every_content(*folders):
    """The set of contents of the regular files in some folders."""
    found = set()
    for folder in folders:
        for where, _, names in os.walk(os.fsencode(folder)):
            for path in (os.path.join(where, name) for name in names):
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb") as file:
                        found.add(file.read())
    return found


def remove(root):
    """Removes a tree of any depth, modes and names."""
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwX", root], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)

# SPDX-License-Identifier: MIT
"""The oracle accepts a right view and finds each planted difference.

The views here are plain folders, built in a slow and obvious way.
"""
import contextlib
import os
import shutil
import subprocess

import oracle
import pytest
import rank_names
import trees


def xxhash(path):
    run = subprocess.run(["xxhsum", "-q", "-H2", path], check=True, capture_output=True)
    return run.stdout.lstrip(b"\\")[:32]


class Fake:
    """A source of two groups (one with a hard link), one lone file, and its view."""

    def __init__(self, root):
        self.source = trees.small(trees.join(root, b"source"))
        trees.metadata(trees.join(self.source, b"metadata"))
        self.view = trees.join(root, b"view")
        self.dups = trees.join(self.view, b"dups")
        self.uniques = trees.join(self.view, b"uniques")
        self.redundant = trees.join(self.view, b"redundant")
        os.makedirs(self.dups)
        subprocess.run(["cp", "-a", self.source, self.uniques], check=True)
        found = oracle.Source([self.source])
        for group in found.groups():
            kept = min(group, key=found.preference)
            for inode in group:
                self.add(found, inode, oracle.MARK if inode is kept else b"")
            for inode in (inode for inode in group if inode is not kept):
                for _, path in inode.names:
                    self.unlink_unique(path)
        self.picture = self.group(b"pictures/1.jpg")
        self.fill_redundant()
        self.fill_by_size(found)

    def unlink_unique(self, path):
        """Removes a name and keeps the mtime of its folder, as a view does."""
        folder = os.path.dirname(trees.join(self.uniques, path))
        when = os.stat(folder).st_mtime_ns
        os.unlink(trees.join(self.uniques, path))
        os.utime(folder, ns=(when, when))

    def fill_redundant(self):
        """Fills redundant/ with the names that uniques/ lacks and their folders."""
        trees.remove(self.redundant)
        subprocess.run(["cp", "-a", self.source, self.redundant], check=True)
        for folder, folders, files in os.walk(self.redundant, topdown=False):
            below = os.path.relpath(folder, self.redundant)
            for name in folders + files:
                path = trees.join(folder, name)
                if os.path.isdir(path) and not os.path.islink(path):
                    with contextlib.suppress(OSError):
                        os.rmdir(path)
                elif os.path.lexists(trees.join(self.uniques, below, name)):
                    os.unlink(path)
        for folder, _, _ in os.walk(self.redundant):
            below = os.path.relpath(folder, self.redundant)
            shutil.copystat(trees.join(self.source, below), folder)

    def fill_by_size(self, found):
        self.by_size, self.links = trees.join(self.view, b"by-size"), []
        os.mkdir(self.by_size)
        for rank, group in enumerate(sorted(found.groups(), reverse=True, key=lambda group:
                                            group[0].size * (len(group) - 1)), 1):
            path = min(group, key=found.preference).names[0][1]
            self.links.append(trees.join(self.by_size, os.fsencode(rank_names.name_of(
                f"{rank:04}", os.fsdecode(os.path.basename(path)), len(group),
                oracle.human(group[0].size * (len(group) - 1))))))
            self.link(-1, path)

    def link(self, number, path):
        os.symlink(trees.join(b"../dups", os.path.basename(self.group(path))), self.links[number])

    def group(self, path):
        return trees.join(self.dups, xxhash(trees.join(self.source, path)))

    def add(self, found, inode, mark):
        first = None
        for name in inode.names:
            path = found.absolute(name)
            folder = trees.join(self.dups, xxhash(path))
            os.makedirs(folder, exist_ok=True)
            shown = trees.join(folder, mark + name[1].replace(b"/", oracle.SLASH))
            if first:
                os.link(first, shown)
                continue
            first = shown
            subprocess.run(["cp", path, shown], check=True)
            os.chmod(shown, 0o600)
            os.setxattr(shown, "user.twinfs.path", path)

    def differences(self, **options):
        return oracle.check([self.source], self.view, **options)


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def test_right_view_has_no_difference(fake):
    assert fake.differences() == []


def picture(fake, name):
    return trees.join(fake.picture, name.replace("/", "\u2215").encode())


def unique(fake, name):
    return trees.join(fake.uniques, name)


def keep_time(folder, act):
    when = os.stat(folder).st_mtime_ns
    act()
    os.utime(folder, ns=(when, when))


def replace_content(path, data):
    status = os.stat(path)
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def lost_copy(fake):
    os.unlink(picture(fake, "backup/1.jpg"))


def lost_group(fake):
    trees.remove(fake.picture)


def foreign_copy(fake):
    path = trees.join(fake.picture, b"alone")
    trees.write(path, trees.content("p", 70000))
    os.setxattr(path, "user.twinfs.path", trees.join(fake.source, b"alone"))


def other_name(fake):
    os.rename(picture(fake, "backup/1.jpg"), picture(fake, "other.jpg"))


def needless_shortening(fake):
    os.rename(picture(fake, "backup/1.jpg"), picture(fake, "backup/1~77-9a.jpg"))


def wrong_hash(fake):
    os.rename(fake.picture, trees.join(fake.dups, b"0" * 32))


def ordinal_alone(fake):
    os.rename(fake.picture, fake.picture + b"~2")


def not_a_hash(fake):
    os.rename(fake.picture, trees.join(fake.dups, b"pictures"))


def group_shown_twice(fake):
    subprocess.run(["cp", "-a", fake.picture, fake.picture + b"~2"], check=True)


def one_class_in_two_folders(fake):
    os.mkdir(fake.picture + b"~2")
    path = picture(fake, "backup/1.jpg")
    os.rename(path, path.replace(fake.picture, fake.picture + b"~2"))


def two_classes_in_one_folder(fake):
    letters = fake.group(b"letters/a.txt")
    for name in os.listdir(letters):
        os.rename(trees.join(letters, name), trees.join(fake.picture, name))
    os.rmdir(letters)


def changed_content_in_dups(fake):
    replace_content(picture(fake, "backup/1.jpg"), b"changed")


def hard_link_broken_in_dups(fake):
    path = trees.join(fake.group(b"letters/a.txt"), "letters\u2215linked.txt".encode())
    os.unlink(path)
    subprocess.run(["cp", trees.join(fake.source, b"letters/a.txt"), path], check=True)
    os.setxattr(path, "user.twinfs.path", trees.join(fake.source, b"letters/linked.txt"))


def both_copies_kept(fake):
    keep_time(unique(fake, b"backup"), lambda: subprocess.run(
        ["cp", "-a", trees.join(fake.source, b"backup/1.jpg"), unique(fake, b"backup")],
        check=True))


def no_copy_kept(fake):
    fake.unlink_unique(b"pictures/1.jpg")


def other_copy_kept(fake):
    both_copies_kept(fake)
    no_copy_kept(fake)
    fake.fill_redundant()


def redundant(fake, name):
    return trees.join(fake.redundant, name)


def move_mark(fake):
    """Moves the mark from the kept picture to backup/1.jpg."""
    for name in os.listdir(fake.picture):
        os.rename(trees.join(fake.picture, name),
                  trees.join(fake.picture, name.removeprefix(oracle.MARK)))
    path = picture(fake, "backup/1.jpg")
    os.rename(path, path.replace(b"/backup", b"/" + oracle.MARK + b"backup"))


def lost_redundant_copy(fake):
    keep_time(redundant(fake, b"backup"), lambda: os.unlink(redundant(fake, b"backup/1.jpg")))


def kept_copy_in_redundant(fake):
    subprocess.run(["cp", "-a", unique(fake, b"pictures/1.jpg"), redundant(fake, b"pictures")],
                   check=True)
    for folder in (b"pictures", b""):
        shutil.copystat(unique(fake, folder), redundant(fake, folder))


def lone_file_in_redundant(fake):
    keep_time(fake.redundant, lambda: subprocess.run(
        ["cp", "-a", unique(fake, b"alone"), redundant(fake, b"alone")], check=True))


def folder_without_copies_in_redundant(fake):
    keep_time(fake.redundant, lambda: os.mkdir(redundant(fake, b"empty folder")))
    shutil.copystat(unique(fake, b"empty folder"), redundant(fake, b"empty folder"))


def other_folder_time_in_redundant(fake):
    os.utime(redundant(fake, b"pictures"), ns=(0, 0))


def lost_link(fake):
    os.unlink(fake.links[0])


def link_to_nothing(fake):
    lost_link(fake)
    os.symlink(b"../dups/nothing", fake.links[0])


def link_of_another_group(fake):
    lost_link(fake)
    fake.link(0, b"letters/a.txt")


def links_in_another_order(fake):
    one, two = (os.path.basename(path) for path in fake.links[:2])
    os.rename(fake.links[0], trees.join(fake.by_size, two[:4] + one[4:]))
    os.rename(fake.links[1], trees.join(fake.by_size, one[:4] + two[4:]))


def link_of_another_size(fake):
    os.rename(fake.links[0], fake.links[0].replace(b"KiB", b"MiB"))


def link_with_another_count(fake):
    os.rename(fake.links[0], fake.links[0].replace(b"(3", b"(2"))


def link_of_another_file(fake):
    os.rename(fake.links[0], fake.links[0].replace(b"1.jpg", b"copy of 1.jpg"))


def changed_content_in_redundant(fake):
    replace_content(redundant(fake, b"backup/1.jpg"), b"changed")


def changed_content_in_uniques(fake):
    replace_content(unique(fake, b"alone"), b"changed")


def lost_link_in_uniques(fake):
    fake.unlink_unique(b"alone, linked")


def hard_link_broken_in_uniques(fake):
    fake.unlink_unique(b"alone, linked")
    keep_time(fake.uniques, lambda: subprocess.run(
        ["cp", "-p", unique(fake, b"alone"), unique(fake, b"alone, linked")], check=True))


def lost_empty_folder(fake):
    keep_time(fake.uniques, lambda: os.rmdir(unique(fake, b"empty folder")))


def lost_empty_file(fake):
    fake.unlink_unique(b"empty/two")


def foreign_name(fake):
    keep_time(fake.uniques, lambda: os.mkdir(unique(fake, b"foreign")))


def other_mode(fake):
    os.chmod(unique(fake, b"metadata/mode 4755"), 0o755)


def other_time(fake):
    status = os.stat(unique(fake, b"alone"))
    os.utime(unique(fake, b"alone"), ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def other_folder_time(fake):
    os.utime(unique(fake, b"letters"), ns=(0, 0))


def other_root_time(fake):
    os.utime(fake.uniques, ns=(0, 0))


def other_target(fake):
    def act():
        path = unique(fake, b"symlink")
        when = os.lstat(path).st_mtime_ns
        os.unlink(path)
        os.symlink(b"letters/b.txt", path)
        os.utime(path, ns=(when, when), follow_symlinks=False)
    keep_time(fake.uniques, act)


def lost_xattr(fake):
    os.removexattr(unique(fake, b"metadata/xattrs/long"), "user.long")


def added_xattr(fake):
    os.setxattr(unique(fake, b"metadata/xattrs/long"), "user.twinfs.path", b"listed")


def lost_acl(fake):
    subprocess.run(["setfacl", "-b", unique(fake, b"metadata/acl/file")], check=True)


PLANTED = [
    lost_copy, lost_group, foreign_copy, other_name, needless_shortening, wrong_hash,
    ordinal_alone, not_a_hash, group_shown_twice, one_class_in_two_folders,
    move_mark, two_classes_in_one_folder, changed_content_in_dups, hard_link_broken_in_dups,
    both_copies_kept, no_copy_kept, other_copy_kept, changed_content_in_uniques,
    lost_link_in_uniques, hard_link_broken_in_uniques, lost_empty_folder, lost_empty_file,
    foreign_name, other_mode, other_time, other_folder_time, other_root_time, other_target,
    lost_xattr, added_xattr, lost_acl, lost_redundant_copy, kept_copy_in_redundant,
    lone_file_in_redundant, folder_without_copies_in_redundant, other_folder_time_in_redundant,
    changed_content_in_redundant, lost_link, link_to_nothing,
    link_of_another_group, links_in_another_order, link_of_another_size, link_with_another_count,
    link_of_another_file,
]


def test_links_of_the_right_view_have_readable_names(fake):
    assert os.path.basename(fake.links[0]) == (
        "0001 1.jpg (3\u00a0copies, frees\u00a0137\u00a0KiB)".encode())
    assert [oracle.human(size) for size in (0, 999, 1000, 1024, 10188, 10189, 1023487,
                                            1023488)] == [
        "0 B", "999 B", "0.98 KiB", "1.0 KiB", "9.9 KiB", "10 KiB", "999 KiB", "0.98 MiB"]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_difference_is_found(fake, plant):
    plant(fake)
    assert fake.differences() != []


def test_any_copy_may_be_kept_after_the_first_scan(fake):
    other_copy_kept(fake)
    move_mark(fake)
    assert fake.differences(first_scan=False) == []


def test_groups_and_figures_of_every_kind_of_file_are_right(tmp_path):
    root = trees.mixed(tmp_path / "source")
    groups = oracle.Source([root]).groups()
    by_size = {}
    for group in groups:
        by_size.setdefault(group[0].size, []).append(len(group))
    assert by_size[1 << 20] == [2]
    assert by_size[1 << 22] == [3, 3, 3, 3]
    assert by_size[1 << 30] == [2]
    assert 1 << 34 not in by_size
    assert 0 not in by_size
    figures = oracle.summary(groups)
    assert figures["groups"] == len(groups)
    assert figures["redundant_files"] == sum(sum(sizes) - len(sizes)
                                             for sizes in by_size.values())
    assert figures["redundant_bytes"] == sum(size * (sum(sizes) - len(sizes))
                                             for size, sizes in by_size.items())


def test_groups_with_paths_longer_than_path_max_are_found(tmp_path):
    copies = trees.deep(tmp_path / "deep")
    [group] = oracle.Source([tmp_path / "deep"]).groups()
    assert len(group) == copies
    assert max(len(path) for inode in group for _, path in inode.names) > 10000


def test_trees_are_named_by_base_name_and_ordinal(tmp_path):
    for path in ("one/tree", "two/tree", "three", "three/nested"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "link").symlink_to("three")
    roots = [tmp_path / path for path in
             ("one/tree", "three/nested", "two/tree", "link", "three", "one/tree/")]
    assert [name for _, name in oracle.name_trees(roots)] == [b"tree", b"tree~2", b"three"]
    assert [name for _, name in oracle.name_trees(roots[:1])] == [b""]

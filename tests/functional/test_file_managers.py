# SPDX-License-Identifier: MIT
"""File managers show a view right and change nothing in its source."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import trees
from desktop import MANAGERS, OPENING, desktop, need
from processes import until

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
SEEN_ODD = {
    b"'quoted' \"twice\".txt": "'quoted' \"twice\".txt",
    b"-rf": "-rf",
    b"<b>bold & x.html": "<b>bold & x.html",
    b"two  spaces": "two  spaces",
    "\u6708\u5149.ogg".encode(): "\u6708\u5149.ogg",
}
# Properties that file managers show of a copy, of a group, and of a link to the group. For the link
# some show the size of the group. Debian 13 writes "Folder" where Debian 12 writes "folder".
PROPERTIES = {
    "thunar": (["JPEG image", r"18\.1.KiB \(18,?520 bytes\)"],
               ["[Ff]older", r"36\.2.KiB \(37,?040 bytes\)"],
               [r"[Ff]older \(link to TARGET\)"]),
    "nautilus": (["JPEG image", r"18\.5.kB.*"], [r"2 items, totalling 37\.0.kB.*"],
                 ["TARGET", r"2 items, totalling 37\.0.kB.*"]),
    "nemo": ([r"Image \(image/jpeg\)", r"18\.5.kB"],
             [r"Folder \(inode/directory\)", r"2 items, totalling 37\.0.kB"],
             ["TARGET", r"2 items, totalling 37\.0.kB"]),
}
VIEWER = """[Desktop Entry]
Type=Application
Name=Viewer
Exec={viewer} %f
MimeType=image/jpeg;
"""

INSTALL = Path(__file__).resolve().parents[2] / "scripts/install-desktop"
ASKED = """#!/bin/sh
for word; do
	case $word in --text=*) printf '%s\n' "$word" >{seen}.new ;; esac
done
mv {seen}.new {seen}
exit 1
"""


KEPT = "(kept) Photos\u2215IMG_11.jpg"


def state(folder):
    """{path: metadata} of everything below a folder."""
    found = {}
    for at, _, names in os.walk(os.fsencode(folder)):
        for path in (at, *(os.path.join(at, name) for name in names)):
            status = os.lstat(path)
            found[path] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    return found


@pytest.fixture(params=MANAGERS)
def manager(request):
    need(MANAGERS[request.param].program)
    return MANAGERS[request.param]


@pytest.fixture
def screen(session, tmp_path):
    folder = tmp_path / "desktop"
    folder.mkdir()
    with desktop(session, folder) as found:
        yield found


@pytest.fixture
def photos(source):
    """Twelve groups in the order of their sizes, and one with odd names."""
    for number in range(12):
        data = JPEG + trees.content(number, 20_000 - 1500 * (12 - number))
        trees.fill(source, {b"Photos/IMG_%02d.jpg" % number: data,
                            b"Backup 2021/old laptop/IMG_%02d.jpg" % number: data})
    trees.fill(source, {b"Odd/" + name: b"the same" for name in SEEN_ODD})
    return source


def test_file_manager_shows_ranks_in_their_order_and_copies_by_their_paths(
        twinfs, screen, manager, photos):
    before = state(photos)
    with twinfs.mounted(photos) as view:
        ranks = sorted(os.listdir(view.by_size))
        with screen.opened(manager, view.by_size) as window:
            window.wait_for(ranks)
            assert until(lambda: window.texts(ranks) == ranks, OPENING), window.shown()
            assert until(lambda: "by-size" in "".join(window.shown()["titles"]), OPENING)
        group = (view.by_size / ranks[0]).resolve()
        copies = ["Backup 2021\u2215old laptop\u2215IMG_11.jpg", KEPT]
        with screen.opened(manager, group) as window:
            window.wait_for(copies)
            assert until(lambda: "JPEG image" in window.shown()["texts"], OPENING), window.shown()
        group = (view.by_size / ranks[-1]).resolve()
        with screen.opened(manager, group) as window:
            listed = os.listdir(os.fsencode(group))
            kept = {name for name in SEEN_ODD
                    if "(kept) Odd\u2215".encode() + name in listed}
            assert len(kept) == 1 and len(listed) == len(SEEN_ODD)
            window.wait_for([f"{'(kept) ' * (name in kept)}Odd\u2215{shown}"
                             for name, shown in SEEN_ODD.items()])
        assert view.differences(photos) == []
    assert state(photos) == before


def test_file_manager_shows_changes(twinfs, screen, manager, photos):
    """The folder is updated without a reload by the user."""
    data = JPEG + trees.content("new", 40_000)
    with twinfs.mounted(photos) as view:
        before = sorted(os.listdir(view.by_size))
        with screen.opened(manager, view.by_size) as window:
            window.wait_for(before)
            assert until(lambda: view.status()["refreshed"] > 0)
            trees.fill(photos, {b"Photos/new.jpg": data, b"Backup 2021/new too.jpg": data})
            view.sync()
            now = sorted(os.listdir(view.by_size))
            assert len(now) == len(before) + 1
            assert until(lambda: window.texts({*before, *now}) == now, OPENING)
        folder = "Photos"
        with screen.opened(manager, view.uniques / folder) as window:
            before = sorted(os.listdir(view.uniques / folder))
            window.wait_for(before)
            assert until(lambda: view.status()["refreshed"] > 0)
            (photos / folder / "added.txt").write_text("x")
            (photos / folder / before[0]).rename(photos / folder / "renamed.jpg")
            view.sync()
            now = sorted(os.listdir(view.uniques / folder))
            assert until(lambda: sorted(window.texts({*before, *now})) == now, OPENING)


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_of_a_copy_a_group_and_a_rank_are_right(twinfs, screen, photos, name):
    need(name)
    before = state(photos)
    with twinfs.mounted(photos) as view:
        rank = view.by_size / min(os.listdir(view.by_size))
        group, target = rank.resolve(), os.readlink(rank)
        paths = [group / KEPT, group, rank]
        with screen.opened(MANAGERS[name]) as window:
            for path, claims in zip(paths, PROPERTIES[name], strict=True):
                claims = [re.escape(path.name) + "( .*)?", *claims]
                claims = [claim.replace("TARGET", re.escape(target)) for claim in claims]
                window.show_properties(path)
                assert until(lambda claims=claims: has_properties(window, claims), OPENING), \
                    (claims, window.windows())
            assert until(lambda: len(window.windows()) == len(paths), OPENING), window.windows()
    assert state(photos) == before


def test_properties_of_a_row_that_is_selected_are_right(twinfs, screen, photos):
    need("pcmanfm")  # others do not let screen readers select a row
    with twinfs.mounted(photos) as view:
        rank = view.by_size / min(os.listdir(view.by_size))
        for path, claims in ((rank, [r"[Ff]older( \(inode/directory\))?",
                                     re.escape(os.readlink(rank))]),
                             (rank.resolve() / KEPT,
                              [r"JPEG image( \(image/jpeg\))?",
                               r"18\.1 KiB \(18,?520 bytes\)"])):
            with screen.opened(MANAGERS["pcmanfm"], path.parent) as window:
                window.wait_for([path.name])
                row = f"row:{path.name}"
                assert until(lambda row=row: window.windows(row, "Properties"), OPENING)
                claims = [re.escape(str(path.parent)), *claims]
                assert until(lambda claims=claims: has_properties(window, claims), OPENING), \
                    (claims, window.windows())
                assert until(lambda: len(window.windows()) == 2, OPENING), window.windows()


def has_properties(window, claims):
    """Whether a window with properties has a text that matches each claim."""
    return any(all(any(re.fullmatch(claim, text) for text in (shown["title"], *shown["texts"]))
                   for claim in claims)
               for shown in window.windows() if "Properties" in shown["title"])


def test_copy_is_opened_with_the_program_for_its_type(twinfs, screen, photos, tmp_path):
    need("pcmanfm")  # others do not let screen readers click on a row
    viewer, seen = tmp_path / "viewer", tmp_path / "seen"
    viewer.write_text(f'#!/bin/sh\ncat "$1" >{seen}.new && mv {seen}.new {seen}\n')
    viewer.chmod(0o755)
    trees.fill(screen.home, {
        b".config/mimeapps.list": b"[Default Applications]\nimage/jpeg=viewer.desktop\n",
        b".local/share/applications/viewer.desktop": VIEWER.format(viewer=viewer).encode()})
    with twinfs.mounted(photos) as view:
        group = (view.by_size / min(os.listdir(view.by_size))).resolve()
        with screen.opened(MANAGERS["pcmanfm"], group) as window:
            window.wait_for([KEPT])
            assert until(lambda: window.shown(KEPT) and seen.exists(), OPENING)
        assert seen.read_bytes() == (photos / "Photos/IMG_11.jpg").read_bytes()


@pytest.fixture
def seen(twinfs, screen, tmp_path):
    """The file that has what the last dialog said. The actions are installed in Thunar."""
    need("thunar")
    subprocess.run([sys.executable, INSTALL, "--for=Thunar"], check=True,
                   env=screen.environment, capture_output=True)
    programs, said = tmp_path / "bin", tmp_path / "seen"
    programs.mkdir()
    (programs / "twinfs").symlink_to(twinfs.session.binary)
    (programs / "zenity").write_text(ASKED.format(seen=said))  # the user declines
    (programs / "zenity").chmod(0o755)
    screen.environment["PATH"] = f"{programs}:{screen.environment['PATH']}"
    return said


def test_thunar_offers_the_actions_and_runs_them(twinfs, screen, photos, seen):
    before = state(photos)
    with twinfs.mounted(photos) as view:
        group = (view.by_size / min(os.listdir(view.by_size))).resolve()
        with screen.opened(MANAGERS["thunar"], group) as window:
            window.wait_for([KEPT])
            shown = window.shown("File")["texts"]
            assert {"Show copies", "Show in source folder", "Move redundant copies to trash"
                    } <= set(shown), shown
            window.shown("Move redundant copies to trash")
            assert until(seen.exists)
        assert "Backup 2021/old laptop/IMG_11.jpg" in seen.read_text()
        assert state(photos) == before


def test_thunar_opens_the_view_of_a_folder_and_stops_it_in_the_view(screen, photos, seen):
    view = Path(screen.environment["XDG_RUNTIME_DIR"]) / f"twinfs/Equal files in {photos.name}"
    with screen.opened(MANAGERS["thunar"], photos) as window:
        window.wait_for(["Photos"])
        window.shown("File", "Find equal files here")
        assert until(lambda: f"{view.name} - Thunar" in window.shown()["titles"], OPENING), \
            window.shown()
        window.wait_for(["README.txt", "by-size"])
    with screen.opened(MANAGERS["thunar"], view) as window:
        window.wait_for(["README.txt"])
        window.shown("File", "Stop showing equal files")  # Thunar runs it in the view
        assert until(seen.exists) and f"'{view.name}' is closed." in seen.read_text()
    assert not view.exists()

# SPDX-License-Identifier: MIT
"""The actions of twinfs in file managers."""
import json
import os
import pty
import select
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import pytest
import trees
from processes import TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "data/desktop/twinfs-action"
INSTALL = ROOT / "scripts/install-desktop"
TOOLS = ("awk", "cat", "cmp", "cut", "find", "flock", "fold", "fusermount3", "gio", "grep", "head",
         "iconv", "mkdir", "mkfifo", "mktemp", "mv", "od", "paste", "rm", "rmdir", "sed", "setpriv",
         "sh", "sleep", "sort", "stat", "timeout", "touch", "tr", "wc", "xargs")
STAND_IN = """#!/bin/sh
{{
	printf '%s\\0' {name} "$@"
	for word; do
		case $word in
		--filename=*) cat "${{word#--filename=}}" ;;
		--textbox | -file) text=next ;;
		*) test "${{text-}}" != next || {{ cat "$word"; text=; }} ;;
		esac
	done
	printf '\\n--\\n'
}} >>{record}
exit {status}
"""
ODD = [b"plain.jpg", b"two  spaces", b"-rf", b"--only=x", b"'single'", b'"double"', b"new\nline",
       b"end\n", b"back\\slash\\n", b"$(touch x)", b"`touch x`", b"100%41", b"latin-\xe9", b"*",
       b"<b>&amp;", "slash\u2215inside".encode()]
PROGRESS = {b"--progress", b"--passivepopup", b"-timeout"}  # of zenity, kdialog and xmessage


class Desk:
    """A folder of programs: twinfs, the tools that the action needs, and stand-ins for programs
    with windows. The stand-ins record their arguments."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.bin, self.record = folder / "bin", folder / "answer"
        self.tests_progress = False
        self.bin.mkdir()
        self.record.touch(0o666)
        self.record.chmod(0o666)
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))
        (self.bin / "twinfs").symlink_to(program.session.binary)
        self.action = shutil.copy(ACTION, folder)  # plain users can reach it there
        self.run = folder / "run"
        self.run.mkdir()
        if program.user:
            os.chown(self.run, program.user.pw_uid, program.user.pw_gid)
        self.environment = {**program.environment, "PATH": str(self.bin), "DISPLAY": ":none",
                            "TMPDIR": str(folder), "XDG_RUNTIME_DIR": str(self.run)}
        self.environment.pop("WAYLAND_DISPLAY", None)

    def stand_in(self, name, status=0):
        path = self.bin / name
        path.write_text(STAND_IN.format(name=name, record=self.record, status=status))
        path.chmod(0o755)

    def act(self, *words, **options):
        """Runs the action; returns the programs that it called, with their arguments. Whether
        progress is shown depends on the speed of the machine, so only tests of it get that."""
        self.record.write_bytes(b"")
        run = subprocess.run([*self.program.as_user(), self.action, *words], check=False,
                             env=self.environment, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                             capture_output=True, **options)
        assert not list(self.folder.glob("tmp.*"))
        assert run.returncode in (0, 1), run
        calls = [call.split(b"\0") for call in self.record.read_bytes().split(b"\n--\n")[:-1]]
        return [call for call in calls if self.tests_progress or not PROGRESS & set(call)]


def said(call):
    """What a dialog says, and its other arguments."""
    return b" ".join(call)


@pytest.fixture
def desk(twinfs, tmp_path):
    found = Desk(twinfs, tmp_path)
    found.stand_in("zenity")
    found.stand_in("xdg-open")
    found.stand_in("gdbus")
    return found


@pytest.fixture
def odd(source):
    """A file for each odd name, and a copy of each."""
    for number, name in enumerate(ODD):
        trees.fill(source, {b"equal/%d" % number: b"content %d" % number,
                            b"odd/" + name: b"content %d" % number})
    return source


def folder_of(view, file):
    """The folder of the group of a file."""
    name = os.getxattr(trees.join(view.uniques, file), "user.twinfs.hash")
    return trees.join(view.dups, name)


def trashed(desk):
    return sorted(os.listdir(desk.program.home / ".local/share/Trash/files"))


# show copies

def test_copies_of_a_file_with_an_odd_name_are_shown_in_the_view(desk, odd):
    with desk.program.mounted(odd) as view:
        for number, name in enumerate(ODD):
            wanted = [[b"xdg-open", folder_of(view, b"equal/%d" % number), b""]]
            # some file managers pass base names and run the action in the folder
            assert desk.act("show-copies", name, cwd=odd / "odd") == wanted
            if number % 4 == 0:
                assert desk.act("show-copies", trees.join(odd, b"odd", name)) == wanted
        copies = os.listdir(folder_of(view, b"equal/3"))
        assert len(copies) == 2
        for copy in copies:
            assert desk.act("show-copies", trees.join(folder_of(view, b"equal/3"), copy)) == [
                [b"xdg-open", folder_of(view, b"equal/3"), b""]]


def test_each_selected_group_is_opened_once_and_at_most_five(desk, odd):
    with desk.program.mounted(odd) as view:
        files = [trees.join(odd, b"equal/%d" % number) for number in (1, 2)]
        files.append(trees.join(odd, b"odd", ODD[1]))
        assert {call[1] for call in desk.act("show-copies", *files)} == {
            folder_of(view, b"equal/1"), folder_of(view, b"equal/2")}
        every = [trees.join(odd, b"equal/%d" % number) for number in range(len(ODD))]
        assert len(desk.act("show-copies", *every)) == 5


def test_uris_are_decoded(desk, odd):
    with desk.program.mounted(odd) as view:
        for number, name in enumerate(ODD):
            uri = "file://" + quote(trees.join(odd, b"odd", name))
            assert desk.act("--uris", "show-copies", uri) == [
                [b"xdg-open", folder_of(view, b"equal/%d" % number), b""]]


def test_copies_are_listed_in_a_dialog_without_a_view(as_user, source, tmp_path):
    trees.fill(source, {name: b"same" for name in (b"one", b"new\nline", b"bad \xff")})
    as_user.ok("scan", source, index=False)
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    [call] = desk.act("show-copies", source / "one")
    text = said(call)
    assert call[0] == b"zenity" and b"These files are equal to 'one':\n" in text
    assert os.fsencode(source / "new?line") in text
    assert os.fsencode(source / "bad ") in text and b"\xff" not in text
    trees.write(source / "alone", b"alone")
    as_user.ok("scan", source, index=False)
    [call] = desk.act("show-copies", source / "alone")
    assert b"--error" in call and b"No other file is equal to 'alone'." in said(call)
    [call] = desk.act("show-copies", source / "alone", source / "alone", source / "alone")
    assert b"No other file is equal to 'alone' and 2 other files." in said(call)
    [call] = desk.act("show-copies", tmp_path / "bin/sh")
    assert b"--error" in call and b"It is not known which files are equal to 'sh'." in said(call)


# show in source folder

def uris(call):
    """The paths that the file manager is to show."""
    return [unquote_to_bytes(uri.removeprefix("file://")) for uri in
            json.loads(call[[word[:1] for word in call].index(b"[")])]


def test_file_of_a_view_with_an_odd_name_is_shown_in_its_source(desk, odd):
    with desk.program.mounted(odd) as view:
        for number, name in enumerate(ODD):
            folder = folder_of(view, b"equal/%d" % number)
            [call] = desk.act("show-source", *(trees.join(folder, copy)
                                               for copy in sorted(os.listdir(folder))))
            assert call[0] == b"gdbus"
            assert sorted(uris(call)) == sorted([trees.join(odd, b"odd", name),
                                                 trees.join(odd, b"equal/%d" % number)])


def test_source_folder_is_opened_if_no_file_manager_can_show_the_file(desk, odd):
    desk.stand_in("gdbus", status=1)
    with desk.program.mounted(odd) as view:
        calls = desk.act("show-source", view.uniques / "equal/3")
        assert calls[-1] == [b"xdg-open", os.fsencode(odd / "equal") + b"/", b""]
        [call] = desk.act("show-source", odd / "equal/3")
        assert call[0] == b"zenity" and b"'3' is in no view" in said(call)
        [call] = desk.act("show-source", view.path / "README.txt")
        assert b"--error" in call and b"'README.txt' is a part of the view" in said(call)


# move redundant copies to trash

@pytest.fixture
def three(source):
    """A group of three copies, a group of two, and a lone file."""
    trees.fill(source, {b"a/one": b"same", b"b/one": b"same", b"c/one": b"same",
                        b"a/two\n\xff": b"other", b"b/two": b"other", b"c/alone": b"alone"})
    return source


def names(folder):
    return sorted(os.path.relpath(os.path.join(at, name), os.fsencode(folder))
                  for at, _, files in os.walk(os.fsencode(folder)) for name in files)


ALL = [b"a/one", b"a/two\n\xff", b"b/one", b"b/two", b"c/alone", b"c/one"]


def test_selected_copies_in_a_source_go_to_the_trash(desk, three):
    with desk.program.mounted(three):
        asked, answer = desk.act("trash", three / "a/one", trees.join(three, b"a/two\n\xff"),
                               three / "c/alone")
        assert (b"Move 'one' and 1 other copy to the trash? One copy of each file stays."
                in said(asked))
        place = os.fsencode(three)
        assert said(asked).split(b"\n\n")[-2:] == [
            b"'%s/b/one' stays. To the trash:\n    %s/a/one" % (place, place),
            b"'%s/b/two' stays. To the trash:\n    %s/a/two? " % (place, place)]
        assert b"Moved 'one' and 1 other copy to the trash." in said(answer)
        assert names(three) == [name for name in ALL if not name.startswith(b"a/")]
    assert [os.fsencode(name) for name in trashed(desk)] == [b"one", b"two\n\xff"]


def test_kept_copy_stays_if_the_whole_group_is_selected(desk, three):
    with desk.program.mounted(three) as view:
        folder = Path(os.fsdecode(folder_of(view, b"a/one")))
        desk.act("trash", *folder.iterdir())
        assert names(three) == [name for name in ALL if name not in (b"b/one", b"c/one")]
        view.sync()
        [rank] = view.by_size.iterdir()  # a link to the other folder in dups/
        desk.act("trash", rank.name, cwd=view.by_size)
        assert names(three) == [b"a/one", b"a/two\n\xff", b"c/alone"]


def test_exactly_the_shown_files_of_a_folder_in_redundant_are_trashed(desk, three):
    """b/one and c/one are redundant too, but the view does not show them."""
    with desk.program.mounted(three, options=("--wait", "--min-size=5")) as view:
        assert names(view.redundant) == [b"b/two"]
        trees.fill(three, {b"b/three": b"third", b"z/three": b"third"})
        view.sync()
        assert names(view.redundant) == [b"b/two", b"z/three"]
        desk.act("trash", view.redundant / "b")
        assert sorted({*ALL, b"b/three", b"z/three"} - {b"b/two"}) == names(three)
        desk.act("trash", view.redundant)
        assert sorted({*ALL, b"b/three"} - {b"b/two"}) == names(three)


def test_selection_outside_of_the_view_is_ignored(desk, three, tmp_path):
    (tmp_path / "alone").touch()
    with desk.program.mounted(three) as view:
        outside = [tmp_path / "alone", tmp_path, three / "c/one", three.parent]
        asked, answer = desk.act("trash", view.redundant / "b/two", *outside)
        assert b"Move 'two' to the trash? '%s/a/two?' stays." % os.fsencode(three) in said(asked)
        assert b"Moved 'two' to the trash." in said(answer)
        assert said(asked).count(b"' is not in 'mount'.") == len(outside)
        assert names(three) == [name for name in ALL if name != b"b/two"]
        [call] = desk.act("trash", view.uniques / "a/one", *outside)
        assert b"--error" in call
        assert names(three) == [name for name in ALL if name != b"b/two"]


def test_folder_whose_path_begins_like_that_of_a_view_is_no_view(desk, three, tmp_path):
    trees.fill(tmp_path, {b"half/redundant/one": b"same", b"half/two": b"same"})
    with desk.program.mounted(three, at=tmp_path / "half\nview"):
        [call] = desk.act("trash", tmp_path / "half/redundant")
        assert b"--error" in call and b"It is not known" in said(call)
        assert names(tmp_path / "half") == [b"redundant/one", b"two"]


def test_nothing_is_trashed_if_the_selection_changed_since_the_preview(desk, three):
    with open(desk.bin / "zenity", "r+", encoding="utf-8") as zenity:  # changes the source
        script = zenity.read()
        zenity.seek(0)
        zenity.write(script.replace("exit", f"cat '{three}/c/alone' >'{three}/c/copy'\nexit"))
    with desk.program.mounted(three) as view:
        asked, answer = desk.act("trash", view.redundant)
        assert b"and 2 other copies" in said(asked) and b"changed meanwhile" in said(answer)
        assert names(three) == sorted([*ALL, b"c/copy"])


def test_copy_in_the_trash_does_not_count(desk, three):
    trash = three / ".local/share/Trash/files"
    trees.fill(trash, {b"two": b"other"})
    (three / "b/two").unlink()
    with desk.program.mounted(three):
        [call] = desk.act("trash", trees.join(three, b"a/two\n\xff"))
        assert b"--error" in call and b"No other file is equal to 'two?'" in said(call)
        assert b"a/two\n\xff" in names(three)


def test_one_copy_stays_if_a_folder_of_a_source_is_selected(desk, three):
    with desk.program.mounted(three):
        desk.act("trash", three / "b")
        assert names(three) == [name for name in ALL if not name.startswith(b"b/")]
        desk.act("trash", three)
        assert names(three) == [b"a/one", b"a/two\n\xff", b"c/alone"]


def test_nothing_is_trashed_if_the_user_declines(desk, three):
    desk.stand_in("zenity", status=1)
    with desk.program.mounted(three) as view:
        for selected in (three / "a/one", three / "b", view.redundant, view.uniques / "a/one",
                         three / "c/alone"):
            assert desk.act("trash", selected)
        assert names(three) == ALL


def test_selection_that_cannot_be_trashed_is_refused_with_a_cause(desk, three, tmp_path):
    os.symlink("one", three / "a/link")
    for selected, reason in ((three / "a/one", b"It is not known"),
                             (three / "gone", b"'gone' does not exist"),
                             (three / "gone/a", b"'a' does not exist")):
        [call] = desk.act("trash", selected)
        assert b"--error" in call and reason in said(call)
    with desk.program.mounted(three) as view:
        for selected, reason in ((view.uniques / "a/one", b"copies that stay"),
                                 (three / "c/alone", b"No other file"),
                                 (view.path / "README.txt", b"equal to 'README.txt'"),
                                 (three / "a/link", b"is a link"), (three / "gone", b"gone"),
                                 (tmp_path / "bin", b"It is not known")):
            [call] = desk.act("trash", selected)
            assert b"--error" in call and reason in said(call), (selected, call)
        [call] = desk.act("trash", three / "a/one")
        assert b"--error" in call and b"because a link leads to it" in said(call)
        os.unlink(three / "a/link")
        with open(three / "a/one", "ab"):
            *_, last = desk.act("trash", three / "a/one")
            assert b"--error" in last and b"/a/one' is open for writing or was written to." \
                in said(last)
        assert names(three) == sorted(ALL)


@pytest.mark.parametrize("dialog", ["kdialog", "xmessage"])
def test_other_dialog_programs_work(desk, three, dialog):
    (desk.bin / "zenity").unlink()
    desk.stand_in(dialog, status=1)
    with desk.program.mounted(three):
        [asked] = desk.act("trash", three / "a/one")
        assert asked[0] == dialog.encode() and b"Move 'one' to the trash?" in said(asked)
        assert names(three) == ALL
        desk.stand_in(dialog)
        assert len(desk.act("trash", three / "a/one")) == 2
        assert names(three) == [name for name in ALL if name != b"a/one"]
        [answer] = desk.act("show-copies", three / "c/alone")
        assert answer[0] == dialog.encode() and b"No other file is equal" in said(answer)


@pytest.mark.parametrize("dialog", ["zenity", "kdialog", "xmessage"])
def test_question_about_many_files_lists_all_of_them(desk, source, dialog):
    (desk.bin / "zenity").unlink()
    desk.stand_in(dialog, status=1)
    trees.fill(source, {b"%03d" % number: b"same" for number in range(300)})
    files = sorted(source.iterdir())
    with desk.program.mounted(source):
        asked = desk.act("trash", *files)
        text = b"\n".join(map(said, asked))
        assert b"Move '001' and 298 other copies to the trash?" in text
        assert [line.strip() for line in text.split(b"\n") if line.startswith(b"    ")] == [
            os.fsencode(file) for file in files[1:]]
        assert b"'%s/000' stays." % os.fsencode(source) in text
        # a window that scrolls
        assert {"zenity": b"--text-info", "kdialog": b"--textbox", "xmessage": b"-file"
                }[dialog] in asked[0]
        assert names(source) == [b"%03d" % number for number in range(300)]
        desk.stand_in(dialog)
        answer = desk.act("trash", *files)[-1]
        assert b"Moved '001' and 298 other copies to the trash." in said(answer)
        assert names(source) == [b"000"]


def test_terminal_is_used_without_a_dialog_program(desk, three):
    (desk.bin / "zenity").unlink()
    del desk.environment["DISPLAY"]
    controller, terminal = pty.openpty()
    with desk.program.mounted(three):
        for answer, left in ((b"n\n", ALL), (b"y\n", [name for name in ALL if name != b"a/one"])):
            os.write(controller, answer)
            subprocess.run([desk.action, "trash", three / "a/one"], check=True, timeout=TIMEOUT,
                           env=desk.environment, stdin=terminal, stdout=terminal)
            shown = b""
            while b"Move to trash? [y/N]" not in shown:  # reads may return a part
                assert select.select([controller], [], [], TIMEOUT)[0], shown
                shown += os.read(controller, 10_000)
            assert names(three) == left
    os.close(controller)
    os.close(terminal)


def test_control_characters_of_names_do_not_reach_a_terminal(desk, three):
    (desk.bin / "zenity").unlink()
    del desk.environment["DISPLAY"]
    link = trees.join(three, b"a\x1b]0;title\x07\x9b31m\xc2\x9b31m\rlink")
    os.symlink("one", link)
    with desk.program.mounted(three):
        run = subprocess.run([*desk.program.as_user(), desk.action, "trash", link],
                             env=desk.environment, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                             check=False, capture_output=True)
    assert run.returncode == 1 and run.stderr == (
        b"'a?]0;title?31m?31m?link' is a link, which has no copies.\n"), run

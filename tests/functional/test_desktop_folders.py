# SPDX-License-Identifier: MIT
"""The actions of file managers on folders: Show equal folders, Is all of this elsewhere?"""
import os
import shutil

import pytest
import trees
from test_desktop_actions import ODD, Desk, said


@pytest.fixture
def twin_folders(source):
    """A folder for each odd name, and an equal folder for each."""
    for number, name in enumerate(ODD):
        trees.fill(source, {b"equal/%d/file" % number: b"content %d" % number,
                            trees.join(b"odd", name, b"file"): b"content %d" % number,
                            b"equal/%d/none" % number: b"", trees.join(b"odd", name, b"none"): b""})
    trees.write(source / "equal/own", b"own")
    return source


def test_folders_that_equal_one_with_an_odd_name_are_opened(as_user, twin_folders, tmp_path):
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    desk.stand_in("xdg-open")
    as_user.ok("scan", twin_folders, index=False)
    for number, name in enumerate(ODD):
        equal = os.fsencode(twin_folders / f"equal/{number}")
        odd = trees.join(twin_folders, b"odd", name)
        assert desk.act("show-equal", name, cwd=twin_folders / "odd") == [
            [b"xdg-open", equal, b""]]
        assert desk.act("show-equal", equal) == [[b"xdg-open", odd, b""]]
    with as_user.mounted(twin_folders) as view:  # the folders of a view are those of its source
        assert desk.act("show-equal", view.uniques / "equal/3") == [
            [b"xdg-open", trees.join(twin_folders, b"odd", ODD[3]), b""]]
    three = [os.fsencode(twin_folders / f"equal/{number}") for number in (1, 6, 3)]
    assert {call[1] for call in desk.act("show-equal", *three)} == {
        trees.join(twin_folders, b"odd", ODD[number]) for number in (1, 6, 3)}


def test_many_equal_folders_are_listed(as_user, source, tmp_path):
    for number in range(7):
        trees.write(source / f"{number}\n/file", b"same")
    as_user.ok("scan", source, index=False)
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    desk.stand_in("xdg-open")
    assert len(desk.act("show-equal", source / "0\n", source / "1\n")) == 1
    [call] = desk.act("show-equal", source / "0\n")
    assert call[0] == b"zenity" and b"These folders are equal to '0?':\n" in said(call)
    assert said(call).strip().split(b"\n")[2:] == [os.fsencode(f"{source}/{number}?")
                                      for number in range(1, 7)]
    shutil.rmtree(source / "6\n")
    opened = desk.act("show-equal", source / "0\n")  # exit status 3, as one is gone
    assert [call[:2] for call in opened] == [
        [b"xdg-open", os.fsencode(f"{source}/{number}\n")] for number in range(1, 6)]


def test_selection_without_an_equal_folder_is_refused_with_a_cause(as_user, twin_folders, tmp_path):
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    [call] = desk.act("show-equal", twin_folders / "equal")
    assert b"--error" in call and b"It is not known which files are equal to 'equal'." in said(call)
    as_user.ok("scan", twin_folders, index=False)
    for selected, reason in ((twin_folders / "equal", b"No other folder is equal to 'equal'."),
                             (twin_folders / "equal/own", b"'own' is not a folder"),
                             (twin_folders / "gone", b"'gone' does not exist")):
        for action in ("show-equal", "elsewhere"):
            if action == "show-equal" or not selected.is_dir():
                [call] = desk.act(action, selected)
                assert b"--error" in call and reason in said(call), (selected, call)


def test_answer_to_whether_all_is_elsewhere_has_what_is_only_here(as_user, twin_folders, tmp_path):
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    [call] = desk.act("elsewhere", twin_folders / "odd")
    assert b"--error" in call and b"twinfs knows no files outside of 'odd'." in said(call)
    as_user.ok("scan", twin_folders, index=False)
    [call] = desk.act("elsewhere", twin_folders / "odd")
    assert b"--info" in call and b"All files in 'odd' are elsewhere, too." in said(call)
    [call] = desk.act("elsewhere", twin_folders / "equal")
    assert b"This file in 'equal' is nowhere else:\n\n" + os.fsencode(twin_folders / "equal/own") \
        in said(call)
    unread = twin_folders / "odd/plain.jpg/file"
    unread.write_bytes(b"different")  # as long as the others: it must be read
    unread.chmod(0)
    [call] = desk.act("elsewhere", twin_folders / "odd")
    assert b"It is not known whether this file in 'odd' is elsewhere:\n\n" + os.fsencode(unread) \
        in said(call), call


def test_folder_of_a_mounted_view_is_searched_elsewhere(as_user, twin_folders, tmp_path):
    """The index of the view itself is not used."""
    desk = Desk(as_user, tmp_path)
    desk.stand_in("zenity")
    with as_user.mounted(twin_folders):
        [call] = desk.act("elsewhere", twin_folders / "odd")
        assert b"--info" in call and b"All files in 'odd' are elsewhere, too." in said(call)
        trees.write(twin_folders / "equal/own2", b"own2")
        [call] = desk.act("elsewhere", twin_folders / "equal", twin_folders / "odd/-rf")
        assert b"These 4 files in 'equal' and 1 other folder are nowhere else:" in said(call), call

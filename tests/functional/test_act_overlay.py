# SPDX-License-Identifier: MIT
"""Acts on an overlay file system: a removed file can stay in a lower layer."""
import os
import re

import pytest
import trees
from disks import overlay
from folder_acts import ACTS, act_words, contents, private_names, snapshot
from test_act import copies, freed


def test_file_in_an_overlay_is_no_copy_of_its_lower_file(twinfs, tmp_path):
    """The file in the overlay is the file in the lower layer, and so the last copy."""
    below = tmp_path / "lower"
    below.mkdir()
    (below / "only").write_bytes(b"content")
    with overlay(tmp_path) as above:
        result = twinfs("remove", "--yes", above, below)
    assert (below / "only").read_bytes() == b"content"
    assert result.status == 3
    assert "both may be one file" in result.errors[-1]


def make_lower(folder):
    """A folder in a lower layer, with content that is nowhere else."""
    trees.fill(folder / "lower/b", {"one": b"1" * 5000, "sub/two": b"2" * 3000})
    trees.write(folder / "upper/only above", b"so that the sources are not equal")
    return folder / "lower/b"


@pytest.mark.parametrize("act", ACTS)
def test_folder_in_an_overlay_is_no_copy_of_its_lower_folder(twinfs, tmp_path, act):
    below, moved = make_lower(tmp_path), tmp_path / "moved"
    moved.mkdir()
    before = contents(snapshot(below))
    with overlay(tmp_path) as above:
        result = twinfs(*act_words(act, below.parent, moved, f"--protect={above}", above))
    assert contents(snapshot(below)) == before
    assert result.status == 3 and "both may be one file" in result.errors[-1], result


@pytest.mark.parametrize("number", [2, 3])
def test_recovery_does_not_remove_the_lower_folder_of_an_overlay(twinfs, tmp_path, strace, number):
    """The removal is killed when a file gets its private name, or its own one again. The folder is
    in the upper layer, too, so only the files show that they are in the overlay."""
    below = make_lower(tmp_path)
    before = contents(snapshot(below))
    (tmp_path / "upper/b").mkdir()
    with overlay(tmp_path) as above:
        twinfs.traced(*act_words("remove", below.parent, None, f"--protect={above}", above),
                      calls="trace=renameat2",
                      flags=["-e", f"inject=renameat2:signal=KILL:when={number}"])
        assert private_names(tmp_path / "lower")
        assert "cannot complete" in twinfs("recover").error.decode()
    assert contents(snapshot(below)) == before


@pytest.mark.parametrize("act", [["remove"], ["link"], ["link", "--symbolic"], ["move"]])
def test_freed_bytes_of_copies_on_an_overlay_are_unknown(twinfs, tmp_path, act):
    """The file in the lower layer stays when its name in the overlay is removed."""
    source, lower, upper, to = made = [
        tmp_path / name for name in ("source", "lower", "upper", "to")]
    for folder in made:
        folder.mkdir()
    copies(source, 2)
    copies(upper, 2, name="new")
    old = copies(lower, 3)
    folders = [source, *([to] if act == ["move"] else [])]
    with overlay(tmp_path) as shown:
        planned_act = twinfs.ok(*act, "--dry-run", shown, *folders)
        result = twinfs.ok(*act, "--yes", shown, *folders)
        for said in planned_act, result:
            assert f"'{shown}' is on an overlay file system" in said.error.decode()
            assert f"'{source}' is on" not in said.error.decode()
        # since Linux 6.6 the kernel reports which files are in the upper layer
        unknown = re.search(rb"and unknown bytes of (\d) copies on an overlay", result.out)[1]
        assert unknown in (b"2", b"3")
        assert freed(result) == 8192 * (4 - int(unknown) - (act == ["move"]))
        assert len(list(shown.iterdir())) == (5 if act[0] == "link" else 2)
    assert all(copy.exists() for copy in old)


@pytest.mark.skipif(tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 6),
                    reason="needs Linux 6.6, which reports which files are in a lower layer")
def test_hard_links_in_a_lower_layer_are_left_as_they_are(twinfs, tmp_path):
    """A rename would copy each hard link to the upper layer."""
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    lower.mkdir()
    _, copy = copies(lower, 2)
    os.link(copy, lower / "copy 1 too")
    with overlay(tmp_path) as shown:
        for act in ["remove"], ["link"], ["link", "--symbolic"]:
            result = twinfs(*act, "--yes", shown)
            assert result.status == 3
            assert result.error.count(b"has other hard links in a lower layer") == 2
            assert os.listdir(upper) == []
        assert os.path.samefile(shown / "copy 1", shown / "copy 1 too")
        _, new = copies(shown, 2, name="new")
        os.link(new, shown / "new 1 too")
        result = twinfs("remove", "--yes", shown)
        assert b"removed     2 copies" in result.out
        assert freed(result) == 8192


@pytest.mark.parametrize("act", [["remove"], ["link"], ["link", "--symbolic"], ["move"]])
def test_hard_links_in_the_upper_layer_of_a_lower_file_are_acted_upon(twinfs, tmp_path, act):
    """Making the link copied the file up, so a rename separates no names."""
    (tmp_path / "lower").mkdir()
    to = tmp_path / "to"
    to.mkdir()
    kept, copy = (path.name for path in copies(tmp_path / "lower", 2))
    with overlay(tmp_path) as shown:
        os.link(shown / copy, shown / "link")
        twinfs.ok(*act, "--yes", shown, *([to] if act == ["move"] else []))
        assert (shown / kept).stat().st_nlink == (3 if act == ["link"] else 1)
        assert [path.is_symlink() for path in (shown / copy, shown / "link")] == 2 * [
            "--symbolic" in act]
        twinfs.ok("undo", "--yes")
        contents_now = {path.name: path.read_bytes() for path in shown.iterdir()}
        assert contents_now == dict.fromkeys((kept, copy, "link"), (shown / kept).read_bytes())
        assert not any(path.is_symlink() for path in shown.iterdir())
    assert sorted(os.listdir(tmp_path / "lower")) == [kept, copy]


def test_act_that_removes_no_name_does_not_mention_the_overlay(twinfs, tmp_path):
    (tmp_path / "lower").mkdir()
    copies(tmp_path / "lower", 2)
    with overlay(tmp_path) as shown:
        assert b"overlay" not in twinfs.ok("dedupe", "--dry-run", shown).error


def test_link_parts_no_hard_links_of_the_kept_file_in_a_lower_layer(twinfs, tmp_path):
    """link(2) copies such a file to the upper layer, without its other names."""
    trees.fill(tmp_path / "lower", {"a": b"same", "b": b"same"})
    os.utime(tmp_path / "lower/a", (1, 1))
    os.link(tmp_path / "lower/a", tmp_path / "lower/other name")
    with overlay(tmp_path) as above:
        result = twinfs("link", "--yes", "--force-metadata", above)
        assert result.status == 3 and "change it in that layer" in result.errors[-1], result
        assert os.path.samefile(above / "a", above / "other name")
        assert not any(path.is_file() for path in (tmp_path / "upper").rglob("*"))

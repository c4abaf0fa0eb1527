# SPDX-License-Identifier: MIT
"""Links to copies that no act changes: hard links outside of the sources hold the bytes of a copy,
and symbolic links would lead nowhere without it."""
import os

import pytest
from rank_names import name_of
from test_act import copies, everything

MIB = 1 << 20


# ---- hard links outside of the sources ----------------------------------------------------

@pytest.fixture
def held(source, aside):
    """Three copies; the second and the third have hard links elsewhere."""
    paths = copies(source, 3, size=MIB)
    for path in paths[1:]:
        os.link(path, aside / path.name)
    return paths


def allocated(*folders):
    inodes = {(status.st_dev, status.st_ino): status.st_blocks
              for folder in folders for status in map(os.stat, everything(folder))}
    return sum(inodes.values()) * 512


def reclaimable_in_status(twinfs, source):
    return twinfs.ok("list", "--summary", "--format=json", source).json["summary"][
        "reclaimable_bytes"]


def test_copy_with_a_hard_link_elsewhere_is_kept_and_all_figures_are_what_is_freed(
        twinfs, source, aside, held):
    [group] = twinfs.listing(source)["groups"]
    assert group["reclaimable"] == MIB
    assert [copy["path"] for copy in group["copies"] if copy["kept"]] == [str(held[1])]
    assert reclaimable_in_status(twinfs, source) == MIB
    dry = twinfs.ok("remove", "--dry-run", source)
    assert "1.0 MiB of 2.0 MiB reclaimable" in dry.out.decode()
    assert b"1.0 MiB freed" in dry.error
    before = allocated(source, aside)
    twinfs.ok("remove", "--yes", source)
    assert before - allocated(source, aside) == MIB


def test_rule_that_keeps_another_copy_has_figures_of_what_is_freed(twinfs, source, held):
    os.unlink(held[2])
    [group] = twinfs.ok("list", "--keep=oldest", "--format=json", source).json["groups"]
    assert group["reclaimable"] == 0
    assert [copy["path"] for copy in group["copies"] if copy["kept"]] == [str(held[0])]
    assert b"0 B freed" in twinfs.ok("remove", "--dry-run", "--keep=oldest", source).error


def test_excluded_hard_link_holds_the_bytes_of_a_copy(twinfs, source):
    kept, copy = copies(source, 2, size=MIB)
    os.link(copy, source / "excluded")
    [group] = twinfs.ok("list", "--keep=oldest", "--exclude=excluded", "--format=json",
                        source).json["groups"]
    assert group["reclaimable"] == 0
    assert twinfs.listing(source)["groups"][0]["reclaimable"] == MIB


def test_view_has_the_figures_of_copies_with_hard_links_elsewhere(twinfs, source, aside, held):
    with twinfs.mounted(source) as view:
        def shown():
            [folder] = view.dups.iterdir()
            found = {int(os.getxattr(folder, "user.twinfs.reclaimable")),
                     view.status()["reclaimable_bytes"],
                     view.metrics()[("twinfs_reclaimable_bytes", frozenset())]}
            [found.add(group["reclaimable"]) for group in twinfs.listing(view.path)["groups"]]
            return found, os.listdir(view.by_size)

        [kept] = [name.name.removeprefix("(kept) ") for name in next(view.dups.iterdir()).iterdir()
                  if name.name.startswith("(kept) ")]
        assert shown() == ({MIB}, [name_of("0001", kept, 3, "1.0 MiB")])
        os.unlink(aside / held[1].name)
        os.chmod(held[1], 0o600)  # reports the number of links
        view.sync()
        assert shown() == ({2 * MIB}, [name_of("0001", kept, 3, "2.0 MiB")])
        os.link(held[0], aside / "again")
        os.link(held[1], aside / "too")
        for path in held:
            os.chmod(path, 0o640)
        view.sync()
        assert shown()[0] == {0}
    twinfs.ok("check", source)


def test_name_that_a_scan_finds_later_holds_nothing_any_more(twinfs, source, aside, held):
    twinfs.ok("scan", source)
    for path in held[1:]:
        os.rename(aside / path.name, source / f"{path.name} again")
    assert reclaimable_in_status(twinfs, source) == 2 * MIB
    for path in held[1:]:
        os.rename(source / f"{path.name} again", aside / path.name)
    assert reclaimable_in_status(twinfs, source) == MIB


@pytest.mark.parametrize("words", [("link",), ("link", "--symbolic")], ids=["hard", "symbolic"])
@pytest.mark.parametrize("plan", [False, True], ids=["rules", "plan"])
def test_link_leaves_a_copy_with_a_hard_link_elsewhere_and_undo_makes_no_third_file(
        twinfs, source, aside, held, words, plan):
    listed = twinfs.ok("list", "--format=jsonl", source).out
    (aside.parent / "plan").write_bytes(listed)
    options = [f"--plan={aside.parent / 'plan'}"] if plan else []
    before = allocated(source, aside)
    result = twinfs.ok(*words, "--yes", *options, source)
    assert b"skipped 1 copy with hard links elsewhere" in result.error
    for path in held[1:]:
        assert path.samefile(aside / path.name) and not path.is_symlink()
    assert before - allocated(source, aside) == MIB
    twinfs.ok("undo", "--yes")
    assert allocated(source, aside) == before
    for path in held[1:]:
        assert path.samefile(aside / path.name)

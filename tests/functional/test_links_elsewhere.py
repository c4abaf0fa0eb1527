# SPDX-License-Identifier: MIT
"""Links to copies that no act changes: hard links outside of the sources hold the bytes of a copy,
and symbolic links would lead nowhere without it."""
import os

import pytest
from disks import bound
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


# ---- symbolic links to copies -------------------------------------------------------------

def newest_first(source, count=2):
    """Copies of which the last one is kept by default."""
    paths = copies(source, count)
    for age, path in enumerate(reversed(paths)):
        os.utime(path, (age, age))
    return paths


def to_copy(source, copy):
    (source / "link").symlink_to(copy.name)


def to_copy_by_absolute_path(source, copy):
    (source / "link").symlink_to(copy)


def through_a_chain(source, copy):
    (source / "link").symlink_to("second")
    (source / "second").symlink_to("third")
    (source / "third").symlink_to(copy)


def through_a_folder(source, copy):
    (source / "deep/er").mkdir(parents=True)
    (source / "folder").symlink_to("deep/er")
    (source / "deep/er/up").symlink_to("../..")
    (source / "link").symlink_to(f"folder/up/{copy.name}")


def through_a_folder_outside(source, copy):
    (source.parent / "outside").symlink_to(source)
    (source / "link").symlink_to(source.parent / "outside" / copy.name)


def through_a_symlink_outside(source, copy):
    # as the links of /etc/alternatives
    (source.parent / "alternative").symlink_to(copy)
    (source / "link").symlink_to(source.parent / "alternative")


def to_another_name(source, copy):
    (source / "z").mkdir()
    os.link(copy, source / "z/name")
    (source / "link").symlink_to("z/name")


WAYS = [to_copy, to_copy_by_absolute_path, through_a_chain, through_a_folder,
        through_a_folder_outside, through_a_symlink_outside, to_another_name]


def resolved(source):
    return {link: link.read_bytes() for link in source.rglob("*") if link.is_symlink() and
            link.is_file()}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_copy_that_a_symlink_leads_to_is_kept_or_left(twinfs, source, way):
    copy, *_ = newest_first(source, 3)
    way(source, copy)
    before = resolved(source)
    assert source / "link" in before
    [group] = twinfs.listing(source)["groups"]
    kept = [name for name in group["copies"] if name["kept"]]
    assert str(copy) in [name["path"] for name in kept]
    links = [link["path"] for name in kept for link in name.get("symlinks", [])]
    assert sorted(links) == sorted(map(str, before))
    left = twinfs.ok("remove", "--yes", "--keep=oldest", source)
    assert b"skipped 1 copy that symbolic links lead to" in left.error
    assert f"symbolic link: '{source / 'link'}'" in left.error.decode()
    assert resolved(source) == before
    broken = twinfs.ok("remove", "--yes", "--keep=oldest", "--break-symlinks", source)
    assert f"{len(before)} symbolic link" in broken.error.decode()
    assert f"symbolic link: '{source / 'link'}'" in broken.error.decode()
    assert not resolved(source)


def test_symlink_in_a_bind_mount_of_the_source_leads_to_the_copy(twinfs, source, aside):
    copy, _ = newest_first(source)
    with bound(source, aside):
        (source / "link").symlink_to(aside / copy.name)
        twinfs.ok("remove", "--yes", source)
        assert (source / "link").read_bytes() == copy.read_bytes()


def test_symlinks_of_link_symbolic_survive_each_other_act(twinfs, tmp_path):
    first, second, moved = (tmp_path / name for name in ("first", "second", "moved"))
    for folder in first, second, moved:
        folder.mkdir()
    copies(second)
    twinfs.ok("link", "--symbolic", "--yes", first, second)
    before = resolved(second)
    assert len(before) == 2
    (first / "older").write_bytes(next(iter(before.values())))
    os.utime(first / "older", (1, 1))
    for act in (("move", f"--only={second}"), ("remove", "--trash", f"--only={second}"),
                ("move",)):
        twinfs.ok(*act, "--yes", first, second, *([moved] if "move" in act else []))
        assert resolved(second) == before
    assert not (first / "older").exists()


def test_plan_leaves_copies_that_symlinks_lead_to(twinfs, source, tmp_path):
    first, second, copy = copies(source)
    plan = tmp_path / "plan"
    plan.write_bytes(twinfs.ok("remove", "--dry-run", "--format=jsonl", source).out)
    (source / "link").symlink_to(copy)
    result = twinfs.ok("remove", "--yes", f"--plan={plan}", source)
    assert b"skipped 1 copy that symbolic links lead to" in result.error
    assert first.exists() and copy.exists() and not second.exists()
    plan.write_bytes(plan.read_bytes().replace(str(second).encode(), str(copy).encode()))
    twinfs.ok("remove", "--yes", f"--plan={plan}", "--break-symlinks", source)
    assert not copy.exists()


def test_link_and_dedupe_break_no_symlink_and_leave_no_copy(twinfs, source):
    kept, *others = copies(source)
    for number, path in enumerate(others):
        (source / f"link {number}").symlink_to(path)
    result = twinfs.ok("link", "--yes", "--keep=oldest", source)
    assert b"symbolic" not in result.error
    assert all(kept.samefile(path) for path in source.iterdir())


@pytest.mark.parametrize("target", ["", "/sub", "/sub/file"])
def test_folder_that_a_symlink_leads_into_is_kept_or_left(twinfs, source, target):
    for name in "ab":
        (source / name / "sub").mkdir(parents=True)
        (source / name / "sub/file").write_bytes(b"x" * 5000)
        (source / name / "inner").symlink_to("sub/file")
        os.utime(source / name / "sub/file", (ord(name), ord(name)))
    (source / "link").symlink_to(f"b{target}")
    [group] = twinfs.ok("list", "--folders", "--format=json", source).json["groups"]
    [kept] = [folder for folder in group["folders"] if folder["kept"]]
    assert kept["path"] == str(source / "b")
    assert [link["path"] for link in kept["symlinks"]] == [str(source / "link")]
    left = twinfs.ok("remove", "--folders", "--yes", "--keep=oldest", source)
    assert b"skipped 1" in left.error and (source / "link").exists()
    twinfs.ok("remove", "--folders", "--yes", source)
    assert (source / "link").exists() and not (source / "a").exists()

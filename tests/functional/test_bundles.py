# SPDX-License-Identifier: MIT
"""Bundles, which are folders that must stay whole: no act changes a copy in one without
--include-bundles, and the plan names them."""
import os
import subprocess

import pytest
import trees

# a file in a bundle, the bundle, and other files that mark it
BUNDLES = [
    ("p/.git/objects/ab/1", "p/.git", []), ("p/.svn/pristine/1", "p/.svn", []),
    ("p/.hg/store/1", "p/.hg", []), ("p/.bzr/1", "p/.bzr", []), ("p/CVS/Entries", "p/CVS", []),
    ("Mail.app/Contents/1", "Mail.app", []),
    ("x/My.PhotosLibrary/originals/1", "x/My.PhotosLibrary", []),
    ("l/Lightroom.lrlibrary/1", "l/Lightroom.lrlibrary", []),
    ("w/repo.git/objects/1", "w/repo.git", []),
    ("env/lib/python3/site/1", "env", ["env/pyvenv.cfg"]),
    ("conda/lib/1", "conda", ["conda/conda-meta/history"]),
    ("Mail/cur/1:2,S", "Mail", ["Mail/new/x", "Mail/tmp/y"]),
    ("Mail/.Sent/cur/1:2,S", "Mail", ["Mail/new/x", "Mail/tmp/y", "Mail/cur/z"]),
    ("bare/objects/1", "bare", ["bare/HEAD", "bare/refs/x"]),
    ("a.app/p/.git/1", "a.app", []),
]
# folders that look like bundles and are none
PLAIN = [("p/git/1", []), ("p/.gitignored/1", []), (".app/1", []), ("x.apps/1", []),
         ("env/lib/1", ["env/lib/pyvenv.cfg.txt"]), ("Mail/cur/1", ["Mail/new/x"]),
         ("p/.github/1", []), ("bare/objects/1", ["bare/HEAD"])]


def put(source, path, content):
    (source / path).parent.mkdir(parents=True, exist_ok=True)
    (source / path).write_bytes(content)


def two_outside(source, inside, markers):
    """Three equal files, two of them outside the bundle, and marks that all differ."""
    for number, marker in enumerate(markers):
        put(source, marker, b"marker %d" % number)
    for path in (inside, "zz plain", "zzz plain"):
        put(source, path, b"same content")


def planned(twinfs, *words):
    paths = map(os.fsdecode, twinfs.ok(*words, "--format=null").out.split(b"\0")[:-1])
    if "--dry-run" in words:  # the kept copies have a plus
        return {path[1:] for path in paths if path.startswith("-")}
    return set(paths)


@pytest.mark.parametrize(("inside", "bundle", "markers"), BUNDLES, ids=lambda value: str(value))
def test_copy_in_a_bundle_is_left_alone_and_the_bundle_is_named(twinfs, source, inside, bundle,
                                                                markers):
    two_outside(source, inside, markers)
    gone = {str(source / "zzz plain")}
    for words in (["list", "--redundant"], ["remove", "--dry-run"]):
        assert planned(twinfs, *words, source) == gone
    result = twinfs.ok("remove", "--yes", source)
    lines = [line for line in result.errors if "skipped" in line]
    assert len(lines) == 1
    assert f"1 copy in '{source / bundle}'" in lines[0]
    assert (source / inside).exists()
    assert (source / "zz plain").exists()
    assert not (source / "zzz plain").exists()
    twinfs.ok("remove", "--yes", source)  # the kept copy and the one in the bundle stay
    assert (source / "zz plain").exists()
    assert planned(twinfs, "list", "--redundant", "--include-bundles", source) != set()
    twinfs.ok("remove", "--yes", "--include-bundles", source)
    assert (source / inside).exists() != (source / "zz plain").exists()


@pytest.mark.parametrize(("inside", "markers"), PLAIN)
def test_folder_that_looks_like_a_bundle_is_none(twinfs, source, inside, markers):
    two_outside(source, inside, markers)
    assert len(planned(twinfs, "list", "--redundant", source)) == 2


@pytest.mark.parametrize("command", ["remove", "move", "link", "link -s", "dedupe"])
def test_act_leaves_copies_in_a_bundle_alone(twinfs, source, tmp_path, command):
    aside = tmp_path / "aside"
    aside.mkdir()
    two_outside(source, ".git/objects/1", [])
    two_outside(source, ".git/objects/2", [])
    before = {name: (source / ".git/objects" / name).lstat() for name in "12"}
    name, *words = command.split()
    folders = [source, aside] if name == "move" else [source]
    result = twinfs(name, *words, "--yes", "--only", source / ".git", *folders)
    assert result.status == 0, result
    assert "nothing to" in result.error.decode()
    assert f"2 copies in '{source / '.git'}'" in result.error.decode()
    for name_in, status in before.items():
        assert (source / ".git/objects" / name_in).lstat() == status
    assert os.listdir(aside) == []


def test_explain_names_copies_that_stay_in_a_bundle(twinfs, source):
    two_outside(source, ".svn/pristine/1", [])
    os.utime(source / "zz plain", ns=(0, 0))
    [group] = twinfs.ok("list", "--explain", "--format=json", source).json["groups"]
    found = {copy["path"]: (copy["fate"], copy["why"]) for copy in group["copies"]}
    assert found[str(source / ".svn/pristine/1")] == ("spared", "in a bundle, which stays whole")
    assert found[str(source / "zz plain")] == ("kept", "oldest")
    assert found[str(source / "zzz plain")][0] == "redundant"


def test_copy_in_a_bundle_is_the_kept_one_only_by_option(twinfs, source):
    put(source, "a.photoslibrary/1", b"same content")
    put(source, "download", b"same content")
    assert planned(twinfs, "list", "--redundant", source) == set()
    for option in ("--keep=path:*.photoslibrary", f"--protect={source / 'a.photoslibrary'}"):
        assert planned(twinfs, "list", "--redundant", option, source) == {
            str(source / "download")}
    put(source, "a.photoslibrary/2", b"same content")
    (source / "download").unlink()
    assert planned(twinfs, "list", "--redundant", source) == set()


def test_hard_link_into_a_bundle_stays_with_the_bundle(twinfs, source):
    put(source, "a", b"same content")
    put(source, "z", b"same content")
    (source / ".git").mkdir()
    os.link(source / "z", source / ".git/z")
    result = twinfs.ok("remove", "--yes", source)
    assert "1 copy in" in result.error.decode()
    assert (source / "z").exists()


def test_source_inside_a_bundle_is_protected(twinfs, tmp_path):
    source = tmp_path / "x.app/Contents"
    source.mkdir(parents=True)
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    assert planned(twinfs, "list", "--redundant", source) == set()
    assert planned(twinfs, "list", "--redundant", "--include-bundles", source) == {
        str(source / "b")}


# a file in a bundle, the bundle, its marks, options that exclude the marks from the index
@pytest.mark.parametrize(("inside", "bundle", "markers", "options"), [
    ("Mail/cur/1", "Mail", ["Mail/new/x", "Mail/tmp/y"], ["--exclude=tmp", "--exclude=new"]),
    ("env/lib/1", "env", ["env/pyvenv.cfg"], ["--exclude=*.cfg"]),
    ("conda/lib/1", "conda", ["conda/conda-meta/x"], ["--exclude=conda-meta"]),
    ("bare/objects/1", "bare", ["bare/HEAD", "bare/refs/x"], ["--exclude=HEAD", "--exclude=refs"]),
    ("env/lib/1", "env", ["env/pyvenv.cfg"], ["--min-size=12"]),
], ids=lambda value: str(value))
def test_bundle_is_recognized_if_its_marks_are_excluded(twinfs, source, inside, bundle, markers,
                                                        options):
    two_outside(source, inside, markers)
    gone = {str(source / "zzz plain")}
    for words in (["list", "--redundant"], ["remove", "--dry-run"]):
        assert planned(twinfs, *words, *options, source) == gone
    keep = ["--keep=path:zzz*", f"--only={source / bundle}"]
    result = twinfs.ok("remove", "--yes", *keep, *options, source)
    assert f"1 copy in '{source / bundle}'" in result.error.decode()
    assert (source / inside).exists()
    assert planned(twinfs, "list", "--redundant", *keep, "--include-bundles", *options,
                   source) == {str(source / inside)}


def test_bundle_is_recognized_if_its_marks_are_on_another_disk(twinfs, source, root_only):
    two_outside(source, "Mail/cur/1", ["Mail/new/x"])
    (source / "Mail/tmp").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", source / "Mail/tmp"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        for options in ([], ["--exclude=tmp"]):
            assert planned(twinfs, "list", "--redundant", *options, source) == {
                str(source / "zzz plain")}
    finally:
        subprocess.run(["umount", source / "Mail/tmp"], check=True)


def test_bundle_is_recognized_in_a_view_with_excludes(twinfs, source, tmp_path):
    two_outside(source, "Mail/cur/1", ["Mail/new/x", "Mail/tmp/y"])
    with twinfs.mounted(source, options=["--wait", "--exclude=tmp"]) as view:
        assert planned(twinfs, "list", "--redundant", view.path) == {str(source / "zzz plain")}


# a source in a bundle, and the marks of the bundle
@pytest.mark.parametrize(("inside", "markers"), [
    ("Mail/cur", ["Mail/new/x", "Mail/tmp/y"]), ("env/lib", ["env/pyvenv.cfg"]),
    ("conda/lib/python", ["conda/conda-meta/x"]), ("bare/objects", ["bare/HEAD", "bare/refs/x"]),
    ("bare", ["bare/HEAD", "bare/refs/x", "bare/objects/y"]),
])
def test_source_in_a_bundle_with_marks_beside_it_is_protected(twinfs, tmp_path, inside, markers):
    aside = tmp_path / "aside"
    aside.mkdir()
    for path in (f"{inside}/1", f"{inside}/2", "aside/1"):
        put(tmp_path, path, b"same content")
    for number, marker in enumerate(markers):
        put(tmp_path, marker, b"marker %d" % number)
    inner = tmp_path / inside
    result = twinfs.ok("remove", "--yes", aside, inner)
    assert f"2 copies in '{inner}'" in result.error.decode()
    assert {"1", "2"} <= set(os.listdir(inner))
    assert planned(twinfs, "list", "--redundant", "--include-bundles", aside, inner) == {
        str(inner / "1"), str(inner / "2")}


def test_64_bundles_are_named_and_the_rest_is_counted(twinfs, source):
    for number in range(70):
        for name in ("1", "2"):
            put(source, f"{number:03}/.git/{name}", b"same content")
    put(source, "plain", b"same content")
    result = twinfs.ok("remove", "--yes", source)
    lines = [line for line in result.errors if "skipped" in line]
    assert len(lines) == 65
    assert all("2 copies in" in line for line in lines[:64])
    assert "12 more copies" in lines[64]

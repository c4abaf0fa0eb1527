# SPDX-License-Identifier: MIT
"""File systems that promise little: a ctime that is a copy of the mtime, a listing that is not the
folder."""
import errno
import json
import os

import pytest
import trees
from disks import EncryptedFolder, disk
from processes import until
from program import path_of
from test_gate import in_dups

UNKNOWN = 0x7A7A7A7A  # no file system has this type
DATA = trees.content("ctime", 50_000)
LONG_AGO = 1_500_000_000


@pytest.fixture
def no_ctime(twinfs, take_filesystem_for):
    """Makes the ctime of each file its mtime, on a file system of an unknown type."""
    take_filesystem_for(UNKNOWN)
    twinfs.environment["OTHER_CTIME"] = "0"


def set_time(path, seconds=LONG_AGO):
    os.utime(path, (seconds, seconds))


def fill_old(source, names):
    trees.fill(source, dict(names))
    for name in names:
        set_time(source / os.fsdecode(name))


def rewrite(path):
    """Changes some bytes, and sets the mtime back."""
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(os.urandom(8))
    set_time(path)


def hashes(program, source):
    """{name: hash} of a manifest of all names."""
    lines = program.ok("manifest", "--all", source).out.splitlines()
    names = [json.loads(line) for line in lines[1:-1]]
    return {os.fsdecode(path_of(name)): name["hash"] for name in names}


def test_write_with_the_mtime_set_back_is_found_where_ctime_is_a_copy(
        twinfs, source, no_ctime, tmp_path):
    fill_old(source, {b"vault": DATA, b"copy": DATA, b"third": DATA, b"lone": b"lone" * 99})
    before = hashes(twinfs, source)
    assert before["vault"] == before["copy"]
    rewrite(source / "copy")
    rewrite(source / "lone")
    now = hashes(twinfs, source)
    assert now["vault"] == now["third"] == before["vault"]
    assert now == hashes(twinfs.with_index(tmp_path / "new index"), source)
    assert now["copy"] != before["copy"] and now["lone"] != before["lone"]


def test_hashes_of_an_earlier_manifest_are_not_used_where_ctime_is_a_copy(
        twinfs, source, no_ctime, tmp_path):
    fill_old(source, {b"lone": b"lone" * 99})
    twinfs.ok("manifest", "--all", "--output", tmp_path / "manifest", source)
    rewrite(source / "lone")
    twinfs.ok("manifest", "--all", "--output", tmp_path / "manifest", source)
    lines = (tmp_path / "manifest").read_text(encoding="utf-8").splitlines()
    name, = [json.loads(line) for line in lines[1:-1]]
    assert name["hash"] == hashes(twinfs.with_index(tmp_path / "new index"), source)["lone"]


@pytest.mark.parametrize("watch", ["auto", "poll"])
def test_view_serves_no_other_bytes_where_ctime_is_a_copy(twinfs, source, no_ctime, watch):
    fill_old(source, {b"vault": DATA, b"copy": DATA, b"third": DATA})
    with twinfs.mounted(source, options=(f"--watch={watch}", "--interval=1h")) as view:
        view.sync()
        shown = in_dups(view, "copy")
        rewrite(source / "copy")
        with pytest.raises(OSError):
            shown.read_bytes()
        view.sync()
        assert until(lambda: not in_dups(view, "copy").exists())
        assert view.differences_now(source) == []


def test_file_replaced_from_outside_is_compared_where_ctime_is_a_copy(
        twinfs, source, no_ctime, aside):
    fill_old(source, {b"vault": DATA, b"copy": DATA, b"third": DATA})
    with twinfs.mounted(source) as view:
        view.sync()
        os.rename(source / "copy", aside / "copy")
        rewrite(aside / "copy")
        os.rename(aside / "copy", source / "copy")
        assert view.differences_now(source) == []
        assert not in_dups(view, "copy").exists()


@pytest.mark.parametrize("seconds, compared", [(0, 2), (60, 0)])
def test_contents_are_read_in_each_scan_until_a_ctime_is_not_the_mtime(
        twinfs, source, no_ctime, seconds, compared):
    twinfs.environment["OTHER_CTIME"] = str(seconds)
    fill_old(source, {b"vault": DATA, b"copy": DATA})
    twinfs.ok("scan", source)
    assert f"\ncompared    {compared} files now" in twinfs.ok("scan", source).out.decode()


@pytest.mark.parametrize("seconds, word", [(0, "unknown, so not relied upon: ctime"),
                                           (60, "observed: ctime")])
def test_doctor_names_what_the_file_system_promises(twinfs, source, no_ctime, seconds, word):
    twinfs.environment["OTHER_CTIME"] = str(seconds)
    fill_old(source, {b"vault": DATA})
    checks = twinfs("doctor", "--format=json", source).json["checks"]
    found = {check["check"]: check for check in checks if check["about"] == "source"}
    assert word in found["promises"]["found"]
    assert ("ctime" in found) == (seconds == 0)


@pytest.mark.parametrize("seconds", [0, 60])
def test_status_says_what_it_costs_that_ctime_is_a_copy(twinfs, source, no_ctime, seconds):
    twinfs.environment["OTHER_CTIME"] = str(seconds)
    fill_old(source, {b"vault": DATA})
    with twinfs.mounted(source) as view:
        [found] = view.status()["sources"]
        said = twinfs.ok("status", view.path).out
    assert found.get("no_ctime", False) == (seconds == 0)
    assert (b"can leave no trace" in said) == (seconds == 0)


# ---- folders without their key ------------------------------------------------------------------

@pytest.fixture
def private(root_only, tmp_path):
    """An encrypted folder in a source, with a file, a copy of a file outside, and a folder."""
    with disk("ext4 with encryption", tmp_path, size=16 << 20) as root:
        (root / "src").mkdir()
        folder = EncryptedFolder(root, root / "src/priv")
        trees.fill(root / "src", {b"priv/precious": b"lone" * 999, b"priv/in/a": DATA, b"b": DATA})
        yield folder


def test_folder_without_its_key_fails_as_an_unreadable_one(twinfs, private, tmp_path):
    source, manifest = private.path.parent, tmp_path / "manifest"
    twinfs.ok("manifest", "--all", "--output", manifest, source)
    before = manifest.read_bytes()
    private.lock()
    assert len(os.listdir(private.path)) == 2 and not (private.path / "precious").exists()
    result = twinfs("scan", source)
    assert result.status == 3 and b"Required key not available" in result.error
    assert twinfs.groups(source, status=3) == set()
    assert twinfs("manifest", "--all", "--output", manifest, source).status == 3
    assert manifest.read_bytes() == before
    private.unlock()
    assert len(twinfs.groups(source)) == 1


def test_view_of_a_folder_without_its_key_fails_until_it_has_the_key(twinfs, private):
    source = private.path.parent
    twinfs.ok("scan", source)
    private.lock()
    with twinfs.mounted(source, status=3) as view:
        with pytest.raises(OSError) as caught:
            os.listdir(view.uniques / "priv")
        assert caught.value.errno == errno.ENOKEY
        private.unlock()
        private.path.chmod(0o700)  # an event; without one, the folder is tried again later
        assert view.differences_now(source) == []

# SPDX-License-Identifier: MIT
"""What an operations team watches: states and exit statuses of views that cannot follow their
sources, metrics of several views, and the disk that df shows."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import prometheus
import pytest
import trees
from disks import MAKE, disk
from processes import TIMEOUT, end_process, has_open, stopped, until
from program import is_mounted
from test_index_disk import grows_until_stale, shut_down

DISK_BYTES = 32 << 20
PROBLEM, FULL = "twinfs_problem", "index-full"
ODD = b"a \"quoted\" \\ name\nof \xff bytes \xc3\xa9"


@pytest.fixture
def root(tmp_path):
    """The root of a small disk."""
    with disk("ext4", tmp_path, DISK_BYTES) as mounted:
        shutil.rmtree(mounted / "lost+found")
        yield mounted


def with_label(metrics, name, label):
    """The value of each sample by its label."""
    return {dict(labels)[label]: value for (sample, labels), value in metrics.items()
            if sample == name}


def reports(twinfs, view, state, reason):
    """Checks that every report on a view has this problem."""
    assert view.status()["state"] == state
    metrics = view.metrics()
    states, problems = (with_label(metrics, name, label) for name, label in
                        (("twinfs_state", "state"), (PROBLEM, "reason")))
    assert [name for name, value in states.items() if value] == [state]
    assert [name for name, value in problems.items() if value] == [reason]
    for words in ((), ("--json",)):
        for operands in ((view.path,), ()):
            result = twinfs("status", *words, *operands)
            assert result.status == 3, result
            assert any(os.fsencode(view.path).decode() in line for line in result.errors), result
    text = twinfs("status", view.path).out.decode()
    assert re.search(rf"^state +{state.replace('-', ' ')}: .*\nto do ", text, re.MULTILINE), text
    return True


def has_no_problem(twinfs, view):
    return (twinfs("status", view.path).status == 0
            and not any(with_label(view.metrics(), PROBLEM, "reason").values()))


# problems

def test_full_disk_of_the_index_is_a_stuck_view(twinfs, source, tmp_path, root_only):
    trees.small(source)
    small = tmp_path / "disk"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=True)
    try:
        with twinfs.with_index(small / "index").mounted(source) as view:
            assert has_no_problem(twinfs, view)
            filling = os.open(small / "fill", os.O_WRONLY | os.O_CREAT)
            while (free := os.statvfs(small).f_bavail) > 0:
                os.pwrite(filling, bytes(free * os.statvfs(small).f_frsize),
                          os.fstat(filling).st_size)
            os.close(filling)
            assert until(lambda: grows_until_stale(view, source))
            assert reports(twinfs, view, "stuck", FULL)
            assert view.status()["problem"] == "No space left on device"
            assert view.metrics()["twinfs_event_lag_seconds", frozenset()] > 0
            (small / "fill").unlink()
            assert until(lambda: has_no_problem(twinfs, view))
            view.sync()
            assert until(lambda: view.metrics()["twinfs_event_lag_seconds", frozenset()] == 0)
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def moved_away(root):
    os.rename(root / "source", root / "away")


def unmounted(root):
    subprocess.run(["umount", "-l", root], check=True)


def replaced(root):
    subprocess.run(["umount", "-l", root], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", root], check=True)
    trees.fill(root / "source", {b"stranger": b"stranger"})


@pytest.fixture
def remounted(root):
    """The disk again, for the end of the test."""
    yield
    if os.path.ismount(root):
        subprocess.run(["umount", root], check=True)
    subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)


@pytest.mark.usefixtures("remounted")
@pytest.mark.parametrize("lose", [moved_away, unmounted, replaced])
def test_source_that_is_gone_is_reported_as_missing(twinfs, root, lose):
    trees.fill(root / "source", {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(root / "source") as view:
        assert has_no_problem(twinfs, view)
        lose(root)
        assert until(lambda: view.status()["state"] == "source-missing")
        assert reports(twinfs, view, "source-missing", "source-missing")
        assert with_label(view.metrics(), "twinfs_source_missing", "source") == {
            str(root / "source"): 1}
        assert os.statvfs(view.path).f_blocks == 0
        assert len(os.listdir(view.dups)) == 1


def is_in_use(image):
    """Whether a loop device has the image. A device that mount(8) made ends with its last user."""
    return subprocess.run(["losetup", "--associated", image], check=True,
                          capture_output=True).stdout != b""


@pytest.mark.parametrize("watch", ["inotify", "fanotify"])
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_view_lets_go_of_a_disk_that_is_unmounted_by_force(twinfs, tmp_path, kind, watch):
    """The name of the source, and all that is known of it, stays until the disk is back."""
    with disk(kind, tmp_path) as root:
        image = root.with_suffix(".image")
        trees.fill(root / "source", {b"a": b"same", b"b": b"same"})
        with twinfs.mounted(root / "source", options=["--wait", f"--watch={watch}"]) as view:
            assert subprocess.run(["umount", root], check=False,
                                  capture_output=True).returncode == 32
            for _ in range(2):
                unmounted(root)
                assert until(lambda: not is_in_use(image))
                assert reports(twinfs, view, "source-missing", "source-missing")
                assert len(os.listdir(view.dups)) == 1
                subprocess.run(["mount", "-o", "loop", image, root], check=True)
                assert view.differences_now(root / "source") == []
                assert has_no_problem(twinfs, view)
                trees.write(root / "source/c", b"same")
                assert view.differences_now(root / "source") == []
                (root / "source/c").unlink()


def file_names(folder):
    return {os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names}


def device_of(root):
    return subprocess.run(["findmnt", "--noheadings", "--output=SOURCE", root], check=True,
                          capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def detached_while_read(view, root):
    """Unmounts the disk of a source. In the block, a program has a file open that it read after the
    view let go of the disk: the daemon then sees the old device once more."""
    reader = os.open(view.uniques / "large", os.O_RDONLY)
    unmounted(root)
    assert until(lambda: not has_open(view.pid, "/source"))
    assert os.pread(reader, 1, LARGE - 1) == b"x"
    try:
        yield
    finally:
        os.close(reader)
    assert until(lambda: not is_in_use(root.with_suffix(".image")))


LARGE = 1 << 20


@pytest.mark.usefixtures("remounted")
def test_other_disk_with_the_old_device_number_is_not_taken_for_the_source(twinfs, root, tmp_path):
    source = root / "source"
    trees.fill(source, {b"a": b"same", b"b": b"same", b"large": b"x" * LARGE})
    (tmp_path / "other").mkdir()
    with disk("ext4", tmp_path / "other", DISK_BYTES) as other:
        trees.fill(other / "source", {b"stranger": b"stranger"})
        subprocess.run(["umount", other], check=True)
        with twinfs.mounted(source) as view:
            names, number, device = file_names(view.uniques), os.stat(root).st_dev, device_of(root)
            with detached_while_read(view, root):
                pass
            subprocess.run(["losetup", device, other.with_suffix(".image")], check=True)
            subprocess.run(["mount", device, root], check=True)
            subprocess.run(["losetup", "--detach", device], check=True)  # at the unmount
            assert os.stat(root).st_dev == number
            view.sync()
            assert reports(twinfs, view, "source-missing", "source-missing")
            assert file_names(view.uniques) == names
            subprocess.run(["umount", root], check=True)
            subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)
            assert view.differences_now(source) == []
        subprocess.run(["mount", "-o", "loop", other.with_suffix(".image"), other], check=True)


def test_disk_with_a_new_device_number_is_followed_though_the_old_one_is_in_use(twinfs, root,
                                                                                tmp_path):
    """As if a stick was removed while a program read from it, and plugged in again."""
    source, copy = root / "source", tmp_path / "copy"
    trees.fill(source, {b"a": b"same", b"b": b"same", b"large": b"x" * LARGE})
    with twinfs.mounted(source) as view:
        number = os.stat(root).st_dev
        subprocess.run(["sync", "--file-system", root], check=True)
        with detached_while_read(view, root):
            shutil.copy(root.with_suffix(".image"), copy)
            subprocess.run(["mount", "-o", "loop", copy, root], check=True)
            assert os.stat(root).st_dev != number
        assert view.differences_now(source) == []


@pytest.mark.usefixtures("remounted")
def test_names_on_a_disk_in_a_disk_stay_if_both_are_unmounted_by_force(twinfs, root, tmp_path):
    """The folder below the inner disk is empty, and can be reached by the root that is open."""
    image, inner = tmp_path / "inner.image", root / "source/folder/inner"
    inner.mkdir(parents=True)
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run([*MAKE["ext4"], image], check=True)
    subprocess.run(["mount", "-o", "loop", image, inner], check=True)
    trees.fill(inner, {b"a": b"same", b"folder/b": b"only here"})
    with twinfs.mounted(root / "source", options=["--wait", "--cross-file-systems"]) as view:
        names = file_names(view.uniques)
        unmounted(root)
        assert until(lambda: view.status()["state"] == "source-missing")
        view.sync()
        assert file_names(view.uniques) == names
        with stopped(view.pid):
            subprocess.run(["mount", "-o", "loop", root.with_suffix(".image"), root], check=True)
            subprocess.run(["mount", "-o", "loop", image, inner], check=True)
        view.sync()
        assert has_no_problem(twinfs, view)
        assert file_names(view.uniques) == names
    subprocess.run(["umount", inner], check=True)


def test_view_follows_a_disk_that_was_mounted_anew_at_once(twinfs, root):
    """The view does not keep using the mount that is gone."""
    source = root / "source"
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    device = device_of(root)
    with twinfs.mounted(source) as view:
        with stopped(view.pid):
            unmounted(root)
            subprocess.run(["mount", device, root], check=True)
            assert not has_open(view.pid, source)  # a path on a mount that is gone begins there
        assert view.differences_now(source) == []
        assert has_open(view.pid, source)
        trees.write(source / "c", b"same")
        assert view.differences_now(source) == []


def test_source_whose_disk_fails_is_reported_as_missing(twinfs, tmp_path):
    """ext4 lists a folder from its cache, and only opening a file fails."""
    with disk("xfs", tmp_path) as root:
        trees.fill(root / "source", {b"a": b"same", b"b": b"same"})
        with twinfs.mounted(root / "source") as view:
            shut_down(root)
            assert until(lambda: view.status()["state"] == "source-missing")
            assert reports(twinfs, view, "source-missing", "source-missing")
            assert len(os.listdir(view.dups)) == 1


def test_source_that_is_back_is_no_problem(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view:
        source.rename(source.parent / "away")
        view.sync()
        assert reports(twinfs, view, "source-missing", "source-missing")
        (source.parent / "away").rename(source)
        view.sync()
        assert has_no_problem(twinfs, view)


@contextlib.contextmanager
def served(source, folder):
    """The source through a FUSE file system; yields the process of its server."""
    if not shutil.which("bindfs"):
        pytest.skip("needs bindfs")
    folder.mkdir()
    with subprocess.Popen(["bindfs", "-f", "--no-allow-other", source, folder]) as server:
        try:
            assert until(lambda: os.path.ismount(folder))
            yield server
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
            server.wait(TIMEOUT)


def test_source_whose_server_hangs_is_reported_as_silent(twinfs, source, tmp_path, root_only):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    folder = tmp_path / "served"
    with served(source, folder) as server, twinfs.mounted(folder) as view:
        assert has_no_problem(twinfs, view)
        with stopped(server.pid):
            assert until(lambda: view.status()["state"] == "source-silent")
            assert reports(twinfs, view, "source-silent", "source-silent")
            assert with_label(view.metrics(), "twinfs_source_silent", "source") == {str(folder): 1}
            [shown] = view.status()["sources"]
            assert view.status()["since"] <= shown["silent_since"]
            assert f"{folder}' does not answer, since {shown['silent_since']}" in (
                twinfs("status", view.path).out.decode())
            assert len(os.listdir(view.dups)) == 1
        assert until(lambda: has_no_problem(twinfs, view))
        assert "silent_since" not in view.status()["sources"][0]
        assert view.differences_now(folder) == []


def test_view_without_an_answer_is_printed_among_the_others(twinfs, source, tmp_path):
    """With a stopped daemon, and with a killed one."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    other = twinfs.with_index(tmp_path / "other index")
    with twinfs.mounted(source) as silent, other.mounted(source, at=tmp_path / "other") as view:
        def status(*words):
            return twinfs("status", "--json", *words)

        def states(result):
            assert result.status == 3, result
            return {found["mountpoint"]: found["state"] for found in result.json}

        def check(state, word):
            found = states(status())
            assert (found[str(silent.path)], found[str(view.path)]) == (state, "current")
            result = status(silent.path)
            assert states(result) == {str(silent.path): state}
            assert len(result.errors) == 1 and word in result.errors[0], result
            text = twinfs("status", silent.path)
            assert text.status == 3 and b"\nstate       %s: " % state.encode() in text.out
            assert status(view.path).status == 0

        with stopped(silent.pid):
            check("stuck", "does not answer")
        end_process(silent.pid, signal.SIGKILL)
        silent.pid = None
        check("killed", "was killed")
        subprocess.run(["fusermount3", "-u", "-z", silent.path], check=True)


# metrics

def exposition(views):
    """The metrics of several views as one page: the samples of a metric are together."""
    heads, samples = {}, {}
    for view in views:
        name = None
        for line in view.read("metrics").decode().splitlines():
            if line.startswith("#"):
                name = line.split()[2]
                heads.setdefault(name, []).append(line)
            else:
                samples.setdefault(name, []).append(line)
    return "".join(f"{line}\n" for name, lines in samples.items()
                   for line in (*sorted(set(heads[name])), *lines))


@pytest.fixture
def two_views(twinfs, source, tmp_path):
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    other = twinfs.with_index(tmp_path / "other index")
    at = trees.join(tmp_path, ODD)
    os.mkdir(at)
    with twinfs.mounted(source) as one, other.mounted(source, at=type(source)(
            os.fsdecode(at))) as two:
        yield one, two


def test_metrics_of_two_views_do_not_collide(two_views):
    both = exposition(two_views)
    views = [{labels for _, labels in prometheus.parse(view.read("metrics").decode())}
             for view in two_views]
    samples = prometheus.parse(both)  # refuses a sample that is there twice
    assert all("view" in dict(labels) for _, labels in samples)
    assert set().union(*views) == {labels for _, labels in samples}
    assert not views[0] & views[1]
    assert {name for name, labels in samples if dict(labels)["view"] == str(two_views[0].path)} == {
        name for name, _ in samples}


def test_parser_of_prometheus_reads_the_metrics_of_two_views(two_views):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus_client")
    families = list(parser.text_string_to_metric_families(exposition(two_views)))
    points = {sample.labels["view"] for family in families for sample in family.samples}
    odd = os.fsencode(two_views[1].path).decode(errors="replace")
    assert points == {str(two_views[0].path), odd}
    info = [sample for family in families for sample in family.samples
            if sample.name == "twinfs_build_info"]
    assert [sample.value for sample in info] == [1, 1]
    assert {sample.labels["version"] for sample in info} == {
        two_views[0].status()["version"]}


def last_walk(view):
    """When the last walk of all sources has ended."""
    return view.metrics()["twinfs_last_full_walk_timestamp_seconds", frozenset()]


def test_walk_of_all_sources_moves_its_time(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"same"})

    def walked(view):
        os.kill(view.pid, signal.SIGHUP)
        view.sync()
        return last_walk(view)

    with twinfs.mounted(source) as view:
        before = last_walk(view)
        assert before > 0
        assert until(lambda: walked(view) > before)


# events, df

def test_events_have_milliseconds_and_the_kept_copy(twinfs, source):
    trees.fill(source, {b"a": b"same", b"b": b"single"})
    with twinfs.mounted(source) as view, open(view.events, "rb") as events:
        os.set_blocking(events.fileno(), False)
        trees.write(source / "c", b"same")
        view.sync()
        (source / "a").unlink()
        view.sync()
        found = [json.loads(line) for line in events.read().splitlines()]
    assert all(re.fullmatch(r"[-\d]{10}T[\d:]{8}\.\d{3}Z", event["time"]) for event in found)
    kept = {event["event"]: event.get("kept") for event in found}
    assert kept == {"group_appeared": str(source / "a"), "file_redundant": str(source / "a"),
                    "group_gone": None, "file_unique": None}


def test_reader_of_events_does_not_outlive_the_daemon(twinfs, source):
    """The kernel refuses umount while it reads; a request to the daemon unmounts the view."""
    trees.fill(source, {b"a": b"same", b"b": b"same"})
    with twinfs.mounted(source) as view:
        with subprocess.Popen(["tail", "-f", view.events], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tail:
            assert until(lambda: has_open(tail.pid, view.events))
            assert end_process(view.pid, signal.SIGTERM)
            view.pid = None
            assert not is_mounted(view.path)
            tail.wait(TIMEOUT)


def test_df_shows_each_disk_of_the_sources_once(twinfs, root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for folder in (root / "one", root / "two"):
        trees.fill(folder, {b"a": b"same", b"b": b"same"})
    with disk("ext4", other, DISK_BYTES * 2) as second, \
            twinfs.mounted(root / "one", root / "two", second) as view:
        shown, disks = os.statvfs(view.path), [os.statvfs(root), os.statvfs(second)]
        for field in ("f_blocks", "f_bfree", "f_bavail"):
            assert getattr(shown, field) == sum(
                getattr(one, field) * one.f_frsize // shown.f_frsize for one in disks)
        assert shown.f_files == sum(one.f_files for one in disks)
        assert shown.f_bavail > 0

# SPDX-License-Identifier: MIT
"""remove, move, link and dedupe in which system calls fail: what fails is told, nothing is lost."""
import contextlib
import os
import shutil

import pytest
from disks import disk
from test_faults import calls_of_one_thread
from test_index import some

# Each of these fails once at each of some places.
FAILING = {
    "renameat2": "EIO", "unlinkat": "EIO", "linkat": "ENOSPC", "symlinkat": "ENOSPC",
    "mkdirat": "ENOSPC", "fdatasync": "EIO", "ftruncate": "EIO", "fcntl": "EAGAIN",
    "pread64": "EIO", "pwrite64": "ENOSPC", "openat2": "EMFILE", "write": "ENOSPC",
    "copy_file_range": "EIO", "fsync": "EIO", "syncfs": "EIO",
}
PLACES = 8  # of each call
NOT_BEGUN = 127  # the dynamic linker failed, before the program began
CONTENTS = {f"{number}": os.urandom(3000) for number in range(3)}


def fill(twinfs, source, moved):
    """The tree of before, scanned, and nothing moved."""
    for path in moved.glob("redundant *"):
        path.unlink()
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    for number, data in CONTENTS.items():
        (source / f"kept {number}").write_bytes(data)
        (source / f"redundant {number}").write_bytes(data)
    twinfs.ok("scan", source)


def failing_places(twinfs, words, source, moved):
    """(call, number) of calls that the act makes, some of each, the last among them."""
    fill(twinfs, source, moved)
    _, trace = twinfs.traced(*words, calls=f"trace={','.join(FAILING)}")
    counts = calls_of_one_thread(trace)
    return [(call, place) for call in FAILING
            for place in some(range(1, counts[call] + 1), PLACES)]


def holds(path, data):
    return path.is_file() and path.read_bytes() == data


def wrong_after(act, result, source, moved):
    """What is wrong when an act has ended in which a call failed."""
    found = [f"kept {number} is not what it was" for number, data in CONTENTS.items()
             if not holds(source / f"kept {number}", data)]
    for number, data in CONTENTS.items():
        there = [path for path in (source / f"redundant {number}", moved / f"redundant {number}")
                 if os.path.lexists(path)]
        if not all(holds(path, data) for path in there):
            found.append(f"redundant {number} is not what it was")
        if not there and act != "remove":
            found.append(f"redundant {number} is gone")
    if result.status not in (0, 1, 3, NOT_BEGUN):
        found.append(str(result))
    return found


@pytest.mark.parametrize("words", [["remove"], ["link"], ["link", "--symbolic"], ["move"],
                                   ["move across"]], ids=lambda words: "-".join(words))
def test_act_in_which_a_call_fails_loses_nothing_and_says_so(twinfs, tmp_path, strace, words):
    across = words == ["move across"]
    folder = disk("ext4", tmp_path) if across else contextlib.nullcontext(tmp_path / "moved")
    with folder as moved:
        moved.mkdir(exist_ok=True)
        options = words if words[0][:4] != "move" else ["move", moved]
        options = [*options, "--yes", tmp_path / "source"]
        failed, wrong = 0, []
        for call, place in failing_places(twinfs, options, tmp_path / "source", moved):
            fill(twinfs, tmp_path / "source", moved)
            result, _ = twinfs.traced(*options, calls=f"trace={call}", flags=[
                "-e", f"inject={call}:error={FAILING[call]}:when={place}"])
            failed += result.status != 0
            again = twinfs("recover")
            problems = wrong_after(options[0], result, tmp_path / "source", moved)
            problems += [f"left behind: {path}" for path in tmp_path.rglob(".twinfs~*")]
            problems += [str(again)] if again.status else []
            if call != "write" and result.status != 0 and not result.error:
                problems.append("it says nothing")
            wrong += [f"{call} {FAILING[call]} {place}: {problem}" for problem in problems]
        assert not wrong, "\n".join(wrong)
        assert failed > 5

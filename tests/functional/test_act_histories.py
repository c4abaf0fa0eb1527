# SPDX-License-Identifier: MIT
"""Random histories of acts, kills, changes of the clock and undo over overlapping indexes, beside a
model: no byte is lost, and what log, undo, covered, check and exit statuses say is so.

TWINFS_TEST_HISTORIES sets their number on each file system. TWINFS_TEST_FILESYSTEMS names these,
with commas: see PLACES in histories.py."""
import dataclasses
import os

import pytest
from histories import History, Place, place_of
from history_model import digest

HISTORIES = int(os.environ.get("TWINFS_TEST_HISTORIES", "5"))
SEED = int(os.environ.get("TWINFS_TEST_SEED", "1"))
KINDS = os.environ.get("TWINFS_TEST_FILESYSTEMS", "ext4").split(",")


@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
@pytest.mark.parametrize("kind", KINDS)
def test_random_history_loses_nothing_and_says_nothing_untrue(twinfs, tmp_path, strace,
                                                              private_state, kind, seed):
    folder = tmp_path / "history"
    folder.mkdir()
    with place_of(kind, folder) as place:
        History(twinfs, place, seed).play(4)


# ---- the model notices faults -------------------------------------------------------------------

def lose(history, result):
    """Removes a content."""
    for path in history.files()[:1] if b"removed" in result.out else []:
        content = digest(path)
        for other in history.files():
            if digest(other) == content:
                os.unlink(other)
    return result


def change_mode(history, result):
    for path in history.files()[:1] if b"brought back" in result.out else []:
        os.chmod(path, 0o604)
    return result


def hide(_, result):
    """Leaves the last line out."""
    return dataclasses.replace(result, out=b"".join(b"%s\n" % line for line in result.lines[:-1]))


def say_covered(_, result):
    return dataclasses.replace(result, status=0) if result.status == 4 else result


# {command: what it does besides, and what is noticed}
FAULTS = {"remove": (lose, "'lost'"), "undo": (change_mode, "changed by undo|not brought back"),
          "log": (hide, "order or number of acts|changed without an act"),
          "covered": (say_covered, "'covered', Result")}


@pytest.mark.parametrize("command", FAULTS)
def test_model_notices_a_program_with_a_fault(twinfs, tmp_path, strace, private_state, command):
    fault, noticed = FAULTS[command]

    class Faulty(History):
        def run(self, *words, kill=None):
            result = super().run(*words)
            return fault(self, result) if words[0] == command else result

    folder = tmp_path / "history"
    folder.mkdir()
    with pytest.raises(AssertionError, match=noticed):
        Faulty(twinfs, Place(folder, inodes=folder), 1).play(20)

# SPDX-License-Identifier: MIT
"""The operands of a move, and the question about it."""
import os

import pytest
from terminal import Terminal
from test_act import copies, everything


# ---- the destination of a move ------------------------------------------------------------

def test_move_takes_the_folder_last(twinfs, tmp_path):
    one, two, moved = (tmp_path / name for name in ("one", "two", "moved"))
    for folder in (one, two, moved):
        folder.mkdir()
    for folder in (one, two):
        (folder / "x").write_bytes(b"content")
    twinfs.ok("move", "--yes", one, two, moved)
    assert everything(moved) == {os.fsencode(moved / "two/x")}
    result = twinfs("move", "--yes", one)
    assert result.status == 2
    assert "no FOLDER given; the FOLDER is the last operand" in result.errors[-1]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_question_of_a_move_names_the_folder(twinfs, source, tmp_path, answer):
    copies(source, 3)
    moved = tmp_path / "moved"
    moved.mkdir()
    seen = Terminal(300)
    try:
        os.write(seen.ours, f"{answer}\n".encode())
        result = twinfs("move", source, moved, stdin=seen.theirs)
    finally:
        seen.close()
    assert f"move them to '{moved}'?" in result.error.decode()
    assert result.status == (0 if answer == "y" else 1)
    assert len(everything(moved)) == (2 if answer == "y" else 0)

# SPDX-License-Identifier: MIT
"""README.md: its commands, run in their order on a folder of photos, print what it shows.

A line "..." of README.md stands for any lines. Times, processes and generations can differ."""
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import trees
from disks import disk
from processes import TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
README, BACKUP = ROOT / "README.md", ROOT / "data/backup/backup"
FLEET = ROOT / "build/fleet"
DAY = 86400
DISK_BYTES = 1 << 30
MARK = "== command"
SETTLE = "cat view/.twinfs/sync >/dev/null 2>&1"  # a person does not type as fast as this test
REPLACED = [
    ("/usr/share/twinfs/backup", str(BACKUP)),
    (r"undo --yes [0-9a-f]{8}", "undo --yes"),  # the act has another name here
    # waits until tail has the file open, and has printed the events
    (r"events &\n",
     "events >events & until readlink /proc/$!/fd/* | grep -q events$; do :; done\n"),
    (r"new.jpg; cat view/.twinfs/sync",
     r"\g<0>; until grep -q redundant events; do sleep .1; done; "
     "cat events")]
VARIABLE = [
    ("\N{NO-BREAK SPACE}", " "),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r'"generation":\d+', "GENERATION"),
    (r"^\d+$", "GENERATION"),
    (r"^[0-9a-f]{8} ", "ACT "),
    (r"undo [0-9a-f]{8}", "undo ACT"),
    (r"process \d+", "process N"),
    (r"^(freed .*) \(.*", r"\1")]


def photos(folder):
    """A folder with copies as they arise: of a phone, a selection, and an old laptop."""
    rng = random.Random("Photos")

    def make(path, size, day):
        write(path, rng.randbytes(size), day)

    def copy(source, target, day):
        write(target, (folder / source).read_bytes(), day)

    def write(path, data, day):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        os.utime(target, (day * DAY, day * DAY))

    for number in range(1, 9):
        make(f"2019/IMG_{number}.jpg", rng.randrange(2_500_000, 4_000_000), 17900 + number)
    for number in range(11, 15):
        make(f"2020/IMG_{number}.jpg", rng.randrange(2_500_000, 4_000_000), 18300 + number)
    make("2020/clip.mp4", 61_000_000, 18320)
    for number in range(12, 15):
        copy(f"2020/IMG_{number}.jpg", f"Phone/IMG_{number}.jpg", 18300 + number)
    copy("2020/clip.mp4", "Phone/VID_0001.mp4", 18321)
    copy("2020/IMG_12.jpg", "Best of/Harbour.jpg", 18400)
    copy("2019/IMG_1.jpg", "Best of/Sunset.jpg", 18400)
    for number in range(1, 9):
        copy(f"2019/IMG_{number}.jpg", f"Old laptop/2019/IMG_{number}.jpg", 17900 + number)


def machines(folder):
    """Folders that stand for machines: most photos of a laptop are in an archive, too, and so are
    some scans of an office."""
    rng = random.Random("machines")
    pictures = [rng.randbytes(rng.randrange(2_000_000, 4_000_000)) for _ in range(12)]
    trees.fill(folder / "laptop", {
        "letter.odt": rng.randbytes(40_000),
        **{f"Photos/IMG_{number}.jpg": pictures[number] for number in range(8)}})
    trees.fill(folder / "nas", {
        f"archive/2019/{number}.jpg": pictures[number] for number in range(10)})
    trees.fill(folder / "office", {
        "plan.pdf": rng.randbytes(90_000), "plan old.pdf": rng.randbytes(90_000),
        **{f"scans/{number}.jpg": pictures[number] for number in range(4, 12)}})


def examples():
    """(command, lines that it prints) of each example with a prompt, in their order."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def replaced(text, pairs):
    for pattern, word in pairs:
        text = re.sub(pattern, word, text)
    return text


def unified(line):
    return replaced(line, VARIABLE).rstrip()


def agrees(shown, printed):
    """Whether the printed lines are those that are shown."""
    pattern = "".join("(.*\n)*" if line == "..." else re.escape(unified(line)) + "\n"
                      for line in shown)
    return re.fullmatch(pattern, "".join(unified(line) + "\n" for line in printed))


@pytest.fixture
def home(as_user, fuse_for_users, tmp_path):
    """A home on a disk whose file system shares blocks, with the folder Photos, and folders that
    stand for machines."""
    if not (FLEET / "twinfs-fleet.json").exists():
        pytest.skip("the engines of twinfs-fleet are not in build/fleet")
    with disk("xfs", tmp_path, DISK_BYTES) as root:
        home = root / "home"
        photos(home / "Photos")
        machines(home)
        (home / "bin").mkdir()
        (home / "bin/twinfs-fleet").symlink_to(ROOT / "scripts/twinfs-fleet")
        (home / ".local/share").mkdir(parents=True)
        (home / ".local/share/twinfs-fleet").symlink_to(FLEET)
        (home / "bin/twinfs").symlink_to(as_user.session.binary)
        subprocess.run(["chown", "-hR", f"{as_user.user.pw_uid}:{as_user.user.pw_gid}", home],
                       check=True)
        yield home
        subprocess.run(["fusermount3", "-uz", home / "view"], check=False, capture_output=True)


@pytest.mark.skipif(not shutil.which("rsync"), reason="needs rsync")
def test_commands_print_what_the_readme_shows(as_user, home):
    script = "".join(f"{SETTLE}\necho '{MARK}'\n{command}\n" for command, _ in examples())
    script = replaced(script, REPLACED)
    run = subprocess.run([*as_user.as_user(), "bash", "-c", script],
                         cwd=home, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
                         env=as_user.environment | {
                             "HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}"})
    printed = run.stdout.replace(str(home), "/home/ann").split(f"{MARK}\n")[1:]
    assert len(printed) == len(examples()) > 20
    differences = [f"$ {command}\n{text}" for (command, shown), text in zip(examples(), printed)
                   if not agrees(shown, text.splitlines())]
    assert not differences, "\n".join(differences)

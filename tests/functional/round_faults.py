# SPDX-License-Identifier: MIT
"""Random faults for rounds of plan, attest and remove: files that change, vanish or are replaced,
lists and attestations that are damaged, old or misplaced, and kills."""
import json
import os
import shutil
import stat

import round_lists
import trees
from fleet_hosts import rewrite_in_place
from round_lists import ATTESTATION, KEEP, REMOVE, read_time, write_time

CALLS = ("openat", "pread64", "read", "renameat2", "renameat", "unlinkat", "fsync", "fdatasync",
         "write", "pwrite64", "fcntl", "flock", "close", "linkat", "ftruncate", "sync_file_range")


def kill_point(rng):
    """A system call and the number of the call at which a program is killed, or None."""
    if rng.random() < 0.3:
        return None
    return rng.choice(CALLS), int(rng.choice((5, 20, 60)) * rng.random()) + 1


def inject(fleet, plan):
    """Injects one fault into a host, or into the files of the plan of the next step."""
    if fleet.rng.random() < 0.5:
        change_host(fleet)
        return
    act = fleet.rng.choice(ON_FILES)
    done = act(fleet, plan)
    if done:
        fleet.tell("fault: plan", fleet.plans.index(plan), act.__name__, done)


# Files of hosts


def change_host(fleet):
    """Changes one host by one or two faults, mostly files of the plans."""
    name = fleet.rng.choice(sorted(fleet.hosts))
    for _ in range(fleet.rng.choice((1, 1, 2))):
        path = pick(fleet, name)
        if path is None:
            return
        act = fleet.rng.choice(ON_HOSTS)
        act(fleet, fleet.hosts[name], path)
        fleet.changed(name, f"{act.__name__} {path}")


def pick(fleet, name):
    files = {path for path, entry in fleet.seen[name].items() if entry.content}
    listed = {lines.path(row) for plan in fleet.plans for (_, host), lines in plan.lists.items()
              if host == name for row in lines.rows} & files
    chosen = listed if listed and fleet.rng.random() < 0.8 else files
    return fleet.rng.choice(sorted(chosen)) if chosen else None


def rewrite(fleet, _, path):
    """Another content of the same size and the same mtime."""
    rewrite_in_place(path, trees.content((path, fleet.rng.random()), os.lstat(path).st_size))


def replace_same(fleet, _, path):
    """The same content and times in another inode."""
    replace(path, path)


def replace_other(fleet, _, path):
    """Another content of the same size in another inode."""
    replace(path, path)
    rewrite(fleet, None, path)


def replace(path, source):
    new = os.path.join(os.path.dirname(path), b".replacing")
    shutil.copy2(source, new)
    os.rename(new, path)


def delete(fleet, _, path):
    os.unlink(path)


def delete_content(fleet, host, path):
    """All files of a host that have the content of this one."""
    content = fleet.seen[host.name][path].content
    for other, entry in fleet.seen[host.name].items():
        if entry.content == content and os.path.lexists(other):
            os.unlink(other)


def move(fleet, _, path):
    os.rename(path, os.path.join(os.path.dirname(path), b"moved %d" % fleet.rng.randrange(9)))


def swap(fleet, host, path):
    """Exchanges the names of two files."""
    other = pick(fleet, host.name)
    if other and other != path and os.path.lexists(other):
        aside = os.path.join(host.sources[0], b".aside")
        os.rename(path, aside)
        os.rename(other, path)
        os.rename(aside, other)


def touch(fleet, _, path):
    os.utime(path, ns=(5, fleet.rng.randrange(1 << 60)))


def append(fleet, _, path):
    with open(path, "ab") as file:
        file.write(b"\0")


def change_mode(fleet, _, path):
    os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) ^ 0o040)


def add_link(fleet, host, path):
    new = os.path.join(host.sources[-1], b"new link %d" % fleet.rng.randrange(1 << 30))
    os.link(path, new)


def add_copy(fleet, host, path):
    """A content of any host at a new name of this one."""
    other = fleet.rng.choice(sorted(fleet.hosts))
    source = pick(fleet, other) or path
    if os.path.lexists(source):
        shutil.copy2(source, os.path.join(
            host.sources[0], b"new copy %d" % fleet.rng.randrange(1 << 30)))


def become_symlink(fleet, host, path):
    """A symbolic link to an equal file outside of the sources."""
    aside = os.path.join(os.fsencode(host.folder), b"aside %d" % fleet.rng.randrange(1 << 30))
    os.rename(path, aside)
    os.symlink(aside, path)


def become_folder(fleet, _, path):
    os.unlink(path)
    os.mkdir(path)


def move_folder(fleet, host, path):
    """Replaces a folder by a symbolic link to it."""
    folder = os.path.dirname(path)
    if folder not in host.sources:
        aside = os.path.join(os.fsencode(host.folder), b"folder %d" % fleet.rng.randrange(1 << 30))
        os.rename(folder, aside)
        os.symlink(aside, folder)


ON_HOSTS = (rewrite, rewrite, replace_same, replace_other, delete, delete_content, move, swap,
            touch, append, change_mode, add_link, add_copy, become_symlink, become_folder,
            move_folder)


# Lists and attestations. Each returns what it changed, or None.


def pick_file(fleet, plan, kinds):
    names = [name for name in sorted(os.listdir(plan.folder))
             if name.startswith(tuple(round_lists.PREFIXES[kind] + "-" for kind in kinds))]
    return os.path.join(plan.folder, fleet.rng.choice(names)) if names else None


def edit(path, change):
    """Changes a well-formed file of JSON lines; `change` gets the head and the rows."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        head, *rows = [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return None
    change(head, rows)
    with open(path, "wb") as file:
        file.writelines(json.dumps(value).encode() + b"\n" for value in (head, *rows))
    return os.path.basename(path)


def shift(path, seconds):
    def change(head, _):
        for name in ("begun", "created"):
            head[name] = write_time(read_time(head[name]) + seconds)
    return path and edit(path, change)


def age_attestation(fleet, plan):
    """An attestation that is too old, or nearly."""
    times = (0.5, 0.9, 1.1, 1.5, 2, 400)
    return shift(pick_file(fleet, plan, [ATTESTATION]), -plan.age[1] * fleet.rng.choice(times))


def date_from_future(fleet, plan):
    return shift(pick_file(fleet, plan, [ATTESTATION]), fleet.rng.choice((120, 900, 90_000)))


def take_of_other_plan(fleet, plan):
    """The attestation of another plan in place of that of this one."""
    source = pick_file(fleet, fleet.rng.choice(fleet.plans), [ATTESTATION])
    if not source:
        return None
    name = fleet.rng.choice((os.path.basename(source), "attested-other.jsonl"))
    if os.path.join(plan.folder, name) != source:
        shutil.copy(source, os.path.join(plan.folder, name))
    return name


def take_of_other_host(fleet, plan):
    """The attestation of a host under the name of another one, or twice."""
    source = pick_file(fleet, plan, [ATTESTATION])
    host = fleet.rng.choice(sorted(fleet.hosts))
    if not source:
        return None
    made = os.path.join(plan.folder, f"attested-zz-{host}.jsonl")
    shutil.copy(source, made)
    if fleet.rng.random() < 0.5:
        edit(made, lambda head, _: head.update(host=host))
    return f"{os.path.basename(source)} as {host}"


def lose_attestation(fleet, plan):
    path = pick_file(fleet, plan, [ATTESTATION])
    if path:
        os.unlink(path)
    return path


def say_of_other_list(fleet, plan):
    path = pick_file(fleet, plan, [ATTESTATION])
    return path and edit(path, lambda head, _: head.update(list="0" * 64))


def shorten_keep_list(fleet, plan):
    """A keep list without its last row: its attestation is for another list."""
    def change(head, rows):
        if len(rows) > 1:
            head["bytes"] -= rows.pop()["size"]
            head["rows"] -= 1
    path = pick_file(fleet, plan, [KEEP])
    return path and edit(path, change)


def damage(fleet, plan):
    """Cuts off the end of a file, or writes a byte into it that no such file has."""
    kind = fleet.rng.choice((KEEP, REMOVE, ATTESTATION, ATTESTATION))
    path = pick_file(fleet, plan, [kind])
    if not path:
        return None
    with open(path, "r+b") as file:
        data = file.read()
        at = fleet.rng.randrange(len(data))
        if fleet.rng.random() < 0.5:
            file.truncate(at)
        else:
            file.seek(at)
            file.write(fleet.rng.choice((b"\xff", b"\0", b"\n")))
    return f"{os.path.basename(path)} at {at}"


def mend(fleet, plan):
    """Removes damaged attestations, as a user does."""
    gone = []
    for name in plan.attestations():
        path = os.path.join(plan.folder, name)
        try:
            round_lists.read_attestation(path)
        except round_lists.fleet_sets.InvalidError:
            os.unlink(path)
            gone.append(name)
    return gone


ON_FILES = (age_attestation, age_attestation, age_attestation, date_from_future, take_of_other_plan,
            take_of_other_host, lose_attestation, say_of_other_list, shorten_keep_list, damage,
            mend, mend)

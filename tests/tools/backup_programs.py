# SPDX-License-Identifier: MIT
"""The backup programs of backup_table.py, each with the commands that suit uniques/ best.

The commands are run as twinfs(5) prints them: by sh, in a folder that has the view, with the
variables `repo` (a folder for what the program stores), `out` (an empty folder to restore to) and
`n` (the number of the run).
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    """A backup program. Without `restore`, $repo is the copy of uniques/ itself."""
    name: str
    backup: str
    restore: str = ""
    within: str = ""  # the folder of the copy in `out`
    prepare: str = ""
    version: str = ""  # by default NAME --version
    packages: tuple = ()  # by default NAME
    variables: dict = field(default_factory=dict)
    module: str = ""  # of Go, where Debian has no package
    note: tuple = ()  # sentences for twinfs(5)
    needs: str = ""  # an option of `backup` that a second run of the program leaves out, to compare


PROGRAMS = (
    Program("rsync",
            "rsync -aHAXS --numeric-ids --modify-window=-1 --delete view/uniques/ \"$repo\"/"),
    Program("restic",
            "cd view && restic -r \"$repo\" backup uniques",
            "restic -r \"$repo\" restore latest --target \"$out\"",
            within="uniques",
            prepare="restic -r \"$repo\" init",
            version="restic version",
            variables={"RESTIC_PASSWORD": "password"}),
    Program("borg",
            "cd view && borg create \"$repo::$n\" uniques",
            "cd \"$out\" && borg extract --sparse --numeric-ids \"$repo::$n\"",
            within="uniques",
            prepare="borg init --encryption=none \"$repo\"",
            packages=("borgbackup",),
            note=("It reads files with the newest ctime again.",)),
    Program("kopia",
            "kopia snapshot create view/uniques",
            "kopia restore view/uniques \"$out\"",
            prepare="kopia repository create filesystem --path=\"$repo\"",
            module="github.com/kopia/kopia@v0.17.0",
            variables={"KOPIA_PASSWORD": "password"}),
    Program("rclone",
            "rclone sync --links --metadata --create-empty-src-dirs view/uniques \"$repo\""),
    Program("bup",
            "bup index --no-check-device view/uniques"
            " && bup save --name=uniques --strip view/uniques",
            "bup restore --numeric-ids --sparse -C \"$out\" uniques/latest/.",
            prepare="bup init",
            variables={"BUP_DIR": "$repo"}, needs=" --no-check-device"),
    Program("duplicity",
            "duplicity --no-encryption view/uniques \"file://$repo\"",
            "duplicity restore --no-encryption --numeric-owner --force \"file://$repo\" \"$out\""),
    Program("rdiff-backup",
            "rdiff-backup backup --no-compare-inode view/uniques \"$repo\"",
            "rdiff-backup --force restore \"$repo\" \"$out\"",
            packages=("rdiff-backup", "python3-pylibacl", "python3-pyxattr"),
            needs=" --no-compare-inode"),
    Program("tar",
            "tar -C view/uniques --create --file=\"$repo/$n.tar\""
            " --listed-incremental=\"$repo/snapshot\" --no-check-device"
            " --format=posix --sparse --acls --xattrs .",
            "for archive in \"$repo\"/*.tar; do tar -C \"$out\" --extract --file=\"$archive\""
            " --listed-incremental=/dev/null --numeric-owner --preserve-permissions --acls"
            " --xattrs --xattrs-include='*'; done", needs=" --no-check-device"),
    Program("tar --newer",
            "touch \"$repo/next\" && tar -C view/uniques --create --file=\"$repo/$n.tar\""
            " $(test $n = 1 || echo --newer=\"$repo/last\")"
            " --format=posix --sparse --acls --xattrs . && mv \"$repo/next\" \"$repo/last\"",
            "for archive in \"$repo\"/*.tar; do tar -C \"$out\" --extract --file=\"$archive\""
            " --numeric-owner --preserve-permissions --acls"
            " --xattrs --xattrs-include='*'; done",
            version="tar --version", packages=("tar",),
            note=("What was removed since the first run is restored, too.",)),
    Program("dar",
            "dar -Q -c \"$repo/$n\" -R view -g uniques"
            " $(test $n = 1 || echo -A \"$repo/$((n - 1))\")",
            "for run in $(seq $n); do dar -Q -w -x \"$repo/$run\" -R \"$out\"; done",
            within="uniques",
            note=("A restored file gets the default ACL of its folder.",)),
    Program("unison",
            "unison view/uniques \"$repo\" -ui text -batch -confirmbigdel=false"
            " -force view/uniques -fastcheck false -perms -1 -owner -group -numericids -times",
            version="unison -version", needs=" -fastcheck false",
            note=("By default, it does not list a folder whose mtime is as before.",
                  "It skips special files."),
            variables={"UNISON": "$repo.state"}),
    Program("casync",
            "casync make --store=\"$repo/store\" \"$repo/$n.caidx\" view/uniques",
            "casync extract --store=\"$repo/store\" \"$repo/$n.caidx\" \"$out\"",
            note=("With --cache it reads less, but its archives can lack unchanged files.",)),
)

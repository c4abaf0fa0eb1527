/* SPDX-License-Identifier: MIT */
#include "act/act.h"

static const char *const texts[] = {
	[ACT_DONE] = "done",
	[ACT_NEEDLESS] = "already shares its bytes with the kept file",
	[ACT_MISSING] = "is no longer at its path",
	[ACT_CHANGED] = "was replaced by another file",
	[ACT_DIFFERS] = "is no longer equal to the kept file",
	[ACT_BUSY] = "is open for writing or was written to",
	[ACT_KEPT_MISSING] = "the kept file is no longer at its path",
	[ACT_KEPT_CHANGED] = "the kept file was replaced by another file",
	[ACT_NOT_INDEXED] = "is no longer at its path, or the options of the scan leave it out",
	[ACT_KEPT_NOT_INDEXED] = ("the kept file is no longer at its path, or the options "
				  "of the scan leave it out"),
	[ACT_KEPT_TRASHED] = "the kept file is in the trash",
	[ACT_KEPT_IN_SNAPSHOT] = "the kept file is in a snapshot, which a schedule can delete",
	[ACT_KEPT_IN_CACHE] = "the kept file is in a cache, which its program can empty",
	[ACT_KEPT_IN_MEMORY] = ("the kept file is in memory, and is lost when the machine stops or "
				"the file system is unmounted"),
	[ACT_OTHER_CONTENT] = "its SHA-256 is no longer that of the plan",
	[ACT_NOT_ATTESTED] = "too few hosts attested lately that they keep its content",
	[ACT_PROMISED] = ("this host attested lately that it keeps the content, so that other "
			  "hosts possibly rely on it"),
	[ACT_OTHER_HOST] = ("it is on a network or FUSE file system, and can be the file of a host "
			    "that keeps the content"),
	[ACT_ATTESTED_ITSELF] =
		("it can be the file that another host attested: both have one inode number and "
		 "time of birth, as on a disk that two hosts share"),
	[ACT_KEPT_BUSY] = "the kept file is open for writing or was written to",
	[ACT_KEPT_ITSELF] = ("the kept file changed together with it: both may be one file that an "
			     "overlay or a stacked file system shows twice"),
	[ACT_NO_LEASE] =
		("writes to it cannot be detected: it belongs to another user, or its file "
		 "system has no leases; use --without-leases to act anyway"),
	[ACT_IMMUTABLE] = ("it or its folder is immutable or append-only, or the folder is another "
			   "user's sticky folder; see chattr(1) and chmod(1)"),
	[ACT_OTHER_FILE_SYSTEM] = "is on another file system than the kept file",
	[ACT_CANNOT_SHARE] = ("its file system cannot share blocks between files; btrfs, XFS and "
			      "bcachefs can"),
	[ACT_OTHER_METADATA] =
		("its owner, mode or extended attributes differ from those of the kept "
		 "file; use --force-metadata to link it anyway"),
	[ACT_OTHER_REACH] =
		("some users who can reach it possibly have no access to a folder of the "
		 "kept file; use --force-metadata to link it anyway"),
	[ACT_EXISTS] = "its path in the destination folder exists already",
	[ACT_LOWER_LINK] =
		("it or the kept file has other hard links in a lower layer of its overlay and "
		 "would become a separate file; change it in that layer"),
	[ACT_OWN] = ("it, the kept file, or a file in it belongs to twinfs: to an index, to "
		     "promises, or "
		     "to an act that runs or was interrupted; see 'twinfs recover'"),
	[ACT_MANAGED] = ("a program manages it together with other files, such as those of a "
			 "database; remove or move the whole folder instead"),
	[ACT_KEPT_MANAGED] = ("the kept file is in a store, such as a database, whose program can "
			      "change or delete it"),
	[ACT_WRITTEN_IN_PLACE] =
		("a program writes it or the kept file in place, and a link would change both"),
	[ACT_NO_LINKS] = ("on its file system this needs hard links that have the inode number of "
			  "their file, and it has none"),
	[ACT_NO_TRASH] = ("no trash folder exists on its file system and none can be created; "
			  "remove it without --trash, or move it"),
	[ACT_FAILED] = "failed",
	[ACT_LEFTOVER] = "its name could not be restored",
	[ACT_NOT_IN_KEPT] = "is not in the kept folder",
	[ACT_OTHER_TYPE] = "has another type in the kept folder",
	[ACT_MOUNT_INSIDE] = "is a mount point; unmount it first",
	[ACT_SUBVOLUME] = "is a subvolume, which undo cannot make again; remove it yourself",
	[ACT_SAME_FOLDER] = "the kept folder is the same folder, reached by another path",
	[ACT_NESTED] = "one of the folders contains the other",
	[ACT_HAS_SOURCE] = "is a source or the index of twinfs, or contains one",
	[ACT_ACROSS] = ("the destination is on another file system, and a folder is moved "
			"by a rename; choose a destination on its file system"),
	[ACT_IN_USE] = ("shows that a program uses the database; stop the program, or remove this "
			"file if none runs"),
};

const char *act_outcome_text(enum act_outcome outcome)
{
	return texts[outcome];
}

enum act_outcome act_place_refusal(enum emptied_place kept)
{
	static const enum act_outcome refusals[EMPTIED_PLACES] = {
		[PLACE_SNAPSHOT] = ACT_KEPT_IN_SNAPSHOT,
		[PLACE_CACHE] = ACT_KEPT_IN_CACHE,
		[PLACE_TRASH] = ACT_KEPT_TRASHED,
		[PLACE_MEMORY] = ACT_KEPT_IN_MEMORY,
	};

	return refusals[kept];
}

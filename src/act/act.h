/* SPDX-License-Identifier: MIT */
#ifndef ACT_ACT_H
#define ACT_ACT_H

/* Acts on redundant copies. No byte is lost, whatever other programs do to the files meanwhile.
 *
 *   act_begin -> act_add, for each copy -> act_flush -> act_end
 *
 * Each copy is acted on by itself. These steps protect it, in this order:
 *
 *	journal		The intent is on the disk before the first rename (act/journal.h).
 *	open		Kept file and copy are opened below their sources, without following a
 *			symlink, and must be the indexed inodes.
 *	lease		A read lease on each file blocks a program that opens the file for writing.
 *			The act detects such a program (act/held.h).
 *	sync		The kept file and its name are on the disk before the copy loses its name
 *			(act/durable.h).
 *	comparison	All bytes of both files are compared.
 *	quarantine	The copy is renamed to a private name in its own directory, and must still
 *			be the compared inode under that name. A link exchanges its name with the
 *			copy instead, in one system call.
 *	check		Both leases must be unbroken, and the kept file must still have its name.
 *	removal		The copy is removed or moved under its quarantine name only.
 *	last check	If a lease was broken during the removal, the copy is written again from its
 *			open descriptor.
 *	undo		If a check fails, the copy gets its own name back.
 *	end		The changed folders are on the disk before the journal drops the intents.
 *
 * If the process is killed, or the power fails, the next start undoes the act (act/undo.h).
 *
 * ACT_DEDUPE changes no name and needs no journal, sync or quarantine. The kernel locks and
 * compares both files itself.
 *
 * SIGIO must be ignored; act_begin() does that. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

enum act_kind {
	ACT_REMOVE,
	/* into a folder, at the path of the copy in uniques/. Names of one copy that are added in
	 * sequence stay hard links of one file, even on another file system. */
	ACT_MOVE,
	ACT_TRASH, /* into the desktop's trash */
	ACT_LINK, /* replaced by a hard link to the kept file */
	ACT_SYMLINK, /* replaced by a symbolic link to the kept file */
	ACT_DEDUPE, /* shares the kept file's blocks, FIDEDUPERANGE (ioctl_fideduperange(2)) */
};

enum act_outcome {
	ACT_DONE,
	ACT_NEEDLESS, /* already one inode, or all blocks are shared */
	/* Refused: nothing has changed. */
	ACT_MISSING, /* the name of the copy no longer exists */
	ACT_CHANGED, /* the name of the copy leads to another file than the indexed one */
	ACT_DIFFERS, /* the bytes of copy and kept file are not equal */
	ACT_BUSY, /* a program has the copy open for writing, or is opening it */
	ACT_KEPT_MISSING, /* the name of the kept file no longer exists */
	ACT_KEPT_CHANGED, /* the name of the kept file leads to another file */
	ACT_KEPT_BUSY, /* a program has the kept file open for writing, or is opening it */
	ACT_KEPT_ITSELF, /* the copy is the kept file, shown twice by an overlay or FUSE */
	ACT_NO_LEASE, /* no lease: another user's file, or a file system without leases */
	ACT_IMMUTABLE, /* the copy or a link at its path could not be removed from the directory */
	ACT_OTHER_FILE_SYSTEM, /* a hard link to a file on another file system is impossible */
	ACT_OTHER_METADATA, /* owner, mode or extended attributes, which a link would lose */
	ACT_OTHER_REACH, /* ACT_SYMLINK: possibly some users reach the copy only */
	ACT_EXISTS, /* the path of the copy in the destination exists */
	ACT_LOWER_LINK, /* the copy has a hard link in a lower overlay layer; a rename splits it */
	ACT_NO_TRASH, /* no trash folder can take the copy by a rename */
	ACT_FAILED, /* see error */
	/* The copy's name could not be restored, as another file has that name. The copy has the
	 * name leftover. */
	ACT_LEFTOVER,
};

/* One name of a file and its attributes in the index. */
struct act_file {
	uint32_t source;
	const char *path; /* relative to the source, borrowed */
	const struct attributes *attributes; /* borrowed */
};

struct act_result {
	enum act_outcome outcome;
	int error; /* positive errno, with ACT_FAILED */
	uint64_t freed_bytes; /* blocks of the last name that no other file shares */
	bool freed_is_unknown; /* the last name was removed from a file system with layers */
	const char *leftover; /* name in the directory of the copy, with ACT_LEFTOVER; borrowed */
};

struct act_settings {
	enum act_kind kind;
	const struct sources *sources; /* all borrowed */
	const char *folder; /* index folder, which contains the journal */
	const char *destination; /* ACT_MOVE: absolute path of a directory outside all sources */
	bool relative; /* ACT_SYMLINK: the target is relative */
	bool without_leases; /* if a lease is refused, size and mtime are checked instead */
	/* ACT_LINK, ACT_SYMLINK: act even if owner, mode, xattrs or reach differ */
	bool force_metadata;

	/* Receives the result of each copy, in the order of act_add. */
	void (*report)(void *context, const struct act_file *copy, const struct act_result *result);
	void *context;
};

/* Outcome of act_add, act_flush and act_end, logged: the disk could not write a kept file or
 * changed names, so no further copy is acted on. */
enum {
	ACT_CANNOT_SYNC = 1,
};

struct act;

/* Opens the journal and undoes interrupted acts. Returns 0, -EWOULDBLOCK if another process acts on
 * this index, or -errno, logged. */
MUST_CHECK int act_begin(struct act **act, const struct act_settings *settings);

/* Adds a copy. Both structs and their texts are copied. Acts run in batches, so that one sync of
 * the journal is enough for a batch. A full batch runs at once, the last batch at act_flush().
 * Returns 0, ACT_CANNOT_SYNC, or -errno of the journal. After a failure no further act is
 * possible. */
MUST_CHECK int act_add(struct act *act, const struct act_file *kept, const struct act_file *copy);

/* Returns how many copies lost hard links in a move to another file system: a name stayed behind or
 * became a separate file. The number grows until act_end(). */
uint64_t act_count_split(const struct act *act);

/* Acts on all added copies. If stop_requested() is true, the remaining copies are dropped without a
 * report. Returns the same values as act_add(). */
MUST_CHECK int act_flush(struct act *act);

/* Syncs the changed folders and empties the journal. Frees act in any case. Returns 0,
 * ACT_CANNOT_SYNC or -errno. */
MUST_CHECK int act_end(struct act *act);

/* Returns the outcome as text for people, to be put after the path and a colon. */
const char *act_outcome_text(enum act_outcome outcome);

/* Returns whether the act was refused or failed. */
static inline bool act_is_refused(enum act_outcome outcome)
{
	return outcome > ACT_NEEDLESS;
}

#endif

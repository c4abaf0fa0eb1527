/* SPDX-License-Identifier: MIT */
#ifndef ACT_ACT_H
#define ACT_ACT_H

/* Acting on redundant copies so that no byte is lost, whatever others do to the files meanwhile.
 *
 *   act_begin -> act_add, for each copy -> act_flush -> act_end
 *
 * Each copy is taken by itself. The kept file and the copy are opened below their sources, without
 * following a symlink, and held by read leases: whoever wants to write has to wait, and is seen.
 * Every byte is compared. Only then is the copy renamed away within its directory, found to be the
 * inode that was compared, and dealt with; whatever does not fit puts it back. The kept file is on
 * the disk before any of that (act/durable.h). What is intended is
 * in a journal before (act/journal.h), so that an act that is cut off is undone at the next start.
 *
 * Needs SIGIO to be ignored. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

enum act_kind {
	ACT_REMOVE,
	/* into a folder, at the path that it has in uniques/; names of one copy that are added one after
	 * the other stay hard links of one file, on another file system, too */
	ACT_MOVE,
	ACT_TRASH, /* into the desktop's trash */
	ACT_LINK, /* a hard link to the kept file in its place */
	ACT_SYMLINK,
	ACT_DEDUPE, /* shares the kept file's blocks, FIDEDUPERANGE (ioctl_fideduperange(2)) */
};

enum act_outcome {
	ACT_DONE,
	ACT_NEEDLESS, /* it is so already: one inode, or all blocks are shared */
	/* Refused: nothing has changed. */
	ACT_GONE, /* nothing stands at its name any more */
	ACT_CHANGED, /* it is not the file any more that was indexed */
	ACT_DIFFERS, /* its bytes are not those of the kept file */
	ACT_BUSY, /* somebody has it open for writing, or wants to */
	ACT_KEPT_GONE, /* the same of the kept file */
	ACT_KEPT_CHANGED,
	ACT_KEPT_BUSY,
	ACT_KEPT_ITSELF, /* it is that file, seen through another file system: an overlay */
	ACT_NO_LEASE, /* leases are refused: another user's file, or a file system without */
	ACT_IMMUTABLE, /* its name, or that of a link, could not be removed from its directory */
	ACT_OTHER_FILE_SYSTEM, /* than the kept file: no link can lead there */
	ACT_OTHER_METADATA, /* owner, mode or extended attributes, which a link would lose */
	ACT_OTHER_REACH, /* users who reach the copy may not reach the kept file: ACT_SYMLINK */
	ACT_EXISTS, /* where it was to be moved to, something is */
	ACT_LOWER_LINK, /* it is a hard link in a lower layer of an overlay: a rename would make a file of it */
	ACT_NO_TRASH, /* no trash folder takes it by a rename */
	ACT_FAILED, /* error says why */
	/* It could not get back its name, as there is something new: the bytes are at stray. */
	ACT_STRAY,
};

/* One name of a file, as the index has it. */
struct act_file {
	uint32_t source;
	const char *path; /* relative to it, borrowed */
	const struct attributes *attributes; /* borrowed */
};

struct act_result {
	enum act_outcome outcome;
	int error; /* positive errno, with ACT_FAILED */
	uint64_t freed_bytes; /* that nothing needs any more: of the last name, and not shared */
	bool freed_is_unknown; /* the last name went, in a file system with layers; freed_bytes is 0 */
	const char *stray; /* name in the directory of the copy, with ACT_STRAY; borrowed */
};

struct act_settings {
	enum act_kind kind;
	const struct sources *sources; /* all borrowed */
	const char *folder; /* of the index: where the journal is */
	const char *destination; /* ACT_MOVE: an absolute path, a directory in no source */
	bool relative; /* ACT_SYMLINK: the target is relative */
	bool without_leases; /* also where they are refused: times and sizes must do then */
	/* ACT_LINK, ACT_SYMLINK: also where owner, mode or xattrs differ, or the reach does */
	bool force_metadata;

	/* Told of each copy, in the order of act_add. */
	void (*report)(void *context, const struct act_file *copy, const struct act_result *result);
	void *context;
};

/* Outcome of act_add, act_flush and act_end, logged: the disk refused to write a kept file or what
 * was done, so no further copy is touched. */
enum {
	ACT_CANNOT_SYNC = 1,
};

struct act;

/* Opens the journal, undoing what an earlier act left there. 0, -EWOULDBLOCK where another process
 * acts upon this index, or -errno, logged. */
MUST_CHECK int act_begin(struct act **act, const struct act_settings *settings);

/* One copy more; takes copies of both. It is acted upon now or at act_flush, some at a time, as the
 * journal has to be on the disk before. 0, ACT_CANNOT_SYNC, or -errno of the journal: then nothing
 * more can be done. */
MUST_CHECK int act_add(struct act *act, const struct act_file *kept, const struct act_file *copy);

/* Returns how many copies that were moved to another file system are not what they were: one of their
 * hard links has stayed, or has become a file of its own. It grows until act_end(). */
uint64_t act_count_parted(const struct act *act);

/* Acts upon all that were added. With stop_requested() those that were not begun are left out, and
 * told nobody. */
MUST_CHECK int act_flush(struct act *act);

/* Ends the journal, durably. 0, ACT_CANNOT_SYNC or -errno; frees in any case. */
MUST_CHECK int act_end(struct act *act);

/* In words for people, to stand behind the path and a colon: "open for writing". */
const char *act_outcome_text(enum act_outcome outcome);

/* Was nothing done that should have been? */
static inline bool act_is_refused(enum act_outcome outcome)
{
	return outcome > ACT_NEEDLESS;
}

#endif

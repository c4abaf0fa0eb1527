/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_H
#define ACT_UNDO_H

/* Undo of acts that were done, by their records (act/act_log.h). Undo of interrupted acts is in
 * act/recovery.h.
 *
 *	removal		The content is copied from the kept file, or from another file that has it,
 *			to a new file with the metadata of the copy. Names that were hard links of
 *			one copy become hard links again, also of a name that the act left alone.
 *	move, trash	The file is renamed back, or copied back from another file system. If it is
 *			gone or was changed, its content is copied as after a removal.
 *	link		The path gets a file of its own again: the file is made under a private
 *			name, and exchanges its name with the link in one system call.
 *	dedupe		Nothing: the content is the same.
 *	folder		A moved folder is renamed back. Of a removed one, the folders are made
 *			first, then the names in them, and last the folders get their times.
 *
 * Content is recognized by its hash, while a lease detects writers (act/held.h). No existing file
 * is replaced or changed, except that a link of the act is replaced by an equal file. A new file is
 * on the disk before the record that it was brought back, and before the moved file is removed on
 * the other file system. If the process is killed, running it again completes the undo: it
 * recognizes files that it brought back. One thread. */

#include <stdbool.h>

#include "act/act_log.h"
#include "base/attributes.h"

struct journal;

enum undo_outcome {
	UNDO_DONE,
	UNDO_NEEDLESS, /* dedupe */
	UNDO_ALREADY, /* the path has a file with this content already */
	/* The file is not brought back: */
	UNDO_EXISTS, /* another file is at the path */
	UNDO_EDITED, /* the path is the link still, and a program wrote to the linked file */
	UNDO_NO_CONTENT, /* no file with this content was found */
	UNDO_UNCERTAIN, /* a file has the hash, but another user could have forged it */
	UNDO_BUSY, /* a program has the file with the content open for writing */
	UNDO_FOLDER_GONE, /* the folder is not where the act moved it */
	UNDO_ABSENT, /* undo_result.absent is missing, not mounted, or another file system */
	UNDO_FAILED, /* a call failed with undo_result.error */
};

struct undo_result {
	enum undo_outcome outcome;
	int error; /* positive errno, with UNDO_FAILED */
	/* UNDO_ABSENT: the source or mount point, borrowed from the record */
	const char *absent;
	bool other_owner; /* the owner could not be restored */
	bool private_folder; /* a folder that was made is private; this was logged */
	bool fewer_xattrs; /* not all extended attributes could be restored */
	bool fewer_flags; /* not all inode flags could be restored */
	bool other_time; /* the file system cannot store the time */
	bool other_metadata; /* UNDO_ALREADY: with another mode, owner or time, which stay */
};

/* All pointers are borrowed. */
struct undo_settings {
	const char *folder; /* index folder, with the log and the journal */
	bool is_default_folder; /* as in struct act_settings */
	/* Files return to their paths also if another file system is there than at the time of the
	 * act. */
	bool any_filesystem;
	const char *act; /* id of the act to undo */

	/* Looks for further files that possibly have the content. Calls try with the absolute path
	 * of each, until the result of try is not 0, and returns that result. Returns 0 if there is
	 * no such file, or -errno. NULL: only the kept file is tried. */
	int (*find)(void *context, const struct record *record,
		    int (*try)(void *trying, const char *path), void *trying);
	/* Receives the result of each file. */
	void (*report)(void *context, const struct record *record,
		       const struct undo_result *result);
	/* Receives each file that has fewer names than the copy had, at the end: the others are not
	 * known, or could not be brought back. NULL: nothing is reported. */
	void (*split)(void *context, const char *path, uint64_t missing);
	void *context;
};

/* Undoes the part of an act below a path, with a journal that is open already. The changed names of
 * other acts must be synced. Content is only copied from the kept files. Returns 0, -ENODATA if not
 * all of it is back, or another -errno. */
MUST_CHECK int undo_part(struct journal *journal, const char *act, const char *path);

/* Undoes the act. Skips files that an earlier undo brought back. Ends early if stop_requested().
 * Returns 0, -EWOULDBLOCK if another process acts on this index, or -errno of the journal or the
 * log. */
MUST_CHECK int undo_act(const struct undo_settings *settings);

/* Returns the outcome as text for people, which follows the path and a colon in a message. */
const char *undo_outcome_text(enum undo_outcome outcome);

#endif

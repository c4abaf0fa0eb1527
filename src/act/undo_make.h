/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_MAKE_H
#define ACT_UNDO_MAKE_H

/* Makes the file of a record again, with the content of another file. Only act/ includes this
 * header. One thread. */

#include <stdbool.h>

#include "act/act_log.h"
#include "act/file_copy.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "act/undo.h"
#include "base/attributes.h"
#include "base/metadata.h"

/* A copy with several names, of which one was brought back. Its further names become hard links of
 * that file. */
struct brought_back {
	/* of the copy */
	uint64_t inode;
	int64_t born_ns;
	uint64_t filesystem;
	struct hash128 hash;
	uint64_t links;
	/* of the file now */
	uint64_t inode_now;
	int64_t born_now_ns;
	char *path;
	bool is_made; /* it is another file than the copy */
};

/* These copies, in a hash table with linear probing. */
struct brought_back_table {
	struct brought_back *slots; /* path NULL: free */
	size_t count, room;
};

struct undo {
	const struct undo_settings *settings; /* borrowed */
	struct journal *journal;
	struct durable durable;
	struct brought_back_table linked;
};

/* One file that is being brought back. */
struct bringing {
	struct undo *undo;
	const struct record *record;
	struct place place; /* of the path */
	struct undo_result *result;
	uint64_t link_inode; /* number of the hard link that the act made, if it is at the path */
	bool is_busy; /* a file that possibly has the content is open for writing */
	/* A file has the hash, but its content is not certain: see undo_is_certain(). */
	bool is_uncertain;
	bool is_made; /* the file was made anew, and is not another name of the copy */
};

/* ---- the places of the files -------------------------------------------------------------- */

/* Outcome: a missing directory was made as a private one, and that was logged. */
enum {
	UNDO_PLACE_PRIVATE = 1,
};

/* Opens the directory of the file of a record, below its source. Makes missing directories. That of
 * the file gets its former owner and mode. Of directories above it these are unknown, so they are
 * private: the mode of the directory above could give access that the former one did not give. A
 * directory on another file system than at the time of the act is not used, as the former one is
 * probably not mounted. Returns 0, UNDO_PLACE_PRIVATE, -ENODEV if the source or the file system is
 * absent, or another -errno.
 *
 * any_filesystem	any file system is used, except that the source must exist
 * absent		set for -ENODEV: the source or mount point, borrowed from the record */
MUST_CHECK int undo_place_open(struct place *place, const struct record *record,
			       bool any_filesystem, const char **absent);

/* Returns whether the directory is certainly on the file system of the time of the act. */
bool undo_place_is_certain(const struct place *place, const struct record *record);

/* Opens the directory of an absolute path without following a symlink. Returns 0 or -errno. */
MUST_CHECK int undo_place_open_path(struct place *place, const char *path);

/* ---- making a file ------------------------------------------------------------------------ */

/* Fills in the outcome, or that of a failed call: error is an -errno. */
void undo_end(struct bringing *bringing, enum undo_outcome outcome);
void undo_fail(struct bringing *bringing, int error);

/* Remembers the file at the path, if the copy had further names. A file of another user is not the
 * copy, even if it has the hash. If memory is short, further names become files of their own. */
void undo_remember(const struct bringing *bringing);

/* Calls settings->split for each file that was made anew and has fewer names than the copy had. */
void undo_report_split(const struct undo *undo);

/* Frees what undo_remember() remembered. */
void undo_forget(struct undo *undo);

/* Tries the kept file of the record, then the files that settings->find finds, until the result of
 * try is not 0. Returns that result, or 0 or -errno of settings->find. */
MUST_CHECK int undo_search(const struct bringing *bringing,
			   int (*try)(void *trying, const char *path), void *trying);

/* Makes a hard link to another name of the same copy: one that was brought back, or one that the
 * act left alone. The latter has the same inode, and must have the content of the record. Returns
 * 0, -ENOENT if there is none, or another -errno. */
MUST_CHECK int undo_join(struct bringing *bringing, const char *name);

/* Returns whether a file that was at the path already is one that an earlier undo brought back: a
 * file of the user can have the same content, but not the same metadata. */
bool undo_is_brought_back(const struct stat *file, const struct record *record);

/* Outcomes of the functions below. */
enum {
	UNDO_DIFFERS = 1, /* the file has another content */
	UNDO_FORGEABLE = 2, /* it has the hash, but see undo_is_certain() */
};

/* Returns whether the content of a held file with the hash of the record is certain. The hash is no
 * cryptographic one: a user can make another file with it. So the file must be one of these:
 *
 *	- a file of root, of the former owner, or of the user who undoes. If the record has set-ID
 *	  bits or capabilities, the file must be root's, or that of the user whose rights a
 *	  set-user-ID file gives, and no group or other user may write to it
 *	- the kept file, unchanged since the act compared all bytes, if its file system shows each
 *	  change by the ctime
 */
bool undo_is_certain(const struct held *held, const struct record *record);

/* Returns the metadata that a record has; the xattrs are borrowed. */
struct metadata undo_metadata_of(const struct record *record);

/* Notes in the result what metadata_apply() could not set. */
void undo_note_refused(struct bringing *bringing, const struct metadata_refused *refused);

/* Compares the content of a held file with that of the record. Returns 0, UNDO_DIFFERS, -EBUSY or
 * another -errno. */
MUST_CHECK int undo_check_content(const struct held *held, const struct record *record);

/* Holds a file that must have the content of the record. Returns 0, UNDO_DIFFERS, -EBUSY, or
 * another -errno. */
MUST_CHECK int undo_hold(struct held *held, const struct place *place, const struct record *record);

/* The private names of a file that an undo makes, and the intent that has them. */
struct undo_private {
	struct intent intent; /* borrows the texts of the record */
	char other[OTHER_NAME_SIZE];
	char part[OTHER_NAME_SIZE + sizeof(FILE_COPY_PART)]; /* of an incomplete file */
};

/* Writes an intent for the path of a record to the journal. Returns 0 or -errno.
 *
 * link_inode	of the hard link that the file replaces; 0: none
 */
MUST_CHECK int undo_intend(const struct bringing *bringing, enum intent_kind kind,
			   uint64_t link_inode, struct undo_private *names);

/* Makes the file from a held one, with this name in the directory of the path. Returns the results
 * of file_copy_restore(), or UNDO_FORGEABLE. */
MUST_CHECK int undo_make_as(struct bringing *bringing, const struct held *from, const char *name,
			    const char *part);

/* Makes the file at its path from a held one. If its name must be a private one for a moment, that
 * name is in the journal. Returns 0, UNDO_DIFFERS, UNDO_FORGEABLE or -errno. */
MUST_CHECK int undo_make(struct bringing *bringing, const struct held *from);

/* ---- one file, folder or other name (undo_file.c) ----------------------------------------- */

/* Brings back the file of a record. An intent that is left in the journal is resolved by
 * recovery_run(). Changed names are noted in undo->durable, and not synced. */
void undo_file(struct undo *undo, const struct record *record, struct undo_result *result);

/* Remembers a file that an earlier undo brought back, for undo_join(). */
void undo_recall(struct undo *undo, const struct record *record);

/* Sets the mtime of a folder that undo_special() made. */
void undo_restore_time(const struct record *record);

#endif

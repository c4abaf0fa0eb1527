/* SPDX-License-Identifier: MIT */
#ifndef ACT_ENTRY_H
#define ACT_ENTRY_H

/* An act on one file or folder, from its plan until the journal knows its end. One thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "act/act.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "act/record.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/xattrs.h"

/* The path of the root of a source. */
#define FOLDER_ROOT "."

struct act_session;

struct act_entry {
	bool is_folder;
	struct act_file copy;
	struct act_file kept; /* path NULL: other hosts keep the content */
	struct act_attested attested; /* that content */
	struct attributes copy_attributes, kept_attributes;
	const char *to; /* ACT_MOVE: absolute path of the copy after the move */
	uint64_t folder_bytes; /* for the record of a folder */
	char other[OTHER_NAME_SIZE]; /* quarantine name of the copy, or of its link */
	struct intent intent; /* what the journal has */
	struct record record; /* what the log gets; the intent has it as text, too */
	struct xattrs xattrs; /* of the record */
	/* Nothing can change in the copy's folder, so the act has no intent: its first step fails.
	 */
	bool is_read_only;
};

/* Sets what an act is about. Copies the texts into the memory of the session. Returns 0 or
 * -ENOMEM.
 *
 * kept		NULL: other hosts keep the attested content
 * attested	NULL if there is a kept file
 */
MUST_CHECK int entry_set(struct act_session *session, struct act_entry *entry,
			 const struct act_file *kept, const struct act_attested *attested,
			 const struct act_file *copy);

/* Sets entry->to: <destination>/<tree>/<path> for ACT_MOVE, else NULL. Returns 0 or -ENOMEM. */
MUST_CHECK int entry_set_destination(struct act_session *session, struct act_entry *entry);

/* Makes the intent and the record of an act, with what is known before it. The destination must be
 * set. Returns 0 or -errno.
 *
 * place	the copy; directory -1: it is missing, and the act will be refused
 */
MUST_CHECK int entry_plan(struct act_session *session, struct act_entry *entry,
			  const struct place *place);

/* Outcome: the record is another one now. */
enum {
	ENTRY_CHANGED = 1,
};

/* Updates the metadata of the record from the copy that is held now, and the hash if the index has
 * none or possibly another one. Returns 0, ENTRY_CHANGED, or -errno.
 *
 * kept		NULL: other hosts keep the content
 */
MUST_CHECK int entry_update(struct act_entry *entry, const struct held *copy,
			    const struct held *kept);

/* Appends the absolute path of a file or folder. Returns 0 or -errno. */
MUST_CHECK int entry_absolute_path(const struct act_session *session, const struct act_file *file,
				   struct bytes *path);

/* ---- the records of an act ----------------------------------------------------------------- */

struct recording {
	char id[ACT_ID_SIZE];
	struct act_order order;
	uint64_t files; /* records so far */
	/* the last file system and mount, which take several system calls to find */
	dev_t device;
	uint64_t mount_id; /* 0: the kernel has no ids of mounts */
	uint64_t filesystem;
	struct mount_identity mount; /* of the path below, or unknown */
	struct bytes mount_path;
};

/* Sets file system, mount, owner and mode of the directory of the copy in the record. The path of
 * the mount is valid until the next call. Returns 0 or -ENOMEM. */
MUST_CHECK int recording_note_place(struct recording *recording, struct record *record,
				    const struct place *place);

/* Starts the record of a copy, whose command and hash are set: sets what is known before the act.
 *
 * place	the copy; directory -1: it is missing
 * xattrs	filled with the attributes of the copy, and borrowed by the record
 *
 * Returns 0 or -errno. */
MUST_CHECK int recording_plan(struct recording *recording, struct record *record,
			      const struct place *place, struct xattrs *xattrs);

#endif

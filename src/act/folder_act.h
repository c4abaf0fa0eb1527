/* SPDX-License-Identifier: MIT */
#ifndef ACT_FOLDER_ACT_H
#define ACT_FOLDER_ACT_H

/* Removes or moves a whole folder that is equal to a kept one, or leaves it as it is. No content is
 * lost, even if other programs change the folders meanwhile. These steps protect it, in this order:
 *
 *	open		Both folders are opened below their sources. They must be the indexed
 *			directories, and neither may contain the other, a source or the index.
 *	comparison	folder_check_run() reads all names from the disk. Each name must be in the
 *			kept folder, too, with the same type and content; files are compared under
 *			leases, and no mount point may be in the folders.
 *	sync		The file system of the kept folder is synced.
 *	journal		The intent is on the disk before the rename (act/journal.h).
 *	quarantine	The folder is renamed to a private name in its directory, so that no program
 *			can open a file in it by its path.
 *	second check	All names are read again, and each file must be free of writers and be
 *			unchanged, or equal still. The kept folder must be at its path. If a check
 *			fails, the folder gets its own name back.
 *	move, trash	The folder is renamed into the destination or the trash.
 *	records		The log gets a record of each name, for undo, and the journal notes that the
 *			folder will be emptied.
 *	emptying	Each file is checked under leases once more and then removed as by
 *			ACT_REMOVE, with a last check. If a check fails, the folder gets its name
 *			back, and what was removed is copied back from the kept folder (act/undo.h).
 *
 * If the process is killed, recovery gives the folder its name back, or completes the emptying if
 * the kept folder still has all that is left. One thread. */

#include "act/act.h"
#include "act/folder_check.h"
#include "act/one_act.h"
#include "base/attributes.h"

/* One act on a folder. */
struct folder_act {
	struct act_entry entry;
	struct one_act one; /* the folder as the copy; its held.fd is open for reading */
	struct subject kept; /* the kept folder, as above */
	struct folder_pair pair;
	struct folder_check check;
	struct bytes leftover;
	size_t records; /* in memory */
};

/* Acts on a folder and reports the result, unless it was stopped before a change. Returns 0,
 * ACT_CANNOT_SYNC (logged), ACT_STOPPED, or -errno of the journal. */
MUST_CHECK int folder_act_run(struct act_session *session, const struct act_file *kept,
			      const struct act_file *copy);

/* Sets result to the outcome of the act as far as it can be found without a change and without a
 * comparison of bytes.
 *
 * inside	replaced by the text of result->inside
 */
void folder_act_try(struct act_session *session, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result, struct bytes *inside);

#endif

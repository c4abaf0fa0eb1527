/* SPDX-License-Identifier: MIT */
#ifndef ACT_RECOVERY_H
#define ACT_RECOVERY_H

/* Undo of acts that a power failure or a signal interrupted: each file gets its own name back.
 *
 *	removal		The file under the quarantine name is renamed to its own name.
 *	move		If the file that the act made is at the destination and has the same bytes,
 *			the move is completed. If not, the copy gets its own name back.
 *	link		Link and copy exchange their names again and the link is removed. If a
 *			program wrote to the linked file since, the copy gets a name beside the
 *			link instead.
 *	trash		The copy gets its own name back. An info file without a file is removed.
 *	folder		The folder gets its own name back. If files in it were removed already, the
 *			removal is completed, after a comparison of all that is left with the kept
 *			folder.
 *	rescue		Bytes in a rescue folder are copied back, synced, and then removed there.
 *	dedupe		Nothing. It is in the log as interrupted if its disk is not mounted.
 *
 * No file is ever replaced: if another file has the copy's own name, the copy gets the name
 * NAME.kept-N. An intent whose disk is not mounted stays in the journal. Running undo twice does no
 * harm. One thread. */

#include <stdbool.h>
#include <stdint.h>

#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "base/attributes.h"

struct recovery {
	uint64_t files; /* files that have their names again */
	uint64_t completed; /* moves, and removals of folders, that were completed */
	bool had_intents; /* set by recovery_run_of() */
	uint64_t left; /* acts that could not be undone now; each cause was logged */
	uint64_t given_up; /* acts that ended although they could not be undone */
	uint64_t incomplete; /* files that an undo was making at their paths; each was logged */
};

struct recovery_wish {
	/* Receives each intent that cannot be undone now; the cause was logged. Returns whether it
	 * is given up. Then it ends, and its record is written to the log as of an interrupted act.
	 * NULL: none is. */
	bool (*give_up)(void *context, const struct intent *intent);
	void *context;
	bool is_quiet; /* the causes are not logged: an earlier call did that */
	bool is_ending; /* this process did the acts, and was not interrupted */
};

/* Undoes all acts in a journal and logs each file. An act that cannot be undone now stays in the
 * journal, for example because its source or the destination of its move is not mounted. If a file
 * of an act is as it was before, adds one record of RECORD_RETURNED for this act to the log.
 *
 * wish		NULL: none
 *
 * Returns 0 or -errno of the journal. */
MUST_CHECK int recovery_run(struct journal *journal, const struct recovery_wish *wish,
			    struct recovery *undone);

/* Opens the journal of an index, if it is not empty, and undoes its acts. Returns 0, -EWOULDBLOCK
 * if another process acts on the index, or -errno. */
MUST_CHECK int recovery_run_of(const char *folder, const struct recovery_wish *wish,
			       struct recovery *undone);

/* Returns the absolute quarantine path of the copy. The caller frees it. NULL: memory is short. */
char *recovery_other_path(const struct intent *intent);

/* Gives a file with a quarantine name the name of a link to an equal file, and removes the link, as
 * recovery does for an intent of INTENT_LINK or INTENT_SYMLINK. If the linked file is not equal,
 * sets *is_edited; then, or if another file has the name, uses the name NAME.kept-N and sets
 * leftover to it. Returns 0 or -errno. */
MUST_CHECK int recovery_part(const struct place *place, const struct intent *intent,
			     bool *is_edited, struct bytes *leftover);

/* Removes a held file from its quarantine name, and sets *is_gone. If a program opened the file for
 * writing in the last moment, waits for it and writes the file again, with its own name or
 * leftover: see place_restore(). Returns 0, or -errno if nothing was removed, or if the file
 * could not be written. */
MUST_CHECK int recovery_remove(const struct place *place, const char *other, struct held *held,
			       struct bytes *leftover, bool *is_gone);

#endif

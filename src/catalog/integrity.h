/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_INTEGRITY_H
#define CATALOG_INTEGRITY_H

/* Is the index on disk what was written? Only catalog/ includes this.
 *
 * LMDB has no checksums of its own and believes every page: a damaged page may crash the process
 * that reads it. So a clean stop leaves a seal (size and hash of the data file), and a data file
 * without a valid seal is read wholly by a child process before this one opens it.
 *
 * All take the descriptor of the index folder and are called by the holder of its lock, before
 * LMDB is opened and after it is closed; but those that change nothing need no lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum index_state {
	INDEX_SOUND = 0, /* or there is none */
	INDEX_DAMAGED = 1,
	/* not closed cleanly, and of a format that this program cannot check */
	INDEX_NEWER = 2,
	INDEX_OLDER = 3,
};

/* Looks only at the format, and changes nothing: of an index that cannot be read it is INDEX_SOUND,
 * as reading it will tell. May crash where the index is damaged. */
enum index_state index_examine_format(const char *folder);

/* Can the data file be opened? Forks: call it before threads are started.
 * distrusted: it is checked also where the seal holds. An enum index_state or -errno. */
MUST_CHECK int index_examine(int folder_fd, const char *folder, bool distrusted);

/* The same for those who do not hold the lock, whatever the seal says, and nothing is changed. */
MUST_CHECK int index_check(int folder_fd);

/* Examines an index for a reader that does not hold the lock. Trusts a seal that holds; without a
 * seal, a child process reads every record. Changes nothing and logs nothing. Forks: call it before
 * threads are started.
 *
 * Returns an enum index_state or -errno. */
MUST_CHECK int index_examine_unlocked(int folder_fd);

MUST_CHECK int index_seal(int folder_fd);
MUST_CHECK int index_unseal(int folder_fd);

/* Puts the data file aside (in the place of an earlier damaged one). */
MUST_CHECK int index_set_aside(int folder_fd);

/* Reads and checks everything, the work of the child process; what is sound is written anew, see
 * copy.h, where a copy is wanted. An enum index_state. */
MUST_CHECK int index_check_records(const char *folder, bool copied);

/* Was the index last written in this start of the system, as far as that can be told? */
bool index_is_of_this_boot(int folder_fd);
MUST_CHECK int index_note_boot(int folder_fd);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_INTEGRITY_H
#define CATALOG_INTEGRITY_H

/* Checks that the index on disk is what was written. Only catalog/ includes this.
 *
 * LMDB has no checksums and trusts every page. A damaged page can crash the process that reads the
 * page. So a clean close writes a seal: the size and hash of the data file. A data file without a
 * valid seal is read wholly by a child process before this process opens it.
 *
 * All functions take the descriptor of the index folder. The caller must hold the lock of the
 * index. LMDB must not be open. Functions that change nothing need no lock.
 */

#include <stdbool.h>

#include "base/attributes.h"

enum index_state {
	INDEX_SOUND = 0, /* or the folder has no index */
	INDEX_DAMAGED = 1,
	/* Not closed cleanly, and of a format that this program cannot check. */
	INDEX_NEWER = 2,
	INDEX_OLDER = 3,
};

/* Checks only the format and changes nothing. An unreadable index counts as INDEX_SOUND, as the
 * error is reported when the index is opened. Can crash if the index is damaged. */
enum index_state index_examine_format(const char *folder);

/* Checks whether the data file can be opened. Must be called before threads are started, as it
 * forks. distrusted: check the data file even if the seal is valid. Returns an enum index_state or
 * -errno. */
MUST_CHECK int index_examine(int folder_fd, const char *folder, bool distrusted);

/* As index_examine() with distrusted, but needs no lock and changes nothing. */
MUST_CHECK int index_check(int folder_fd);

/* Examines an index for a reader without the lock. Trusts a valid seal; without one, a child
 * process reads every record. Changes nothing and logs nothing. Must be called before threads are
 * started, as it forks. Returns an enum index_state or -errno. */
MUST_CHECK int index_examine_unlocked(int folder_fd);

MUST_CHECK int index_seal(int folder_fd);
MUST_CHECK int index_unseal(int folder_fd);

/* Renames the data file, replacing an earlier damaged one. */
MUST_CHECK int index_set_aside(int folder_fd);

/* Returns true if the last write to the index was after the last boot, as far as known. */
bool index_is_of_this_boot(int folder_fd);
MUST_CHECK int index_note_boot(int folder_fd);

#endif

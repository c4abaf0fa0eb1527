/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_PLACE_H
#define ACT_UNDO_PLACE_H

/* The places of files that an undo brings back. Any thread. */

#include <stdbool.h>

#include "act/place.h"
#include "act/record.h"
#include "base/attributes.h"

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

#endif

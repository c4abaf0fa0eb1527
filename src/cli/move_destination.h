/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOVE_DESTINATION_H
#define CLI_MOVE_DESTINATION_H

/* The destination folder of `move`. For the main thread. */

#include "base/attributes.h"
#include "source/source.h"

/* Refuses a folder that is a source, is inside a source or contains a source, also through a bind
 * mount. Later commands could find moved copies in such a folder, and act upon them again. If the
 * user named single files, only the folders that the user named count.
 *
 * destination	absolute, without symlinks; NULL: nothing is moved
 *
 * Returns 0 or -EINVAL, logged. */
MUST_CHECK int move_destination_check(const char *destination, const struct sources *sources);

#endif

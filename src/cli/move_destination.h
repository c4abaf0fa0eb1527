/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOVE_DESTINATION_H
#define CLI_MOVE_DESTINATION_H

/* The destination folder of `move`. For the first thread. */

#include "base/attributes.h"
#include "source/source.h"

/* Refuses a folder that is or is inside a source, or contains one, also through another mount of
 * the same file system (mount --bind). Otherwise, copies moved there would be found as copies
 * again.
 *
 * destination	absolute, without symlinks; NULL: nothing is moved
 *
 * Returns 0 or -EINVAL, logged. */
MUST_CHECK int move_destination_check(const char *destination, const struct sources *sources);

#endif

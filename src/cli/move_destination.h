/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOVE_DESTINATION_H
#define CLI_MOVE_DESTINATION_H

/* The folder to which `move` moves copies. For the first thread. */

#include "base/attributes.h"
#include "source/source.h"

/* Refuses a folder that is or lies in a source, or has one in it, also through another mount of the
 * same file system (mount --bind): what is moved there would be found as a copy again.
 *
 * destination	absolute, without symlinks; NULL: nothing is moved
 *
 * 0 or -EINVAL, logged. */
MUST_CHECK int move_destination_check(const char *destination, const struct sources *sources);

#endif

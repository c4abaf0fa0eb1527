/* SPDX-License-Identifier: MIT */
#ifndef BASE_DIRECTORY_H
#define BASE_DIRECTORY_H

/* Reads the names in a directory given by a descriptor, which may be O_PATH. Except by
 * directory_read(), the position of the descriptor is neither used nor changed, and an atime is not
 * changed if the user may prevent that. Any thread.
 */

#include "base/attributes.h"

/* Receives an entry, and a descriptor of its directory that is open for reading. A result other
 * than 0 ends the visit. */
typedef int directory_visitor(void *context, int directory, const struct dirent *entry);

/* Visits each entry except "." and "..". Opens the directory again, so it must be searchable.
 * Returns 0, the visitor's result, or -errno. */
MUST_CHECK int directory_visit(int directory, directory_visitor *visitor, void *context);

/* Visits each entry except "." and "..", from the position of the descriptor on. The directory need
 * not be searchable. Returns as directory_visit().
 *
 * fd	open for reading, closed in any case; or an -errno, which is returned
 */
MUST_CHECK int directory_read(int fd, directory_visitor *visitor, void *context);

/* Returns 0 if the directory is empty, -ENOTEMPTY, or another -errno.
 *
 * ignored	a name that the directory may have; NULL: none */
MUST_CHECK int directory_check_empty(int directory, const char *ignored);

/* Removes all files of a directory. Returns 0 or -errno; -EISDIR for a subdirectory. */
MUST_CHECK int directory_remove_files(int directory);

#endif

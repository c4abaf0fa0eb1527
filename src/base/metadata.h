/* SPDX-License-Identifier: MIT */
#ifndef BASE_METADATA_H
#define BASE_METADATA_H

/* Sets the metadata of a new file. One thread at a time. */

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/attributes.h"
#include "base/xattrs.h"

struct metadata {
	uint32_t mode; /* permissions, 07777 */
	uint32_t uid;
	uint32_t gid;
	struct timespec mtime;
	const struct xattrs *xattrs; /* borrowed */
};

/* Numbers of owners, attributes and times that could not be set: this user may not set them, or the
 * file system cannot store them. A time that is only rounded is not counted. */
struct metadata_refused {
	uint64_t owners;
	uint64_t xattrs;
	uint64_t times;
};

/* Returns the metadata of a file from the results of stat(2) and xattrs_read(), which are
 * borrowed. */
struct metadata metadata_of(const struct stat *status, const struct xattrs *xattrs);

/* Sets the metadata of the open file fd, which may be O_PATH: owner, attributes, mode, and finally
 * the mtime. If a file other than a directory does not get its owner and group, its set-user-ID,
 * set-group-ID and sticky bits are not set. If the access ACL is refused, the mode is reduced so
 * that no user gains access (xattrs_safe_mode). Adds to *refused. Returns 0 or -errno. */
MUST_CHECK int metadata_apply(const struct metadata *metadata, int fd,
			      struct metadata_refused *refused);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_METADATA_H
#define BASE_METADATA_H

/* Giving a file that was made what it is to have besides its bytes. One thread at a time. */

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/attributes.h"
#include "base/xattrs.h"

struct metadata {
	uint32_t mode; /* of it the permissions, 07777 */
	uint32_t uid;
	uint32_t gid;
	struct timespec mtime;
	const struct xattrs *xattrs; /* borrowed */
};

/* What this user may not set, counted. */
struct metadata_refused {
	uint64_t owners;
	uint64_t xattrs;
};

/* What stat(2) and xattrs_read() said of another file, which are borrowed. */
struct metadata metadata_of(const struct stat *status, const struct xattrs *xattrs);

/* Sets all of it on what fd is open on, also by O_PATH: the owner, attributes, mode, and last the
 * time. The set-user-ID and set-group-ID bits are left off a file that does not get its owner;
 * who may do something only because an ACL is refused may not. 0 or -errno. */
MUST_CHECK int metadata_apply(const struct metadata *metadata, int fd,
			      struct metadata_refused *refused);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INGEST_LISTING_H
#define INGEST_LISTING_H

/* One directory as the file system shows it. Not shared between threads; used again for one
 * directory after the other. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/record.h"
#include "ingest/exclude.h"
#include "ingest/ingest.h"

struct listed {
	struct name name; /* with a NUL behind */
	uint64_t inode; /* as the directory says, to examine names in this order */
	uint64_t cookie; /* the first that the name may have, where it is compared with the index */
	int error; /* positive errno of statx, 0 */
	bool mount_root;
	uint32_t events; /* of the recheck; 0: the whole directory is listed */
	bool keeps_bytes; /* see name_events_keep_bytes() */
	struct attributes attributes;
};

/* A directory whose names are wanted. */
struct listed_dir {
	int fd;
	const char *path; /* relative to its source, for globs that hold a slash */
};

struct listing {
	struct arena memory; /* names and entries */
	struct listed **entries;
	size_t count;
	size_t capacity;
	uint64_t excluded; /* names left out, since the listing was made */
	uint32_t filesystem_type; /* f_type of statfs(2) of the directory, 0 where that failed */
	void *buffer; /* for getdents64 */
};

void listing_free(struct listing *listing);

/* Reads the names in dir and examines each of them, in the order of inode numbers: on ext4 that is
 * the order on disk, which the order of names is not. Names that vanish meanwhile are left out.
 *
 * 0 or the -errno that reading the directory ended with.
 */
MUST_CHECK int listing_read(struct listing *listing, struct catalog *catalog,
			    const struct listed_dir *dir, const struct exclude *exclude);

/* Examines only these names, which become the listing; those that are not there are left out. */
MUST_CHECK int listing_recheck(struct listing *listing, struct catalog *catalog,
			       const struct listed_dir *dir, const struct exclude *exclude,
			       const struct recheck *recheck);

/* Forgets all names: the listing of a directory that is not entered. */
void listing_clear(struct listing *listing);

#endif

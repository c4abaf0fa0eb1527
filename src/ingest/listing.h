/* SPDX-License-Identifier: MIT */
#ifndef INGEST_LISTING_H
#define INGEST_LISTING_H

/* The names of one directory and their attributes. One struct listing is reused for many
 * directories. Not shared between threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "catalog/record.h"
#include "ingest/exclude.h"
#include "ingest/ingest.h"

struct listed {
	struct name name; /* followed by a NUL */
	uint64_t inode; /* as the directory reports it: names are examined in this order */
	/* first cookie that the name can have; set when the name is compared with the index */
	uint64_t cookie;
	int error; /* positive errno of statx, 0 */
	bool mount_root;
	uint32_t events; /* of the recheck; 0: the whole directory is listed */
	bool keeps_bytes; /* see name_events_keep_bytes() */
	struct attributes attributes;
};

/* A directory to list. */
struct listed_dir {
	int fd;
	const char *path; /* relative to its source; used for globs with a slash */
};

struct listing {
	struct arena memory; /* of names and entries */
	struct listed **entries;
	size_t count;
	size_t capacity;
	uint64_t excluded; /* names left out, counted since the listing was made */
	uint32_t filesystem_type; /* f_type of statfs(2) of the directory, 0 if that failed */
	void *buffer; /* for getdents64 */
};

void listing_free(struct listing *listing);

/* Reads the names in dir and their attributes. Attributes are read in the order of inode numbers,
 * which on ext4 is the order on the disk. Names that are deleted meanwhile are left out.
 *
 * Returns 0, or the -errno at which reading the directory ended.
 */
MUST_CHECK int listing_read(struct listing *listing, struct catalog *catalog,
			    const struct listed_dir *dir, const struct exclude *exclude);

/* Reads the attributes of these names only. Missing names are left out. Returns 0 or -errno. */
MUST_CHECK int listing_recheck(struct listing *listing, struct catalog *catalog,
			       const struct listed_dir *dir, const struct exclude *exclude,
			       const struct recheck *recheck);

/* Removes all names, as for a directory that is not entered. */
void listing_clear(struct listing *listing);

#endif

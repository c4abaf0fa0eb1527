/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DIFF_H
#define INGEST_DIFF_H

/* What is different between one directory's listing and what the index has of it. Makes no system
 * call. Not shared between threads; used again for one directory after the other. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/change.h"
#include "ingest/listing.h"

/* A directory found in the listing, to be looked at next, deeply. Not one that is not entered. */
struct found_dir {
	struct name name; /* these two borrowed from the listing */
	const struct attributes *attributes;
	uint64_t id;
	bool known; /* the index has it already */
};

struct diff {
	struct name_change *changes; /* names borrowed from the listing */
	size_t count;
	size_t capacity;
	struct found_dir *dirs;
	size_t dir_count;
	size_t dir_capacity;
	uint64_t not_entered; /* directories left alone, since the diff was made */
	struct arena old; /* what the index has, while they are compared */
};

/* The directory that is compared. */
struct diff_dir {
	uint64_t id;
	uint32_t source;
	uint32_t filesystem; /* the catalog's number */
	uint32_t filesystem_type; /* f_type of statfs(2) */
	bool known; /* false: the index has nothing of it yet */
	bool cross_mounts;
	bool by_path; /* where a directory is decides which of its names are left out */
	const struct recheck *recheck; /* borrowed */
	const struct ingest_hooks *hooks; /* borrowed, or NULL */
	int fd; /* of the directory, for watch->identify */
	struct attributes hidden; /* of a directory that is left out: the index folder */
	struct catalog *catalog; /* borrowed */
	struct catalog_reader *reader; /* set while they are compared */
};

void diff_free(struct diff *diff);

/* Fills diff->changes and diff->dirs: with RECHECK_NAMES only what differs in those names. 0 or
 * -errno. */
MUST_CHECK int diff_make(struct diff *diff, struct diff_dir *dir, struct listing *listing);

/* Puts a further change, about the directory itself, behind the others. */
MUST_CHECK int diff_add(struct diff *diff, const struct name_change *change);

#endif

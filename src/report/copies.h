/* SPDX-License-Identifier: MIT */
#ifndef REPORT_COPIES_H
#define REPORT_COPIES_H

/* The copies of one group, in the order in which people want to see them. One thread at a time;
 * a struct copies that is all zero is empty and valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/record.h"

struct catalog_reader;

/* What is to become of a copy. All names of an inode have the same fate. */
enum fate {
	FATE_KEPT, /* it stays, and the others may go for it */
	FATE_REDUNDANT, /* it may go */
	FATE_SPARED, /* it is not the kept one, but stays too */
};

/* One name of one copy. */
struct copy {
	uint64_t file;
	uint64_t dir; /* in which the name is */
	/* The outermost folder that must stay whole and in which the name is, 0: none, see bundle.h. Set
	 * by who decides about fates. */
	uint64_t bundle;
	bool stays_for_bundle; /* it would be redundant, were it not in one */
	uint32_t source;
	uint32_t first_seen; /* number of the scan that found its inode */
	enum fate fate;
	const char *why; /* a few words about the fate, ASCII, static; NULL before rules_apply() */
	bool another_name; /* of the inode that the copy before it is */
	size_t path; /* where its path relative to the source begins in struct copies' paths */
	size_t lead; /* the same for the name that stands for its inode */
	uint32_t lead_source;
};

struct copies {
	struct copy *list;
	size_t count;
	size_t capacity;
	size_t redundant; /* inodes that may go */
	struct bytes paths; /* each ends with a NUL */
};

void copies_free(struct copies *copies);
#define CLEANUP_COPIES CLEANUP(copies_free)

/* Puts all names of all inodes of the group in place of what was there: the inode that the view
 * keeps first, the rest, which are redundant, by source and path, names of one inode together.
 * Memory for the names of one group. 0 or -errno. */
MUST_CHECK int copies_collect(struct copies *copies, struct catalog_reader *reader,
			      const struct group_record *group);

/* Appends all names of a file to those that are there, as one inode. */
MUST_CHECK int copies_add_file(struct copies *copies, struct catalog_reader *reader, uint64_t file,
			       enum fate fate);

/* Puts them in the order of copies_collect() again after fates have changed. */
void copies_sort(struct copies *copies);

/* Forgets the copies, not the memory. */
void copies_clear(struct copies *copies);

/* The path of a copy, relative to its source; until the copies change. */
const char *copy_path(const struct copies *copies, const struct copy *copy);

#endif

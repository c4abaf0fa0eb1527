/* SPDX-License-Identifier: MIT */
#ifndef PAGE_UNREADABLE_FACTS_H
#define PAGE_UNREADABLE_FACTS_H

/* The names of the first files and folders that could not be read. One thread at a time. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct catalog_reader;
struct sources;

/* Highest number of files and folders that are named. */
#define UNREADABLE_MAX 20

struct unreadable {
	struct bytes path; /* absolute */
	int error; /* positive errno */
};

struct unreadable_facts {
	struct unreadable list[UNREADABLE_MAX];
	size_t count;
};

void unreadable_facts_free(struct unreadable_facts *facts);

/* Fills in facts, which must be all zero. Returns 0 or -errno. The caller must free facts in both
 * cases. */
MUST_CHECK int unreadable_list(struct unreadable_facts *facts, struct catalog_reader *reader,
			       const struct sources *sources);

#endif

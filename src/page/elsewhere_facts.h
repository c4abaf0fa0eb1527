/* SPDX-License-Identifier: MIT */
#ifndef PAGE_ELSEWHERE_FACTS_H
#define PAGE_ELSEWHERE_FACTS_H

/* What of each source is also in the other sources, by the index: what `covered --ignore-symlinks`
 * says of the files that the index knows. Gathered in portions. Linear in sources and files. One
 * thread at a time. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/scan.h"
#include "report/missing.h"

struct filter;
struct sources;

/* Highest number of sources that are compared with the others. A page of more has no such facts. */
#define ELSEWHERE_SOURCES_MAX 8

struct page_elsewhere {
	struct missing_tally all; /* the files of the source */
	uint64_t missing, missing_bytes; /* those that are in no other source */
};

struct elsewhere_facts {
	struct page_elsewhere list[ELSEWHERE_SOURCES_MAX]; /* by number of the source */
	size_t count; /* 0: there are no facts */
};

/* The state between portions. */
struct elsewhere_gathering {
	const struct sources *sources;
	struct filter *filter;
	struct elsewhere_facts *facts;
	struct missing_finder *finder; /* of source number facts->count; NULL: not begun */
	struct missing_folders folders;
	char *of[2], *in[ELSEWHERE_SOURCES_MAX];
	struct size_entry after; /* the last file that was examined */
};

void elsewhere_gathering_free(struct elsewhere_gathering *gathering);

/* Examines files while *left is above 0. sources, filter and facts must be set, and the rest zero
 * at the first call. Returns 0, -ENOENT if the facts are complete, or another -errno. */
MUST_CHECK int elsewhere_gather(struct elsewhere_gathering *gathering,
				struct catalog_reader *reader, size_t *left);

#endif

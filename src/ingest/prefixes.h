/* SPDX-License-Identifier: MIT */
#ifndef INGEST_PREFIXES_H
#define INGEST_PREFIXES_H

/* Sorts the files of a window by size and by a hash of their first bytes.
 *
 * A file of at most PREFIX_BYTES is read wholly by that, and so compared on the spot: the bytes of
 * the first file of each content are kept in memory for the next ones with its hash, as long as
 * the budget lasts. What cannot be decided here (longer files, contents whose bytes were not
 * kept) is left to refine.h.
 *
 *   head (size, hash)
 *     `- content: files known to be byte-equal     only of small files; several: collisions
 *          `- file ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "ingest/plan.h"

/* Most files are shorter; of a longer one, that much tells nearly always whether it differs. */
#define PREFIX_BYTES ((size_t)16 << 10)

struct content {
	struct content *next;
	uint32_t first; /* its files, by candidate.next: place in the window + 1 */
	uint32_t count;
	uint8_t *bytes; /* until prefixes_close; NULL: not kept */
};

struct prefix {
	struct {
		uint64_t size;
		struct hash128 hash;
	} key;
	struct content *contents; /* of a large file: one, whose files are not known to be equal */
	uint32_t files;
	bool has_unkept; /* contents whose bytes were not kept */
	bool undecided; /* some contents may be equal to each other */
	UT_hash_handle hh;
};

/* A content of a head that has several, found by a hash that nobody can foresee: to make contents with one
 * XXH3 is easy. */
struct mark {
	struct {
		const struct prefix *prefix;
		uint64_t hash;
	} key;
	struct content *content;
	UT_hash_handle hh;
};

struct prefixes {
	struct prefix *table;
	struct mark *marks;
	uint64_t seed; /* random */
	struct arena memory;
	struct arena bytes; /* of contents */
	size_t kept_bytes;
	size_t budget_bytes;
	struct candidate *window; /* borrowed */
};

static inline bool is_small(uint64_t size)
{
	return size <= PREFIX_BYTES;
}

/* The hash under which the catalog lists a file by size: never 0. */
static inline uint64_t prefix_of(struct hash128 hash)
{
	return hash.low ? hash.low : 1;
}

/* Enters candidate number index, whose hash is set. bytes: its first ones, min(size, PREFIX_BYTES)
 * of them. Not thread-safe. 0 or -ENOMEM. */
MUST_CHECK int prefixes_add(struct prefixes *prefixes, uint32_t index, const uint8_t *bytes);

/* No more are entered: lets the bytes of contents go, before others need the memory. */
void prefixes_close(struct prefixes *prefixes);

/* Forgets everything. */
void prefixes_reset(struct prefixes *prefixes);

#endif

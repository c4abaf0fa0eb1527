/* SPDX-License-Identifier: MIT */
#ifndef SCAN_CANDIDATES_H
#define SCAN_CANDIDATES_H

/* Chooses the candidates: unread files of a size that two or more files have. They are divided into
 * windows. A window has all candidates of as many sizes as fit. Candidates of one size that do not
 * fit in a window are split between windows. Those of a window are sorted by their prefixes. One
 * thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "index/catalog.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/ingest.h"

/* A file to be read. The struct is small (56 bytes), as a window has many candidates. */
struct candidate {
	uint64_t file;
	uint64_t size;
	uint64_t digest; /* file_digest() when it was read */
	struct hash128 hash; /* of its first bytes */
	uint64_t place; /* position on the disk, see contents.h; 0: not known */
	uint32_t next; /* index in the window + 1 of the next candidate in a chain, or 0 */
	/* other files of its size were compared before this run or in an earlier window */
	bool rivals;
};

struct candidates {
	struct catalog *catalog; /* borrowed */
	struct size_entry position; /* where the next window begins */
	size_t window_files; /* maximum number of files */
	bool skip_errors; /* skip files that could not be read, unless sizes->again returns true */
	const struct ingest_sizes *sizes; /* only these sizes; NULL: the whole range */
	struct ingest_range range;
	size_t next_size; /* index in sizes of the size after position */
	bool split; /* the last window has a part of the files of a size */
};

struct window {
	struct candidate *list;
	size_t count;
	size_t capacity;
};

/* Begins with the first size. Sizes below the minimum size in the catalog are skipped. The caller
 * must set catalog, window_files, skip_errors, range and sizes first, and all other fields to zero.
 * Returns 0 or -errno. */
MUST_CHECK int candidates_begin(struct candidates *candidates);

/* Fills the window with the next candidates, ordered by file id. If no candidates are left, the
 * window is empty. Results of the previous window need not be committed before this call. Returns 0
 * or -errno. */
MUST_CHECK int candidates_next(struct candidates *candidates, struct window *window);

/* Returns true if no candidates are left. */
bool candidates_are_done(const struct candidates *candidates);

void window_free(struct window *window);

/* ---- prefixes ------------------------------------------------------------------------------- */

/* Sorts the files of a window by size and prefix hash: the hash of their first bytes.
 *
 * A file of at most SMALL_BYTES is read wholly and compared at once. The bytes of the first file
 * of each content stay in memory, within a budget. Later files with the same hash are compared with
 * these bytes. refine.h compares longer files, and files that have no such bytes to compare with.
 *
 *   prefix (size, hash)
 *     `- content: files known to be byte-equal     only of small files; several: collisions
 *          `- file ...
 */

/* The maximum size of files that are read wholly at once. Most files are shorter. */
#define SMALL_BYTES ((size_t)16 << 10)

/* Number of bytes that are read of a larger file at first. If two such files of one size differ,
 * they nearly always differ in these bytes: of 6,694 files in /usr, 2,139 shared these bytes with
 * another file, and 2,101 shared 16 KiB. */
#define PREFIX_BYTES ((size_t)4 << 10)

struct content {
	struct content *next;
	/* Its first file: index in the window + 1. candidate.next leads to the next file. */
	uint32_t first;
	uint32_t count; /* of files */
	uint8_t *bytes; /* until prefixes_close(); NULL: not in memory */
};

struct prefix {
	struct {
		uint64_t size;
		struct hash128 hash;
	} key;
	/* if the files are large: one content, whose files are not known to be equal */
	struct content *contents;
	uint32_t files;
	bool has_uncached; /* some contents have no bytes in memory */
	bool undecided; /* some files were not compared with each other and are possibly equal */
	/* set by disk_batches_make() */
	bool large; /* its files are not prefetched wholly, but read in turns */
	uint64_t place; /* lowest position of its files */
	UT_hash_handle hh;
};

/* An entry of the table that finds a content by a seeded hash, if the prefix has several contents.
 * The seed is secret, as XXH3 collisions without a secret seed are easy to make. */
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
	struct arena memory; /* of prefixes, contents and marks */
	struct arena bytes; /* of the contents */
	size_t cached_bytes; /* in the arena bytes */
	size_t budget_bytes; /* limit of cached_bytes */
	struct candidate *window; /* borrowed */
};

static inline bool is_small(uint64_t size)
{
	return size <= SMALL_BYTES;
}

/* Returns the number of bytes that the prefix hash of a file of this size is computed of. */
static inline size_t prefix_length(uint64_t size)
{
	return is_small(size) ? (size_t)size : PREFIX_BYTES;
}

/* Bits of a prefix hash in the catalog. More bits would only save comparisons: among 20 million
 * files of one size, 180 pairs of different files have the same 40 bits. */
#define PREFIX_HASH_BITS 40

/* Returns the prefix hash as the catalog stores it in its list of files by size: never 0. */
static inline uint64_t prefix_of(struct hash128 hash)
{
	uint64_t prefix = hash.low & ((UINT64_C(1) << PREFIX_HASH_BITS) - 1);

	return prefix ? prefix : 1;
}

/* Adds prefixes->window[index], whose hash is set. bytes: its first prefix_length() bytes.
 * One thread at a time. Returns 0 or -ENOMEM. */
MUST_CHECK int prefixes_add(struct prefixes *prefixes, uint32_t index, const uint8_t *bytes);

/* Frees the bytes of contents. Must be called after the last prefixes_add(). */
void prefixes_close(struct prefixes *prefixes);

/* Removes all prefixes. Some memory stays for the next window. */
void prefixes_reset(struct prefixes *prefixes);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INGEST_REFINE_H
#define INGEST_REFINE_H

/* Partition refinement: splits files of one size into classes of equal bytes, reading each file
 * at most once.
 *
 * The files are read block by block together and the class is split where blocks differ; a file
 * that is left alone is read no further. The hash of a class falls out of the same pass, from the
 * blocks of one member. Ranges of a split class wait on a stack and each goes on from where it was
 * split, so buffers are needed for one range at a time. Pure code but for the calls it is given;
 * any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

/* One file to be compared, or several that are known to be equal and are stood for by one. */
struct strand {
	struct strand *equal; /* more strands found equal to this one */
	/* Hash of a class, or seeded, where there are too many for lock-step. */
	struct hash128 digest;
	void *file; /* the caller's */
};

/* How files are read. All may block. */
struct refine_calls {
	/* Bytes from offset on that are a hole; 0: data. */
	uint64_t (*hole)(void *context, struct strand *strand, uint64_t offset);
	/* Reads exactly length bytes: 0, or not 0 and the strand is left out of all classes (the
	 * callee has noted why). */
	int (*read)(void *context, struct strand *strand, uint64_t offset, void *block,
		    size_t length);
	/* All was read: 0, or not 0 when the file may have changed meanwhile. Afterwards the
	 * file may be read again. */
	int (*finish)(void *context, struct strand *strand);
	/* It is not read any further. */
	void (*abandon)(void *context, struct strand *strand);
	/* It is equal to others, but has holes too long to be hashed: it is in no class. */
	void (*refuse)(void *context, struct strand *strand);
	/* A class: strands, linked by equal, of this hash. Of a strand that is alone the hash is
	 * known only if it was told apart by the last block; else NULL. -errno ends the refinement with that value. */
	int (*emit)(void *context, struct strand *first, const struct hash128 *hash);
};

/* When the hash of a class is made. */
enum refine_hashing {
	REFINE_HASH_ALONG, /* from the blocks as they are compared */
	/* Once the files have proved equal, by reading one of them again: for files with large
	 * holes, which are compared in no time but hashed at 20 to 80 GB/s. */
	REFINE_HASH_LATER,
	REFINE_HASH_NEVER, /* classes come without one */
};

struct refinement {
	const struct refine_calls *calls;
	void *context;
	uint64_t size_bytes; /* of each file */
	void *memory; /* for blocks, borrowed; best of memory_pages */
	size_t budget_bytes; /* of it: at least 8 KiB */
	enum refine_hashing hashing;
	/* Of the hash that tells too many files apart: random and secret, so that nobody can make
	 * contents that collide in it. */
	uint64_t seed;
};

/* The most strands that can be read together within the budget. */
size_t refine_capacity(const struct refinement *refinement);

/* Splits count strands (an array that is reordered); any number of them: what is too many for
 * lock-step is split by a seeded hash of the whole file first, and what is still too many is compared in
 * parts, each class of one part going on as one strand, so that each byte is read at most three
 * times, or four times if another file fails in the last part.
 *
 * Returns 0; -ENOMEM; -ECANCELED after stop_requested(); what emit returned. -E2BIG: more
 * different contents with one seeded hash than fit; they were given to abandon.
 */
MUST_CHECK int refine(struct refinement *refinement, struct strand **strands, size_t count);

#endif

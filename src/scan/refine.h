/* SPDX-License-Identifier: MIT */
#ifndef SCAN_REFINE_H
#define SCAN_REFINE_H

/* Partition refinement: splits files of one size into classes of equal bytes. If the memory is
 * large enough for a block of each file, no file is read twice, unless hash_later is set.
 *
 * The files of a class are read together, block by block. If blocks differ, the class is split. A
 * file that is alone in its class is not read further. The hash of a class is computed in the same
 * pass, from the blocks of one member. Ranges of split classes wait on a stack, each at the offset
 * of its split, so buffers are needed for one range at a time. All I/O is done by callbacks. Any
 * thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

/* One file to be compared, or the representative of several files that are known to be equal. */
struct strand {
	struct strand *equal; /* next one in a list of equal strands, or NULL */
	struct hash128 digest; /* used by refine(): hash of all bytes, sometimes seeded */
	void *file; /* owned by the caller */
};

/* Callbacks that read files. All callbacks may block. */
struct refine_calls {
	/* Returns the length of the hole at offset; 0: data. */
	uint64_t (*hole)(void *context, struct strand *strand, uint64_t offset);
	/* Reads exactly length bytes. Returns 0, or another value if reading failed. The callback
	 * records the reason, and the strand is in no class. */
	int (*read)(void *context, struct strand *strand, uint64_t offset, void *block,
		    size_t length);
	/* Called after the last block of a strand was read. Returns 0, or another value if the file
	 * possibly changed meanwhile; the strand is then in no class. It can be read again later,
	 * from the beginning. */
	int (*finish)(void *context, struct strand *strand);
	/* The strand equals no other one, so its remaining blocks are not read. */
	void (*abandon)(void *context, struct strand *strand);
	/* The strand equals other strands, but its holes are too long to be hashed. The strand is
	 * in no class. */
	void (*refuse)(void *context, struct strand *strand);
	/* Reports a class: strands linked by equal, and the hash of their bytes. hash is NULL for
	 * most strands that are alone, as they are not read to their end. Returns 0, or a -errno
	 * that ends the refinement. */
	int (*emit)(void *context, struct strand *first, const struct hash128 *hash);
};

struct refinement {
	const struct refine_calls *calls;
	void *context;
	uint64_t size_bytes; /* of each file */
	void *memory; /* for blocks; borrowed; preferably from memory_pages() */
	size_t budget_bytes; /* of memory: at least 8 KiB */
	/* The hash of a class is computed by reading one file again after the files proved equal,
	 * not from the blocks that are compared. For files with large holes, which are compared in
	 * no time but hashed at only 20 to 80 GB/s. */
	bool hash_later;
	/* Compares the last blocks first, which are read again if they are equal. Files that differ
	 * only there are then not read to their end. Not for empty files. */
	bool end_first;
	/* Seed of the hash that divides files if they are too many to be read together. Random and
	 * secret, so that no user can make contents that collide. */
	uint64_t seed;
	/* Only for refine(): receives the classes of one part, each as one strand without a hash.
	 * NULL: classes are passed to emit. */
	struct strand **gathered;
	size_t gathered_count;
};

/* Returns the maximum number of strands that can be read together within the budget. */
size_t refine_capacity(const struct refinement *refinement);

/* Splits count strands; the array is reordered. If there are too many to be read together, they are
 * first divided by a seeded hash of the whole file. Groups that are still too large are compared in
 * parts, and each class of a part continues as one strand. A byte is then usually read at most
 * three times: for the seeded hash, in its part, and as the one strand of a class.
 *
 * Returns 0, -ENOMEM, -ECANCELED after stop_requested(), the error of emit, or -E2BIG if too many
 * different contents have one seeded hash to be read together. The strands of these contents are in
 * no class.
 */
MUST_CHECK int refine(struct refinement *refinement, struct strand **strands, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_BLOCKS_H
#define PARTIAL_BLOCKS_H

/* The blocks of all files, and the classes of blocks with equal hashes.
 *
 * The hashes are in an unnamed file. Blocks are numbered in the order of their files and places.
 * Between two blocks that are not adjacent in a file, one number is unused. Holes and zeros have no
 * number. So a run of adjacent blocks is a range of numbers without a number of class 0.
 *
 * Takes 4 bytes of memory for each block, 4 for each block that has an equal one, 4 for each class,
 * 24 for each range of adjacent blocks, and SORT_BYTES. A file of 100 GB in blocks of 128 KiB has
 * 800,000 blocks.
 *
 * block_table_add() may be called by any thread; the other functions by one thread.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Largest number of hashes that block_table_add() takes. */
#define BLOCK_BATCH 3840U

/* Highest number of a block. The table refuses more blocks. */
#define BLOCKS_MAX UINT32_MAX

/* Memory of the lists that are sorted, in bytes. If more hashes exist, they are read again for each
 * further part of the hashes. */
#define SORT_BYTES (UINT64_C(16) << 20)

struct block_file {
	uint64_t id; /* of the catalog */
	uint64_t digest; /* file_digest() when its hashes were found */
	uint64_t size;
	/* Blocks of files with different volumes are never equal: the kernel cannot share them. */
	uint32_t volume;
	bool dropped; /* block_table_classify() leaves it out, as it cannot be read to its end */
};

/* Hashes of adjacent blocks. */
struct block_batch {
	uint32_t file; /* index of block_table.files */
	uint32_t count;
	uint64_t first; /* number of the first block in the file */
	uint64_t spooled; /* offset in the spool */
};

/* Adjacent blocks without a hole. */
struct block_range {
	uint64_t first; /* number of the first block in the file */
	uint32_t base; /* number of the first block in the table */
	uint32_t count;
	uint32_t file;
};

struct block_table {
	unsigned int block_bits; /* a block has 2^block_bits bytes */
	uint64_t sort_bytes; /* SORT_BYTES; less in tests */
	struct block_file *files;
	size_t file_count, file_capacity;
	int spool;
	uint64_t spooled; /* bytes in the spool */
	struct block_batch *batches;
	size_t batch_count, batch_capacity;
	uint64_t hashed; /* blocks other than holes and zeros */
	pthread_mutex_t lock; /* spooled, batches, hashed */
	/* Set by block_table_classify(): */
	struct block_range *ranges; /* in the order of their numbers */
	size_t range_count, range_capacity;
	uint32_t end; /* behind the highest number of a block */
	uint32_t *class_of; /* of each block; 0: no other block is equal */
	uint32_t *members; /* numbers of blocks by class, then in ascending order */
	/* Class c has members[first[c - 1]] up to members[first[c] - 1]. */
	uint32_t *first;
	uint32_t classes;
	size_t first_capacity;
};

/* Initializes an empty table. The caller must call block_table_deinit() in any case. Returns 0 or
 * -errno, logged. */
MUST_CHECK int block_table_init(struct block_table *table, unsigned int block_bits);
void block_table_deinit(struct block_table *table);
#define CLEANUP_BLOCK_TABLE CLEANUP(block_table_deinit)

/* Adds a file. Returns its index, or -ENOMEM. */
MUST_CHECK long block_table_add_file(struct block_table *table, const struct block_file *file);

/* Adds hashes of adjacent blocks of a file; 0: a hole or zeros. Returns 0 or -errno. */
MUST_CHECK int block_table_add(struct block_table *table, uint32_t file, uint64_t first,
			       const uint64_t *hashes, uint32_t count);

/* Numbers the blocks and finds the classes. Files with a lower index have lower numbers. A second
 * call forgets the numbers of the first one. Returns 0, -EOVERFLOW for more than BLOCKS_MAX blocks,
 * -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int block_table_classify(struct block_table *table);

/* The place of a block. */
struct block_place {
	uint32_t file; /* index of block_table.files */
	uint64_t offset; /* bytes */
};

/* Returns the place of a block with this number, which must exist. */
struct block_place block_table_locate(const struct block_table *table, uint32_t number);

/* Returns whether a number below table->end is that of a block. */
bool block_table_has(const struct block_table *table, uint32_t number);

/* Returns the bytes of count adjacent blocks: fewer than those of the blocks at the end of the
 * file. */
uint64_t block_table_bytes(const struct block_table *table, uint32_t number, uint32_t count);

/* ---- runs ----------------------------------------------------------------------------------- */

/* Runs of equal blocks. Pure code, one thread.
 *
 * Each block that can share the space of an earlier block is in one run as a destination. The
 * source of a run is never the destination of another run. So the runs can be shared in any order,
 * and at the same time: no sharing takes the space away from a file that shared it before.
 *
 *	blocks	A B C D   A B C D   x B C D
 *	runs	sources   <- 1 --   <- 2 -     both have the sources in the first range
 *
 * The search is that of Lempel and Ziv (1977): the longest earlier match of each place, then the
 * place behind it. A match is extended backwards to blocks that are in no run. Each block takes at
 * most RUN_CANDIDATES comparisons for each block of the match.
 */

/* Highest number of equal blocks whose surroundings are compared with those of a block. If more are
 * equal, half of them are the first ones of their class, and half of them the last ones before the
 * block. So runs can be shorter than the longest ones, but each block has its place in a run. */
#define RUN_CANDIDATES 64U

struct block_run {
	uint32_t source, destination; /* numbers of their first blocks in the table */
	uint32_t count; /* of blocks */
};

struct run_list {
	struct block_run *list;
	size_t count, capacity;
};

void run_list_free(struct run_list *runs);
#define CLEANUP_RUN_LIST CLEANUP(run_list_free)

/* Appends a run. Returns 0 or -ENOMEM. */
MUST_CHECK int run_list_add(struct run_list *runs, const struct block_run *run);

/* Finds the runs of a table with classes, in the order of their destinations.
 *
 * min_blocks	shorter matches are left out. A match can be shared as several runs, as its source
 *		can be in several places; these runs can be shorter.
 *
 * Returns 0, -EINTR if stop_requested(), or -ENOMEM. */
MUST_CHECK int runs_find(const struct block_table *table, uint32_t min_blocks,
			 struct run_list *runs);

/* Returns the bytes of a run. */
uint64_t run_bytes(const struct block_table *table, const struct block_run *run);

/* Sorts runs by length, the longest first, then by destination. */
void runs_sort(struct run_list *runs);

/* ---- reading files -------------------------------------------------------------------------- */

/* Reads a file and hashes its blocks. Holes are not read, and blocks with zeros only are not
 * hashed. Not shared between threads. */

/* Outcome: the file has another size than was expected. */
enum {
	BLOCK_READER_CHANGED = 1
};

struct block_reader {
	unsigned int block_bits;
	uint8_t *buffer;
	size_t buffer_bytes;
	uint64_t *hashes; /* of the batch that is being read */
	uint32_t count;
	uint64_t first; /* number of the first block of the batch, a multiple of BLOCK_BATCH */
	/* Takes the hashes of a batch; a batch with zeros only is left out. Returns 0 or -errno. */
	int (*take)(void *context, uint64_t first, const uint64_t *hashes, uint32_t count);
	/* Called after each read, with the number of bytes since the last call; holes count. */
	void (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* Allocates the buffers. Returns 0 or -ENOMEM; the caller must call block_reader_deinit(). */
MUST_CHECK int block_reader_init(struct block_reader *reader, unsigned int block_bits);
void block_reader_deinit(struct block_reader *reader);

/* Reads an open file of size bytes. Returns 0, BLOCK_READER_CHANGED, -EINTR if stop_requested(),
 * the result of take(), or another -errno. */
MUST_CHECK int block_reader_read(struct block_reader *reader, int fd, uint64_t size);

/* Adds the hash of a block, in ascending order of blocks. block_reader_flush() passes the last
 * batch to take(). block_reader_read() calls both. */
MUST_CHECK int block_reader_add(struct block_reader *reader, uint64_t block, uint64_t hash);
MUST_CHECK int block_reader_flush(struct block_reader *reader);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_ORDER_H
#define INGEST_DISK_ORDER_H

/* Reads files in the order of the disk, if the disk seeks.
 *
 * Candidates are sorted by their position on the disk. The kernel prefetches the files in that
 * order, ahead of the comparing threads, which then read from the cache. So with any number of
 * threads, the disk gets one sequential stream of requests without pauses.
 *
 *   prefixes      candidates by position: the first bytes of each, small files wholly
 *   classes       as many whole classes as fit in memory, all their files by position, while
 *                 the previous classes are compared
 *   large files   one class at a time, a long piece of each file in turn
 *
 * The order of the disk is used if the user enables it, or if the disk rotates and reads take as
 * long as seeks (disk_seeks.h). Prefetching does not change how files are compared (reading.h).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "ingest/disk_seeks.h"
#include "ingest/ingest.h"
#include "ingest/reading.h"

struct candidate;
struct contents;

/* Sums of file sizes, to find the size below which all files together fit into memory. */
struct size_sums {
	uint64_t bytes[64]; /* bytes of the files of 2^n to 2^(n+1) - 1 bytes */
};

void size_sums_add(struct size_sums *sums, uint64_t size);

/* Returns a power of two: all files below this size have at most budget bytes together. 1: no files
 * fit. */
uint64_t size_sums_limit(const struct size_sums *sums, uint64_t budget);

#define DISK_ORDER_DEVICES_MAX 31

/* The file systems of the candidates, in the order in which they are found. File systems beyond the
 * maximum count as one. */
struct disk_order_devices {
	struct {
		dev_t device;
		bool rotates;
	} list[DISK_ORDER_DEVICES_MAX];
	unsigned int count;
};

struct disk_order {
	_Atomic bool is_on;
	bool arranged; /* the remaining candidates are sorted by position */
	uint64_t budget; /* maximum number of prefetched bytes */
	uint64_t whole_below; /* smaller files are prefetched wholly with their prefix */
	pthread_mutex_t lock; /* protects fetched and opener, while prefixes are read */
	uint32_t fetched; /* candidates whose prefixes are requested */
	struct file_opener opener; /* used by one thread at a time */
	struct disk_order_devices devices;
	uint32_t *batches; /* the end of each batch, as an index of contents->undecided */
	uint32_t batch_count, batch_now;
	/* index of the first prefix whose files are too large to be prefetched wholly */
	uint32_t large;
	/* the files of this batch are too large for memory, so they are read in turns */
	bool in_turns;
	_Atomic bool batch_taken; /* a thread prefetches the next batch */
};

/* seeks: earlier reads of this run were as slow as seeks. */
void disk_order_init(struct disk_order *order, const struct ingest *ingest, bool seeks);
void disk_order_deinit(struct disk_order *order);

/* Returns true if files are read in the order of the disk. */
bool disk_order_is_on(const struct disk_order *order);

/* Returns true if the order of the disk is not used now, but measured read times can still enable
 * it. */
bool disk_order_may_switch_on(const struct contents *contents);

/* Opens a candidate that has the size in the index. Returns a descriptor, or -1 if the file changed
 * or cannot be opened. Only one thread at a time may call this function and the next two. */
MUST_CHECK int disk_order_open(struct contents *contents, struct catalog_reader *reader,
			       const struct candidate *candidate);

/* Returns the position of a candidate, or 0 if it is unknown. Positions ascend along the disk; each
 * file system has a range of its own. */
uint64_t disk_order_place(struct contents *contents, struct catalog_reader *reader,
			  const struct candidate *candidate);

/* Prefetches the first length bytes of a candidate. */
void disk_order_fetch(struct contents *contents, struct catalog_reader *reader,
		      const struct candidate *candidate, uint64_t length);

/* ---- prefixes ------------------------------------------------------------------------- */

/* Records how long a thread took to read from the open file fd. */
void disk_order_note_read(struct contents *contents, struct disk_seeks *hooks, int fd,
			  uint64_t took_ns);

/* Sorts the candidates of the window from number from on by position. If the user did not choose
 * the order of the disk and nearly all candidates are cached, disables that order instead. Returns
 * 0 or -errno. */
MUST_CHECK int disk_order_arrange(struct contents *contents, uint32_t from);

/* Takes up to count candidates for the calling thread, [*first, *end), and prefetches the
 * candidates after *end. Returns false if no candidates are left. */
bool disk_order_take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end);

/* ---- classes -------------------------------------------------------------------------- */

/* Reads a little from a few large undecided files, and enables the order of the disk if these reads
 * take seeks. The prefixes of such files can be cached while the rest is not. */
void disk_order_examine(struct contents *contents);

/* Sorts the undecided prefixes by position and divides them into batches. Returns 0 or -errno. */
MUST_CHECK int disk_batches_make(struct contents *contents);

/* Starts the next batch: *first is its index in contents->undecided, *threads the number of threads
 * for the batch. Returns the number of prefixes in the batch, or 0 if no batch is left. */
uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads);

/* Prefetches the batch after the current batch, unless another thread already prefetches it. Any
 * thread. */
void disk_batches_fetch_next(struct contents *contents);

/* Returns the number of bytes to read at a time from each of count files, from offset on. Returns 0
 * if the files were prefetched or the order of the disk does not matter. */
uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count);

#endif

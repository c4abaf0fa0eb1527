/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_ORDER_H
#define INGEST_DISK_ORDER_H

/* Reads files in the order of the disk, if the disk seeks.
 *
 * Candidates are sorted by their position on the disk. The kernel prefetches them in that order,
 * ahead of the comparing threads, which then read from the cache. So the disk gets one sequential
 * stream of requests, without pauses, whatever the number of threads.
 *
 *   prefixes	   candidates by position: the first bytes of each, small files wholly
 *   classes	   as many whole classes as fit in memory, all their files by position, while
 * | the classes before are compared
 *   large files   one class at a time, a long piece of each file in turn
 *
 * It is enabled by the user, or if the disk rotates and reads take as long as seeks (disk_seeks.h).
 * Prefetching does not change how files are compared (reading.h).
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

/* Returns a power of two: all files below this size have at most budget bytes together. 1: none
 * fit. */
uint64_t size_sums_limit(const struct size_sums *sums, uint64_t budget);

#define DISK_ORDER_DEVICES_MAX 31

/* The file systems of the candidates, in the order in which they are found. Those beyond the
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
	bool in_turns; /* the files of this batch are too large: they are read in turns */
	_Atomic bool batch_taken; /* a thread prefetches the next batch */
};

/* seeks: the disk was seeking a moment ago. */
void disk_order_init(struct disk_order *order, const struct ingest *ingest, bool seeks);
void disk_order_deinit(struct disk_order *order);

/* Returns true if files are read in the order of the disk. */
bool disk_order_is_on(const struct disk_order *order);

/* Returns true if it is off now, but measured read times may still enable it. */
bool disk_order_may_switch_on(const struct contents *contents);

/* Opens a candidate that has the size in the index. Returns a descriptor, or -1 if it changed or
 * cannot be opened. This function and the next two: one thread at a time. */
MUST_CHECK int disk_order_open(struct contents *contents, struct catalog_reader *reader,
			       const struct candidate *candidate);

/* Returns the position of a candidate: a number that ascends along the disk, one file system after
 * the other. 0: not known. */
uint64_t disk_order_place(struct contents *contents, struct catalog_reader *reader,
			  const struct candidate *candidate);

/* Prefetches the first length bytes of a candidate. */
void disk_order_fetch(struct contents *contents, struct catalog_reader *reader,
		      const struct candidate *candidate, uint64_t length);

/* ---- prefixes ------------------------------------------------------------------------- */

/* Records how long a thread took to read from the open file fd. */
void disk_order_note_read(struct contents *contents, struct disk_seeks *hooks, int fd,
			  uint64_t took_ns);

/* Sorts the candidates of the window from number from on by position. If the user did not enable it
 * and nearly all are cached, disables it instead. Returns 0 or -errno. */
MUST_CHECK int disk_order_arrange(struct contents *contents, uint32_t from);

/* Takes up to count candidates for the calling thread, [*first, *end), and prefetches the ones
 * after them. Returns false if none are left. */
bool disk_order_take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end);

/* ---- classes -------------------------------------------------------------------------- */

/* Reads a little from a few large undecided files and enables it if that takes seeks. Their
 * prefixes may have been cached while the rest was not. */
void disk_order_examine(struct contents *contents);

/* Sorts the undecided prefixes by position and divides them into batches. Returns 0 or -errno. */
MUST_CHECK int disk_batches_make(struct contents *contents);

/* Starts the next batch: *first is its index in contents->undecided, *threads the number of threads
 * for it. Returns its number of prefixes, 0 if none are left. */
uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads);

/* Prefetches the batch after the current one, unless another thread does. Any thread. */
void disk_batches_fetch_next(struct contents *contents);

/* Returns how many bytes of each of count files are to be read at a time from offset on. 0: they
 * were prefetched, or the order of the disk does not matter. */
uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count);

#endif

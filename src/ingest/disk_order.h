/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_ORDER_H
#define INGEST_DISK_ORDER_H

/* Reading in the order of the disk, where the head of a disk has to go to each file.
 *
 * Candidates are sorted by where they lie, and the kernel is asked for them in that order some way
 * ahead of the threads that compare, which then find them in its cache. So however many threads
 * there are the disk has one reader, a queue that its scheduler can sort, and no pauses.
 *
 *   heads	   candidates by place: the first bytes of each, small files wholly
 *   classes	   as many whole classes as may wait in memory, all their files by place, while the
 *		   ones before are compared
 *   large files   one class at a time, a long piece of each file in turn
 *
 * It is switched on by the user or, where a disk says that it rotates, by the time that reads take:
 * virtual disks say so too, and what is cached has no place. What is fetched ahead changes nothing
 * of how it is compared (reading.h).
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

/* Sums of file sizes, to know up to which size all of them together fit into memory. */
struct size_sums {
	uint64_t bytes[64]; /* of files of 2^n bytes up to twice that */
};

void size_sums_add(struct size_sums *sums, uint64_t size);

/* Files below this size have at most budget bytes together. A power of two; 1: no size. */
uint64_t size_sums_limit(const struct size_sums *sums, uint64_t budget);

#define DISK_ORDER_DEVICES_MAX 31

/* The file systems that candidates lie on, in the order in which they are met; those beyond these
 * count as one. */
struct disk_order_devices {
	struct {
		dev_t device;
		bool rotates;
	} list[DISK_ORDER_DEVICES_MAX];
	unsigned int count;
};

struct disk_order {
	_Atomic bool is_on;
	bool arranged; /* candidates that are left stand in the order of their places */
	uint64_t budget; /* bytes that may be fetched ahead */
	uint64_t whole_below; /* smaller files are fetched wholly with their first bytes */
	pthread_mutex_t lock; /* of fetched and of the opener, while heads are read */
	uint32_t fetched; /* candidates whose first bytes are asked for */
	struct file_opener opener; /* of one thread at a time */
	struct disk_order_devices devices;
	uint32_t *batches; /* the end of each, as an index of contents->undecided */
	uint32_t batch_count, batch_now;
	uint32_t large; /* from here on they are too large to be fetched wholly */
	bool in_turns; /* this batch is too large: its files are read in turns */
	_Atomic bool batch_taken; /* the next one is being fetched */
};

/* seeks: a disk was seen to seek a moment ago. */
void disk_order_init(struct disk_order *order, const struct ingest *ingest, bool seeks);
void disk_order_deinit(struct disk_order *order);

/* The user or an earlier read said that the head of the disk matters. */
bool disk_order_is_on(const struct disk_order *order);

/* Nobody has decided yet. */
bool disk_order_may_switch_on(const struct contents *contents);

/* Opens a candidate that is as the index has it; -1: it is not, or not to be opened. One thread at
 * a time, as for the next two. */
MUST_CHECK int disk_order_open(struct contents *contents, struct catalog_reader *reader,
			       const struct candidate *candidate);

/* Where it lies: numbers that ascend with the way of the head, file system by file system. 0: that
 * cannot be told. */
uint64_t disk_order_place(struct contents *contents, struct catalog_reader *reader,
			  const struct candidate *candidate);

/* Has the kernel read its first length bytes. */
void disk_order_fetch(struct contents *contents, struct catalog_reader *reader,
		      const struct candidate *candidate, uint64_t length);

/* ---- heads ---------------------------------------------------------------------------- */

/* Enters how long a thread took to read from the file that is open as fd. */
void disk_order_note_read(struct contents *contents, struct disk_seeks *hooks, int fd,
			  uint64_t took_ns);

/* Sorts the window's candidates from number from on by their place; or switches it off where the
 * user did not ask for it and nearly all of them are cached. 0 or -errno. */
MUST_CHECK int disk_order_arrange(struct contents *contents, uint32_t from);

/* Takes up to count candidates for the calling thread, [*first, *end), and has the kernel read
 * ahead. False: none are left. */
bool disk_order_take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end);

/* ---- classes -------------------------------------------------------------------------- */

/* Tries a few large files of the undecided heads, whose first bytes may have been cached and the
 * rest not, and switches it on where that takes seeks. */
void disk_order_examine(struct contents *contents);

/* Sorts the undecided heads by place and divides them into batches. 0 or -errno. */
MUST_CHECK int disk_batches_make(struct contents *contents);

/* Goes to the next batch: how many of contents->undecided from *first on, by *threads
 * threads. 0: there are no more. */
uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads);

/* Has the kernel read the batch after the one that is compared, unless another thread does. Any
 * thread. */
void disk_batches_fetch_next(struct contents *contents);

/* How many bytes of each of count files from offset on are to be read in one go; 0: they were
 * fetched, or the head does not matter. */
uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef SCAN_CONTENTS_H
#define SCAN_CONTENTS_H

/* State of a comparison, shared by its threads: contents.c compares, and disk_order.c orders what
 * is read. Internal to scan. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "scan/candidates.h"
#include "scan/disk.h"
#include "scan/ingest.h"
#include "scan/reading.h"
#include "scan/results.h"

struct contents;

/* ---- the order of the disk ------------------------------------------------------------------ */

/* Reads files in the order of the disk, if the disk seeks.
 *
 * Candidates are sorted by their position on the disk. The threads ask the kernel to prefetch the
 * files in this order, and read them later from the page cache. The disk gets one sequential stream
 * of requests, however many threads read.
 *
 *   prefixes      by position: the first bytes of each candidate, and small files wholly
 *   classes       in batches that fit in memory: all files of a batch by position, while the
 *                 previous batch is compared
 *   large files   one class at a time: a long piece of each file in turn
 *
 * The order of the disk is used if the user enables it, or while trials prove that the disk seeks
 * (disk.h) and most candidates are not cached. Prefetching does not change how files are
 * compared (reading.h).
 *
 *   slow reads -> trial due -> the threads return -> trial -> order on, or continue as before
 *
 * While the order is on, each window begins with another trial, which can disable the order.
 */

/* Sums of file sizes, to find the size below which all files together fit into memory. */
struct size_sums {
	uint64_t bytes[64]; /* element n: of the files of 2^n to 2^(n+1) - 1 bytes */
};

void size_sums_add(struct size_sums *sums, uint64_t size);

/* Returns the largest power of two such that all files below this size have at most budget bytes
 * together. 1: only empty files fit. */
uint64_t size_sums_limit(const struct size_sums *sums, uint64_t budget);

#define DISK_ORDER_DEVICES_MAX 31

/* The file systems of the candidates, in the order in which they are found. File systems beyond the
 * maximum count as one. */
struct disk_order_devices {
	struct disk_order_device {
		dev_t device;
		bool rotates; /* as the kernel reports it */
		bool seeks; /* as the last trial proved, or the user said */
		struct disk_trial trial;
	} list[DISK_ORDER_DEVICES_MAX];
	unsigned int count;
};

struct disk_order {
	_Atomic bool is_on;
	_Atomic bool trial_due; /* many reads waited for the disk */
	uint64_t quiet_until_ns; /* no trial becomes due before this monotonic time */
	bool arranged; /* the remaining candidates are sorted by position */
	uint64_t budget; /* maximum number of prefetched bytes */
	uint64_t whole_below; /* while prefixes are read, files below this size are read wholly */
	pthread_mutex_t lock; /* protects fetched and opener, while prefixes are read */
	uint32_t fetched; /* index of the first candidate that is not prefetched yet */
	struct file_opener opener; /* used by one thread at a time */
	struct disk_order_devices devices;
	uint32_t *batches; /* the end of each batch, as an index of contents->undecided */
	uint32_t batch_count;
	uint32_t batch_now; /* index of the next batch to begin */
	uint32_t large; /* index in contents->undecided of the first prefix that is read in turns */
	bool in_turns; /* the present batch is read in turns, as it does not fit in memory */
	_Atomic bool batch_taken; /* a thread has begun to prefetch the next batch */
};

/* trial_due: the walk before the comparison waited for the disk. Used with
 * INGEST_DISK_AUTO only. */
void disk_order_init(struct disk_order *order, const struct ingest *ingest, bool trial_due);
void disk_order_deinit(struct disk_order *order);

/* Returns true if files are read in the order of the disk. */
bool disk_order_is_on(const struct disk_order *order);

/* Returns true if slow reads were noted, so that disk_order_decide() must be called. */
bool disk_order_trial_is_due(const struct disk_order *order);

/* ---- prefixes ------------------------------------------------------------------------- */

/* Notes that a read of the open file fd took took_ns. A trial becomes due if many of the thread's
 * last reads waited for the disk, unless the user chose an order. Any thread.
 *
 * waits	the last reads of the calling thread */
void disk_order_note_read(struct contents *contents, struct disk_waits *waits, int fd,
			  uint64_t took_ns);

/* Enables or disables the order of the disk for the candidates of the window, from index from on.
 * Does nothing if the user chose an order, or if the order is off and no trial is due. The order
 * is on if a trial proves seeks and not nearly all candidates are cached. It stays on if a trial
 * proves neither. No other thread may read, as it would disturb the trial. */
void disk_order_decide(struct contents *contents, uint32_t from);

/* Sorts the candidates of the window by position, from index from on. Returns 0, -ECANCELED after
 * stop_requested(), or another -errno. */
MUST_CHECK int disk_order_arrange(struct contents *contents, uint32_t from);

/* Takes up to count candidates for the calling thread: sets the range [*first, *end). If the
 * candidates are sorted, prefetches these and the next ones. Any thread. Returns false if no
 * candidates are left. */
bool disk_order_take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end);

/* ---- classes -------------------------------------------------------------------------- */

/* With INGEST_DISK_AUTO, reads a byte from the middle of a few undecided files. If most of these
 * reads are as slow as seeks, and a trial with these files proves seeks, enables the order of the
 * disk. The prefix of a file can be cached while its middle is not. */
void disk_order_examine(struct contents *contents);

/* Sorts contents->undecided by position and divides it into batches. Returns 0 or -errno. */
MUST_CHECK int disk_batches_make(struct contents *contents);

/* Begins the next batch. Returns the number of its prefixes, or 0 if no batch is left.
 *
 * first	receives the index of its first prefix in contents->undecided
 * threads	receives the maximum number of threads that may compare the batch */
uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads);

/* Prefetches the batch that follows the present one, unless it is read in turns or another thread
 * has begun to prefetch it. Any thread. */
void disk_batches_fetch_next(struct contents *contents);

/* Returns the number of bytes to prefetch from each of count files that are compared together, from
 * offset on. Returns 0 if the present batch is not read in turns. */
uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count);

/* ---- contents ------------------------------------------------------------------------------- */

struct contents {
	struct ingest *ingest;
	struct window window;
	struct prefixes prefixes;
	pthread_mutex_t prefixes_lock; /* protects prefixes while they are read */
	struct prefix **undecided; /* prefixes that have to be compared block by block */
	size_t undecided_count, undecided_capacity;
	struct results results;
	struct disk_order order;
	uint64_t seed; /* random, see struct refinement */
	unsigned int readers; /* maximum number of threads that read prefixes */
	unsigned int comparers; /* maximum number of threads that compare */
	_Atomic uint32_t next; /* index of the next piece of work for a thread */
	uint32_t end; /* end of the work, exclusive */
	bool errors_logged; /* errors that the index already has are not logged again */
	_Atomic uint64_t errors; /* number of files that could not be read */
	bool repeats; /* the files are compared again, so the progress counts them already */
	_Atomic uint64_t postponed; /* files left for later: changed, or being written */
	_Atomic int failure; /* the first -errno that ends the work */
};

#endif

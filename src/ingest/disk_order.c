/* SPDX-License-Identifier: MIT */
#include "ingest/disk_order.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/size.h"
#include "base/stop.h"
#include "ingest/contents_state.h"
#include "ingest/disk_fetch.h"
#include "ingest/disk_kind.h"

/* Limits of the bytes that are prefetched but not yet read: 1 GiB, or an eighth of memory_limit()
 * if that is less. A larger budget helps little. */
#define BUDGET_MAX (UINT64_C(1) << 30)
#define BUDGET_PART 8

/* Maximum number of candidates that are prefetched but not yet taken. The queue of a disk holds 32
 * to 128 requests. */
#define AHEAD_FILES 128

/* A disk reads this number of bytes in the time of a seek. Files below this size are prefetched
 * wholly before it is known whether all their bytes are needed. */
#define WHOLE_MAX (UINT64_C(1) << 20)

/* Half of the budget is for files that are prefetched wholly while prefixes are read. */
#define WHOLE_PART 2

/* A position: the number of the file system in the high bits, the offset in the low bits. */
#define OFFSET_BITS 56
#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)

/* ---- whether the order matters ------------------------------------------------------- */

bool disk_order_is_on(const struct disk_order *order)
{
	return atomic_load_explicit(&order->is_on, memory_order_relaxed);
}

bool disk_order_may_switch_on(const struct contents *contents)
{
	return contents->ingest->settings->disk == INGEST_DISK_AUTO &&
	       !disk_order_is_on(&contents->order);
}

bool disk_order_trial_is_due(const struct disk_order *order)
{
	return atomic_load_explicit(&order->trial_due, memory_order_relaxed);
}

void disk_order_note_read(struct contents *contents, struct disk_waits *waits, int fd,
			  uint64_t took_ns)
{
	if (disk_order_may_switch_on(contents) && disk_waits_note(waits, fd, took_ns) &&
	    clock_monotonic_ns() >= contents->order.quiet_until_ns)
		atomic_store(&contents->order.trial_due, true);
}

void disk_order_init(struct disk_order *order, const struct ingest *ingest, bool trial_due)
{
	enum ingest_disk disk = ingest->settings->disk;

	*order = (struct disk_order){.opener = FILE_OPENER_INIT(ingest->sources),
				     .budget = memory_at_most(BUDGET_MAX, BUDGET_PART)};
	atomic_init(&order->is_on, disk == INGEST_DISK_ROTATING);
	atomic_init(&order->trial_due, disk == INGEST_DISK_AUTO && trial_due);
	pthread_mutex_init(&order->lock, NULL);
}

void disk_order_deinit(struct disk_order *order)
{
	file_opener_deinit(&order->opener);
	pthread_mutex_destroy(&order->lock);
	free(order->batches);
}

/* ---- positions ----------------------------------------------------------------------- */

int disk_order_open(struct contents *contents, struct catalog_reader *reader,
		    const struct candidate *candidate)
{
	struct file_record file;
	int fd;

	if (catalog_get_file(reader, candidate->file, &file) < 0 || file.names == 0 ||
	    file.attributes.size != candidate->size)
		return -1;
	fd = file_opener_open(&contents->order.opener, reader, &file);
	return fd < 0 ? -1 : fd;
}

/* Returns the index of the file system of fd in the list, or the length of a full list. */
static unsigned int device_number(struct contents *contents, int fd)
{
	enum ingest_disk disk = contents->ingest->settings->disk;
	struct disk_order_devices *devices = &contents->order.devices;
	struct stat status;
	unsigned int i = 0;

	if (fstat(fd, &status) < 0)
		return DISK_ORDER_DEVICES_MAX;
	while (i < devices->count && devices->list[i].device != status.st_dev)
		i++;
	if (i == devices->count && i < DISK_ORDER_DEVICES_MAX) {
		devices->list[i].device = status.st_dev;
		devices->list[i].rotates = disk_kind(fd) == DISK_ROTATING;
		devices->list[i].seeks = disk == INGEST_DISK_ROTATING;
		devices->count++;
	}
	return i;
}

struct disk_order_device *disk_order_find_device(struct contents *contents, int fd)
{
	unsigned int number = device_number(contents, fd);

	return number < DISK_ORDER_DEVICES_MAX ? &contents->order.devices.list[number] : NULL;
}

uint64_t disk_order_place(struct contents *contents, struct catalog_reader *reader,
			  const struct candidate *candidate)
{
	const struct disk_order_devices *devices = &contents->order.devices;
	AUTO_CLOSE int fd = disk_order_open(contents, reader, candidate);
	unsigned int number;

	if (fd < 0)
		return 0;
	number = device_number(contents, fd);
	/* Without seeks, the order of ids is better: it is nearly that of directories. */
	if (number < devices->count && !devices->list[number].seeks)
		return (uint64_t)(number + 1) << OFFSET_BITS | (candidate->file & OFFSET_MASK);
	return (uint64_t)(number + 1) << OFFSET_BITS | (disk_fetch_place(fd) & OFFSET_MASK);
}

static int by_place(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

void size_sums_add(struct size_sums *sums, uint64_t size)
{
	uint64_t *sum = size > 0 ? &sums->bytes[63 - __builtin_clzll(size)] : NULL;

	if (sum)
		*sum = size_add(*sum, size);
}

uint64_t size_sums_limit(const struct size_sums *sums, uint64_t budget)
{
	uint64_t total = 0;
	unsigned int i = 0;

	while (i < 63 && size_add(total, sums->bytes[i]) <= budget)
		total += sums->bytes[i++];
	return UINT64_C(1) << i;
}

int disk_order_arrange(struct contents *contents, uint32_t from)
{
	struct candidate *list = contents->window.list;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct size_sums sums = {0};
	uint64_t limit;
	size_t count = contents->window.count;
	int r = catalog_read_begin(contents->ingest->catalog, &reader);

	if (r < 0)
		return r;
	for (uint32_t i = from; i < count; i++) {
		if (stop_requested())
			return -ECANCELED;
		list[i].place = disk_order_place(contents, reader, &list[i]);
		size_sums_add(&sums, list[i].size);
	}
	if (count - from > 1)
		qsort(list + from, count - from, sizeof(*list), by_place);
	limit = size_sums_limit(&sums, contents->order.budget / WHOLE_PART);
	contents->order.whole_below = limit < WHOLE_MAX ? limit : WHOLE_MAX;
	contents->order.fetched = from;
	contents->order.arranged = true;
	return 0;
}

/* ---- prefixes ------------------------------------------------------------------------ */

void disk_order_fetch(struct contents *contents, struct catalog_reader *reader,
		      const struct candidate *candidate, uint64_t length)
{
	AUTO_CLOSE int fd = disk_order_open(contents, reader, candidate);

	if (fd >= 0)
		disk_fetch_range(fd, 0, length);
}

/* Prefetches candidates up to end: small ones wholly, and the prefixes of others. The caller holds
 * the lock. */
static void fetch_prefixes(struct contents *contents, uint32_t end)
{
	struct disk_order *order = &contents->order;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct candidate *candidate;

	if (order->fetched >= end || catalog_read_begin(contents->ingest->catalog, &reader) < 0)
		return; /* the thread that reads the prefixes reports the error */
	for (; order->fetched < end && !stop_requested(); order->fetched++) {
		candidate = &contents->window.list[order->fetched];
		disk_order_fetch(contents, reader, candidate,
				 candidate->size < order->whole_below
					 ? candidate->size
					 : prefix_length(candidate->size));
	}
}

static bool take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end)
{
	*first = atomic_fetch_add(&contents->next, count);
	if (*first >= contents->end)
		return false;
	*end = contents->end - *first < count ? contents->end : *first + count;
	return true;
}

bool disk_order_take(struct contents *contents, uint32_t count, uint32_t *first, uint32_t *end)
{
	struct disk_order *order = &contents->order;
	bool taken;

	if (!order->arranged)
		return take(contents, count, first, end);
	pthread_mutex_lock(&order->lock);
	taken = take(contents, count, first, end);
	if (taken)
		fetch_prefixes(contents, contents->end - *end < AHEAD_FILES ? contents->end
									    : *end + AHEAD_FILES);
	pthread_mutex_unlock(&order->lock);
	return taken;
}

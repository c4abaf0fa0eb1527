/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "scan/contents.h"
#include "scan/disk.h"

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

/* Maximum number of candidates that is_cached() checks. */
#define SAMPLED_FILES 32

/* Maximum number of reads for the trials of all file systems. */
#define TRIED_FILES 64

/* Maximum number of undecided prefixes that are tested for seeks. */
#define TRIED_PREFIXES 8

/* After a decision, the next suspicion is ignored for this many times its duration. Decisions then
 * take at most a twentieth of the time. */
#define QUIET_FACTOR 20

/* Files above this size are read in turns, as they can differ long before their end. So are classes
 * that do not fit in a batch. */
#define BATCHED_FILE_MAX (UINT64_C(16) << 20)

/* One batch gets an eighth of the budget. Two batches are in memory: one is compared and the next
 * one is prefetched. The pieces of one class of large files get a quarter. */
#define BATCH_PART 8
#define CLASS_PART 4

/* Number of bytes that are read from one file before the disk seeks to the next file. With
 * TURN_FIRST, seeks take about a tenth of the time. */
#define TURN_MIN (UINT64_C(1) << 20)
#define TURN_FIRST (UINT64_C(8) << 20)
#define TURN_MAX (UINT64_C(32) << 20)

/* ---- whether the order matters ------------------------------------------------------- */

bool disk_order_is_on(const struct disk_order *order)
{
	return atomic_load_explicit(&order->is_on, memory_order_relaxed);
}

/* Returns true if the order of the disk is not used now, but a trial can still enable it. */
static bool may_switch_on(const struct contents *contents)
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
	if (may_switch_on(contents) && disk_waits_note(waits, fd, took_ns) &&
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

/* Opens the file of a candidate, for prefetching. Returns a descriptor, which the caller closes, or
 * -1 if the file cannot be opened or has another size in the index now. Only one thread at a time
 * may use the opener. */
static int open_candidate(struct contents *contents, struct catalog_reader *reader,
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

/* Returns the file system of an open file, or NULL if there are too many. */
static struct disk_order_device *find_device(struct contents *contents, int fd)
{
	unsigned int number = device_number(contents, fd);

	return number < DISK_ORDER_DEVICES_MAX ? &contents->order.devices.list[number] : NULL;
}

/* Returns the position of a candidate, or 0 if its file cannot be opened. Each file system has a
 * range of positions. In this range, files are in the order of the disk if it seeks, else in the
 * order of their ids. */
static uint64_t place_of(struct contents *contents, struct catalog_reader *reader,
			 const struct candidate *candidate)
{
	const struct disk_order_devices *devices = &contents->order.devices;
	AUTO_CLOSE int fd = open_candidate(contents, reader, candidate);
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

	return x->place != y->place ? numbers_compare(x->place, y->place)
				    : numbers_compare(x->file, y->file);
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
		list[i].place = place_of(contents, reader, &list[i]);
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

/* Prefetches the first length bytes of a candidate. Errors are ignored. */
static void fetch(struct contents *contents, struct catalog_reader *reader,
		  const struct candidate *candidate, uint64_t length)
{
	AUTO_CLOSE int fd = open_candidate(contents, reader, candidate);

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
		fetch(contents, reader, candidate,
		      candidate->size < order->whole_below ? candidate->size
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

/* ---- trials --------------------------------------------------------------------------- */

static void begin_trials(struct contents *contents)
{
	struct disk_order_devices *devices = &contents->order.devices;

	for (unsigned int i = 0; i < devices->count; i++)
		devices->list[i].trial = (struct disk_trial){0};
}

/* Reads a block of the candidate's file for the trial of its disk, unless that trial is over. */
static void try_candidate(struct contents *contents, struct catalog_reader *reader,
			  const struct candidate *candidate, uint64_t offset)
{
	AUTO_CLOSE int fd = open_candidate(contents, reader, candidate);
	struct disk_order_device *device = fd < 0 ? NULL : find_device(contents, fd);

	if (device && device->rotates && !disk_trial_is_over(&device->trial))
		(void)disk_trial_read(&device->trial, fd, offset); /* an error adds no evidence */
}

/* Records the results. Returns true if a disk seeks. */
static bool end_trials(struct contents *contents)
{
	struct disk_order_devices *devices = &contents->order.devices;
	bool any = false;

	for (unsigned int i = 0; i < devices->count; i++) {
		struct disk_order_device *device = &devices->list[i];

		device->seeks = disk_trial_seeks(&device->trial, device->seeks);
		any |= device->seeks;
	}
	return any;
}

/* ---- candidates ----------------------------------------------------------------------- */

/* Returns true if nearly all candidates are cached, so that sorting is not worth its cost. */
static bool is_cached(struct contents *contents, struct catalog_reader *reader, uint32_t from)
{
	size_t count = contents->window.count - from, step = count / SAMPLED_FILES + 1;
	unsigned int uncached = 0;

	for (size_t i = from + step / 2; i < contents->window.count; i += step) {
		AUTO_CLOSE int fd = open_candidate(contents, reader, &contents->window.list[i]);

		uncached += fd >= 0 && !disk_fetch_is_cached(fd);
	}
	return uncached <= SAMPLED_FILES / 16;
}

/* Tries the first blocks of candidates. These are not the candidates of is_cached(), which the
 * kernel possibly begins to read. */
static bool candidates_seek(struct contents *contents, struct catalog_reader *reader, uint32_t from)
{
	size_t count = contents->window.count - from, step = count / TRIED_FILES + 1;

	begin_trials(contents);
	for (size_t i = from + step / 3; i < contents->window.count; i += step)
		try_candidate(contents, reader, &contents->window.list[i], 0);
	return end_trials(contents);
}

void disk_order_decide(struct contents *contents, uint32_t from)
{
	struct disk_order *order = &contents->order;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t begun = clock_monotonic_ns(), ended;

	if (contents->ingest->settings->disk != INGEST_DISK_AUTO ||
	    (!disk_order_is_on(order) && !disk_order_trial_is_due(order)))
		return;
	atomic_store(&order->trial_due, false);
	if (catalog_read_begin(contents->ingest->catalog, &reader) < 0)
		return;
	atomic_store(&order->is_on,
		     !is_cached(contents, reader, from) && candidates_seek(contents, reader, from));
	ended = clock_monotonic_ns();
	order->quiet_until_ns = ended + (ended - begun) * QUIET_FACTOR;
}

/* ---- undecided files ------------------------------------------------------------------ */

static const struct candidate *first_candidate(const struct contents *contents, size_t prefix)
{
	return &contents->window.list[contents->undecided[prefix]->contents->first - 1];
}

/* Returns true if a read from the middle of the candidate's file takes as long as a seek. */
static bool must_wait(struct contents *contents, struct catalog_reader *reader,
		      const struct candidate *candidate)
{
	AUTO_CLOSE int fd = open_candidate(contents, reader, candidate);
	uint64_t begun = clock_monotonic_ns();
	uint8_t byte;

	return fd >= 0 && pread(fd, &byte, 1, (off_t)(candidate->size / 2)) == 1 &&
	       disk_waits_is_slow(clock_monotonic_ns() - begun);
}

/* Returns true if most reads of undecided files take as long as seeks. */
static bool undecided_wait(struct contents *contents, struct catalog_reader *reader)
{
	size_t count = contents->undecided_count, step = count / TRIED_PREFIXES + 1;
	unsigned int tried = 0, waiting = 0;

	for (size_t i = 0; i < count; i += step) {
		const struct candidate *candidate = first_candidate(contents, i);

		if (is_small(candidate->size))
			continue;
		tried++;
		waiting += must_wait(contents, reader, candidate);
	}
	return waiting * 2 > tried;
}

/* Tries blocks of undecided files. A few large files are enough: each read of a file has another
 * offset, far from the last one and from the middle. */
static bool undecided_seek(struct contents *contents, struct catalog_reader *reader)
{
	size_t count = contents->undecided_count, step = count / TRIED_PREFIXES + 1;

	begin_trials(contents);
	for (unsigned int i = 0; i < TRIED_FILES; i++) {
		const struct candidate *candidate =
			first_candidate(contents, (i * step + step / 2) % count);
		unsigned int part = (i * 7 + i / 16 * 3) % 16;

		if (!is_small(candidate->size))
			try_candidate(contents, reader, candidate,
				      candidate->size / 32 * (2 * part + 1));
	}
	return end_trials(contents);
}

void disk_order_examine(struct contents *contents)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;

	if (!may_switch_on(contents) || catalog_read_begin(contents->ingest->catalog, &reader) < 0)
		return;
	if (undecided_wait(contents, reader) && undecided_seek(contents, reader))
		atomic_store(&contents->order.is_on, true);
}

/* ---- batches ------------------------------------------------------------------------- */

/* Returns the lowest position of the prefix's files. Sets the positions of files whose prefixes
 * were read before the order was enabled. */
static uint64_t first_place(struct contents *contents, struct catalog_reader *reader,
			    const struct prefix *prefix)
{
	struct candidate *window = contents->window.list, *candidate;
	uint64_t place = UINT64_MAX;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		for (uint32_t at = content->first; at; at = candidate->next) {
			candidate = &window[at - 1];
			if (!candidate->place)
				candidate->place = place_of(contents, reader, candidate);
			place = candidate->place < place ? candidate->place : place;
		}
	}
	return place;
}

static uint64_t class_bytes(const struct prefix *prefix)
{
	return size_multiply(prefix->files, prefix->key.size);
}

static int by_first_place(const void *a, const void *b)
{
	const struct prefix *x = *(struct prefix *const *)a, *y = *(struct prefix *const *)b;

	if (x->large != y->large)
		return x->large - y->large;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Divides the prefixes into batches that fit the budget. The large prefixes are the last batch. */
static int divide(struct contents *contents)
{
	struct prefix *const *list = contents->undecided;
	struct disk_order *order = &contents->order;
	uint32_t count = (uint32_t)contents->undecided_count;
	uint64_t bytes = 0;

	free(order->batches);
	order->batches = calloc(count + 1, sizeof(*order->batches));
	if (!order->batches)
		return -ENOMEM;
	order->batch_count = order->batch_now = 0;
	order->large = 0;
	while (order->large < count && !list[order->large]->large)
		order->large++;
	for (uint32_t i = 0; i < order->large; i++) {
		bytes = size_add(bytes, class_bytes(list[i]));
		if (i + 1 == order->large ||
		    size_add(bytes, class_bytes(list[i + 1])) > order->budget / BATCH_PART) {
			order->batches[order->batch_count++] = i + 1;
			bytes = 0;
		}
	}
	if (order->large < count)
		order->batches[order->batch_count++] = count;
	return 0;
}

int disk_batches_make(struct contents *contents)
{
	size_t count = contents->undecided_count;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(contents->ingest->catalog, &reader);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct prefix *prefix = contents->undecided[i];

		prefix->place = first_place(contents, reader, prefix);
		prefix->large = prefix->key.size > BATCHED_FILE_MAX ||
				class_bytes(prefix) > contents->order.budget / BATCH_PART;
	}
	if (count > 1)
		qsort(contents->undecided, count, sizeof(struct prefix *), by_first_place);
	return divide(contents);
}

/* ---- prefetching --------------------------------------------------------------------- */

/* Returns the index in contents->undecided at which the batch begins. */
static uint32_t batch_first(const struct disk_order *order, uint32_t batch)
{
	return batch > 0 ? order->batches[batch - 1] : 0;
}

/* Appends pointers to the candidates of the prefix. */
static int add_files(const struct contents *contents, const struct prefix *prefix,
		     struct bytes *files)
{
	const struct candidate *window = contents->window.list;
	int r = 0;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		for (uint32_t at = content->first; r == 0 && at; at = window[at - 1].next)
			r = bytes_append(files, &(const struct candidate *){&window[at - 1]},
					 sizeof(struct candidate *));
	}
	return r;
}

static int by_candidate_place(const void *a, const void *b)
{
	return by_place(*(struct candidate *const *)a, *(struct candidate *const *)b);
}

/* Prefetches all files of a batch in the order of their positions. Errors are ignored: the
 * comparison meets and reports them. */
static void fetch_batch(struct contents *contents, uint32_t batch)
{
	struct disk_order *order = &contents->order;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_BYTES struct bytes files = {0};
	struct candidate **list;
	size_t count;
	int r = catalog_read_begin(contents->ingest->catalog, &reader);

	for (uint32_t i = batch_first(order, batch); r == 0 && i < order->batches[batch]; i++)
		r = add_files(contents, contents->undecided[i], &files);
	if (r < 0 || files.length == 0)
		return;
	list = (void *)files.data;
	count = files.length / sizeof(*list);
	qsort(list, count, sizeof(*list), by_candidate_place);
	for (size_t i = 0; i < count && !stop_requested(); i++)
		fetch(contents, reader, list[i], list[i]->size);
}

static bool is_large(const struct disk_order *order, uint32_t batch)
{
	return batch_first(order, batch) >= order->large;
}

uint32_t disk_batches_next(struct contents *contents, uint32_t *first, unsigned int *threads)
{
	struct disk_order *order = &contents->order;
	uint32_t batch = order->batch_now++;

	if (batch >= order->batch_count)
		return 0;
	order->in_turns = is_large(order, batch);
	if (batch == 0 && !order->in_turns)
		fetch_batch(contents, 0);
	/* Two large classes at a time would make the disk seek between them. */
	*threads = order->in_turns ? 1 : contents->comparers;
	atomic_store(&order->batch_taken, false);
	*first = batch_first(order, batch);
	return order->batches[batch] - *first;
}

void disk_batches_fetch_next(struct contents *contents)
{
	struct disk_order *order = &contents->order;
	uint32_t next = order->batch_now;

	if (next < order->batch_count && !is_large(order, next) &&
	    !atomic_exchange(&order->batch_taken, true))
		fetch_batch(contents, next);
}

uint64_t disk_order_turn(const struct disk_order *order, uint64_t offset, size_t count)
{
	uint64_t turn = order->budget / CLASS_PART / (count ? count : 1);

	if (!disk_order_is_on(order) || !order->in_turns)
		return 0;
	if (turn > TURN_MAX)
		turn = TURN_MAX;
	/* most files that differ do so near their beginning */
	if (turn > TURN_FIRST && turn > offset)
		turn = offset > TURN_FIRST ? offset : TURN_FIRST;
	return turn < TURN_MIN ? TURN_MIN : turn;
}

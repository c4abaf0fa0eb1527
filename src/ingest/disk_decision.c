/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "ingest/contents_state.h"
#include "ingest/disk_fetch.h"
#include "ingest/disk_order.h"

/* Whether files are read in the order of the disk: trials (disk_seeks.h) with candidates. */

/* Maximum number of candidates that is_cached() checks. */
#define SAMPLED_FILES 32

/* Maximum number of reads for the trials of all file systems. */
#define TRIED_FILES 64

/* Maximum number of undecided prefixes that are tested for seeks. */
#define TRIED_PREFIXES 8

/* After a decision, the next suspicion is ignored for this many times its duration. Decisions then
 * take at most a twentieth of the time. */
#define QUIET_FACTOR 20

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
	AUTO_CLOSE int fd = disk_order_open(contents, reader, candidate);
	struct disk_order_device *device = fd < 0 ? NULL : disk_order_find_device(contents, fd);

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
		AUTO_CLOSE int fd = disk_order_open(contents, reader, &contents->window.list[i]);

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
	AUTO_CLOSE int fd = disk_order_open(contents, reader, candidate);
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

	if (!disk_order_may_switch_on(contents) ||
	    catalog_read_begin(contents->ingest->catalog, &reader) < 0)
		return;
	if (undecided_wait(contents, reader) && undecided_seek(contents, reader))
		atomic_store(&contents->order.is_on, true);
}

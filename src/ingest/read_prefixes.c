/* SPDX-License-Identifier: MIT */
#include "ingest/read_prefixes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"
#include "ingest/contents_state.h"

/* Number of files that a thread reads before it adds their prefixes. The prefixes of so few files
 * stay in the cache of the processor. */
#define READ_FILES 8

struct prefix_reader {
	struct contents *contents;
	struct file_opener opener;
	struct catalog_reader *reader;
	uint8_t *blocks[READ_FILES];
	uint32_t indexes[READ_FILES];
	unsigned int count; /* blocks that are filled */
	struct disk_waits waits;
};

/* Reads the prefix of an open file and closes it. Returns 0, an enum reading_outcome, or -errno. */
static int read_block(struct prefix_reader *prefixes, struct candidate *candidate,
		      struct reading *reading, uint8_t *block)
{
	size_t length = prefix_length(candidate->size);
	uint64_t begun = clock_monotonic_ns();
	long got = read_fully_at(reading->fd, block, length, 0);
	int r;

	disk_order_note_read(prefixes->contents, &prefixes->waits, reading->fd,
			     clock_monotonic_ns() - begun);
	if (got < 0) {
		reading_abandon(reading);
		return (int)got;
	}
	r = reading_close(reading, prefixes->contents->ingest->catalog);
	if (r == 0 && (size_t)got != length)
		/* the file was shorter for a moment, so a process is writing it */
		r = READING_BUSY;
	if (r)
		return r;
	candidate->hash = hash128(block, length);
	candidate->read = true;
	return 0;
}

static void read_prefix(struct prefix_reader *prefixes, uint32_t index)
{
	struct candidate *candidate = &prefixes->contents->window.list[index];
	struct reading reading = {.fd = -1};
	struct file_record file;
	int r = catalog_get_file(prefixes->reader, candidate->file, &file);

	if (r == -ENOENT)
		return; /* the file was deleted meanwhile */
	if (r < 0) {
		contents_fail(prefixes->contents, r);
		return;
	}
	if (file.names == 0 || file.attributes.size != candidate->size)
		return; /* the file changed meanwhile, and is a candidate of another size */
	r = reading_open(&reading, &prefixes->opener, prefixes->reader, &file, true);
	candidate->digest = file_digest(&file);
	if (r == 0)
		r = read_block(prefixes, candidate, &reading, prefixes->blocks[prefixes->count]);
	if (is_small(candidate->size)) /* the prefix is the whole file */
		contents_count_done(prefixes->contents, 1, candidate->size);
	if (r == 0)
		prefixes->indexes[prefixes->count++] = index;
	else
		contents_note_problem(prefixes->contents, prefixes->reader, &file, r, &reading);
}

/* Adds the prefixes that were read. */
static void enter_prefixes(struct prefix_reader *prefixes)
{
	struct contents *contents = prefixes->contents;
	int r = 0;

	if (prefixes->count == 0)
		return;
	pthread_mutex_lock(&contents->prefixes_lock);
	for (unsigned int i = 0; r == 0 && i < prefixes->count; i++)
		r = prefixes_add(&contents->prefixes, prefixes->indexes[i], prefixes->blocks[i]);
	pthread_mutex_unlock(&contents->prefixes_lock);
	if (r < 0)
		contents_fail(contents, r);
	prefixes->count = 0;
}

static int read_range(struct prefix_reader *prefixes, uint32_t first, uint32_t end)
{
	int r = catalog_read_begin(prefixes->contents->ingest->catalog, &prefixes->reader);

	if (r < 0)
		return r;
	for (uint32_t i = first; i < end && !stop_requested(); i++) {
		read_prefix(prefixes, i);
		if (prefixes->count == READ_FILES)
			enter_prefixes(prefixes);
	}
	enter_prefixes(prefixes);
	catalog_read_end(prefixes->reader);
	return 0;
}

static void read_all(struct prefix_reader *prefixes)
{
	struct contents *contents = prefixes->contents;
	uint32_t first, end;
	int r;

	/* If a trial is due, the threads return. The trial then decides whether the remaining
	 * candidates are sorted. */
	while (!contents->failure && !stop_requested() &&
	       !disk_order_trial_is_due(&contents->order)) {
		if (!disk_order_take(contents, TAKEN_FILES, &first, &end))
			break;
		r = read_range(prefixes, first, end);
		if (r < 0)
			contents_fail(contents, r);
	}
}

void *read_prefixes_run(void *context)
{
	struct contents *contents = context;
	struct prefix_reader prefixes = {.contents = contents,
					 .opener = FILE_OPENER_INIT(contents->ingest->sources)};
	AUTO_FREE uint8_t *memory = memory_pages(SMALL_BYTES * READ_FILES);

	prefixes.opener.patient = contents->ingest->patient;
	if (!memory) {
		contents_fail(contents, -ENOMEM);
		return NULL;
	}
	for (size_t i = 0; i < READ_FILES; i++)
		prefixes.blocks[i] = memory + i * SMALL_BYTES;
	read_all(&prefixes);
	file_opener_deinit(&prefixes.opener);
	return NULL;
}

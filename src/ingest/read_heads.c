/* SPDX-License-Identifier: MIT */
#include "ingest/read_heads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"
#include "ingest/contents_state.h"

/* How many of TAKEN_FILES a thread reads before it enters them: their bytes stay in its cache. */
#define READ_FILES 8

struct head_reader {
	struct contents *contents;
	struct file_opener opener;
	struct catalog_reader *reader;
	uint8_t *blocks[READ_FILES];
	uint32_t indexes[READ_FILES];
	unsigned int count; /* of blocks that are filled */
	struct seek_watch seeks;
};

static size_t head_length(uint64_t size)
{
	return is_small(size) ? (size_t)size : HEAD_BYTES;
}

/* Reads the first bytes of an open file: 0, an enum reading_outcome, or -errno. */
static int read_block(struct head_reader *heads, struct candidate *candidate,
		      struct reading *reading, uint8_t *block)
{
	size_t length = head_length(candidate->size);
	uint64_t begun = clock_monotonic_ns();
	long got = read_fully_at(reading->fd, block, length, 0);
	int r;

	order_note_read(heads->contents, &heads->seeks, reading->fd, clock_monotonic_ns() - begun);
	if (got < 0) {
		reading_abandon(reading);
		return (int)got;
	}
	r = reading_close(reading, heads->contents->ingest->catalog);
	if (r == 0 && (size_t)got != length)
		r = READING_BUSY; /* shorter than its size, and then not: it moves */
	if (r)
		return r;
	candidate->hash = hash128(block, length);
	candidate->read = true;
	return 0;
}

static void read_head(struct head_reader *heads, uint32_t index)
{
	struct candidate *candidate = &heads->contents->window.list[index];
	struct reading reading = {.fd = -1};
	struct file_record file;
	int r = catalog_get_file(heads->reader, candidate->file, &file);

	if (r == -ENOENT)
		return; /* it went meanwhile */
	if (r < 0) {
		contents_fail(heads->contents, r);
		return;
	}
	if (file.names == 0 || file.attributes.size != candidate->size)
		return; /* it changed meanwhile: it is a candidate of another size */
	r = reading_open(&reading, &heads->opener, heads->reader, &file, true);
	candidate->digest = file_digest(&file);
	if (r == 0)
		r = read_block(heads, candidate, &reading, heads->blocks[heads->count]);
	if (is_small(candidate->size)) /* that was all of it */
		contents_count_done(heads->contents, 1, candidate->size);
	if (r == 0)
		heads->indexes[heads->count++] = index;
	else
		contents_note_problem(heads->contents, heads->reader, &file, r, &reading);
}

/* Hands over what was read. */
static void enter_heads(struct head_reader *heads)
{
	struct contents *contents = heads->contents;
	int r = 0;

	if (heads->count == 0)
		return;
	pthread_mutex_lock(&contents->heads_lock);
	for (unsigned int i = 0; r == 0 && i < heads->count; i++)
		r = heads_add(&contents->heads, heads->indexes[i], heads->blocks[i]);
	pthread_mutex_unlock(&contents->heads_lock);
	if (r < 0)
		contents_fail(contents, r);
	heads->count = 0;
}

static int read_range(struct head_reader *heads, uint32_t first, uint32_t end)
{
	int r = catalog_read_begin(heads->contents->ingest->catalog, &heads->reader);

	if (r < 0)
		return r;
	for (uint32_t i = first; i < end && !stop_requested(); i++) {
		read_head(heads, i);
		if (heads->count == READ_FILES)
			enter_heads(heads);
	}
	enter_heads(heads);
	catalog_read_end(heads->reader);
	return 0;
}

static void *read_all(struct head_reader *heads)
{
	struct contents *contents = heads->contents;
	bool ordered = order_is_on(&contents->order);
	uint32_t first, end;
	int r;

	/* when that turns out to matter what is left is put in order first */
	while (!contents->failure && !stop_requested() &&
	       ordered == order_is_on(&contents->order)) {
		if (!order_take(contents, TAKEN_FILES, &first, &end))
			break;
		r = read_range(heads, first, end);
		if (r < 0)
			contents_fail(contents, r);
	}
	return NULL;
}

void *read_heads_run(void *context)
{
	struct contents *contents = context;
	struct head_reader heads = {.contents = contents,
				    .opener = FILE_OPENER_INIT(contents->ingest->sources)};
	uint8_t *memory AUTO_FREE = memory_pages(HEAD_BYTES * READ_FILES);

	if (!memory) {
		contents_fail(contents, -ENOMEM);
		return NULL;
	}
	for (size_t i = 0; i < READ_FILES; i++)
		heads.blocks[i] = memory + i * HEAD_BYTES;
	read_all(&heads);
	file_opener_deinit(&heads.opener);
	return NULL;
}

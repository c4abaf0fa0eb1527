/* SPDX-License-Identifier: MIT */
#include "ingest/early_late.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"
#include "base/threads.h"
#include "catalog/query.h"
#include "ingest/prefixes.h"
#include "ingest/reading.h"

/* Number of files that a thread takes at a time. They are mostly in one directory, which is then
 * opened once. */
#define TAKEN_FILES 64

struct job {
	const struct ingest *ingest;
	const struct early_late *late;
	_Atomic size_t next; /* number of the next file to take */
	_Atomic int error;
};

struct late_reader {
	const struct ingest *ingest;
	struct catalog_reader *snapshot;
	struct file_opener opener;
	uint8_t *block; /* SMALL_BYTES */
};

/* Reads and proves the first bytes of a file. Returns their number; 0: the file stays unread. */
static size_t read_file(struct late_reader *reader, uint64_t id, uint64_t *size)
{
	struct reading reading;
	struct file_record file;
	size_t length;
	long got;

	if (catalog_get_file(reader->snapshot, id, &file) || file.names != 1)
		return 0;
	*size = file.attributes.size;
	length = prefix_length(*size);
	if (reading_open(&reading, &reader->opener, reader->snapshot, &file, true))
		return 0;
	got = read_fully_at(reading.fd, reader->block, length, 0);
	if (reading_close(&reading, reader->ingest->catalog) || got != (long)length)
		return 0;
	return length;
}

static void read_taken(struct late_reader *reader, struct job *job)
{
	const struct early_late *late = job->late;
	uint64_t size = 0;
	size_t first, end, length;

	while ((first = atomic_fetch_add(&job->next, TAKEN_FILES)) < late->count) {
		end = first + TAKEN_FILES < late->count ? first + TAKEN_FILES : late->count;
		for (size_t i = first; i < end && !stop_requested(); i++) {
			length = read_file(reader, late->files[i], &size);
			late->use(late->context, i, size, reader->block, length);
		}
	}
}

static void *read_late(void *context)
{
	struct job *job = context;
	struct late_reader reader = {.ingest = job->ingest,
				     .opener = FILE_OPENER_INIT(job->ingest->sources),
				     .block = memory_pages(SMALL_BYTES)};
	int r = reader.block ? catalog_read_begin(job->ingest->catalog, &reader.snapshot) : -ENOMEM;

	if (r == 0)
		read_taken(&reader, job);
	else
		atomic_store(&job->error, r);
	catalog_read_end(reader.snapshot);
	file_opener_deinit(&reader.opener);
	free(reader.block);
	return NULL;
}

int early_read_late(const struct ingest *ingest, const struct early_late *late)
{
	struct job job = {.ingest = ingest, .late = late};
	size_t useful = (late->count + TAKEN_FILES - 1) / TAKEN_FILES;
	int r;

	if (late->count == 0)
		return 0;
	r = threads_run(useful < late->threads ? (unsigned int)useful : late->threads, read_late,
			&job);
	return r < 0 ? r : atomic_load(&job.error);
}

/* SPDX-License-Identifier: MIT */
#include "ingest/early_late.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/threads.h"
#include "catalog/query.h"
#include "ingest/prefixes.h"
#include "ingest/reading.h"

/* Number of files that a thread takes at a time. They are mostly in one directory, which is then
 * opened once. */
#define TAKEN_FILES 64

struct job {
	const struct ingest *ingest;
	const uint64_t *files;
	size_t count;
	_Atomic size_t next; /* number of the next file to take */
	early_late_fn *use;
	void *context;
	_Atomic int error;
};

struct late_reader {
	struct job *job;
	struct catalog_reader *reader;
	struct file_opener opener;
	uint8_t *block; /* SMALL_BYTES */
};

/* Reads and proves the first bytes of a file. Returns their number; 0: the file stays unread. */
static size_t read_file(struct late_reader *late, uint64_t id, uint64_t *size)
{
	struct reading reading;
	struct file_record file;
	size_t length;
	long got;

	if (catalog_get_file(late->reader, id, &file) || file.names != 1)
		return 0;
	*size = file.attributes.size;
	length = prefix_length(*size);
	if (reading_open(&reading, &late->opener, late->reader, &file, true))
		return 0;
	got = read_fully_at(reading.fd, late->block, length, 0);
	if (reading_close(&reading, late->job->ingest->catalog) || got != (long)length)
		return 0;
	return length;
}

static void read_taken(struct late_reader *late)
{
	struct job *job = late->job;
	uint64_t size = 0;
	size_t first, end, length;

	while ((first = atomic_fetch_add(&job->next, TAKEN_FILES)) < job->count) {
		end = first + TAKEN_FILES < job->count ? first + TAKEN_FILES : job->count;
		for (size_t i = first; i < end; i++) {
			length = read_file(late, job->files[i], &size);
			job->use(job->context, i, size, late->block, length);
		}
	}
}

static void *read_late(void *context)
{
	struct job *job = context;
	struct late_reader late = {.job = job,
				   .opener = FILE_OPENER_INIT(job->ingest->sources),
				   .block = memory_pages(SMALL_BYTES)};
	int r = late.block ? catalog_read_begin(job->ingest->catalog, &late.reader) : -ENOMEM;

	if (r == 0)
		read_taken(&late);
	else
		atomic_store(&job->error, r);
	catalog_read_end(late.reader);
	file_opener_deinit(&late.opener);
	free(late.block);
	return NULL;
}

int early_read_late(const struct ingest *ingest, const uint64_t *files, size_t count,
		    unsigned int threads, early_late_fn *use, void *context)
{
	struct job job = {.ingest = ingest,
			  .files = files,
			  .count = count,
			  .use = use,
			  .context = context};
	size_t useful = (count + TAKEN_FILES - 1) / TAKEN_FILES;
	int r;

	if (count == 0)
		return 0;
	r = threads_run(useful < threads ? (unsigned int)useful : threads, read_late, &job);
	return r < 0 ? r : atomic_load(&job.error);
}

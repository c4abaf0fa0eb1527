/* SPDX-License-Identifier: MIT */
#include "ingest/contents_state.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"
#include "catalog/paths.h"
#include "source/source.h"

static void add_bytes(_Atomic uint64_t *sum, uint64_t bytes)
{
	uint64_t before = atomic_load(sum);

	while (!atomic_compare_exchange_weak(sum, &before, size_add(before, bytes)))
		;
}

void contents_count_done(struct contents *contents, uint64_t files, uint64_t bytes)
{
	if (contents->repeats)
		return;
	atomic_fetch_add(&contents->ingest->progress.compared, files);
	add_bytes(&contents->ingest->progress.compared_bytes, bytes);
}

void contents_fail(struct contents *contents, int failure)
{
	int none = 0;

	atomic_compare_exchange_strong(&contents->failure, &none, failure);
}

static void report(struct contents *contents, struct catalog_reader *reader,
		   const struct file_record *file, int error)
{
	CLEANUP_BYTES struct bytes relative = {0}, absolute = {0};
	uint32_t source;
	int before;

	if (contents->errors_logged &&
	    catalog_get_error(reader, ERROR_FILE, file->id, &before) == 0 && before == error)
		return;
	if (catalog_file_path(reader, file, &relative, &source) == 0 &&
	    source_absolute_path(contents->ingest->sources, source, bytes_text(&relative),
				 &absolute) == 0)
		log_warning("cannot read %s: %s; not compared", quote_path(bytes_text(&absolute)),
			    error_text(error));
}

/* Returns true if this process or the machine lacks a resource for a moment. The file is then read
 * again later, and no error is recorded. */
static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR ||
	       error == EAGAIN;
}

void contents_note_problem(struct contents *contents, struct catalog_reader *reader,
			   const struct file_record *file, int what, const struct reading *reading)
{
	const struct ingest_hooks *hooks = contents->ingest->hooks;
	struct problem_result problem = {.file = file->id};
	int r = 0;

	if (what == READING_GONE)
		return;
	if (what == READING_BUSY || (what < 0 && is_shortage(-what))) {
		atomic_fetch_add(&contents->postponed, 1);
		return;
	}
	if (what == READING_CHANGED) {
		atomic_fetch_add(&contents->postponed, 1);
		if (hooks) {
			hooks->recheck_file(hooks->context, file->id);
			return;
		}
		problem.attributes = reading->attributes;
	} else {
		atomic_fetch_add(&contents->errors, 1);
		problem.error = -what;
		report(contents, reader, file, -what);
	}
	r = results_add_problem(&contents->results, &problem);
	if (r < 0)
		contents_fail(contents, r);
}

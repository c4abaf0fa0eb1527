/* SPDX-License-Identifier: MIT */

/* Retries of directories that could not be read. */
#include <stdlib.h>

#include "base/clock.h"
#include "catalog/query.h"
#include "daemon/follower_internal.h"
#include "ingest/ingest.h"

static int still_fails(struct catalog_reader *reader, uint64_t dir, bool *fails)
{
	struct catalog_totals totals = {0};
	int error = 0, r;

	if (dir == BACKOFF_ALL)
		r = catalog_get_totals(reader, &totals);
	else
		r = catalog_get_error(reader, ERROR_DIR, dir, &error);
	*fails = totals.errors > 0 || ingest_error_is_temporary(error);
	return r;
}

/* Requests a retry of a directory that could not be read. For BACKOFF_ALL, sets *all: all sources
 * have to be walked. If the directory was read meanwhile, its wait ends, after one more listing for
 * quarantine names that a recheck of single names left out. If not, its backoff grows now, as the
 * retry does not report a success. */
static int retry_dir(struct follower *follower, struct catalog_reader *reader, uint64_t dir,
		     bool *all)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool fails;
	int r = still_fails(reader, dir, &fails);

	if (r < 0)
		return r;
	pthread_mutex_lock(&follower->worker.lock);
	if (fails)
		r = backoff_failed(&follower->failing, dir, now_ns);
	else
		backoff_done(&follower->failing, dir, now_ns);
	pthread_mutex_unlock(&follower->worker.lock);
	if (dir == BACKOFF_ALL) {
		*all |= fails;
		return r;
	}
	return r < 0 ? r : event_set_add(&follower->dirty, dir, NULL, 0, EVENT_LISTING);
}

int follower_note_failed(struct follower *follower, bool *all)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct due_files dirs = {0};
	int r;

	pthread_mutex_lock(&follower->worker.lock);
	r = backoff_due(&follower->failing, clock_monotonic_ns(), false, &dirs);
	backoff_sweep(&follower->failing, clock_monotonic_ns());
	pthread_mutex_unlock(&follower->worker.lock);
	if (r == 0 && dirs.count > 0)
		r = catalog_read_begin(follower->ingest.catalog, &reader);
	for (size_t i = 0; r == 0 && i < dirs.count; i++)
		r = retry_dir(follower, reader, dirs.list[i], all);
	free(dirs.list);
	return r;
}

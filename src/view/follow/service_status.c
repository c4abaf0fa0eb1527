/* SPDX-License-Identifier: MIT */

/* The service status thread:
 *
 *	waits for			passes on
 *	service_status_update(),	a status line that differs from the last one --> manager
 *	  a view, POLL_NS while the
 *	  view is not current
 *	PAUSE_NS after each line
 */
#include "view/follow/service_status.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/thread.h"
#include "index/query.h"
#include "scan/indexing.h"
#include "view/tree/view.h"

/* Minimum time between two lines. */
#define PAUSE_NS (250 * MS_NS)
/* Interval at which counters are polled, as no update reports their changes. */
#define POLL_NS SECOND_NS

struct service_status {
	const struct service_manager *service; /* borrowed */
	const struct indexing *indexing; /* borrowed */
	struct bytes sent; /* the last line; used only by the thread */

	pthread_t thread;
	pthread_mutex_t lock; /* guards all fields below */
	pthread_cond_t changed;
	struct view *view; /* borrowed; NULL before service_status_show() */
	bool has_update;
	bool ending;
};

/* ---- text ---------------------------------------------------------------------------- */

static int append_comparing(struct bytes *text, const struct service_figures *figures)
{
	int percent = progress_percent(&figures->counts);
	uint64_t seconds;
	int r;

	if (percent < 0)
		return bytes_append_text(text, "comparing");
	r = bytes_format(text, "comparing %d %%", percent);
	if (r < 0 || !progress_seconds_left(&figures->counts, figures->elapsed_ns, &seconds))
		return r;
	r = bytes_append_text(text, ", ");
	if (r == 0)
		r = progress_append_left(text, seconds);
	return r < 0 ? r : bytes_append_text(text, " left");
}

static int append_figures(struct bytes *text, const struct service_figures *figures)
{
	char count[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	int r = bytes_format(text, "%s %s, %s reclaimable", number_format(count, figures->groups),
			     plural(figures->groups, "group", "groups"),
			     size_format(size, figures->reclaimable_bytes));

	if (r == 0 && figures->errors > 0)
		r = bytes_format(text, "; %s could not be read, see .twinfs/errors",
				 number_format(count, figures->errors));
	return r;
}

int service_status_format(struct bytes *text, const struct service_figures *figures)
{
	char count[NUMBER_TEXT_MAX];
	int r = 0;

	if (figures->problem)
		r = bytes_format(text, "cannot update (%s): ", error_text(figures->problem));
	else if (figures->missing)
		r = bytes_append_text(text, "a source is missing: ");
	if (r < 0)
		return r;
	switch (figures->phase) {
	case SERVICE_READS_NAMES:
		return bytes_format(text, "reading names, %s so far",
				    number_format(count, figures->counts.files_done));
	case SERVICE_COMPARES:
		return append_comparing(text, figures);
	case SERVICE_COMPARES_CHANGES:
		r = bytes_append_text(text, "comparing changed files: ");
		break;
	case SERVICE_IS_CURRENT:
		r = bytes_append_text(text, "current: ");
		break;
	}
	return r < 0 ? r : append_figures(text, figures);
}

/* ---- sending ------------------------------------------------------------------------- */

static void gather_of_view(const struct view *view, struct service_figures *figures)
{
	struct catalog_totals totals = {0};

	figures->problem = view->problem;
	figures->missing = view_get_state(view) == VIEW_SOURCE_MISSING;
	if (view_first_comparison(view, &figures->counts, &figures->elapsed_ns)) {
		figures->phase = SERVICE_COMPARES;
		return;
	}
	figures->phase = view_get_progress(view) == VIEW_CURRENT ? SERVICE_IS_CURRENT
								 : SERVICE_COMPARES_CHANGES;
	if (catalog_totals_now(view->catalog, &totals) < 0)
		return;
	figures->groups = totals.groups;
	figures->reclaimable_bytes = size_sum_bytes(&totals.reclaimable_bytes);
	figures->errors = totals.errors;
}

/* Sends the status line if it changed. Returns false if the line has to be sent again later. */
static bool send_status(struct service_status *status, const struct view *view)
{
	struct service_figures figures = {.phase = SERVICE_READS_NAMES};
	CLEANUP_BYTES struct bytes text = {0};
	const char *line;
	int r;

	if (view)
		gather_of_view(view, &figures);
	else
		figures.counts = progress_counts_of(&status->indexing->ingest, PROGRESS_NAMES);
	if (bytes_append_text(&text, "STATUS=") < 0 || service_status_format(&text, &figures) < 0)
		return false;
	line = bytes_text(&text);
	if (!line)
		return false;
	if (bytes_compare(&text, &status->sent) == 0)
		return true;
	r = service_manager_try_notify(status->service, line);
	if (r < 0)
		return r != -EAGAIN; /* with any other error the manager has closed its socket */
	bytes_free(&status->sent);
	status->sent = text;
	text = (struct bytes){.data = NULL};
	return true;
}

/* Waits until PAUSE_NS after the last line, and then for an update. The caller holds the lock. */
static void wait_for_update(struct service_status *status)
{
	uint64_t now = clock_monotonic_ns(), until_ns = now + PAUSE_NS;

	while (!status->ending && clock_monotonic_ns() < until_ns)
		timed_wait(&status->changed, &status->lock, until_ns);
	/* while the view is current, updates report every change */
	until_ns = status->view && view_get_state(status->view) == VIEW_CURRENT ? UINT64_MAX
										: now + POLL_NS;
	while (!status->ending && !status->has_update && clock_monotonic_ns() < until_ns)
		timed_wait(&status->changed, &status->lock, until_ns);
}

static void *run(void *context)
{
	struct service_status *status = context;

	pthread_mutex_lock(&status->lock);
	while (!status->ending) {
		const struct view *view = status->view;
		bool sent;

		status->has_update = false;
		pthread_mutex_unlock(&status->lock);
		sent = send_status(status, view);
		pthread_mutex_lock(&status->lock);
		status->has_update |= !sent;
		wait_for_update(status);
	}
	pthread_mutex_unlock(&status->lock);
	return NULL;
}

void service_status_free(struct service_status *status)
{
	if (!status)
		return;
	bytes_free(&status->sent);
	pthread_cond_destroy(&status->changed);
	pthread_mutex_destroy(&status->lock);
	free(status);
}

void service_status_start(struct service_status **status, const struct service_manager *service,
			  const struct indexing *indexing)
{
	struct service_status *made;

	*status = NULL;
	made = service->has_manager ? calloc(1, sizeof(*made)) : NULL;
	if (!made)
		return;
	made->service = service;
	made->indexing = indexing;
	pthread_mutex_init(&made->lock, NULL);
	timed_wait_init(&made->changed);
	if (thread_start(&made->thread, run, made) < 0)
		service_status_free(made);
	else
		*status = made;
}

/* Wakes the thread. view: the new view; NULL: no change. ending: ends the thread. */
static void wake(struct service_status *status, struct view *view, bool ending)
{
	pthread_mutex_lock(&status->lock);
	if (view)
		status->view = view;
	status->has_update = true;
	status->ending |= ending;
	pthread_cond_signal(&status->changed);
	pthread_mutex_unlock(&status->lock);
}

void service_status_show(struct service_status *status, struct view *view)
{
	if (status)
		wake(status, view, false);
}

void service_status_update(struct service_status *status)
{
	if (status)
		wake(status, NULL, false);
}

void service_status_end(struct service_status *status)
{
	if (!status)
		return;
	wake(status, NULL, true);
	pthread_join(status->thread, NULL);
}

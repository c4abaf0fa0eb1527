/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_SERVICE_STATUS_H
#define VIEW_FOLLOW_SERVICE_STATUS_H

/* Sends the progress of a view to the service manager; 'systemctl status' shows it.
 *
 *	counters of walk and comparison --once a second------.
 *	commits, state of the view --service_status_update---+--> thread --STATUS=...--> manager
 *
 * The thread sends a line only if it differs from the last line, and at most four lines a second.
 * It sleeps while the view is current and nothing changes. Without a service manager there is no
 * thread.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "view/follow/readiness.h"

struct indexing;
struct service_status;
struct view;

/* State of a view, as shown in a status line. */
struct service_figures {
	enum service_phase {
		SERVICE_READS_NAMES,
		SERVICE_COMPARES, /* the first comparison */
		SERVICE_COMPARES_CHANGES,
		SERVICE_IS_CURRENT,
	} phase;
	int problem; /* positive errno that blocks progress, or 0 */
	bool missing; /* a source is missing */
	struct progress_counts counts; /* in the first two phases */
	uint64_t elapsed_ns; /* in SERVICE_COMPARES */
	uint64_t groups, reclaimable_bytes, errors; /* in the last two phases */
};

/* Appends the figures as text: "comparing 43 %, 2 minutes left". Returns 0 or -ENOMEM. Pure. */
MUST_CHECK int service_status_format(struct bytes *text, const struct service_figures *figures);

/* Starts the thread. If there is no service manager, or the thread cannot be started, sets *status
 * to NULL, and the view is served without a status.
 *
 * service, indexing	borrowed until service_status_end()
 */
void service_status_start(struct service_status **status, const struct service_manager *service,
			  const struct indexing *indexing);

/* Sets the view (borrowed until service_status_end()). Like the functions below, accepts a NULL
 * status. */
void service_status_show(struct service_status *status, struct view *view);

/* Requests a new status line. Any thread, never blocks for long. */
void service_status_update(struct service_status *status);

/* Ends the thread. service_status_update() may still be called. */
void service_status_end(struct service_status *status);

/* Frees the status, after service_status_end() and the last service_status_update(). */
void service_status_free(struct service_status *status);

#endif

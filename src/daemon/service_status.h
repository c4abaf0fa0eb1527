/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SERVICE_STATUS_H
#define DAEMON_SERVICE_STATUS_H

/* Keeps the service manager told how far a view is, for 'systemctl status' to show.
 *
 *	counters of walk and comparison --once a second--.
 *	commits, state of the view --service_status_stir-+--> a thread --STATUS=...--> manager
 *
 * A line is sent where it is another one, at most four a second; and while nothing happens the
 * thread does not run at all. Where no manager listens there is no thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "daemon/service.h"

struct indexing;
struct service_status;
struct view;

/* What there is to say. */
struct service_figures {
	enum service_phase {
		SERVICE_READS_NAMES,
		SERVICE_COMPARES, /* for the first time */
		SERVICE_COMPARES_CHANGES,
		SERVICE_IS_CURRENT,
	} phase;
	int problem; /* positive errno that keeps it from going on, 0 */
	struct progress_counts counts; /* of the first two */
	uint64_t elapsed_ns; /* of SERVICE_COMPARES */
	uint64_t groups, reclaimable_bytes, errors; /* of the last two */
};

/* Appends it in words: "comparing 43 %, 2 minutes left". 0 or -ENOMEM. Pure. */
MUST_CHECK int service_status_format(struct bytes *text, const struct service_figures *figures);

/* Starts to tell. *status is NULL where nobody listens, or there was no memory or thread for it,
 * which is no reason to have no view.
 *
 * service, indexing	borrowed until the end
 */
void service_status_start(struct service_status **status, const struct service *service,
			  const struct indexing *indexing);

/* There is a view now (borrowed until the end). All from here on accept NULL. */
void service_status_show(struct service_status *status, struct view *view);

/* Something has changed. Any thread, never blocks for long. */
void service_status_stir(struct service_status *status);

/* Nothing is told any more when this returns; it may still be stirred. */
void service_status_end(struct service_status *status);

/* Behind the last one that stirs it, and after service_status_end(). */
void service_status_free(struct service_status *status);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_STOP_H
#define BASE_STOP_H

/* The stop flag: all long work of this process stops when it is set. Any thread, and signal
 * handlers.
 */

#include <stdbool.h>

void stop_request(void);
bool stop_requested(void);

/* A check that long work makes regularly. If a signal has interrupted the program that waits for
 * the result, the work ends with -EINTR. */
struct cancellation {
	/* Returns whether the work must end. Cheap; any thread that does the work calls it. */
	bool (*is_requested)(void *context);
	void *context;
};

/* Returns whether cancellation was requested. cancellation is NULL for work that cannot be
 * cancelled. */
static inline bool cancellation_is_requested(const struct cancellation *cancellation)
{
	return cancellation && cancellation->is_requested(cancellation->context);
}

#endif

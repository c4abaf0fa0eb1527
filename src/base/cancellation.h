/* SPDX-License-Identifier: MIT */
#ifndef BASE_CANCELLATION_H
#define BASE_CANCELLATION_H

/* A check that long work makes regularly: whether a signal interrupted the program that waits for
 * the result. If so, the work ends with -EINTR. */

#include <stdbool.h>

struct cancellation {
	/* Cheap. Any thread that works for the program calls this. */
	bool (*is_requested)(void *context);
	void *context;
};

/* Returns whether cancellation was requested. NULL: it cannot be requested. */
static inline bool cancellation_is_requested(const struct cancellation *cancellation)
{
	return cancellation && cancellation->is_requested(cancellation->context);
}

#endif

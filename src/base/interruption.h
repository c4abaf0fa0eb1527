/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERRUPTION_H
#define BASE_INTERRUPTION_H

/* A check that long work makes regularly: whether a signal interrupted the program that waits for
 * the result. If so, the work ends with -EINTR. */

#include <stdbool.h>

struct interruption {
	/* Cheap. Any thread that works for the program calls this. */
	bool (*is_set)(void *context);
	void *context;
};

/* Returns whether the program was interrupted. NULL: it cannot be interrupted. */
static inline bool interruption_is_set(const struct interruption *interruption)
{
	return interruption && interruption->is_set(interruption->context);
}

#endif

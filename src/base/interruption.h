/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERRUPTION_H
#define BASE_INTERRUPTION_H

/* How long work asks whether the program that waits for its result was interrupted by a signal. The
 * work then ends with -EINTR. */

#include <stdbool.h>

struct interruption {
	/* Cheap; any thread that works for this program. */
	bool (*is_set)(void *context);
	void *context;
};

/* interruption	NULL: the program cannot be interrupted */
static inline bool interruption_is_set(const struct interruption *interruption)
{
	return interruption && interruption->is_set(interruption->context);
}

#endif

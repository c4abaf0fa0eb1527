/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

/* Threads that signals leave alone: they go to those that wait for them. */

#include <pthread.h>

#include "base/attributes.h"

/* As pthread_create(3), with all signals blocked in the new thread but those of its own faults. 0 or
 * -errno. */
MUST_CHECK int thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

/* Threads that block signals, so that the threads that wait for signals receive them. */

#include <pthread.h>

#include "base/attributes.h"

/* Starts a thread like pthread_create(3), with all signals blocked except those of its own faults,
 * and with a stack of a fixed size. Returns 0 or -errno. */
MUST_CHECK int thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INGEST_THREADS_H
#define INGEST_THREADS_H

#include "base/attributes.h"

/* Runs body(context) in count threads, one of which is the calling thread. Returns when all have
 * returned. If fewer threads can be started, that is no failure. Returns 0 or -errno. */
MUST_CHECK int threads_run(unsigned int count, void *(*body)(void *), void *context);

/* Returns the number of processors that this process may use. */
unsigned int threads_that_compute(void);

/* Returns that number, or a minimum if it is small: reading threads mostly wait for the disk, which
 * is fastest with several requests. */
unsigned int threads_that_read(void);

#endif

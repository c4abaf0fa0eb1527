/* SPDX-License-Identifier: MIT */
#ifndef INGEST_THREADS_H
#define INGEST_THREADS_H

#include "base/attributes.h"

/* Runs body(context) in count threads, the calling one among them, and returns when all have
 * returned. Fewer threads than asked for are no failure. 0 or -errno. */
MUST_CHECK int threads_run(unsigned int count, void *(*body)(void *), void *context);

/* One for each processor that this process may use. */
unsigned int threads_that_compute(void);

/* As many, and more where there are few processors: of these most wait for the disk, which does
 * several things at a time best. */
unsigned int threads_that_read(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INGEST_THREADS_H
#define INGEST_THREADS_H

#include "base/attributes.h"

/* Runs body(context) in count threads (0: one per processor that this process may use), the
 * calling one among them, and returns when all have returned. Fewer threads than asked for are no
 * failure. 0 or -errno. */
MUST_CHECK int threads_run(unsigned int count, void *(*body)(void *), void *context);

/* What 0 stands for. */
unsigned int threads_default(void);

#endif

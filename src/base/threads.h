/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

/* Groups of threads. Any thread may call these functions. */

#include "base/attributes.h"

/* Runs body(context) in count threads, including the calling thread, and waits for all of them. If
 * threads cannot be started, uses fewer. Returns 0, or -EINVAL if count is 0 or above 64. */
MUST_CHECK int threads_run(unsigned int count, void *(*body)(void *), void *context);

/* Returns the number of processors that this process may use, at most 64. */
unsigned int threads_that_compute(void);

/* Returns the number of threads that read files. On few processors this number is larger than the
 * number of processors. Reading threads mostly wait for the disk, and the disk is fastest with
 * several requests. */
unsigned int threads_that_read(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATIENCE_H
#define BASE_PATIENCE_H

/* Asking a file system that may never answer: a network or FUSE mount whose server hangs. Who asks
 * it is stuck in the kernel, where nothing but its answer helps, so a child process asks. Any
 * thread. */

#include "base/attributes.h"

/* Runs ask in a child process.
 *
 * ask		gives 0 or a negative errno; makes system calls and nothing else, as other threads
 *		may have held a lock at the fork
 *
 * fd		the only descriptor that the child has, -1: it has none. One that is stuck must keep
 *		neither a lock nor a pipe
 *
 * Its result; -ETIMEDOUT where there is none after so long, and the child is left to itself; or
 * -errno. */
MUST_CHECK int ask_with_patience(int (*ask)(void *context), void *context, int fd,
				 unsigned int patience_ms);

#endif

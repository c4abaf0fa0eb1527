/* SPDX-License-Identifier: MIT */
#ifndef BASE_TIMED_CALL_H
#define BASE_TIMED_CALL_H

/* Calls with a timeout, for a file system that possibly never answers: a network or FUSE mount
 * whose server hangs. A process that accesses such a file system blocks in the kernel until an
 * answer arrives, so a child process makes the call. Any thread. */

#include "base/attributes.h"

/* Runs a function in a child process.
 *
 * call	returns 0 or a negative errno. It must only make system calls, because other threads
 *		possibly held locks at the fork.
 * fd	the only descriptor that the child keeps; -1: none. A child that does not end must not
 *	keep the locks and pipes of this process.
 *
 * Returns the result of the function; -ETIMEDOUT after timeout_ms, with the child killed; -EIO if a
 * signal ended the child; or another -errno. A killed child that the kernel does not end at once is
 * left alone after half a second. */
MUST_CHECK int call_with_timeout(int (*call)(void *context), void *context, int fd,
				 unsigned int timeout_ms);

/* Works like call_with_timeout(), but can take long: check decides at each interval whether the
 * file system still answers. A signal ends the call (base/stop.h).
 *
 * check	called in this process; returns 0 to go on waiting, or a negative errno
 *
 * Returns also -EINTR, and the errors of check. */
MUST_CHECK int call_while(int (*call)(void *context), int (*check)(void *context), void *context,
			  unsigned int interval_ms);

#endif

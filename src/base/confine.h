/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

/* Giving up what a process does not need, so that no mistake of it, and nobody who gets it to run
 * code of his, can use it.
 *
 * Each holds for the calling thread and for all threads and processes that it starts later, and
 * nothing takes it back. So they are called before other threads are started. A file that is open
 * stays as it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* The set with one capability (CAP_... of linux/capability.h). */
#define CAPABILITY(number) (UINT64_C(1) << (number))

/* Gives up all capabilities but these; programs that are started get no more either. Those that the
 * process does not have are not gained. 0 or -errno. */
MUST_CHECK int confine_capabilities(uint64_t keep);

/* Appends the names of the capabilities that are in effect, as "dac_read_search,lease", or "none".
 * 0 or -errno. */
MUST_CHECK int confine_name_capabilities(struct bytes *text);

/* Has this thread any capability in effect? True where that cannot be told. */
bool confine_has_capabilities(void);

/* Has it this one (a number of linux/capability.h) in effect? False where that cannot be told. */
bool confine_has_capability(unsigned int number);

/* The version of Landlock that the kernel has: 0 for none. */
int confine_landlock_version(void);

/* No program that is started has more rights than its parent: set-uid means nothing any more. The
 * other two ask for it. 0 or -errno. */
MUST_CHECK int confine_no_new_privileges(void);

/* Has the kernel refuse (EACCES, EXDEV) to make, remove, rename, truncate, and open for writing
 * whatever is not below the folder (NULL: everything), but for /dev/null; to run any program; to connect or listen by
 * TCP; and to change mounts. By Landlock, of which each Linux since 5.13 knows a part:
 * https://docs.kernel.org/userspace-api/landlock.html
 *
 * -ENOSYS or -EOPNOTSUPP where the kernel has none, or -errno. */
MUST_CHECK int confine_writing(const char *folder);

/* Has the kernel refuse (EPERM) what Landlock leaves: changes of modes, owners, times, extended
 * attributes and flags of files wherever they are; and what a file system has no need of, as
 * mounting, tracing, loading code into the kernel. By seccomp(2).
 *
 * with_rings	io_uring_setup(2), whose requests no filter sees, is not refused
 *
 * -ENOSYS where this program does not know the processor, or the kernel has none, or -errno. */
MUST_CHECK int confine_calls(bool with_rings);

/* Has the kernel refuse (EPERM) all calls but those that read and write what is open, take memory,
 * and end: nothing more is opened, looked up, started, signalled or connected to. Libraries that
 * are needed must be loaded before. By seccomp(2), with the same errors as confine_calls(). */
MUST_CHECK int confine_to_computing(void);

#endif

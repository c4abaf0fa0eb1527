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
 * next two need it. 0 or -errno. */
MUST_CHECK int confine_no_new_privileges(void);

/* Has the kernel refuse (EACCES, EXDEV) to make, remove, rename, truncate, and open for writing
 * whatever is not below the folder (NULL: everything), except /dev/null. Below it only regular
 * files and directories can be made. Also refused: to run a program, to connect or listen by TCP,
 * to change mounts, and, from Linux 6.12 on, to signal processes outside and to reach their
 * abstract UNIX sockets. By Landlock, of which each Linux since 5.13 knows a part:
 * https://docs.kernel.org/userspace-api/landlock.html
 *
 * -ENOSYS or -EOPNOTSUPP where the kernel has none, or -errno. */
MUST_CHECK int confine_writing(const char *folder);

/* What confine_calls() allows in addition. */
enum {
	/* io_uring_setup(2), whose requests no filter sees, and memory for code */
	CONFINE_WITH_RINGS = 1 << 0,
	/* to change the effective user and groups of a thread (base/caller.h) */
	CONFINE_WITH_CALLERS = 1 << 1,
};

/* Has the kernel refuse all system calls but those by which a process reads files, changes what
 * confine_writing() lets it change, and manages its own memory, threads and descriptors. Refused
 * are all calls that change attributes of files, make sockets, start processes, reach other
 * processes, map memory for code, or administer the system; and all requests of ioctl(2) and commands of
 * fcntl(2) but some that read. Refused calls fail with EPERM; those that this program does not know
 * fail with ENOSYS. By seccomp(2).
 *
 * needs	of CONFINE_WITH_...
 *
 * The process cannot fork afterwards, and can signal only itself.
 *
 * Returns 0, -ENOSYS if this program does not know the processor or the kernel has no filters, or
 * -errno. */
MUST_CHECK int confine_calls(unsigned int needs);

/* Has the kernel refuse (EPERM) all calls but those that read and write what is open, take memory,
 * and end: nothing more is opened, looked up, started, signalled or connected to. Libraries that
 * are needed must be loaded before. By seccomp(2), with the same errors as confine_calls(). */
MUST_CHECK int confine_to_computing(void);

#endif

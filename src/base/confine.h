/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

/* Confinement: a process gives up rights that it does not need. An attacker who executes code in
 * the process cannot use these rights, and a bug cannot either.
 *
 * Each restriction applies to the calling thread, and to all threads and processes that it starts
 * later. A restriction cannot be undone. Call these functions before other threads are started.
 * Open files stay open and usable.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* The set of one capability (CAP_... of linux/capability.h). */
#define CAPABILITY(number) (UINT64_C(1) << (number))

/* Gives up all capabilities except those in keep; gains none. Without CAP_SETPCAP, a set-user-ID
 * program that is started later can still gain capabilities, unless confine_no_new_privileges() was
 * called. Returns 0 or -errno. */
MUST_CHECK int confine_capabilities(uint64_t keep);

/* Appends the names or numbers of the effective capabilities, as "dac_read_search,lease", or
 * "none". Returns 0 or -errno. */
MUST_CHECK int confine_name_capabilities(struct bytes *text);

/* Returns whether this thread has an effective capability. Returns true if the capabilities cannot
 * be read. */
bool confine_has_capabilities(void);

/* Returns whether this capability (a number of linux/capability.h) is effective. Returns false if
 * the capabilities cannot be read.
 */
bool confine_has_capability(unsigned int number);

/* Returns the version of Landlock in the kernel, or 0 if the kernel has no Landlock. */
int confine_landlock_version(void);

/* Ensures that no started program gains rights by set-user-ID bits or file capabilities. The
 * functions below need this. Returns 0 or -errno. */
MUST_CHECK int confine_no_new_privileges(void);

/* Makes the kernel refuse (EACCES, EXDEV) to make, remove, rename, truncate, or open for writing
 * anything outside of the folder, except /dev/null. If folder is NULL, this is true of all folders.
 * In the folder, only regular files and directories can be made. The kernel also refuses to run
 * programs, to connect or listen by TCP, and to change mounts. Since Linux 6.12, it also refuses to
 * signal outside processes and to connect to their abstract UNIX sockets. Uses Landlock. Each Linux
 * since 5.13 supports some of these restrictions:
 * https://docs.kernel.org/userspace-api/landlock.html
 *
 * Returns 0, -ENOSYS or -EOPNOTSUPP if the kernel has no Landlock, or -errno. */
MUST_CHECK int confine_writing(const char *folder);

/* Calls that confine_calls() allows in addition. */
enum {
	/* calls of io_uring(7), whose requests no filter sees, and calls that map executable
	 * memory */
	CONFINE_WITH_RINGS = 1 << 0,
	/* calls that change the effective user and groups of a thread (view/tree/caller.h) */
	CONFINE_WITH_CALLERS = 1 << 1,
};

/* Makes the kernel refuse all system calls that the process does not need. A process needs to read
 * files, to make the changes that confine_writing() allows, and to manage its own memory, threads
 * and descriptors. Calls that change attributes of files, make sockets, start processes, access
 * other processes, map memory for code, or administer the system are refused. Requests of ioctl(2)
 * and commands of fcntl(2) are refused, except those listed in base/confine.c. Refused calls
 * fail with EPERM. clone3(2), and calls that this program does not know, fail with ENOSYS. Uses
 * seccomp(2).
 *
 * needs	or-ed flags CONFINE_WITH_..., or 0
 *
 * The process cannot fork afterwards, and can signal only itself.
 *
 * Returns 0, -ENOSYS if this program does not know the processor or the kernel has no filters, or
 * -errno. */
MUST_CHECK int confine_calls(unsigned int needs);

/* Makes the kernel refuse (EPERM) all calls except those that read and write open files, allocate
 * memory, and exit. Nothing can be opened, looked up, started, signalled or connected to. The
 * caller must load the libraries that it needs before. Uses seccomp(2). Returns the same values as
 * confine_calls(). */
MUST_CHECK int confine_to_computing(void);

#endif

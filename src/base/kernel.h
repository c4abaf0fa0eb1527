/* SPDX-License-Identifier: MIT */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

/* What the kernel is and lets this process do. Any thread; no function blocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Some system calls are newer than some container runtimes. Such a runtime does not know the call,
 * and its seccomp filter lets it fail with EPERM (Docker before 20.10, libseccomp before 2.5). A
 * kernel that does not know a call answers ENOSYS instead. */

/* Returns whether a filter lets the system call fail with EPERM whatever its arguments are. Makes
 * the call with arguments with which it fails, or does nothing, before the kernel checks any right.
 *
 * number: SYS_* of a call in the table of kernel.c
 *
 * Does not change errno. */
bool system_call_is_filtered(long number);

/* Returns what a user can do if system_call_is_filtered(): a sentence without a full stop. */
const char *system_call_remedy(void);

/* Returns the name of a filtered call that has no substitute, or NULL if there is none. */
const char *system_call_needed_and_filtered(void);

/* Returns the name of the next filtered call, or NULL. *next: 0 before the first call. */
const char *system_call_next_filtered(size_t *next);

/* Checks the rights of the effective user as faccessat(2) does with AT_EACCESS. Follows symbolic
 * links. Returns 0, or -1 with errno. */
MUST_CHECK int access_effective(int directory, const char *path, int mode);

/* Fills memory with at most 256 random bytes, from getrandom(2) or /dev/urandom. Returns 0 or
 * -errno. */
MUST_CHECK int random_fill(void *bytes, size_t length);

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U /* since Linux 6.8; never reused before the next boot */
#endif

/* Buffer size for boot_id(), including the NUL. */
#define BOOT_ID_MAX 40

/* Writes the id of this boot, which no other boot has, or "" if it cannot be read. Returns text. */
const char *boot_id(char text[static BOOT_ID_MAX]);

/* Returns the number of the pid_namespaces(7) of this process, or 0 if unknown. In another one, the
 * process ids of this process mean other processes. */
uint64_t pid_namespace(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H

/* The identity of the current boot, and of the processes that have the same numbers. Any thread. */

#include <stdint.h>

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

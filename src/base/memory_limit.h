/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_LIMIT_H
#define BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* Returns the bytes of memory that this process may use, or UINT64_MAX if unknown. This is the
 * memory of the machine, or a lower limit of the control group or its ancestors (cgroups(7),
 * version 1 or 2). The first call reads /proc and /sys: main() makes it before the process is
 * confined. Any thread. */
uint64_t memory_limit(void);

/* Returns the usual size of a buffer, or memory_limit() / part if that is less. */
uint64_t memory_at_most(uint64_t usual, unsigned int part);

/* For tests: returns the limit of the control groups listed in a file like /proc/self/cgroup, or
 * UINT64_MAX if there is none. The hierarchies are mounted below root. */
uint64_t memory_limit_of_groups(const char *groups, const char *root);

#endif

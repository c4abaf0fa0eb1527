/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_LIMIT_H
#define BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* How much memory this process may use, bytes: what the machine has, or less where the control group of
 * the process (cgroups(7), version 1 or 2) or one above it is limited. Looked up by the first call, which
 * has to be able to read /proc and /sys: main() makes it. UINT64_MAX: not known. Any thread. */
uint64_t memory_limit(void);

/* The usual bytes of a buffer, or that part of memory_limit() where it is less. */
uint64_t memory_at_most(uint64_t usual, unsigned int part);

/* For tests: the limit of the groups that a file like /proc/self/cgroup names, where the control groups
 * are mounted below root; UINT64_MAX: none. */
uint64_t memory_limit_of_groups(const char *groups, const char *root);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

/* What /proc/self/mountinfo says (proc(5)). Any thread. */

#include <stdint.h>

/* Decodes, in place, the \ooo that the kernel writes for bytes that would end a word. What is no
 * such escape stays. */
void mountinfo_decode(char *word);

/* The number of the mount that a mount is mounted in, from a file like /proc/self/mountinfo; 0: the
 * file has no such mount, or cannot be read. */
uint64_t mountinfo_parent(const char *file, uint64_t mount);

#endif

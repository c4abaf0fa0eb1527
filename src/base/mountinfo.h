/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

/* Parsing of /proc/self/mountinfo (proc(5)). Any thread. */

#include <stdint.h>

/* Decodes, in place, the \ooo escapes that the kernel writes for bytes that would end a word. Other
 * text is kept. */
void mountinfo_decode(char *word);

/* Returns the number of the parent of a mount, from a file like /proc/self/mountinfo. Returns 0 if
 * the file does not list the mount, or cannot be read. */
uint64_t mountinfo_parent(const char *file, uint64_t mount);

#endif

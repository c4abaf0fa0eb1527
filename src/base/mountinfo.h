/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOUNTINFO_H
#define BASE_MOUNTINFO_H

/* The words of /proc/self/mountinfo (proc(5)). Pure code, any thread. */

/* Decodes, in place, the \ooo that the kernel writes for bytes that would end a word. What is no
 * such escape stays. */
void mountinfo_decode(char *word);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_COPY_MARKS_H
#define INDEX_COPY_MARKS_H

/* Recognizes names that people and programs give to copies. Such a name proves nothing: of equal
 * files, it makes others the likelier originals. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether a name of length bytes looks like that of a copy:
 *
 * - it is hidden (.cache), or ends like a backup of an editor (notes.txt~)
 * - it has a word of the table in copy_marks.c: "Backup 2022", "copy_of_v30.mp4", "report.bak"
 * - its stem ends with a number of one to three digits in parentheses or brackets: "a (1).jpg"
 *
 * Letters of ASCII match in both cases; digits at the end of a word are ignored. */
bool has_copy_mark(const char *name, size_t length);

/* Returns how many names of a path look like those of copies. */
uint32_t count_copy_marks(const char *path, size_t length);

#endif

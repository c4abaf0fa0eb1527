/* SPDX-License-Identifier: MIT */
#ifndef CLI_COUNTED_H
#define CLI_COUNTED_H

/* Numbers in messages and results, for people. Any thread. */

#include <stdint.h>

/* A number as text for people, in one expression: number_text(count).text. */
struct number_text {
	char text[128];
};

/* Like number_format(). */
struct number_text number_text(uint64_t number);

/* Returns the number and the form of its words, of at most 99 bytes: "1,234 files". */
struct number_text counted(uint64_t number, const char *one, const char *many);

/* Like size_format() and figure_size(). */
struct number_text size_text(uint64_t bytes);
struct number_text figure_text(uint64_t bytes);

#endif

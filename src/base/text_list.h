/* SPDX-License-Identifier: MIT */
#ifndef BASE_TEXT_LIST_H
#define BASE_TEXT_LIST_H

/* Strings, one after the other. All zero is an empty list. One thread at a time. */

#include <stddef.h>

#include "base/attributes.h"

struct text_list {
	char **items; /* ends with a NULL; NULL itself where nothing was added */
	size_t count, capacity;
};

/* Adds a copy of the first length bytes, which hold no NUL. 0 or -ENOMEM. */
MUST_CHECK int text_list_add(struct text_list *list, const char *text, size_t length);

/* The length of the first item of a list with commas between: up to a comma that no backslash
 * stands before. */
size_t list_item_length(const char *list);

void text_list_free(struct text_list *list);
#define CLEANUP_TEXT_LIST CLEANUP(text_list_free)

#endif

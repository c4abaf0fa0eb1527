/* SPDX-License-Identifier: MIT */
#ifndef BASE_TEXT_LIST_H
#define BASE_TEXT_LIST_H

/* A list of strings. All zeros is an empty list. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct text_list {
	char **items; /* ends with a NULL; NULL if nothing was added */
	size_t count, capacity;
};

/* Appends a copy of the first length bytes of text, which contain no NUL. Returns 0 or -ENOMEM. */
MUST_CHECK int text_list_add(struct text_list *list, const char *text, size_t length);

/* Appends copies of all items of a list that ends with a NULL; NULL has no item. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int text_list_add_all(struct text_list *list, char *const *items);

/* Returns whether the list has this text. Linear. */
bool text_list_has(const struct text_list *list, const char *text);

/* Returns the length of the first item of a comma-separated list. A comma after a backslash does
 * not end an item. */
size_t list_item_length(const char *list);

void text_list_free(struct text_list *list);
#define CLEANUP_TEXT_LIST CLEANUP(text_list_free)

#endif

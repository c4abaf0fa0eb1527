/* SPDX-License-Identifier: MIT */
#include "base/text_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int text_list_add(struct text_list *list, const char *text, size_t length)
{
	char *copy = strndup(text, length);

	if (!copy || array_reserve(&list->items, &list->capacity, list->count + 2,
				   sizeof(*list->items)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	list->items[list->count++] = copy;
	list->items[list->count] = NULL;
	return 0;
}

int text_list_add_all(struct text_list *list, char *const *items)
{
	int r = 0;

	for (; r == 0 && items && *items; items++)
		r = text_list_add(list, *items, strlen(*items));
	return r;
}

bool text_list_has(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

size_t list_item_length(const char *list)
{
	size_t length = 0;

	while (list[length] != '\0' && list[length] != ',') {
		if (list[length] == '\\' && list[length + 1] != '\0')
			length++;
		length++;
	}
	return length;
}

void text_list_free(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

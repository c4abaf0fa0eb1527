/* SPDX-License-Identifier: MIT */
#include "base/text_list.h"

int text_list_add(struct text_list *list, const char *text, size_t length)
{
	char **items = reallocarray(list->items, list->count + 2, sizeof(*items));

	if (items == NULL)
		return -ENOMEM;
	list->items = items;
	items[list->count] = strndup(text, length);
	if (items[list->count] == NULL)
		return -ENOMEM;
	items[++list->count] = NULL;
	return 0;
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

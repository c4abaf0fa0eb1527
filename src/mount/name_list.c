/* SPDX-License-Identifier: MIT */
#include "mount/name_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

void name_list_free(struct name_list *list)
{
	free(list->names);
	arena_free(&list->memory);
	*list = (struct name_list){0};
}

int name_list_add(struct name_list *list, struct listed_name name)
{
	if (list->count == list->capacity) {
		size_t wanted = list->capacity ? list->capacity * 2 : 16;
		void *grown = reallocarray(list->names, wanted, sizeof(*list->names));

		if (!grown)
			return -ENOMEM;
		list->names = grown;
		list->capacity = wanted;
	}
	name.text = arena_copy(&list->memory, name.text, strlen(name.text));
	if (!name.text)
		return -ENOMEM;
	list->names[list->count++] = name;
	return 0;
}

int name_list_copy(struct name_list *list, const struct name_list *from)
{
	int r = 0;

	for (size_t i = 0; i < from->count && r == 0; i++)
		r = name_list_add(list, from->names[i]);
	if (r < 0)
		name_list_free(list);
	return r;
}

static int by_text(const void *a, const void *b)
{
	const struct listed_name *first = a, *second = b;

	return strcmp(first->text, second->text);
}

void name_list_sort(struct name_list *list)
{
	sort_unless_sorted(list->names, list->count, sizeof(*list->names), by_text);
}

const struct listed_name *name_list_find(const struct name_list *list, const char *text)
{
	const struct listed_name wanted = {.text = text};

	if (list->count == 0)
		return NULL;
	return bsearch(&wanted, list->names, list->count, sizeof(wanted), by_text);
}

int name_list_unlearn(struct name_list *list, const struct name_list *now, const char *const *texts,
		      size_t count)
{
	struct name_list left = {0}, added = {0};
	bool *unlearned = calloc(list->count + 1, sizeof(*unlearned));
	int r = unlearned ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct listed_name *known = name_list_find(list, texts[i]);
		bool there = name_list_find(now, texts[i]);

		if (known && there)
			unlearned[known - list->names] = true;
		else if (!known && !there)
			r = name_list_add(&added, (struct listed_name){.text = texts[i]});
	}
	name_list_sort(&added);
	for (size_t i = 0; i < list->count && r == 0; i++) {
		if (!unlearned[i])
			r = name_list_add(&left, list->names[i]);
	}
	for (size_t i = 0; i < added.count && r == 0; i++) {
		if (i == 0 || strcmp(added.names[i].text, added.names[i - 1].text) != 0)
			r = name_list_add(&left, added.names[i]);
	}
	free(unlearned);
	name_list_free(&added);
	if (r < 0) {
		name_list_free(&left);
		return r;
	}
	name_list_sort(&left);
	name_list_free(list);
	*list = left;
	return 0;
}

/* ---- what is different --------------------------------------------------------------- */

/* Of the next names of both: below 0 where that of before went, above where that of now came. One
 * that became a directory, or no longer is one, goes first. */
static int order_of(const struct name_list *before, size_t i, const struct name_list *now, size_t j)
{
	int order;

	if (i == before->count || j == now->count)
		return i == before->count ? 1 : -1;
	order = strcmp(before->names[i].text, now->names[j].text);
	return order == 0 && before->names[i].directory != now->names[j].directory ? -1 : order;
}

/* What is left where the walk stopped: what was given is as now, all behind it as before. */
static int keep_rest(const struct name_list *now, size_t given, const struct name_list *before,
		     size_t left, struct name_list *rest)
{
	int r = 0;

	for (size_t i = 0; i < given && r == 0; i++)
		r = name_list_add(rest, now->names[i]);
	for (size_t i = left; i < before->count && r == 0; i++)
		r = name_list_add(rest, before->names[i]);
	if (r < 0)
		name_list_free(rest);
	return r;
}

int name_list_differ(const struct name_list *before, const struct name_list *now,
		     name_list_differ_fn *each, void *context, struct name_list *rest)
{
	size_t i = 0, j = 0;
	bool goes_on = true;

	*rest = (struct name_list){0};
	while (goes_on && (i < before->count || j < now->count)) {
		int order = order_of(before, i, now, j);

		if (order < 0)
			goes_on = each(context, NUDGE_WENT, &before->names[i]);
		else if (order > 0)
			goes_on = each(context, NUDGE_CAME, &now->names[j]);
		else if (before->names[i].digest != now->names[j].digest)
			goes_on = each(context, NUDGE_CHANGED, &now->names[j]);
		if (!goes_on)
			return keep_rest(now, j, before, i, rest);
		i += order <= 0;
		j += order >= 0;
	}
	return 0;
}

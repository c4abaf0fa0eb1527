/* SPDX-License-Identifier: MIT */
#include "view/fuse/watcher_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

void watcher_names_free(struct watcher_names *list)
{
	free(list->names);
	arena_free(&list->memory);
	*list = (struct watcher_names){0};
}

int watcher_names_add(struct watcher_names *list, struct listed_name name)
{
	if (array_reserve(&list->names, &list->capacity, list->count + 1, sizeof(*list->names)) < 0)
		return -ENOMEM;
	name.text = arena_copy(&list->memory, name.text, strlen(name.text));
	if (!name.text)
		return -ENOMEM;
	list->names[list->count++] = name;
	return 0;
}

int watcher_names_copy(struct watcher_names *list, const struct watcher_names *from)
{
	int r = 0;

	for (size_t i = 0; i < from->count && r == 0; i++)
		r = watcher_names_add(list, from->names[i]);
	if (r < 0)
		watcher_names_free(list);
	return r;
}

static int by_text(const void *a, const void *b)
{
	const struct listed_name *first = a, *second = b;

	return strcmp(first->text, second->text);
}

void watcher_names_sort(struct watcher_names *list)
{
	sort_unless_sorted(list->names, list->count, sizeof(*list->names), by_text);
}

const struct listed_name *watcher_names_find(const struct watcher_names *list, const char *text)
{
	const struct listed_name wanted = {.text = text};

	if (list->count == 0)
		return NULL;
	return bsearch(&wanted, list->names, list->count, sizeof(wanted), by_text);
}

int watcher_names_mark_changed(struct watcher_names *list, const struct watcher_names *now,
			       const char *const *texts, size_t count)
{
	struct watcher_names left = {0}, added = {0};
	bool *removed = calloc(list->count + 1, sizeof(*removed));
	int r = removed ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct listed_name *known = watcher_names_find(list, texts[i]);
		bool there = watcher_names_find(now, texts[i]);

		if (known && there)
			removed[known - list->names] = true;
		else if (!known && !there)
			r = watcher_names_add(&added, (struct listed_name){.text = texts[i]});
	}
	watcher_names_sort(&added);
	for (size_t i = 0; i < list->count && r == 0; i++) {
		if (!removed[i])
			r = watcher_names_add(&left, list->names[i]);
	}
	for (size_t i = 0; i < added.count && r == 0; i++) {
		if (i == 0 || strcmp(added.names[i].text, added.names[i - 1].text) != 0)
			r = watcher_names_add(&left, added.names[i]);
	}
	free(removed);
	watcher_names_free(&added);
	if (r < 0) {
		watcher_names_free(&left);
		return r;
	}
	watcher_names_sort(&left);
	watcher_names_free(list);
	*list = left;
	return 0;
}

/* ---- differences --------------------------------------------------------------------- */

/* Compares the next names of both lists. If the result is below 0, the name in before was deleted.
 * If it is above 0, the name in now was created. If a directory was replaced by another type or the
 * reverse, the deletion precedes the creation. */
static int order_of(const struct watcher_names *before, size_t i, const struct watcher_names *now,
		    size_t j)
{
	int order;

	if (i == before->count || j == now->count)
		return i == before->count ? 1 : -1;
	order = strcmp(before->names[i].text, now->names[j].text);
	return order == 0 && before->names[i].directory != now->names[j].directory ? -1 : order;
}

/* Builds the list at the point where the report stopped: reported names as in now, other names as
 * in before. */
static int build_rest(const struct watcher_names *now, size_t given,
		      const struct watcher_names *before, size_t left, struct watcher_names *rest)
{
	int r = 0;

	for (size_t i = 0; i < given && r == 0; i++)
		r = watcher_names_add(rest, now->names[i]);
	for (size_t i = left; i < before->count && r == 0; i++)
		r = watcher_names_add(rest, before->names[i]);
	if (r < 0)
		watcher_names_free(rest);
	return r;
}

int watcher_names_differ(const struct watcher_names *before, const struct watcher_names *now,
			 watcher_names_differ_fn *each, void *context, struct watcher_names *rest)
{
	size_t i = 0, j = 0;
	bool continues = true;

	*rest = (struct watcher_names){0};
	while (continues && (i < before->count || j < now->count)) {
		int order = order_of(before, i, now, j);

		if (order < 0)
			continues = each(context, WATCHER_EVENT_DELETED, &before->names[i]);
		else if (order > 0)
			continues = each(context, WATCHER_EVENT_CREATED, &now->names[j]);
		else if (before->names[i].digest != now->names[j].digest)
			continues = each(context, WATCHER_EVENT_CHANGED, &now->names[j]);
		if (!continues)
			return build_rest(now, j, before, i, rest);
		i += order <= 0;
		j += order >= 0;
	}
	return 0;
}

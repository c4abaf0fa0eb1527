/* SPDX-License-Identifier: MIT */
#include "index/mount_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mountinfo.h"
#include "base/path.h"
#include "base/text.h"

#define VIEW_TYPE "fuse.twinfs"

static void free_entry(struct mount_entry *entry)
{
	free(entry->point);
	free(entry->type);
	free(entry->device);
	free(entry->root);
	free(entry->source);
	free(entry->options);
}

void mount_table_free(struct mount_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free_entry(&table->entries[i]);
	free(table->entries);
	*table = (struct mount_table){0};
}

static int add_entry(struct mount_table *table, const struct mountinfo *words)
{
	struct mount_entry entry;
	int r = array_reserve(&table->entries, &table->capacity, table->count + 1,
			      sizeof(*table->entries));

	if (r < 0)
		return r;
	entry = (struct mount_entry){.point = strdup(words->point),
				     .type = strdup(words->type),
				     .device = strdup(words->device),
				     .root = strdup(words->root),
				     .source = strdup(words->source),
				     .options = strdup(words->options)};
	if (!entry.point || !entry.type || !entry.device || !entry.root || !entry.source ||
	    !entry.options) {
		free_entry(&entry);
		return -ENOMEM;
	}
	table->entries[table->count++] = entry;
	return 0;
}

int mount_table_add_line(struct mount_table *table, char *line)
{
	struct mountinfo words;

	return mountinfo_split(&words, line) ? add_entry(table, &words) : -EPROTO;
}

int mount_table_read_from(struct mount_table *table, const char *name)
{
	CLEANUP_MOUNTINFO struct mountinfo mount;
	int r = mountinfo_open(&mount, name);

	*table = (struct mount_table){0};
	if (r < 0)
		return r;
	/* a line in the format of a newer kernel is skipped, as it is no view */
	while ((r = mountinfo_next(&mount)) > 0) {
		r = add_entry(table, &mount);
		if (r < 0)
			break;
	}
	if (r < 0)
		mount_table_free(table);
	return r;
}

int mount_table_read(struct mount_table *table)
{
	return mount_table_read_from(table, "/proc/self/mountinfo");
}

const struct mount_entry *mount_table_covering(const struct mount_table *table, const char *path)
{
	const struct mount_entry *found = NULL;

	for (size_t i = 0; i < table->count; i++) {
		const struct mount_entry *entry = &table->entries[i];

		if (path_below(path, entry->point) &&
		    (!found || strlen(entry->point) >= strlen(found->point)))
			found = entry;
	}
	return found;
}

const struct mount_entry *mount_table_view_of(const struct mount_table *table, const char *device)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct mount_entry *entry = &table->entries[i];

		if (mount_entry_is_view(entry) && strcmp(entry->device, device) == 0)
			return entry;
	}
	return NULL;
}

int mount_entry_locate(const struct mount_entry *entry, const char *path, struct bytes *inside)
{
	const char *below = path_below(path, entry->point);
	const char *root = strcmp(entry->root, "/") == 0 ? "" : entry->root;
	int r;

	assert(below);
	r = bytes_format(inside, "%s%s%s", root, *below ? "/" : "", below);
	if (r == 0 && inside->length == 0)
		r = bytes_append_text(inside, "/");
	return r;
}

bool mount_entry_has_option(const struct mount_entry *entry, const char *option)
{
	for (const char *at = entry->options; *at; at += *at == ',') {
		size_t length = list_item_length(at);

		if (length == strlen(option) && strncmp(at, option, length) == 0)
			return true;
		at += length;
	}
	return false;
}

bool mount_entry_is_view(const struct mount_entry *entry)
{
	return strcmp(entry->type, VIEW_TYPE) == 0;
}

static bool is_either_inside(const char *a, const char *b)
{
	return path_below(a, b) || path_below(b, a);
}

int mount_table_overlap(const struct mount_table *table, const char *a, const char *b)
{
	CLEANUP_BYTES struct bytes inside_a = {0}, inside_b = {0};
	const struct mount_entry *mount_a = mount_table_covering(table, a);
	const struct mount_entry *mount_b = mount_table_covering(table, b);
	int r;

	if (is_either_inside(a, b))
		return 1;
	if (!mount_a || !mount_b || strcmp(mount_a->device, mount_b->device) != 0)
		return 0;
	r = mount_entry_locate(mount_a, a, &inside_a);
	if (r == 0)
		r = mount_entry_locate(mount_b, b, &inside_b);
	if (r == 0 && (!bytes_text(&inside_a) || !bytes_text(&inside_b)))
		r = -ENOMEM;
	return r < 0 ? r : is_either_inside(bytes_text(&inside_a), bytes_text(&inside_b));
}

/* SPDX-License-Identifier: MIT */
#include "mount/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mountinfo.h"

#define VIEW_TYPE "fuse.twinfs"

/* Which words of a line are what: "36 35 98:0 /root /point options ... - type source options". */
enum {
	WORD_POINT = 4
};

void mount_table_free(struct mount_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->entries[i].point);
		free(table->entries[i].type);
	}
	free(table->entries);
	*table = (struct mount_table){0};
}

static int add_entry(struct mount_table *table, const char *point, const char *type)
{
	struct mount_entry entry;

	if (table->count == table->capacity) {
		size_t wanted = table->capacity ? table->capacity * 2 : 32;
		void *grown = reallocarray(table->entries, wanted, sizeof(*table->entries));

		if (!grown)
			return -ENOMEM;
		table->entries = grown;
		table->capacity = wanted;
	}
	entry = (struct mount_entry){.point = strdup(point), .type = strdup(type)};
	if (!entry.point || !entry.type) {
		free(entry.point);
		free(entry.type);
		return -ENOMEM;
	}
	table->entries[table->count++] = entry;
	return 0;
}

int mount_table_add_line(struct mount_table *table, char *line)
{
	char *rest = line, *word, *point = NULL, *type = NULL;

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; (word = strsep(&rest, " ")); i++) {
		if (i == WORD_POINT)
			point = word;
		if (i > WORD_POINT && strcmp(word, "-") == 0) {
			type = strsep(&rest, " ");
			break;
		}
	}
	if (!point || point[0] != '/' || !type || !*type)
		return -EPROTO;
	mountinfo_decode(point);
	return add_entry(table, point, type);
}

int mount_table_read(struct mount_table *table)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	int r = 0;

	*table = (struct mount_table){0};
	if (!file)
		return -errno;
	while (r == 0 && getline(&line, &size, file) >= 0) {
		r = mount_table_add_line(table, line);
		if (r == -EPROTO) /* of a newer kernel, perhaps: it is no view */
			r = 0;
	}
	if (r == 0 && ferror(file))
		r = -EIO;
	if (r < 0)
		mount_table_free(table);
	return r;
}

static bool covers(const char *point, const char *path)
{
	size_t length = strlen(point);

	if (strcmp(point, "/") == 0)
		return true;
	return strncmp(point, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

const struct mount_entry *mount_table_covering(const struct mount_table *table, const char *path)
{
	const struct mount_entry *found = NULL;

	for (size_t i = 0; i < table->count; i++) {
		const struct mount_entry *entry = &table->entries[i];

		if (covers(entry->point, path) &&
		    (!found || strlen(entry->point) >= strlen(found->point)))
			found = entry;
	}
	return found;
}

bool mount_entry_is_view(const struct mount_entry *entry)
{
	return strcmp(entry->type, VIEW_TYPE) == 0;
}

/* SPDX-License-Identifier: MIT */
#include "backup/restore_only.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "backup/manifest.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/path.h"

void restore_only_free(struct restore_only *only)
{
	text_list_free(&only->paths);
	free(only->found);
	*only = (struct restore_only){0};
}

int restore_only_add(struct restore_only *only, const char *path)
{
	size_t length = strlen(path);

	while (length > 0 && path[length - 1] == '/')
		length--;
	if (path_fault(path, length))
		return -EINVAL;
	if (array_reserve(&only->found, &only->found_capacity, only->paths.count + 1,
			  sizeof(*only->found)) < 0)
		return -ENOMEM;
	only->found[only->paths.count] = false;
	return text_list_add(&only->paths, path, length);
}

/* Returns whether the outer path is the inner path or above it. */
static bool is_at_or_above(const char *outer, size_t outer_length, const char *inner,
			   size_t inner_length)
{
	if (outer_length == 0)
		return true;
	return inner_length >= outer_length && memcmp(outer, inner, outer_length) == 0 &&
	       (inner_length == outer_length || inner[outer_length] == '/');
}

enum restore_part restore_only_part(const struct restore_only *only, const void *path,
				    size_t length)
{
	enum restore_part part = only->paths.count > 0 ? RESTORE_NOTHING : RESTORE_WHOLE;

	for (size_t i = 0; i < only->paths.count; i++) {
		const char *wanted = only->paths.items[i];

		if (is_at_or_above(wanted, strlen(wanted), path, length))
			return RESTORE_WHOLE;
		if (is_at_or_above(path, length, wanted, strlen(wanted)))
			part = RESTORE_ABOVE;
	}
	return part;
}

void restore_only_note(struct restore_only *only, const void *path, size_t length)
{
	for (size_t i = 0; i < only->paths.count; i++) {
		const char *wanted = only->paths.items[i];

		only->found[i] |= is_at_or_above(wanted, strlen(wanted), path, length);
	}
}

const char *restore_only_find_missing(const struct restore_only *only, int backup)
{
	for (size_t i = 0; i < only->paths.count; i++) {
		AUTO_CLOSE int fd = -1;

		if (only->found[i])
			continue;
		fd = open_beneath(backup, only->paths.items[i], O_PATH, true);
		if (fd < 0)
			return only->paths.items[i];
	}
	return NULL;
}

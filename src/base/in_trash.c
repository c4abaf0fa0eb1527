/* SPDX-License-Identifier: MIT */
#include "base/in_trash.h"

#include <string.h>

/* The meaning of a prefix of a path. */
enum place {
	PLACE_ANY,
	PLACE_SHARED, /* .Trash, with a folder for each user */
	PLACE_TRASH, /* a trash, which contains files/ */
	PLACE_FILES, /* the folder of trashed files */
	PLACE_INSIDE, /* a trashed file, or a path below a trashed folder */
};

static bool is_number(const char *text, size_t length)
{
	return length > 0 && strspn(text, "0123456789") >= length;
}

static bool is_name(const char *text, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(text, name, length) == 0;
}

static enum place begin(const char *name, size_t length)
{
	static const char of_user[] = ".Trash-";
	const size_t prefix = sizeof(of_user) - 1;

	if (is_name(name, length, "Trash"))
		return PLACE_TRASH;
	if (is_name(name, length, ".Trash"))
		return PLACE_SHARED;
	if (is_name(name, length, ".Trashes") || is_name(name, length, "$RECYCLE.BIN"))
		return PLACE_FILES;
	return length > prefix && memcmp(name, of_user, prefix) == 0 &&
			       is_number(name + prefix, length - prefix)
		       ? PLACE_TRASH
		       : PLACE_ANY;
}

static enum place step(enum place place, const char *name, size_t length)
{
	if (place >= PLACE_FILES)
		return PLACE_INSIDE;
	if (place == PLACE_TRASH && is_name(name, length, "files"))
		return PLACE_FILES;
	if (place == PLACE_SHARED && is_number(name, length))
		return PLACE_TRASH;
	return begin(name, length);
}

static enum place walk(enum place place, const char *path, size_t length)
{
	const char *end = path + length;

	while (path < end && place != PLACE_INSIDE) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);

		if (name > 0)
			place = step(place, path, name);
		path += name + (slash ? 1 : 0);
	}
	return place;
}

bool is_in_trash(const char *source, const char *path, size_t length)
{
	return walk(walk(PLACE_ANY, source, strlen(source)), path, length) == PLACE_INSIDE;
}

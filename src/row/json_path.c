/* SPDX-License-Identifier: MIT */
#include "row/json_path.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int readable_path_append(struct bytes *text, const char *path, size_t length, bool *whole)
{
	uint32_t code;

	*whole = true;
	for (size_t i = 0, taken; i < length; i += taken) {
		int r;

		taken = utf8_decode(path + i, length - i, &code);
		if (taken > 0) {
			r = bytes_append(text, path + i, taken);
		} else {
			taken = 1;
			*whole = false;
			r = bytes_format(text, "\\x%02x", (unsigned char)path[i]);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the key of the exact bytes, or NULL if memory is short. */
static const char *exact_key(struct bytes *name, const char *key)
{
	return bytes_format(name, "%s_base64", key) == 0 ? bytes_text(name) : NULL;
}

static int set_text(json_t *object, const char *key, const struct bytes *text)
{
	json_t *value = json_stringn((const char *)text->data, text->length);

	return value && json_object_set_new(object, key, value) == 0 ? 0 : -ENOMEM;
}

int json_set_path(json_t *object, const char *key, const char *path, size_t length)
{
	CLEANUP_BYTES struct bytes text = {0}, base64_key = {0};
	const char *name;
	bool whole = true;
	int r = bytes_reserve(&text, length + 1);

	if (r == 0)
		r = readable_path_append(&text, path, length, &whole);
	if (r == 0)
		r = set_text(object, key, &text);
	if (r < 0 || whole)
		return r;
	text.length = 0;
	name = exact_key(&base64_key, key);
	if (!name || base64_encode(&text, path, length) < 0)
		return -ENOMEM;
	return set_text(object, name, &text);
}

/* Decodes the exact bytes. If the object also has the path for people, that must be the path of
 * these bytes: a user who edited only one of both means another path than the program would use. */
static int get_exact(const json_t *exact, const json_t *readable, struct bytes *path)
{
	CLEANUP_BYTES struct bytes text = {0};
	size_t before = path->length;
	bool whole, agrees;
	int r = base64_decode(path, json_string_value(exact), json_string_length(exact));

	if (r < 0 || !readable)
		return r;
	r = readable_path_append(&text, (const char *)path->data + before, path->length - before,
				 &whole);
	agrees = json_string_length(readable) == text.length &&
		 (text.length == 0 ||
		  memcmp(json_string_value(readable), text.data, text.length) == 0);
	if (r == 0 && agrees)
		return 0;
	path->length = before;
	return r < 0 ? r : -EPROTO;
}

int json_get_path(const json_t *object, const char *key, struct bytes *path)
{
	CLEANUP_BYTES struct bytes base64_key = {0};
	const char *name = exact_key(&base64_key, key);
	const json_t *exact;
	const json_t *readable;

	if (!name)
		return -ENOMEM;
	exact = json_object_get(object, name);
	readable = json_object_get(object, key);
	if (!exact && !readable)
		return -ENOENT;
	if ((exact && !json_is_string(exact)) || (readable && !json_is_string(readable)))
		return -EPROTO;
	if (exact)
		return get_exact(exact, readable, path);
	return bytes_append(path, json_string_value(readable), json_string_length(readable));
}

int json_get_text(const json_t *object, const char *key, struct arena *memory, const char **text)
{
	CLEANUP_BYTES struct bytes found = {0};
	int r = json_get_path(object, key, &found);

	if (r < 0)
		return r;
	if (found.length > 0 && memchr(found.data, '\0', found.length))
		return -EPROTO;
	*text = arena_copy(memory, found.data, found.length);
	return *text ? 0 : -ENOMEM;
}

/* SPDX-License-Identifier: MIT */
#include "base/json_path.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

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

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_append(struct bytes *text, const char *path, size_t length)
{
	for (size_t i = 0; i < length; i += 3) {
		size_t count = length - i < 3 ? length - i : 3;
		uint32_t bits = 0;
		char four[4];
		int r;

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < count ? (unsigned char)path[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			four[j] = j <= count ? digits[bits >> (18 - 6 * j) & 0x3f] : '=';
		r = bytes_append(text, four, sizeof(four));
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_text(json_t *object, const char *key, const struct bytes *text)
{
	json_t *value = json_stringn((const char *)text->data, text->length);

	return value && json_object_set_new(object, key, value) == 0 ? 0 : -ENOMEM;
}

int json_set_path(json_t *object, const char *key, const char *path, size_t length)
{
	struct bytes text CLEANUP_BYTES = {0}, base64_key CLEANUP_BYTES = {0};
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
	r = base64_append(&text, path, length);
	if (r == 0)
		r = bytes_format(&base64_key, "%s_base64", key);
	if (r < 0)
		return r;
	name = bytes_text(&base64_key);
	return name ? set_text(object, name, &text) : -ENOMEM;
}

/* Appends what four digits of base64 stand for; the last four may end with padding. */
static int append_decoded(struct bytes *path, const char *four, bool last)
{
	size_t count = 4;
	uint32_t bits = 0;
	uint8_t three[3];

	while (last && count > 2 && four[count - 1] == '=')
		count--;
	for (size_t i = 0; i < count; i++) {
		const char *digit = four[i] != '\0' ? strchr(digits, four[i]) : NULL;

		if (digit == NULL)
			return -EPROTO;
		bits |= (uint32_t)(digit - digits) << (18 - 6 * i);
	}
	for (size_t i = 0; i < sizeof(three); i++)
		three[i] = (uint8_t)(bits >> (16 - 8 * i));
	return bytes_append(path, three, count - 1);
}

static int append_from_base64(struct bytes *path, const char *text, size_t length)
{
	size_t before = path->length;
	int r = length % 4 == 0 ? 0 : -EPROTO;

	for (size_t i = 0; r == 0 && i < length; i += 4)
		r = append_decoded(path, text + i, i + 4 == length);
	if (r < 0)
		path->length = before;
	return r;
}

int json_get_path(const json_t *object, const char *key, struct bytes *path)
{
	struct bytes base64_key CLEANUP_BYTES = {0};
	int r = bytes_format(&base64_key, "%s_base64", key);
	const char *name = r == 0 ? bytes_text(&base64_key) : NULL;
	const json_t *exact;
	const json_t *readable;

	if (name == NULL)
		return -ENOMEM;
	exact = json_object_get(object, name);
	readable = json_object_get(object, key);
	if (exact == NULL && readable == NULL)
		return -ENOENT;
	if (json_is_string(exact))
		return append_from_base64(path, json_string_value(exact),
					  json_string_length(exact));
	if (exact != NULL || !json_is_string(readable))
		return -EPROTO;
	return bytes_append(path, json_string_value(readable), json_string_length(readable));
}

/* SPDX-License-Identifier: MIT */
#include "row/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEX64_DIGITS 16

struct appending {
	struct bytes *text;
	int error; /* the first failure */
};

static int append_piece(const char *piece, size_t length, void *context)
{
	struct appending *appending = context;

	if (appending->error == 0)
		appending->error = bytes_append(appending->text, piece, length);
	return appending->error;
}

int json_append(struct bytes *text, const json_t *value, size_t flags)
{
	struct appending appending = {.text = text};
	size_t before = text->length;
	int r = json_dump_callback(value, append_piece, &appending, flags);

	if (r == 0 && appending.error == 0)
		return 0;
	text->length = before;
	return -ENOMEM;
}

json_t *json_hex64(uint64_t number)
{
	return json_sprintf("%016" PRIx64, number);
}

bool json_get_hex64(const json_t *object, const char *key, uint64_t *number)
{
	const char *digits = json_string_value(json_object_get(object, key));

	if (!digits || strlen(digits) != HEX64_DIGITS ||
	    strspn(digits, "0123456789abcdef") != HEX64_DIGITS)
		return false;
	*number = strtoull(digits, NULL, 16);
	return true;
}

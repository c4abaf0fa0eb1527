/* SPDX-License-Identifier: MIT */
#include "base/json_text.h"

#include <errno.h>

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

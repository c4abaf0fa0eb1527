/* SPDX-License-Identifier: MIT */
#include "row/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "row/json_path.h"

/* ---- reading ----------------------------------------------------------------------- */

static _Thread_local bool is_reading;

/* Ends the process if memory is short while JSON is read. Code that writes JSON receives NULL and
 * can handle it. */
static void *allocate(size_t size)
{
	void *memory = malloc(size);

	if (memory || !is_reading)
		return memory;
	log_error("out of memory");
	_exit(EXIT_FAILURE);
}

static void set_functions(void)
{
	json_set_alloc_funcs(allocate, free);
}

json_t *json_read(const char *text, size_t length, size_t flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *value;

	pthread_once(&once, set_functions);
	is_reading = true;
	value = json_loadb(text, length, flags, NULL);
	is_reading = false;
	return value;
}

/* ---- numbers ----------------------------------------------------------------------- */

json_t *json_identity(uint64_t number)
{
	char digits[24];

	if (number <= INT64_MAX)
		return json_integer((json_int_t)number);
	(void)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	return json_string_nocheck(digits);
}

bool is_json_identity(const json_t *value)
{
	const char *digits = json_string_value(value);
	uint64_t number;

	if (!digits)
		return json_is_integer(value);
	return digits[0] != '0' && number_read(digits, json_string_length(value), &number) == 0 &&
	       number > INT64_MAX;
}

/* ---- text -------------------------------------------------------------------------- */

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

int json_append_line(struct bytes *lines, const json_t *value, size_t flags)
{
	size_t before = lines->length;
	int r = json_append(lines, value, flags);

	if (r == 0)
		r = bytes_append(lines, "\n", 1);
	if (r < 0)
		lines->length = before;
	return r;
}

int json_set(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0 ? 0 : -ENOMEM;
}

int json_set_text(json_t *object, const char *key, const char *text)
{
	return json_set(object, key, json_string(text));
}

int json_set_number(json_t *object, const char *key, uint64_t number)
{
	return json_set(object, key, json_number(number));
}

int json_set_time(json_t *object, const char *key, struct timespec time)
{
	char text[CLOCK_TEXT_MAX];
	int r = clock_format_utc(text, time);

	return r < 0 ? r : json_set_text(object, key, text);
}

int json_set_time_ms(json_t *object, const char *key, struct timespec time)
{
	char text[CLOCK_TEXT_MAX];
	int r = clock_format_utc_ms(text, time);

	return r < 0 ? r : json_set_text(object, key, text);
}

json_t *json_hex64(uint64_t number)
{
	return json_sprintf("%016" PRIx64, number);
}

bool json_get_hex64(const json_t *object, const char *key, uint64_t *number)
{
	const char *digits = json_string_value(json_object_get(object, key));

	return digits && strlen(digits) == HEX64_DIGITS &&
	       number_read_hex(digits, HEX64_DIGITS, number);
}

bool json_has_text(const json_t *object, const char *key, const char *text)
{
	const char *found = json_string_value(json_object_get(object, key));

	return found && strcmp(found, text) == 0;
}

/* ---- extended attributes ----------------------------------------------------------- */

static json_t *xattr_object(const struct xattr *xattr)
{
	CLEANUP_BYTES struct bytes text = {0};
	json_t *object = json_object();
	int r = object ? 0 : -ENOMEM;

	if (r == 0)
		r = json_set_path(object, "name", xattr->name, strlen(xattr->name));
	if (r == 0)
		r = base64_encode(&text, xattr->value, xattr->length);
	if (r == 0 && !bytes_text(&text))
		r = -ENOMEM;
	if (r == 0)
		r = json_object_set_new(object, "value_base64", json_string(bytes_text(&text)));
	if (r == 0)
		return object;
	json_decref(object);
	return NULL;
}

int json_set_xattrs(json_t *object, const struct xattrs *xattrs)
{
	json_t *list;

	if (xattrs->count == 0)
		return 0;
	list = json_array();
	if (json_object_set_new(object, "xattrs", list) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < xattrs->count; i++) {
		if (json_array_append_new(list, xattr_object(&xattrs->list[i])) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int get_xattr(const json_t *object, struct xattrs *xattrs)
{
	CLEANUP_BYTES struct bytes name = {0};
	CLEANUP_BYTES struct bytes value = {0};
	const json_t *text = json_object_get(object, "value_base64");
	int r = json_get_path(object, "name", &name);

	if (r == 0)
		r = json_is_string(text) ? base64_decode(&value, json_string_value(text),
							 json_string_length(text))
					 : -EPROTO;
	if (r == 0 && (name.length == 0 || memchr(name.data, '\0', name.length)))
		r = -EPROTO;
	if (r == 0 && (!bytes_text(&name) || !bytes_text(&value)))
		r = -ENOMEM;
	if (r == 0)
		r = xattrs_add(xattrs, bytes_text(&name), value.data, value.length);
	return r < 0 && r != -ENOMEM ? -EPROTO : r;
}

int json_get_xattrs(const json_t *object, struct xattrs *xattrs)
{
	const json_t *list = json_object_get(object, "xattrs");
	int r = 0;

	if (list && !json_is_array(list))
		return -EPROTO;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = get_xattr(json_array_get(list, i), xattrs);
	return r;
}

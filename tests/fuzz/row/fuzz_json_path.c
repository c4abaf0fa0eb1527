/* SPDX-License-Identifier: MIT */

/* A path of any bytes is unchanged after it was written to JSON and read again. Bytes are unchanged
 * after they were encoded as base64 and decoded. */

#include <stdbool.h>

#include <jansson.h>

#include "base/text.h"
#include "fuzz.h"
#include "row/json_path.h"

static bool holds(const struct bytes *bytes, const void *data, size_t size)
{
	return bytes->length == size && (size == 0 || memcmp(bytes->data, data, size) == 0);
}

/* Writes a path to JSON text and reads it again. */
static void check_path(const uint8_t *data, size_t size)
{
	struct bytes path CLEANUP_BYTES = {0};
	json_auto_t *object = json_object(), *read = NULL;
	char *text;

	REQUIRE(object != NULL && json_set_path(object, "path", (const char *)data, size) == 0);
	text = json_dumps(object, JSON_COMPACT);
	REQUIRE(text != NULL);
	read = json_loads(text, JSON_ALLOW_NUL, NULL);
	REQUIRE(read != NULL && json_get_path(read, "path", &path) == 0);
	REQUIRE(holds(&path, data, size));
	free(text);
}

static void check_base64(const uint8_t *data, size_t size)
{
	struct bytes text CLEANUP_BYTES = {0}, back CLEANUP_BYTES = {0};

	REQUIRE(base64_encode(&text, data, size) == 0);
	REQUIRE(base64_decode(&back, (const char *)text.data, text.length) == 0);
	REQUIRE(holds(&back, data, size));
}

/* Decodes text that was not encoded here. */
static void check_strange_base64(const uint8_t *data, size_t size)
{
	struct bytes read CLEANUP_BYTES = {0}, again CLEANUP_BYTES = {0};

	if (base64_decode(&read, (const char *)data, size) < 0) {
		REQUIRE(read.length == 0);
		return;
	}
	REQUIRE(base64_encode(&again, read.data, read.length) == 0);
	REQUIRE(holds(&again, data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_path(data, size);
	check_base64(data, size);
	check_strange_base64(data, size);
	return 0;
}

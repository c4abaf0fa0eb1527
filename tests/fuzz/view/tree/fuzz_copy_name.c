/* SPDX-License-Identifier: MIT */

/* Names of copies. The name that was made of a path is decoded to that path. A lookup of a name
 * finds only a path with that name. An input has an id in 14 bytes, then a path. */

#include <stdbool.h>

#include "base/text.h"
#include "fuzz.h"
#include "index/record.h"
#include "view/tree/names.h"

static bool is_text(const char *bytes)
{
	size_t left = strlen(bytes);
	uint32_t code;

	for (size_t taken; left > 0; bytes += taken, left -= taken) {
		taken = utf8_decode(bytes, left, &code);
		if (taken == 0)
			return false;
	}
	return true;
}

static void check_path(const char *path, uint64_t dir, uint64_t cookie)
{
	char name[COPY_NAME_SIZE], back[COPY_NAME_SIZE];
	uint64_t found_dir, found_cookie;

	copy_name_make(name, path, strlen(path), dir, cookie);
	REQUIRE(strnlen(name, COPY_NAME_SIZE) < COPY_NAME_SIZE);
	REQUIRE(name[0] != '\0' && strchr(name, '/') == NULL);
	REQUIRE(!is_text(path) || is_text(name));
	if (copy_name_parse_short(name, &found_dir, &found_cookie)) {
		REQUIRE(found_dir == dir && found_cookie == cookie);
	} else {
		REQUIRE(copy_name_parse_plain(name, back) == strlen(path));
		REQUIRE(strcmp(back, path) == 0);
	}
}

/* Looks up any name that the kernel accepts. */
static void check_name(const char *name)
{
	char path[COPY_NAME_SIZE], made[COPY_NAME_SIZE];
	uint64_t dir, cookie;
	size_t length;

	if (name[0] == '\0' || strlen(name) > NAME_BYTES_MAX || strchr(name, '/') != NULL)
		return;
	length = copy_name_parse_plain(name, path);
	REQUIRE(length < sizeof(path) && strlen(path) == length);
	if (copy_name_parse_short(name, &dir, &cookie))
		return;
	copy_name_make(made, path, length, 1, ENTRY_COOKIE_MIN);
	REQUIRE(strcmp(made, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	uint64_t dir = take_number(&input, 6);
	uint64_t cookie = take_number(&input, 8) & INT64_MAX;
	char *path = take_text(&input);

	if (path[0] != '\0')
		check_path(path, dir == 0 ? 1 : dir,
			   cookie < ENTRY_COOKIE_MIN ? ENTRY_COOKIE_MIN : cookie);
	check_name(path);
	free(path);
	return 0;
}

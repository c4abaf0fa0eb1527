/* SPDX-License-Identifier: MIT */

/* Lines of /proc/self/mountinfo. A mount point of any name is found, and no line damages the table.
 * An input has the path of a mount point, a type and a line, each with a NUL. */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/mountinfo.h"
#include "fuzz.h"
#include "index/mount_table.h"

/* Encodes a word as the kernel does (mangle() in fs/seq_file.c). */
static void append_word(struct bytes *line, const char *word)
{
	for (; *word; word++) {
		if (strchr(" \t\n\\", *word))
			REQUIRE(bytes_format(line, "\\%03o", (unsigned char)*word) == 0);
		else
			REQUIRE(bytes_append(line, word, 1) == 0);
	}
}

static void check_decoding(const char *word)
{
	struct bytes coded CLEANUP_BYTES = {0};

	append_word(&coded, word);
	REQUIRE(bytes_text(&coded) != NULL);
	mountinfo_decode((char *)coded.data);
	REQUIRE(strcmp((char *)coded.data, word) == 0);
}

static bool add(struct mount_table *table, const char *line)
{
	struct mountinfo mount CLEANUP_MOUNTINFO = {.line = strdup(line)};

	REQUIRE(mount.line != NULL);
	if (!mountinfo_split(&mount, mount.line))
		return false;
	REQUIRE(mount_table_add(table, &mount) == 0);
	return true;
}

static void check_mount(const char *point, const char *type)
{
	struct mount_table table CLEANUP_TABLE = {0};
	struct bytes line CLEANUP_BYTES = {0};
	const struct mountinfo *entry;

	if (point[0] != '/' || type[0] == '\0' || strpbrk(type, " \t\n\\"))
		return;
	REQUIRE(bytes_append_text(&line, "36 35 98:0 / ") == 0);
	append_word(&line, point);
	REQUIRE(bytes_format(&line, " rw,noatime master:1 - %s /dev/root rw\n", type) == 0);
	REQUIRE(bytes_text(&line) != NULL);
	REQUIRE(add(&table, (char *)line.data));
	REQUIRE(table.count == 1);
	REQUIRE(strcmp(table.entries[0].point, point) == 0);
	REQUIRE(strcmp(table.entries[0].type, type) == 0);
	entry = mount_table_covering(&table, point);
	REQUIRE(entry == &table.entries[0]);
	REQUIRE(mount_entry_has_option(entry, "rw") && !mount_entry_has_option(entry, "noatime"));
	REQUIRE(mount_entry_is_view(entry) == (strcmp(type, "fuse.twinfs") == 0));
}

static void check_strange_line(const char *line)
{
	struct mount_table table CLEANUP_TABLE = {0};
	bool is_mount = add(&table, line);

	REQUIRE(table.count == is_mount);
	if (is_mount) {
		REQUIRE(table.entries[0].point[0] == '/' && table.entries[0].type[0] != '\0');
		REQUIRE(!mount_entry_has_option(&table.entries[0], "a,b"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	char *point = take_text(&input), *type = take_text(&input), *line = take_text(&input);
	char *decoded = strdup(line);
	size_t length = strlen(line);

	REQUIRE(decoded != NULL);
	check_decoding(point);
	check_mount(point, type);
	mountinfo_decode(decoded);
	REQUIRE(strlen(decoded) <= length);
	check_strange_line(line);
	free(point);
	free(type);
	free(line);
	free(decoded);
	return 0;
}

/* SPDX-License-Identifier: MIT */

/* Lists of files, which come from another machine. At most one kind of list accepts a file. An
 * accepted list has sources that are absolute, and paths that stay below them. Each id occurs once,
 * except in remove lists, which name hosts as keepers. A part of a list is refused, and so is a list
 * with a further line. */

#include <stdbool.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "fleet/file_list.h"
#include "fuzz.h"

/* Number of parts of a list that are tried. */
#define PIECES_MAX 8

/* Writes the data to a file and returns its path. All inputs use one file. */
static const char *file_of(const void *data, size_t length)
{
	static struct fd_path path;
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("wanted", MFD_CLOEXEC);
		path = fd_path(fd);
	}
	REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	REQUIRE(write_fully(fd, data, length) == 0);
	return path.text;
}

static void check_path(const char *name)
{
	while (name) {
		size_t length = strcspn(name, "/");

		REQUIRE(length > 0 && length <= 255);
		REQUIRE(!(length == 1 && name[0] == '.'));
		REQUIRE(!(length == 2 && memcmp(name, "..", 2) == 0));
		name = name[length] ? name + length + 1 : NULL;
	}
}

static void check_row(const struct file_list *list, enum file_list_kind kind, size_t number)
{
	const struct listed_file *row = &list->rows[number];

	REQUIRE(row->id > 0 && row->source < list->sources.count);
	if (kind == FILE_LIST_WANTED)
		REQUIRE(number == 0 || list->rows[number - 1].id < row->id);
	REQUIRE((kind == FILE_LIST_WANTED) == !row->sha256);
	REQUIRE(kind == FILE_LIST_WANTED || row->size > 0);
	if (kind == FILE_LIST_REMOVE)
		REQUIRE(row->keeper_count >= list->keep_replicas);
	for (size_t i = 0; i < row->keeper_count; i++) {
		REQUIRE(row->keepers[i] < list->keeper_count);
		REQUIRE(strcmp(list->keepers[row->keepers[i]].host, list->host) != 0);
	}
	check_path(row->path);
}

static bool is_accepted_as(enum file_list_kind kind, const char *file)
{
	struct file_list list;
	int r = file_list_read(&list, kind, file);

	REQUIRE(r == 0 || r == -EPROTO);
	if (r == 0) {
		REQUIRE(host_name_is_valid(list.host) && list.sources.count > 0);
		for (size_t i = 0; i < list.sources.count; i++)
			REQUIRE(list.sources.items[i][0] == '/');
		for (size_t i = 0; i < list.count; i++)
			check_row(&list, kind, i);
	}
	file_list_free(&list);
	return r == 0;
}

static bool is_accepted(const void *data, size_t length)
{
	const char *file = file_of(data, length);
	unsigned int kinds = 0;

	for (int kind = FILE_LIST_WANTED; kind <= FILE_LIST_REMOVE; kind++)
		kinds += is_accepted_as((enum file_list_kind)kind, file);
	REQUIRE(kinds <= 1);
	return kinds > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BYTES struct bytes text = {0};

	if (!is_accepted(data, size))
		return 0;
	for (size_t i = 0; i < PIECES_MAX; i++)
		REQUIRE(!is_accepted(data, size * i / PIECES_MAX));
	REQUIRE(!is_accepted(data, size - 1));
	REQUIRE(bytes_append(&text, data, size) == 0 && bytes_append_text(&text, "\n") == 0);
	REQUIRE(!is_accepted(text.data, text.length));
	return 0;
}

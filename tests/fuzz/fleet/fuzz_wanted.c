/* SPDX-License-Identifier: MIT */

/* Lists of wanted files, which come from another machine. An accepted list has each id once, sources
 * that are absolute, and paths that stay below them. A part of it is refused, and so is a list with
 * a further line. */

#include <stdbool.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "fleet/wanted.h"
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

static void check_row(const struct wanted *wanted, size_t number)
{
	const struct wanted_row *row = &wanted->rows[number];
	const char *name = row->path;

	REQUIRE(row->id > 0 && row->source < wanted->sources.count);
	REQUIRE(number == 0 || wanted->rows[number - 1].id < row->id);
	while (name) {
		size_t length = strcspn(name, "/");

		REQUIRE(length > 0 && length <= 255);
		REQUIRE(!(length == 1 && name[0] == '.'));
		REQUIRE(!(length == 2 && memcmp(name, "..", 2) == 0));
		name = name[length] ? name + length + 1 : NULL;
	}
}

static bool is_accepted(const void *data, size_t length)
{
	struct wanted wanted;
	int r = wanted_read(&wanted, file_of(data, length));

	REQUIRE(r == 0 || r == -EPROTO);
	if (r == 0) {
		REQUIRE(host_name_is_valid(wanted.host) && wanted.sources.count > 0);
		for (size_t i = 0; i < wanted.sources.count; i++)
			REQUIRE(wanted.sources.items[i][0] == '/');
		for (size_t i = 0; i < wanted.count; i++)
			check_row(&wanted, i);
	}
	wanted_free(&wanted);
	return r == 0;
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

/* SPDX-License-Identifier: MIT */

/* Complete manifests. A manifest that is read to its end has each name once and in order. A prefix
 * of the manifest is refused, and so is a manifest with additional bytes. If the first byte of an
 * input is odd, a valid end is appended, which mutations would never find. */

#include <stdbool.h>
#include <sys/mman.h>

#include "backup/manifest.h"
#include "base/descriptor.h"
#include "base/path.h"
#include "fuzz.h"

/* Number of prefixes of a manifest that are tried. */
#define PIECES_MAX 8

/* Writes the data to a file and returns its descriptor. All inputs use one file. */
static int file_of(const void *data, size_t length)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("manifest", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	REQUIRE(write_fully(fd, data, length) == 0);
	return fd;
}

/* Checks that each name is after the previous name. */
static int read_names(struct manifest_reader *reader, uint64_t *names)
{
	struct bytes before CLEANUP_BYTES = {0};
	int r;

	for (*names = 0; (r = manifest_reader_next(reader)) == 0; (*names)++) {
		const struct bytes *path = &reader->name.path;

		REQUIRE(path_fault((const char *)path->data, path->length) == NULL);
		REQUIRE(*names == 0 || path_order(&before, path) < 0);
		REQUIRE(*names == 0 || path_order(path, &before) > 0);
		before.length = 0;
		REQUIRE(bytes_append(&before, path->data, path->length) == 0);
	}
	return r;
}

static int read_all(const void *data, size_t length)
{
	struct manifest_reader reader CLEANUP_MANIFEST_READER;
	uint64_t names = 0;
	int r = manifest_reader_init(&reader, file_of(data, length), "manifest");

	if (r == 0)
		r = read_names(&reader, &names);
	REQUIRE(r == MANIFEST_END || r == -EPROTO);
	REQUIRE(r != MANIFEST_END || (reader.names == names && reader.end.lines == names));
	return r;
}

static void append_end(struct bytes *text)
{
	struct manifest_end end = {.hash = hash128(text->data, text->length)};

	for (size_t i = 0; i < text->length; i++)
		end.lines += text->data[i] == '\n';
	/* the first line is not a name */
	end.lines -= end.lines > 0;
	REQUIRE(manifest_end_encode(text, &end) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text CLEANUP_BYTES = {0};

	if (size == 0)
		return 0;
	REQUIRE(bytes_append(&text, data + 1, size - 1) == 0);
	if (data[0] & 1)
		append_end(&text);
	if (read_all(text.data, text.length) != MANIFEST_END)
		return 0;
	for (size_t i = 0; i < PIECES_MAX; i++)
		REQUIRE(read_all(text.data, text.length * i / PIECES_MAX) == -EPROTO);
	REQUIRE(read_all(text.data, text.length - 1) == -EPROTO);
	REQUIRE(bytes_append(&text, "\n", 1) == 0);
	REQUIRE(read_all(text.data, text.length) == -EPROTO);
	return 0;
}

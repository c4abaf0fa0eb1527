/* SPDX-License-Identifier: MIT */
#include "fleet/earlier_digests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/quote.h"
#include "base/sha256.h"
#include "fleet/json_lines.h"
#include "fleet/set_folder.h"
#include "row/fields.h"
#include "row/json_read.h"
#include "row/json_text.h"
#include "row/line_reader.h"

/* ---- a part ------------------------------------------------------------------------------ */

#define EARLIER(member, key, type) FIELD(struct earlier_digest, member, key, type)

static const struct field fields[] = {
	{EARLIER(file, "id", FIELD_SIZE), .required = true},
	{EARLIER(digest.bytes, "sha256", FIELD_SHA256), .required = true},
	{EARLIER(digest.state, "state", FIELD_HEX64), .required = true},
};

/* Adds the digest of a row. Returns 0, -EPROTO or -ENOMEM. */
static int add_row(struct earlier_digests *earlier, const json_t *row)
{
	struct earlier_digest digest = {0};
	int r = fields_get(row, &digest, FIELDS(fields), NULL, NULL);

	if (r == 0)
		r = array_reserve(&earlier->list, &earlier->capacity, earlier->count + 1,
				  sizeof(*earlier->list));
	if (r == 0)
		earlier->list[earlier->count++] = digest;
	return r;
}

static int read_lines(struct earlier_digests *earlier, struct line_reader *lines)
{
	const char *text;
	size_t length;
	json_t *row;
	int r;

	while ((r = line_reader_next(lines, &text, &length)) == 0) {
		row = json_read(text, length, JSON_REJECT_DUPLICATES);
		r = add_row(earlier, row);
		json_decref(row);
		if (r < 0)
			return r;
	}
	if (r == LINE_END)
		return 0;
	return r > 0 ? -EPROTO : r;
}

/* Returns whether the bytes that were read are those that the manifest names. */
static bool has_sum(struct sha256 *state, const json_t *part)
{
	const char *digits = json_string_value(json_object_get(part, "sha256"));
	uint8_t expected[SHA256_BYTES], found[SHA256_BYTES];

	return digits && sha256_parse(digits, expected) && sha256_end(state, found) == 0 &&
	       memcmp(expected, found, sizeof(found)) == 0;
}

static bool is_compressed(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".zst") == 0;
}

static int read_part(struct earlier_digests *earlier, int folder, const json_t *part)
{
	const char *name = json_string_value(json_object_get(part, "name"));
	CLEANUP_LINE_READER struct line_reader lines = {.fd = -1};
	struct sha256 *state;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!name || *name == '/' || is_dots(name))
		return -EPROTO;
	fd = open_beneath_for_reading(folder, name, 0, false);
	if (fd < 0)
		return fd;
	state = sha256_new();
	r = state ? line_reader_init(&lines, fd, LINE_BYTES_MAX,
				     is_compressed(name) ? LINES_COMPRESSED : 0)
		  : -ENOMEM;
	lines.sha256 = state;
	if (r == 0)
		r = read_lines(earlier, &lines);
	if (r == 0 && !has_sum(state, part))
		r = -EPROTO;
	sha256_free(state);
	return r;
}

/* ---- the set ----------------------------------------------------------------------------- */

static int compare_files(const void *left, const void *right)
{
	const struct earlier_digest *a = left, *b = right;

	return numbers_compare(a->file, b->file);
}

/* The folder was checked to have digests of this host. */
static int read_set(struct earlier_digests *earlier, const struct set_folder *folder,
		    uint64_t index)
{
	const json_t *parts = json_object_get(folder->manifest, "parts");
	uint64_t found;
	int r = 0;

	if (!json_get_hex64(folder->manifest, "index", &found) || found != index)
		return 0;
	for (size_t i = 0; r == 0 && i < json_array_size(parts); i++)
		r = read_part(earlier, folder->fd, json_array_get(parts, i));
	return r;
}

int earlier_digests_load(struct earlier_digests *earlier, const struct set_folder *folder,
			 uint64_t index)
{
	int r;

	*earlier = (struct earlier_digests){.count = 0};
	r = read_set(earlier, folder, index);
	if (r < 0) {
		earlier->count = 0;
		if (r != -EINTR && r != -ENOMEM)
			log_warning("cannot use the earlier digests in %s: %s; files that only "
				    "they have are read again",
				    quote_path(folder->settings->folder), error_text(r));
	}
	sort_unless_sorted(earlier->list, earlier->count, sizeof(*earlier->list), compare_files);
	return r == -EINTR || r == -ENOMEM ? r : 0;
}

const uint8_t *earlier_digests_find(const struct earlier_digests *earlier, uint64_t file,
				    uint64_t state)
{
	const struct earlier_digest key = {.file = file};
	const struct earlier_digest *found =
		earlier->count == 0 ? NULL
				    : bsearch(&key, earlier->list, earlier->count,
					      sizeof(*earlier->list), compare_files);

	return found && found->digest.state == state ? found->digest.bytes : NULL;
}

void earlier_digests_free(struct earlier_digests *earlier)
{
	free(earlier->list);
	*earlier = (struct earlier_digests){.count = 0};
}

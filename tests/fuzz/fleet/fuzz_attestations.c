/* SPDX-License-Identifier: MIT */

/* The attestation of the host alpha, which comes from another machine, for a list of three contents
 * of which alpha keeps two. A content counts as kept only if a model that reads the file permits it,
 * and never for a row that does not name alpha. If a content counts, a part of the file is refused or
 * counts nothing, and the file with a further line is refused. */

#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/bytes.h"
#include "fleet/attestations.h"
#include "fleet/file_list.h"
#include "fuzz.h"
#include "fuzz_folder.h"

/* Number of parts of a file that are tried. */
#define PIECES_MAX 8

/* A hundred years in seconds: the inputs stay valid. */
#define AGE_MAX (UINT64_C(100) * 365 * 24 * 3600)

static const uint8_t digests[][SHA256_BYTES] = {{1}, {2}, {3}};
static const uint16_t alpha[] = {0}, gamma[] = {1};

static struct file_list_keeper keepers[] = {
	{.host = "alpha", .list = {1}},
	{.host = "gamma", .list = {1}},
};

static struct listed_file rows[] = {
	{.size = 5, .sha256 = digests[0], .keepers = alpha, .keeper_count = 1},
	{.size = 7, .sha256 = digests[1], .keepers = alpha, .keeper_count = 1},
	{.size = 5, .sha256 = digests[2], .keepers = gamma, .keeper_count = 1},
};

static const struct file_list list = {
	.host = "beta",
	.plan = "0123456789abcdef0123456789abcdef",
	.keep_replicas = 1,
	.keepers = keepers,
	.keeper_count = ARRAY_SIZE(keepers),
	.rows = rows,
	.count = ARRAY_SIZE(rows),
};

static bool has_digest(const json_t *object, const char *key, const uint8_t digest[SHA256_BYTES])
{
	const char *text = json_string_value(json_object_get(object, key));
	char digits[SHA256_DIGITS + 1];

	sha256_format(digest, digits);
	return text && strcmp(text, digits) == 0;
}

static bool is_of(const json_t *line, const struct listed_file *row)
{
	return has_digest(line, "sha256", row->sha256) &&
	       json_integer_value(json_object_get(line, "size")) == (json_int_t)row->size;
}

/* Checks that a file permits to count the content of a row: line 1 is for this list, and has the
 * number of the other lines, of which one is of the content. */
static void check_counted(const char *data, size_t length, const struct listed_file *row)
{
	const char *end = data + length;
	json_int_t lines = 0, rows_in_head = 0;
	int kept = 0;

	for (; data < end; lines++) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		json_t *line;

		REQUIRE(newline != NULL);
		line = json_loadb(data, (size_t)(newline - data), 0, NULL);
		if (lines == 0) {
			const char *plan = json_string_value(json_object_get(line, "plan"));

			REQUIRE(plan && strcmp(plan, list.plan) == 0);
			REQUIRE(has_digest(line, "list", keepers[0].list));
			rows_in_head = json_integer_value(json_object_get(line, "rows"));
		} else if (is_of(line, row)) {
			REQUIRE(json_is_true(json_object_get(line, "kept")));
			kept++;
		}
		json_decref(line);
		data = newline + 1;
	}
	REQUIRE(lines == rows_in_head + 1 && kept == 1);
}

/* Returns how many contents count as kept, or -1 if the file is refused. */
static int count_kept(const char *data, size_t length)
{
	struct attestations *found;
	int count = 0, r;

	fuzz_folder_put(data, length);
	r = attestations_read(&found, &list, fuzz_folder, AGE_MAX);
	REQUIRE(r == 0 || r == -EPROTO);
	REQUIRE((r == 0) == (found != NULL));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++) {
		size_t kept = attestations_count(found, &rows[i]);

		REQUIRE(kept <= 1);
		REQUIRE(kept == 0 || rows[i].keepers == alpha);
		if (kept > 0)
			check_counted(data, length, &rows[i]);
		count += (int)kept;
	}
	attestations_free(found);
	return r < 0 ? -1 : count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BYTES struct bytes longer = {0};
	const char *text = (const char *)data;

	fuzz_folder_make("attested-alpha.jsonl");
	if (count_kept(text, size) <= 0)
		return 0;
	for (size_t i = 0; i < PIECES_MAX; i++)
		REQUIRE(count_kept(text, size * i / PIECES_MAX) <= 0);
	REQUIRE(count_kept(text, size - 1) == -1);
	REQUIRE(bytes_append(&longer, data, size) == 0 && bytes_append_text(&longer, "{}\n") == 0);
	REQUIRE(count_kept((const char *)longer.data, longer.length) == -1);
	return 0;
}

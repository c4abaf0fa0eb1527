/* SPDX-License-Identifier: MIT */
#include "fleet/row_set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/size.h"
#include "row/json_number.h"
#include "row/json_text.h"

/* Number of rows of a part, so that a reader can process parts one by one. */
#define PART_ROWS_MAX 250000

/* Room for the name of a part below the folder of the set. */
#define PART_NAME_MAX (SET_NAME_MAX + sizeof("/" SET_PART "18446744073709551615" PART_FILE_SUFFIX))

int row_set_begin(struct row_set *set, const struct row_set_settings *settings)
{
	int r;

	*set = (struct row_set){
		.settings = *settings,
		.folder = {.fd = -1},
		.generation_folder = -1,
		.parts = json_array(),
	};
	r = part_file_init(&set->part);
	if (r < 0 || !set->parts)
		return -ENOMEM;
	r = set_folder_init(&set->folder, &set->settings);
	set->generation = set->folder.highest + 1;
	return r;
}

/* ---- parts --------------------------------------------------------------------------- */

/* Makes the folder of the generation. Before that, removes leftovers, which may fill the disk. */
static int make_generation(struct row_set *set)
{
	char name[SET_NAME_MAX];

	set_folder_remove_others(&set->folder, set->folder.current);
	set_folder_name(name, set->generation);
	if (mkdirat(set->folder.fd, name, 0700) < 0)
		return set_folder_explain(&set->folder, name, -errno);
	set->begun = true;
	set->generation_folder = open_beneath(set->folder.fd, name, O_RDONLY | O_DIRECTORY, false);
	if (set->generation_folder < 0)
		return set_folder_explain(&set->folder, name, set->generation_folder);
	return 0;
}

/* Writes the name of the part that is open, or is opened next. Returns its last component. */
static const char *part_name(const struct row_set *set, char name[static PART_NAME_MAX])
{
	int folder = snprintf(name, PART_NAME_MAX, SET_GENERATION "%" PRIu64 "/", set->generation);

	(void)snprintf(name + folder, PART_NAME_MAX - (size_t)folder,
		       SET_PART "%05zu" PART_FILE_SUFFIX, json_array_size(set->parts) + 1);
	return name + folder;
}

/* Logs a failure or an outcome of the part that is open. Returns 0, -EXDEV or -ENOMEM. */
static int explain_part(const struct row_set *set, int result)
{
	char name[PART_NAME_MAX];

	if (result == 0)
		return 0;
	(void)part_name(set, name);
	if (result != PART_FILE_NOT_COMPRESSED)
		return set_folder_explain(&set->folder, name, result);
	set_folder_complain(&set->folder, name, set->part.fault);
	return -EXDEV;
}

static int open_part(struct row_set *set)
{
	char name[PART_NAME_MAX];
	const char *file = part_name(set, name);
	int r = set->generation_folder < 0 ? make_generation(set) : 0;

	if (r < 0)
		return r;
	set->part_rows = 0;
	return explain_part(set, part_file_open(&set->part, set->generation_folder, file));
}

static int close_part(struct row_set *set)
{
	struct part_file_facts facts;
	char name[PART_NAME_MAX];
	json_t *part;
	int r;

	(void)part_name(set, name);
	r = explain_part(set, part_file_close(&set->part, &facts));
	if (r < 0)
		return r;
	part = json_pack("{s:s, s:o, s:o, s:s}", "name", name, "rows", json_number(set->part_rows),
			 "bytes", json_number(facts.bytes), "sha256", facts.sha256);
	return json_array_append_new(set->parts, part) == 0 ? 0 : -ENOMEM;
}

int row_set_add(struct row_set *set, json_t *row, uint64_t bytes)
{
	int r = set->part.fd < 0 ? open_part(set) : 0;

	set->line.length = 0;
	if (r == 0)
		r = json_append_line(&set->line, row, JSON_COMPACT);
	if (r < 0)
		return r;
	r = explain_part(set, part_file_add(&set->part, set->line.data, set->line.length));
	set->rows++;
	set->part_rows++;
	set->bytes = size_add(set->bytes, bytes);
	return r == 0 && set->part_rows == PART_ROWS_MAX ? close_part(set) : r;
}

static void drop_waiting(struct row_set *set)
{
	for (size_t i = 0; i < set->waiting_count; i++)
		json_decref(set->waiting[i].row);
	set->waiting_count = 0;
}

int row_set_keep(struct row_set *set, json_t *row, uint64_t bytes)
{
	int r = array_reserve(&set->waiting, &set->waiting_capacity, set->waiting_count + 1,
			      sizeof(*set->waiting));

	if (r < 0) {
		json_decref(row);
		return r;
	}
	set->waiting[set->waiting_count++] = (struct waiting_row){row, bytes};
	return 0;
}

int row_set_write_waiting(struct row_set *set)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->waiting_count; i++)
		r = row_set_add(set, set->waiting[i].row, set->waiting[i].bytes);
	drop_waiting(set);
	return r;
}

/* ---- the manifest -------------------------------------------------------------------- */

/* Makes the manifest. Returns NULL if memory is short. */
static json_t *make_manifest(const struct row_set *set, const struct row_set_figures *figures)
{
	char created[CLOCK_TEXT_MAX];

	if (clock_format_utc(created, clock_now()) < 0)
		return NULL;
	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:O}",
			 "format", set->settings.format, "schema", SET_SCHEMA, "version",
			 TWINFS_VERSION, "host", set->settings.host, "index",
			 json_hex64(figures->index), "generation", json_number(set->generation),
			 "created", created, "sources", figures->sources, "min_size",
			 json_number(figures->min_size), "errors", json_number(figures->errors),
			 "pending", json_number(figures->pending), "rows", json_number(set->rows),
			 "bytes", json_number(set->bytes), "parts", set->parts);
}

/* Replaces the old manifest by the new one, when both names and parts are on the disk. */
static int replace_manifest(struct row_set *set, const json_t *manifest)
{
	CLEANUP_NEW_FILE struct new_file file = {.fd = -1};
	CLEANUP_BYTES struct bytes text = {0};
	int r = json_append_line(&text, manifest, JSON_INDENT(2));

	set->begun = true;
	if (r == 0 && set->generation_folder >= 0)
		r = sync_directory(set->generation_folder);
	if (r == 0)
		r = sync_directory(set->folder.fd);
	if (r == 0)
		r = new_file_begin(&file, set->folder.fd, SET_NEW_MANIFEST);
	if (r == 0)
		r = new_file_append(&file, text.data, text.length);
	if (r == 0) {
		r = new_file_commit(&file, SET_MANIFEST);
		set->committed = !file.temporary;
	}
	return r < 0 ? set_folder_explain(&set->folder, SET_MANIFEST, r) : 0;
}

int row_set_commit(struct row_set *set, const struct row_set_figures *figures)
{
	json_t *manifest;
	int r = set->part.fd >= 0 ? close_part(set) : 0;

	if (r < 0)
		return r;
	manifest = make_manifest(set, figures);
	r = manifest ? replace_manifest(set, manifest) : -ENOMEM;
	json_decref(manifest);
	if (r == 0)
		set_folder_remove_others(&set->folder, set->generation);
	return r;
}

void row_set_deinit(struct row_set *set)
{
	part_file_deinit(&set->part);
	cleanup_close(&set->generation_folder);
	if (set->begun && !set->committed)
		set_folder_remove_others(&set->folder, set->folder.current);
	if (set->folder.made && !set->committed)
		(void)rmdir(set->settings.folder);
	set_folder_deinit(&set->folder);
	drop_waiting(set);
	free(set->waiting);
	bytes_free(&set->line);
	json_decref(set->parts);
	*set = (struct row_set){.folder = {.fd = -1}, .generation_folder = -1, .part.fd = -1};
}

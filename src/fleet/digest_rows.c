/* SPDX-License-Identifier: MIT */
#include "fleet/digest_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/numbers.h"
#include "catalog/query.h"
#include "fleet/inventory_row.h"
#include "fleet/row_set.h"
#include "fleet/wanted_files.h"

/* Number of rows that are made in one snapshot. */
#define PORTION 2048

struct writing {
	const struct digest_rows_task *task;
	struct row_set *set;
	struct digest_rows_result *result;
	struct row_maker maker;
	struct {
		json_t *row;
		uint64_t bytes;
	} rows[PORTION];
	size_t count;
};

/* ---- a row ------------------------------------------------------------------------------- */

/* Sets *current to whether the digest of a file is that of its present record: the record is that
 * of the read, or it is in the group whose content was read. */
static int is_current(struct catalog_reader *reader, const struct wanted_file *file,
		      const struct file_record *record, bool *current)
{
	struct content_record content;
	int r;

	*current = record->names > 0 && file_digest(record) == file->digest_state;
	if (*current || record->names == 0 || !file->in_group)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	*current = r == 0 && content.group == file->group;
	return r == -ENOENT ? 0 : r;
}

static int add_digest(json_t *row, const struct file_record *record, const uint8_t *digest)
{
	char state[sizeof("0123456789abcdef")];
	int r = row_add_digest(row, digest);

	(void)snprintf(state, sizeof(state), "%016" PRIx64, file_digest(record));
	if (r == 0 && json_object_set_new_nocheck(row, "state", json_string_nocheck(state)) < 0)
		r = -ENOMEM;
	return r;
}

/* Makes the row of a file, if its digest is current. */
static int make_row(struct writing *writing, struct catalog_reader *reader,
		    const struct wanted_file *file)
{
	struct file_record record;
	bool current = false;
	json_t *row;
	int r = wanted_has_digest(file) ? catalog_get_file(reader, file->id, &record) : -ENOENT;

	if (r == 0)
		r = is_current(reader, file, &record, &current);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!current && file->state == WANTED_EARLIER)
		return 0;
	if (!current) {
		*(file->state == WANTED_UNREADABLE ? &writing->result->unreadable
						   : &writing->result->pending) += 1;
		return 0;
	}
	r = row_maker_identify(&writing->maker, &record, &row);
	if (r < 0)
		return r;
	writing->rows[writing->count].row = row;
	writing->rows[writing->count++].bytes = file->size;
	return add_digest(row, &record, file->digest);
}

/* ---- the set ----------------------------------------------------------------------------- */

/* Makes the rows of the next files in a snapshot of its own. */
static int make_portion(struct writing *writing, size_t first)
{
	const struct wanted_files *files = writing->task->files;
	size_t end = files->count - first < PORTION ? files->count : first + PORTION;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(writing->task->catalog, &reader);

	row_maker_begin(&writing->maker, reader);
	for (size_t i = first; r == 0 && i < end; i++)
		r = make_row(writing, reader, &files->list[i]);
	return r;
}

static void drop_rows(struct writing *writing)
{
	for (size_t i = 0; i < writing->count; i++)
		json_decref(writing->rows[i].row);
	writing->count = 0;
}

static int write_portion(struct writing *writing)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writing->count; i++)
		r = row_set_add(writing->set, writing->rows[i].row, writing->rows[i].bytes);
	writing->result->rows += writing->count;
	drop_rows(writing);
	return r;
}

static int compare_ids(const void *left, const void *right)
{
	const struct wanted_file *a = left, *b = right;

	return numbers_compare(a->id, b->id);
}

static int commit(struct writing *writing)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct row_set_figures figures = {
		.index = catalog_identity(writing->task->catalog),
		.errors = writing->result->unreadable,
		.pending = writing->result->pending,
	};
	int r = catalog_read_begin(writing->task->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &figures.min_size);
	catalog_read_end(TAKE(reader));
	if (r == 0)
		r = rows_list_sources(writing->task->sources, &figures.sources);
	if (r == 0)
		r = row_set_commit(writing->set, &figures);
	json_decref(figures.sources);
	return r;
}

int digest_rows_write(const struct digest_rows_task *task, struct row_set *set,
		      struct digest_rows_result *result)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	struct wanted_files *files = task->files;
	int r = 0;

	if (!writing)
		return -ENOMEM;
	*result = (struct digest_rows_result){0};
	writing->task = task;
	writing->set = set;
	writing->result = result;
	writing->maker.sources = task->sources;
	writing->maker.examines_disk = true;
	sort_unless_sorted(files->list, files->count, sizeof(*files->list), compare_ids);
	for (size_t i = 0; r == 0 && i < files->count; i += PORTION) {
		r = make_portion(writing, i);
		if (r == 0)
			r = write_portion(writing);
		drop_rows(writing);
	}
	if (r == 0)
		r = commit(writing);
	row_maker_deinit(&writing->maker);
	free(writing);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "fleet/digest_rows.h"

#include <errno.h>
#include <stdbool.h>

#include <jansson.h>

#include "base/numbers.h"
#include "catalog/query.h"
#include "fleet/inventory_row.h"
#include "fleet/row_set.h"
#include "fleet/wanted_files.h"
#include "row/json_text.h"

/* Number of rows that are made in one snapshot. */
#define PORTION 2048

struct digest_writing {
	const struct digest_rows_task *task;
	struct row_set *set;
	struct digest_rows_result *result;
	struct row_maker maker;
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
	int r = row_add_digest(row, digest);

	if (r < 0)
		return r;
	return json_set(row, "state", json_hex64(file_digest(record)));
}

/* Makes the row of a file, if its digest is current. */
static int make_row(struct digest_writing *writing, struct catalog_reader *reader,
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
	r = add_digest(row, &record, file->digest);
	if (r == 0)
		return row_set_keep(writing->set, row, file->size);
	json_decref(row);
	return r;
}

/* ---- the set ----------------------------------------------------------------------------- */

/* Makes the rows of the next files in a snapshot of its own. */
static int make_portion(struct digest_writing *writing, size_t first)
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

static int compare_ids(const void *left, const void *right)
{
	const struct wanted_file *a = left, *b = right;

	return numbers_compare(a->id, b->id);
}

static int commit(struct digest_writing *writing)
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
	struct digest_writing writing = {
		.task = task,
		.set = set,
		.result = result,
		.maker = {.sources = task->sources, .examines_disk = true},
	};
	struct wanted_files *files = task->files;
	int r = 0;

	*result = (struct digest_rows_result){0};
	sort_unless_sorted(files->list, files->count, sizeof(*files->list), compare_ids);
	for (size_t i = 0; r == 0 && i < files->count; i += PORTION) {
		r = make_portion(&writing, i);
		if (r == 0)
			r = row_set_write_waiting(set);
	}
	if (r == 0)
		r = commit(&writing);
	result->rows = set->rows;
	row_maker_deinit(&writing.maker);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "fleet/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/stop.h"
#include "fleet/inventory_row.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* Bounds of what is read in one snapshot, which takes some milliseconds. */
#define PORTION_ROWS 2048
#define PORTION_NAMES 4096

/* How often files without a name are examined again. A file can be renamed again and again. */
#define LATE_ROUNDS 8

/* A file that had no name when it was examined. */
struct nameless {
	uint64_t id;
	uint64_t inode;
	uint32_t filesystem;
};

struct inventory {
	const struct inventory_task *task;
	struct row_set *set;
	struct inventory_result *result;
	struct row_maker maker;
	uint64_t last; /* id of the last file that was examined */
	struct nameless *nameless;
	size_t nameless_count, nameless_capacity;
	size_t nameless_done; /* number of them that were examined again */
	size_t nameless_end; /* number of them that are examined in this round */
	uint64_t min_size;
	uint64_t generation; /* of the last snapshot; 0: none */
	struct progress progress;
	struct progress_counts counts;
};

/* ---- portions ------------------------------------------------------------------------ */

/* Makes the row of a file, and adds the number of its names to *names. */
static int make_row(struct inventory *inventory, const struct file_record *file, uint64_t *names)
{
	struct inventory_row row;
	int r = row_maker_make(&inventory->maker, file, &row);

	if (r == 0)
		r = row_set_keep(inventory->set, &row, inventory_row_fields, row.size);
	if (r < 0)
		return r;
	*names += file->names;
	return 0;
}

/* Notes whether the index changed since the last snapshot. */
static int note_generation(struct inventory *inventory, struct catalog_reader *reader)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(reader, &totals);

	if (r < 0)
		return r;
	if (inventory->generation != 0 && inventory->generation != totals.generation)
		inventory->result->changed = true;
	inventory->generation = totals.generation;
	inventory->counts.files_total = totals.files;
	inventory->result->errors = totals.errors;
	return 0;
}

static int note_nameless(struct inventory *inventory, const struct file_record *file)
{
	int r = array_reserve(&inventory->nameless, &inventory->nameless_capacity,
			      inventory->nameless_count + 1, sizeof(*inventory->nameless));

	if (r == 0)
		inventory->nameless[inventory->nameless_count++] =
			(struct nameless){file->id, file->attributes.inode,
					  file->attributes.filesystem};
	return r;
}

static int examine(struct inventory *inventory, const struct file_record *file, uint64_t *names)
{
	if (!S_ISREG(file->attributes.mode))
		return 0;
	return file->names == 0 ? note_nameless(inventory, file) : make_row(inventory, file, names);
}

/* Examines a file again that had no name. A file that the index forgot, as if it was removed, and
 * found again, has a new id. If this id is among the examined ones, so is the file. */
static int examine_again(struct inventory *inventory, struct catalog_reader *reader,
			 struct nameless nameless, uint64_t *names)
{
	struct file_record file;
	uint64_t id = 0;
	int r = catalog_get_file(reader, nameless.id, &file);

	if (r == 0)
		return examine(inventory, &file, names);
	if (r == -ENOENT)
		r = catalog_find_inode(reader, nameless.filesystem, nameless.inode, &id);
	if (r < 0 || id <= inventory->last)
		return r;
	r = catalog_get_file(reader, id, &file);
	if (r == 0)
		return examine(inventory, &file, names);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Begins the snapshot of a portion. */
static int begin_portion(struct inventory *inventory, struct catalog_reader **reader)
{
	int r = catalog_read_begin(inventory->task->catalog, reader);

	if (r == 0)
		r = note_generation(inventory, *reader);
	row_maker_begin(&inventory->maker, *reader);
	return r;
}

static bool portion_is_full(const struct inventory *inventory, uint64_t names)
{
	return inventory->set->waiting_count == PORTION_ROWS || names >= PORTION_NAMES;
}

/* Makes rows in a snapshot of its own. Returns 0, -ENOENT after the last file, or another
 * -errno. */
static int make_portion(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t names = 0;
	int r = begin_portion(inventory, &reader);

	if (r == 0)
		r = catalog_scan_files(reader, inventory->last, &scan);
	while (r == 0 && !portion_is_full(inventory, names)) {
		r = catalog_next_file(scan, &file);
		if (r < 0)
			break;
		inventory->last = file.id;
		r = examine(inventory, &file, &names);
	}
	return r;
}

/* Works like make_portion(), for the files that had no name before. */
static int make_late_portion(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t names = 0;
	int r = begin_portion(inventory, &reader);

	while (r == 0 && !portion_is_full(inventory, names)) {
		if (inventory->nameless_done == inventory->nameless_end)
			return -ENOENT;
		r = examine_again(inventory, reader,
				  inventory->nameless[inventory->nameless_done++], &names);
	}
	return r;
}

static int write_portion(struct inventory *inventory)
{
	size_t count = inventory->set->waiting_count;
	int r = row_set_write_waiting(inventory->set);

	inventory->counts.files_done += count;
	progress_update(&inventory->progress, &inventory->counts);
	return r;
}

/* Writes portions until make() returns -ENOENT. */
static int write_portions(struct inventory *inventory, int (*make)(struct inventory *inventory))
{
	bool ended = false;
	int r = 0;

	while (r == 0 && !ended) {
		r = stop_requested() ? -EINTR : make(inventory);
		ended = r == -ENOENT;
		if (r == 0 || ended)
			r = write_portion(inventory);
	}
	return r;
}

static int compare_inodes(const struct nameless *a, const struct nameless *b)
{
	int order = numbers_compare(a->filesystem, b->filesystem);

	return order ? order : numbers_compare(a->inode, b->inode);
}

static int by_inode(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;
	int order = compare_inodes(a, b);

	return order ? order : numbers_compare(a->id, b->id);
}

/* Drops files whose inode number belongs to another file now, or that have a new id. Of all files
 * with one number, only the youngest is left. */
static void drop_replaced(struct inventory *inventory)
{
	struct nameless *list = inventory->nameless;
	size_t left = inventory->nameless_done;

	qsort(list + left, inventory->nameless_count - left, sizeof(*list), by_inode);
	for (size_t i = left; i < inventory->nameless_count; i++) {
		if (i + 1 == inventory->nameless_count ||
		    compare_inodes(&list[i], &list[i + 1]) != 0)
			list[left++] = list[i];
	}
	inventory->nameless_count = left;
}

/* Writes the rows of files that had no name, as soon as they have one. */
static int write_late_rows(struct inventory *inventory)
{
	const struct inventory_task *task = inventory->task;
	int r = 0;

	for (int round = 0; r == 0 && round < LATE_ROUNDS; round++) {
		if (inventory->nameless_done == inventory->nameless_count)
			break;
		drop_replaced(inventory);
		inventory->nameless_end = inventory->nameless_count;
		r = task->await_changes(task->context);
		if (r == 0)
			r = write_portions(inventory, make_late_portion);
	}
	inventory->result->missed = inventory->nameless_count - inventory->nameless_done;
	return r == INVENTORY_NOT_AWAITED ? 0 : r;
}

static int write_rows(struct inventory *inventory)
{
	int r = write_portions(inventory, make_portion);

	return r == 0 && inventory->task->await_changes ? write_late_rows(inventory) : r;
}

/* ---- the manifest -------------------------------------------------------------------- */

/* Gets what the manifest says of the whole index. */
static int find_figures(struct inventory *inventory)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t bytes;
	int r = catalog_read_begin(inventory->task->catalog, &reader);

	if (r == 0)
		r = note_generation(inventory, reader);
	if (r == 0)
		r = catalog_get_min_size(reader, &inventory->min_size);
	return r < 0 ? r : catalog_count_pending(reader, &inventory->result->pending, &bytes);
}

static int commit(struct inventory *inventory)
{
	struct row_set_figures figures = {
		.index = catalog_identity(inventory->task->catalog),
	};
	int r = rows_list_sources(inventory->task->sources, &figures.sources);

	if (r == 0)
		r = find_figures(inventory);
	figures.min_size = inventory->min_size;
	figures.errors = inventory->result->errors + inventory->task->outdated;
	figures.pending = inventory->result->pending + inventory->result->missed;
	if (r == 0)
		r = stop_requested() ? -EINTR : row_set_commit(inventory->set, &figures);
	json_decref(figures.sources);
	return r;
}

int inventory_write(const struct inventory_task *task, struct row_set *set,
		    struct inventory_result *result)
{
	struct inventory inventory = {
		.task = task,
		.set = set,
		.result = result,
		.maker = {.sources = task->sources, .examines_disk = task->examines_disk},
	};
	int r;

	*result = (struct inventory_result){0};
	progress_start(&inventory.progress, task->progress, "exporting");
	r = write_rows(&inventory);
	progress_end(&inventory.progress, &inventory.counts);
	if (r == 0)
		r = commit(&inventory);
	result->rows = set->rows;
	row_maker_deinit(&inventory.maker);
	free(inventory.nameless);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "catalog/redundant.h"

#include <errno.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

struct redundant_note {
	uint64_t file;
	uint64_t dir;
	bool added;
};

struct dir_note {
	uint64_t id;
	uint64_t parent;
	bool added;
};

/* A change of the count of a directory. */
struct redundant_step {
	uint64_t dir;
	int64_t change;
};

int redundant_note_name(struct catalog_writer *w, const struct file_record *file, uint64_t dir,
			bool added)
{
	const struct redundant_note note = {.file = file->id, .dir = dir, .added = added};

	if (!S_ISREG(file->attributes.mode))
		return 0;
	return bytes_append(&w->redundant.names, &note, sizeof(note));
}

int redundant_note_dir(struct catalog_writer *w, uint64_t id, uint64_t parent, bool added)
{
	const struct dir_note note = {.id = id, .parent = parent, .added = added};

	return bytes_append(&w->redundant.dirs, &note, sizeof(note));
}

void redundant_discard(struct catalog_writer *w)
{
	bytes_free(&w->redundant.names);
	bytes_free(&w->redundant.dirs);
}

/* ---- steps --------------------------------------------------------------------------- */

/* Adds a step. Successive steps of one directory, which are frequent, are merged. */
static int add_step(struct bytes *steps, uint64_t dir, bool more)
{
	struct redundant_step step = {.dir = dir, .change = more ? 1 : -1}, *last;

	if (steps->length > 0) {
		last = (void *)(steps->data + steps->length - sizeof(*last));
		if (last->dir == dir) {
			last->change += step.change;
			return 0;
		}
	}
	return bytes_append(steps, &step, sizeof(step));
}

static int compare_steps(const void *a, const void *b)
{
	const struct redundant_step *first = a, *second = b;

	return numbers_compare(first->dir, second->dir);
}

/* Sums the steps of each directory into one, sorted by directory. */
static void sum_steps(struct bytes *steps)
{
	struct redundant_step *list = (void *)steps->data;
	size_t count = steps->length / sizeof(*list), left = 0;

	sort_unless_sorted(list, count, sizeof(*list), compare_steps);
	for (size_t i = 0; i < count; i++) {
		if (left > 0 && list[left - 1].dir == list[i].dir)
			list[left - 1].change += list[i].change;
		else
			list[left++] = list[i];
	}
	steps->length = left * sizeof(*list);
}

/* ---- names --------------------------------------------------------------------------- */

/* Counts all names that the file has now. */
static int count_file(struct catalog_writer *w, const struct delta_flip *change,
		      struct bytes *steps)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t dir, cookie;
	int r = catalog_get_file_name(&w->store.reader, change->file, &file);

	if (r < 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	if (file.names == 1)
		return add_step(steps, file.dir, change->redundant);
	r = catalog_scan_names(&w->store.reader, &file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = add_step(steps, dir, change->redundant);
	return r == -ENOENT ? 0 : r;
}

static int count_redundancy(struct catalog_writer *w, struct bytes *steps)
{
	size_t count;
	const struct delta_flip *redundancy =
		commit_delta_list(&w->delta, DELTA_REDUNDANCY, &count);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = count_file(w, &redundancy[i], steps);
	return r;
}

static int compare_redundancy(const void *a, const void *b)
{
	const struct delta_flip *first = a, *second = b;

	return numbers_compare(first->file, second->file);
}

/* Sets *redundant to whether the file was redundant when the transaction began. */
static int was_redundant(struct catalog_writer *w, uint64_t id, bool *redundant)
{
	const struct delta_flip key = {.file = id}, *change = NULL;
	size_t count;
	const void *redundancy = commit_delta_list(&w->delta, DELTA_REDUNDANCY, &count);
	struct group_record group;
	struct file_record file;
	int r;

	*redundant = false;
	if (count > 0)
		change = bsearch(&key, redundancy, count, sizeof(key), compare_redundancy);
	if (change) {
		*redundant = !change->redundant;
		return 0;
	}
	r = catalog_get_file_name(&w->store.reader, id, &file);
	/* the content record of an orphan has its group, but the orphan is not a member */
	if (r < 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	return catalog_is_redundant(&w->store.reader, id, redundant, &group);
}

static int compare_names(const void *a, const void *b)
{
	const struct redundant_note *first = a, *second = b;
	int order = numbers_compare(first->file, second->file);

	return order ? order : numbers_compare(first->dir, second->dir);
}

static int count_names(struct catalog_writer *w, struct bytes *steps)
{
	struct redundant_note *notes = (void *)w->redundant.names.data;
	size_t count = w->redundant.names.length / sizeof(*notes);
	bool redundant = false;
	int r = 0;

	sort_unless_sorted(notes, count, sizeof(*notes), compare_names);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i == 0 || notes[i].file != notes[i - 1].file)
			r = was_redundant(w, notes[i].file, &redundant);
		if (r == 0 && redundant)
			r = add_step(steps, notes[i].dir, notes[i].added);
	}
	return r;
}

/* ---- directories --------------------------------------------------------------------- */

/* Counts added and removed directories by their state before this transaction, which is what their
 * old parents counted. */
static int count_dirs(struct catalog_writer *w, struct bytes *steps)
{
	const struct dir_note *notes = (const void *)w->redundant.dirs.data;
	size_t count = w->redundant.dirs.length / sizeof(*notes);
	uint64_t held;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = catalog_count_redundant(&w->store.reader, notes[i].id, &held);
		if (r == 0 && held > 0)
			r = add_step(steps, notes[i].parent, notes[i].added);
	}
	return r;
}

/* Outcome: the count of a directory became positive, or zero. */
enum {
	HOLDER_CHANGED = 1
};

static int take_step(struct catalog_writer *w, const struct redundant_step *step)
{
	struct key key = key_number(step->dir);
	uint64_t before, now;
	int r = catalog_count_redundant(&w->store.reader, step->dir, &before);

	if (r < 0 || step->change == 0)
		return r;
	now = before + (uint64_t)step->change;
	if ((int64_t)now < 0)
		return -EUCLEAN;
	r = now ? store_put(&w->store, TABLE_REDUNDANT, &key, encode_number(now))
		: store_delete(&w->store, TABLE_REDUNDANT, &key);
	return r < 0 || !before == !now ? r : HOLDER_CHANGED;
}

/* Records the change in the commit delta, and counts it in the parent. A missing directory has no
 * parent. */
static int count_above(struct catalog_writer *w, uint64_t id, bool holds, struct bytes *above)
{
	struct dir_record dir;
	int r = catalog_get_dir(&w->store.reader, id, &dir);

	if (r < 0)
		return r == -ENOENT ? (holds ? -EUCLEAN : 0) : r;
	r = delta_add(w, DELTA_HOLDERS, &id);
	return r < 0 || dir.parent == 0 ? r : add_step(above, dir.parent, holds);
}

static int take_steps(struct catalog_writer *w, const struct bytes *steps, struct bytes *above)
{
	const struct redundant_step *list = (const void *)steps->data;
	size_t count = steps->length / sizeof(*list);
	int r = 0;

	above->length = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = take_step(w, &list[i]);
		if (r == HOLDER_CHANGED)
			r = count_above(w, list[i].dir, list[i].change > 0, above);
	}
	return r;
}

int redundant_flush(struct catalog_writer *w)
{
	CLEANUP_BYTES struct bytes steps = {0}, above = {0};
	struct bytes swap;
	int r = count_redundancy(w, &steps);

	if (r == 0)
		r = count_names(w, &steps);
	if (r == 0)
		r = count_dirs(w, &steps);
	while (r == 0 && steps.length > 0) {
		sum_steps(&steps);
		r = take_steps(w, &steps, &above);
		swap = steps;
		steps = above;
		above = swap;
	}
	return r;
}

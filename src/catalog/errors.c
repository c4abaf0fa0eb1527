/* SPDX-License-Identifier: MIT */
#include "catalog/errors.h"

#include <errno.h>

#include "catalog/delta_builder.h"
#include "catalog/query.h"
#include "catalog/writer.h"
#include "store/key.h"
#include "store/value.h"
#include "store/writer.h"

/* Outcome: the recorded error of the object changed. */
enum {
	ERROR_CHANGED = 1
};

/* Sets *has to whether the file exists and has a name. */
static int has_names(struct catalog_writer *w, uint64_t id, bool *has)
{
	struct file_record file = {0};
	int r = catalog_get_file(&w->store.reader, id, &file);

	*has = r == 0 && file.names > 0;
	return r == -ENOENT ? 0 : r;
}

static int note_error(struct catalog_writer *w, const struct key *key, int error)
{
	struct span fields;
	uint64_t before;
	int r = store_add(&w->store, TABLE_ERROR, key, encode_number((uint64_t)error), &fields);

	if (r == 0)
		w->totals.errors++;
	if (r != -EEXIST)
		return r < 0 ? r : ERROR_CHANGED;
	if (!decode_number(fields, &before))
		return -EUCLEAN;
	if (before == (uint64_t)error)
		return 0;
	r = store_put(&w->store, TABLE_ERROR, key, encode_number((uint64_t)error));
	return r < 0 ? r : ERROR_CHANGED;
}

static int forget_error(struct catalog_writer *w, const struct key *key)
{
	int r = w->totals.errors ? store_delete(&w->store, TABLE_ERROR, key) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		w->totals.errors--;
	return r < 0 ? r : ERROR_CHANGED;
}

int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id, int error)
{
	struct key key = key_pair((uint64_t)kind, id);
	bool has = true;
	int r = 0;

	if (error && kind == ERROR_FILE)
		r = has_names(w, id, &has);
	if (r < 0 || !has)
		return r;
	r = error ? note_error(w, &key, error) : forget_error(w, &key);
	return r == ERROR_CHANGED ? delta_add_error(w, kind, id, error) : r;
}

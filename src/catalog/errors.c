/* SPDX-License-Identifier: MIT */
#include "catalog/errors.h"

#include <errno.h>

#include "catalog/query.h"
#include "catalog/scan_settings.h"
#include "catalog/writer.h"
#include "store/store.h"
#include "store/value.h"

/* Sets *has to whether the file exists and has a name. */
static int has_names(struct catalog_writer *w, uint64_t id, bool *has)
{
	struct file_record file = {0};
	int r = catalog_get_file(&w->store.reader, id, &file);

	*has = r == 0 && file.names > 0;
	return r == -ENOENT ? 0 : r;
}

int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id, int error)
{
	struct key key = key_pair((uint64_t)kind, id);
	bool has = true;
	int before = 0, r = 0;

	if (error && kind == ERROR_FILE)
		r = has_names(w, id, &has);
	if (r == 0 && w->totals.errors > 0)
		r = catalog_get_error(&w->store.reader, kind, id, &before);
	if (r < 0 || !has || error == before)
		return r;
	if (error)
		r = store_put(&w->store, TABLE_ERROR, &key, encode_number((uint64_t)error));
	else
		r = store_delete(&w->store, TABLE_ERROR, &key);
	if (r < 0)
		return r;
	w->totals.errors += !before;
	w->totals.errors -= !error;
	return delta_add(w, DELTA_ERRORS, &(struct delta_error){kind, id, error});
}

int catalog_note_dir(struct catalog_writer *w, const struct dir_record *dir)
{
	int r = catalog_set_error(w, ERROR_DIR, dir->id, dir->error);

	return r == 0 && dir->flags & DIR_NOT_ENTERED ? catalog_note_left_out(w, dir->id) : r;
}

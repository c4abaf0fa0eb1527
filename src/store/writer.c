/* SPDX-License-Identifier: MIT */
#include "store/writer.h"

#include <errno.h>
#include <string.h>

#include "store/key.h"

/* Finds whether key is greater than every key of the table. */
static int is_behind(struct store_writer *w, enum table table, MDB_cursor *cursor,
		     const struct key *key, bool *behind)
{
	struct key *last = &w->last[table];
	MDB_val k = store_key(key), end, v;
	int r;

	if (!w->last_known[table]) {
		r = mdb_cursor_get(cursor, &end, &v, MDB_LAST);
		if (r && r != MDB_NOTFOUND)
			return store_result(w->reader.store, r);
		last->length = 0;
		if (r == 0 && end.mv_size <= sizeof(last->data)) {
			last->length = end.mv_size;
			memcpy(last->data, end.mv_data, end.mv_size);
		} else if (r == 0) {
			return -EUCLEAN;
		}
		w->last_known[table] = true;
	}
	end = store_key(last);
	*behind = mdb_cmp(w->reader.txn, w->reader.store->tables[table], &k, &end) > 0;
	return 0;
}

static int put(struct store_writer *w, enum table table, const struct key *key, struct value *value,
	       unsigned int flags)
{
	MDB_val k = store_key(key), v;
	MDB_cursor *cursor = NULL;
	bool behind = false;
	int r = store_cursor(&w->reader, table, &cursor);

	if (r == 0)
		r = is_behind(w, table, cursor, key, &behind);
	if (r == 0)
		r = store_before_change(w->reader.store);
	if (r < 0)
		return r;
	value_seal(value, table, key);
	v = (MDB_val){.mv_size = value->length, .mv_data = value->data};
	r = store_result(w->reader.store,
			 mdb_cursor_put(cursor, &k, &v, behind ? MDB_APPEND : flags));
	if (r < 0)
		return r;
	if (behind)
		w->last[table] = *key;
	w->changed = true;
	w->reader.store->records_written++;
	return 0;
}

int store_put(struct store_writer *w, enum table table, const struct key *key, struct value value)
{
	return put(w, table, key, &value, 0);
}

int store_add(struct store_writer *w, enum table table, const struct key *key, struct value value,
	      struct span *fields)
{
	int found, r = put(w, table, key, &value, MDB_NOOVERWRITE);

	if (r != -EEXIST || !fields)
		return r;
	found = store_get(&w->reader, table, key, fields);
	return found < 0 ? found : -EEXIST;
}

int store_delete(struct store_writer *w, enum table table, const struct key *key)
{
	MDB_val k = store_key(key), v;
	MDB_cursor *cursor = NULL;
	int r = store_cursor(&w->reader, table, &cursor);

	if (r < 0)
		return r;
	r = store_result(w->reader.store, mdb_cursor_get(cursor, &k, &v, MDB_SET));
	if (r == 0)
		r = store_before_change(w->reader.store);
	if (r == 0)
		r = store_result(w->reader.store, mdb_cursor_del(cursor, 0));
	if (r == 0) {
		w->changed = true;
		w->reader.store->records_written++;
	}
	return r;
}

int store_forget(struct store_writer *w, enum table table, const struct key *key)
{
	int r = store_delete(w, table, key);

	return r == -ENOENT ? 0 : r;
}

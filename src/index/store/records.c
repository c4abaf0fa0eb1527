/* SPDX-License-Identifier: MIT */

/* Reads and writes records; see store.h. */
#include <errno.h>
#include <string.h>

#include "index/store/store.h"

/* ---- reading ------------------------------------------------------------------------ */

int store_count(struct catalog_reader *r, enum table table, uint64_t *count)
{
	MDB_stat stat = {0};
	int code = mdb_stat(r->txn, r->store->tables[table], &stat);

	*count = stat.ms_entries;
	return store_result(r->store, code);
}

int store_cursor(struct catalog_reader *r, enum table table, MDB_cursor **cursor)
{
	int code = 0;

	if (!r->cursors[table])
		code = mdb_cursor_open(r->txn, r->store->tables[table], &r->cursors[table]);
	else if (!r->current[table])
		code = mdb_cursor_renew(r->txn, r->cursors[table]);
	if (code)
		return store_result(r->store, code);
	r->current[table] = true;
	*cursor = r->cursors[table];
	return 0;
}

int store_cursor_take(struct catalog_reader *r, enum table table, MDB_cursor **cursor)
{
	MDB_cursor *taken = TAKE(r->spare[table]);
	int code = taken ? mdb_cursor_renew(r->txn, taken)
			 : mdb_cursor_open(r->txn, r->store->tables[table], &taken);

	if (code && taken)
		mdb_cursor_close(taken);
	*cursor = code ? NULL : taken;
	return store_result(r->store, code);
}

void store_cursor_release(struct catalog_reader *r, enum table table, MDB_cursor *cursor)
{
	/* the end of a write transaction frees its cursors, so they are not kept */
	if (r->spare[table] || r->writes)
		mdb_cursor_close(cursor);
	else
		r->spare[table] = cursor;
}

int store_get(struct catalog_reader *r, enum table table, struct key key, struct span *fields)
{
	MDB_val k = store_key(&key), v;
	MDB_cursor *cursor = NULL;
	int result = store_cursor(r, table, &cursor);

	if (result < 0)
		return result;
	result = mdb_cursor_get(cursor, &k, &v, MDB_SET);
	return result ? store_result(r->store, result)
		      : store_check(r->store, table, &k, &v, fields);
}

int store_seek(struct catalog_reader *r, enum table table, struct key from, size_t prefix,
	       struct record_span *found)
{
	MDB_val k = store_key(&from), v;
	MDB_cursor *cursor = NULL;
	int result = store_cursor(r, table, &cursor);

	if (result == 0)
		result = store_result(r->store,
				      mdb_cursor_get(cursor, &k, &v,
						     from.length ? MDB_SET_RANGE : MDB_FIRST));
	if (result < 0)
		return result;
	if (k.mv_size < prefix || memcmp(k.mv_data, from.data, prefix) != 0)
		return -ENOENT;
	found->key = (struct span){k.mv_data, k.mv_size};
	return store_check(r->store, table, &k, &v, &found->fields);
}

int store_get_number(struct catalog_reader *r, enum table table, struct key key, uint64_t *number)
{
	struct span fields = {0};
	int result = store_get(r, table, key, &fields);

	return result == 0 && !decode_number(fields, number) ? -EUCLEAN : result;
}

/* ---- writing ------------------------------------------------------------------------ */

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

int store_put(struct store_writer *w, enum table table, struct key key, struct value value)
{
	return put(w, table, &key, &value, 0);
}

int store_add(struct store_writer *w, enum table table, struct key key, struct value value)
{
	return put(w, table, &key, &value, MDB_NOOVERWRITE);
}

int store_delete(struct store_writer *w, enum table table, struct key key)
{
	MDB_val k = store_key(&key), v;
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

int store_forget(struct store_writer *w, enum table table, struct key key)
{
	int r = store_delete(w, table, key);

	return r == -ENOENT ? 0 : r;
}

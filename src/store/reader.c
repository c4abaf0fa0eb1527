/* SPDX-License-Identifier: MIT */
/* Reads records in a snapshot; see store/store.h. */
#include <errno.h>
#include <stddef.h>

#include "store/store.h"
#include "store/value.h"

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

int store_get(struct catalog_reader *r, enum table table, const struct key *key,
	      struct span *fields)
{
	MDB_val k = store_key(key), v;
	MDB_cursor *cursor = NULL;
	int result = store_cursor(r, table, &cursor);

	if (result < 0)
		return result;
	result = mdb_cursor_get(cursor, &k, &v, MDB_SET);
	return result ? store_result(r->store, result)
		      : store_check(r->store, table, &k, &v, fields);
}

int store_get_number(struct catalog_reader *r, enum table table, const struct key *key,
		     uint64_t *number)
{
	struct span fields = {0};
	int result = store_get(r, table, key, &fields);

	return result == 0 && !decode_number(fields, number) ? -EUCLEAN : result;
}

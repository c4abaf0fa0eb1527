/* SPDX-License-Identifier: MIT */
#include "index/meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel.h"
#include "index/query.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "twinfs/format.h"

struct key meta_key(const char *name)
{
	struct key key = {.length = strlen(name)};

	memcpy(key.data, name, key.length);
	return key;
}

struct key meta_key_numbered(const char *name, uint64_t number)
{
	struct key key;
	int length = snprintf((char *)key.data, sizeof(key.data), "%s %" PRIu64, name, number);

	key.length = (size_t)length;
	return key;
}

int meta_get_number(struct catalog_reader *r, const char *name, uint64_t *number)
{
	return store_get_number(r, TABLE_META, meta_key(name), number);
}

int meta_put_number(struct catalog_writer *w, const char *name, uint64_t number)
{
	return store_put(&w->store, TABLE_META, meta_key(name), encode_number(number));
}

int meta_put_totals(struct catalog_writer *w, const struct catalog_totals *totals)
{
	return store_put(&w->store, TABLE_META, meta_key(META_TOTALS), encode_totals(totals));
}

static struct key part_key(const char *name, size_t part)
{
	struct key key;
	int length = snprintf((char *)key.data, sizeof(key.data), "%s part %zu", name, part);

	key.length = (size_t)length;
	return key;
}

size_t meta_text_records(size_t length)
{
	return (length + META_PART_BYTES - 1) / META_PART_BYTES;
}

int meta_get_text(struct catalog_reader *r, const char *name, struct bytes *text)
{
	struct span fields;
	int result = 0;

	for (size_t part = 0; result == 0; part++) {
		result = store_get(r, TABLE_META, part_key(name, part), &fields);
		if (result == 0)
			result = bytes_append(text, fields.data, fields.length);
	}
	return result == -ENOENT ? 0 : result;
}

/* Deletes the parts from number part on, which belong to an earlier, longer text. */
static int forget_parts(struct catalog_writer *w, const char *name, size_t part)
{
	int r = 0;

	for (; r == 0; part++)
		r = store_delete(&w->store, TABLE_META, part_key(name, part));
	return r == -ENOENT ? 0 : r;
}

int meta_put_text(struct catalog_writer *w, const char *name, const void *text, size_t length)
{
	CLEANUP_BYTES struct bytes before = {0};
	size_t parts = meta_text_records(length), part_length;
	const char *from = text;
	int r = meta_get_text(&w->store.reader, name, &before);

	if (r < 0)
		return r;
	if (length > 0 && before.length == length && memcmp(before.data, text, length) == 0)
		return 0;
	for (size_t part = 0; r == 0 && part < parts; part++) {
		part_length = length - part * META_PART_BYTES;
		if (part_length > META_PART_BYTES)
			part_length = META_PART_BYTES;
		r = store_put(&w->store, TABLE_META, part_key(name, part),
			      encode_text(from + part * META_PART_BYTES, part_length));
	}
	return r < 0 ? r : forget_parts(w, name, parts);
}

#define SOURCE_NAME_MAX 32

static void name_source(char name[static SOURCE_NAME_MAX], uint64_t index)
{
	(void)snprintf(name, SOURCE_NAME_MAX, "source %" PRIu64, index);
}

int catalog_get_source(struct catalog_reader *r, uint64_t index, struct bytes *path, uint64_t *root)
{
	char name[SOURCE_NAME_MAX];
	int result;

	name_source(name, index);
	result = meta_get_number(r, name, root);
	return result < 0 ? result : meta_get_text(r, name, path);
}

int meta_put_source(struct catalog_writer *w, uint64_t index, const char *path, uint64_t root)
{
	char name[SOURCE_NAME_MAX];
	int r;

	name_source(name, index);
	r = meta_put_number(w, name, root);
	return r < 0 ? r : meta_put_text(w, name, path, strlen(path));
}

int meta_get_format(struct catalog_reader *r, unsigned int *format)
{
	struct key key = meta_key(META_FORMAT);
	MDB_val k = {.mv_size = key.length, .mv_data = key.data}, v;
	char text[32];
	MDB_cursor *cursor = NULL;
	int result = store_cursor(r, TABLE_META, &cursor);

	*format = 0;
	if (result < 0)
		return result;
	result = mdb_cursor_get(cursor, &k, &v, MDB_SET);
	if (result == MDB_NOTFOUND)
		return 0;
	if (result)
		return store_result(r->store, result);
	if (v.mv_size >= sizeof(text))
		return -EUCLEAN;
	memcpy(text, v.mv_data, v.mv_size);
	text[v.mv_size] = '\0';
	return sscanf(text, "twinfs %u", format) == 1 && *format > 0 ? 0 : -EUCLEAN;
}

int meta_put_format(struct catalog_writer *w)
{
	struct key key = meta_key(META_FORMAT);
	char text[32];
	int length = snprintf(text, sizeof(text), "twinfs %d", TWINFS_INDEX_FORMAT);
	MDB_val k = {.mv_size = key.length, .mv_data = key.data};
	MDB_val v = {.mv_size = (size_t)length, .mv_data = text};
	MDB_cursor *cursor = NULL;
	int r = store_cursor(&w->store.reader, TABLE_META, &cursor);

	if (r == 0)
		r = store_before_change(w->store.reader.store);
	if (r < 0)
		return r;
	w->store.changed = true;
	return store_result(w->store.reader.store, mdb_cursor_put(cursor, &k, &v, 0));
}

int meta_initialize(struct catalog_writer *w)
{
	uint64_t seed;
	int r;

	if (random_fill(&seed, sizeof(seed)) < 0)
		return -errno;
	r = meta_put_format(w);
	if (r == 0)
		r = meta_put_number(w, META_NAME_SEED, seed);
	if (r == 0)
		r = meta_put_number(w, META_MIN_SIZE, 1);
	if (r == 0)
		r = meta_put_number(w, META_PLACES, PLACES_VERSION);
	if (r == 0)
		r = meta_put_totals(w, &(struct catalog_totals){0});
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "index/digests.h"

#include <errno.h>
#include <string.h>

#include "index/query.h"
#include "index/store/store.h"
#include "index/writer.h"

/* ---- reading ------------------------------------------------------------------------- */

/* Gets the digest of a file or group, current or not. Returns -ENOENT if it has none. */
static int get(struct catalog_reader *r, uint64_t id, struct digest_record *digest)
{
	struct key key = key_number(id);
	struct span fields;
	int result = store_get(r, TABLE_DIGEST, &key, &fields);

	if (result < 0)
		return result;
	return decode_digest(fields, digest) ? 0 : -EUCLEAN;
}

/* Sets *group to the group of a file. Returns -ENOENT if it is in none. */
static int find_group(struct catalog_reader *r, uint64_t file, uint64_t *group)
{
	struct content_record content;
	int result = catalog_get_content(r, file, &content);

	if (result < 0)
		return result;
	*group = content.group;
	return content.group ? 0 : -ENOENT;
}

int catalog_find_digest(struct catalog_reader *r, const struct file_record *file,
			uint8_t bytes[SHA256_BYTES])
{
	struct digest_record digest;
	uint64_t group;
	int result = get(r, file->id, &digest);

	if (result == 0 && digest.state != file_digest(file))
		result = -ENOENT;
	if (result == -ENOENT) {
		result = find_group(r, file->id, &group);
		if (result == 0)
			result = get(r, group, &digest);
	}
	if (result == 0)
		memcpy(bytes, digest.bytes, sizeof(digest.bytes));
	return result;
}

/* ---- writing ------------------------------------------------------------------------- */

static int put(struct catalog_writer *w, uint64_t id, const struct digest_record *digest)
{
	struct key key = key_number(id);

	return store_put(&w->store, TABLE_DIGEST, &key, encode_digest(digest));
}

/* Readers learn nothing from the commit, so none_pending stays as it was. */
int catalog_put_digest(struct catalog_writer *w, uint64_t file, const struct digest_record *digest)
{
	struct digest_record of_group = *digest;
	struct file_record record;
	uint64_t group = 0;
	int r = catalog_get_file(&w->store.reader, file, &record);

	if (r < 0 || file_digest(&record) != digest->state)
		return r == -ENOENT ? 0 : r;
	w->none_pending = w->totals.none_pending;
	r = put(w, file, digest);
	if (r == 0)
		r = find_group(&w->store.reader, file, &group);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	of_group.state = 0;
	return put(w, group, &of_group);
}

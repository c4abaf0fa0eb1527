/* SPDX-License-Identifier: MIT */
#include "index/hashes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "index/query.h"
#include "index/store/index_files.h"
#include "index/store/store.h"
#include "index/writer.h"
#include "twinfs/format.h"

/* The state has the number 0, and the parts have the numbers from 1. */
static struct key part_key(uint64_t file, const struct blocks_part *part)
{
	return key_pair(file, part->first / BLOCKS_PART + 1);
}

/* ---- reading ------------------------------------------------------------------------- */

int catalog_get_blocks_state(struct catalog_reader *r, uint64_t file, struct blocks_state *state)
{
	struct span fields;
	int result = store_get(r, TABLE_BLOCKS, key_pair(file, 0), &fields);

	if (result < 0)
		return result;
	return decode_blocks_state(fields, state) ? 0 : -EUCLEAN;
}

/* ---- writing ------------------------------------------------------------------------- */

/* Finds the first record of a file. Returns -ENOENT if there is none. */
static int find_first(struct catalog_writer *w, uint64_t file, struct key *found)
{
	struct key from = key_number(file);
	struct record_span record;
	uint64_t number;
	int r = store_seek(&w->store.reader, TABLE_BLOCKS, from, from.length, &record);

	if (r < 0)
		return r;
	if (!key_get_pair(record.key, &file, &number))
		return -EUCLEAN;
	*found = key_pair(file, number);
	return 0;
}

int catalog_forget_blocks(struct catalog_writer *w, uint64_t file)
{
	struct key key;
	int r;

	while ((r = find_first(w, file, &key)) == 0) {
		r = store_delete(&w->store, TABLE_BLOCKS, key);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

/* Stores a record of a file, if the index has the file. Readers learn nothing
 * from the commit, so none_pending stays as it was. */
static int put(struct catalog_writer *w, uint64_t file, struct key key, struct value value)
{
	struct file_record record;
	int r = catalog_get_file_name(&w->store.reader, file, &record);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	w->none_pending = w->totals.none_pending;
	return store_put(&w->store, TABLE_BLOCKS, key, value);
}

int catalog_put_blocks_part(struct catalog_writer *w, uint64_t file, const struct blocks_part *part)
{
	return put(w, file, part_key(file, part), encode_blocks_part(part));
}

int catalog_put_blocks_state(struct catalog_writer *w, uint64_t file,
			     const struct blocks_state *state)
{
	return put(w, file, key_pair(file, 0), encode_blocks_state(state));
}

/* ---- equal parts --------------------------------------------------------------------- */

/* Room for five numbers. */
#define PARTS_TEXT_BYTES 128

void catalog_note_equal_parts(struct catalog *catalog, const struct equal_parts *parts)
{
	char text[PARTS_TEXT_BYTES];
	int r;

	(void)snprintf(text, sizeof(text),
		       "%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       catalog_identity(catalog), (int64_t)parts->time.tv_sec, parts->block_bytes,
		       parts->runs, parts->bytes);
	r = index_file_write(catalog->folder_fd, TWINFS_INDEX_PARTS, text);
	if (r < 0)
		log_debug("cannot note the equal parts: %s", error_text(r));
}

/* A note that is torn lacks the newline. */
int catalog_get_equal_parts(const struct catalog *catalog, struct equal_parts *parts)
{
	char text[PARTS_TEXT_BYTES], newline = 0;
	uint64_t identity;
	int64_t seconds;
	int r = index_file_read(catalog->folder_fd, TWINFS_INDEX_PARTS, text, sizeof(text));

	if (r < 0)
		return r;
	if (sscanf(text, "%" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%c", &identity,
		   &seconds, &parts->block_bytes, &parts->runs, &parts->bytes, &newline) != 6 ||
	    newline != '\n' || identity != catalog_identity(catalog))
		return -ENOENT;
	parts->time = (struct timespec){.tv_sec = seconds};
	return 0;
}

/* ---- SHA-256 of contents ----------------------------------------------------------- */

/* ---- reading ------------------------------------------------------------------------- */

/* Gets the digest of a file or group, current or not. Returns -ENOENT if it has none. */
static int get_digest(struct catalog_reader *r, uint64_t id, struct digest_record *digest)
{
	struct span fields;
	int result = store_get(r, TABLE_DIGEST, key_number(id), &fields);

	if (result < 0)
		return result;
	return decode_digest(fields, digest) ? 0 : -EUCLEAN;
}

/* Sets *group to the group of a file. Returns -ENOENT if it is in none. */
static int find_group_of(struct catalog_reader *r, uint64_t file, uint64_t *group)
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
	int result = get_digest(r, file->id, &digest);

	if (result == 0 && digest.state != file_digest(file))
		result = -ENOENT;
	if (result == -ENOENT) {
		result = find_group_of(r, file->id, &group);
		if (result == 0)
			result = get_digest(r, group, &digest);
	}
	if (result == 0)
		memcpy(bytes, digest.bytes, sizeof(digest.bytes));
	return result;
}

/* ---- writing ------------------------------------------------------------------------- */

static int put_digest(struct catalog_writer *w, uint64_t id, const struct digest_record *digest)
{
	return store_put(&w->store, TABLE_DIGEST, key_number(id), encode_digest(digest));
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
	r = put_digest(w, file, digest);
	if (r == 0)
		r = find_group_of(&w->store.reader, file, &group);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	of_group.state = 0;
	return put_digest(w, group, &of_group);
}

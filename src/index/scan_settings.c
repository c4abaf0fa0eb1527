/* SPDX-License-Identifier: MIT */
#include "index/scan_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "index/filesystem.h"
#include "index/meta.h"
#include "index/query.h"
#include "index/writer.h"

void scan_settings_free(struct scan_settings *settings)
{
	bytes_free(&settings->excludes);
	*settings = (struct scan_settings){0};
}

int scan_settings_set_excludes(struct scan_settings *settings, char *const *globs)
{
	AUTO_FREE const char **sorted = NULL;
	size_t count = 0;
	int r = 0;

	settings->excludes.length = 0;
	while (globs && globs[count])
		count++;
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = globs[i];
	qsort(sorted, count, sizeof(*sorted), texts_by_bytes);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i == 0 || strcmp(sorted[i - 1], sorted[i]) != 0)
			r = bytes_append(&settings->excludes, sorted[i], strlen(sorted[i]) + 1);
	}
	return r;
}

bool scan_settings_exclude(const struct scan_settings *settings, const char *glob)
{
	const char *known = (const char *)settings->excludes.data;
	size_t from = 0, below = settings->excludes.length;

	while (from < below) {
		size_t at = from + (below - from) / 2;
		int order;

		while (at > from && known[at - 1] != '\0')
			at--;
		order = strcmp(glob, known + at);
		if (order == 0)
			return true;
		if (order < 0)
			below = at;
		else
			from = at + strlen(known + at) + 1;
	}
	return false;
}

bool scan_settings_exclude_all(const struct scan_settings *settings,
			       const struct scan_settings *other)
{
	const char *globs = (const char *)other->excludes.data;

	for (size_t at = 0; at < other->excludes.length; at += strlen(globs + at) + 1) {
		if (!scan_settings_exclude(settings, globs + at))
			return false;
	}
	return true;
}

static int encode(const struct scan_settings *settings, struct bytes *encoded)
{
	int r = bytes_append_number(encoded, settings->cross_mounts);

	if (r == 0)
		r = bytes_append_number(encoded, settings->disk);
	return r < 0 ? r
		     : bytes_append(encoded, settings->excludes.data, settings->excludes.length);
}

static int decode(const struct bytes *encoded, struct scan_settings *settings)
{
	const uint8_t *at = encoded->data, *end = at + encoded->length;
	uint64_t cross_mounts, disk;

	if (!varint_get(&at, end, &cross_mounts) || !varint_get(&at, end, &disk) ||
	    cross_mounts > 1 || disk > UINT32_MAX || (at < end && end[-1] != '\0'))
		return -EUCLEAN;
	settings->recorded = true;
	settings->cross_mounts = cross_mounts == 1;
	settings->disk = (uint32_t)disk;
	return at < end ? bytes_append(&settings->excludes, at, (size_t)(end - at)) : 0;
}

int catalog_get_scan_settings(struct catalog_reader *r, struct scan_settings *settings)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	int result = meta_get_text(r, META_SCAN_SETTINGS, &encoded);

	*settings = (struct scan_settings){0};
	return result < 0 || encoded.length == 0 ? result : decode(&encoded, settings);
}

int catalog_set_scan_settings(struct catalog_writer *w, const struct scan_settings *settings)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	int r = encode(settings, &encoded);

	return r < 0 ? r : meta_put_text(w, META_SCAN_SETTINGS, encoded.data, encoded.length);
}

/* ---- what was left out ------------------------------------------------------------------- */

void left_out_free(struct left_out *list)
{
	free(list->ids);
	*list = (struct left_out){0};
}

bool left_out_has(const struct left_out *list, uint64_t id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->ids[i] == id)
			return true;
	}
	return false;
}

/* Adds an id if its directory is still not entered. */
static int add_present(struct catalog_reader *r, struct left_out *list, uint64_t id)
{
	struct dir_record dir;
	int result = catalog_get_dir(r, id, &dir);

	if (result == -ENOENT || (result == 0 && !(dir.flags & DIR_NOT_ENTERED)))
		return 0;
	if (result == 0)
		result = array_reserve(&list->ids, &list->capacity, list->count + 1,
				       sizeof(*list->ids));
	if (result == 0)
		list->ids[list->count++] = id;
	return result;
}

int catalog_get_left_out(struct catalog_reader *r, struct left_out *list)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	const uint8_t *at, *end;
	uint64_t id;
	int result = meta_get_text(r, META_LEFT_OUT, &encoded);

	at = encoded.data;
	end = at + encoded.length;
	while (result == 0 && at < end)
		result = varint_get(&at, end, &id) ? add_present(r, list, id) : -EUCLEAN;
	return result;
}

int catalog_note_left_out(struct catalog_writer *w, uint64_t id)
{
	CLEANUP_LEFT_OUT struct left_out list = {0};
	CLEANUP_BYTES struct bytes encoded = {0};
	int r = catalog_get_left_out(&w->store.reader, &list);

	if (r < 0 || left_out_has(&list, id))
		return r;
	r = add_present(&w->store.reader, &list, id);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		r = bytes_append_number(&encoded, list.ids[i]);
	return r < 0 ? r : meta_put_text(w, META_LEFT_OUT, encoded.data, encoded.length);
}

/* ---- the file systems of the sources -------------------------------------------------------- */

#define NAME_MAX_BYTES 40

int source_identity_read(int fd, struct source_identity *identity)
{
	struct fs_uuid uuid;
	struct statfs fs;
	struct stat st;
	uint64_t fsid;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return -errno;
	*identity = (struct source_identity){.type = (uint32_t)fs.f_type};
	filesystem_uuid(fd, &uuid);
	if (uuid.length > 0)
		identity->uuid = hash64(&uuid, sizeof(uuid), 0);
	fsid = (uint64_t)(uint32_t)fs.f_fsid.__val[1] << 32 | (uint32_t)fs.f_fsid.__val[0];
	if (fsid != st.st_dev)
		identity->fsid = fsid;
	return 0;
}

static bool part_matches(uint64_t a, uint64_t b)
{
	return a == b || a == 0 || b == 0;
}

bool source_identity_matches(const struct source_identity *a, const struct source_identity *b)
{
	return a->type == b->type && part_matches(a->uuid, b->uuid) &&
	       part_matches(a->fsid, b->fsid);
}

static void name_identity(char name[static NAME_MAX_BYTES], uint64_t index)
{
	(void)snprintf(name, NAME_MAX_BYTES, "source %" PRIu64 " identity", index);
}

int source_identity_get(struct catalog_reader *r, uint64_t index, struct source_identity *identity,
			uint64_t *records)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	const uint8_t *at, *end;
	char name[NAME_MAX_BYTES];
	int result;

	*identity = (struct source_identity){0};
	name_identity(name, index);
	result = meta_get_text(r, name, &encoded);
	if (result < 0 || encoded.length == 0)
		return result;
	if (records)
		*records += meta_text_records(encoded.length);
	at = encoded.data;
	end = at + encoded.length;
	if (!varint_get(&at, end, &identity->type) || !varint_get(&at, end, &identity->uuid) ||
	    !varint_get(&at, end, &identity->fsid) || at != end || identity->type == 0)
		return -EUCLEAN;
	return 0;
}

int source_identity_put(struct catalog_writer *w, uint64_t index,
			const struct source_identity *identity)
{
	uint8_t encoded[3 * VARINT_MAX_BYTES], *end = encoded;
	char name[NAME_MAX_BYTES];

	name_identity(name, index);
	end = varint_put(end, identity->type);
	end = varint_put(end, identity->uuid);
	end = varint_put(end, identity->fsid);
	return meta_put_text(w, name, encoded, (size_t)(end - encoded));
}

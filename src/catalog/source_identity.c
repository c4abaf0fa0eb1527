/* SPDX-License-Identifier: MIT */
#include "catalog/source_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/hash.h"
#include "catalog/filesystem.h"
#include "catalog/meta.h"

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

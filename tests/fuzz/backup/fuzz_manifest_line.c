/* SPDX-License-Identifier: MIT */

/* Lines of a manifest, which is foreign data. An accepted line has the same values after it was
 * encoded and decoded again, and its paths are safe. A refused line has a reason. */

#include <stdbool.h>
#include <sys/stat.h>

#include "backup/manifest.h"
#include "base/path.h"
#include "fuzz.h"

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	return bytes_compare(a, b) == 0;
}

static bool same_name(const struct manifest_name *a, const struct manifest_name *b)
{
	return same_bytes(&a->path, &b->path) && same_bytes(&a->content, &b->content) &&
	       same_bytes(&a->target, &b->target) && a->type == b->type && a->hashed == b->hashed &&
	       a->device == b->device && a->read.file == b->read.file &&
	       a->read.digest == b->read.digest && hash128_equal(a->hash, b->hash) &&
	       a->size == b->size && a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec &&
	       a->inode == b->inode && a->links == b->links && xattrs_equal(&a->xattrs, &b->xattrs);
}

static int decode(const void *line, size_t length, enum manifest_format format,
		  struct manifest_name *name, struct manifest_end *end)
{
	const char *why = NULL;
	int r = manifest_line_decode(line, length, format, (struct manifest_line){name, end}, &why);

	REQUIRE(r == 0 || r == MANIFEST_END || r == -EPROTO);
	REQUIRE((r == -EPROTO) == (why != NULL));
	return r;
}

static void check_name(const struct manifest_name *name, enum manifest_format format)
{
	struct manifest_name again CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0}, second CLEANUP_BYTES = {0};
	struct manifest_end end;

	REQUIRE(path_fault((const char *)name->path.data, name->path.length) == NULL);
	REQUIRE(name->content.length == 0 ? format == MANIFEST_ALL
					  : path_fault((const char *)name->content.data,
						       name->content.length) == NULL &&
						    name->hashed);
	REQUIRE(S_ISREG(name->type) || format == MANIFEST_ALL);
	REQUIRE(name->mode <= 07777 && name->uid != UINT32_MAX && name->gid != UINT32_MAX);
	REQUIRE(name->mtime.tv_nsec >= 0 && name->mtime.tv_nsec < 1000000000);
	REQUIRE(name->links >= 1 && (name->links > 1 || name->inode == 0));
	REQUIRE(manifest_name_encode(&line, name) == 0);
	REQUIRE(memchr(line.data, '\n', line.length) == line.data + line.length - 1);
	REQUIRE(decode(line.data, line.length - 1, format, &again, &end) == 0);
	REQUIRE(same_name(name, &again));
	REQUIRE(manifest_name_encode(&second, &again) == 0);
	REQUIRE(same_bytes(&line, &second));
}

static void check_end(const struct manifest_end *end)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};
	struct manifest_end again;

	REQUIRE(manifest_end_encode(&line, end) == 0);
	REQUIRE(decode(line.data, line.length - 1, MANIFEST_REDUNDANT, &name, &again) ==
		MANIFEST_END);
	REQUIRE(end->lines == again.lines && hash128_equal(end->hash, again.hash));
}

static void check_line(const uint8_t *data, size_t size, enum manifest_format format)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct manifest_end end;
	int r = decode(data, size, format, &name, &end);

	if (r == 0)
		check_name(&name, format);
	if (r == MANIFEST_END)
		check_end(&end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum manifest_format format;
	struct manifest_name root CLEANUP_MANIFEST_NAME = {0};
	const char *why = NULL;
	int r = manifest_header_decode((const char *)data, size, &format, &root, &why);

	REQUIRE(r == 0 || r == -EPROTO);
	REQUIRE((r == -EPROTO) == (why != NULL));
	check_line(data, size, MANIFEST_REDUNDANT);
	check_line(data, size, MANIFEST_ALL);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKUP_NAMES_H
#define TESTS_BACKUP_NAMES_H

/* Names for manifests. */

#include <string.h>

#include "backup/manifest.h"
#include "base/metadata.h"
#include "unit_test.h"

static inline void set_bytes(struct bytes *bytes, const char *data, size_t length)
{
	bytes->length = 0;
	assert_int_equal(bytes_append(bytes, data, length), 0);
}

static inline void set_text(struct bytes *bytes, const char *text)
{
	set_bytes(bytes, text, strlen(text));
}

/* Makes a name with all optional members. */
static inline void make_name(struct manifest_name *name, const char *path)
{
	manifest_name_clear(name);
	set_text(&name->path, path);
	set_text(&name->content, "kept/one");
	name->hashed = true;
	name->hash = hash128("abc", 3);
	name->size = UINT64_C(1) << 40;
	name->mode = 04755;
	name->uid = 1000;
	name->gid = 100;
	name->mtime = (struct timespec){.tv_sec = -5, .tv_nsec = 999999999};
	name->inode = 77;
	name->links = 3;
	name->flags = INODE_APPEND | INODE_NODUMP;
	assert_int_equal(xattrs_add(&name->xattrs, "user.note", "any \0 bytes \xff", 13), 0);
	assert_int_equal(xattrs_add(&name->xattrs, "user.empty", "", 0), 0);
}

static inline bool bytes_equal(const struct bytes *a, const struct bytes *b)
{
	return a->length == b->length &&
	       (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static inline bool names_equal(const struct manifest_name *a, const struct manifest_name *b)
{
	return bytes_equal(&a->path, &b->path) && bytes_equal(&a->content, &b->content) &&
	       bytes_equal(&a->target, &b->target) && a->type == b->type &&
	       a->hashed == b->hashed && a->unread == b->unread && a->device == b->device &&
	       a->read.file == b->read.file && a->read.digest == b->read.digest &&
	       hash128_equal(a->hash, b->hash) && a->size == b->size && a->mode == b->mode &&
	       a->uid == b->uid && a->gid == b->gid && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec && a->inode == b->inode &&
	       a->links == b->links && a->flags == b->flags && xattrs_equal(&a->xattrs, &b->xattrs);
}

#endif

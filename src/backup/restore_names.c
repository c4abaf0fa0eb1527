/* SPDX-License-Identifier: MIT */

/* Restores the names of a manifest. If a name cannot be made, it is logged with its line. Unless
 * the failure is fatal, the restore continues with the next name. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "backup/restoring.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"

#define KEY_SIZE (2 + 16 + HASH128_DIGITS + 1)

/* Outcomes of making a name, besides those of restoring_make(). */
enum {
	NAME_NO_DIRECTORY = 10, /* the backup lacks the directory of the name */
	NAME_NO_CONTENT, /* the backup lacks the content of the name */
	NAME_OTHER_CONTENT, /* the content is not a regular file, or has another size */
	NAME_IN_BACKUP, /* the backup has the name itself, with other bytes */
	NAME_BAD_PATH, /* a component of a path is a symlink, or a file instead of a directory */
	NAME_MISSING, /* the backup lacks the name, which it should have */
};

struct names {
	struct restoring *restoring;
	struct manifest_reader *reader;
	struct bytes parent; /* path of the directory that is open in both trees */
	int directory; /* open in the target; -1: none */
	int in_backup; /* open in the backup; -1: none */
	struct bytes scratch; /* the fields whose hash is the key of an inode */
};

static void close_directory(struct names *names)
{
	cleanup_close(&names->directory);
	cleanup_close(&names->in_backup);
	names->directory = names->in_backup = -1;
}

static int outcome_of(int error, int missing)
{
	if (error == -ENOENT)
		return missing;
	return error == -ELOOP || error == -ENOTDIR ? (int)NAME_BAD_PATH : error;
}

/* Opens the directory that contains a name in both trees, unless it is open already. Sets *base to
 * the last component of the path, valid until the next line is read. */
static int open_directory(struct names *names, struct bytes *path, const char **base)
{
	const char *text = bytes_text(path);
	const char *slash = text ? strrchr(text, '/') : NULL;
	size_t length = slash ? (size_t)(slash - text) : 0;
	const struct restoring *restoring = names->restoring;
	const char *parent;

	if (!text)
		return -ENOMEM;
	*base = slash ? slash + 1 : text;
	if (names->directory >= 0 && names->in_backup >= 0 && names->parent.length == length &&
	    memcmp(names->parent.data, text, length) == 0)
		return 0;
	close_directory(names);
	names->parent.length = 0;
	if (bytes_append(&names->parent, text, length) < 0)
		return -ENOMEM;
	parent = bytes_text(&names->parent);
	if (!parent)
		return -ENOMEM;
	names->directory = open_beneath(restoring->target, parent, O_PATH | O_DIRECTORY, true);
	if (names->directory < 0)
		return outcome_of(names->directory, NAME_NO_DIRECTORY);
	names->in_backup = open_beneath(restoring->backup, parent, O_PATH | O_DIRECTORY, true);
	return names->in_backup < 0 ? outcome_of(names->in_backup, NAME_NO_DIRECTORY) : 0;
}

/* Opens the content of a name in the backup, and checks its type and size. */
static int open_content(const struct restoring *restoring, struct manifest_name *name, int *fd,
			struct stat *status)
{
	const char *path = bytes_text(&name->content);

	if (!path)
		return -ENOMEM;
	*fd = open_beneath_for_reading(restoring->backup, path, 0, true);
	if (*fd < 0)
		return outcome_of(*fd, NAME_NO_CONTENT);
	if (fstat(*fd, status) < 0)
		return -errno;
	return S_ISREG(status->st_mode) && (uint64_t)status->st_size == name->size
		       ? 0
		       : (int)NAME_OTHER_CONTENT;
}

/* Sets *own to whether the backup has the name itself, because the file was not redundant when the
 * backup was made. Then restore_tree() has restored the name. Returns 0, NAME_IN_BACKUP if the
 * bytes of the name differ from the manifest, or another result. */
static int check_own(const struct names *names, const struct manifest_name *name, const char *base,
		     bool *own)
{
	struct restoring *restoring = names->restoring;
	struct hash128 found;
	struct stat status;
	AUTO_CLOSE int fd = -1;
	int r;

	*own = fstatat(names->in_backup, base, &status, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*own)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != name->size)
		return NAME_IN_BACKUP;
	fd = open_beneath_for_reading(names->in_backup, base, 0, true);
	r = fd < 0 ? fd : copy_hash(&restoring->copier, fd, &found);
	if (r != 0)
		return r;
	return hash128_equal(found, name->hash) ? 0 : NAME_IN_BACKUP;
}

/* Formats the key of the inode in links/. The key includes a hash of all metadata, so that lines
 * with the same inode number but different metadata become separate files. */
static int format_key(struct names *names, const struct manifest_name *name,
		      char key[static KEY_SIZE])
{
	const uint64_t fields[] = {name->hash.high,
				   name->hash.low,
				   name->size,
				   name->mode,
				   name->uid,
				   name->gid,
				   (uint64_t)name->mtime.tv_sec,
				   (uint64_t)name->mtime.tv_nsec};
	struct bytes *scratch = &names->scratch;
	int r;

	scratch->length = 0;
	r = bytes_append(scratch, fields, sizeof(fields));
	for (size_t i = 0; r == 0 && i < name->xattrs.count; i++) {
		const struct xattr *xattr = &name->xattrs.list[i];

		r = bytes_append(scratch, xattr->name, strlen(xattr->name) + 1);
		if (r == 0)
			r = bytes_append(scratch, &xattr->length, sizeof(xattr->length));
		if (r == 0)
			r = bytes_append(scratch, xattr->value, xattr->length);
	}
	if (r < 0)
		return r;
	r = snprintf(key, KEY_SIZE, "m%" PRIx64 "-", name->inode);
	hash128_format(hash128(scratch->data, scratch->length), key + r);
	return 0;
}

/* Sets *linkable to whether --link is used and all metadata of the content equals the metadata of
 * the name. */
static int is_linkable(struct restoring *restoring, const struct manifest_name *name, int content,
		       const struct stat *status, bool *linkable)
{
	int r;

	*linkable = restoring->settings->way == RESTORE_LINK &&
		    (status->st_mode & ALLPERMS) == name->mode && status->st_uid == name->uid &&
		    status->st_gid == name->gid && clock_equal(status->st_mtim, name->mtime);
	if (!*linkable)
		return 0;
	r = xattrs_read(&restoring->xattrs, content);
	*linkable = r == 0 && xattrs_equal(&restoring->xattrs, &name->xattrs);
	return r;
}

/* Checks that the backup has a name, which restore_tree() then has restored. */
static int check_there(struct names *names, struct manifest_name *name)
{
	struct stat status;
	const char *base;
	int r = open_directory(names, &name->path, &base);

	if (r != 0 || fstatat(names->in_backup, base, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return r;
	return errno == ENOENT ? (int)NAME_MISSING : -errno;
}

static int make_name(struct names *names, struct manifest_name *name)
{
	struct restoring *restoring = names->restoring;
	const struct metadata metadata = {
		.mode = name->mode,
		.uid = name->uid,
		.gid = name->gid,
		.mtime = name->mtime,
		.xattrs = &name->xattrs,
	};
	struct stat status;
	struct target_file file = {
		.status = &status,
		.metadata = &metadata,
		.hash = &name->hash,
		.names = name->links,
	};
	char key[KEY_SIZE];
	AUTO_CLOSE int content = -1;
	bool own = false;
	int r;

	r = open_directory(names, &name->path, &file.name);
	if (r == 0)
		r = check_own(names, name, file.name, &own);
	if (r != 0 || own)
		return r;
	r = open_content(restoring, name, &content, &status);
	if (r == 0)
		r = is_linkable(restoring, name, content, &status, &file.linked);
	if (r == 0 && name->links > 1 && !file.linked) {
		r = format_key(names, name, key);
		file.key = key;
	}
	if (r != 0)
		return r;
	file.from = content;
	file.directory = names->directory;
	return restoring_make(restoring, &file);
}

static const char *reason(const struct restoring *restoring, int result)
{
	switch (result) {
	case NAME_NO_DIRECTORY:
		return "its directory is not in the backup";
	case NAME_NO_CONTENT:
		return "the file that has its bytes is not in the backup";
	case NAME_OTHER_CONTENT:
		return "the file that has its bytes has another size or type";
	case NAME_IN_BACKUP:
		return "the backup has the name itself with other bytes, which were restored";
	case NAME_BAD_PATH:
		return "a path contains a symbolic link, or a file instead of a directory";
	case NAME_MISSING:
		return "it is not in the backup";
	default:
		return restoring_reason(restoring, result);
	}
}

static int fail(struct names *names, int result)
{
	const struct restoring *restoring = names->restoring;
	const struct manifest_name *name = &names->reader->name;
	const struct bytes *content = name->content.length > 0 ? &name->content : &name->path;
	const char *path = (const char *)name->path.data;

	if (restoring_is_fatal(result))
		return restoring_fail(names->restoring, path, name->path.length, result);
	log_warning("line %" PRIu64 ": cannot restore %s from %s: %s", names->reader->lines.line,
		    quote_bytes(path, name->path.length),
		    quote_bytes((const char *)content->data, content->length),
		    reason(restoring, result));
	restoring->result->failed++;
	return result == RESTORING_DIFFERS ? restoring_distrust(restoring) : 0;
}

static int restore_name(struct names *names, struct manifest_name *name)
{
	bool own = name->content.length == 0;
	int r = own ? check_there(names, name) : make_name(names, name);

	restoring_note_time(names->restoring, (const char *)name->path.data, name->path.length);
	if (r != 0)
		return fail(names, r);
	names->restoring->result->copies += !own;
	return 0;
}

int restore_names(struct restoring *restoring, struct manifest_reader *reader)
{
	struct names names = {
		.restoring = restoring,
		.reader = reader,
		.directory = -1,
		.in_backup = -1,
	};
	int r;

	while ((r = manifest_reader_next(reader)) == 0) {
		const struct bytes *path = &reader->name.path;
		enum restore_part part =
			restore_only_part(restoring->settings->only, path->data, path->length);

		restoring_count(restoring);
		if (part != RESTORE_WHOLE)
			continue;
		r = restore_name(&names, &reader->name);
		if (r < 0)
			break;
	}
	close_directory(&names);
	bytes_free(&names.parent);
	bytes_free(&names.scratch);
	return r == MANIFEST_END ? 0 : r;
}

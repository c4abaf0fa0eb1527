/* SPDX-License-Identifier: MIT */

/* The names of a manifest, in the target. A name that cannot be made is said with its line; the
 * rest is made. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "backup/restoring.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"

#define KEY_SIZE (2 + 16 + HASH128_DIGITS + 1)

/* Outcomes of making a name, besides those of restoring_make(). */
enum {
	NAME_NO_DIRECTORY = 10,
	NAME_NO_CONTENT, /* the backup does not have what the name has the content of */
	NAME_OTHER_CONTENT, /* it is no file, or one of another size */
	NAME_IN_BACKUP, /* the backup has the name itself, with other bytes */
	NAME_NO_WAY, /* on the way to it, or to its content, is a symlink or no directory */
};

struct names {
	struct restoring *restoring;
	struct manifest_reader *reader;
	struct bytes above; /* the path of the directory that both are open of */
	int directory; /* in the target; -1: none is open */
	int in_backup; /* the same in the backup */
	struct bytes scratch; /* what an inode is known by */
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
	return error == -ELOOP || error == -ENOTDIR ? (int)NAME_NO_WAY : error;
}

/* Opens the directory that a name is in, unless the last one was in it too. *base is the name in
 * it, until the manifest is read on. */
static int open_directory(struct names *names, struct bytes *path, const char **base)
{
	const char *text = bytes_text(path);
	const char *slash = text ? strrchr(text, '/') : NULL;
	size_t length = slash ? (size_t)(slash - text) : 0;
	const struct restoring *restoring = names->restoring;
	const char *above;

	if (!text)
		return -ENOMEM;
	*base = slash ? slash + 1 : text;
	if (names->directory >= 0 && names->in_backup >= 0 && names->above.length == length &&
	    memcmp(names->above.data, text, length) == 0)
		return 0;
	close_directory(names);
	names->above.length = 0;
	if (bytes_append(&names->above, text, length) < 0)
		return -ENOMEM;
	above = bytes_text(&names->above);
	if (!above)
		return -ENOMEM;
	names->directory = open_beneath(restoring->target, above, O_PATH | O_DIRECTORY, true);
	if (names->directory < 0)
		return outcome_of(names->directory, NAME_NO_DIRECTORY);
	names->in_backup = open_beneath(restoring->backup, above, O_PATH | O_DIRECTORY, true);
	return names->in_backup < 0 ? outcome_of(names->in_backup, NAME_NO_DIRECTORY) : 0;
}

/* Opens what has the bytes of a name, and checks what stat(2) can tell. */
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

/* The backup has the name itself: it was made while the file was no redundant copy, and then is
 * what was restored. *own says so. */
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

/* What stands for its inode in links/: lines that say other things of an inode are not believed
 * that it is one. */
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

/* With --link: whether the content has all else of the name, too. */
static int is_linkable(struct restoring *restoring, const struct manifest_name *name, int content,
		       const struct stat *status, bool *linkable)
{
	int r;

	*linkable = restoring->settings->way == RESTORE_LINK &&
		    (status->st_mode & ALLPERMS) == name->mode && status->st_uid == name->uid &&
		    status->st_gid == name->gid && status->st_mtim.tv_sec == name->mtime.tv_sec &&
		    status->st_mtim.tv_nsec == name->mtime.tv_nsec;
	if (!*linkable)
		return 0;
	r = xattrs_read(&restoring->xattrs, content);
	*linkable = r == 0 && xattrs_equal(&restoring->xattrs, &name->xattrs);
	return r;
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
	struct thing thing = {
		.status = &status,
		.metadata = &metadata,
		.hash = &name->hash,
		.names = name->links,
	};
	char key[KEY_SIZE];
	AUTO_CLOSE int content = -1;
	bool own = false;
	int r;

	r = open_directory(names, &name->path, &thing.name);
	if (r == 0)
		r = check_own(names, name, thing.name, &own);
	if (r != 0 || own)
		return r;
	r = open_content(restoring, name, &content, &status);
	if (r == 0)
		r = is_linkable(restoring, name, content, &status, &thing.linked);
	if (r == 0 && name->links > 1 && !thing.linked) {
		r = format_key(names, name, key);
		thing.key = key;
	}
	if (r != 0)
		return r;
	thing.from = content;
	thing.directory = names->directory;
	return restoring_make(restoring, &thing);
}

static const char *reason(const struct restoring *restoring, int result)
{
	switch (result) {
	case NAME_NO_DIRECTORY:
		return "its directory is not in the backup";
	case NAME_NO_CONTENT:
		return "that is not in the backup";
	case NAME_OTHER_CONTENT:
		return "that is no file of this size";
	case NAME_IN_BACKUP:
		return "the backup has this name itself with other bytes, which it has now";
	case NAME_NO_WAY:
		return "a symbolic link, or no directory, is on the way";
	default:
		return restoring_reason(restoring, result);
	}
}

/* The file in the target that has a content is as damaged, and has its size and time. */
static int doubt(const struct restoring *restoring)
{
	int r = staging_distrust(&restoring->staging);

	if (r < 0)
		log_error("cannot write to %s in the target %s: %s", restoring->result->folder,
			  quote_path(restoring->settings->target), error_text(r));
	return r;
}

static int fail(struct names *names, int result)
{
	const struct restoring *restoring = names->restoring;
	const struct manifest_name *name = &names->reader->name;
	const char *path = (const char *)name->path.data;

	if (restoring_is_over(result))
		return restoring_fail(names->restoring, path, name->path.length, result);
	log_warning("line %" PRIu64 ": cannot restore %s, whose content is in %s: %s",
		    names->reader->line, quote_bytes(path, name->path.length),
		    quote_bytes((const char *)name->content.data, name->content.length),
		    reason(restoring, result));
	restoring->result->failed++;
	return result == RESTORING_DIFFERS ? doubt(restoring) : 0;
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
		r = make_name(&names, &reader->name);
		restoring_count(restoring);
		if (r == 0)
			restoring->result->copies++;
		else
			r = fail(&names, r);
		if (r < 0)
			break;
	}
	close_directory(&names);
	bytes_free(&names.above);
	bytes_free(&names.scratch);
	return r == MANIFEST_END ? 0 : r;
}

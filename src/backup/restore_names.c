/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/restoring.h"
#include "backup/tree_walk.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/stop.h"

/* ---- restore tree --------------------------------------------------------------------------- */

/* Restores the names of the backup. A first walk makes each directory without its metadata, then
 * its entries. After the names of the manifest, a second walk sets the metadata of directories. */

/* Bytes of "b", five numbers of 64 bits in hexadecimal, four hyphens, and a NUL; rounded up. */
#define INODE_KEY_SIZE 96

struct tree {
	struct restoring *restoring;
	struct manifest_reader *reader; /* before the next name; NULL: not of all names */
	int directory; /* open in the target; -1: none */
	struct bytes directory_path;
	struct bytes path; /* of the current item */
};

static int fail_item(struct tree *tree, int result)
{
	return restoring_fail(tree->restoring, (const char *)tree->path.data, tree->path.length,
			      result);
}

static int walk_failed(void *context, const char *path, int error)
{
	struct tree *tree = context;

	return restoring_fail(tree->restoring, path, strlen(path), error);
}

/* ---- directories ------------------------------------------------------------------------- */

/* Ensures that the user can write to a directory. An interrupted restore has possibly set the final
 * mode of the directory. */
static int grant_access(int directory)
{
	struct stat status;

	if (fstat(directory, &status) < 0)
		return -errno;
	if ((status.st_mode & S_IRWXU) == S_IRWXU)
		return 0;
	return chmod(fd_path(directory).text, S_IRWXU) < 0 ? -errno : 0;
}

static int make_directory(const struct restoring *restoring, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent_path = slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	AUTO_CLOSE int parent = -1;

	if (!parent_path)
		return -ENOMEM;
	parent = open_beneath(restoring->target, parent_path, O_PATH | O_DIRECTORY, true);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, slash ? slash + 1 : path, S_IRWXU) == 0)
		return 0;
	return errno == EEXIST && restoring->staging.resumed ? 0 : -errno;
}

/* Opens a directory in the target, unless it is open already. */
static int open_target(struct tree *tree, const char *path)
{
	struct bytes *open_path = &tree->directory_path;
	size_t length = strlen(path);

	if (tree->directory >= 0 && open_path->length == length &&
	    (length == 0 || memcmp(open_path->data, path, length) == 0))
		return 0;
	cleanup_close(&tree->directory);
	tree->directory = -1;
	open_path->length = 0;
	if (bytes_append(open_path, path, length) < 0)
		return -ENOMEM;
	tree->directory = open_beneath(tree->restoring->target, path, O_PATH | O_DIRECTORY, true);
	return tree->directory < 0 ? tree->directory : 0;
}

static int enter_directory(struct tree *tree, const char *path)
{
	const struct restoring *restoring = tree->restoring;
	int r = path[0] != '\0' ? make_directory(restoring, path) : 0;

	if (r == 0)
		r = open_target(tree, path);
	return r < 0 ? r : grant_access(tree->directory);
}

static bool is_left_out(const struct tree *tree, const struct tree_dir *dir)
{
	return restore_only_part(tree->restoring->settings->only, dir->path, strlen(dir->path)) ==
	       RESTORE_NOTHING;
}

static int enter(void *context, const struct tree_dir *dir)
{
	struct tree *tree = context;
	const struct stat *target = &tree->restoring->target_status;
	int r;

	/* a bind mount can show the target below the backup */
	if (is_same_inode(&dir->status, target) || is_left_out(tree, dir))
		return TREE_PASS_OVER;
	r = enter_directory(tree, dir->path);
	if (r == 0)
		return 0;
	r = restoring_fail(tree->restoring, dir->path, strlen(dir->path), r);
	if (r == 0)
		log_warning("skipped all entries of %s", quote_path(dir->path));
	return r < 0 ? r : TREE_PASS_OVER;
}

static int enter_again(void *context, const struct tree_dir *dir)
{
	return is_left_out(context, dir) ? (int)TREE_PASS_OVER : 0;
}

/* Sets the metadata of a directory. */
static int leave(void *context, const struct tree_dir *dir)
{
	struct tree *tree = context;
	struct restoring *restoring = tree->restoring;
	AUTO_CLOSE int fd = -1;
	struct metadata metadata;
	int r;

	if (dir->path[0] == '\0')
		return 0;
	fd = open_beneath(restoring->target, dir->path, O_PATH | O_DIRECTORY, true);
	if (fd == -ENOENT)
		return 0; /* making the directory failed, which was logged */
	r = fd < 0 ? fd : xattrs_read(&restoring->xattrs, dir->fd);
	metadata = metadata_of(&dir->status, &restoring->xattrs);
	if (r == 0)
		r = metadata_apply(&metadata, fd, &restoring->result->refused);
	restoring_note_time(restoring, dir->path, strlen(dir->path));
	return r < 0 ? restoring_fail(restoring, dir->path, strlen(dir->path), r) : 0;
}

/* ---- entries of directories -------------------------------------------------------------- */

/* Finds the hash of the current item in the manifest. Sets *hash to NULL if there is none. */
static int find_hash(struct tree *tree, const struct hash128 **hash)
{
	const struct manifest_name *name = tree->reader ? &tree->reader->name : NULL;
	bool found = false;
	int r = name ? manifest_reader_seek(tree->reader, &tree->path, NULL, NULL, &found) : 0;

	*hash = found && name->hashed && name->content.length == 0 ? &name->hash : NULL;
	return r;
}

static int open_item(const struct restoring *restoring, const struct tree_dir *dir,
		     const char *name, const struct stat *status, bool hashed)
{
	if (!S_ISREG(status->st_mode) || (restoring->settings->way == RESTORE_LINK && !hashed))
		return open_beneath(dir->fd, name, O_PATH, true);
	return open_beneath_for_reading(dir->fd, name, 0, true);
}

/* Formats the key in links/ of an inode of the backup. Keys of inodes on the backup's own file
 * system have no device number, so a remount does not change the keys. Size and mtime distinguish
 * inodes that reuse a number. */
static void format_inode_key(char key[static INODE_KEY_SIZE], const struct restoring *restoring,
			     const struct stat *status)
{
	dev_t device = status->st_dev == restoring->backup_status.st_dev ? 0 : status->st_dev;

	(void)snprintf(key, INODE_KEY_SIZE,
		       "b%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64,
		       (uint64_t)device, (uint64_t)status->st_ino, (uint64_t)status->st_size,
		       (uint64_t)status->st_mtim.tv_sec, (uint64_t)status->st_mtim.tv_nsec);
}

static int make_item(struct tree *tree, const struct tree_dir *dir, const char *name,
		     const struct stat *seen, const struct hash128 *hash)
{
	struct restoring *restoring = tree->restoring;
	AUTO_CLOSE int from = open_item(restoring, dir, name, seen, hash);
	char key[INODE_KEY_SIZE];
	struct metadata metadata;
	struct stat status;
	struct target_file file = {
		.from = from,
		.status = &status,
		.metadata = &metadata,
		.hash = hash,
		.as_it_is = true,
		.directory = tree->directory,
		.name = name,
	};
	int r;

	if (from < 0)
		return from;
	if (fstat(from, &status) < 0)
		return -errno;
	if (((status.st_mode ^ seen->st_mode) & S_IFMT) != 0)
		return COPY_CHANGED;
	r = xattrs_read(&restoring->xattrs, from);
	if (r < 0)
		return r;
	metadata = metadata_of(&status, &restoring->xattrs);
	file.linked = S_ISREG(status.st_mode) && restoring->settings->way == RESTORE_LINK;
	file.names = status.st_nlink;
	format_inode_key(key, restoring, &status);
	if (status.st_nlink > 1 && !file.linked)
		file.key = key;
	return restoring_make(restoring, &file);
}

/* Logs and counts a file that was restored with other bytes than those of the manifest. */
static int note_damaged(struct tree *tree)
{
	log_warning("restored %s as it is in the backup: its bytes differ from the manifest",
		    quote_bytes((const char *)tree->path.data, tree->path.length));
	tree->restoring->result->failed++;
	return restoring_distrust(tree->restoring);
}

static int item(void *context, const struct tree_dir *dir, const char *name,
		const struct stat *status)
{
	struct tree *tree = context;
	struct restoring *restoring = tree->restoring;
	const struct hash128 *hash;
	int r;

	r = tree_path(&tree->path, dir->path, name);
	if (r < 0 || restore_only_part(restoring->settings->only, tree->path.data,
				       tree->path.length) != RESTORE_WHOLE)
		return r;
	r = find_hash(tree, &hash);
	if (r < 0)
		return r;
	r = open_target(tree, dir->path);
	if (r == 0)
		r = make_item(tree, dir, name, status, hash);
	restoring_note_time(restoring, (const char *)tree->path.data, tree->path.length);
	restoring_count(restoring);
	if (r == 0 || r == RESTORING_DIFFERS)
		restoring->result->files++;
	if (r == RESTORING_DIFFERS)
		return note_damaged(tree);
	return r == 0 ? 0 : fail_item(tree, r);
}

int restore_tree(struct restoring *restoring, struct manifest_reader *reader)
{
	struct tree tree = {
		.restoring = restoring,
		.reader = reader->format == MANIFEST_ALL ? reader : NULL,
		.directory = -1,
	};
	const struct tree_visitor visitor = {
		.enter = enter,
		.item = item,
		.failed = walk_failed,
		.context = &tree,
	};
	int r = tree.reader ? manifest_reader_advance(tree.reader) : 0;

	if (r == 0)
		r = tree_walk(restoring->backup, &visitor);
	cleanup_close(&tree.directory);
	bytes_free(&tree.path);
	bytes_free(&tree.directory_path);
	return r;
}

/* Ignores failures, because the first walk has logged them. */
static int walk_failed_again(void *context, const char *path, int error)
{
	(void)context;
	(void)path;
	return error == -ENOMEM ? error : 0;
}

int restore_directories(struct restoring *restoring)
{
	struct tree tree = {.restoring = restoring, .directory = -1};
	const struct tree_visitor visitor = {
		.enter = enter_again,
		.leave = leave,
		.failed = walk_failed_again,
		.context = &tree,
	};

	return tree_walk(restoring->backup, &visitor);
}

int restore_root(struct restoring *restoring, mode_t more)
{
	struct metadata metadata;
	int r = xattrs_read(&restoring->xattrs, restoring->backup);

	metadata = metadata_of(&restoring->backup_status, &restoring->xattrs);
	metadata.mode |= more;
	if (r == 0)
		r = metadata_apply(&metadata, restoring->target, &restoring->result->refused);
	if (more == 0)
		restoring_note_time(restoring, ".", 1);
	return r < 0 ? restoring_fail(restoring, ".", 1, r) : 0;
}

/* ---- restore names -------------------------------------------------------------------------- */

/* Restores the names of a manifest. If a name cannot be made, it is logged with its line. Unless
 * the failure is fatal, the restore continues with the next name. */

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

/* ---- restore flags -------------------------------------------------------------------------- */

/* Sets the flags of restored names, after everything else: an immutable file can get no name, and
 * an immutable directory no entry. */

static void note_flags(struct restoring *restoring, const struct manifest_name *name, int result)
{
	char flags[INODE_FLAGS_TEXT_MAX];

	if (result == 0)
		return;
	log_warning("restored %s without the attributes '%s' of chattr: %s",
		    quote_bytes((const char *)name->path.data, name->path.length),
		    inode_flags_text(name->flags, flags), error_text(result));
	restoring->result->flags++;
}

static int set_flags(struct restoring *restoring, struct manifest_name *name)
{
	const char *path = bytes_text(&name->path);
	int flags = S_ISDIR(name->type) ? O_DIRECTORY : 0;
	AUTO_CLOSE int fd = -1;
	int r;

	if (!path)
		return -ENOMEM;
	fd = open_beneath_for_reading(restoring->target, path, flags, true);
	if (fd < 0)
		r = fd;
	else if (flags == 0 && restoring->settings->way == RESTORE_LINK)
		r = -EMLINK; /* it can be a link of a file in the backup, which must not change */
	else
		r = inode_flags_add(fd, name->flags);
	note_flags(restoring, name, r);
	return 0;
}

int restore_flags(struct restoring *restoring, struct manifest_reader *checked)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	struct manifest_name *name = &reader.name;
	int r;

	if (checked->flagged == 0)
		return 0;
	r = manifest_reader_init(&reader, checked->lines.fd, checked->path);
	while (r == 0 && (r = manifest_reader_next(&reader)) == 0) {
		if (stop_requested())
			return -EINTR;
		if (name->flags != 0 &&
		    restore_only_part(restoring->settings->only, name->path.data,
				      name->path.length) != RESTORE_NOTHING)
			r = set_flags(restoring, name);
	}
	return r == MANIFEST_END ? 0 : r;
}

void restore_root_flags(struct restoring *restoring, const struct manifest_reader *checked)
{
	if (checked->root.flags != 0)
		note_flags(restoring, &checked->root,
			   inode_flags_add(restoring->target, checked->root.flags));
}

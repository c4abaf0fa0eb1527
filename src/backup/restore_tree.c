/* SPDX-License-Identifier: MIT */

/* Restores the names of the backup. A first walk makes each directory without its metadata, then
 * its entries. After the names of the manifest, a second walk sets the metadata of directories. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backup/restoring.h"
#include "backup/tree_walk.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/quote.h"

/* Bytes of "b", five numbers of 64 bits in hexadecimal, four hyphens, and a NUL; rounded up. */
#define KEY_SIZE 96

struct tree {
	struct restoring *restoring;
	struct manifest_reader *reader; /* before the next name; NULL: not of all names */
	bool at_end; /* the manifest has no next name */
	int directory; /* open in the target; -1: none */
	struct bytes directory_path;
	struct bytes path; /* of the current item */
};

static int set_path(struct tree *tree, const struct tree_dir *dir, const char *name)
{
	int r;

	tree->path.length = 0;
	r = bytes_append_text(&tree->path, dir->path);
	if (r == 0 && tree->path.length > 0)
		r = bytes_append(&tree->path, "/", 1);
	return r < 0 ? r : bytes_append_text(&tree->path, name);
}

static int fail(struct tree *tree, int result)
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
static int open_directory(struct tree *tree, const char *path)
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
		r = open_directory(tree, path);
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

static int advance(struct tree *tree)
{
	int r = manifest_reader_next(tree->reader);

	tree->at_end = r == MANIFEST_END;
	return r < 0 ? r : 0;
}

/* Finds the hash of the current item in the manifest. Sets *hash to NULL if there is none. */
static int find_hash(struct tree *tree, const struct hash128 **hash)
{
	const struct manifest_name *name = tree->reader ? &tree->reader->name : NULL;
	int order = 1;
	int r = 0;

	*hash = NULL;
	while (r == 0 && name && !tree->at_end &&
	       (order = path_order(&name->path, &tree->path)) < 0)
		r = advance(tree);
	if (r == 0 && name && !tree->at_end && order == 0 && name->hashed &&
	    name->content.length == 0)
		*hash = &name->hash;
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
static void format_key(char key[static KEY_SIZE], const struct restoring *restoring,
		       const struct stat *status)
{
	dev_t device = status->st_dev == restoring->backup_status.st_dev ? 0 : status->st_dev;

	(void)snprintf(key, KEY_SIZE, "b%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64,
		       (uint64_t)device, (uint64_t)status->st_ino, (uint64_t)status->st_size,
		       (uint64_t)status->st_mtim.tv_sec, (uint64_t)status->st_mtim.tv_nsec);
}

static int make_item(struct tree *tree, const struct tree_dir *dir, const char *name,
		     const struct stat *seen, const struct hash128 *hash)
{
	struct restoring *restoring = tree->restoring;
	AUTO_CLOSE int from = open_item(restoring, dir, name, seen, hash);
	char key[KEY_SIZE];
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
	format_key(key, restoring, &status);
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

	r = set_path(tree, dir, name);
	if (r < 0 || restore_only_part(restoring->settings->only, tree->path.data,
				       tree->path.length) != RESTORE_WHOLE)
		return r;
	r = find_hash(tree, &hash);
	if (r < 0)
		return r;
	r = open_directory(tree, dir->path);
	if (r == 0)
		r = make_item(tree, dir, name, status, hash);
	restoring_note_time(restoring, (const char *)tree->path.data, tree->path.length);
	restoring_count(restoring);
	if (r == 0 || r == RESTORING_DIFFERS)
		restoring->result->files++;
	if (r == RESTORING_DIFFERS)
		return note_damaged(tree);
	return r == 0 ? 0 : fail(tree, r);
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
	int r = tree.reader ? advance(&tree) : 0;

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

/* SPDX-License-Identifier: MIT */
#include "view/tree/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/mountinfo.h"
#include "base/stop.h"
#include "index/kept.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "view/tree/caller.h"
#include "view/tree/node.h"

/* ---- source root ---------------------------------------------------------------------------- */

/* Opens the root of a source from / down, with the caller's permissions. Any thread.
 *
 * Only the mounts that contain the source are entered. A user can mount a file system above a
 * source, and a request to the server of that file system can block forever. Other mounts are never
 * accessed. */

/* Maximum number of mounts on the path to a source that can be entered. */
#define SOURCE_ROOT_MOUNTS_MAX 32

/* The path to a source and the mounts on it. */
struct source_root {
	const char *path; /* absolute, borrowed */
	/* The mount of the source, then the mounts above it. Empty if the kernel does not
	 * distinguish mounts; in that case all mounts are entered. */
	uint64_t mounts[SOURCE_ROOT_MOUNTS_MAX];
	size_t count;
};

/* An access to the source. */
struct attempt {
	struct source_root root;
	bool cross_mounts; /* entering other mounts below the root is allowed */
	const char *path; /* path in the source; "" is the root */
	int flags; /* flags for the open of the object: O_DIRECTORY or 0 */
	int access; /* access mode for the object at the path */
	bool must_list; /* parent directories must be listable, not only searchable */
};

/* Opens a name in a directory. last: it is that of the object, else that of a directory on its
 * path.
 */
typedef int open_name_fn(const struct attempt *attempt, int at, const char *name, bool last);

/* Opens a path name by name. Takes at. */
static int open_names(const struct attempt *attempt, int at, const char *path,
		      open_name_fn *open_name)
{
	char name[NAME_BYTES_MAX + 1];

	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		bool last = path[length] == '\0';
		int next = -ENAMETOOLONG;

		if (length < sizeof(name)) {
			memcpy(name, path, length);
			name[length] = '\0';
			next = open_name(attempt, at, name, last);
		}
		(void)close(at);
		at = next;
		path += length + !last;
	}
	return at;
}

/* Finds the mount of a source. Returns 0, or -EACCES if the source is missing. */
static int source_root_find(struct source_root *root, const struct source *source)
{
	*root = (struct source_root){.path = source->path};
	if (source->missing || source->fd < 0)
		return -EACCES;
	root->mounts[0] = mountinfo_of(source->fd);
	root->count = root->mounts[0] != 0;
	return 0;
}

/* Adds the mounts above the source from /proc/self/mountinfo. Must run before the credentials
 * change, as the caller cannot always open that file. */
static void source_root_add_parents(struct source_root *root)
{
	uint64_t mount = root->count > 0 ? root->mounts[0] : 0;

	while (mount != 0 && root->count < ARRAY_SIZE(root->mounts)) {
		/* in some namespaces the topmost mount is its own parent */
		if (mountinfo_parent("/proc/self/mountinfo", mount, &mount) < 0 ||
		    mount == root->mounts[root->count - 1])
			return;
		if (mount != 0)
			root->mounts[root->count++] = mount;
	}
}

static bool can_enter(const struct source_root *root, uint64_t mount)
{
	for (size_t i = 0; i < root->count; i++) {
		if (root->mounts[i] == mount)
			return true;
	}
	return root->count == 0;
}

/* Opens a directory in a directory, if its mount can be entered. */
static int open_entered(const struct attempt *attempt, int at, const char *name, bool last)
{
	int next = open_beneath(at, name, O_PATH | O_DIRECTORY, true);
	uint64_t mount;

	(void)last;
	if (next < 0)
		return next;
	mount = mountinfo_of(next);
	if (can_enter(&attempt->root, mount) || mount == mountinfo_of(at))
		return next;
	(void)close(next);
	return -EXDEV;
}

/* Opens the root of the source (O_PATH). Returns a descriptor that the caller closes, -EXDEV if a
 * mount that is not in the list is on the path, or another -errno. */
static int source_root_open(const struct attempt *attempt)
{
	const struct source_root *root = &attempt->root;
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (top < 0)
		return -errno;
	fd = open_beneath(top, root->path + 1, O_PATH | O_DIRECTORY, root->count == 0);
	if (fd == -EXDEV)
		return open_names(attempt, top, root->path + 1, open_entered);
	(void)close(top);
	return fd;
}

/* ---- as the caller ------------------------------------------------------------------- */

/* access(2) with the effective ids. The C library emulates faccessat(AT_EACCESS) on older kernels
 * from the mode bits alone; the system call does not. */
static int check_access(int fd, int access)
{
	if (access == F_OK)
		return 0;
	return syscall(SYS_faccessat2, fd, "", access, AT_EMPTY_PATH | AT_EACCESS) == 0 ? 0
											: -errno;
}

/* Opens a name in a directory, if the caller can list and search the directory. */
static int open_listed(const struct attempt *attempt, int at, const char *name, bool last)
{
	int r = check_access(at, R_OK | X_OK);

	return r < 0 ? r
		     : open_beneath(at, name, O_PATH | (last ? attempt->flags : O_DIRECTORY),
				    attempt->cross_mounts);
}

/* Opens the path; its parent directories must be searchable. Takes at. Opening "" would need the
 * search permission of the root itself. */
static int open_searched(const struct attempt *attempt, int at)
{
	int fd;

	if (!*attempt->path)
		return at;
	fd = open_beneath(at, attempt->path, O_PATH | attempt->flags, attempt->cross_mounts);
	(void)close(at);
	return fd;
}

/* Opens the path with O_PATH, if the caller can search (or list) its parent directories. Checks the
 * access mode. Returns -EXDEV if a mount that is not in the list of attempt->root is on the path to
 * the source, or another -errno. */
static int open_path(const struct attempt *attempt)
{
	int fd = source_root_open(attempt), r;

	if (fd < 0)
		return fd;
	fd = attempt->must_list ? open_names(attempt, fd, attempt->path, open_listed)
				: open_searched(attempt, fd);
	if (fd < 0)
		return fd == -EXDEV ? -EACCES : fd;
	r = check_access(fd, attempt->access);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

/* Maps errors to -EACCES, so that the caller cannot distinguish a missing object from a hidden one.
 * Errors for a lack of resources of this process are returned unchanged. */
static int hide_reason(int result)
{
	switch (result) {
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return result;
	default:
		return result < 0 ? -EACCES : result;
	}
}

/* Calls open_path() with the permissions of the caller and returns its result.
 *
 * caller	NULL: the permissions of this process
 */
static int open_path_as(const struct caller *caller, const struct attempt *attempt)
{
	int fd = caller ? caller_impersonate(caller) : 0;

	if (fd < 0)
		return fd;
	fd = open_path(attempt);
	if (caller)
		caller_revert();
	return fd;
}

/* Checks an access to the object at a path. Fills in its current attributes.
 *
 * path	relative to the source, from the index; a NUL is appended
 */
static int access_path(const struct view_query *query, struct attempt *attempt, struct bytes *path,
		       uint32_t source, struct attributes *now)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (cancellation_is_requested(query->cancellation))
		return -EINTR;
	if (source >= query->view->sources->count)
		return -EUCLEAN;
	r = source_root_find(&attempt->root, &query->view->sources->list[source]);
	if (r < 0)
		return r;
	attempt->cross_mounts = query->view->sources->cross_mounts;
	attempt->path = bytes_text(path);
	if (!attempt->path)
		return -ENOMEM;
	fd = open_path_as(query->caller, attempt);
	if (fd == -EXDEV) {
		source_root_add_parents(&attempt->root);
		fd = open_path_as(query->caller, attempt);
	}
	return hide_reason(fd < 0 ? fd : source_attributes(query->view->catalog, fd, now));
}

/* ---- folders ------------------------------------------------------------------------- */

static int get_dir(const struct view_query *query, uint64_t id, struct dir_record *dir)
{
	int r = catalog_get_dir(query->reader, id, dir);

	return r == -ENOENT ? -ESTALE : r;
}

static int access_check_dir(const struct view_query *query, uint64_t id, int access)
{
	struct attempt attempt = {.flags = O_DIRECTORY, .access = access};
	CLEANUP_BYTES struct bytes path = {0};
	struct dir_record dir;
	struct attributes now;
	uint32_t source;
	int r = get_dir(query, id, &dir);

	if (r == 0 && dir.flags & DIR_NOT_ENTERED && dir.parent) {
		/* The server of another file system can fail to respond. So only the directory that
		 * contains the mount point is checked. */
		attempt.access = X_OK;
		r = get_dir(query, dir.parent, &dir);
	}
	if (r == 0)
		r = catalog_dir_path(query->reader, dir.id, &path, &source);
	if (r == 0)
		r = access_path(query, &attempt, &path, source, &now);
	if (r < 0)
		return r;
	return attributes_same_inode(&now, &dir.attributes) ? 0 : -EACCES;
}

/* ---- files --------------------------------------------------------------------------- */

/* Compares size and mtime only: a change of permissions is no change of content. An open compares
 * the whole signature. */
static bool has_same_size_and_mtime(const struct attributes *now, const struct attributes *known)
{
	return now->size == known->size && clock_equal(now->mtime, known->mtime);
}

static int access_name(const struct view_query *query, const struct file_record *file,
		       struct attempt *attempt, struct bytes *path, uint32_t source)
{
	struct attributes now;
	int r = access_path(query, attempt, path, source, &now);

	if (r < 0)
		return r;
	if (!attributes_same_inode(&now, &file->attributes))
		return -EACCES;
	return !attempt->must_list || has_same_size_and_mtime(&now, &file->attributes) ? 0
										       : -EACCES;
}

static int access_check_file(const struct view_query *query, uint64_t node, int access)
{
	struct attempt attempt = {.access = access};
	CLEANUP_SCAN struct catalog_scan *names = NULL;
	CLEANUP_BYTES struct bytes path = {0};
	struct file_record file;
	uint64_t dir, cookie;
	uint32_t source;
	int r = catalog_get_file(query->reader, node_id(node), &file);

	if (r == 0)
		r = catalog_scan_names(query->reader, &file, &names);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	while ((r = catalog_next_name(names, &dir, &cookie)) == 0) {
		path.length = 0;
		r = catalog_entry_path(query->reader, dir, cookie, &path, &source);
		r = r < 0 ? expect_record(r) : access_name(query, &file, &attempt, &path, source);
		if (r != -EACCES)
			return r;
	}
	return r == -ENOENT ? -EACCES : r;
}

/* Checks whether the caller finds the file at this path. */
static int find_path(const struct view_query *query, const struct file_record *file,
		     struct bytes *path, uint32_t source)
{
	struct attempt attempt = {.access = R_OK, .must_list = true};

	return access_name(query, file, &attempt, path, source);
}

int access_find_name(const struct view_query *query, const struct file_record *file, uint64_t dir,
		     uint64_t cookie)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source = 0;
	int r;

	if (!query->caller)
		return 0;
	r = catalog_entry_path(query->reader, dir, cookie, &path, &source);
	return r < 0 ? expect_record(r) : find_path(query, file, &path, source);
}

int access_rank_name(const struct view_query *query, struct bytes *path,
		     const struct location *location, struct kept_rank *rank)
{
	const char *text = bytes_text(path);

	if (!text)
		return -ENOMEM;
	kept_rank_set_name(rank, location, query->view->sources->list[location->source].path, text,
			   path->length);
	return 0;
}

int access_find_file(const struct view_query *query, const struct file_record *file,
		     struct bytes *path, struct kept_rank *rank)
{
	const struct keep_rules *rules = query->view->keep_rules;
	CLEANUP_SCAN struct catalog_scan *names = NULL;
	CLEANUP_BYTES struct bytes found = {0};
	struct kept_rank its_rank;
	uint64_t dir, cookie;
	struct location location = {0};
	bool any = false;
	int r = catalog_scan_names(query->reader, file, &names);

	kept_rank_set_inode(&its_rank, file->first_seen, &file->attributes);
	while (r == 0 && (r = catalog_next_name(names, &dir, &cookie)) == 0) {
		found.length = 0;
		r = expect_record(
			catalog_entry_location(query->reader, dir, cookie, &found, &location));
		if (r == 0)
			r = find_path(query, file, &found, location.source);
		if (r == 0)
			r = access_rank_name(query, &found, &location, &its_rank);
		if (r == 0 && (!any || kept_order(rules, &its_rank, rank, NULL) < 0)) {
			path->length = 0;
			r = bytes_append(path, found.data, found.length);
			*rank = its_rank;
			rank->path = r == 0 ? bytes_text(path) : NULL;
			r = rank->path ? r : -ENOMEM;
			any = true;
		}
		if (r == -EACCES)
			r = 0;
	}
	if (r != -ENOENT)
		return r;
	return any ? 0 : -EACCES;
}

/* ---- nodes --------------------------------------------------------------------------- */

/* by-size/, folders/ and .twinfs/ describe all files, so they are hidden from callers of a shared
 * view. README.txt is the same in all views. */
static int access_check_fixed(uint64_t node)
{
	if (node == FIXED_README)
		return 0;
	return node_is_ranked(node) || node >= FIXED_TWINFS ? -EACCES : 0;
}

int access_check_node(const struct view_query *query, uint64_t node, int access)
{
	if (!query->caller)
		return 0;
	switch ((enum node_kind)node_kind(node)) {
	case NODE_FIXED:
		return access_check_fixed(node);
	case NODE_DIR:
	case NODE_REDUNDANT:
		return access_check_dir(query, node_id(node), access);
	case NODE_FILE:
		return access_check_file(query, node, access);
	case NODE_GROUP:
		return 0;
	case NODE_RANKS:
	case NODE_FOLDER_RANKS:
	case NODE_EQUALS:
	case NODE_FOLDER:
	case NODE_LINK:
	case NODE_DEEP_LINK:
	case NODE_PLACEHOLDER:
		break;
	}
	return -EACCES;
}

int access_check_own(const struct view_query *query, uint64_t node, int access)
{
	if (node_is_source_dir(node))
		return access_check_dir(query, node_id(node), access);
	return node_kind(node) == NODE_FILE ? access_check_file(query, node, access) : 0;
}

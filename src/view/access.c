/* SPDX-License-Identifier: MIT */
#include "view/access.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/descriptor.h"
#include "base/interruption.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"
#include "view/node.h"
#include "view/source_root.h"

/* ---- as the caller ------------------------------------------------------------------- */

/* What is tried at the source. */
struct attempt {
	struct source_root root;
	bool cross_mounts; /* below the root */
	const char *path; /* in the source; "": the root */
	int flags; /* O_DIRECTORY, 0 */
	int access; /* to what is there */
	bool finding; /* folders on the way are listed, not only searched */
};

/* Not access(2) of the C library, which computes what older kernels do not tell. */
static int may(int fd, int access)
{
	if (access == F_OK)
		return 0;
	return syscall(SYS_faccessat2, fd, "", access, AT_EMPTY_PATH | AT_EACCESS) == 0 ? 0
											: -errno;
}

/* Opens a name in a folder that he can list. */
static int open_found(const struct attempt *attempt, int folder, const char *path, size_t length,
		      int flags)
{
	char name[NAME_BYTES_MAX + 1];
	int r = may(folder, R_OK | X_OK);

	if (r < 0)
		return r;
	if (length > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	memcpy(name, path, length);
	name[length] = '\0';
	return open_beneath(folder, name, O_PATH | flags, attempt->cross_mounts);
}

/* From folder to folder. Takes at. */
static int find(const struct attempt *attempt, int at)
{
	const char *path = attempt->path;

	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		bool last = path[length] == '\0';
		int next =
			open_found(attempt, at, path, length, last ? attempt->flags : O_DIRECTORY);

		(void)close(at);
		at = next;
		path += length + !last;
	}
	return at;
}

/* Takes at. To open "" would be to search it. */
static int reach(const struct attempt *attempt, int at)
{
	int fd;

	if (!*attempt->path)
		return at;
	fd = open_beneath(at, attempt->path, O_PATH | attempt->flags, attempt->cross_mounts);
	(void)close(at);
	return fd;
}

/* Opens (O_PATH) what he may reach or find, and do with what he wants. -EXDEV: a mount that is not
 * known is on the way to the source; or another -errno. */
static int try_out(const struct attempt *attempt)
{
	int fd = source_root_open(&attempt->root), r;

	if (fd < 0)
		return fd;
	fd = attempt->finding ? find(attempt, fd) : reach(attempt, fd);
	if (fd < 0)
		return fd == -EXDEV ? -EACCES : fd;
	r = may(fd, attempt->access);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

/* That there is nothing, or something else, is the same to him as that it is not for him. What we
 * lack ourselves is another thing. */
static int as_answer(int result)
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

/* caller	NULL: who this process is
 *
 * Returns what try_out() does. */
static int try_as(const struct caller *caller, const struct attempt *attempt)
{
	int fd = caller ? caller_impersonate(caller) : 0;

	if (fd < 0)
		return fd;
	fd = try_out(attempt);
	if (caller)
		caller_revert();
	return fd;
}

/* Tries it at a place that the index has; path: in the source, by its own end. Gives the attributes
 * of what is there. */
static int try_at(const struct view_query *query, struct attempt *attempt, struct bytes *path,
		  uint32_t source, struct attributes *now)
{
	AUTO_CLOSE int fd = -1;
	int r;

	if (interruption_is_set(query->interruption))
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
	fd = try_as(query->caller, attempt);
	if (fd == -EXDEV) {
		source_root_add_above(&attempt->root);
		fd = try_as(query->caller, attempt);
	}
	return as_answer(fd < 0 ? fd : source_attributes(query->view->catalog, fd, now));
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
		/* another file system, perhaps a dead one: it is not asked anything */
		attempt.access = X_OK;
		r = get_dir(query, dir.parent, &dir);
	}
	if (r == 0)
		r = catalog_dir_path(query->reader, dir.id, &path, &source);
	if (r == 0)
		r = try_at(query, &attempt, &path, source, &now);
	if (r < 0)
		return r;
	return attributes_same_inode(&now, &dir.attributes) ? 0 : -EACCES;
}

/* ---- files --------------------------------------------------------------------------- */

/* Does it have the content that the index knows, as far as its size and time tell? A change of
 * rights is no change of content; what is opened is compared with its whole signature. */
static bool seems_unwritten(const struct attributes *now, const struct attributes *known)
{
	return now->size == known->size && now->mtime.tv_sec == known->mtime.tv_sec &&
	       now->mtime.tv_nsec == known->mtime.tv_nsec;
}

static int try_name(const struct view_query *query, const struct file_record *file,
		    struct attempt *attempt, struct bytes *path, uint32_t source)
{
	struct attributes now;
	int r = try_at(query, attempt, path, source, &now);

	if (r < 0)
		return r;
	if (!attributes_same_inode(&now, &file->attributes))
		return -EACCES;
	return !attempt->finding || seems_unwritten(&now, &file->attributes) ? 0 : -EACCES;
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
		r = r < 0 ? expect_record(r) : try_name(query, &file, &attempt, &path, source);
		if (r != -EACCES)
			return r;
	}
	return r == -ENOENT ? -EACCES : r;
}

/* Does he find it at this place? */
static int find_at(const struct view_query *query, const struct file_record *file,
		   struct bytes *path, uint32_t source)
{
	struct attempt attempt = {.access = R_OK, .finding = true};

	return try_name(query, file, &attempt, path, source);
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
	return r < 0 ? expect_record(r) : find_at(query, file, &path, source);
}

int access_find_file(const struct view_query *query, const struct file_record *file,
		     struct bytes *path, uint32_t *source)
{
	CLEANUP_SCAN struct catalog_scan *names = NULL;
	CLEANUP_BYTES struct bytes found = {0};
	uint64_t dir, cookie;
	uint32_t its_source = 0;
	bool any = false;
	int r = catalog_scan_names(query->reader, file, &names);

	while (r == 0 && (r = catalog_next_name(names, &dir, &cookie)) == 0) {
		found.length = 0;
		r = expect_record(
			catalog_entry_path(query->reader, dir, cookie, &found, &its_source));
		if (r == 0)
			r = find_at(query, file, &found, its_source);
		if (r == 0 && (!any || its_source < *source ||
			       (its_source == *source && bytes_compare(&found, path) < 0))) {
			path->length = 0;
			r = bytes_append(path, found.data, found.length);
			*source = its_source;
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

/* What tells of everything is only for those who may see everything. */
static int access_check_fixed(uint64_t node)
{
	return node == FIXED_BY_SIZE || node >= FIXED_TWINFS ? -EACCES : 0;
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
	case NODE_LINK:
	case NODE_DEEP_LINK:
	case NODE_STAND_IN:
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

/* SPDX-License-Identifier: MIT */

/* Extended attributes: those of twinfs and those of the sources. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/hash.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/caller.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/view.h"
#include "view/tree/visible_copies.h"

/* Prefix of the attributes of twinfs. Attributes of a source with the same names are hidden; other
 * names with this prefix are shown. */
#define OWN_PREFIX "user.twinfs."

static bool is_own(const char *name)
{
	static const char *const keys[] = {"path", "hash",      "copies",     "kept",
					   "size", "redundant", "reclaimable"};

	if (strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(name + strlen(OWN_PREFIX), keys[i]) == 0)
			return true;
	}
	return false;
}

/* The kernel shows these attributes to this process if it kept CAP_SYS_ADMIN for passthrough. */
static bool is_hidden(const struct view *view, const char *name)
{
	return !view->shows_trusted && strncmp(name, "trusted.", strlen("trusted.")) == 0;
}

/* Copies a value as getxattr(2) does. */
static long copy_out(const void *data, size_t length, void *value, size_t size)
{
	if (size == 0)
		return (long)length;
	if (length > size)
		return -ERANGE;
	if (length > 0)
		memcpy(value, data, length);
	return (long)length;
}

/* ---- twinfs's own ------------------------------------------------------------------- */

/* Gets the visible group of a node. The node is the folder of a group, or a file that is a copy in
 * it. */
static int own_group(const struct view_query *query, uint64_t node, struct group_record *group)
{
	struct file_record file;
	int r;

	if (node_kind(node) == NODE_GROUP)
		return group_get_visible(query, node, group);
	if (node_kind(node) != NODE_FILE)
		return -ENODATA;
	r = file_get_version(query, node, &file);
	if (r == 0)
		r = visible_group_of_file(query, file.id, group);
	return r == 0 && group->id == 0 ? -ENODATA : r;
}

/* Appends the value of an attribute of a group, for the folder of the group or for a copy in it. */
static int group_value(const struct group_record *group, uint64_t node, const char *key,
		       struct bytes *value)
{
	bool folder = node_kind(node) == NODE_GROUP;
	char name[GROUP_NAME_SIZE];

	if (strcmp(key, "hash") == 0) {
		group_name_make(name, group->hash, group->ordinal);
		return bytes_append_text(value, name);
	}
	if (strcmp(key, "copies") == 0)
		return bytes_format(value, "%" PRIu64, group->inodes);
	if (!folder && strcmp(key, "kept") == 0)
		return bytes_append_text(value, node_id(node) == group->kept ? "yes" : "no");
	if (folder && strcmp(key, "size") == 0)
		return bytes_format(value, "%" PRIu64, group->size);
	if (folder && strcmp(key, "redundant") == 0)
		return bytes_format(value, "%" PRIu64, group_redundant(group));
	if (folder && strcmp(key, "reclaimable") == 0)
		return bytes_format(value, "%" PRIu64, group_reclaimable(group));
	return -ENODATA;
}

/* Appends the hash of the tree of one of the folders; all are equal. */
static int append_tree_hash(const struct view_query *query, uint64_t dir, struct bytes *value)
{
	const struct view_hooks *hooks = &query->view->hooks;
	char digits[HASH128_DIGITS + 1];
	struct hash128 hash;
	int r = hooks->tree_hash ? hooks->tree_hash(hooks->context, query->reader, dir, &hash)
				 : -ENODATA;

	if (r < 0)
		return r;
	hash128_format(hash, digits);
	return bytes_append_text(value, digits);
}

/* Gets the group of a node, and one of its folders. The node is the folder of a group of equal
 * folders, or one of them. */
static int own_equals(const struct view_query *query, uint64_t node, struct folder_group *group,
		      uint64_t *dir)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t id = node_id(node);
	int r = 0;

	if (node_kind(node) == NODE_FOLDER) {
		*dir = node_id(node);
		r = catalog_find_folder_group(query->reader, *dir, &id);
		if (r == 0 && (node_depth(node) > 0 || id == 0))
			r = -ENODATA;
		return r < 0 ? r : equals_get(query, id, group);
	}
	r = equals_get(query, id, group);
	if (r == 0)
		r = catalog_scan_folders(query->reader, group, 0, &scan);
	return r < 0 ? r : expect_record(catalog_next_folder(scan, dir));
}

/* Appends the value of an attribute of a group of equal folders, for its folder or for one of them.
 */
static int equals_value(const struct view_query *query, uint64_t node, const char *key,
			struct bytes *value)
{
	bool of_group = node_kind(node) == NODE_EQUALS;
	struct folder_group group;
	uint64_t dir = 0;
	int r = own_equals(query, node, &group, &dir);

	if (r < 0)
		return r;
	if (strcmp(key, "hash") == 0)
		return append_tree_hash(query, dir, value);
	if (strcmp(key, "copies") == 0)
		return bytes_format(value, "%" PRIu64, group.folders);
	if (of_group && strcmp(key, "size") == 0)
		return bytes_format(value, "%" PRIu64, group.bytes);
	if (of_group && strcmp(key, "reclaimable") == 0)
		return bytes_format(value, "%" PRIu64, group.ranked);
	return -ENODATA;
}

static int own_value(const struct view_call *call, uint64_t node, const char *key,
		     struct bytes *value)
{
	CLEANUP_QUERY struct view_query query = {0};
	struct group_record group = {0};
	struct file_record file = {0};
	uint64_t kind = node_kind(node);
	int r = query_begin_for(&query, call);

	if (r == 0)
		r = access_check_node(&query, node, F_OK);
	if (r < 0)
		return r;
	if (strcmp(key, "path") == 0) {
		if (!node_is_source_dir(node) && kind != NODE_FILE)
			return -ENODATA;
		r = kind == NODE_FILE ? file_get_version(&query, node, &file) : 0;
		if (r == 0)
			r = source_path_for(&query, node, value);
		return r == -ENOENT ? -ESTALE : r;
	}
	if (kind == NODE_EQUALS || kind == NODE_FOLDER)
		return equals_value(&query, node, key, value);
	r = own_group(&query, node, &group);
	return r < 0 ? r : group_value(&group, node, key, value);
}

/* ---- the sources' ------------------------------------------------------------------- */

/* Returns -ESTALE if the opened inode is not the indexed one. */
static int check_inode(struct catalog *catalog, int fd, const struct attributes *known)
{
	struct attributes now;
	int r = source_attributes(catalog, fd, &now);

	if (r < 0)
		return r;
	return attributes_same_inode(&now, known) ? 0 : -ESTALE;
}

/* Like getxattr(2), or like listxattr(2) if name is NULL. Uses the caller's credentials, as names
 * and access depend on the user. */
static long query_source(const struct view_call *call, int fd, const char *name, void *value,
			 size_t size)
{
	const struct fd_path path = fd_path(fd);
	long length;
	int r = call->caller ? caller_impersonate(call->caller) : 0;

	if (r < 0)
		return r;
	length = name ? getxattr(path.text, name, value, size) : listxattr(path.text, value, size);
	if (length < 0)
		length = -errno;
	if (call->caller)
		caller_revert();
	return length;
}

/* open_dir and open_file open the source of a node with O_PATH. Both return -ESTALE if the path
 * leads to another inode. */

static int open_dir(const struct view_query *query, uint64_t id)
{
	struct dir_record dir;
	int fd, r = catalog_get_dir(query->reader, id, &dir);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	/* a mount point, whose server can fail to respond: no attributes are read */
	if (dir.flags & DIR_NOT_ENTERED)
		return -ENODATA;
	fd = source_open_dir(query->view->sources, query->reader, id);
	if (fd < 0)
		return fd;
	r = check_inode(query->view->catalog, fd, &dir.attributes);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

static int open_file(const struct view_query *query, uint64_t node)
{
	struct file_record file;
	int r = file_get_version(query, node, &file);

	return r < 0 ? r : source_open_inode(query->view->sources, query->reader, &file);
}

/* Returns -ENODATA for a node outside the sources, and for a mount point. */
static int open_node(const struct view_call *call, uint64_t node)
{
	CLEANUP_QUERY struct view_query query = {0};
	bool is_dir = node_is_source_dir(node);
	int r;

	if (!is_dir && node_kind(node) != NODE_FILE)
		return -ENODATA;
	r = query_begin_for(&query, call);
	if (r == 0)
		r = access_check_node(&query, node, F_OK);
	if (r < 0)
		return r;
	return is_dir ? open_dir(&query, node_id(node)) : open_file(&query, node);
}

long view_getxattr(const struct view_call *call, uint64_t node, const char *name, void *value,
		   size_t size)
{
	CLEANUP_BYTES struct bytes own = {0};
	AUTO_CLOSE int fd = -1;

	if (is_own(name)) {
		int r = own_value(call, node, name + strlen(OWN_PREFIX), &own);

		return r < 0 ? query_error(call->view, r)
			     : copy_out(own.data, own.length, value, size);
	}
	if (is_hidden(call->view, name))
		return -ENODATA;
	fd = open_node(call, node);
	return fd < 0 ? query_error(call->view, fd) : query_source(call, fd, name, value, size);
}

/* Removes the names of twinfs and hidden names from a list of length bytes. Returns the remaining
 * length. */
static size_t remove_names(const struct view *view, char *list, size_t length)
{
	size_t kept = 0;

	for (size_t at = 0, next; at < length; at = next) {
		next = at + strlen(list + at) + 1;
		if (is_own(list + at) || is_hidden(view, list + at))
			continue;
		memmove(list + kept, list + at, next - at);
		kept += next - at;
	}
	return kept;
}

long view_listxattr(const struct view_call *call, uint64_t node, char *list, size_t size)
{
	AUTO_FREE char *all = malloc(XATTR_LIST_MAX);
	AUTO_CLOSE int fd = -1;
	long length;

	if (!all)
		return -ENOMEM;
	fd = open_node(call, node);
	if (fd == -ENODATA)
		return 0;
	if (fd < 0)
		return query_error(call->view, fd);
	length = query_source(call, fd, NULL, all, XATTR_LIST_MAX);
	if (length < 0)
		return length;
	return copy_out(all, remove_names(call->view, all, (size_t)length), list, size);
}

/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_ACCESS_H
#define VIEW_TREE_ACCESS_H

/* Permissions of a query's caller on the source. The kernel checks them under the caller's
 * credentials (view/tree/caller.h), so modes, ACLs, groups and rules of the file system apply.
 *
 * The whole path from / to the object counts, because a source can be below a directory that the
 * caller cannot search. The object found there must be the one in the index. Without this
 * condition, a user with write access to a directory could put another file in the place of an
 * unreadable file.
 *
 * To *reach* an object, the caller must be able to search each directory on its path. The caller
 * must already know the name of the object. To *find* a file, the caller must be able to list each
 * directory from the root of the source down, and to read the file. The file must also have its
 * indexed size and mtime. Only files that the caller finds are reported as equal.
 *
 * In the source, only the mounts that the view enters are entered (--cross-file-systems). On the
 * path from / to the source, only the mounts that contain the source are entered
 * (view/tree/access.c). Other mounts are avoided, because the server of a mount that a user made
 * can delay a request forever.
 *
 * Functions return 0, -EACCES if access is refused or the source no longer has the object, or
 * another -errno. Each accesses the source and can block on it. Except in access_check_own, a query
 * without a caller is always allowed, without an access to the source. Any thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "view/tree/query.h"

struct kept_rank;
struct location;

/* Checks whether the caller can reach a node and access it: F_OK, R_OK (list, open), X_OK (look up
 * names in it). For .twinfs/, by-size/ and folders/ only the kind of the node counts.
 * view/tree/visible_copies.h decides which groups and copies are visible. Returns -ESTALE if the
 * index no longer has the node. */
MUST_CHECK int access_check_node(const struct view_query *query, uint64_t node, int access);

/* Like access_check_node, with the permissions of this process, for a query without a caller. Nodes
 * outside the sources are always allowed. */
MUST_CHECK int access_check_own(const struct view_query *query, uint64_t node, int access);

/* Checks whether the caller finds a file by this name. */
MUST_CHECK int access_find_name(const struct view_query *query, const struct file_record *file,
				uint64_t dir, uint64_t cookie);

/* Sets what belongs to a name in a rank: location is where it is, and path is its path in the
 * source, borrowed. Appends a NUL that its length does not count. Returns 0 or -ENOMEM. */
MUST_CHECK int access_rank_name(const struct view_query *query, struct bytes *path,
				const struct location *location, struct kept_rank *rank);

/* Checks whether the caller finds a file by any of its names. Sets the rank to that of the
 * preferred such name (index/kept.h), and path, which the rank borrows, to its path in the
 * source. The query must have a caller. */
MUST_CHECK int access_find_file(const struct view_query *query, const struct file_record *file,
				struct bytes *path, struct kept_rank *rank);

#endif

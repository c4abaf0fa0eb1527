/* SPDX-License-Identifier: MIT */
#ifndef VIEW_ACCESS_H
#define VIEW_ACCESS_H

/* What the caller of a query may do at the source. The kernel is asked, as the caller
 * (base/caller.h): it knows modes, ACLs, groups and whatever a file system has besides.
 *
 * What counts is the way from / to the thing: a source may lie in a folder that he cannot enter.
 * What stands there must be what the index means: who may write to a folder could put something of
 * his own in the place of what he may not read.
 *
 * To *reach* a thing is to be able to search each folder on the way to it; for that he must know
 * its name. To *find* a file is to come to it by listing folders from the root of its source down,
 * to be able to read it, and that nobody seems to have written to it since the index knows it: who
 * is equal to whom is told of such files only.
 *
 * No mount is entered that the view does not enter (--cross-file-systems), and on the way from / none
 * but those that the source is below (view/source_root.h): a server of a file system that a user
 * mounted can hold the request forever.
 *
 * All give 0 where he may; -EACCES where he may not, or where nobody can say because the thing is
 * not there any more; or another -errno. Each asks the source, and may block on it. A query without
 * a caller may do anything, at no cost. Any thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "view/query.h"

/* May he reach a node, and do this with it: F_OK, R_OK (list, open), X_OK (look up names in it)?
 * Only that of .twinfs/ and by-size/ is decided by what it is; what is shown of a group is the
 * affair of view/visible_copies.h. -ESTALE: the node is gone. */
MUST_CHECK int access_check_node(const struct view_query *query, uint64_t node, int access);

/* The same of who this process is, for a query without a caller: of what lies at a source. */
MUST_CHECK int access_check_own(const struct view_query *query, uint64_t node, int access);

/* Does he find a file by this name? */
MUST_CHECK int access_find_name(const struct view_query *query, const struct file_record *file,
				uint64_t dir, uint64_t cookie);

/* Does he find it by any name? path becomes the first one, by source and path, in its source. For a
 * query with a caller. */
MUST_CHECK int access_find_file(const struct view_query *query, const struct file_record *file,
				struct bytes *path, uint32_t *source);

#endif

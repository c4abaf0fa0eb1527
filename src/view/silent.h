/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SILENT_H
#define VIEW_SILENT_H

/* Files whose times may stay as they are while their bytes change (base/filesystem_kind.h). Who opens
 * or reads one asks the kernel for a writer, by a read lease. */

#include "base/attributes.h"
#include "view/query.h"
#include "view/view.h"

struct file_record;

/* Sets what the file system of an open file tells of changes. Where that is not known: nothing. */
void silent_examine(struct view_file *file);

/* Was the open file not written to since it was compared with those of its group, where neither a time nor
 * an event that was read need tell? Its bytes are read, and their hash is compared with that of the group.
 * A file in no group is not read, nor one that is larger than VIEW_VERIFIED_MAX, nor one on a file system
 * whose times tell in the end. The snapshot ends. Blocks on the source.
 *
 * 0; VIEW_RECOMPARE: its bytes are others, or somebody has it open for writing, and view->written was
 * called; -EINTR, or another -errno. */
MUST_CHECK int silent_verify(struct view_query *query, const struct view_file *file,
			     const struct file_record *record);

/* Called after each read from a file that is probed. What was read from a file in no group is as good as a
 * read from the source; of one in a group that somebody has open for writing: -ESTALE, as it may not be
 * what was compared. 0, or another -errno. */
MUST_CHECK int silent_check_read(struct view *view, struct view_file *file);

#endif

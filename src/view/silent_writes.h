/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SILENT_WRITES_H
#define VIEW_SILENT_WRITES_H

/* Detection of silent writes: on some file systems a write can leave the times of a file unchanged
 * (base/filesystem_kind.h). A read lease, requested at open and read, detects a writer. */

#include "base/attributes.h"
#include "view/query.h"
#include "view/view.h"

struct file_record;

/* Sets times_unreliable and lease_checked by the file system of an open file. An unknown file
 * system has unreliable times and leases. */
void silent_writes_classify(struct view_file *file);

/* Verifies that an open file was not written to since its comparison. If a write can leave the
 * signature unchanged and cause no event, reads the file and compares its hash with that of its
 * group. Before that, ends the snapshot of the query. Blocks on the source.
 *
 * Three kinds of files are not read: files in no group, files larger than VIEW_VERIFIED_MAX, and
 * files whose times change in the end after every write.
 *
 * Returns 0, VIEW_RECOMPARE if the bytes differ or a program has the file open for writing, or
 * -errno, such as -EINTR. Before VIEW_RECOMPARE, the hook writer_found was called. */
MUST_CHECK int silent_writes_verify(struct view_query *query, const struct view_file *file,
				    const struct file_record *record);

/* Must be called after each read from a file that is lease_checked. A file in no group always
 * passes. Returns 0, -ESTALE if the file is in a group and a program has it open for writing, or
 * another -errno. */
MUST_CHECK int silent_writes_check_read(struct view *view, struct view_file *file);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORING_H
#define BACKUP_RESTORING_H

/* A restore at work: what its parts share. Only backup/ includes this. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "backup/manifest_reader.h"
#include "backup/restore.h"
#include "backup/restore_folder.h"
#include "backup/staging.h"
#include "base/copier.h"
#include "base/xattrs.h"

struct restoring {
	const struct restore_settings *settings;
	struct restore_result *result;
	int backup; /* both are open directories */
	int target;
	struct stat backup_status;
	struct stat target_status;
	struct restore_folder folder;
	struct staging staging;
	struct copier copier;
	struct xattrs xattrs; /* of the file of the backup that is at hand */
	struct progress progress;
	struct progress_counts counts;
};

/* Something that is to be in the target. All pointers are borrowed. */
struct thing {
	int from; /* what has its bytes in the backup: open for reading, or by O_PATH where they
		   * are not read */
	const struct stat *status; /* of that */
	const struct metadata *metadata;
	const struct hash128 *hash; /* of its bytes; NULL: not known */
	bool linked; /* it becomes a hard link of what from is */
	const char *key; /* for staging_place(); NULL where it has one name */
	unsigned long names; /* of its inode */
	int directory; /* where it is to be, by O_PATH */
	const char *name;
};

/* Outcomes, besides those of copy_bytes(); restoring_reason() has words for all. */
enum {
	RESTORING_DIFFERS = 3, /* the bytes are not those of the hash */
	RESTORING_NOT_SHARED = 4, /* blocks cannot be shared; it ends the work */
};

/* Makes it, unless it is there since before an interruption. 0, an outcome, or -errno of the
 * target. */
MUST_CHECK int restoring_make(struct restoring *restoring, const struct thing *thing);

/* What a result of the above means, for people. */
const char *restoring_reason(const struct restoring *restoring, int result);

/* Whether it is of no use to go on after such a result. */
bool restoring_is_over(int result);

/* Says that a path of the target is not restored, and counts it. 0, or -errno where the work is
 * over.
 *
 * path	length bytes
 */
MUST_CHECK int restoring_fail(struct restoring *restoring, const char *path, size_t length,
			      int result);

/* One thing more is done. */
void restoring_count(struct restoring *restoring);

/* Makes all that the backup has, but for the metadata of directories; then that. 0 or -errno. */
MUST_CHECK int restore_tree(struct restoring *restoring);
MUST_CHECK int restore_directories(struct restoring *restoring);

/* Gives the target itself the metadata of the backup's root, with more bits of a mode. 0 or
 * -errno. */
MUST_CHECK int restore_root(struct restoring *restoring, mode_t more);

/* Makes all names of a manifest that was just begun. 0 or -errno, of the manifest said. */
MUST_CHECK int restore_names(struct restoring *restoring, struct manifest_reader *reader);

#endif

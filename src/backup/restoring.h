/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORING_H
#define BACKUP_RESTORING_H

/* The state of a restore, shared by its parts. Only backup/ includes this header. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "backup/manifest.h"
#include "backup/restore.h"
#include "backup/restore_only.h"
#include "backup/staging.h"
#include "base/copier.h"
#include "base/xattrs.h"

struct restoring {
	const struct restore_settings *settings;
	struct restore_result *result;
	int backup; /* open directory */
	int target; /* open directory */
	struct stat backup_status;
	struct stat target_status;
	struct restore_folder folder;
	struct staging staging;
	struct copier copier;
	struct xattrs xattrs; /* of the current file of the backup */
	uint64_t times_noted; /* of result->refused.times */
	struct progress progress;
	struct progress_counts counts;
};

/* A file to be made in the target: any type but a directory. All pointers are borrowed. */
struct target_file {
	int from; /* the file in the backup that has the bytes; open for reading, or O_PATH if the
		   * bytes are not read */
	const struct stat *status; /* of from */
	const struct metadata *metadata; /* of the new file */
	const struct hash128 *hash; /* of its bytes; NULL: unknown */
	bool as_it_is; /* also make the file if its bytes do not match the hash */
	bool linked; /* the new file is a hard link of from */
	const char *key; /* for staging_place(); NULL if the inode has one name */
	unsigned long names; /* number of names of the inode */
	int directory; /* O_PATH, the directory in the target that will contain the file */
	const char *name;
};

/* Outcomes of restoring_make(), besides those of copy_bytes(). */
enum {
	/* the bytes do not match the hash; the file was made only if it is to be made as it is */
	RESTORING_DIFFERS = 3,
	RESTORING_NOT_SHARED = 4, /* the file systems cannot share blocks; aborts the restore */
};

/* Makes the file, unless an interrupted restore has made it. Returns 0, an outcome, -EINTR if
 * stop_requested(), or another -errno. */
MUST_CHECK int restoring_make(struct restoring *restoring, const struct target_file *file);

/* Returns the text for a result of restoring_make(). */
const char *restoring_reason(const struct restoring *restoring, int result);

/* Returns true if the restore must be aborted after this result. */
bool restoring_is_fatal(int result);

/* If the restore must be aborted after this result, logs why, except for -EINTR, and returns
 * -errno. If not, logs that the path is not restored, counts the failure, and returns 0.
 *
 * path	length bytes
 */
MUST_CHECK int restoring_fail(struct restoring *restoring, const char *path, size_t length,
			      int result);

/* If the time of the path could not be stored, logs that. Must be called after each path. */
void restoring_note_time(struct restoring *restoring, const char *path, size_t length);

/* Marks the files in the target as untrusted, because a file of the backup is damaged: the restored
 * file is damaged as well, although its size and time are right. Returns 0 or -errno (logged). */
MUST_CHECK int restoring_distrust(const struct restoring *restoring);

/* Counts a processed file for the progress display. */
void restoring_count(struct restoring *restoring);

/* Restores all names of the backup, but not the metadata of directories. If the manifest has all
 * names, checks the bytes of each file against its hash. Returns 0, or -errno if the restore must
 * be aborted.
 *
 * reader	a manifest whose header was just read
 */
MUST_CHECK int restore_tree(struct restoring *restoring, struct manifest_reader *reader);

/* Sets the metadata of all directories below the target. Returns 0, or -errno if the restore must
 * be aborted. */
MUST_CHECK int restore_directories(struct restoring *restoring);

/* Sets the metadata of the target to the metadata of the backup's root. Returns 0, or -errno if the
 * restore must be aborted.
 *
 * more		bits that are added to the mode
 */
MUST_CHECK int restore_root(struct restoring *restoring, mode_t more);

/* Sets the flags of the names of a manifest, the last thing that can be done with some of them. A
 * name whose flags cannot be set is logged and counted. Returns 0, -EINTR or another -errno. */
MUST_CHECK int restore_flags(struct restoring *restoring, struct manifest_reader *checked);

/* Sets the flags of the root, after which the target possibly cannot be changed. */
void restore_root_flags(struct restoring *restoring, const struct manifest_reader *checked);

/* Restores all names of a manifest whose header was just read. Returns 0, or -errno if the restore
 * must be aborted. */
MUST_CHECK int restore_names(struct restoring *restoring, struct manifest_reader *reader);

#endif

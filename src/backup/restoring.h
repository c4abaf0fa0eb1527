/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORING_H
#define BACKUP_RESTORING_H

/* The state of a restore, shared by its parts. Only backup/ includes this header. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backup/manifest.h"
#include "backup/restore.h"
#include "base/attributes.h"
#include "base/copier.h"
#include "base/metadata.h"
#include "index/own.h"

/* ---- the staging folder --------------------------------------------------------------------- */

/* The staging folder of a restore, which exists in its target until all files are restored:
 *
 *	TARGET/.twinfs-restore/state    the task (manifest and way), and the boot and mount in which
 *	                                the restore began
 *	                       file     the file that is being made
 *	                       links/   one name for each inode that gets several names
 *
 * A file is completed in the folder and then moved to its name by a single rename or link. So each
 * name in TARGET is that of a complete file, unless the machine crashed or the disk was
 * disconnected. One thread.
 */

/* ---- restore folder ------------------------------------------------------------------------- */

/* The name of the staging folder in the target: the first of .twinfs-restore, .twinfs-restore~2 and
 * so on that is missing from the top level of both manifest and backup. A repeated command
 * therefore finds the same folder again. One thread. */

/* Number of names that are tried. */
#define RESTORE_FOLDERS_MAX 64

struct restore_folder {
	bool taken[RESTORE_FOLDERS_MAX]; /* for each name: the manifest uses it */
};

/* If the first component of a path in the manifest is one of the names, marks it as taken. */
void restore_folder_note(struct restore_folder *folder, const void *path, size_t length);

/* Sets name to the first free one. Returns 0, or -EEXIST if all names are taken; name is then the
 * last one.
 *
 * backup	an open directory
 */
MUST_CHECK int restore_folder_choose(const struct restore_folder *folder, int backup,
				     char name[static RESTORE_FOLDER_SIZE]);

/* Outcomes: the backup contains the staging folder of an unfinished restore. */
enum {
	/* of a restore of the same manifest: the backup is its incomplete target */
	RESTORE_FOLDER_SAME = 1,
	/* of another restore: the folder was possibly a part of the source */
	RESTORE_FOLDER_OTHER = 2,
};

/* Searches the backup for a staging folder. Returns 0 or an outcome.
 *
 * task		text with which the state file begins if the restore is of the same manifest
 */
MUST_CHECK int restore_folder_in_backup(int backup, const char *task);

/* ---- staging -------------------------------------------------------------------------------- */

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	STAGING_NOT_EMPTY = 1, /* TARGET has entries, but no usable staging folder */
	STAGING_OTHER = 2, /* the folder belongs to another task */
	STAGING_BUSY = 3, /* another process has locked the folder */
	STAGING_ENDED = 4, /* all files are restored, and the empty folder is a leftover */
	STAGING_ENDING = 5, /* all files are restored, but staging_remove() was interrupted */
	STAGING_SPLIT = 6, /* the file is separate, as the file system refused a hard link */
};

struct staging {
	int target; /* borrowed */
	const char *name; /* name of the folder in target; borrowed */
	int folder; /* open, locked; -1: none */
	int links; /* open; -1: none */
	bool resumed; /* files of an interrupted restore possibly exist */
	uint64_t task; /* hash of the text of the task */
	off_t since; /* offset of boot and mount in the state file */
	/* if resumed: the existing files are complete, as boot and mount are the same and
	 * staging_distrust() was not called */
	bool trusted;
};

/* Makes the folder, or opens the folder of an interrupted restore of the same task.
 *
 * name		of the folder
 * task		a few lines of text that identify the manifest and the way of the restore
 *
 * Returns 0, an outcome, or -errno. Nothing is changed if the result is an outcome. The caller must
 * call staging_deinit() in all cases. */
MUST_CHECK int staging_init(struct staging *staging, int target, const char *name,
			    const char *task);

/* Marks all files in the target as untrusted, so that the next resumed restore reads them again.
 * Returns 0 or -errno. */
MUST_CHECK int staging_distrust(const struct staging *staging);

/* Closes the folder, which stays in the target. */
void staging_deinit(struct staging *staging);

/* Removes the folder with its contents. Before that, gives the target a mark, which is an extended
 * attribute. If the restore is interrupted before staging_unmark(), the next staging_init() detects
 * the mark and returns STAGING_ENDING. Then staging_remove() can be called again. On a file system
 * without extended attributes there is no mark. Returns 0 or -errno. */
MUST_CHECK int staging_remove(struct staging *staging);

/* Removes the mark from the target, as the last step of a restore. */
void staging_unmark(const struct staging *staging);

/* Moves STAGING_FILE to its name in an open directory. An existing file of that name is replaced
 * only if it is untrusted.
 *
 * key	name of the inode in links/; NULL: the inode gets no further names
 *
 * Returns 0, STAGING_SPLIT, -EEXIST or another -errno. */
MUST_CHECK int staging_place(const struct staging *staging, const char *key, int directory,
			     const char *name);

/* Gives the inode in links/ another name. An existing file is treated as by staging_place().
 *
 * names final number of names of the inode, 0 if unknown. The name in links/ becomes the last one
 *
 * Returns 0, STAGING_SPLIT, -ENOENT if links/ does not have the inode, or another -errno. */
MUST_CHECK int staging_link(const struct staging *staging, const char *key, int directory,
			    const char *name, unsigned long names);

/* ---- the restore ---------------------------------------------------------------------------- */

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

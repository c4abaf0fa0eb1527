/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_H
#define BACKUP_RESTORE_H

/* Restores a whole tree from a copy of uniques/ and its manifest. One thread; blocks on the disk.
 *
 * 1. The whole manifest is read. If it is invalid, nothing is written.
 * 2. All names of the backup are made in the target; directories have mode 0700 at first.
 * 3. Each name of the manifest is made from its content in the backup. The content's hash is
 *    checked.
 * 4. Directories get their metadata, the deepest first.
 * 5. The target is flushed to disk.
 * 6. If no name failed, the staging folder is removed, and flags such as "immutable" are set.
 *
 * Each copied file is made in the staging folder (backup/restoring.h), so that an interrupted
 * restore can be resumed. Symlinks in the backup and in the target are not followed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/metadata.h"
#include "base/progress.h"
#include "base/text.h"
#include "index/own.h"

/* Name of the staging folder in the target (backup/restoring.h). A number is appended if the name
 * is in use. */
#define RESTORE_FOLDER STAGING_NAME
#define RESTORE_FOLDER_SIZE (sizeof(RESTORE_FOLDER) + 8)

enum restore_way {
	RESTORE_COPY, /* copies bytes */
	RESTORE_LINK, /* makes hard links to files of the backup; copies if the metadata differs */
	RESTORE_REFLINK, /* makes files that share their blocks with files of the backup */
};

/* All strings are borrowed. */
struct restore_settings {
	const char *manifest;
	const char *backup;
	const char *target;
	enum restore_way way;
	struct restore_only *only; /* which names */
	enum progress_when progress;
};

struct restore_result {
	uint64_t files; /* names restored from the backup, without directories */
	uint64_t copies; /* names restored from the manifest */
	uint64_t bytes; /* copied by this run */
	uint64_t failed; /* names and directories that were not restored; each is logged */
	uint64_t split; /* hard links restored as separate files: the file system refused them */
	/* what this user may not set, or the target cannot store; each time is logged */
	struct metadata_refused refused;
	uint64_t flags; /* names whose flags (base/metadata.h) could not be set; each is logged */
	char folder[RESTORE_FOLDER_SIZE]; /* the staging folder; it stays if a name failed */
};

/* Restores the tree and fills in the result. Returns 0 if the restore reached its end, even if
 * names failed. Returns -EINTR if stop_requested(), or another -errno. Failures are logged. */
MUST_CHECK int restore_run(const struct restore_settings *settings, struct restore_result *result);

/* ---- selected names ------------------------------------------------------------------------- */

/* The names that a restore brings back, if not all: some paths, and everything below them. Paths
 * are those of a manifest. One thread. */

struct restore_only {
	struct text_list paths; /* none: all names */
	bool *found; /* for each path: restore_only_note() met it */
	size_t found_capacity;
};

void restore_only_free(struct restore_only *only);

/* Adds a path. Slashes at its end are ignored. Returns 0, -EINVAL if no manifest can have the path,
 * or -ENOMEM. */
MUST_CHECK int restore_only_add(struct restore_only *only, const char *path);

enum restore_part {
	RESTORE_NOTHING, /* of the path and of all names below it */
	RESTORE_ABOVE, /* the path is a directory above a path to restore */
	RESTORE_WHOLE, /* the path and everything below it */
};

/* Returns what of a path is restored. "" is the root. */
enum restore_part restore_only_part(const struct restore_only *only, const void *path,
				    size_t length);

/* Notes that a path exists. */
void restore_only_note(struct restore_only *only, const void *path, size_t length);

/* Returns a path that was not noted and does not exist in the backup, or NULL.
 *
 * backup	an open directory
 */
const char *restore_only_find_missing(const struct restore_only *only, int backup);

#endif

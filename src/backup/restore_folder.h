/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_FOLDER_H
#define BACKUP_RESTORE_FOLDER_H

/* The name of the staging folder in the target: the first of .twinfs-restore, .twinfs-restore~2 and
 * so on that is missing from the top level of both manifest and backup. A repeated command
 * therefore finds the same folder again. One thread. */

#include <stdbool.h>
#include <stddef.h>

#include "backup/restore.h"
#include "base/attributes.h"

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

#endif

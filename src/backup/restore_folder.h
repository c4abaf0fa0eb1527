/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_FOLDER_H
#define BACKUP_RESTORE_FOLDER_H

/* The name of the staging folder in the target: .twinfs-restore, or .twinfs-restore~2 and so on if
 * a source contains that name. It is the first name that exists at the top level of neither the
 * manifest nor the backup, so the same command finds the same folder again. One thread. */

#include <stdbool.h>
#include <stddef.h>

#include "backup/restore.h"
#include "base/attributes.h"

/* Number of names that are tried. */
#define RESTORE_FOLDERS_MAX 64

struct restore_folder {
	bool taken[RESTORE_FOLDERS_MAX]; /* names in use in the manifest */
};

/* Marks the name as taken if the path of the manifest begins with it. */
void restore_folder_note(struct restore_folder *folder, const void *path, size_t length);

/* Chooses the name. Returns 0, or -EEXIST if all are taken; name is then the last one tried.
 *
 * backup	an open directory
 */
MUST_CHECK int restore_folder_choose(const struct restore_folder *folder, int backup,
				     char name[static RESTORE_FOLDER_SIZE]);

/* Outcomes: the backup contains the staging folder of an unfinished restore. */
enum {
	RESTORE_FOLDER_SAME = 1, /* of the same task: the backup is its target and incomplete */
	RESTORE_FOLDER_OTHER = 2, /* of another task: the folder may be part of the source */
};

/* Searches the backup for a staging folder. Returns 0 or an outcome.
 *
 * task		the beginning of the state file of the same task
 */
MUST_CHECK int restore_folder_in_backup(int backup, const char *task);

#endif

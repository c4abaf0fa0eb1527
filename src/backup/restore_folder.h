/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_FOLDER_H
#define BACKUP_RESTORE_FOLDER_H

/* The name of the staging folder in the target: .twinfs-restore, or .twinfs-restore~2 and so on if
 * a source contains .twinfs-restore. The first name is chosen that is missing from the top level of
 * both manifest and backup. A repeated command therefore finds the same folder again. One
 * thread. */

#include <stdbool.h>
#include <stddef.h>

#include "backup/restore.h"
#include "base/attributes.h"

/* Number of names that are tried. */
#define RESTORE_FOLDERS_MAX 64

struct restore_folder {
	bool taken[RESTORE_FOLDERS_MAX]; /* for each name: the manifest uses it */
};

/* Marks a name as taken if it is the first component of a path in the manifest. */
void restore_folder_note(struct restore_folder *folder, const void *path, size_t length);

/* Chooses the name. Returns 0. If all names are taken, returns -EEXIST and sets name to the last
 * name tried.
 *
 * backup	an open directory
 */
MUST_CHECK int restore_folder_choose(const struct restore_folder *folder, int backup,
				     char name[static RESTORE_FOLDER_SIZE]);

/* Outcomes: the backup contains the staging folder of an unfinished restore. */
enum {
	/* of the same task: the backup is the incomplete target of that task */
	RESTORE_FOLDER_SAME = 1,
	/* of another task: the folder was possibly a part of the source */
	RESTORE_FOLDER_OTHER = 2,
};

/* Searches the backup for a staging folder. Returns 0 or an outcome.
 *
 * task		text that the state file of the same task begins with
 */
MUST_CHECK int restore_folder_in_backup(int backup, const char *task);

#endif

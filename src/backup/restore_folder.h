/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_FOLDER_H
#define BACKUP_RESTORE_FOLDER_H

/* The name of the folder that a restore has for itself in its target: .twinfs-restore, or
 * .twinfs-restore~2 and so on where a source has that name. It is the first one that neither the
 * manifest nor the backup has at its top, so the same command finds the same folder again. One
 * thread. */

#include <stdbool.h>
#include <stddef.h>

#include "backup/restore.h"
#include "base/attributes.h"

/* Such names that are tried. */
#define RESTORE_FOLDERS_MAX 64

struct restore_folder {
	bool taken[RESTORE_FOLDERS_MAX];
};

/* Takes note of a path of the manifest, of length bytes. */
void restore_folder_note(struct restore_folder *folder, const void *path, size_t length);

/* Chooses the name. 0, or -EEXIST where all are taken.
 *
 * backup	an open directory
 */
MUST_CHECK int restore_folder_choose(const struct restore_folder *folder, int backup,
				     char name[static RESTORE_FOLDER_SIZE]);

/* Outcomes: there is a folder in the backup like that of a restore which has not ended. */
enum {
	RESTORE_FOLDER_SAME =
		1, /* of the same task: the backup is its target, where files are missing */
	RESTORE_FOLDER_OTHER = 2, /* of another one: it was perhaps in the source */
};

/* Looks for that. 0 or an outcome.
 *
 * task		the begin of what the state of the folder says
 */
MUST_CHECK int restore_folder_in_backup(int backup, const char *task);

#endif

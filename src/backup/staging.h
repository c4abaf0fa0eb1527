/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_STAGING_H
#define BACKUP_STAGING_H

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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/restore.h"
#include "base/attributes.h"
#include "index/own.h"

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

/* Returns whether an errno of linkat(2) means that the file system refuses a further hard link. FAT
 * refuses all hard links. Other file systems limit the links of an inode. */
bool staging_is_without_links(int error);

/* Removes STAGING_FILE, if it exists. */
void staging_drop(const struct staging *staging);

#endif

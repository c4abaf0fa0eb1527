/* SPDX-License-Identifier: MIT */
#ifndef INDEX_OWN_H
#define INDEX_OWN_H

/* What is twinfs's own, and so never content: a walk leaves it out, and no act touches it.
 *
 *	folders		the default folder of the indexes of this user, which also has the promises,
 *			and the folder of the index in use. All folders and files in them are found
 *			by file system and inode, also through a bind mount or a hard link. Files
 *			in them come and go, and other files then get their inode numbers, so the
 *			type and the time of birth belong to an inode. Without such times, the
 *			inode must still be where it was found.
 *	marked folders	folders of other indexes and of other users (index/store/index_files.h).
 *	Only the
 *			files that twinfs makes in them are its own.
 *	private names	the names of files and folders during an act, and the staging folder of a
 *			restore.
 *
 * A copy that a user made of such a folder is content of the user: it has other inodes, and its
 * mark is not valid. A struct own is made before threads start, then read by any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "index/record.h"

struct catalog;

/* Prefix of a quarantine name: the name of a file or folder in its directory during an act. */
#define QUARANTINE_PREFIX ".twinfs~"
#define QUARANTINE_NAME_SIZE (sizeof(QUARANTINE_PREFIX) + 16)

/* Name of the staging folder of a restore; "~2" and so on can follow. */
#define STAGING_NAME ".twinfs-restore"
#define STAGING_STATE "state"
#define STAGING_NEW_STATE "state.new"
#define STAGING_LINKS "links"
#define STAGING_FILE "file"

struct own_inode {
	uint32_t filesystem; /* the catalog's number */
	uint32_t type; /* S_IFDIR and so on */
	uint64_t inode;
	struct timespec born; /* {0, 0} if the file system has no birth time */
	char *path; /* where it was found, if it has no birth time; else NULL */
};

struct own {
	struct own_inode *list; /* sorted */
	size_t count, capacity;
};

/* Sets *folder to the path of the default folder of the indexes of this user, which the caller
 * frees. It need not exist. For the main thread. Returns 0, -ENOENT if the user has no home folder,
 * or -ENOMEM. */
MUST_CHECK int own_state_folder(char **folder);

/* Opens the default folder, O_PATH. Returns the descriptor, or -errno. */
MUST_CHECK int own_open_state_folder(void);

/* Returns whether a folder is the default folder, is in it, or is marked. A source or destination
 * there would hold what a walk leaves out. False if the folder does not exist. */
bool own_is_in_state(const char *folder);

/* Finds the default folder, and that of the index of this catalog, with all that is in them. What
 * cannot be read is left out. Returns 0 or -ENOMEM. */
MUST_CHECK int own_load(struct own *own, struct catalog *catalog);

/* Adds a folder with all that is in it. Returns 0 or -ENOMEM. */
MUST_CHECK int own_add(struct own *own, struct catalog *catalog, const char *folder);
void own_free(struct own *own);

/* Returns whether a file or folder with these attributes is in one of the folders, or is one. */
bool own_has(const struct own *own, const struct attributes *attributes);

/* Returns whether an open directory, which can be O_PATH, has files of twinfs, so that no act may
 * touch a file in it. */
bool own_has_directory(const struct own *own, struct catalog *catalog, int directory);

/* Returns whether this is the name of a file that twinfs makes in a folder of its own. */
bool own_is_file_name(const char *name, size_t length);

/* Returns whether this is the name of the mark of such a folder. */
bool own_is_mark(const char *name, size_t length);

/* Returns whether an open directory is marked, so that such a file in it is one of twinfs. */
bool own_is_marked(int directory);

/* Returns whether a folder is the staging folder of a restore that runs or was interrupted. One
 * into which the user put anything else is not.
 *
 * directory, path	where the folder is; "." for the directory itself */
bool own_is_staging(int directory, const char *name, const char *path);

/* Returns whether this is a quarantine name. */
bool own_is_quarantine(const char *name, size_t length);

/* Returns whether a relative path has a component that is a private name. */
bool own_is_private_path(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STORE_INDEX_FILES_H
#define INDEX_STORE_INDEX_FILES_H

/* Access to the files of an index, for every module that opens one. Any thread.
 *
 * A process trusts its index: it renames files according to the journal, and LMDB trusts every
 * page. Therefore an index of another user is never opened, not even by root. A query that changes
 * nothing can read a checked copy of it (index/integrity.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Opens the folder of an index, and checks the owners of the folder and of each file of the index.
 * If other users have write permission for the folder, removes this permission first.
 *
 * folder	its last component must not be a symbolic link
 * fd		set to the descriptor of the folder, which the caller closes. All further accesses
 *		use it, so that replacing the folder has no effect.
 *
 * Returns 0 or -errno. Returns -EPERM if the folder or a file in it is a symbolic link or does not
 * belong to the effective user. Logs nothing. */
MUST_CHECK int index_folder_open(const char *folder, int *fd);

/* Opens the folder of an index that belongs to any user. Nothing in it may be trusted or changed.
 * Returns 0, -EPERM for a symbolic link, or another -errno. */
MUST_CHECK int index_folder_open_any(const char *folder, int *fd);

/* Opens the folder of an index, and changes nothing. Returns 0, -EPERM if the folder or a file of
 * the index is a symbolic link, belongs to another user, or can be written by other users, or
 * another -errno. */
MUST_CHECK int index_folder_open_private(const char *folder, int *fd);

/* Creates the folder and its parents with mode 0700, if they are missing. Returns 0 or -errno. */
MUST_CHECK int index_folder_make(const char *folder);

/* Returns whether this is the name of a file that twinfs makes in a folder of its own: a file of an
 * index, the log of acts, promises, the mark of the folder, or the new version of one of them. */
bool index_file_is_own(const char *name, size_t length);

/* Marks a folder of this user as one of twinfs, unless it has its mark. A mark that cannot be
 * written is left out. */
void index_folder_mark(int folder_fd);

/* Returns whether the folder has a valid mark: index_folder_mark() made it, and it is no copy. A
 * file in it with index_file_is_own() is then used by twinfs. Other users can make a mark in a
 * folder of theirs, which hides no other names. folder_fd can be O_PATH. Any thread. */
bool index_folder_is_live(int folder_fd);

/* Returns whether the folder has the mark of another one, so it was copied or restored from one of
 * twinfs. False where inode numbers do not last, as then this cannot be known. */
bool index_folder_is_copy(int folder_fd);

/* Finds what a folder has. A missing folder has nothing.
 *
 * is_index	set to whether it has a file of an index
 * other	set to the name of another file if it has no file of an index, else to NULL; the
 *		caller frees it. The folder lost+found of a file system is ignored, and so are the
 *		log and the order of acts, which can be left of an earlier index, and the mark.
 *
 * Returns 0 or -errno. */
MUST_CHECK int index_folder_examine(const char *folder, bool *is_index, char **other);

/* Removes all files of an index, and temporary ones, except the log of acts. The caller holds the
 * lock of the index, whose file is removed last. Returns 0 or -errno. */
MUST_CHECK int index_files_remove(int folder_fd);

/* Returns whether the folder has no index yet. */
bool index_is_empty(int folder_fd);

/* Replaces a small file in the folder atomically. durable: the new file stays if the machine stops
 * after that; otherwise the old one possibly comes back. Returns 0 or -errno. */
MUST_CHECK int index_file_replace(int folder_fd, const char *name, const char *text, bool durable);

/* Replaces a small file in the folder without a sync. If the process or the machine stops, the file
 * is possibly old, empty or torn. Returns 0 or -errno. */
MUST_CHECK int index_file_write(int folder_fd, const char *name, const char *text);

/* Makes a file of an index accessible only to its owner. Does not call chmod(2) if the mode is
 * already right: a confined daemon may not call it (base/confine.h). Returns 0 or -errno. */
MUST_CHECK int make_private(int folder_fd, const char *name);

/* Reads the text of a small file in the folder, truncated to size - 1 bytes. Returns 0 or
 * -errno. */
MUST_CHECK int index_file_read(int folder_fd, const char *name, char *text, size_t size);

/* ---- ids ------------------------------------------------------------------------------------ */

/* The unused ids of files, directories and groups. For the process that writes the index. */

/* Returns the first id that is not reserved. Every id is reserved on the disk before it is used. So
 * no id is used twice, even if the data file is lost. */
uint64_t index_reserved_ids(int folder_fd);

/* Reserves all ids below next, and no others. durable: false if fewer are reserved than before; if
 * the machine stops, they possibly stay reserved. Returns 0 or -errno. */
MUST_CHECK int index_reserve_ids(int folder_fd, uint64_t next, bool durable);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INTEGRITY_H
#define INDEX_INTEGRITY_H

/* Checks that the index on disk is what was written. Only index includes this.
 *
 * LMDB has no checksums and trusts every page. A damaged page can crash the process that reads the
 * page. So a clean close writes a seal: the size and hash of the data file. The seal is removed
 * before the first change. If a data file has no valid seal, or a process that had it open for
 * writing was killed, a child process reads all of it before this process opens it.
 *
 * folder_fd is the descriptor of the index folder. Unless noted otherwise, the caller must hold the
 * lock of the index, this process must not have the index open, and the functions return 0 or
 * -errno.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/catalog.h"

struct catalog_reader;
struct store;

/* Checks only the format and changes nothing. Returns CATALOG_NEWER or CATALOG_OLDER for an index
 * that this program cannot check, else CATALOG_OPENED. If it cannot be read, catalog_open() reports
 * the error later. Can crash if the index is damaged. */
enum catalog_open_outcome index_examine_format(const char *folder);

/* Checks whether the data file can be opened. If a child process has to read it, the child also
 * copies its records, if the disk has room, and the copy replaces the data file. Must be called
 * before threads are started, as it forks.
 *
 * folder	for messages
 * distrusted	check the data file even if the seal is valid
 * sealed	set to whether the data file still has a valid seal
 *
 * Returns CATALOG_OPENED if the index is sound or the folder has none, or CATALOG_DAMAGED,
 * CATALOG_NEWER, CATALOG_OLDER or -errno. */
MUST_CHECK int index_examine(int folder_fd, const char *folder, bool distrusted, bool *sealed);

/* Copies the records of an open index if that makes the data file smaller by more than a sixth
 * (store_is_wasteful()). Sets *copied to whether there is a copy. A copy is not necessary, so the
 * function reports no failure. No other thread may use the store. */
void index_copy_if_wasteful(struct store *store, int folder_fd, bool *copied);

/* Holds the data file and LMDB's lock file together, while a process opens them without the lock of
 * the index. LMDB opens one after the other: if they were replaced in between, the process would
 * read pages that a later writer overwrites, or that writer would begin with the number of a
 * transaction of the old file. Waits for a process that replaces them just now. */
void index_files_hold(int folder_fd);
void index_files_release(int folder_fd);

/* Replaces the data file by the copy, after the index was closed. Removes the copy instead if
 * another process holds the files. */
MUST_CHECK int index_adopt_copy(int folder_fd);

/* Works like index_examine(), but changes nothing, logs nothing and needs no lock. */
MUST_CHECK int index_check(int folder_fd, bool distrusted);

/* Copies the data file to a file without a name, and checks every record of the copy. For an index
 * of another user, or one that cannot be locked: no process can change the copy. Only a copy that
 * has the bytes of the seal is whole. Logs nothing and needs no lock.
 *
 * copy		set to the descriptor of a sound copy, which the caller closes; or -1
 *
 * Returns as index_examine(), or CATALOG_UNSEALED. */
MUST_CHECK int index_copy_sealed(int folder_fd, int *copy);

/* Writes the seal. Reads the whole data file. */
MUST_CHECK int index_seal(int folder_fd);

/* Removes the seal durably. */
MUST_CHECK int index_unseal(int folder_fd);

/* Renames the data file to TWINFS_INDEX_DAMAGED, and replaces an earlier file of that name. */
MUST_CHECK int index_set_aside(int folder_fd);

/* Checks that the tables of an index agree with each other. Checksums detect altered records; this
 * check detects records that are missing, repeated or outdated, for example because a page did not
 * reach the disk. Reads every record of the snapshot. The time is linear in the number of records,
 * the memory is constant. Damaged pages can make LMDB crash the process. Any thread. Returns 0,
 * -EUCLEAN if tables do not agree, or another -errno. */
MUST_CHECK int check_catalog(struct catalog_reader *r);

#endif

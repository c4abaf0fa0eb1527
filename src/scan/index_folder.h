/* SPDX-License-Identifier: MIT */
#ifndef SCAN_INDEX_FOLDER_H
#define SCAN_INDEX_FOLDER_H

/* Folders of indexes, and how an index is opened read-only. Functions that can fail return 0 or
 * -errno, and log failures except -ENOMEM. For the main thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "index/catalog.h"

struct operands;
struct text_list;

/* Sets *folder to the path of the default folder, which contains the indexes made without --index.
 * Creates nothing. The caller frees *folder. */
MUST_CHECK int index_folders_parent(char **folder);

/* Sets *folder to the absolute path of the index folder for a list of sources, in the default
 * folder. The name of the folder is built from the first source and a hash of all sources in their
 * order. Creates nothing. The caller frees *folder. resolved is from source_paths_resolve(). */
MUST_CHECK int index_folder_for_sources(char *const *resolved, char **folder);

/* Sets *folder to the absolute path of the folder of --index. The caller frees *folder. */
MUST_CHECK int index_folder_given(const char *given, char **folder);

/* Refuses to make a new index in a folder that has other files, or that is in a source: the view
 * would hide what is in the folder. Accepts a folder that has an index, and any folder if the
 * source is the root directory, as every folder is in that source. sources: NULL-terminated, from
 * source_paths_resolve(). Returns 0 or -errno, logged. */
MUST_CHECK int index_folder_check_new(const char *folder, char *const *sources);

/* Sets *folder to the absolute path of the index folder for operands, which are not whole sources.
 * In the default folder there is one index for all operands with the same folder, so that the index
 * of a list can be used again after the list was edited.
 *
 * given	the folder of --index; NULL: in the default folder. Refused as by
 *		index_folder_check_new(), but only if an operand contains it
 *
 * The caller frees *folder. */
MUST_CHECK int index_folder_for_operands(const struct operands *operands, const char *given,
					 char **folder);

/* Returns the bytes that the data of an index uses on the disk, or 0 if that is unknown. */
uint64_t index_folder_bytes(const char *folder);

/* Returns whether both paths lead to the same folder. */
bool index_folder_is_same(const char *one, const char *other);

/* Adds the paths of all entries of the default folder, except hidden ones. */
MUST_CHECK int index_folders_list(struct text_list *folders);

/* Adds the folder of --index, or all as index_folders_list() if given is NULL. */
MUST_CHECK int index_folders_chosen(const char *given, struct text_list *folders);

/* Makes the name of an index folder from portable characters and a hash. Pure code. */
#define INDEX_NAME_MAX 48
void index_folder_name(char name[static INDEX_NAME_MAX], char *const *resolved);

/* ---- opening -------------------------------------------------------------------------------- */

/* Logs why an index could not be opened, and the remedy.
 *
 * outcome	result of catalog_open(): positive or -errno
 */
void index_explain(const char *folder, int outcome);

/* Opens an index read-only. Returns the result of catalog_open(). */
MUST_CHECK int index_open_read_only(const char *folder, struct catalog **catalog);

/* ---- the process that holds the lock ------------------------------------------------ */

/* The process that holds the lock of an index. For a process with one thread. */

/* Returns true if no process holds the lock of the index in this folder, or if the holder possibly
 * ends soon. This is a process that has not written its pid yet, or a daemon whose view is not
 * mounted or whose view answers that the daemon was killed. Returns false for another holder, or if
 * the lock cannot be examined. Reads the status of a view at the daemon's mount point, which takes
 * at most two seconds. */
MUST_CHECK bool index_holder_may_end(const char *folder);

/* Returns whether a process is stopped by a signal. */
bool index_holder_is_stopped(pid_t pid);

#endif

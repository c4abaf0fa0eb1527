/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_FOLDER_H
#define INDEX_INDEX_FOLDER_H

/* Where indexes are kept. For the first thread. */

#include "base/attributes.h"

struct text_list;

/* The folder that holds those that nobody named, for the caller to free. Nothing is made. 0 or
 * -errno, logged where there is no home. */
MUST_CHECK int index_folder_place(char **folder);

/* The folder of the index for a set of sources, named after the first one and a hash of all of
 * them, in their order. Nothing is made.
 *
 * resolved	as source_paths_resolve() gives them
 * folder	absolute; the caller frees it
 *
 * Logs what fails. 0 or -errno.
 */
MUST_CHECK int index_folder_for_sources(char *const *resolved, char **folder);

/* Makes that folder, and those above it (0700), where they are missing. 0
 * or -errno, logged. */
MUST_CHECK int index_folder_make_place(void);

/* The folder that the user named, made absolute; the caller frees it. 0 or -errno, logged. */
MUST_CHECK int index_folder_given(const char *given, char **folder);

/* Adds all folders in which an index may be without being named. 0 or -errno, logged. */
MUST_CHECK int index_folders_list(struct text_list *folders);

/* The last part of such a folder, of a path with what no shell minds and a hash. Pure. */
#define INDEX_NAME_MAX 48
void index_folder_name(char name[static INDEX_NAME_MAX], char *const *resolved);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_FOLDER_H
#define INDEX_INDEX_FOLDER_H

/* Folders of indexes. For the main thread. */

#include "base/attributes.h"

struct text_list;

/* Returns the default folder, which contains the indexes made without --index. Creates nothing; the
 * caller frees it. Returns 0 or -errno; logged if there is no home folder. */
MUST_CHECK int index_folders_parent(char **folder);

/* Returns the default index folder for a list of sources. The name of the folder is built from the
 * first source and a hash of all sources in their order. Creates nothing.
 *
 * resolved	from source_paths_resolve()
 * folder	absolute; the caller frees it
 *
 * Returns 0 or -errno, logged.
 */
MUST_CHECK int index_folder_for_sources(char *const *resolved, char **folder);

/* Creates the default folder and its missing parents (mode 0700). Returns 0 or -errno, logged. */
MUST_CHECK int index_folders_make_parent(void);

/* Makes the folder of --index absolute; the caller frees it. Returns 0 or -errno, logged. */
MUST_CHECK int index_folder_given(const char *given, char **folder);

/* Adds all index folders in the default folder. Returns 0 or -errno, logged. */
MUST_CHECK int index_folders_list(struct text_list *folders);

/* Makes the name of an index folder, of portable characters and a hash. Pure. */
#define INDEX_NAME_MAX 48
void index_folder_name(char name[static INDEX_NAME_MAX], char *const *resolved);

#endif

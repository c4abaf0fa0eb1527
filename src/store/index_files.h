/* SPDX-License-Identifier: MIT */
#ifndef STORE_INDEX_FILES_H
#define STORE_INDEX_FILES_H

/* Access to the files of an index, for every module that opens one. Any thread.
 *
 * A process obeys its index: the journal renames files, and LMDB trusts every page. So an index of
 * another user is never opened, root's processes included. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* Opens the folder of an index and examines its owner and that of each file of the index in it.
 *
 * If other users may write to the folder, that right is taken from them first.
 *
 * folder	the last component may not be a symbolic link
 * fd		receives the descriptor of the folder, which the caller closes. Every further access
 *		goes through it, so that a folder that takes its place has no effect.
 *
 * Returns 0, -EPERM if the folder or a file in it belongs to another user than the effective one
 * or is a symbolic link, or -errno. Logs nothing. */
MUST_CHECK int index_folder_open(const char *folder, int *fd);

/* Has the folder no index yet? */
bool index_is_empty(int folder_fd);

/* Replaces a small file of the folder as a whole, durably. 0 or -errno. */
MUST_CHECK int index_file_replace(int folder_fd, const char *name, const char *text);

/* Reads the text of a small file of the folder, cut at size - 1 bytes. 0 or -errno. */
MUST_CHECK int index_file_read(int folder_fd, const char *name, char *text, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_INDEX_FILES_H
#define CATALOG_INDEX_FILES_H

/* Access to the files of an index, for every module that opens one. Any thread.
 *
 * A process obeys its index: the journal renames files, and LMDB trusts every page. So an index of
 * another user is never opened, root's processes included. */

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

#endif

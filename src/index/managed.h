/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MANAGED_H
#define INDEX_MANAGED_H

/* Bundles and stores: folders and sets of files that a program manages as one. An act on a single
 * file of one breaks it. A user can include the files of a bundle, such as a virtual environment,
 * in an act, but not those of a store, such as a database. A hard link between the files of two
 * stores makes the programs write to both, often without an error.
 *
 * A store is recognized on the disk, by the names that it has and by the content of one of its
 * files. If that file cannot be read, the names suffice. No symlink is followed, and no FIFO or
 * device is opened. Must not be called for the folder of the own index, because the locks of LMDB
 * end if this process closes any descriptor of the file. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* A kind of store, in the static table. */
struct managed_kind {
	const char *name; /* with its article: "a PostgreSQL cluster" */
	const char *where; /* "in a PostgreSQL cluster" */
	const char *why; /* why a copy in it stays: "in a PostgreSQL cluster, which stays whole" */
};

/* A folder to examine. All pointers are borrowed. */
struct managed_query {
	const char *name; /* base name of the folder, without a NUL */
	size_t length; /* of the name */
	/* Returns whether the folder is known to have a name. NULL: nothing is known. */
	bool (*has)(void *context, const char *name);
	bool is_complete; /* has() knows all names, so that they are not searched on the disk */
	/* Opens the folder with O_PATH. Returns a descriptor, which is then closed, or -errno.
	 * Called at most once, and only if needed. */
	int (*open)(void *context);
	void *context;
};

/* What a folder and everything below it is. */
struct managed_folder {
	bool is_bundle;
	const struct managed_kind *kind; /* of a store; NULL: none */
};

/* Finds out whether a folder is a bundle or a store by what it contains. If its names are not all
 * known and it cannot be opened, it counts as a bundle, unless it is missing or this process has no
 * access. */
struct managed_folder managed_folder_find(const struct managed_query *query);

/* Returns what a folder is, by its absolute path: the first bytes of it, of this length. */
struct managed_folder managed_folder_find_at(const char *path, size_t length);

/* Returns the kind of store that contains the file or folder with this absolute path, or NULL. The
 * folders above it are examined. */
const struct managed_kind *managed_find_above(const char *path);

/* Returns whether the name of a file shows that a program uses the store in this folder.
 *
 * folder	O_PATH
 */
bool managed_is_used_mark(int folder, const char *name);

/* A file that a program writes in place. */
struct managed_file {
	const struct managed_kind *kind; /* NULL: no such file */
	/* The file and the files beside it are one store, like a database and its log. */
	bool in_set;
	bool was_read; /* its first bytes are known */
};

/* Recognizes a file that a program writes in place by its first bytes, or by its name and the first
 * bytes of the file to whose set it belongs.
 *
 * folder	O_PATH, contains the name
 */
struct managed_file managed_file_find(int folder, const char *name);

/* Returns whether managed_file_find() possibly recognizes a file of this name by another file. */
bool managed_name_is_possible(const char *name);

/* Returns whether managed_file_find() possibly recognizes a file of this size by its content.
 *
 * alone	true: also the kinds of files that can be in no set
 */
bool managed_size_is_possible(uint64_t size, bool alone);

#endif

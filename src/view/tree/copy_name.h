/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_COPY_NAME_H
#define VIEW_TREE_COPY_NAME_H

/* The name of a copy in the folder of its group. Pure code, any thread.
 *
 * The plain form is the path in uniques/ with '/' replaced by U+2215. The short form is used if the
 * plain form is too long or looks like a short form, if the path contains U+2215, or if it begins
 * with the mark of kept copies:
 *
 *	<beginning of the path>~<dir id in hex>-<cookie in hex><extension>
 *
 * So each name shows which form it is, and two paths never have the same name. A name depends only
 * on the path and the id of its entry.
 *
 * Listings show the kept copy with a mark before its name, so that people see it however they sort.
 * The copy is also found by its name without the mark, which stays when another copy is kept.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Room for a name and its NUL. */
#define COPY_NAME_SIZE 256

/* The mark of kept copies. */
#define COPY_NAME_MARK "(kept) "

/* Longest extension of the short form, including the dot. */
#define COPY_NAME_EXTENSION_MAX 16

/* Writes the name of an entry.
 *
 * path		in uniques/, length bytes; not empty, without NUL
 * dir, cookie	the entry's id in the catalog
 */
void copy_name_make(char name[static COPY_NAME_SIZE], const char *path, size_t length, uint64_t dir,
		    uint64_t cookie);

/* Writes the name of an entry of the kept copy, with the mark. */
void copy_name_make_kept(char name[static COPY_NAME_SIZE], const char *path, size_t length,
			 uint64_t dir, uint64_t cookie);

/* Returns the part of a name after the mark, or NULL if it has no mark. */
const char *copy_name_skip_mark(const char *name);

/* Extracts the id from a short form. Returns false if the name has another form. */
MUST_CHECK bool copy_name_parse_short(const char *name, uint64_t *dir, uint64_t *cookie);

/* Writes the path of a plain form, with its NUL. Returns its length. */
size_t copy_name_parse_plain(const char *name, char path[static COPY_NAME_SIZE]);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef VIEW_COPY_NAME_H
#define VIEW_COPY_NAME_H

/* The name that a copy has in its group's folder. Pure code, any thread.
 *
 * It is the path in uniques/ with '/' shown as U+2215. Where that would be longer than a name may
 * be, where the path holds U+2215 itself, and where the plain form would look like a short one, it
 * is the short form:
 *
 *	<beginning of the path>~<dir id in hex>-<cookie in hex><extension>
 *
 * So a name says which of the two it is, two paths never have one name, and a name depends on
 * nothing but the entry's own path and id.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Room for a name and its NUL. */
#define COPY_NAME_SIZE 256

/* The longest extension that the short form keeps, with its dot. */
#define COPY_NAME_EXTENSION_MAX 16

/* Writes the name of an entry.
 *
 * path		in uniques/, length bytes; not empty, no NUL in it
 * dir, cookie	the entry's id in the catalog
 */
void copy_name_make(char name[static COPY_NAME_SIZE], const char *path, size_t length, uint64_t dir,
		    uint64_t cookie);

/* Takes the id out of a short form; false: it is none. */
MUST_CHECK bool copy_name_parse_short(const char *name, uint64_t *dir, uint64_t *cookie);

/* Writes the path that a plain form stands for, with its NUL, and returns its length. */
size_t copy_name_parse_plain(const char *name, char path[static COPY_NAME_SIZE]);

#endif

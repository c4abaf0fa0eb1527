/* SPDX-License-Identifier: MIT */
#ifndef PAGE_KINDS_H
#define PAGE_KINDS_H

/* Files and redundant copies by the extension of their names. Takes memory for KINDS_MAX
 * extensions. Pure code; one thread at a time. A struct kinds that is all zero is empty and valid.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Highest number of characters of an extension. Longer ones do not name a type. */
#define KIND_NAME_MAX 8

/* Highest number of extensions that are counted apart. The files of all others are counted as files
 * without an extension. */
#define KINDS_MAX 1024

struct kind {
	char name[KIND_NAME_MAX + 1]; /* without its dot, in lower case; "": none */
	uint64_t bytes; /* of all files */
	uint64_t copies; /* redundant copies */
	uint64_t redundant; /* their bytes */
};

struct kinds {
	struct kind *list; /* by name */
	size_t count, capacity;
};

void kinds_free(struct kinds *kinds);

/* Sets name to the extension of a file name, in lower case. It consists of letters and digits, and
 * has at least one letter, as a number is a version. Sets "" if there is none. */
void kind_name(char name[static KIND_NAME_MAX + 1], const char *file, size_t length);

/* Adds a file, or a redundant copy, with this extension. Returns 0 or -ENOMEM. */
MUST_CHECK int kinds_add_file(struct kinds *kinds, const char *name, uint64_t bytes);
MUST_CHECK int kinds_add_copy(struct kinds *kinds, const char *name, uint64_t bytes);

/* Orders the kinds by redundant bytes, the most first. Nothing can be added afterwards. */
void kinds_rank(struct kinds *kinds);

#endif

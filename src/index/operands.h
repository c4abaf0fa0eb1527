/* SPDX-License-Identifier: MIT */
#ifndef INDEX_OPERANDS_H
#define INDEX_OPERANDS_H

/* Files and folders that a command names, if it names single files. Their index has one source: the
 * folder that contains all of them. A walk of that source takes the named files, and the named
 * folders as a whole. It enters other folders only on the way to them, and opens nothing else.
 *
 * Made once, then read by any thread. All zero: no operands.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

struct operand {
	const char *path; /* relative to the folder; "" for the folder itself */
	uint32_t length; /* of the path */
	uint32_t number; /* the place in the order of the user */
	/* The place of the folders in the order of the user. Files that follow each other have the
	 * same place, as a shell or another program usually chose their order. */
	uint32_t unit;
	bool is_dir;
};

/* Why names of the user are left out. */
enum operand_fault {
	OPERAND_IS_SYMLINK,
	OPERAND_IS_SPECIAL, /* neither a file nor a folder */
	OPERAND_IS_IN_VIEW,
	OPERAND_FAULTS
};

struct operands {
	struct operand *list; /* sorted by path, each path once */
	size_t count, capacity;
	char *folder; /* absolute; contains all operands */
	bool relative; /* the user gave relative names only */
	uint32_t units; /* number of units */
	uint64_t unfound; /* names that do not exist, or are in a view; all were logged */
	struct arena memory;
	struct {
		uint64_t count;
		char *first; /* as given */
	} faults[OPERAND_FAULTS];
};

/* Finds the operands of a command line. Symlinks in front of the last component are resolved. So is
 * a symlink to a folder, as that of a source. Names that are left out are logged. Returns 0 or
 * -errno, logged. */
MUST_CHECK int operands_find(struct operands *operands, char *const *given, size_t count);

/* Reads the names from a file: each ends with a NUL, as in the output of find -print0. A symlink is
 * left out, whatever it leads to. All names are one unit. Blocks on the file.
 *
 * file		"-": standard input
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno, logged. */
MUST_CHECK int operands_read(struct operands *operands, const char *file);

void operands_free(struct operands *operands);

/* The operands at and below a folder. */
struct operand_range {
	size_t first, end; /* in the list */
	size_t prefix; /* length of the path of the folder, with a slash at its end */
};

struct operand_range operands_all(const struct operands *operands);

/* Returns whether the path of the range is an operand itself. */
bool operands_end_at(const struct operands *operands, struct operand_range range);

/* Returns the operands at and below a name in the folder of the range. */
struct operand_range operands_below(const struct operands *operands, struct operand_range range,
				    const char *name, size_t length);

/* A name in a folder that leads to operands. */
struct operand_name {
	const char *bytes;
	size_t length;
	bool is_file; /* an operand that is a file; if not, the name must be a folder */
};

/* Gets the next name in the folder of the range, and moves the beginning of the range behind it.
 * Returns false if there is none. */
bool operands_next_name(const struct operands *operands, struct operand_range *range,
			struct operand_name *name);

/* Returns the lowest number (or unit, unless by_number) of the operands that have the path, or
 * UINT32_MAX. */
uint32_t operands_rank(const struct operands *operands, const char *path, bool by_number);

#endif

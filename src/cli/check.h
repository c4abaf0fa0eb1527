/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

/* Checks the structure of an index and compares the index with the disk. Prints each difference,
 * and repairs the index on request. For the main thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "scan/index_settings.h"
#include "twinfs/exit.h"

struct check_settings {
	/* Options that the user did not give are set to those of the last scan. Borrowed. */
	struct index_settings *index;
	bool quick; /* read no file */
	bool repair; /* afterwards, update the index from the disk, or rebuild an unusable index */
	bool json; /* print JSON instead of text */
};

/* Checks the index of the operands, SOURCE... or MOUNTPOINT, and prints to stdout. Logs failures.
 * Returns the exit status. */
MUST_CHECK enum twinfs_exit check_run(struct check_settings *settings, char *const *operands,
				      size_t count);

#endif

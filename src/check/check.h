/* SPDX-License-Identifier: MIT */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

/* Checks the structure of an index and compares the index with the disk. Prints each difference,
 * and repairs the index on request. For the main thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "index/index_settings.h"
#include "twinfs/exit.h"

struct check_settings {
	struct index_settings
		*index; /* borrowed; unset options are set to those of the last scan */
	bool quick; /* read no file */
	bool repair; /* update the index from the disk afterwards, or rebuild it */
	bool json; /* print JSON instead of text */
};

/* Checks the index of the operands, SOURCE... or MOUNTPOINT, and prints to stdout. Logs failures.
 * Returns the exit status. */
MUST_CHECK enum twinfs_exit check_run(struct check_settings *settings, char *const *operands,
				      size_t count);

#endif

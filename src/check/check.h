/* SPDX-License-Identifier: MIT */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

/* Compares an index with itself and with the disk, prints each difference, and repairs the index
 * if that is wanted. For the first thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "index/index_settings.h"
#include "twinfs/exit.h"

struct check_settings {
	struct index_settings
		*index; /* borrowed; what was not given is set to that of the last scan */
	bool quick; /* no file is read */
	bool repair; /* brings the index in line with the disk afterwards, or builds it anew */
	bool json; /* prints JSON instead of text */
};

/* Checks the index of the operands, SOURCE... or MOUNTPOINT, and prints to stdout. Failures are
 * logged. Returns the exit status. */
MUST_CHECK enum twinfs_exit check_run(struct check_settings *settings, char *const *operands,
				      size_t count);

#endif

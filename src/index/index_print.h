/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_PRINT_H
#define INDEX_INDEX_PRINT_H

/* Printing what a current index has, in one snapshot. For the first thread; everything is
 * borrowed.
 */

#include "base/attributes.h"
#include "base/output.h"
#include "index/current_index.h"
#include "twinfs/exit.h"

struct catalog_reader;

struct index_printer {
	const char *noun; /* what is printed, for messages: "list" */
	/* Prints all of it. 0, with what to exit with where something is missing and that is said;
	 * or -errno: -EXDEV where what was asked for does not fit the sources, which is said. A
	 * failure of the output may stay in there. */
	int (*print)(void *context, const struct current_index *index,
		     struct catalog_reader *reader, struct output *output,
		     enum twinfs_exit *status);
	void *context;
};

/* Prints to stdout. What to exit with; all is said. */
enum twinfs_exit index_print(const struct index_printer *printer,
			     const struct current_index *index);

#endif

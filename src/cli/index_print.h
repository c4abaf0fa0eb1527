/* SPDX-License-Identifier: MIT */
#ifndef CLI_INDEX_PRINT_H
#define CLI_INDEX_PRINT_H

/* Prints from a current index, in one snapshot. For the main thread; all pointers are borrowed. */

#include "base/output.h"
#include "cli/current_index.h"
#include "twinfs/exit.h"

struct catalog_reader;

struct index_printer {
	const char *noun; /* of the output, for messages: "list" */
	/* Prints everything. If the result is incomplete, sets *status and logs a warning. Returns
	 * 0, -EXDEV (logged) if an option is refused, or another -errno. Need not return errors of
	 * output, which stores them. */
	int (*print)(void *context, const struct current_index *index,
		     struct catalog_reader *reader, struct output *output,
		     enum twinfs_exit *status);
	void *context;
	bool whole; /* the result must have all files: current_index_begin_whole() */
};

/* Prints to stdout. Returns the exit status. Failures are logged, except -EPIPE and -EINTR. */
enum twinfs_exit index_print(const struct index_printer *printer, struct current_index *index);

/* Prints to an open file, like index_print(). */
enum twinfs_exit index_print_to(const struct index_printer *printer, struct current_index *index,
				int fd);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CLI_INDEX_PRINT_H
#define CLI_INDEX_PRINT_H

/* Commands that print what an index has, in one snapshot, after it was brought up to date: by this
 * process, or by the view that keeps it. For the first thread; everything is borrowed.
 */

#include <stddef.h>

#include "base/attributes.h"
#include "cli/common_options.h"
#include "report/output.h"
#include "twinfs/exit.h"

struct catalog;
struct catalog_reader;
struct sources;

/* What there is to print from. */
struct index_snapshot {
	struct catalog *catalog;
	struct catalog_reader *reader;
	const struct sources *sources;
	char *const *given; /* the sources as the user gave them */
	size_t given_count; /* 0: a mount point was given */
};

struct index_printer {
	const char *noun; /* what is printed, for messages: "list" */
	const struct common_settings *common;
	/* Prints all of it. 0, with what to exit with where something is missing and that is
	 * said; or -errno. A failure of the output may stay in there. */
	int (*print)(void *context, const struct index_snapshot *snapshot, struct output *output,
		     enum twinfs_exit *status);
	void *context;
};

/* Prints to stdout, of the sources that are named, or of the view where the one operand is a mount
 * point. The index of a view is brought up to date by that, which may take long; on stderr who keeps
 * it and what could not be read. What a scan keeps is printed as it is, and said to be unfinished.
 * What to exit with; all is said. */
enum twinfs_exit index_print(const struct index_printer *printer, char *const *operands,
			     size_t count);

#endif

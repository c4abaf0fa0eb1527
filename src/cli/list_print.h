/* SPDX-License-Identifier: MIT */
#ifndef CLI_LIST_PRINT_H
#define CLI_LIST_PRINT_H

/* What list prints, of an index that this process has brought up to date or of one that another
 * process keeps. For the first thread; everything is borrowed.
 */

#include <stddef.h>

#include "base/attributes.h"
#include "cli/common_options.h"
#include "cli/rule_options.h"
#include "report/report.h"
#include "twinfs/exit.h"

struct indexing;

struct list_request {
	const struct common_settings *common;
	const struct rule_settings *rules;
	/* What to print: reader, sources, shown, rules and min_size are still to be set. */
	struct report report;
};

/* The sources as the user gave them; all zero where a mount point was given. */
struct named_sources {
	char *const *given;
	size_t count;
	char *const *resolved; /* NULL-terminated */
};

/* Prints an index that is open. What to exit with; all is said. */
enum twinfs_exit list_print_own(const struct list_request *request, struct indexing *indexing,
				const struct named_sources *named);

/* Has the view that keeps the index in a folder bring it up to date, which may take long, and prints
 * it; on stderr who keeps it and what could not be read. What a scan keeps is printed as it is, and
 * said to be unfinished. The sources that were named must be its own. What to exit with; all is
 * said. */
enum twinfs_exit list_print_served(const struct list_request *request, const char *folder,
				   const struct named_sources *named);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SERVED_OPTIONS_H
#define INDEX_SERVED_OPTIONS_H

/* Scan options of a command that reads an index. The command never narrows the index, and does not
 * scan if another process maintains the index. So an option that the user gave must equal that of
 * the last scan, or act as a filter. For the main thread.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/index_settings.h"

struct catalog_reader;

/* Purpose for which a command opens an index. */
enum index_use {
	/* prints its contents; a larger --min-size and further --exclude are filters */
	INDEX_READ,
	/* prints the files of uniques/ of the view, or updates the index; no option can be a
	 * filter */
	INDEX_EXACT,
	/* prints what the user possibly deletes next; refused if another process maintains the
	 * index */
	INDEX_PROOF,
	INDEX_ACT, /* changes files; the same options are filters */
};

struct served_options {
	const struct index_settings *settings; /* borrowed: of the command */
	enum index_use use;
	bool own; /* this process updates the index, so options can widen it */
	bool unfinished; /* the other process did not finish an update of the index */
	const char *folder; /* borrowed: of the index */
};

/* Compares the options with those in a snapshot. Refuses an option that cannot be applied. Also
 * refuses an act without --cross-file-systems if the last scan had this option. Returns 0, -EXDEV
 * (logged) if an option is refused, or another -errno. */
MUST_CHECK int served_options_check(const struct served_options *options,
				    struct catalog_reader *reader);

#endif

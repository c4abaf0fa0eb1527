/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SERVED_OPTIONS_H
#define INDEX_SERVED_OPTIONS_H

/* Scan options of a command whose index another process maintains. The command scans nothing, so
 * each of its options must be what that process was told, or work as a filter. For the first thread.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/index_settings.h"

struct catalog_reader;

/* What the command does with the index. */
enum index_use {
	INDEX_READ, /* prints what is known; a larger --min-size is a filter */
	INDEX_MANIFEST, /* prints what belongs to uniques/ of that view: no filter is possible */
	INDEX_ACT, /* changes files; a larger --min-size is a filter, also the default one */
};

struct served_options {
	const struct index_settings *settings; /* borrowed: of the command */
	enum index_use use;
	bool unfinished; /* the other process has not brought the index up to date */
	const char *folder; /* borrowed: of the index */
};

/* Compares them in a snapshot. 0; -EXDEV (logged) if an option cannot be obeyed, or if the view
 * takes in files that an act without the option would leave alone; or another -errno. */
MUST_CHECK int served_options_check(const struct served_options *options,
				    struct catalog_reader *reader);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SERVED_OPTIONS_H
#define INDEX_SERVED_OPTIONS_H

/* Scan options of a command whose index another process maintains. The command does not scan, so
 * each of its options must equal that of the other process or act as a filter. For the main
 * thread.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/index_settings.h"

struct catalog_reader;

/* Purpose for which a command opens an index. */
enum index_use {
	INDEX_READ, /* prints its contents; a larger --min-size is a filter */
	INDEX_MANIFEST, /* prints the files of uniques/ of the view: no filter is possible */
	INDEX_ACT, /* changes files; a larger --min-size, also the default one, is a filter */
};

struct served_options {
	const struct index_settings *settings; /* borrowed: of the command */
	enum index_use use;
	bool unfinished; /* the other process has not updated the index */
	const char *folder; /* borrowed: of the index */
};

/* Compares the options in a snapshot. An option is refused if it cannot be applied, or if the view
 * has files that an act without that option would not touch. Returns 0, -EXDEV (logged) if an
 * option is refused, or another -errno. */
MUST_CHECK int served_options_check(const struct served_options *options,
				    struct catalog_reader *reader);

#endif

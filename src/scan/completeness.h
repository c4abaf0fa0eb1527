/* SPDX-License-Identifier: MIT */
#ifndef SCAN_COMPLETENESS_H
#define SCAN_COMPLETENESS_H

/* Reports that a result is incomplete. Any thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "twinfs/exit.h"

struct catalog;
struct catalog_reader;
struct index_settings;
struct sources;

/* Returns the exit status for this number of unreadable files and of files that are not compared
 * yet. Logs a warning for each number above 0. */
enum twinfs_exit completeness_status(uint64_t errors, uint64_t pending);

/* Logs that files are missing in the result, because they had no name whenever the index was read.
 */
void completeness_name_missed(uint64_t missed);

/* Logs each file and directory that could not be read, as a warning. Returns 0 or -errno. */
MUST_CHECK int completeness_name_errors(struct catalog_reader *reader,
					const struct sources *sources);

/* Logs which file systems below the sources are left out, unless the user gave an option that says
 * so, as one warning. Returns 0 or -errno. */
MUST_CHECK int completeness_name_left_out(struct catalog *catalog, const struct sources *sources,
					  const struct index_settings *settings);

#endif

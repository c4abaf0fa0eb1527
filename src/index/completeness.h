/* SPDX-License-Identifier: MIT */
#ifndef INDEX_COMPLETENESS_H
#define INDEX_COMPLETENESS_H

/* Telling the user that a result is not the whole one. */

#include <stdint.h>

#include "base/attributes.h"
#include "twinfs/exit.h"

struct catalog_reader;
struct sources;

/* What to exit with where so many could not be read or are not compared yet; says so in one line
 * where it is not TWINFS_EXIT_COMPLETE. */
enum twinfs_exit completeness_status(uint64_t errors, uint64_t pending);

/* Names on stderr everything that the index could not read. 0 or -errno. */
MUST_CHECK int completeness_name_errors(struct catalog_reader *reader,
					const struct sources *sources);

#endif

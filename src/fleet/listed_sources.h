/* SPDX-License-Identifier: MIT */
#ifndef FLEET_LISTED_SOURCES_H
#define FLEET_LISTED_SOURCES_H

/* The sources of a list of files among those of an index. For one thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "fleet/file_list.h"

struct catalog;
struct sources;

/* Refuses a list of another index, whose ids mean other files. file is the path of the list, for
 * messages. Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_check_index(const struct file_list *list, const char *file,
					  struct catalog *catalog);

/* Finds the sources of a list. Sets numbers[i] to the place in sources of source i of the list.
 * Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_find(const struct file_list *list, const char *file,
				   const struct sources *sources, size_t *numbers);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLEET_LISTED_SOURCES_H
#define FLEET_LISTED_SOURCES_H

/* The sources and files of a list in an index. For one thread. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "fleet/file_list.h"

struct catalog;
struct catalog_reader;
struct file_record;
struct sources;

/* Refuses a list of another index, whose ids mean other files. file is the path of the list, for
 * messages. Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_check_index(const struct file_list *list, const char *file,
					  struct catalog *catalog);

/* Finds the sources of a list. Sets numbers[i] to the place in sources of source i of the list.
 * Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_find(const struct file_list *list, const char *file,
				   const struct sources *sources, size_t *numbers);

/* Finds the regular file that the index has at the path of a row. Sets *dir to its directory.
 * Returns 0, -ENOENT if there is none, or another -errno. Logs nothing.
 *
 * root		directory of the source in the index
 */
MUST_CHECK int listed_file_find(struct catalog_reader *reader, uint64_t root,
				const struct listed_file *row, struct file_record *file,
				uint64_t *dir);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_LEFT_OUT_H
#define SOURCE_LEFT_OUT_H

/* Which file systems and subvolumes below the sources an index leaves out, because its walks stay
 * on the file system of each source. Any thread. */

#include "base/attributes.h"
#include "base/text_list.h"

struct catalog_reader;
struct sources;

/* Adds the absolute path of each. File systems without files of users, such as proc and a view, are
 * not added. Reads /proc/self/mountinfo, and asks no file system. Returns 0 or -errno. */
MUST_CHECK int left_out_list(struct catalog_reader *reader, const struct sources *sources,
			     struct text_list *paths);

#endif

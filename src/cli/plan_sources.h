/* SPDX-License-Identifier: MIT */
#ifndef CLI_PLAN_SOURCES_H
#define CLI_PLAN_SOURCES_H

/* The sources of a plan file, for an act without operands. For the main thread. */

#include "base/attributes.h"
#include "base/text_list.h"
#include "index/index_settings.h"

/* Finds the index that has the first path of a plan file in its sources: that of --index, or one in
 * the default folder. Adds its sources to the list. Returns 0 or -errno, logged. */
MUST_CHECK int plan_sources_find(const char *plan_file, const struct index_settings *settings,
				 struct text_list *sources);

#endif

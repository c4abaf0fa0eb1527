/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SCAN_SCOPE_H
#define INDEX_SCAN_SCOPE_H

/* Which files a scan indexes and compares. For the main thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text_list.h"
#include "index/index_settings.h"

struct catalog;

struct scan_scope {
	uint64_t min_size; /* bytes */
	bool cross_mounts;
	struct text_list excludes; /* globs */
};

/* Sets the scope to that of the options.
 *
 * catalog	an index whose last scan must not be narrowed: the scope also includes everything
 *		that the last scan included. So the scan of a query only adds to the index, and the
 *		options of the query are filters. NULL: the options alone decide
 *
 * Returns 0 or -errno. The caller frees the scope in either case. */
MUST_CHECK int scan_scope_find(struct scan_scope *scope, const struct index_settings *settings,
			       struct catalog *catalog);

void scan_scope_free(struct scan_scope *scope);

#endif

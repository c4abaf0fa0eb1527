/* SPDX-License-Identifier: MIT */
#include "ingest/exclude.h"

#include <fnmatch.h>
#include <string.h>

#include "base/bytes.h"

bool exclude_has_paths(const struct exclude *exclude)
{
	for (char *const *glob = exclude->globs; glob && *glob; glob++) {
		if (strchr(*glob, '/'))
			return true;
	}
	return false;
}

static bool path_matches(const char *glob, const char *dir_path, const char *name)
{
	struct bytes path CLEANUP_BYTES = {0};

	if (*glob == '/')
		glob++;
	if (bytes_format(&path, "%s%s%s", dir_path, *dir_path ? "/" : "", name) < 0)
		return false;
	return fnmatch(glob, bytes_text(&path), FNM_PATHNAME) == 0;
}

bool exclude_matches(const struct exclude *exclude, const char *dir_path, const char *name)
{
	for (char *const *glob = exclude->globs; glob && *glob; glob++) {
		if (strchr(*glob, '/') ? path_matches(*glob, dir_path, name)
				       : fnmatch(*glob, name, 0) == 0)
			return true;
	}
	return false;
}

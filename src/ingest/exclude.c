/* SPDX-License-Identifier: MIT */
#include "ingest/exclude.h"

#include "base/bytes.h"
#include "base/path.h"

bool exclude_has_paths(char *const *globs)
{
	for (char *const *glob = globs; glob && *glob; glob++) {
		if (glob_has_slash(*glob))
			return true;
	}
	return false;
}

static bool path_matches(const char *glob, const char *dir_path, const char *name)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_format(&path, "%s%s%s", dir_path, *dir_path ? "/" : "", name) < 0)
		return false;
	return glob_matches(glob, bytes_text(&path));
}

bool exclude_matches(char *const *globs, const char *dir_path, const char *name)
{
	for (char *const *glob = globs; glob && *glob; glob++) {
		if (glob_has_slash(*glob) ? path_matches(*glob, dir_path, name)
					  : glob_matches(*glob, name))
			return true;
	}
	return false;
}

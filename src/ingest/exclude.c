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

enum exclusion exclude_matches(char *const *globs, const char *dir_path, const char *name,
			       size_t *which)
{
	enum exclusion found = EXCLUDE_NONE;

	for (size_t i = 0; globs && globs[i]; i++) {
		const char *glob = globs[i];
		bool folder = glob_is_for_folders(glob);

		if (folder && found == EXCLUDE_FOLDER)
			continue;
		if (!(glob_has_slash(glob) ? path_matches(glob, dir_path, name)
					   : glob_matches(glob, name)))
			continue;
		*which = i;
		if (!folder)
			return EXCLUDE_NAME;
		found = EXCLUDE_FOLDER;
	}
	return found;
}

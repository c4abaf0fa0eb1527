/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

const char *path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (strncmp(path, folder, length) != 0)
		return NULL;
	/* the root directory already ends with a slash */
	if (length > 0 && folder[length - 1] == '/')
		return path + length;
	if (path[length] == '\0')
		return path + length;
	return path[length] == '/' ? path + length + 1 : NULL;
}

bool glob_has_slash(const char *glob)
{
	return strchr(glob, '/');
}

/* Returns the glob without its leading slash: paths are relative. */
static const char *relative(const char *glob)
{
	return glob[0] == '/' ? glob + 1 : glob;
}

bool glob_matches(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (glob_has_slash(glob))
		return fnmatch(relative(glob), path, FNM_PATHNAME) == 0;
	return fnmatch(glob, slash ? slash + 1 : path, FNM_PATHNAME) == 0;
}

bool glob_matches_within(const char *glob, const char *path)
{
	/* FNM_LEADING_DIR: a match of leading components suffices */
	const int flags = FNM_PATHNAME | FNM_LEADING_DIR;

	if (glob_has_slash(glob))
		return fnmatch(relative(glob), path, flags) == 0;
	while (fnmatch(glob, path, flags) != 0) {
		path = strchr(path, '/');
		if (!path)
			return false;
		path++;
	}
	return true;
}

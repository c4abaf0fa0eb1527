/* SPDX-License-Identifier: MIT */

/* Globs. --exclude omits each name that a glob matches, and all names below it. Matching a name in
 * a folder and matching its path have the same result. An input has two globs, the path of a folder
 * and a name, each with a NUL. */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/path.h"
#include "fuzz.h"
#include "scan/listing.h"

/* The time of fnmatch(3) is exponential in the number of stars. */
#define STARS_MAX 4
#define INPUT_MAX 400

static size_t stars(const char *glob)
{
	size_t count = 0;

	for (; *glob; glob++)
		count += *glob == '*';
	return count;
}

/* Whether the path is relative and without empty components, like the paths of a walk. */
static bool is_relative_path(const char *path)
{
	return path[0] != '/' && strstr(path, "//") == NULL &&
	       (path[0] == '\0' || path[strlen(path) - 1] != '/');
}

/* Whether a glob matches the path of a file or one of its parents. */
static bool matches_any_part(const char *glob, char *path)
{
	bool matches = !glob_is_for_folders(glob) && glob_matches(glob, path);

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		matches |= glob_matches(glob, path);
		*slash = '/';
	}
	return matches;
}

static bool leaves_out(char *const *globs, const char *folder, const char *name)
{
	size_t which;

	return exclude_matches(globs, folder, name, &which) != EXCLUDE_NONE;
}

static void check_glob(char *glob, const char *folder, const char *name, char *path)
{
	char *const globs[] = {glob, NULL};

	REQUIRE(exclude_has_paths(globs) == glob_has_slash(glob));
	REQUIRE(leaves_out(globs, folder, name) == glob_matches(glob, path));
	REQUIRE(glob_matches_within(glob, path) == matches_any_part(glob, path));
}

static void check_both(char *const globs[static 3], const char *folder, const char *name,
		       const char *path)
{
	REQUIRE(leaves_out(globs, folder, name) ==
		(glob_matches(globs[0], path) || glob_matches(globs[1], path)));
}

static void check_below(const char *path, const char *folder)
{
	const char *rest = path_below(path, folder);

	if (folder[0] == '\0' || folder[strlen(folder) - 1] == '/')
		return;
	REQUIRE((rest != NULL) == (strncmp(path, folder, strlen(folder)) == 0 &&
				   (path[strlen(folder)] == '/' || path[strlen(folder)] == '\0')));
	REQUIRE(rest == NULL || *rest == '\0' || rest == path + strlen(folder) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size < INPUT_MAX ? size : INPUT_MAX};
	char *const globs[] = {take_text(&input), take_text(&input), NULL};
	char *folder = take_text(&input), *name = take_text(&input);
	struct bytes path CLEANUP_BYTES = {0};
	char *text;

	REQUIRE(bytes_format(&path, "%s%s%s", folder, *folder ? "/" : "", name) == 0);
	REQUIRE(bytes_text(&path) != NULL);
	text = (char *)path.data;
	check_below(globs[0], folder);
	check_below(text, folder);
	if (is_relative_path(folder) && *name && !strchr(name, '/') &&
	    stars(globs[0]) < STARS_MAX && stars(globs[1]) < STARS_MAX) {
		check_glob(globs[0], folder, name, text);
		check_glob(globs[1], folder, name, text);
		check_both(globs, folder, name, text);
	}
	free(globs[0]);
	free(globs[1]);
	free(folder);
	free(name);
	return 0;
}

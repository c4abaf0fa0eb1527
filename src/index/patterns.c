/* SPDX-License-Identifier: MIT */
#include "index/patterns.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "index/keep_rules.h"
#include "index/source.h"

/* A glob for every name in a source. */
#define EVERYTHING "/*"

/* Returns the length of the first component. */
static size_t component_length(const char *path)
{
	return strcspn(path, "/");
}

/* Returns what follows the first component and the slashes after it. */
static const char *after_component(const char *path)
{
	path += component_length(path);
	return path + strspn(path, "/");
}

/* Returns whether the first component of the glob matches that of the path. */
static bool component_matches(const char *glob, const char *path)
{
	CLEANUP_BYTES struct bytes texts = {0};
	size_t length = component_length(glob);

	if (bytes_format(&texts, "%.*s%c%.*s", (int)length, glob, '\0', (int)component_length(path),
			 path) < 0 ||
	    !bytes_text(&texts))
		return false;
	return fnmatch(bytes_text(&texts), bytes_text(&texts) + length + 1, 0) == 0;
}

/* Returns the part of the glob below path, "" if it ends there or above, or NULL if it leads
 * elsewhere. path has no slash at either end. */
static const char *rest_below(const char *glob, const char *path)
{
	glob += strspn(glob, "/");
	while (*path && *glob) {
		if (!component_matches(glob, path))
			return NULL;
		glob = after_component(glob);
		path = after_component(path);
	}
	return glob;
}

/* Returns whether the source has a name that the first component of the glob can match. */
static bool begins_in_source(const struct source *source, const char *glob)
{
	CLEANUP_BYTES struct bytes name = {0};
	struct stat status;

	glob += strspn(glob, "/");
	if (bytes_append(&name, glob, component_length(glob)) < 0 || !bytes_text(&name))
		return true;
	if (strpbrk(bytes_text(&name), "*?[\\"))
		return true;
	return fstatat(source->fd, bytes_text(&name), &status,
		       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
}

/* Returns the part of an absolute glob below the source, as rest_below(). If the source has names
 * of its own that the glob can match, returns NULL. */
static const char *below_absolute(const struct source *source, const char *glob)
{
	const char *path = source->path + 1;
	struct stat status;
	bool relative;

	if (glob[0] != '/' || *path == '\0')
		return NULL;
	if (path_below(glob, source->path))
		relative = fstatat(source->fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
	else
		relative = begins_in_source(source, glob);
	return relative ? NULL : rest_below(glob, path);
}

/* Returns the part of the glob below the source, if it begins with the last components of the path
 * of the source. If several numbers of components fit, the fewest count. */
static const char *below_name(const struct source *source, const char *glob)
{
	const char *end = source->path + strlen(source->path);

	if (glob[0] == '/' || begins_in_source(source, glob))
		return NULL;
	for (const char *path = end; path > source->path; path--) {
		size_t length = (size_t)(end - path);

		if (path[-1] == '/' && length > 0 && strncmp(glob, path, length) == 0 &&
		    (glob[length] == '/' || glob[length] == '\0'))
			return glob + length + strspn(glob + length, "/");
	}
	return NULL;
}

/* Returns the part of the glob below the source; "" for all of the source; NULL if the glob is
 * relative to the source. */
static const char *find_rest(const struct source *source, const char *glob, enum pattern_use use)
{
	const char *rest;

	/* the name of the source with a slash is also that of a folder anywhere in it */
	if (!glob_has_slash(glob) && (use == PATTERN_TO_EXCLUDE || !glob_is_for_folders(glob)))
		return NULL;
	rest = below_absolute(source, glob);
	if (!rest)
		rest = below_name(source, glob);
	return rest && *rest == '\0' && use == PATTERN_TO_EXCLUDE ? NULL : rest;
}

/* Returns a new glob for the source, or NULL without memory. */
static char *translate(const struct source *source, const char *glob, enum pattern_use use)
{
	CLEANUP_BYTES struct bytes text = {0};
	const char *rest;

	if (glob[0] == '.' && glob[1] == '/')
		glob++; /* "./2019" is relative to the source */
	rest = find_rest(source, glob, use);
	if (!rest)
		return strdup(glob);
	if (*rest == '\0')
		return strdup(EVERYTHING);
	if (bytes_format(&text, "/%s", rest) < 0 || !bytes_text(&text))
		return NULL;
	return strdup(bytes_text(&text));
}

static int add_source(struct patterns *patterns, char *const *globs, const struct source *source,
		      enum pattern_use use)
{
	char **list = calloc(patterns->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	patterns->of_source[patterns->source_count++] = list;
	for (size_t i = 0; i < patterns->count; i++) {
		list[i] = translate(source, globs[i], use);
		if (!list[i])
			return -ENOMEM;
	}
	return 0;
}

int patterns_make(struct patterns *patterns, char *const *globs, const struct sources *sources,
		  enum pattern_use use)
{
	int r = 0;

	*patterns = (struct patterns){.globs = globs};
	if (!globs || !globs[0])
		return 0;
	while (globs[patterns->count])
		patterns->count++;
	patterns->matched = calloc(patterns->count, sizeof(*patterns->matched));
	patterns->of_source = calloc(sources->count + 1, sizeof(*patterns->of_source));
	if (!patterns->matched || !patterns->of_source)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < sources->count; i++)
		r = add_source(patterns, globs, &sources->list[i], use);
	if (r < 0)
		patterns_free(patterns);
	return r;
}

int patterns_set_keep_rules(struct keep_rules *rules, const struct sources *sources)
{
	int r = 0;

	text_list_free(&rules->source_globs);
	for (size_t i = 0; i < sources->count; i++) {
		for (size_t j = 0; r == 0 && j < rules->globs.count; j++) {
			AUTO_FREE char *glob = translate(&sources->list[i], rules->globs.items[j],
							 PATTERN_TO_SELECT);

			r = glob ? text_list_add(&rules->source_globs, glob, strlen(glob))
				 : -ENOMEM;
		}
	}
	return r;
}

void patterns_free(struct patterns *patterns)
{
	for (size_t i = 0; patterns->of_source && i < patterns->source_count; i++) {
		for (size_t j = 0; j < patterns->count; j++)
			free(patterns->of_source[i][j]);
		free(patterns->of_source[i]);
	}
	free(patterns->of_source);
	free(patterns->matched);
	*patterns = (struct patterns){0};
}

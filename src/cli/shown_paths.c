/* SPDX-License-Identifier: MIT */
#include "cli/shown_paths.h"

#include "source/source.h"

static const char *find(const char *source, char *const *given, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *absolute = realpath(given[i], NULL);

		if (absolute && strcmp(absolute, source) == 0)
			return given[i];
	}
	return source;
}

const char **shown_paths_find(const struct sources *sources, char *const *given, size_t count)
{
	const char **shown = calloc(sources->count + 1, sizeof(*shown));

	for (size_t i = 0; shown && i < sources->count; i++)
		shown[i] = find(sources->list[i].path, given, count);
	return shown;
}

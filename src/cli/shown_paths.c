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

int shown_paths_make(struct shown_paths *shown, const struct sources *sources, char *const *given,
		     size_t count)
{
	shown->list = calloc(sources->count + 1, sizeof(*shown->list));
	if (!shown->list)
		return -ENOMEM;
	for (size_t i = 0; i < sources->count; i++)
		shown->list[i] = find(sources->list[i].path, given, count);
	return 0;
}

void shown_paths_free(struct shown_paths *shown)
{
	free(shown->list);
	shown->list = NULL;
}

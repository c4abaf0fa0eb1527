/* SPDX-License-Identifier: MIT */
#include "cli/shown_paths.h"

#include "base/path.h"
#include "source/operands.h"
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

/* Returns the path of the folder of the operands relative to the current folder, if the user gave
 * all names so and it is in the current folder. */
static const char *find_relative(const struct operands *operands, const char *source)
{
	AUTO_FREE char *here = operands->relative ? realpath(".", NULL) : NULL;
	const char *below = here ? path_below(source, here) : NULL;

	if (!below)
		return source;
	return *below ? below : ".";
}

const char **shown_paths_find(const struct sources *sources, char *const *given, size_t count)
{
	const char **shown = calloc(sources->count + 1, sizeof(*shown));

	for (size_t i = 0; shown && i < sources->count; i++)
		shown[i] = sources->operands
				   ? find_relative(sources->operands, sources->list[i].path)
				   : find(sources->list[i].path, given, count);
	return shown;
}

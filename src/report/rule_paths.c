/* SPDX-License-Identifier: MIT */

/* Paths of rules that have no effect. */
#include <errno.h>

#include "base/path.h"
#include "catalog/paths.h"
#include "report/rules.h"
#include "source/source.h"

/* Sets *does to whether the path has an effect: it is the source, is above the source, or is
 * indexed in the source. */
static int concerns(const char *path, const struct source *source, struct catalog_reader *reader,
		    bool *does)
{
	const char *rest = path_below(path, source->path);
	struct entry_record entry;
	int r;

	*does = path_below(source->path, path);
	if (*does || !rest)
		return 0;
	r = catalog_find_path(reader, source->root, rest, &entry);
	*does = r == 0 && (entry.kind == ENTRY_DIR || entry.kind == ENTRY_FILE);
	return r == -ENOENT ? 0 : r;
}

static int find_unmatched(char *const *paths, struct catalog_reader *reader,
			  const struct sources *sources, const char **unmatched)
{
	for (; paths && *paths; paths++) {
		bool does = false;

		for (size_t i = 0; !does && i < sources->count; i++) {
			int r = concerns(*paths, &sources->list[i], reader, &does);

			if (r < 0)
				return r;
		}
		if (!does) {
			*unmatched = *paths;
			return RULES_UNMATCHED;
		}
	}
	return 0;
}

int rules_find_unmatched(const struct rules *rules, struct catalog_reader *reader,
			 const struct sources *sources, const char **unmatched)
{
	int r = find_unmatched(rules->protect, reader, sources, unmatched);

	return r != 0 ? r : find_unmatched(rules->only, reader, sources, unmatched);
}

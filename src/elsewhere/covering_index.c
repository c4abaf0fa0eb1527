/* SPDX-License-Identifier: MIT */
#include "elsewhere/covering_index.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "index/index_folder.h"
#include "index/known_index.h"

/* The best index so far. */
struct choice {
	const struct missing_from *missing;
	struct text_list operands; /* a mount point or the sources; empty: no index was found */
	bool is_view;
	struct timespec last_scan;
};

static bool is_below_any(const char *path, const struct text_list *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		if (path_below(path, folders->items[i]))
			return true;
	}
	return false;
}

static bool all_below_any(const struct text_list *paths, const struct text_list *folders)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (!is_below_any(paths->items[i], folders))
			return false;
	}
	return true;
}

/* Returns whether the index has all folders, and something to compare them with. */
static bool covers(const struct missing_from *missing, const struct known_index *index)
{
	if (!all_below_any(&missing->of, &index->sources) ||
	    !all_below_any(&missing->in, &index->sources))
		return false;
	return missing->in.count > 0 || !all_below_any(&index->sources, &missing->of);
}

static int take(struct choice *choice, const struct known_index *index, bool is_view)
{
	struct text_list *operands = &choice->operands;
	int r = 0;

	text_list_free(operands);
	choice->is_view = is_view;
	choice->last_scan = index->last_scan;
	if (is_view)
		return text_list_add(operands, index->mount_point, strlen(index->mount_point));
	for (size_t i = 0; r == 0 && i < index->sources.count; i++)
		r = text_list_add(operands, index->sources.items[i],
				  strlen(index->sources.items[i]));
	return r;
}

/* is_only: the user wants no other index. */
static int consider(struct choice *choice, const char *folder, bool is_only)
{
	CLEANUP_KNOWN_INDEX struct known_index index = {0};
	int r = known_index_read(&index, folder);

	if (r < 0 || index.outcome != 0 || !covers(choice->missing, &index))
		return r;
	if (index.mount_point && index.mount_point[0] != '\0')
		return take(choice, &index, true);
	if (!is_only && (choice->missing->in.count > 0 || index.absent ||
			 (choice->operands.count > 0 &&
			  clock_ns(index.last_scan) <= clock_ns(choice->last_scan))))
		return 0;
	return take(choice, &index, false);
}

static int consider_all(struct choice *choice, const char *folder)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	AUTO_FREE char *given = NULL;
	int r = folder ? index_folder_given(folder, &given) : known_indexes_list(&folders);

	if (r == 0 && given)
		return consider(choice, given, true);
	for (size_t i = 0; r == 0 && !choice->is_view && i < folders.count; i++)
		r = consider(choice, folders.items[i], false);
	return r;
}

static int add_all(struct text_list *list, const struct text_list *more)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->count; i++)
		r = text_list_add(list, more->items[i], strlen(more->items[i]));
	return r;
}

int covering_index_choose(struct missing_from *missing, const char *folder)
{
	struct choice choice = {.missing = missing};
	int r = consider_all(&choice, folder);

	missing->operands = choice.operands;
	if (r < 0 || missing->operands.count > 0)
		return r;
	if (missing->in.count == 0) {
		log_error("no index has %s and other folders; give these with --by, or scan or "
			  "mount a folder that contains all of them",
			  quote_path(missing->of.items[0]));
		return -ENOENT;
	}
	r = add_all(&missing->operands, &missing->in);
	return r < 0 ? r : add_all(&missing->operands, &missing->of);
}
